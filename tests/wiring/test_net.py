"""The net of a plan against a walk along the rows of its file, which shares no code with it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.rooms import random_room
from topodesign import plan_wiring, save_wiring, show_wiring
from topodesign.base.errors import InfeasibleError
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.failures.impact import Failure, losses, split_lost
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.plan.plan import WiringPlan


class Trip(NamedTuple):
    """From where light starts to where it ends, and the ports and patches that it meets in between."""

    start: tuple[str, str, int]
    stop: tuple[str, str, int] | None
    met: tuple[str, ...]


def trips(plan: dict[str, Any]) -> list[Trip]:
    """Follow the light of every transmitter, of one end after another, through the rows of a plan file."""
    onward: dict[tuple[Any, ...], tuple[tuple[Any, ...], str]] = {}

    def join(a: tuple[Any, ...], b: tuple[Any, ...], name: str) -> None:
        onward[a], onward[b] = (b, name), (a, name)

    led = {(panel, port): (near, near_port) for panel, port, near, near_port, _ in plan["inventory"].get("trunks", [])}
    for host, port, lane, *place in plan["fixed"]:
        far = tuple(place)
        for fibre, side in (("tx", "A"), ("rx", "B")):
            plug = led.get(far, far)
            join((host, port, lane, fibre), ("rear", *plug, side), "")
            if plug != far:
                join(("front", *plug, side), ("rear", *far, side), "")
    for name, panel, port, other, there in plan["connects"]:
        join(("front", panel, port, "A"), ("front", other, there, "B"), name)
        if plan["mode"] == "duplex":
            join(("front", panel, port, "B"), ("front", other, there, "A"), name)
    found = []
    for host, port, lane, *_ in plan["fixed"]:
        here: tuple[Any, ...] = (host, port, lane, "tx")
        met: list[str] = []
        while here in onward:
            here, name = onward[here]
            met += [name] if name else []
            if here[-1] == "rx":
                break
            met.append(f"{here[1]}:{here[2]}")
            here = ("rear" if here[0] == "front" else "front", *here[1:])
        found.append(Trip((host, port, lane), here[:3] if here[-1] == "rx" else None, tuple(met)))
    return found


def drawn(seed: int) -> WiringPlan:
    room, topology, mode = random_room(seed)
    try:
        return plan_wiring(topology, room, mode=mode, time_limit="2s")
    except InfeasibleError:
        assume(False)
        raise


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_paths_are_those_of_a_walk_along_the_file(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    plan = drawn(seed)
    path = tmp_path_factory.mktemp("walk") / "plan.json"
    save_wiring(plan, path)
    walked = trips(json.loads(path.read_text()))
    arrived = {Lane(*one.stop): Lane(*one.start) for one in walked if one.stop is not None}
    assert arrived == {receiver: sender for receiver, (sender, _) in plan.net.hears.items()}
    made = Counter((plan.node[sender.host], plan.node[receiver.host]) for receiver, sender in arrived.items())
    assert made == {(u, v): count for u, v, count in plan.topology.links() if u != v}
    for one in walked:
        host, port, lane = one.start
        ways = show_wiring(plan, f"{host}:{port}/{lane}").ways
        here = {tuple(name.rstrip("AB") for name in way.through if not name.startswith(("F", "T"))) for way in ways}
        assert one.met in here


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_what_a_failure_loses_are_the_walks_through_it(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    plan = drawn(seed)
    path = tmp_path_factory.mktemp("walk") / "plan.json"
    save_wiring(plan, path)
    cable = {connect.cable for connect in plan.connects}
    by_port: dict[str, set[str]] = {}
    for one in trips(json.loads(path.read_text())):
        patches = {name for name in one.met if name in cable and one.stop is not None}
        for name in (one.start[0], *one.met, *(one.stop or ())[:1]):
            by_port.setdefault(name, set()).update(patches)
    for failure, lost in losses(plan, ["host", "panel port", "cable"]).items():
        name = ":".join(filter(None, (failure.device, failure.name)))
        assert {connect.cable for connect in lost} == by_port[name]
        assert {connect.cable for connect in split_lost(plan, failure)[0]} == by_port[name]
    for lead in plan.net.leads.values():
        for wire_ in lead.wires:
            found = {connect.cable for connect in split_lost(plan, Failure("cable", "", wire_.name))[0]}
            assert found == by_port[":".join(lead.places[-1])]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**20), data=st.data())
def test_two_patches_in_each_others_place_are_named(seed: int, data: st.DataObject) -> None:
    plan = drawn(seed)
    pairs = [
        (one, other)
        for one in plan.connects
        for other in plan.connects
        if one.cable < other.cable
        and plan.inventory.panel[one.a.panel].field == plan.inventory.panel[other.a.panel].field
        and len({one.a.host, one.b.host, other.a.host, other.b.host}) == 4
    ]
    assume(pairs)
    one, other = data.draw(st.sampled_from(pairs))
    built = [replace(one, b=other.b), replace(other, b=one.b)]
    built += [connect for connect in plan.connects if connect.cable not in {one.cable, other.cable}]
    net = replace(plan, connects=tuple(built)).net
    found = check_wiring(plan, Observed({receiver: sender for receiver, (sender, _) in net.hears.items()}))
    assert {one.cable, other.cable} <= {cable for finding in found.findings for cable in finding.cables}
    assert not found.ok


def test_a_cable_and_a_port_on_the_way_can_fail(tmp_path: Path) -> None:
    plan = drawn(0)
    lead = next(lead for lead in plan.net.leads.values() if lead.trunk is not None and len(lead.fixed.name) > 1)
    near, _ = lead.places
    (way, *_) = show_wiring(plan, ":".join(near)).ways
    assert ":".join(near) in {name.rstrip("AB") for name in way.through}
    dead = split_lost(plan, Failure("panel port", *near))[0]
    assert dead == split_lost(plan, Failure("panel port", *lead.end.place))[0]
    breakout = split_lost(plan, Failure("cable", "", lead.fixed.breakout or lead.fixed.name))[0]
    assert breakout == split_lost(plan, Failure("port", *lead.end.socket))[0]
