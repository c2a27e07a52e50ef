"""Wirings that go to other rooms: what stays, what is laid, and the stages; an oracle counts moves for few hosts."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.claims.test_wiring import fewest
from tests.floors import reached
from tests.samples.inventories import inventory_of
from tests.samples.topologies import regular_digraphs
from tests.samples.wirings import wired
from tests.wiring.test_check import heard_by, write_csv
from topodesign import build
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import program
from topodesign.fabrics.networks import read_network
from topodesign.schedulers.price import price_plans
from topodesign.topology.topology import Topology
from topodesign.wiring.change.grow import in_room, with_names_of
from topodesign.wiring.change.growth import Growth, grow
from topodesign.wiring.change.patches import make_topology
from topodesign.wiring.change.rewire import Rewiring, change_wiring
from topodesign.wiring.exports.change import to_change_page, write_change
from topodesign.wiring.inventory.answers import extend_room, init_wiring, plain_inventory
from topodesign.wiring.inventory.devices import Fixed, Host, Lane, Mode, Panel, PanelKind, PanelPort, Port, lanes_of
from topodesign.wiring.inventory.files import format_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import complete_cabling
from topodesign.wiring.plan.cross_connects import fibres
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plan.wire import plan_wiring


def room(hosts: int, lanes: int, panels: int = 1) -> Inventory:
    return plain_inventory(hosts, lanes, panels=panels, kind="ocs")


def check_growth(before: WiringPlan, found: Rewiring, space: Inventory) -> None:
    """Carry the stages out from the wiring that there was, and look at every one."""
    change, after = found.change, found.after
    check_plan(after)
    assert after.inventory == space
    assert set(before.fixed) - set(found.drawn) == set(after.fixed) - set(found.laid)
    ends = {(one.host, one.port, one.lane): one.place for one in after.fixed}
    for one in found.drawn:  # could not stay: an end is gone, or is another's
        assert one.host not in space.host or one.place not in space.panel_port or (one.host, one.port, one.lane) in ends
    lit = {fibres(connect): connect for connect in before.connects}
    both = [host for host in after.hosts if host in before.node]
    joined = 0
    for stage in found.stages:
        for connect in stage.removed:
            del lit[fibres(connect)]
        assert stage.during == make_topology(both, lit.values())
        assert nx.is_strongly_connected(stage.during.to_networkx())
        busy = {fibre for places in lit for fibre in places}
        for connect in stage.made:
            assert busy.isdisjoint(fibres(connect))
            busy.update(fibres(connect))
            lit[fibres(connect)] = connect
        assert nx.is_strongly_connected(stage.after.to_networkx())
        joined = stage.after.nodes
    assert lit.keys() == {fibres(connect) for connect in after.connects}
    assert joined == len(after.hosts) or not found.stages
    assert change.at_least <= found.moves == max(len(change.removed), len(change.made))


@pytest.mark.once
@pytest.mark.parametrize("panels", [1, 2, 4])
@pytest.mark.parametrize(
    ("old", "new", "hosts"),
    [
        ("circulant(12,2,3)", "circulant(16,2,3)", 16),
        ("circulant(12,2,3)", "circulant(13,2,3)", 14),
        ("torus(3,4)", "circulant(9,1,2)", 9),
    ],
)
def test_a_wiring_grows_and_shrinks_without_downtime(panels: int, old: str, new: str, hosts: int) -> None:
    plan, space = plan_wiring(old, room(12, 4, panels)), room(hosts, 4, panels)
    found = change_wiring(plan, new, inventory=space, most_dark=2)
    check_growth(plan, found, space)
    assert {one.host for one in found.laid} == set(found.after.hosts) - set(plan.hosts)
    assert {one.host for one in found.drawn} == set(plan.hosts) - space.host.keys()
    assert found.stages[-1].lit_after is not None


@pytest.mark.dear
@pytest.mark.floor(grown=15)
@settings(max_examples=40, deadline=None)
@given(regular_digraphs(5, 2), regular_digraphs(7, 2), st.sampled_from(["simplex", "duplex"]), st.integers(1, 2))
def test_few_hosts_grow_with_the_fewest_moves(one: Topology, two: Topology, mode: Mode, panels: int) -> None:
    if mode == "duplex":
        one, two = (Topology.from_links(t.nodes, [*t.links(), *t.transpose().links()]) for t in (one, two))
    lanes = panels * max(one.degree, two.degree)
    space = plain_inventory(max(one.nodes, two.nodes), lanes, panels=panels)
    try:
        plan = plan_wiring(one, plain_inventory(one.nodes, lanes, panels=panels), mode=mode)
        found = change_wiring(plan, two, inventory=space, downtime=True, throughput=False)
    except InfeasibleError:
        return
    start = in_room(plan, space, two).plan
    hosts = list(dict.fromkeys(fixed.host for fixed in start.fixed))
    assert found.moves == fewest(start, two, itertools.permutations(hosts, two.nodes)) == found.change.at_least
    reached("grown")


def test_patches_of_a_switch_that_goes_are_lost_and_counted(tmp_path: Path) -> None:
    plan = plan_wiring("circulant(8,1,2)", room(8, 4, 4))
    space = room(8, 4, 4)
    other = replace(space, panels=(replace(space.panels[0], name="new", field="new"), *space.panels[1:]))
    found = change_wiring(plan, "circulant(8,1,2)", inventory=other, most_dark=4)
    gone = space.panels[0].name
    assert {one.panel for one in found.drawn} == {gone}
    assert {one.panel for one in found.laid} == {"new"}
    on_it = [connect for connect in plan.connects if connect.a.panel == gone]
    assert set(on_it) <= set(found.change.removed)
    assert found.moves == found.change.at_least == len(on_it)
    assert f"at panel {gone}, which goes" in str(found)
    assert {panel for one in found.stages for panel, _ in one.walk.visits} >= {gone, "new"}
    write_change(found, tmp_path / "change")
    check_growth(plan, found, other)


def test_cabling_that_is_there_in_part_is_kept_and_completed(tmp_path: Path) -> None:
    space = room(12, 4, 2)
    some = Fixed("h3", space.hosts[3].ports[2].name, 1, space.panels[1].name, space.panels[1].ports[7].label)
    part = replace(space, cabling=(some,))
    plan = plan_wiring("circulant(12,2,3)", part)
    assert some in plan.fixed
    lanes = Counter((one.host, one.panel) for one in plan.fixed)
    assert set(lanes.values()) == {2}
    save_wiring(plan, tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json").fixed == plan.fixed
    assert complete_cabling(part, plan.fixed, [host.name for host in part.hosts], [4] * 12, "duplex") == plan.fixed


def test_lanes_that_lack_come_where_others_have_theirs() -> None:
    space = room(4, 4, 2)
    left = {panel.name: iter(panel.ports) for panel in space.panels}
    names = [panel.name for panel in space.panels]
    uneven = [
        Fixed(host.name, port.name, lane, panel, next(left[panel]).label)
        for host in space.hosts
        for (port, lane), panel in zip(lanes_of(host), (names[0], *names[1:] * 3), strict=True)
    ]
    found = complete_cabling(replace(space, cabling=tuple(uneven[:-2])), uneven[:-2], [*space.host], [4] * 4, "duplex")
    last = space.hosts[-1].name
    assert Counter(one.panel for one in found if one.host == last) == {names[0]: 1, names[1]: 3}
    first, second = space.panels
    more = (*second.ports, *(replace(port, label=f"{port.label}+") for port in second.ports))
    full = replace(space, panels=(replace(first, ports=first.ports[:3]), replace(second, ports=more)))
    found = complete_cabling(replace(full, cabling=tuple(uneven[:-4])), uneven[:-4], [*space.host], [4] * 4, "duplex")
    assert Counter(one.panel for one in found if one.host == last) == {names[1]: 4}  # none is left at the first


def test_what_does_not_fit_is_said() -> None:
    plan = plan_wiring("circulant(12,2,3)", room(12, 4))
    with pytest.raises(InfeasibleError, match="16 nodes do not fit on 12 hosts"):
        change_wiring(plan, "circulant(16,2,3)")
    narrow = replace(room(16, 4), panels=room(12, 4).panels)
    with pytest.raises(InfeasibleError, match="none is free"):
        change_wiring(plan, "circulant(16,2,3)", inventory=narrow)
    with pytest.raises(InfeasibleError, match=r"has 4 lanes at panels and requires 6"):
        change_wiring(plan, "circulant(12,1,2,3)", inventory=room(12, 4))


def ask(*arguments: str) -> dict[str, Any]:
    run = CliRunner().invoke(program, ["wire", "change", *arguments, "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(run.stdout)
    return document


def test_command(tmp_path: Path) -> None:
    plan = plan_wiring("circulant(12,2,3)", room(12, 4))
    save_wiring(plan, tmp_path / "plan.json")
    (tmp_path / "new.yaml").write_text(format_inventory(room(16, 4)))
    grown = [str(tmp_path / "plan.json"), "circulant(16,2,3)", "--inventory", str(tmp_path / "new.yaml")]
    document = ask(*grown, "-o", str(tmp_path / "grown"))
    assert len(document["cables_laid"]) == 16
    assert document["moves"] == document["bound"] == 13
    assert document["stages"][-1]["hosts"] == 16
    assert load_wiring(tmp_path / "grown" / "plan.json").topology.nodes == 16
    text = CliRunner().invoke(program, ["wire", "change", *grown], catch_exceptions=False).output
    assert "lay 16 fixed cables" in text
    assert "after: 16 hosts, 64 links" in text


def test_what_was_observed_goes_before_the_plan(tmp_path: Path) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, mode="duplex")
    save_wiring(plan, tmp_path / "plan.json")
    heard = heard_by(plan)
    one = plan.connects[0]
    other = next(c for c in plan.connects if not {c.a.host, c.b.host} & {one.a.host, one.b.host})
    lanes = [Lane(end.host, end.port, end.lane) for end in (one.a, one.b, other.a, other.b)]
    for a, b in ((lanes[0], lanes[2]), (lanes[1], lanes[3])):  # two patches with an end each exchanged
        heard[a], heard[b] = b, a
    write_csv(tmp_path / "seen.csv", heard, plan.hosts)
    asked = [str(tmp_path / "plan.json"), "circulant(12,2,3)", "--keep-hosts"]
    assert ask(*asked)["moves"] == 0
    assert ask(*asked, "--lldp", str(tmp_path / "seen.csv"))["moves"] == 2
    run = CliRunner().invoke(program, ["wire", "change", *asked, "--lldp", "a", "--ocs", "b"])
    assert run.exit_code == 2
    assert all(name in run.output for name in ("--lldp", "--ocs"))


@pytest.mark.dear
def test_fixed_cables_move_only_where_none_can_stay() -> None:
    # two triangles are no union of two matchings, so that the six hosts cannot stay on two switches with a lane each
    ports = tuple(Port(f"p{n}", "LC", Fraction(10**11)) for n in range(2))
    hosts = tuple(Host(f"h{n}", "", "r", n + 1, ports) for n in range(6))
    labels = tuple(PanelPort(str(n), "duplex") for n in range(6))
    room = Inventory(hosts, tuple(Panel(f"s{k}", "", "s", k + 1, "ocs", labels, f"s{k}") for k in (0, 1)))
    three = [(u, v) for u in range(3) for v in range(3) if u != v]
    triangles = Topology.from_links(6, [(3 * part + u, 3 * part + v) for part in (0, 1) for u, v in three])
    before = plan_wiring("circulant(6,1)", replace(room, cabling=plan_wiring("circulant(6,1)", room).fixed))
    with pytest.raises(InfeasibleError, match="no way is found"):
        change_wiring(before, triangles, downtime=True)
    found = change_wiring(before, triangles, inventory=room, downtime=True)
    assert found.cables
    assert not found.laid
    lanes = {(one.host, one.port, one.lane) for one in before.fixed}
    assert {(one.host, one.port, one.lane) for one in found.after.fixed} == lanes
    stay = set(before.fixed) & set(found.after.fixed)
    assert len(stay) + len(found.cables) == len(before.fixed)
    assert f"move {len(found.cables)} fixed cables" in str(found)
    assert not found.change.fewest
    assert not change_wiring(before, "circulant(6,1)", inventory=room).cables


@pytest.mark.parametrize("mode", ["duplex", "simplex"])
def test_what_is_bought_in_addition_is_the_new_bill_less_the_old(mode: Mode) -> None:
    """Fixed cables stay, and cords are pulled: what the two bills differ by is bought, or left over."""
    small, large = (inventory_of(hosts, 4, (100, 60), racks=True, kind="patch panel", field="f") for hosts in (12, 20))
    small = replace(small, panels=large.panels, racks=large.racks)
    plan = plan_wiring("circulant(12,2,3)", small, mode=mode)
    found = change_wiring(plan, "circulant(20,2,5)", inventory=large, downtime=True)
    old, new, bought, left = (
        Counter({(item.use, item.kind, item.length): item.count for item in bill.items})
        for bill in (plan.bill(), found.after.bill(), found.bill, found.left)
    )
    assert bought - left == new - old
    assert left - bought == old - new
    assert {kind for use, kind, _ in bought if use == "fixed cable"} == {"MPO-12 breakout"}
    assert sum(count for (use, *_), count in bought.items() if use == "fixed cable") == 8
    page = to_change_page(found)
    assert page.count('class="code name">F') == len(found.laid) == 32
    for line in found.to_records():
        assert f'<td class="code name">{line["instruction"].partition(": ")[0]}</td>' in page


@pytest.mark.dear
def test_a_number_of_hosts_is_grown_to_with_the_fewest_moves(tmp_path: Path) -> None:
    plan = plan_wiring("circulant(12,2,3)", room(12, 4))
    found = change_wiring(plan, 13, inventory=room(16, 4))
    assert found.after.topology.nodes == 13
    assert found.moves == min(one.moves for one in grow(plan, 13, 4, bidirectional=True).topologies)
    assert found.target.startswith("13 hosts: ")
    assert str(found).splitlines()[1] == found.target
    assert (found.change.new, found.change.gone, found.moves) == (2, 0, 4)
    assert "4 moves (2 moved, 2 new); 22 patches of 24 stay" in found.heading()
    with pytest.raises(
        InfeasibleError, match="has 12 hosts; for 20 it needs 8 hosts like h11, 32 more ports at P0, 32 LC duplex"
    ):
        change_wiring(plan, 20)


@pytest.mark.parametrize("kind", ["ocs", "patch panel"])
@pytest.mark.parametrize("panels", [1, 2, 3])
def test_a_larger_room_takes_a_topology_of_as_many_hosts(kind: PanelKind, panels: int) -> None:
    small = plain_inventory(12, 4, panels=panels, kind=kind)
    tight = replace(small, panels=tuple(replace(one, ports=one.ports[: -(-48 // panels)]) for one in small.panels))
    for room in (small, tight):
        larger = extend_room(room, 20, 4)
        assert larger.inventory.hosts[:12] == room.hosts
        assert len(larger.inventory.host) == 20
        assert str(larger).startswith("the room has 12 hosts; for 20 it needs 8 hosts like h11")
        assert ("enough ports" in str(larger)) == (larger.inventory.panels == room.panels)
        plan_wiring("circulant(20,2,3)", larger.inventory)
        assert extend_room(room, 12, 4).inventory == room


def test_numbers_with_more_zeros_name_the_same_hosts() -> None:
    """A room of 96 hosts names host01, one of 128 host001: the wiring grows as if both were named alike."""
    small, large = init_wiring(12, ports=1), init_wiring(120, ports=1)
    plan = plan_wiring("circulant(12,1,3)", small)
    assert small.hosts[0].name == "host01"
    assert large.hosts[0].name == "host001"
    room, names = with_names_of(small, large)
    assert [host.name for host in room.hosts][:12] == [host.name for host in small.hosts]
    assert (room.hosts[12].name, room.hosts[119].name) == ("host13", "host120")
    assert names["host013"] == "host13"
    assert "host120" not in names
    assert with_names_of(large, large) == (large, {})
    assert with_names_of(plain_inventory(3, 2), large) == (large, {})
    back, _ = with_names_of(large, room)
    assert back == large
    both = replace(large, hosts=(replace(large.hosts[5], name="host01"), *large.hosts[:3]))
    assert with_names_of(replace(small, hosts=small.hosts[:2]), both)[1].keys() <= {"r1"}  # host01 is another there
    found = change_wiring(plan, 20, inventory=replace(large, hosts=large.hosts[:20]))
    assert set(plan.hosts) < set(found.after.hosts)
    assert {fixed.host for fixed in found.laid} == {f"host{number}" for number in range(13, 21)}
    assert "names are those of the plan: host001 of the inventory is host01, and 1" in str(found)
    check_growth(plan, found, with_names_of(small, replace(large, hosts=large.hosts[:20]))[0])


# -- topologies that a wiring can grow to: their prices, and the moves, which changes to them need --------------------


def check(found: Growth) -> None:
    for place, one in enumerate(found.topologies):
        topology = one.topology
        assert topology.nodes == found.nodes
        assert topology.degree <= found.degree
        assert one.entry.cost == price_plans(topology, all_sources=True).cheapest[0]
        assert one.at_least <= one.moves
        for other in found.topologies[:place]:
            assert other.moves < one.moves
            assert other.entry.times[0] > one.entry.times[0]


@pytest.mark.dear("17-4-duplex")
@pytest.mark.parametrize(
    ("nodes", "panels", "mode"),
    [
        *((13, 1, "duplex"), (13, 1, "simplex"), (17, 4, "duplex")),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in (
                (17, 1, "duplex"),
                (17, 2, "duplex"),
                (13, 2, "duplex"),
                (13, 4, "duplex"),
                (13, 4, "simplex"),
                (17, 1, "simplex"),
                (17, 4, "simplex"),
            )
        ),
    ],
)
def test_a_change_to_what_was_found_needs_no_more_moves(nodes: int, panels: int, mode: Mode) -> None:
    plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4, panels=panels, kind="ocs"), mode=mode)
    found = grow(plan, nodes, 4)
    check(found)
    room = plain_inventory(nodes, 4, panels=panels, kind="ocs")
    for one in found.topologies:
        change = change_wiring(plan, one.topology, inventory=room, downtime=True, throughput=False)
        assert not change.drawn
        assert one.at_least <= change.moves <= one.moves


def test_what_cannot_be_asked() -> None:
    plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4))
    with pytest.raises(ParameterError, match="nodes must be at least 13"):
        grow(plan, 12, 4)
    with pytest.raises(InfeasibleError, match="nothing is known for 100000 nodes of degree 37"):
        grow(plan, 100000, 37)


@pytest.mark.dear
def test_command_of_growth(tmp_path: Path) -> None:
    save_wiring(plan_wiring("circulant(12,2,3)", plain_inventory(12, 4)), tmp_path / "plan.json")
    asked = ["pareto", "-n", "16", "-d", "4", "--near", str(tmp_path / "plan.json")]
    run = CliRunner().invoke(program, [*asked, "-o", str(tmp_path / "grown"), "--json"], catch_exceptions=False)
    document = json.loads(run.stdout)
    first = document["topologies"][0]
    assert document["grown_from"] == 12
    assert first["bound"] <= first["moves"]
    assert read_network(tmp_path / "grown" / first["file"]).topology().nodes == 16
    assert read_network(tmp_path / "grown" / first["file"]).topology() == build(first["name"])
    text = CliRunner().invoke(program, asked, catch_exceptions=False).output
    assert "12 nodes to 16 of degree 4" in text
    for more, words in (
        (["--add", "ring"], "network"),
        (["--collective", "allgather"], "1 x allgather 1MiB"),
        (["-d", "3..4"], "of each size"),
        (["--top", "1"], "next by"),
    ):
        assert words in CliRunner().invoke(program, [*asked, *more], catch_exceptions=False).output


@pytest.mark.dear("simplex-circulant(10,1,3)-4-12")
@pytest.mark.parametrize(
    ("spec", "degree", "nodes"),
    [
        ("circulant(10,1,3)", 4, 12),
        pytest.param("circulant(20,1,6)", 4, 24, marks=pytest.mark.thorough),
        pytest.param("circulant(60,1,5,17)", 6, 72, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("mode", ["duplex", "simplex"])
def test_nodes_inserted_into_links_move_nothing_else(spec: str, degree: int, nodes: int, mode: Mode) -> None:
    plan = plan_wiring(spec, plain_inventory(build(spec).nodes, degree, panels=degree, kind="ocs"), mode=mode)
    found = [one for one in grow(plan, nodes, degree).topologies if "inserted" in one.name]
    assert found
    room = plain_inventory(nodes, degree, panels=degree, kind="ocs")
    for one in found:
        kept = change_wiring(plan, one.topology, inventory=room, downtime=True, throughput=False, keep_hosts=True)
        assert kept.change.fewest
        assert kept.moves == kept.change.least_so == one.moves
        free = change_wiring(plan, one.topology, inventory=room, downtime=True, throughput=False)
        assert free.change.at_least <= free.change.least_so <= free.moves <= kept.moves
        assert not free.drawn
        assert not free.cables
