"""The frontier of steps against bandwidth factor, with the lower bounds."""

from __future__ import annotations

from topodesign.base.records import shortened
from topodesign.base.wording import counted
from topodesign.catalog.frontier import Pareto
from topodesign.report.charts.chart import Chart, Series


def frontier_chart(found: Pareto) -> Chart:
    """Return the plot of a frontier."""
    entries = found.entries
    steps = [entry.cost.steps for entry in entries]
    bound = found.bound
    compared = [one for one in found.baselines if one.cost is not None and one.cost.steps <= 4 * max(steps)]
    series = [
        Series(
            found.among.several.removeprefix("the "),
            steps,
            [entry.mean.bandwidth for entry in entries],
            "points",
            texts=[shortened(entry.short) for entry in entries],
        ),
        Series(
            "lower bound (both at once)",
            [one.steps for one in found.bounds],
            [one.bandwidth for one in found.bounds],
            "points",
            "bound",
        ),
        Series("", [bound.steps], [bound.bandwidth], "level", "bound"),
    ]
    series += [
        Series(one.name, [one.cost.steps], [one.cost.bandwidth], "points", "other")
        for one in compared
        if one.cost is not None
    ]
    return Chart(
        "frontier",
        f"{found.nodes} nodes of degree {found.degree}: what latency costs in bandwidth",
        "communication steps of half an allreduce",
        "y of half an allreduce (time = y M/B)",
        tuple(series),
        marks=((bound.steps, f"at least {counted(bound.steps, 'step')}"),),
        note="left and low is better",
    )
