"""Topologies made for an installation.

At a field whose hosts have r lanes each, links are a table of whole numbers: in a simplex plan with sums r in rows and
columns, in a duplex one symmetric with such sums, where the diagonal is what stays dark. A topology that the plant
carries is a sum of one table for each field. Of the first field one table for each orbit under exchanges of hosts with
the same lanes is enough.

Symmetric ones are voltage lifts whose base keeps to the fields of panels. Nodes with the same lanes are cut into blocks
of m, and a group of order m acts on each. A base of one node a block has a link between two lanes of a field, one lane
once (in duplex mode lanes are paired); every lift of it is carried, whatever its voltages. So pods need no test, and
one node of every block prices all. With m = 1 these are all topologies of the plant. Bases and voltages are drawn, then
changed one at a time where that costs no more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST
from topodesign.base.cost import Cost
from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import DisconnectedError
from topodesign.base.progress import Progress, tell
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.pricing.evaluation import price_both
from topodesign.search.groups import groups_to_search
from topodesign.search.lifted import cayley_spec, lift_spec
from topodesign.topology.groups import Group
from topodesign.topology.symmetry import join_orbits
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.plant.exhaustive_kernels import MAX_STEPS, cheapest
from topodesign.wiring.plant.plant import Plant, PlantTopology, make_topology

MAX_NODES = 10  # more are searched in other ways
MAX_TABLES = 120_000  # at one field
MAX_SUMS = 3_000_000  # topologies: compiled code prices some 10^5 a second
_MAX_DEGREE = 12


def find_frontier(plant: Plant, progress: Progress | None = None) -> list[PlantTopology] | None:
    """Return the Pareto-optimal topologies of an installation, by steps.

    None if there are too many to try.

    A plant that makes no topology in which all nodes reach all others has none.
    """
    if plant.nodes > MAX_NODES or plant.degree > _MAX_DEGREE:
        return None
    fields = []
    for column in plant.lanes.T:
        tables = _tables(column, duplex=plant.duplex)
        if tables is None:
            return None
        fields.append(tables)
    order = sorted(range(len(fields)), key=lambda field: -len(fields[field]))
    first = fields[order[0]]
    first = first[_orbits(first, plant)]
    rest = [fields[field] for field in order[1:]]
    if len(first) * math.prod(map(len, rest)) > MAX_SUMS:
        return None
    least = np.full(MAX_STEPS + 2, LARGEST, dtype=np.int64)
    found: dict[int, tuple[IntArray, ...]] = {}
    *middle, last = [first, *rest]
    counts = [len(tables) for tables in middle]
    total = math.prod(counts)
    for number, choice in enumerate(np.ndindex(*counts)):
        fixed = tuple(tables[place] for tables, place in zip(middle, choice, strict=True))
        chosen = np.full(len(least), -1, dtype=np.int64)
        base = sum(fixed, np.zeros((plant.nodes, plant.nodes), dtype=np.int64))
        cheapest(base, last, plant.duplex, least, chosen)
        found |= {step: (*fixed, last[place]) for step, place in enumerate(chosen.tolist()) if place >= 0}
        tell(progress, number / total)
    steps = [step for step in sorted(found) if least[step] < min(least[:step], default=LARGEST)]
    return [_make_topology(plant, dict(zip(order, found[step], strict=True))) for step in steps]


def _tables(lanes: IntArray, *, duplex: bool) -> IntArray | None:
    """Return all link tables for given lanes, or None."""
    nodes = len(lanes)
    tables = np.zeros((1, nodes, nodes), dtype=np.int64)
    left = np.array([lanes])  # lanes of receivers that are not taken yet, or in duplex mode of nodes
    for u in range(nodes):
        open_ = left[:, u].copy() if duplex else np.full(len(tables), lanes[u])
        for v in range(u + 1 if duplex else 0, nodes):
            most = np.minimum(open_, left[:, v])
            least = np.zeros_like(most) if duplex else np.maximum(open_ - left[:, v + 1 :].sum(axis=1), 0)
            count = most - least + 1
            if count.sum() > MAX_TABLES:
                return None
            copy = np.repeat(np.arange(len(tables)), count)
            links = np.arange(len(copy)) - np.repeat(np.cumsum(count) - count, count) + least[copy]
            tables, left, open_ = tables[copy], left[copy], open_[copy] - links
            tables[:, u, v] = links
            left[:, v] -= links
            if duplex:
                tables[:, v, u] = links
        if duplex:
            tables[:, u, u] = open_  # what is left stays dark
    return tables


def _orbits(tables: IntArray, plant: Plant) -> NDArray[np.int64]:
    """Return one table index per orbit of node exchanges."""
    keys = tables.reshape(len(tables), -1)
    rank = np.lexsort(keys.T)
    first = np.arange(len(tables))
    for some in plant.classes:
        for one, other in itertools.pairwise(some.tolist()):
            swap = np.arange(plant.nodes)
            swap[[one, other]] = other, one
            image = tables[:, swap][:, :, swap].reshape(len(tables), -1)
            onto = np.empty(len(tables), dtype=np.int64)
            onto[np.lexsort(image.T)] = rank
            first = join_orbits(first, onto)
    return np.unique(first)


def _make_topology(plant: Plant, tables: dict[int, IntArray]) -> PlantTopology:
    """Return a topology with its links by panel group."""
    src, dst, part = [], [], []
    for field, table in tables.items():
        links = np.triu(table, 1) if plant.duplex else table * (1 - np.eye(plant.nodes, dtype=np.int64))
        u, v = np.nonzero(links)
        count = links[u, v]
        src.append(np.repeat(u, count))
        dst.append(np.repeat(v, count))
        part.append(np.full(int(count.sum()), field))
    return make_topology(plant, *(np.concatenate(column) for column in (src, dst, part)))


MAX_BLOCKS = 64  # nodes that are priced, of each candidate
_GROUPS = 12  # of an order, the most promising first
_ALONE = 0.3  # share of the lanes of a duplex base that lead to the other half of their own block
_MOVES = 40  # changes in vain after which another start is drawn


@dataclass
class _Lift:
    """Base graph with voltages: one link per block lane.

    The links of a panel group are consecutive.

    In duplex mode ``mate`` is the opposite link, a link itself where its voltage is an involution, or the identity for
    a lane that stays dark.
    """

    group: Group
    blocks: int
    tail: IntArray
    head: IntArray
    field: IntArray
    voltage: IntArray
    mate: IntArray | None

    def _fill_loops(self, degree: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return tails, heads and voltages, with self-loops."""
        spare = np.repeat(np.arange(self.blocks), degree - np.bincount(self.tail, minlength=self.blocks))
        still = np.zeros(len(spare), dtype=np.int64)
        sides = (self.tail, spare), (self.head, spare), (self.voltage, still)
        tail, head, voltage = map(np.concatenate, sides)
        return tail, head, voltage

    def topology(self, degree: int) -> Topology:
        """Return the lift, with self-loops for missing lanes."""
        order, (tail, head, voltage) = self.group.order, self._fill_loops(degree)
        everyone = self.group.elements()
        ends = self.group.multiply(everyone, voltage[:, None])
        return Topology.from_arrays(
            self.blocks * order,
            tail[:, None] * order + everyone,
            head[:, None] * order + ends,
            symmetry=self.group.action(self.blocks),
        )

    def spec(self, degree: int, *, duplex: bool) -> Spec | None:
        """Return the spec of the lift, or None."""
        tail, head, voltage = self._fill_loops(degree)
        if self.blocks == 1 and np.all(voltage):
            return cayley_spec(self.group, sorted(voltage.tolist()), duplex=duplex)
        spec = lift_spec(None if self.group.order == 1 else self.group.spec, tail, head, voltage)
        return spec if len(str(spec)) <= LONGEST_SPEC else None

    def links(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return link sources, targets and panel groups, without self-loops.

        In duplex mode, one link of each pair.
        """
        order, everyone = self.group.order, self.group.elements()
        ends = self.head[:, None] * order + self.group.multiply(everyone, self.voltage[:, None])
        begins = self.tail[:, None] * order + np.broadcast_to(everyone, ends.shape)
        kept = begins != ends
        if self.mate is not None:
            number = np.arange(len(self.mate))
            kept &= np.where((self.mate == number)[:, None], begins < ends, (number < self.mate)[:, None])
        part = np.broadcast_to(self.field[:, None], ends.shape)
        return begins[kept], ends[kept], part[kept]


def search_structured(
    plant: Plant, seconds: float, *, seed: int = 0, progress: Progress | None = None
) -> list[tuple[Cost, PlantTopology]]:
    """Search for Pareto-optimal topologies within a time limit.

    ``seconds`` limits the work. Returns mean costs and topologies.

    What is tried depends on the seed alone, and more time only tries more.
    """
    watch, rng = Stopwatch(), np.random.default_rng(seed)
    shapes = list(_shapes(plant))
    front: dict[int, tuple[Cost, _Lift, IntArray]] = {}
    place = 0
    while shapes and (used := watch()) < seconds:
        size, groups = shapes[place % len(shapes)]
        place += 1
        tell(progress, used / seconds)
        blocks = np.concatenate([some.reshape(-1, size) for some in plant.classes])
        lift = _draw_lift(plant, blocks, groups[int(rng.integers(0, len(groups)))], rng)
        steps_first = bool(rng.integers(0, 2))
        best = _cost(lift, plant)
        vain = 0
        while best is not None and vain < _MOVES and watch() < seconds:
            changed = _vary_lift(lift, rng)
            cost = _cost(changed, plant)
            better = cost is not None and _rank(cost, steps_first) < _rank(best, steps_first)
            vain = 0 if better else vain + 1
            if cost is not None and _rank(cost, steps_first) <= _rank(best, steps_first):
                lift, best = changed, cost
        if best is not None and all(
            other.steps > best.steps or other.bandwidth > best.bandwidth for other, _, _ in front.values()
        ):
            front = {
                steps: one for steps, one in front.items() if steps < best.steps or one[0].bandwidth < best.bandwidth
            }
            front[best.steps] = best, lift, blocks
    found = []
    for _, (cost, lift, blocks) in sorted(front.items()):
        topology = replace(lift.topology(plant.degree), spec=lift.spec(plant.degree, duplex=plant.duplex))
        found.append((cost, PlantTopology(topology, *lift.links(), blocks.ravel())))
    return found


def _rank(cost: Cost, steps_first: bool) -> tuple[object, ...]:
    return (cost.steps, cost.bandwidth) if steps_first else (cost.bandwidth, cost.steps)


def _cost(lift: _Lift, plant: Plant) -> Cost | None:
    """Return the mean cost of both phases, or None."""
    try:
        there, back = price_both(lift.topology(plant.degree))
    except DisconnectedError:
        return None
    return there.average_with(back)


def _shapes(plant: Plant) -> Iterator[tuple[int, list[Group]]]:
    """Yield block sizes, largest first, with their groups."""
    most = math.gcd(*(len(some) for some in plant.classes))
    for size in range(most, 0, -1):
        if most % size == 0 and plant.nodes // size <= MAX_BLOCKS:
            yield size, groups_to_search(size)[:_GROUPS]


def _draw_lift(plant: Plant, blocks: IntArray, group: Group, rng: np.random.Generator) -> _Lift:
    lanes = plant.lanes[blocks[:, 0]]
    block, field = np.nonzero(lanes)
    count = lanes[block, field]
    tail, at = np.repeat(block, count), np.repeat(field, count)
    order = np.lexsort((tail, at))
    tail, at = tail[order], at[order]
    slots = [np.flatnonzero(at == one) for one in np.unique(at)]
    if not plant.duplex:
        head = np.concatenate([rng.permutation(tail[some]) for some in slots])
        return _Lift(group, len(blocks), tail, head, at, rng.integers(0, group.order, len(tail)), None)
    mate = np.arange(len(tail))
    turns = _involutions(group)
    for some in slots:
        drawn = rng.permutation(some)
        alone = len(some) % 2 + 2 * int(rng.integers(0, 1 + int(_ALONE * len(some)))) if len(turns) else len(some) % 2
        pairs = drawn[alone:].reshape(-1, 2)
        mate[pairs] = pairs[:, ::-1]
    lift = _Lift(group, len(blocks), tail, tail[mate], at, np.zeros(len(tail), dtype=np.int64), mate)
    for link in range(len(tail)):
        _turn(lift, link, rng)
    return lift


def _involutions(group: Group) -> IntArray:
    return np.flatnonzero(group.multiply(group.elements(), group.elements()) == 0)[1:]


def _turn(lift: _Lift, link: int, rng: np.random.Generator) -> None:
    """Draw another voltage for a link and its mate."""
    if lift.mate is None:
        lift.voltage[link] = rng.integers(0, lift.group.order)
    elif lift.mate[link] != link:
        drawn = int(rng.integers(0, lift.group.order))
        lift.voltage[link] = drawn
        lift.voltage[lift.mate[link]] = np.flatnonzero(lift.group.left(drawn) == 0)[0]
    else:
        turns = _involutions(lift.group)
        lift.voltage[link] = turns[int(rng.integers(0, len(turns)))] if len(turns) else 0


def _vary_lift(lift: _Lift, rng: np.random.Generator) -> _Lift:
    """Return a lift with a random change."""
    new = replace(
        lift, head=lift.head.copy(), voltage=lift.voltage.copy(), mate=None if lift.mate is None else lift.mate.copy()
    )
    one = int(rng.integers(0, len(lift.tail)))
    there = np.flatnonzero(lift.field == lift.field[one])
    other = int(there[int(rng.integers(0, len(there)))])
    if lift.blocks == 1 or other == one or rng.integers(0, 2):
        _turn(new, one, rng)
    elif new.mate is None:
        new.head[[one, other]] = new.head[[other, one]]
        new.voltage[[one, other]] = new.voltage[[other, one]]
    else:
        _repair(new, one, other, rng)
    return new


def _repair(lift: _Lift, one: int, other: int, rng: np.random.Generator) -> None:
    """Pair two lanes, and their former partners."""
    if lift.mate is None or lift.mate[one] == other:
        return
    left, right = int(lift.mate[one]), int(lift.mate[other])
    for a, b in ((one, other), (left, right)):
        lift.mate[[a, b]] = b, a
    if left == one or right == other:  # lanes without another: the pair of the third and itself is left alone
        single = right if left == one else left
        lift.mate[single] = single
        lift.mate[[one, other]] = other, one
    for link in (one, other, left, right):
        lift.head[link] = lift.tail[lift.mate[link]]
        _turn(lift, link, rng)
