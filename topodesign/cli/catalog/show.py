"""``topodesign catalog show``."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.catalog.ranges import number_range
from topodesign.cli.options import catalog_option, csv_option, json_option, print_csv, print_json, workload_options

if TYPE_CHECKING:
    from topodesign.catalog.close_sizes import Better
    from topodesign.catalog.lookup import Catalog
    from topodesign.catalog.pareto import Pareto
    from topodesign.catalog.rows import Row


def _percent(_context: click.Context, _option: click.Parameter, value: str | None) -> Fraction | None:
    if value is None:
        return None
    try:
        percent = Fraction(value.removesuffix("%"))
    except (ValueError, ZeroDivisionError):
        raise click.BadParameter(f"{value!r} is not a number of percent.") from None
    if percent < 0:
        raise click.BadParameter(f"{value!r} is below zero.")
    return percent / 100


@click.command(name="show")
@click.option(
    "-n",
    "--nodes",
    callback=number_range,
    metavar="RANGE",
    required=True,
    help="Number of nodes N, or a range such as 1000..1040.",
)
@click.option("-d", "--degree", type=click.IntRange(1), required=True, help="Ports out of (and into) each node.")
@workload_options
@click.option("--bidirectional", is_flag=True, help="Only topologies that duplex cabling can wire.")
@click.option("--max-steps", type=click.IntRange(1), help="Only topologies with at most so many steps.")
@click.option(
    "--within",
    callback=_percent,
    metavar="PERCENT",
    help="Only topologies whose bandwidth factor is within so many percent of the optimum (N-1)/N.",
)
@catalog_option
@csv_option
@json_option
def command(
    nodes: range,
    degree: int,
    alpha: str,
    sizes: tuple[str, ...],
    bandwidth: str,
    bidirectional: bool,
    max_steps: int | None,
    within: Fraction | None,
    catalog: Path | None,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Show the best known topologies of a size, or of a range of sizes.

    For one N the whole Pareto frontier is shown, for a range the fastest topology of each N for the first --size (CSV
    and JSON hold the frontiers). Where a size close by is much better, a line says so.

    Example: topodesign catalog show -n 1021 -d 4 --within 5
    """
    from topodesign.catalog.close_sizes import better_size  # noqa: PLC0415
    from topodesign.catalog.lookup import Catalog  # noqa: PLC0415
    from topodesign.catalog.pareto import from_rows, read_workload  # noqa: PLC0415

    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    work = read_workload(alpha, sizes, bandwidth)
    source = Catalog() if catalog is None else Catalog(catalog)
    fronts = _fronts(source, nodes, degree, bidirectional)
    kept = [front for one in fronts if (front := _filtered(one, max_steps, within))]
    if not kept:
        raise InfeasibleError(_nothing_left(fronts))
    results = [from_rows(front, work, bidirectional=bidirectional) for front in kept]
    better = better_size(source, nodes[0], degree, work, duplex=bidirectional) if len(nodes) == 1 else None
    _show(results, better, len(nodes) == 1, as_csv, as_json)


def _fronts(catalog: Catalog, nodes: range, degree: int, duplex: bool) -> list[list[Row]]:
    """Return the frontiers of all N that the catalog has."""
    from topodesign.catalog.lookup import undominated  # noqa: PLC0415
    from topodesign.catalog.pareto import check_question  # noqa: PLC0415

    if catalog.degrees and degree not in catalog.degrees:
        raise ParameterError(
            f"the catalog has the degrees {', '.join(map(str, catalog.degrees))}, not {degree}; "
            f"search with: topodesign pareto -n {nodes[0]} -d {degree}"
        )
    rows = catalog.rows(degree, nodes[0], nodes[-1])
    groups = itertools.groupby(rows, key=lambda row: row.nodes)
    fronts = [front for _, group in groups if (front := undominated(group, duplex=duplex))]
    if not fronts:
        if len(nodes) == 1:
            check_question(nodes[0], degree, bidirectional=duplex)
        size = f"{nodes[0]} nodes" if len(nodes) == 1 else f"{nodes[0]} to {nodes[-1]} nodes"
        raise InfeasibleError(
            f"the catalog has no {'duplex ' if duplex else ''}topology of {size} and degree {degree}; "
            f"search with: topodesign pareto -n {nodes[0]} -d {degree}{' --bidirectional' if duplex else ''}"
        )
    return fronts


def _filtered(front: list[Row], max_steps: int | None, within: Fraction | None) -> list[Row]:
    optimum = Fraction(front[0].nodes - 1, front[0].nodes)
    return [
        row
        for row in front
        if (max_steps is None or row.cost.steps <= max_steps)
        and (within is None or row.cost.bandwidth <= optimum * (1 + within))
    ]


def _nothing_left(fronts: list[list[Row]]) -> str:
    """Say what there is, where the filters leave nothing."""
    if len(fronts) > 1:
        return f"none of {sum(map(len, fronts))} topologies is so good; loosen --max-steps or --within"
    rows = ", ".join(
        f"{row.cost.steps} steps with y {float(row.cost.bandwidth * row.nodes / (row.nodes - 1) - 1):.1%} over optimum"
        for row in fronts[0]
    )
    return f"no topology is so good; known are {rows}"


def _show(results: list[Pareto], better: Better | None, single: bool, as_csv: bool, as_json: bool) -> None:
    if as_csv:
        print_csv([record for result in results for record in result.to_records()])
        return
    if as_json:
        from topodesign.cli.pareto import document  # noqa: PLC0415

        advice = {"better_size": None if better is None else better.to_record()}
        print_json(document(results[0]) | advice if single else {"sizes": [document(one) for one in results]})
        return
    from rich.console import Console  # noqa: PLC0415  only for people

    from topodesign.report.catalog_table import print_range  # noqa: PLC0415
    from topodesign.report.table import print_pareto  # noqa: PLC0415

    if single:
        print_pareto(results[0], Console())
    else:
        print_range(results, Console())
    if better is not None:
        click.echo(better)
