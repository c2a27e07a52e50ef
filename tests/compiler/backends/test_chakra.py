"""Traces for ASTRA-sim: they are as the simulator wants them, and take as long as it says."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from tests.floors import reached
from tests.samples.traces import compiled, read
from topodesign.base.errors import InfeasibleError, ParameterError, UnitError
from topodesign.base.units import format_time
from topodesign.compiler.backends import BACKENDS
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.backends.links import network_of
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.messages import messages_of
from topodesign.compiler.ir import Act, Messages
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.time.ticks import time_rounds
from topodesign.runtime.chakra.check import TraceReport
from topodesign.runtime.chakra.traces import COLLECTIVE_NODE, parse_trace
from topodesign.schedulers.scheduling import schedule

SIMULATED = {
    ("circulant(8,1,3)", "allreduce", "auto"): 186_802,
    ("circulant(8,1,3)", "allgather", "auto"): 93_400,
    ("uniring(1,16)", "allgather", "auto"): 228_630,
    ("uniring(1,16)", "allreduce", "auto"): 457_275,
    ("torus(4,4)", "allreduce", "auto"): 237_286,
    ("torus(4,4)", "reduce-scatter", "auto"): 118_645,
    ("torus(4,4)", "all-to-all", "auto"): 207_770,
    ("genkautz(3,10)", "broadcast", "auto"): 543_316,
    ("circulant(12,2,3)", "reduce", "auto"): 375_548,
    ("torus(4,4)", "allreduce", "tacos"): 247_772,
    ("genkautz(3,10)", "allgather", "tacos"): 175_825,
}
"""What ASTRA-sim itself said of these traces: built from astra-sim/astra-sim 518bd51, its analytical congestion-aware
backend, 1 MiB, 10 us and 100 Gbps a node."""


@pytest.mark.parametrize("case", SIMULATED, ids="-".join)
def test_the_simulator_said_so(case: tuple[str, str, str]) -> None:
    expected = json.loads(compiled(*case).files["expected.json"])
    assert expected["simulator_ns"] == SIMULATED[case]


@pytest.mark.floor(equal=6)
def test_closed_form() -> None:
    """Rounds never take longer than in lock-step, and rounding costs at most a nanosecond a step."""
    for spec in ("uniring(1,6)", "circulant(8,1,3)", "torus(3,3)", "hypercube(3)", "genkautz(3,10)", "kautz(2,1)"):
        for collective in ("allgather", "allreduce"):
            made = compiled(spec, collective)
            assert isinstance(made.program, Messages)
            expected = json.loads(made.files["expected.json"])
            exact, closed = (Fraction(expected[name]) for name in ("exact_ns", "closed_form_ns"))
            assert exact <= closed
            assert expected["relation"] == ("equal" if exact == closed else "at most")
            assert abs(exact - expected["simulator_ns"]) <= len(made.program.ends or ())
            if exact == closed:
                reached("equal")


def test_a_rank_does_timed_sends_in_the_order_of_their_times() -> None:
    """A send waits for what has arrived of its data when it starts, and for nothing else."""
    plan = schedule("torus(3,3)", "allgather", method="tacos", chunks=2)
    names = ("start", "end", "src", "dst", "block", "lo", "hi")
    rows = sorted(zip(*(getattr(plan.movement, name).tolist() for name in names), strict=True))
    for own in messages_of(plan).operations:
        when = [rows[one.message][one.act is Act.RECEIVE] for one in own]
        assert when == sorted(when)
        for one in own:
            *_, block, low, high = rows[one.message]
            for brought in (rows[own[at].message] for at in one.data):
                assert brought[4] == block
                assert low < brought[6]
                assert brought[5] < high


def test_closed_form_is_the_cost_of_the_plan() -> None:
    """steps alpha + y M/B, with a nanosecond for each step that adds."""
    plan = schedule("torus(4,4)", "allreduce")
    expected = json.loads(compile_plan(plan, "chakra", size="16MiB", alpha="3us").files["expected.json"])
    seconds = plan.claim["steps"] * Fraction(3, 10**6) + plan.claim["bandwidth"] * 2**24 / Fraction(100 * 10**9, 8)
    adding = compiled("torus(4,4)", "allreduce").program
    assert isinstance(adding, Messages)
    assert Fraction(expected["closed_form_ns"]) == 10**9 * seconds + adding.adding


def test_messages_keep_the_steps_of_a_rank() -> None:
    """A send waits for all that its rank did in the steps before, and comes after it in the list."""
    program = messages_of(schedule("torus(3,3)", "allreduce"))
    for rank, operations in enumerate(program.operations):
        below: dict[int, set[int]] = {}
        for place, one in enumerate(operations):
            direct = {*one.data, *one.control}
            assert all(other < place for other in direct)
            below[place] = direct.union(*(below[other] for other in direct))
            assert rank == (program.table.src if one.act is Act.SEND else program.table.dst)[one.message]
        sends = [place for place, one in enumerate(operations) if one.act is Act.SEND]
        first = [place for place in sends if not below[place]]
        assert len(first) == 4
        assert all(set(first) <= below[place] for place in sends if place not in first)


def test_a_workload_calls_it_once() -> None:
    files = compiled("circulant(8,1,3)", "allreduce").files
    trace = parse_trace(files["workload.5.et"])
    (node,) = trace.nodes
    assert (node.kind, node.number("comm_type"), node.number("comm_size")) == (COLLECTIVE_NODE, 0, 2**20)
    system = json.loads(files["system.json"])
    assert system["all-reduce-implementation-custom"] == ["collective"]
    assert system["preferred-dataset-splits"] == 1
    assert b"topodesign verify ." in files["README.txt"]
    assert b"takes no broadcast from traces" in compiled("genkautz(3,10)", "broadcast").files["README.txt"]


def test_sizes_are_whole_bytes() -> None:
    """What does not divide is rounded up, message by message."""
    made = compile_plan(schedule("circulant(12,2,3)", "allgather"), "chakra", size=1000003)
    report = made.checked().report
    assert isinstance(report, TraceReport)
    assert 0 <= report.bytes - Fraction(11 * 1000003) < report.messages
    small = compile_plan(schedule("circulant(12,2,3)", "allgather"), "chakra", size=1).checked().report
    assert isinstance(small, TraceReport)
    assert small.bytes == small.messages


def test_timed_sends_bring_their_own_links() -> None:
    plan = schedule("torus(3,3)", "allgather", method="tacos", size=4_500_000, alpha="2us")
    made = compile_plan(plan, "chakra")
    expected = json.loads(made.files["expected.json"])
    assert expected["size_bytes"] == "4500000"
    assert expected["network"]["latency"] == 2000
    assert Fraction(expected["exact_ns"]) <= 10**9 * plan.claim["time"]


@pytest.mark.parametrize("overlap", [False, True])
def test_timed_sends_are_no_later_than_planned(overlap: bool) -> None:
    for spec in ("torus(3,3)", "genkautz(3,10)"):
        rounds = schedule(spec, "allgather")
        timed = time_rounds(
            rounds.topology,
            rounds.rounds,
            size=Fraction(720_000),
            alpha=Fraction(1, 10**6),
            bandwidth=Fraction(4 * 10**10),
            overlap=overlap,
        )
        files = compile_plan(Plan(rounds.topology, timed), "chakra").checked().files
        assert Fraction(json.loads(files["expected.json"])["exact_ns"]) <= 10**9 * timed.time


def test_a_star_is_a_switch_and_other_fabrics_are_not() -> None:
    for spec, shape in (("dgx_a100(1)", "Switch"), ("dgx_a100(2)", "FullyConnected")):
        made = compile_plan(schedule(spec, "allgather", fixed_k=1), "chakra").checked()
        expected = json.loads(made.files["expected.json"])
        assert expected["network"]["topology"] == shape
        assert expected["notes"]
        assert expected["closed_form_ns"] is None or shape == "FullyConnected"


def test_what_the_network_does_not_tell_is_said_with_both_times() -> None:
    plan = schedule("dgx_a100(2)", "allgather")
    made = compile_plan(plan, "chakra", size="64MiB")
    expected = json.loads(made.files["expected.json"])
    said = "\n".join(made.notes)
    assert set(expected["notes"]) <= set(made.notes)
    times = [Fraction(expected["simulator_ns"], 10**9)]
    times += [simulate(plan, size="64MiB", alpha=alpha).time for alpha in ("10us", "fabric")]
    for time in times:
        assert format_time(time) in said
    assert len(set(times)) == 3
    assert compile_plan(schedule("torus(3,3)", "allgather"), "chakra").notes == ()
    star = compile_plan(schedule("dgx_a100(1)", "broadcast", root=0, fixed_k=1), "chakra")
    assert any("takes no broadcast from traces" in note for note in star.notes)


def test_links_that_differ_are_told() -> None:
    plan = schedule("degree(uniring(1,3),1)", "allgather")
    made = compile_plan(plan, "chakra")
    assert isinstance(made.program, Messages)
    network, notes = network_of(made.program, made.options)
    assert notes == []
    assert network.ranks == 3
    with pytest.raises(ParameterError, match="require a place"):
        network_of(made.program, Options("astra-sim", "x"))


def test_what_traces_cannot_say() -> None:
    plan = schedule("circulant(5,1,2)", "allgather")
    with pytest.raises(ParameterError, match="chakra has no channels"):
        compile_plan(plan, "chakra", channels=2)
    with pytest.raises(ParameterError, match="give one size"):
        compile_plan(plan, "chakra", size=["1MiB", "2MiB"])
    with pytest.raises(ParameterError, match="has bandwidths of its own"):
        compile_plan(schedule("dgx_a100(1)", "allgather", fixed_k=1), "chakra", bandwidth="1Gbps")
    with pytest.raises(UnitError, match="must be above zero"):
        compile_plan(plan, "chakra", size=0)
    backend = BACKENDS["chakra"]
    assert list(backend.lint(compile_plan(plan).program, Options("astra-sim", "x"))) == [
        "traces are made of messages, not of instructions"
    ]


WAYS: dict[str, tuple[Any, ...]] = {
    "spec": (
        "torus(4,4)",
        "circulant(12,2,3)",
        "genkautz(4,13)",
        "hypercube(4)",
        "complete(6)",
        "debruijn(2,4)",
        "kautz(2,2)",
        "torus(2,3)",
    ),
    "collective": ("allgather", "reduce-scatter", "allreduce", "broadcast", "reduce", "all-to-all"),
    "method": ("auto", "forest", "tacos"),
}


@pytest.mark.thorough
@pytest.mark.floor(replayed=100)
def test_many_traces_are_right() -> None:
    for spec in WAYS["spec"]:
        for collective in WAYS["collective"]:
            for method in WAYS["method"]:
                try:
                    made = compiled(spec, collective, method)
                except (InfeasibleError, ParameterError):
                    continue
                report = made.checked().report
                assert isinstance(report, TraceReport)
                assert report.data
                assert len(read(made.files)) == report.ranks
                reached("replayed")
