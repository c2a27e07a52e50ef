"""The k-element subsets of 0..n-1 and their numbers, for Kneser, odd and Johnson graphs."""

from __future__ import annotations

import itertools
import math

import numpy as np

from topodesign.topology.topology import IntArray


def subsets(n: int, k: int) -> IntArray:
    """Return all k-subsets (1 <= k <= n), ascending within a row, rows in order of :func:`rank`; shape (C(n,k), k)."""
    count = math.comb(n, k)
    flat = itertools.chain.from_iterable(itertools.combinations(range(n), k))
    rows = np.fromiter(flat, dtype=np.int64, count=count * k).reshape(count, k)
    return rows[np.argsort(rank(rows, n))]


def swap_and_turn(n: int) -> tuple[IntArray, IntArray]:
    """Return two permutations that generate all those of 0..n-1, n >= 2: 0 and 1 change places, all move on by one."""
    swap = np.arange(n)
    swap[[0, 1]] = 1, 0
    return swap, (np.arange(n) + 1) % n


def rank(rows: IntArray, n: int) -> IntArray:
    """Return the number of each subset of 0..n-1 with ascending elements: the sum of C(element i, i + 1), i = 0, ....

    The subsets of one size get the numbers from 0 on, those of smaller largest element first.
    """
    size = rows.shape[-1]
    binomials = np.array([[math.comb(element, i + 1) for i in range(size)] for element in range(n)], dtype=np.int64)
    number: IntArray = binomials[rows, np.arange(size)].sum(axis=-1)
    return number


def complements(rows: IntArray, n: int) -> IntArray:
    """Return the elements of 0..n-1 outside each row, ascending; shape (rows, n - k)."""
    outside = np.ones((len(rows), n), dtype=bool)
    np.put_along_axis(outside, rows, values=False, axis=1)
    return np.nonzero(outside)[1].reshape(len(rows), n - rows.shape[1])
