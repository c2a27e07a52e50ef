"""``topodesign catalog merge``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, json_option, show
from topodesign.cli.options import FOLDER, option


@click.command(name="merge", cls=Command)
@click.argument("directories", nargs=-1, required=True, type=FOLDER, metavar="DIR...")
@option("-o --output", "New directory for the files, one per degree.", type=FOLDER, required=True)
@json_option
def command(directories: tuple[Path, ...], output: Path) -> None:
    """Put the rows of several catalogs together, of each size those that none of the others' beats.

    Prices of all-to-all that are known of these rows are kept. Nothing is written if a file is damaged. Of rows that
    cost the same that of the first directory is taken.

    Example: topodesign catalog merge mine better -o both
    """
    found = topodesign.merge_catalogs(directories, output)
    show(found, {"shares": found.to_records()})
