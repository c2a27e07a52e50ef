"""What needs no optimisation: bounds by distances, and what routers do by themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from topodesign.base.cost import check_size
from topodesign.pricing.flows import kernels
from topodesign.pricing.flows.concurrent import as_factor, price_bound
from topodesign.pricing.flows.quotient import Quotient

_FINEST = 2**40


def moore_distances(nodes: int, degree: int, *, duplex: bool = False) -> Fraction:
    """Return the bandwidth factor that no all-to-all on so many nodes of a degree undercuts.

    A node reaches d others at distance 1 at most, d**2 at distance 2 and so on; each link more on the way of a shard
    takes a share of the links. In a duplex topology a path of two links leads d - 1 ways on from every node.

    Raises
    ------
    ParameterError
        If there are fewer than two nodes, or links.

    Examples
    --------
    >>> from topodesign.pricing.flows.bounds import moore_distances
    >>> moore_distances(6, 2)
    Fraction(4, 3)
    """
    check_size(nodes, degree)
    left, layer, distance, total = nodes - 1, degree, 1, 0
    onward = degree - 1 if duplex else degree
    while left > 0:
        if onward <= 1:  # layers of one size, all alike: sum them at once
            full, rest = divmod(left, layer)
            total += layer * sum(range(distance, distance + full)) + rest * (distance + full)
            break
        met = min(left, layer)
        total += distance * met
        left, layer, distance = left - met, layer * onward, distance + 1
    return Fraction(total, nodes)


def own_distances(quotient: Quotient) -> Fraction:
    """Return the bandwidth factor that the distances of a topology prove necessary: every link at the same price."""
    return price_bound(quotient, np.ones(len(quotient.room), dtype=np.int64))


def equal_split(quotient: Quotient) -> Fraction:
    """Return the bandwidth factor of equal-cost multi-path routing.

    Every node parts what is for a destination over all its links on shortest paths alike, a link of capacity c being c
    links. Exact where the parts of a shard have a common denominator below 2**40, else of a flow that is so nearly.
    """
    widest = int(np.max(np.add.reduceat(quotient.topology.capacity[quotient.arcs], quotient.indptr[:-1])))
    parts = math.lcm(*range(1, min(widest, 40) + 1))
    units = parts ** max(1, int(math.log(_FINEST, parts))) if 1 < parts < _FINEST else _FINEST
    loads = np.zeros(len(quotient.room), dtype=np.int64)
    capacity = quotient.topology.capacity[quotient.arcs]
    kernels.equal_split(*quotient.graph, capacity, *quotient.into, units, loads)
    pairs = zip(loads.tolist(), quotient.room.tolist(), strict=True)
    return as_factor(quotient.topology, max(Fraction(load, room) for load, room in pairs) / units)
