"""Object code: made without a process that could run it, for kernels and what they call."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from numba import njit

from topodesign.base.lowering import compile_lazily, object_code


def made(text: str, **known: object) -> FunctionType:
    """A function of that text."""
    return FunctionType(compile(text, "code.py", "exec").co_consts[0], {"__name__": "code", **known}, "function")


def test_numba_is_left_as_it_was() -> None:
    """What else uses it in the process compiles and runs, the same parts of NumPy included."""
    function = made("def function(values): return np.cumsum(values) + 1", np=np)
    objects, code = object_code(function, (np.arange(3),))
    assert objects == (np.ndarray, np.dtype(np.int64))
    assert b"enter" in code
    usual: Any = njit(function)
    assert list(usual(np.arange(3))) == [1, 2, 4]


def test_inner_functions_are_compiled_once_for_numbers_of_all_values() -> None:
    inner = compile_lazily(made("def function(number): return number + 1"), inlined=False)
    object_code(made("def function(number): return inner(1) + inner(2) + inner(number)", inner=inner), (1,))
    assert len(inner.overloads) == 1  # type: ignore[attr-defined]
