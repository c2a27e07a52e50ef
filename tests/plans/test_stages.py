"""Stages: how they are described, what their transfers add up, and what a replay finds where they are wrong."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.conftest import few
from tests.floors import reached
from topodesign import Plan, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.plans.chunk_ops import find_height, find_relays
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.plan_ops import list_rounds, list_transfers
from topodesign.plans.stages import list_parts, list_shares
from topodesign.plans.transfers import Transfers, add_up
from topodesign.plans.verify.plans import check_movement

PLACES = ["dgx_a100(2)", "dgx_a100(3)", "dgx1_v100(2)", "mi250(2)", "complete(5)", "kautz(2,2)"]


def plan_of(place: str, size: str = "1KiB") -> Plan:
    method = "one-shot" if "(2,2)" in place or "complete" in place else "two-level"
    return schedule(place, "allreduce", method=method, size=size, by_ranks=True)


def stages_of(plan: Plan) -> tuple[Flow, ...]:
    return plan.movement.each if isinstance(plan.movement, Flows) else (plan.flow,)


def counted(moved: Transfers) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Do what transfers say; return how often the result of each rank has each unit of each other, by hand."""
    assert moved.sums is not None
    last = int(moved.sums[2].max())
    have: list[dict[tuple[int, int], np.ndarray[tuple[int], np.dtype[np.int64]]]] = []
    for rank in range(moved.ranks):
        own = np.zeros(moved.ranks, dtype=np.int64)
        own[rank] = 1
        have.append({(rank, unit): own for unit in range(moved.units)})
    for step in sorted({*moved.end.tolist(), *moved.sums[0].tolist()}):
        before = [dict(one) for one in have]
        for row in np.flatnonzero(moved.end == step).tolist():
            src, dst, block = (int(column[row]) for column in (moved.src, moved.dst, moved.block))
            for unit in range(int(moved.lo[row]), int(moved.hi[row])):
                assert (block, unit) not in have[dst]  # nothing is overwritten
                have[dst][block, unit] = before[src][block, unit]
        new: dict[tuple[int, int, int], np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
        for at, rank, block, source, lo, hi in moved.sums.T.tolist():
            for unit in range(lo, hi) if at == step else ():
                key = rank, block, unit
                new[key] = new.get(key, np.zeros(moved.ranks, dtype=np.int64)) + have[rank][source, unit]
        for (rank, block, unit), value in new.items():
            have[rank][block, unit] = value
    return np.array([[one[last, unit] for unit in range(moved.units)] for one in have])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("size", ["1KiB", "16MiB"])
def test_everybody_adds_up_everybody_once(place: str, size: str) -> None:
    plan = plan_of(place, size)
    assert verify(plan).ok
    (moved,) = list_transfers(plan)
    assert (counted(moved) == 1).all()
    assert moved.shards == 1
    same = add_up(stages_of(plan))
    assert np.array_equal(same.block, moved.block)


def test_parts_and_rates() -> None:
    plan = plan_of("dgx_a100(2)", "16MiB")
    stages = stages_of(plan)
    assert [one.collective.name for one in stages] == ["reduce-scatter", "allreduce", "allgather"]
    assert list_shares(stages) == [1, Fraction(1, 8), 1]
    assert list_parts(stages)[1][9] == (Fraction(1, 8), Fraction(1, 4))
    assert sum(map(find_height, stages)) == plan.claim["height"] == 3
    assert not any(len(find_relays(one)) for one in stages)
    assert "reduce-scatter, allreduce, allgather" in repr(plan.movement)


@pytest.mark.dear
@pytest.mark.floor(found=20)
def test_what_is_wrong_is_found() -> None:
    """Stages that are lost or turned round, rates too high, trees that lose an edge, weights that differ."""
    for place in few(PLACES[:4]):
        for size in ("1KiB", "16MiB"):
            plan = plan_of(place, size)
            each = stages_of(plan)
            wrong = [Flows(each[:gone] + each[gone + 1 :]) for gone in range(len(each))]
            wrong += [Flows(tuple(replace(one, rate=2 * (one.rate or Fraction(1))) for one in each))]
            if len(each) == 3:
                turned = replace(each[0], collective=ALLGATHER.within(each[0].collective.groups or ()))
                wrong += [Flows((turned, *each[1:])), Flows((each[0], each[1], each[1], each[2]))]
                first, again = (check_movement(plan.fabric, one).problems for one in wrong[-2:])
                assert "does not have all of them then" in first[0]
                assert "parts of the data" not in " ".join(first)  # what trees that are wrong do is not followed
                name, boxes = plan.fabric.names[0], len((each[1].collective.groups or ((),))[0])
                assert again[0] == f"node {name} has added up what {name} has {boxes} times"
                assert each[0].collective.like(REDUCE_SCATTER)
            for at, stage in enumerate(each):
                for tree in range(0, len(stage.block), 5):
                    weight = np.array(stage.weight)
                    weight[tree] += 1
                    wrong.append(Flows((*each[:at], replace(stage, weight=weight), *each[at + 1 :])))
            for one in wrong:
                found = check_movement(plan.fabric, one)
                assert found.problems, one
                assert not verify(replace(plan, movement=one)).ok
                reached("found")


def test_what_is_refused() -> None:
    plan = plan_of("dgx_a100(2)")
    stages = stages_of(plan)
    with pytest.raises(InfeasibleError, match="rounds of shards do not say"):
        list_rounds(plan)
    with pytest.raises(ParameterError, match="no parts"):
        list_transfers(plan, 2)
    with pytest.raises(ParameterError, match="make the plan again"):
        simulate(plan, size="1KiB", without=("box0/gpu0",))
    with pytest.raises(ScheduleError, match="of all nodes"):
        Flows((replace(stages[0], collective=ALLREDUCE.among((0, 1))),))
    with pytest.raises(ScheduleError, match="is one-shot"):
        Flows((replace(stages[0], one_shot=False),))
    with pytest.raises(ScheduleError, match="do not fit"):
        list_parts(stages_of(plan_of("dgx_a100(2)", "16MiB"))[2:])
    through = schedule("dgx_h100(2)", "allreduce", method="two-level", size="1KiB")
    with pytest.raises(InfeasibleError, match="--set by-ranks=yes"):
        list_transfers(through)
