"""Optimal flow of blocks in time, by link and step.

Data that is stored on the way and moves one link a step flows through the time-expanded network, whose arcs are the
links at every step, and nodes to themselves. Every source has a flow of its own with a block for every destination. The
time of a step is that of its fullest link, so that the least sum of these is a linear program, and its optimum is that
of all plans of so many steps: any plan is such a flow, and any such flow is taken apart into ways of parts of blocks.

By symmetry (:mod:`topodesign.topology.quotient`) one source of every orbit is enough, whose flow may be such that
every automorphism that leaves the source in its place keeps it: so there is one variable for all the links that these
turn into each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.schedulers.steps_bound import SCALES
from topodesign.solve.program import Entries, Program
from topodesign.topology.quotient import Quotient, find_fixed_orbits
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, eq=False)
class FlowInTime:
    """Flow over every link at every step."""

    quotient: Quotient  # sources and links up to symmetry
    steps: int  # communication steps
    units: int  # equal parts of a block
    amounts: NDArray[Any]  # units of every source over its arcs: Python integers, shape ``(sources, steps, arcs)``
    fullest: tuple[Fraction, ...]  # of every step the largest load of a link, in blocks over its capacity

    @property
    def total(self) -> Fraction:
        """Sum of the largest loads of all steps."""
        return sum(self.fullest, Fraction(0))


@dataclass(frozen=True, eq=False)
class FlowProgram:
    """Linear program of the optimal flow in given steps."""

    quotient: Quotient  # sources and links up to symmetry
    distance: IntArray  # links from every source to every node, shape ``(sources, nodes)``
    steps: int  # communication steps, at least the largest distance

    @cached_property
    def parts(self) -> list[_Part]:
        """Flow of every source."""
        parts, first = [], (0, 0)
        for source, distance in zip(self.quotient.sources.tolist(), self.distance, strict=True):
            parts.append(_part(self.quotient, source, distance, self.steps, first))
            first = parts[-1].stop
        return parts

    @property
    def size(self) -> int:
        """Number of columns."""
        return self.parts[-1].stop[1] + self.steps

    def solve(self) -> tuple[FlowInTime | None, Fraction]:
        """Return the optimal flow and a bound on total largest loads.

        Both are exact. The flow is None where the solver's answer cannot be proved to be one; the bound holds then,
        too, and may be 0.
        """
        program, loads = self._program()
        if program.solve(interior=True) != "optimal":
            return None, Fraction(0)
        certificate = program.certificate()
        if not certificate.proven:
            return None, program.bound(SCALES) or Fraction(0)
        values, fullest = certificate.columns[:loads], certificate.columns[loads:]
        units = math.lcm(*(values[column].denominator for part in self.parts for column in part.flow[part.flow >= 0]))
        rows = []
        for part in self.parts:
            column = part.flow[:, part.kind]
            rows.append([[int(values[at] * units) if at >= 0 else 0 for at in step] for step in column.tolist()])
        flow = FlowInTime(self.quotient, self.steps, units, np.array(rows, dtype=object), fullest)
        return flow, flow.total

    def _program(self) -> tuple[Program, int]:
        """Return the program and its first largest-load column; these come last."""
        quotient, steps, kinds = self.quotient, self.steps, len(self.quotient.room)
        rows, loads = self.parts[-1].stop
        width = loads + steps
        balance = [np.concatenate([part.balance[at] for part in self.parts]) for at in range(3)]
        carried = [part.carried(quotient.kind, kinds) for part in self.parts]
        weight = np.repeat(quotient.weight, [len(column) for _, column in carried])
        place, column = (np.concatenate([one[at] for one in carried]) for at in range(2))
        place = np.concatenate((place, np.arange(steps * kinds)))
        column = np.concatenate((column, np.repeat(np.arange(loads, width), kinds)))
        weight = np.concatenate((weight, -np.tile(quotient.room, steps)))
        program = Program()
        cost = np.zeros(width, dtype=np.int64)
        cost[loads:] = 1
        program.add_columns(width, cost=cost)
        wanted = np.concatenate([part.wanted for part in self.parts])
        program.add_rows(rows, Entries.sum_equal(*balance), lower=wanted, upper=wanted)
        program.add_rows(steps * kinds, Entries.sum_equal(place, column, weight), upper=0)
        return program, loads


@dataclass(frozen=True, eq=False)
class _Part:
    """The flow of one source in the program."""

    # For every arc the number of its class: arcs that automorphisms which keep the source turn into each other.
    kind: IntArray
    flow: IntArray  # column of what an arc of a class carries at a step, -1 where none; shape ``(steps, classes)``
    # Rows, columns and values of the equations: what stays at a node and what comes to it in a step is what stays there
    # and leaves it in the next. Entries of one place add up.
    balance: tuple[IntArray, IntArray, IntArray]
    wanted: IntArray  # right sides of these rows
    stop: tuple[int, int]  # the next row and the next column

    def carried(self, orbit: IntArray, orbits: int) -> tuple[IntArray, IntArray]:
        """Return step-orbit index and column of every arc load."""
        column = self.flow[:, self.kind]
        step, arc = np.nonzero(column >= 0)
        return step * orbits + orbit[arc], column[step, arc]


def _part(quotient: Quotient, source: int, distance: IntArray, steps: int, first: tuple[int, int]) -> _Part:
    row, column = first
    src, dst = quotient.src, quotient.dst
    kind = _classes(quotient, source)
    classes = int(kind.max()) + 1
    # Nodes are alike if the arcs into them are, which all nodes have: they are reached from the source.
    node_kind = np.full(quotient.topology.nodes, classes)
    np.minimum.at(node_kind, dst, kind)
    _, some_node, node_kind = np.unique(node_kind, return_index=True, return_inverse=True)
    some_arc = np.unique(kind, return_index=True)[1]
    inner = some_node != source  # the source needs nothing, and what comes back to it could have stayed
    useful = dst[some_arc] != source
    time = np.arange(1, steps + 1)[:, None]

    def numbered(there: NDArray[np.bool_], start: int) -> tuple[IntArray, int]:
        count = int(there.sum())
        numbers = np.full(there.shape, -1, dtype=np.int64)
        numbers[there] = np.arange(start, start + count)
        return numbers, start + count

    flow, column = numbered((distance[src[some_arc]] < time) & useful, column)
    stay, column = numbered((distance[some_node] < time) & inner, column)
    rows, row = numbered((distance[some_node] <= time) & inner, row)
    into = np.flatnonzero(np.isin(dst, some_node))
    out = np.flatnonzero(np.isin(src, some_node))
    pieces = [
        (rows, stay, 1),
        (rows[:, node_kind[dst[into]]], flow[:, kind[into]], 1),
        (rows[:-1], stay[1:], -1),
        (rows[:-1, node_kind[src[out]]], flow[1:, kind[out]], -1),
    ]
    entries: list[tuple[IntArray, IntArray, IntArray]] = []
    for places, columns, value in pieces:
        there = (places >= 0) & (columns >= 0)
        entries.append((places[there], columns[there], np.full(int(there.sum()), value, dtype=np.int64)))
    balance = tuple(np.concatenate([entry[at] for entry in entries]) for at in range(3))
    wanted = np.zeros(row - first[0], dtype=np.int64)
    last = rows[-1]
    wanted[last[last >= 0] - first[0]] = 1
    return _Part(kind, flow, balance, wanted, (row, column))  # type: ignore[arg-type]


def _classes(quotient: Quotient, source: int) -> IntArray:
    """Return arc classes under automorphisms that fix a source."""
    if quotient.symmetry is None:
        return np.arange(len(quotient.arcs))
    orbit = find_fixed_orbits(quotient.topology, quotient.symmetry, source)[quotient.arcs]
    return np.unique(orbit, return_inverse=True)[1].astype(np.int64)


Way = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""A destination, the first unit and the one after the last of its block, and the (step, arc) pairs that they take."""


