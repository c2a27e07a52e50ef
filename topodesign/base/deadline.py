"""Deadlines: work that is given up when its time is over, wherever it is, without the program ending.

Where the system has interval timers and the work is done in the main thread, a signal ends it between two instructions
of Python. A solver is asked every now and then, and nothing is raised while it runs; elsewhere nobody looks at the
clock.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """The time for some work is over; what set the deadline catches it."""


class _State:
    """The deadline there is, by the monotonic clock, and how many ask not to be disturbed."""

    until: float | None = None
    held: int = 0


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
    earlier = _state.until
    until = time.monotonic() + seconds
    _state.until = until if earlier is None else min(earlier, until)
    alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, _heard) if alarms else None
    try:
        if alarms:
            _set_alarm(_state.until)
        yield
        check()
    finally:
        _state.until = earlier
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


def _heard(_number: int, _frame: FrameType | None) -> None:
    if not _state.held:
        check()


def _set_alarm(until: float | None) -> None:
    """Have the signal sent at a time, and again and again until somebody has heard it."""
    if until is None:
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        signal.setitimer(signal.ITIMER_REAL, max(until - time.monotonic(), 1e-6), 0.1)
