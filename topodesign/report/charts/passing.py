"""Time over the size of the data: of ways in which messages pass through, beside those from neighbour to neighbour."""

from __future__ import annotations

from topodesign.base.units import rounded_size
from topodesign.optima.routed import Routed
from topodesign.report.charts.chart import Chart, Series
from topodesign.report.charts.times import SIZES

_MOST = 8  # ways that are drawn


def passing_chart(found: Routed) -> Chart:
    """Return the plot of the times of all ways, those that take least time for some size before others."""
    turns = [one for one in found.turns if one.size <= SIZES[-1]]
    fastest = list(dict.fromkeys(turn.name for turn in turns))
    drawn = sorted(found.ways, key=lambda one: fastest.index(one.name) if one.name in fastest else len(fastest))[:_MOST]
    series = [
        Series(
            way.name,
            SIZES,
            [way.seconds(found.workload, size) for size in SIZES],
            role="ours" if way.name in fastest else "other",
        )
        for way in drawn
    ]
    return Chart(
        "passing",
        f"{found.name}: {found.collective}, messages pass through",
        f"data of the {found.collective}, bytes",
        "seconds",
        tuple(series),
        "log2",
        "log",
        marks=tuple((turn.size, rounded_size(turn.size)) for turn in turns if turn.size > SIZES[0]),
        note="dotted: from here on another way takes less time",
    )
