"""Options that commands about wirings share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from topodesign.cli.options import flag, option
from topodesign.cli.options import seed_option as shared_seed
from topodesign.wiring.change.strength import MAX_NODES
from topodesign.wiring.switches.kinds import SPELLINGS


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

throughput_option = option(
    "--throughput/--no-throughput",
    f"Tell connectivity and the best throughput of any schedule.  [default: up to {MAX_NODES} nodes]",
    default=None,
)
seed_option = shared_seed("Of the search.")
spelling_option = option(
    "--spelling",
    "Of SONiC's commands: 'config ocs cross-connect', or as generated from YANG 'config ocs-cross-connect'.",
    words=SPELLINGS,
    default=SPELLINGS[0],
)

table_option = option(
    "--table tables SWITCH=FILE...",
    "What a circuit switch loses from port to port: from,to,loss or a matrix (.csv); may be repeated.",
    type=Assigned(),
)


def style_options(command: _Command) -> _Command:
    """Add the options that say how commands for switches are written."""
    for one in (
        spelling_option,
        flag("--labels", "Label ports of SONiC switches by the lanes cabled there."),
        flag("--batch", "One command for all circuits of a switch, with lists and ranges."),
        flag("--only", "Remove what else is in a switch."),
    ):
        command = one(command)
    return command
