"""The columns that decide that a plan is right, against the execution object by object that explains what is not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.floors import reached
from tests.runtime.mscclpp.test_agreement import LARGE, SMALL, Case, mutants, plan_text
from topodesign.base.errors import TopodesignError
from topodesign.runtime.mscclpp.check import Prepared, names, prepare
from topodesign.runtime.mscclpp.flat import Flat
from topodesign.runtime.mscclpp.limits import illegal
from topodesign.runtime.mscclpp.parse import parse_plan
from topodesign.runtime.mscclpp.prove import explained

CASES = [case for case in [*SMALL, *LARGE] if case[2] == "Simple"]


def flat(run: Prepared) -> Flat:
    return Flat(run.program, run.memory(), run.launches)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_made_is_proven(case: Case) -> None:
    run = prepare(parse_plan(plan_text(*case)))
    one = flat(run)
    assert one.proven()
    for rank, (values, known, _) in enumerate(zip(one.memory.values, one.memory.known, one.memory.flags, strict=True)):
        other = run.memory()
        assert not explained(Flat(run.program, other, run.launches))
        assert np.array_equal(known, other.known[rank])
        assert np.array_equal(values[known], other.values[rank][known])


@pytest.mark.parametrize("case", [*SMALL, *LARGE], ids=str)
def test_random_orders_of_what_is_made_agree(case: Case) -> None:
    run = prepare(parse_plan(plan_text(*case)))
    one = flat(run)
    assert {one.random(seed) for seed in range(20)} == {None}


def agree(cases: list[Case], seeds: range) -> None:
    """Nothing passes that has a finding, and what passes is right in random orders; little cannot be told."""
    for case, seed, change, text in mutants(cases, seeds):
        try:
            plan = parse_plan(text)
            if any(illegal(plan)) or plan.collective not in names():
                continue
            run = prepare(plan)
        except TopodesignError:
            continue
        if run.findings:
            continue
        wrong = explained(flat(run))
        fast = flat(run)
        right = fast.proven()
        assert not (right and wrong), (case, seed, change, wrong)
        if not right and not wrong:
            reached("not told")
            continue
        reached("right" if right else "wrong")
        if right:
            assert not any(fast.random(one) for one in range(3)), (case, seed, change)


@pytest.mark.dear
@pytest.mark.floor(**{"right": 5, "wrong": 40, "not told": 0})
def test_mutants() -> None:
    agree(CASES, range(15))


@pytest.mark.thorough
@pytest.mark.floor(**{"right": 50, "wrong": 400, "not told": 0})
def test_many_mutants() -> None:
    agree(CASES, range(150))


def test_signals_that_nobody_takes_and_orders_that_end_in_a_deadlock() -> None:
    text = plan_text("complete(2)", "allgather", "Simple", None)
    run = prepare(parse_plan(text))
    for kind, verdict in (("wait", "mismatch"), ("signal", "deadlock")):
        program = prepare(parse_plan(text)).program
        for phases in program.blocks.values():
            for phase in phases:
                for line in phase.threads.values():
                    line[:] = [one for one in line if one.kind != kind]
                phase.threads = {at: line for at, line in phase.threads.items() if line}
        one = Flat(program, run.memory(), run.launches)
        assert not one.proven()
        found = one.random(0)
        assert found is not None
        assert found.verdict in {verdict, "wrong result"}
