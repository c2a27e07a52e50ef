"""Object code: made without a process that could run it, for kernels and what they call.

Apart from the tests of machine code, whose processes do without numba.
"""

from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.np import arrayobj

from topodesign.base.compiled import compile_kernel
from topodesign.base.lowering import compile_lazily, object_code


def made(text: str, **known: object) -> FunctionType:
    """A function of that text."""
    return FunctionType(compile(text, "code.py", "exec").co_consts[0], {"__name__": "code", **known}, "function")


@pytest.mark.dear
def test_numba_is_left_as_it_was() -> None:
    """What else uses it in the process compiles and runs, the same parts of NumPy included."""
    function = made("def function(values): return np.cumsum(values) + 1", np=np)
    objects, code = object_code(function, (np.arange(3),))
    assert objects == (np.ndarray, np.dtype(np.int64))
    assert b"enter" in code
    usual: Any = njit(function)
    assert list(usual(np.arange(3))) == [1, 2, 4]


def test_what_is_of_another_size_is_refused() -> None:
    """As numba does, but without its words about both shapes, whose code is large; others get those as before."""
    usual = arrayobj.raise_with_shape_context
    _, code = object_code(made("def function(into, values): into[:2] = values"), (np.arange(3), np.arange(2)))
    assert len(code) < 8000
    assert arrayobj.raise_with_shape_context is usual
    kernel = compile_kernel(made("def function(into, values): into[:2] = values"))
    for values in (1, 2):
        kernel(into := np.zeros(3, np.int64), np.full(values, 7))
        assert into.tolist() == [7, 7, 0]
    with pytest.raises(ValueError, match="of another size"):
        kernel(np.zeros(3, np.int64), np.arange(3))


def test_inner_functions_are_compiled_once_for_numbers_of_all_values() -> None:
    inner = compile_lazily(made("def function(number): return number + 1"), inlined=False)
    object_code(made("def function(number): return inner(1) + inner(2) + inner(number)", inner=inner), (1,))
    assert len(inner.overloads) == 1  # type: ignore[attr-defined]
