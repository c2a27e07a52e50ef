"""Circulant graphs and digraphs: Cayley graphs of the cyclic group."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.sizes import integer_root
from topodesign.topology.family import make_family
from topodesign.topology.groups import cyclic
from topodesign.topology.topology import Topology, check_buildable

_EVERY_PAIR = 20  # up to this many nodes all second jumps of a directed circulant of degree 2 are tried
_MANY = 16  # with more jumps than this all but consecutive ones are left to the search


def two_jumps(nodes: int) -> tuple[int, int]:
    """Return the jumps (m, m+1) of the least diameter at degree 4.

    Of all circulant graphs of more than 6 nodes.

    References
    ----------
    Boesch and Wang (1985); Efficient Direct-Connect Topologies, Theorem 23: m = ceil((sqrt(2n-1) - 1) / 2), which is
    the diameter. In integers: the smallest m with (2m + 1)^2 >= 2n - 1.
    """
    require_at_least("nodes", nodes, 7)
    root = math.isqrt(2 * nodes - 2) + 1  # ceil(sqrt(2n - 1))
    m = root // 2
    return m, m + 1


def _find_duplex(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    count = degree // 2
    if degree % 2 or not 2 <= degree < nodes:
        return
    if degree == 4 and nodes > 6:
        yield nodes, *two_jumps(nodes)
        return
    candidates = [tuple(range(1, count + 1))]
    if count <= _MANY:
        root = integer_root(nodes, count)
        candidates.append(tuple(integer_root(nodes**i, count) + (i > 0) for i in range(count)))
        candidates += (_powers(m, count) for m in (root, root + 1, root + 2))
    folded = (tuple(sorted(min(a % nodes, -a % nodes) for a in jumps)) for jumps in candidates)
    for jumps in dict.fromkeys(folded):
        if _usable(nodes, jumps) and 2 * jumps[-1] < nodes:
            yield nodes, *jumps


def _find_simplex(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    if degree >= nodes >= 2:
        yield nodes, *_list_jumps(nodes, degree)
    if not 1 <= degree < nodes:
        return
    candidates = [tuple(range(1, degree + 1))]
    if degree <= _MANY:
        root = 2 * integer_root(nodes, degree)
        candidates += (_powers(m, degree) for m in (root - 1, root, root + 1))
    if degree == 2:
        candidates += _double_loop(nodes)
        candidates += ((1, b) for b in range(2, nodes) if nodes <= _EVERY_PAIR)
    for jumps in dict.fromkeys(tuple(sorted(a % nodes for a in jumps)) for jumps in candidates):
        if _usable(nodes, jumps):
            yield nodes, *jumps


def _list_jumps(nodes: int, degree: int) -> list[int]:
    """Return every jump repeated to fill the ports, and pairs of spare ports."""
    opposite = [jump for a in range(1, (nodes + 1) // 2) for jump in (a, nodes - a)]
    middle = [nodes // 2] if nodes % 2 == 0 else []
    times, spare = divmod(degree, nodes - 1)
    rest = middle[: spare % 2] + opposite
    return sorted((opposite + middle) * times + rest[:spare])


def _powers(base: int, count: int) -> tuple[int, ...]:
    return tuple(base**i for i in range(count))


def _usable(nodes: int, jumps: tuple[int, ...]) -> bool:
    """Return whether ascending jumps are distinct, nonzero and connect all nodes."""
    return jumps[0] > 0 and len(set(jumps)) == len(jumps) and math.gcd(nodes, *jumps) == 1


def _double_loop(n: int) -> list[tuple[int, int]]:
    """Return two jumps of nearly the least diameter at directed degree 2.

    The nodes reached by x jumps of one kind and y of the other fill an L-shape: a box of w by h without a corner of p
    by q, where wh - pq = n. The jumps q and w do that, and the diameter is at most w + h - min(p, q) - 2, which is
    smallest near w = h = 2p = 2q; the search looks around there.

    References
    ----------
    Wong and Coppersmith, A Combinatorial Problem Related to Multimodule Memory Organizations (1974).
    """
    t = max(1, math.isqrt(n // 3))
    best: tuple[int, int, int] | None = None
    for w, h in itertools.combinations_with_replacement(range(max(1, 2 * t - 1), 2 * t + 5), 2):
        for q in range(max(1, t - 2), min(w, t + 4)):
            p, rest = divmod(w * h - n, q)
            if rest or not 0 <= p < h:
                continue
            for first in (p, q):
                candidate = w + h - min(p, q) - 2, first, w
                if (best is None or candidate < best) and _usable(n, tuple(sorted((first % n, w % n)))):
                    best = candidate
    return [] if best is None else [best[1:]]


@make_family(_find_duplex, size=("n", "2*len(jumps)", "circulant(12,2,3)"))
def circulant(n: int, *jumps: int) -> Topology:
    """Circulant graph: links from i to i + a and i - a (mod n).

    For every jump a; the degree is twice the number of jumps.

    A jump of exactly n/2 gives two parallel links. Jumps must generate: gcd(n, jumps) = 1.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 17.
    """
    _check(n, jumps)
    return _build(n, (*jumps, *(-a for a in jumps)))


@make_family(_find_simplex, size=("n", "len(jumps)", "dicirculant(8,1,3)"))
def dicirculant(n: int, *jumps: int) -> Topology:
    """Directed circulant: links from i to i + a (mod n).

    For every jump a; the degree is the number of jumps.

    With n = d + 2 and jumps 1..d it is optimal in steps and bandwidth. A jump given twice is a link of capacity two.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    _check(n, jumps)
    return _build(n, jumps)


def _check(n: int, jumps: tuple[int, ...]) -> None:
    require_at_least("n", n, 2)
    if not jumps:
        raise ParameterError("give at least one jump")
    check_buildable(n, n * len(jumps))
    if any(a % n == 0 for a in jumps):
        raise ParameterError(f"jump {next(a for a in jumps if a % n == 0)} is 0 modulo {n}, a self-loop")
    if math.gcd(n, *jumps) != 1:
        raise ParameterError(f"the jumps and {n} have the common divisor {math.gcd(n, *jumps)}: not connected")


def _build(n: int, jumps: tuple[int, ...]) -> Topology:
    source = np.arange(n)
    target = (source[:, None] + np.array(jumps)) % n
    return Topology.from_arrays(n, np.broadcast_to(source[:, None], target.shape), target, symmetry=cyclic(n).action())
