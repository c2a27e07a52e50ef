"""The way of who moves patches: grouped by panel, as short as can be, and shorter on request."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.inventories import inventory_of
from tests.samples.plans import plan_of
from tests.samples.rooms import random_room
from topodesign import build, change_wiring, plan_wiring, show_wiring
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import program
from topodesign.topology.topology import Topology
from topodesign.wiring.change.patches import Job, jobs
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.change.stages import MAX_EXACT, walk_of_jobs
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.failures.impact import Failure, losses, split_lost
from topodesign.wiring.inventory.devices import Lane
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan


def hall(panels: int, hosts: int = 6, lanes: int = 4) -> Inventory:
    """Panels of one field, each in its rack."""
    return inventory_of(
        hosts, lanes, (-(-hosts * lanes // panels),) * panels, field="hall", racks=True, kind="patch panel"
    )


def apart(inventory: Inventory, a: str, b: str) -> Fraction:
    (x, y), (z, w) = (inventory.racks["s"][inventory.panel[name].rack] for name in (a, b))
    return abs(x - z) + abs(y - w)


def way(inventory: Inventory, order: list[str]) -> Fraction:
    return sum((apart(inventory, a, b) for a, b in itertools.pairwise(order)), Fraction(0))


@settings(deadline=None)
@given(panels=st.integers(1, 6), data=st.data())
def test_the_way_is_the_shortest_of_all_orders(panels: int, data: st.DataObject) -> None:
    inventory = hall(10)
    names = data.draw(st.lists(st.sampled_from(sorted(inventory.panel)), min_size=panels, max_size=panels, unique=True))
    found = walk_of_jobs(inventory, [Job(f"C{i}", (name,), ()) for i, name in enumerate(names)])
    order = [panel for panel, _ in found.visits]
    assert sorted(order) == sorted(names)
    assert found.metres == way(inventory, order)
    assert found.metres == min(way(inventory, list(one)) for one in itertools.permutations(names))


def test_many_panels_have_a_way_too() -> None:
    inventory = hall(16)
    found = walk_of_jobs(inventory, [Job(name, (name,), ()) for name in inventory.panel])
    assert len(found.visits) == 16 > MAX_EXACT
    assert found.metres is not None
    assert found.metres == way(inventory, [panel for panel, _ in found.visits])
    assert found.metres <= way(inventory, list(inventory.panel))


def check(found: Rewiring) -> None:
    """Raise AssertionError unless all that is to be done is listed once, and the metres are those of the way."""
    check_plan(found.after)
    inventory = found.after.inventory
    for stage in found.stages:
        walk = stage.walk
        assert Counter(walk.lines) == Counter(job.words for job in jobs(found.after, stage.removed, stage.made))
        before = {connect.cable: connect for connect in stage.removed}
        metres = way(inventory, [panel for panel, _ in walk.visits])
        for connect in stage.made:
            if connect.cable in before:
                old = before[connect.cable]
                moved = Counter({(old.a.panel, old.a.panel_port): 1, (old.b.panel, old.b.panel_port): 1})
                ends = [(connect.a.panel, connect.a.panel_port), (connect.b.panel, connect.b.panel_port)]
                gone = [end for end in moved if end not in ends]
                come = [end for end in ends if end not in moved]
                if len(gone) == len(come) == 1:
                    metres += 2 * apart(inventory, gone[0][0], come[0][0])
        touched = {panel for panel, _ in walk.visits}
        if all(panel in touched for job in (*stage.made, *stage.removed) for panel in (job.a.panel, job.b.panel)):
            assert walk.metres == metres


@st.composite
def digraphs(draw: st.DrawFn) -> tuple[Topology, Topology]:
    """Two of six nodes and degree four, of random permutations."""
    found = []
    for _ in range(2):
        links: Counter[tuple[int, int]] = Counter()
        for shift in draw(st.lists(st.permutations(range(6)), min_size=4, max_size=4)):
            links.update((u, v) for u, v in enumerate(shift) if u != v)
        found.append(Topology.from_links(6, [(u, v, c) for (u, v), c in links.items()]))
    return found[0], found[1]


@pytest.mark.dear
@settings(max_examples=6, deadline=None)
@given(pair=digraphs())
def test_less_is_walked_on_request_and_no_more_is_moved(pair: tuple[Topology, Topology]) -> None:
    plan = plan_wiring(pair[0], hall(3), mode="simplex")
    plain, less = (change_wiring(plan, pair[1], downtime=True, throughput=False, walk=walk) for walk in (False, True))
    for found in (plain, less):
        check(found)
    assert less.moves <= plain.moves
    assert plain.metres is not None
    assert less.metres is not None
    assert (less.moves, less.metres) <= (plain.moves, plain.metres)


def test_way_of_a_change_that_can_be_shorter() -> None:
    plan = plan_wiring("genkautz(4,12)", hall(4, 12), mode="simplex")
    plain, less = (
        change_wiring(plan, "circulant(12,1,5)", downtime=True, throughput=False, walk=walk) for walk in (False, True)
    )
    assert less.moves == plain.moves
    assert less.metres is not None
    assert plain.metres is not None
    assert less.metres < plain.metres


def test_walking_less_needs_to_know_where_panels_stand() -> None:
    plan = plan_wiring("circulant(6,1,2)", inventory_of(6, 4, (12, 12), field="hall", kind="patch panel"))
    with pytest.raises(ParameterError, match="coordinates"):
        change_wiring(plan, "circulant(6,1,3)", downtime=True, walk=True)
    found = change_wiring(plan, "circulant(6,1,3)", downtime=True, throughput=False)
    assert found.metres is None


@pytest.mark.dear
def test_the_command_groups_by_panel(tmp_path: Path) -> None:
    save_wiring(plan_wiring("genkautz(4,12)", hall(4, 12), mode="simplex"), tmp_path / "p.json")
    words = ["wire", "change", str(tmp_path / "p.json"), "circulant(12,1,5)", "--downtime", "--walk"]
    words.append("--no-throughput")
    said = CliRunner().invoke(program, words).output
    record = json.loads(CliRunner().invoke(program, [*words, "--json"]).output)
    (stage,) = record["stages"]
    headings = [line for line in said.splitlines() if line.startswith("  at panel ")]
    assert [line.split()[2] for line in headings] == stage["panels"]
    assert Fraction(stage["walk_m"]) > 0
    assert " m to walk" in said
    one = change_wiring(plan_of(build("circulant(6,1,2)")), "circulant(6,1,3)", downtime=True, throughput=False)
    assert "at panel" not in str(one)


# -- the net of a plan against a walk along the rows of its file, which shares no code with it ------------------------


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
