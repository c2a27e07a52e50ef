"""Degree expansion: n copies of every node and n^2 of every link."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import ParameterError
from topodesign.collectives import REDUCE_SCATTER
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base, require_count
from topodesign.graphs.expansions.lifting import lift_both_ways
from topodesign.plans.build import build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.step_ops import rescale
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable

_SIGNATURE = "degree(G,n)"


def graph(base: Topology, n: int) -> Topology:
    """Return the degree expansion.

    Node (u, i) is n*u + i and has a link to (v, j) for every link uv and all i, j.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 3.
    """
    topology = _require_loopless(base)
    copies = require_count(n, _SIGNATURE)
    check_buildable(topology.nodes * copies, len(topology.src) * copies**2)
    copy = np.arange(copies)
    shape = (len(topology.src), copies, copies)
    source = np.broadcast_to(topology.src[:, None, None] * copies + copy[None, :, None], shape)
    target = np.broadcast_to(topology.dst[:, None, None] * copies + copy[None, None, :], shape)
    capacity = np.broadcast_to(topology.capacity[:, None, None], shape)
    return Topology.from_arrays(topology.nodes * copies, source, target, capacity, symmetry=_symmetry(topology, copies))


def _symmetry(base: Topology, copies: int) -> Symmetry:
    """Return the automorphisms of G on each copy, and the rotation of copies."""
    known = base.symmetry
    nodes, copy = base.nodes * copies, np.arange(copies)
    representatives = tuple(copies * node for node in base.representatives or range(base.nodes))

    def generators() -> Iterator[IntArray]:
        for generator in () if known is None else known.generators:
            yield (generator[:, None].astype(np.int64) * copies + copy).ravel()
        if copies > 1:
            yield (np.arange(base.nodes)[:, None] * copies + (copy + 1) % copies).ravel()

    return Symmetry(nodes, representatives, generators)


def _require_loopless(base: object) -> Topology:
    topology = require_base(base, _SIGNATURE)
    if topology.self_loops:
        raise ParameterError("degree(G,n) requires a topology without self-loops")
    return topology


def claim(base: Base, n: int) -> Claim:
    """Return the closed-form cost: y + (n-1)/(nN).

    No step more if all neighbours come back in fewer steps.

    The shards of a node's copies go out to all its neighbours in a step before these send theirs. If all neighbours are
    equally far from the node, that is the step of the copies' distance; then the schedule is SPFF and bounds that cost.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorems 11 and 12. Theorem 12 asks only for shortest cycles of one length
    through all nodes; ``degree(randomregular(5,2,11),2)``, which costs 1 in two steps and not 9/10, shows that this is
    too little where they do not pass all neighbours.
    """
    if n == 1:
        return Claim(base.cost, Basis.THEOREM)
    back = frozenset().union(*base.returns)
    cost = Cost(max(base.cost.steps, 1 + max(back)), base.cost.bandwidth + Fraction(n - 1, n * base.nodes))
    return Claim(cost, Basis.BOUND if len(back) == 1 else Basis.SCHEDULE)


@lift_both_ways(_SIGNATURE)
def lift(base: Topology, schedule: Flow, n: int) -> Flow:
    """Return the schedule in which every copy of a node sends as the node does.

    To the copy that is the owner's.

    The shards of a node's other copies go out over all its links in equal parts, in the last step before any neighbour
    sends what it has of them; if there is none, in a step of their own before all others. As all links carry equally
    more in that step, the bandwidth factor grows by exactly (n-1)/(nN) on a regular topology.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 4 and Theorem 12.
    """
    copies = require_count(n, _SIGNATURE)
    topology = _require_loopless(base)
    if copies == 1:
        return schedule
    check_rows((len(schedule) + len(topology.src) * copies) * copies**2)
    ports = copies * topology.out_ports
    schedule = rescale(schedule, math.lcm(schedule.units, *np.unique(ports).tolist()))
    joining = _joining_step(topology, schedule)
    added = 1 if joining == 0 else 0
    i, j = np.arange(copies)[:, None], np.arange(copies)
    step, src, dst, owner, lo, hi = (
        getattr(schedule, name)[:, None, None].astype(np.int64) for name in ("step", "src", "dst", "block", "lo", "hi")
    )
    target = owner * copies + j
    sends = (step + added, src * copies + i, dst * copies + j, target, lo, hi)

    tail, head, capacity = (column[:, None, None, None] for column in (topology.src, topology.dst, topology.capacity))
    before = np.cumsum(topology.capacity) - topology.capacity
    before = (before - before[topology.indptr[topology.src]])[:, None, None, None]
    i, j, k = np.arange(copies)[:, None, None], np.arange(copies)[:, None], np.arange(copies)
    width = schedule.units // ports[tail]
    lo = (before * copies + k * capacity) * width
    hi = np.where(i == j, lo, lo + capacity * width)
    joins = (joining + added, tail * copies + i, head * copies + k, tail * copies + j, lo, hi)
    return build_steps(REDUCE_SCATTER, graph(base, n), schedule.units, schedule.steps + added, (sends, joins))


def _joining_step(base: Topology, schedule: Flow) -> int:
    """Return the last step before a node sends the shard of an in-neighbour."""
    first = np.full((base.nodes, base.nodes), schedule.steps + 1, dtype=np.int32)
    np.minimum.at(first, (schedule.src, schedule.block), schedule.step)
    return int(first[base.dst, base.src].min(initial=schedule.steps + 1)) - 1


degree = Expansion("degree", graph, claim, lift, size=("n*N", "n*d", "degree(biring(2,6),2)"))
