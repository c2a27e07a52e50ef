"""Replay of a deferred schedule: every piece comes from a node that has it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.pricing.deferral import Moves

Ints = NDArray[np.int64]


class InvalidScheduleError(Exception):
    """A schedule that is none."""


@dataclass(frozen=True)
class Digraph:
    """Links sorted by (src, dst), self-loops among them."""

    nodes: int
    src: Ints
    dst: Ints
    capacity: Ints

    @classmethod
    def of(cls, nodes: int, src: Ints, dst: Ints, capacity: Ints) -> Digraph:
        """Return it for links in any order."""
        order = np.lexsort((dst, src))
        return cls(nodes, src[order], dst[order], capacity[order])

    def reverse(self) -> Digraph:
        """Return the links turned round."""
        return Digraph.of(self.nodes, self.dst, self.src, self.capacity)

    def is_same(self, other: Digraph) -> bool:
        """Whether both have the same links."""
        pairs = ((self.src, other.src), (self.dst, other.dst), (self.capacity, other.capacity))
        return all(np.array_equal(*pair) for pair in pairs)


@dataclass(frozen=True)
class Orbits:
    """Which nodes look alike, as permutations prove that keep the links.

    * ``tree``: for each node the one that it is the image of and by which generator, in an order in which that comes
      first; -1 and -1 for the smallest of an orbit.
    """

    generators: tuple[Ints, ...]  # these permutations
    of: Ints  # the smallest node that each one is an image of
    tree: dict[int, tuple[int, int]]

    @property
    def roots(self) -> Ints:
        """The smallest node of each."""
        return np.unique(self.of)

    def name_from(self, node: int) -> Ints:
        """Return the names of nodes seen from a node in place of its root."""
        path = []
        at = node
        while (step := self.tree[at])[0] >= 0:
            path.append(step[1])
            at = step[0]
        permutation = np.arange(len(self.of))
        for number in reversed(path):
            permutation = self.generators[number][permutation]
        names = np.empty_like(permutation)
        names[permutation] = np.arange(len(names))
        return names

    def are_free(self) -> bool:
        """Return whether only the identity fixes a node.

        It is so if what commutes with the group takes the smallest node to every other of its orbit, and each node of
        it goes with one of each other orbit.
        """
        roots = self.roots.tolist()
        own = [node for node in self.tree if self.of[node] == roots[0]]
        if len(own) * len(roots) != len(self.of):
            return False
        starts = [*roots[1:], *(int(one[roots[0]]) for one in self.generators)]
        return all(self._goes_with(own, start) for start in starts)

    def _goes_with(self, nodes: list[int], start: int) -> bool:
        """Return whether an orbit map to a node commutes with all generators."""
        image = np.full(len(self.of), -1, dtype=np.int64)
        for node in nodes:
            parent, number = self.tree[node]
            image[node] = start if parent < 0 else self.generators[number][image[parent]]
        there = np.array(nodes, dtype=np.int64)
        return all(np.array_equal(image[one[there]], one[image[there]]) for one in self.generators)


def orbits_of(links: Digraph, generators: tuple[NDArray[np.int32], ...] | NDArray[np.int32]) -> Orbits:
    """Return the orbits of permutations, checked to keep links."""
    moves = tuple(np.array(one, dtype=np.int64) for one in generators)
    for one in moves:
        if not links.is_same(Digraph.of(links.nodes, one[links.src], one[links.dst], links.capacity)):
            raise InvalidScheduleError("a symmetry that its links do not have")
    tree: dict[int, tuple[int, int]] = {}
    of = np.arange(links.nodes)
    images = [one.tolist() for one in moves]
    for root in range(links.nodes):
        if root in tree:
            continue
        tree[root] = (-1, -1)
        queue = [root]
        for node in queue:  # which grows
            for number, image in enumerate(images):
                if image[node] not in tree:
                    tree[image[node]] = (node, number)
                    queue.append(image[node])
        of[queue] = root
    return Orbits(moves, of, tree)


def replay(links: Digraph, moves: Moves, steps: int, orbits: Orbits | None = None) -> Fraction:
    """Return the shards per unit of capacity of an allgather, replayed.

    With orbits the moves are of what their roots get, and what others get is the image of that.
    """
    nodes, units = links.nodes, moves.units
    roots = np.arange(nodes) if orbits is None else orbits.roots
    place = np.searchsorted(roots, moves.receiver)
    if len(roots) * nodes * units >= 2**62:
        raise InvalidScheduleError("a schedule in parts too small to be replayed")
    link = np.searchsorted(links.src * nodes + links.dst, moves.sender * nodes + moves.receiver)
    link = np.minimum(link, len(links.src) - 1)
    if not (np.array_equal(links.src[link], moves.sender) and np.array_equal(links.dst[link], moves.receiver)):
        raise InvalidScheduleError("a schedule that sends where there is no link")
    if len(moves.step) and not (moves.step.min() >= 1 and moves.step.max() <= steps):
        raise InvalidScheduleError(f"a schedule of {moves.step.max()} steps, not {steps}")
    key = place * nodes + moves.shard
    order = np.lexsort((moves.start, key))
    key, start, stop, step = key[order], moves.start[order], moves.stop[order], moves.step[order]
    begins = np.diff(key, prepend=-1) != 0
    wanted = np.delete(np.arange(len(roots) * nodes), np.arange(len(roots)) * nodes + roots)
    before = np.where(begins, 0, np.roll(stop, 1))
    ends = np.roll(begins, -1)
    if not (np.array_equal(key[begins], wanted) and (start == before).all() and (stop[ends] == units).all()):
        raise InvalidScheduleError("a schedule in which not every node gets every part of every shard once")
    names, giver = moves.shard, moves.sender
    if orbits is not None:
        names, giver = np.empty_like(moves.shard), np.searchsorted(roots, orbits.of[moves.sender])
        for sender in np.unique(moves.sender).tolist():
            rows = moves.sender == sender
            names[rows] = orbits.name_from(sender)[moves.shard[rows]]
    given = moves.sender != moves.shard
    had, low, high, when = (giver * nodes + names)[given], moves.start[given], moves.stop[given], moves.step[given]
    at = np.searchsorted(key * units + start, had * units + low, side="right") - 1
    while len(at):
        if not (np.array_equal(key[at], had) and (step[at] < when).all()):
            raise InvalidScheduleError("a schedule in which a node sends data that it does not have yet")
        more = stop[at] < high
        at, had, high, when = at[more] + 1, had[more], high[more], when[more]
    return _sum_loads(links.capacity[link], link, moves)


def _sum_loads(capacity: Ints, link: Ints, moves: Moves) -> Fraction:
    """Return the sum over steps of the largest load per unit of capacity."""
    both, row = np.unique(moves.step * (int(link.max(initial=0)) + 1) + link, return_inverse=True)
    amount, width, step = np.zeros(len(both), np.int64), np.zeros(len(both), np.int64), np.zeros(len(both), np.int64)
    np.add.at(amount, row, moves.stop - moves.start)
    width[row], step[row] = capacity, moves.step
    total = Fraction(0)
    for one in np.unique(step):
        now = step == one
        total += max(Fraction(int(amount[now & (width == size)].max()), int(size)) for size in np.unique(width[now]))
    return total / moves.units
