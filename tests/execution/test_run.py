"""``run_plan`` and ``topodesign run`` on threads: what they say of times and rates, and what they refuse."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign import Plan, reconfigure, run_plan, save_plan, schedule
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, ScheduleError
from topodesign.base.units import parse_bandwidth, parse_time
from topodesign.cli.main import run
from topodesign.collectives import COLLECTIVES
from topodesign.execution.levels import check_programs, neighbours_of
from topodesign.execution.program import programs_of
from topodesign.execution.result import bus_factor, fit_model
from topodesign.execution.workspace import TYPES, Outcome, Workspace, by_place, coefficients
from topodesign.plans.plan_ops import list_transfers


def test_rates_are_those_of_nccl_tests() -> None:
    """Of n ranks: 2(n-1)/n for an allreduce, 1 where a root sends or gets all of one block, else (n-1)/n."""
    assert {name: bus_factor(one, 8) for name, one in COLLECTIVES.items()} == {
        "allgather": Fraction(7, 8),
        "reduce-scatter": Fraction(7, 8),
        "allreduce": Fraction(7, 4),
        "broadcast": 1,
        "reduce": 1,
        "scatter": Fraction(7, 8),
        "gather": Fraction(7, 8),
        "all-to-all": Fraction(7, 8),
    }
    outcome = Outcome((3 * 10**9, 10**9, 2 * 10**9), 0, "")
    assert [outcome.median, outcome.least, outcome.most] == [Fraction(2), Fraction(1), Fraction(3)]
    assert Outcome((10**9, 2 * 10**9), 0, "").median == Fraction(3, 2)


@pytest.mark.parametrize("dtype", TYPES)
def test_sums_are_exact_in_every_type(dtype: str) -> None:
    """The largest that can occur, as the sum of all, is an integer of the type."""
    for ranks in (2, 64, 1024):
        factor = coefficients(ranks, 3)
        assert factor.min() >= 1
        total = int(factor.sum()) * 251
        assert int(np.array(total, dtype=TYPES[dtype])) == total < 2**24
    assert by_place(0, 3, 5, 9).tolist() == by_place(0, 3, 0, 9)[5:].tolist()
    result = run_plan(schedule("torus(3,2)"), size=5000, iterations=1, warmup=0, dtype=dtype)
    assert result.right


def test_what_a_result_says() -> None:
    plan = schedule("circulant(12,2,3)")
    result = run_plan(plan, size=["1000B", "48KiB", "480KiB"], iterations=3, warmup=0)
    assert [one.size for one in result.runs] == [1008, 48 * 1024, 480 * 1024]
    assert result.bus == Fraction(11, 6)
    assert len(result.times) == 3
    for row, one in zip(result.to_records(), result.runs, strict=True):
        assert row["time_s"] == sorted(one.outcome.times)[1] / Fraction(10**9)
        assert row["algorithm_bandwidth"] * row["time_s"] == one.size
        assert row["bus_bandwidth"] == Fraction(11, 6) * row["algorithm_bandwidth"]
    text = str(result)
    for words in ("12 threads of one process", "1kB is padded to 1008B", "not a fabric", "11/6", ": right"):
        assert words in text
    if result.fit is not None:  # times of threads may say anything
        assert (result.fit.steps, result.fit.y) == (Fraction(4), Fraction(11, 6))
        assert result.model is not None
        assert result.model.startswith("topodesign pareto -n 12 -d 4 --alpha ")
        assert result.model in text
        assert run(result.model.split()[1:]) == 0


@pytest.mark.parametrize(
    ("place", "collective", "options", "cost"),
    [
        ("torus(3,3)", "allgather", {"method": "tacos"}, None),
        ("torus(3,3)", "allgather", {"method": "forest"}, None),
        ("dgx_a100(1)", "allgather", {}, "no one bandwidth"),
    ],
)
def test_fits_are_of_plans_with_one_latency_and_bandwidth(
    place: str, collective: str, options: dict[str, Any], cost: str | None
) -> None:
    result = run_plan(schedule(place, collective, **options), size=[999, 2**16, 2**20], iterations=1, warmup=1)
    if cost is None:
        assert result.fit is not None or any("do not grow" in note for note in result.notes)
    else:
        assert result.fit is None
        assert any(cost in note for note in result.notes)


def test_two_sizes_are_not_fitted_since_any_two_times_would_do() -> None:
    plan = schedule("dgx_a100(1)", "allgather")
    for sizes, told in ((["1KiB", "2KiB"], False), (["1KiB", "2KiB", "4KiB"], True)):
        result = run_plan(plan, size=sizes, iterations=1, warmup=0)
        assert result.fit is None
        assert any("no one bandwidth" in note for note in result.notes) == told


def damaged(plan: Plan) -> Plan:
    return replace(plan, movement=plan.rounds.some(np.arange(len(plan.rounds)) > 0))


def test_a_wrong_plan_is_refused_or_seen() -> None:
    plan = damaged(schedule("torus(3,3)", "allgather"))
    with pytest.raises(InfeasibleError, match="not run"):
        run_plan(plan)
    result = run_plan(plan, size=900, iterations=2, verified=False)
    assert not result.right
    assert "WRONG" in str(result)
    assert " instead of " in str(result)


def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = schedule("torus(3,3)", "allgather")
    wrongs: list[dict[str, Any]] = [{"iterations": 0}, {"dtype": "float16"}, {"transport": "pigeons"}, {"size": 0}]
    for wrong in [*wrongs, {"parts": 2}, {"size": []}]:
        with pytest.raises((ParameterError, ValueError)):
            run_plan(plan, **wrong)
    monkeypatch.setenv("TOPODESIGN_MAX_MEMORY", "1MiB")
    with pytest.raises(FileFormatError, match=r"the data of 9 ranks in one process would need about .*MiB"):
        run_plan(plan, size="1MiB")
    with pytest.raises(FileFormatError):
        run_plan(tmp_path / "nothing.npz")


def test_a_failing_rank_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    place = Workspace.wrong

    def fail(self: Any, factor: Any) -> Any:
        if self.program.rank == 2:
            raise MemoryError("no more")
        return place(self, factor)

    monkeypatch.setattr(Workspace, "wrong", fail)
    with pytest.raises(MemoryError, match="no more"):
        run_plan(schedule("torus(3,3)"), size=900)
    assert threading.active_count() == before


def test_an_interrupt_ends_all_threads() -> None:
    before = threading.active_count()

    def interrupt(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(schedule("torus(3,3)"), size=900, progress=interrupt)
    assert threading.active_count() == before


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = schedule("torus(3,3)", "allgather")
    save_plan("plan.npz", plan)
    save_plan("wrong.npz", damaged(plan))
    assert run(["run", "plan.npz", "--sweep", "1KiB..64KiB", "--iterations", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["asked_bytes"] for one in found["runs"]] == [2**10, 2**12, 2**14, 2**16]
    assert found["right"]
    assert run(["run", "torus(3,3)", "--collective", "all-to-all", "--size", "1KiB", "--iterations", "1"]) == 0
    assert "all-to-all of 9 nodes on torus(3,3)" in capsys.readouterr().out
    assert run(["run", "wrong.npz"]) == 1
    assert "invalid plan, not run" in capsys.readouterr().err
    assert run(["run", "wrong.npz", "--no-verify", "--size", "1KiB"]) == 1
    assert "every result was checked: WRONG" in capsys.readouterr().out
    for words, said in (
        (["plan.npz", "--sweep", "1KiB"], "is not a range of sizes; expected 1KiB..64MiB"),
        (["plan.npz", "--sweep", "2KiB..1KiB"], "must increase"),
        (["plan.npz", "--sweep", "1B..1PB", "--factor", "2"], "would need about"),
        (["plan.npz", "--sweep", "1KiB..2KiB", "--size", "1KiB"], "--size cannot be combined with --sweep"),
        (["plan.npz", "--factor", "2"], "--factor requires --sweep"),
        (["plan.npz", "--collective", "allreduce"], "is a schedule already, which decides --collective"),
        (["plan.npz", "--size", "many"], "size"),
    ):
        assert run(["run", *words]) == 2
        assert said in capsys.readouterr().err


# -- the fit is the least of the squares, and finds what made the times -----------------------------------------------


SIZES = [2**10, 2**14, 2**18, 2**22]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 10**12), st.integers(1, 30), st.fractions(Fraction(1, 9), 4))
def test_what_made_the_times_is_found(nanoseconds: int, rate: int, steps: int, y: Fraction) -> None:
    alpha, bandwidth = Fraction(nanoseconds, 10**9), Fraction(rate)
    times = [(size, steps * alpha + y * 8 * size / bandwidth) for size in SIZES]
    fit = fit_model(Fraction(steps), y, times)
    assert (fit.alpha, fit.bandwidth) == (alpha, bandwidth)
    assert not any(fit.residuals)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 10**9), min_size=4, max_size=4), st.integers(1, 9), st.fractions(Fraction(1, 9), 4))
def test_nothing_near_is_closer(nanoseconds: list[int], steps: int, y: Fraction) -> None:
    times = [(size, Fraction(time, 10**9)) for size, time in zip(SIZES, nanoseconds, strict=True)]

    def error(alpha: Fraction, beta: Fraction) -> Fraction:
        return sum((((steps * alpha + y * 8 * size * beta) / time - 1) ** 2 for size, time in times), Fraction(0))

    try:
        fit = fit_model(Fraction(steps), y, times)
        alpha, beta = fit.alpha, 1 / fit.bandwidth
        assert error(alpha, beta) == sum(one * one for one in fit.residuals)
    except InfeasibleError:  # then none is best: the latency is that of alpha alone
        alpha = sum((steps / time for _, time in times), Fraction(0))
        alpha /= sum(((steps / time) ** 2 for _, time in times), Fraction(0))
        beta = Fraction(0)
    assert alpha >= 0
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            near, slope = alpha + a * Fraction(1, 10**9), beta * (1 + b * Fraction(1, 1000))
            slope += b * Fraction(1, 10**18) if not beta else 0
            assert min(near, slope) < 0 or error(near, slope) >= error(alpha, beta)


def test_other_commands_take_it() -> None:
    fit = fit_model(Fraction(4), Fraction(11, 6), [(2**10, Fraction(1, 10**4)), (2**20, Fraction(1, 10**2))])
    _, alpha, _, bandwidth = fit.options().split()
    assert abs(parse_time(alpha) / fit.alpha - 1) < Fraction(1, 1000)
    assert abs(parse_bandwidth(bandwidth) / fit.bandwidth - 1) < Fraction(1, 1000)
    assert "off by 0.0%" in str(fit)


# -- ranks that wait where circuits change: nothing of a phase is on its way in another -------------------------------


def test_all_wait_for_what_is_called_and_results_are_right(tmp_path: Path) -> None:
    found = reconfigure(8, 1, "allreduce", delay="0s", alpha="1us", size="64MiB")
    called: list[int] = []
    result = run_plan(found.plan, size="64KiB", iterations=2, warmup=1, between=called.append)
    assert result.right
    assert called == 3 * list(range(found.best.changes + 1))
    log = tmp_path / "log"
    script = tmp_path / "change.py"
    script.write_text(f"import sys; open({str(log)!r}, 'a').write(sys.argv[-1] + ' ')")
    result = run_plan(found.plan, size="64KiB", iterations=1, warmup=0, between=f"{sys.executable} {script}")
    assert result.right
    assert log.read_text().split() == [str(phase) for phase in range(found.best.changes + 1)]


@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize(("nodes", "degree", "cabling"), [(8, 1, "simplex"), (4, 1, "duplex"), (12, 2, "simplex")])
def test_batches_stay_within_their_phase(collective: str, nodes: int, degree: int, cabling: str) -> None:
    found = reconfigure(nodes, degree, collective, delay="0s", alpha="1us", cabling=cabling, size="64MiB")
    assert found.best.changes
    circuits_of, made = found.plan.flow.switching.rows, list_transfers(found.plan)
    programs = programs_of(made, found.plan.changes)
    check_programs(programs, neighbours_of(found.plan.topology))
    sends = 0
    for program in programs:
        now = 0
        for batch in program.script:
            now = batch.phase or now
            circuits = {(a, b) for a, _, b, _ in circuits_of(now).tolist()}
            for at in batch.sends:
                assert (program.rank, program.sends[at].peer) in circuits
                sends += 1
        assert now == found.best.changes
    assert sends == sum(len(one.sends) for one in programs)
    early = replace(programs[0], script=tuple(batch for batch in programs[0].script if batch.phase != 1))
    with pytest.raises(ScheduleError, match="do not wait for each other"):
        check_programs([early, *programs[1:]], neighbours_of(found.plan.topology))


def test_what_goes_wrong_between_phases_is_said(tmp_path: Path) -> None:
    plan = reconfigure(8, 1, delay="0s", alpha="1us", size="64MiB").plan
    script = tmp_path / "change.py"
    script.write_text("raise SystemExit('no light at port 3')")
    with pytest.raises(InfeasibleError, match="0 ended with status 1: no light at port 3"):
        run_plan(plan, between=f"{sys.executable} {script}")
    with pytest.raises(ParameterError, match="there is no command 'nosuchcommand x'"):
        run_plan(plan, between="nosuchcommand x")
    with pytest.raises(ParameterError, match="circuits do not change in this plan"):
        run_plan(schedule("biring(2,4)"), between="true")
