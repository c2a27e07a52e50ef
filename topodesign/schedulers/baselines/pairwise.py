"""Pairwise exchange: in round r node i exchanges with i xor r, or sends to i + r where N is no power of two."""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.messages import Made, deliveries, formula, in_rounds, plans
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import Topology


def pairwise(topology: Topology, collective: Collective) -> Made:
    """Return N - 1 rounds of one message from every node: (N-1) alpha + (N-1)/N beta M.

    References
    ----------
    Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations in MPICH (2005).
    """
    nodes = topology.nodes
    src, dst, block = deliveries(collective, nodes)
    at = (dst - src) % nodes if nodes & (nodes - 1) else src ^ dst
    rounds, alone = in_rounds(topology, collective, 1, nodes - 1, [(at, src, dst, block, 0, 1)])
    return Made(rounds, formula(topology, nodes - 1, Fraction(nodes - 1, nodes)) if alone else None)


def _make(request: Request) -> list[Plan]:
    return plans(request, "pairwise", pairwise)


METHOD = Method("pairwise", frozenset(), (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, ALL_TO_ALL), _make, auto=False)
