"""A decision as pictures: step time against price, and who is ahead when sizes, the mix, latencies or prices change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import groupby
from typing import NamedTuple

from topodesign.base.units import format_amount, format_time
from topodesign.catalog.lookup import Catalog
from topodesign.report.charts.chart import Chart, Series
from topodesign.report.comparison.contender import sum_of
from topodesign.report.design.ahead import merit
from topodesign.report.design.answer import Decision
from topodesign.report.design.measure import step_at
from topodesign.report.design.parts import Offer

_FACTORS = tuple(Fraction(2) ** power for power in range(-6, 7))
_FAR = 5  # times as slow as the first is the last, from which on times are on a scale of logarithms
_LONGEST = 34  # letters of a name in a picture
_NOTE = "a bar is who is ahead at the factor in its middle: every doubling is looked at, with the plans as they are"


class _Lane(NamedTuple):
    """What is changed by a factor, and what each contender is worth then: what is small is ahead."""

    name: str
    worth: Callable[[Offer, Fraction], tuple[Fraction, ...]]


def labels(found: Decision) -> tuple[str, ...]:
    """Return what pictures and pages call the contenders: names of rows of the catalog, or beginnings of long specs."""
    catalog = Catalog()
    cut: list[str] = []
    for one in found.contenders:
        name = catalog.short(one.name, one.topology.nodes, one.topology.degree)
        name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
        cut.append(name if name not in cut else f"{name} ({len(cut) + 1})")
    return tuple(cut)


def tradeoff_chart(found: Decision) -> Chart:
    """Return the plot of the time of a step against the price, or against cables where nothing has a price."""
    priced = found.recommendation.price is not None
    every = tuple(zip(found.contenders, labels(found), strict=True))
    groups: tuple[tuple[str, Sequence[tuple[Offer, str]]], ...] = (
        ("recommended", every[:1]),
        ("none is as fast and as cheap", [pair for pair in every[1:] if pair[0].frontier]),
        ("others", [pair for pair in every[1:] if not pair[0].frontier and pair[0].refused is None]),
        ("cannot be recommended", [pair for pair in every if pair[0].refused is not None]),
    )
    times = [one.time for one in found.contenders]
    series = [
        Series(
            name,
            [one.price if one.price is not None else one.counts.cables for one, _ in offers],
            [one.time for one, _ in offers],
            "points",
            "ours" if name != "cannot be recommended" else "other",
            texts=[_told(*pair) for pair in offers],
        )
        for name, offers in groups
        if offers
    ]
    return Chart(
        "tradeoff",
        f"{found.request.name}: time of a step against {'price' if priced else 'cables'}",
        "price" if priced else "cables",
        "seconds",
        tuple(series),
        y_scale="log" if max(times) > _FAR * min(times) else "linear",
        note="left and low is better",
    )


def _told(one: Offer, label: str) -> str:
    price = "" if one.price is None else f", price {format_amount(one.price)}"
    watts = "" if one.watts is None else f", {format_amount(one.watts)} watts"
    return f"{label}: a step takes {format_time(one.time)}, {one.counts.cables} cables{price}{watts}"


def ahead_chart(found: Decision) -> Chart:
    """Return who is ahead in what was asked over all sizes, for the mix and for each of its collectives alone."""
    names = list(dict.fromkeys(share.collective for share in found.request.mix.shares))
    mixes: list[tuple[str, Mapping[str, Fraction]]] = [("the mix" if found.request.step is None else "the step", {})]
    if len(names) > 1 and found.request.step is None:
        mixes += [(f"{one} alone", {other: Fraction(other == one) for other in names}) for one in names]
    taken = _times(found)

    def worth(often: Mapping[str, Fraction]) -> Callable[[Offer, Fraction], tuple[Fraction, ...]]:
        return lambda one, factor: merit(one, found.request, taken(one, factor, Fraction(1), often))

    lanes = [_Lane(name, worth(often)) for name, often in mixes]
    return _spans(found, "ahead", "who is ahead by message size and mix", "all sizes, times what was asked", lanes)


def sensitivity_chart(found: Decision) -> Chart:
    """Return who is ahead with other latencies, bandwidths and prices.

    With f times the bandwidth a step takes what one with all sizes divided by f does.
    """
    asked, taken = found.request, _times(found)

    def priced(item: str) -> Callable[[Offer, Fraction], tuple[Fraction, ...]]:
        def worth(one: Offer, factor: Fraction) -> tuple[Fraction, ...]:
            prices = {**asked.prices, item: asked.prices[item] * factor}
            return merit(replace(one, price=sum_of(one.counts, prices)), asked)

        return worth

    lanes = [
        _Lane("latencies", lambda one, factor: merit(one, asked, taken(one, Fraction(1), factor, {}))),
        _Lane("bandwidth", lambda one, factor: merit(one, asked, taken(one, 1 / factor, Fraction(1), {}))),
        *(_Lane(f"{item} price", priced(item)) for item in asked.prices if asked.prices[item]),
    ]
    return _spans(found, "sensitivity", "who is ahead if this were another", "times what was asked", lanes)


def _times(found: Decision) -> Callable[[Offer, Fraction, Fraction, Mapping[str, Fraction]], Fraction]:
    """Return the seconds of a step of a contender at sizes and latencies times factors, each worked out once."""

    @cache
    def each(place: int, size: Fraction, latency: Fraction, often: tuple[tuple[str, Fraction], ...]) -> Fraction:
        return step_at(found.contenders[place], found.request, size=size, latency=latency, often=dict(often))

    place = {id(one): number for number, one in enumerate(found.contenders)}
    names = {share.collective for share in found.request.mix.shares}

    def taken(one: Offer, size: Fraction, latency: Fraction, often: Mapping[str, Fraction]) -> Fraction:
        if found.request.step is not None:
            return each(place[id(one)], size, latency, ())
        alone = {
            name: each(place[id(one)], size, latency, tuple((n, Fraction(n == name)) for n in names)) for name in names
        }
        return sum((often.get(name, Fraction(1)) * time for name, time in alone.items()), Fraction(0))

    return taken


def _first(able: Sequence[tuple[Offer, str]], lane: _Lane, factor: Fraction) -> str:
    """Return what is called the one that is ahead."""
    return min(able, key=lambda pair: (*lane.worth(pair[0], factor), len(pair[0].name)))[1]


def _spans(found: Decision, kind: str, title: str, label: str, lanes: Sequence[_Lane]) -> Chart:
    every = zip(found.contenders, labels(found), strict=True)
    able = [(one, label) for one, label in every if one.refused is None]
    bars: dict[str, list[tuple[Fraction, Fraction, int]]] = {}
    for number, lane in enumerate(lanes):
        won = [(_first(able, lane, factor), factor) for factor in _FACTORS]
        for name, group in groupby(won, key=lambda pair: pair[0]):
            factors = [factor for _, factor in group]
            bars.setdefault(name, []).append((factors[0] * 3 / 4, factors[-1] * 3 / 2, number))
    return Chart(
        kind,
        f"{found.request.name}: {title}",
        label,
        "",
        tuple(
            Series(
                name,
                [begin for begin, _, _ in own],
                [lane for _, _, lane in own],
                "spans",
                until=[end for _, end, _ in own],
                texts=[name] * len(own),
            )
            for name, own in bars.items()
        ),
        "log2",
        marks=((1, ""),),
        lanes=tuple(one.name for one in lanes),
        note=_NOTE,
    )
