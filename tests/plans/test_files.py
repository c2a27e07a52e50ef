"""Plan files: every kind of movement, place and collective comes back as it was; what is damaged is refused."""

from __future__ import annotations

import copy
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.conftest import few
from tests.samples.old_files import save_schedule, save_trees
from tests.samples.paths import some_paths
from tests.samples.schedules import valid
from tests.samples.timed import timed_sample
from tests.samples.tree_tables import Trees
from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.collectives import COLLECTIVES
from topodesign.fabrics.fabric import parse_price
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.forest import schedule as forest
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.plans.build import build_steps
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.flow import KINDS, PIECES, SENDS, Flows
from topodesign.plans.measure import cost_claim, cost_of, flow_claim
from topodesign.plans.old_files import OLD_KINDS
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.circuits.sequence import Sequence, exchange, sequence_plan, spreading
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.spff import spff_orbit
from topodesign.topology.groups import cyclic
from topodesign.topology.library import build


def rounds_plan(seed: int = 5, collective: str = "allreduce") -> Plan:
    topology, schedule = valid(np.random.default_rng(seed), collective)
    claim = cost_claim(cost_of(topology, schedule))
    return Plan(topology, schedule, claim, generator={"method": "random", "seed": seed}, notes=("made at random",))


def trees_plan(collective: str = "broadcast") -> Plan:
    fabric = build_fabric("dgx_h100(2)")
    root = 3 if COLLECTIVES[collective].rooted else None
    trees = forest_schedule(fabric.topology, collective, root=root)
    flow = replace(trees, place=fabric)
    return Plan(fabric, flow, flow_claim(flow), spec="dgx_h100(2)", generator={"method": "forest"})


def timed_plan(seed: int = 5, collective: str = "allreduce") -> Plan:
    topology, _, timed, _ = timed_sample(np.random.default_rng(seed), collective)
    return Plan(topology, timed, {"time": timed.time}, generator={"method": "random", "seed": seed})


def orbit_plan(collective: str = "allreduce") -> Plan:
    topology = build("circulant(12,2,3)")
    orbit = spff_orbit(topology, collective)
    return Plan(topology, orbit, flow_claim(orbit), generator={"method": "spff"})


def orbit_trees_plan() -> Plan:
    with mock.patch.object(forest, "MAX_EDGES", 0):
        return schedule("dgx_a100(2)", "allreduce", method="forest")


def paths_plan(collective: str = "all-to-all") -> Plan:
    paths = some_paths(collective, 5, 2, random.Random(5))  # noqa: S311  a sample
    return Plan(paths.topology, paths.flow, flow_claim(paths.flow), generator={"method": "random"})


def routed_plan() -> Plan:
    return schedule("torus(4,3)", "allgather", method="ternary")


def phases_plan(collective: str = "allreduce") -> Plan:
    ring = Sequence(cyclic(6), np.array([[1], [2]]), np.array([1, 2]))
    ways = exchange(ring, 1, 4) if COLLECTIVES[collective].pairwise else spreading(ring)
    assert ways is not None
    plan = sequence_plan(ways, COLLECTIVES[collective], "bridges")
    assert plan is not None
    return plan


def stages_plan() -> Plan:
    return schedule("dgx1_v100(2)", "allreduce", method="two-level", size="16MiB")


def together_plan() -> Plan:
    return schedule("biring(2,4)", traffic=["*=allgather@1MiB", "0,1,2=allreduce@1KiB+20us"], tries=1)


OLD = Path(__file__).parents[1] / "samples" / "old_plans"
"""A plan of every kind as 0.28 wrote it, or 0.30 where that wrote it otherwise (``-30``)."""

PLANS: dict[str, Callable[[], Plan]] = {
    "rounds": rounds_plan,
    "trees": trees_plan,
    "paths": paths_plan,
    "timed": timed_plan,
    "orbitrounds": orbit_plan,
    "orbittrees": orbit_trees_plan,
    "routed": routed_plan,
    "phases": phases_plan,
    "stages": stages_plan,
    "together": together_plan,
}


def same(one: Plan, other: Plan) -> bool:
    """Whether all is equal but the program that the file's generator names besides."""
    return (one.place, one.movement, one.claim, one.spec, one.notes) == (
        other.place, other.movement, other.claim, other.spec, other.notes,
    ) and other.generator == {"program": other.generator.get("program"), **one.generator}  # fmt: skip


