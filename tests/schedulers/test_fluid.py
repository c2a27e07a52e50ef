"""Plans over paths: as fast as the optimum, right in three ways, kept in files, and for parts of fabrics."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.optima.fluid.samples import random_fabric
from tests.samples.verdicts import replay_rounds
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import run
from topodesign.compiler.compilation import compile_plan
from topodesign.fabrics.fabric import Shared
from topodesign.fabrics.part import Others
from topodesign.fabrics.presets import FABRICS
from topodesign.optima.optimum import optimum
from topodesign.plans.chunk_ops import find_ways
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.unroll import unroll
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule

PLACES = (
    "dgx_a100(2)", "dgx_a100_pcie(2)", "dgx_a100_links(2)", "dgx_h100(2)", "mi250(1)", "mi250(2)", "dgx1_v100(2)",
    "fat_tree(4,4,2,3,2)", "rail_optimised(3,2)", "dragonfly(3,2,2)", "tpu_torus(2,3)", "torus(3,3)", "genkautz(2,9)",
)  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
def test_plans_are_right_and_as_fast_as_the_optimum(place: str, collective: str, tmp_path: Path) -> None:
    root = None if collective == "all-to-all" else 1
    plan = schedule(place, collective, method="fluid", root=root)
    report = verify(plan)
    assert report.ok, report.problems
    best = optimum(place, collective, root=root).to_records()[0]
    assert report.figures["algorithmic_bandwidth"] == best["algorithmic_bandwidth"]
    assert report.figures == plan.claim
    replayed = replay_rounds(unroll(plan.flow))
    assert replayed.ok, replayed.problems
    kept = load_plan(save_plan(tmp_path / "plan.npz", plan))
    assert (kept.movement, kept.claim, kept.place) == (plan.movement, plan.claim, plan.place)
    assert plan.spec == (place if place.partition("(")[0] in FABRICS else plan.spec)
    times = [simulate(plan, size=size).time for size in (10**3, 10**6, 10**9, 10**12)]
    assert times == sorted(times)
    assert float(10**12 / times[-1]) == pytest.approx(float(plan.claim["algorithmic_bandwidth"]), rel=0.01)


@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
@pytest.mark.parametrize("seed", range(14))
def test_limits_that_links_share_are_kept(seed: int, collective: str, tmp_path: Path) -> None:
    """As fast as the optimum, which another program finds; wider limits would be exceeded, and that is found out."""
    fabric = random_fabric(seed)
    name, (a, b) = "out", fabric.topology.links()[0][:2]
    bus = Shared(name, Fraction(10**9, 2), ((fabric.names[a], fabric.names[b]), (fabric.names[b], fabric.names[a])))
    fabric = replace(fabric, shared=(*fabric.shared, bus))
    root = None if collective == "all-to-all" else fabric.names[0]
    plan = schedule(fabric, collective, root=root)
    report = verify(plan)
    assert report.ok, report.problems
    assert report.figures == plan.claim
    best = optimum(fabric, collective, root=root, method="fluid").to_records()[0]
    assert plan.claim["algorithmic_bandwidth"] == best["algorithmic_bandwidth"]
    kept = load_plan(save_plan(tmp_path / "plan.npz", plan))
    assert verify(kept).ok
    assert (kept.movement, kept.claim) == (plan.movement, plan.claim)
    time = simulate(plan, size=10**12).time
    assert float(10**12 / time) == pytest.approx(float(plan.claim["algorithmic_bandwidth"]), rel=0.01)
    few = schedule(fabric, collective, root=root, chunks=2)
    assert verify(few).ok
    assert few.claim["algorithmic_bandwidth"] <= plan.claim["algorithmic_bandwidth"]
    wide = schedule(replace(fabric, shared=()), collective, root=root)
    if wide.claim["algorithmic_bandwidth"] > plan.claim["algorithmic_bandwidth"]:
        assert "algorithmic bandwidth" in " ".join(verify(replace(wide, place=fabric)).problems)


def test_auto_takes_it_for_fabrics() -> None:
    assert schedule("dgx_a100(2)", "all-to-all").kind == "paths"
    assert schedule("dgx_a100(2)", "gather", root="box0/gpu3").generator["method"] == "fluid"
    assert schedule("dgx_a100(2)", "allgather", method="fluid").kind == "trees"
    assert schedule("dgx_a100(2)", "allgather").generator["method"] == "forest"


def test_parts_of_fabrics() -> None:
    """Nodes that take no part pass on as switches do, and dead links are gone around."""
    part = schedule("dgx_a100(2)", "all-to-all", only="box*/gpu[0-3]", others="forward", without="box0/gpu0-rail0")
    assert verify(part).ok
    assert len(part.collective.members(part.topology.nodes, part.topology.switches)) == 8
    assert part.spec is None
    assert part.claim["algorithmic_bandwidth"] == 8 * Fraction(7 * 25 * 10**9, 16)
    with pytest.raises(InfeasibleError, match="no way"):
        schedule("dgx_a100(2)", "all-to-all", only="box*/gpu1", without="rail1")


@pytest.mark.parametrize("others", ["vanish", "forward"])
@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
@pytest.mark.parametrize(
    ("place", "group"),
    [
        ("dgx_a100(2)", ["box0/gpu[0-2]", "box1/*"]),
        ("dgx_a100(2)", "8x2:1"),
        ("fat_tree(4,4,2)", "4x4:1"),
        ("torus(3,3)", "3x3:0"),
        ("mi250(1)", "8x2:0"),
    ],
)
def test_groups_at_once(place: str, group: list[str] | str, collective: str, others: Others) -> None:
    """Blocks of groups of fewer members are larger; where others vanish, nothing goes over their nodes."""
    root = None if collective == "all-to-all" else "first"
    plan = schedule(place, collective, method="fluid", group=group, root=root, others=others)
    report = verify(plan)
    assert report.ok, report.problems
    assert report.figures == plan.claim
    replayed = replay_rounds(unroll(plan.flow, 2))
    assert replayed.ok, replayed.problems
    team = plan.collective.teams(plan.topology.nodes, plan.topology.switches)
    ways = find_ways(plan.flow)
    block = np.repeat(plan.flow.block, list(map(len, ways)))
    hop = np.array([vertex for way in ways for vertex in way])
    own = team[plan.collective.owners(block, plan.topology.nodes)]
    inside = (team[hop] == own) | np.isin(hop, list(plan.topology.switches))
    assert inside.all() or others == "forward"
    assert simulate(plan, size=10**9).completes


@pytest.mark.parametrize("place", ["mi250(1)", "torus(3,4)", "genkautz(2,9)", "dgx_a100(2)"])
def test_fewer_units_lose_little_and_say_so(place: str) -> None:
    """With enough units nothing is lost; with one every block goes over one path."""
    best = schedule(place, "all-to-all", method="fluid")
    times = []
    for chunks in (1, 2, 5, 40, best.flow.units):
        plan = schedule(place, "all-to-all", method="fluid", chunks=chunks)
        report = verify(plan)
        assert report.ok, report.problems
        assert plan.flow.units <= chunks
        times.append(plan.claim["inv_x_star"])
        assert (plan.notes == ()) == (times[-1] == best.claim["inv_x_star"])
        assert Fraction(plan.generator["lost"]) == times[-1] / best.claim["inv_x_star"] - 1
    assert times[-1] == best.claim["inv_x_star"]
    assert times[0] <= 2 * times[-1]


def test_groups_bind_each_other() -> None:
    """Each box for itself is as fast as one box alone; groups across boxes share the rails."""
    boxes = schedule("dgx_a100_rails(2)", "all-to-all", group=["box0/*", "box1/*"])
    assert boxes.claim["inv_x_star"] == Fraction(7, 300 * 10**9)
    across = schedule("dgx_a100_rails(2)", "all-to-all", group="4x2x2:1,2")
    assert across.claim["inv_x_star"] == Fraction(2, 25 * 10**9)
    with pytest.raises(InfeasibleError, match="--forward lets them"):
        schedule("mi250(1)", "all-to-all", group="4x4:0")
    with pytest.raises(ParameterError, match="not both"):
        schedule("dgx_a100(2)", "all-to-all", group="8x2:1", only="box0/*")


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "plan.npz")
    assert run(["schedule", "dgx_a100(2)", "--collective", "all-to-all", "-o", path, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["algorithmic_bandwidth"] == str(50 * 10**9)
    assert record["method"] == "fluid"
    assert run(["verify", path]) == 0
    assert "all-to-all: ok, 240 paths of height 2, 50GB/s" in capsys.readouterr().out
    assert run(["verify", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "paths"
    assert run(["simulate", path, "--size", "1GiB", "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert runs[0]["completes"]
    assert runs[0]["algorithmic_bandwidth_GBps"] < 50
    assert run(["simulate", path, "--fail", "rail0"]) == 1
    assert "does not finish" in capsys.readouterr().out
    assert run(["simulate", path, "--mode", "asynchronous"]) == 2


@pytest.mark.parametrize(
    "place",
    [
        "dgx_a100(2)",
        "dgx_h100(2)",
        "fat_tree(4,4,2)",
        *(
            pytest.param(place, marks=pytest.mark.thorough)
            for place in ("dgx_a100(8)", "dgx_a100_links(4)", "mi250(2)", "dgx1_v100(2)", "rail_optimised(4,4)")
        ),
    ],
)
@pytest.mark.parametrize("inplace", [False, True])
def test_programs_do_what_the_paths_say(place: str, inplace: bool) -> None:
    """Executed on integers by a reader that knows nothing of plans."""
    made = compile_plan(schedule(place, "all-to-all"), inplace=inplace).checked()
    assert made.report is not None
    assert made.report.ok, str(made.report)


def test_a_wrong_claim_is_found() -> None:
    plan = schedule("dgx_a100(1)", "all-to-all")
    wrong = type(plan)(plan.place, plan.movement, {**plan.claim, "height": Fraction(2)}, plan.spec)
    assert "the claimed height is 2" in str(verify(wrong))
