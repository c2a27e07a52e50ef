"""What generalized Kautz digraphs cost at most, without looking at them from every node.

The walks of x links from node i of ``genkautz(d,n)`` end at (-d)^x i - c for d^x consecutive numbers c, a window, one
walk for each. So at most d^(x-1) nodes are at distance x by way of one neighbour, and with D the first x for which
d^x >= n every node is within D steps. In the last step the window goes round all residues: which neighbours lead to a
node is known by its place in the window, and is the same picture from every node, up to a shift. Nodes that are nearer
than D are in that picture too, which only adds to the load. So

    y <= d/n * (1 + d + ... + d^(D-2) + U),    U = max over S of #{nodes whose neighbours are all in S} / |S|

holds for every node of the digraph, and alike for its transpose, where the windows are of walks that end at a node.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.pricing.closed_form import largest_ratio
from topodesign.pricing.kernels import MAX_NEIGHBOURS
from topodesign.topology.topology import IntArray

_MOST_PLACES = 2**27
"""Places of windows that are looked at; about two seconds."""


def genkautz_at_most(d: int, n: int) -> tuple[Cost, Cost] | None:
    """Return what reduce-scatter and allgather on ``genkautz(d,n)`` cost at most.

    Parameters
    ----------
    d, n
        Degree, from 2 to 64, and number of nodes, above d.

    Returns
    -------
    tuple of Cost, or None
        Steps are those of the bound, D; None where the transpose has too many kinds of nodes to look at.

    Examples
    --------
    >>> genkautz_at_most(4, 1024)[0]
    Cost(steps=5, bandwidth=Fraction(341, 256))
    """
    if not 2 <= d <= MAX_NEIGHBOURS or n <= d:
        return None
    if n % d == 0 and n // d > d:  # it is the line graph of the smaller one, and so is its transpose
        smaller = genkautz_at_most(d, n // d)
        if smaller is None:
            return None
        there, back = (Cost(cost.steps + 1, cost.bandwidth + Fraction(d, n)) for cost in smaller)
        return there, back
    steps, reach = 1, d
    while reach < n:
        steps, reach = steps + 1, reach * d
    kinds = math.gcd(reach, n)
    if kinds * reach > _MOST_PLACES:
        return None
    before = sum(d**x for x in range(steps - 1))
    last = _fullest(_ways_out(d, n, reach), d)
    into = max(_fullest(_ways_in(d, n, steps, node), d) for node in range(kinds))
    share = Fraction(d, n)
    return Cost(steps, share * (before + last)), Cost(steps, share * (before + into))


def _ways_out(d: int, n: int, reach: int) -> NDArray[np.uint64]:
    """Return for each residue the neighbours, as bits, by which walks of D links from a node end there."""
    ways, block = np.zeros(n, dtype=np.uint64), reach // d
    for start in range(0, reach, n):
        place = np.arange(start, min(start + n, reach))
        ways[: len(place)] |= np.uint64(1) << (place // block).astype(np.uint64)
    return ways


def _ways_in(d: int, n: int, steps: int, node: int) -> NDArray[np.uint64]:
    """Return for each node the in-neighbours of ``node``, as bits, by which walks of D links from it end there.

    Such a walk from i ends at (-d)^D i - c with c = a - d c' where a, from 1 to d, is its last link's jump and its last
    node but one is (-d)^(D-1) i - c'.
    """
    start, reach = np.arange(n), d**steps
    neighbours = np.unique(np.concatenate([np.flatnonzero((-d * start - a - node) % n == 0) for a in range(1, d + 1)]))
    lowest = sum((-d) ** t * (1 if t % 2 == 0 else d) for t in range(steps))
    first = (pow(-d, steps, n) * start - node - lowest) % n
    before = pow(-d, steps - 1, n) * start
    ways = np.zeros(n, dtype=np.uint64)
    for turn in range(0, reach, n):
        inside = np.flatnonzero(first + turn < reach)
        c = first[inside] + turn + lowest
        jump = (c - 1) % d + 1
        last = (before[inside] + (c - jump) // d) % n
        ways[inside] |= np.uint64(1) << np.searchsorted(neighbours, last).astype(np.uint64)
    return ways


def _fullest(ways: NDArray[np.uint64], d: int) -> Fraction:
    """Return the largest share of the nodes that some of the d neighbours must serve, for one of these."""
    kinds, count = np.unique(ways, return_counts=True)
    groups: IntArray = (kinds[:, None] >> np.arange(d, dtype=np.uint64) & np.uint64(1)).astype(np.int64)
    return largest_ratio(groups, count, np.ones(d, dtype=np.int64), Fraction(0))
