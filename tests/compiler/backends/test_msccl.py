"""MSCCL files: which calls they are for, what scratch they take, and both operands of every step."""

from __future__ import annotations

import random
from collections import deque
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.samples.programs import compile_movement, program_of_trees
from tests.samples.trees import fabric, tree_schedule
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.compiler.backends.xml import to_xml
from topodesign.compiler.compilation import Compiled
from topodesign.compiler.limits import NO_LIMITS, Limits
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import MAX_SCRATCH, PROFILES, SCRATCH_COMFORT, get_profile
from topodesign.schedulers.scheduling import schedule

TREE_COLLECTIVES = ("allgather", "reduce-scatter", "allreduce", "broadcast", "reduce")
MIB = 2**20


def made(spec: str = "circulant(12,2,3)", collective: str = "allreduce", **options: Any) -> Compiled:
    plan = schedule(spec, collective)
    return compile_movement(plan.topology, plan.movement, **options)


def reported(compiled: Compiled) -> CheckReport:
    report = compiled.checked().report
    assert isinstance(report, CheckReport)
    return report


def sizes(compiled: Compiled) -> tuple[int, int | None]:
    calls = reported(compiled).calls
    assert calls is not None
    return calls.smallest, calls.largest


# -- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "genkautz(3,10)", "torus(4,4)", "uniring(1,4)"])
def test_the_default_file_can_be_started(spec: str, collective: str) -> None:
    """A finite largest call by the stated rule: no rank takes more than 1 GiB, and twice as large a call would."""
    calls = reported(made(spec, collective)).calls
    assert calls is not None
    share = Fraction(calls.scratch_share)
    if share:
        assert calls.largest is not None
        assert calls.scratch_bytes is not None
        assert calls.largest.bit_count() == 1
        assert calls.largest * share <= SCRATCH_COMFORT
        assert calls.largest == 2**32 or 2 * calls.largest * share > SCRATCH_COMFORT
        assert calls.scratch_bytes <= SCRATCH_COMFORT + share
    else:
        assert (calls.largest, calls.scratch_bytes) == (None, 0)


@pytest.mark.parametrize("runtime", ["msccl-executor", "msccl-executor-256", "rccl"])
def test_runtimes_that_take_scratch_as_calls_need_it_serve_all(runtime: str) -> None:
    assert sizes(made(runtime=runtime)) == (1, None)


@pytest.mark.parametrize("runtime", PROFILES)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_the_range_is_served_with_both_its_ends(runtime: str, data: st.DataObject) -> None:
    smallest = data.draw(st.integers(1, 2**33))
    largest = data.draw(st.integers(smallest + 48, 2**34))
    assert sizes(made(runtime=runtime, min_size=smallest, max_size=largest)) == (smallest, largest)


@pytest.mark.parametrize("runtime", PROFILES)
def test_a_single_size(runtime: str) -> None:
    ring = made("circulant(8,1,3)", "allgather", runtime=runtime, min_size="1MiB", max_size="1MiB")
    assert sizes(ring) == (MIB, MIB)
    assert sizes(made("circulant(8,1,3)", runtime=runtime, min_size="0.5B", max_size="1000.5B")) == (1, 1000)


