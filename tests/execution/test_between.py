"""Ranks that wait where circuits change: nothing of a phase is on its way in another."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from topodesign import reconfigure, run_plan, schedule
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.execution.levels import check_scripts, neighbours_of, scripts_of
from topodesign.execution.ordering import Do
from topodesign.execution.program import programs_of
from topodesign.plans.kinds import kind_of


@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize(("nodes", "degree", "cabling"), [(8, 1, "simplex"), (4, 1, "duplex"), (12, 2, "simplex")])
def test_messages_stay_within_their_phase(collective: str, nodes: int, degree: int, cabling: str) -> None:
    found = reconfigure(nodes, degree, collective, delay="0s", alpha="1us", cabling=cabling, size="64MiB")
    assert found.best.changes
    circuits = found.plan.flow.switching
    made = kind_of(found.plan).transfers()
    phase: dict[tuple[int, int], list[int]] = {}
    for src, dst, step in sorted({*zip(made[0].src.tolist(), made[0].dst.tolist(), made[0].end.tolist(), strict=True)}):
        phase.setdefault((src, dst), []).append(int(circuits.phase_of(np.array([step]))[0]))
    for one in programs_of(made, kind_of(found.plan).changes):
        now = 0
        for do, at in one.order:
            if do is Do.MEET:
                now += 1
                assert at == now
            elif do is Do.SEND:
                assert phase[one.rank, one.sends[at].peer][one.sends[at].tag] == now
            elif do is Do.RECEIVE:
                assert phase[one.receives[at].peer, one.rank][one.receives[at].tag] == now
        assert now == found.best.changes


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


@pytest.mark.parametrize("collective", ["all-to-all", "allreduce"])
def test_batches_without_tags_stay_within_their_phase(collective: str) -> None:
    found = reconfigure(8, 1, collective, delay="0s", alpha="1us", size="64MiB")
    circuits_of, made = found.plan.flow.switching.rows, kind_of(found.plan).transfers()
    programs = list(programs_of(made, kind_of(found.plan).changes))
    scripts = scripts_of(programs)
    check_scripts(programs, scripts, neighbours_of(found.plan.topology))
    sends = 0
    for program, script in zip(programs, scripts, strict=True):
        now = 0
        for batch in script:
            now = batch.phase or now
            circuits = {(a, b) for a, _, b, _ in circuits_of(now).tolist()}
            for at in batch.sends:
                assert (program.rank, program.sends[at].peer) in circuits
                sends += 1
        assert now == found.best.changes
    assert sends == sum(len(one.sends) for one in programs)
    early = [tuple(batch for batch in scripts[0] if batch.phase != 1), *scripts[1:]]
    with pytest.raises(ScheduleError, match="do not wait for each other"):
        check_scripts(programs, early, neighbours_of(found.plan.topology))


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
