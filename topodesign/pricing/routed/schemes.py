"""Published schemes: who sends to whom at each step of the allgather that each is, and what that costs by formula.

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

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.pricing.routed.grid import Grid
from topodesign.pricing.routed.spread import Parts, Send
from topodesign.topology.topology import IntArray


def reach(step: int) -> int:
    """Return the signed distance of Swing and Bine trees: 1, -1, 3, -5, 11, ..., the sum of powers of -2.

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
    """Return side and number of each step, sides in turn from the first on, as many of each as it needs."""
    count = [_logarithm(side, base) for side in grid.sides]
    order = [(first + at) % len(count) for at in range(len(count))]
    return [(side, step) for step in range(max(count)) for side in order if step < count[side]]


def _along(grid: Grid, side: int, by: IntArray) -> Send:
    return Send(grid.moved(np.arange(grid.topology.nodes), side, by), side, by)


_Peers = Callable[[IntArray, int], tuple[IntArray, ...]]
"""By how many places each message goes, of nodes with some coordinates along a side, in a step of that side."""


def _part(grid: Grid, base: int, first: int, peers: _Peers) -> tuple[tuple[Send, ...], ...]:
    """Return the steps of a part that begins with a side."""
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
    """Swing: even nodes r with r + reach, odd ones with r - reach; 2D parts, plain and mirrored for every first side.

    On sides of equal powers of two it is exactly as :data:`FORMULAS` says. Other even sides are covered in ceil(log2)
    steps, some blocks delivered twice, which is left out here.
    """
    _check_even(grid, "swing")
    return tuple(_swinging(grid, first, sign) for first in range(len(grid.sides)) for sign in (1, -1))


def bine(grid: Grid) -> Parts:
    """Bine butterfly: the pairs of Swing on one port at a time, all data in one part."""
    _check_even(grid, "bine")
    return (_swinging(grid, 0, 1),)


def doubling(grid: Grid) -> Parts:
    """Recursive halving and doubling: r with r xor 2^k along the sides in turn; D parts that begin with each."""
    odd = [side for side in grid.sides if side & (side - 1)]
    if odd:
        raise InfeasibleError(f"recursive doubling needs sides that are powers of two, not {odd[0]}")

    def peers(now: IntArray, step: int) -> tuple[IntArray, ...]:
        return ((now ^ (1 << step)) - now,)

    return tuple(_part(grid, 2, first, peers)[::-1] for first in range(len(grid.sides)))


def ternary(grid: Grid) -> Parts:
    """Peers at 3^k in both directions at once; D parts that begin with each side.

    Where a side is no power of three the last peers overlap, and what comes twice is left out.
    """

    def peers(now: IntArray, step: int) -> tuple[IntArray, ...]:
        by = np.full_like(now, 3**step)
        return by, -by

    return tuple(_part(grid, 3, first, peers)[::-1] for first in range(len(grid.sides)))


def bruck(grid: Grid) -> Parts:
    """Bruck's with radix three: r sends to r - 3^k and r - 2 * 3^k, all data in one part."""

    def peers(now: IntArray, step: int) -> tuple[IntArray, ...]:
        by = np.full_like(now, -(3**step))
        return by, 2 * by

    return (_part(grid, 3, 0, peers),)


def bucket(grid: Grid) -> Parts:
    """Torus bucket: rings along one side after another, to neighbours alone; 2D parts, both ways from every first side.

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


def _added(base: int, term: Callable[[int, int, int, bool], Fraction]) -> Callable[[Sequence[int]], Fraction | None]:
    """Return what gives y on equal sides base^k above two: what all steps add, else None.

    ``term`` is of the number of sides, a step, the same on its side, and whether that is the last there.
    """

    def factor(sides: Sequence[int]) -> Fraction | None:
        count, power = len(sides), _logarithm(sides[0], base)
        if len(set(sides)) > 1 or base**power != sides[0] or sides[0] == 2:
            return None
        return sum((term(count, s, s // count, s // count == power - 1) for s in range(power * count)), Fraction(0))

    return factor


def _bucket(sides: Sequence[int]) -> Fraction | None:
    """Return y on equal sides above two, the least there is."""
    if len(set(sides)) > 1 or sides[0] == 2:
        return None
    nodes = sides[0] ** len(sides)
    return Fraction(nodes - 1, nodes)


FORMULAS: dict[str, Callable[[Sequence[int]], Fraction | None]] = {
    # Step s of the reduce-scatter sends 2^-(s+1) of the part M/2D over |reach| links; plain and mirrored load each link
    # of a side by just that distance. Where the distance is half of the side the two ways count the same.
    "swing": _added(2, lambda _, s, step, __: Fraction(abs(reach(step)), 2 ** (s + 1))),
    # The same pairs on one port: every second node sends.
    "bine": _added(2, lambda count, s, step, _: Fraction(count * (abs(reach(step)) + 1), 2 ** (s + 1))),
    # The middle link of 2^(j+1) nodes carries 2^j messages; the last step of a side goes both ways round, half of each
    # block, which loads a link with half as many.
    "recursive": _added(2, lambda _, s, step, last: Fraction(2 * 2**step, (2 if last else 1) * 2 ** (s + 1))),
    "ternary": _added(3, lambda _, s, step, __: Fraction(2 * 3**step, 3 ** (s + 1))),
    "bucket": _bucket,
}
"""By name, of those that have one; each gives y of an allgather by the sides, or None where it does not hold."""


def limit(name: str, dimensions: int) -> Fraction:
    """Return the congestion that Swing or the ternary scheme tends to on D large sides: y over the least there is.

    Swing (1 - 2^-D) / 3 * (2 / (1 - 2^(1-D)) + 1 / (1 + 2^-D)), ternary (1 - 3^-D) / (1 - 3^(1-D)).

    Examples
    --------
    >>> [f"{float(limit('swing', d)):.4f}" for d in (2, 3, 4)], [f"{float(limit('ternary', d)):.4f}" for d in (2, 3, 4)]
    (['1.2000', '1.0370', '1.0084'], ['1.3333', '1.0833', '1.0256'])
    """
    small = Fraction(1, (2 if name == "swing" else 3) ** dimensions)
    if name == "ternary":
        return (1 - small) / (1 - 3 * small)
    return (1 - small) / 3 * (2 / (1 - 2 * small) + 1 / (1 + small))
