"""Cartesian power: the product of a topology with itself."""

from __future__ import annotations

from fractions import Fraction

from topodesign.cost import Cost
from topodesign.expand.expansion import Base, Basis, Claim, Expansion, require_base, require_count
from topodesign.expand.product import claim as product_claim
from topodesign.expand.product import graph as product_graph
from topodesign.topology import Topology, check_buildable

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
    """Return the cost by closed form: n times the steps and y * N/(N-1) * (N^n - 1)/N^n.

    It is the SPFF cost if the base is simple and bandwidth-optimal (Theorem 14), else that of a lifted schedule.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorems 13 and 14.
    """
    if n > 1 and (optimal := product_claim(*[base] * n)) is not None:
        return optimal
    size = base.nodes
    factor = Fraction(size, size - 1) * Fraction(size**n - 1, size**n)
    basis = Basis.EXACT if n == 1 else Basis.SCHEDULE
    return Claim(Cost(n * base.cost.steps, base.cost.bandwidth * factor), basis)


power = Expansion("power", graph, claim)
