"""The doctor reads logs: what was loaded, what ran, what was in the way, and what to do."""

from __future__ import annotations

import json
import random
import re
import string
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples import logs
from tests.samples.logs import call, info, plus, trace, warn
from topodesign import compile_phases, reconfigure
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.compiler.compilation import compile_plan
from topodesign.runtime.calls import About, about_program
from topodesign.runtime.diagnosis import Diagnosis
from topodesign.runtime.doctor import LONGEST_LINE, diagnose, doctor
from topodesign.runtime.manifest import MANIFEST, Manifest, read_manifest
from topodesign.runtime.msccl.profiles import PROFILES
from topodesign.runtime.rules import COMMITS, SIGNS, runtime_rules
from topodesign.schedulers.scheduling import schedule

ABOUT = About("ours", "allreduce", 12, chunks=12, inplace=True, outofplace=False, smallest=1024, largest=2**26)
THREE = 12 * 2**18  # elements


def of(text: str, about: About | None = ABOUT) -> Diagnosis:
    return diagnose(text.splitlines(), about)


# -- verdicts -------------------------------------------------------------------------------------------------------


def test_executor_says_what_ran() -> None:
    ran = of(logs.EXECUTOR + 20 * logs.EXECUTOR_RAN)
    assert (ran.verdict, ran.runtime, ran.calls[0].count) == ("ran", "msccl-executor", 20)
    part = of(logs.EXECUTOR + logs.EXECUTOR_RAN + info(call(count=THREE)))
    assert part.verdict == "ran for some calls"
    none = of(logs.EXECUTOR + info(call(count=THREE)) + info("AllReduce: 12582912 Bytes -> Algo 1 proto 2 time 3.1"))
    assert none.verdict == "ran nothing"
    assert [one.by for one in none.calls] == ["built-in"]
    assert of(logs.EXECUTOR).verdict == "loaded"


def test_rccl_says_what_ran() -> None:
    ran = of(logs.RCCL + 3 * info(call("mscclFuncAllReduce", THREE) + " task 0 globalrank 0"))
    assert (ran.verdict, ran.runtime) == ("ran", "rccl")
    assert [(one.collective, one.size, one.count) for one in ran.calls] == [("allreduce", 4 * THREE, 3)]
    none = of(logs.RCCL + info(call(count=THREE)))
    assert none.verdict == "ran nothing"
    assert "RCCL_MSCCL_FORCE_ENABLE=1" in str(none)
    plus_ran = of(logs.RCCL + info(call("mscclpp_ncclAllReduce", THREE)))
    assert "RCCL_MSCCLPP_ENABLE=0" in str(plus_ran)


def test_msccl_says_it_with_tracing_only() -> None:
    silent = of(logs.MSCCL + logs.ALGO + info(call(count=THREE)))
    assert silent.verdict == "loaded"
    assert "TRACE=1" in str(silent)
    ran = of(logs.MSCCL + logs.ALGO + info(call(count=THREE)) + trace("12582912 Bytes -> Algo 2 proto 2 time 0.000000"))
    assert ran.verdict == "ran"
    ring = of(
        logs.MSCCL + logs.ALGO + info(call(count=THREE)) + trace("12582912 Bytes -> Algo 1 proto 2 time 9.100000")
    )
    assert [one.by for one in ring.calls] == ["built-in"]
    for wrong in ("", info("NCCL_ALGO set by environment to RING")):
        assert "set NCCL_ALGO=MSCCL,RING,TREE" in str(of(logs.MSCCL + wrong))
    assert of(logs.MSCCL + wrong).verdict == "ran nothing"


def test_the_rule_says_what_ran_where_the_log_does_not() -> None:
    calls = [info(call(count=count)) for count in (THREE, THREE, THREE + 1)]
    found = diagnose(
        (logs.MSCCL + logs.ALGO + "".join(calls)).splitlines(), replace(ABOUT, inplace=True, outofplace=True)
    )
    assert "NCCL_ALGO lets it run: by the rule of msccl it runs 2 of 3 calls" in str(found)


def test_number_two_is_something_else_elsewhere() -> None:
    """In other libraries of NCCL algorithm 2 is CollNet."""
    plain = of(logs.NOISE + info(call(count=THREE)) + trace("12582912 Bytes -> Algo 2 proto 2 time 1.000000"))
    assert plain.verdict == "not loaded"
    assert [one.by for one in plain.calls] == ["built-in"]


