"""Explicit shortest-path-farthest-first (SPFF) schedules of optimal cost."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import as_integer
from topodesign.base.errors import ParameterError, TooLargeError, TopologyError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective, as_collective
from topodesign.plans.build import MAX_UNITS, build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.plans.flow_ops import reverse as reverse_flow
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import canonical
from topodesign.pricing import kernels
from topodesign.pricing.closed_form import layer_loads, price, sources_of
from topodesign.pricing.programs import best_split, node_blocks
from topodesign.schedulers.method import Method, Progress, Request, cost_in, folds, plan_rounds
from topodesign.topology.link_table import LinkTable
from topodesign.topology.symmetry import map_to_representatives
from topodesign.topology.topology import IntArray, Topology

MAX_CHUNKS = 2**31  # largest limit on chunks

_BATCH_ROWS = 2**22
_WINDOW = 1024  # numbers of units tried at either end of the range when chunks are limited
_MIXED_TRIES = 8  # of those, how many are tried by flows where capacities differ
_FEWEST_TRIES = 1000
Split = tuple[int, int, int, list[int], list[Fraction]]
"""Distance, source and destination; then the links on the way and the share of the shard that each carries."""


def spff(
    topology: Topology,
    collective: Collective | str = REDUCE_SCATTER,
    *,
    chunks: int | None = None,
    progress: Progress | None = None,
) -> Flow:
    """Return an optimal SPFF reduce-scatter or allgather in diameter steps.

    An allgather is the reduce-scatter of the transpose, reversed in time (Theorem 1). Without ``chunks``, or with as
    many as it takes, nothing is lost: the bandwidth factor is that of ``pricing.closed_form.price``. Fewer units per
    shard give the best that some number of units up to this one allows, with the fewest units.

    What loses nothing is the smallest number of units that does, provided the lcm of the capacities is at most 1000;
    beyond that it may be a larger one. Where all capacities are alike and ``chunks`` is at most 2048, every number of
    units up to it is considered; else it is some, the limit itself among them, so that nothing is worse than the
    rounding of Theorem 21.

    Efficient Direct-Connect Topologies, section 6, equation (1) and appendix E.1.
    """
    collective = as_collective(collective)
    if collective == ALLGATHER:
        return reverse(spff(topology.transpose(), chunks=chunks, progress=progress))
    if collective != REDUCE_SCATTER:
        raise ParameterError(f"an SPFF schedule is a reduce-scatter or an allgather, not {collective}")
    check_rows(topology.nodes * (topology.nodes - 1))
    units, limits = _units_and_limits(topology, chunks)
    return _schedule(topology, _rows(topology, units, limits, progress), units, len(limits))


def _units_and_limits(topology: Topology, chunks: int | None) -> tuple[int, list[Fraction]]:
    """Return units per shard and load limits by distance."""
    check_chunks(chunks)
    loads = layer_loads(topology)
    if int(np.diff(topology.indptr).max()) > 64:
        raise TopologyError("explicit SPFF schedules require at most 64 distinct neighbours a node")
    units = _fewest_units(topology, loads, chunks)
    if chunks is not None and units > chunks:
        return _best_units(topology, loads, chunks)
    return units, [load * units for load in loads]


def spff_orbit(topology: Topology, collective: Collective | str = REDUCE_SCATTER, *, chunks: int | None = None) -> Flow:
    """Return an optimal SPFF schedule, folded by symmetry.

    The symmetry is one of which no permutation but the identity leaves a node where it is, such as that of a Cayley
    graph. Only the splits of the representatives are made; every other node splits as the image of its representative
    does. So time and memory go with the rows of one block of every orbit, where :func:`spff` makes those of all.
    """
    collective = as_collective(collective)
    if collective == ALLREDUCE:
        first, second = (spff_orbit(topology, part, chunks=chunks) for part in ALLREDUCE.parts)
        return concatenate(first, second)
    if collective == ALLGATHER:
        return reverse_flow(spff_orbit(topology.transpose(), chunks=chunks), topology)
    if collective != REDUCE_SCATTER:
        raise ParameterError(f"an SPFF schedule is a reduce-scatter, an allgather or an allreduce, not {collective}")
    symmetry = topology.symmetry
    if symmetry is None or not symmetry.is_free:
        raise TopologyError("one orbit is enough only where a known symmetry moves all nodes or none")
    units, limits = _units_and_limits(topology, chunks)
    roots = np.unique(symmetry.represented_by)
    rows = _split(topology, roots, units, limits)
    # What goes to node v goes, moved by the permutation that takes v to its representative, to the representative.
    rows[:, 3], rows[:, 1], rows[:, 2] = map_to_representatives(symmetry, rows[:, 3], rows[:, 1], rows[:, 2])
    fold = replace(symmetry, representatives=tuple(roots.tolist()))
    return _schedule(topology, rows, units, len(limits)).having(fold=fold)


def check_chunks(chunks: int | None) -> None:
    """Reject a limit on chunks that is out of range."""
    if chunks is not None:
        as_integer("chunks", chunks, 1, MAX_CHUNKS)


def theorem_21_bound(topology: Topology, steps: int, chunks: int) -> Fraction:
    """Return the Theorem 21 bound on the loss in y.

    At distance i + 1 rounding adds less than a chunk for each destination behind a link: the theorem counts d^i of
    them, and there are never more than N - 1.
    """
    d, n = topology.degree, topology.nodes
    behind, total = 1, 0
    for _ in range(steps):
        total += behind
        behind = min(behind * d, n - 1)
    return Fraction(d * total, chunks * n)


def unequal_spff(
    topology: Topology, table: LinkTable, size: Fraction, collective: Collective, chunks: int | None
) -> tuple[Flow, Fraction]:
    """Return the fastest SPFF schedule for unequal links, and y.

    The splits depend on the size of the data. With fewer chunks than they need they are rounded. The factor y takes all
    links as equal; splits made for unequal links may round to a smaller one. Efficient Direct-Connect Topologies,
    appendix E.2.
    """
    check_chunks(chunks)
    if collective == ALLGATHER:
        schedule, bandwidth = unequal_spff(topology.transpose(), table.transpose(), size, REDUCE_SCATTER, chunks)
        return reverse(schedule), bandwidth
    check_rows(topology.nodes * (topology.nodes - 1))
    steps = len(layer_loads(topology))
    splits = _unequal_splits(topology, table, size)
    exact = math.lcm(*(share.denominator for *_, shares in splits for share in shares))
    units = min(exact, chunks or exact)
    if units >= MAX_UNITS:
        raise TooLargeError(f"the exact splits require {units} units per shard, which is too many; limit the chunks")
    return _schedule(topology, _round_splits(topology, splits, units), units, steps), _bandwidth(topology, splits)


def _unequal_splits(topology: Topology, table: LinkTable, size: Fraction) -> list[Split]:
    alpha, bandwidth = table.columns(topology)
    splits: list[Split] = []
    for node in range(topology.nodes):
        blocks, links = node_blocks(topology, node, alpha, bandwidth, size)
        for x, (block, destinations) in enumerate(blocks, start=1):
            for destination, shares in zip(destinations.tolist(), best_split(block).share, strict=True):
                used = [(link, share) for link, share in zip(links, shares, strict=True) if share]
                splits.append((x, node, destination, [link for link, _ in used], [share for _, share in used]))
    return splits


def _round_splits(topology: Topology, splits: list[Split], units: int) -> IntArray:
    """Return the rows of splits, rounded to whole units.

    Those are rounded up whose link is owed most by this and the destinations before, so that no link gets all.
    """
    owed: dict[tuple[int, int], Fraction] = defaultdict(
        Fraction
    )  # by distance and link: exact units less those given so far
    rows = []
    for x, node, destination, links, shares in splits:
        amounts = [math.floor(share * units) for share in shares]
        for link, share, amount in zip(links, shares, amounts, strict=True):
            owed[x, link] += share * units - amount
        broken = [i for i, share in enumerate(shares) if (share * units).denominator > 1]
        broken.sort(key=lambda i: -owed[x, links[i]])
        for i in broken[: units - sum(amounts)]:
            amounts[i] += 1
            owed[x, links[i]] -= 1
        low = 0
        for link, amount in zip(links, amounts, strict=True):
            rows.append((x, node, int(topology.dst[link]), destination, low, low + amount))
            low += amount
    return np.array(rows, dtype=np.int64)


def _bandwidth(topology: Topology, splits: list[Split]) -> Fraction:
    """Return y of splits, with all links taken as equal."""
    load: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    worst: dict[int, Fraction] = defaultdict(Fraction)
    for x, _, _, links, shares in splits:
        for link, share in zip(links, shares, strict=True):
            load[x, link] += share / int(topology.capacity[link])
            worst[x] = max(worst[x], load[x, link])
    return Fraction(topology.degree, topology.nodes) * sum(worst.values(), Fraction(0))


def _schedule(topology: Topology, rows: NDArray[Any], units: int, steps: int) -> Flow:
    """Return rows as a schedule, farthest distance first."""
    distance, source, neighbour, destination, lo, hi = rows.T
    block = (steps + 1 - distance, source, neighbour, destination, lo, hi)
    return canonical(build_steps(REDUCE_SCATTER, topology, units, steps, [block]))


def _capacities(topology: Topology) -> list[int]:
    """Return the distinct capacities of links, ascending, without self-loops."""
    distinct: list[int] = np.unique(topology.capacity[topology.src != topology.dst]).tolist()
    return distinct


def _fewest_units(topology: Topology, loads: list[Fraction], most: int | None) -> int:
    """Return the minimum lossless units, or more than ``most``.

    At each distance some node has a set of links without room to spare, so that each of its links carries a whole
    number of units, the number of units times load times capacity. Hence units are a multiple of ``base``. The lcm of
    the denominators of the loads is enough, and ``enough / base`` divides the lcm of the capacities.
    """
    capacities = _capacities(topology)
    enough = math.lcm(*(load.denominator for load in loads))
    base = math.lcm(*(math.gcd(*((load * c).denominator for c in capacities)) for load in set(loads)))
    sources, most = sources_of(topology), enough if most is None else most
    for units in range(base, min(enough, base * _FEWEST_TRIES + 1, most + 1), base):
        if _batch(topology, sources, units, [load * units for load in loads]) is not None:
            return units
    return enough


def _best_units(topology: Topology, loads: list[Fraction], most: int) -> tuple[int, list[Fraction]]:
    """Return units up to ``most`` and limits with minimum y.

    Tried are ``_WINDOW`` numbers at either end of the range and the largest multiple of each load's denominator.
    """
    capacities = _capacities(topology)
    common = math.lcm(*capacities)
    times = [(load.numerator, load.denominator, count) for load, count in Counter(loads).items()]

    def at_least(units: int) -> Fraction:
        """Return a lower bound on the sum of limits per unit."""
        total = sum(count * min(-(-p * units * c // q) * (common // c) for c in capacities) for p, q, count in times)
        return Fraction(total, common * units)

    tried = {*range(1, min(most, _WINDOW) + 1), *range(max(1, most - _WINDOW + 1), most + 1)}
    tried |= {most - most % q for _, q, _ in times if q <= most}
    ranked = sorted((at_least(units), units) for units in tried)
    if len(capacities) == 1:
        units = ranked[0][1]
        return units, _limits(topology, loads, units)
    chosen = {most, *(units for _, units in ranked[:_MIXED_TRIES])}
    options = [(units, _limits(topology, loads, units)) for units in sorted(chosen)]
    return min(options, key=lambda option: sum(option[1]) / option[0])


def _limits(topology: Topology, loads: list[Fraction], units: int) -> list[Fraction]:
    """Return the minimum limits with integer splits, by distance.

    With links of one capacity this is what they must carry, rounded up: by max-flow/min-cut a split of integer units
    exists if and only if every set of links has integer room for what must pass it. With several capacities a link has
    room for the limit times its capacity rounded down, and the smallest limit is looked for.
    """
    capacities = _capacities(topology)
    if len(capacities) == 1:
        return [Fraction(math.ceil(load * units * capacities[0]), capacities[0]) for load in loads]
    common = math.lcm(*capacities)
    if common > 2**20:
        raise TopologyError("the link capacities have too large a common multiple")

    def fits(x: int, limit: int) -> bool:
        """Return whether an integer split meets a limit at one distance."""
        limits = [Fraction(topology.nodes * units)] * len(loads)
        limits[x] = Fraction(limit, common)
        return _batch(topology, sources_of(topology), units, limits) is not None

    limits = []
    for x, load in enumerate(loads):
        tried = range(math.ceil(load * units * common), math.ceil(load * units) * common)  # its end is enough
        limits.append(Fraction(tried.start + bisect_left(tried, True, key=partial(fits, x)), common))
    return limits


def _rows(topology: Topology, units: int, limits: list[Fraction], progress: Progress | None) -> NDArray[Any]:
    kind = np.int32 if units < 2**31 else np.int64  # half the memory
    batch = max(1, _BATCH_ROWS // (topology.nodes * int(np.diff(topology.indptr).max())))
    parts = []
    for first in range(0, topology.nodes, batch):
        if progress is not None:
            progress(first / topology.nodes)
        sources = np.arange(first, min(first + batch, topology.nodes), dtype=np.int64)
        parts.append(_split(topology, sources, units, limits).astype(kind))
    return np.concatenate(parts)


def _split(topology: Topology, sources: IntArray, units: int, limits: list[Fraction]) -> IntArray:
    """Return the rows of some sources within sufficient limits."""
    rows = _batch(topology, sources, units, limits)
    if rows is None:
        raise TopologyError("no split keeps to the limits, which would be a fault of the pricing")
    return rows


def _batch(topology: Topology, sources: IntArray, units: int, limits: list[Fraction]) -> IntArray | None:
    """Return the rows of some sources, or None if infeasible."""
    room = max(limit.numerator for limit in limits) * int(topology.capacity.max())
    if max(room, topology.nodes * units) >= 2**62:
        raise TooLargeError(f"{units} units per shard are too many to split; set a (lower) limit on chunks")
    numerator = np.array([0, *(limit.numerator for limit in limits)], dtype=np.int64)
    denominator = np.array([1, *(limit.denominator for limit in limits)], dtype=np.int64)
    rows = np.empty((len(sources) * topology.nodes * int(np.diff(topology.indptr).max()), 6), dtype=np.int64)
    count = kernels.split_rows(
        sources, topology.indptr, topology.dst, topology.capacity, units, numerator, denominator, rows
    )
    return None if count < 0 else rows[:count].copy()


def _make(request: Request) -> list[Plan]:
    """Return the plan with the best split."""
    topology, collective, chunks = request.topology, request.collective, request.chunks
    if request.unequal is not None:
        name = "spff for unequal links"
        schedule, exact = unequal_spff(topology, request.unequal, request.size, collective, chunks)
    else:
        name = "spff"
        schedule = (
            spff_orbit(topology, collective, chunks=chunks)
            if folds(topology, topology.nodes * (topology.nodes - 1))
            else spff(topology, collective, chunks=chunks, progress=request.progress)
        )
        if chunks is None:
            return [plan_rounds(topology, schedule, name, chunks=None)]
        exact = price(topology if collective.reduces else topology.transpose()).bandwidth
    plan = plan_rounds(topology, schedule, name, chunks=chunks)
    bound = Fraction(0) if chunks is None else theorem_21_bound(topology, cost_in(plan).steps, chunks)
    lost = {"lost": str(cost_in(plan).bandwidth - exact), "lost_at_most": str(bound)}
    return [replace(plan, generator={**plan.generator, **lost})]


METHOD = Method("spff", frozenset({"chunks", "link_table"}), (ALLGATHER, REDUCE_SCATTER), _make)
