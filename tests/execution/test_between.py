"""Ranks that wait where circuits change: nothing of a phase is on its way in another."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from topodesign import reconfigure, run_plan, schedule
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.execution.levels import check_programs, neighbours_of
from topodesign.execution.program import programs_of
from topodesign.plans.plan_ops import list_transfers


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
