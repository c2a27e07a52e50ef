"""Time of an allreduce over the size of its data, and where one topology overtakes another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from topodesign.base.records import shortened
from topodesign.base.units import rounded_size
from topodesign.catalog.pareto import Pareto
from topodesign.pricing.baselines import baselines
from topodesign.pricing.crossovers import winners
from topodesign.report.charts.chart import Chart, Series

SIZES = tuple(Fraction(2**power) for power in range(10, 31))
"""From 1 KiB to 1 GiB."""


def times_chart(found: Pareto) -> Chart:
    """Return the plot of times over sizes of a frontier, with the sizes at which the fastest topology changes.

    Parameters
    ----------
    found
        What :func:`topodesign.pareto` returned; its alpha and bandwidth are used, and sizes from 1 KiB to 1 GiB.
    """
    work = replace(found.workload, sizes=SIZES)
    series = [
        *(Series(shortened(str(one.spec)), SIZES, work.allreduce(one.cost)) for one in found.entries),
        Series("lower bound", SIZES, work.allreduce(found.bound), role="bound"),
        *(Series(one.name, SIZES, one.allreduce, role="other") for one in baselines(found.nodes, found.degree, work)),
    ]
    wins = [size for size, _ in winners([one.cost for one in found.entries], work.alpha * work.bandwidth / 8)][1:]
    return over_sizes(
        f"{found.nodes} nodes of degree {found.degree}: allreduce over message size",
        series,
        marks=tuple((size, rounded_size(size)) for size in wins if SIZES[0] < size < SIZES[-1]),
        note="dotted: from here on another topology of the frontier is the fastest" if wins else "",
    )


def over_sizes(
    title: str,
    series: Sequence[Series],
    *,
    collective: str = "allreduce",
    marks: tuple[tuple[Fraction, str], ...] = (),
    note: str = "",
) -> Chart:
    """Return the plot of series of seconds over bytes."""
    label = f"data of the {collective}, bytes"
    return Chart("times", title, label, "seconds", tuple(series), "log2", "log", marks=marks, note=note)
