"""Incidence graphs of planes, generalized quadrangles and hexagons.

A generalized n-gon of order q has as many points as lines, q + 1 lines through every point, and an incidence graph of
diameter n and girth 2n: the largest duplex graph there is for its degree q + 1 and diameter n, since it meets the
bipartite Moore bound. All are written in coordinates over GF(q). Points and lines have 0 to n - 1 coordinates each. One
with fewer than n - 1 is incident with the q of the other kind that have one more coordinate behind the same ones, and
the two with none are incident with each other; so far that is a tree. The points and lines with all n - 1 coordinates
are joined by the equations that each function names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.graphs.polygon_symmetry import automorphisms, is_self_dual
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.finite_field import FiniteField, Polynomials, is_prime_power, prime_power
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable

Equations = Callable[[FiniteField, IntArray, list[IntArray]], list[IntArray]]


def _find_polygon(nodes: int, degree: int, n: int) -> Iterable[tuple[int, ...]]:
    q = degree - 1
    return make_sizes(2 <= q < nodes and 2 * sum(q**i for i in range(n)) == nodes and is_prime_power(q), q)


@make_family(lambda n, d: _find_polygon(n, d, 3), size=("2*(q**2 + q + 1)", "q + 1", "pg2(2)"))
def pg2(q: int) -> Topology:
    """Incidence graph of PG(2,q): degree q + 1, diameter 3.

    The projective plane has 2(q^2 + q + 1) points and lines.

    The point (k, b) is on the line [a, s] when b = ak + s. Vertex-transitive: the collineations are transitive on
    points, and a polarity exchanges points and lines. q = 2 is the Heawood graph.

    References
    ----------
    Van Maldeghem, Generalized Polygons (1998), chapter 3; Efficient Direct-Connect Topologies, Table 4 (q = 3).
    """

    def equations(field: FiniteField, a: IntArray, point: list[IntArray]) -> list[IntArray]:
        k, b = point
        return [field.subtract(b, field.multiply(a, k))]

    return _polygon(q, 3, equations)


# q = 2 is a ring of 8.
@make_family(lambda n, d: make_sizes(d >= 3 and n == 2 * d**2 and is_prime_power(d), d), size=("2*q**2", "q", "ag2(3)"))
def ag2(q: int) -> Topology:
    """Incidence graph of AG(2,q): 2q^2 nodes, degree q, diameter 4.

    The affine plane without its vertical lines.

    The point x + q*y is on the line of slope m and intercept b, node q^2 + m + q*b, when y = mx + b. Vertex-transitive:
    translations and shears are transitive on the points, and exchanging (x, y) with the line m = x, b = -y keeps the
    incidence. q = 3 is the Pappus graph.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4 (q = 4).
    """
    require_at_least("q", q, 2)
    check_buildable(2 * q * q, 2 * q**3)
    field = FiniteField(q)
    x, y, m = (axis.ravel() for axis in np.indices((q, q, q)))
    b = field.subtract(y, field.multiply(m, x))
    symmetry = Symmetry(2 * q * q, (0,), lambda: _affine_automorphisms(field))
    return _incidence(q * q, x + q * y, m + q * b, symmetry=symmetry)


def _affine_automorphisms(field: FiniteField) -> Iterator[IntArray]:
    """Yield translations, shears and the exchange."""
    q = field.order
    y, x = np.divmod(np.arange(q * q), q)  # of points, and intercept and slope of lines
    for t in (np.full_like(x, field.characteristic**i) for i in range(prime_power(q)[1])):
        for point, line in (
            ((field.add(x, t), y), (x, field.subtract(y, field.multiply(x, t)))),
            ((x, field.add(y, t)), (x, field.add(y, t))),
            ((x, field.add(y, field.multiply(x, t))), (field.add(x, t), y)),
        ):
            yield np.concatenate((point[0] + q * point[1], q * q + line[0] + q * line[1]))
    other = x + q * field.negative(y)
    yield np.concatenate((q * q + other, other))


@make_family(lambda n, d: _find_polygon(n, d, 4), size=("2*(q + 1)*(q**2 + 1)", "q + 1", "gq(2)"))
def gq(q: int) -> Topology:
    """Incidence graph of the quadrangle W(q): degree q + 1, diameter 4.

    2(q + 1)(q^2 + 1) nodes.

    The point (a, s, a') is on the line [k, b, k'] when b = a' - ak and k' = a^2 k + s - 2aa'. Vertex-transitive only
    for even q, where W(q) is self-dual; for odd q a point and a line represent all. q = 2 is the Tutte 8-cage.

    References
    ----------
    Van Maldeghem, Generalized Polygons (1998), section 3.4; Efficient Direct-Connect Topologies, Table 4 (q = 3).
    """

    def equations(field: FiniteField, k: IntArray, point: list[IntArray]) -> list[IntArray]:
        a, s, a1 = point
        of = Polynomials(field)
        b = of.sum(a1, of.term(-1, a, k))
        return [b, of.sum(of.term(1, a, a, k), s, of.term(-2, a, a1))]

    return _polygon(q, 4, equations)


@make_family(lambda n, d: _find_polygon(n, d, 6), size=("2*(q**6 - 1)/(q - 1)", "q + 1", "gh(2)"))
def gh(q: int) -> Topology:
    """Incidence graph of the hexagon H(q): degree q + 1, diameter 6.

    The split Cayley hexagon; 2(q^6 - 1)/(q - 1) nodes.

    The point (a, s, a', s', a'') is on the line [k, b, k', b', k''] when b = a'' - ak, b' = a^2 k + a' - 2aa'',
    k' = a^3 k^2 + s' - ks - 3a^2 a'' k - 3a' a'' + 3a a''^2 and k'' = a^3 k + s - 3a^2 a'' + 3aa'. Vertex-transitive
    only where H(q) is self-dual, that is for q = 3^h; else a point and a line represent all. q = 2 is the Tutte
    12-cage.

    References
    ----------
    Van Maldeghem, Generalized Polygons (1998), section 3.5; Efficient Direct-Connect Topologies, Table 4 (q = 3).
    """

    def equations(field: FiniteField, k: IntArray, point: list[IntArray]) -> list[IntArray]:
        a, s, a1, s1, a2 = point
        of = Polynomials(field)
        b = of.sum(a2, of.term(-1, a, k))
        k2 = of.sum(of.term(1, a, a, a, k), s, of.term(-3, a, a, a2), of.term(3, a, a1))
        b1 = of.sum(of.term(1, a, a, k), a1, of.term(-2, a, a2))
        k1 = of.sum(
            of.term(1, a, a, a, k, k),
            s1,
            of.term(-1, k, s),
            of.term(-3, a, a, a2, k),
            of.term(-3, a1, a2),
            of.term(3, a, a2, a2),
        )
        return [b, k1, b1, k2]

    return _polygon(q, 6, equations)


@make_family(lambda n, d: make_sizes((n, d) == (14, 4)), size=("14", "4", "heawoodd3()"))
def heawoodd3() -> Topology:
    """Distance-3 graph of the Heawood graph: 14 nodes, degree 4.

    The points and lines of PG(2,2) that are not incident.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 4.
    """
    heawood = pg2.function(2)
    apart = np.ones((7, 7), dtype=bool)
    apart[heawood.src[heawood.src < 7], heawood.dst[heawood.src < 7] - 7] = False
    return _incidence(7, *np.nonzero(apart), symmetry=heawood.symmetry)


def _polygon(q: int, n: int, equations: Equations) -> Topology:
    """Return the incidence graph of a generalized n-gon.

    One point, and one line if it is not self-dual, represent all.

    A point or line with i coordinates has the number 1 + q + ... + q^(i-1) plus its coordinates read as digits to base
    q, the last one lowest; lines come after all points. ``equations`` takes the free coordinate of the line and the
    n - 1 of the point, and returns the other n - 2 of the line.
    """
    require_at_least("q", q, 2)
    half = sum(q**i for i in range(n))
    check_buildable(2 * half, 2 * half * (q + 1))
    symmetry = Symmetry(
        2 * half, (0,) if is_self_dual(n, q) else (0, half), lambda: automorphisms(n, q, *_pairs(q, n, equations))
    )
    return _incidence(half, *_pairs(q, n, equations), symmetry=symmetry)


def _pairs(q: int, n: int, equations: Equations) -> tuple[IntArray, IntArray]:
    """Return the incident pairs of a point and a line."""
    field = FiniteField(q)
    start = np.cumsum([0, *(q**i for i in range(n))])
    points, lines = [np.array([0])], [np.array([0])]
    for i in range(1, n):
        longer, shorter = start[i] + np.arange(q**i), start[i - 1] + np.arange(q**i) // q
        points += [longer, shorter]
        lines += [shorter, longer]
    free, value = (axis.ravel() for axis in np.indices((q, q ** (n - 1))))
    coordinates = [value // q**i % q for i in reversed(range(n - 1))]
    line = free
    for coordinate in equations(field, free, coordinates):
        line = line * q + coordinate
    points.append(start[n - 1] + value)
    lines.append(start[n - 1] + line)
    return np.concatenate(points), np.concatenate(lines)


def _incidence(points: int, point: IntArray, line: IntArray, *, symmetry: Symmetry | None) -> Topology:
    """Return the incidence graph of equally many lines and points."""
    source = np.concatenate((point, points + line))
    target = np.concatenate((points + line, point))
    return Topology.from_arrays(2 * points, source, target, symmetry=symmetry)
