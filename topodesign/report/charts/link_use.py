"""How full links are at every step of a plan in rounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import find_links
from topodesign.report.charts.chart import Chart, Series
from topodesign.topology.topology import IntArray, Topology


def link_use_chart(plan: Plan) -> Chart:
    """Return what the fullest link carries at every step, and links on average.

    * ``plan``: in rounds.
    """
    kind = kind_of(plan)
    if kind.pace != "steps":
        raise ParameterError(f"link use by step is for plans in rounds, not in {plan.kind}; plot its timeline")
    topology, moved = kind.in_rounds()
    load = step_loads(topology, moved)
    real = topology.src != topology.dst
    steps = list(range(1, moved.steps + 1))
    fullest, mean = [], []
    for row in load:
        fullest.append(max(map(Fraction, row[real].tolist(), topology.capacity[real].tolist())) / moved.units)
        mean.append(Fraction(int(row[real].sum()), int(topology.capacity[real].sum()) * moved.units))
    share = float(sum(mean, Fraction(0)) / sum(fullest, Fraction(0))) if any(fullest) else 1.0
    return Chart(
        "use",
        f"{plan.heading()}: what links carry",
        "step",
        "blocks per unit of capacity",
        (Series("fullest link", steps, fullest, "bars"), Series("mean of all links", steps, mean, "points", "other")),
        note=f"links are {share:.1%} as full as the fullest one",
    )


def step_loads(topology: Topology, rounds: Rounds) -> IntArray:
    """Return the units that every link carries at every step, shape ``(steps, links)``."""
    load = np.zeros((rounds.steps, len(topology.src)), dtype=np.int64)
    np.add.at(load, (rounds.step - 1, find_links(topology, rounds)), rounds.hi - rounds.lo)
    return load