def changed(source: Path, target: Path, **fields: Any) -> Path:
    """Write a file again with other fields in its header."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                data = json.dumps(json.loads(data) | fields).encode()
            new.writestr(name, data)
    return target


@pytest.mark.parametrize("kind", PLANS)
def test_what_is_saved_is_loaded(kind: str, tmp_path: Path) -> None:
    plan = PLANS[kind]()
    assert plan.kind == kind
    path = save_plan(tmp_path / "plan.npz", plan)
    loaded = load_plan(path)
    assert same(plan, loaded)
    again = save_plan(tmp_path / "again.npz", loaded)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("collective", COLLECTIVES.values(), ids=str)
@pytest.mark.parametrize("group", [None, [0, 2, 3]])
def test_every_collective_has_a_place_in_the_file(collective: Any, group: list[int] | None, tmp_path: Path) -> None:
    chosen = collective.at(2 if collective.rooted else None).among(group)
    topology = build("complete(4)")
    parts = [(1, 0, 2, 2 if collective.pairwise else 0, 0, 1)]
    rounds = build_steps(chosen, 4, 3, 1, parts) if len(chosen.parts) == 1 else rounds_plan().movement
    plan = Plan(topology if len(chosen.parts) == 1 else rounds_plan().topology, rounds)
    assert load_plan(save_plan(tmp_path / "x.npz", plan)).collective == plan.collective


def test_files_of_earlier_programs_are_read(tmp_path: Path) -> None:
    new, path = rounds_plan(), tmp_path / "old.npz"
    save_schedule(path, new.rounds, new.topology, generator={"method": "old"})
    old = load_plan(path)
    assert (old.place, old.movement, old.claim) == (new.place, new.movement, {})
    trees = trees_plan("allgather")
    save_trees(path, Trees.of(trees), trees.fabric, spec=trees.spec)
    read = load_plan(path)
    assert (Trees.of(read), read.claim, read.spec) == (Trees.of(trees), trees.claim, trees.spec)
    assert read.fabric == replace(trees.fabric, classes=read.fabric.classes, latency=())


@pytest.mark.parametrize("name", sorted(OLD.iterdir()), ids=lambda path: path.stem)
def test_files_of_0_28_to_0_30_are_read_and_right(name: Path, tmp_path: Path) -> None:
    plan = load_plan(name)
    assert plan.kind == name.stem.split("-")[0]
    assert verify(plan).ok
    assert plan.claim
    assert same(load_plan(save_plan(tmp_path / "new.npz", plan)), plan)


def test_prices_are_saved(tmp_path: Path) -> None:
    plan = trees_plan()
    prices = (("InfiniBand", parse_price("900")), ("NVLink", parse_price("12.5/50/3GB/s")))
    path = save_plan(tmp_path / "plan.npz", replace(plan, place=replace(plan.fabric, prices=prices)))
    loaded = load_plan(path)
    assert loaded.fabric.prices == prices
    with zipfile.ZipFile(path) as file:
        record = json.loads(file.read("header.json"))["fabric"]
    refused: list[Any] = [[], {"NVLink": 3}, {"NVLink": "3/"}, {"NVLink": "3/0GB/s"}, {"NVLink": "0"}]
    for wrong in refused:
        with pytest.raises(FileFormatError, match=r"prices|price of"):
            load_plan(changed(path, tmp_path / "wrong.npz", fabric=record | {"prices": wrong}))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"format": "topodesign song"}, "does not say 'topodesign plan'"),
        ({"version": 5}, "use a newer program"),
        ({"version": 2}, "unknown field 'flow'"),
        ({"version": True}, "'version'"),
        ({"kind": "song"}, "'kind'"),
        ({"kind": "trees"}, "'kind'"),
        ({"collective": "allreduce"}, "name, root and group"),
        ({"collective": {"name": "song"}}, "unknown collective"),
        ({"collective": {"name": "allgather"}}, "'part'"),
        ({"claim": []}, "'claim'"),
        ({"claim": {"steps": 3}}, "'steps'"),
        ({"claim": {"steps": "1/0"}}, "'steps'"),
        ({"flow": None}, "'flow'"),
        ({"flow": {}}, "'left_out'"),
        ({"generator": 1}, "'generator'"),
        ({"notes": "x"}, "'notes'"),
        ({"spec": 1}, "'spec'"),
        ({"fabric": 1}, "'fabric'"),
        ({"fabric": {"name": "x", "names": []}}, "'unit'"),
        ({"nodes": 2}, "must join nodes"),
        ({"switches": [0.5]}, "'switches'"),
        ({"colective": None}, "unknown field 'colective'"),
    ],
)
def test_a_wrong_header_is_refused(fields: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = changed(save_plan(tmp_path / "x.npz", rounds_plan()), tmp_path / "y.npz", **fields)
    with pytest.raises(FileFormatError, match=words):
        load_plan(path)


@pytest.mark.parametrize("kind", PLANS)
def test_fields_that_are_not_known_are_refused(kind: str, tmp_path: Path) -> None:
    path = save_plan(tmp_path / "x.npz", PLANS[kind]())
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    for name in ("movement", "flow", "fabric"):
        record = header.get(name)
        if record is not None:
            more: Any = (
                [record[0], record[1] | {"rwos": 1}, *record[2:]] if isinstance(record, list) else record | {"rwos": 1}
            )
            wrong = changed(path, tmp_path / "y.npz", **{name: more})
            with pytest.raises(FileFormatError, match=f"'{name}' in header.json has the unknown field 'rwos'"):
                load_plan(wrong)


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path: Path) -> None:
    plan = rounds_plan()
    path = save_plan(tmp_path / "x.npz", plan)
    before = path.read_bytes()
    with pytest.raises(TopodesignError, match="JSON"):
        save_plan(path, replace(plan, generator={"x": {1}}))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_kinds_are_those_of_the_samples() -> None:
    assert set(PLANS) == set(KINDS) == set(OLD_KINDS)
    assert all(make().kind == name for name, make in PLANS.items())


def test_a_claim_is_exact(tmp_path: Path) -> None:
    third = replace(rounds_plan(), claim={"steps": Fraction(3), "bandwidth": Fraction(1, 3)})
    assert load_plan(save_plan(tmp_path / "x.npz", third)).claim == third.claim


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the values of a document are: of lists the first two entries alone."""
    yield at
    for key in value if isinstance(value, dict) else range(min(2, len(value))) if isinstance(value, list) else ():
        yield from _places(value[key], (*at, key))


