"""Integer powers, roots and binomials, limited to buildable sizes."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.topology.topology import MAX_LINKS, IntArray


def make_sizes(holds: bool, *arguments: int) -> tuple[tuple[int, ...], ...]:
    """Return the only arguments of a size, or none."""
    return (arguments,) if holds else ()


def power(base: int, exponent: int) -> int:
    """Return base^exponent (base >= 1, exponent >= 0)."""
    value = 1
    for _ in range(exponent if base > 1 else 0):
        value *= base
        if value > MAX_LINKS:
            raise TooLargeError(f"{base}^{exponent} is too large to build (at most {MAX_LINKS} links)")
    return value


def binomial(n: int, k: int) -> int:
    """Return the number of k-element subsets of n elements (0 <= k <= n)."""
    value = 1
    for i in range(min(k, n - k)):
        value = value * (n - i) // (i + 1)
        if value > MAX_LINKS:
            raise TooLargeError(f"the {k}-subsets of {n} elements are too many to build (at most {MAX_LINKS} links)")
    return value


def integer_root(value: int, exponent: int) -> int:
    """Return the integer part of a root (value >= 0, exponent >= 1)."""
    above = 1 << (value.bit_length() // exponent + 1)
    return bisect_right(range(above), value, key=lambda root: root**exponent) - 1


def subsets(n: int, k: int) -> IntArray:
    """Return all k-subsets (1 <= k <= n), ascending; shape (C(n,k), k).

    Rows are in order of :func:`rank`.
    """
    count = math.comb(n, k)
    flat = itertools.chain.from_iterable(itertools.combinations(range(n), k))
    rows = np.fromiter(flat, dtype=np.int64, count=count * k).reshape(count, k)
    return rows[np.argsort(rank(rows, n))]


def swap_and_turn(n: int) -> tuple[IntArray, IntArray]:
    """Return two generators of the permutations of 0..n-1: swap and rotation.

    For n >= 2.
    """
    swap = np.arange(n)
    swap[[0, 1]] = 1, 0
    return swap, (np.arange(n) + 1) % n


def rank(rows: IntArray, n: int) -> IntArray:
    """Return the rank of ascending subsets of 0..n-1.

    The sum of C(element i, i + 1), i = 0, ....

    The subsets of one size get the numbers from 0 on, those of smaller largest element first.
    """
    size = rows.shape[-1]
    binomials = np.array([[math.comb(element, i + 1) for i in range(size)] for element in range(n)], dtype=np.int64)
    number: IntArray = binomials[rows, np.arange(size)].sum(axis=-1)
    return number


def complements(rows: IntArray, n: int) -> IntArray:
    """Return the complements of rows in 0..n-1, ascending; shape (rows, n - k)."""
    outside = np.ones((len(rows), n), dtype=bool)
    np.put_along_axis(outside, rows, values=False, axis=1)
    return np.nonzero(outside)[1].reshape(len(rows), n - rows.shape[1])
