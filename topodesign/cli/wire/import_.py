"""``topodesign wire import``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.cli.answers import Command, json_option, tell
from topodesign.cli.options import PATH, option
from topodesign.wiring.exports.export import import_wiring, readers


@click.command(name="import", cls=Command)
@click.argument("plan", type=PATH)
@click.argument("export", type=PATH)
@option("--format file_format", "What it is.", words=readers(), required=True)
@json_option
def command(plan: Path, export: Path, file_format: str) -> int:
    """Read an export back and compare the links that it makes with those of the plan; exit status 1 if they differ.

    EXPORT is a file, or for sonic and scpi the directory.

    Example: topodesign wire import plan.json patches.csv --format patches
    """
    found = import_wiring(plan, file_format, export)
    same = "\n".join([f"{export} makes the links of the plan", *found.notes])
    tell(found, same if found.same else None)
    return 0 if found.same else 1
