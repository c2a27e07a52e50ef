"""Machine code for kernels, kept on disk where that is possible; imports numba, which is slow."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}
_WRAPPER = "_ZN7cpython"  # how names begin of what Python calls
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


class _Library(JITCodeLibrary):
    """The code of one function. What Python never calls is optimized where it is called from, once, not alone first."""

    def _is_entrance(self) -> bool:
        mine = (one for one in self._final_module.functions if not one.is_declaration)
        return self._shared_module is not None or any(one.name.startswith(_WRAPPER) for one in mine)

    def _optimize_final_module(self) -> None:
        if self._is_entrance():
            super()._optimize_final_module()  # type: ignore[no-untyped-call]

    def _finalize_final_module(self) -> None:
        if self._is_entrance():
            super()._finalize_final_module()  # type: ignore[no-untyped-call]
        else:  # no machine code
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True


@contextlib.contextmanager
def _sparing(codegen: Any) -> Iterator[None]:
    """Have numba make machine code of entrances only, and collect no garbage, which took a seventh of the time."""

    def set_env(name: str, env: object) -> None:
        engine = codegen._engine  # noqa: SLF001  as in what follows, numba has no other way
        if engine.get_global_value_address(name):  # else there is no machine code that has it
            type(codegen).set_env(codegen, name, env)

    with global_compiler_lock:
        if "set_env" in vars(codegen):  # within another compilation
            yield
            return
        collects = gc.isenabled()
        gc.disable()
        codegen._library_class, codegen.set_env = _Library, set_env  # noqa: SLF001
        try:
            yield
        finally:
            del codegen._library_class, codegen.set_env  # noqa: SLF001
            if collects:
                gc.enable()


class _Function(CPUDispatcher):
    """A compiled function that is compiled once for integers, not again for each literal that it is called with."""

    def compile(self, sig: Any) -> Any:
        target: Any = self.targetctx
        with _sparing(target.codegen()):
            return super().compile(sig)

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
