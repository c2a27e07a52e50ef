"""Linear: the root sends to, or hears from, one node after another, in the order of their numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.collectives import BROADCAST, GATHER, REDUCE, SCATTER, Collective
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.messages import Made, deliveries, formula, in_rounds, plans
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import Topology


def linear(topology: Topology, collective: Collective) -> Made:
    """Return N - 1 rounds of one message: (N-1)(alpha + beta M) for a broadcast, (N-1)(alpha + beta M/N) for a scatter.

    References
    ----------
    Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
    """
    nodes = topology.nodes
    src, dst, block = deliveries(collective, nodes)
    rounds, alone = in_rounds(topology, collective, 1, nodes - 1, [(np.arange(1, nodes), src, dst, block, 0, 1)])
    volume = Fraction(nodes - 1, collective.shards(nodes))
    return Made(rounds, formula(topology, nodes - 1, volume) if alone else None)


def _make(request: Request) -> list[Plan]:
    return plans(request, "linear", linear)


METHOD = Method("linear", frozenset({"root"}), (BROADCAST, REDUCE, SCATTER, GATHER), _make, auto=False)