def test_mscclpp_says_what_ran() -> None:
    start = plus("Starting execution with plan: ours, collective: allreduce", subsystem="EXEC")
    ran = of(logs.PLUS + logs.PLUS_CALL + start)
    assert (ran.verdict, ran.runtime, ran.calls[0].size, ran.calls[0].inplace) == ("ran", "mscclpp", 2**20, True)
    other = of(logs.PLUS + logs.PLUS_CALL + start.replace("ours", "theirs"))
    assert [one.by for one in other.calls] == ["another program"]
    assert not other.ok
    own = plus("default_allreduce_packet context cache MISS (creating new context, this triggers)", subsystem="ALGO")
    built = of(logs.PLUS + logs.PLUS_CALL + own)
    assert [one.by for one in built.calls] == ["built-in"]
    assert "default_allreduce_packet ran a call" in str(built)
    fallen = of(logs.PLUS + logs.PLUS_CALL + plus("Multi-node collective not yet supported, fallback to nccl/rccl"))
    assert "over several nodes" in str(fallen)
    assert fallen.verdict == "not loaded"


def test_lines_of_plans_alone_are_not_told_of_xml() -> None:
    """Of both forms: those of MSCCLPP_LOG_LEVEL (logger.hpp:202) and of MSCCLPP_DEBUG (debug.cc:195)."""
    for line in (plus("Initializing NCCL communicator for rank 0, world_size=12"), "h:1:2 [0] MSCCLPP INFO started\n"):
        found = of(line)
        assert (found.verdict, found.runtime) == ("not loaded", "mscclpp")
        assert "Python or C++ interface" in str(found)
        assert "MSCCL_XML_FILES" not in str(found)
    assert "MSCCL_XML_FILES" in str(of(logs.NOISE))


def test_lines_of_tuning_are_calls() -> None:
    """They show what ran a call, and may be its only lines: rank 0 prints them, other lines need COLL."""
    tuned = info("805306368 Bytes -> Algo 1 proto 2 time 9.1")
    found = of(logs.NOISE + 3 * tuned, None)
    assert [(one.size, one.by, one.count) for one in found.calls] == [(805306368, "built-in", 3)]
    assert "3 calls of 805306368 bytes: a built-in algorithm" in str(found)
    named = info("AllReduce: 96 Bytes -> Algo 1 proto 2 time 9.1")
    traced = named + trace("96 Bytes -> Algo 1 proto 2 time 9.1")
    assert [(one.collective, one.count) for one in of(2 * traced).calls] == [("allreduce", 2)]
    with_call = info(call(count=THREE)) + tuned + tuned
    assert sum(one.count for one in of(logs.NOISE + with_call).calls) == 1
    assert of(logs.MSCCL + logs.ALGO + tuned).verdict == "ran nothing"
    part = info("AllGather: 96 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}")
    assert [one.size for one in of(part).calls] == [None]  # of a rank, and the line does not say how many there are


def test_processes_do_not_mix() -> None:
    """The process that made a call reports what ran it."""
    start = plus("Starting execution with plan: ours, collective: allreduce", subsystem="EXEC", pid=98)
    first = logs.PLUS_CALL + logs.PLUS_CALL.replace("MSCCLPP 99", "MSCCLPP 98") + start
    found = of(logs.PLUS + first)
    assert sorted((one.by, one.count) for one in found.calls) == [("", 1), ("program", 1)]


def test_nothing_about_programs() -> None:
    assert of(logs.NOISE).verdict == "not loaded"
    assert "MSCCL_XML_FILES" in str(of(logs.NOISE))
    for text in ("", "hello\nworld", "step 1: 100 Bytes"):
        assert of(text).verdict == "no log"
    assert "NCCL_DEBUG=INFO" in str(of(""))
    assert "NCCL_MSCCL_ENABLE is 0" in str(of(logs.EXECUTOR + info("NCCL_MSCCL_ENABLE set by environment to 0.")))


# -- reasons --------------------------------------------------------------------------------------------------------

