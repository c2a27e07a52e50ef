"""Torus schemes with messages through nodes, as routed sends.

Which node sends to which is in ``torus_schemes``. On tori, hypercubes and rings messages go along the sides, the nearer
way round, and half of each block both ways where both are as near. Elsewhere nodes are a ring in the order of their
numbers, and messages go over shortest paths. A step begins when the one before is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges
from topodesign.base.errors import DisconnectedError, InfeasibleError, TooLargeError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.build import check_rows
from topodesign.plans.flow import Flow, Routes
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.baselines.torus_schemes import SCHEMES, Grid, Parts, Send, grid_of
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import IntArray, Topology

MAX_NODES = 4096  # whose blocks are followed
MAX_ROUTED = 1024  # the same where ways have to be found


class Leg(NamedTuple):
    """Messages with one route each: whole blocks or halves."""

    src: IntArray  # their senders; ``way`` has a row of nodes for each, from the sender on, -1 behind the last
    way: IntArray
    half: int  # 0 for the whole, else 1 or 2


class Roads:
    """Routes between nodes along torus sides or by a target table."""

    def __init__(self, topology: Topology, grid: Grid | None) -> None:
        self.topology, self.grid = topology, grid

    @cached_property
    def following(self) -> IntArray:
        """Next node of every node, in one row per target.

        If several are equally near, the sum of the two node numbers selects one.
        """
        nodes = self.topology.nodes
        if nodes > MAX_ROUTED:
            raise TooLargeError(f"ways are found among at most {MAX_ROUTED} nodes, not {nodes}")
        far = np.stack([distances(self.topology, node) for node in range(nodes)])
        if far.min() < 0:
            raise DisconnectedError("some nodes cannot reach all others")
        real = self.topology.src != self.topology.dst
        src, dst = self.topology.src[real], self.topology.dst[real]
        begin = np.searchsorted(src, np.arange(nodes))
        table = np.empty((nodes, nodes), dtype=np.int64)
        for target in range(nodes):
            nearer = far[dst, target] == far[src, target] - 1
            count = np.add.reduceat(nearer.astype(np.int64), begin)
            place = np.cumsum(nearer) - nearer
            wanted = (np.arange(nodes) + target) % np.maximum(count, 1)
            chosen = nearer & (place - place[begin][src] == wanted[src])
            table[target, src[chosen]] = dst[chosen]
            table[target, target] = target
        return table

    def legs(self, send: Send) -> Iterator[Leg]:
        """Yield the routes of a send."""
        src = np.flatnonzero(send.target != np.arange(len(send.target)))
        if self.grid is None or send.side is None or send.by is None:
            yield Leg(src, self._by_table(src, send.target[src]), 0)
            return
        length = self.grid.sides[send.side]
        ahead = send.by[src] % length
        if length > 2 and np.all(2 * ahead == length):
            for half, turn in ((1, 1), (2, -1)):
                yield Leg(src, self._along(self.grid, src, send.side, np.full(len(src), turn), ahead), half)
            return
        nearer = self.grid.turns(send.side, ahead, np.zeros_like(ahead))
        far = np.where(nearer > 0, ahead, length - ahead)
        yield Leg(src, self._along(self.grid, src, send.side, nearer, far), 0)

    @staticmethod
    def _along(grid: Grid, src: IntArray, side: int, turn: IntArray, length: IntArray) -> IntArray:
        way = [src]
        onward = range(1, int(length.max(initial=0)) + 1)
        way += [np.where(hop <= length, grid.move(src, side, turn * hop), -1) for hop in onward]
        return np.stack(way, axis=1)

    def _by_table(self, src: IntArray, dst: IntArray) -> IntArray:
        way, now = [src], src
        while np.any(now != dst):
            onward = self.following[dst, now]
            way.append(np.where(now == dst, -1, onward))
            now = onward
        return np.stack(way, axis=1)


class LegBlocks(NamedTuple):
    """Blocks carried by a leg in one step, per message."""

    part: int
    step: int
    leg: Leg
    blocks: NDArray[np.bool_]


def _spread_blocks(roads: Roads, parts: Parts, only: int | None) -> Iterator[LegBlocks]:
    """Yield moved blocks by part and step, optionally of one node.

    A message carries what its sender has when the step begins and its receiver lacks, each block once: where a scheme
    delivers twice, as published ones do when the number of nodes does not fit, the second delivery is omitted.
    """
    nodes = roads.topology.nodes
    if nodes > MAX_NODES:
        raise TooLargeError(f"blocks are followed among at most {MAX_NODES} nodes, not {nodes}")
    for part, steps in enumerate(parts):
        held = np.eye(nodes, dtype=np.bool_) if only is None else np.arange(nodes)[:, None] == only
        for step, sends in enumerate(steps, start=1):
            before = new = held.copy()
            for send in sends:
                for leg in roads.legs(send):
                    if leg.half != 2:  # a second half carries the blocks of the first
                        target = send.target[leg.src]
                        new = before[leg.src] & ~held[target]
                        held[target] |= new
                    yield LegBlocks(part, step, leg, new)


def _check(topology: Topology, name: str) -> None:
    if topology.nodes < 3:
        raise InfeasibleError(f"two nodes are neighbours, and require no {name}")


def _spreading(topology: Topology, collective: Collective, name: str) -> Flow:
    """Return an allgather or a broadcast by a scheme."""
    _check(topology, name)
    grid = grid_of(topology)
    parts = SCHEMES[name](grid or Grid(topology, (topology.nodes,)))
    only = collective.root
    rows: list[tuple[IntArray, ...]] = []
    ways: list[IntArray] = []
    for moved in _spread_blocks(Roads(topology, grid), parts, only):
        message, block = np.nonzero(moved.blocks)
        block = block if only is None else np.full(len(block), only)
        used = np.unique(message)
        lo = 2 * moved.part + (moved.leg.half == 2)
        hi = 2 * moved.part + (1 if moved.leg.half == 1 else 2)
        route = len(ways) + np.searchsorted(used, message)
        rows.append(
            (np.full(len(message), moved.step), route, block, np.full(len(message), lo), np.full(len(message), hi))
        )
        ways += [way[way >= 0] for way in moved.leg.way[used]]
        check_rows(sum(len(one[0]) for one in rows))
    step, route, block, lo_, hi_ = (np.concatenate(one).astype(np.int64) for one in zip(*rows, strict=True))
    return _over_ways((collective, topology, 2 * len(parts)), (block, lo_, hi_), step, ways, route)


def _over_ways(
    head: tuple[Collective, Topology, int],
    what: tuple[IntArray, IntArray, IntArray],
    step: IntArray,
    ways: list[IntArray],
    route: IntArray,
) -> Flow:
    """Return sends, each with a step and a route number.

    ``head`` are collective, topology and units, ``what`` are block, first unit and unit after the last.
    """
    length = np.array([len(way) for way in ways])
    hop = np.concatenate(ways).astype(np.int64)
    _, at = ranges((np.cumsum(length) - length)[route], length[route])
    start = np.concatenate(([0], np.cumsum(length[route])))
    routes = Routes(np.arange(len(route)), np.ones(len(route), dtype=np.int64), start, hop[at])
    src, dst = routes.hop[start[:-1]], routes.hop[start[1:] - 1]
    sends = np.arange(len(route)), src, dst, step - 1, step, np.zeros(len(route), dtype=np.int8)
    collective, topology, units = head
    return Flow(collective, topology, "steps", units, *what, *sends, steps=int(step.max()), routes=routes)


def _movement(topology: Topology, collective: Collective, name: str) -> Flow:
    if collective.like(ALLGATHER, BROADCAST):
        return _spreading(topology, collective, name)
    there = topology if topology.is_duplex else topology.transpose()
    return reverse(_spreading(there, collective.dual, name), topology)


def _scheme(name: str, collectives: tuple[Collective, ...]) -> Method:
    def make(request: Request) -> list[Plan]:
        collective = request.collective.at(request.root_number)
        halves = [_movement(request.topology, part, name) for part in collective.parts]
        return [_make_plan(request.topology, halves[0] if len(halves) == 1 else concatenate(*halves), name)]

    options = frozenset({"root"}) if BROADCAST in collectives else frozenset()
    return Method(name, options, collectives, make, movement="routed", auto=False)


def _make_plan(topology: Topology, moved: Flow, name: str) -> Plan:
    return Plan(topology, moved, flow_claim(moved), generator={"method": name})


def _in_order(request: Request) -> list[Plan]:
    """Return a one-step dimension-order all-to-all, split at ties."""
    topology = request.topology
    _check(topology, "dimension-order")
    grid = grid_of(topology)
    if grid is None:
        raise InfeasibleError("dimension-order requires a torus, a hypercube or a ring")
    nodes = topology.nodes
    check_rows(2 * nodes * nodes)
    node, ways, rows = np.arange(nodes), list[IntArray](), list[tuple[int, int, int, int]]()
    for offset in range(1, nodes):
        target = (node + offset) % nodes
        both = (_iterate_routes(grid, node, target, parity) for parity in (0, 1))
        for block, one, other in zip((node * nodes + target).tolist(), *both, strict=True):
            if np.array_equal(one, other):
                rows.append((len(ways), block, 0, 2))
                ways.append(one)
            else:
                rows += [(len(ways), block, 0, 1), (len(ways) + 1, block, 1, 2)]
                ways += [one, other]
    route, block, lo, hi = (column.copy() for column in np.array(rows, dtype=np.int64).T)
    moved = _over_ways((ALL_TO_ALL, topology, 2), (block, lo, hi), np.ones_like(route), ways, route)
    return [_make_plan(topology, moved, "dimension-order")]


def _iterate_routes(grid: Grid, source: IntArray, target: IntArray, parity: int) -> Iterator[IntArray]:
    """Yield dimension-order routes; the parity decides halfway directions."""
    way, now = [source], source
    for side, length in enumerate(grid.sides):
        ahead = (grid.coordinates[side][target] - grid.coordinates[side][source]) % length
        turn = grid.turns(side, ahead, np.full(len(source), parity))
        far = np.where(turn > 0, ahead, length - ahead) * (ahead > 0)
        onward = range(1, int(far.max(initial=0)) + 1)
        way += [np.where(hop <= far, grid.move(now, side, turn * hop), -1) for hop in onward]
        now = grid.move(now, side, ahead)
    table = np.stack(way, axis=1)
    for row in table:
        yield row[row >= 0]


_OF_ALL = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE)
METHODS = {
    **{name: _scheme(name, (*_OF_ALL, BROADCAST, REDUCE) if name == "bine" else _OF_ALL) for name in SCHEMES},
    "dimension-order": Method("dimension-order", frozenset(), (ALL_TO_ALL,), _in_order, movement="routed", auto=False),
}
