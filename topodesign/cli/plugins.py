"""``topodesign plugins``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.answers import Command, json_option, show


@click.command(name="plugins", cls=Command)
@json_option
def command() -> None:
    """List what other packages bring to this one, and what of it had to be left out and why.

    Families of graphs, expansions, presets of fabrics, methods of schedule, targets of compile, formats of wire export
    and drivers of switches may come from packages that are installed beside this one.

    Example: topodesign plugins --json
    """
    show(topodesign.plugins())
