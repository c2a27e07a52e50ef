"""Deadlines: work that ends when its time is over.

Where the system has interval timers and the work is done in the main thread, a signal ends it between two instructions
of Python, but not while a module is imported or a kernel compiled, which would be left in pieces. A solver is asked
every now and then, and nothing is raised while it runs; elsewhere nobody looks at the clock.

What counts is work, as a :class:`Stopwatch` has it: where others have the processors, time stands still, so that what
is found in the time depends little on what else the machine does.
"""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple


class OutOfTime(BaseException):
    """The time for some work is over.

    The caller that set the deadline catches it.
    """


_WHOLE = frozenset({"numba", "llvmlite", "hypothesis", "weakref", "_weakrefset"})
"""Modules of which no work is left half done; the last three have callbacks of the garbage collector, which loses what
is raised in them."""
_IMPORTS = "<frozen import"  # how the files of Python's own imports begin


_PATIENCE = 10
"""How many times as long as the work it takes may be waited for: a machine that does little else gives up then."""


class Stopwatch:
    """Seconds of work since it was made, when called.

    That is the processor time of this process and of others that it started and that have ended, but no more than the
    time that has passed, as threads at work side by side would have it, and no less than a tenth of that.

    Examples
    --------
    >>> watch = Stopwatch()
    >>> time.sleep(0.1)
    >>> watch() < 0.05
    True
    """

    def __init__(self) -> None:
        self._begun, self._worked = time.monotonic(), _processor_seconds()

    def __call__(self) -> float:
        """Return the seconds."""
        passed_by = time.monotonic() - self._begun
        return max(min(_processor_seconds() - self._worked, passed_by), passed_by / _PATIENCE)


def _processor_seconds() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


class _Limit(NamedTuple):
    """So many seconds on a stopwatch."""

    watch: Stopwatch
    seconds: float

    @property
    def left(self) -> float:
        return self.seconds - self.watch()


class _State:
    """The deadlines, those announced, undisturbed blocks and the last frame."""

    limits: tuple[_Limit, ...] = ()
    told: bool = False
    held: int = 0
    base: FrameType | None = None


_state = _State()


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Stop the work inside after some seconds, or at an outer deadline.

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
    earlier, base = _state.limits, _state.base
    _state.base = _caller()
    _state.limits = (*earlier, _Limit(Stopwatch(), seconds))
    alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, _heard) if alarms else None
    try:
        if alarms:
            _set_alarm(_state.limits)
        yield
        check()
    except Exception as error:
        if _state.told and has_passed():  # code that is not Python's may raise something else in its place
            raise OutOfTime from error
        raise
    finally:
        _state.limits, _state.base, _state.told = earlier, base, False
        if alarms:
            _set_alarm(earlier)
            signal.signal(signal.SIGALRM, before)


def has_passed() -> bool:
    """Return whether there is a deadline and it has passed."""
    return any(limit.left <= 0 for limit in _state.limits)


def is_limited() -> bool:
    """Return whether there is a deadline."""
    return bool(_state.limits)


def check() -> None:
    """Raise OutOfTime if a deadline has passed."""
    if has_passed():
        _state.told = True
        raise OutOfTime


@contextmanager
def defer_deadline() -> Iterator[None]:
    """Raise nothing inside a block; a deadline is raised after it.

    For code that is not Python's, which an exception must not cross.
    """
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


def _set_alarm(limits: tuple[_Limit, ...]) -> None:
    """Set the alarm for the earliest deadline."""
    if not limits:
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        signal.setitimer(signal.ITIMER_REAL, max(min(limit.left for limit in limits), 1e-6), 0.1)
