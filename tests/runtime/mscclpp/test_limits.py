"""Each rank's own scratch, in bytes: many plans, and the same with a size, half or offset changed."""

from __future__ import annotations

import copy
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.conftest import few
from tests.floors import reached
from tests.runtime.mscclpp.bytewise import Bytewise
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import COLLECTIVES
from topodesign.compiler.compilation import compile_plan
from topodesign.plans.plan import Plan
from topodesign.runtime.mscclpp import check as check_module
from topodesign.runtime.mscclpp.check import PlanReport, check_plan, names, prepare
from topodesign.runtime.mscclpp.limits import EXECUTOR, allocation_multiple, context, contexts, count_addressed
from topodesign.runtime.mscclpp.parse import ExecutionPlan, parse_plan
from topodesign.schedulers.scheduling import schedule

Document = dict[str, Any]
Case = tuple[str, str, bool, str, int | None]
"""Topology, collective, whether in place, protocol, and ranks of a box."""

SPECS = (
    "complete(2)", "complete(3)", "complete(4)", "uniring(1,3)", "uniring(1,5)", "uniring(2,4)", "biring(2,5)",
    "circulant(5,1,2)", "circulant(6,1,2)", "circulant(7,1,2)", "circulant(8,1,3)", "kautz(2,1)", "torus(2,3)",
    "hypercube(3)", "genkautz(2,5)", "genkautz(2,7)", "genkautz(3,8)", "debruijn(2,3)",
)  # fmt: skip
KINDS = (("Simple", None), ("LL", None), ("LL", 1))
CASES: list[Case] = [
    (spec, collective, inplace, *kind)
    for spec, collective, inplace, kind in itertools.product(SPECS, COLLECTIVES, (False, True), KINDS)
]

UNEQUAL: list[Case] = [
    ("genkautz(2,5)", "allreduce", True, "LL", None),
    ("genkautz(2,5)", "reduce-scatter", True, "LL", None),
    ("genkautz(2,7)", "all-to-all", False, "LL", None),
]
"""Plans whose ranks need different numbers of scratch chunks."""


@cache
def plan_of(spec: str, collective: str) -> Plan:
    return schedule(spec, collective, root=ROOT if COLLECTIVES[collective].rooted else None)


@cache
def made(case: Case) -> str | None:
    """The text of a plan, None where it is refused."""
    spec, collective, inplace, protocol, box = case
    try:
        return compile_plan(plan_of(spec, collective), "mscclpp", inplace=inplace, protocol=protocol, box=box).text  # type: ignore[arg-type]
    except InfeasibleError:
        return None


ROOT = 1


def bytewise(document: Document, **more: Any) -> Bytewise:
    """The plan on the other executor."""
    plan = parse_plan(json.dumps(document))
    root = ROOT if names()[plan.collective].rooted else None
    return Bytewise(document, prepare(plan, root).layout, 3 if plan.double_scratch else 2, **more)


def other(document: Document, **more: Any) -> list[str]:
    """What the other executor finds wrong."""
    return bytewise(document, **more).wrong


def executed(document: Document) -> list[str]:
    """What is found by running it alone, without the rules on sizes."""
    run = prepare(parse_plan(json.dumps(document)))
    return [str(one) for one in run.findings or run.machine().prove().list_findings()]


def check(document: Document) -> PlanReport:
    return check_plan(parse_plan(json.dumps(document)))


# -- plans ------------------------------------------------------------------------------------------------------------


def hold(cases: list[Case]) -> None:
    for case in cases:
        text = made(case)
        if text is None:
            reached("refused")
            continue
        plan, document = parse_plan(text), json.loads(text)
        report = check_plan(plan)
        assert report.ok, (case, str(report))
        reached("checked")
        assert plan.max_size is not None
        assert count_addressed(plan, plan.max_size) <= EXECUTOR.buffer_bytes, case
        if case[3] == "LL":
            assert not other(document), (case, other(document))
            reached("by_bytes")
        if not plan.double_scratch:
            continue
        assert report.calls is not None
        assert report.calls.allocations == "of one size on all ranks"
        for size in (
            2**9,
            2**21,
            20 * 2**20,
            2**31,
            10**6 + 7,
        ):  # what lies in an allocation may be any number of bytes
            halves = {context(plan, gpu, min(size, plan.max_size)).half for gpu in plan.gpus}
            assert len(halves) == 1, case
            assert not min(halves) % 16, case
        reached("halved")


@pytest.mark.dear
@pytest.mark.floor(checked=18, halved=4, by_bytes=8, refused=0)
def test_plans_with_the_scratch_of_every_rank() -> None:
    hold([*random.Random(4).sample(CASES, 20), *UNEQUAL[1:]])  # noqa: S311


@pytest.mark.thorough
@pytest.mark.floor(checked=500, halved=200, by_bytes=500, refused=0)
def test_many_plans_with_the_scratch_of_every_rank() -> None:
    hold(CASES + UNEQUAL)


# -- sizes, halves and offsets changed --------------------------------------------------------------------------------


