"""The proof against all orders of execution of small plans, right and wrong."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from tests.floors import reached
from tests.runtime.mscclpp.explore import Explorer, TooManyError
from tests.runtime.mscclpp.mutants import mutant
from topodesign.base.errors import TopodesignError
from topodesign.compiler.compilation import compile_plan
from topodesign.runtime.mscclpp.check import PlanReport, check_plan, prepare
from topodesign.runtime.mscclpp.parse import ExecutionPlan, parse_plan
from topodesign.schedulers.scheduling import schedule

Case = tuple[str, str, str, int | None]  # links, collective, protocol, ranks of a box

STATIC = {"illegal", "out-of-bounds"}

SMALL: list[Case] = [
    ("complete(2)", "allgather", "Simple", None),
    ("complete(2)", "allgather", "LL", None),
    ("complete(2)", "allgather", "Simple", 1),
    ("complete(2)", "reduce-scatter", "Simple", None),
    ("complete(2)", "reduce-scatter", "Simple", 1),
    ("complete(2)", "broadcast", "LL", None),
    ("complete(2)", "allreduce", "LL", None),
]
"""Collectives of two ranks, whose orders can all be tried."""


@cache
def plan_text(spec: str, collective: str, protocol: str, box: int | None, *, inplace: bool = True) -> str:
    plan = schedule(spec, collective, root=1 if collective == "broadcast" else None)
    return compile_plan(plan, "mscclpp", inplace=inplace, protocol=protocol, box=box).text  # type: ignore[arg-type]


def explored(plan: ExecutionPlan, report: PlanReport, launches: int) -> bool:
    """Return whether some order of execution is bad, or the result of one is."""
    run = prepare(plan, report.root)
    found = Explorer(run.program, run.memory(), launches).run()
    return found.bad or bool(run.machine(launches).prove().wrong)


def compare(text: str, *, launches: int | None = None) -> str:
    """Compare the proof with all orders; return the verdict."""
    plan = parse_plan(text)
    report = check_plan(plan)
    if report.verdict in STATIC:
        return report.verdict
    bad = explored(plan, report, launches or report.launches)
    if bad == report.ok:
        # where signals are for several, the proof asks for more than that all goes well
        assert not report.ok, report
        assert any("wait for" in one.message for one in report.findings), report
        reached("by_chance")
    reached("compared")
    return report.verdict


@pytest.mark.parametrize("case", SMALL, ids=str)
@pytest.mark.floor(compared=1)
def test_what_is_made_is_right_in_all_orders(case: Case) -> None:
    assert compare(plan_text(*case)) == "ok"


def mutants(cases: list[Case], seeds: range) -> Iterator[tuple[Case, int, str, str]]:
    """Yield changed plans: of which case, by which seed, the name of the change, and the text."""
    for case, seed in itertools.product(cases, seeds):
        made = mutant(plan_text(*case), seed)
        if made is not None:
            yield case, seed, *made


def mutants_agree(cases: list[Case], seeds: range) -> Counter[str]:
    verdicts: Counter[str] = Counter()
    for case, seed, change, text in mutants(cases, seeds):
        try:
            verdicts[compare(text)] += 1
        except TooManyError:
            reached("too_many_states")
        except TopodesignError:
            verdicts["refused"] += 1
        except AssertionError as error:
            raise AssertionError(f"{case}, seed {seed}, {change}: {error}\n{text}") from error
    return verdicts


@pytest.mark.floor(compared=20, by_chance=0, too_many_states=0)
def test_mutants_agree_with_all_orders() -> None:
    verdicts = mutants_agree(SMALL[:4], range(10))
    assert {"race", "deadlock"} <= set(verdicts)


@pytest.mark.thorough
@pytest.mark.floor(compared=600, by_chance=0, too_many_states=0)
def test_many_mutants_agree_with_all_orders() -> None:
    verdicts = mutants_agree(SMALL, range(200))
    assert {"race", "deadlock", "wrong result", "uninitialised read", "ok"} <= set(verdicts)
    assert sum(verdicts.values()) - verdicts["ok"] > 500
