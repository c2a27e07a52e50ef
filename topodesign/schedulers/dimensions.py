"""All-to-all by dimensions of products or digits of de Bruijn graphs.

Every block first goes to where its destination is in one dimension, then in the next. In each it goes as in the best
all-to-all of that factor, so that the steps are those of all factors together, the diameter. Equal parts of a block
begin with different dimensions, so that all dimensions are busy at any time: where they are alike, nothing is lost.
The parts are few whatever the size, and no program is solved but those of the factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.collectives import ALL_TO_ALL
from topodesign.plans.build import Part, build_steps, check_rows, check_units
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import canonical, rescale
from topodesign.pricing.all_to_all import all_to_all
from topodesign.schedulers.method import Method, Request, cost_in, folds, plan_rounds
from topodesign.schedulers.peel import distance_bound, exchange
from topodesign.schedulers.spff import check_chunks
from topodesign.topology.factors import factors_of
from topodesign.topology.topology import Topology


def by_dimensions(
    topology: Topology, factors: Sequence[Topology], *, chunks: int | None = None, folded: bool = False
) -> Flow:
    """Return the all-to-all of a Cartesian product, dimension by dimension.

    The coordinate of the first factor runs fastest.

    With fewer chunks than it takes, fewer parts of a block begin with a dimension of their own. Folded are the sends of
    node 0's blocks alone.
    """
    check_chunks(chunks)
    most = None if chunks is None else max(1, chunks // len(factors))
    known = {factor: exchange(factor, ALL_TO_ALL, chunks=most).rounds for factor in set(factors)}
    plans = [known[factor] for factor in factors]
    units = math.lcm(*(plan.units for plan in plans))
    if chunks is not None and units > chunks:
        plans = [exchange(factor, ALL_TO_ALL, chunks=1).rounds for factor in factors]
        units = 1
    orders = len(factors) if chunks is None else max(1, min(len(factors), chunks // units))
    check_units(units * orders)
    sizes = [factor.nodes for factor in factors]
    places = [math.prod(sizes[:at]) for at in range(len(sizes))]
    nodes = math.prod(sizes)
    if folded:
        plans = [plan.some(plan.block < size) for plan, size in zip(plans, sizes, strict=True)]
    starts = [1 if folded else nodes // size for size in sizes]  # sources that differ in the other dimensions
    check_rows(orders * sum(len(plans[at]) * starts[at] * (nodes // size) for at, size in enumerate(sizes)))
    parts: list[Part] = []
    for first in range(orders):
        before, settled = 0, list[int]()
        for at in (*range(first, len(factors)), *range(first)):
            plan, place = rescale(plans[at], units), places[at]
            others = np.flatnonzero(np.arange(nodes) // place % sizes[at] == 0)
            done = sum((others // places[one] % sizes[one] * places[one] for one in settled), np.zeros_like(others))
            # Where a block is but for this dimension: as its destination in those that are done, else as its source.
            here = (others - done)[: starts[at], None] + done[None, :]
            block = others[: starts[at], None] * nodes + others[None, :]
            begin, end = np.divmod(plan.block.astype(np.int64), sizes[at])
            columns = (plan.step, plan.src, plan.dst, begin * nodes + end, plan.lo, plan.hi)
            step, src, dst, ends, low, high = (column.astype(np.int64)[:, None, None] for column in columns)
            own = (low + first * units, high + first * units)
            parts.append((step + before, here + src * place, here + dst * place, block + ends * place, *own))
            settled.append(at)
            before += plan.steps
    steps = sum(plan.steps for plan in plans)
    return canonical(build_steps(ALL_TO_ALL, topology, units * orders, steps, parts))


def _make(request: Request) -> list[Plan]:
    topology = request.topology
    factors = factors_of(topology)
    if not factors:
        return []
    moved = _make_folded(topology, factors, request.chunks) or by_dimensions(topology, factors, chunks=request.chunks)
    plan = add_bound(plan_rounds(topology, moved, "dimensions", chunks=request.chunks), factors)
    return [plan] if request.steps in {None, cost_in(plan).steps} else []


def _make_folded(topology: Topology, factors: Sequence[Topology], chunks: int | None) -> Flow | None:
    """Return node 0's part of a large symmetric plan, otherwise None."""
    symmetry = topology.symmetry
    most = topology.nodes**2 * len(factors) * sum(factor.nodes for factor in factors)
    if not folds(topology, most) or symmetry is None or np.any(symmetry.represented_by):
        return None
    rounds = by_dimensions(topology, factors, chunks=chunks, folded=True)
    whole = len(rounds) * topology.nodes
    fold = replace(symmetry, representatives=(0,))
    return rounds.having(fold=fold) if folds(topology, whole) else None