def needed(document: Document) -> list[int]:
    """The scratch chunks that each rank is reached or reads at: a chunk that is no packets takes half of one."""
    most = [0] * len(document["gpus"])
    wide = 2 if document["protocol"] == "LL" else 1
    for rank, gpu in enumerate(document["gpus"]):
        for block in gpu["threadblocks"]:
            for op, key in itertools.product(block["ops"], ("src_buff", "dst_buff")):
                for one in op.get(key, []):
                    there, kind = reaches(gpu, block, op, one, rank)
                    if kind == "s":
                        last = one["index"] + one["size"]
                        packed = packets(op, one)
                        most[there] = max(most[there], last if packed else -(-last // wide))
    return most


def packets(op: Document, one: Document) -> bool:
    """Whether an operand of an operation is packets."""
    sources = {"upkt": 0, "rppkt": 0, "repkt": 1}
    at = next(at for key in ("src_buff", "dst_buff") for at, some in enumerate(op[key]) if some is one)
    if any(some is one for some in op["dst_buff"]):
        return op["name"] in {"ppkt", "cpkt", "rppkt"}
    return at >= sources.get(op["name"], 9)


def reaches(gpu: Document, block: Document, op: Document, one: Document, rank: int) -> tuple[int, str]:
    """Rank and type of the buffer that an operand is in."""
    if "buffer_id" not in one:
        return rank, one["type"]
    refs = next(
        row["remote_buffer_ids"]
        for row in block["remote_buffer_refs"]
        if row["access_channel_type"] == op["channel_type"]
    )
    remote = gpu["remote_buffers"][refs[one["buffer_id"]]]
    return remote["rank"], remote["type"]


def changed(document: Document, rng: random.Random) -> Iterator[tuple[str, Document]]:
    """Yield what is changed, and the plan with it."""
    ranks, need = len(document["gpus"]), needed(document)

    def fresh() -> Document:
        return copy.deepcopy(document)

    for by in (-8, -1, 1, 8):
        some = fresh()
        gpu = some["gpus"][rng.randrange(ranks)]
        if gpu["scratch_chunks"] + by >= 0:
            gpu["scratch_chunks"] += by
            yield "size of a rank", some
    if len(set(need)) > 1:
        some = fresh()
        for gpu, chunks in zip(some["gpus"], need, strict=True):
            gpu["scratch_chunks"] = chunks
        yield "size of a rank", some
    if max(need):
        some = fresh()
        for gpu in some["gpus"]:
            gpu["scratch_chunks"] = max(need) - 1
        yield "size of all", some
    yield "halves", {**fresh(), "use_double_scratch_buffer": not document["use_double_scratch_buffer"]}
    wide = max(document["gpus"][0][key] for key in ("input_chunks", "output_chunks"))
    yield "range of sizes", {**fresh(), "max_message_size": 2**32 * wide}
    for key in ("src_buff", "dst_buff"):
        some = fresh()
        places = [
            one
            for gpu in some["gpus"]
            for block in gpu["threadblocks"]
            for op in block["ops"]
            for one in op.get(key, [])
            if packets(op, one)
        ]
        for by in (-1, 1):
            if places:
                place = rng.choice(places)
                if place["index"] + by >= 0:
                    place["index"] += by
                    yield "offset", copy.deepcopy(some)
                    place["index"] -= by


def find(cases: list[Case]) -> Counter[tuple[str, bool]]:
    """Hold that what is changed is found wherever it makes a difference; return how often it was, by what."""
    counts: Counter[tuple[str, bool]] = Counter()
    for case in cases:
        text = made(case)
        if text is None:
            continue
        document = {**json.loads(text), "max_message_size": 2**20}  # far from where addresses end
        for what, wrong in changed(document, random.Random(str(case))):  # noqa: S311
            found = not check(wrong).ok
            counts[what, found] += 1
            reached("changed")
            halves = what == "size of a rank" and wrong["use_double_scratch_buffer"]
            assert found or not (halves or what in {"size of all", "range of sizes"}), (case, what, json.dumps(wrong))
            if what == "range of sizes":  # of calls that are far too large to be run
                continue
            assert found == bool(other(wrong)) == bool(executed(wrong)), (case, what, other(wrong), json.dumps(wrong))
    return counts


@pytest.mark.floor(changed=20)
def test_what_is_changed_is_found() -> None:
    some = random.Random(1).sample([case for case in CASES if case[3] == "LL"], 6)  # noqa: S311
    counts = find(few([*UNEQUAL[1:], *some]))
    assert counts["size of a rank", True] > 5


@pytest.mark.thorough
@pytest.mark.floor(changed=800)
def test_much_that_is_changed_is_found() -> None:
    counts = find([*UNEQUAL, *[case for case in CASES if case[3] == "LL"][::5]])
    assert counts["offset", False] < counts["offset", True] / 20  # another packet of what is the same


@pytest.mark.parametrize("case", UNEQUAL, ids=str)
def test_ranks_with_scratch_of_their_own_size_are_found(case: Case) -> None:
    """Each adds half of its own scratch to addresses of others, and that is not where they look."""
    text = made(case)
    assert text is not None
    document = json.loads(text)
    assert len({gpu["scratch_chunks"] for gpu in document["gpus"]}) == 1
    assert len(set(needed(document))) > 1
    for gpu, chunks in zip(document["gpus"], needed(document), strict=True):
        gpu["scratch_chunks"] = chunks
    report = check(document)
    assert report.verdict == "illegal"
    assert "at half of its own" in str(report)
    assert executed(document)
    assert other(document)
    assert check({**document, "reuse_resources": True}).ok  # then all have scratch of one size whatever they say


def checked_in(plan: ExecutionPlan, allocations: list[int], monkeypatch: pytest.MonkeyPatch) -> PlanReport:
    """Check a plan whose inputs lie in allocations of so many bytes, of which no call has more than its limit."""
    most = plan.max_size or max(allocations)
    found = tuple(context(plan, gpu, min(size, most)) for gpu, size in zip(plan.gpus, allocations, strict=True))
    with monkeypatch.context() as patch:
        patch.setattr(check_module, "contexts", lambda *_: found)
        return check_plan(plan)


def test_allocations_of_other_sizes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = made(("kautz(2,1)", "allreduce", True, "LL", None))
    assert text is not None
    plan, document = parse_plan(text), json.loads(text)
    least = 16 * plan.gpus[0].inputs
    for allocations in ([least] * 6, [2**12] * 6, [least * 3] * 6):
        assert checked_in(plan, allocations, monkeypatch).ok
        assert not other(document, allocations=allocations)
    for allocations in ([least] * 5 + [2 * least], [2 * least] + [least] * 5):
        assert not checked_in(plan, allocations, monkeypatch).ok
        assert other(document, allocations=allocations)
        capped = {**document, "max_message_size": least}  # no call is larger, and no scratch either
        assert checked_in(parse_plan(json.dumps(capped)), allocations, monkeypatch).ok


def test_halves_begin_where_a_packet_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk of an allocation may have any number of bytes, so not any number of chunks will do."""
    text = made(("kautz(2,1)", "allreduce", True, "LL", None))
    assert text is not None
    document = {**json.loads(text), "max_message_size": 2**20}
    inputs = document["gpus"][0]["input_chunks"]
    assert allocation_multiple(parse_plan(text)) == 1
    for more, multiple in ((1, 8), (2, 4), (4, 2), (8, 1)):
        for gpu in document["gpus"]:
            gpu["scratch_chunks"] = -(-max(needed(document)) // 8) * 8 + more
        plan = parse_plan(json.dumps(document))
        assert allocation_multiple(plan) == (multiple * inputs if multiple > 1 else 1)
        report = check(document)
        assert report.calls is not None
        assert (f"a multiple of {multiple * inputs} bytes" in report.calls.allocations) == (multiple > 1)
        odd = [one for one in range(2**12, 2**12 + 99) if context(plan, plan.gpus[0], one).half % 16]
        assert bool(odd) == (multiple > 1)
        assert all(one % (multiple * inputs) for one in odd)
        if odd:
            report = checked_in(plan, [odd[0]] * 6, monkeypatch)
            assert "is not a multiple of 16" in str(report)


def test_sizes_are_those_of_the_executor() -> None:
    """``align(ceil(size / inputs) * scratch * 2 for packets * 2 for two halves)``, by hand."""
    text = made(("complete(3)", "allgather", False, "LL", None))
    assert text is not None
    document = json.loads(text)
    for gpu in document["gpus"]:
        gpu.update(input_chunks=3, output_chunks=9, scratch_chunks=5)
    plan = parse_plan(json.dumps(document))
    assert context(plan, plan.gpus[0], 100).scratch == 688  # 34 * 5 * 4 = 680
    assert context(plan, plan.gpus[0], 100).half == 344
    assert [one.half for one in contexts(plan, 16)] == [160] * 3
    single = parse_plan(json.dumps({**document, "use_double_scratch_buffer": False}))
    assert (context(single, single.gpus[0], 100).scratch, context(single, single.gpus[0], 100).half) == (352, 0)
    assert count_addressed(single, 900) == 1000  # 100 bytes of a chunk, 5 chunks of packets
    assert count_addressed(plan, 900) == 6000  # of an input in as large an allocation


def test_other_plans_in_between_have_to_tell_that_all_have_begun() -> None:
    """The executor counts the launches of all plans together, so every other one of a plan may use the same half."""
    text = made(("complete(3)", "allgather", True, "LL", None))
    assert text is not None
    assert not other(json.loads(text), between="all have begun")
    assert any("race" in one for one in other(json.loads(text), between="nothing"))


# -- what packets order -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [("paley(13)", "allreduce", False, "LL", None), UNEQUAL[0]], ids=str)
def test_what_packets_alone_order_is_made_from_what_was_read(case: Case) -> None:
    """Nothing else orders these reads before these writes, but each write stores what is made from what was read.

    So one who takes a packet to order nothing finds races here, and there are none.
    """
    text = made(case)
    assert text is not None
    run = bytewise(json.loads(text))
    assert not run.wrong
    assert run.by_packets
    assert all(run.made_from(first, second) for first, second in run.by_packets)
