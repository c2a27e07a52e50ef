"""Programs of all-to-all, scatter and gather: read and run by the checker, which shares no code with the compiler."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.blocks import ranks_of
from tests.samples.programs import compile_movement
from tests.samples.topologies import regular_digraphs
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.compiler.columns import KINDS
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.frontends.all_to_all import Router, lay_routes
from topodesign.compiler.frontends.operations import SCRATCH
from topodesign.compiler.instructions import Buffer, Kind
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.runtime.msccl.profiles import PROFILES, RuntimeProfile
from topodesign.schedulers.peel import exchange
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

ANY = RuntimeProfile(
    "knows-every-word", dialect="mscclpp", steps_per_threadblock=1024, largest_offset=2**20, xml_nodes_per_rank=2**20
)
"""A runtime with a word for every collective: scatter and gather are checked with it."""


def compiled(topology: Topology, rounds: Flow, **options: Any) -> Compiled:
    made = compile_movement(topology, rounds, **{"runtime": ANY, **options}).checked()
    assert made.report is not None
    assert made.report.ok
    return made


@settings(max_examples=15)
@given(regular_digraphs(6, 3), st.sampled_from([1, 2, 3]), st.booleans(), st.data())
def test_programs_do_what_they_should(topology: Topology, chunks: int, inplace: bool, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, topology.nodes - 1))
    collective = data.draw(st.sampled_from([ALL_TO_ALL, SCATTER.at(root), GATHER.at(root)]))
    channels, more = data.draw(st.integers(1, 2)), data.draw(st.integers(0, 1))
    least = exchange(topology, collective, chunks=1).rounds.steps
    rounds = exchange(topology, collective, chunks=chunks, steps=least + more).rounds
    compiled(topology, rounds, inplace=inplace, channels=channels)
    for threadblocks in ("merged", "separate"):
        made = compiled(topology, rounds, inplace=inplace, channels=channels, threadblocks=threadblocks)
        check_laws(topology, rounds, made, channels)


def check_laws(topology: Topology, rounds: Flow, made: Compiled, channels: int) -> None:
    """What a link carries in a step is sent on every channel; input is written where it is output too, alone."""
    messages = set(zip(rounds.step.tolist(), rounds.src.tolist(), rounds.dst.tolist(), strict=True))
    used = Counter((src, dst) for _, src, dst in messages)
    sends: Counter[tuple[int, int]] = Counter()
    for rank, body in enumerate(ranks_of(made.program)):
        for block in body.threadblocks:
            for one in block.instructions:
                if one.kind.sends and block.send is not None:
                    sends[rank, block.send] += 1
                assert one.target is None or one.target.buffer is not Buffer.INPUT or made.program.inplace
    assert set(sends) <= {(u, v) for u, v, _ in topology.links()}
    assert sends.keys() == used.keys()
    assert all(sends[link] >= number * channels for link, number in used.items())


@pytest.mark.parametrize("runtime", PROFILES)
@pytest.mark.parametrize("spec", ["complete(5)", "torus(3,3)", "kautz(2,1)", "uniring(1,5)", "biring(2,2)"])
def test_every_runtime_runs_all_to_all(spec: str, runtime: str) -> None:
    plan = schedule(spec, "all-to-all", chunks=2)
    for inplace in (False, True):
        made = compile_plan(plan, runtime=runtime, inplace=inplace, max_size="1MiB").checked()
        assert made.report is not None
        assert made.report.ok
        assert 'coll="alltoall"' in made.text


@pytest.mark.parametrize("runtime", PROFILES)
@pytest.mark.parametrize("collective", ["scatter", "gather"])
def test_runtimes_without_the_word_refuse(collective: str, runtime: str) -> None:
    with pytest.raises(ParameterError, match=f"has no collective '{collective}'; it supports .*all-to-all"):
        compile_plan(schedule("complete(4)", collective, root=1), runtime=runtime)


@pytest.mark.parametrize("collective", [ALL_TO_ALL, SCATTER.at(3), GATHER.at(3)], ids=str)
def test_one_rank_alone_and_what_stays(collective: Collective) -> None:
    """Own blocks are copied out of place, and stay in place."""
    topology = build("complete(4)")
    rounds = exchange(topology, collective).rounds
    for inplace in (False, True):
        made = compiled(topology, rounds, inplace=inplace)
        copies = [
            one
            for body in ranks_of(made.program)
            for tb in body.threadblocks
            for one in tb.instructions
            if one.step == 0
        ]
        own = 4 if collective == ALL_TO_ALL else 1
        assert len(copies) == (0 if inplace else own)


def test_limits_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = schedule("uniring(1,24)", "all-to-all")
    with pytest.raises(InfeasibleError, match="steps per threadblock"):
        compile_plan(plan, runtime="msccl-executor")
    monkeypatch.setattr("topodesign.compiler.frontends.all_to_all.MAX_HOPS", 1000)
    with pytest.raises(TooLargeError, match="24 nodes with 1 chunk per block or more are too many to compile"):
        compile_plan(plan)


def test_wrong_schedules_are_refused() -> None:
    topology = build("complete(3)")
    pairs = [(s, t) for s in range(3) for t in range(3) if s != t]
    rows = [(1, s, t, 3 * s + t, 0, 1) for s, t in pairs]
    late = [(2, s, t, block, lo, hi) if s == 0 else (1, s, t, block, lo, hi) for _, s, t, block, lo, hi in rows]
    for wrong in (rows[1:], [(1, 2, 1, 1, 0, 1), *rows]):
        with pytest.raises(ScheduleError, match="is invalid"):
            compiled(topology, build_steps(ALL_TO_ALL, 3, 1, 1, [tuple(np.array(wrong).T)]))
        with pytest.raises(ScheduleError, match="does not"):
            lay_routes(build_steps(ALL_TO_ALL, 3, 1, 1, [tuple(np.array(wrong).T)]))
    compiled(topology, build_steps(ALL_TO_ALL, 3, 1, 2, [tuple(np.array(late).T)]), inplace=True)


def test_what_goes_astray_is_left_out() -> None:
    """A detour that nobody needs is no part of the program."""
    topology = build("complete(3)")
    rows = [(1, s, t, 3 * s + t, 0, 1) for s in range(3) for t in range(3) if s != t]
    wasteful = build_steps(ALL_TO_ALL, 3, 1, 2, [tuple(np.array([*rows, (2, 1, 2, 1, 0, 1)]).T)])
    made = compiled(topology, wasteful)
    assert all(one.step <= 1 for body in ranks_of(made.program) for tb in body.threadblocks for one in tb.instructions)
    assert np.all(np.bincount(lay_routes(wasteful).chunks) <= 1)


def test_what_is_gathered_is_sent_at_once() -> None:
    """Copies into scratch are for the send after them, which reads what they wrote and nothing else."""
    rounds = exchange(build("torus(4,4)"), ALL_TO_ALL, chunks=2).rounds
    made = Router(ALL_TO_ALL, lay_routes(rounds), 16, inplace=False).list_operations(1, 64)
    gathered, number = list[int](), 0
    columns = (one.tolist() for one in (made.kind, made.source, made.target, made.size))
    for kind, source, target, size in zip(*columns, strict=True):
        if KINDS[kind] is Kind.COPY and target >= SCRATCH:
            gathered += range(target, target + size)
        elif gathered:
            assert KINDS[kind] is Kind.SEND
            assert gathered == list(range(source, source + size))
            gathered, number = [], number + 1
    assert number > 20


def test_chunks_are_as_few_as_can_be() -> None:
    topology = build("torus(3,3)")
    rounds = exchange(topology, ALL_TO_ALL, chunks=2).rounds
    finer = rounds.having(units=rounds.units * 6, lo=rounds.lo * 6, hi=rounds.hi * 6)
    plan = lay_routes(rounds)
    for one, other in zip(lay_routes(finer), plan, strict=True):
        assert one is not None
        assert other is not None
        assert np.array_equal(one, other)
    assert plan.cut(None, 3).total == 3 * plan.total
    assert np.array_equal(np.diff(plan.cut(None, 3).first), 3 * plan.count_carried(plan.total))
