"""How many links of one topology can be links of another at most, whatever the order of the nodes.

What the two have in common has no more closed walks of any kind than either. The one with more of a kind must lose
links until it has no more than the other, and a lost link ends only so many walks.

Where links go both ways, closed walks that never turn round are counted as well, for these tell long cycles from each
other that lie among many short ones: as the way around a torus, and that around one that is twisted. Each is a closed
walk from link to link, no link followed by its own reverse (Hashimoto's matrix).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

_KINDS = ("++", "+++", "++-", "++++", "+-+-", "++--", "+++-", "+++++")
"""Closed walks, by whether they go along a link (+) or against it at each step."""
_MOST_WALKS = 2**22  # so that a matrix of them takes 50 MB at most, and no number comes near 64 bits
_MOST_COUNTED = 2**60  # of those that never turn round, each once for each of its links
_LONGEST = 64
_MOST_LINKS = 2048  # among which each is looked up from each


def most_kept(one: Topology, other: Topology) -> int:
    """Return a number of links that two topologies never exceed having in common, parallel ones counted."""
    links = [int(topology.capacity.sum()) for topology in (one, other)]
    most = min(links)
    walks = _Walks(one), _Walks(other)
    for kind in _KINDS:
        if most == 0 or not all(each.countable(kind) for each in walks):
            continue
        counts = [each.count(kind) for each in walks]
        more = int(counts[1] > counts[0])
        lost = walks[more].fewest_lost(kind, counts[more] - counts[1 - more])
        most = min(most, links[more] - lost)
    if not (one.is_duplex and other.is_duplex):
        return most
    most = min(most, _most_by_turnless(one, other))
    return most - most % 2  # both ways of a link stay or go


def _most_by_turnless(one: Topology, other: Topology) -> int:
    """Return the same number by the closed walks of duplex topologies that never turn round."""
    links = [int(topology.capacity.sum()) for topology in (one, other)]
    most = min(links)
    if not most or max(links) > _MOST_LINKS:
        return most
    steps = [_steps(topology) for topology in (one, other)]
    walks = [step.toarray() for step in steps]
    widest = max(int(step.sum(axis=1).max()) for step in steps)
    for length in range(2, min(one.nodes, other.nodes, _LONGEST) + 1):
        if max(links) * widest**length * length > _MOST_COUNTED:
            break
        walks = [step @ been for step, been in zip(steps, walks, strict=True)]
        through = [np.diagonal(been) for been in walks]  # closed walks that begin with each link
        counts = [int(ends.sum()) for ends in through]
        more = int(counts[1] > counts[0])
        most = min(most, links[more] - _fewest(length * through[more], counts[more] - counts[1 - more]))
    return most


def _steps(topology: Topology) -> csr_array:
    """Return which links may follow which: those that begin where one ends, but for its own reverse."""
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy

    src, dst = (np.repeat(ends, topology.capacity) for ends in (topology.src, topology.dst))
    seen: Counter[tuple[int, int]] = Counter()
    number, begin = {}, defaultdict(list)
    for link, (u, v) in enumerate(zip(src.tolist(), dst.tolist(), strict=True)):
        number[u, v, seen[u, v]] = link
        seen[u, v] += 1
        begin[u].append(link)
    pairs = [
        (link, after) for (u, v, copy), link in number.items() for after in begin[v] if after != number[v, u, copy]
    ]
    rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return csr_array((np.ones(len(pairs), dtype=np.int64), (rows, columns)), shape=(len(src), len(src)))


def _fewest(ends: NDArray[np.int64], walks: int) -> int:
    """Return how many links must go at least to end so many walks, of which each ends so many."""
    most_first = np.sort(ends)[::-1]
    return int(np.searchsorted(np.cumsum(most_first), walks)) + 1 if walks > 0 else 0


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

    def count(self, kind: str) -> int:
        """Return the number of closed walks of a kind, from every node that they start at."""
        back = self.step["-" if kind[-1] == "+" else "+"]  # the last step, from its end to its start
        return int(self._walks(kind[:-1]).multiply(back).sum())

    def fewest_lost(self, kind: str, walks: int) -> int:
        """Return how many links must go at least to end so many walks."""
        ends = np.zeros(len(self.topology.src), dtype=np.int64)
        for place, way in enumerate(kind):
            u, v = (self.topology.src, self.topology.dst)[:: 1 if way == "+" else -1]
            ends += self._walks(kind[place + 1 :] + kind[:place])[v, u]  # from the end of this step back to its start
        return _fewest(np.repeat(ends, self.topology.capacity), walks)

    def _walks(self, kind: str) -> csr_array:
        """Return the number of walks of a kind from each node to each."""
        if kind not in self.step:
            self.step[kind] = self._walks(kind[:-1]) @ self.step[kind[-1]]
        return self.step[kind]
