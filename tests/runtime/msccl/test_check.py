"""The checker: every verdict on a small program whose fault can be seen by eye, and every limit one by one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime.msccl.test_programs import (
    FAMILIES,
    P,
    S,
    T,
    pairs_allreduce,
    ring_allgather,
    ring_allreduce,
    ring_reduce_scatter,
    tree_broadcast,
    tree_reduce,
    write,
)
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.collectives import GATHER, SCATTER, Collective
from topodesign.runtime.check import check_file
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import PROFILES, RuntimeProfile

EXECUTOR = PROFILES["msccl-executor-256"]


def check(program: P | str, profile: RuntimeProfile = EXECUTOR) -> CheckReport:
    text = program if isinstance(program, str) else write(program)
    if profile.name == "msccl":
        text = text.replace('"reducescatter"', '"reduce_scatter"')
    return check_program(parse_xml(text, profile), profile)


def steps_of(program: P, rank: int, tb: int, steps: tuple[S, ...]) -> P:
    tbs = list(program.ranks[rank])
    tbs[tb] = replace(tbs[tb], steps=steps)
    return replace(program, ranks=(*program.ranks[:rank], tuple(tbs), *program.ranks[rank + 1 :]))


@pytest.mark.parametrize("runtime", PROFILES)
@pytest.mark.parametrize("name", FAMILIES)
def test_correct_programs(name: str, runtime: str) -> None:
    report = check(FAMILIES[name], PROFILES[runtime])
    assert report.ok, str(report)
    assert report.usage is not None
    assert report.runtime == runtime


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_rings_and_trees_of_all_sizes(n: int) -> None:
    for program in (
        ring_allgather(n, 2),
        ring_reduce_scatter(n),
        ring_allreduce(n),
        tree_reduce(n),
        pairs_allreduce(n),
    ):
        assert check(program).ok
    for root in range(n):
        report = check(tree_broadcast(n, root))
        assert report.ok
        assert report.root == root


def direct(collective: Collective, n: int, root: int) -> P:
    """Everybody at once with the root: a gather, or the other way a scatter."""
    gathers = collective.like(GATHER)
    ranks: list[tuple[T, ...]] = []
    for r in range(n):
        if r != root:
            ranks.append((T((S("s"),), send=root) if gathers else T((S("r"),), recv=root),))
            continue
        own = T((S("cpy", "i0", f"o{r}") if gathers else S("cpy", f"i{r}", "o0"),))
        others = [q for q in range(n) if q != r]
        peers = [T((S("r", "i0", f"o{q}"),), recv=q) if gathers else T((S("s", f"i{q}"),), send=q) for q in others]
        ranks.append((own, *peers))
    return P("broadcast", n, tuple(ranks))


@pytest.mark.parametrize("collective", [GATHER, SCATTER], ids=str)
def test_collectives_that_no_runtime_has_a_word_for(collective: Collective) -> None:
    """Buffers, roots and results come from the collective alone: nothing in the checker names one."""
    for n, root in ((2, 0), (4, 0), (5, 3)):
        program = replace(parse_xml(write(direct(collective, n, root)), EXECUTOR), collective=collective)
        report = check_program(program, EXECUTOR)
        assert report.ok, str(report)
        assert (report.modes, report.root) == (("in place", "out of place"), root)
        assert check_program(program, EXECUTOR, root=(root + 1) % n).verdict in {"out-of-bounds", "wrong result"}
        uneven = replace(program, nchunksperloop=n + 1)
        assert "must be a multiple of ngpus" in str(check_program(uneven, EXECUTOR))
        with pytest.raises(
            ParameterError, match=f"no collective '{collective}'; it supports allgather, reduce-scatter"
        ):
            EXECUTOR.coll(collective)


def test_usage_counts() -> None:
    usage = check(ring_allreduce(4, 2)).usage
    assert usage is not None
    assert (usage.threadblocks_per_rank, usage.channels, usage.scratch_chunks, usage.links_per_rank) == (1, 1, 0, 1)
    assert usage.steps_per_threadblock == 7
    assert usage.xml_nodes_per_rank == 1 + 4 + 1 + 7
    assert (usage.sends_per_link, usage.chunks_per_link, usage.longest_chain) == (6, 12, 6)
    tree = check(tree_broadcast(15)).usage
    assert tree is not None
    assert tree.longest_chain == 3


def test_one_rank() -> None:
    assert check(P("allreduce", 2, ((T((S("cpy", "i0", "o0", 2),)),),))).ok


# --- deadlock -------------------------------------------------------------------------------------------------------


def both_send_first(count: int, proto: str, max_bytes: int = 0) -> P:
    """Two ranks send ``count`` chunks to each other, one a step, before they receive any."""

    def tb(rank: int) -> T:
        sends = tuple(S("s", f"i{k}") for k in range(count))
        receives = tuple(S("r", "i0", f"s{k}") for k in range(count))
        adds = tuple(S("re", f"s{k}", f"i{k}") for k in range(count))
        return T(sends + receives + adds, 1 - rank, 1 - rank)

    ranks = ((tb(0),), (tb(1),))
    return P("allreduce", count, ranks, scratch=count, proto=proto, outofplace=False, max_bytes=max_bytes)


@pytest.mark.parametrize(("proto", "slots"), [("Simple", 2), ("LL", 8), ("LL128", 8)])
def test_deadlock_by_full_queues_only(proto: str, slots: int) -> None:
    assert check(both_send_first(slots, proto)).ok
    report = check(both_send_first(slots + 1, proto))
    assert report.verdict == "deadlock"
    text = str(report)
    assert f"rank 0, threadblock 0, step {slots} (s) waits for rank 1 to receive: {slots} sends are in flight" in text
    assert f"rank 1, threadblock 0, step {slots} (s) waits for rank 0" in text
    unlimited = replace(EXECUTOR, slots={proto: 10**6})
    assert check(both_send_first(slots + 1, proto), unlimited).ok


def test_large_data_cuts_a_step_into_pieces() -> None:
    """Three chunks in one step fit a queue of two while they move as one piece, that is, while they are small."""

    def program(max_bytes: int) -> P:
        return replace(ring_allgather(3, 3), max_bytes=max_bytes)

    assert check(program(2**16)).ok
    assert check(program(0)).verdict == "deadlock"
    # 9 chunks; a slot of Simple holds 2 MiB: a step is one piece as long as three chunks fit
    largest = 2**21 // 3 * 9
    assert check(program(largest)).ok
    report = check(program(largest + 1))
    assert report.verdict == "deadlock"
    assert "waits for rank" in str(report)


@pytest.mark.parametrize(
    ("chunks", "proto"), [(3, "Simple"), (5, "Simple"), (8, "Simple"), (9, "LL"), (9, "LL128"), (16, "LL128")]
)
def test_the_largest_safe_call_is_told(chunks: int, proto: str) -> None:
    """A file for calls up to just that many bytes passes, and for one more it does not."""
    made = replace(ring_allgather(4, chunks), proto=proto, max_bytes=0)
    report = check(made)
    assert report.verdict == "deadlock"
    assert report.safe_bytes
    assert f"right for calls up to {report.safe_bytes} bytes" in str(report)
    assert check(replace(made, max_bytes=report.safe_bytes)).ok
    worse = check(replace(made, max_bytes=report.safe_bytes + 1))
    assert (worse.verdict, worse.safe_bytes) == ("deadlock", report.safe_bytes)
    assert check(replace(made, proto="LL128", max_bytes=1)).safe_bytes is None


def test_a_deadlock_of_every_size_is_told() -> None:
    report = check(both_send_first(3, "Simple"))
    assert (report.verdict, report.safe_bytes) == ("deadlock", 0)
    assert "for calls of any size it deadlocks or is wrong" in str(report)


def test_small_calls_that_are_wrong_are_not_safe() -> None:
    """The circle is there for large calls only, but out of place the result is wrong for all."""
    made = replace(ring_allgather(3, 3), max_bytes=0)
    wrong = replace(made, ranks=tuple((replace(rank[0], steps=rank[0].steps[1:]),) for rank in made.ranks))
    assert check(made).safe_bytes
    assert check(replace(wrong, outofplace=False)).safe_bytes
    report = check(wrong)
    assert (report.verdict, report.safe_bytes) == ("deadlock", 0)
    assert "for calls of any size it deadlocks or is wrong" in str(report)


def test_waiting_in_a_circle_for_flags() -> None:
    one = T((S("cpy", "i0", "o0", dep=(1, 0), has=True),))
    two = T((S("cpy", "i1", "o1", dep=(0, 0), has=True),))
    report = check(P("allreduce", 2, ((one, two),)))
    assert report.verdict == "deadlock"
    assert "step 0 (cpy) waits for step 0 of threadblock 1" in str(report)
    assert "wait for each other" in str(report)


def test_waiting_for_a_flag_that_is_never_set() -> None:
    one = T((S("cpy", "i0", "o0", has=False),))
    two = T((S("cpy", "i1", "o1", dep=(0, 0)),))
    report = check(P("allreduce", 2, ((one, two),)))
    assert report.verdict == "deadlock"
    assert "hasdep" in str(report)
    assert "waits for ever" in str(report)


def test_a_later_flag_ends_a_wait_too() -> None:
    one = T((S("cpy", "i0", "o0"), S("cpy", "i1", "o1", has=True)))
    two = T((S("cpy", "o0", "s0", dep=(0, 0)),))
    assert check(P("allreduce", 2, ((one, two),), scratch=1)).ok


# --- races ----------------------------------------------------------------------------------------------------------


def copies(dep: tuple[int, int]) -> P:
    """One rank copies i -> s -> o with two threadblocks."""
    return P("allreduce", 1, ((T((S("cpy", "i0", "s0", has=True),)), T((S("cpy", "s0", "o0", dep=dep),))),), scratch=1)


def test_race_between_a_write_and_a_read() -> None:
    assert check(copies((0, 0))).ok
    report = check(copies((-1, -1)))
    assert report.verdict == "race"
    assert "s[0]" in str(report)
    assert report.findings[0].rank == 0


def test_race_between_a_read_and_a_later_write() -> None:
    def program(dep: tuple[int, int]) -> P:
        one = T((S("cpy", "i0", "s0"), S("cpy", "s0", "o0", has=True)))
        two = T((S("cpy", "i1", "s0", dep=dep), S("cpy", "s0", "o1")))
        return P("allreduce", 2, ((one, two),), scratch=1)

    assert check(program((0, 1))).ok
    assert check(program((-1, -1))).verdict == "race"


def test_race_between_two_writes() -> None:
    one, two = T((S("cpy", "i0", "o0"),)), T((S("cpy", "i0", "o0"),))
    assert check(P("allreduce", 1, ((one, two),))).verdict == "race"


def through_a_neighbour(forward: str) -> P:
    """Rank 0 sends its chunk, and what comes back from rank 1 overwrites it; two threadblocks, no flag."""
    there = T((S("s", "i0"),), send=1)
    back = T((S("r", "i0", "i0"),), recv=1)
    steps = {
        "one step": (S("rrcs", "i0", "i0"),),
        "two steps": (S("rrc", "i0", "i0"), S("s", "i0")),
        "own data": (S("s", "i0"), S("rrc", "i0", "i0")),
    }[forward]
    return P("allreduce", 1, ((there, back), (T(steps, 0, 0),)), outofplace=False)


def test_order_that_comes_from_messages() -> None:
    assert check(through_a_neighbour("one step")).ok
    assert check(through_a_neighbour("two steps")).ok
    assert check(through_a_neighbour("own data")).verdict == "race"


def test_chunks_of_one_step_have_no_order_among_themselves() -> None:
    """Chunk by chunk, the copy that comes back overwrites what has been sent; shifted by one it does not wait."""

    def program(shift: int, *steps: S) -> P:
        there = T((S("s", "i0", cnt=2),), send=1)
        back = T((S("r", "i0", f"i{shift}", cnt=2),), recv=1)
        return P("allreduce", 3, ((there, back), (T(steps, 0, 0),)), 2, outofplace=False)

    one_step = [S("rcs", "i0", "s0", cnt=2)]
    two_steps = [S("r", "i0", "s0", cnt=2), S("s", "s0", cnt=2)]
    assert check(program(0, *one_step)).verdict == "wrong result"  # no reduction, but no race either
    assert check(program(1, *one_step)).verdict == "race"
    assert check(program(1, *two_steps)).verdict == "wrong result"


def test_full_queues_give_no_order() -> None:
    """With two slots the third send follows the first receive; a transport with more slots keeps no such order."""
    first = T((S("s", "i0"), S("s", "i0"), S("s", "i0"), S("s", "i1")), send=1)
    second = T(
        (S("cpy", "i0", "s0"), S("r", "i0", "s1"), S("r", "i0", "s2"), S("r", "i0", "s3"), S("r", "i0", "s4")), recv=0
    )
    report = check(P("broadcast", 2, ((first,), (second, T((S("cpy", "s4", "o0"),)))), scratch=5))
    assert report.verdict == "race"


def test_overlapping_copy() -> None:
    def program(source: str, target: str, kind: str = "cpy") -> P:
        return P("allreduce", 4, ((T((S(kind, source, target, 2),)),),), outofplace=False)

    for kind in ("cpy", "re"):
        assert check(program("i0", "i1", kind)).verdict == "race"
        assert check(program("i1", "i0", kind)).verdict == "race"
        assert check(program("i0", "i2", kind)).verdict == "wrong result"
    assert check(program("i0", "i0")).ok
    assert check(program("i0", "i0", "re")).verdict == "wrong result"


def overtaken_send(*, waits: bool) -> P:
    """In place: once rank 0 has sent i0, another threadblock, which may wait for a flag, overwrites it."""
    send = T((S("s", "i0", has=True),), send=1)
    receive = T((S("r", "i0", "i0", dep=(0, 0) if waits else (-1, -1)),), recv=1, chan=1)
    other = T((S("rrc", "i0", "s0"),), recv=0), T((S("s", "i0"),), send=0, chan=1)
    return P("reduce", 1, ((send, receive), other), scratch=1, proto="LL", outofplace=False, channels=2)


def test_ll_sends_are_not_settled_on_every_runtime() -> None:
    """The flag of an LL send protects its source only where the threads meet after it."""
    for name, races in (("msccl", False), ("msccl-executor", False), ("rccl", True)):
        assert (check(overtaken_send(waits=True), PROFILES[name]).verdict == "race") == races
        simple = replace(overtaken_send(waits=True), proto="Simple")
        assert check(simple, PROFILES[name]).verdict != "race"
        assert check(overtaken_send(waits=False), PROFILES[name]).verdict == "race"


def test_the_next_step_overtakes_an_ll_send_too() -> None:
    """Without any flag: the threads of one block do not meet between a send and a copy into what it sends."""

    def program(*between: S) -> P:
        steps = (S("s", "i0"), *between, S("cpy", "i2", "i0"))
        other = tuple(S("r", "i0", f"s{k}") for k in range(1 + sum(s.type == "s" for s in between)))
        return P("reduce", 3, ((T(steps, 1),), (T(other, recv=0),)), scratch=2, proto="LL", outofplace=False)

    rccl = PROFILES["rccl"]
    assert check(program()).verdict == "wrong result"
    assert check(program(), rccl).verdict == "race"
    for meeting in (S("s", "i1"), S("cpy", "i2", "s0")):
        assert check(program(meeting), rccl).verdict == "wrong result"


def test_a_copy_onto_itself_only_reads() -> None:
    """In place the first copy is idle: it may run beside readers, not beside a writer."""

    def program(other: S) -> P:
        return P("allreduce", 1, ((T((S("cpy", "i0", "o0"),)), T((other,))),), scratch=1)

    assert check(program(S("cpy", "i0", "s0"))).ok
    assert check(program(S("re", "i0", "o0"))).verdict == "race"


# --- the other verdicts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (S("cpy", "i0", "o0", 3), "touches i[0] to i[2] of 2 chunks"),
        (S("cpy", "i1", "o1", 2), "touches i[1] to i[2] of 2 chunks"),
        (S("cpy", "s0", "o0", 2), "touches s[0] to s[1] of 1 chunks"),
        (S("cpy", "i-1", "o0"), "touches i[-1]"),
        (S("re", "i0", "o1", 2), "touches o[1] to o[2] of 2 chunks"),
    ],
)
def test_out_of_bounds(step: S, words: str) -> None:
    report = check(P("allreduce", 2, ((T((step,)),),), scratch=1))
    assert report.verdict == "out-of-bounds"
    assert words in str(report)
    finding = report.findings[0]
    assert (finding.rank, finding.threadblock, finding.step) == (0, 0, 0)


def test_the_parser_forgets_the_bounds_of_rrc() -> None:
    program = steps_of(ring_reduce_scatter(2), 0, 0, (S("s", "i1"), S("rrc", "i0", "o5")))
    assert check(program).verdict == "out-of-bounds"


def test_declared_sizes_do_not_enlarge_buffers() -> None:
    text = write(P("allreduce", 2, ((T((S("cpy", "i0", "o0", 2), S("cpy", "i2", "o0"))),),)))
    assert check(text).verdict == "illegal"
    text = text.replace('i_chunks="2"', 'i_chunks="3"')
    assert check(text).verdict == "out-of-bounds"
    assert check(text, PROFILES["msccl"]).verdict == "illegal"


def test_buffers_that_only_the_root_has() -> None:
    program = tree_broadcast(3)
    report = check(steps_of(program, 2, 0, (*program.ranks[2][0].steps, S("cpy", "i0", "o0"))))
    assert (report.verdict, report.modes) == ("out-of-bounds", ("in place", "out of place"))
    assert report.findings[0].rank == 2


def test_uninitialised_read() -> None:
    report = check(P("allreduce", 1, ((T((S("cpy", "s0", "o0"),)),),), scratch=1))
    assert report.verdict == "uninitialised read"
    assert "cpy reads s[0], which nothing has written" in str(report)
    out = replace(ring_allgather(3), inplace=False)
    assert (
        check(steps_of(out, 1, 0, (*out.ranks[1][0].steps[1:], S("cpy", "i0", "o1")))).verdict == "uninitialised read"
    )


def test_in_place_allgather_needs_no_copy_but_out_of_place_does() -> None:
    program = ring_allgather(3)
    for rank in range(3):
        program = steps_of(program, rank, 0, program.ranks[rank][0].steps[1:])
    assert check(replace(program, outofplace=False)).ok
    assert check(program).verdict == "uninitialised read"


def test_in_place_reduce_scatter_ends_in_the_slice_of_the_input() -> None:
    program = ring_reduce_scatter(3)
    for rank in range(3):
        last = replace(program.ranks[rank][0].steps[-1], dst=f"i{rank}")
        program = steps_of(program, rank, 0, (*program.ranks[rank][0].steps[:-1], last))
    assert check(replace(program, outofplace=False)).ok
    assert check(replace(program, inplace=False)).verdict == "wrong result"


def test_out_of_place_must_leave_the_input_alone() -> None:
    program = replace(ring_allreduce(3), inplace=False)
    steps = (*program.ranks[1][0].steps, S("cpy", "o0", "i2"))
    report = check(steps_of(program, 1, 0, steps))
    assert report.verdict == "wrong result"
    assert [str(finding) for finding in report.findings] == [
        "rank 1: i[2], the caller's, is changed, and ends as chunk 0 of all ranks"
    ]


def test_only_the_root_has_data_to_broadcast() -> None:
    """In place all ranks have the buffer, and what the others have in it at the start is nothing."""
    program = replace(tree_broadcast(3), outofplace=False)
    steps = (S("cpy", "i0", "s0", 2), *program.ranks[2][0].steps)
    report = check(replace(steps_of(program, 2, 0, steps), scratch=2))
    assert report.verdict == "uninitialised read"
    assert report.root == 0


def test_wrong_result_says_what_is_there() -> None:
    program = ring_allgather(3)
    steps = program.ranks[0][0].steps
    report = check(steps_of(program, 0, 0, (*steps[:-1], replace(steps[-1], dst="o2"))))
    assert report.verdict == "wrong result"
    assert "o[1] ends as nothing instead of chunk 0 of rank 1" in str(report)


def test_a_contribution_twice_is_wrong() -> None:
    program = pairs_allreduce(3)
    first = program.ranks[0][0].steps
    again = replace(program.ranks[0][0], steps=(*first[:-1], replace(first[-1], src=first[-2].src)))
    report = check(replace(program, ranks=((again, *program.ranks[0][1:]), *program.ranks[1:])))
    assert report.verdict == "wrong result"
    assert "more than once" in str(report)


def test_fused_reductions_use_the_last_count() -> None:
    """The runtime adds one chunk in both, because the second re has cnt 1 and is fused into the first."""
    steps = (S("cpy", "i0", "s0", 2), S("cpy", "i0", "o0", 2), S("re", "s0", "o0", 2), S("re", "s0", "o0", 1))
    report = check(P("allreduce", 2, ((T(steps),),), scratch=2, inplace=False))
    assert "o[0] ends as chunk 0 of rank 0 (more than once: 0)" in str(report)
    assert "o[1]" not in str(report)


def test_mismatches() -> None:
    program = ring_allgather(3)
    steps = program.ranks[1][0].steps
    cases = {
        "is never received": steps[:-1],
        "receives what is never sent": (*steps, S("r", "o0", "o0")),
        "sends 1 chunks, but": (*steps[:-1], replace(steps[-1], cnt=2, dst="o0")),
    }
    for words, changed in cases.items():
        report = check(steps_of(program, 1, 0, changed))
        assert report.verdict == "mismatch"
        assert words in str(report)
    lonely = write(program).replace('send="2" recv="0"', 'send="2" recv="-1"', 1)
    assert check(re.sub(r' type="(rcs|r)"', ' type="s"', lonely)).verdict == "mismatch"


def test_a_pass_that_only_one_end_knows() -> None:
    program = P("allreduce", 1, ((T((S("cpy", "i0", "o0"),)), T((), send=1)), (T((S("cpy", "i0", "o0"),)),)))
    report = check(program)
    assert report.verdict == "mismatch"
    assert "where none receives from it" in str(report)


# --- limits ---------------------------------------------------------------------------------------------------------

BASE = write(ring_allgather(3))


def many_steps(count: int) -> str:
    return write(P("allreduce", 1, ((T(tuple(S("cpy", "i0", "o0") for _ in range(count))),),)))


def many_threadblocks(count: int) -> str:
    chunks = tuple(T((S("cpy", f"i{k}", f"o{k}"),)) for k in range(count))
    return write(P("allreduce", count, (chunks,)))


def many_peers(count: int, channels: int = 1) -> str:
    """Rank 0 sends its chunk to all others."""
    sends = tuple(T((S("s", "i0"),), send=r, chan=r % channels) for r in range(1, count + 1))
    root = (T((S("cpy", "i0", "o0"),)), *sends)
    others = [(T((S("r", "i0", "o0"),), recv=0, chan=r % channels),) for r in range(1, count + 1)]
    return write(P("broadcast", 1, (root, *others), channels=channels))


def many_nodes(extra: int) -> str:
    """One rank keeps 1 + 1 + 16 + 16 * 254 + extra elements."""
    tbs = [T(tuple(S("cpy", f"i{t}", f"o{t}") for _ in range(254 + (t < extra)))) for t in range(16)]
    return write(P("allreduce", 16, (tuple(tbs),)))


def swap(old: str, new: str, text: str = BASE) -> str:
    assert old in text
    return text.replace(old, new, 1)


def fused(count: int, head: int) -> str:
    """``head`` single reductions, then ``count`` in a row into one place."""
    steps = [S("cpy", "i0", "s0"), S("cpy", "i0", "o0")]
    steps += [S("re", "s0", f"s{1 + k % 2}") for k in range(head)]
    return write(P("reduce", 1, ((T((*steps, *(S("re", "s0", "s3") for _ in range(count)))),),), scratch=4))


LIMITS: dict[str, tuple[Callable[[], str], str, str | None]] = {
    "steps": (lambda: many_steps(257), "257 steps", many_steps(256)),
    "threadblocks": (lambda: many_threadblocks(109), "must run at once", many_threadblocks(108)),
    "threadblock ids": (lambda: many_threadblocks(129), "ids end at 127", None),
    "threadblocks per channel": (lambda: many_peers(33), "33 threadblocks send to peers", many_peers(32)),
    "channels help": (lambda: many_peers(65, 2), "33 threadblocks send to peers", many_peers(64, 2)),
    "elements": (lambda: many_nodes(14), "4096 XML elements", many_nodes(13)),
    "nchannels": (
        lambda: swap('nchannels="1"', 'nchannels="33"'),
        "from 1 to 32",
        swap('nchannels="1"', 'nchannels="32"'),
    ),
    "no channel": (lambda: swap('nchannels="1"', 'nchannels="0"'), "from 1 to 32", None),
    "chan": (lambda: swap('chan="0"', 'chan="1"'), "chan=", None),
    "chan -1": (lambda: swap('chan="0"', 'chan="-1"'), "chan=", None),
    "cnt": (
        lambda: write(P("allreduce", 72, ((T((S("cpy", "i0", "o0", 72),)),),))),
        "from 0 to 71",
        write(P("allreduce", 71, ((T((S("cpy", "i0", "o0", 71),)),),))),
    ),
    "cnt 0": (
        lambda: swap(
            'type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1"',
            'type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="0"',
        ),
        "from 1 to 71",
        None,
    ),
    "cnt -1": (lambda: swap('cnt="1"', 'cnt="-1"'), "from 0 to 71", None),
    "s": (lambda: swap(' s="0"', ' s="256"'), "from 0 to 255", None),
    "depid": (lambda: swap('depid="-1"', 'depid="1"'), "no threadblock of this rank", None),
    "deps": (lambda: swap('depid="-1" deps="-1"', 'depid="0" deps="-1"'), "not a step", None),
    "offset below": (lambda: swap('srcoff="0"', 'srcoff="-2"'), 'srcoff="-2"', None),
    "offset above": (lambda: swap('dstoff="0"', 'dstoff="3"'), 'dstoff="3"', None),
    "offset of 16 bits": (
        lambda: write(P("allreduce", 1, ((T((S("cpy", "i0", "s32768"), S("cpy", "i0", "o0"))),),), scratch=40000)),
        "more than 32767",
        write(P("allreduce", 1, ((T((S("cpy", "i0", "s32767"), S("cpy", "i0", "o0"))),),), scratch=40000)),
    ),
    "peer": (lambda: swap('send="1"', 'send="3"'), "another rank", None),
    "own peer": (lambda: swap('send="1"', 'send="0"'), "another rank", None),
    "peer -2": (lambda: swap('send="1"', 'send="-2"'), "another rank", None),
    "send without peer": (lambda: swap('send="1"', 'send="-1"'), 'send="-1"', None),
    "receive without peer": (lambda: swap('recv="2"', 'recv="-1"'), 'recv="-1"', None),
    "gpu missing": (lambda: swap('ngpus="3"', 'ngpus="4"'), "gpu ids", None),
    "gpu twice": (lambda: swap('gpu id="1"', 'gpu id="0"'), "gpu ids", None),
    "no gpu": (lambda: swap('ngpus="3"', 'ngpus="0"'), "ngpus", None),
    "ngpus huge": (lambda: swap('ngpus="3"', f'ngpus="{2**31 - 1}"'), "multiple of ngpus", None),
    "gap in the threadblocks": (lambda: swap('tb id="0"', 'tb id="1"'), "without a gap", None),
    "no threadblock": (
        lambda: re.sub(r"(?s)(<gpu [^>]*>).*?</gpu>", r"\1</gpu>", BASE, count=1),
        "without a gap",
        None,
    ),
    "s_chunks": (lambda: swap('s_chunks="0"', 's_chunks="-1"'), "negative", None),
    "chunks not a multiple": (lambda: swap('nchunksperloop="3"', 'nchunksperloop="4"'), "multiple of ngpus", None),
    "no chunks": (lambda: swap('nchunksperloop="3"', 'nchunksperloop="0"'), "nchunksperloop", None),
    "chunks huge": (lambda: swap('nchunksperloop="3"', f'nchunksperloop="{2**31 - 1}"'), "offsets can reach", None),
    "sizes": (lambda: swap('minBytes="0"', 'minBytes="65537"'), "no range", swap('minBytes="0"', 'minBytes="65535"')),
    "never": (lambda: swap('inplace="1" outofplace="1"', 'inplace="0" outofplace="0"'), "never used", None),
    "two to one peer": (
        lambda: write(
            P(
                "broadcast",
                1,
                (
                    (T((S("cpy", "i0", "o0"),)), *(T((S("s", "i0"),), send=1) for _ in range(2))),
                    (T((S("r", "i0", "o0"), S("r", "i0", "o0")), recv=0),),
                ),
            )
        ),
        "2 threadblocks send to rank 1",
        None,
    ),
    "nop chain": (
        lambda: write(
            P(
                "allreduce",
                1,
                ((T((S("cpy", "i0", "o0", has=True),)), T((S("nop", dep=(0, 0)), S("cpy", "i0", "s0")))),),
                scratch=1,
            )
        ),
        "needs one of its own",
        write(
            P(
                "allreduce",
                1,
                ((T((S("cpy", "i0", "o0", has=True),)), T((S("nop", dep=(0, 0)), S("cpy", "i0", "s0", dep=(0, 0))))),),
                scratch=1,
            )
        ),
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limit(name: str) -> None:
    bad, words, good = LIMITS[name]
    report = check(bad())
    assert report.verdict == "illegal"
    assert words in str(report)
    assert report.usage is None
    if good is not None:
        assert check(good).ok, str(check(good))


@pytest.mark.parametrize(
    ("count", "head", "legal"), [(16, 0, True), (32, 0, True), (33, 0, False), (16, 20, True), (17, 20, False)]
)
def test_at_most_sixteen_reductions_are_fused(count: int, head: int, legal: bool) -> None:
    """The runtime closes a chain when the threadblock has 16 reductions; a chain begun later never closes."""
    report = check(fused(count, head))
    assert (report.verdict == "illegal") == (not legal)
    assert ("more than 16 consecutive" in str(report)) == (not legal)


@pytest.mark.parametrize(
    ("name", "runtime"), [("steps", "rccl"), ("threadblocks", "rccl"), ("steps", "msccl-executor")]
)
def test_some_runtimes_hold_less(name: str, runtime: str) -> None:
    build = {"steps": many_steps, "threadblocks": many_threadblocks}[name]
    assert check(build(64), PROFILES[runtime]).ok
    report = check(build(65), PROFILES[runtime])
    assert report.verdict == "illegal"
    assert f"{runtime} holds 64" in str(report)


def test_resident_threadblocks_of_another_gpu() -> None:
    assert check(many_threadblocks(120), replace(EXECUTOR, resident_threadblocks=132)).ok


@pytest.mark.dear("allreduce", "reduce")
@pytest.mark.parametrize("coll", ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"])
def test_large_numbers_without_work_are_answered_soon(coll: str) -> None:
    chunks = 32 * 1024
    for ranks in (1, 512):
        program = P(coll, chunks, tuple((T((S("cpy", "i0", "o0"),)),) for _ in range(ranks)), scratch=2**31 - 1)
        report = check(program)
        assert report.verdict in {"ok", "wrong result", "uninitialised read"}


# --- positions, warnings, reports -----------------------------------------------------------------------------------


def test_dependencies_count_operations_not_s() -> None:
    """A nop without a dependency vanishes, so the next step announces position 0 and nobody reaches step 1."""
    one = T((S("nop"), S("cpy", "i0", "s0", has=True)))
    two = T((S("cpy", "s0", "o0", dep=(0, 1)),))
    report = check(P("allreduce", 1, ((one, two),), scratch=1))
    assert report.verdict == "deadlock"
    assert any("s is 1, but others must wait for it as step 0" in warning for warning in report.warnings)


def test_a_nop_at_the_end_waits_for_nothing() -> None:
    one = T((S("cpy", "i0", "o0"), S("nop", dep=(1, 0))))
    report = check(P("allreduce", 1, ((one, T((S("cpy", "i0", "s0"),))),), scratch=1))
    assert report.ok
    assert any("nop after the last step" in warning for warning in report.warnings)


def test_warnings() -> None:
    def warned(program: P, words: str) -> bool:
        report = check(program)
        assert report.ok
        return any(words in warning for warning in report.warnings)

    ring = ring_allgather(3)
    assert warned(replace(ring, channels=4), "nchannels is 4, but 1 are used")
    assert warned(replace(ring, inplace=False), "only for calls out of place")
    assert warned(replace(ring, proto="LL", max_bytes=2**26), "half of what LL moves")
    assert warned(replace(ring, proto="LL", max_bytes=0), "any size")
    assert not warned(replace(ring, proto="LL"), "LL")
    assert warned(replace(ring, ranks=tuple((*tbs, T(())) for tbs in ring.ranks)), "nothing to do")
    two = tuple((*tbs, T((S("cpy", "i0", "s0"),), chan=1)) for tbs in ring.ranks)
    assert warned(replace(ring, ranks=two, channels=2, scratch=1), "2 channels, but no link carries more than 1")
    assert check(ring).warnings == ()


def sized(smallest: int, largest: int) -> str:
    return write(ring_allgather(4)).replace(
        'minBytes="0" maxBytes="65536"', f'minBytes="{smallest}" maxBytes="{largest}"'
    )


@pytest.mark.parametrize(
    ("smallest", "largest", "strict", "loose"),
    [
        (5, 0, "refuses the file", None),
        (9, 8, "refuses the file", "never used"),
        (8, 8, "never used", None),
        (0, 0, "never used", None),
        (0, 1, "never used", "never used"),
        (8, 9, None, None),
        (5, 8, "no size in between is a multiple of the 4 chunks", None),
        (5, 7, "no size in between is a multiple of the 4 chunks", "no size in between is a multiple of the 4 chunks"),
        (-1, 64, "negative", "negative"),
        (0, -1, "negative", "negative"),
        (0, 2**63 - 1, None, None),
    ],
)
def test_sizes_by_the_rule_of_the_runtime(smallest: int, largest: int, strict: str | None, loose: str | None) -> None:
    """Sizes below maxBytes, where 0 is a limit and a range the wrong way round refused; or up to it, 0 for any."""
    for name, words in (("msccl", strict), ("msccl-executor", loose), ("rccl", loose)):
        report = check(sized(smallest, largest), PROFILES[name])
        assert (report.verdict == "ok") == (words is None), str(report)
        assert words is None or words in str(report)


def test_which_calls_a_file_serves_is_told() -> None:
    for name, largest in (("msccl", 7), ("msccl-executor", 8)):
        calls = check(sized(2, 8), PROFILES[name]).calls
        assert calls is not None
        assert (calls.smallest, calls.largest) == (2, largest)
    unlimited = check(sized(0, 0)).calls
    assert unlimited is not None
    assert unlimited.largest is None


def test_scratch_is_told_and_what_no_device_has_is_refused() -> None:
    """pairs_allreduce(4) has as much scratch as data."""

    def report(largest: int, name: str) -> CheckReport:
        return check(replace(pairs_allreduce(4), max_bytes=largest), PROFILES[name])

    small = report(2**20, "msccl")
    assert small.calls is not None
    assert (small.calls.scratch_share, small.calls.scratch_bytes, small.calls.scratch_at_start) == ("1", 2**20, True)
    assert f"{2**20} bytes, taken when the communicator starts" in str(small)
    assert not any("scratch" in warning for warning in small.warnings)
    assert not any("scratch" in warning for warning in report(2**30 + 1, "msccl").warnings)
    assert any(f"{2**31} bytes of scratch" in warning for warning in report(2**31, "msccl").warnings)
    for largest in (2**40 + 1, 2**62, 2**63 - 1):
        refused = report(largest, "msccl")
        assert refused.verdict == "illegal"
        assert f"takes {largest} bytes of scratch on a rank when the communicator starts" in str(refused)
        grows = report(largest, "rccl")
        assert grows.ok
        assert "taken by the first call of that size" in str(grows)
    anything = report(0, "msccl-executor").calls
    assert anything is not None
    assert anything.scratch_bytes is None
    assert "1 of a call" in str(anything)


@pytest.mark.parametrize("runtime", PROFILES)
def test_what_has_a_root_is_said_to_serve_calls_of_every_root(runtime: str) -> None:
    for name, program in FAMILIES.items():
        report = check(program, PROFILES[runtime])
        warned = [text for text in report.warnings if "of every root, with wrong data" in text]
        assert len(warned) == (program.coll in {"broadcast", "reduce"}), name
        assert all(f"have root {report.root} " in text for text in warned)


def test_reports_print_and_serialise() -> None:
    good, bad = check(ring_allreduce(3)), check(both_send_first(3, "Simple"))
    assert str(good).startswith("ok: t, allreduce of 3 ranks, Simple")
    assert "right result in every order" in str(good)
    assert str(bad).startswith("deadlock in place: ")
    for report in (good, bad):
        record = json.loads(json.dumps(report.record()))
        assert record["ok"] == report.ok
        assert record["verdict"] == report.verdict


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "ring.xml"
    path.write_text(write(ring_allgather(3)))
    assert check_file(path).ok
    assert check_file(str(path), "rccl").ok
    assert run(["verify", str(path)]) == 0
    assert run(["verify", str(path), "--samples", "3"]) == 2  # every order is decided
    path.write_text('<?xml version="1.0"?>\n' + write(ring_allgather(3)))
    report = check_file(path)
    assert report.verdict == "illegal"
    assert "XML declaration" in str(report)


def test_bad_arguments() -> None:
    program = parse_xml(write(tree_broadcast(3)), EXECUTOR)
    with pytest.raises(ParameterError, match="root must be"):
        check_program(program, EXECUTOR, root=3)
    assert check_program(program, EXECUTOR, root=1).verdict != "ok"
    assert check_program(program, EXECUTOR, root=0).ok
