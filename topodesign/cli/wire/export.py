"""``topodesign wire export``."""

from __future__ import annotations

from pathlib import Path

import click

# Written out, so that --help need not import what writes and reads them; a test holds the two together.
FORMATS = ("patches", "netbox", "sonic", "scpi", "dot", "graphml", "json", "labels", "racks")


@click.command(name="export")
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("--format", "file_format", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="Where: a file; for sonic, scpi and labels a new directory, or for labels a file that ends in .pdf.",
)
def command(plan: Path, file_format: str, output: Path) -> None:
    """Write a wiring plan for those who carry it out.

    \b
    patches   list of all cables and circuits (CSV)
    netbox    cables for NetBox's bulk import (CSV)
    sonic     cross-connects of SONiC circuit switches: CONFIG_DB (JSON) and commands
    scpi      commands for circuit switches as Polatis makes them
    dot       drawing for Graphviz
    graphml   graph; also a topology for other commands, as is json (node-link)
    labels    sheets of 65 cable labels on A4 (SVG, or PDF if PATH ends in .pdf)
    racks     a page of work for every rack (HTML)
    """  # noqa: D301  the backslash keeps click from joining the lines
    from topodesign.wiring.exports import export_plan  # noqa: PLC0415  heavy
    from topodesign.wiring.plan.files import read_plan  # noqa: PLC0415

    export_plan(read_plan(plan), file_format, output)
    click.echo(f"wrote {output}", err=True)