def _put(document: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    changed_one = copy.copy(document)
    changed_one[at[0]] = _put(document[at[0]], at[1:], value)
    return changed_one


@pytest.mark.dear("stages")
@pytest.mark.parametrize("kind", PLANS)
def test_values_of_wrong_types_are_refused_or_read(kind: str, tmp_path: Path) -> None:
    source, target = save_plan(tmp_path / "right.npz", PLANS[kind]()), tmp_path / "wrong.npz"
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header, tried, refused = json.loads(members["header.json"]), 0, 0
    for at in few([*_places(header)]):
        values: tuple[Any, ...] = ({}, [], "x", True, None, 1.5, 10**30, [[]], [{}], {"a": []})
        for wrong in values:
            members["header.json"] = json.dumps(_put(header, at, wrong)).encode()
            with zipfile.ZipFile(target, "w") as archive:
                for name, data in members.items():
                    archive.writestr(name, data)
            tried += 1
            try:
                _ = load_plan(target).claim
            except TopodesignError:
                refused += 1
    assert refused > tried / 2


@pytest.mark.parametrize("kind", PLANS)
def test_the_page_reads_every_plan_with_numpy_alone(kind: str, tmp_path: Path) -> None:
    """The function of docs/files.md gives the columns and the fields of every flow."""
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    block = next(block for block in page.split("```python\n") if "def read_plan" in block).split("```")[0]
    names: dict[str, Any] = {}
    exec("\n".join(line[4:] for line in block.splitlines()), names)  # noqa: S102  as a reader does
    plan = PLANS[kind]()
    header, tables = names["read_plan"](plan.save(tmp_path / "plan.npz"))
    flows = plan.movement.each if isinstance(plan.movement, Flows) else (plan.flow,)
    assert (header["kind"], len(tables)) == (kind, len(flows))
    assert {name: Fraction(value) for name, value in header["claim"].items()} == plan.claim
    for flow, table in zip(flows, tables, strict=True):
        assert (flow.model, flow.units, len(flow)) == (table["model"], table["units"], table["sends"])
        for name in (*PIECES, *SENDS):
            assert np.array_equal(getattr(flow, name), table[name])
        if flow.routes is not None:
            cuts = zip(table["hop_start"], table["hop_start"][1:], strict=False)
            ways = [table["hop"][first:last].tolist() for first, last in cuts]
            assert [way[0] for way in ways] == table["src"][table["route_send"]].tolist()
            assert [way[-1] for way in ways] == table["dst"][table["route_send"]].tolist()
