"""Deadlines end work wherever it is, and leave everything else as it was."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.base import progress
from topodesign.base.deadline import OutOfTime, Stopwatch, check, deadline, defer_deadline, has_passed, is_limited
from topodesign.base.progress import in_pieces, part


def spin(seconds: float = 1e9) -> None:
    """Be busy for so many seconds of a processor, which on a machine that does other things take longer."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_work_without_end_ends() -> None:
    before = signal.getsignal(signal.SIGALRM)
    start = time.monotonic()
    with pytest.raises(OutOfTime), deadline(0.05):
        spin()
    assert time.monotonic() - start >= 0.05
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert not is_limited()
    check()


def test_what_is_raised_in_its_place_is_the_end_of_the_time() -> None:
    def work() -> None:
        try:
            spin()
        except OutOfTime:
            raise TypeError("as NumPy does where it compares structured arrays") from None

    with pytest.raises(OutOfTime), deadline(0.02):
        work()
    with pytest.raises(TypeError, match="this"), deadline(60):
        raise TypeError("this")

    def fail() -> None:
        with defer_deadline():
            spin(0.05)
            raise TypeError("that")  # before anybody was notified

    with pytest.raises(TypeError, match="that"), deadline(0.02):
        fail()


def test_what_is_done_in_time_is_left_alone() -> None:
    with deadline(60):
        assert is_limited()
        assert not has_passed()
        check()
    time.sleep(0.01)


def test_time_stands_still_where_others_have_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sleeps does as little as what waits for a processor: that is no work, but not waited for without end."""
    with monkeypatch.context() as clocks:
        now, worked = [100.0], [7.0]
        clocks.setattr(sys.modules[deadline.__module__], "time", SimpleNamespace(monotonic=lambda: now[0]))
        clocks.setattr(sys.modules[deadline.__module__], "_processor_seconds", lambda: worked[0])
        watch = Stopwatch()
        for by, work, seconds in ((3, 0, 0.3), (3, 1, 1), (3, 9, 3), (50, 1, 5)):
            now[0], worked[0] = 100.0 + by, 7.0 + work
            assert watch() == pytest.approx(seconds)
    start = time.monotonic()
    with pytest.raises(OutOfTime), deadline(0.02):
        time.sleep(5)
    assert time.monotonic() - start >= 0.2


def test_work_is_that_of_threads_and_of_what_was_started() -> None:
    watch = Stopwatch()
    spin(0.1)
    threads = [threading.Thread(target=spin, args=(0.1,)) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    before = watch()
    assert before >= 0.05
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    assert watch() > before + 0.02


def test_the_earlier_of_two_deadlines_counts() -> None:
    with pytest.raises(OutOfTime), deadline(0.02), deadline(60):
        spin()
    with deadline(60):
        with pytest.raises(OutOfTime), deadline(0.02):
            time.sleep(5)
        assert not has_passed()


def test_nothing_is_raised_where_it_must_not_be() -> None:
    reached: list[bool] = []

    def work() -> None:
        spin(0.2)
        reached.append(has_passed())

    with pytest.raises(OutOfTime), deadline(0.02), defer_deadline():
        work()
    assert reached == [True]


def test_imports_are_not_torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_come.py").write_text("import time\ntime.sleep(0.3)\ndone = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OutOfTime), deadline(0.02):
        importlib.import_module("slow_to_come")
    assert sys.modules["slow_to_come"].done


def test_in_other_threads_only_those_who_ask_hear_of_it() -> None:
    heard = []

    def work() -> None:
        try:
            with deadline(0.01):
                spin(0.15)
                heard.append("slept")
        except OutOfTime:
            heard.append("over")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == ["slept", "over"]


def test_callbacks_of_the_garbage_collector_are_not_torn() -> None:
    """What is raised there is lost, so the alarm passes by and comes again."""

    class Kept:
        pass

    def spend(_reference: object) -> None:
        spin(0.05)

    code = "def remove(reference, spend=None):\n    spend(reference)\n"
    names: dict[str, Any] = {"__name__": "weakref"}
    exec(code, names)  # noqa: S102  a callback as the module's own

    def work() -> None:
        one = Kept()
        held = weakref.ref(one, lambda reference: names["remove"](reference, spend))
        del one
        assert held() is None
        spin(1)

    with pytest.raises(OutOfTime), deadline(0.02):
        work()


# -- loops in pieces: all items once, by however many threads there are, and an end when one is wanted ----------------


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
