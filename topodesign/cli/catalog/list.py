"""``topodesign catalog list``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.base.errors import CatalogError
from topodesign.cli.catalog.ranges import number_range
from topodesign.cli.options import catalog_option, csv_option, json_option, print_csv, print_json


@click.command(name="list")
@click.option(
    "-n", "--nodes", callback=number_range, metavar="RANGE", default="2..2048", show_default=True, help="Range of N."
)
@click.option(
    "-d",
    "--degree",
    "degrees",
    callback=number_range,
    metavar="RANGE",
    help="Degree or range of degrees.  [default: all there are]",
)
@click.option("--quality", "of_quality", is_flag=True, help="How far the best topologies are from the lower bound.")
@catalog_option
@csv_option
@json_option
def command(
    nodes: range,
    degrees: range | None,
    of_quality: bool,
    catalog: Path | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Summarise what the catalog covers and how good it is, a line per degree.

    With --quality: the mean and the worst ratio of the best allreduce to the lower bound over all N, for 1 MiB and
    100 MiB at 10 us and 100 Gbps, and the share of N with a bandwidth-optimal topology within two steps of Moore's
    bound; for all topologies and for duplex ones, which are held against the bound of duplex topologies.

    Example: topodesign catalog list --quality -d 4 -n 5..2000
    """
    from topodesign.catalog.lookup import Catalog  # noqa: PLC0415
    from topodesign.catalog.quality import coverage, quality  # noqa: PLC0415

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    source = Catalog() if catalog is None else Catalog(catalog)
    wanted = list(degrees or source.degrees)
    if not wanted:
        raise CatalogError(f"{source.directory}: there are no catalog files here")
    covered, judged = [], []
    for degree in wanted:
        rows = source.rows(degree, nodes[0], nodes[-1])
        covered.append(coverage(degree, rows))
        if of_quality:
            judged += [one for duplex in (False, True) if (one := quality(degree, rows, duplex=duplex))]
    if as_csv:
        print_csv([one.to_record() for one in (judged if of_quality else covered)])
        return
    if as_json:
        document = {"degrees": [one.to_record() for one in covered]}
        print_json(document | ({"quality": [one.to_record() for one in judged]} if of_quality else {}))
        return
    from rich.console import Console  # noqa: PLC0415  only for people

    from topodesign.report.catalog_table import print_coverage, print_quality  # noqa: PLC0415

    if of_quality:
        print_quality(judged, Console())
    else:
        print_coverage(covered, Console())
