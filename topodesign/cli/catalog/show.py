"""``topodesign catalog show``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import click

import topodesign
from topodesign.cli.options import (
    catalog_option,
    csv_option,
    json_option,
    print_csv,
    print_for_people,
    print_json,
    workload_options,
)
from topodesign.cli.ranges import number_range


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
    help="Number of nodes N, or a range such as 1000..1040 or 16..64..16.",
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
    and JSON hold the frontiers). Where a size close by is much better, the verdict says so.

    Example: topodesign catalog show -n 1021 -d 4 --within 5
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other.")
    known = topodesign.known_topologies(
        nodes if len(nodes) > 1 else nodes[0],
        degree,
        bidirectional=bidirectional,
        alpha=alpha,
        sizes=sizes,
        bandwidth=bandwidth,
        max_steps=max_steps,
        within=within,
        catalog=catalog,
    )
    if as_csv:
        print_csv(known.to_records())
    elif as_json:
        print_json(known.record())
    else:
        print_for_people(known)
