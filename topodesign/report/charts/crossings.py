"""Time over the delay of a change, or over the size of the data: of the plans that were compared, and the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from topodesign.base.arguments import as_choice
from topodesign.base.errors import ParameterError
from topodesign.base.records import shortened
from topodesign.base.units import format_time, rounded_size
from topodesign.report.charts.chart import Chart, Series
from topodesign.report.charts.times import SIZES
from topodesign.schedulers.circuits.bounds import Work, bound
from topodesign.schedulers.circuits.reconfigure import FOUND, Contender, Reconfiguration, reconfigure

OVER = ("delay", "size")
DELAYS = tuple(Fraction(10) ** power * digit for power in range(-7, -1) for digit in (1, 2, 5))  # 100 ns to 50 ms
_MOST = 8  # plans that are drawn


def crossings_chart(found: Reconfiguration, over: str = "delay") -> Chart:
    """Return the plot of times over the delay or the size; all else is as it was asked for."""
    axis = as_choice("axis", over, OVER)
    if found.dark != "all":
        raise ParameterError("times over the delay or size are drawn where all ports are dark; leave dark out")
    places: tuple[Fraction, ...] = DELAYS if axis == "delay" else SIZES

    def work(place: Fraction) -> Work:
        if axis == "delay":
            return replace(found.work, delay=place)
        return replace(found.work, second=found.work.second * place / found.size)

    def line(steps: int, factor: Fraction, changes: int) -> list[Fraction]:
        return [work(place).time(steps, factor, changes) for place in places]

    lines = {
        one.name: line(one.steps, one.bandwidth, one.changes)
        for one in (*found.contenders, *_found_elsewhere(found, work, places))
    }
    least = [min(column) for column in zip(*lines.values(), strict=True)]
    fastest = [next(name for name in lines if lines[name][i] == least[i]) for i in range(len(places))]
    turns = [i for i in range(1, len(places)) if fastest[i] != fastest[i - 1]]
    drawn = sorted(lines, key=lambda name: (name not in fastest, list(lines).index(name)))[:_MOST]

    def lowest(place: Fraction) -> Fraction:
        return bound(found.room, found.collective, work(place), moving=False)[0]

    words: Callable[[Fraction], str] = format_time if axis == "delay" else rounded_size
    series = [
        Series(shortened(name), places, lines[name], role="ours" if name in fastest else "other") for name in drawn
    ]
    series.append(Series("lower bound", places, [lowest(place) for place in places], role="bound"))
    return Chart(
        "crossings",
        f"{found.nodes} nodes, {found.degree} ports, {found.cabling}: {found.collective} over circuits that change",
        "seconds that a change takes" if axis == "delay" else f"data of the {found.collective}, bytes",
        "seconds",
        tuple(series),
        "log" if axis == "delay" else "log2",
        "log",
        marks=tuple((places[i], words(places[i])) for i in turns),
        note="dotted: from here on another plan of these takes less time" if turns else "",
    )


def _found_elsewhere(
    found: Reconfiguration, work: Callable[[Fraction], Work], places: tuple[Fraction, ...]
) -> Iterator[Contender]:
    """Yield what a search finds for every third delay, or size."""
    for place in places[::3]:
        now = work(place)
        other = reconfigure(
            found.nodes,
            found.degree,
            found.collective.name,
            delay=now.delay,
            size=found.size * now.second / found.work.second,
            alpha=now.alpha,
            bandwidth=found.bandwidth,
            cabling=found.cabling,
            group=[one.group for one in found.collective.single if one.group],
        )
        words = format_time(place) if now.delay != found.work.delay else rounded_size(place)
        yield from (replace(one, name=f"found for {words}") for one in other.contenders if one.name == FOUND)
