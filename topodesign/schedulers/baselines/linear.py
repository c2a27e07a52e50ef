"""Linear: the root sends to, or hears from, one node after another, in the order of their numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.collectives import BROADCAST, GATHER, REDUCE, SCATTER, Collective
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, deliveries, in_rounds
from topodesign.topology.topology import Topology


def linear(topology: Topology, collective: Collective) -> Made:
    """Return N - 1 rounds of one message: (N-1)(alpha + beta M) for a broadcast, (N-1)(alpha + beta M/N) for a scatter.

    Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
    """
    nodes = topology.nodes
    messages = (np.arange(1, nodes), *deliveries(collective, nodes), 0, 1)
    return in_rounds(topology, collective, [messages], nodes - 1, Fraction(nodes - 1, collective.shards(nodes)))


METHOD = baseline("linear", (BROADCAST, REDUCE, SCATTER, GATHER), linear)
