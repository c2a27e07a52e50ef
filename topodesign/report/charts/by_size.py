"""Time over the number of nodes, beside common wirings."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from topodesign.base.spec import Spec, parse
from topodesign.base.wording import with_article
from topodesign.finder.survey import Survey
from topodesign.pricing.baselines import baselines
from topodesign.report.charts.chart import Chart, Series


def by_size_chart(known: Survey) -> Chart:
    """Return the plot of the fastest topology by size, with bound and baselines.

    References
    ----------
    Efficient Direct-Connect Topologies, figure 9.
    """
    fronts = known.frontiers
    nodes = [front.nodes for front in fronts]
    texts = [front.fastest.spec for front in fronts]
    series = [
        Series("the catalog", nodes, [front.fastest.times[0] for front in fronts], texts=texts),
        bound_by_size(known),
    ]
    others: dict[str, list[tuple[int, Fraction]]] = {}
    for front in fronts if known.objective.collective == "allreduce" else ():
        for one in baselines(front.nodes, front.degree, front.workload):
            others.setdefault(one.name, []).append((front.nodes, one.allreduce[0]))
    series += [
        Series(name, [at for at, _ in points], [time for _, time in points], role="other")
        for name, points in others.items()
    ]
    return Chart(
        "sizes",
        f"degree {fronts[0].degree}: {known.what} over the number of nodes",
        "nodes N",
        "seconds",
        tuple(series),
        y_scale="log",
        note=f"{fronts[0].workload.setting}{_ratios(known, series)}",
    )


def _ratios(known: Survey, series: Sequence[Series]) -> str:
    """Return the slowdown of the others at the largest size."""
    last = known.frontiers[-1].nodes
    least = series[0].y[-1]
    told = [
        f"{one.name} x{float(one.y[-1] / least):.3g}"
        for one in series[1:]
        if one.role != "bound" and one.x and one.x[-1] == last
    ]
    return f"; at {last} nodes over the catalog: {', '.join(told)}" if told else ""


def bound_by_size(known: Survey) -> Series:
    """Return the lower bound at each size."""
    nodes = [front.nodes for front in known]
    times = [front.question.least[0] for front in known]
    return Series("lower bound", nodes, times, role="bound")


_EXPANSIONS = {
    "line": "line graph",
    "degree": "degree expansion",
    "power": "Cartesian power",
    "product": "Cartesian product",
}
_KINDS = {
    **dict.fromkeys(("genkautz", "kautz", "debruijn", "congruential"), "generalized Kautz"),
    **dict.fromkeys(("circulant", "dicirculant"), "circulant"),
    "cayley": "Cayley digraph",
    **dict.fromkeys(("lift", "cover", "multicirculant"), "voltage lift"),
    **dict.fromkeys(("delete", "insert"), "nodes in or out of another"),
    **dict.fromkeys(("successors", "swap", "rewire"), "annealed"),
}


def construction(spec: Spec) -> str:
    """Return the kind of construction of a topology, by its spec."""
    while spec.name in {"transpose", "turn", "bidirect"} and isinstance(spec.args[0], Spec):
        spec = spec.args[0]
    return _EXPANSIONS.get(spec.name) or _KINDS.get(spec.name, "other family")


def winners_chart(known: Survey) -> Chart:
    """Return the plot of the fastest topology by size and construction.

    References
    ----------
    Efficient Direct-Connect Topologies, figure 18.
    """
    fronts = known.frontiers
    what = known.what if known.objective.collective is None else with_article(known.what)
    won: dict[str, list[int]] = {}
    for place, front in enumerate(fronts):
        won.setdefault(construction(parse(front.fastest.spec)), []).append(place)
    series = [
        Series(
            f"{kind} ({len(places)})",
            [fronts[place].nodes for place in places],
            [fronts[place].fastest.times[0] for place in places],
            "points",
            texts=[fronts[place].fastest.spec for place in places],
        )
        for kind, places in sorted(won.items(), key=lambda item: -len(item[1]))
    ]
    return Chart(
        "winners",
        f"degree {fronts[0].degree}: which construction wins {what}",
        "nodes N (in brackets: how many sizes each wins)",
        "seconds",
        (*series, bound_by_size(known)),
        note=fronts[0].workload.setting,
    )
