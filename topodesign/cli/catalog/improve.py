"""``topodesign catalog improve``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import topodesign
from topodesign.base.units import as_time
from topodesign.base.work_options import ImproveOptions
from topodesign.catalog.all_to_all_rows import OBJECTIVES
from topodesign.cli.answers import Command, json_option, print_answer, show
from topodesign.cli.options import (
    FOLDER,
    catalog_option,
    degrees_option,
    flag,
    nodes_option,
    offer,
    option,
)
from topodesign.cli.progress import progress_bar
from topodesign.search.strategies import NAMES

_TIME = "60s"


@click.command(name="improve", cls=Command)
@nodes_option("N or a range, such as 3..2048.")
@degrees_option("A degree or a range.")
@option(
    "-o --output",
    "Directory for the files, one per degree. A degree that has one there is continued.",
    type=FOLDER,
)
@option("--time-limit TIME", f"Search time.  [default: {_TIME}; with --prices-only none]")
@flag("--duplex/--simplex", "Only topologies that need this cabling.  [default: both]", default=None)
@option(
    "--strategy only",
    "Turns of one kind; lifts looks for one step less, near-lines takes nodes out of line graphs, "
    "order-degree exchanges cables of duplex topologies, cycles looks for duplex ones that a rotation keeps, "
    "deferral looks for deferred schedules of the rows.",
    words=NAMES,
)
@option(
    "--for objective",
    "What should take less. Topologies kept for all-to-all alone go into files of their own.",
    words=OBJECTIVES,
    default="allreduce",
)
@flag("--prices-only", "Only compute the all-to-all cost of rows of the catalog, and keep it there.")
@offer(ImproveOptions)
@catalog_option
@json_option
def command(
    nodes: range | None,
    degrees: range | None,
    output: Path | None,
    time_limit: str | None,
    prices_only: bool,
    duplex: bool | None,
    **options: Any,
) -> None:
    """Search for topologies that beat the catalog's, and expand them.

    Sizes where a second gains most come first.

    Searches quotients (voltage lifts whose base changes too), neighbours and links one by one, and finds deferred
    schedules, which cost less than SPFF on most topologies. Nothing that is in the catalog gets worse. The files are
    written every minute, so a run that is stopped goes on where it was. The last lines show the time and
    the gain of each kind of search.

    Example: topodesign catalog improve -n 25 -d 2 -o better --time-limit 20s
    """
    if prices_only:
        _compute_prices(nodes, degrees, time_limit, output, options)
        return
    if nodes is None or degrees is None or output is None:
        raise click.UsageError("'catalog improve' requires -n, -d and -o, except with --prices-only.")
    if nodes.start < 3 or degrees.start < 2:
        raise click.UsageError("-n must be at least 3 and -d at least 2 in a catalog.")
    with progress_bar("searching") as progress:
        found = topodesign.improve_catalog(
            output,
            nodes,
            degrees,
            duplex=duplex,
            time_limit=time_limit or _TIME,
            progress=progress,
            **options,
        )
    show(found)


def _compute_prices(
    nodes: range | None, degrees: range | None, time_limit: str | None, output: Path | None, options: dict[str, Any]
) -> None:
    """Compute and keep the all-to-all costs of catalog rows."""
    if output is not None:
        raise click.UsageError("-o cannot be combined with --prices-only, which writes into the catalog.")
    catalog: Path | None = options["catalog"]
    with progress_bar("pricing") as progress:
        counts = topodesign.price_catalog(
            catalog if catalog is not None else topodesign.Catalog(),
            degrees=degrees,
            nodes=nodes,
            seconds=None if time_limit is None else float(as_time(time_limit)),
            progress=progress,
        )
    found = [{"degree": one, "priced": done, "rows": rows} for one, (done, rows) in counts.items()]
    lines = (f"degree {one}: {done} of {rows} rows have an all-to-all cost" for one, (done, rows) in counts.items())
    print_answer("\n".join(lines), {"degrees": found}, lambda: found)
