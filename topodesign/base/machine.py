"""Machine code for kernels, kept on disk where that is possible; imports numba, which is slow."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.registry import CPUDispatcher

_BLAS = "scipy.linalg.cython_blas"
"""What numba looks for when it first compiles: scipy's linear algebra takes as long to load as all else, and no kernel
needs it. Where others compile in the same process it is found when they use it, but for convolutions, slower then."""

with contextlib.suppress(ImportError):
    absent = sys.modules.setdefault(_BLAS, None) is None  # type: ignore[arg-type]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        if absent:
            del sys.modules[_BLAS]

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

    @property
    def is_kept(self) -> bool:
        """Whether there is a file of machine code, of this version of the function or of an earlier one."""
        return (Path(self.cache_path) / f"{self._impl.filename_base}.nbi").is_file()


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


def is_kept(function: FunctionType) -> bool:
    """Whether there is machine code of a function on disk."""
    with contextlib.suppress(RuntimeError):  # no folder can be written
        return _Cache(function).is_kept  # type: ignore[no-untyped-call]
    return False
