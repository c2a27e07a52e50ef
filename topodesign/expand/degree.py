"""Degree expansion: n copies of every node and n^2 of every link."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.cost import Cost
from topodesign.errors import ParameterError
from topodesign.expand.expansion import Base, Basis, Claim, Expansion, require_base, require_count
from topodesign.topology import Topology, check_buildable

_SIGNATURE = "degree(G,n)"


def graph(base: Topology, n: int) -> Topology:
    """Return the degree expansion: node (u, i) is n*u + i and has a link to (v, j) for every link uv and all i, j.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 3.
    """
    topology = require_base(base, _SIGNATURE)
    copies = require_count(n, _SIGNATURE)
    if topology.self_loops:
        raise ParameterError("degree(G,n) needs a topology without self-loops")
    check_buildable(topology.nodes * copies, len(topology.src) * copies**2)
    copy = np.arange(copies)
    shape = (len(topology.src), copies, copies)
    source = np.broadcast_to(topology.src[:, None, None] * copies + copy[None, :, None], shape)
    target = np.broadcast_to(topology.dst[:, None, None] * copies + copy[None, None, :], shape)
    capacity = np.broadcast_to(topology.capacity[:, None, None], shape)
    own = topology.representatives or range(topology.nodes)  # copies of a node look alike
    return Topology.from_arrays(
        topology.nodes * copies,
        source,
        target,
        capacity,
        representatives=tuple(copies * node for node in own),
    )


def claim(base: Base, n: int) -> Claim:
    """Return the cost by closed form: y + (n-1)/(nN), and no step more where the shortest cycles fit in the steps.

    Copies of a node are as far apart as its shortest cycle is long. If that length is the same for all nodes, the
    copies' shards join the SPFF schedule at their distance (Theorem 12); the result has max(steps, cycle) steps. That
    schedule bounds the SPFF cost. Otherwise a step is added (Theorem 11), by a schedule that is not SPFF.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorems 11 and 12.
    """
    added = Fraction(n - 1, n * base.nodes)
    if n == 1:
        return Claim(base.cost, Basis.EXACT)
    if len(base.cycles) == 1:
        steps = max(base.cost.steps, *base.cycles)
        return Claim(Cost(steps, base.cost.bandwidth + added), Basis.BOUND)
    return Claim(Cost(base.cost.steps + 1, base.cost.bandwidth + added), Basis.SCHEDULE)


degree = Expansion("degree", graph, claim)
