"""Random paths on random switched fabrics, made without the package's own way of making them."""

from __future__ import annotations

import random

import numpy as np

from tests.samples.trees import fabric
from topodesign.collectives import as_collective
from topodesign.plans.paths import Paths
from topodesign.topology.topology import Topology

COLLECTIVES = ("all-to-all", "scatter", "gather")


def _way(topology: Topology, src: int, dst: int, rng: random.Random) -> list[int]:
    """A random way, nearly shortest, over nodes and switches."""
    before, todo = {src: src}, [src]
    while dst not in before:
        at = todo.pop(rng.randrange(min(3, len(todo))))
        for to in topology.neighbours(at).tolist():
            if to not in before:
                before[to] = at
                todo.append(to)
    path = [dst]
    while path[-1] != src:
        path.append(before[path[-1]])
    return path[::-1]


def some_paths(collective: str, nodes: int, switches: int, rng: random.Random) -> Paths:
    """Right paths: every block is cut into some parts, each of which goes some way."""
    topology = fabric(nodes, switches, rng)
    compute = [node for node in range(topology.nodes) if node not in topology.switches]
    units = rng.randint(1, 4)
    kind = as_collective(collective)
    if kind.rooted:
        kind = kind.at(rng.choice(compute))
    blocks, weights, hops = [], [], []
    members = kind.members(topology.nodes, topology.switches)
    numbers = kind.blocks(members, topology.nodes)
    for block, src, dst in zip(numbers, *kind.places(kind.movements[0], numbers, topology.nodes), strict=True):
        left = 0 if src == dst else units
        while left:
            part = rng.randint(1, left)
            blocks.append(int(block))
            weights.append(part)
            hops.append(_way(topology, int(src), int(dst), rng))
            left -= part
    order = list(range(len(blocks)))
    rng.shuffle(order)
    starts = np.cumsum([0, *(len(hops[at]) for at in order)])
    columns = (
        [blocks[at] for at in order],
        [weights[at] for at in order],
        starts,
        [v for at in order for v in hops[at]],
    )
    return Paths(kind, topology, units, *(np.array(column, dtype=np.int64) for column in columns))
