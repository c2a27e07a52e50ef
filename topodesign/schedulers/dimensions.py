"""All-to-all on Cartesian products, dimension by dimension: tori, hypercubes, Hamming graphs, products and powers.

Every block first goes to where its destination is in one dimension, then in the next. In each it goes as in the best
all-to-all of that factor, so that the steps are those of all factors together, the diameter. Equal parts of a block
begin with different dimensions, so that all dimensions are busy at any time: where they are alike, nothing is lost.
The parts are few whatever the size, and no program is solved but those of the factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topodesign.base.spec import Spec
from topodesign.collectives import ALL_TO_ALL
from topodesign.graphs.expansions.product import graph as product
from topodesign.plans.measure import cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import Part, assemble, canonical, check_rows, check_units, rescale
from topodesign.schedulers.method import Method, Request, planned
from topodesign.schedulers.peel import distance_bound, exchange
from topodesign.schedulers.spff import check_chunks
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def factors_of(spec: Spec) -> list[Spec]:
    """Return the factors of a product that a spec names, the fastest running coordinate first; of others itself."""
    numbers = [one for one in spec.args if isinstance(one, int)]
    if spec.name == "torus" and len(numbers) > 1:
        return [Spec("torus", (side,)) for side in numbers]
    if spec.name == "hypercube" and numbers[0] > 1:
        return [Spec("hypercube", (1,))] * numbers[0]
    if spec.name == "hamming" and numbers[0] > 1:
        return [Spec("complete", (numbers[1],))] * numbers[0]
    bases = [one for one in spec.args if isinstance(one, Spec)]
    if spec.name == "product":
        return [factor for base in bases for factor in factors_of(base)]
    if spec.name == "power" and numbers[0] > 1:
        return factors_of(bases[0]) * numbers[0]
    return [spec]


def by_dimensions(factors: Sequence[Topology], *, chunks: int | None = None) -> Rounds:
    """Return the all-to-all of a Cartesian product, dimension by dimension.

    Parameters
    ----------
    factors
        The first one's coordinate runs fastest.
    chunks
        Most units per block; with fewer than it takes, fewer parts begin with a dimension of their own.

    Raises
    ------
    TooLargeError
        If there are too many rows.
    """
    check_chunks(chunks)
    most = None if chunks is None else max(1, chunks // len(factors))
    known: dict[Topology, Rounds] = {}
    for factor in factors:
        if factor not in known:
            known[factor] = exchange(factor, ALL_TO_ALL, chunks=most).rounds
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
    check_rows(orders * sum(len(plan) * (nodes // size) ** 2 for plan, size in zip(plans, sizes, strict=True)))
    parts: list[Part] = []
    for first in range(orders):
        done, before = np.zeros(nodes, dtype=np.int64), 0
        order = [(first + at) % len(factors) for at in range(len(factors))]
        settled: list[int] = []
        for at in order:
            plan, place = rescale(plans[at], units), places[at]
            others = np.flatnonzero(np.arange(nodes) // place % sizes[at] == 0)
            done = sum((others // places[one] % sizes[one] * places[one] for one in settled), np.zeros_like(others))
            # Where a block is but for this dimension: as its destination in those that are done, else as its source.
            here = (others - done)[:, None] + done[None, :]
            block = others[:, None] * nodes + others[None, :]
            begin, end = np.divmod(plan.block.astype(np.int64), sizes[at])
            row = [column.astype(np.int64)[:, None, None] for column in (plan.src, plan.dst, plan.lo, plan.hi)]
            src, dst, low, high = row
            parts.append(
                (
                    plan.step[:, None, None] + before,
                    here + src * place,
                    here + dst * place,
                    block + (begin * place * nodes + end * place)[:, None, None],
                    low + first * units,
                    high + first * units,
                )
            )
            settled.append(at)
            before += plan.steps
    steps = sum(plan.steps for plan in plans)
    return canonical(assemble(ALL_TO_ALL, nodes, units * orders, steps, parts))


def _make(request: Request) -> list[Plan]:
    topology = request.topology
    if topology.spec is None:
        return []
    specs = factors_of(topology.spec)
    if len(specs) < 2:
        return []
    factors = [build(spec) for spec in specs]
    if any(factor.nodes < 2 for factor in factors) or product(*factors) != topology:
        return []
    rounds = by_dimensions(factors, chunks=request.chunks)
    if request.steps not in {None, rounds.steps}:
        return []
    return [planned(topology, rounds, "dimensions", chunks=request.chunks, **bounded(topology, rounds))]


def bounded(topology: Topology, rounds: Rounds) -> dict[str, str]:
    """Return what distances prove to be the least bandwidth factor of an all-to-all, and what is lost against it."""
    least = distance_bound(topology)
    return {"least": str(least), "lost": str(cost_of(topology, rounds).bandwidth - least)}


METHOD = Method("dimensions", frozenset({"chunks", "steps"}), (ALL_TO_ALL,), _make)
