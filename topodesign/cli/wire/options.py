"""Options that commands about wirings share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from topodesign.cli.options import seed_option as shared_seed
from topodesign.cli.options import whole
from topodesign.wiring.change.strength import MOST_NODES
from topodesign.wiring.switches.switch import SPELLINGS

_Command = TypeVar("_Command", bound=Callable[..., Any])

throughput_option = click.option(
    "--throughput/--no-throughput",
    default=None,
    help=f"Tell connectivity and the best throughput of any schedule.  [default: up to {MOST_NODES} nodes]",
)
seed_option = shared_seed("Of the search.")
max_dark_option = click.option(
    "--max-dark", type=whole(1), default=1, show_default=True, metavar="K", help="Dark links a host at a time."
)
downtime_option = click.option(
    "--downtime", is_flag=True, help="Move everything in one stage, whatever is dark meanwhile."
)
spelling_option = click.option(
    "--spelling",
    type=click.Choice(SPELLINGS),
    default="ocs",
    show_default=True,
    help="Of SONiC's commands: 'config ocs cross-connect', or as generated from YANG 'config ocs-cross-connect'.",
)


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
