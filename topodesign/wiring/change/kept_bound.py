"""How many links of one topology can be links of another at most, whatever the order of the nodes.

What the two have in common has no more closed walks of any kind than either. A link that is lost ends only so many
walks, and not few either: a walk of n steps is ended by n links at most. So the one with more walks of a kind loses
links until it has no more than the other, which loses some meanwhile.

Where links go both ways, closed walks that never turn round are counted as well, for these tell long cycles from each
other that lie among many short ones: as the way around a torus, and that around one that is twisted. Each is a closed
walk from link to link, no link followed by its own reverse (Hashimoto's matrix). It is put together from two halves, of
which one is gone backwards, so that only walks half as long are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topodesign.topology.topology import IntArray, Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_KINDS = ("++", "+++", "++-", "++++", "+-+-", "++--", "+++-", "+++++")
"""Closed walks, by whether they go along a link (+) or against it at each step."""
_MOST_WALKS = 2**22  # so that a matrix of them takes 50 MB at most, and no number comes near 64 bits
_MOST_COUNTED = 2**60  # of those that never turn round
_LONGEST = 64
_EFFORT = 2**27  # steps of walks that never turn round
_AT_ONCE = 2**18  # of them


def most_kept(one: Topology, other: Topology) -> int:
    """Return a number of links that two topologies never exceed having in common, parallel ones counted."""
    most = min(int(topology.capacity.sum()) for topology in (one, other))
    walks = _Walks(one), _Walks(other)
    for kind in _KINDS:
        if most and all(each.countable(kind) for each in walks):
            most = min(most, _most_common(walks[0].ended(kind), walks[1].ended(kind), len(kind)))
    if not (one.is_duplex and other.is_duplex):
        return most
    if most:
        longest = _longest(one, other)
        through = zip(_turnless(one, longest), _turnless(other, longest), strict=True)
        for length, (mine, others) in enumerate(through, start=1):
            most = min(most, _most_common(length * mine, length * others, length))
    return most - most % 2  # both ways of a link stay or go


def _most_common(one: IntArray, other: IntArray, length: int) -> int:
    """Return how many links are common at most by walks of a length: told is how many of them end with each link."""
    kept = np.arange(min(len(one), len(other)), -1, -1)
    first, last = [], []  # walks that stay at least, and at most; each times its length
    for ends in (one, other):
        gone = len(ends) - kept
        ended = np.concatenate(([0], np.cumsum(np.sort(ends))))
        first.append(ended[-1] - length * (ended[-1] - ended[len(ends) - gone]))
        last.append(ended[-1] - ended[gone])
    return int(kept[np.argmax((first[0] <= last[1]) & (first[1] <= last[0]))])


def _longest(*topologies: Topology) -> int:
    """Return up to how many steps walks that never turn round can be counted."""
    longest = _LONGEST
    for topology in topologies:
        links, widest = int(topology.capacity.sum()), max(topology.degree - 1, 1)
        effort, half = 0, 0
        while half < longest // 2:
            effort += links * min(widest**half, links) * widest
            if effort > _EFFORT or links * widest ** (2 * half + 2) * (2 * half + 2) ** 2 > _MOST_COUNTED:
                break
            half += 1
        longest = min(2 * half, topology.nodes)
    return longest


def _turnless(topology: Topology, longest: int) -> list[IntArray]:
    """Return how many closed walks that never turn round begin with each link: those of 1 step, of 2 and so on."""
    from scipy.sparse import csr_array, eye_array  # noqa: PLC0415  heavy

    step, back = _steps(topology)
    links = len(back)
    found = [np.zeros(links, dtype=np.int64) for _ in range(longest)]
    some = max(_AT_ONCE // min(max(topology.degree - 1, 1) ** ((longest + 1) // 2), links), 1)
    first = np.flatnonzero(np.arange(links) < back)
    for start in range(0, len(first), some):
        forth = first[start : start + some]
        rows = np.concatenate((forth, back[forth]))
        swapped = np.roll(np.arange(len(rows)), len(forth))
        walks = csr_array(eye_array(links, dtype=np.int64, format="csr")[rows])
        for length in range(1, longest + 1):
            if length % 2:
                walks, before = walks @ step, walks
            # from a link's reverse, gone backwards: to that link
            other = (before if length % 2 else walks)[swapped]
            other = csr_array((other.data, back[other.indices], other.indptr), shape=other.shape)
            found[length - 1][rows] = walks.multiply(other).sum(axis=1)
    return found


def _steps(topology: Topology) -> tuple[csr_array, IntArray]:
    """Return which links may follow which: those that begin where one ends, but for its own reverse; and reverses."""
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy

    src, dst = (np.repeat(ends, topology.capacity) for ends in (topology.src, topology.dst))
    same = np.concatenate(([0], np.cumsum(topology.capacity)))
    copy = np.arange(len(src)) - np.repeat(same[:-1], topology.capacity)
    back = np.empty(len(src), dtype=np.int64)
    back[np.lexsort((copy, dst, src))] = np.lexsort((copy, src, dst))
    begin = np.searchsorted(src, np.arange(topology.nodes + 1))  # links are in the order of their sources
    many = np.diff(begin)[dst]
    rows = np.repeat(np.arange(len(src)), many)
    columns = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many) + np.repeat(begin[dst], many)
    on = columns != back[rows]
    shape = len(src), len(src)
    return csr_array((np.ones(int(on.sum()), dtype=np.int64), (rows[on], columns[on])), shape=shape), back


class _Walks:
    """Closed walks of a topology."""

    def __init__(self, topology: Topology) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy

        self.topology = topology
        shape = (topology.nodes, topology.nodes)
        forth = csr_array((topology.capacity, (topology.src, topology.dst)), shape=shape)
        self.step = {"+": forth, "-": csr_array(forth.T)}

    def countable(self, kind: str) -> bool:
        """Return whether there are few enough walks for all of them to be counted."""
        return bool(self.topology.nodes * self.topology.degree ** (len(kind) - 1) <= _MOST_WALKS)

    def ended(self, kind: str) -> IntArray:
        """Return how many closed walks of a kind each link ends when it goes, once for each step by it."""
        ends = np.zeros(len(self.topology.src), dtype=np.int64)
        for place, way in enumerate(kind):
            u, v = (self.topology.src, self.topology.dst)[:: 1 if way == "+" else -1]
            ends += self._walks(kind[place + 1 :] + kind[:place])[v, u]  # from the end of this step back to its start
        return np.repeat(ends, self.topology.capacity)

    def _walks(self, kind: str) -> csr_array:
        """Return the number of walks of a kind from each node to each."""
        if kind not in self.step:
            self.step[kind] = self._walks(kind[:-1]) @ self.step[kind[-1]]
        return self.step[kind]
