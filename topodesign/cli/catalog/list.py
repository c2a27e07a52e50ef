"""``topodesign catalog list``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.catalog.lookup import as_catalog
from topodesign.cli.options import catalog_option, csv_option, json_option, print_csv, print_for_people, print_json
from topodesign.cli.ranges import number_range


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
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    source, wanted = as_catalog(catalog), (degrees, nodes[0], nodes[-1])
    if of_quality and not as_json:
        judged = source.quality(*wanted)
        print_csv(judged.to_records()) if as_csv else print_for_people(judged)
        return
    covered = source.coverage(*wanted)
    if as_csv:
        print_csv(covered.to_records())
    elif as_json:
        of_quality_too = {"quality": source.quality(*wanted).to_records()} if of_quality else {}
        print_json({"degrees": covered.to_records()} | of_quality_too)
    else:
        print_for_people(covered)
