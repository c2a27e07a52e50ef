"""What links can do while others are dark: how many may still fail, and how fast a collective can be.

A set that leaves some node out has at most n - 1 of the n shards, and no fewer links out than can be lost, so that
(n - 1) over that number is time enough for a shard; and the node with the fewest links in needs (n - 1) over these. The
optimum is only looked for where the two differ, and not in large fabrics.

If fewer links leave a set than any node has, and no two are parallel, then all that some node in it sends to is in it,
and all that some node outside receives from is outside. So if every node sends to one of some, or is one of them, and
receives from one, then there are such on both sides, and flows among these find the set (Matula 1987).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import Declared
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_rate
from topodesign.optima.forest.bottleneck import optimum
from topodesign.solve.maxflow import worst_ratio
from topodesign.topology.topology import IntArray, Topology

MOST_NODES = 4096  # nodes up to which it is found unasked: it takes long on large fabrics

_MOST_EXACT = 512  # nodes up to which the optimum is found where it is not yet known


@dataclass(frozen=True)
class Strength(Declared):
    """What the links that are lit can do.

    * ``allgather``, ``allreduce``: best algorithmic bandwidth of any schedule, in bytes of the whole data per second
      (an allreduce being a reduce-scatter and an allgather); None if no collective exists. Of more than 512 nodes it is
      what schedules certainly reach.
    * ``allgather_most``, ``allreduce_most``: what no schedule exceeds: the same, or more where that is not known.
    """

    links: int  # links that are lit, parallel ones and both directions counted
    connectivity: int  # fewest links whose loss leaves some node unable to reach some other; 0 if that is so already
    allgather: Fraction | None
    allreduce: Fraction | None
    allgather_most: Fraction | None = None
    allreduce_most: Fraction | None = None

    KEYS = "links connectivity allgather allreduce allgather_most allreduce_most"
    SHARED = "strength"

    def __str__(self) -> str:
        if self.allreduce is None or self.allreduce_most is None:
            return f"{self.links} links, not connected"
        best = format_rate(self.allreduce)
        best += f" to {format_rate(self.allreduce_most)}" if self.allreduce < self.allreduce_most else ""
        return f"{self.links} links, connected until {self.connectivity} are lost, allreduce {best} at best"


def is_told(asked: bool | None, nodes: int) -> bool:
    """Return whether to find the strength of a fabric: as asked, or where that is None if it has few enough nodes."""
    return nodes <= MOST_NODES if asked is None else asked


def strength(topology: Topology, speed: Fraction) -> Strength:
    """Return the strength of links that have ``speed`` bits per second each; all zero for fewer than two nodes."""
    nodes, proper = topology.nodes, topology.src != topology.dst
    links = int(topology.capacity[proper].sum())
    if nodes < 2:
        return Strength(links, 0, None, None)
    into, out = (np.bincount(ends, topology.capacity * proper, nodes) for ends in (topology.dst, topology.src))
    fewest = [int(ends.min()) for ends in (into, out)]
    connected = _connectivity(topology, min(fewest)) if min(fewest) else 0
    if not connected:
        return Strength(links, 0, None, None)
    most, least = [Fraction(nodes - 1, connected)] * 2, [Fraction(nodes - 1, count) for count in fewest]
    if most != least and nodes <= _MOST_EXACT:
        most = least = [optimum(way).inverse_rate for way in (topology, topology.transpose())]
    ends = ((nodes * speed / 8 / times[0], nodes * speed / 8 / sum(times)) for times in (most, least))
    return Strength(links, connected, *(rate for both in ends for rate in both))


def _connectivity(topology: Topology, fewest: int) -> int:
    """Return the fewest links whose loss leaves some node unable to reach some other; no node has less than so many."""
    among = np.arange(topology.nodes)
    if topology.capacity.max(initial=0) == 1:
        among = np.union1d(_dominating(topology), _dominating(topology.transpose()))
    # a set that leaves some node out leaves the first one out, or has it; so cuts around it, both ways round, are all
    first = np.zeros(topology.nodes, dtype=np.int64)
    first[among[0]] = 1
    try:
        ways = (topology,) if topology.is_duplex else (topology, topology.transpose())
        worst = max(worst_ratio(way, way.capacity, first, ends=among) for way in ways)
    except InfeasibleError:
        return 0
    return min(fewest, int(1 / worst)) if worst else fewest


def _dominating(topology: Topology) -> IntArray:
    """Return nodes such that every node is one of them or has a link to one."""
    chosen, done = [], np.zeros(topology.nodes, dtype=bool)
    begin, source = np.searchsorted(topology.src, np.arange(topology.nodes)), topology.transpose()
    ends = np.searchsorted(source.src, np.arange(topology.nodes + 1))
    for node in range(topology.nodes):
        if not done[node]:
            taken = int(topology.dst[begin[node]])
            chosen.append(taken)
            done[[node, taken, *source.dst[ends[taken] : ends[taken + 1]]]] = True
    return np.array(chosen, dtype=np.int64)
