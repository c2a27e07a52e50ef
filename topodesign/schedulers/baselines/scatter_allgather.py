"""Broadcast by scatter and allgather: binomial trees scatter the data, and a ring gathers it everywhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.collectives import BROADCAST, REDUCE, Collective
from topodesign.plans.rounds_ops import Part
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.binomial import node_of, tree
from topodesign.schedulers.baselines.cycles import link_disjoint_cycles, shortest_tour
from topodesign.schedulers.baselines.messages import Made, in_rounds
from topodesign.schedulers.baselines.routing import Router
from topodesign.topology.topology import Topology


def scatter_allgather(topology: Topology, collective: Collective) -> Made:
    """Return a broadcast in ceil(log2 N) + N - 1 rounds: (ceil(log2 N) + N - 1) alpha + 2 (N-1)/N beta M.

    Backwards in time it is a reduce by reduce-scatter and gather.

    van de Geijn, On Global Combine Operations (1994); Thakur, Rabenseifner and Gropp, Optimization of Collective
    Communication Operations in MPICH (2005).
    """
    nodes, root = topology.nodes, collective.root or 0
    scatter = (nodes - 1).bit_length()
    parts: list[Part] = [(at, src, dst, root, below.start, below.stop) for at, src, dst, below in tree(nodes, root)]
    order = np.array((link_disjoint_cycles(topology) or (shortest_tour(Router(topology).distance),))[0])
    rank = np.empty(nodes, dtype=np.int64)
    rank[[node_of(one, nodes, root) for one in range(nodes)]] = np.arange(nodes)
    place = np.arange(nodes)
    for at in range(1, nodes):
        piece = rank[order[(place - at + 1) % nodes]]
        parts.append((scatter + at, order, order[(place + 1) % nodes], root, piece, piece + 1))
    steps, volume = scatter + nodes - 1, Fraction(2 * (nodes - 1), nodes)
    return in_rounds(topology, collective, parts, steps, volume, units=nodes)


METHOD = baseline("scatter-allgather", (BROADCAST, REDUCE), scatter_allgather)
