"""``topodesign runtimes``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.answers import Command, csv_option, json_option, tell
from topodesign.runtime.rules import COMMITS


@click.command(name="runtimes", cls=Command)
@click.argument("runtime", type=click.Choice(list(COMMITS)), required=False)
@csv_option
@json_option
def command(runtime: str | None) -> None:
    """List what runtimes accept and do, each limit and rule with where it was read in their sources.

    Example: topodesign runtimes msccl-executor
    """
    tell(topodesign.runtime_rules(runtime))
