"""Random paths on random switched fabrics, made without the package's own way of making them."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from tests.samples.trees import fabric
from topodesign.collectives import Collective, as_collective
from topodesign.plans.build import build_paths
from topodesign.plans.chunk_ops import find_ways
from topodesign.plans.flow import Flow
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths as a table: path i takes ``weight[i]`` units of ``block[i]`` over vertices of ``hop``."""

    collective: Collective
    topology: Topology
    units: int
    block: IntArray
    weight: IntArray
    hop_start: IntArray
    hop: IntArray
    amounts: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.block)

    @classmethod
    def of(cls, flow: Flow) -> Paths:
        ways = find_ways(flow)
        start = np.cumsum([0, *map(len, ways)])
        hop = np.array([vertex for way in ways for vertex in way], dtype=np.int64)
        columns = flow.block.astype(np.int64), (flow.hi - flow.lo).astype(np.int64)
        return cls(flow.collective, flow.topology, flow.units, *columns, start, hop)

    @property
    def ways(self) -> list[list[int]]:
        return [self.hop[a:b].tolist() for a, b in pairwise(self.hop_start.tolist())]

    @property
    def flow(self) -> Flow:
        rows = list(zip(self.block.tolist(), self.weight.tolist(), self.ways, strict=True))
        return build_paths(self.topology, self.collective, self.units, rows, self.amounts)

    @property
    def height(self) -> int:
        """Sends of the path that has the most of them."""
        return max((sum(at not in self.topology.switches for at in way) for way in self.ways), default=1) - 1

    @property
    def inverse_rate(self) -> Fraction:
        """1/x in units of one over the unit of capacity: of the fullest link, for blocks of size one."""
        nodes, load = self.topology.nodes, defaultdict[tuple[int, int], int](int)
        members = self.collective.members(nodes, self.topology.switches)
        share = self.collective.shares(self.block, nodes, len(members))[0].tolist()
        for way, weight, times in zip(self.ways, self.weight.tolist(), share, strict=True):
            for link in pairwise(way):
                load[link] += weight * times
        return max(Fraction(load[u, v], capacity) for u, v, capacity in self.topology.links()) / self.units


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
    columns: tuple[Any, ...] = (
        [blocks[at] for at in order],
        [weights[at] for at in order],
        starts,
        [v for at in order for v in hops[at]],
    )
    arrays: list[Any] = [np.array(column, dtype=np.int64) for column in columns]
    return Paths(kind, topology, units, *arrays)
