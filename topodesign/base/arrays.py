"""Arrays of frozen values, which no caller can change."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = TypeVar("Array", bound=NDArray[Any])


def own_array(array: Array) -> Array:
    """Return the array if it is read-only, else a read-only copy.

    The array of the caller stays as it is.

    An array counts as unchangeable if it and all arrays that it is a view of are read-only. So what was made for the
    value alone goes through :func:`seal_array` first and is not copied. (Nothing is known about writable views
    that were taken of an array before it was made read-only: who seals an array has none.)
    """
    holder: object = array
    while isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            return seal_array(array.copy())
        holder = holder.base
    return array if holder is None or isinstance(holder, bytes) else seal_array(array.copy())


def seal_array(array: Array) -> Array:
    """Make a new array read-only and return it.

    For arrays of which no writable view exists.
    """
    array.setflags(write=False)
    return array


def distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different entries of a vector, ascending.

    As ``numpy.unique``, whose hash table takes longer than sorting does once there are millions of different ones.
    """
    ordered = np.sort(values)
    found: NDArray[np.int64] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def stable_order(values: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the stable order that sorts non-negative numbers.

    As ``numpy.argsort`` with ``kind="stable"``, which is several times faster at 16 bits than at more: so, digit by
    digit of 16 bits.
    """
    order: NDArray[np.int64] = np.argsort(values.astype(np.uint16), kind="stable")
    for shift in range(16, int(values.max(initial=0)).bit_length(), 16):
        digit = (values >> shift).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def ranges(
    first: NDArray[np.int64] | int, count: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Concatenate ranges of given first values and lengths.

    Returns the range that each number belongs to, and the number.
    """
    of = np.repeat(np.arange(len(count)), count)
    return of, np.arange(len(of)) + (first - (np.cumsum(count) - count))[of]


def earlier(key: NDArray[np.integer], amount: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, for each row, the sum of earlier rows with the same key."""
    if not len(key):
        return amount
    order = np.argsort(key, kind="stable")
    total = np.cumsum(amount[order]) - amount[order]
    first = np.diff(key[order], prepend=-1) != 0
    found = np.empty_like(amount)
    found[order] = total - total[first][np.cumsum(first) - 1]
    return found
