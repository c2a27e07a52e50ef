"""Time of an allreduce over the size of its data, and where one topology overtakes another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from topodesign.base.cost import Cost
from topodesign.base.records import shortened
from topodesign.base.units import format_size
from topodesign.catalog.pareto import Pareto
from topodesign.pricing.baselines import baselines
from topodesign.report.charts.chart import Chart, Series

_SIZES = tuple(Fraction(2**power) for power in range(10, 31))
"""From 1 KiB to 1 GiB."""


def times_chart(found: Pareto) -> Chart:
    """Return the plot of times over sizes of a frontier, with the sizes at which the fastest topology changes.

    Parameters
    ----------
    found
        What :func:`topodesign.pareto` returned; its alpha and bandwidth are used, and sizes from 1 KiB to 1 GiB.
    """
    work = replace(found.workload, sizes=_SIZES)
    sizes, bits = list(_SIZES), 8 / work.bandwidth
    series = [
        *(Series(shortened(str(one.spec)), sizes, work.allreduce(one.cost, one.allgather)) for one in found.entries),
        Series("lower bound", sizes, work.allreduce(found.bound), role="bound"),
        *(Series(one.name, sizes, one.allreduce, role="other") for one in baselines(found.nodes, found.degree, work)),
    ]
    wins = crossovers([_both(entry.cost, entry.allgather) for entry in found.entries], work.alpha / bits)
    return Chart(
        "times",
        f"{found.nodes} nodes of degree {found.degree}: allreduce over message size",
        "data of the allreduce, bytes",
        "seconds",
        tuple(series),
        "log2",
        "log",
        marks=tuple((size, rounded_size(size)) for size in wins if sizes[0] < size < sizes[-1]),
        note="dotted: from here on another topology of the frontier is the fastest" if wins else "",
    )


def crossovers(costs: Sequence[Cost], bytes_per_step: Fraction) -> list[Fraction]:
    """Return the sizes at which another of several costs becomes the least, ascending.

    Parameters
    ----------
    costs
        Any.
    bytes_per_step
        alpha * B: how many bytes a node could send in the time that a step costs.
    """
    hull: list[Cost] = []
    for cost in sorted(costs, key=lambda cost: (cost.steps, cost.bandwidth)):  # so they win from small sizes on
        if hull and cost.bandwidth >= hull[-1].bandwidth:
            continue
        while len(hull) > 1 and _crossing(hull[-1], cost) <= _crossing(hull[-2], hull[-1]):
            hull.pop()
        hull.append(cost)
    return [bytes_per_step * _crossing(first, second) for first, second in itertools.pairwise(hull)]


def _crossing(first: Cost, second: Cost) -> Fraction:
    """Return the size in units of alpha * B from which on the second is faster, which has more steps and less y."""
    return Fraction(second.steps - first.steps) / (first.bandwidth - second.bandwidth)


def _both(one: Cost, other: Cost) -> Cost:
    return Cost(one.steps + other.steps, one.bandwidth + other.bandwidth)


def rounded_size(size: Fraction) -> str:
    """Return a size to three digits or so, for people."""
    unit = 1
    while size >= 1024 * unit and unit < 2**40:
        unit *= 1024
    parts = 1 if size >= 100 * unit else 10
    return f"{float(Fraction(round(size / unit * parts), parts)):g}{format_size(Fraction(unit))[1:]}"