REASONS: dict[str, dict[str, Any]] = {
    "it is for 12 ranks, and these are 8": {"ranks": 8},
    "it is for calls in place": {"recv": 0x7F0000100000},
    "it is for 1024 bytes and more": {"count": 12},
    "it is for at most 67108864 bytes": {"count": 12 * 2**21},
    "its 262145 elements are no multiple of the 12 chunks of the program; compile with --size": {"count": 2**18 + 1},
    "programs add, multiply, or take the smaller or larger": {"op": 4, "count": THREE},
    "it is an allreduce": {"name": "Broadcast", "count": THREE},
}


@pytest.mark.parametrize("reason", REASONS)
def test_each_call_is_held_against_the_program(reason: str) -> None:
    found = of(logs.EXECUTOR + info(call(**REASONS[reason])))
    assert [one.why for one in found.calls] == [reason]
    assert found.verdict == "ran nothing"
    assert reason in str(found)


def test_in_place_is_as_runtimes_see_it() -> None:
    gather = replace(ABOUT, collective="allgather")
    for rank in range(12):
        line = info(call("AllGather", 2**18, send=0x7F0000000000 + rank * 2**20))
        (one,) = of(logs.EXECUTOR + line, gather).calls
        assert (one.inplace, one.size) == (True, 12 * 2**20)
    (one,) = of(logs.EXECUTOR + info(call("AllGather", 2**18, send=0x7F0000000000 + 12 * 2**20)), gather).calls
    assert one.inplace is False
    (one,) = of(logs.EXECUTOR + info(call("ReduceScatter", 2**18, recv=0x7F0000000000 + 2**20)), None).calls
    assert one.inplace is True


TROUBLE = {
    "MSCCL: ngpus set in the MSCCL algo (8) doesn't match the communicator ngpus (12)": "is for 8 ranks, and the",
    "MSCCL: collective type reducescatter is not supported.": "another word for the collective",
    "MSCCL: unsupported collective: reduce_scatter": "another word for the collective",
    "MSCCL: minBytes cannot be greater than maxBytes.": "no range",
    "MSCCL: too many steps are requested. Max number of steps: 64, requested: 65": "MSCCL_MAX_NUM_STEPS=256",
    "MSCCL: too many thread blocks are requested. Max thread blocks: 64": "more threadblocks than the 64",
    "MSCCL: too many sends per channel. Max allowed 32": "more than 32 threadblocks have sends",
    "MSCCL: number of channels available (2) less than required (4)": "NCCL_MAX_NCHANNELS",
    "NCCL_MAX_NCHANNELS:4 is lesser than number of channels required by MSCCL:24, so disabling MSCCL for": "channels",
    "MSCCL: count (80) must be positive and less than 72": "a step moves 80 chunks",
    "MSCCL: too many algorithms (4) specified in environment variable MSCCL_XML_FILES.": "name fewer files",
    "Attribute outofplace of node algo not found": "no outofplace in algo",
    "Could not open XML MSCCL graph file /a/ar.xml : No such file or directory": "/a/ar.xml cannot be opened",
    "Could not open MSCCL XML algorithm file /a/b.xml : Permission denied": "Permission denied",
    "XML Parse error : expecting '<', got 'x'": "cannot parse the file",
    "XML Mismatch : gpu / tb": "cannot parse the file",
    "Error : XML parser is limited to 4096 nodes": "cannot parse the file",
    "MSCCL Internal Scheduler: open algorithm in share directory /usr/x failed": "/usr/x",
    "MSCCL Internal Scheduler:  Unable to find algorithm files in /y. Please ensure that RCCL": "/y",
    "MSCCL algorithms is not supposed to be used in async mode!": "ncclGroupStart",
    "MSCCL: MSCCL scratch pad size is smaller than expected 10 < 20": "20 bytes of scratch",
    "MSCCL: this version of MSCCL build doesn't support full Ops": "no kernel",
    "MSCCL: there is a send in threadblock 3 on GPU 0 without a sendpeer.": "refuses the file: there is a send",
    "MSCCL: threadblock 2 is missing": "refuses the file: threadblock 2 is missing",
    "MSCCL doesn't support multiple GPUs in one process and is not available": "one process for each GPU",
}


@pytest.mark.parametrize("line", TROUBLE)
def test_what_is_in_the_way_is_said(line: str) -> None:
    found = of(logs.NOISE + warn(line))
    assert TROUBLE[line] in str(found)
    (symptom,) = found.symptoms
    assert symptom.line == len(logs.NOISE.splitlines()) + 2
    assert re.search(r"\w+/\w+[-\w]* [0-9a-f]{7} \S+:\d+", symptom.source)