@pytest.mark.parametrize("runtime", PROFILES)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_size": "1e-20B"}, "from 1 byte"),
        ({"max_size": Fraction(1, 2)}, "from 1 byte"),
        ({"max_size": 2**63 - 1}, "less than"),
        ({"min_size": 2 * MIB, "max_size": MIB}, "no range"),
        ({"min_size": 49, "max_size": 95}, "multiple of the 48 chunks"),
    ],
)
def test_ranges_without_a_call_are_refused(runtime: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        made(runtime=runtime, **options)


def test_what_no_device_has_is_refused_and_what_is_much_is_warned_of() -> None:
    adding = partial(made, collective="reduce-scatter")  # which needs scratch
    assert any("bytes of scratch" in text for text in reported(adding(max_size="4GiB")).warnings)
    assert not any("bytes of scratch" in text for text in reported(adding()).warnings)
    with pytest.raises(ParameterError, match=r"bytes of scratch on a rank; use less --set max-size="):
        adding(max_size=4 * MAX_SCRATCH)
    with pytest.raises(ParameterError, match=r"require --set max-size="):
        adding(min_size="8GiB")
    assert sizes(adding(min_size="4GiB", max_size="8GiB")) == (2**32, 2**33)


# -- runtimes ---------------------------------------------------------------------------------------------------------


def test_msccl_executor_holds_64_steps_unless_built_for_more() -> None:
    with pytest.raises(InfeasibleError, match=r"msccl-executor allows 64 steps per threadblock.*requires 78 or more"):
        made("uniring(1,40)", runtime="msccl-executor")
    usage = reported(made("uniring(1,40)", runtime="msccl-executor-256")).usage
    assert usage is not None
    assert usage.steps_per_threadblock == 79


def test_builds_of_a_runtime_speak_the_same_language() -> None:
    assert PROFILES["msccl-executor-256"].collectives == PROFILES["msccl-executor"].collectives


@pytest.mark.parametrize("collective", ["broadcast", "reduce"])
def test_the_root_is_in_the_name_and_in_a_warning(collective: str) -> None:
    plan = schedule("circulant(6,1,2)", collective, root=4)
    compiled = compile_movement(plan.topology, plan.movement)
    assert f"topodesign-{collective}-root4-" in compiled.options.name
    report = reported(compiled)
    assert report.root == 4
    assert any("of every root, with wrong data wherever that is not 4" in text for text in report.warnings)


# -- operands ---------------------------------------------------------------------------------------------------------

Operand = tuple[str, int]


def operands(step: etree._Element) -> tuple[Operand, Operand]:
    ends = (("srcbuf", "srcoff"), ("dstbuf", "dstoff"))
    source, target = ((str(step.attrib[buffer]), int(step.attrib[offset])) for buffer, offset in ends)
    return source, target


def check_operands(text: str) -> None:
    """Hold what the two ends of every message say of each other against each other, as other verifiers do."""
    root = etree.fromstring(text)
    sent: dict[tuple[int, int, int], deque[tuple[str, Operand, Operand]]] = {}
    received: dict[tuple[int, int, int], deque[tuple[str, Operand, Operand]]] = {}
    for gpu in root:
        for tb in gpu:
            rank, send, recv, chan = (
                int(gpu.attrib["id"]),
                int(tb.attrib["send"]),
                int(tb.attrib["recv"]),
                int(tb.attrib["chan"]),
            )
            for step in tb:
                kind, (source, target) = step.attrib["type"], operands(step)
                if kind == "nop":
                    continue
                assert min(source[1], target[1]) >= 0
                if kind in {"s", "rcs", "rrs", "rrcs"}:
                    sent.setdefault((rank, send, chan), deque()).append((kind, source, target))
                if kind in {"r", "rcs", "rrs", "rrc", "rrcs"}:
                    received.setdefault((recv, rank, chan), deque()).append((kind, source, target))
                if kind == "rcs":
                    assert source == target
    assert sent.keys() == received.keys()
    for connection, messages in sent.items():
        for (kind, source, target), (other, its_source, its_target) in zip(messages, received[connection], strict=True):
            if kind in {"s", "rrs"}:
                assert target == (its_source if other == "rrs" else its_target)
            if other == "r":
                assert its_source == (source if kind in {"s", "rrs"} else target)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "genkautz(3,10)", "uniring(1,4)"])
def test_every_step_of_rounds_has_both_operands(spec: str, collective: str, inplace: bool) -> None:
    for channels in (1, 2):
        check_operands(made(spec, collective, inplace=inplace, channels=channels).text)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(TREE_COLLECTIVES), st.integers(2, 7), st.booleans(), st.booleans())
def test_every_step_of_trees_has_both_operands(
    seed: int,
    collective: Literal["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce"],
    nodes: int,
    inplace: bool,
    joined: bool,
) -> None:
    """Joined threadblocks pass on what they receive in one step, of all kinds."""
    rng = random.Random(seed)  # noqa: S311
    trees = tree_schedule(fabric(nodes, 2, rng), collective, rng, per_root=rng.randint(1, 4))
    how: dict[str, Any] = (
        {"limits": Limits(blocks_per_channel=4), "threadblocks": "merged"} if joined else {"limits": NO_LIMITS}
    )
    profile = get_profile("msccl")
    text = to_xml(program_of_trees(trees, inplace=inplace, **how), profile=profile, name="x")
    check_operands(text)
    report = check_program(parse_xml(text, profile), profile)
    assert report.ok, str(report)
