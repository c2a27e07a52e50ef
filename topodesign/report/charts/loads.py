"""What the fullest link carries at each step of the best SPFF schedule, beside what a balanced one would."""

from __future__ import annotations

from fractions import Fraction

from topodesign.pricing.closed_form import layer_loads
from topodesign.report.charts.chart import Chart, Series, name_of
from topodesign.topology.topology import Topology


def loads_chart(topology: Topology) -> Chart:
    """Return the bars of U(x), the load of the fullest link at distance x, whose sum makes the bandwidth factor.

    References
    ----------
    Efficient Direct-Connect Topologies, equations (1) and (2).
    """
    loads = layer_loads(topology)
    steps = list(range(1, len(loads) + 1))
    factor = Fraction(topology.degree, topology.nodes) * sum(loads)
    best = Fraction(topology.nodes - 1, topology.nodes)
    return Chart(
        "loads",
        f"{name_of(topology)}: load of the fullest link by distance",
        "distance x of the shards that are moved",
        "shards over the fullest link",
        (Series("U(x)", steps, loads, "bars"),),
        note=f"bandwidth factor {factor} = {float(factor):.4f}; {float(factor / best) - 1:.1%} over the bound, {best}",
    )
