"""Machine code for kernels, kept on disk where that is possible; imports numba, which is slow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, cast

import numba
from numba.core.caching import FunctionCache

_INSIDE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Cache(FunctionCache):
    """Numba's cache on disk, but one that cannot be read or written is one that holds nothing."""

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # noqa: BLE001  a damaged file makes unpickling and linking raise almost anything
            with contextlib.suppress(Exception):  # the next process finds it in order
                self.flush()  # type: ignore[no-untyped-call]


def compile_lazily(function: FunctionType, *, entrance: bool) -> Callable[..., object]:
    """Return a function that is compiled, or loaded from disk, on its first call.

    Parameters
    ----------
    entrance
        Whether Python is to call it. Without, it takes a third less time to compile, and is part of what calls it.
    """
    options: dict[str, Any] = {"nogil": True} if entrance else _INSIDE
    dispatcher = numba.njit(**options)(function)
    if entrance:
        with contextlib.suppress(RuntimeError):  # no folder can be written
            # what njit(cache=True) does, with another class
            dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]  # noqa: SLF001
    return cast("Callable[..., object]", dispatcher)
