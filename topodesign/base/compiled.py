"""Inner loops in two tiers: plain Python, then machine code.

Machine code is used once there is enough work for compiling to pay.

A kernel is written once, in the part of Python and NumPy that numba compiles. Importing it costs nothing. Called with
little work it runs as it stands; when that has taken it as long as its patience, it is compiled, and from then on only
the machine code runs. Machine code that is on disk is loaded as soon as plain Python has taken as long as that takes,
without numba, which is imported to compile alone. So small questions are answered before anything is loaded, and large
ones at full speed. Both tiers do the same integer arithmetic and return the same numbers; tests hold one against the
other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property, update_wrapper
from types import CodeType, FunctionType
from typing import Generic, ParamSpec, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from topodesign.base.machine import Entrance

Ints = NDArray[np.int64]
Masks = NDArray[np.uint64]
LARGEST = 2**62  # larger than anything that is counted, and twice as much still fits into 64 bits

PATIENCE = 0.3  # seconds that each kernel may take in plain Python before it is compiled, which takes a second or more
_LOADING = 0.03  # and before its machine code is loaded, where that is on disk
_SHORT = 0.003  # and where other machine code is loaded already
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_entrances: dict[str, Entrance] = {}  # the kernels that this process has called as machine code


class Kernel(Generic[_Arguments, _Result]):
    """A function of numbers and arrays, run as Python or machine code.

    It does not call itself.
    """

    def __init__(
        self, function: Callable[_Arguments, _Result], work: Callable[..., int] | None, *, inlined: bool = False
    ) -> None:
        self._source = cast("FunctionType", function)
        self._work, self._inlined = work, inlined
        self._spent = 0.0
        self._machine: Callable[_Arguments, _Result] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        """Run it, in the tier that pays."""
        if self._machine is None:
            if self._work is not None and self._waits(self._spent + self._work(*args, **named) * 1e-6):
                return self.plain(*args, **named)
            self._machine = self.machine
        return self._machine(*args, **named)

    def _waits(self, seconds: float) -> bool:
        """Return whether plain Python takes less time than getting machine code."""
        return seconds < PATIENCE and (seconds < (_SHORT if _entrances else _LOADING) or not self._kept)

    @cached_property
    def _kept(self) -> bool:
        """Whether its machine code is on disk."""
        return self._entrance.is_kept

    def plain(self, *args: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        """Run it as plain Python, whatever the work."""
        start = time.thread_time()
        with np.errstate(over="ignore"):  # the random generator's numbers wrap round, as in machine code
            result = cast("_Result", _unbox(self._interpreted(*args, **named)))
        self._spent += time.thread_time() - start
        return result

    @property
    def tiered(self) -> bool:
        """Whether it ever runs as plain Python unless told."""
        return self._work is not None

    @cached_property
    def machine(self) -> Callable[_Arguments, _Result]:
        """The function as machine code.

        Compiled when first called unless it is on disk.
        """
        _entrances[f"{self.__module__}.{self._source.__name__}"] = self._entrance
        return cast("Callable[_Arguments, _Result]", self._entrance)

    @cached_property
    def _entrance(self) -> Entrance:
        return Entrance(self._source, repr(self.made_of), lambda: self._link("_nested"))

    @cached_property
    def _nested(self) -> object:
        """The function compiled for other compiled ones to call."""
        from topodesign.base.lowering import compile_lazily  # noqa: PLC0415  numba is heavy

        return compile_lazily(self._link("_nested"), inlined=self._inlined)

    @cached_property
    def made_of(self) -> tuple[object, ...]:
        """The inputs of the machine code: instructions, constants, and used kernels."""
        code, known = self._source.__code__, self._source.__globals__
        used = [(name, _decisive(known[name])) for name in code.co_names if name in known]
        return self._inlined, _instructions(code), self._source.__defaults__, used

    @cached_property
    def _interpreted(self) -> FunctionType:
        return self._link("_interpreted")

    def _link(self, tier: str) -> FunctionType:
        """Return the function with its kernels replaced by those of a tier."""
        source = self._source
        known = dict(source.__globals__)
        for name in source.__code__.co_names:
            if isinstance(known.get(name), Kernel):
                known[name] = getattr(known[name], tier)
        linked = FunctionType(source.__code__, known, source.__name__, source.__defaults__)
        linked.__qualname__ = source.__qualname__
        return linked


def compile_kernel(function: Callable[_Arguments, _Result]) -> Kernel[_Arguments, _Result]:
    """Make a function a kernel that is compiled on its first call.

    Also for functions that only other kernels call.
    """
    return Kernel(function, None)


def inline_kernel(function: Callable[_Arguments, _Result]) -> Kernel[_Arguments, _Result]:
    """Make a function a kernel that is inlined in its callers.

    For short work with many arguments.
    """
    return Kernel(function, None, inlined=True)


def tier_kernel(work: Callable[..., int]) -> Callable[[Callable[_Arguments, _Result]], Kernel[_Arguments, _Result]]:
    """Make a function a kernel that starts in plain Python.

    It becomes machine code after more work than its patience.
    """
    return lambda function: Kernel(function, work)


def machine_code() -> dict[str, tuple[bool, str | None]]:
    """Return the kernels that ran as machine code, and their folder.

    The value is True if this process compiled the kernel.
    """
    return {name: (one.compiled, one.folder) for name, one in _entrances.items()}


def _instructions(code: CodeType) -> tuple[object, ...]:
    """Return what a function does, without where it is written."""
    constants = [_instructions(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount


def _decisive(value: object) -> object:
    """Return the parts of a value that machine code depends on."""
    if isinstance(value, Kernel):
        return value.made_of
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, bool | int | float | str | tuple | np.generic):
        return value
    return getattr(value, "__qualname__", type(value).__name__), getattr(value, "_fields", ())


def _unbox(result: object) -> object:
    """Convert NumPy scalars to Python numbers, as machine code does."""
    if isinstance(result, np.generic):
        return result.item()
    if type(result) is tuple:
        return tuple(map(_unbox, result))
    return result


@compile_kernel
def next_random(state: Masks) -> np.uint64:
    """Return the next number of a xorshift64* generator.

    The state is the one element of the array.
    """
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return (x * np.uint64(2685821657736338717)) >> np.uint64(11)  # type: ignore[no-any-return]


@compile_kernel
def sort(values: Ints, bits: int) -> None:
    """Sort integers of a number of bits in place.

    None is negative except by the 64th bit; compiles faster than NumPy's sort.
    """
    spare, start = np.empty_like(values), np.empty(17, np.int64)
    for shift in range(0, bits, 4):
        start[:] = 0
        for value in values:
            start[(value >> shift & 15) + 1] += 1
        for i in range(16):
            start[i + 1] += start[i]
        for i in range(len(values)):
            spare[i] = values[i]
        for value in spare:
            digit = value >> shift & 15
            values[start[digit]] = value
            start[digit] += 1


@compile_kernel
def find(value: int | np.uint64, values: Ints | Masks) -> int:
    """Return the position of a value in a sorted array that contains it once."""
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
