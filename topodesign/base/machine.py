"""Machine code for kernels, kept on disk where that is possible; imports numba, which is slow."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}
_INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _Cache(FunctionCache):
    """Numba's cache on disk, but one that cannot be read or written is one that holds nothing."""

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # noqa: BLE001  a damaged file makes unpickling and linking raise almost anything
            with contextlib.suppress(Exception):  # the next process finds it in order
                self.flush()  # type: ignore[no-untyped-call]


class _Function(CPUDispatcher):
    """A compiled function that is compiled once for integers, not again for each literal that it is called with."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)

    def enable_caching(self) -> None:
        with contextlib.suppress(RuntimeError):  # no folder can be written
            self._cache = _Cache(self.py_func)  # type: ignore[no-untyped-call]


def compile_lazily(function: FunctionType, *, entrance: bool, inlined: bool = False) -> Callable[..., object]:
    """Return a function that is compiled, or loaded from disk, on its first call."""
    if entrance:
        compiled = _Function(function, targetoptions=_OPTIONS)
        compiled.enable_caching()
        return compiled
    return _Function(function, targetoptions=_OPTIONS | _INSIDE | {"forceinline": inlined})