def test_a_file_that_is_refused() -> None:
    found = of(
        logs.NOISE
        + info("MSCCL: Parsing algorithm /a/ar.xml")
        + warn("MSCCL: too many steps are requested. Max number of steps: 256, requested: 257", "graph/topo.cc:973")
        + warn("MSCCL: algorithm /a/ar.xml failed to initialize. Will be ignored.", "graph/topo.cc:1211")
    )
    assert found.verdict == "refused"
    assert found.files == ("/a/ar.xml",)
    assert [one.means for one in found.symptoms] == [
        "a threadblock has 257 steps or more, and 256 are allowed",
        "/a/ar.xml is ignored",
    ]


def test_plans_that_are_refused_or_missing() -> None:
    bad = plus('Failed to load plan : "/c/x.json" [json.exception.parse_error.101] parse error', "WARN", "ALGO")
    assert of(logs.PLUS + bad).verdict == "refused"
    missing = plus('Loading plan: "/c/x.json"') + plus('Plan file does not exist: "/c/x.json"', subsystem="ALGO")
    assert of(logs.PLUS + missing).verdict == "not loaded"
    assert "Python or C++ interface" in str(of(logs.PLUS + missing))


def test_every_sign_has_a_source_and_a_meaning() -> None:
    for sign in SIGNS:
        assert re.search(r"[\w-]+/[\w+-]+( [0-9a-f]{7} \S+:\d+|#\d+)", sign.source)  # read there, or told there
        names = set(sign.pattern.groupindex)
        used = {name for _, name, _, _ in string.Formatter().parse(sign.means) if name}
        assert used <= names
        assert sign.remedy or sign.role not in {"trouble", "refused", "connection", "failed"}


# -- causes ---------------------------------------------------------------------------------------------------------

CAUSES = re.findall(
    r"^== (.*) \| (.*) \| (.*)\n((?:(?!== ).*\n)+)", Path(__file__).with_name("causes.txt").read_text(), re.MULTILINE
)
"""Logs in the shape of public ones, each after what its cause says, who says it, and what came before it."""


def test_there_are_twenty_logs() -> None:
    assert len(CAUSES) == 21


@pytest.mark.parametrize("case", CAUSES, ids=lambda case: case[0][:30])
def test_the_last_line_is_the_cause(case: tuple[str, str, str, str]) -> None:
    """It is a known one with its remedy, or the first warning that is not known, quoted."""
    words, who, before, text = case
    found = of(text, None)
    assert found.cause is not None
    assert not found.ok
    last = str(found).splitlines()[-1]
    assert last.startswith("cause")
    assert words in last
    assert found.cause.rank == who
    assert before in found.cause.before
    assert found.cause.known == bool(found.cause.remedy)


# -- files ----------------------------------------------------------------------------------------------------------


def test_programs_say_what_they_are_for(tmp_path: Path) -> None:
    made = compile_plan(schedule("circulant(12,2,3)", "allreduce"), inplace=True, max_size="64MiB", runtime="rccl")
    made.save(tmp_path / "ar.xml")
    about = about_program(tmp_path / "ar.xml")
    assert (about.collective, about.ranks, about.inplace, about.outofplace) == ("allreduce", 12, True, False)
    assert about.largest == 2**26
    (tmp_path / "log").write_text(logs.RCCL + info(call("mscclFuncAllReduce", 12 * 7 * 2**16)))
    assert doctor(tmp_path / "log", tmp_path / "ar.xml").verdict == "ran"
    plan = compile_plan(schedule("circulant(12,2,3)", "allreduce"), "mscclpp", inplace=False, max_size=4096)
    plan.save(tmp_path / "plan.json")
    about = about_program(tmp_path / "plan.json")
    assert (about.ranks, about.largest, about.outofplace) == (12, 4096, True)
    for wrong in ("{}", '{"gpus": []}', '{"gpus": [], "name": 5, "collective": "x"}', "<algo/>", ""):
        (tmp_path / "wrong").write_text(wrong)
        with pytest.raises(FileFormatError, match="wrong"):
            about_program(tmp_path / "wrong")


