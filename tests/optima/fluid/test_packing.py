"""Plans of trees: as fast as the optimum over trees of nodes, right by the verifier, low where fabrics are regular."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.optima.fluid.samples import random_fabric
from tests.samples.verdicts import verify_trees
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.cli.main import run
from topodesign.collectives import ALLGATHER
from topodesign.compiler.compilation import compile_plan
from topodesign.fabrics.fabric import Fabric, FabricLink, Shared
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.packing import packing
from topodesign.optima.fluid.problem import solve_fluid
from topodesign.optima.group_price import price_groups
from topodesign.optima.optimum import optimum
from topodesign.optima.question import make_question
from topodesign.optima.trees import best_allreduce
from topodesign.plans.chunk_ops import find_height
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule


@pytest.mark.parametrize(
    ("spec", "height"),
    [("dgx_a100(2)", 2), ("dgx_a100(4)", 2), ("dgx_h100(2)", 2), ("dgx_a100_pcie(2)", 3), ("mi250(1)", 12)],
)
def test_rails_have_low_trees_at_exactly_the_optimum(spec: str, height: int) -> None:
    fabric = build_fabric(spec)
    found = packing(fabric, ALLGATHER)
    assert verify_trees(found.trees).ok
    assert found.time == found.bound == optimum(fabric).inverse_rate * fabric.unit
    assert find_height(found.trees) <= height


@pytest.mark.once
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast", "reduce"])
def test_random_fabrics_with_shared_limits(seed: int, collective: str) -> None:
    fabric = random_fabric(seed)
    root = fabric.names[0] if collective in {"broadcast", "reduce"} else None
    plan = schedule(fabric, collective, method="fluid", root=root, chunks=10**6)
    report = verify(plan)
    assert report.ok, report.problems
    assert Fraction(str(plan.generator["lost"])) < Fraction(1, 10**4)
    plain = replace(fabric, shared=(), multicast=frozenset(), memory=frozenset())
    other = schedule(plain, collective, method="fluid", root=root, chunks=10**6)
    best = best_allreduce(plain) if collective == "allreduce" else optimum(plain, collective, root=root)
    assert other.claim["algorithmic_bandwidth"] <= best.bandwidth
    assert other.claim["algorithmic_bandwidth"] >= best.bandwidth * Fraction(9999, 10000)
    assert plan.claim["algorithmic_bandwidth"] <= best.bandwidth


def test_a_plan_is_kept_simulated_and_compiled(tmp_path: Path) -> None:
    plan = schedule("dgx_a100(2)", "allgather", method="fluid")
    again = load_plan(save_plan(tmp_path / "p.npz", plan))
    assert verify(again).ok
    best = simulate(again, size="1GiB")
    # Theorem 4: as many steps as the longest way has sends, and the chunks less one.
    chunks, alpha = 1000, Fraction(1, 10**6)
    many = simulate(again, size="1GiB", chunks=chunks, alpha=alpha, gap=0, hop=0)
    by_bandwidth = Fraction(2**30) / plan.claim["algorithmic_bandwidth"]
    assert many.time == (plan.claim["height"] + chunks - 1) * (alpha + by_bandwidth / chunks)
    assert best.time >= by_bandwidth
    assert compile_plan(again).files


def test_shared_limits_are_verified_and_kept_in_files(tmp_path: Path) -> None:
    fabric = build_fabric("dgx_a100_pcie(1)")
    bus = tuple((f"box0/pcie{number}", "box0/memory") for number in range(4))
    limited = replace(fabric, shared=(Shared("bus", Fraction(20 * 10**9), bus),))
    plan = schedule(limited, "allgather")
    assert plan.generator["method"] == "fluid"
    again = load_plan(save_plan(tmp_path / "p.npz", plan))
    assert again.place == limited
    assert verify(again).ok
    assert simulate(again).time > 0
    free = schedule(fabric, "allgather", method="fluid")
    assert free.claim["algorithmic_bandwidth"] > plan.claim["algorithmic_bandwidth"]
    wrong = replace(free, place=limited, spec=None)
    assert "the links of the shared limit 'bus' carry" in verify(wrong).problems[0]


def test_memory_copies_where_nodes_alone_are_slower() -> None:
    """Every node has 10 GB/s to memory in all: with two others to serve it would have to send everything twice."""
    names = ["a", "b", "c"]
    links = [FabricLink(*ends, Fraction(10**10)) for name in names for ends in ((name, "m"), ("m", name))]
    bus = Shared("bus", Fraction(12 * 10**9), tuple((name, "m") for name in names))
    fabric = Fabric.from_links("memory", names, ["m"], links, memory=["m"], shared=[bus])
    plan = schedule(fabric, "allgather", method="fluid")
    assert plan.claim["algorithmic_bandwidth"] == 12 * 10**9  # three shards over the bus, once each
    assert verify(plan).ok
    assert simulate(plan, size="1GB").time >= Fraction(1, 12)
    assert solve_fluid(make_question(fabric, "allgather")).bandwidth == 12 * 10**9
    assert schedule(fabric, "reduce-scatter", method="fluid").claim["algorithmic_bandwidth"] == 6 * 10**9


def test_units_bound_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = packing(build_fabric("dgx_a100(2)"), ALLGATHER)
    few = packing(build_fabric("dgx_a100(2)"), ALLGATHER, units=4)
    assert verify_trees(few.trees).ok
    assert max(np.asarray(few.trees.weight)) <= 4
    assert few.time > exact.time == few.bound
    monkeypatch.setattr("topodesign.optima.fluid.packing.MAX_WEIGHT", 3)
    with pytest.raises(TooLargeError, match="--set chunks="):
        packing(build_fabric("dgx_a100(2)"), ALLGATHER)


def test_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.npz"
    assert run(["schedule", "dgx_a100(2)", "--collective", "allreduce", "--algorithm", "fluid", "-o", str(path)]) == 0
    assert run(["verify", str(path)]) == 0
    assert "allreduce: ok" in capfd.readouterr().out
    with pytest.raises(InfeasibleError, match="one node"):
        schedule("dgx_a100(2)", "allgather", method="fluid", group=["box0/gpu0", "box1/gpu0"])


@pytest.mark.parametrize(
    ("place", "group", "rate"),
    [
        ("dgx_h100(16)", "8x16:0", 450),
        ("dgx_h100(16)", "8x16:1", Fraction(80, 3)),
        ("gb200_nvl72(1)", "8x9:0", 900),
        pytest.param("dgx_h100(64)", "8x64:0", 450, marks=pytest.mark.thorough),
        pytest.param("dgx_h100(64)", "8x64:1", Fraction(1600, 63), marks=pytest.mark.thorough),
    ],
)
def test_groups_of_a_cluster_are_as_fast_as_their_price(
    place: str, group: str, rate: int | Fraction, tmp_path: Path
) -> None:
    plan = schedule(place, "allreduce", group=group)
    assert plan.claim["algorithmic_bandwidth"] == rate * 10**9
    again = load_plan(save_plan(tmp_path / "p.npz", plan))
    assert verify(again).ok
    price = price_groups(place, "allreduce", group, others="vanish")
    ports = int(plan.topology.out_ports[list(plan.fabric.compute)].max())
    assert price.bandwidth == ports * plan.fabric.unit / plan.claim["algorithmic_bandwidth"]
    assert simulate(again, size="1GiB").time >= Fraction(2**30) / plan.claim["algorithmic_bandwidth"]
