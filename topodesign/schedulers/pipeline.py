"""Pipelined trees, from minimum steps to minimum bandwidth.

A broadcast reaches nobody before his distance, and no rate above the least cut between the root and a node. Spanning
trees that share no link reach that rate (Edmonds), low trees that few steps; and k trees of height h whose data go in
C chunks take ``h + C - 1`` steps and, where every step has a full link, ``y = (d/k) (h + C - 1) / C`` on links that are
alike. More trees have more height, more chunks more steps: each number of steps has a best choice. A reduce is the
broadcast of the transpose, backwards.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arguments import as_integer
from topodesign.base.arrays import earlier
from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.collectives import Collective
from topodesign.fabrics.places import plain_fabric
from topodesign.plans.build import MAX_UNITS, build_steps
from topodesign.plans.chunk_ops import TREE_COLLECTIVES, find_route_links, routes_of
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.group_ops import alongside, passing, restricted
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import canonical, find_links
from topodesign.plans.unroll import pipeline_trees
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.method import Listing, Method, Request, plan_rounds
from topodesign.schedulers.schedule_list import ListedSchedule, ScheduleList
from topodesign.topology.topology import Topology

MAX_CHUNKS = 256  # chunks of a tree's data that are tried
_MAX_SHARED = 40_000  # members of groups times links up to which these are shared as well as can be
MAX_TREES = 32  # trees per root above which fewer are tried


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Pipelined algorithm for any number of chunks."""

    topology: Topology  # the links
    collective: Collective  # a collective of one movement, which copies
    name: str  # ``layers``, or how many trees per root
    trees: tuple[Flow | None, ...]  # the trees of every group; empty for layers

    def rounds(self, chunks: int) -> Flow:
        """Return the rounds in a number of chunks."""
        if not any(self.trees):
            return _layers(self.topology, self.collective, chunks)
        parts = [
            build_steps(one, self.topology, 1, 0, [])
            if trees is None
            else pipeline_trees(trees, self.topology, chunks, one)
            for one, trees in zip(self.collective.single, self.trees, strict=True)
        ]
        return alongside(parts, self.collective)

    @cached_property
    def one(self) -> Flow:
        """Rounds with one chunk."""
        return self.rounds(1)

    @cached_property
    def _totals(self) -> dict[int, int]:
        """Cached sums of largest loads, by number of chunks in flight."""
        return {}

    @cached_property
    def _carried(self) -> tuple[NDArray[Any], Fraction]:
        """Cumulative relative load by link and step, and its unit."""
        one, topology = self.one, self.topology
        members = len(one.collective.members(topology.nodes))
        share, shards = one.collective.shares(one.block, topology.nodes, members)
        common = math.lcm(*np.unique(topology.capacity).tolist())
        link = find_links(topology, one)
        wide = one.units * int(share.max(initial=1)) * common * max(1, len(one)) >= MAX_UNITS
        kind = np.dtype(object) if wide else np.dtype(np.int64)
        loads = np.zeros((len(topology.src), one.steps + 1), dtype=kind)
        width = (one.hi - one.lo).astype(kind) * share * (common // topology.capacity[link].astype(kind))
        np.add.at(loads, (link, one.step.astype(np.int64)), width)
        return np.cumsum(loads, axis=1), Fraction(topology.degree, shards * one.units * common)

    def cost(self, chunks: int) -> Cost:
        """Return the cost in a number of chunks.

        In a step a link carries of every chunk what it carries of one in the steps before: a window of so many steps.
        """
        carried, unit = self._carried
        height = carried.shape[1] - 1
        if not height:
            return Cost(0, Fraction(0))
        window = min(chunks, height)
        if window not in self._totals:
            last = np.minimum(np.arange(1, height + window), height)
            first = np.maximum(np.arange(1, height + window) - window, 0)
            self._totals[window] = int((carried[:, last] - carried[:, first]).max(axis=0).sum())
        # With more chunks than steps of one there are steps in which a link carries all that it carries of one.
        total = self._totals[window] + (chunks - window) * int(carried[:, -1].max())
        return Cost(height + chunks - 1, unit * total / chunks)


def pipelines(topology: Topology, collective: Collective, fixed_k: int | None = None) -> Iterator[Pipeline]:
    """Yield pipelines of a copying one-movement collective; other nodes forward.

    ``fixed_k`` is the number of trees per root; several are tried if None.
    """
    if collective.rooted and collective.group is None and fixed_k is None:
        yield Pipeline(topology, collective, "layers", (None,))
    rooms: list[tuple[Topology, ...]] = [(topology,) * len(collective.single)]
    if collective.groups is not None:
        with contextlib.suppress(TooLargeError, InfeasibleError):  # then groups take what they want and wait
            rooms.insert(0, _parts(topology, collective))
    seen = set()
    for room in rooms:
        for number in _numbers(room, collective, fixed_k):
            try:
                made = tuple(_trees(part, one, number) for part, one in zip(room, collective.single, strict=True))
            except InfeasibleError:
                if number == 1:
                    raise
                continue
            if made not in seen:
                seen.add(made)
                yield Pipeline(topology, collective, f"{number} trees" if number > 1 else "1 tree", made)


def _numbers(room: tuple[Topology, ...], collective: Collective, fixed_k: int | None) -> Iterable[int]:
    """Return the numbers of trees per root to try."""
    from topodesign.optima.forest.tree_counts import smallest_trees  # noqa: PLC0415  heavy

    if fixed_k is not None:
        return (fixed_k,)
    best = 1
    for part, one in zip(room, collective.single, strict=True):
        members = one.members(part.nodes).tolist()
        if len(members) > 1:
            weights = None if one.root is None else [int(node == one.root) for node in members]
            best = max(best, smallest_trees(passing(part, members), weights=weights))
    few = range(1, min(best, 8) + 1)
    return sorted({*few, *(number for number in (12, 16, 24, 32) if number < best), min(best, MAX_TREES)})


def _trees(topology: Topology, one: Collective, number: int) -> Flow | None:
    """Return ``number`` trees per root, or None for one member."""
    from topodesign.optima.forest.schedule import forest_schedule  # noqa: PLC0415  heavy

    members = one.members(topology.nodes)
    if len(members) == 1:
        return None
    return forest_schedule(passing(topology, members.tolist()), replace(one, group=None), k=number)


def _parts(topology: Topology, collective: Collective) -> tuple[Topology, ...]:
    """Return each group's part of every link in the optimal sharing."""
    from topodesign.optima.fluid.packing import packing  # noqa: PLC0415  heavy

    number = sum(len(one.members(topology.nodes)) + 1 for one in collective.single)
    if number * len(topology.src) > _MAX_SHARED:
        raise TooLargeError(f"{number} members of groups share too many links")
    trees = packing(plain_fabric(topology), collective).trees
    route, link = find_route_links(trees)
    routes = routes_of(trees)
    tree = trees.piece[routes.send[route]]
    rooms = []
    for one in collective.single:
        mine = np.isin(trees.block[tree], one.members(topology.nodes))
        load = np.zeros(len(topology.src), dtype=np.int64)
        np.add.at(load, link[mine], routes.weight[route[mine]])
        used = load > 0
        rooms.append(Topology.from_arrays(topology.nodes, topology.src[used], topology.dst[used], load[used]))
    return tuple(rooms)


def _layers(topology: Topology, collective: Collective, chunks: int) -> Flow:
    """Return the broadcast from all neighbours nearer the root."""
    root = collective.root or 0
    distance = distances(topology, root)
    far = int(distance.max())
    if np.any(distance < 0):
        lost = int(np.flatnonzero(distance < 0)[0])
        raise InfeasibleError(f"no collective exists: {lost} cannot be reached from {root}")
    down = np.flatnonzero(distance[topology.dst] == distance[topology.src] + 1)
    down = down[np.lexsort((topology.src[down], topology.dst[down]))]
    room = np.zeros(topology.nodes, dtype=np.int64)
    np.add.at(room, topology.dst[down], topology.capacity[down])
    units = math.lcm(*np.unique(room[room > 0]).tolist()) if far else 1
    width = topology.capacity[down] * (units // np.maximum(room[topology.dst[down]], 1))
    low = earlier(topology.dst[down], width)
    src, dst = topology.src[down], topology.dst[down]
    parts = [
        (distance[dst] + chunk, src, dst, root, low + chunk * units, low + width + chunk * units)
        for chunk in range(chunks)
    ]
    steps = far + chunks - 1 if far else 0
    return canonical(build_steps(collective, topology, units * chunks, steps, parts))


def rows_of(
    topology: Topology, collective: Collective, most_chunks: int, fixed_k: int | None, most_units: int | None = None
) -> list[ListedSchedule]:
    """Return the Pareto-optimal choices in steps and bandwidth, by steps.

    ``most_chunks`` are of the data of a tree, ``most_units`` of a block.
    """
    # What is added up is the dual on the transpose, backwards.
    reduces = collective.reduces
    where, what = (topology.transpose(), collective.dual) if reduces else (topology, collective)

    def make(way: Pipeline, chunks: int) -> Plan:
        made = way.rounds(chunks)
        if reduces:  # what a node that only forwards gets twice would be a sum that it sends twice
            made = reverse(made if collective.group is None else restricted(made, what))
        return plan_rounds(topology, made, "pipeline", way=way.name, pieces=chunks)

    rows = []
    for way in pipelines(where, what, fixed_k):
        most = most_chunks if most_units is None else min(most_chunks, most_units // way.one.units)
        for chunks in range(1, max(1, most) + 1):
            cost = way.cost(chunks)
            rows.append(ListedSchedule(chunks, cost.steps, cost.bandwidth, partial(make, way, chunks), way=way.name))
    rows.sort(key=lambda one: (one.steps, one.bandwidth))
    best: list[ListedSchedule] = []
    for one in rows:
        if not best or one.bandwidth < best[-1].bandwidth:
            best.append(one)
    return best


def _make(request: Request) -> list[Plan]:
    """Return the fastest of the Pareto-optimal plans."""
    rows = rows_of(request.topology, request.among, MAX_CHUNKS, request.fixed_k, request.chunks)
    best = min(rows, key=lambda one: (request.runtime(one.cost), one.steps))
    few = rows if len(rows) <= 8 else [rows[at * (len(rows) - 1) // 7] for at in range(8)]
    frontier = [
        {"steps": one.steps, "bandwidth": str(one.bandwidth), "way": one.way, "chunks": one.chunks} for one in few
    ]
    return [replace(best.plan, generator={**best.plan.generator, "frontier": frontier})]


def _list(request: Request) -> ScheduleList:
    from topodesign.optima.group_price import in_turn_of  # noqa: PLC0415  heavy

    topology, collective = request.topology, request.among
    if request.grouped and request.others != "forward":
        raise ParameterError("nodes of other groups forward what pipelines send; add --forward")
    collective.members(topology.nodes)  # says what is no node
    chunks = as_integer("chunks", MAX_CHUNKS if request.chunks is None else request.chunks, 1, 2**16)
    rows = rows_of(topology, collective, chunks, request.fixed_k)
    if not rows:
        raise InfeasibleError("there is nothing to send")
    bound = in_turn_of(topology, collective, "forward")
    return ScheduleList(topology, collective, "pipeline", chunks, None, bound, tuple(rows))


OPTIONS = frozenset({"root", "fixed_k", "chunks", "alpha", "bandwidth", "group"})
METHOD = Method(
    "pipeline",
    OPTIONS,
    tuple(one for one in TREE_COLLECTIVES if len(one.movements) == 1),
    _make,
    auto=False,
    listing=Listing(OPTIONS | {"only", "placement"}, _list),
)
