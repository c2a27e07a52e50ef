"""Themis: chunks in load-balancing orders of dimensions.

A reduce-scatter moves the most data in the dimension with which it begins, an allgather in that with which it ends. So
each chunk chooses its order by what the dimensions have to carry for those before it: it begins its sums with the one
that has the least, and copies the other way round. What that takes is reckoned by latency and bandwidth of the links of
a dimension; within one data go as SPFF has them. Then links take chunks as they come, the earlier or those with the
longest way left, whichever is faster in all.

Rashidi, Won, Srinivasan, Sridharan and Krishna, Themis: A Network Bandwidth-Aware Collective Scheduling Policy for
Distributed Training of DL Models (2022). This is the rule as its abstract and others tell it, not held against figures
of that paper. Its threshold, below which chunks keep the fixed order, is omitted: where dimensions have equally much
to carry the fixed order is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.plans.link_times import LinkTimes
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import rescale
from topodesign.schedulers.baselines.rings import Order, gather_grid
from topodesign.schedulers.method import Method, Request, spec_of
from topodesign.schedulers.spff import check_chunks, spff
from topodesign.schedulers.time_expanded.merging import SharedLinks
from topodesign.topology.factors import factors_of
from topodesign.topology.topology import Topology

_CHUNKS = 16  # that choose an order, if nobody says how many


def orders_of(sizes: Sequence[int], steps: Sequence[tuple[Fraction, Fraction]], chunks: int) -> list[Order]:
    """Return each chunk's order of dimensions for reducing.

    Copies use the reverse order.

    ``steps`` are of each dimension what its latencies take, and what all data take that a node has at first.
    """
    loads = [Fraction(0)] * len(sizes)
    found = []
    for _ in range(chunks):
        order = tuple(sorted(range(len(sizes)), key=lambda at: loads[at]))
        data = Fraction(1, chunks)
        for at in order:
            latency, whole = steps[at]
            loads[at] += latency + whole * data * (sizes[at] - 1) / sizes[at]
            data /= sizes[at]
        found.append(order)
    return found


def _steps(factors: Sequence[Topology], topology: Topology, times: LinkTimes) -> list[tuple[Fraction, Fraction]]:
    """Return latency and transfer time of each dimension."""
    found, place = [], 1
    for factor in factors:
        here = topology.src // place % factor.nodes != topology.dst // place % factor.nodes
        rate = [Fraction(0)] * topology.nodes
        for node, ticks in zip(topology.src[here].tolist(), times.per_unit[here].tolist(), strict=True):
            rate[node] += Fraction(1, ticks)
        found.append((Fraction(int(times.latency[here].max())), topology.nodes / min(rate)))
        place *= factor.nodes
    return found


def _make(request: Request) -> list[Plan]:
    topology, collective = request.topology, request.collective
    factors = factors_of(topology)
    if not factors:
        raise InfeasibleError("Themis is for products of several dimensions, such as 'torus(4,4)'")
    check_chunks(request.chunks)
    # Whole splits of SPFF where chunks are many enough, and else blocks in one piece.
    turned = [one.transpose() for one in factors]
    plans, back = ([spff(one, ALLGATHER) for one in ends] for ends in (factors, turned))
    many = math.lcm(*(plan.units for plan in plans + back))
    if request.chunks is not None and many > request.chunks:
        plans, back = ([spff(one, ALLGATHER, chunks=1) for one in ends] for ends in (factors, turned))
        many = 1
    chunks = _CHUNKS if request.chunks is None else request.chunks // many
    times = request.link_times(topology, collective, many * chunks)
    sizes, steps = [one.nodes for one in factors], _steps(factors, topology, times)
    rounds = [(one.steps * latency, whole * many * chunks) for one, (latency, whole) in zip(plans, steps, strict=True)]
    orders = orders_of(sizes, rounds, chunks)
    copies = gather_grid(topology, sizes, orders, [rescale(plan, many) for plan in plans])
    turned_links = topology.transpose()
    sums = reverse(gather_grid(turned_links, sizes, orders, [rescale(plan, many) for plan in back]), topology)
    made = {ALLGATHER: copies, REDUCE_SCATTER: sums}.get(collective) or concatenate(sums, copies)
    timed = request.time_rounds(made)
    shared = SharedLinks(topology, (timed,), np.zeros((1, len(topology.src)), dtype=np.int64))
    in_turn = shared.remains - timed.lo // many * (int(shared.remains.max()) + 1)
    timed = min((shared.time_streams(urgency)[0] for urgency in (shared.remains, in_turn)), key=lambda one: one.time)
    used = {name: ",".join(map(str, name)) for name in dict.fromkeys(orders)}
    note = "; ".join(f"{orders.count(one)} of {chunks} chunks add up in dimensions {used[one]}" for one in used)
    generator = {"method": "themis", "orders": [list(one) for one in orders]}
    return [Plan(topology, timed, {"time": timed.time}, spec_of(request), generator=generator, notes=(note,))]


OPTIONS = frozenset({"chunks", "link_table", "alpha", "bandwidth", "overlap"})
METHOD = Method("themis", OPTIONS, (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), _make, movement="sends", auto=False)
