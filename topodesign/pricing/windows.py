"""Upper bounds for generalized Kautz digraphs without a full search.

The walks of x links from node i of ``genkautz(d,n)`` end at (-d)^x i - c for d^x consecutive numbers c, a window, one
walk for each. So at most d^(x-1) nodes are at distance x by way of one neighbour, and with D the first x for which
d^x >= n every node is within D steps. In the last step the window goes round all residues: which neighbours lead to a
node is known by its place in the window, and is the same picture from every node, up to a shift. Nodes in the window of
D - 1 links are not among those at distance D; others that are nearer are left in, which only adds to the load. So

    y <= d/n * (1 + d + ... + d^(D-2) + U),    U = max over S of #{nodes whose neighbours are all in S} / |S|

holds for every node of the digraph, and alike for its transpose, where the windows are of walks that end at a node.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost, digits
from topodesign.pricing.closed_form import largest_ratio
from topodesign.pricing.kernels import MAX_NEIGHBOURS
from topodesign.topology.topology import IntArray

_MAX_PLACES = 2**27  # places of windows that are looked at; about two seconds


def genkautz_at_most(d: int, n: int) -> tuple[Cost, Cost] | None:
    """Return what reduce-scatter and allgather on ``genkautz(d,n)`` cost at most.

    * ``d``, ``n``: degree, from 2 to 64, and number of nodes, above d.

    Returns: steps are those of the bound, D; None where the transpose has too many kinds of nodes to look at.

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
    steps = digits(n, d)
    before = sum(d**x for x in range(steps - 1))
    into = _into(d, n, steps)
    if into is None:
        return None
    share = Fraction(d, n)
    return Cost(steps, share * (before + _out(d, n, d**steps))), Cost(steps, share * (before + into))


def _out(d: int, n: int, reach: int) -> Fraction:
    """Return the last step's largest load out of a node, for reduce-scatter.

    The window of walks of D - 1 links takes an interval of as many nodes out of that of D links, from a place that
    depends on the node. What is left is largest, for any set of neighbours, where an end of the interval meets a place
    at which the ways change: in between it grows or falls evenly.
    """
    block = reach // d
    ends = sorted({0, n, reach % n, *(place * block % n for place in range(d))})
    arcs = [(start, end, _bits(range(start, reach, n), block)) for start, end in itertools.pairwise(ends)]
    most = Fraction(0)
    for first in {(end - shift) % n for end in ends for shift in (0, block)}:
        taken = [(first, min(first + block, n)), (0, max(0, first + block - n))]
        kinds: dict[int, int] = {}
        for start, end, ways in arcs:
            gone = sum(max(0, min(end, until) - max(start, since)) for since, until in taken)
            kinds[ways] = kinds.get(ways, 0) + end - start - gone
        most = _fullest(kinds, d, most)
    return most


def _bits(places: range, block: int) -> int:
    ways = 0
    for place in places:
        ways |= 1 << place // block
    return ways


def _into(d: int, n: int, steps: int) -> Fraction | None:
    """Return the last step's largest load into a node, for allgather."""
    reach = d**steps
    if math.gcd(d, n) == 1:
        return _into_alike(d, n, reach)
    kinds = math.gcd(reach, n)
    if kinds * reach > _MAX_PLACES:
        return None
    most = Fraction(0)
    for node in range(kinds):
        ways, count = np.unique(_ways_in(d, n, steps, node), return_counts=True)
        most = _fullest(dict(zip(ways.tolist(), count.tolist(), strict=True)), d, most)
    return most


def _into_alike(d: int, n: int, reach: int) -> Fraction:
    """Return :func:`_into` for coprime d and n.

    Every place of a window is of one node then.

    A node at place w of the window of D links has ways by its places w, w + n, ... modulo d. The window of D - 1 links
    takes the places o, o - d, o - 2d, ... modulo n, reach/d of them, for an o that depends on the node. As o grows by d
    one place goes and another comes, each of one kind until it passes 0 or the place from which there is a way less: so
    what is left for any set of neighbours grows or falls evenly in between, and is largest at an end.
    """
    turns, rest = divmod(reach, n)
    gone = reach // d
    ways = {(residue, more): _rotate_bits(residue, n, d, turns + more) for residue in range(d) for more in (0, 1)}
    whole = {(residue, 1): _in_class(0, rest, residue, d) for residue in range(d)}
    whole |= {(residue, 0): _in_class(rest, n, residue, d) for residue in range(d)}
    last = d * (gone - 1) % n
    ends = sorted({0, n, rest, last, (last + rest) % n})
    most = Fraction(0)
    for since, until in itertools.pairwise(ends):
        starts = {since + shift for shift in range(min(d, until - since))}
        starts |= {until - 1 - shift for shift in range(min(d, until - since))}
        for start in starts:
            left = dict(whole)
            high, low = start, start - d * (gone - 1)
            while high >= low:  # one turn of the places after the other
                turn = high // n
                base, floor = turn * n, max(low, turn * n)
                residue = (high - base) % d
                count = (high - floor) // d + 1
                bottom = high - d * (count - 1) - base
                below = _in_class(bottom, min(rest, high - base + 1), residue, d) if bottom < rest else 0
                left[residue, 1] -= below
                left[residue, 0] -= count - below
                high -= d * count
            kinds: dict[int, int] = {}
            for kind, count in left.items():
                kinds[ways[kind]] = kinds.get(ways[kind], 0) + count
            most = _fullest(kinds, d, most)
    return most


def _rotate_bits(place: int, n: int, d: int, turns: int) -> int:
    """Return the residues modulo d after rotations by n, as bits."""
    ways = 0
    for turn in range(turns):
        ways |= 1 << (place + turn * n) % d
    return ways


def _in_class(first: int, end: int, residue: int, d: int) -> int:
    """Return how many numbers of a range have a residue modulo d."""
    if end <= first:
        return 0
    return (end - 1 - residue) // d - (first - 1 - residue) // d


def _ways_in(d: int, n: int, steps: int, node: int) -> NDArray[np.uint64]:
    """Return the in-neighbours of ``node`` with walks from each node, as bits.

    Walks of D links end there.

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


def _fullest(kinds: dict[int, int], d: int, least: Fraction) -> Fraction:
    """Return the largest share of nodes that one of d neighbours must serve.

    At least ``least``.

    * ``kinds``: how many nodes there are whose ways are these bits.
    """
    ways = np.array([one for one, count in kinds.items() if count > 0], dtype=np.uint64)
    count = np.array([count for count in kinds.values() if count > 0], dtype=np.int64)
    groups: IntArray = (ways[:, None] >> np.arange(d, dtype=np.uint64) & np.uint64(1)).astype(np.int64)
    return largest_ratio(groups, count, np.ones(d, dtype=np.int64), least)
