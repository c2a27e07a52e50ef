"""Choice of the groups to search.

All that the library knows, or of large orders those with small tables.

Groups in which few pairs of elements commute come first: their Cayley digraphs expand best.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.topology.finite_field import prime_power
from topodesign.topology.group_catalog import further_groups
from topodesign.topology.groups import Group, abelian, affine, cyclic, dicyclic, metacyclic

_LARGEST_LISTED = 10_000
"""Orders up to this have all groups; the tables of larger ones would fill the memory but for those with few cosets."""
_MAX_COSETS, _MAX_PLACES = 64, 2**22
"""Cosets of a cyclic normal subgroup, in larger ones, and these times the order, which tables take eight bytes for."""
_MAX_GROUPS = 40  # of an order, if it is large


@functools.lru_cache(maxsize=4096)
def groups_to_search(order: int) -> list[Group]:
    """Return the groups of an order, most promising first.

    Metacyclic and further ones in turn, then abelian.

    Of large orders metacyclic ones alone, with few cosets of a cyclic normal subgroup.
    """
    if order > _LARGEST_LISTED:
        return groups_of_order(order)[:_MAX_GROUPS]
    pairs = itertools.zip_longest(groups_of_order(order), further_groups(order))
    mixed = [base for pair in pairs for base in pair if base is not None]
    return mixed + [abelian(*sizes) for sizes in _abelian_types(order, 1) if len(sizes) > 2]


def _abelian_types(order: int, divisor: int) -> Iterator[tuple[int, ...]]:
    """Yield invariant factors (n1, n2, ...) with a product."""
    for first in range(2, order + 1):
        if order % first == 0 and first % divisor == 0:
            if first == order:
                yield (first,)
            for rest in _abelian_types(order // first, first):
                yield (first, *rest)


def groups_of_order(order: int) -> list[Group]:
    """Return the groups of an order to search, fewest commuting pairs first.

    All split metacyclic groups (cyclic, dihedral and Frobenius groups of prime degree among them), each once for every
    subgroup of multipliers, the dicyclic group and the affine group of a prime power; of large orders only those with
    few cosets of a cyclic normal subgroup.
    """
    ranked: list[tuple[Fraction, str, Group]] = []
    for n, m, r in _metacyclic_parameters(order):
        base = metacyclic(n, m, r) if m > 1 else cyclic(n)
        ranked.append((_commuting_share(n, m, r), str(base.spec), base))
    if order % 4 == 0 and order >= 8:
        base = dicyclic(order // 4)
        classes = order // 4 + 3  # of the dicyclic group of order 4n
        ranked.append((Fraction(classes, order), str(base.spec), base))
    root = math.isqrt(order) + 1
    if root * (root - 1) == order <= _LARGEST_LISTED and _is_proper_prime_power(root):
        base = affine(root)
        ranked.append((Fraction(root, order), str(base.spec), base))  # AGL(1,q) has q classes
    return [base for *_, base in sorted(ranked, key=lambda row: row[:2])]


def _is_proper_prime_power(q: int) -> bool:
    try:
        return prime_power(q)[1] > 1
    except ParameterError:
        return False


def _metacyclic_parameters(order: int) -> Iterator[tuple[int, int, int]]:
    """Yield (n, m, r) of Z_n : Z_m, one r per subgroup of units."""
    most = order if order <= _LARGEST_LISTED else min(_MAX_COSETS, _MAX_PLACES // order)
    for m in (m for m in range(1, most + 1) if order % m == 0):
        n = order // m
        if m > 1 and n < 2:
            continue
        seen: set[frozenset[int]] = set()
        for r in _roots_of_unity(n, m):
            subgroup = {1 % n}
            power = r % n
            while power not in subgroup:
                subgroup.add(power)
                power = power * r % n
            if (key := frozenset(subgroup)) not in seen and (len(subgroup) > 1 or m == 1 or math.gcd(n, m) > 1):
                seen.add(key)
                yield n, m, r % n if n > 1 else 0


def _roots_of_unity(n: int, m: int) -> list[int]:
    """Return all r from 1 to n - 1 with r^m = 1 modulo n, 1 for n = 1."""
    power, square = np.ones(max(1, n - 1), dtype=np.int64), np.arange(1, max(2, n), dtype=np.int64)
    while m:
        if m & 1:
            power = power * square % n
        square, m = square * square % n, m >> 1
    return (1 + np.flatnonzero(power == 1 % n)).tolist()


def _commuting_share(n: int, m: int, r: int) -> Fraction:
    """Return the share of pairs that commute.

    (a,b) and (c,e) do if a(1 - r^e) = c(1 - r^b) modulo n, which n * gcd(n, 1 - r^e, 1 - r^b) pairs (a,c) solve.
    """
    powers = [1 % n]
    while (power := powers[-1] * r % n) != powers[0]:
        powers.append(power)
    kinds: dict[int, int] = {}
    for power in powers:
        divisor = math.gcd(n, power - 1)
        kinds[divisor] = kinds.get(divisor, 0) + m // len(powers)
    pairs = sum(i * j * math.gcd(x, y) for x, i in kinds.items() for y, j in kinds.items())
    return Fraction(pairs, n * m * m)
