"""Every source goes with every objective and every view: answers are those of the parts, and nothing is ignored."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from topodesign import carry, grow, pareto, plain_inventory, plan_wiring, survey
from topodesign.pricing.mix import Mix, Share

KIB = 2**10
MIX = Mix("mix", (Share("allreduce", Fraction(64 * KIB), 2), Share("all-to-all", Fraction(64 * KIB))))
OBJECTIVES: list[dict[str, Any]] = [{}, {"collective": "allgather"}, {"collective": "all-to-all"}, {"workload": MIX}]
SOURCES = {
    "pareto": pareto,
    "carry": partial(carry, plain_inventory(8, 4)),
    "grow": partial(grow, plan_wiring("circulant(7,1,2)", plain_inventory(7, 4))),
}


@pytest.mark.dear(
    "carry-objective1",
    "carry-objective2",
    "carry-objective3",
    "grow-objective0",
    "grow-objective1",
    "grow-objective2",
    "grow-objective3",
)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_answers_every_objective_in_every_view(source: str, objective: dict[str, Any]) -> None:
    find: Any = SOURCES[source]
    found = find(8, 4, runners_up=1, candidates=["circulant(8,1,2)"] if source == "pareto" else (), **objective)
    assert {one.wish for one in found.next_best} >= {"time", "wiring"}
    assert found.fastest.times[0] >= found.question.least[0]
    assert all(one.over >= 1 for one in found.next_best if one.wish == "time")
    several = survey(8, 4, answer=find, **objective)
    assert [one.fastest for one in several] == [find(8, 4, **objective).fastest]
    assert several.record()["sizes"][0]["times_s"] == list(map(float, found.fastest.times))


@pytest.mark.dear
def test_what_the_catalog_keeps_for_all_to_all_is_ranked_for_other_collectives() -> None:
    found = pareto(30, 6, collective="allgather", bidirectional=True)
    assert (found[0].cost.steps, found[0].factor) <= (2, 1)
    assert found.best.times == pareto(30, 6, collective="allgather", bidirectional=True, runners_up=1).best.times


def test_columns_of_a_workload_are_the_sums_of_its_collectives() -> None:
    mixed = pareto(12, 4, workload=MIX, collective="all-to-all", sizes="64KiB")
    assert mixed.questions[0] == MIX
    assert [share.collective for one in mixed.questions[1:] for share in one.shares] == ["all-to-all"]
    work = mixed.workload
    for one in (*mixed.entries, *mixed.beaten):
        (reduce,) = work.allreduce(one.cost, one.allgather)
        assert one.times[0] == 2 * reduce + one.times[1]


def test_all_to_all_is_priced_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise AssertionError("all-to-all was priced")

    monkeypatch.setattr("topodesign.schedulers.price.price_all_to_all", fail)
    found = pareto(48, 6, collective="allgather")
    assert found.best.times == found.question.least
    with pytest.raises(AssertionError):
        pareto(48, 6, collective="all-to-all")


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
def test_what_was_ruled_out_by_bounds_is_no_better(collective: str) -> None:
    short = pareto(20, 3, collective=collective)
    whole = pareto(20, 3, collective=collective, runners_up=1)
    assert [one.spec for one in short] == [one.spec for one in whole]
    assert short.compared == whole.compared
    assert short.ruled_out > whole.ruled_out == 0