def test_reports_are_plain() -> None:
    found = of(logs.EXECUTOR + info(call(count=THREE)) + info("NCCL_ALGO set by environment to RING."))
    record = json.loads(json.dumps(found.record()))
    assert record["environment"] == {"NCCL_ALGO": "RING"}
    assert record["processes"] == 1
    assert found.to_records()[0]["collective"] == "allreduce"


@given(st.binary(max_size=400), st.integers(0, 10))
def test_whatever_is_in_a_log(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int) -> None:
    path = tmp_path_factory.getbasetemp() / "any.log"
    path.write_bytes(data + (logs.EXECUTOR + logs.EXECUTOR_RAN).encode()[at:])
    assert doctor(path).verdict in {"ran", "loaded", "no log", "not loaded"}


@pytest.mark.floor(damaged=300)
def test_damaged_logs_are_read() -> None:
    rng = random.Random(3)  # noqa: S311
    text = logs.MSCCL + logs.ALGO + logs.EXECUTOR + info(call(count=THREE)) + logs.PLUS + logs.PLUS_CALL
    for _ in range(300):
        at, length = rng.randrange(len(text)), rng.randrange(1, 60)
        piece = "".join(chr(rng.randrange(1, 1000)) for _ in range(rng.randrange(30)))
        assert json.dumps(of(text[:at] + piece + text[at + length :]).record())
        reached("damaged")


@pytest.mark.dear
def test_a_huge_log_takes_little_memory(tmp_path: Path) -> None:
    """A line without an end, and many lines: read piece by piece."""
    path = tmp_path / "huge.log"
    with path.open("wb") as stream:
        stream.write(b"\0" * 2**24 + b"\n")
        stream.write((info("Channel 00/02 :    0   1   2   3") * 40_000).encode())
        stream.write(logs.EXECUTOR.encode() + logs.EXECUTOR_RAN.encode())
    tracemalloc.start()
    found = doctor(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.verdict == "ran"
    assert most < 2**20 + 10 * LONGEST_LINE


# -- the table of runtimes: it says what the profiles say, and where that was read ------------------------------------


def test_every_rule_has_a_source() -> None:
    rows = runtime_rules().to_records()
    assert len(rows) >= 80
    assert {row["runtime"] for row in rows} == set(COMMITS)
    assert len({(row["runtime"], row["rule"]) for row in rows}) == len(rows)
    for row in rows:
        assert re.fullmatch(r"[\w-]+/[\w+-]+ [0-9a-f]{7} .*[\w/.]+\.(h|hpp|cc|cpp|mk)(:[\d, -]+)?", row["source"])
        assert row["says"]


def test_numbers_are_those_of_the_profiles() -> None:
    said = {(one.runtime, one.rule): one.says for one in runtime_rules().rules}
    for name in ("msccl", "msccl-executor", "rccl"):
        assert said[name, "steps of a threadblock"] == str(PROFILES[name].steps_per_threadblock)
        assert said[name, "threadblocks of a rank"] == str(PROFILES[name].threadblocks_per_rank)
    assert said["msccl", "reduce-scatter is called"] == "reduce_scatter"
    assert said["rccl", "reduce-scatter is called"] == "reducescatter"


def test_one_runtime() -> None:
    assert {one.runtime for one in runtime_rules("astra-sim").rules} == {"astra-sim"}
    assert "steps of a threadblock" in str(runtime_rules("msccl"))
    with pytest.raises(ParameterError, match="did you mean 'rccl'"):
        runtime_rules("rcll")


# -- The manifest of programs by phase: what is written is read, and what makes no sense is refused


WRONG: dict[str, Any] = {
    "ranks": -1,
    "target": "jax",
    "phases": [],
    "collective": {"name": "gather"},
    "delay_s": "1/0",
    "runtime": "../x",
    "version": 2,
}


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return compile_phases(reconfigure(8, 1, "allreduce", delay="1us", alpha="1us", size="64MiB").plan).manifest


def test_what_is_written_is_read(manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(manifest.text())
    assert read_manifest(tmp_path / MANIFEST) == manifest


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_refused(name: str, manifest: Manifest, tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(json.loads(manifest.text()) | {name: WRONG[name]}))
    with pytest.raises(FileFormatError, match="programs by phase"):
        read_manifest(tmp_path / MANIFEST)
