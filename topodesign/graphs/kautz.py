"""Kautz digraphs: the most nodes for a degree and a diameter above 2 that a simple construction gives."""

from __future__ import annotations

from collections.abc import Iterable

from topodesign.base.arguments import require_at_least
from topodesign.graphs.genkautz import genkautz
from topodesign.graphs.sizes import power
from topodesign.topology.family import named
from topodesign.topology.topology import Topology


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    size, n = degree + 1, 0
    while degree >= 2 and size < nodes:
        size, n = size * degree, n + 1
    if n >= 1 and size == nodes:
        yield degree, n


@named(_find, size=("d**n*(d + 1)", "d", "kautz(2,2)"))
def kautz(d: int, n: int) -> Topology:
    """Kautz digraph K(d,n) = L^n(K_{d+1}): d^n (d + 1) nodes, degree d, diameter n + 1.

    Numbered as ``genkautz(d, d^n (d + 1))``, which it equals: node x has links to -dx - a for a = 1..d.

    References
    ----------
    Imase and Itoh, A design for directed graphs with minimum diameter (1983); Efficient Direct-Connect Topologies,
    Table 7 and section E.4.
    """
    require_at_least("d", d, 1)
    require_at_least("n", n, 0)
    return genkautz.function(d, power(d, n) * (d + 1))
