"""Fixed cables in each other's places: they are named, and a repair works at the panels as these really are.

The oracle is a plant of its own: which lane ends at which panel port, and which ports are patched. Faults are made
there, hosts hear what it brings, and what a check asks for is done to it, port by port.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests import floors
from tests.samples.wirings import behind_trunks, wired
from topodesign import build
from topodesign.wiring.check.check import WiringCheck, check_wiring
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.check.exchanges import compare_nets
from topodesign.wiring.inventory.devices import Lane, Mode, PanelKind
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan

SHAPES: list[tuple[str, Mode]] = [
    ("circulant(8,1,3)", "simplex"),
    ("circulant(9,1,2)", "duplex"),
    ("torus(3,4)", "duplex"),
    ("genkautz(3,8)", "simplex"),
    ("genkautz(4,7)", "simplex"),
    ("degree(biring(2,3),2)", "duplex"),
]
Place = tuple[str, str]


@dataclass
class Plant:
    """What is really there."""

    lane: dict[Place, Lane]
    patches: set[tuple[Place, Place]]
    duplex: bool

    @classmethod
    def of(cls, plan: WiringPlan) -> Plant:
        """A plant that is as planned."""
        lane = {(one.panel, one.panel_port): Lane(one.host, one.port, one.lane) for one in plan.fixed}
        patches = {((c.a.panel, c.a.panel_port), (c.b.panel, c.b.panel_port)) for c in plan.connects}
        return cls(lane, patches, plan.mode == "duplex")

    def exchange(self, one: Place, other: Place) -> None:
        """Exchange the fixed cables at two ports."""
        self.lane[one], self.lane[other] = self.lane[other], self.lane[one]

    def swap(self, one: tuple[Place, Place], other: tuple[Place, Place]) -> None:
        """Exchange the second ends of two patches."""
        self.patches -= {one, other}
        self.patches |= {(one[0], other[1]), (other[0], one[1])}

    def heard(self) -> dict[Lane, Lane]:
        """What hosts hear."""
        heard = {self.lane[b]: self.lane[a] for a, b in self.patches}
        return heard | ({self.lane[a]: self.lane[b] for a, b in self.patches} if self.duplex else {})

    def links(self) -> Counter[tuple[str, str]]:
        """The hosts that hear each other."""
        return Counter((sender.host, receiver.host) for receiver, sender in self.heard().items())

    def has(self, patch: tuple[Place, Place]) -> bool:
        """Whether two ports are patched."""
        return patch in self.patches or (self.duplex and patch[::-1] in self.patches)

    def repair(self, check: WiringCheck) -> None:
        """Do what a check asks for; nothing of it may be so already."""
        for connect in check.repair.removed:
            patch = ((connect.a.panel, connect.a.panel_port), (connect.b.panel, connect.b.panel_port))
            assert self.has(patch), f"{connect.cable} is not there, and is to be taken out"
            self.patches -= {patch, patch[::-1]} if self.duplex else {patch}
        made = [((c.a.panel, c.a.panel_port), (c.b.panel, c.b.panel_port)) for c in check.repair.made]
        for patch in made:
            assert not self.has(patch), f"{patch} is there, and is to be made"
        self.patches |= set(made)
        sides = Counter((end, side) for patch in self.patches for end, side in zip(patch, "AB", strict=True))
        ends = Counter(end for patch in self.patches for end in patch)
        assert max((ends if self.duplex else sides).values(), default=0) <= 1


def wanted(plan: WiringPlan) -> Counter[tuple[str, str]]:
    return Counter({(plan.hosts[u], plan.hosts[v]): c for u, v, c in plan.topology.links() if u != v})


def seen(plant: Plant, circuits: dict[Lane, Lane] | None = None) -> Observed:
    return Observed(plant.heard(), circuits=circuits)


def names(plan: WiringPlan) -> dict[Lane, str]:
    return {Lane(c.a.device, c.a.port, c.a.lane): c.name for c in plan.net.wires if c.a.lane is not None}


@pytest.mark.floor(exchanges=30)
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(1, 3), st.booleans(), st.booleans(), st.data())
def test_exchanged_legs_of_a_breakout(
    shape: tuple[str, Mode], panels: int, trunks: bool, pods: bool, data: st.DataObject
) -> None:
    spec, mode = shape
    plan = wired(build(spec), 4 if panels < 3 else 6, panels, mode=mode)
    plan = behind_trunks(plan, pods) if trunks else plan
    plant = Plant.of(plan)
    ports = {lane: port for port, lane in plant.lane.items()}
    one = data.draw(st.sampled_from(sorted(ports)))
    other = data.draw(st.sampled_from([lane for lane in sorted(ports) if lane[:2] == one[:2] and lane != one]))
    # what else is wrong is at patches that these legs have no part in, for those may look the same
    free = [p for p in sorted(plant.patches) if one[:2] not in {plant.lane[end][:2] for end in p}]
    plant.exchange(ports[one], ports[other])
    pairs = [(p, q) for p in free for q in free if p < q and p[1][0] == q[1][0]]
    if pairs and one.lane % 2:
        plant.swap(*data.draw(st.sampled_from(pairs)))
    found = check_wiring(plan, seen(plant))
    if not found.cabled:
        floors.reached("left_open")
        assert not found.repair.made
        return
    heard = plant.heard()
    lit = {lane for lane in (one, other) if lane in heard or lane in heard.values()}
    if ports[one][0] != ports[other][0] and lit == {one, other}:
        floors.reached("exchanges")
        (cabling,) = (finding for finding in found.findings if finding.fault == "cabling")
        assert {names(plan)[one], names(plan)[other]} <= set(cabling.cables)
        assert all(names(plan)[lane] in cabling.words for lane in (one, other))
    plant.repair(found)
    assert plant.links() == wanted(plan)
    assert not found.repair.moves or plant.links() != Counter()


@pytest.mark.floor(told=20)
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 2), st.booleans(), st.sampled_from(["simplex", "duplex"]), st.data())
def test_exchanged_trunks_where_the_switch_tells_its_circuits(
    panels: int, pods: bool, mode: Mode, data: st.DataObject
) -> None:
    topology = build("genkautz(3,8)" if mode == "simplex" else "circulant(8,1,3)")
    plan = behind_trunks(wired(topology, 4, panels, mode=mode, kind="ocs"), pods)
    plant = Plant.of(plan)
    circuits = plant.heard()  # by the cabling as planned, which is all that a switch can be taken to know
    one, other = data.draw(st.lists(st.sampled_from(sorted(plant.lane)), min_size=2, max_size=2, unique=True))
    assume(plant.lane[one].host != plant.lane[other].host)
    plant.exchange(one, other)
    if plant.heard() == circuits:
        return
    found = check_wiring(plan, seen(plant, circuits))
    (cabling,) = (finding for finding in found.findings if finding.fault == "cabling")
    trunk = {(t.panel, t.panel_port): f"T{row}" for row, t in enumerate(plan.inventory.trunks, start=1)}
    assert {trunk[one], trunk[other]} <= set(cabling.cables)
    assert "circuit" not in {finding.fault for finding in found.findings}
    assert found.cabled or not found.repair.made
    if found.cabled and "or else" not in cabling.words:
        floors.reached("told")
        plant.repair(found)
        assert plant.links() == wanted(plan)


def test_the_repaired_plan_is_a_plan_with_the_cabling_that_there_is(tmp_path: Any) -> None:
    plan = behind_trunks(wired(build("genkautz(3,8)"), 4, 2, kind="ocs"), pods=True)
    plan = replace(plan, inventory=replace(plan.inventory, cabling=plan.fixed))
    plant = Plant.of(plan)
    circuits = plant.heard()
    here, there = ("panel0", "1"), next(p for p in plant.lane if p[0] == "panel1" and plant.lane[p].host == "h3")
    plant.exchange(here, there)
    found = check_wiring(plan, seen(plant, circuits))
    assert found.cabled
    assert found.repair.made
    save_wiring(found.repair.after, tmp_path / "new.json")
    after = load_wiring(tmp_path / "new.json")
    assert {(one.panel, one.panel_port): Lane(one.host, one.port, one.lane) for one in after.fixed} == plant.lane
    plant.repair(found)
    assert check_wiring(after, seen(plant, plant.heard())).ok


def test_a_doubt_is_told_with_all_that_may_be() -> None:
    plan = wired(build("circulant(8,1,3)"), 4, 2, mode="duplex")
    plant = Plant.of(plan)
    a, b = (next(p for p in plant.lane if p[0] == f"panel{row}" and plant.lane[p].host == f"h{row}") for row in (0, 1))
    lanes = [plant.lane[a], plant.lane[b]]
    plant.exchange(a, b)
    found = check_wiring(plan, seen(plant))
    (finding,) = found.findings
    assert finding.fault == "cabling"
    assert {names(plan)[lane] for lane in lanes} < set(finding.cables)
    assert " or " in finding.words
    assert not found.cabled  # the same is heard if the other ends of the two links were exchanged
    assert not found.repair.made


def test_what_no_exchange_of_cables_explains_is_left_open() -> None:
    plan = wired(build("circulant(8,1,3)"), 4, 2)
    assert compare_nets(plan, seen(Plant.of(plan))).exchanges == ()
    heard = Plant.of(plan).heard()
    one, other = Lane("h0", "p0", 1), Lane("h5", "p0", 2)  # only their receiving fibres are crossed
    heard[one], heard[other] = heard[other], heard[one]
    found = check_wiring(plan, Observed(heard))
    assert [finding.fault for finding in found.findings] == ["cabling", "cabling"]
    assert not found.cabled
    assert not found.repair.made
    assert "set right" in found.heading()
    assert "check again" in str(found)


def injected(plan: WiringPlan, kind: str, rng: random.Random) -> tuple[Plant, Observed, set[str]]:
    """A plant with one fault, what is seen of it, and the cables that have to be named."""
    plant = Plant.of(plan)
    circuits, named = plant.heard(), names(plan)
    patch = {((c.a.panel, c.a.panel_port), (c.b.panel, c.b.panel_port)): c.cable for c in plan.connects}
    trunk = {(t.panel, t.panel_port): f"T{row}" for row, t in enumerate(plan.inventory.trunks, start=1)}
    if kind in {"legs", "trunks"}:
        ports = {lane: port for port, lane in plant.lane.items()}
        one = rng.choice(sorted(ports))
        same = [lane for lane in sorted(ports) if (lane[:2] == one[:2]) == (kind == "legs") and lane.host != one.host]
        same = [lane for lane in sorted(ports) if lane[:2] == one[:2] and lane != one] if kind == "legs" else same
        other = rng.choice([lane for lane in same if kind == "trunks" or ports[lane][0] != ports[one][0]])
        plant.exchange(ports[one], ports[other])
        both = {named[one], named[other]} if kind == "legs" else {trunk[ports[one]], trunk[ports[other]]}
        return plant, seen(plant, circuits if kind == "trunks" else None), both
    first, second = rng.sample(sorted(plant.patches), 2)
    while kind == "patches" and first[1][0] != second[1][0]:
        first, second = rng.sample(sorted(plant.patches), 2)
    if kind == "pulled":
        plant.patches.remove(first)
        return plant, seen(plant), {patch[first]}
    plant.swap(first, second)
    return plant, seen(plant), {patch[first], patch[second]}


@pytest.mark.parametrize("kind", ["legs", "trunks", "patches", "pulled"])
@pytest.mark.parametrize("number", range(15))
def test_sixty_faults_on_pods_and_trunks(kind: str, number: int) -> None:
    rng = random.Random(f"{kind} {number}")  # noqa: S311  no secret
    spec, mode = rng.choice([shape for shape in SHAPES if build(shape[0]).degree == 4])
    panel: PanelKind = "ocs" if kind == "trunks" else "patch panel"
    plan = behind_trunks(wired(build(spec), 4, 2, mode=mode, kind=panel), pods=True)
    plant, observed, cables = injected(plan, kind, rng)
    found = check_wiring(plan, observed)
    assert cables <= {cable for finding in found.findings for cable in finding.cables}
    if found.repair.moves:
        plant.repair(found)
    if found.cabled and not any("or else" in finding.words for finding in found.findings):
        assert plant.links() == wanted(plan)
