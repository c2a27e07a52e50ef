"""Pairwise exchange: in round r node i exchanges with i xor r, or sends to i + r where N is no power of two."""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, deliveries, in_rounds
from topodesign.topology.topology import Topology


def pairwise(topology: Topology, collective: Collective) -> Made:
    """Return N - 1 rounds of one message from every node: (N-1) alpha + (N-1)/N beta M.

    Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
    """
    nodes = topology.nodes
    src, dst, block = deliveries(collective, nodes)
    at = (dst - src) % nodes if nodes & (nodes - 1) else src ^ dst
    return in_rounds(topology, collective, [(at, src, dst, block, 0, 1)], nodes - 1, Fraction(nodes - 1, nodes))


METHOD = baseline("pairwise", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, ALL_TO_ALL), pairwise)
