"""Loops in pieces: all items once, by however many threads there are, and an end when one is wanted."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base import progress
from topodesign.base.progress import in_pieces, part


@given(st.integers(0, 300), st.integers(1, 50), st.integers(1, 4))
def test_every_item_is_done_once(total: int, first: int, workers: int) -> None:
    done = [0] * total
    shares: list[float] = []

    def work(_worker: int, begin: int, end: int) -> None:
        assert begin < end
        for item in range(begin, end):
            done[item] += 1

    in_pieces(total, work, first=first, workers=workers, progress=shares.append)
    assert done == [1] * total
    assert shares == sorted(shares)
    assert all(0 < share <= 1 for share in shares)


def test_pieces_become_as_long_as_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    now, sizes = [0.0], list[int]()
    monkeypatch.setattr(progress, "SECONDS", 0.01)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def work(_worker: int, begin: int, end: int) -> None:
        sizes.append(end - begin)
        now[0] += (end - begin) * 1e-4

    in_pieces(3000, work, first=1)
    assert sizes[0] == 1
    assert 10 < max(sizes) <= 100
    in_pieces(1000, work, first=1000)
    assert sizes[-1] == 1000


@pytest.mark.parametrize("fails", [0, 1])
def test_an_error_of_any_thread_is_raised_after_all_have_ended(fails: int) -> None:
    before = threading.active_count()
    both = threading.Barrier(2)

    def work(worker: int, begin: int, _end: int) -> None:
        if begin < 2:
            both.wait(600)
        time.sleep(0.01)
        if worker == fails:
            raise ValueError(worker)

    with pytest.raises(ValueError, match=str(fails)):
        in_pieces(10**6, work, first=1, workers=2)
    assert threading.active_count() == before


def test_progress_may_end_it() -> None:
    def told(share: float) -> None:
        raise KeyboardInterrupt(share)

    with pytest.raises(KeyboardInterrupt):
        in_pieces(10**6, lambda _, begin, end: time.sleep((end - begin) * 1e-3), first=1, workers=3, progress=told)


def test_without_threads_this_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done: list[int] = []
    in_pieces(100, lambda worker, begin, end: done.extend([worker] * (end - begin)), first=7, workers=4)
    assert done == [0] * 100


def test_parts_of_progress() -> None:
    shares: list[float] = []
    inner = part(part(shares.append, 0.5, 1.0), 0.0, 0.5)
    assert inner is not None
    for share in (0.0, 0.5, 1.0):
        inner(share)
    assert shares == [0.5, 0.625, 0.75]
    assert part(None, 0, 1) is None
