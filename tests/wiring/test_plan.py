"""Wiring plans: the light goes where the topology says, and what cannot be wired is reported."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topodesign
from tests.samples.inventories import inventory_of
from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, TopologyError
from topodesign.cli.main import run
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed, Losses, Mode, Panel, Tray, Trunk
from topodesign.wiring.inventory.inventory import Inventory, InventoryError
from topodesign.wiring.plan.cabling import most_of_panels, usable
from topodesign.wiring.plan.files import load_wiring, plan_text, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import duplex_alternative, make_plan
from topodesign.wiring.plan.proof import check_plan

TESTBED = Path(topodesign.__file__).parent.parent / "configs" / "inventory_testbed.yaml"


def traced(plan: WiringPlan) -> Counter[tuple[int, int]]:
    """Follow the light: from each transmitter to side A, across the panel to side B, to a receiver."""
    lane_at = {(fixed.panel, fixed.panel_port): fixed.host for fixed in plan.fixed}
    assert len(lane_at) == len(plan.fixed) == len({(one.host, one.port, one.lane) for one in plan.fixed})
    across: dict[tuple[str, str], tuple[str, str]] = {}
    for connect in plan.connects:
        a, b = (connect.a.panel, connect.a.panel_port), (connect.b.panel, connect.b.panel_port)
        for begin, end in ((a, b), (b, a)) if connect.mode == "duplex" else ((a, b),):
            assert begin not in across
            across[begin] = end
    assert len(set(across.values())) == len(across)
    node = {name: number for number, name in enumerate(plan.hosts)}
    return Counter((node[lane_at[begin]], node[lane_at[end]]) for begin, end in across.items())


def wanted(topology: Topology) -> Counter[tuple[int, int]]:
    return Counter({(u, v): count for u, v, count in topology.links() if u != v})


def ports_used(plan: WiringPlan) -> Counter[tuple[str, str]]:
    """Ports that each host has patched on each panel."""
    ends = {(end.host, end.panel, end.panel_port) for connect in plan.connects for end in (connect.a, connect.b)}
    return Counter((host, panel) for host, panel, _ in ends)


def with_panels(inventory: Inventory, panels: Sequence[Panel]) -> Inventory:
    return replace(inventory, panels=tuple(panels))


def blocked(panel: Panel, labels: set[str]) -> Panel:
    return replace(panel, ports=tuple(replace(port, blocked=port.label in labels) for port in panel.ports))


@settings(deadline=None, max_examples=60)
@given(regular_digraphs(), st.integers(1, 4), st.booleans(), st.data())
def test_the_links_are_made(topology: Topology, panels: int, spare_host: bool, data: st.DataObject) -> None:
    share = -(-topology.degree // panels)
    hosts = topology.nodes + spare_host
    inventory = inventory_of(hosts, topology.degree, (hosts * share,) * panels)
    order = data.draw(st.permutations([host.name for host in inventory.hosts]))[: topology.nodes]
    plan = make_plan(topology, inventory, mode="simplex", hosts=order)
    assert plan.hosts == tuple(order)
    assert traced(plan) == wanted(topology)
    assert max(ports_used(plan).values(), default=0) <= share  # no panel needs more port pairs per host
    assert len({connect.cable for connect in plan.connects}) == len(plan.connects)


@settings(deadline=None, max_examples=40)
@given(regular_digraphs(most_nodes=9), st.integers(1, 3))
def test_duplex_links_are_made(topology: Topology, panels: int) -> None:
    both = Topology.from_arrays(
        topology.nodes, np.concatenate((topology.src, topology.dst)), np.concatenate((topology.dst, topology.src))
    )
    share = 2 * -(-both.degree // (2 * panels))
    plan = make_plan(both, inventory_of(both.nodes, both.degree, (both.nodes * share,) * panels, mode="duplex"))
    assert plan.mode == "duplex"
    assert traced(plan) == wanted(both)
    assert max(ports_used(plan).values(), default=0) <= share


def test_testbed_of_the_paper() -> None:
    topology = build("circulant(12,2,3)")
    inventory = inventory_of(12, 4, (48,))
    duplex, simplex = make_plan(topology, inventory), make_plan(topology, inventory, mode="simplex")
    assert (len(duplex.connects), len(simplex.connects)) == (24, 48)
    assert duplex.spare == simplex.spare == ()
    # the way there and the way back share their lanes, also where they are patched one by one
    ends = {
        frozenset(((one.a.host, one.a.port, one.a.lane), (one.b.host, one.b.port, one.b.lane)))
        for one in simplex.connects
    }
    assert len(ends) == 24
    assert {one.a.lane for one in simplex.connects} == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("spec", "mode"),
    [("genkautz(4,1024)", "simplex"), ("torus(32,32)", "duplex"), ("circulant(1024,3,41)", "duplex")],
)
def test_large_topologies_on_four_panels(spec: str, mode: Mode) -> None:
    topology = build(spec)
    plan = make_plan(topology, inventory_of(1024, 4, (1100,) * 4), mode=mode)
    assert traced(plan) == wanted(topology)
    assert set(ports_used(plan).values()) == {1}


def test_cabling_is_alike_for_all_hosts_whatever_is_wired() -> None:
    inventory = inventory_of(12, 4, (12, 40))
    first, second = (make_plan(build(spec), inventory).fixed for spec in ("circulant(12,2,3)", "genkautz(4,12)"))
    assert first == second
    counts = Counter((one.host, one.panel) for one in first)
    assert {panel: {counts[f"h{i}", panel] for i in range(12)} for panel in ("P0", "P1")} == {"P0": {1}, "P1": {3}}


def test_given_cabling_is_kept() -> None:
    topology = build("genkautz(4,12)")
    inventory = inventory_of(12, 4, (24, 24))
    rng = np.random.default_rng(1)
    fixed = tuple(
        Fixed(f"h{host}", "eth0", int(lane) + 1, f"P{number // 2}", str(2 * host + number % 2 + 1))
        for host in range(12)
        for number, lane in enumerate(rng.permutation(4))
    )
    plan = make_plan(topology, replace(inventory, cabling=fixed))
    assert plan.fixed == fixed
    assert traced(plan) == wanted(topology)
    less = replace(inventory, cabling=fixed[1:])
    with pytest.raises(InfeasibleError, match=r"host 'h0' \(node 0\) has 3 lanes cabled"):
        make_plan(topology, less, hosts=[host.name for host in inventory.hosts])
    more = make_plan(build("circulant(12,2,3)"), less)  # which completes it
    assert set(more.fixed) > set(less.cabling)
    other = make_plan(topology, less)  # node 3 has a self-loop, so that another order will do
    assert traced(other) == wanted(topology)
    assert other.hosts[0] != "h0"


def test_blocked_ports_are_not_used() -> None:
    topology = build("circulant(12,2,3)")
    inventory = inventory_of(12, 4, (50,))
    plan = make_plan(topology, with_panels(inventory, [blocked(inventory.panels[0], {"1", "17"})]))
    assert traced(plan) == wanted(topology)
    assert not {fixed.panel_port for fixed in plan.fixed} & {"1", "17"}
    with pytest.raises(InfeasibleError, match="12 hosts need 48, there are 47; 3 are blocked"):
        make_plan(topology, with_panels(inventory, [blocked(inventory.panels[0], {"1", "17", "50"})]))


def test_panels_of_a_field_are_patched_to_each_other() -> None:
    topology = build("genkautz(4,12)")
    plan = make_plan(topology, inventory_of(12, 4, (24, 24), kind="patch panel", field="hall"))
    assert traced(plan) == wanted(topology)
    assert any(connect.a.panel != connect.b.panel for connect in plan.connects)
    apart = make_plan(topology, inventory_of(12, 4, (24, 24), kind="patch panel"))
    assert all(connect.a.panel == connect.b.panel for connect in apart.connects)


def test_a_heading_says_what_is_wired_how() -> None:
    topology = build("circulant(12,2,3)")
    plan = make_plan(topology, inventory_of(12, 4, (50,)))
    rest = f"12 nodes, {plan.mode}: {len(plan.connects)} cross-connects"
    assert plan.heading() == f"{topology.spec}, {rest}"
    assert replace(plan, topology=replace(topology, spec=None)).heading() == rest


def test_three_lanes_of_every_host_at_each_panel_are_split_in_duplex_links_too() -> None:
    topology = build("circulant(8,1,2,3)")
    plan = make_plan(topology, inventory_of(8, 6, (24, 24)), mode="duplex")
    assert traced(plan) == wanted(topology)
    assert Counter((one.host, one.panel) for one in plan.fixed) == {
        (host.name, panel.name): 3 for host in plan.inventory.hosts for panel in plan.inventory.panels
    }


def test_uneven_panels() -> None:
    for spec in ("circulant(12,2,3)", "genkautz(4,12)"):
        plan = make_plan(build(spec), inventory_of(12, 4, (30, 20)))
        assert traced(plan) == wanted(build(spec))


def test_as_many_ports_of_a_panel_stay_free_as_it_shall_spare() -> None:
    space = inventory_of(4, 2, (7, 7), kind="patch panel", field="F")
    first, *others = space.panels[0].ports
    ports = (replace(first, blocked=True), *others)
    for spare, used in ((0, 6), (3, 3), (6, 0), (7, 0)):
        some = with_panels(space, [replace(space.panels[0], ports=ports, spare=spare), space.panels[1]])
        assert most_of_panels(some, "duplex") == {"P0": used, "P1": 7}
        there = Counter(panel for ports in usable(some, "duplex").values() for panel, _ in ports)
        assert there == Counter(most_of_panels(some, "duplex"))
    plan = make_plan(build("biring(2,3)"), with_panels(space, [replace(space.panels[0], ports=ports)]))
    for spare in (0, 1):  # six ports that can be used, of seven, are taken
        inventory = with_panels(space, [replace(space.panels[0], ports=ports, spare=spare)])
        if spare:
            with pytest.raises(TopologyError, match="fewer than 1 ports left free"):
                check_plan(replace(plan, inventory=inventory))
        else:
            check_plan(replace(plan, inventory=inventory))


def test_ports_that_others_reach_another_way_count_to_those_that_stay_free() -> None:
    """Of four ports two stay free, two of them behind another panel: every host has a lane here and one elsewhere."""
    space = inventory_of(2, 2, (4, 2, 2), kind="patch panel", field="F")
    first, second, near = space.panels
    near = replace(near, field="near", pods=("a",))
    hosts = tuple(replace(host, pod="a") for host in space.hosts)
    trunks = tuple(Trunk(first.name, port.label, near.name, port.label) for port in near.ports)
    space = Inventory(hosts, (replace(first, spare=2), second, near), trunks=trunks)
    topology = Topology.from_links(2, [(0, 1, 2), (1, 0, 2)])
    plan = make_plan(topology, space)
    assert traced(plan) == wanted(topology)
    assert Counter(one.panel for one in plan.fixed) == {first.name: 2, second.name: 2}


def test_what_ports_cannot_be_used_for_is_said() -> None:
    for mode, said in (("duplex", ""), ("simplex", "; 4 are duplex, which a simplex plan cannot use")):
        few = inventory_of(5, 2, (4,), mode="duplex")
        with pytest.raises(InfeasibleError) as error:
            make_plan(build("biring(2,5)"), few, mode=cast("Mode", mode))
        assert ("which a" in str(error.value)) == bool(said)
        assert str(error.value).endswith(said)


def test_self_loops_are_spare_ports_and_parallel_links_trunks() -> None:
    topology = Topology.from_links(3, [(0, 0), (0, 1, 2), (1, 2, 2), (1, 0), (2, 1), (2, 0, 2), (2, 2)])
    plan = make_plan(topology, inventory_of(3, 4, (12,)))
    assert traced(plan) == wanted(topology)
    loops = [spare for spare in plan.spare if spare.self_loop]
    assert Counter(spare.end.host for spare in loops) == {"h0": 1, "h2": 1}
    assert all(spare.transmit and spare.receive for spare in loops)
    sends = Counter(spare.end.host for spare in plan.spare if spare.transmit)
    receives = Counter(spare.end.host for spare in plan.spare if spare.receive)
    assert sends == {"h0": 2, "h1": 1, "h2": 1}
    assert receives == {"h0": 1, "h1": 1, "h2": 2}
    assert [(one.sender, one.receiver, one.links) for one in plan.trunks] == [
        ("h0", "h1", 2),
        ("h1", "h2", 2),
        ("h2", "h0", 2),
    ]
    ring = make_plan(build("biring(4,5)"), inventory_of(5, 4, (20,))).trunks
    assert [(one.sender, one.receiver, one.links) for one in ring] == sorted(
        (f"h{min(u, (u + 1) % 5)}", f"h{max(u, (u + 1) % 5)}", 2) for u in range(5)
    )


@pytest.mark.parametrize(
    ("spec", "inventory", "mode", "message"),
    [
        ("circulant(12,2,3)", inventory_of(11, 4, (48,)), None, "hosts are missing: .* 1 more needed"),
        ("circulant(12,2,3)", inventory_of(12, 3, (48,)), None, "12 nodes need 4 or more lanes, 0 hosts have"),
        ("circulant(12,2,3)", inventory_of(12, 4, (47,)), None, "too few panel ports: 12 hosts need 48, there are 47"),
        ("genkautz(4,12)", inventory_of(12, 4, (48,), mode="duplex"), None, "48 are duplex, which a simplex plan"),
        ("genkautz(4,12)", inventory_of(12, 4, (48,)), "duplex", r"link 0 -> 9 has no reverse; .*circulant\(12,2,3\)"),
        ("petersenline()", inventory_of(15, 4, (15,) * 4), "duplex", "takes two ports of one panel"),
    ],
)  # fmt: skip
def test_what_cannot_be_wired(spec: str, inventory: Inventory, mode: Mode | None, message: str) -> None:
    with pytest.raises(InfeasibleError, match=message) as error:
        make_plan(build(spec), inventory, mode=mode)
    assert not str(error.value).startswith("with ")  # no message names a speed where there is one


def test_what_cannot_be_wired_in_duplex_mode_is_said_to_be_fine_in_simplex_mode() -> None:
    topology, inventory = build("petersenline()"), inventory_of(15, 4, (15,) * 4)
    with pytest.raises(InfeasibleError, match="in simplex mode these panels can carry it"):
        make_plan(topology, inventory)
    assert traced(make_plan(topology, inventory, mode="simplex")) == wanted(topology)
    with pytest.raises(InfeasibleError) as caught:
        make_plan(topology, inventory_of(15, 4, (15,) * 4, mode="duplex"))
    assert "simplex mode" not in str(caught.value)


def test_arguments_that_make_no_sense() -> None:
    topology, inventory = build("circulant(12,2,3)"), inventory_of(12, 4, (48,))
    names = [host.name for host in inventory.hosts]
    for hosts in (names[:11], [*names[:11], names[0]], [*names[:11], "other"]):
        with pytest.raises(ParameterError):
            make_plan(topology, inventory, hosts=hosts)
    with pytest.raises(ParameterError, match="switches"):
        make_plan(Topology.from_links(2, [(0, 1), (1, 0)], switches=[1]), inventory)


@pytest.mark.dear("3000-4")
@pytest.mark.parametrize(("nodes", "degree"), [(12, 4), (100, 4), (3000, 4)])
def test_duplex_alternatives_are_what_they_should_be(nodes: int, degree: int) -> None:
    told = duplex_alternative(build(f"genkautz({degree},{nodes})"))
    assert told is not None
    topology = build(told.partition(" (")[0])
    assert (topology.nodes, topology.degree, topology.is_duplex) == (nodes, degree, True)


def test_a_duplex_topology_of_odd_size_and_degree_leaves_one_port_free() -> None:
    alternative = duplex_alternative(build("genkautz(3,7)"))
    assert alternative is not None
    topology = build(alternative.partition(" (")[0])
    assert topology.is_duplex
    assert (topology.nodes, topology.degree, topology.self_loops) == (7, 3, 1)


def mutants(plan: WiringPlan) -> list[WiringPlan]:
    first, *others = plan.connects
    second = next(one for one in others if one.a.host != first.a.host)  # crossed with one of its host, links stay
    rest = [one for one in others if one is not second]
    crossed = (replace(first, b=second.b), replace(second, b=first.b), *rest)
    return [
        replace(plan, connects=crossed),
        replace(plan, connects=(replace(first, b=second.b), second, *rest)),
        replace(plan, connects=(second, *rest)),
        replace(plan, connects=(first, second, *rest, replace(first, cable="more"))),
        replace(plan, connects=(replace(first, cable=second.cable), second, *rest)),
        replace(plan, connects=(replace(first, a=replace(first.a, lane=first.a.lane + 1)), second, *rest)),
        replace(plan, connects=(replace(first, mode="duplex" if plan.mode == "simplex" else "simplex"), second, *rest)),
        replace(plan, hosts=plan.hosts[1:]),
        replace(plan, hosts=(*plan.hosts[1:], plan.hosts[1])),
        replace(plan, hosts=("other", *plan.hosts[1:])),
        replace(plan, hosts=(plan.hosts[1], plan.hosts[0], *plan.hosts[2:])),
        replace(plan, fixed=plan.fixed[1:]),
        replace(plan, fixed=(*plan.fixed, plan.fixed[0])),
        replace(plan, topology=build("circulant(12,1,3)")),
    ]


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_the_check_finds_every_mistake(mode: Mode) -> None:
    plan = make_plan(build("circulant(12,2,5)"), inventory_of(12, 4, (24, 24)), mode=mode)
    check_plan(plan)
    for wrong in mutants(plan):
        with pytest.raises((TopologyError, InventoryError)):
            check_plan(wrong)


def test_one_way_patches_need_one_way_ports() -> None:
    plan = make_plan(build("circulant(12,2,3)"), inventory_of(12, 4, (48,)), mode="simplex")
    duplex = inventory_of(12, 4, (48,), mode="duplex")
    with pytest.raises(TopologyError, match="cannot be patched one way"):
        check_plan(replace(plan, inventory=duplex))


def test_the_same_input_gives_the_same_plan_and_files_keep_it(tmp_path: Path) -> None:
    topology = build("circulant(60,1,7)")
    inventory = inventory_of(60, 4, (60,) * 4)
    plan = make_plan(topology, inventory, seed=5)
    assert make_plan(topology, inventory, seed=5).connects == plan.connects
    save_wiring(plan, tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json") == plan


def test_files_keep_all_that_an_inventory_may_say(tmp_path: Path) -> None:
    plain = inventory_of(4, 2, (8, 8), racks=True)
    half = Fraction(1, 2)
    hosts = [
        replace(host, pod="a", ports=(replace(host.ports[0], polarity="B"), replace(host.ports[1], budget_db=half)))
        for host in plain.hosts
    ]
    first, near = plain.panels
    first = replace(
        first, pods=("a",), circuit_db=2 * half, ports=(replace(first.ports[0], loss_db=half), *first.ports[1:])
    )
    full = replace(
        plain,
        hosts=tuple(hosts),
        panels=(replace(first, spare=1), replace(near, kind="patch panel")),
        trunks=(Trunk(first.name, "8", near.name, "8", half),),
        losses=Losses(half, half, None, 2),
        trays=(Tray("s", "r0", "r1", half, half, half),),
        stock={"LC duplex": (half, 2 * half)},
        slack=half,
        name="all",
    )
    for inventory in (plain, full):
        plan = make_plan(build("biring(2,4)"), inventory)
        save_wiring(plan, tmp_path / "plan.json")
        assert load_wiring(tmp_path / "plan.json") == plan
    said = json.loads((tmp_path / "plan.json").read_text())["inventory"].keys()
    assert (
        said - {"trunks", "losses", "trays"}
        == json.loads(plan_text(make_plan(plan.topology, plain)))["inventory"].keys()
    )
    for key, wrong in (("racks", {"s": []}), ("stock", {"LC duplex": {}})):
        document = json.loads((tmp_path / "plan.json").read_text())
        document["inventory"][key] = wrong
        (tmp_path / "wrong.json").write_text(json.dumps(document))
        with pytest.raises(FileFormatError, match=f"inventory.{key}.* must be"):
            load_wiring(tmp_path / "wrong.json")
    for end in (2**63, -(2**63) - 1):
        document = json.loads(plan_text(plan))
        document["links"][0][0] = end
        (tmp_path / "wrong.json").write_text(json.dumps(document))
        with pytest.raises(FileFormatError, match="at most 64 bits"):
            load_wiring(tmp_path / "wrong.json")


def test_as_many_spare_lanes_as_there_are_self_loops_are_put_down_to_them() -> None:
    topology = Topology.from_links(2, [(0, 1), (1, 0), (0, 0, 2), (1, 1, 1)])
    spare = make_plan(topology, inventory_of(2, 3, (6,)), mode="simplex").spare
    assert Counter(one.end.host for one in spare if one.self_loop) == {"h0": 2, "h1": 1}
    assert len(spare) == 4


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "plan.json"
    arguments = ["wire", "plan", "genkautz(4,12)", "--inventory", str(TESTBED)]
    assert run([*arguments, "-o", str(output), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    plan = load_wiring(output)
    assert document["cross_connects"] == len(plan.connects) == 44
    assert document["mode"] == "simplex"
    assert len(document["spare"]) == 4
    assert all(spare["self_loop"] for spare in document["spare"])
    assert sum(item["count"] for item in document["bill"]) == 44 + 12
    assert run([*arguments, "--place"]) == 0
    text = capsys.readouterr().out
    assert "12 nodes, simplex, 44 cross-connects" in text
    assert "12 x MPO-12 breakout" not in text  # of two lengths
    back = {(one.b.place, one.a.place) for one in plan.connects}
    alone = sum((one.a.place, one.b.place) not in back for one in plan.connects)
    assert f"{alone} of 44 patches have no way back" in text
    assert "nearest duplex: " in " ".join(text.split())


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["genkautz(4,12)", "--duplex"], 1),
        (["circulant(13,2,3)"], 1),
        (["circulant(12,2,3"], 2),
        (["dgx_a100(2)"], 2),
    ],
)
def test_command_that_fails_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int
) -> None:
    output = tmp_path / "plan.json"
    assert run(["wire", "plan", *arguments, "--inventory", str(TESTBED), "-o", str(output)]) == status
    assert capsys.readouterr().err.startswith("topodesign: ")
    assert not list(tmp_path.iterdir())
