"""What all compiled inner loops share: the decorator, their array types and random numbers; slow to import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Masks = NDArray[np.uint64]
LARGEST = 2**62
"""Larger than anything that is counted, and twice as much still fits into 64 bits."""
_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile a function on its first call and keep the machine code on disk."""
    return cast("_Function", numba.njit(cache=True, nogil=True)(function))


def inner(function: _Function) -> _Function:
    """Compile a function that only compiled ones call; without an entrance from Python it takes a third less time."""
    options: dict[str, Any] = {"cache": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("_Function", numba.njit(**options)(function))


@compiled
def next_random(state: Masks) -> np.uint64:
    """Return the next number of a xorshift64* generator whose state is the array's one element."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return (x * np.uint64(2685821657736338717)) >> np.uint64(11)  # type: ignore[no-any-return]
