"""``topodesign wire import``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.options import json_option, print_json, say
from topodesign.wiring.exports.export import readers
from topodesign.wiring.exports.read_back import import_wiring


@click.command(name="import")
@click.argument("plan", type=click.Path(path_type=Path))
@click.argument("export", type=click.Path(path_type=Path))
@click.option("--format", "file_format", type=click.Choice(list(readers())), required=True, help="What it is.")
@json_option
def command(plan: Path, export: Path, file_format: str, as_json: bool) -> int:
    """Read an export back and compare the links that it makes with those of the plan; exit status 1 if they differ.

    EXPORT is a file, or for sonic and scpi the directory.

    Example: topodesign wire import plan.json patches.csv --format patches
    """
    found = import_wiring(plan, file_format, export)
    if as_json:
        print_json(found.record(), found.to_records())
    else:
        say("\n".join([f"{export} makes the links of the plan", *found.notes]) if found.same else str(found))
    return 0 if found.same else 1
