"""Which kind of construction is the fastest at each number of nodes."""

from __future__ import annotations

from topodesign.base.spec import Spec
from topodesign.base.units import format_size
from topodesign.catalog.known import Known
from topodesign.report.charts.by_size import bound_by_size, setting
from topodesign.report.charts.chart import Chart, Series

_EXPANSIONS = {
    "line": "line graph",
    "degree": "degree expansion",
    "power": "Cartesian power",
    "product": "Cartesian product",
}
_KINDS = {
    "genkautz": "generalized Kautz",
    "kautz": "generalized Kautz",
    "debruijn": "generalized Kautz",
    "congruential": "generalized Kautz",
    "circulant": "circulant",
    "dicirculant": "circulant",
    "cayley": "Cayley digraph",
    "lift": "voltage lift",
    "cover": "voltage lift",
    "multicirculant": "voltage lift",
    "delete": "nodes in or out of another",
    "insert": "nodes in or out of another",
    "successors": "annealed",
    "swap": "annealed",
    "rewire": "annealed",
}


def construction(spec: Spec) -> str:
    """Return of which kind a topology is, by the outermost name of its spec that says how it came about."""
    while spec.name in {"transpose", "turn", "bidirect"} and isinstance(spec.args[0], Spec):
        spec = spec.args[0]
    return _EXPANSIONS.get(spec.name) or _KINDS.get(spec.name, "other family")


def winners_chart(known: Known) -> Chart:
    """Return the plot of the fastest allreduce of every size, one series for each kind of construction.

    References
    ----------
    Efficient Direct-Connect Topologies, figure 18.
    """
    fronts = known.frontiers
    work = fronts[0].workload
    won: dict[str, list[int]] = {}
    for place, front in enumerate(fronts):
        won.setdefault(construction(front.best.spec), []).append(place)
    series = [
        Series(
            f"{kind} ({len(places)})",
            [fronts[place].nodes for place in places],
            [fronts[place].best.allreduce[0] for place in places],
            "points",
            texts=[str(fronts[place].best.spec) for place in places],
        )
        for kind, places in sorted(won.items(), key=lambda item: -len(item[1]))
    ]
    return Chart(
        "winners",
        f"degree {fronts[0].degree}: which construction wins an allreduce of {format_size(work.sizes[0])}",
        "nodes N (in brackets: how many sizes each wins)",
        "seconds",
        (*series, bound_by_size(known)),
        note=setting(work),
    )
