"""Observations of which not all is known: nothing unknown is called dark, moves a patch, or is proven.

The oracle is a plant of its own: which receiver gets whose light. What its hosts say is then spoilt: names in other
case and spelling, renamed, omitted, files missing or broken, ports told before they are split.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.wirings import wired
from topodesign.topology.library import build
from topodesign.wiring.check.check import WiringCheck, check_wiring
from topodesign.wiring.inventory.devices import Lane, Mode
from topodesign.wiring.plan.plan import WiringPlan

SHAPES: list[tuple[str, Mode]] = [
    ("biring(2,5)", "duplex"),
    ("circulant(9,1,2)", "duplex"),
    ("circulant(7,1,2)", "simplex"),
    ("genkautz(3,8)", "simplex"),
    ("torus(3,4)", "duplex"),
]
HARMLESS = {"name", "unsplit", "unseen", "outsider"}


@dataclass
class Plant:
    """Who hears whom in truth, and how hosts call themselves and their interfaces."""

    plan: WiringPlan
    rng: random.Random
    heard: dict[Lane, Lane] = field(default_factory=dict)
    wrong: bool = False

    def __post_init__(self) -> None:
        self.wanted = {b.source: (a.source, c.cable) for c in self.plan.connects for a, b in c.ways}
        self.heard = {receiver: sender for receiver, (sender, _) in self.wanted.items()}

    def break_something(self) -> None:
        """Take a patch out, or exchange the second ends of two; of duplex ones in both directions."""
        duplex, self.wrong = self.plan.mode == "duplex", True
        one, other = self.rng.sample(sorted(self.heard), 2)
        if self.rng.random() < 0.4:
            sender = self.heard.pop(one)
            if duplex:
                self.heard.pop(sender)
        elif not duplex:
            self.heard[one], self.heard[other] = self.heard[other], self.heard[one]
        elif other not in {one, self.heard[one]}:
            a, b = self.heard[one], self.heard[other]
            if len({one, other, a, b}) == 4:
                self.heard |= {one: b, b: one, other: a, a: other}

    def cords(self) -> set[frozenset[tuple[str, Lane]]]:
        """Pairs of fibres that are joined; of duplex ones of lanes."""
        sides = ("", "") if self.plan.mode == "duplex" else ("A", "B")
        return {frozenset(((sides[0], s), (sides[1], r))) for r, s in self.heard.items()}


@dataclass
class Telling:
    """How what hosts say is spoilt."""

    plant: Plant
    rng: random.Random

    def __post_init__(self) -> None:
        plan, rng = self.plant.plan, self.rng
        lanes = sorted({*self.plant.wanted})
        kinds = rng.sample(
            ["case", "spelling", "ports", "one port", "unsplit", "host", "blank", "file"], rng.randint(0, 3)
        )
        some = set(rng.sample(plan.hosts, rng.randint(1, len(plan.hosts))))
        self.spelling = rng.choice(["/", "s", ":"]) if "spelling" in kinds else "/"
        self.upper = "case" in kinds
        self.name = {host: host for host in plan.hosts}
        self.interface = {lane: self._spelt(lane) for lane in lanes}
        self.unknown = bool({*kinds} - {"case", "spelling"})
        for lane in lanes if "ports" in kinds else [rng.choice(lanes)] if "one port" in kinds else []:
            if "one port" in kinds or lane.host in some:
                self.interface[lane] = f"enp{lane.port[1:]}f{lane.lane}"
        self.renamed = {lane for lane in lanes if self.interface[lane].startswith("enp")}
        self.unsplit = some if "unsplit" in kinds else set()
        for lane in lanes:
            if lane.host in self.unsplit:
                self.interface[lane] = lane.port
        odd = rng.choice(plan.hosts)
        self.odd = {odd} if "host" in kinds or "blank" in kinds else set()
        if "host" in kinds:
            self.name[odd] = "gpu-box"
        if "blank" in kinds:
            self.name[odd] = ""
        self.lost = {rng.choice(plan.hosts): rng.choice(["missing", "empty", "broken"])} if "file" in kinds else {}

    def _spelt(self, lane: Lane) -> str:
        return f"{lane.port}{self.spelling}{lane.lane - (self.spelling != '/')}"

    def document(self, host: str) -> dict[str, Any]:
        rows = []
        for receiver, sender in self.plant.heard.items():
            if receiver.host == host:
                number = self.plant.plan.hosts.index(sender.host)
                body: Any = {"id": {"type": "mac", "value": f"02:00:00:00:01:{number:02x}"}}
                name = self.name[sender.host]
                chassis = {name.upper() if self.upper else name: body} if name else body
                port = {"id": {"type": "ifname", "value": self.interface[sender]}}
                rows.append({self.interface[receiver]: {"via": "LLDP", "chassis": chassis, "port": port}})
        return {"lldp": {"interface": rows}}

    def write(self, folder: Path) -> None:
        for host in self.plant.plan.hosts:
            lost = self.lost.get(host)
            if lost != "missing":
                text = {"empty": "", "broken": '{"lldp": {"inter'}.get(lost or "", json.dumps(self.document(host)))
                (folder / f"{host}.json").write_text(text)


def shown(plant: Plant, telling: Telling) -> set[str]:
    """Patches that are not as planned, and shown to be so without anything that is not known."""
    cables = set()
    for receiver, (sender, cable) in plant.wanted.items():
        there = plant.heard.get(receiver)
        whole = not any(lane.host == receiver.host for lane in telling.renamed) and receiver.host not in telling.unsplit
        if there == sender or receiver.host in telling.lost or not whole:
            continue
        if there is None or not ({there.host} & (telling.odd | telling.unsplit) or there in telling.renamed):
            cables.add(cable)
    return cables


def odd_hosts(plant: Plant, telling: Telling) -> set[str]:
    """Hosts that hear other hosts than planned, whatever their ports are called."""
    found = set()
    for host in set(plant.plan.hosts) - telling.lost.keys() - telling.unsplit:
        heard = Counter(s.host for r, s in plant.heard.items() if r.host == host)
        planned = Counter(s.host for r, (s, _) in plant.wanted.items() if r.host == host)
        if heard != planned and not telling.odd & (heard.keys() | planned.keys()):
            found.add(host)
    return found


def check_laws(plant: Plant, telling: Telling, found: WiringCheck) -> None:
    """Hold what a check says against the plant."""
    ends = {c.cable: (c.a.source, c.b.source) for c in plant.plan.connects}
    for finding in found.findings:
        if finding.fault == "dark":
            for cable in finding.cables:
                a, b = ends[cable]
                assert plant.heard.get(b) != a, f"{cable} is lit and called dark"
    sides = ("", "") if plant.plan.mode == "duplex" else ("A", "B")
    right = plant.cords() & {frozenset(((sides[0], a), (sides[1], b))) for a, b in ends.values()}
    moved = {frozenset(((sides[0], c.a.source), (sides[1], c.b.source))) for c in found.repair.removed}
    made = {frozenset(((sides[0], c.a.source), (sides[1], c.b.source))) for c in found.repair.made}
    assert not moved & right, "a right patch is moved"
    assert not made & plant.cords(), "a patch that is there is to be made"
    named = {cable for finding in found.findings for cable in finding.cables if finding.fault != "name"}
    assert shown(plant, telling) <= named
    for host in odd_hosts(plant, telling):
        reached("odd host")
        assert named & {cable for r, (_, cable) in plant.wanted.items() if r.host == host}
    assert not (telling.unknown and any(claim.proven for claim in found.claims))
    if not plant.wrong:
        reached("right")
        assert {finding.fault for finding in found.findings} <= HARMLESS
        assert not found.repair.made
        assert not found.waits_for
        assert found.ok or telling.unknown


@pytest.mark.floor(**{"right": 1, "odd host": 1, "wrong": 1})
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**9))
def test_what_is_not_known_decides_nothing(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311  a sample
    spec, mode = rng.choice(SHAPES)
    topology = build(spec)
    plant = Plant(wired(topology, topology.degree, 1, mode=mode), rng)
    for _ in range(rng.choice([0, 1, 1, 2])):
        plant.break_something()
    if plant.wrong:
        reached("wrong")
    telling = Telling(plant, rng)
    folder = tmp_path_factory.mktemp("seen")
    telling.write(folder)
    check_laws(plant, telling, check_wiring(plant.plan, lldp=folder))


def test_a_repair_is_proven_exactly_where_all_that_was_seen_is_known(tmp_path: Path) -> None:
    seen = set()
    for seed in range(24):
        rng = random.Random(seed)  # noqa: S311  a sample
        plant = Plant(wired(build("biring(2,5)"), 2, 1, mode="duplex"), rng)
        plant.break_something()
        telling = Telling(plant, rng)
        (folder := tmp_path / str(seed)).mkdir()
        telling.write(folder)
        for claim in check_wiring(plant.plan, lldp=folder).claims:
            assert claim.proven != telling.unknown
            seen.add(claim.proven)
    assert seen == {False, True}
