"""Worker processes: their threads, and their end with their parent."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading


def check_threads() -> None:
    """Raise RuntimeError if no thread can be started.

    Before any process waits for one.
    """
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def end_with_parent() -> None:
    """End this pool process when the one that started it is gone.

    An interrupt of the keyboard goes to both; what becomes of it is the parent's business.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
