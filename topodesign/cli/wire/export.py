"""``topodesign wire export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from topodesign.base.entry_points import EXPORTS
from topodesign.cli.answers import Command
from topodesign.cli.options import PATH, offer, option
from topodesign.cli.wire.options import style_options
from topodesign.wiring.bringup.options import BringupOptions
from topodesign.wiring.exports.export import export_wiring

_WIDTH = 2 + max(map(len, EXPORTS))
_HELP = (
    "Write a wiring plan for those who carry it out.\n\n\b\n"
    + "\n".join(f"{name:{_WIDTH}}{known.summary}" for name, known in EXPORTS.items())
    + "\n\nExample: topodesign wire export plan.json --format patches -o patches.csv"
)


@click.command(name="export", cls=Command, help=_HELP, short_help="Write a wiring plan for those who carry it out.")
@click.argument("plan", type=PATH)
@option("--format file_format", "What to write.", words=EXPORTS, required=True)
@option(
    "-o --output PATH",
    "Where: a file; for netbox, sonic, scpi, labels, panels, package and bringup a new directory, or a file .csv "
    "(netbox), .pdf (labels) or .html (package).",
    required=True,
)
@option("--url", "Where the work package will be: a QR code on each label leads there.", default="", show_default=False)
@style_options
@offer(BringupOptions, section="Bring-up")
def command(plan: Path, file_format: str, output: Path, url: str, **given: Any) -> None:
    """Write a plan in one of the formats."""
    for note in export_wiring(plan, file_format, output, url=url, **given):
        click.echo(note, err=True)
    click.echo(f"wrote {output}", err=True)
