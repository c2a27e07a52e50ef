"""The limit of memory, and estimates that are above what is really taken."""

from __future__ import annotations

import signal
import threading
import tracemalloc
from contextlib import suppress
from multiprocessing import get_context

import pytest

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.memory import DEFAULT, VARIABLE, check_memory, memory_limit
from topodesign.base.processes import check_threads, end_with_parent
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import LARGEST_YAML, csv_rows, parse_yaml
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import PROFILES


def test_the_limit_and_how_to_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert memory_limit() == DEFAULT
    check_memory(DEFAULT, "this")
    with pytest.raises(FileFormatError, match=f"this would need about 4.5GiB .* limit is 4GiB; set {VARIABLE}"):
        check_memory(DEFAULT * 9 // 8, "this")
    monkeypatch.setenv(VARIABLE, "5GiB")
    check_memory(DEFAULT * 9 // 8, "this")
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(ParameterError, match=VARIABLE):
        memory_limit()


@pytest.mark.parametrize(
    "text",
    [
        "[" + ",".join(["[1000,2000,1]"] * 20_000) + "]",
        "[" + ",".join(["[]"] * 50_000) + "]",
        "[" + ",".join(["{}"] * 50_000) + "]",
        "[" + ",".join(['{"a":"b"}'] * 30_000) + "]",
        "[" + ",".join(str(10**6 + i) for i in range(50_000)) + "]",
        "[" + ",".join(f'"{i}"' for i in range(50_000)) + "]",
    ],
)
def test_the_estimate_of_json_is_no_less_than_it_takes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tracemalloc.start()
    value = parse_json(text)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert value
    monkeypatch.setenv(VARIABLE, f"{taken - taken // 8}B")
    with pytest.raises(FileFormatError, match="bytes of JSON would need about"):
        parse_json(text)


def test_yaml_and_csv_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileFormatError, match="larger files can be JSON"):
        parse_yaml("#" * (LARGEST_YAML + 1))
    monkeypatch.setenv(VARIABLE, "1kB")
    with pytest.raises(FileFormatError, match="letters of YAML would need"):
        parse_yaml("a: b\n" * 100)
    with pytest.raises(FileFormatError, match="letters of CSV would need"):
        list(csv_rows("a,b\n" * 100))


STEP = '<step s="{}" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>'
HEAD = (
    '<algo name="a" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0"'
    ' outofplace="1" minBytes="0" maxBytes="1048576">'
)


@pytest.mark.parametrize(
    "inside",
    [
        "".join(STEP.format(number) for number in range(5000)),
        "<x/>" * 20_000,
        "<step>" * 20_000,
        "<step " + " ".join(f'a{number}="{number}"' for number in range(50_000)) + "/>",
        "<!-- x -->" * 20_000,
        "\n" * 100_000,
    ],
)
def test_the_estimate_of_programs_is_no_less_than_they_take(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        f'{HEAD}<gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="1" recv="-1" chan="0">{inside}'
        '</tb></gpu><gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0"/></algo>'
    )
    tracemalloc.start()
    with suppress(FileFormatError):
        parse_xml(text, PROFILES["msccl"])
    _, taken = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    monkeypatch.setenv(VARIABLE, f"{taken - taken // 8}B")
    with pytest.raises(FileFormatError, match="characters of XML would need about"):
        parse_xml(text, PROFILES["msccl"])


# -- Processes that others start


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
