"""Lists of chunks, steps and rounds: against brute force, against what is published, and by laws."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.samples.schedules import random_digraph
from tests.schedulers.test_exact import brute_allgather
from topodesign import list_schedules, load_plan, schedule, verify
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.cli.main import run
from topodesign.collectives import ALLGATHER
from topodesign.schedulers.exact_rounds import fewest_steps
from topodesign.schedulers.schedule_list import ScheduleList
from topodesign.solve.discrete import Discrete


def points(found: ScheduleList) -> list[tuple[int, int, Fraction]]:
    """Check every plan in full, and that none beats another; return what there is to choose from."""
    points = []
    for one in found.schedules:
        assert one.rounds is not None
        assert one.bound is not None
        points.append((one.chunks, one.steps, one.rounds))
        report = verify(one.plan)
        assert report.ok, str(report)
        assert one.plan.claim["steps"] == one.steps
        topology = one.plan.topology
        shards = found.collective.shards(topology.nodes)
        assert one.plan.claim["bandwidth"] == Fraction(topology.degree, shards) * one.rounds / one.chunks
        assert one.plan.claim["bandwidth"] == one.bandwidth
        assert (one.proof == "none") == (one.rounds > one.bound)
    for one, (chunks, steps, rounds) in zip(found.schedules, points, strict=True):
        for other in points:
            worse = other[0] <= chunks, other[1] <= steps, other[2] * chunks <= rounds * other[0]
            assert other == (one.chunks, one.steps, one.rounds) or not all(worse)
    return points


@pytest.mark.parametrize(("nodes", "degree", "chunks", "seed"), [
    (3, 1, 1, 0), (3, 2, 2, 2), (4, 2, 1, 3), (4, 1, 1, 4),
])  # fmt: skip
def test_brute_force(nodes: int, degree: int, chunks: int, seed: int) -> None:
    """All schedules of all numbers of steps and chunks, and of these what no other beats."""
    topology = random_digraph(np.random.default_rng(seed), nodes, degree)
    least = fewest_steps(topology, ALLGATHER)
    most = least + (1 if nodes < 4 else 0)
    found = list_schedules(topology, chunks=chunks, steps=most)
    assert found.proven
    best: list[tuple[int, int, Fraction]] = []
    for steps in range(least, most + 1):
        for parts in range(1, chunks + 1):
            y = brute_allgather(topology, steps, parts)
            assert y is not None
            rounds = y * parts * nodes / topology.degree
            if all(rounds / parts < other / c for c, _, other in best if c <= parts):
                best.append((parts, steps, rounds))
    assert points(found) == best


@pytest.mark.parametrize("chunks", [2, pytest.param(6, marks=pytest.mark.thorough)])
def test_what_is_published_of_a_dgx1(chunks: int) -> None:
    """SCCL's allgathers of a DGX-1: 2 steps take 2 rounds for 1 chunk and 3 for 2, and 3 steps 7 rounds for 6.

    Rounds of a step are whole there; here they need not be, which adds 2 chunks in 3 steps and 5/2 rounds, and 5 in 6.
    """
    found = list_schedules("dgx1_v100(1)", chunks=chunks, steps=3)
    assert found.proven
    mine = points(found)
    published = {(1, 2, Fraction(2)), (2, 2, Fraction(3)), (6, 3, Fraction(7))}
    assert {one for one in published if one[0] <= chunks} <= set(mine)
    assert set(mine) - published <= {(2, 3, Fraction(5, 2)), (5, 3, Fraction(6))}
    assert all(rounds / parts >= Fraction(7, 6) for parts, _, rounds in mine)  # seven shards over six ports


def test_backwards() -> None:
    """A reduce-scatter is an allgather of the transpose, and a gather a scatter."""
    topology = random_digraph(np.random.default_rng(8), 5, 2)
    one, other = list_schedules(topology, chunks=2), list_schedules(topology.transpose(), "reduce-scatter", chunks=2)
    assert points(one) == points(other)
    one, other = (
        list_schedules(where, name, root=1, chunks=2)
        for where, name in ((topology, "scatter"), (topology.transpose(), "gather"))
    )
    assert points(one) == points(other)


@pytest.mark.parametrize(("place", "collective", "root"), [
    ("biring(2,6)", "broadcast", 0), ("hypercube(3)", "all-to-all", None), ("diamond()", "reduce", 2),
    ("torus(3,3)", "scatter", 4), ("complete(4)", "gather", 1),
])  # fmt: skip
def test_collectives(place: str, collective: str, root: int | None) -> None:
    found = list_schedules(place, collective, root=root, chunks=3, time_limit="20s")
    assert found.proven
    mine = points(found)
    least = min(steps for _, steps, _ in mine)
    one = schedule(place, collective, root=root, method="exact")
    assert mine[0][:2] == (1, least)
    assert one.claim["steps"] == least
    assert found.schedules[0].plan.claim == one.claim
    again = schedule(place, collective, root=root, method="exact", steps=mine[-1][1], chunks=mine[-1][0])
    assert again.claim["bandwidth"] <= found.schedules[-1].plan.claim["bandwidth"]


def test_sizes() -> None:
    found = list_schedules("biring(2,5)", "broadcast", root=0, chunks=4, steps=5, sizes=["1KiB", "1GiB"])
    rows = found.to_records()
    starts = [row["fastest_from"] for row in rows if row["fastest_from"] is not None]
    assert starts[0] == 0
    assert starts == sorted(starts)
    for place, row in enumerate(rows):
        if row["fastest_from"]:
            before = max(at for at in range(place) if rows[at]["fastest_from"] is not None)
            one, other = (found.time(found.schedules[at], row["fastest_from"]) for at in (before, place))
            assert one == other
            assert found.best(row["fastest_from"] + 1) is found.schedules[place]
    assert "fastest from" in str(found)
    assert found.best("1KiB").steps == 2
    assert found.best("1GiB").steps > 2


def test_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not settled is reported, and nothing of it is called proven."""
    solve = Discrete.solve
    count = itertools.count()

    def once(program: Discrete, **more: Any) -> str:
        if next(count) == 0:
            return solve(program, **more)
        program._answer = {"verdict": "stopped", "bound": 0, "values": []}
        return "stopped"

    monkeypatch.setattr(Discrete, "solve", once)
    found = list_schedules("hypercube(3)", "broadcast", root=0, chunks=3)
    assert not found.proven
    assert len(found.schedules) == 1
    assert all(one.bound < one.below for one in found.unsettled)
    assert "not settled: " in str(found)
    assert "not every row proven" in found.heading()
    count = itertools.count()
    plan = schedule("hypercube(3)", "broadcast", root=0, method="exact", chunks=3)
    assert plan.claim["bandwidth"] == found.schedules[0].bandwidth
    assert any(note.startswith("not settled: 2 chunks in 3 steps") for note in plan.notes)


