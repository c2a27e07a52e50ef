"""Time over the delay of a change, or over the size of the data: of the plans that were compared, and the bound.

Or where it turns: over the size, the longest delay at which changes pay, and from which on no plan can make them pay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

from topodesign.base.arguments import as_choice
from topodesign.base.errors import ParameterError
from topodesign.base.records import shortened
from topodesign.base.units import format_time, rounded_size
from topodesign.report.charts.chart import Chart, Role, Series
from topodesign.report.charts.times import SIZES
from topodesign.schedulers.circuits.bounds import Work, all_least, bound
from topodesign.schedulers.circuits.reconfigure import FOUND, Contender, Reconfiguration, reconfigure

OVER = ("delay", "size", "turn")
DELAYS = tuple(Fraction(10) ** power * digit for power in range(-7, -1) for digit in (1, 2, 5))  # 100 ns to 50 ms
TURNING = ("all-to-all", "allgather", "allreduce")
_MOST = 8  # plans that are drawn


def crossings_chart(found: Reconfiguration, over: str = "delay") -> Chart:
    """Return the plot of times over the delay or the size; all else is as it was asked for."""
    axis = as_choice("axis", over, OVER)
    if found.dark != "all":
        raise ParameterError("times over the delay or size are drawn where all ports are dark; leave dark out")
    if axis == "turn":
        return _turns_chart(found)
    places: tuple[Fraction, ...] = DELAYS if axis == "delay" else SIZES

    def work(place: Fraction) -> Work:
        if axis == "delay":
            return replace(found.work, delay=place)
        return _of_size(found, place)

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
        return bound(found.rooms, found.collective, work(place), moving=False)[0]

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


def _turns_chart(found: Reconfiguration) -> Chart:
    """Return the plot of the longest delay at which changes pay, over the size, and of that from which on none can."""
    lines: dict[tuple[str, Role, tuple[tuple[Fraction, Fraction], ...]], list[str]] = {}
    for name in TURNING:
        mine = found if name == found.collective.name else _asked(found, found.work, name)
        if mine.static is None:
            raise ParameterError("no topology that stays joins all, and so changes always pay")
        pays: dict[Fraction, Fraction] = {}
        never: dict[Fraction, Fraction] = {}
        work = partial(_of_size, mine)
        plans = (*mine.contenders, *_found_elsewhere(mine, work, SIZES))
        for size in SIZES:
            now = replace(work(size), delay=Fraction(0))
            stays = min(now.time(one.steps, one.bandwidth, 0) for one in plans if not one.changes)
            gains = [(stays - now.time(one.steps, one.bandwidth, 0)) / one.changes for one in plans if one.changes]
            pays[size] = max(gains, default=Fraction(0))
            free, halves = all_least(mine.rooms, mine.collective, now), len(mine.collective.parts)
            most = [(stays - time) / (halves * at) for at, time in enumerate(free) if at and time is not None]
            never[size] = max(most, default=Fraction(0))
        kinds: tuple[tuple[dict[Fraction, Fraction], str, Role], ...]
        kinds = (pays, "pays to", "ours"), (never, "never beyond", "bound")
        for values, words, role in kinds:
            there = tuple((size, delay) for size, delay in values.items() if delay > 0)
            if there:
                lines.setdefault((words, role, there), []).append(name)
    series = [
        Series(f"{', '.join(names)}: {words}", [x for x, _ in points], [y for _, y in points], role=role)
        for (words, role, points), names in lines.items()
    ]
    return Chart(
        "crossings",
        f"{found.nodes} nodes, {found.degree} ports, {found.cabling}: up to which delay changes pay",
        "data, bytes",
        "seconds that a change takes",
        tuple(series),
        "log2",
        "log",
        note="below its line a plan with changes beats the topologies that stay; beyond the dashed one none can",
    )


def _of_size(found: Reconfiguration, size: Fraction) -> Work:
    return replace(found.work, second=found.work.second * size / found.size)


def _asked(found: Reconfiguration, now: Work, collective: str) -> Reconfiguration:
    """Return the answer to the same question for other work, or another collective."""
    return reconfigure(
        found.nodes,
        found.degree,
        collective,
        delay=now.delay,
        size=found.size * now.second / found.work.second,
        alpha=now.alpha,
        bandwidth=found.bandwidth,
        cabling=found.cabling,
        group=found.groups or (),
    )


def _found_elsewhere(
    found: Reconfiguration, work: Callable[[Fraction], Work], places: tuple[Fraction, ...]
) -> Iterator[Contender]:
    """Yield what a search finds for every third delay, or size."""
    for place in places[::3]:
        now = work(place)
        other = _asked(found, now, found.collective.name)
        words = format_time(place) if now.delay != found.work.delay else rounded_size(place)
        yield from (replace(one, name=f"found for {words}") for one in other.contenders if one.name == FOUND)
