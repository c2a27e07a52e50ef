"""Placement: never more cable than in the order of the inventory, and a bill that adds up."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.inventories import SPEED, inventory_of
from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import Host, Mode, Panel, PanelPort, Port
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.plan import Item, WiringPlan
from topodesign.wiring.plan.planner import make_plan, order_in_pods
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plan.wire import place_hosts

Shared = tuple[int, int, tuple[int, ...] | None]  # a node, its links out or in, fields that ends share, None for all


def hall(places: list[tuple[int, int]], lanes: int, spare: int = 0) -> Inventory:
    """A host in each rack, with a patch panel of the same field above it."""
    ports = tuple(Port(f"e{lane}", "LC", SPEED) for lane in range(lanes))
    hosts = tuple(Host(f"h{i}", "s", f"r{i}", 1, ports) for i in range(len(places)))
    panels = tuple(
        Panel(f"P{i}", "s", f"r{i}", 42, "patch panel", tuple(PanelPort(str(k), "simplex") for k in range(lanes)), "f")
        for i in range(len(places) - spare)
    )
    racks = {f"r{i}": (Fraction(x), Fraction(y)) for i, (x, y) in enumerate(places)}
    return Inventory(hosts, panels, racks={"s": racks})


def metres(plan: WiringPlan) -> Fraction:
    needed = plan.bill().metres
    assert needed is not None
    return needed


@settings(deadline=None, max_examples=25)
@given(regular_digraphs(most_nodes=9, most_degree=3), st.data())
def test_never_worse_than_the_order_of_the_inventory(topology: Topology, data: st.DataObject) -> None:
    coordinate = st.integers(-20, 20)
    hosts = topology.nodes + data.draw(st.integers(0, 2))
    places = data.draw(st.lists(st.tuples(coordinate, coordinate), min_size=hosts, max_size=hosts))
    spare = data.draw(st.integers(0, hosts - topology.nodes))  # too few panels to cable all hosts
    inventory = hall(places, topology.degree, spare)
    placed = place_hosts(topology, inventory, mode="simplex")
    check_plan(placed)
    assert placed.inventory is inventory
    assert metres(placed) <= metres(make_plan(topology, inventory, mode="simplex"))


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_a_ring_is_laid_round(mode: Mode) -> None:
    topology = build("biring(2,6)")
    inventory = hall([(0, 0), (10, 10), (10, 0), (0, 10), (0, 5), (10, 5)], 2)
    first, *others = [host.name for host in inventory.hosts]
    orders = [(first, *rest) for rest in itertools.permutations(others)]  # who comes first is all the same to a ring
    least = min(metres(make_plan(topology, inventory, mode=mode, hosts=order)) for order in orders)
    assert metres(place_hosts(topology, inventory, mode=mode)) == least
    assert metres(make_plan(topology, inventory, mode=mode)) > least


def test_a_shuffled_torus_is_put_right() -> None:
    topology = build("torus(5,5)")
    places = [(10 * ((7 * i) % 25 // 5), 10 * ((7 * i) % 5)) for i in range(25)]
    inventory = hall(places, 4)
    placed = place_hosts(topology, inventory, seed=1)
    assert metres(placed) < Fraction(7, 10) * metres(make_plan(topology, inventory))
    assert place_hosts(topology, inventory, seed=1).hosts == placed.hosts


def test_far_hosts_stay_spare() -> None:
    topology = build("biring(2,4)")
    inventory = hall([(0, 0), (900, 0), (1, 0), (2, 0), (3, 0), (950, 0)], 2)
    near = [panel for panel in inventory.panels if panel.rack not in {"r1", "r5"}]  # with ports for four hosts
    inventory = replace(inventory, panels=tuple(near))
    assert "h1" in make_plan(topology, inventory).hosts
    assert not {"h1", "h5"} & set(place_hosts(topology, inventory).hosts)


def test_order_that_does_not_matter_stays() -> None:
    inventory = inventory_of(12, 4, (48,), kind="ocs", racks=True)
    plan = place_hosts(build("circulant(12,2,3)"), inventory)
    assert plan.hosts == tuple(host.name for host in inventory.hosts)


def test_without_coordinates_nothing_is_placed() -> None:
    inventory = replace(hall([(0, 0), (1, 0), (2, 0)], 2), racks={})
    with pytest.raises(InfeasibleError, match="no coordinates of rack r0"):
        place_hosts(build("biring(2,3)"), inventory)


def test_bill_of_the_testbed() -> None:
    """A patch panel two racks away: counted by hand."""
    inventory = inventory_of(12, 4, (48,), kind="patch panel", racks=True)
    panel = replace(inventory.panels[0], rack="r1")
    stock = {"MPO-12 breakout": (Fraction(1), Fraction(5, 2)), "LC duplex": (Fraction(3, 2), Fraction(2))}
    inventory = replace(inventory, panels=(panel,), stock=stock, slack=Fraction(1))
    inventory = replace(inventory, racks={"s": {"r0": (Fraction(0), Fraction(0)), "r1": (Fraction(1), Fraction(1, 2))}})
    plan = make_plan(build("circulant(12,2,3)"), inventory)
    fixed = Item("fixed cable", "MPO-12 breakout", Fraction(5, 2), 12)
    assert plan.bill().items == (fixed, Item("patch cord", "LC duplex", Fraction(3, 2), 24))
    assert metres(plan) == 24 * Fraction(3, 2) + 12 * Fraction(5, 2)
    unknown = replace(plan, inventory=replace(inventory, racks={})).bill()
    assert unknown.items[0] == replace(fixed, length=None)
    assert unknown.metres is None
    short = replace(inventory, stock={"MPO-12 breakout": (Fraction(2),)})
    with pytest.raises(InfeasibleError, match=r"needs 2\.5 m; the longest there is has 2 m"):
        replace(plan, inventory=short).bill()


def test_cables_that_exist_are_not_bought() -> None:
    inventory = replace(inventory_of(12, 4, (48,), kind="patch panel", racks=True), slack=Fraction(1, 2))
    planned = make_plan(build("circulant(12,2,3)"), inventory)
    kinds = Counter(kind for item in planned.bill().items for kind in [item.kind] * item.count)
    assert kinds == {"LC duplex": 24, "MPO-12 breakout": 12}
    short = {"MPO-12 breakout": (Fraction(1, 4),)}  # no matter, since they are there
    given = make_plan(planned.topology, replace(inventory, cabling=planned.fixed, stock=short))
    assert given.bill().items == (Item("patch cord", "LC duplex", Fraction(1), 24),)
    switch = replace(inventory, panels=(replace(inventory.panels[0], kind="ocs"),), cabling=planned.fixed)
    assert place_hosts(planned.topology, switch).bill().items == ()


def test_breakout_cables_are_as_long_as_their_longest_leg() -> None:
    inventory = inventory_of(12, 4, (12,) * 4, racks=True)
    items = make_plan(build("genkautz(4,12)"), inventory).bill().items
    assert Counter({(item.kind, item.length): item.count for item in items}) == {("MPO-12 breakout", Fraction(2)): 12}


def test_a_panel_that_no_host_is_cabled_to_does_no_harm() -> None:
    inventory = inventory_of(4, 2, (8, 8), kind="ocs", racks=True)
    first = inventory.panels[0]
    cabling = make_plan(build("circulant(4,1)"), replace(inventory, panels=(first,))).fixed
    plan = place_hosts(build("circulant(4,1)"), replace(inventory, cabling=cabling))
    assert {connect.a.panel for connect in plan.connects} == {first.name}


@pytest.mark.parametrize("duplex", [True, False])
def test_hosts_in_pods_are_exchanged_until_links_fit_their_lanes(duplex: bool) -> None:
    topology = build("torus(4,4,4)" if duplex else "genkautz(4,64)")
    degree, beyond = topology.degree, 3
    lanes = np.zeros((66, 3), dtype=np.int64)
    for host in range(66):  # of all lanes three lead out of the pod
        lanes[host, [host % 2, 2]] = degree // 2, beyond
    order = order_in_pods(topology, lanes, range(64), duplex=duplex, seed=0)
    assert order is not None
    assert len(set(order.tolist())) == 64
    pod = order % 2
    out = pod[topology.src] != pod[topology.dst]
    for ends in (topology.src, topology.dst):
        assert np.bincount(ends[out], minlength=64).max() <= beyond
    assert order_in_pods(build("complete(4)"), np.eye(4, dtype=np.int64) * 3, range(4), duplex=True, seed=0) is None
    again = order_in_pods(topology, lanes, order.tolist(), duplex=duplex, seed=0)
    assert again is not None
    assert np.array_equal(again, order)


@pytest.mark.floor(found=10, kept=5)
@pytest.mark.parametrize("duplex", [True, False])
def test_an_order_without_excess_is_found(duplex: bool) -> None:
    """A node's links to hosts that have the same fields in common with its own are within the lanes there, and all."""
    rng = np.random.default_rng(3)
    for seed in range(30):
        nodes = int(rng.integers(4, 9))
        lanes = rng.integers(0, 2, (nodes + 1, 3))
        planted = rng.permutation(nodes + 1)[:nodes] if seed % 4 else np.arange(nodes)
        pairs = [(u, v) for u, v in itertools.permutations(range(nodes), 2) if u < v or not duplex]
        joined = [(u, v) for u, v in pairs if lanes[planted[[u, v]]].all(axis=0).any()]
        links = [joined[at] for at in rng.integers(0, len(joined), nodes + 2)]
        topology = Topology.from_links(nodes, [*links, *((v, u) for u, v in links if duplex)])

        def used(order: IntArray, links: list[tuple[int, int]] = links, lanes: IntArray = lanes) -> Counter[Shared]:
            found = Counter[Shared]()
            for u, v in links:
                shared = tuple(np.flatnonzero(lanes[order[[u, v]]].all(axis=0)).tolist())
                for node, way in ((u, 0), (v, int(not duplex))):
                    found.update([(node, way, shared), (node, way, None)])
            return found

        for (node, _, fields), count in used(planted).items():
            mine = lanes[planted[node]]
            some = np.flatnonzero(mine) if fields is None else list(fields)
            mine[some[0]] += max(count - mine[some].sum(), 0)
        found = order_in_pods(topology, lanes, range(nodes), duplex=duplex, seed=seed)
        if found is not None:
            reached("found")
            assert len(set(found.tolist())) == nodes
            for (node, _, fields), count in used(found).items():
                assert count <= (lanes[found[node]] if fields is None else lanes[found[node], list(fields)]).sum()
        if not seed % 4:
            reached("kept")
            assert found is not None
            assert found.tolist() == list(range(nodes))
