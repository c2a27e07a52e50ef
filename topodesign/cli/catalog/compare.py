"""``topodesign catalog compare``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import FOLDER, degrees_option, nodes_option, whole_range


@click.command(name="compare", cls=Command)
@click.argument("old", type=FOLDER)
@click.argument("new", type=FOLDER, required=False)
@nodes_option("Range of N.", whole_range, default="3..2048", show_default=True)
@degrees_option("Degree or range of degrees.  [default: all that both have]", whole_range)
@json_option
def command(old: Path, new: Path | None, nodes: range, degrees: range | None) -> int:
    """Hold the catalog in directory NEW (or the shipped one) against that in OLD, size by size and cost by cost.

    The exit status is 1 where a topology of OLD has fewer steps or a lower bandwidth factor than all of NEW.

    Example: topodesign catalog compare before after -d 4
    """
    found = topodesign.compare_catalogs(old, new, degrees=degrees, first=nodes[0], last=nodes[-1])
    show(found, {"degrees": found.to_records()})
    return 0 if found.ok else 1
