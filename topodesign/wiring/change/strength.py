"""Strength of lit links: tolerated failures and collective bandwidth.

A set that lacks some node has at most n - 1 of the n shards, and no fewer links out than can be lost, so that
(n - 1) over that number is time enough for a shard; and the node with the fewest links in needs (n - 1) over these. The
optimum is only looked for where the two differ, and not in large fabrics.

If fewer links leave a set than any node has, and no two are parallel, then some nodes in it send only into it; each of
these sends to another, as fewer than its links can lead to nodes that have a link out, and so they have a cycle (Matula
1987 has the first half of this). So let some nodes be chosen such that those without a link to one, and that are none
themselves, have no cycle; and the same for links from one. Then some are on both sides, and flows among them find it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_rate
from topodesign.optima.forest.bottleneck import optimum
from topodesign.solve.maxflow import worst_ratio
from topodesign.topology.topology import IntArray, Topology

MAX_NODES = 4096  # nodes up to which it is found unasked: it takes long on large fabrics

_MAX_EXACT = 512  # nodes up to which the optimum is found where it is not yet known


@dataclass(frozen=True)
class Strength(Declared):
    """Strength of the lit links.

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
    """Return whether to find the strength of a fabric.

    As asked; by default, if nodes are few.
    """
    return nodes <= MAX_NODES if asked is None else asked


def strength(topology: Topology, speed: Fraction) -> Strength:
    """Return the strength of links of ``speed`` bit/s.

    All values are zero or None for fewer than two nodes.
    """
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
    if most != least and nodes <= _MAX_EXACT:
        most = least = [optimum(way).inverse_rate for way in (topology, topology.transpose())]
    ends = ((nodes * speed / 8 / times[0], nodes * speed / 8 / sum(times)) for times in (most, least))
    return Strength(links, connected, *(rate for both in ends for rate in both))


def _connectivity(topology: Topology, fewest: int) -> int:
    """Return the link connectivity, given the minimum degree."""
    among = np.arange(topology.nodes)
    if topology.capacity.max(initial=0) == 1:
        among = _on_both_sides(topology)
    # a set that lacks some node either lacks the first one or has it; so cuts around it, both ways round, are all
    first = np.zeros(topology.nodes, dtype=np.int64)
    first[among[0]] = 1
    try:
        ways = (topology,) if topology.is_duplex else (topology, topology.transpose())
        worst = max(worst_ratio(way, way.capacity, first, ends=among) for way in ways)
    except InfeasibleError:
        return 0
    return min(fewest, int(1 / worst)) if worst else fewest


def _on_both_sides(topology: Topology) -> IntArray:
    """Return few nodes whose in- and out-neighbourhoods each hit every cycle.

    Those are chosen that have most links with nodes that are still on a cycle, or on a way from one to another.
    """
    nodes, proper = topology.nodes, topology.src != topology.dst
    src, dst = topology.src[proper], topology.dst[proper]
    chosen = np.zeros(nodes, dtype=bool)
    order = [np.argsort(end, kind="stable") for end in (src, dst)]
    begin = [np.searchsorted(end[row], np.arange(nodes + 1)) for end, row in zip((src, dst), order, strict=True)]
    near = [
        [far[row[a:b]] for a, b in itertools.pairwise(first)]
        for far, row, first in zip((dst, src), order, begin, strict=True)
    ]
    while True:
        to, from_ = chosen.copy(), chosen.copy()
        to[src[chosen[dst]]] = True
        from_[dst[chosen[src]]] = True
        open_ = [find_linked(src, dst, ~done) for done in (to, from_)]
        gain = np.bincount(dst[open_[0][src]], minlength=nodes) + np.bincount(src[open_[1][dst]], minlength=nodes)
        gain += open_[0].astype(np.int64) + open_[1]
        if not gain.any():
            return np.flatnonzero(chosen)
        touched = np.zeros(nodes, dtype=bool)
        best = np.argsort(-gain, kind="stable")
        for node in best[: np.count_nonzero(gain > gain[best[0]] // 2)].tolist():
            around = np.concatenate((near[0][node], near[1][node], [node]))
            if not touched[around].any():
                touched[around] = chosen[node] = True


def find_linked(src: IntArray, dst: IntArray, left: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the nodes of ``left`` on cycles, or on paths between them: with links in and out."""
    while True:
        inside = left[src] & left[dst]
        kept = left.copy()
        for ends in (src, dst):
            kept &= np.bincount(ends[inside], minlength=len(left)) > 0
        if np.array_equal(kept, left):
            return kept
        left = kept
