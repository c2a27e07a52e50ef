"""One-shot allreduce: what is verified, what it takes by a formula of its own, and when ``auto`` takes it."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import few
from tests.samples.tree_tables import Trees
from topodesign import Plan, schedule, simulate, verify
from topodesign.base.errors import ScheduleError
from topodesign.schedulers.for_size import chooses_by_size
from topodesign.schedulers.method import Request

US = Fraction(1, 10**6)


def one_shot(place: str) -> tuple[Plan, Trees]:
    plan = schedule(place, "allreduce", method="one-shot")
    return plan, Trees.of(plan)


@pytest.mark.parametrize(("nodes", "size"), [(3, 1024), (8, 8192), (5, 10**6)])
def test_on_complete_graphs_it_takes_one_step_and_all_data_of_each(nodes: int, size: int) -> None:
    plan, trees = one_shot(f"complete({nodes})")
    assert verify(plan).ok
    assert trees.one_shot
    assert trees.height == 1
    link = Fraction(10**11, nodes - 1)  # bits per second of one link
    assert simulate(plan, size=size, alpha="1us", bandwidth="100Gbps").time == US + 8 * size / link


def test_the_figures_of_8_kib_on_a_box_with_a_switch_that_copies() -> None:
    """A store to all, 430 ns over two links and the switch; eight ranks' data come in at 450 GB/s, but the own."""
    plan, trees = one_shot("dgx_h100(1)")
    assert trees.relays.tolist() == [8]
    time = simulate(plan, size="8KiB", alpha="fabric").time
    assert time == Fraction(600, 10**9) + Fraction(7 * 8192, 450 * 10**9)
    both = simulate(schedule("dgx_h100(1)", "allreduce", method="in-network"), size="8KiB", alpha="fabric").time
    assert 1.2e-6 < both < 1.25e-6


@pytest.mark.parametrize(
    "place", ["torus(3,3)", "uniring(1,4)", "kautz(2,2)", "dgx_h100(2)", "mi250(1)", "dgx_a100(2)"]
)
def test_it_takes_as_many_steps_as_the_farthest_node_is_away(place: str) -> None:
    plan, trees = one_shot(place)
    report = verify(plan)
    assert report.ok, report
    two = schedule(place, "allreduce", method="direct")
    steps = int(two.claim.get("steps", two.claim.get("height", 0)))
    assert trees.height <= steps // 2


def test_what_is_missing_is_found() -> None:
    plan, trees = one_shot("complete(4)")
    fewer = trees.having(
        root=trees.root[1:].copy(),
        weight=trees.weight[1:].copy(),
        tree=trees.tree[3:] - 1,
        src=trees.src[3:].copy(),
        dst=trees.dst[3:].copy(),
        route_edge=trees.route_edge[3:] - 3,
        route_weight=trees.route_weight[3:].copy(),
        hop_start=trees.hop_start[3:] - trees.hop_start[3],
        hop=trees.hop[trees.hop_start[3] :].copy(),
    )
    weight = trees.weight.copy()
    weight[0] = 2
    heavy = trees.having(weight=weight, route_weight=np.where(trees.tree == 0, 2, 1).astype(np.int64))
    fast = trees.having(rate=trees.rate * 2)
    for wrong in (fewer, heavy, fast):
        assert not verify(replace(plan, movement=wrong.flow)).ok
    with pytest.raises(ScheduleError, match="without in-trees"):
        trees.having(shard=(1, 2, 1, 1))


def test_without_a_size_or_with_what_only_some_understand_auto_is_as_it_was() -> None:
    assert schedule("dgx_h100(1)").generator["method"] == "in-network"  # whose switches add
    assert schedule("dgx_h100(1)", by_ranks=True).generator["method"] == "forest"
    asked = Request("torus(3,3)", schedule("torus(3,3)").collective, size=Fraction(8192), sized=True, bandwidth="1Gbps")
    assert chooses_by_size(asked)
    assert not chooses_by_size(asked.but(tick="1us"))
    known = schedule("torus(3,3)", "allgather")
    assert schedule("torus(3,3)", "allgather", size="1KiB").movement == known.movement


def test_the_table_of_the_page_is_what_the_model_says() -> None:
    """Every time of docs/small.md; two bytes below the first size of a range another plan is the fastest."""
    page = (Path(__file__).parents[2] / "docs" / "small.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if re.match(r"\| \w+\(\d\) \| \d+ \|", line)]
    assert len({row[0] for row in rows}) == 4
    names = {"one-shot": "one-shot", "two-level": "two-level", "two-shot": "direct", "trees": "forest"}
    names |= {"NVLS": "in-network"}
    for machine, start, least, *cells in few(rows, 6):
        said = {name: cell.strip() for name, cell in zip(names, cells, strict=True) if cell.strip()}
        asked: Any = {"size": f"{start.strip()}B", "alpha": "fabric"}  # by which two-level chooses
        plans = {
            name: schedule(machine.strip(), "allreduce", method=names[name], **(asked if name == "two-level" else {}))
            for name in said
        }

        def times(size: int, plans: dict[str, Plan] = plans) -> dict[str, Fraction]:
            return {name: simulate(plan, size=size, alpha="fabric").time for name, plan in plans.items()}

        here = times(int(start))
        assert all(abs(float(words) / 10**6 / float(here[name]) - 1) < 0.006 for name, words in said.items())
        assert here[least.strip()] == min(here.values())
        if int(start) > 1024:
            before = times(int(start) - 2)
            assert before[least.strip()] > min(before.values())
