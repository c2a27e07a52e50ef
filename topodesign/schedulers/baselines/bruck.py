"""Bruck's algorithms: ceil(log2 N) rounds for any number of nodes, over distances that double."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.rounds_ops import Part
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, in_rounds
from topodesign.topology.topology import Topology


def bruck(topology: Topology, collective: Collective) -> Made:
    """Return an allgather or an all-to-all in K = ceil(log2 N) rounds.

    In round k + 1 of an allgather node i sends to i - 2^k all blocks that it has, as many as are lacking there:
    K alpha + (N-1)/N beta M. In an all-to-all a block goes to i + 2^k where the difference of its ends has bit k: so of
    a power of two K alpha + K/2 beta M.

    Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient Algorithms for All-to-All Communications in Multiport
    Message-Passing Systems (1997).
    """
    nodes = topology.nodes
    steps = (nodes - 1).bit_length()
    node = np.arange(nodes)[:, None]
    parts: list[Part] = []
    blocks = 0
    for k in range(steps):
        reach = 1 << k
        if collective.pairwise:
            ways = np.array([way for way in range(1, nodes) if way & reach])
            source = (node - ways % reach) % nodes  # where what is here now, on its way to `ways` on, began
            block = source * nodes + (source + ways) % nodes
            parts.append((k + 1, node, (node + reach) % nodes, block, 0, 1))
        else:
            ways = np.arange(min(reach, nodes - reach))
            parts.append((k + 1, node, (node - reach) % nodes, (node + ways) % nodes, 0, 1))
        blocks += len(ways)
    return in_rounds(topology, collective, parts, steps, Fraction(blocks, nodes))


METHOD = baseline("bruck", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, ALL_TO_ALL), bruck)
