"""``topodesign catalog show``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

import topodesign
from topodesign.cli.answers import Command, csv_option, json_option, show
from topodesign.cli.options import bidirectional_option, catalog_option, nodes_option, option, whole, work_options


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


@click.command(name="show", cls=Command)
@nodes_option("Number of nodes N, or a range such as 1000..1040 or 16..64..16.", required=True)
@option("-d --degree", "Ports out of (and into) each node.", type=whole(1), required=True)
@work_options
@bidirectional_option
@option("--max-steps", "Only topologies with at most so many steps.", type=whole(1))
@option(
    "--within PERCENT",
    "Only topologies whose bandwidth factor is within so many percent of the optimum (N-1)/N.",
    callback=_percent,
)
@catalog_option
@csv_option
@json_option
def command(nodes: range, degree: int, **options: Any) -> None:
    """Show the best known topologies of a size, or of a range of sizes.

    For one N the whole Pareto frontier is shown, for a range the fastest topology of each N for the first --size (CSV
    and JSON hold the frontiers). Where a size close by is much better, the verdict says so.

    Example: topodesign catalog show -n 1021 -d 4 --within 5
    """
    show(topodesign.known_topologies(nodes if len(nodes) > 1 else nodes[0], degree, **options))
