"""The compiler against an interpreter of its own: real integers, bounded connections, many interleavings."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from numpy.typing import NDArray

from tests.conftest import few
from tests.floors import reached
from tests.samples.blocks import Instruction, RankProgram, Threadblock, columns_of, ranks_of
from tests.samples.programs import compile_movement, count_instructions, program_of_rounds
from tests.samples.schedules import COLLECTIVES, Collective, from_columns, with_columns
from topodesign.base.errors import (
    InfeasibleError,
    ParameterError,
    ScheduleError,
    TooLargeError,
    UnitError,
)
from topodesign.collectives import REDUCE_SCATTER, as_collective
from topodesign.compiler.backends.xml import to_xml
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.rounds_kernels import _bring
from topodesign.compiler.instructions import Buffer, Kind, Region
from topodesign.compiler.ir import Program
from topodesign.compiler.limits import Limits
from topodesign.compiler.options import PROTOCOLS
from topodesign.graphs.circulant import circulant, dicirculant
from topodesign.graphs.genkautz import genkautz
from topodesign.plans.flow import Flow
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import PROFILES, get_profile
from topodesign.schedulers.scheduling import schedule as planned
from topodesign.topology.topology import Topology

# -- schedules --------------------------------------------------------------------------------------------------------

Row = tuple[int, int, int, int, int, int]


def ring(nodes: int) -> Topology:
    return dicirculant(nodes, 1)


def complete(nodes: int) -> Topology:
    return Topology.from_links(nodes, [(u, v) for u in range(nodes) for v in range(nodes) if u != v])


def random_regular(nodes: int, degree: int, seed: int) -> Topology:
    """A ring and random permutations on top, so that it is connected; parallel links and self-loops happen."""
    rng = np.random.default_rng(seed)
    source = np.tile(np.arange(nodes), degree)
    target = np.concatenate([(np.arange(nodes) + 1) % nodes, *(rng.permutation(nodes) for _ in range(degree - 1))])
    return Topology.from_arrays(nodes, source, target)


def make(collective: Collective, nodes: int, units: int, rows: list[Row], reduce_steps: int) -> Flow:
    table = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    step, src, dst, owner = (column.astype(np.int32) for column in table[:4])
    steps = int(table[0].max(initial=0))
    reduces = {"allgather": 0, "reduce-scatter": steps, "allreduce": reduce_steps}[collective]
    return from_columns(as_collective(collective), nodes, units, steps, reduces, step, src, dst, owner, *table[4:])


def split(rng: random.Random, units: int, parts: list[int], pieces: int) -> list[tuple[int, int, int]]:
    """Cut [0, units) into intervals and give each to a random part."""
    cuts = sorted({0, units, *(rng.randrange(units + 1) for _ in range(pieces - 1))})
    return [(rng.choice(parts), lo, hi) for lo, hi in itertools.pairwise(cuts)]


def gather_rows(topology: Topology, units: int, pieces: int, late: float, rng: random.Random) -> list[Row]:
    """Allgather along shortest paths with random intervals; with ``late`` > 0 some nodes get a shard later."""
    into: dict[int, list[int]] = defaultdict(list)
    for src, dst, _ in topology.links():
        into[dst].append(src)
    rows: list[Row] = []
    for owner in range(topology.nodes):
        step = {owner: 0}
        frontier = {owner}
        while len(step) < topology.nodes:
            reached = {v: [u for u in into[v] if u in frontier] for v in range(topology.nodes) if v not in step}
            frontier = {v for v, sources in reached.items() if sources}
            for v in sorted(frontier):
                chosen = split(rng, units, reached[v], pieces)
                step[v] = max(step[u] for u, _, _ in chosen) + 1 + (rng.random() < late)
                rows += [(step[v], u, v, owner, lo, hi) for u, lo, hi in chosen]
    return rows


def delayed(rows: list[Row], steps: int) -> list[Row]:
    return [(t + steps, u, v, owner, lo, hi) for t, u, v, owner, lo, hi in rows]


def backwards(rows: list[Row]) -> list[Row]:
    steps = max((row[0] for row in rows), default=0)
    return [(steps + 1 - t, v, u, owner, lo, hi) for t, u, v, owner, lo, hi in rows]


def schedule_on(
    topology: Topology, collective: Collective, *, units: int = 1, pieces: int = 1, late: float = 0, seed: int = 0
) -> Flow:
    """A random valid schedule; the reduce-scatter is an allgather of the transpose run backwards."""
    rng = random.Random(seed)  # noqa: S311
    gather = gather_rows(topology, units, pieces, late, rng)
    if collective == "allgather":
        return make(collective, topology.nodes, units, gather, 0)
    reduce = backwards(gather_rows(topology.transpose(), units, pieces, late, rng))
    steps = max((row[0] for row in reduce), default=0)
    if collective == "reduce-scatter":
        return make(collective, topology.nodes, units, reduce, steps)
    return make(collective, topology.nodes, units, reduce + delayed(gather, steps), steps)


def compiled(topology: Topology, schedule: Flow, **options: Any) -> str:
    return compile_movement(topology, schedule, **options).text


# -- interpreter ------------------------------------------------------------------------------------------------------

Words = NDArray[np.int64]


class DeadlockError(Exception):
    pass


@dataclass
class Machine:
    """Runs a program one chunk at a time, choosing at random who goes next.

    Large data moves chunk by chunk, so an instruction for many chunks takes as many slots of its connection; small data
    moves in one go.
    """

    program: Program
    rng: random.Random
    slots: int
    large: bool
    memory: list[dict[Buffer, Words]] = field(default_factory=list)

    def __post_init__(self) -> None:
        program, nodes, shard = self.program, self.program.ranks, self.program.shard
        self.ranks = ranks_of(program)
        values = np.random.default_rng(self.rng.randrange(2**32))
        whole = nodes * shard
        self.given = values.integers(1, 2**40, (nodes, program.input_chunks))
        for rank, body in enumerate(self.ranks):
            own = slice(rank * shard, (rank + 1) * shard)
            junk = [values.integers(-(2**60), -(2**50), size) for size in (whole, whole, body.scratch)]
            source, target = junk[0][: program.input_chunks], junk[1][: program.output_chunks]
            if program.inplace:
                source, target = {
                    "allgather": (junk[0][own], junk[0]),
                    "reduce-scatter": (junk[0], junk[0][own]),
                    "allreduce": (junk[0], junk[0]),
                }[program.collective.name]
            source[:] = self.given[rank]
            self.memory.append({Buffer.INPUT: source, Buffer.OUTPUT: target, Buffer.SCRATCH: junk[2]})

    def check(self) -> None:
        program, shard = self.program, self.program.shard
        total = self.given.sum(axis=0)
        for rank, memory in enumerate(self.memory):
            own = slice(rank * shard, (rank + 1) * shard)
            want = {"allgather": self.given.ravel(), "allreduce": total, "reduce-scatter": total[own]}
            np.testing.assert_array_equal(memory[Buffer.OUTPUT], want[program.collective.name])
            if not program.inplace:
                np.testing.assert_array_equal(memory[Buffer.INPUT], self.given[rank])

    def run(self) -> None:
        blocks = [(rank, tb) for rank, body in enumerate(self.ranks) for tb in range(len(body.threadblocks))]
        self.at = dict.fromkeys(blocks, (0, 0))  # instruction, chunk of it
        self.fifo: dict[tuple[int, int, int], deque[Words]] = defaultdict(deque)
        greedy = self.rng.random() < 0.5
        self.rng.shuffle(blocks)
        moved = True
        while moved:
            moved = False
            for block in blocks:
                for _ in range(2**31 if greedy else self.rng.randrange(1, 4)):
                    if not self.advance(*block):
                        break
                    moved = True
            if not greedy:
                self.rng.shuffle(blocks)
        stuck = [(block, self.at[block]) for block in blocks if not self.over(*block)]
        if stuck:
            raise DeadlockError(f"{stuck}")
        if any(self.fifo.values()):
            raise DeadlockError("sent and never received")

    def over(self, rank: int, tb: int) -> bool:
        return self.at[rank, tb][0] == len(self.ranks[rank].threadblocks[tb].instructions)

    def advance(self, rank: int, tb: int) -> bool:
        """Move one piece, if nothing is in the way."""
        if self.over(rank, tb):
            return False
        block = self.ranks[rank].threadblocks[tb]
        index, chunk = self.at[rank, tb]
        one = block.instructions[index]
        if any(self.at[rank, other][0] <= step for other, step in one.depends):
            return False
        size = 1 if self.large else one.count
        out = self.fifo[rank, -1 if block.send is None else block.send, block.channel]
        into = self.fifo[-1 if block.receive is None else block.receive, rank, block.channel]
        if (one.kind.sends and len(out) >= self.slots) or (one.kind.receives and not into):
            return False
        self.perform(one, slice(chunk, chunk + size), self.memory[rank], (into, out))
        self.at[rank, tb] = (index, chunk + size) if chunk + size < one.count else (index + 1, 0)
        return True

    @staticmethod
    def perform(
        one: Instruction, part: slice, memory: dict[Buffer, Words], queues: tuple[deque[Words], deque[Words]]
    ) -> None:
        into, out = queues
        size = part.stop - part.start

        def view(region: Region | None) -> Words:
            assert region is not None
            assert region.offset >= 0
            words = memory[region.buffer][region.offset :][part]
            assert len(words) == size
            return words

        received = into.popleft() if one.kind.receives else np.zeros(0, dtype=np.int64)
        assert not one.kind.receives or len(received) == size
        if one.kind in {Kind.RECEIVE, Kind.RECEIVE_COPY_SEND}:
            result = received
        elif one.kind in {Kind.SEND, Kind.COPY}:
            result = view(one.source).copy()
        elif one.kind is Kind.REDUCE:
            result = view(one.target) + view(one.source)
        else:
            result = view(one.source) + received
        if one.kind not in {Kind.SEND, Kind.RECEIVE_REDUCE_SEND}:
            view(one.target)[:] = result
        if one.kind.sends:
            out.append(result)


def execute(program: Program, seed: int = 0, times: int = 3, slots: int = 2) -> None:
    rng = random.Random(seed)  # noqa: S311
    for run in range(times):
        machine = Machine(program, rng, slots, large=run % 2 == 0)
        machine.run()
        machine.check()


def instructions(program: Program) -> list[tuple[int, Threadblock, Instruction]]:
    ranks = enumerate(ranks_of(program))
    return [(at, block, one) for at, rank in ranks for block in rank.threadblocks for one in block.instructions]


def carried(schedule: Flow) -> set[tuple[int, int, int]]:
    return set(zip(schedule.step.tolist(), schedule.src.tolist(), schedule.dst.tolist(), strict=True))


def check_laws(program: Program, topology: Topology, schedule: Flow, channels: int) -> None:
    links = {(u, v) for u, v, _ in topology.links() if u != v}
    ends: Counter[tuple[int, int]] = Counter()
    taken: Counter[tuple[int, int, str, int | None]] = Counter()
    sends: Counter[tuple[int, int]] = Counter()
    for rank, body in enumerate(ranks_of(program)):
        for block in body.threadblocks:
            ends[rank, block.channel] += 1
            for word, peer in (("send", block.send), ("receive", block.receive)):
                taken[rank, block.channel, word, peer] += peer is not None
    for rank, block, one in instructions(program):
        if one.kind.sends:
            assert block.send is not None
            assert (rank, block.send) in links
            sends[rank, block.send] += 1
    degree = {
        rank: sum(u == rank for u, _ in links) + sum(v == rank for _, v in links) for rank in range(topology.nodes)
    }
    assert all(number <= max(1, degree[rank]) for (rank, _), number in ends.items())
    assert max(taken.values(), default=0) <= 1
    used = Counter((src, dst) for _, src, dst in carried(schedule))
    assert sends.keys() == used.keys()
    assert all(sends[link] >= number * channels for link, number in used.items())
    check_lean(program)
    assert program.channels == (channels if links else 1)


def check_lean(program: Program) -> None:
    """Nothing is gathered or spread, little is copied, and no two sends of a step could have been one."""
    own = program.shard if not program.inplace and not program.collective.reduces else 0
    ends: dict[tuple[int, int | None, int], list[list[tuple[int, Instruction]]]] = defaultdict(lambda: [[], []])
    for rank, body in enumerate(ranks_of(program)):
        copies = [one for block in body.threadblocks for one in block.instructions if one.kind is Kind.COPY]
        assert {one.step for one in copies} <= {0} or (program.collective.reduces and not program.inplace)
        assert {one.source.buffer for one in copies if one.source} <= {Buffer.INPUT}
        assert sum(one.count for one in copies) <= max(own, program.chunks // 4) or program.ranks == 1
        assert count_instructions(program, Kind.REDUCE) == 0
        for block in body.threadblocks:
            for one in block.instructions:
                if one.kind.sends and one.kind.receives:
                    return  # a chain, in which the pieces are not distinguished here
                if one.kind.sends:
                    ends[rank, block.send, block.channel][0].append((one.step, one))
                elif one.kind.receives and block.receive is not None:
                    ends[block.receive, rank, block.channel][1].append((one.step, one))
    for sent, received in ends.values():
        pieces = [(*pair[0], pair[1][1]) for pair in zip(sent, received, strict=True)]
        for (step, left, into), (after, right, further) in itertools.pairwise(pieces):
            follow = [(left.source, right.source), (into.target, further.target), (into.source, further.source)]
            assert step != after or not all(
                a is None or b is None or (a.buffer is b.buffer and a.offset + left.count == b.offset)
                for a, b in follow
            )


TOPOLOGIES = {
    "one": Topology.from_links(1, []),
    "two": ring(2),
    "ring": ring(5),
    "biring": circulant(6, 1),
    "genkautz": genkautz(2, 7),
    "complete": complete(5),
    "random": random_regular(8, 3, 1),
}
MIXED = {(r, p) for r in PROFILES for p in PROTOCOLS if r == "msccl" or p == "LL"}


def check_xml(text: str, runtime: str = "msccl") -> CheckReport:
    profile = get_profile(runtime)
    report = check_program(parse_xml(text, profile), profile)
    assert report.ok, str(report)
    return report


@pytest.mark.once
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_computes_the_collective(name: str, collective: Collective, inplace: bool) -> None:
    topology = TOPOLOGIES[name]
    for channels, (units, pieces) in zip((1, 2, 4), ((1, 1), (6, 2), (12, 3)), strict=True):
        schedule = schedule_on(topology, collective, units=units, pieces=pieces, seed=channels)
        program = program_of_rounds(topology, schedule, inplace=inplace, channels=channels)
        check_laws(program, topology, schedule, channels)
        execute(program, seed=channels, times=2)


@pytest.mark.once
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_the_checker_agrees_on_every_runtime_and_protocol(name: str, collective: Collective, inplace: bool) -> None:
    topology = TOPOLOGIES[name]
    for channels, (runtime, protocol) in zip((1, 2, 4, 1, 2, 1), sorted(MIXED), strict=True):
        schedule = schedule_on(topology, collective, units=4, pieces=2, late=0.3, seed=channels)
        text = compiled(
            topology, schedule, runtime=runtime, protocol=protocol, inplace=inplace, channels=channels, max_size=2**20
        )
        report = check_xml(text, runtime)
        assert report.modes == (("in place",) if inplace else ("out of place",))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    nodes=st.integers(2, 9),
    degree=st.integers(1, 3),
    collective=st.sampled_from(COLLECTIVES),
    units=st.integers(1, 9),
    pieces=st.integers(1, 4),
    late=st.sampled_from([0, 0.4]),
    inplace=st.booleans(),
    channels=st.sampled_from([1, 2, 3]),
    max_count=st.sampled_from([1, 3, 71]),
    blocks=st.sampled_from([1, 2, 32]),
    seed=st.integers(0, 2**16),
)
def test_any_schedule_any_options(  # noqa: PLR0917
    nodes: int,
    degree: int,
    collective: Collective,
    units: int,
    pieces: int,
    late: float,
    inplace: bool,
    channels: int,
    max_count: int,
    blocks: int,
    seed: int,
) -> None:
    topology = random_regular(nodes, degree, seed)
    schedule = schedule_on(topology, collective, units=units, pieces=pieces, late=late, seed=seed)
    program = program_of_rounds(
        topology,
        schedule,
        inplace=inplace,
        channels=channels,
        limits=Limits(chunks_per_instruction=max_count, blocks_per_channel=blocks),
    )
    assert all(one.count <= max_count for _, _, one in instructions(program))
    per_channel: Counter[tuple[int, int, str]] = Counter()
    for rank, body in enumerate(ranks_of(program)):
        for block in body.threadblocks:
            per_channel[rank, block.channel, "send"] += block.send is not None
            per_channel[rank, block.channel, "receive"] += block.receive is not None
    assert max(per_channel.values()) <= blocks
    execute(program, seed=seed, times=2)
    if program.channels <= 32:
        check_xml(to_xml(program, profile=get_profile("msccl"), name="any"))


def test_paper_size_example() -> None:
    topology = circulant(12, 2, 3)
    for collective in COLLECTIVES:
        schedule = schedule_on(topology, collective, units=4, pieces=3)
        for channels in (1, 2):
            report = check_xml(compiled(topology, schedule, channels=channels))
            assert report.usage is not None
            assert report.usage.threadblocks_per_rank <= 8 * channels
            program = program_of_rounds(topology, schedule, channels=channels)
            check_laws(program, topology, schedule, channels)
            sends = {(one.step, rank, b.send) for rank, b, one in instructions(program) if one.kind.sends}
            assert sends == carried(schedule)


# -- copies -----------------------------------------------------------------------------------------------------------


def recursive_doubling(bits: int) -> tuple[Topology, list[Row]]:
    """Hypercube allgather where each message is an aligned, contiguous block of shards."""
    nodes = 2**bits
    topology = Topology.from_links(nodes, [(u, u ^ (1 << b)) for u in range(nodes) for b in range(bits)])
    rows = [
        (step + 1, u, u ^ (1 << step), owner, 0, 1)
        for step in range(bits)
        for u in range(nodes)
        for owner in range(u >> step << step, (u >> step << step) + (1 << step))
    ]
    return topology, rows


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("inplace", [False, True])
def test_contiguous_messages_need_no_copies(channels: int, inplace: bool) -> None:
    topology, gather = recursive_doubling(4)
    reduce = backwards(gather)
    for collective, rows in zip(COLLECTIVES, (gather, reduce, reduce + delayed(gather, 4)), strict=True):
        schedule = make(collective, 16, 1, rows, 4)
        program = program_of_rounds(topology, schedule, inplace=inplace, channels=channels)
        own = 16 if collective == "allgather" and not inplace else 0  # the own shard goes from input to output
        assert count_instructions(program, Kind.COPY, Kind.REDUCE) == own
        check_laws(program, topology, schedule, channels)
        execute(program, times=1)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    collective=st.sampled_from(COLLECTIVES),
    channels=st.sampled_from([1, 2]),
    inplace=st.booleans(),
)
def test_messages_that_lie_apart_are_sent_apart(
    seed: int, collective: Collective, channels: int, inplace: bool
) -> None:
    topology = random_regular(7, 2, seed)
    schedule = schedule_on(topology, collective, units=6, pieces=3, late=0.2, seed=seed)
    check_lean(program_of_rounds(topology, schedule, channels=channels, inplace=inplace))


TRANSITIVE = ("circulant(12,2,3)", "circulant(13,1,5)", "torus(3,5)", "torus(4,4)", "hypercube(4)", "kautz(2,2)")


@pytest.mark.parametrize("spec", [*TRANSITIVE, "genkautz(3,20)", "mesh(3,4)", "cayley(dicyclic(2),1,3,4,6)"])
def test_copies_and_scratch_are_little(spec: str) -> None:
    """In place nothing needs either; elsewhere a rank copies a quarter of the data at most, or its own part."""
    for collective, inplace in few([*itertools.product(COLLECTIVES, (True, False))]):
        made = compile_plan(planned(spec, collective), inplace=inplace).checked()
        assert isinstance(made.report, CheckReport)
        assert made.report.calls is not None
        copies, scratch = Fraction(made.report.calls.copied_share), Fraction(made.report.calls.scratch_share)
        rank, *_ = ranks_of(made.program)
        local = [one for block in rank.threadblocks for one in block.instructions if one.kind is Kind.COPY]
        assert copies >= Fraction(sum(one.count for one in local), made.program.chunks)
        if collective == "allreduce":
            assert copies <= (0 if inplace else Fraction(1, 4))
        elif collective == "allgather":
            assert copies == (0 if inplace else Fraction(1, made.program.ranks))
        else:
            assert copies <= (0 if inplace else Fraction(1, 4))
        assert scratch == 0 or (collective == "reduce-scatter" and not inplace and scratch < 1)


def test_copies_save_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = random_regular(8, 3, 1)
    for collective in ("allreduce", "reduce-scatter"):
        plan, numbers = schedule_on(topology, collective, units=6, pieces=3), []
        for share in (4, 2**40):  # a rank may copy the data over this
            monkeypatch.setattr("topodesign.compiler.frontends.writer._COPIES", share)
            numbers.append(len(instructions(program_of_rounds(topology, plan, limits=Limits(slots=0)))))
        assert numbers[0] < numbers[1]


def test_units_that_travel_together_are_one_chunk() -> None:
    topology = complete(4)
    whole = schedule_on(topology, "allgather", units=12)
    assert program_of_rounds(topology, whole).chunks == 4
    # two thirds of each shard by way of the next node, whose pieces are not next to each other
    rows = []
    for owner in range(4):
        a, b, c = ((owner + k) % 4 for k in (1, 2, 3))
        rows += [(1, owner, a, owner, 0, 12), (1, owner, b, owner, 0, 12), (1, owner, c, owner, 4, 8)]
        rows += [(2, a, c, owner, 0, 4), (2, a, c, owner, 8, 12)]
    program = program_of_rounds(topology, make("allgather", 4, 12, rows, 0))
    assert program.shard == 3
    assert all(one.count == 2 for _, _, one in instructions(program) if one.kind is Kind.SEND and one.step == 2)
    assert not any(one.kind is Kind.COPY and one.step for _, _, one in instructions(program))
    execute(program)


def test_chain_of_single_chunks_is_fused() -> None:
    wanted: dict[Collective, set[Kind]] = {
        "allgather": {Kind.RECEIVE_COPY_SEND},
        "reduce-scatter": {Kind.RECEIVE_REDUCE_SEND},
        "allreduce": {Kind.RECEIVE_COPY_SEND, Kind.RECEIVE_REDUCE_SEND, Kind.RECEIVE_REDUCE_COPY_SEND},
    }
    for collective, kinds in wanted.items():
        topology = ring(6)
        program = program_of_rounds(topology, schedule_on(topology, collective))
        assert {one.kind for _, _, one in instructions(program) if one.kind.sends and one.kind.receives} == kinds
        assert all(len(rank.threadblocks) == 1 for rank in ranks_of(program))
        execute(program, times=6)
        for slots in (1, 2, 3):  # what a connection carries in a step is at most half of what it holds
            alike = program_of_rounds(topology, schedule_on(topology, collective), limits=Limits(slots=slots))
            assert any(one.kind.sends and one.kind.receives for _, _, one in instructions(alike)) == (slots > 1)


# -- dependencies -----------------------------------------------------------------------------------------------------


def test_dependencies_are_needed_and_not_implied() -> None:
    topology = random_regular(8, 3, 4)
    program = program_of_rounds(topology, schedule_on(topology, "allreduce", units=6, pieces=3, late=0.3))
    ranks = ranks_of(program)
    for body in ranks:
        before = {
            (tb, at): {*one.depends, *([(tb, at - 1)] if at else [])}
            for tb, block in enumerate(body.threadblocks)
            for at, one in enumerate(block.instructions)
        }
        for node, direct in before.items():
            for dependency in direct - {(node[0], node[1] - 1)}:
                seen: set[tuple[int, int]] = set()
                queue = list(direct - {dependency})
                while queue:
                    other = queue.pop()
                    if other not in seen:
                        seen.add(other)
                        queue += before[other]
                assert dependency not in seen


def test_threadblocks_wait_only_for_earlier_steps() -> None:
    for collective in COLLECTIVES:
        topology = random_regular(9, 3, 2)
        program = program_of_rounds(topology, schedule_on(topology, collective, units=6, pieces=3, late=0.3))
        assert not any(one.kind.sends and one.kind.receives for _, _, one in instructions(program))
        ranks = ranks_of(program)
        for rank, block, one in instructions(program):
            for tb, at in one.depends:
                other = ranks[rank].threadblocks[tb]
                step = other.instructions[at].step  # of a send, where it was the last to use a place of scratch
                assert step < one.step or (None not in {block.receive, other.receive} and step == one.step)
        execute(program, slots=1, times=4)


def test_interpreter_and_checker_see_missing_dependencies() -> None:
    topology = random_regular(8, 3, 4)
    program = program_of_rounds(topology, schedule_on(topology, "allreduce", units=6, pieces=3))

    def bare(block: Threadblock) -> Threadblock:
        return replace(block, instructions=tuple(replace(one, depends=()) for one in block.instructions))

    ranks = tuple(RankProgram(tuple(map(bare, rank.threadblocks)), rank.scratch) for rank in ranks_of(program))
    broken = replace(program, columns=columns_of(ranks))
    with pytest.raises(AssertionError):
        execute(broken, times=10)
    profile = get_profile("msccl")
    text = to_xml(broken, profile=profile, name="broken")
    assert check_program(parse_xml(text, profile), profile).verdict == "race"


# -- text -------------------------------------------------------------------------------------------------------------

ALGO = [
    "name",
    "proto",
    "nchannels",
    "nchunksperloop",
    "ngpus",
    "coll",
    "inplace",
    "outofplace",
    "minBytes",
    "maxBytes",
]
STEP = ["s", "type", "srcbuf", "srcoff", "dstbuf", "dstoff", "cnt", "depid", "deps", "hasdep"]


@pytest.mark.parametrize("runtime", PROFILES)
def test_text_has_the_form_that_runtimes_read(runtime: str) -> None:
    topology = circulant(12, 2, 3)
    schedule = schedule_on(topology, "reduce-scatter", units=4, pieces=3)
    text = compiled(topology, schedule, runtime=runtime, protocol="LL128", min_size=1, max_size=2**20, name="x.y")
    attribute = r' [A-Za-z_]+="[A-Za-z0-9_.,()+-]+"'
    tag = re.compile(rf" *<(/?)(algo|gpu|tb|step)((?:{attribute})*)(/?)>")
    for line in text.splitlines():
        match = tag.fullmatch(line)
        assert match is not None, line
        assert not (match[1] and match[3])
    root = etree.fromstring(text)
    assert list(root.attrib) == ALGO
    assert root.get("name") == "x.y"
    assert root.get("proto") == "LL128"
    assert root.get("coll") == get_profile(runtime).coll(REDUCE_SCATTER)
    assert (root.get("minBytes"), root.get("maxBytes")) == ("1", str(2**20 + (runtime == "msccl")))
    assert [gpu.get("id") for gpu in root] == [str(rank) for rank in range(12)]
    for gpu in root:
        assert list(gpu.attrib) == ["id", "i_chunks", "o_chunks", "s_chunks"]
        waited = {(s.get("depid"), s.get("deps")) for tb in gpu for s in tb} - {("-1", "-1")}
        marked = {(tb.get("id"), s.get("s")) for tb in gpu for s in tb if s.get("hasdep") == "1"}
        assert waited == marked
        for number, tb in enumerate(gpu):
            assert list(tb.attrib) == ["id", "send", "recv", "chan"]
            assert tb.get("id") == str(number)
            assert [list(step.attrib) for step in tb] == [STEP] * len(tb)
            assert [step.get("s") for step in tb] == [str(s) for s in range(len(tb))]


def test_default_name_has_the_spec() -> None:
    topology = circulant(6, 1)
    text = compiled(topology, schedule_on(topology, "allgather"))
    assert text.startswith('<algo name="topodesign-allgather-circulant(6,1)" ')


@pytest.mark.dear
def test_the_same_bytes_every_time() -> None:
    code = (
        "import hashlib, tests.compiler.test_rounds as t\n"
        "g = t.random_regular(9, 3, 5)\n"
        "for c in t.COLLECTIVES:\n"
        "    s = t.schedule_on(g, c, units=12, pieces=3)\n"
        "    print(hashlib.sha256(t.compiled(g, s, channels=2).encode()).hexdigest())\n"
    )
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"  # another than here
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    with contextlib.redirect_stdout(io.StringIO()) as here:
        exec(code, {})  # noqa: S102  what is written above
    assert run.stdout == here.getvalue()
    assert len(set(run.stdout.split())) == 3


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"steps_per_threadblock": 6}, "allows 6 steps per threadblock.*rank [0-9]+ requires [0-9]+"),
        ({"threadblocks_per_rank": 7}, "allows 7 threadblocks per rank.*rank 0 requires 8"),
        ({"resident_threadblocks": 7}, "allows 7 threadblocks running at once.*rank 0 requires 8"),
        ({"threadblocks_per_channel": 3}, "allows 3 threadblocks that send.*rank 0 requires 4"),
        ({"channels": 0}, "allows 0 channels.*requires 1"),
        ({"chunks_per_step": 1}, "allows 1 chunks per step.*rank [0-9]+ requires"),
        ({"largest_offset": 30}, "allows 30 as the largest chunk offset.*rank 0 requires"),
        ({"xml_nodes_per_rank": 40}, "allows 40 XML nodes.*rank 0 requires"),
        ({"children_per_node": 11}, "allows 11 ranks.*requires 12"),
    ],
)
def test_every_limit_is_checked(limits: dict[str, Any], words: str) -> None:
    topology = circulant(12, 2, 3)
    program = program_of_rounds(topology, schedule_on(topology, "allreduce", units=4, pieces=3))
    profile = replace(get_profile("msccl"), **limits)
    with pytest.raises(InfeasibleError, match=words):
        to_xml(program, profile=profile, name="x")


def test_long_messages_are_split_where_the_runtime_forces_it() -> None:
    topology = ring(2)
    rows = [(1, u, 1 - u, u, 0, 143) for u in range(2)] + [(2, u, 1 - u, u, 143, 144) for u in range(2)]
    text = compiled(topology, make("allgather", 2, 144, rows, 0))
    counts = [step.get("cnt") for step in etree.fromstring(text).iter("step") if step.get("type") == "s"]
    assert counts == ["47", "48", "48", "1"] * 2
    check_xml(text)


def test_too_many_channels_or_threadblocks_say_so() -> None:
    topology = complete(20)
    schedule = schedule_on(topology, "allgather")
    with pytest.raises(InfeasibleError, match=r"108 threadblocks.*rank 0 requires 114.*fewer channels"):
        compiled(topology, schedule, channels=6)
    with pytest.raises(InfeasibleError, match=r"32 channels.*requires 33"):
        compiled(topology, schedule, channels=33)
    with pytest.raises(InfeasibleError, match="rccl allows 64 threadblocks"):
        compiled(topology, schedule, channels=4, runtime="rccl")


def test_bad_options() -> None:
    topology = ring(3)
    schedule = schedule_on(topology, "allgather")
    wrong: list[dict[str, Any]] = [
        {"runtime": "nccl"},
        {"protocol": "Complex"},
        {"channels": 0},
        {"min_size": 2, "max_size": 1},
        {"max_size": 2**63},
        {"name": ""},
        {"name": 'a"b'},
        {"name": "a\nb"},
        {"name": "a" * 256},
    ]
    for options in wrong:
        with pytest.raises(ParameterError):
            compiled(topology, schedule, **options)
    with pytest.raises(UnitError, match="negative"):
        compiled(topology, schedule, min_size=-1)


def test_schedule_and_topology_must_fit() -> None:
    schedule = schedule_on(ring(3), "allgather")
    with pytest.raises(ScheduleError, match="another topology"):
        program_of_rounds(ring(4), schedule)
    with pytest.raises(ScheduleError, match="there is no such link"):
        program_of_rounds(ring(3).transpose(), schedule)
    with pytest.raises(ScheduleError, match="a switch takes no part"):
        program_of_rounds(Topology.from_links(3, [(0, 1), (1, 2), (2, 0)], switches=[1]), schedule)


def test_too_large_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TooLargeError, match=r"40 nodes with 8000 chunks of all data.*fewer channels"):
        program_of_rounds(ring(40), schedule_on(ring(40), "allgather"), channels=200)
    topology = random_regular(8, 3, 1)
    for late in (0, 0.4):  # intervals laid anew, and pieces as they are
        schedule = schedule_on(topology, "allgather", units=12, pieces=3, late=late)
        shard = program_of_rounds(topology, schedule).shard
        monkeypatch.setattr("topodesign.compiler.frontends.layout._MOVES", 2 * 8 * 7 * shard)
        assert program_of_rounds(topology, schedule).shard == shard
        monkeypatch.setattr("topodesign.compiler.frontends.layout._MOVES", 2 * 8 * 7 * shard - 1)
        with pytest.raises(TooLargeError, match=f"8 nodes with {8 * shard} chunks of all data"):
            program_of_rounds(topology, schedule)
        monkeypatch.undo()


@pytest.mark.floor(refused=25, right=3)
@settings(max_examples=60, deadline=None)
@given(
    collective=st.sampled_from(COLLECTIVES),
    seed=st.integers(0, 2**16),
    what=st.sampled_from(["drop", "block", "early"]),
)
def test_damaged_schedules_are_refused_or_still_right(collective: Collective, seed: int, what: str) -> None:
    rng = random.Random(seed)  # noqa: S311
    topology = random_regular(6, 2, seed)
    schedule = schedule_on(topology, collective, units=4, pieces=2, seed=seed)
    columns = {name: column.copy() for name, column in schedule.table().items()}
    row = rng.randrange(len(schedule))
    if what == "drop":
        columns = {name: np.delete(column, row) for name, column in columns.items()}
    elif what == "block":
        columns["block"][row] = (columns["block"][row] + 1) % 6
    else:
        columns["step"][row] = max(1, columns["step"][row] - 1)
    damaged = with_columns(schedule, **columns)
    try:
        program = program_of_rounds(topology, damaged)
    except ScheduleError:
        reached("refused")
        return
    reached("right")
    assert what == "early" or collective != "reduce-scatter"
    execute(program, seed=seed, times=1)


@pytest.mark.dear("allreduce")
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_dropping_or_doubling_a_row_is_refused(collective: Collective) -> None:
    topology = genkautz(2, 6)
    schedule = schedule_on(topology, collective, units=2, pieces=2)
    for row in range(len(schedule)):
        without = {name: np.delete(column, row) for name, column in schedule.table().items()}
        with pytest.raises(ScheduleError):
            program_of_rounds(topology, with_columns(schedule, **without))
        twice = {name: np.append(column, column[row]) for name, column in schedule.table().items()}
        doubled = with_columns(schedule, **twice)
        if schedule.step[row] <= schedule.reduce_steps:
            with pytest.raises(ScheduleError):
                program_of_rounds(topology, doubled)
            for other in set(topology.neighbours(int(schedule.src[row])).tolist()) - {int(schedule.dst[row])}:
                twice["dst"][-1] = other  # what it has given away goes to another, too
                with pytest.raises(ScheduleError):
                    program_of_rounds(topology, with_columns(schedule, **twice))
        else:  # receiving the same twice does no harm: the second is omitted
            both = (ranks_of(program_of_rounds(topology, one)) for one in (doubled, schedule))
            assert next(both) == next(both)


def test_what_nobody_needs_leaves_no_trace() -> None:
    """A link that brings only what is there has no part in the program."""
    topology = complete(4)
    schedule = schedule_on(ring(4), "allgather")
    more = {name: np.append(column, column[:1]) for name, column in schedule.table().items()}
    more["step"][-1], more["src"][-1], more["dst"][-1], more["block"][-1] = 3, 0, 2, 0
    wasteful = with_columns(schedule, **more)
    assert ranks_of(program_of_rounds(topology, wasteful)) == ranks_of(program_of_rounds(topology, schedule))


def test_an_empty_reduce_scatter_or_allreduce_is_refused() -> None:
    for collective in COLLECTIVES:
        with pytest.raises(ScheduleError, match="never"):
            program_of_rounds(ring(3), make(collective, 3, 1, [], 0))


# -- where partial sums are copied home: against the count of sends, receives and copies, chunk by chunk --------------


def runs(*columns: list[int]) -> int:
    """Into how many runs rows fall, each of which follows on the one before in all columns."""
    rows = list(zip(*columns, strict=True))
    return sum(not at or any(b != a + 1 for a, b in zip(rows[at - 1], row, strict=True)) for at, row in enumerate(rows))


@pytest.mark.floor(way0=100, way1=10, way2=10, way3=3)
def test_copies_are_made_where_they_save_most() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 6))
        chunks = np.sort(rng.choice(8, size, replace=False))
        homes = [100 + chunks, 200 + chunks]
        added = rng.integers(0, 2, (2, size)).astype(bool)
        sums = np.full((2, 8), -1)
        for end in range(2):
            sums[end, chunks[added[end]]] = homes[end][added[end]]
        places = [np.where(added[end], homes[end], chunks) for end in range(2)]
        room, taken = rng.integers(0, 6, 2).tolist(), rng.integers(0, 4, 2) == 0
        first = bool(rng.integers(0, 2))
        costs = {0: (2 * runs(*(one.tolist() for one in places)), 0, 0)}
        for turn, way in enumerate((1, 3, 2) if first else (2, 1, 3)):
            ends = [end for end in range(2) if way >> end & 1]
            fresh = [chunks[~added[end]].tolist() for end in ends]
            if any(taken[end] or len(some) > room[end] for end, some in zip(ends, fresh, strict=True)):
                continue
            after = [homes[end] if end in ends else places[end] for end in range(2)]
            cost = 2 * runs(*(one.tolist() for one in after)) + sum(map(runs, fresh))
            costs[way] = cost, sum(map(len, fresh)), turn
        least = min(costs, key=costs.__getitem__)
        given: Any = (np.array(chunks), size, tuple(sums), tuple(places), tuple(homes), tuple(room), taken, first)
        assert _bring.plain(*given) == least, seed
        reached(f"way{least}")
