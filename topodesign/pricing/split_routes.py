"""All-to-all bandwidth factors without search.

By distances alone, and with traffic split equally.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from topodesign.solve.flows import kernels
from topodesign.solve.flows.concurrent import as_factor, price_bound, trees
from topodesign.topology.quotient import Quotient
from topodesign.topology.topology import IntArray

_FINEST, _MAX = 2**40, 2**62


def bound_own_distances(quotient: Quotient) -> Fraction:
    """Return the all-to-all bound of a topology's own distances.

    Every link has the same price.
    """
    prices = np.ones(len(quotient.room), dtype=np.int64)
    return as_factor(quotient.topology, price_bound(quotient, prices))


def equal_split(quotient: Quotient) -> Fraction:
    """Return the bandwidth factor of equal-cost multi-path routing.

    Every node parts what is for a destination over all its links on shortest paths alike, a link of capacity c being c
    links. Exact where the parts of a shard have a common denominator below 2**40 and loads in these keep to 64 bits,
    else of a flow that is so nearly.
    """
    widest = int(np.max(np.add.reduceat(quotient.topology.capacity[quotient.arcs], quotient.indptr[:-1])))
    parts = math.lcm(*range(1, min(widest, 40) + 1))
    finest = _finest(quotient)
    units = parts ** max(1, int(math.log(finest, parts))) if 1 < parts < finest else finest
    loads = _split_loads(quotient, units)
    pairs = zip(loads.tolist(), quotient.room.tolist(), strict=True)
    return as_factor(quotient.topology, max(Fraction(load, room) for load, room in pairs) / units)


def _finest(quotient: Quotient) -> int:
    """Return the finest split of a shard for which loads fit 64 bits."""
    all_far = sum(trees(quotient, np.ones(len(quotient.arcs), dtype=np.int64))[1])
    safe = _MAX // all_far  # if all went over one kind of links
    if safe >= _FINEST:
        return _FINEST
    fullest = 1 + int(_split_loads(quotient, safe).max()) // safe
    return min(_FINEST, _MAX // (2 * fullest))


def _split_loads(quotient: Quotient, units: int) -> IntArray:
    loads = np.zeros(len(quotient.room), dtype=np.int64)
    capacity = quotient.topology.capacity[quotient.arcs]
    kernels.equal_split(*quotient.graph[:-1], capacity, *quotient.into, units, loads)
    return loads
