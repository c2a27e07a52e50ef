"""Cartesian product: one coordinate for each factor, and links along one coordinate at a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from topodesign.cost import Cost
from topodesign.errors import ParameterError
from topodesign.expand.expansion import Base, Basis, Claim, Expansion, require_base
from topodesign.topology import Topology, check_buildable

_SIGNATURE = "product(G,H,...)"


def graph(*factors: Topology) -> Topology:
    """Return the Cartesian product; node (u1, u2, ...) is u1 + N1*(u2 + N2*(...)).

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 5.
    """
    if len(factors) < 2:
        raise ParameterError(f"{_SIGNATURE} needs at least two topologies")
    bases = [require_base(factor, _SIGNATURE) for factor in factors]
    nodes = math.prod(base.nodes for base in bases)
    check_buildable(nodes, sum(len(base.src) * (nodes // base.nodes) for base in bases))
    sources, targets, capacities = [], [], []
    place = 1
    for base in bases:
        low = np.arange(place)[:, None, None]
        high = np.arange(nodes // (place * base.nodes))[None, None, :] * (place * base.nodes)
        sources.append((low + base.src[None, :, None] * place + high).ravel())
        targets.append((low + base.dst[None, :, None] * place + high).ravel())
        shape = (place, len(base.src), high.size)
        capacities.append(np.broadcast_to(base.capacity[None, :, None], shape).ravel())
        place *= base.nodes
    return Topology.from_arrays(
        nodes,
        np.concatenate(sources),
        np.concatenate(targets),
        np.concatenate(capacities),
        representatives=_representatives(bases),
    )


def _representatives(bases: list[Topology]) -> tuple[int, ...] | None:
    """Return the products of the factors' representatives: automorphisms act on each coordinate alone."""
    count = math.prod(len(base.representatives or range(base.nodes)) for base in bases)
    if count == math.prod(base.nodes for base in bases):
        return None
    result = np.zeros(1, dtype=np.int64)
    place = 1
    for base in bases:
        own = np.array(base.representatives or range(base.nodes), dtype=np.int64)
        result = (result[None, :] + own[:, None] * place).ravel()
        place *= base.nodes
    return tuple(result.tolist())


def claim(*factors: Base) -> Claim | None:
    """Return the cost by closed form: steps add up and y is optimal, if it is for every factor and all are simple.

    Otherwise there is no closed form and the result is None.

    References
    ----------
    Efficient Direct-Connect Topologies, Theorem 14.
    """
    if not all(base.simple and base.cost.bandwidth == Fraction(base.nodes - 1, base.nodes) for base in factors):
        return None
    nodes = math.prod(base.nodes for base in factors)
    return Claim(Cost(sum(base.cost.steps for base in factors), Fraction(nodes - 1, nodes)), Basis.EXACT)


product = Expansion("product", graph, claim)
