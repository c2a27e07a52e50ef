"""``topodesign plugins``."""

from __future__ import annotations

import click

import topodesign
from topodesign.cli.options import json_option, print_for_people, print_json


@click.command(name="plugins")
@json_option
def command(as_json: bool) -> None:
    """List what other packages bring to this one, and what of it had to be left out and why.

    Families of graphs, expansions, presets of fabrics, methods of schedule, targets of compile, formats of wire export
    and drivers of switches may come from packages that are installed beside this one.

    Example: topodesign plugins --json
    """
    found = topodesign.plugins()
    if as_json:
        print_json(found.record(), found.to_records())
    else:
        print_for_people(found)
