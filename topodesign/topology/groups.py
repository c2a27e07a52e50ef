"""Finite groups by name, as far as Cayley digraphs need them.

Elements are the integers 0 to order-1 with 0 the identity; each group says in its docstring which integer is which
element, so that a connection set in a spec means the same everywhere. A group is written as a spec, such as
``dihedral(8)``, ``metacyclic(64,16,5)`` or ``direct(psl2(7),cyclic(3))``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.base.spec import Spec
from topodesign.topology.family import inspect_call
from topodesign.topology.finite_field import FiniteField
from topodesign.topology.symmetry import Symmetry, join_orbits
from topodesign.topology.topology import IntArray, check_buildable

Multiply = Callable[[IntArray, IntArray], IntArray]

LARGEST_SYMMETRIC = 9  # permutations of up to this many points are listed
_MAX_IMAGES = 2**23  # of all points under all elements


@dataclass(frozen=True)
class Group:
    """A finite group on the integers 0..order-1 with identity 0."""

    spec: Spec  # the text that rebuilds the group
    order: int  # number of elements
    abelian: bool  # whether all elements commute
    multiply: Multiply  # vectorised product: two broadcastable integer arrays of elements -> array of elements

    def elements(self) -> IntArray:
        """Return all elements, 0 to order-1."""
        return np.arange(self.order, dtype=np.int64)

    def right(self, element: int) -> IntArray:
        """Return the permutation g -> g * element, shape ``(order,)``."""
        return self.multiply(self.elements(), np.int64(element))  # type: ignore[arg-type]

    def left(self, element: int) -> IntArray:
        """Return the permutation g -> element * g, shape ``(order,)``."""
        return self.multiply(np.int64(element), self.elements())  # type: ignore[arg-type]

    def generators(self) -> list[int]:
        """Return at most log2(order) elements that generate the group.

        Each is the first outside what those before generate.

        The orbits of left multiplications by some elements are the right cosets of the subgroup that they generate.
        """
        coset, found = self.elements(), list[int]()
        while len(outside := np.flatnonzero(coset)):
            found.append(int(outside[0]))
            coset = join_orbits(coset, self.left(found[-1]))
        return found

    def action(self, copies: int = 1) -> Symmetry:
        """Return the group acting by left multiplication on copies of itself.

        (copy u, element g) is u*order + g.

        That keeps all links from (u, g) to (w, g*s), and no element but the identity keeps a node where it is.
        """
        starts = range(0, copies * self.order, self.order)

        def generators() -> Iterator[IntArray]:
            for element in self.generators():
                yield (np.array(starts)[:, None] + self.left(element)).ravel()

        return Symmetry(copies * self.order, tuple(starts), generators)

    def table(self) -> IntArray:
        """Return all right multiplications, shape ``(order, order)``.

        ``table[s, g] = g * s``.
        """
        return self.multiply(self.elements()[None, :], self.elements()[:, None])

    def inverses(self) -> IntArray:
        """Return the inverse of every element, shape ``(order,)``."""
        inverse = np.empty(self.order, dtype=np.int64)
        block = max(1, 2**22 // self.order)
        for start in range(0, self.order, block):
            rows = np.arange(start, min(start + block, self.order), dtype=np.int64)
            products = self.multiply(rows[:, None], self.elements()[None, :])
            where, what = np.nonzero(products == 0)
            inverse[rows[where]] = what
        return inverse


def cyclic(n: int) -> Group:
    """Cyclic group Z_n; the element a is the residue a."""
    require_at_least("n", n, 1)
    return Group(Spec("cyclic", (n,)), n, True, lambda x, y: (x + y) % n)


def abelian(*sizes: int) -> Group:
    """Product of cyclic groups Z_n1 x Z_n2 x ....

    (a1, a2, ...) is the integer a1 + n1*(a2 + n2*(...)).
    """
    if not sizes:
        raise ParameterError("abelian requires at least one size, as in abelian(4,4)")
    for size in sizes:
        require_at_least("every size", size, 1)
    order = math.prod(sizes)

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        total = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), dtype=np.int64)
        place = 1
        for size in sizes:
            total += (x // place + y // place) % size * place
            place *= size
        return total

    return Group(Spec("abelian", sizes), order, True, multiply)


def metacyclic(n: int, m: int, r: int) -> Group:
    """Split metacyclic group Z_n : Z_m.

    Conjugation by the generator of Z_m multiplies Z_n by r.

    The element (a, b) is the integer a + n*b, and (a, b)(c, e) = (a + r^b c, b + e). Needs r^m = 1 (mod n).
    """
    require_at_least("n", n, 1)
    require_at_least("m", m, 1)
    check_buildable(n * m, 0)
    r %= n
    if pow(r, m, n) != 1 % n:
        raise ParameterError(f"metacyclic({n},{m},{r}) is not a group: {r}^{m} is not 1 modulo {n}")
    powers = np.empty(m, dtype=np.int64)
    powers[0] = 1 % n
    for b in range(1, m):
        powers[b] = powers[b - 1] * r % n

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        a, b = x % n, x // n
        c, e = y % n, y // n
        product: IntArray = (a + powers[b] * c) % n + n * ((b + e) % m)
        return product

    return Group(Spec("metacyclic", (n, m, r)), n * m, r == 1 % n, multiply)


def dihedral(n: int) -> Group:
    """Dihedral group of order 2n.

    a + n*b is the rotation by a, after a reflection if b = 1.
    """
    require_at_least("n", n, 1)
    base = metacyclic(n, 2, n - 1)
    return Group(Spec("dihedral", (n,)), base.order, n <= 2, base.multiply)


def dicyclic(n: int) -> Group:
    """Dicyclic group of order 4n (n = 2: quaternions).

    x^2n = 1, y^2 = x^n, y x = x^-1 y; x^a y^b is a + 2n*b.
    """
    require_at_least("n", n, 1)
    check_buildable(4 * n, 0)
    cycle = 2 * n

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        a, b = x % cycle, x // cycle
        c, e = y % cycle, y // cycle
        product: IntArray = (a + np.where(b == 1, -c, c) + n * (b & e)) % cycle + cycle * (b ^ e)
        return product

    return Group(Spec("dicyclic", (n,)), 4 * n, n == 1, multiply)


def affine(q: int) -> Group:
    """Affine group AGL(1, q) of the maps x -> c*x + t over GF(q).

    q is a prime power.

    The map is the integer t + q*k where c is the k-th power of the field's generator; the product f*g applies g first.
    """
    field = FiniteField(q)
    check_buildable(q * (q - 1), 0)
    units = np.array(field.powers, dtype=np.int64)

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        t, k = x % q, x // q
        s, j = y % q, y // q
        return field.add(t, field.multiply(units[k], s)) + q * ((k + j) % (q - 1))

    return Group(Spec("affine", (q,)), q * (q - 1), q == 2, multiply)


def semidirect(base: Spec, m: int, *matrix: int) -> Group:
    """Semidirect product A : Z_m of an abelian group.

    The generator of Z_m acts on A by a matrix.

    A is ``abelian(n1,...,nk)`` and the matrix M has k rows of k integers, written row by row: it takes (a1, ..., ak)
    to the element with coordinates M[i][1]*a1 + ... + M[i][k]*ak (mod ni). The element (v, b) is the integer v +
    ``|A|``*b, and (v, b)(w, e) = (v + M^b w, b + e). M must keep the relations of A, that is nj*M[i][j] = 0 (mod ni),
    and M^m must be the identity. With a permutation matrix it is a wreath product, with
    ``semidirect(abelian(n,n),n,1,1,0,1)`` the Heisenberg group, with -1 and m = 2 a generalised dihedral group.
    """
    if not isinstance(base, Spec) or base.name != "abelian" or any(isinstance(entry, Spec) for entry in (m, *matrix)):
        raise ParameterError("give an abelian group, m and a matrix, as in semidirect(abelian(3,3),2,0,1,1,0)")
    require_at_least("m", m, 1)
    kernel = group(base)
    check_buildable(kernel.order * m, 0)
    sizes = [size for size in base.args if not isinstance(size, Spec)]
    require_at_least("every size", min(sizes), 2)
    power = _powers_of_action(sizes, m, matrix)
    images = _linear_images(sizes, power)

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        v, b = x % kernel.order, x // kernel.order
        w, e = y % kernel.order, y // kernel.order
        return kernel.multiply(v, images[b, w]) + kernel.order * ((b + e) % m)

    trivial = m == 1 or bool(np.array_equal(images[1], images[0]))
    return Group(Spec("semidirect", (base, m, *matrix)), kernel.order * m, trivial, multiply)


def _powers_of_action(sizes: Sequence[int], m: int, matrix: Sequence[int]) -> IntArray:
    """Return M^0, ..., M^(m-1), shape (m, k, k), checked to act on A."""
    k, rank = len(sizes), f"{len(sizes)} x {len(sizes)}"
    if len(matrix) != k * k:
        raise ParameterError(f"the matrix must have {rank} integers, row by row, not {len(matrix)} arguments")
    rows, modulus = np.array(matrix, dtype=np.int64).reshape(k, k), np.array(sizes)[:, None]
    rows %= modulus
    if np.any(rows * modulus.T % modulus):
        raise ParameterError(
            f"the matrix does not act on abelian({','.join(map(str, sizes))}): n_j*M[i][j] must be 0 mod n_i"
        )
    powers = np.empty((m, k, k), dtype=np.int64)
    powers[0] = np.eye(k, dtype=np.int64) % modulus
    for b in range(1, m):
        powers[b] = rows @ powers[b - 1] % modulus
    if np.any(rows @ powers[m - 1] % modulus != powers[0]):
        raise ParameterError(f"the matrix to the power {m} is not the identity, so it gives no group of that order")
    return powers


def _linear_images(sizes: Sequence[int], matrices: IntArray) -> IntArray:
    """Return the image of each element under each matrix."""
    place = np.cumprod([1, *sizes[:-1]])
    elements = np.arange(math.prod(sizes))
    coordinates = elements[None, :] // place[:, None] % np.array(sizes)[:, None]
    images = np.zeros((len(matrices), len(elements)), dtype=np.int64)
    for i, size in enumerate(sizes):
        images += matrices[:, i, :] @ coordinates % size * place[i]
    return images


def direct(*factors: Spec) -> Group:
    """Direct product G x H x ... of groups.

    (g, h, ...) is the integer g + ``|G|``*(h + ``|H|``*(...)).
    """
    if not factors or not all(isinstance(factor, Spec) for factor in factors):
        raise ParameterError("direct requires groups, as in direct(psl2(7),cyclic(3))")
    parts = [group(factor) for factor in factors]
    order = math.prod(part.order for part in parts)
    check_buildable(order, 0)

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        total = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), dtype=np.int64)
        place = 1
        for part in parts:
            total += part.multiply(x // place % part.order, y // place % part.order) * place
            place *= part.order
        return total

    return Group(Spec("direct", factors), order, all(part.abelian for part in parts), multiply)


def symmetric(n: int) -> Group:
    """Symmetric group of 0..n-1, permutations in lexicographic order.

    The product f*g applies g first.
    """
    rows = _permutations(n)
    return _permutation_group(Spec("symmetric", (n,)), rows, max(1, n - 1))


def alternating(n: int) -> Group:
    """Alternating group of 0..n-1, permutations in lexicographic order.

    The even permutations; the product f*g applies g first.
    """
    rows = _permutations(n)
    first, second = np.triu_indices(n, 1)
    odd = np.sum(rows[:, first] > rows[:, second], axis=1) % 2
    return _permutation_group(Spec("alternating", (n,)), rows[odd == 0], max(1, n - 2))


def _permutations(n: int) -> IntArray:
    require_at_least("n", n, 1)
    if n > LARGEST_SYMMETRIC:
        raise TooLargeError(f"permutations of at most {LARGEST_SYMMETRIC} points are supported, not {n}")
    return np.array(list(itertools.permutations(range(n))), dtype=np.int64)


def pgl2(q: int) -> Group:
    """Projective group PGL(2,q) of the maps x -> (ax + b)/(cx + d).

    Order q(q^2 - 1), q a prime power.

    They permute the points infinity, 0, 1, ... of the projective line, numbered 0, 1, 2, ... in this order with the
    field's elements numbered as in :class:`topodesign.topology.finite_field.FiniteField`, and are themselves numbered
    in the lexicographic order of the images of these points. The product f*g applies g first.
    """
    return _permutation_group(Spec("pgl2", (q,)), _moebius_maps(q)[0], 3)


def psl2(q: int) -> Group:
    """Projective group PSL(2,q): maps of :func:`pgl2` with square determinant.

    Numbered in the same way.

    Simple for q > 3; its order is q(q^2 - 1)/2 for odd q, and for even q it is PGL(2,q).
    """
    maps, square = _moebius_maps(q)
    return _permutation_group(Spec("psl2", (q,)), maps[square], 3)


def _moebius_maps(q: int) -> tuple[IntArray, np.ndarray]:
    """Return all maps of PGL(2,q), and which have a square determinant."""
    field = _small_field(q, q**4)
    # One matrix of each class: c = 0 and d = 1, or c = 1.
    a, b, c, d = (np.concatenate(ends) for ends in zip(*_list_matrices(q), strict=True))
    determinant = field.subtract(field.multiply(a, d), field.multiply(b, c))
    a, b, c, d, determinant = (column[determinant != 0] for column in (a, b, c, d, determinant))
    x = np.arange(q)[None, :]
    column = [part[:, None] for part in (a, b, c, d)]
    above = field.add(field.multiply(column[0], x), column[1])
    below = field.add(field.multiply(column[2], x), column[3])
    inverse = np.zeros(q, dtype=np.int64)
    inverse[list(field.powers)] = np.roll(field.powers[::-1], 1)
    at_infinity = np.where(c == 0, 0, 1 + field.multiply(a, inverse[c]))
    elsewhere = np.where(below == 0, 0, 1 + field.multiply(above, inverse[below]))
    maps = np.concatenate((at_infinity[:, None], elsewhere), axis=1)
    squares = np.zeros(q, dtype=bool)
    squares[list(field.powers if q % 2 == 0 else field.powers[::2])] = True
    order = np.lexsort(maps[:, 2::-1].T)
    return maps[order], squares[determinant][order]


def _list_matrices(q: int) -> tuple[tuple[IntArray, ...], tuple[IntArray, ...]]:
    a, b = (axis.ravel() for axis in np.indices((q, q)))
    affine_maps = (a, b, np.zeros_like(a), np.ones_like(a))
    a, b, d = (axis.ravel() for axis in np.indices((q, q, q)))
    return affine_maps, (a, b, np.ones_like(a), d)


def sl2(q: int) -> Group:
    """Linear group SL(2,q) of determinant 1 over GF(q), order q(q^2 - 1).

    The matrices act on the q^2 - 1 vectors other than zero; (x, y) is the point x + q*y - 1 with (0, 1), which would be
    q - 1, exchanged with the point 1, so that the unit vectors are points 0 and 1. Matrices are numbered in the
    lexicographic order of the images of these two. The product is that of matrices.
    """
    field = _small_field(q, q**5)
    a, b, c, d = (axis.ravel() for axis in np.indices((q, q, q, q)))
    unimodular = field.subtract(field.multiply(a, d), field.multiply(b, c)) == 1
    a, b, c, d = (entry[unimodular][:, None] for entry in (a, b, c, d))
    point = np.arange(q * q)  # of the vector x + q*y; the zero vector takes the last place
    point[[0, 1]], point[2:] = (q * q - 1, 0), point[2:] - 1
    if q > 2:
        second = int(np.flatnonzero(point == 1)[0])
        point[[second, q]] = point[[q, second]]
    vector = np.argsort(point)[:-1]
    x, y = vector % q, vector // q
    images = point[
        field.add(field.multiply(a, x), field.multiply(b, y))
        + q * field.add(field.multiply(c, x), field.multiply(d, y))
    ]
    return _permutation_group(Spec("sl2", (q,)), images[np.lexsort(images[:, 1::-1].T)], 2)


def _small_field(q: int, images: int) -> FiniteField:
    if images > _MAX_IMAGES:
        raise TooLargeError(f"matrix groups over a field of {q} elements are too large")
    return FiniteField(q)


def _permutation_group(spec: Spec, rows: IntArray, base: int) -> Group:
    """Return the group of all rows, sorted permutations."""
    points = rows.shape[1]
    place = points ** np.arange(base)[::-1]
    keys = rows[:, :base] @ place

    def multiply(x: IntArray, y: IntArray) -> IntArray:
        images = rows[np.asarray(x)[..., None], rows[y, :base]]
        product: IntArray = np.searchsorted(keys, images @ place)
        return product

    return Group(
        spec, len(rows), len(rows) <= 3, multiply
    )  # each of these with more elements has two that do not commute


GROUPS: dict[str, Callable[..., Group]] = {
    function.__name__: function
    for function in (
        cyclic,
        abelian,
        metacyclic,
        dihedral,
        dicyclic,
        affine,
        semidirect,
        direct,
        symmetric,
        alternating,
        psl2,
        pgl2,
        sl2,
    )
}


def group(spec: Spec) -> Group:
    """Build a group from its spec."""
    if spec.name not in GROUPS:
        raise ParameterError(f"unknown group '{spec.name}'; known are {', '.join(GROUPS)}")
    function = GROUPS[spec.name]
    inspect_call(function, spec.args)
    if function not in {semidirect, direct} and any(isinstance(argument, Spec) for argument in spec.args):
        raise ParameterError(f"{spec.name} requires integers")
    result = function(*spec.args)
    check_buildable(result.order, 0)
    return result
