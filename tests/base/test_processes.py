"""Processes that others start."""

from __future__ import annotations

import signal
import threading
from multiprocessing import get_context

import pytest

from topodesign.base.processes import check_threads, end_with_parent


def test_without_threads_no_processes_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    check_threads()

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="new thread"):
        check_threads()


def test_the_process_that_starts_others_waits_for_no_parent() -> None:
    before = signal.getsignal(signal.SIGINT)
    end_with_parent()
    assert signal.getsignal(signal.SIGINT) is before
    assert get_context("spawn").parent_process() is None
