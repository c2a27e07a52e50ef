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


class Assigned(click.ParamType["tuple[str, Path]"]):
    """A name and the path of its file."""

    name = "NAME=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        """Return both."""
        if isinstance(value, tuple):
            return value
        name, sign, path = str(value).partition("=")
        if not (name and sign and path):
            self.fail(f"{value!r} should be a name and a file, such as ocs1=losses.csv", param, ctx)
        return name, Path(path)


_Command = TypeVar("_Command", bound=Callable[..., Any])

throughput_option = click.option(
    "--throughput/--no-throughput",
    default=None,
    help=f"Tell connectivity and the best throughput of any schedule.  [default: up to {MOST_NODES} nodes]",
)
seed_option = shared_seed("Of the search.")
stage_options = offer(ApplyOptions, "most_dark", "downtime")
spelling_option = offer(ApplyOptions, "spelling")

table_option = click.option(
    "--table",
    "tables",
    type=Assigned(),
    multiple=True,
    metavar="SWITCH=FILE",
    help="What a circuit switch loses from port to port: from,to,loss or a matrix (.csv); may be repeated.",
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
