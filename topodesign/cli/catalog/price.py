"""``topodesign catalog price``."""

from __future__ import annotations

from pathlib import Path

import click

import topodesign
from topodesign.cli.answers import Command, json_option, print_answer
from topodesign.cli.options import catalog_option, degrees_option, nodes_option, option, whole_range
from topodesign.cli.progress import progress_bar


@click.command(name="price", cls=Command)
@nodes_option("Only an N or a range of N.", whole_range)
@degrees_option("Only a degree or a range.", whole_range)
@option("--seconds S", "Begin no further row after so long.", type=click.FloatRange(0, 10**7))
@catalog_option
@json_option
def command(nodes: range | None, degrees: range | None, seconds: float | None, catalog: Path | None) -> None:
    """Work out what all-to-all costs on rows of a catalog, and keep it beside them.

    Rows with symmetry come first. What was worked out before stays, so a run that ended or was interrupted goes on
    where it was. Rows that would take more than about a second are left out; see evaluate --all-to-all.

    Example: topodesign catalog price --catalog my-catalog -d 4
    """
    with progress_bar("pricing") as progress:
        counts = topodesign.price_catalog(
            catalog if catalog is not None else topodesign.Catalog(),
            degrees=degrees,
            nodes=nodes,
            seconds=seconds,
            progress=progress,
        )
    found = [{"degree": one, "priced": done, "rows": rows} for one, (done, rows) in counts.items()]
    lines = (f"degree {one}: {done} of {rows} rows have a price of all-to-all" for one, (done, rows) in counts.items())
    print_answer("\n".join(lines), {"degrees": found}, lambda: found)
