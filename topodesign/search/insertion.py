"""The best places for one node more: all pairs of links are compared, and those that seem best are tried.

A lift of 940 nodes of degree 4 and 20 orbits has 150,000 but for symmetry, which take 10 ms. Of the 150 that look best
in one lift the best left 0 to 10 pairs of nodes more than 7 steps apart, 5 as a rule; random ones leave 25.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topodesign.graphs.expansions.insert import insert
from topodesign.search.insertion_kernels import rank_insertions
from topodesign.topology.topology import Topology

_LINKS = 2  # links in whose middle a node is put
_FEWEST_STEPS = 3


def can_be_compared(degree: int, steps: int, *, duplex: bool) -> bool:
    """Whether places for a node are few enough: with two-way links of degree 4, or 5 with a port left free."""
    return duplex and degree // 2 == _LINKS and steps >= _FEWEST_STEPS


def best_insertions(base: Topology, steps: int, count: int) -> Iterator[Topology]:
    """Yield a topology with a node more in so many places, the best first.

    * ``base``: duplex, of degree 4 or 5, without self-loops.
    * ``steps``: how far nodes may be apart, at least 3.
    * ``count``: how many at most.
    """
    out = np.repeat(base.dst, base.capacity).reshape(base.nodes, base.degree).astype(np.int64)
    first = np.array(base.representatives or range(base.nodes), dtype=np.int64)
    best = np.zeros((count, 5), dtype=np.int64)
    found = rank_insertions(out, first, steps, best)
    free = [base.nodes] * 2 * (base.degree % 2)
    for _, a, b, c, e in sorted(best[:found].tolist()):
        yield insert(base, a, b, b, a, c, e, e, c, *free)
