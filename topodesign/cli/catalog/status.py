"""``topodesign catalog status``."""

from __future__ import annotations

from pathlib import Path

import click

from topodesign.catalog.all_to_all_rows import OBJECTIVES
from topodesign.catalog.lookup import as_catalog
from topodesign.catalog.quality import JUDGED
from topodesign.catalog.sizes import MAX_NODES
from topodesign.cli.answers import Command, csv_option, form, json_option, show
from topodesign.cli.options import catalog_option, degrees_option, flag, nodes_option, option, whole_range


@click.command(name="status", cls=Command)
@nodes_option(f"Range of N.  [default: all; with --compare-bound 3..{MAX_NODES}]", whole_range)
@degrees_option("Degree or range of degrees.  [default: all there are]", whole_range)
@flag("--compare-bound of_quality", "Compare the best topologies with the lower bound.")
@option(
    "--collective",
    f"What --compare-bound is of: allreduce, or all-to-all of up to {JUDGED} nodes.  [default: allreduce]",
    words=OBJECTIVES,
)
@catalog_option
@csv_option
@json_option
def command(
    nodes: range | None, degrees: range | None, of_quality: bool, collective: str | None, catalog: Path | None
) -> None:
    """Summarise coverage and quality of the catalog by degree.

    With --compare-bound: the mean and the worst ratio of the best allreduce to the lower bound over all N, for 1 MiB
    and 100 MiB at 10 us and 100 Gbps, and the share of N with a bandwidth-optimal topology within two steps of Moore's
    bound; for all topologies and for duplex ones, which are held against the bound of duplex topologies.
    With --collective all-to-all: the same ratios of all-to-all, to the bound by the distances that any topology has.
    Larger sizes, of which only some have rows, are judged by themselves: -n 2049..65536.

    Example: topodesign catalog status --compare-bound -d 4 -n 5..2000
    """
    if collective and not of_quality:
        raise click.UsageError("--collective requires --compare-bound")
    source, span = as_catalog(catalog), () if nodes is None else (nodes[0], nodes[-1])
    if collective == "all-to-all":
        exchange = source.exchange_quality(degrees, *span)
        there = source.coverage(degrees, *span).to_records() if form() == "json" else None
        show(exchange, {"degrees": there, "exchange": exchange.to_records()})
        return
    if of_quality and form() != "json":
        show(source.quality(degrees, *span))
        return
    covered, judged = source.summary(degrees, *span) if of_quality else (source.coverage(degrees, *span), None)
    quality = {} if judged is None else {"quality": judged.to_records()}
    show(covered, {"degrees": covered.to_records()} | quality)
