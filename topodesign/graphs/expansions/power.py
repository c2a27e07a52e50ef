"""Cartesian power: the product of a topology with itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.cost import Basis, Cost
from topodesign.collectives import REDUCE_SCATTER
from topodesign.graphs.expansions.expansion import Base, Claim, Expansion, require_base, require_count
from topodesign.graphs.expansions.lifting import lift_both_ways
from topodesign.graphs.expansions.product import claim as product_claim
from topodesign.graphs.expansions.product import graph as product_graph
from topodesign.plans.build import build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import relabel
from topodesign.plans.step_ops import share
from topodesign.topology.topology import Topology, check_buildable

_SIGNATURE = "power(G,n)"


def graph(base: Topology, n: int) -> Topology:
    """Return the n-th Cartesian power; node (u1, u2, ...) is u1 + N*(u2 + N*(...)).

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 5.
    """
    topology = require_base(base, _SIGNATURE)
    times = require_count(n, _SIGNATURE)
    if times == 1:
        return topology
    check_buildable(topology.nodes ** min(times, 64), 0)
    return product_graph(*[topology] * times)


def claim(base: Base, n: int) -> Claim:
    """Return the closed-form cost: n times the steps.

    y * N/(N-1) * (N^n - 1)/N^n.

    It is the SPFF cost if the base is simple and bandwidth-optimal (Theorem 14), else that of a lifted schedule.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorems 13 and 14.
    """
    if n > 1 and (optimal := product_claim(*[base] * n)) is not None:
        return optimal
    size = base.nodes
    factor = Fraction(size, size - 1) * Fraction(size**n - 1, size**n)
    basis = Basis.THEOREM if n == 1 else Basis.SCHEDULE
    return Claim(Cost(n * base.cost.steps, base.cost.bandwidth * factor), basis)


@lift_both_ways(_SIGNATURE)
def lift(base: Topology, schedule: Flow, n: int) -> Flow:
    """Return the schedule that reduces along coordinates, the last one first.

    That keeps the links of one coordinate busy at a time. So every shard is cut into n parts, and for each of them all
    coordinates are shifted by one more: at any time the n parts use the links of different coordinates.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 13 (for allgather, the same backwards).
    """
    times, size = require_count(n, _SIGNATURE), base.nodes
    nodes = size ** min(times, 64)
    check_buildable(nodes, 0)
    check_rows(times * len(schedule) * size ** (2 * times - 2))
    step, src, dst, owner = (
        getattr(schedule, name).astype(np.int64)[:, None, None, None] for name in ("step", "src", "dst", "block")
    )
    lo, hi = schedule.lo[:, None, None, None], schedule.hi[:, None, None, None]
    blocks, power_graph = [], graph(base, n)
    for j in range(times):
        place = size**j
        before, target = np.arange(place)[:, None, None], np.arange(place)[:, None]  # lower coordinates: node and owner
        after = np.arange(nodes // (place * size)) * (place * size)
        blocks.append(
            (
                step + (times - 1 - j) * schedule.steps,
                before + src * place + after,
                before + dst * place + after,
                target + owner * place + after,
                lo,
                hi,
            )
        )
    part = build_steps(REDUCE_SCATTER, power_graph, schedule.units, times * schedule.steps, blocks)
    node = np.arange(nodes)
    orders = (node * size**i % nodes + node // size ** (times - i) for i in range(times))
    return share([relabel(part, order, part.place) for order in orders])


power = Expansion("power", graph, claim, lift, size=("N**n", "n*d", "power(complete(3),2)"))
