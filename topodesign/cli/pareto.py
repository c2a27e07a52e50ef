"""``topodesign pareto``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import topodesign
from topodesign.cli.options import (
    catalog_option,
    json_option,
    print_for_people,
    print_json,
    progress_bar,
    workload_options,
)
from topodesign.pricing.mix import PRICED

if TYPE_CHECKING:
    from topodesign.catalog.pareto import Pareto


def _number_of_seconds(_context: click.Context, _option: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds.")
    return value


@click.command(name="pareto")
@click.option("-n", "--nodes", type=int, required=True, help="Number of nodes N.")
@click.option("-d", "--degree", type=int, required=True, help="Ports out of (and into) each node.")
@workload_options
@click.option("--bidirectional", is_flag=True, help="Only topologies that duplex cabling can wire.")
@catalog_option
@click.option("--no-catalog", is_flag=True, help="Search afresh, whatever the catalog has.")
@click.option(
    "--search",
    type=click.FloatRange(0, 86400),
    callback=_number_of_seconds,
    metavar="SECONDS",
    help="Time to search Cayley digraphs for more than the catalog has; 0 looks at the known families and their "
    "expansions only. Without it the catalog's answer is enough; where it has none, 3 seconds.",
)
@click.option("--seed", type=click.IntRange(0), help="Seed of the search.  [default: 0]")
@click.option(
    "--collective",
    type=click.Choice(PRICED),
    default="allreduce",
    show_default=True,
    help="Rank by another collective: the topologies of the catalog and of the known families, fastest first.",
)
@click.option(
    "--workload",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Rank by all that a training step sends: a list of collectives with sizes and counts (YAML or JSON), such as "
    "the example workload_moe.yaml.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="NAMES",
    help="Compare the fastest with what one would do anyway: everyday names such as torus,jellyfish,fattree, specs or "
    "schedule files, as for 'topodesign compare'; may be repeated.",
)
@json_option
def command(
    nodes: int,
    degree: int,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    bidirectional: bool,
    catalog: Path | None,
    no_catalog: bool,
    search: float | None,
    seed: int | None,
    collective: str,
    workload: Path | None,
    against: tuple[str, ...],
    as_json: bool,
) -> None:
    """Find every topology worth wiring for N nodes of degree d.

    Prints the Pareto frontier of steps against bandwidth factor y, cheapest latency first, with allreduce times for
    your latency, data sizes and bandwidth, the lower bound, and what rings and double binary trees would take.

    Example: topodesign pareto -n 1024 -d 4 --size 1MiB --size 100MiB
    """
    if catalog is not None and no_catalog:
        raise click.UsageError("--catalog and --no-catalog exclude each other.")
    if workload is not None or collective != "allreduce":
        if no_catalog or search is not None or seed is not None:
            raise click.UsageError("--collective and --workload rank what is known, without --search and --no-catalog.")
        if against:
            raise click.UsageError("--against compares allreduces; leave --collective and --workload out.")
        with progress_bar("pricing") as progress:
            ranking = topodesign.rank(
                nodes,
                degree,
                collective=collective,
                workload=workload,
                bidirectional=bidirectional,
                alpha=alpha,
                sizes=sizes,
                bandwidth=bandwidth,
                catalog=catalog,
                progress=progress,
            )
        if as_json:
            print_json(ranking.record())
        else:
            print_for_people(ranking)
        return
    with progress_bar("searching") as progress:
        result = topodesign.pareto(
            nodes,
            degree,
            bidirectional=bidirectional,
            alpha=alpha,
            sizes=sizes,
            bandwidth=bandwidth,
            search=search,
            seed=seed,
            catalog=not no_catalog if catalog is None else catalog,
            progress=progress,
        )
    if result.catalog_error is not None:
        click.echo(f"topodesign: {result.catalog_error}; so this was searched for", err=True)
    beside = _beside(result, against) if against else None
    if as_json:
        print_json(result.record() | ({} if beside is None else {"against": beside.record()}))
        return
    print_for_people(result)
    if beside is not None:
        click.echo()
        print_for_people(beside)


def _beside(result: Pareto, against: tuple[str, ...]) -> Any:
    """Return the fastest topology beside others."""
    names = [name for text in against for name in (text.split(",") if "(" not in text else [text])]
    work = result.workload
    return topodesign.compare(
        [str(result.best.spec), *names],
        nodes=result.nodes,
        degree=result.degree,
        alpha=work.alpha,
        sizes=work.sizes,
        bandwidth=work.bandwidth,
    )
