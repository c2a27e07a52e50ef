"""Allreduces whose phases share the links: the optimum is reached, and verifier, simulator, compiler and file agree."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topodesign.optima.forest.schedule as forest
from tests.compiler.test_trees import checked, compiled
from tests.plans.time.test_trees import by_events, run
from tests.samples.forest import a100, fabrics
from tests.samples.old_files import load_trees, save_trees
from tests.samples.programs import program_of_trees
from tests.samples.tree_tables import Trees, forest_schedule
from tests.samples.trees import fabric, tree_schedule
from tests.samples.verdicts import verify_trees
from topodesign import build
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.base.latency import USUAL
from topodesign.cli.main import run as cli
from topodesign.compiler.frontends.grain import Lowering
from topodesign.compiler.options import PROTOCOLS
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.forest import allreduce
from topodesign.optima.forest.allreduce import allreduce_optimum
from topodesign.optima.forest.schedule import allreduce_schedule
from topodesign.plans.flow import Flow
from topodesign.topology.topology import Topology


def sample(seed: int = 1, nodes: int = 6, per_root: int = 4) -> Trees:
    rng = random.Random(seed)  # noqa: S311
    shard = (*rng.choices(range(4), k=nodes - 1), 1)
    return tree_schedule(fabric(nodes, 3, rng), "allreduce", rng, per_root=per_root, shard=shard, concurrent=True)


def path(nodes: int) -> Topology:
    return Topology.from_links(nodes, [(a, b) for a in range(nodes) for b in (a - 1, a + 1) if 0 <= b < nodes])


def throughput(schedule: Trees) -> Fraction:
    shards = len(schedule.compute_nodes) if schedule.shard is None else sum(schedule.shard)
    return shards / schedule.inverse_rate


def trees(topology: Topology) -> tuple[Trees, str]:
    made, words = allreduce_schedule(topology)
    assert made.fold is None  # none of these is large enough to stay folded
    return Trees.of(made), words


def check(topology: Topology) -> Trees:
    """The optimum of the linear program, by a schedule that the verifier measures itself."""
    schedule = trees(topology)[0]
    best = allreduce_optimum(topology)
    assert throughput(schedule) == best.throughput
    assert schedule.concurrent == (best.throughput > best.composed)
    assert schedule.topology == topology
    report = verify_trees(schedule, schedule.inverse_rate)
    assert report.ok, report
    assert report.height == schedule.height
    return schedule


@settings(max_examples=15, deadline=None)
@given(fabrics(), st.booleans())
def test_the_optimum_is_reached_and_compiles(topology: Topology, inplace: bool) -> None:
    schedule = check(topology)
    assert forest_schedule(topology, "allreduce") == schedule
    checked(compiled(schedule, inplace=inplace, runtime="msccl-executor"), "msccl-executor")


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 3), st.integers(1, 60))
def test_the_optimum_of_odd_capacities(seed: int, nodes: int, switches: int, most: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    graph = fabric(nodes, switches, rng)
    capacity = {(u, v): rng.randint(1, most) for u, v, _ in graph.links() if u < v}
    links = [(u, v, capacity[min(u, v), max(u, v)]) for u, v, _ in graph.links()]
    check(Topology.from_links(graph.nodes, links, switches=graph.switches))


@pytest.mark.parametrize("nodes", [3, 4, 7])
def test_a_path_carries_everything_at_full_rate(nodes: int) -> None:
    """One root: data go to it over one direction of all links and come back over the other."""
    schedule = check(path(nodes))
    assert throughput(schedule) == 1
    assert schedule.concurrent
    assert verify_trees(schedule).fullest == 1


def test_what_is_chosen_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "71.4% faster than a reduce-scatter and then an allgather" in allreduce_schedule(build("genkautz(2,7)"))[1]
    assert "; optimal (proven): " in allreduce_schedule(build("complete(4)"))[1]
    monkeypatch.setattr(allreduce, "MAX_NODES", 64)
    long = path(65)  # more nodes than a linear program is solved for
    schedule, words = trees(long)
    assert not schedule.concurrent
    bound = allreduce_optimum(long).bound
    assert f"within {float(bound / throughput(schedule) - 1):.2%} of the upper bound: " in words
    assert "(by cuts alone: above 64" in words
    assert "; optimal (proven): " in allreduce_schedule(build("hypercube(7)"))[1]
    odd = next(
        graph
        for graph in (fabric(5, 2, random.Random(seed)) for seed in range(100))  # noqa: S311
        if (best := allreduce_optimum(graph)).throughput > best.composed and best.throughput.denominator > 1
    )
    concurrent = check(odd)
    monkeypatch.setattr(forest, "MAX_WEIGHT", int(throughput(concurrent)))
    schedule, words = trees(odd)
    assert not schedule.concurrent
    assert verify_trees(schedule).ok
    assert " of the upper bound: " in words
    assert "too many trees" in words


def test_fixed_trees_and_shards_are_for_phases_in_turn() -> None:
    one = forest_schedule(path(4), "allreduce", k=1)
    even = forest_schedule(path(4), "allreduce", shard=[1, 1, 1, 1])
    for schedule in (one, even):
        assert not schedule.concurrent
        assert throughput(schedule) <= Fraction(2, 3) < 1 == throughput(forest_schedule(path(4), "allreduce"))


def test_both_phases_need_room_on_a_link() -> None:
    """Phases in turn that fill links do not fit at the same time; at half the rate they do."""
    for topology in (a100(2), build("torus(3,3)")):
        turn = forest_schedule(topology, "allreduce", k=3)
        greedy = replace(turn, concurrent=True)
        assert greedy.inverse_rate == turn.inverse_rate / 2
        report = verify_trees(greedy, greedy.inverse_rate)
        assert "of the in-trees and out-trees together" in report.problems[0]
        assert verify_trees(replace(greedy, rate=turn.rate / 2), turn.inverse_rate).ok


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_the_verifier_measures_random_ones(seed: int, nodes: int) -> None:
    schedule = sample(seed, nodes)
    report = verify_trees(schedule, schedule.inverse_rate)
    assert report.ok, report
    assert (report.height, report.fullest) == (schedule.height, Fraction(1))
    assert schedule.height <= replace(schedule, concurrent=False).height
    assert "together" in verify_trees(replace(schedule, rate=schedule.rate * Fraction(10**9 + 1, 10**9))).problems[0]
    back = schedule.reverse()
    assert verify_trees(back, schedule.inverse_rate).ok
    assert back.height == schedule.height
    assert back.reverse() == schedule


def test_form() -> None:
    schedule = sample()
    heavier = schedule.weight.copy()
    heavier[0] += 1
    with pytest.raises(ScheduleError, match="same weight"):
        replace(schedule, weight=heavier)
    with pytest.raises(ScheduleError, match="only an allreduce"):
        replace(forest_schedule(path(3), "allgather"), concurrent=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 5), st.integers(1, 10**7))
def test_simulated_as_by_events(seed: int, nodes: int, chunks: int, size: int) -> None:
    schedule = sample(seed, nodes)
    result = run(schedule, size, chunks)
    assert result.time == by_events(schedule, size, chunks, USUAL)
    assert result.phase_ends == (result.time,)
    assert [len(way) - 1 for way in result.critical] == [schedule.height]
    assert run(schedule, size).time <= result.time or chunks > size / int(schedule.weight.sum())


def test_large_data_tend_to_the_optimum() -> None:
    schedule = forest_schedule(build("genkautz(2,7)"), "allreduce")
    result = run(schedule, 10**15)
    assert 1 < result.time / result.optimum < Fraction(10001, 10000)
    assert result.utilisation.max() > 0.999


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.data())
def test_random_ones_compile_and_run(seed: int, nodes: int, data: st.DataObject) -> None:
    text = compiled(
        sample(seed, nodes, per_root=data.draw(st.integers(1, 4))),
        inplace=data.draw(st.booleans()),
        channels=data.draw(st.integers(1, 2)),
        parts=data.draw(st.integers(1, 3)),
        protocol=data.draw(st.sampled_from(PROTOCOLS)),
    )
    checked(text)


def test_phases_that_share_a_connection_have_threadblocks_of_their_own() -> None:
    schedule = sample()
    nodes = schedule.compute_nodes.tolist()
    ends = list(zip(schedule.src.tolist(), schedule.dst.tolist(), strict=True))
    first = int(np.searchsorted(schedule.tree, schedule.reduce_trees))
    shared = {(nodes.index(u), nodes.index(v)) for u, v in set(ends[:first]) & set(ends[first:])}
    assert shared
    program = program_of_trees(schedule)
    own = program.columns
    senders = list(zip(own.rank.tolist(), own.send.tolist(), strict=True))
    assert {pair for pair in senders if senders.count(pair) == 2 and pair[1] >= 0} == shared


def test_the_file_keeps_it(tmp_path: Path) -> None:
    line, file = Fabric.from_topology(path(4), Fraction(10**9)), tmp_path / "x.npz"
    schedule = forest_schedule(line.topology, "allreduce")
    save_trees(file, schedule, line)
    assert load_trees(file)[1] == schedule
    assert load_trees(file)[1].concurrent


@pytest.mark.parametrize("source", ["genkautz(2,7)", "debruijn(2,3)"])
def test_optimum_and_schedule_say_the_same(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def document(*args: str) -> dict[str, Any]:
        assert cli(args) == 0
        result = json.loads(capsys.readouterr().out)
        assert isinstance(result, dict)
        return result

    file, program = str(tmp_path / "x.npz"), str(tmp_path / "x.xml")
    made = document("schedule", source, "--algorithm", "forest", "--collective", "allreduce", "-o", file, "--json")
    best = document("evaluate", source, "--collective", "allreduce", "--json")
    assert made["concurrent"]
    assert "at the same time" in made["allreduce"]
    assert made["algorithmic_bandwidth"] == best["best_allreduce"]["algorithmic_bandwidth"]
    assert Fraction(made["algorithmic_bandwidth"]) * Fraction(made["inv_x_star"]) == made["nodes"]
    assert document("verify", file, "--json")["inv_x_star"] == made["inv_x_star"]
    assert document("compile", file, "-o", program, "--json")["verdict"] == "ok"
    assert cli(["schedule", source, "--algorithm", "forest", "-o", file]) == 0
    assert "faster than a reduce-scatter" in capsys.readouterr().out


def test_phases_in_turn_where_concurrent_ones_do_not_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import topodesign.compiler.frontends.trees as front_end

    original: Callable[..., Lowering] = front_end.lower_trees

    def picky(flow: Flow, *asked: Any) -> Lowering:
        if flow.concurrent:
            raise InfeasibleError("this runtime is picky")
        return original(flow, *asked)

    monkeypatch.setattr(front_end, "lower_trees", picky)
    args = ["compile", "genkautz(2,7)", "--algorithm", "forest", "-o", str(tmp_path / "x.xml"), "--json"]
    assert cli(args) == 0
    note = json.loads(capsys.readouterr().out)["fewer_trees"]
    assert "one phase after the other, since of the best ones this runtime is picky" in note