@pytest.mark.parametrize(("options", "words", "kind"), [
    ({"collective": "allreduce"}, "is a reduce-scatter and then", ParameterError),
    ({"collective": "broadcast"}, "requires a root", ParameterError),
    ({"root": 1}, "has no root", ParameterError),
    ({"steps": 1}, "at least 2 steps", InfeasibleError),
    ({"chunks": 0}, "chunks must be", ParameterError),
    ({"time_limit": "0s"}, "above zero", ParameterError),
    ({"place": "dgx_a100(1)"}, "without switches", TopodesignError),
    ({"place": "dgx1_v100(1)", "bandwidth": "1Gbps"}, "bandwidths of its own", ParameterError),
])  # fmt: skip
def test_bad_input(options: dict[str, Any], words: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=words):
        list_schedules(**{"place": "biring(2,4)", **options})


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["schedule", "bipartite(2)", "--collective", "allgather", "--algorithm", "exact", "--list"]
    command += ["--set", "chunks=2", "--size", "1GiB"]
    assert run([*command, "--json", "-o", str(tmp_path / "plans")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(one["chunks"], one["steps"], one["rounds"]) for one in document["frontier"]] == [(1, 2, "2"), (2, 2, "3")]
    assert document["proven"] is True
    plans = sorted((tmp_path / "plans").iterdir())
    assert [path.name for path in plans] == ["allgather-chunks1-steps2.npz", "allgather-chunks2-steps2.npz"]
    assert [str(load_plan(path).claim["bandwidth"]) for path in plans] == ["1", "3/4"]
    assert run([*command, "-o", str(tmp_path / "fast.npz")]) == 0
    assert "every row proven" in capsys.readouterr().out
    assert verify(tmp_path / "fast.npz").figures["bandwidth"] == Fraction(3, 4)
    assert run([*command, "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert run([*command, "--size", "1KiB", "-o", str(tmp_path / "fast.npz")]) == 2
    assert run([*command, "-o", str(tmp_path / "plans")]) == 2  # what is there is never thrown away


@pytest.mark.parametrize(("words", "said"), [
    ("--algorithm exact", "Missing option '-o'"),
    ("--algorithm exact --size 1KiB --size 1MiB -o x.npz", "several --size require --list"),
    ("--list", "auto"),
    ("--list --algorithm spff", "spff"),
    ("--list --algorithm exact --set tick=1us", "--set tick= cannot be combined with --list of --algorithm exact"),
    ("--list --algorithm pipeline --set steps=3", "--set steps= cannot be combined with --list"),
    ("--list --algorithm exact --traffic 0,1=allgather", "--traffic cannot be combined with --list"),
])  # fmt: skip
def test_what_a_list_is_not_made_of_is_refused(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "biring(2,4)", "--collective", "allgather", *words.split()]) == 2
    assert said in capsys.readouterr().err
