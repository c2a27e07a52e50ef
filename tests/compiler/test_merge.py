"""Threadblocks that send and receive: fewer, right at any capacity, and proven to end just when they do."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compiler.test_rounds import TOPOLOGIES, check_xml, execute, random_regular, schedule_on
from tests.floors import reached
from tests.samples.blocks import Instruction, RankProgram, Threadblock, columns_of, ranks_of
from tests.samples.programs import count_instructions, program_of_rounds
from tests.samples.schedules import COLLECTIVES
from topodesign.base.errors import InfeasibleError
from topodesign.compiler.backends.xml import to_xml
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.progress import ends
from topodesign.compiler.instructions import Kind
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import Limits
from topodesign.compiler.options import THREADBLOCKS, Threadblocks
from topodesign.runtime.msccl.check import CheckReport
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import build


def blocks(program: Program) -> list[Threadblock]:
    return [block for body in ranks_of(program) for block in body.threadblocks]


def shared(program: Program) -> int:
    return sum(None not in {block.send, block.receive} for block in blocks(program))


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("name", [name for name in TOPOLOGIES if name != "one"])
def test_shared_threadblocks_are_right_at_any_capacity(name: str, collective: str) -> None:
    """With every number of slots that a target may promise, and on connections that hold no more than that."""
    topology = TOPOLOGIES[name]
    shared_ones: tuple[Threadblocks, ...] = ("auto", "merged")
    for slots, inplace, threadblocks in itertools.product((1, 3), (False, True), shared_ones):
        if (inplace, threadblocks) == (slots == 1, "merged"):
            continue
        plan = schedule_on(topology, collective, units=6, pieces=2, late=0.3, seed=slots)
        limits = Limits(slots=slots)
        program = program_of_rounds(topology, plan, inplace=inplace, threadblocks=threadblocks, limits=limits)
        execute(program, seed=slots, times=1, slots=slots)
        assert ends(program.columns, slots, 1)
        apart = program_of_rounds(topology, plan, inplace=inplace, limits=limits)
        assert len(blocks(program)) <= len(blocks(apart))
        moved = [sum(one.count for block in blocks(made) for one in block.instructions) for made in (program, apart)]
        assert moved[0] <= moved[1]


@pytest.mark.parametrize("seed", range(12))
def test_a_rank_that_shares_nothing_more_keeps_its_order(seed: int) -> None:
    topology = random_regular(6, 1, seed)
    plan = schedule_on(topology, "allgather", units=3, pieces=2, late=0.4, seed=seed)
    made, apart = (ranks_of(program_of_rounds(topology, plan, threadblocks=mode)) for mode in ("auto", "separate"))
    for one, other in zip(made, apart, strict=True):
        assert one == other or len(one.threadblocks) < len(other.threadblocks)


@settings(max_examples=25)
@given(
    nodes=st.integers(2, 8),
    degree=st.integers(1, 3),
    collective=st.sampled_from(COLLECTIVES),
    units=st.integers(1, 9),
    pieces=st.integers(1, 4),
    late=st.sampled_from([0, 0.4]),
    threadblocks=st.sampled_from(["auto", "merged"]),
    channels=st.sampled_from([1, 2]),
    longest=st.sampled_from([8, 30, 256]),
    seed=st.integers(0, 2**16),
)
def test_any_schedule_in_shared_threadblocks(  # noqa: PLR0917
    nodes: int,
    degree: int,
    collective: str,
    units: int,
    pieces: int,
    late: float,
    threadblocks: Any,
    channels: int,
    longest: int,
    seed: int,
) -> None:
    topology = random_regular(nodes, degree, seed)
    plan = schedule_on(topology, collective, units=units, pieces=pieces, late=late, seed=seed)
    limits = Limits(instructions_per_block=longest)
    made: dict[str, Any] = {"channels": channels, "threadblocks": threadblocks}
    try:
        program = program_of_rounds(topology, plan, limits=limits, **made)
    except InfeasibleError:  # what a rank sends over one connection is too much for one threadblock
        program = program_of_rounds(topology, plan, limits=Limits(), **made)
        assert max(len(block.instructions) for block in blocks(program)) > longest
        longest = 10**9
    execute(program, seed=seed, times=2)
    check_xml(to_xml(program, profile=get_profile("msccl"), name="any"))
    for block in blocks(program):
        fused = any(one.kind.sends and one.kind.receives for one in block.instructions)
        if None not in {block.send, block.receive} and not fused:
            assert sum(max(1, len(one.depends)) for one in block.instructions) <= longest


@pytest.mark.parametrize(
    ("spec", "collective", "method", "threadblocks", "operations", "link"),
    [
        ("complete(8)", "allreduce", "direct", 7, 28, Fraction(1, 4)),
        ("complete(8)", "allgather", "direct", 7, 14, Fraction(1, 8)),
        ("hypercube(3)", "allreduce", "halving-doubling", 3, 12, Fraction(1)),
        ("hypercube(3)", "allreduce", "auto", 3, 36, Fraction(7, 12)),
    ],
)
def test_as_small_as_a_program_by_hand(  # noqa: PLR0917
    spec: str, collective: str, method: str, threadblocks: int, operations: int, link: Fraction
) -> None:
    """Programs of msccl-tools take 8 threadblocks and 35 operations, 7, and 3 and 12; scratch 7/8 and none."""
    plan = schedule(spec, collective, method=method)
    for mode in THREADBLOCKS:
        made = compile_plan(plan, inplace=True, threadblocks=mode).checked()
        rows = made.to_records()
        least, most = threadblocks * (1 + (mode == "separate")), threadblocks * (2 - (mode == "merged"))
        assert all(least <= row["threadblocks"] <= most for row in rows)
        assert {row["scratch_chunks"] for row in rows} == {0}
        assert count_instructions(made.program, Kind.COPY, Kind.REDUCE) == 0
        assert made.sharing.apart == 2 * threadblocks
        assert {row["instructions"] for row in rows} == {operations}
        carried: Counter[tuple[int, int | None]] = Counter()
        for rank, body in enumerate(ranks_of(made.program)):
            for block in body.threadblocks:
                carried[rank, block.send] += sum(one.count for one in block.instructions if one.kind.sends)
        assert Fraction(max(carried.values()), made.program.chunks) == link


def test_large_messages_alone_stay_apart() -> None:
    """Those of calls small enough for a connection do not, and the file says for which."""
    plan = schedule("hypercube(3)", "allreduce", method="halving-doubling")
    large, small = (compile_plan(plan, max_size=size).checked() for size in (None, "8MiB"))
    for made, threadblocks in ((large, 4), (small, 3)):
        assert {row["threadblocks"] for row in made.to_records()} == {threadblocks}
        assert {row["instructions"] for row in made.to_records()} == {12}
    assert isinstance(small.report, CheckReport)
    assert small.report.calls is not None
    assert small.report.calls.largest == 8 * 2**20


def test_runtimes_without_slots_take_turns() -> None:
    plan = schedule_on(TOPOLOGIES["complete"], "allreduce")
    for mode, least in (("auto", 0), ("merged", 1)):
        limits = Limits(slots=0)
        program = program_of_rounds(TOPOLOGIES["complete"], plan, threadblocks=mode, limits=limits)
        assert ends(program.columns, 0, 1)
        assert shared(program) >= least
        assert shared(program) * least == shared(program)


def test_as_many_as_are_too_many_are_joined_the_shortest_first_and_of_one_peer() -> None:
    topology = build("circulant(12,2,3)")
    plan = schedule_on(topology, "allreduce", units=6, pieces=3, late=0.3)
    apart = program_of_rounds(topology, plan, threadblocks="separate", limits=Limits(slots=8))
    for most in (8, 7, 5):
        limits = Limits(slots=8, blocks_per_rank=most)
        program = program_of_rounds(topology, plan, threadblocks="separate", limits=limits)
        for body, before in zip(ranks_of(program), ranks_of(apart), strict=True):
            long: Counter[int | None] = Counter()  # instructions to and from a peer
            for block in before.threadblocks:
                long[block.receive if block.send is None else block.send] += len(block.instructions)
            joined = [block.send for block in body.threadblocks if None not in {block.send, block.receive}]
            assert joined == [block.receive for block in body.threadblocks if None not in {block.send, block.receive}]
            assert len(joined) == 8 - most
            others = [long[peer] for peer in long.keys() - set(joined)]
            assert max((long[peer] for peer in joined), default=0) <= min(others, default=10**9)


# -- the proof --------------------------------------------------------------------------------------------------------


def stuck(ranks: list[RankProgram], slots: int, piece: int, rng: random.Random) -> bool:  # noqa: C901
    """Run piece by piece in a random order; without slots a send and a receive that are both due happen together."""
    at = {(rank, tb): (0, 0) for rank, body in enumerate(ranks) for tb in range(len(body.threadblocks))}
    queue: Counter[tuple[int, int, int]] = Counter()

    def due(rank: int, tb: int) -> Instruction | None:
        here = ranks[rank].threadblocks[tb].instructions
        index, _ = at[rank, tb]
        if index == len(here) or any(at[rank, other][0] <= step for other, step in here[index].depends):
            return None
        return here[index]

    def advance(rank: int, tb: int) -> None:
        index, done = at[rank, tb]
        one = ranks[rank].threadblocks[tb].instructions[index]
        at[rank, tb] = (index, done + 1) if done + 1 < -(-one.count // piece) else (index + 1, 0)

    def moves() -> Iterator[tuple[tuple[int, int], ...]]:
        receivers = {
            (block.receive, rank, block.channel): (rank, tb)
            for rank, body in enumerate(ranks)
            for tb, block in enumerate(body.threadblocks)
            if block.receive is not None
        }
        for rank, body in enumerate(ranks):
            for tb, block in enumerate(body.threadblocks):
                one = due(rank, tb)
                if one is None:
                    continue
                out = (rank, block.send if block.send is not None else -1, block.channel)
                into = (block.receive if block.receive is not None else -1, rank, block.channel)
                if slots == 0 and one.kind.sends:
                    other = receivers[out]
                    theirs = due(*other)
                    if theirs is not None and theirs.kind.receives:
                        yield (rank, tb), other
                elif slots == 0 and one.kind.receives:
                    continue
                elif (not one.kind.receives or queue[into]) and (not one.kind.sends or queue[out] < slots):
                    yield ((rank, tb),)

    while choices := list(moves()):
        for rank, tb in (chosen := rng.choice(choices)):
            if len(chosen) == 1:
                block = ranks[rank].threadblocks[tb]
                one = block.instructions[at[rank, tb][0]]
                if one.kind.receives:
                    queue[block.receive or 0, rank, block.channel] -= 1
                if one.kind.sends:
                    queue[rank, block.send or 0, block.channel] += 1
            advance(rank, tb)
    return any(index < len(ranks[rank].threadblocks[tb].instructions) for (rank, tb), (index, _) in at.items())


def shuffled(rng: random.Random, nodes: int) -> list[RankProgram]:
    """Sends and receives that match, in shared threadblocks and in an order that may wait in circles."""
    lines: dict[tuple[int, int], list[tuple[Kind, int]]] = defaultdict(list)
    shift = rng.choice([0, rng.randrange(nodes)])
    for _ in range(rng.randint(2, 3 * nodes)):
        src, dst = rng.sample(range(nodes), 2)
        count = rng.randint(1, 3)
        lines[src, dst].append((Kind.SEND, count))
        lines[dst, (src + shift) % nodes + nodes].append((Kind.RECEIVE, count))
    ranks = []
    for rank in range(nodes):
        found = []
        for peer in range(nodes):
            one = lines.get((rank, peer), [])
            source = (peer - shift) % nodes
            other = lines.get((rank, peer + nodes), [])
            send = peer if one else None
            receive = source if other else None
            if not one and not other:
                continue
            merged: list[tuple[Kind, int]] = []
            left, right = list(one), list(other)
            while left or right:
                merged.append((left if left and (not right or rng.random() < 0.6) else right).pop(0))
            found.append((send, receive, merged))
        number = len(found)
        made = []
        for tb, (send, receive, merged) in enumerate(found):
            some = []
            for kind, count in merged:
                before = rng.randrange(number)
                waits = before != tb and rng.random() < 0.15
                depends = ((before, rng.randrange(len(found[before][2]))),) if waits else ()
                some.append(Instruction(kind, None, None, count, depends, 1))
            made.append(Threadblock(send, receive, 0, tuple(some)))
        ranks.append(RankProgram(tuple(made), 0))
    return ranks


@pytest.mark.floor(ends=60, hangs=60)
def test_the_proof_agrees_with_brute_force() -> None:
    rng = random.Random(7)  # noqa: S311
    for _ in range(400):
        ranks = shuffled(rng, rng.randint(2, 4))
        slots, piece = rng.choice([0, 1, 2, 3]), rng.choice([1, 1, 2])
        hangs = stuck(ranks, slots, piece, rng)
        assert ends(columns_of(ranks), slots, piece) is not hangs
        reached("hangs" if hangs else "ends")


def test_orders_that_wait_in_circles_are_not_taken() -> None:
    """A program that ends is not one any more when both ends of a large message send first."""
    plan = schedule("hypercube(3)", "allreduce", method="halving-doubling")
    program = compile_plan(plan, threadblocks="merged").program

    def sends_first(block: Threadblock) -> Threadblock:
        order = sorted(block.instructions, key=lambda one: (one.step, one.kind.receives))
        return replace(block, instructions=tuple(replace(one, depends=()) for one in order))

    turned = [replace(body, threadblocks=tuple(map(sends_first, body.threadblocks))) for body in ranks_of(program)]
    made = columns_of(turned)
    assert ends(program.columns, 2, 1)
    assert not ends(made, 2, 1)
    assert ends(made, 4, 1)
    assert ends(made, 2, 2)
