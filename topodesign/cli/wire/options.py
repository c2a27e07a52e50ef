"""Options that commands about wirings share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from topodesign.cli.options import offer
from topodesign.cli.options import seed_option as shared_seed
from topodesign.wiring.change.strength import MOST_NODES
from topodesign.wiring.switches.options import ApplyOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])

throughput_option = click.option(
    "--throughput/--no-throughput",
    default=None,
    help=f"Tell connectivity and the best throughput of any schedule.  [default: up to {MOST_NODES} nodes]",
)
seed_option = shared_seed("Of the search.")
stage_options = offer(ApplyOptions, "most_dark", "downtime")
spelling_option = offer(ApplyOptions, "spelling")


SOURCES = ("lldp", "ocs", "dumps", "netbox", "links")


def source_options(command: _Command) -> _Command:
    """Add the options that say where it is told what was wired: ``SOURCES``."""
    for option in (
        click.option(
            "--links",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="What link_test.py of 'wire export --format bringup' printed on each host, as HOST.json.",
        ),
        click.option(
            "--netbox",
            metavar="SOURCE",
            help="The cables that NetBox has as connected: its address (the token in NETBOX_TOKEN), or its list of "
            "cables as exported to CSV.",
        ),
        click.option(
            "--dumps",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="All that was told: HOST.json or HOST.txt of hosts, SWITCH.json or SWITCH.scpi of switches, "
            "light.csv, HOST.ethtool.",
        ),
        click.option(
            "--ocs",
            type=click.Path(path_type=Path),
            metavar="PATH",
            help="The circuits of a switch: SONiC's OCS_CROSS_CONNECT (.json) or port lists (.scpi), or a directory of "
            "both.",
        ),
        click.option(
            "--lldp",
            type=click.Path(path_type=Path),
            metavar="PATH",
            help="What hosts hear: a directory with 'lldpctl -f json' of each as HOST.json, or as HOST.txt its text or "
            "SONiC's 'show lldp table'; one such file, what ibnetdiscover or UFM (.topo) says of all, or a CSV "
            "(host,port,neighbour_host,neighbour_port).",
        ),
    ):
        command = option(command)
    return command


def style_options(command: _Command) -> _Command:
    """Add the options that say how commands for switches are written."""
    for option in (
        spelling_option,
        click.option("--labels", is_flag=True, help="Label ports of SONiC switches by the lanes cabled there."),
        click.option("--batch", is_flag=True, help="One command for all circuits of a switch, with lists and ranges."),
        click.option("--only", is_flag=True, help="Remove what else is in a switch."),
    ):
        command = option(command)
    return command
