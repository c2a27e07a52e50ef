"""Deadlines: work that is given up when its time is over, wherever it is, without the program ending.

Where the system has interval timers and the work is done in the main thread, a signal ends it between two instructions
of Python, but not while a module is imported or a kernel compiled, which would be left in pieces. A solver is asked
every now and then, and nothing is raised while it runs; elsewhere nobody looks at the clock.
"""

from __future__ import annotations

import inspect
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """The time for some work is over; what set the deadline catches it."""


_WHOLE = frozenset({"numba", "llvmlite", "hypothesis"})
"""Packages of which no work is left half done; the last one's is a callback of the garbage collector, which loses what
is raised in it."""
_IMPORTS = "<frozen import"
"""How the files of Python's own imports begin."""


class _State:
    """The deadline there is, by the monotonic clock, and whether it was told; how many are undisturbed; who set it."""

    until: float | None = None
    told: bool = False
    held: int = 0
    base: FrameType | None = None


_state = _State()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Give up what is done inside after so many seconds, or at the deadline there is already if that is earlier.

    Raises
    ------
    OutOfTime
        When they are over.

    Examples
    --------
    >>> try:
    ...     with deadline(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTime:
    ...     print("over")
    over
    """
    earlier, base = _state.until, _state.base
    _state.base = _caller()
    until = time.monotonic() + seconds
    _state.until = until if earlier is None else min(earlier, until)
    alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, _heard) if alarms else None
    try:
        if alarms:
            _set_alarm(_state.until)
        yield
        check()
    except Exception as error:
        if _state.told and passed():  # code that is not Python's may raise something else in its place
            raise OutOfTime from error
        raise
    finally:
        _state.until, _state.base, _state.told = earlier, base, False
        if alarms:
            _set_alarm(earlier)
            signal.signal(signal.SIGALRM, before)


def passed() -> bool:
    """Return whether there is a deadline and it has passed."""
    return _state.until is not None and time.monotonic() >= _state.until


def limited() -> bool:
    """Return whether there is a deadline."""
    return _state.until is not None


def check() -> None:
    """Raise OutOfTime if a deadline has passed."""
    if passed():
        _state.told = True
        raise OutOfTime


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let nothing be raised inside, where it would go through code that is not Python's; it is when that has ended."""
    _state.held += 1
    try:
        yield
    finally:
        _state.held -= 1
    check()


def _caller() -> FrameType | None:
    """Return the frame of who sets a deadline."""
    frame = inspect.currentframe()
    for _ in range(3):  # this function, the context manager, and what enters it
        frame = None if frame is None else frame.f_back
    return frame


def _heard(_number: int, frame: FrameType | None) -> None:
    while frame is not None and frame is not _state.base:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _WHOLE or frame.f_code.co_filename.startswith(_IMPORTS):
            return  # the signal comes again
        frame = frame.f_back
    if not _state.held:
        check()


def _set_alarm(until: float | None) -> None:
    """Have the signal sent at a time, and again and again until somebody has heard it."""
    if until is None:
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 1e-6), 0.1)
