"""``topodesign catalog list``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.catalog.lookup import as_catalog
from topodesign.catalog.sizes import MOST_NODES
from topodesign.cli.options import catalog_option, csv_option, json_option, print_csv, print_for_people, print_json
from topodesign.cli.ranges import whole_range


@click.command(name="list")
@click.option(
    "-n",
    "--nodes",
    callback=whole_range,
    metavar="RANGE",
    help=f"Range of N.  [default: all; with --quality 3..{MOST_NODES}]",
)
@click.option(
    "-d",
    "--degree",
    "degrees",
    callback=whole_range,
    metavar="RANGE",
    help="Degree or range of degrees.  [default: all there are]",
)
@click.option("--quality", "of_quality", is_flag=True, help="How far the best topologies are from the lower bound.")
@catalog_option
@csv_option
@json_option
def command(
    nodes: range | None,
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
    Larger sizes, of which only some have rows, are judged by themselves: -n 2049..65536.

    Example: topodesign catalog list --quality -d 4 -n 5..2000
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    source, span = as_catalog(catalog), () if nodes is None else (nodes[0], nodes[-1])
    if of_quality and not as_json:
        judged = source.quality(degrees, *span)
        print_csv(judged.to_records()) if as_csv else print_for_people(judged)
        return
    covered = source.coverage(degrees, *span)
    if as_csv:
        print_csv(covered.to_records())
    elif as_json:
        of_quality_too = {"quality": source.quality(degrees, *span).to_records()} if of_quality else {}
        print_json({"degrees": covered.to_records()} | of_quality_too)
    else:
        print_for_people(covered)