def add_bound(plan: Plan, factors: Sequence[Topology] = ()) -> Plan:
    """Return an all-to-all plan with its bound and gap.

    Distances prove the bound, and of a product the flows of its factors, too (see :func:`~topodesign.all_to_all`).
    """
    least, degree = distance_bound(plan.topology), plan.topology.degree
    if cost_in(plan).bandwidth > least:
        bounds = (all_to_all(one, effort="quick").lower * Fraction(degree, one.degree) for one in set(factors))
        least = max(least, *bounds, Fraction(0))
    lost = cost_in(plan).bandwidth - least
    return replace(plan, generator={**plan.generator, "least": str(least), "lost": str(lost)})


METHOD = Method("dimensions", frozenset({"chunks", "steps"}), (ALL_TO_ALL,), _make)


MAX_NODES = 2**11  # nodes of the largest graph whose walks are counted


def by_digits(topology: Topology) -> Flow | None:
    """Return the all-to-all over unique walks of one length, or None.

    They are unique on de Bruijn graphs, and on generalized Kautz graphs of d^D nodes: D steps shift in the D digits of
    the destination, whatever the source. Every block takes its walk, without circles, a self-loop being a step in
    which it stays. No link then carries more than N/d blocks in a step, and blocks are not divided, whatever the size.
    """
    nodes = topology.nodes
    if nodes > MAX_NODES or topology.switches or nodes < 2:
        return None
    degrees = np.diff(topology.indptr)
    if degrees.min() != degrees.max() or degrees[0] < 2:
        return None
    degree, steps, walks = int(degrees[0]), 1, int(degrees[0])
    while walks < nodes:
        steps, walks = steps + 1, walks * degree
    if walks != nodes:  # as many walks leave a node as there are nodes to lead to
        return None
    heads = topology.dst.reshape(nodes, degree)
    reach: list[NDArray[np.bool_]] = [np.eye(nodes, dtype=np.bool_)]  # by walks of 0, 1, ... steps
    for _ in range(steps):
        reach.append(np.logical_or.reduce(reach[-1][heads], axis=1))
    if not reach[-1].all():
        return None
    check_rows(nodes * nodes * steps)
    source, goal = np.divmod(np.arange(nodes * nodes), nodes)
    places = [source]
    for step in range(1, steps + 1):
        after = np.argmax(reach[steps - step][heads[places[-1]], goal[:, None]], axis=1)
        places.append(heads[places[-1], after])
    for early in range(steps):  # a walk that comes back to a node stays there instead
        for late in range(early + 2, steps + 1):
            back = places[late] == places[early]
            for between in range(early + 1, late):
                places[between][back] = places[early][back]
    parts = []
    for step in range(1, steps + 1):
        moves = np.flatnonzero(places[step] != places[step - 1])
        parts.append((step, places[step - 1][moves], places[step][moves], moves, 0, 1))
    return canonical(build_steps(ALL_TO_ALL, topology, 1, steps, parts))


def _make_by_digits(request: Request) -> list[Plan]:
    rounds = by_digits(request.topology)
    if rounds is None or request.steps not in {None, rounds.steps}:
        return []
    return [add_bound(plan_rounds(request.topology, rounds, "digits"))]


DIGITS = Method("digits", frozenset({"chunks", "steps"}), (ALL_TO_ALL,), _make_by_digits)
