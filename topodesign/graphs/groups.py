"""Finite groups by name, as far as Cayley digraphs need them.

Elements are the integers 0 to order-1 with 0 the identity; each group says in its docstring which integer is which
element, so that a connection set in a spec means the same everywhere. A group is written as a spec, such as
``dihedral(8)`` or ``metacyclic(64,16,5)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topodesign.errors import ParameterError
from topodesign.graphs.finite_field import FiniteField
from topodesign.named import inspect_call
from topodesign.spec import Spec
from topodesign.topology import IntArray, check_buildable, require_at_least

Multiply = Callable[[IntArray, IntArray], IntArray]


@dataclass(frozen=True)
class Group:
    """A finite group on the integers 0..order-1 with identity 0.

    Attributes
    ----------
    spec
        The text that rebuilds the group.
    order
        Number of elements.
    abelian
        Whether all elements commute.
    multiply
        Vectorised product: two broadcastable integer arrays of elements -> array of elements.
    """

    spec: Spec
    order: int
    abelian: bool
    multiply: Multiply

    def elements(self) -> IntArray:
        """Return all elements, 0 to order-1."""
        return np.arange(self.order, dtype=np.int64)

    def right(self, element: int) -> IntArray:
        """Return the permutation g -> g * element as an array of shape ``(order,)``."""
        return self.multiply(self.elements(), np.int64(element))  # type: ignore[arg-type]

    def table(self) -> IntArray:
        """Return all right multiplications: ``table[s, g] = g * s``, shape ``(order, order)``."""
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
    """Product of cyclic groups Z_n1 x Z_n2 x ...; (a1, a2, ...) is the integer a1 + n1*(a2 + n2*(...))."""
    if not sizes:
        raise ParameterError("abelian needs at least one size, as in abelian(4,4)")
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
    """Split metacyclic group Z_n : Z_m, where conjugation by the generator of Z_m multiplies Z_n by r.

    The element (a, b) is the integer a + n*b, and (a, b)(c, e) = (a + r^b c, b + e). Needs r^m = 1 (mod n).
    """
    require_at_least("n", n, 1)
    require_at_least("m", m, 1)
    check_buildable(n * m, 0)
    r %= n
    if pow(r, m, n) != 1 % n:
        raise ParameterError(f"metacyclic({n},{m},{r}) is no group: {r}^{m} is not 1 modulo {n}")
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
    """Dihedral group of order 2n; a + n*b is the rotation by a, after a reflection if b = 1."""
    require_at_least("n", n, 1)
    base = metacyclic(n, 2, n - 1)
    return Group(Spec("dihedral", (n,)), base.order, n <= 2, base.multiply)


def dicyclic(n: int) -> Group:
    """Dicyclic group of order 4n (n = 2: quaternions): x^2n = 1, y^2 = x^n, y x = x^-1 y; x^a y^b is a + 2n*b."""
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
    """Affine group AGL(1, q) of the maps x -> c*x + t over the field of q elements (q a prime power).

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


GROUPS: dict[str, Callable[..., Group]] = {
    function.__name__: function for function in (cyclic, abelian, metacyclic, dihedral, dicyclic, affine)
}


def group(spec: Spec) -> Group:
    """Build a group from its spec.

    Raises
    ------
    ParameterError
        If the name is unknown, the arguments are wrong, or the group is too large.
    """
    if spec.name not in GROUPS:
        raise ParameterError(f"unknown group '{spec.name}'; known are {', '.join(GROUPS)}")
    function = GROUPS[spec.name]
    inspect_call(function, spec.args)
    if any(isinstance(argument, Spec) for argument in spec.args):
        raise ParameterError(f"{spec.name} takes integers")
    result = function(*spec.args)
    check_buildable(result.order, 0)
    return result
