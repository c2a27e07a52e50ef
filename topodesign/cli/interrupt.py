"""Interrupts that reach the program everywhere, also in compiled code.

Python hears a signal between two of its own instructions, and there are none while a kernel or a solver runs. So a
thread waits for signals beside it. It leaves the main thread a moment to hear one itself, for then it ends in order; if
it does not, the thread removes unfinished outputs and ends the program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

from topodesign.base.atomic import clear_unfinished

PATIENCE = 0.3  # seconds that the main thread has to hear a signal
_TO_END = 0.5  # seconds that it has to end in order then
_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)  # the last two where there are terminals
_told = threading.Event()
_heard: set[int] = set()


class Ended(BaseException):
    """A signal ended the program.

    * ``status``: its exit status: 128 and the number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.status = 128 + number


@contextlib.contextmanager
def in_order() -> Iterator[None]:
    """Raise Ended for any error that follows a signal.

    Libraries replace the error that a signal raises by their own.
    """
    try:
        yield
    except Exception as error:
        if not _heard:
            raise
        raise Ended(min(_heard)) from error


def will_tell() -> None:
    """Note that the main thread says that the program was interrupted."""
    _told.set()


def listen() -> None:
    """Make signals end the program within half a second.

    In order where it can hear them.

    Without a second thread to be had they are heard when the kernel that runs has ended.
    """
    heard = threading.Event()

    def hear(number: int, _frame: FrameType | None) -> NoReturn:
        heard.set()
        _heard.add(number)
        raise Ended(number)

    def unraisable(about: sys.UnraisableHookArgs) -> None:
        if about.exc_type is not Ended:  # heard where Python drops it, so that the thread ends the program
            sys.__unraisablehook__(about)

    sys.unraisablehook = unraisable
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as of what nohup starts
            signal.signal(number, hear)
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    with contextlib.suppress(RuntimeError):
        threading.Thread(target=_watch, args=(read, heard), daemon=True, name="signals").start()


def _watch(read: int, heard: threading.Event) -> None:
    while True:
        number = os.read(read, 1)[0]
        if number in _SIGNALS and signal.getsignal(number) is not signal.SIG_IGN:
            break
    if heard.wait(PATIENCE):
        threading.Event().wait(_TO_END)
    clear_unfinished()
    if os.isatty(2):  # a bar hides the cursor
        with contextlib.suppress(OSError):
            os.write(2, b"\r\x1b[K\x1b[?25h")
    if not _told.is_set():
        with contextlib.suppress(OSError):
            os.write(2, b"topodesign: interrupted\n")
    os._exit(128 + number)
