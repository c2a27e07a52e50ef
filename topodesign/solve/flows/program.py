"""Exact concurrent flows of minimum time, then minimum cost.

Of every demand the same share flows at any moment, so the time is that of the fullest link, or of the fullest of the
limits that links share. The linear program has one
column for every class of links as a source sees it (:mod:`~topodesign.topology.classes`), and its solution in
fractions comes with the prices that prove it: no flow is faster, since the ways of all data, each as short as can be
in prices of the links, cost as much as all links offer in that time. Both are checked in integers on all links.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.solve.flows.columns import tree_flow
from topodesign.solve.flows.paths import decompose_flow
from topodesign.solve.flows.potentials import find_balanced_flow
from topodesign.solve.program import NO_BOUND, Entries, Program
from topodesign.topology.classes import Classes, Limit, equitable_classes
from topodesign.topology.quotient import Quotient
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology

MAX_COLUMNS = 60_000  # of a linear program that is solved in fractions
FEW_COLUMNS = 4_000  # of one that takes a second or so
_FEW_ROWS = 1_000  # pairs and links of a program of paths that takes a second or so
_SMALL = 2**20  # all traffic that is a good number for the solver of that program
_MANY = 3000  # unknowns from which an interior point method is faster
_SAFE = 2**62


@dataclass(frozen=True, eq=False)
class DemandFlow:
    """Concurrent flow of minimum time, with its proof.

    Numbers for classes of links and vertices, as every source sees them, are those of ``classes``.

    * ``price``: price of a unit of capacity on each link of a class of loads, then of a unit of room in each limit of a
      class, for the proof of the time. Links with a price are as full as can be in every flow that is as fast.
    """

    topology: Topology  # links with capacities, switches included
    sources: IntArray  # vertices from which something has to go, shape ``(sources,)``
    demand: IntArray  # how much has to go from each of them to each vertex, shape ``(sources, nodes)``
    classes: Classes  # what looks alike
    time: Fraction  # largest load of a link over its capacity, or of a limit over its room; no flow has less
    flow: tuple[Fraction, ...]  # what a source sends over each link of a class
    price: tuple[Fraction, ...]
    potential: tuple[Fraction, ...]  # what a unit costs at these prices at most from a source to each vertex of a class
    cost: Fraction | None = None  # total cost of the flow, the least of those as fast; None where no costs were given

    def flows(self) -> tuple[NDArray[np.generic], int]:
        """Return the flows by source and link, with their denominator.

        The integers have the shape ``(sources, links)``.
        """
        numbers, common = _integers(self.flow)
        return numbers[self.classes.link], common

    def paths(self) -> tuple[list[tuple[int, int, tuple[int, ...], int]], int]:
        """Return ends, vertices and amount of every path, and the parts of a unit."""
        amounts, whole = self.flows()
        found: list[tuple[int, int, tuple[int, ...], int]] = []
        for source, row, wanted in zip(self.sources.tolist(), amounts, self.demand, strict=True):
            goals = {goal: int(wanted[goal]) * whole for goal in np.flatnonzero(wanted).tolist()}
            for goal, ways in decompose_flow(self.topology, source, row.tolist(), goals).items():
                found += [(source, goal, way, part) for way, part in ways]
        return found, whole

    def binding(self) -> IntArray:
        """Return the links with a positive price."""
        priced = np.array([price > 0 for price in self.price], dtype=np.bool_)
        return np.flatnonzero(priced[self.classes.load])

    def binding_limits(self) -> IntArray:
        """Return the shared limits with a positive price."""
        of_limits = self.price[int(self.classes.load.max(initial=-1)) + 1 :]
        return np.flatnonzero(np.array([of_limits[at] > 0 for at in self.classes.limit.tolist()], dtype=np.bool_))


def demand_flow(
    topology: Topology,
    sources: IntArray,
    demand: IntArray,
    costs: Sequence[int] | None = None,
    *,
    allowed: NDArray[np.bool_] | None = None,
    limits: Sequence[Limit] = (),
    most: int | None = None,
) -> DemandFlow:
    """Return the flow of minimum time, then of minimum cost.

    * ``topology``: links with capacities; all vertices pass on, switches and others.
    * ``sources``, ``demand``: what has to go where: shapes ``(sources,)`` and ``(sources, nodes)``, whole numbers. What
      a source has for itself stays.
    * ``costs``: of a unit of flow on each link, not negative; the time alone counts if None.
    * ``allowed``: vertices that what comes from each source may go over, shape ``(sources, nodes)``; all if None.
    * ``limits``: on what links carry together.
    * ``most``: unknowns up to which it is worked out; ``MAX_COLUMNS`` if None.

    Examples
    --------
    >>> import numpy as np
    >>> ring = Topology.from_links(3, [(0, 1, 2), (1, 2, 1), (2, 0, 1)])
    >>> demand_flow(ring, np.arange(3), 1 - np.eye(3, dtype=np.int64)).time
    Fraction(3, 1)

    References
    ----------
    Shahrokhi and Matula, The Maximum Concurrent Flow Problem (1990); Algorithmic Techniques for Optimal Collective
    Communication, section 3.2.1 (linear program 3.16) and chapter 5.
    """
    demand = np.where(np.arange(topology.nodes) == sources[:, None], 0, demand)
    mark = np.zeros(len(topology.src), dtype=np.int64) if costs is None else np.array(costs, dtype=np.int64)
    _check_reachable(topology, sources, demand, allowed)
    classes = equitable_classes(topology, sources, demand, mark, allowed=allowed, limits=limits)
    small = ClassProgram(topology, sources, demand, classes, allowed=allowed, limits=limits, most=most)
    time, flow, prices, potentials = small.fastest()
    small.check(flow, time)
    small.check_bound(prices, potentials, time)
    cost = None
    if costs is not None:
        flow, cost = small.cheapest(time, mark)
        small.check(flow, time)
    return DemandFlow(topology, sources, demand, small.classes, time, flow, prices, potentials, cost)


class TrafficTime(NamedTuple):
    """Time of a traffic matrix, in units per unit of capacity."""

    bound: Fraction  # largest load of a link over its capacity that no routing undercuts
    time: Fraction  # that of a routing that is known


def traffic_time(
    topology: Topology,
    demand: IntArray,
    *,
    limits: Sequence[Limit] = (),
    gap: Fraction = Fraction(1, 100),
    most: int = FEW_COLUMNS,
) -> TrafficTime:
    """Return the time of a traffic matrix, exactly or within bounds.

    It is exact if few links and vertices differ, and otherwise between proven bounds.

    * ``topology``: links with capacities; all vertices pass on.
    * ``demand``: what goes from each vertex to each: whole numbers, shape ``(nodes, nodes)``.
    * ``limits``: on what links carry together; with them it is exact or refused.
    * ``gap``: part of the bound by which it may be above it, where it is not solved exactly.
    * ``most``: unknowns up to which it is solved exactly.

    Raises
    ------
    UnreachableError
        If there is no way for some of it.
    TooLargeError
        If it is too large.

    Examples
    --------
    >>> ring = Topology.from_links(3, [(0, 1, 2), (1, 2, 1), (2, 0, 1)])
    >>> traffic_time(ring, 1 - np.eye(3, dtype=np.int64)).time
    Fraction(3, 1)
    """
    demand = np.array(demand, dtype=np.int64)
    if demand.shape != (topology.nodes, topology.nodes) or (demand < 0).any():
        raise ParameterError(f"traffic is a matrix of {topology.nodes} x {topology.nodes} numbers, none negative")
    np.fill_diagonal(demand, 0)
    sources = np.flatnonzero(demand.any(axis=1))
    if not len(sources):
        return TrafficTime(Fraction(0), Fraction(0))
    try:
        time = demand_flow(topology, sources, demand[sources], limits=limits, most=MAX_COLUMNS if limits else most).time
        return TrafficTime(time, time)
    except TooLargeError:
        if limits:
            raise
    arcs = np.flatnonzero(topology.src != topology.dst)
    pairs = np.argwhere(demand)
    few = len(pairs) + len(arcs) <= _FEW_ROWS and float(demand.sum(dtype=np.float64)) <= _SMALL
    if few:  # each pair alone: of few goals of a source, trees hold each other back
        sources = pairs[:, 0].copy()  # next to each other in memory, as the kernels know their sources
        demand = np.where(np.arange(topology.nodes) == pairs[:, 1:], demand[sources], 0)
    else:
        demand = demand[sources]
    alone, one = np.arange(len(arcs)), np.ones(len(sources), dtype=np.int64)
    small = Quotient(topology, None, sources, one, arcs, alone, topology.capacity[arcs].copy(), demand)
    flow = tree_flow(small, balanced=True) if few else find_balanced_flow(small, gap=gap)
    return TrafficTime(flow.bound, flow.time)


class ClassProgram:
    """Linear program over classes."""

    def __init__(
        self,
        topology: Topology,
        sources: IntArray,
        demand: IntArray,
        classes: Classes,
        *,
        allowed: NDArray[np.bool_] | None = None,
        limits: Sequence[Limit] = (),
        most: int | None = None,
    ) -> None:
        self.topology, self.sources, self.demand, self.classes = topology, sources, demand, classes
        self.limits = limits
        vertex, link, load = classes.vertex, classes.link, classes.load
        self.vertices, self.vertex_first, self.vertex_size = _firsts(vertex)
        self.columns, self.link_first, self.link_size = _firsts(link)
        self.loads, self.load_first, self.load_size = _firsts(load)
        # A link of each class: its source, its own number and the classes of its ends.
        self.seen_by, self.number = np.divmod(self.link_first, len(topology.src))
        self.tail = vertex[self.seen_by, topology.src[self.number]]
        self.head = vertex[self.seen_by, topology.dst[self.number]]
        self.load_of = load[self.number]
        # Rows of what is full: a link of each class, then a limit of each class, which many have to share.
        _, first, self.limit_size = _firsts(classes.limit)
        self.shared = [limits[at] for at in first.tolist()]
        if any(max(limit.room.as_integer_ratio()) > MAX_CAPACITY for limit in limits):
            raise TooLargeError("a limit that links share has too little in common with their capacities; round it")
        rooms = np.array([limit.room for limit in limits], dtype=object)
        self._require(rooms[first][classes.limit], rooms)
        shared_room = np.array([limit.room.numerator for limit in self.shared], dtype=np.int64)
        self.room = np.concatenate((topology.capacity[self.load_first], shared_room))
        self.many = np.concatenate((self.load_size, self.limit_size))
        home = vertex[np.arange(len(sources)), sources]
        self.is_home = np.zeros(self.vertices, dtype=np.bool_)
        self.is_home[home] = True
        own = np.arange(topology.nodes) == sources[:, None]
        self._require(self.is_home[vertex], own)
        # Columns that carry nothing: links into their own source, and those at a vertex that is not allowed.
        self.closed = self.is_home[self.head]
        if allowed is not None:
            shut = ~allowed.reshape(-1)[self.vertex_first]
            self._require(shut[vertex], ~allowed)
            self.closed = self.closed | shut[self.head] | shut[self.tail]
        most = MAX_COLUMNS if most is None else most
        if self.columns > most:
            raise TooLargeError(
                f"the exact flow has {self.columns} unknowns, since little looks alike (at most {most})"
            )

    @staticmethod
    def _require(by_class: NDArray[np.generic], exactly: NDArray[np.generic]) -> None:
        """Raise InfeasibleError if a hash collision merged distinct items."""
        if not np.array_equal(by_class, exactly):
            raise InfeasibleError("what differs was taken for alike, by a chance of one in 2^64")

    def fastest(self) -> tuple[Fraction, tuple[Fraction, ...], tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return minimum time, flows, link prices and potentials."""
        program, rows, loads = self._program(1)
        size = int(self.room.max(initial=1))  # times the time: prices that are about one, as the solver likes them
        (column,) = program.add_columns(1, cost=size, entries=Entries(loads, np.zeros_like(loads), -self.room))
        program.change_rows(loads, upper=0)
        columns, prices = self._solve(program)
        price, potential = self._prices(prices, rows, loads)
        price, potential = ([number / size for number in part] for part in (price, potential))
        return columns[column], columns[: self.columns], tuple(price), tuple(potential)

    def cheapest(self, time: Fraction, costs: IntArray) -> tuple[tuple[Fraction, ...], Fraction]:
        """Return the minimum-cost flow in the given time, with its cost."""
        whole = time.denominator
        program, rows, loads = self._program(whole)
        room = self.room.astype(object) * time.numerator
        if max(room, default=0) >= _SAFE or whole * int(self.demand.max(initial=0)) >= _SAFE:
            raise TooLargeError(f"the least time, {time}, is too long a fraction for the least cost")
        program.change_rows(loads, upper=room.astype(np.int64))
        cost = costs[self.number]
        self._require(costs[self.load_first][self.classes.load], costs)
        self._require(self.topology.capacity[self.load_first][self.classes.load], self.topology.capacity)
        program.change_columns(np.arange(self.columns), cost=cost * self.link_size)
        columns, prices = self._solve(program)
        flow = tuple(value / whole for value in columns[: self.columns])
        total = sum((value * int(c * n) for value, c, n in zip(flow, cost, self.link_size, strict=True)), Fraction(0))
        # The prices prove it: no way is shorter, and what they pay for is not worth less.
        price, potential = self._prices(prices, rows, loads)
        offered = [p + int(c) for p, c in zip(self._price_classes(price), cost, strict=True)]
        paid = sum((p * int(r * n) for p, r, n in zip(price, room, self.many, strict=True)), Fraction(0)) / whole
        if min(price, default=0) < 0 or not self._is_potential(potential, offered):
            raise InfeasibleError("the solver's prices do not prove the least cost")
        if self._worth(potential) - paid != total:
            raise InfeasibleError("the solver finds no flow of proven least cost")
        return flow, total

    def check(self, flow: Sequence[Fraction], time: Fraction) -> None:
        """Check the flow of every source on all links, in integers."""
        numbers, common = _integers(flow)
        topology, sources = self.topology, self.sources
        if min(numbers, default=0) < 0 or np.any(numbers[self.closed]):
            raise InfeasibleError("the solver finds a negative flow, or one where none is allowed")
        carried = numbers[self.classes.link]
        gained = np.zeros(self.demand.shape, dtype=carried.dtype)
        load = np.zeros(len(topology.src), dtype=carried.dtype)
        order = np.argsort(topology.dst, kind="stable")
        for sign, key, table in ((-1, topology.src, carried), (1, topology.dst[order], carried[:, order])):
            first = np.flatnonzero(np.diff(key, prepend=-1))
            gained[:, key[first]] += sign * np.add.reduceat(table, first, axis=1)
        load = carried.sum(axis=0)
        wanted = self.demand.astype(carried.dtype)
        wanted[np.arange(len(sources)), sources] = -wanted.sum(axis=1)
        if np.any(gained != wanted * common):
            raise InfeasibleError("the solver's flow is invalid: data gets lost on the way")
        limit = topology.capacity.astype(object) * (time * common).numerator
        if np.any(load.astype(object) * (time * common).denominator > limit):
            raise InfeasibleError("the solver's flow takes longer than it says")
        if any(sum(load[list(one.links)].tolist()) > one.room * time * common for one in self.limits):
            raise InfeasibleError("the solver's flow exceeds what links share")

    def check_bound(self, price: Sequence[Fraction], potential: Sequence[Fraction], time: Fraction) -> None:
        """Check that the prices prove the minimum time."""
        offered = self._price_classes(price)
        room = np.zeros(len(self.room), dtype=np.int64)
        np.add.at(room, self.classes.load, self.topology.capacity)
        for at, limit in zip(self.classes.limit.tolist(), self.limits, strict=True):
            room[self.loads + at] += limit.room.numerator
        paid = sum((p * c for p, c in zip(price, room.tolist(), strict=True)), Fraction(0))
        if min(price, default=0) < 0 or not self._is_potential(potential, offered):
            raise InfeasibleError("the solver's prices prove nothing")
        if time and (not paid or self._worth(potential) < paid * time):
            raise InfeasibleError("the solver finds no flow of proven least time")

    def _price_classes(self, price: Sequence[Fraction]) -> list[Fraction]:
        """Return the price of a unit of flow per link class."""
        each = np.array([price[at] for at in self.classes.load.tolist()], dtype=object)
        for at, limit in zip(self.classes.limit.tolist(), self.limits, strict=True):
            each[list(limit.links)] += price[self.loads + at] * limit.room.denominator
        self._require(each[self.load_first][self.classes.load], each)
        offered: list[Fraction] = each[self.number].tolist()
        return offered

    def _is_potential(self, potential: Sequence[Fraction], offered: Sequence[Fraction]) -> bool:
        """Return whether the potentials respect link prices, with sources at 0."""
        if any(potential[home] for home in np.flatnonzero(self.is_home).tolist()):
            return False
        numbers, _ = _integers((*potential, *offered))
        height, most = numbers[: self.vertices], numbers[self.vertices :]
        return bool(np.all(self.closed | (height[self.head] - height[self.tail] <= most)))

    def _worth(self, potential: Sequence[Fraction]) -> Fraction:
        """Return the minimum cost of all demands."""
        demand = np.zeros(self.vertices, dtype=np.int64)
        np.add.at(demand, self.classes.vertex, self.demand)
        numbers, common = _integers(potential)
        return Fraction(sum(map(int.__mul__, numbers.tolist(), demand.tolist())), common)

    def _program(self, whole: int) -> tuple[Program, IntArray, IntArray]:
        """Return the linear program with its vertex and load rows."""
        program = Program(unit=whole)
        program.add_columns(self.columns, upper=np.where(self.closed, 0, NO_BOUND))
        rows = np.flatnonzero(~self.is_home)
        place = np.full(self.vertices, -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        # Entries of the row of a class: how many links of each class lead into and out of one of its vertices.
        column = np.arange(self.columns)
        into, out = (self.link_size // self.vertex_size[end] for end in (self.head, self.tail))
        row = np.concatenate((place[self.head], place[self.tail]))
        value = np.concatenate((into, -out))
        key = row * self.columns + np.tile(column, 2)
        keys, inverse = np.unique(key[row >= 0], return_inverse=True)
        value = np.bincount(inverse, weights=value[row >= 0], minlength=len(keys)).astype(np.int64)
        wanted = self.demand.reshape(-1)[self.vertex_first[rows]] * whole
        entries = Entries(keys // max(1, self.columns), keys % max(1, self.columns), value)
        first = program.add_rows(len(rows), entries, lower=wanted, upper=wanted)
        share = self.link_size // self.load_size[self.load_of]
        full = [Entries(self.load_of, column, share)]
        for at, limit in enumerate(self.shared):
            within = np.bincount(self.classes.load[list(limit.links)], minlength=self.loads)[self.load_of]
            used = np.flatnonzero(within)
            amount = (within * share * limit.room.denominator)[used]
            full.append(Entries(np.full_like(used, self.loads + at), used, amount))
        entries = Entries(*(np.concatenate(part) for part in zip(*full, strict=True)))
        return program, first, program.add_rows(len(self.room), entries)

    def _prices(
        self, prices: Sequence[Fraction], rows: IntArray, loads: IntArray
    ) -> tuple[list[Fraction], list[Fraction]]:
        """Return per-member prices of loads and limits, and vertex potentials."""
        price = [-prices[row] / size for row, size in zip(loads.tolist(), self.many.tolist(), strict=True)]
        potential = [Fraction(0)] * self.vertices
        for row, which in zip(rows.tolist(), np.flatnonzero(~self.is_home).tolist(), strict=True):
            potential[which] = prices[row] / int(self.vertex_size[which])
        return price, potential

    def _solve(self, program: Program) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """Return proven columns and prices."""
        many = self.columns > _MANY
        for interior in (many, not many):
            if program.solve(interior=interior) == "optimal":
                found = program.certificate()
                if found.proven:
                    return found.columns, found.prices
        raise InfeasibleError("the solver finds no exact flow; rounder bandwidths may help")


def _firsts(classes: NDArray[np.int32]) -> tuple[int, IntArray, IntArray]:
    """Return the number of classes, their first places and sizes."""
    _, first, size = np.unique(classes, return_index=True, return_counts=True)
    return len(first), first.astype(np.int64), size.astype(np.int64)


def _integers(values: Sequence[Fraction]) -> tuple[NDArray[Any], int]:
    """Return fractions as integers over a common denominator."""
    pairs = [value.as_integer_ratio() for value in values]
    common = math.lcm(*{below for _, below in pairs})
    numbers = [above * (common // below) for above, below in pairs]
    wide = max(map(abs, numbers), default=0) * 2**24 >= _SAFE or common >= 2**31
    return np.array(numbers, dtype=object if wide else np.int64), common


def _check_reachable(
    topology: Topology, sources: IntArray, demand: IntArray, allowed: NDArray[np.bool_] | None
) -> None:
    """Raise an error for a demand without a path."""
    reached = np.zeros(demand.shape, dtype=np.bool_)
    reached[np.arange(len(sources)), sources] = True
    order = np.argsort(topology.dst, kind="stable")
    tail, head = topology.src[order], topology.dst[order]
    first = np.flatnonzero(np.diff(head, prepend=-1))
    count = -1
    while first.size and count != (now := int(reached.sum())):
        count = now
        reached[:, head[first]] |= np.logical_or.reduceat(reached[:, tail], first, axis=1)
        reached &= True if allowed is None else allowed
    missing = np.argwhere(~reached & (demand > 0))
    if len(missing):
        source, goal = int(sources[missing[0][0]]), int(missing[0][1])
        raise UnreachableError(source, goal)


class UnreachableError(InfeasibleError):
    """Error for a vertex that another cannot reach.

    * ``source``, ``goal``: their numbers.
    """

    def __init__(self, source: int, goal: int) -> None:
        super().__init__(f"there is no way from {source} to {goal}")
        self.source, self.goal = source, goal
