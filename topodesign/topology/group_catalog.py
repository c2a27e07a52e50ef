"""Groups of an order beyond the metacyclic ones.

Semidirect products by matrices, linear groups, products.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.spec import Spec
from topodesign.topology.finite_field import is_prime, is_prime_power
from topodesign.topology.groups import Group, group
from topodesign.topology.topology import IntArray

_LARGEST_DIRECT_FACTOR = 336


def further_groups(order: int, most: int = 16) -> list[Group]:
    """Return further groups of an order.

    They are not abelian and, in general, not split metacyclic.

    They are (Z_a x Z_n^k) : Z_m, where the generator of Z_m multiplies Z_a by a unit and acts on Z_n^k, k > 1, by the
    companion matrix of a polynomial (wreath products, Heisenberg and affine groups among them), one for each way in
    which its powers fix elements; the linear and permutation groups of :mod:`topodesign.topology.groups`; and direct
    products of two of these or of one of them and a cyclic group. Those in which the fewest pairs commute come first:
    their Cayley digraphs expand best.
    """
    rows = ((row.share, str(row.spec), row.spec) for row in _describe_groups(order) if row.share < 1)
    return [group(spec) for *_, spec in heapq.nsmallest(most, rows)]


@dataclass(frozen=True)
class _Description:
    """A group that is not built yet, with its share of commuting pairs."""

    spec: Spec
    order: int
    share: Fraction


def _describe_groups(order: int) -> Iterator[_Description]:
    yield from _list_groups(order)
    for small in range(2, order // 2 + 1):
        if order % small == 0:
            rest = _list_groups(order // small)
            yield from (_product(row, _Description(Spec("cyclic", (small,)), small, Fraction(1))) for row in rest)
            if small * small <= order and small <= _LARGEST_DIRECT_FACTOR:
                yield from (
                    _product(one, other) for one in _small_factors(small) for other in _small_factors(order // small)
                )


def _product(one: _Description, other: _Description) -> _Description:
    spec = Spec("direct", (one.spec, other.spec))
    return _Description(spec, one.order * other.order, one.share * other.share)


def _small_factors(order: int) -> list[_Description]:
    """Return Frobenius, dihedral and :func:`_list_groups` groups of an order."""
    found = list(_list_groups(order))
    for m in range(2, order):
        n = order // m
        if order % m == 0 and n > 2 and is_prime(n) and (n - 1) % m == 0:
            r = min(r for r in range(2, n) if _multiplicative_order(r, n) == m)
            classes = m + (n - 1) // m
            found.append(_Description(Spec("metacyclic", (n, m, r)), order, Fraction(classes, order)))
    return found


@functools.lru_cache(maxsize=4096)
def _list_groups(order: int) -> tuple[_Description, ...]:
    return (*_iterate_groups(order), *_semidirect(order))


def _iterate_groups(order: int) -> Iterator[_Description]:
    """Yield symmetric, alternating and linear groups, each once.

    Their numbers of conjugacy classes are known.

    PSL(2,3), PSL(2,4), PSL(2,5), PSL(2,9), PGL(2,3) and PGL(2,5) are alternating and symmetric groups.
    """
    for n, (even, all_of_them) in {4: (4, 5), 5: (5, 7), 6: (7, 11)}.items():
        if order == math.factorial(n):
            yield _Description(Spec("symmetric", (n,)), order, Fraction(all_of_them, order))
        if 2 * order == math.factorial(n):
            yield _Description(Spec("alternating", (n,)), order, Fraction(even, order))
    q = _field_of_linear_group(order)
    if q is not None and q % 2 == 0 and q > 4:
        yield _Description(Spec("psl2", (q,)), order, Fraction(q + 1, order))
    elif q is not None and q > 5:
        yield _Description(Spec("pgl2", (q,)), order, Fraction(q + 2, order))
    if q is not None and q % 2 == 1:
        yield _Description(Spec("sl2", (q,)), order, Fraction(q + 4, order))
    q = _field_of_linear_group(2 * order)
    if q is not None and q % 2 == 1 and q not in {3, 5, 9}:
        yield _Description(Spec("psl2", (q,)), order, Fraction((q + 5) // 2, order))


def _field_of_linear_group(order: int) -> int | None:
    """Return the prime power q > 2 with q(q^2 - 1) = order, or None."""
    q = round(order ** (1 / 3))
    return next((r for r in (q, q + 1) if r > 2 and r**3 - r == order and is_prime_power(r)), None)


def _semidirect(order: int) -> Iterator[_Description]:
    """Yield (Z_a x Z_n^k) : Z_m, one per profile of fixed elements."""
    for m in range(2, order // 4 + 1):
        if order % m:
            continue
        kernel = order // m
        for n, k in _powers_dividing(kernel):
            a = kernel // n**k
            if math.gcd(a, n) > 1:
                continue
            for unit_fixes, unit in _unit_actions(a, m):
                for fixes, tail in _companion_actions(n, k, m):
                    fixed = [x * y for x, y in zip(unit_fixes, fixes, strict=True)]
                    share = Fraction(_commuting_pairs(fixed, m), kernel * m * m)
                    yield _Description(_semidirect_spec(a, unit, n, tail, m), order, share)


def _powers_dividing(value: int) -> Iterator[tuple[int, int]]:
    """Yield (n, k) with k > 1 and n^k a divisor of the value."""
    for n in range(2, math.isqrt(value) + 1):
        k = 2
        while value % n**k == 0:
            yield n, k
            k += 1


def _unit_actions(a: int, m: int) -> list[tuple[tuple[int, ...], int]]:
    """Return units u of Z_a with u^m = 1, one per profile of fixed elements."""
    found: dict[tuple[int, ...], int] = {}
    for unit in range(1, a + 1):
        if math.gcd(unit, a) == 1 and pow(unit, m, a) == 1 % a:
            fixes = tuple(math.gcd(a, pow(unit, g, a) - 1) for g in _divisors(m))
            found.setdefault(fixes, unit)
    return list(found.items())


@functools.lru_cache(maxsize=4096)
def _companion_actions(n: int, k: int, m: int) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    """Return companion matrices C over Z_n with C^m = 1.

    One for each list of how many elements C^g fixes, g | m.

    A matrix is given by its last column: C takes e_i to e_(i+1) and e_k to that column.
    """
    tails = np.stack([axis.ravel() for axis in np.indices((n,) * k)], axis=1)
    tails = tails[np.gcd(tails[:, 0], n) == 1]
    matrices = np.zeros((len(tails), k, k), dtype=np.int64)
    matrices[:, np.arange(1, k), np.arange(k - 1)] = 1
    matrices[:, :, k - 1] = tails
    identity = np.eye(k, dtype=np.int64)
    proper = np.all(_matrix_power(matrices, m, n) == identity, axis=(1, 2))
    tails, matrices = tails[proper], matrices[proper]
    columns = [_count_fixed(_matrix_power(matrices, g, n), n) for g in _divisors(m)]
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for fixes, tail in zip(np.stack(columns, axis=1).tolist(), tails.tolist(), strict=True):
        found.setdefault(tuple(fixes), tuple(tail))
    return tuple(found.items())


def _matrix_power(matrices: IntArray, exponent: int, n: int) -> IntArray:
    result: IntArray = np.broadcast_to(np.eye(matrices.shape[1], dtype=np.int64), matrices.shape)
    square = matrices
    while exponent:
        if exponent & 1:
            result = result @ square % n
        square, exponent = square @ square % n, exponent >> 1
    return result


def _count_fixed(matrices: IntArray, n: int) -> IntArray:
    """Return how many vectors over Z_n each matrix fixes."""
    k = matrices.shape[1]
    vectors = np.stack([axis.ravel() for axis in np.indices((n,) * k)])
    counts = np.empty(len(matrices), dtype=np.int64)
    block = max(1, 2**20 // vectors.size)
    for start in range(0, len(matrices), block):
        moved = (matrices[start : start + block] @ vectors - vectors) % n
        counts[start : start + block] = np.sum(~moved.any(axis=1), axis=1)
    return counts


def _commuting_pairs(fixed: list[int], m: int) -> int:
    """Return the number of commuting pairs of A : Z_m over the order of A.

    (v, b) and (w, e) commute if (1 - M^e)v = (1 - M^b)w. The images of 1 - M^e and 1 - M^b add up to that of 1 - M^g
    with g = gcd(b, e, m), so |A| times as many pairs (v, w) do as M^g fixes elements.

    * ``fixed``: for each divisor g of m, ascending, how many elements of A the power M^g fixes.
    * ``m``: order of the acting cyclic group.
    """
    divisors = _divisors(m)
    total = 0
    pairs: dict[int, int] = {}
    for g in reversed(divisors):  # pairs (b, e) with gcd(b, e, m) = g exactly
        pairs[g] = (m // g) ** 2 - sum(pairs[h] for h in divisors if h > g and h % g == 0)
    for g, count in zip(divisors, fixed, strict=True):
        total += pairs[g] * count
    return total


def _semidirect_spec(a: int, unit: int, n: int, tail: tuple[int, ...], m: int) -> Spec:
    k = len(tail)
    extra = 1 if a > 1 else 0
    matrix = np.zeros((k + extra, k + extra), dtype=np.int64)
    matrix[np.arange(1, k), np.arange(k - 1)] = 1
    matrix[:k, k - 1] = tail
    if extra:
        matrix[k, k] = unit
    sizes = (n,) * k + (a,) * extra
    return Spec("semidirect", (Spec("abelian", sizes), m, *matrix.ravel().tolist()))


@functools.lru_cache(maxsize=4096)
def _divisors(value: int) -> tuple[int, ...]:
    return tuple(d for d in range(1, value + 1) if value % d == 0)


def _multiplicative_order(r: int, n: int) -> int:
    power, order = r % n, 1
    while power != 1:
        power, order = power * r % n, order + 1
    return order