def ways_of(flow: FlowInTime, number: int) -> list[Way]:
    """Return the parts of a source's blocks and their paths.

    ``number`` is the number of the source in the quotient.

    Backwards in time: at the end every node has its block, and at each step it is settled which parts of what a node
    has came over which link in that step. As the amounts add up, what is left came before. Any choice is right; taking
    whole parts where there are some keeps them few. A way that comes back to a node stays there instead.
    """
    quotient, units = flow.quotient, flow.units
    source = int(quotient.sources[number])
    src, dst = quotient.src.tolist(), quotient.dst.tolist()
    # A part: destination, first unit, end, and the hops after, last in first out: (step, arc, hops after it).
    have: dict[int, list[tuple[int, int, int, Any]]] = {
        node: [(node, 0, units, None)] for node in range(quotient.topology.nodes) if node != source
    }
    for step in range(flow.steps, 0, -1):
        row = flow.amounts[number, step - 1]
        moved: list[tuple[int, tuple[int, int, int, Any]]] = []
        for arc in np.flatnonzero(row != 0).tolist():
            for to, low, high, hops in _take(have[dst[arc]], int(row[arc])):
                moved.append((src[arc], (to, low, high, (step, arc, hops))))
        for node, part in moved:
            have.setdefault(node, []).append(part)
    return [(to, low, high, _straight(hops, source, dst)) for to, low, high, hops in have.get(source, [])]


def _take(parts: list[tuple[int, int, int, Any]], amount: int) -> list[tuple[int, int, int, Any]]:
    """Take units from parts, an equal or the largest ones."""
    for at, (_, low, high, _) in enumerate(parts):
        if high - low == amount:
            return [parts.pop(at)]
    taken = []
    parts.sort(key=lambda part: part[2] - part[1])
    while amount:
        to, low, high, hops = parts.pop()
        if high - low > amount:
            parts.append((to, low + amount, high, hops))
            high = low + amount
        taken.append((to, low, high, hops))
        amount -= high - low
    return taken


def _straight(hops: Any, source: int, dst: list[int]) -> tuple[tuple[int, int], ...]:
    """Return the hops of a path as a tuple, without cycles."""
    way: list[tuple[int, int]] = []
    met = {source: 0}
    while hops is not None:
        step, arc, hops = hops
        way.append((step, arc))
        again = met.get(dst[arc])
        if again is None:
            met[dst[arc]] = len(way)
        else:
            for _, gone in way[again:]:
                if met.get(dst[gone], 0) > again:
                    del met[dst[gone]]
            del way[again:]
    return tuple(way)
