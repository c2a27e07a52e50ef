"""TACOS-ILP: between the optimum and TACOS-Greedy; the paper's small cases; early termination and windows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.samples.verdicts import verify_timed
from tests.schedulers.test_exact_time import SINGLE, random_setting
from topodesign import schedule, verify
from topodesign.base.errors import ParameterError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, Collective
from topodesign.schedulers import tacos_ilp
from topodesign.schedulers.demands import Setting, complete, lean
from topodesign.schedulers.exact_time import fastest, least_time
from topodesign.schedulers.tacos_ilp import synthesize_sends
from topodesign.solve.program import Program
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology


def checked(setting: Setting, **options: Any) -> tuple[int, str]:
    """Synthesize from shortest paths on, verify, and return when it ends and why the search did."""
    first = complete(setting)
    sends, outcome, _ = synthesize_sends(setting, first, **options)
    assert verify_timed(setting.place, setting.plan(sends)).ok
    assert least_time(setting) <= setting.ending(sends) <= setting.ending(lean(setting, first))
    return setting.ending(sends), outcome


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("collective", SINGLE, ids=str)
def test_exact_steps_give_the_optimum(collective: Collective, overlap: bool) -> None:
    """With steps that hold all times exactly the programs end at the optimum, which another solver proves."""
    for seed in range(3):
        setting = random_setting(seed, *((3, 4) if collective == ALL_TO_ALL else (4, 6)), collective, overlap=overlap)
        found, outcome = checked(setting, length=1, seconds=20)
        best = fastest(setting)
        assert best.proof != "none"
        if outcome in {"bound", "solver"}:
            assert found * setting.tick == best.timed.time
        assert found * setting.tick >= best.timed.time


@pytest.mark.parametrize("length", [2, 3])
def test_coarse_steps_and_windows_are_right(length: int) -> None:
    for seed in range(4):
        setting = random_setting(seed, 5, 8, SINGLE[seed])
        checked(setting, length=length, seconds=5)
        checked(setting, length=length, window=12, seconds=5)


def test_no_time_is_recovered_from(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = random_setting(3, 5, 9, SINGLE[-1])
    assert checked(setting, seconds=1e-9)[1] in {"limit", "bound"}
    monkeypatch.setattr(Program, "solve", lambda *_args, **_more: "stopped")
    assert checked(setting)[1] in {"limit", "bound"}


def test_what_the_solver_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong sends are omitted, and what they were for goes another way."""
    random = np.random.default_rng(0)
    values = Program.values
    monkeypatch.setattr(
        Program, "values", lambda program: values(program) ^ (random.random(values(program).shape) < 0.1)
    )
    for seed in range(6):
        checked(random_setting(seed, 4, 7, SINGLE[seed]), seconds=5)


def test_the_cases_of_the_paper() -> None:
    """Figure 8: scatter on a ring of 4 in 3 steps. Figure 20: allgather on a 3 x 3 mesh in 4."""
    unit: dict[str, Any] = {"alpha": "1us", "bandwidth": "8000Gbps", "size": "4MB"}
    plan = schedule("uniring(1,4)", "scatter", root=0, method="tacos-ilp", **unit)
    assert plan.claim["time"] == 3 * Fraction(2, 10**6)
    pairs = [(u, v) for u in range(9) for v in range(9) if abs(u // 3 - v // 3) + abs(u % 3 - v % 3) == 1]
    mesh = Topology.from_links(9, pairs)
    table = LinkTable(dict.fromkeys(pairs, Fraction(0)), dict.fromkeys(pairs, Fraction(8 * 10**9)))
    plan = schedule(mesh, "allgather", method="tacos-ilp", link_table=table, size="9kB")
    assert plan.claim["time"] == 4 * Fraction(1, 10**6)
    assert plan.generator["proof"] == "bound"


@pytest.mark.parametrize("collective", ["allreduce", "scatter", "all-to-all"])
def test_plans(collective: str) -> None:
    """The optimum, this, TACOS-Greedy: none is slower than the next."""
    table = LinkTable({(0, 1): Fraction(1, 10**5)}, {(0, 1): Fraction(10**9)})
    more: dict[str, Any] = {"root": 1 if collective == "scatter" else None, "link_table": table}
    plan = schedule("circulant(5,1,2)", collective, method="tacos-ilp", time_limit="3s", **more)
    assert verify(plan).ok
    if collective != "allreduce":
        best, quick = (schedule("circulant(5,1,2)", collective, method=name, **more) for name in ("exact", "tacos"))
        assert best.claim["time"] <= plan.claim["time"] <= quick.claim["time"]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(60))
def test_order_of_methods(seed: int) -> None:
    random = np.random.default_rng(seed)
    collective = SINGLE[seed % len(SINGLE)]
    setting = random_setting(seed, int(random.integers(3, 7)), 8, collective, overlap=seed % 2 == 0)
    found, _ = checked(setting, seconds=10)
    assert fastest(setting).timed.time <= found * setting.tick


def test_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = random_setting(0, 4, 6, ALLGATHER)
    with pytest.raises(ParameterError, match="a window needs at least"):
        synthesize_sends(setting, complete(setting), length=1, window=1)
    with pytest.raises(ParameterError, match="for fabrics with switches"):
        schedule("biring(2,4)", "allgather", method="tacos-ilp", unwind=1)
    monkeypatch.setattr(tacos_ilp, "MOST_SENDS", 1)
    assert checked(random_setting(3, 5, 9, SINGLE[-1]))[1] in {"limit", "bound"}
