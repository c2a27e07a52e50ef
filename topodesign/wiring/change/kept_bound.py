"""How many links of one topology can be links of another at most, whatever the order of the nodes.

What the two have in common has no more closed walks of any kind than either. The one with more of a kind must lose
links until it has no more than the other, and a lost link ends only so many walks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_KINDS = ("++", "+++", "++-", "++++", "+-+-", "++--", "+++-", "+++++")
"""Closed walks, by whether they go along a link (+) or against it at each step."""
_MOST_WALKS = 2**24  # and so no number comes near 64 bits


def most_kept(one: Topology, other: Topology) -> int:
    """Return a number of links that two topologies never exceed having in common, parallel ones counted.

    Parameters
    ----------
    one, other
        Any topologies without self-loops; one may have more nodes.
    """
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
    return most


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
        return int(self._walks(kind).trace())

    def fewest_lost(self, kind: str, walks: int) -> int:
        """Return how many links must go at least to end so many walks."""
        ends = np.zeros(len(self.topology.src), dtype=np.int64)
        for place, way in enumerate(kind):
            u, v = (self.topology.src, self.topology.dst)[:: 1 if way == "+" else -1]
            ends += self._walks(kind[place + 1 :] + kind[:place])[v, u]  # from the end of this step back to its start
        most_first = np.sort(np.repeat(ends, self.topology.capacity))[::-1]
        return int(np.searchsorted(np.cumsum(most_first), walks)) + 1 if walks > 0 else 0

    def _walks(self, kind: str) -> csr_array:
        """Return the number of walks of a kind from each node to each."""
        if kind not in self.step:
            self.step[kind] = self._walks(kind[:-1]) @ self.step[kind[-1]]
        return self.step[kind]
