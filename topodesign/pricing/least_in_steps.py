"""Lower bounds for allgathers of a number of steps on a topology.

However shards are split.

A node gets a shard from far away no earlier than in as many steps, so that all shards from farther than t come in the
steps after t. With as many steps as the longest distance, a shard from so far must move in every step; where only one
neighbour leads there on shortest paths, that one has all of it in time, and so on back. What so must come to a node in
steps a to b, over its links, is the least that a unit of capacity carries in these; such spans of steps that do not
overlap add up, and the best such sum is a lower bound. It is exact arithmetic, for any number of nodes.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.pricing.closed_form import distances, fullest
from topodesign.topology.topology import IntArray, Topology

_MAX_WORK = 2**20  # nodes times links up to which it is worked out what nodes must have in time; a third of a second


def least_in_steps(topology: Topology, steps: int) -> Fraction:
    """Return a lower bound of the bandwidth factor for a number of steps.

    * ``topology``: strongly connected, without switches.
    * ``steps``: the diameter or more.
    """
    nodes, useful = topology.nodes, topology.src != topology.dst
    ports = np.bincount(topology.dst[useful], topology.capacity[useful], nodes).astype(np.int64)
    every, bound = _arrivals(topology, steps)
    best = [Fraction(0)]
    for last in range(1, steps + 1):
        come = every if last == steps else bound
        spans = (best[first - 1] + fullest(come[first : last + 1].sum(0), ports) for first in range(1, last + 1))
        best.append(max(best[-1], *spans))
    return Fraction(topology.degree, nodes) * best[-1]


def _arrivals(topology: Topology, steps: int) -> tuple[IntArray, IntArray]:
    """Return shards by distance from each node, and those due by each step."""
    nodes = topology.nodes
    every, bound = np.zeros((steps + 1, nodes), np.int64), np.zeros((steps + 1, nodes), np.int64)
    node, looked = np.arange(nodes), nodes * len(topology.src) <= _MAX_WORK
    for shard in range(nodes):
        far = distances(topology, shard)
        every[far, node] += 1
        if not looked or far.max() < steps:
            continue
        ahead = far[topology.dst] == far[topology.src] + 1
        src, dst = topology.src[ahead], topology.dst[ahead]
        alone = np.bincount(dst, minlength=nodes)[dst] == 1  # by no other neighbour in time
        must = far == steps
        for step in range(steps, 1, -1):
            some = alone & must[dst] & (far[dst] == step)
            must[src[some]] = True
        bound[far[must], node[must]] += 1
    return every, bound
