"""Generalized Kautz digraphs, also without their self-loops.

Low diameter for every number of nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.loops import join_loops
from topodesign.graphs.sizes import make_sizes, power
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry, shift
from topodesign.topology.topology import Topology, check_buildable


def _self_loops(d: int, n: int) -> int:
    """Return the number of self-loops.

    (d + 1)x = -a has g = gcd(d + 1, n) solutions for each multiple a of g.
    """
    g = math.gcd(d + 1, n)
    return d // g * g


def orbits(d: int, n: int) -> int:
    """Return the number of representative nodes under the known symmetry."""
    return (n // math.gcd(d + 1, n) + 1) // 2


@make_family(lambda n, d: make_sizes(n > d >= 1, d, n), size=("n", "d", "genkautz(2,11)"))
def genkautz(d: int, n: int) -> Topology:
    """Generalized Kautz digraph: links from x to -dx - a (mod n).

    For a = 1..d.

    Defined for any n > d. Its diameter is at most one above the Moore bound. It has self-loops, which waste a port
    each, unless n is a multiple of d + 1, and it equals the Kautz digraph K(d, k) when n = d^(k+1) + d^k.
    x -> x + n/gcd(d + 1, n) and x -> -1 - x keep the links, and the first nodes represent the rest.

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
    target = (-d * source - jump) % n
    period = n // math.gcd(d + 1, n)
    symmetry = Symmetry(n, tuple(range(orbits(d, n))), lambda: (shift(n, period), np.arange(n)[::-1]))
    return Topology.from_arrays(n, source, target, symmetry=symmetry)


@make_family(
    lambda n, d: make_sizes(n > d >= 2 and _self_loops(d, n) > 0, d, n), size=("n", "d", "genkautzjoined(2,11)")
)
def genkautzjoined(d: int, n: int) -> Topology:
    """Generalized Kautz digraph with links in place of self-loops.

    They join the nodes of the self-loops, so that no port is wasted.

    Node x has links to -dx - a (mod n) for a = 1..d, and the nodes with self-loops are joined as
    :func:`topodesign.graphs.loops.join_loops` says. Defined for any n > d >= 2 that is no multiple of d + 1; there
    are at least two self-loops then, at different nodes.

    References
    ----------
    See :func:`genkautz`; joining self-loops into cycles follows Efficient Direct-Connect Topologies, appendix G, which
    does so for de Bruijn digraphs.
    """
    require_at_least("d", d, 2)
    plain = genkautz.function(d, n)
    loops = _self_loops(d, n)
    if not loops:
        raise ParameterError(f"genkautz({d},{n}) has no self-loops to join; use it as it is")
    joined = join_loops(plain)
    # An even number of loops is joined in the same pairs in whichever direction the nodes are numbered.
    return joined if loops % 2 else replace(joined, symmetry=plain.symmetry)


def _find_kautz(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    size, n = degree + 1, 0
    while degree >= 2 and size < nodes:
        size, n = size * degree, n + 1
    if n >= 1 and size == nodes:
        yield degree, n


@make_family(_find_kautz, size=("d**n*(d + 1)", "d", "kautz(2,2)"))
def kautz(d: int, n: int) -> Topology:
    """Kautz digraph K(d,n): d^n (d + 1) nodes, degree d, diameter n + 1.

    It is the n-th line graph of K_{d+1}.

    Numbered as ``genkautz(d, d^n (d + 1))``, which it equals: node x has links to -dx - a for a = 1..d.

    References
    ----------
    Imase and Itoh, A design for directed graphs with minimum diameter (1983); Efficient Direct-Connect Topologies,
    Table 7 and section E.4.
    """
    require_at_least("d", d, 1)
    require_at_least("n", n, 0)
    return genkautz.function(d, power(d, n) * (d + 1))
