"""Polarity graphs of generalised polygons, also with copied nodes.

Among the largest of diameter 2, 3 and 5.

A polarity exchanges points and lines of a generalised n-gon of order q in pairs and keeps the incidence. Its graph
has the points as nodes, and u and v are joined when u is on the line that belongs to v; it has half as many nodes as
the incidence graph, degree q + 1 and diameter n - 1. Points on their own line would have a self-loop. They are joined
with one another instead (:func:`topodesign.graphs.loops.join_loops`), so that the graph is regular: an even number of
them in pairs, an odd number in a directed cycle. Points are numbered as in :mod:`topodesign.graphs.polygon`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.loops import join_loops, pair_free_ports
from topodesign.graphs.polygon import gh, gq, pg2
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.finite_field import FiniteField, is_prime_power, prime_power
from topodesign.topology.topology import IntArray, Topology, check_buildable


def _find_copies(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    # without copies it is of use only where the points on their own lines are not joined in pairs
    e = 1
    while (q := 2**e) < degree:
        if nodes == degree * (q * q + 1):
            yield q, degree - q - 1
        e += 2


def _is_odd_power_of_two(q: int) -> bool:
    return is_prime_power(q) and prime_power(q)[0] == 2 and prime_power(q)[1] % 2 == 1


@make_family(
    lambda n, d: make_sizes((q := d - 1) >= 2 and n == q * q + q + 1 and is_prime_power(q), q),
    size=("q**2 + q + 1", "q + 1", "polarity(3)"),
)
def polarity(q: int) -> Topology:
    """Brown's graph: q^2 + q + 1 nodes, degree q + 1, diameter 2.

    The polarity graph of the projective plane PG(2,q).

    The point (k, b) belongs to the line [k, -b], so that two points (k, b) and (a, s) are joined when b + s = ak. The
    q + 1 points on their own lines are joined in pairs for odd q, which makes a duplex graph, else in a directed
    cycle.

    References
    ----------
    Erdos and Renyi (1962) and Brown, On graphs that do not contain a Thomsen graph (1966); Miller and Siran, Moore
    graphs and beyond (2013), section 2.3.
    """
    require_at_least("q", q, 2)
    check_buildable(q * q + q + 1, (q * q + q + 1) * (q + 1))
    return join_loops(_plane_graph(q))


@make_family(
    lambda n, d: make_sizes((q := d - 1) >= 2 and n == (q + 1) * (q * q + 1) and _is_odd_power_of_two(q), q),
    size=("(q + 1)*(q**2 + 1)", "q + 1", "gqpolarity(2)"),
)
def gqpolarity(q: int) -> Topology:
    """Polarity graph of the quadrangle W(q): degree q + 1, diameter 3.

    (q + 1)(q^2 + 1) nodes, q = 2^(2e+1).

    The point (a, s, a') belongs to the line [a^r, s^(1/r), a'^r] with r = 2^(e+1), that is x^(rr) = x^2. The q^2 + 1
    points on their own lines are joined in a directed cycle.

    References
    ----------
    Delorme, Grands graphes de degre et diametre donnes (1985); Tits's polarity in the coordinates of Van Maldeghem,
    Generalized Polygons (1998), section 7.2.
    """
    return join_loops(quadrangle_graph(q))


@make_family(
    lambda n, d: make_sizes((q := d - 1) >= 2 and n == q * q + q + 2 and q % 2 == 0 and is_prime_power(q), q),
    size=("q**2 + q + 2", "q + 1", "polaritynucleus(4)"),
)
def polaritynucleus(q: int) -> Topology:
    """Brown's graph of even q with one more node: degree q + 1, diameter 2.

    q^2 + q + 2 nodes.

    The q + 1 points on their own lines are on one line, and all joined with the point to which that belongs. The new
    node, numbered last, is joined with them too, and takes the ports of their self-loops.

    References
    ----------
    Erdos, Fajtlowicz and Hoffman, Maximum degree in graphs of diameter 2 (1980).
    """
    require_at_least("q", q, 2)
    if q % 2:
        raise ParameterError(f"q must be even, as the points on their own lines are not on one line for {q}")
    check_buildable(q * q + q + 2, (q * q + q + 2) * (q + 1))
    plain = _plane_graph(q)
    nodes, looped = plain.nodes, plain.src == plain.dst
    new = np.full(q + 1, nodes)
    return Topology.from_arrays(
        nodes + 1,
        np.concatenate((plain.src[~looped], plain.src[looped], new)),
        np.concatenate((plain.dst[~looped], new, plain.src[looped])),
    )


@make_family(
    lambda n, d: make_sizes((q := d - 2) >= 3 and n == q * q + q + 5 and q % 2 == 1 and is_prime_power(q), q),
    size=("q**2 + q + 5", "q + 2", "polaritycopies(3)"),
)
def polaritycopies(q: int) -> Topology:
    """Brown's graph of odd q with copies of four nodes: degree q + 2.

    q^2 + q + 5 nodes, diameter 2.

    Let a be a point on its own line and u, v, w three of the q points that are joined with it. Any two of these four
    have no neighbour in common but a, so that there is a port for copies a', u', v', w' that are joined with what they
    are copies of is joined with; only a itself, which has q neighbours, would get a third copy, and has room for two.
    So w' is joined with a' instead. Then u'w' and a'v' are joined too, so that a ring a, u', w', a', v' leaves none
    of these five more than two links from another. Nodes with a free port then are joined, the first with the last that
    it is not joined with, and so on; the last of an odd number has a self-loop. The copies are numbered last.

    References
    ----------
    Delorme and Farhi, Large graphs with given degree and diameter (1984), on copies of vertices. The 187 nodes for
    q = 13 are as many as are known for degree 15.
    """
    require_at_least("q", q, 3)
    if q % 2 == 0:
        raise ParameterError(f"q must be odd, as the points on their own lines are on one line for {q}")
    nodes = q * q + q + 1
    check_buildable(nodes + 4, (nodes + 4) * (q + 2))
    plain = _plane_graph(q)
    loops = plain.src == plain.dst
    a = int(plain.src[loops][0])
    copied = [a, *plain.dst[(plain.src == a) & ~loops][:3].tolist()]
    links = {(min(u, v), max(u, v)) for u, v, _ in plain.links() if u != v}
    links |= {(v, nodes + number) for number, u in enumerate(copied) for v in plain.dst[(plain.src == u) & ~loops]}
    links.remove((a, nodes + 3))
    links |= {(nodes, nodes + 3), (nodes + 1, nodes + 3), (nodes, nodes + 2)}
    ends, counts = np.unique(np.array(sorted(links)), return_counts=True)
    free = np.repeat(ends, q + 2 - counts).tolist()
    while free:
        u = free.pop(0)
        if (v := next((v for v in reversed(free) if v != u and (u, v) not in links), None)) is not None:
            links.add((u, v))
            free.remove(v)
    one, other = np.array(sorted(links)).T
    both = np.concatenate((one, other)), np.concatenate((other, one))
    return pair_free_ports(Topology.from_arrays(nodes + 4, *both), q + 2)


@make_family(_find_copies, size=("(q + 1 + k)*(q**2 + 1)", "q + 1 + k", "gqpolaritycopies(2,1)"))
def gqpolaritycopies(q: int, k: int) -> Topology:
    """Polarity graph of W(q) with k copies of some nodes: degree q + 1 + k.

    (q + 1 + k)(q^2 + 1) nodes, diameter 3.

    The graph is that of :func:`gqpolarity`. Every line has one of the q^2 + 1 points on their own lines, so that each
    node is joined with exactly one of these if they count as joined with themselves. Each of them gets k copies,
    joined with all that it is joined with and with itself, which takes one port per copy from every node. Ports that
    are free then are joined in pairs, and the last of an odd number has a self-loop. The c-th copies are numbered
    together, after all others. With k = 0 this is the polarity graph with as many duplex links as can be.

    References
    ----------
    Delorme, Grands graphes de degre et diametre donnes (1985); Delorme and Farhi, Large graphs with given degree and
    diameter (1984), on copies of vertices.
    """
    require_at_least("k", k, 0)
    _check_quadrangle(q)
    points = (q + 1) * (q * q + 1)
    check_buildable(points + k * (q * q + 1), (points + k * (q * q + 1)) * (q + 1 + k))
    plain = quadrangle_graph(q)
    loops = plain.src == plain.dst
    place = np.full(points, -1)
    place[plain.src[loops]] = np.arange(q * q + 1)
    of_copied = place[plain.src] >= 0
    source, target = [plain.src[~loops]], [plain.dst[~loops]]
    for number in range(k):
        copy = points + number * (q * q + 1) + place[plain.src[of_copied]]
        source += [copy, plain.dst[of_copied]]
        target += [plain.dst[of_copied], copy]
    bare = Topology.from_arrays(points + k * (q * q + 1), np.concatenate(source), np.concatenate(target))
    return pair_free_ports(bare, q + 1 + k)


def _plane_graph(q: int) -> Topology:
    field = FiniteField(q)
    k, b = np.divmod(np.arange(q * q), q)
    opposite = np.concatenate((np.arange(1 + q), 1 + q + k * q + field.negative(b)))
    return _polarity_graph(pg2.function(q), opposite)


def _check_quadrangle(q: int) -> None:
    require_at_least("q", q, 2)
    if not _is_odd_power_of_two(q):
        raise ParameterError(f"W(q) has a polarity for q = 2, 8, 32, ... only, not for {q}")
    check_buildable((q + 1) * (q * q + 1), (q + 1) ** 2 * (q * q + 1))


def quadrangle_graph(q: int) -> Topology:
    """Return the polarity graph of W(q) with its self-loops.

    One at every point on its own line.
    """
    _check_quadrangle(q)
    field, e = FiniteField(q), prime_power(q)[1] // 2
    x = np.arange(q)
    up, down = _square(field, x, e + 1), _square(field, x, e)  # x^r and x^(1/r)
    a, s, a1 = (axis.ravel() for axis in np.indices((q, q, q)))
    k, b = np.divmod(np.arange(q * q), q)
    line_of = np.concatenate(
        (
            [0],
            1 + up,
            1 + q + down[k] * q + up[b],  # two coordinates are of the kinds that lines have: the inverse map
            1 + q + q * q + (up[a] * q + down[s]) * q + up[a1],
        )
    )
    return _polarity_graph(gq.function(q), line_of)


@make_family(lambda n, d: make_sizes((n, d) == (364, 4)), size=("364", "4", "ghpolarity()"))
def ghpolarity() -> Topology:
    """Polarity graph of the hexagon H(3): 364 nodes, degree 4, diameter 5.

    The point (a, s, a', s', a'') belongs to the line with the same coordinates. The 28 points on their own lines are
    joined in pairs.

    References
    ----------
    Delorme, Grands graphes de degre et diametre donnes (1985); Van Maldeghem, Generalized Polygons (1998), section 7.7.
    """
    return join_loops(_polarity_graph(gh.function(3), np.arange(364)))


def _square(field: FiniteField, x: IntArray, times: int) -> IntArray:
    for _ in range(times):
        x = field.multiply(x, x)
    return x


def _polarity_graph(incidence: Topology, line_of: IntArray) -> Topology:
    """Return the polarity graph with its self-loops."""
    points = len(line_of)
    point_of = np.argsort(line_of)
    of_points = incidence.src < points
    lines = incidence.dst[of_points] - points
    return Topology.from_arrays(points, incidence.src[of_points], point_of[lines])
