"""Which blocks every message of a scheme carries, over which links: the allgather that it is, counted in integers.

A scheme says who sends to whom. What is sent is what the sender has when the step begins and the receiver lacks, each
block once: where a scheme delivers twice, as published ones do when the number of nodes does not fit, the second
delivery is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import DisconnectedError, TooLargeError
from topodesign.pricing.closed_form import distances, fullest
from topodesign.pricing.routed.grid import Grid
from topodesign.topology.topology import IntArray, Topology

MOST_NODES = 4096  # whose blocks are followed
MOST_ROUTED = 1024  # the same where ways have to be found


class Send(NamedTuple):
    """A message from every node: to whom, and along which side of a torus by how many places; None without sides."""

    target: IntArray
    side: int | None = None
    by: IntArray | None = None


Parts = tuple[tuple[tuple[Send, ...], ...], ...]
"""For every part of the data the sends of each step of its allgather; all parts at the same time."""


class Leg(NamedTuple):
    """Messages over one way each: of each block the whole, the first or the second half."""

    src: IntArray  # their senders; ``way`` has a row of nodes for each, from the sender on, -1 behind the last
    way: IntArray
    half: int  # 0 for the whole, else 1 or 2


class Roads:
    """The ways between nodes: along the sides of a torus, both where one is as near, else by a table of targets."""

    def __init__(self, topology: Topology, grid: Grid | None = None) -> None:
        self.topology, self.grid = topology, grid

    @cached_property
    def following(self) -> IntArray:
        """For each target a row with the next node of every node: of several in turn, by the sum of both numbers."""
        nodes = self.topology.nodes
        if nodes > MOST_ROUTED:
            raise TooLargeError(f"ways are found among at most {MOST_ROUTED} nodes, not {nodes}")
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
        """Yield the ways of a send."""
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
        way += [np.where(hop <= length, grid.moved(src, side, turn * hop), -1) for hop in onward]
        return np.stack(way, axis=1)

    def _by_table(self, src: IntArray, dst: IntArray) -> IntArray:
        way, now = [src], src
        while np.any(now != dst):
            onward = self.following[dst, now]
            way.append(np.where(now == dst, -1, onward))
            now = onward
        return np.stack(way, axis=1)


class Moved(NamedTuple):
    """What one leg carries in a step of a part: for each of its messages a row with a flag for every block."""

    part: int
    step: int
    leg: Leg
    blocks: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Counted:
    """What a scheme costs as an allgather, counted.

    * ``bandwidth``: the factor y: the fullest links of all steps, for data of size one and a node's bandwidth of one.
    * ``whole``: the same where every message carries all data of its part: an allreduce of whole vectors; None where
      something is delivered twice, so that sums would be wrong.
    """

    steps: int  # its steps
    hops: int  # links of the longest way of each step, added up
    bandwidth: Fraction
    whole: Fraction | None
    complete: bool  # whether every node has everything in the end
    twice: int  # deliveries that were left out


def spread(roads: Roads, parts: Parts, only: int | None = None) -> Iterator[tuple[Moved, int]]:
    """Yield what moves, step by step for one part after another, each with the deliveries that were left out.

    ``only`` follows the block of one node alone.
    """
    nodes = roads.topology.nodes
    if nodes > MOST_NODES:
        raise TooLargeError(f"blocks are followed among at most {MOST_NODES} nodes, not {nodes}")
    for part, steps in enumerate(parts):
        held = np.eye(nodes, dtype=np.bool_) if only is None else np.arange(nodes)[:, None] == only
        for step, sends in enumerate(steps, start=1):
            before = new = held.copy()
            for send in sends:
                for leg in roads.legs(send):
                    if leg.half == 2:
                        yield Moved(part, step, leg, new), 0
                        continue
                    target = send.target[leg.src]
                    offered = before[leg.src]
                    new = offered & ~held[target]
                    twice = int((offered & held[target]).sum())
                    held[target] |= new
                    yield Moved(part, step, leg, new), twice


def count(roads: Roads, parts: Parts) -> Counted:
    """Return what a scheme costs."""
    topology = roads.topology
    nodes, links = topology.nodes, len(topology.src)
    steps = max(map(len, parts))
    load, whole = np.zeros((steps, links), dtype=np.int64), np.zeros((steps, links), dtype=np.int64)
    longest = np.zeros(steps, dtype=np.int64)
    twice = got = 0
    for moved, again in spread(roads, parts):
        amount = moved.blocks.sum(axis=1)
        sent = amount > 0
        way = moved.leg.way[sent]
        ends = way[:, 1:] >= 0
        message = np.nonzero(ends)[0]
        link = topology.link_index(way[:, :-1][ends], way[:, 1:][ends])
        units = 1 if moved.leg.half else 2
        np.add.at(load[moved.step - 1], link, units * amount[sent][message])
        np.add.at(whole[moved.step - 1], link, units)
        longest[moved.step - 1] = max(longest[moved.step - 1], int(ends.sum(axis=1).max(initial=0)))
        twice += again
        got += int(amount.sum()) if moved.leg.half != 2 else 0
    return Counted(
        steps,
        int(longest.sum()),
        topology.degree * sum(fullest(row, topology.capacity) for row in load) / Fraction(2 * len(parts) * nodes),
        None
        if twice
        else topology.degree * sum(fullest(row, topology.capacity) for row in whole) / Fraction(2 * len(parts)),
        got == len(parts) * nodes * (nodes - 1),
        twice,
    )
