"""The linear program of all-to-all with a variable for every source and link, solved and proved exactly.

    minimise U  where every source brings a shard to every other, and no link carries more than U times its capacity.

The flows of a source to all its destinations are added up (source-aggregated), so that there are sources * links
variables; one source of every orbit is enough. The prices of the load rows prove the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.pricing.flows import kernels
from topodesign.pricing.flows.concurrent import ConcurrentFlow, as_factor, price_bound, trees
from topodesign.pricing.flows.quotient import Quotient
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray


def arc_flow(quotient: Quotient) -> ConcurrentFlow:
    """Return an optimal flow by linear programming.

    * ``quotient``: sources and links; sources times links should be some thousands at most.
    """
    nodes, arcs, many = quotient.topology.nodes, len(quotient.arcs), len(quotient.sources)
    program = Program()
    program.add_columns(1, cost=1)
    program.add_columns(many * arcs)
    column = 1 + np.arange(many * arcs).reshape(many, arcs)
    row = np.arange(many * nodes).reshape(many, nodes)
    into, out = row[:, quotient.dst], row[:, quotient.src]
    wanted = np.ones((many, nodes), dtype=np.int64)
    wanted[np.arange(many), quotient.sources] = 1 - nodes
    kept = Entries(
        np.concatenate((into.ravel(), out.ravel())),
        np.concatenate((column.ravel(), column.ravel())),
        np.repeat((1, -1), many * arcs),
    )
    program.add_rows(many * nodes, kept, lower=wanted.ravel(), upper=wanted.ravel())
    kinds = len(quotient.room)
    pairs = np.broadcast_to(quotient.kind, (many, arcs))
    loaded = Entries(
        np.concatenate((pairs.ravel(), np.arange(kinds))),
        np.concatenate((column.ravel(), np.zeros(kinds, dtype=np.int64))),
        np.concatenate((np.repeat(quotient.weight, arcs), -quotient.room)),
    )
    loads = program.add_rows(kinds, loaded, upper=0)
    program.solve()
    proof = program.certificate() if program.solved else None
    if proof is None or not proof.proven:
        raise InfeasibleError("the linear program of all-to-all could not be solved exactly")
    amounts, denominator = _whole(proof.columns[1:])
    prices, _ = _whole([-proof.prices[load] for load in loads.tolist()])
    return ConcurrentFlow(quotient, amounts.reshape(many, arcs), denominator, prices, "linear program")


def _whole(numbers: Sequence[Fraction]) -> tuple[np.ndarray, int]:
    """Return numbers as integers over a common denominator."""
    common = math.lcm(*(number.denominator for number in numbers))
    return np.array([number.numerator * (common // number.denominator) for number in numbers], dtype=object), common


_FINEST, _MOST = 2**40, 2**62


def own_distances(quotient: Quotient) -> Fraction:
    """Return the bandwidth factor that the distances of a topology prove necessary: every link at the same price."""
    return price_bound(quotient, np.ones(len(quotient.room), dtype=np.int64))


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
    """Return how many parts of a shard there may be so that the loads keep to 64 bits."""
    all_far = sum(trees(quotient, np.ones(len(quotient.arcs), dtype=np.int64))[1])
    safe = _MOST // all_far  # if all went over one kind of links
    if safe >= _FINEST:
        return _FINEST
    fullest = 1 + int(_split_loads(quotient, safe).max()) // safe
    return min(_FINEST, _MOST // (2 * fullest))


def _split_loads(quotient: Quotient, units: int) -> IntArray:
    loads = np.zeros(len(quotient.room), dtype=np.int64)
    capacity = quotient.topology.capacity[quotient.arcs]
    kernels.equal_split(*quotient.graph, capacity, *quotient.into, units, loads)
    return loads
