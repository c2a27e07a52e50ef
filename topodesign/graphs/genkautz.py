"""Generalized Kautz digraphs: low diameter for every number of nodes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from topodesign.named import named
from topodesign.topology import Topology, check_buildable, require_at_least


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    if nodes > degree >= 1:
        yield degree, nodes


@named(_find)
def genkautz(d: int, n: int) -> Topology:
    """Generalized Kautz digraph: node x has links to -dx - a (mod n) for a = 1..d.

    Defined for any n > d. Its diameter is at most one above the Moore bound. It has self-loops, which waste a port
    each, unless n is a multiple of d + 1, and it equals the Kautz digraph K(d, k) when n = d^(k+1) + d^k.

    References
    ----------
    Imase and Itoh, A design for directed graphs with minimum diameter (1983); Efficient Direct-Connect Topologies,
    Definition 14 and Theorem 22.
    """
    require_at_least("d", d, 1)
    require_at_least("n", n, d + 1)
    check_buildable(n, n * d)
    source = np.repeat(np.arange(n), d)
    jump = np.tile(np.arange(1, d + 1), n)
    return Topology.from_arrays(n, source, (-d * source - jump) % n)
