"""Arithmetic in finite fields, for Paley graphs and geometries."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.topology.topology import IntArray

LARGEST_FIELD = 4096


class FiniteField:
    """The field GF(q).

    The polynomial c0 + c1 x + ... over GF(p) is the integer c0 + c1 p + ....

    * ``order``: q, a prime power.
    * ``characteristic``: p, the prime.
    * ``powers``: the powers 1, g, g^2, ..., g^(q-2) of the smallest generator g of the multiplicative group.
    """

    def __init__(self, q: int) -> None:
        p, k = prime_power(q)
        if q > LARGEST_FIELD:
            raise ParameterError(f"fields of at most {LARGEST_FIELD} elements are supported, not {q}")
        self.order = q
        self.characteristic = p
        self._digits = np.stack([np.arange(q) // p**i % p for i in range(k)], axis=1)
        self._place = p ** np.arange(k)
        self.powers = _primitive_powers(p, k)
        logs = np.zeros(q, dtype=np.int64)
        logs[np.array(self.powers)] = np.arange(q - 1)
        self._log = logs
        self._power = np.array(self.powers + self.powers, dtype=np.int64)

    def add(self, x: IntArray, y: IntArray) -> IntArray:
        """Return x + y elementwise."""
        total: IntArray = ((self._digits[x] + self._digits[y]) % self.characteristic) @ self._place
        return total

    def subtract(self, x: IntArray, y: IntArray) -> IntArray:
        """Return x - y elementwise."""
        difference: IntArray = ((self._digits[x] - self._digits[y]) % self.characteristic) @ self._place
        return difference

    def negative(self, x: IntArray) -> IntArray:
        """Return -x elementwise."""
        opposite: IntArray = (-self._digits[x] % self.characteristic) @ self._place
        return opposite

    def multiply(self, x: IntArray, y: IntArray) -> IntArray:
        """Return x * y elementwise."""
        product: IntArray = self._power[self._log[x] + self._log[y]]
        return np.where((np.asarray(x) == 0) | (np.asarray(y) == 0), 0, product)


class Polynomials:
    """Sums of monomials with small integer coefficients over a field."""

    def __init__(self, field: FiniteField) -> None:
        self._field = field

    def sum(self, *terms: IntArray) -> IntArray:
        """Return the sum of the terms elementwise."""
        total = terms[0]
        for term in terms[1:]:
            total = self._field.add(total, term)
        return total

    def term(self, coefficient: int, *factors: IntArray) -> IntArray:
        """Return the product of the factors elementwise, added up ``coefficient`` times."""
        # The integer c is the field's 1 added c times, an element of the prime field, whose number is c modulo p.
        product = np.full_like(factors[0], coefficient % self._field.characteristic)
        for factor in factors:
            product = self._field.multiply(product, factor)
        return product


def prime_power(q: int) -> tuple[int, int]:
    """Return (p, k) with q = p^k."""
    if not 2 <= q <= 2**40:
        raise ParameterError(f"{q} is not a prime power")
    p = next((i for i in range(2, math.isqrt(q) + 1) if q % i == 0), q)
    k, rest = 0, q
    while rest % p == 0:
        rest //= p
        k += 1
    if rest != 1:
        raise ParameterError(f"{q} is not a prime power")
    return p, k


def is_prime(number: int) -> bool:
    """Return whether a number is a prime."""
    return number > 1 and all(number % factor for factor in range(2, math.isqrt(number) + 1))


@lru_cache(maxsize=1024)
def is_prime_power(q: int) -> bool:
    """Return whether a field of q elements exists (and q is at most 2^40)."""
    try:
        prime_power(q)
    except ParameterError:
        return False
    return True


@lru_cache(maxsize=64)
def _primitive_powers(p: int, k: int) -> tuple[int, ...]:
    """Return the powers of a primitive element: 1, g, g^2, ....

    Of x (k > 1) or of the smallest primitive root (k = 1), below order q - 1.

    For k > 1 the field's polynomial is the first monic one, in numeric order of its coefficients, for which x is a
    generator of the multiplicative group; such a (primitive) polynomial is irreducible.
    """
    q = p**k
    if k == 1:
        return next(powers for g in range(1, p) if len(powers := _prime_powers(p, g)) == p - 1)
    for tail in itertools.product(range(p), repeat=k):
        powers = _polynomial_powers(p, k, tail[::-1])
        if len(powers) == q - 1:
            return powers
    raise ParameterError(f"no primitive polynomial of degree {k} over GF({p})")  # pragma: no cover  there always is


def _prime_powers(p: int, g: int) -> tuple[int, ...]:
    powers = [1]
    while (value := powers[-1] * g % p) != 1:
        powers.append(value)
    return tuple(powers)


def _polynomial_powers(p: int, k: int, tail: tuple[int, ...]) -> tuple[int, ...]:
    """Return 1, x, x^2, ... modulo x^k + tail until it repeats."""
    if tail[0] == 0:
        return ()
    one = (1,) + (0,) * (k - 1)
    current, seen = one, []
    while True:
        seen.append(sum(c * p**i for i, c in enumerate(current)))
        top = current[-1]
        current = tuple((low - top * t) % p for low, t in zip((0, *current[:-1]), tail, strict=True))
        if current == one:
            return tuple(seen)
