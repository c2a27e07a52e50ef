"""A decision as pictures: step time over price, and the fastest by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import groupby

from topodesign.base.units import format_amount, format_time
from topodesign.catalog.lookup import Catalog
from topodesign.report.charts.chart import Chart, Series
from topodesign.report.design.ahead import merit
from topodesign.report.design.answer import Decision
from topodesign.report.design.measure import step_at
from topodesign.report.design.parts import Offer

_FACTORS = tuple(Fraction(2) ** power for power in range(-6, 7))
_FAR = 5  # times as slow as the first is the last, from which on times are on a scale of logarithms
_LONGEST = 34  # letters of a name in a picture
_NOTE = "a bar is who is ahead at the factor in its middle: every doubling is looked at, with the plans as they are"


def labels(found: Decision) -> tuple[str, ...]:
    """Return short labels of contenders: catalog rows or beginnings of specs."""
    catalog = Catalog()
    cut: list[str] = []
    for one in found.contenders:
        name = catalog.short(one.name, one.topology.nodes, one.topology.degree)
        name = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
        cut.append(name if name not in cut else f"{name} ({len(cut) + 1})")
    return tuple(cut)


def tradeoff_chart(found: Decision) -> Chart:
    """Return the plot of step time over price, or cables without prices."""
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
            texts=[_format_label(*pair) for pair in offers],
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


def _format_label(one: Offer, label: str) -> str:
    price = "" if one.price is None else f", price {format_amount(one.price)}"
    watts = "" if one.watts is None else f", {format_amount(one.watts)} watts"
    return f"{label}: a step takes {format_time(one.time)}, {one.counts.cables} cables{price}{watts}"


def ahead_chart(found: Decision) -> Chart:
    """Return the fastest over all sizes, for the mix and each collective."""
    asked = found.request
    names = list(dict.fromkeys(share.collective for share in asked.mix.shares))
    lanes: dict[str, Mapping[str, Fraction]] = {"the mix" if asked.step is None else "the step": {}}
    if len(names) > 1 and asked.step is None:
        lanes |= {f"{one} alone": {other: Fraction(other == one) for other in names} for one in names}

    able = [place for place, one in enumerate(found.contenders) if one.refused is None]

    @cache
    def alone(place: int, size: Fraction, name: str | None) -> Fraction:
        often = {other: Fraction(other == name) for other in names} if name is not None else {}
        return step_at(found.contenders[place], asked, size=size, often=often)

    def ahead(often: Mapping[str, Fraction], size: Fraction) -> int:
        """Return the contender that is ahead, by its number."""

        def worth(place: int) -> tuple[Fraction | int, ...]:
            if asked.step is not None:
                time = alone(place, size, None)
            else:
                time = sum((often.get(name, Fraction(1)) * alone(place, size, name) for name in names), Fraction(0))
            one = found.contenders[place]
            return (*merit(one, asked, time), len(one.name))

        return min(able, key=worth)

    called = labels(found)
    bars: dict[str, list[tuple[Fraction, Fraction, int]]] = {}
    for number, often in enumerate(lanes.values()):
        for place, group in groupby(_FACTORS, key=partial(ahead, often)):
            sizes = list(group)
            bars.setdefault(called[place], []).append((sizes[0] * 3 / 4, sizes[-1] * 3 / 2, number))
    series = [
        Series(
            name,
            [begin for begin, _, _ in own],
            [lane for _, _, lane in own],
            "spans",
            until=[end for _, end, _ in own],
            texts=[name] * len(own),
        )
        for name, own in bars.items()
    ]
    return Chart(
        "ahead",
        f"{asked.name}: who is ahead by message size and mix",
        "all sizes, times what was asked",
        "",
        tuple(series),
        "log2",
        marks=((1, ""),),
        lanes=tuple(lanes),
        note=_NOTE,
    )
