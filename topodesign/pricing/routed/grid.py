"""Tori as grids: the sides of one, coordinates, and ways along one side after another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Grid:
    """A two-way ring along every side, and no other links; node x0 + a (x1 + b (x2 + ...)) has the coordinates x."""

    topology: Topology
    sides: tuple[int, ...]

    @cached_property
    def places(self) -> tuple[int, ...]:
        """By how much the number of a node grows along each side."""
        return tuple(int(np.prod(self.sides[:at], dtype=np.int64)) for at in range(len(self.sides)))

    @cached_property
    def coordinates(self) -> IntArray:
        """The coordinates of every node, a row for each side."""
        node = np.arange(self.topology.nodes)
        return np.stack([node // place % side for place, side in zip(self.places, self.sides, strict=True)])

    def moved(self, nodes: IntArray, side: int, by: IntArray | int) -> IntArray:
        """Return the nodes that are so far on along a side."""
        now = self.coordinates[side][nodes]
        moved: IntArray = nodes + ((now + by) % self.sides[side] - now) * self.places[side]
        return moved

    def turns(self, side: int, ahead: IntArray, parity: IntArray) -> IntArray:
        """Return in which direction so many places ahead are nearer, 1 or -1; halfway it is 1 for an even parity."""
        length = self.sides[side]
        back = (2 * ahead > length) | ((2 * ahead == length) & (parity % 2 == 1))
        return np.where(back, -1, 1)

    @cached_property
    def steps(self) -> IntArray:
        """For each target a row with the link out of every node along the first side where the two differ; else -1."""
        nodes = self.topology.nodes
        steps = np.full((nodes, nodes), -1, dtype=np.int64)
        node = np.arange(nodes)
        parity = self.coordinates.sum(axis=0)
        for target in range(nodes):
            following = node.copy()
            for side in reversed(range(len(self.sides))):
                ahead = (self.coordinates[side][target] - self.coordinates[side]) % self.sides[side]
                onward = self.moved(node, side, self.turns(side, ahead, parity))
                following = np.where(ahead > 0, onward, following)
            others = node != target
            steps[target, others] = self.topology.link_index(node[others], following[others])
        return steps


def grid_of(topology: Topology) -> Grid | None:
    """Return a topology as a torus, or None if it is none: a torus or hypercube by its spec, or a ring in order."""
    if topology.switches or topology.nodes < 3 or not np.all(topology.capacity == 1):
        return None
    spec = topology.spec
    sides: tuple[int, ...] = (topology.nodes,)
    if spec is not None and spec.name == "torus":
        sides = tuple(int(str(one)) for one in spec.args)
    elif spec is not None and spec.name == "hypercube":
        sides = (2,) * (topology.nodes.bit_length() - 1)
    if len(topology.src) != topology.nodes * sum(2 - (side == 2) for side in sides):
        return None
    grid, node = Grid(topology, sides), np.arange(topology.nodes)
    links = [topology.link_index(node, grid.moved(node, at, by)) for at in range(len(sides)) for by in (1, -1)]
    return grid if int(np.min(links)) >= 0 else None
