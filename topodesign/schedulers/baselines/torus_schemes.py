"""Published torus schemes: the sends of each allgather step.

Backwards in time an allgather is the reduce-scatter, and both together are the allreduce. On a torus of D sides data
are in parts that begin with different sides, and in both directions where a scheme has one; elsewhere nodes are a ring
in the order of their numbers, and messages go over shortest paths.

* D. De Sensi et al., Swing: Short-cutting Rings for Higher Bandwidth Allreduce (NSDI 2024, arXiv 2401.09356).
* D. De Sensi et al., Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality (SC 2025).
* A. Vitek et al., Trivance (arXiv 2602.17254): a ternary scheme, peers at 3^k in both directions at once.
* R. Thakur, R. Rabenseifner, W. Gropp, Optimization of Collective Communication Operations in MPICH (2005): recursive
  halving and doubling; J. Bruck et al. (1997).
* P. Sack, W. Gropp, Collective Algorithms for Multiported Torus Networks (2015): the bucket algorithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Grid:
    """Torus: a two-way ring along every side, no other links.

    Node x0 + a (x1 + b (x2 + ...)) has the coordinates x.
    """

    topology: Topology
    sides: tuple[int, ...]

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Stride of the node number along each side."""
        return tuple(int(np.prod(self.sides[:at], dtype=np.int64)) for at in range(len(self.sides)))

    @cached_property
    def coordinates(self) -> IntArray:
        """Coordinates of every node, one row per side."""
        node = np.arange(self.topology.nodes)
        return np.stack([node // place % side for place, side in zip(self.places, self.sides, strict=True)])

    def move(self, nodes: IntArray, side: int, by: IntArray | int) -> IntArray:
        """Return the nodes a given distance ahead along a side."""
        now = self.coordinates[side][nodes]
        moved: IntArray = nodes + ((now + by) % self.sides[side] - now) * self.places[side]
        return moved

    def turns(self, side: int, ahead: IntArray, parity: IntArray) -> IntArray:
        """Return the nearer direction to nodes ahead, 1 or -1.

        Halfway round it is 1 for an even parity.
        """
        length = self.sides[side]
        back = (2 * ahead > length) | ((2 * ahead == length) & (parity % 2 == 1))
        return np.where(back, -1, 1)


def grid_of(topology: Topology) -> Grid | None:
    """Return a topology as a torus, or None.

    A torus or hypercube is recognised by its spec, and a ring by its node order.
    """
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
    links = [topology.link_index(node, grid.move(node, at, by)) for at in range(len(sides)) for by in (1, -1)]
    return grid if int(np.min(links)) >= 0 else None


class Send(NamedTuple):
    """Message of every node: target, torus side and distance along it."""

    target: IntArray
    side: int | None = None
    by: IntArray | None = None


Parts = tuple[tuple[tuple[Send, ...], ...], ...]
"""For every part of the data the sends of each step of its allgather; all parts at the same time."""


def reach(step: int) -> int:
    """Return the signed distance of Swing and Bine at a step.

    The values 1, -1, 3, -5, 11, ... are sums of powers of -2.

    Examples
    --------
    >>> [reach(step) for step in range(6)]
    [1, -1, 3, -5, 11, -21]
    """
    return int(1 - (-2) ** (step + 1)) // 3


def _logarithm(number: int, base: int) -> int:
    steps = 0
    while base**steps < number:
        steps += 1
    return steps


def _turns(grid: Grid, base: int, first: int) -> list[tuple[int, int]]:
    """Return side and number of each step, with alternating sides."""
    count = [_logarithm(side, base) for side in grid.sides]
    order = [(first + at) % len(count) for at in range(len(count))]
    return [(side, step) for step in range(max(count)) for side in order if step < count[side]]


def _along(grid: Grid, side: int, by: IntArray) -> Send:
    return Send(grid.move(np.arange(grid.topology.nodes), side, by), side, by)


_Peers = Callable[[IntArray, int], tuple[IntArray, ...]]
"""By how many places each message goes, of nodes with some coordinates along a side, in a step of that side."""


def _part(grid: Grid, base: int, first: int, peers: _Peers) -> tuple[tuple[Send, ...], ...]:
    """Return the steps of a part with a given first side."""
    return tuple(
        tuple(_along(grid, side, by) for by in peers(grid.coordinates[side], step))
        for side, step in _turns(grid, base, first)
    )


def _swinging(grid: Grid, first: int, sign: int) -> tuple[tuple[Send, ...], ...]:
    return _part(grid, 2, first, lambda now, step: (np.where(now % 2 == 0, 1, -1) * sign * reach(step),))[::-1]


def _check_even(grid: Grid, name: str) -> None:
    odd = [side for side in grid.sides if side % 2]
    if odd:
        raise InfeasibleError(f"{name} pairs even with odd nodes, and a ring of {odd[0]} has not as many of both")


def swing(grid: Grid) -> Parts:
    """Return the Swing scheme in 2D parts.

    Even nodes r pair with r + reach, odd ones with r - reach. The parts are plain and mirrored for each of the D first
    sides.

    On sides of equal powers of two it is exactly as :data:`FORMULAS` says. Other even sides are covered in ceil(log2)
    steps, some blocks delivered twice; here the second delivery is omitted.
    """
    _check_even(grid, "swing")
    return tuple(_swinging(grid, first, sign) for first in range(len(grid.sides)) for sign in (1, -1))


def bine(grid: Grid) -> Parts:
    """Return the Bine butterfly, with all data in one part.

    It uses the pairs of Swing on one port at a time.
    """
    _check_even(grid, "bine")
    return (_swinging(grid, 0, 1),)


def doubling(grid: Grid) -> Parts:
    """Return recursive halving and doubling in D parts.

    Node r pairs with r xor 2^k along the sides in turn, and each part begins with another side.
    """
    odd = [side for side in grid.sides if side & (side - 1)]
    if odd:
        raise InfeasibleError(f"recursive doubling requires sides that are powers of two, not {odd[0]}")

    def peers(now: IntArray, step: int) -> tuple[IntArray, ...]:
        return ((now ^ (1 << step)) - now,)

    return tuple(_part(grid, 2, first, peers)[::-1] for first in range(len(grid.sides)))


def ternary(grid: Grid) -> Parts:
    """Return the ternary scheme in D parts, one per first side.

    Peers are at distance 3^k in both directions at once.

    If a side is not a power of three, the last peers overlap, and blocks that would come twice are sent once.
    """

    def peers(now: IntArray, step: int) -> tuple[IntArray, ...]:
        by = np.full_like(now, 3**step)
        return by, -by

    return tuple(_part(grid, 3, first, peers)[::-1] for first in range(len(grid.sides)))


def bruck(grid: Grid) -> Parts:
    """Return Bruck's scheme with radix three in one part.

    Node r sends to r - 3^k and r - 2 * 3^k.
    """

    def peers(now: IntArray, step: int) -> tuple[IntArray, ...]:
        by = np.full_like(now, -(3**step))
        return by, 2 * by

    return (_part(grid, 3, 0, peers),)


def bucket(grid: Grid) -> Parts:
    """Return the torus bucket algorithm in 2D parts.

    Rings run along one side after another, to neighbours alone, in both directions from each of the D first sides.

    Return sum(a - 1) steps for sides a; on equal sides every link is as full as the least there is.
    """
    parts = []
    node = np.ones(grid.topology.nodes, dtype=np.int64)
    for first in range(len(grid.sides)):
        for sign in (1, -1):
            order = [(first + at) % len(grid.sides) for at in range(len(grid.sides))]
            steps = [(_along(grid, side, sign * node),) for side in order for _ in range(grid.sides[side] - 1)]
            parts.append(tuple(steps))
    return tuple(parts)


SCHEMES: dict[str, Callable[[Grid], Parts]] = {
    "swing": swing,
    "bine": bine,
    "recursive": doubling,
    "ternary": ternary,
    "bruck-3": bruck,
    "bucket": bucket,
}
"""By name."""
