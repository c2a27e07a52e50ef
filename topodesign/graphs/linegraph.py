"""Undirected line graphs of Petersen and generalized polygon graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.graphs.kneser import odd
from topodesign.graphs.polygon import gh, gq, pg2
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.finite_field import is_prime_power
from topodesign.topology.symmetry import Permutation
from topodesign.topology.topology import IntArray, Topology, check_buildable


def _find_polygon(nodes: int, degree: int, n: int) -> Iterable[tuple[int, ...]]:
    q = degree // 2  # q = 2 is listed under its own name
    return make_sizes(2 * q == degree and 3 <= q < nodes and nodes == _flags(q, n) and is_prime_power(q), q)


@make_family(lambda n, d: make_sizes((n, d) == (15, 4)), size=("15", "4", "petersenline()"))
def petersenline() -> Topology:
    """Line graph of the Petersen graph: 15 nodes, degree 4, diameter 3.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4.
    """
    return _line(odd.function(3))


@make_family(lambda n, d: make_sizes((n, d) == (21, 4)), size=("21", "4", "heawoodline()"))
def heawoodline() -> Topology:
    """Line graph of the Heawood graph, ``pg2line(2)``: 21 nodes, degree 4.

    Diameter 3.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4.
    """
    return pg2line.function(2)


@make_family(lambda n, d: make_sizes((n, d) == (45, 4)), size=("45", "4", "tutte8line()"))
def tutte8line() -> Topology:
    """Line graph of the Tutte 8-cage, ``gqline(2)``: 45 nodes, degree 4.

    Diameter 4.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4.
    """
    return gqline.function(2)


@make_family(lambda n, d: make_sizes((n, d) == (189, 4)), size=("189", "4", "tutte12line()"))
def tutte12line() -> Topology:
    """Line graph of the Tutte 12-cage, ``ghline(2)``: 189 nodes, degree 4.

    Diameter 6.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4.
    """
    return ghline.function(2)


@make_family(lambda n, d: _find_polygon(n, d, 3), size=("(q + 1)*(q**2 + q + 1)", "2*q", "pg2line(2)"))
def pg2line(q: int) -> Topology:
    """Line graph of ``pg2(q)``: degree 2q, diameter 3.

    (q + 1)(q^2 + q + 1) nodes.

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 6.5 (generalized hexagon of order (q, 1)).
    """
    return _polygon_line(pg2.function, q, 3)


@make_family(lambda n, d: _find_polygon(n, d, 4), size=("(q + 1)**2*(q**2 + 1)", "2*q", "gqline(2)"))
def gqline(q: int) -> Topology:
    """Line graph of ``gq(q)``: degree 2q, diameter 4.

    (q + 1)^2 (q^2 + 1) nodes.

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 6.5 (generalized octagon of order (q, 1)).
    """
    return _polygon_line(gq.function, q, 4)


@make_family(lambda n, d: _find_polygon(n, d, 6), size=("(q + 1)*(q**6 - 1)/(q - 1)", "2*q", "ghline(2)"))
def ghline(q: int) -> Topology:
    """Line graph of ``gh(q)``: degree 2q, diameter 6.

    (q + 1)(q^6 - 1)/(q - 1) nodes.

    References
    ----------
    Brouwer, Cohen and Neumaier, Distance-Regular Graphs, section 6.5 (generalized 12-gon of order (q, 1)).
    """
    return _polygon_line(gh.function, q, 6)


def _flags(q: int, n: int) -> int:
    """Return the number of flags of a generalized n-gon of order q."""
    return int((q + 1) * sum(q**i for i in range(n)))


def _polygon_line(build: Callable[[int], Topology], q: int, n: int) -> Topology:
    require_at_least("q", q, 2)
    check_buildable(_flags(q, n), 2 * q * _flags(q, n))
    return _line(build(q))


def _line(graph: Topology) -> Topology:
    """Return the line graph: a node per duplex link u < v.

    In order of (u, v), linked when they share an end.

    It is vertex-transitive because all graphs used here are edge-transitive: the Petersen graph, and the classical
    generalized polygons, whose groups are transitive on pairs of a point and a line through it.
    """
    forth = graph.src < graph.dst
    count = int(forth.sum())
    number = np.empty(len(graph.src), dtype=np.int64)
    number[forth] = np.arange(count)
    number[np.lexsort((graph.src, graph.dst))[forth]] = np.arange(count)
    # Row u of the CSR form lists the edges at u, all of them equally many.
    at = number.reshape(graph.nodes, graph.degree)
    known = graph.symmetry
    symmetry = None if known is None else known.lift_by(count, (0,), lambda image: _on_edges(graph, number, image))
    source, target = np.broadcast_arrays(at[:, :, None], at[:, None, :])
    different = source != target
    return Topology.from_arrays(count, source[different], target[different], symmetry=symmetry)


def _on_edges(graph: Topology, number: IntArray, image: Permutation) -> IntArray:
    """Return images of edges by link numbers, given images of nodes."""
    edge = np.empty(len(number) // 2, dtype=np.int64)
    edge[number] = number[graph.link_index(image[graph.src], image[graph.dst])]
    return edge
