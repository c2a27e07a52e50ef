"""Symmetries of the classical generalized polygons.

In the coordinates of :mod:`topodesign.graphs.polygon`.

The coordinates of a point or line are the beginning of one of two rows: (a, s, a', ...) for points with an odd number
of them and lines with an even number, (k, b, k', ...) for the others. There are three kinds of symmetries.

* Shifts (elations) add to coordinates, alike in whole rows and in their beginnings. The point and the line without
  coordinates stay.
* Reflections move those two. The points are points of a projective space, whose coordinates a reflection exchanges, up
  to signs; a line goes where two of its points go.
* A duality exchanges points and lines. It exchanges the two rows and raises some coordinates to the characteristic.

The shifts of one root of each length and two reflections generate the classical group, which is transitive on pairs of
a point and a line through it. Nothing rests on these formulas alone: what they give is checked on the links.

References
----------
Van Maldeghem, Generalized Polygons (1998), sections 3.4, 3.5 (coordinates and vectors of points), 7.2 and 7.3
(dualities).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from topodesign.topology.finite_field import FiniteField, Polynomials, prime_power
from topodesign.topology.topology import IntArray

Row = list[IntArray]
Shift = Callable[[Polynomials, IntArray, Row], Row]
Embedding = Callable[[Polynomials, IntArray, int, Row], Row]


@dataclass(frozen=True)
class _Description:
    """What makes up the group of a generalized polygon."""

    # pairs of maps with a parameter: of whole rows (a, s, ...) and of whole rows (k, b, ...)
    shifts: tuple[tuple[Shift, Shift], ...]
    points: Embedding  # the vector of the points with some number of coordinates, up to a factor
    # what is at each place afterwards: i for coordinate i, counted from 1, and -i for its negative
    reflections: tuple[tuple[int, ...], ...]
    # how often the duality raises to the characteristic: the first, third, ... and the second, fourth, ... entry of
    # rows (a, s, ...), and then those of rows (k, b, ...).
    powers: tuple[tuple[int, int], tuple[int, int]]
    sign: int = 1  # with which the duality takes the second, fourth, ... entry.


def _plane_points(_of: Polynomials, one: IntArray, count: int, row: Row) -> Row:
    zero = one * 0
    if count == 0:
        return [zero, one, zero]
    return [one, row[0], zero] if count == 1 else [row[0], row[1], one]


def _quadrangle_points(of: Polynomials, one: IntArray, count: int, row: Row) -> Row:
    zero = one * 0
    if count == 0:
        return [one, zero, zero, zero]
    if count == 1:
        return [row[0], zero, one, zero]
    if count == 2:
        return [of.term(-1, row[1]), zero, row[0], one]
    a, s, a1 = row
    return [of.sum(s, of.term(-1, a, a1)), one, of.term(-1, a1), of.term(-1, a)]


def _hexagon_points(of: Polynomials, one: IntArray, count: int, row: Row) -> Row:
    zero = one * 0
    if count == 0:
        return [one, zero, zero, zero, zero, zero, zero]
    if count == 1:
        return [row[0], zero, zero, zero, zero, zero, one]
    if count == 2:
        k, b = row
        return [b, zero, zero, zero, zero, one, of.term(-1, k)]
    if count == 3:
        a, s, a1 = row
        first = of.sum(of.term(-1, s), of.term(-1, a, a1))
        return [first, one, zero, of.term(-1, a), zero, of.term(1, a, a), of.term(-1, a1)]
    if count == 4:
        k, b, k1, b1 = row
        return [of.sum(k1, of.term(1, b, b1)), k, one, b, zero, b1, of.sum(of.term(1, b, b), of.term(-1, b1, k))]
    a, s, a1, s1, a2 = row
    return [
        of.sum(of.term(-1, a, s1), of.term(1, a1, a1), of.term(1, a2, s), of.term(1, a, a1, a2)),
        of.term(-1, a2),
        of.term(-1, a),
        of.sum(of.term(-1, a1), of.term(1, a, a2)),
        one,
        of.sum(s, of.term(2, a, a1), of.term(-1, a, a, a2)),
        of.sum(of.term(-1, s1), of.term(1, a1, a2)),
    ]


_PLANE = _Description(
    shifts=((lambda of, t, row: [row[0], of.sum(row[1], t)], lambda of, t, row: [row[0], of.sum(row[1], t)]),),
    points=_plane_points,
    reflections=((3, 2, 1), (2, 1, 3)),
    powers=((0, 0), (0, 0)),
    sign=-1,
)
_QUADRANGLE = _Description(
    shifts=(
        (
            lambda of, t, row: [row[0], of.sum(row[1], t), row[2]],
            lambda of, t, row: [row[0], row[1], of.sum(row[2], t)],
        ),
        (
            lambda of, t, row: [row[0], of.sum(row[1], of.term(2, row[0], t)), of.sum(row[2], t)],
            lambda of, t, row: [row[0], of.sum(row[1], t), row[2]],
        ),
    ),
    points=_quadrangle_points,
    reflections=((2, -1, 3, 4), (3, 4, 1, 2)),
    powers=((1, 0), (0, 1)),
)
_HEXAGON = _Description(
    shifts=(
        (
            lambda of, t, row: [row[0], of.sum(row[1], t), *row[2:]],
            lambda of, t, row: [*row[:2], of.sum(row[2], of.term(-1, row[0], t)), row[3], of.sum(row[4], t)],
        ),
        (
            lambda of, t, row: [row[0], of.sum(row[1], of.term(-3, row[0], t)), of.sum(row[2], t), *row[3:]],
            lambda of, t, row: [*row[:2], of.sum(row[2], of.term(-3, row[1], t)), of.sum(row[3], t), row[4]],
        ),
    ),
    points=_hexagon_points,
    reflections=((2, 1, 3, -4, 6, 5, 7), (5, 7, 6, 4, 1, 3, 2)),
    powers=((1, 0), (0, 1)),
)
_POLYGONS = {3: _PLANE, 4: _QUADRANGLE, 6: _HEXAGON}


def is_self_dual(n: int, q: int) -> bool:
    """Return whether the classical generalized n-gon of order q is self-dual.

    So it is for n = 3, n = 4 with even q, or 3 | q.
    """
    return n == 3 or (n == 4 and q % 2 == 0) or (n == 6 and q % 3 == 0)


def automorphisms(n: int, q: int, point: IntArray, line: IntArray) -> Iterator[IntArray]:
    """Yield permutations of the points, then lines, of a generalized n-gon.

    Of order q, n = 3, 4 or 6.

    They generate a group that is transitive on incident pairs of a point and a line, and takes points to lines if the
    polygon is self-dual.

    * ``n``, ``q``: which polygon.
    * ``point``, ``line``: the incident pairs, shape ``((q + 1) * points,)`` each.
    """
    space = _Coordinates(n, q)
    description = _POLYGONS[n]
    for exponent in range(prime_power(q)[1]):
        for of_a, of_k in description.shifts:
            yield space.shift(space.field.characteristic**exponent, of_a, of_k)
    for reflection in description.reflections:
        yield space.reflect(reflection, point, line)
    if is_self_dual(n, q):
        yield space.dual()


class _Coordinates:
    """Points and lines of a generalized n-gon, as in graphs.polygon."""

    def __init__(self, n: int, q: int) -> None:
        self.n, self.q = n, q
        self.half = sum(q**i for i in range(n))
        self.field = FiniteField(q)
        self.of = Polynomials(self.field)
        self.description = _POLYGONS[n]

    def shift(self, by: int, of_a: Shift, of_k: Shift) -> IntArray:
        """Return images of points and lines under shifts of both rows.

        By an element of the field.
        """
        points, lines = [], []
        for count in range(self.n):
            row = [*self._row(count), *[np.zeros(self.q**count, dtype=np.int64)] * (self.n - 1 - count)]
            t = np.full_like(row[0], by)
            odd, even = (self._number(shift(self.of, t, row)[:count]) for shift in (of_a, of_k))
            points.append(odd if count % 2 else even)
            lines.append(even if count % 2 else odd)
        return np.concatenate((*points, *(self.half + line for line in lines)))

    def dual(self) -> IntArray:
        """Return where points and lines go when they are exchanged."""
        points, lines = [], []
        for count in range(self.n):
            row = self._row(count)
            odd, even = (self._number(self._raise_row(row, powers)) for powers in self.description.powers)
            points.append(odd if count % 2 else even)
            lines.append(even if count % 2 else odd)
        return np.concatenate((*(self.half + line for line in points), *lines))

    def reflect(self, reflection: tuple[int, ...], points: IntArray, lines: IntArray) -> IntArray:
        """Return images of points and lines under exchanged coordinates.

        Needs the incident pairs.
        """
        vectors = self._vectors()
        place = np.array(reflection)
        moved = vectors[:, np.abs(place) - 1]
        moved = np.where(place < 0, self.field.negative(moved), moved)
        keys = self._keys(vectors)
        order = np.argsort(keys)
        point: IntArray = order[np.searchsorted(keys, self._keys(moved), sorter=order)]
        through = lines[np.argsort(points, kind="stable")].reshape(self.half, self.q + 1)
        on = points[np.argsort(lines, kind="stable")].reshape(self.half, self.q + 1)
        one, other = (through[point[on[:, j]]] for j in (0, 1))
        line = np.empty(self.half, dtype=np.int64)
        for j in range(self.q + 1):
            common = np.any(other == one[:, j : j + 1], axis=1)
            line[common] = one[common, j]
        return np.concatenate((point, self.half + line))

    def _row(self, count: int) -> Row:
        value = np.arange(self.q**count)
        return [value // self.q**i % self.q for i in reversed(range(count))]

    def _number(self, row: Row) -> IntArray:
        number = np.zeros_like(row[0]) if row else np.zeros(1, dtype=np.int64)
        for coordinate in row:
            number = number * self.q + coordinate
        numbers: IntArray = number + sum(self.q**i for i in range(len(row)))
        return numbers

    def _raise_row(self, row: Row, powers: tuple[int, int]) -> Row:
        raised = []
        for place, coordinate in enumerate(row):
            value = coordinate
            for _ in range(powers[place % 2]):
                value = self.of.term(1, *[value] * self.field.characteristic)
            raised.append(self.of.term(self.description.sign, value) if place % 2 else value)
        return raised

    def _vectors(self) -> IntArray:
        blocks = []
        for count in range(self.n):
            one = np.ones(self.q**count, dtype=np.int64)
            blocks.append(np.stack(self.description.points(self.of, one, count, self._row(count)), axis=1))
        return np.concatenate(blocks)

    def _keys(self, vectors: IntArray) -> IntArray:
        """Return a number for each vector, alike for multiples."""
        leading = np.take_along_axis(vectors, np.argmax(vectors != 0, axis=1)[:, None], axis=1)
        inverse = np.zeros(self.q, dtype=np.int64)
        inverse[list(self.field.powers)] = np.roll(self.field.powers[::-1], 1)
        number: IntArray = self.field.multiply(vectors, inverse[leading]) @ self.q ** np.arange(vectors.shape[1])
        return number
