"""Two-level allreduces: exact times by formulas of their own, what runs them, and what every back end makes of them."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import pytest

from tests.conftest import few
from tests.floors import reached
from topodesign import as_fabric, compile_plan, run_plan, schedule, simulate, verify
from topodesign.base.errors import InfeasibleError
from topodesign.fabrics.drawing import duplex
from topodesign.fabrics.fabric import Fabric

NS = Fraction(1, 10**9)


def test_the_figures_of_8_kib_on_boxes_whose_switch_copies() -> None:
    """A store to the box, 600 ns and seven others' data at 450 GB/s; then a message to each other box at 50 GB/s."""
    for boxes in (2, 4):
        plan = schedule(f"dgx_h100({boxes})", "allreduce", method="two-level", size="8KiB", alpha="fabric")
        assert verify(plan).ok
        latency = plan.fabric.link_latencies()
        rail = 2 * max(latency)
        inside, between = Fraction(7 * 8192, 450), Fraction((boxes - 1) * 8192, 50)
        time = simulate(plan, size="8KiB", alpha="fabric").time
        assert time == (600 + inside + between + 200 * (boxes - 2)) * NS + rail
        assert time < 7 * 10**-6


@pytest.mark.dear
def test_the_page_has_these_times() -> None:
    boxes = 2
    page = (Path(__file__).parents[2] / "docs" / "small.md").read_text()
    rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith(f"| dgx_h100({boxes}) ")]
    said = next(cells[1:] for cells in rows if "/" in cells[1])
    for size, cell in zip(("1KiB", "8KiB", "64KiB", "256KiB", "1MiB"), said, strict=True):
        plan = schedule(f"dgx_h100({boxes})", "allreduce", method="two-level", size=size, alpha="fabric")
        time = float(simulate(plan, size=size, alpha="fabric").time)
        assert abs(float(cell.split("/")[1]) / 10**6 / time - 1) < 0.006


@pytest.mark.parametrize("place", ["dgx_h100(2)", "dgx_a100(4)"])
def test_it_is_faster_than_what_there_was_in_the_middle(place: str) -> None:
    size = "256KiB"
    plan = schedule(place, "allreduce", method="two-level", size=size, alpha="fabric")
    assert verify(plan).ok
    before = [
        simulate(schedule(place, "allreduce", method=method), size=size, alpha="fabric").time
        for method in ("one-shot", "direct", "hierarchical")
    ]
    assert simulate(plan, size=size, alpha="fabric").time < min(before)


def boxes_of_several(seed: int) -> Fabric:
    """Boxes of alike nodes that are joined at random inside, or by a switch, and by rails."""
    rng = random.Random(seed)  # noqa: S311
    boxes, size, switched = rng.randint(2, 3), rng.randint(2, 4), rng.random() < 0.4
    names = [[f"box{box}/gpu{at}" for at in range(size)] for box in range(boxes)]
    links = [
        link for at in range(size) for row in names for link in duplex(row[at], f"rail{at}", rng.randint(1, 3), "x")
    ]
    switches = [f"rail{at}" for at in range(size)]
    wide = {(a, b): rng.randint(2, 9) for a in range(size) for b in range(a)}
    for number, row in enumerate(names):
        if switched:
            switches.append(f"box{number}/hub")
            links += [link for one in row for link in duplex(one, switches[-1], 9, "y")]
        else:
            kept = {pair for pair in wide if pair[0] - pair[1] == 1 or rng.random() < 0.5}
            links += [link for a, b in kept for link in duplex(row[a], row[b], wide[a, b], "y")]
    able = [one for one in switches if "hub" in one]
    every = [name for row in names for name in row]
    return Fabric.from_links("random", every, switches, links, multicast=able, aggregation=able)


@pytest.mark.dear
@pytest.mark.floor(ran=6, compiled=18)
def test_random_boxes_run_and_compile() -> None:
    """No wrong element among threads; MSCCL, MSCCL++ and JAX execute what is compiled."""
    for seed in few(range(8)):
        fabric = boxes_of_several(seed)
        for size in ("1KiB", "16MiB"):
            assert verify(schedule(fabric, "allreduce", method="two-level", size=size)).ok
            plan = schedule(fabric, "allreduce", method="two-level", size=size, by_ranks=True)
            assert verify(plan).ok
            result = run_plan(plan, size=["64B", "1003B"], iterations=1, warmup=0)
            assert [one.outcome.wrong for one in result.runs] == [0, 0]
            reached("ran")
            for target in ("msccl", "mscclpp", "jax"):
                inplace = target != "jax" and bool(seed % 2)
                protocol = "LL" if target != "jax" and seed % 3 else "Simple"
                made = compile_plan(plan, target, inplace=inplace, protocol=protocol)  # type: ignore[arg-type]
                assert made.checked().report is not None
                reached("compiled")


def test_what_has_no_boxes_is_refused() -> None:
    for place in ("complete(4)", "dgx_h100(1)"):
        with pytest.raises(InfeasibleError, match="boxes with as many nodes each"):
            schedule(place, "allreduce", method="two-level")


@pytest.mark.dear
def test_a_size_chooses_it() -> None:
    chosen = schedule("dgx_h100(2)", "allreduce", size="64KiB", alpha="fabric")
    assert chosen.generator["method"] == "two-level"
    assert "two-level" in chosen.notes[-1]
    assert as_fabric("dgx_h100(2)").multicast
