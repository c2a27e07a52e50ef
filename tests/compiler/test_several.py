"""Programs of groups and of all roots: each is run and right, and says whose ranks they are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.samples.tree_tables import forest_schedule
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.cli.main import run
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.several import compile_groups, compile_roots
from topodesign.plans.flow_ops import relabel
from topodesign.plans.verify.plans import check_movement
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.library import build


@pytest.mark.parametrize("collective", ["allreduce", "allgather", "reduce-scatter", "all-to-all"])
def test_every_group_has_a_program_of_its_own(collective: str) -> None:
    plan = schedule("torus(3,4)", collective, group=["0,1,2", "3,6,9", "4,5,8,7", "10"])
    parts = compile_groups(plan)
    assert [part.name for part in parts] == ["group0", "group1", "group2"]
    assert [part.nodes for part in parts] == [(0, 1, 2), (3, 6, 9), (4, 5, 7, 8)]
    for part in parts:
        made = part.compiled.checked()
        assert made.program.ranks == len(part.nodes)
        assert "ranks 0 to" in made.notes[-1]


@pytest.mark.parametrize(("group", "target"), [("8x2:1", "msccl"), ("8x2:0", "mscclpp")])
def test_trees_of_groups_are_programs_too(group: str, target: str) -> None:
    plan = schedule("dgx_h100(2)", "allreduce", group=group)  # along the second axis, through NVSwitches that add
    assert plan.kind == "trees"
    for part, members in zip(compile_groups(plan, target), plan.collective.groups or (), strict=True):
        assert part.names == tuple(plan.fabric.names[node] for node in members)
        assert part.compiled.checked().program.ranks == len(members)


def test_what_is_not_run_by_members_alone_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="member"):
        compile_groups(schedule("torus(4,4)", "allgather", group="8x2:1", others="forward", method="fluid"))
    with pytest.raises(InfeasibleError, match="passes on data"):
        compile_groups(schedule("torus(4,4)", "allgather", only="0,10", others="forward"))
    with pytest.raises(ParameterError, match="use compile_plan"):
        compile_groups(schedule("complete(4)"))
    with pytest.raises(InfeasibleError, match="compile_groups"):
        compile_plan(schedule("complete(4)", group="2x2:0"))
    with pytest.raises(ParameterError, match="is of <broadcast"):
        compile_roots("complete(4)", lambda _root, k: schedule("complete(4)", "broadcast", root=3, fixed_k=k))


@pytest.mark.parametrize(("place", "collective"), [("circulant(6,1,2)", "broadcast"), ("genkautz(2,5)", "reduce")])
def test_every_root_has_a_program(place: str, collective: str) -> None:
    parts = compile_roots(place, lambda root, k: schedule(place, collective, root=root, fixed_k=k))
    assert [part.name for part in parts] == [f"root{root}" for root in range(len(parts))]
    for root, part in enumerate(parts):
        assert part.compiled.plan.collective.root == root
        report = part.compiled.checked().report
        assert report is not None
        assert report.ok


def test_images_of_trees_are_trees() -> None:
    topology = build("circulant(6,1,2)")
    trees = forest_schedule(topology, "broadcast", root=0)
    assert topology.symmetry is not None
    for node, permutation in topology.symmetry.transversals(0):
        image = relabel(trees.flow, permutation.astype("int64"), topology)
        assert image.collective.root == node
        assert check_movement(topology, image).ok
    with pytest.raises(ScheduleError, match="does not keep the links"):
        relabel(trees.flow, np.array([1, 0, 2, 3, 4, 5]), topology)


def test_commands_write_directories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "torus(3,3)", "--group", "3x3:1", "--json", "-o", str(tmp_path / "rows")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["ranks"] for one in document["programs"]] == [[str(r + 3 * c) for c in range(3)] for r in range(3)]
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == [f"group{g}.xml" for g in range(3)]
    assert run(["schedule", "torus(3,3)", "--members", "0,1,2", "-o", str(tmp_path / "row.npz")]) == 0
    assert run(["compile", str(tmp_path / "row.npz"), "-o", str(tmp_path / "row.xml")]) == 0
    assert run(["verify", str(tmp_path / "row.xml")]) == 0
    assert run(["compile", "biring(2,3)", "--collective", "broadcast", "--all-roots", "-o", str(tmp_path / "r")]) == 0
    assert len(list((tmp_path / "r").iterdir())) == 3
    for wrong in (
        ["torus(3,3)", "--group", "3x3:1", "-o", str(tmp_path / "x.xml")],
        ["biring(2,3)", "--all-roots", "-o", str(tmp_path / "y")],
        ["biring(2,3)", "--collective", "broadcast", "--all-roots", "--root", "0", "-o", str(tmp_path / "y")],
        [str(tmp_path / "row.npz"), "--all-roots", "-o", str(tmp_path / "y")],
    ):
        assert run(["compile", *wrong]) == 2
