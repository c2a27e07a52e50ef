"""Circulant graphs and digraphs: Cayley graphs of the cyclic group."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from topodesign.errors import ParameterError
from topodesign.named import named
from topodesign.topology import Topology, check_buildable, require_at_least


def two_jumps(nodes: int) -> tuple[int, int]:
    """Return the jumps (m, m+1) that give the smallest diameter of all degree-4 circulant graphs, for nodes > 6.

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
    if degree == 4 and nodes > 6:
        yield nodes, *two_jumps(nodes)
    if degree % 2 == 0 and 2 <= degree < nodes and degree != 4:
        yield nodes, *range(1, degree // 2 + 1)


def _find_simplex(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    if nodes > degree >= 1:
        yield nodes, *range(1, degree + 1)


@named(_find_duplex)
def circulant(n: int, *jumps: int) -> Topology:
    """Circulant graph: node i has links to i + a and i - a (mod n) for every jump a; degree is twice their number.

    A jump of exactly n/2 gives two parallel links. Jumps must generate: gcd(n, jumps) = 1.

    References
    ----------
    Efficient Direct-Connect Topologies, Definition 17.
    """
    _check(n, jumps)
    return _build(n, (*jumps, *(-a for a in jumps)))


@named(_find_simplex)
def dicirculant(n: int, *jumps: int) -> Topology:
    """Directed circulant: node i has a link to i + a (mod n) for every jump a; degree is their number.

    With n = d + 2 and jumps 1..d it is optimal in steps and bandwidth.

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
    return Topology.from_arrays(n, np.broadcast_to(source[:, None], target.shape), target, vertex_transitive=True)
