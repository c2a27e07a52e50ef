"""What links can do while others are dark: how many may still fail, and how fast a collective can be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import Declared
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_rate
from topodesign.optima.forest.bottleneck import optimum
from topodesign.topology.topology import Topology

MOST_NODES = 512  # nodes up to which it is found unasked: it takes long on large fabrics


@dataclass(frozen=True)
class Strength(Declared):
    """What the links that are lit can do.

    * ``links``: links that are lit, parallel ones and both directions counted.
    * ``connectivity``: fewest links whose loss leaves some node unable to reach some other; 0 if that is so already.
    * ``allgather``, ``allreduce``: best algorithmic bandwidth of any schedule, in bytes of the whole data per second
      (an allreduce being a reduce-scatter and an allgather); None if no collective exists.
    """

    links: int
    connectivity: int
    allgather: Fraction | None
    allreduce: Fraction | None

    KEYS = "links connectivity allgather allreduce"
    SHARED = "strength"

    def __str__(self) -> str:
        """Return it in a line."""
        if self.allreduce is None:
            return f"{self.links} links, not connected"
        best = format_rate(self.allreduce)
        return f"{self.links} links, connected until {self.connectivity} are lost, allreduce {best} at best"


def is_told(asked: bool | None, nodes: int) -> bool:
    """Return whether to find the strength of a fabric: as asked, or where that is None if it has few enough nodes."""
    return nodes <= MOST_NODES if asked is None else asked


def strength(topology: Topology, speed: Fraction) -> Strength:
    """Return the strength of links that have ``speed`` bits per second each; all zero for fewer than two nodes."""
    links = int(topology.capacity[topology.src != topology.dst].sum())
    if topology.nodes < 2:
        return Strength(links, 0, None, None)
    back = topology.transpose()
    try:
        forth_rate, back_rate = (optimum(way).inverse_rate * 8 / speed for way in (topology, back))
    except InfeasibleError:
        return Strength(links, 0, None, None)
    # a set that leaves some node out leaves node 0 out, or has it; so cuts around node 0, both ways round, are all
    first = np.eye(1, topology.nodes, dtype=int)[0].tolist()
    cuts = [1 / optimum(way, weights=first).inverse_rate for way in (topology, back)]
    return Strength(links, int(min(cuts)), topology.nodes / forth_rate, topology.nodes / (forth_rate + back_rate))
