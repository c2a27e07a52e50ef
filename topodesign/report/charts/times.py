"""Time over data size: of a frontier, of contenders, of methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from topodesign.base.records import SideBySide, shorten_text
from topodesign.base.units import format_size_rounded
from topodesign.base.wording import count_noun
from topodesign.finder.pareto import Pareto
from topodesign.pricing.baselines import baselines
from topodesign.pricing.workload import winners
from topodesign.report.charts.chart import Chart, Series, Style

SIZES = tuple(Fraction(2**power) for power in range(10, 31))  # from 1 KiB to 1 GiB
_MAX_COLOURED = 6  # contenders that are distinguished by colour


def times_chart(found: Pareto | SideBySide) -> Chart:
    """Return the plot of times over sizes."""
    if isinstance(found, SideBySide):
        return _side_by_side(*found.side_by_side())
    work = replace(found.workload, sizes=SIZES)
    series = [
        *(Series(shorten_text(one.short), SIZES, work.allreduce(one.mean)) for one in found.entries),
        Series("lower bound", SIZES, work.fastest(found.bounds), role="bound"),
        *(Series(one.name, SIZES, one.allreduce, role="other") for one in baselines(found.nodes, found.degree, work)),
    ]
    wins = [size for size, _ in winners([one.mean for one in found.entries], work.alpha * work.bandwidth / 8)][1:]
    return over_sizes(
        f"{found.nodes} nodes of degree {found.degree}: allreduce over message size",
        series,
        marks=tuple((size, format_size_rounded(size)) for size in wins if SIZES[0] < size < SIZES[-1]),
        note="dotted: from here on another topology of the frontier takes less time" if wins else "",
    )


def _side_by_side(
    title: str,
    sizes: Sequence[Fraction],
    times: Sequence[tuple[str, Sequence[Fraction]]],
    bound: Sequence[Fraction],
    collective: str,
) -> Chart:
    """Return the plot of a comparison, the first few in colour."""
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    x = [sizes[place] for place in order]
    style: Style = "line" if len(x) > 1 else "points"
    series = [
        Series(shorten_text(name), x, [y[at] for at in order], style, "ours" if place < _MAX_COLOURED else "other")
        for place, (name, y) in enumerate(times)
    ]
    series.append(Series("lower bound", x, [bound[at] for at in order], style, "bound"))
    return over_sizes(title, series, collective=collective)


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


def frontier_chart(found: Pareto) -> Chart:
    """Return the plot of a frontier."""
    entries = found.entries
    steps = [entry.cost.steps for entry in entries]
    bound = found.bound
    compared = [one for one in found.baselines if one.cost is not None and one.cost.steps <= 4 * max(steps)]
    series = [
        Series(
            found.among.removeprefix("the "),
            steps,
            [entry.mean.bandwidth for entry in entries],
            "points",
            texts=[shorten_text(entry.short) for entry in entries],
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
        "communication steps per phase",
        "BW factor y per phase (time = y M/B)",
        tuple(series),
        marks=((bound.steps, f"at least {count_noun(bound.steps, 'step')}"),),
        note="left and low is better",
    )
