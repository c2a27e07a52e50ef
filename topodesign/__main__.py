"""The program ``topodesign``, also as ``python -m topodesign``."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from typing import NoReturn


def start() -> None:
    """Run the program and exit; an interrupt while loading ends it in one line."""
    open_streams()
    signal.signal(signal.SIGINT, _end)
    # NumPy's linear algebra, of which there is none here, starts a thread a core, and raises an interrupt if it cannot.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(20_000, 10, 10)  # what is imported and made here stays: looking for cycles in it finds little
    atexit.register(gc.freeze)  # nor in the end, when all memory goes
    from topodesign.cli import main  # noqa: PLC0415  only now, for it takes the time
    from topodesign.cli.interrupt import Ended, listen  # noqa: PLC0415

    try:
        listen()
        main()
    except Ended as error:  # before or after the command itself
        _end(error.status - 128, None)


def open_streams() -> None:
    """Open closed standard streams, so that no file gets their numbers.

    Nothing is read from the input, errors are dropped, and what is printed fails, for an answer must not be lost.
    """
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            handle = os.open(os.devnull, mode)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if not number else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _end(number: int, _frame: object) -> NoReturn:
    os.write(2, b"topodesign: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    start()
