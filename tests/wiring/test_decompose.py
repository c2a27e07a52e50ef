"""Splits of links: unions of permutations and 2-factors, proved from the links alone."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import FileFormatError, InfeasibleError, TopologyError
from topodesign.fabrics.places import as_topology
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.check.check import check_wiring
from topodesign.wiring.check.evidence import Observed
from topodesign.wiring.failures.impact import Failure, best_repair
from topodesign.wiring.inventory.devices import Fixed, Host, Lane, Panel, PanelPort, Port
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.inventory.inventory import Inventory, InventoryError
from topodesign.wiring.plan.decompose import check_split, factors, matchings, split, unit_edges, unit_links
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.two_sided import orient_links, split_sided
from topodesign.wiring.plan.wire import plan_wiring
from topodesign.wiring.plant.carry import carry

NO_LINK = -1


def link_counts(topology: Topology, *, loops: bool = True) -> Counter[tuple[int, int]]:
    return Counter({(u, v): count for u, v, count in topology.links() if loops or u != v})


def duplex(topology: Topology) -> Topology:
    """The topology with the reverse of every link."""
    src, dst = np.concatenate((topology.src, topology.dst)), np.concatenate((topology.dst, topology.src))
    return Topology.from_arrays(topology.nodes, src, dst, np.concatenate((topology.capacity, topology.capacity)))


@st.composite
def any_digraphs(draw: st.DrawFn) -> Topology:
    nodes = draw(st.integers(1, 9))
    node = st.integers(0, nodes - 1)
    return Topology.from_links(nodes, draw(st.lists(st.tuples(node, node, st.integers(1, 3)), max_size=20)))


def permutations(topology: Topology) -> IntArray:
    """Row i has the target of the i-th link of each node, or none."""
    src, dst = unit_links(topology)
    rows = np.full((topology.degree, topology.nodes), NO_LINK)
    rows[matchings(topology.nodes, src, dst, topology.degree), src] = dst
    return rows


def two_factors(topology: Topology) -> IntArray:
    """Row i has the node after each on its cycle of the i-th 2-factor, or none."""
    u, v = unit_edges(topology)
    count = (int(np.bincount(np.concatenate((u, v)), minlength=topology.nodes).max()) + 1) // 2
    factor, src, dst = factors(topology.nodes, u, v, count)
    rows = np.full((count, topology.nodes), NO_LINK)
    rows[factor, src] = dst
    return rows


def ones(topology: Topology, parts: int) -> IntArray:
    return np.ones((topology.nodes, parts), dtype=np.int64)


@settings(deadline=None)
@given(regular_digraphs())
def test_regular_digraphs_are_unions_of_permutations(topology: Topology) -> None:
    rows = permutations(topology)
    assert rows.shape == (topology.degree, topology.nodes)
    assert all(sorted(row) == list(range(topology.nodes)) for row in rows.tolist())
    assert Counter((u, v) for row in rows.tolist() for u, v in enumerate(row)) == link_counts(topology)


@settings(deadline=None)
@given(any_digraphs())
def test_other_digraphs_are_unions_of_partial_permutations(topology: Topology) -> None:
    rows = permutations(topology).tolist()
    assert len(rows) == topology.degree
    links = [[(u, v) for u, v in enumerate(row) if v != NO_LINK] for row in rows]
    assert all(len({v for _, v in row}) == len(row) for row in links)
    assert Counter(itertools.chain(*links)) == link_counts(topology)


@settings(deadline=None)
@given(regular_digraphs())
def test_duplex_topologies_are_unions_of_2_factors(topology: Topology) -> None:
    both = duplex(topology)
    rows = two_factors(both).tolist()
    edges = Counter((u, v) for row in rows for u, v in enumerate(row) if v != NO_LINK)
    assert edges + Counter((v, u) for u, v in edges.elements()) == link_counts(both, loops=False)
    for row in rows:
        ends = Counter(itertools.chain(*((u, v) for u, v in enumerate(row) if v != NO_LINK)))
        assert all(count <= 2 for count in ends.values())
    if not both.self_loops:  # regular of even degree: every node has two links in every row
        assert len(rows) == topology.degree
        assert all(NO_LINK not in row for row in rows)


def test_one_way_topologies_have_no_2_factors() -> None:
    with pytest.raises(TopologyError, match="not duplex"):
        two_factors(build("genkautz(2,5)"))


def test_the_largest_size_that_is_asked_for() -> None:
    topology = build("genkautz(16,2048)")
    rows = permutations(topology)
    assert (np.sort(rows, axis=1) == np.arange(2048)).all()
    assert Topology.from_arrays(2048, np.tile(np.arange(2048), 16), rows.ravel()) == topology


def test_wrong_splits_are_refused() -> None:
    topology = build("circulant(12,2,3)")
    lanes = ones(topology, 4)
    src, dst, part = split(topology, lanes, duplex=False)
    for wrong in ((dst, dst, part), (src, dst, np.zeros_like(part)), (src[1:], dst[1:], part[1:])):
        with pytest.raises(TopologyError):
            check_split(topology, lanes, *wrong, duplex=False)


@settings(deadline=None)
@given(regular_digraphs(), st.data())
def test_lanes_alike_for_all_nodes_always_do(topology: Topology, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, topology.degree), max_size=3)))
    widths = np.diff([0, *cuts, topology.degree])
    src, dst, part = split(topology, np.tile(widths, (topology.nodes, 1)), duplex=False)
    assert Counter(zip(src.tolist(), dst.tolist(), strict=True)) == link_counts(topology, loops=False)
    for ends in (src, dst):
        counts = Counter(zip(ends.tolist(), part.tolist(), strict=True))
        assert all(count <= widths[number] for (_, number), count in counts.items())


@settings(deadline=None)
@given(regular_digraphs(), st.data())
def test_even_lanes_always_do_for_duplex_links(topology: Topology, data: st.DataObject) -> None:
    both = duplex(topology)
    cuts = sorted(data.draw(st.lists(st.integers(0, topology.degree), max_size=3)))
    widths = 2 * np.diff([0, *cuts, topology.degree])
    u, v, part = split(both, np.tile(widths, (both.nodes, 1)), duplex=True)
    edges = Counter(zip(u.tolist(), v.tolist(), strict=True))
    assert edges + Counter((v, u) for u, v in edges.elements()) == link_counts(both, loops=False)
    counts = Counter(zip(np.concatenate((u, v)).tolist(), np.concatenate((part, part)).tolist(), strict=True))
    assert all(count <= widths[number] for (_, number), count in counts.items())


@pytest.mark.parametrize(
    "spec",
    [
        "hypercube(4)",
        "torus(4,6)",
        "bipartite(5)",
        "circulant(12,2,3)",
        "circulant(200,1,2)",
        "complete(12)",
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_single_lanes_of_duplex_links(spec: str, seed: int) -> None:
    topology = build(spec)
    u, v, part = split(topology, ones(topology, topology.degree), duplex=True, seed=seed)
    for number in range(topology.degree):  # a perfect matching on every panel
        assert sorted(np.concatenate((u[part == number], v[part == number])).tolist()) == list(range(topology.nodes))


@pytest.mark.parametrize("seed", [0, 1])
def test_single_lanes_of_an_odd_number_of_nodes(seed: int) -> None:
    topology = build("paley(9)")
    with pytest.raises(InfeasibleError, match="odd number"):
        split(topology, ones(topology, topology.degree), duplex=True, seed=seed)
    triangle = Topology.from_links(4, [(u, v) for u in range(3) for v in range(3) if u != v])
    with pytest.raises(InfeasibleError, match="odd number"):  # beside a node without links and lanes
        split(triangle, np.array([[1, 1]] * 3 + [[0, 0]]), duplex=True, seed=seed)


def test_single_lanes_of_a_large_random_topology() -> None:
    topology = as_topology(nx.random_regular_graph(4, 1024, seed=1))
    first = split(topology, ones(topology, 4), duplex=True, seed=3)
    again = split(topology, ones(topology, 4), duplex=True, seed=3)
    assert all(map(np.array_equal, first, again))


def test_a_bridge_needs_even_lanes() -> None:
    """Three copies of K4 with a divided edge, joined at a node: cubic, and no perfect matching (Sylvester)."""
    links = []
    for first in (1, 6, 11):
        a, b, c, d, e = range(first, first + 5)
        links += [(0, a), (a, b), (a, c), (b, c), (b, d), (c, e), (d, e), (d, e)]
    topology = Topology.from_links(16, [pair for u, v in links for pair in ((u, v), (v, u))])
    assert topology.is_regular
    assert topology.degree == 3
    with pytest.raises(InfeasibleError, match="no split of the links over the panels was found"):
        split(topology, np.tile([2, 1], (16, 1)), duplex=True)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_two_panels_with_any_cabling_are_decided_rightly(data: st.DataObject) -> None:
    nodes = data.draw(st.integers(2, 4))
    pairs = [(u, v) for u in range(nodes) for v in range(nodes) if u != v]
    links = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9))
    lanes = np.array(
        data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=nodes, max_size=nodes))
    )
    assume(not np.all(lanes == lanes[0]))
    topology = Topology.from_links(nodes, links)

    def suits(first: tuple[bool, ...]) -> bool:
        for number in (0, 1):
            mine = [link for link, chosen in zip(links, first, strict=True) if chosen == (number == 0)]
            for side in (0, 1):
                if any(count > lanes[node, number] for node, count in Counter(link[side] for link in mine).items()):
                    return False
        return True

    possible = any(suits(first) for first in itertools.product((True, False), repeat=len(links)))
    try:
        split(topology, lanes, duplex=False)
    except InfeasibleError:
        assert not possible
    else:
        assert possible


@pytest.mark.parametrize("seed", range(4))
def test_three_panels_with_different_cabling_for_every_host(seed: int) -> None:
    rng = np.random.default_rng(seed)
    topology = build("genkautz(4,60)")
    src, dst = np.repeat(topology.src, topology.capacity), np.repeat(topology.dst, topology.capacity)
    part = rng.integers(0, 3, len(src))
    lanes = np.zeros((60, 3), dtype=np.int64)
    for number in range(3):
        out, into = (np.bincount(ends[part == number], minlength=60) for ends in (src, dst))
        lanes[:, number] = np.maximum(out, into)
    split(topology, lanes, duplex=False, seed=seed)  # which proves it


def test_too_few_lanes_are_told() -> None:
    topology = build("circulant(12,2,3)")
    with pytest.raises(InfeasibleError, match="node 0 has 4 links but 3 lanes"):
        split(topology, ones(topology, 3), duplex=False)


def test_an_odd_number_of_lanes_at_a_panel_does_where_some_are_left() -> None:
    topology, room = build("circulant(5,1)"), np.ones((5, 2), dtype=np.int64)
    with pytest.raises(InfeasibleError, match="panel 1 has an odd number of them, 5"):
        split(topology, room, duplex=True)
    room[0, 1] = 2
    check_split(topology, room, *split(topology, room, duplex=True), duplex=True)


def test_two_panels_may_receive_more_than_they_send() -> None:
    topology, lanes = Topology.from_links(3, [(1, 0), (2, 0), (0, 1)]), np.array([[1, 1], [1, 0], [0, 1]])
    check_split(topology, lanes, *split(topology, lanes, duplex=False), duplex=False)
    with pytest.raises(InfeasibleError, match="no split of the links over the two panels"):
        split(Topology.from_links(3, [(1, 0), (2, 0)]), np.array([[2, 0], [1, 0], [0, 1]]), duplex=False)


# -- circuit switches that join only their two sides: every plan and change against code that knows only the sides ----


FILE = """
hosts:
  - {name: "h[1-6]", rack: r1, unit: "[1-6]",
     ports: [{name: "p[1-4]", connector: LC, speed: 100Gbps}]}
panels:
  - name: "ocs[1-2]"
    kind: ocs
    rack: r2
    unit: "[1-2]"
    ports: [{label: "N[1-6]", mode: duplex, side: 1}, {label: "S[1-6]", mode: duplex, side: 2}]
"""


def room(hosts: int, switches: int) -> Inventory:
    """Return hosts with a lane at each side of each switch."""
    ports = tuple(Port(f"p{n}", "LC", Fraction(10**11)) for n in range(2 * switches))
    labels = tuple(PanelPort(f"{side}{n}", "duplex", side=side) for side in ("1", "2") for n in range(hosts))
    return Inventory(
        tuple(Host(f"h{n}", "", "r", n + 1, ports) for n in range(hosts)),
        tuple(Panel(f"s{k}", "", "s", k + 1, "ocs", labels, f"s{k}") for k in range(switches)),
    )


def multigraph(seed: int, nodes: int, degree: int) -> Topology:
    """Return a random multigraph of at most so many links a node, both ways."""
    rng = np.random.default_rng(seed)
    left = np.full(nodes, degree)
    links: list[tuple[int, int]] = []
    for _ in range(nodes * degree):
        u, v = rng.choice(nodes, 2, replace=False).tolist()
        if left[u] and left[v]:
            left[[u, v]] -= 1
            links += [(u, v), (v, u)]
    return Topology.from_links(nodes, links)


def made(plan: WiringPlan) -> Counter[frozenset[str]]:
    """Return the links that patches make, each from side 1 to side 2 of one switch, and no port twice."""
    side = {(panel.name, port.label): port.side for panel in plan.inventory.panels for port in panel.ports}
    places = [end.place for one in plan.connects for end in (one.a, one.b)]
    assert len(places) == len(set(places))
    for one in plan.connects:
        assert one.a.panel == one.b.panel
        assert (side[one.a.place], side[one.b.place]) == ("1", "2")
    lane = {fixed.place: fixed.host for fixed in plan.fixed}
    return Counter(frozenset((lane[one.a.place], lane[one.b.place])) for one in plan.connects)


def wanted(topology: Topology, hosts: tuple[str, ...]) -> Counter[frozenset[str]]:
    return Counter({frozenset((hosts[u], hosts[v])): count for u, v, count in topology.links() if u < v})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 4))
def test_every_multigraph_of_degree_2k_is_carried(seed: int, nodes: int, switches: int) -> None:
    topology = multigraph(seed, nodes, 2 * switches)
    plan = plan_wiring(topology, room(nodes, switches))
    assert made(plan) == wanted(topology, plan.hosts)


@pytest.mark.parametrize("spec", ["complete(5)", "circulant(1024,1,41)", "torus(4,4,4)"])
def test_odd_cycles_are_no_hindrance(spec: str) -> None:
    topology = build(spec)
    plan = plan_wiring(topology, room(topology.nodes, topology.degree // 2))
    assert made(plan) == wanted(topology, plan.hosts)


def uneven(seed: int, hosts: int, switches: int) -> Inventory:
    """Return a room whose lanes end at random sides."""
    rng = np.random.default_rng(seed)
    inventory = room(hosts, switches)
    fixed = []
    for host in inventory.hosts:
        lane = 0
        for panel, side in itertools.product(inventory.panels, ("1", "2")):
            if rng.random() < 0.6:
                fixed.append(Fixed(host.name, f"p{lane}", 1, panel.name, f"{side}{host.name[1:]}"))
                lane += 1
    return Inventory(inventory.hosts, inventory.panels, tuple(fixed))


def exists(topology: Topology, inventory: Inventory) -> bool:
    """Return whether some way to give each link a switch and a direction is within the lanes: all are gone through."""
    lanes = Counter((one.host, one.panel, one.panel_port[0]) for one in inventory.cabling)
    links = [(u, v) for u, v, count in topology.links() if u < v for _ in range(count)]

    def go(place: int) -> bool:
        if place == len(links):
            return True
        for panel in inventory.panels:
            for u, v in (links[place], links[place][::-1]):
                ends = (f"h{u}", panel.name, "1"), (f"h{v}", panel.name, "2")
                if all(lanes[end] > 0 for end in ends):
                    lanes.subtract(ends)
                    found = go(place + 1)
                    lanes.update(ends)
                    if found:
                        return True
        return False

    return go(0)


@pytest.mark.floor(carried=5, refused=5)
@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 5), st.integers(1, 3))
def test_uneven_rooms_carry_what_all_ways_gone_through_carry(seed: int, nodes: int, switches: int) -> None:
    inventory, topology = uneven(seed, nodes, switches), multigraph(seed + 1, nodes, switches)
    if not inventory.cabling:
        return
    hosts = [host.name for host in inventory.hosts]
    try:
        plan = plan_wiring(topology, inventory, hosts=hosts)
    except InfeasibleError:
        reached("refused")
        assert not exists(topology, inventory)
        return
    reached("carried")
    assert made(plan) == wanted(topology, plan.hosts)


def test_a_link_that_cannot_be_made_is_named() -> None:
    inventory = room(6, 1)
    fixed = tuple(Fixed(f"h{n}", "p0", 1, "s0", f"{1 if n in {0, 1, 4} else 2}{n}") for n in range(6))
    split = Inventory(inventory.hosts, inventory.panels, fixed)
    pair = Topology.from_links(6, [(0, 1), (1, 0), (2, 3), (3, 2), (4, 5), (5, 4)])
    with pytest.raises(InfeasibleError, match=r"link 0 - 1 .*'h0' and 'h1': both end at the same side .* and 1 more"):
        plan_wiring(pair, split, hosts=["h0", "h1", "h2", "h3", "h4", "h5"])
    assert plan_wiring(pair, split, hosts=["h0", "h2", "h1", "h3", "h4", "h5"]).connects


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 3))
def test_turned_links_go_against_as_few_wishes_as_any(seed: int, nodes: int, most: int) -> None:
    topology = multigraph(seed, nodes, 3)
    links = np.array([(u, v) for u, v, count in topology.links() if u < v for _ in range(count)]).reshape(-1, 2)[:9]
    rng = np.random.default_rng(seed)
    wishes = rng.integers(-1, 2, len(links)).tolist()
    lanes = rng.integers(0, most + 1, (nodes, 2, 1))
    least = None
    for ways in itertools.product((1, -1), repeat=len(links)):
        ends = [pair if way > 0 else pair[::-1] for pair, way in zip(links.tolist(), ways, strict=True)]
        out, into = (Counter(end[side] for end in ends) for side in (0, 1))
        if all(out[n] <= lanes[n, 0, 0] and into[n] <= lanes[n, 1, 0] for n in range(nodes)):
            against = sum(wish * way < 0 for wish, way in zip(wishes, ways, strict=True))
            least = against if least is None else min(least, against)
    found = orient_links(links[:, 0], links[:, 1], wishes, lanes)
    assert (found is None) == (least is None)
    if found is not None and least is not None:
        src, dst = found
        against = sum(wish * (1 if s == u else -1) < 0 for wish, s, u in zip(wishes, src, links[:, 0], strict=True))
        assert np.all(np.bincount(src, minlength=nodes) <= lanes[:, 0, 0])
        assert np.all(np.bincount(dst, minlength=nodes) <= lanes[:, 1, 0])
        assert against == least


def test_no_node_is_left_with_more_links_than_lanes() -> None:
    """Cycles side by side, whose links all wish to leave one end: nodes pass on what is too much to those with room."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order = rng.permutation(8)
        u, v = np.concatenate((order, order)), np.concatenate((np.roll(order, 1), np.roll(order, 3)))
        src, dst = orient_links(u, v, rng.choice((-1, 1), 16).tolist(), np.full((8, 2, 1), 2)) or (u, u)
        assert sorted(src.tolist()) == sorted(dst.tolist()) == sorted([*range(8), *range(8)])
        assert {frozenset(pair) for pair in zip(src, dst, strict=True)} == {
            frozenset(pair) for pair in zip(u, v, strict=True)
        }


def test_hosts_alike_may_have_other_lanes_at_each_side() -> None:
    topology = build("circulant(6,1,2)")
    room = np.tile(np.array([[3, 1], [1, 3]]), (6, 1, 1))
    src, dst, field = split_sided(topology, room, [f"h{node}" for node in range(6)], seed=0, seconds=10)
    assert Counter(map(frozenset, zip(src.tolist(), dst.tolist(), strict=True))) == Counter(
        frozenset((u, v)) for u, v, _ in topology.links() if u < v
    )
    for side, ends in enumerate((src, dst)):
        used = Counter(zip(ends.tolist(), field.tolist(), strict=True))
        assert all(count <= room[node, side, one] for (node, one), count in used.items())


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 6), st.integers(1, 3))
def test_changes_keep_to_the_sides(seed: int, nodes: int, switches: int) -> None:
    inventory = room(nodes, switches)
    plans = [plan_wiring(multigraph(seed + n, nodes, 2 * switches), inventory, seed=seed) for n in (0, 1)]
    for target in (plans[1], plans[1].topology):
        found = change_wiring(plans[0], target, downtime=True, throughput=False)
        kept = change_wiring(plans[0], target, downtime=True, throughput=False, keep_hosts=True)
        assert made(found.after) == wanted(plans[1].topology, found.after.hosts)
        assert found.change.at_least <= found.moves <= kept.moves
        there = {(one.a, one.b) for one in plans[0].connects}
        assert len(there - {(one.a, one.b) for one in found.after.connects}) == len(found.change.removed)
    own = {(one.a, one.b) for one in plans[1].connects}
    most = max(len(there), len(own))
    assert change_wiring(plans[0], plans[1], downtime=True, throughput=False).moves <= most - len(there & own)


def test_nothing_moves_where_nothing_changes() -> None:
    plan = plan_wiring("torus(4,4)", room(16, 2))
    assert change_wiring(plan, "torus(4,4)").moves == 0


def test_files_keep_sides(tmp_path: Path) -> None:
    path = tmp_path / "room.yaml"
    path.write_text(FILE)
    plan = plan_wiring("circulant(6,1,2)", path)
    assert made(plan) == wanted(plan.topology, plan.hosts)
    save_wiring(plan, tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json").inventory == plan.inventory
    turned_over = (tmp_path / "plan.json").read_text().replace('["S', '["N9').replace('"S1"', '"N1"')
    (tmp_path / "bad.json").write_text(turned_over)
    with pytest.raises(FileFormatError):
        load_wiring(tmp_path / "bad.json")
    rows = ["device,kind,rack,port,connector,speed,mode,side"]
    rows += [f"h{n},host,r1,p{m},LC,100Gbps,," for n in range(3) for m in range(2)]
    rows += [f"ocs,ocs,r2,{side}-{n},,,duplex,{side}" for side in (1, 2) for n in range(3)]
    (tmp_path / "room.csv").write_text("\n".join(rows) + "\n")
    assert read_inventory(tmp_path / "room.csv").two_sided


def test_sides_that_contradict_are_refused() -> None:
    inventory = room(3, 1)
    port = Panel("x", "", "s", 3, "ocs", (PanelPort("1", "duplex"),), "x")
    with pytest.raises(InventoryError, match="needs a side"):
        Inventory(inventory.hosts, (*inventory.panels, port))
    port = Panel("x", "", "s", 3, "ocs", (PanelPort("1", "simplex", side="1"),), "x")
    with pytest.raises(InventoryError, match="only duplex ports of circuit switches"):
        Inventory(inventory.hosts, (*inventory.panels, port))


def test_check_and_repairs_keep_to_the_sides() -> None:
    plan = plan_wiring("circulant(8,1,2)", room(8, 2))
    heard: dict[Lane, Lane] = {}
    first, second = [one for one in plan.connects if one.a.panel == "s0" and plan.link_of(one)[0] in {0, 4}][:2]
    for one in plan.connects:
        other = {first.cable: second, second.cable: first}.get(one.cable, one)
        heard[one.a.source], heard[other.b.source] = other.b.source, one.a.source
    found = check_wiring(plan, Observed(heard))
    assert not found.ok
    made(found.repair.after)
    assert found.repair.moves == 2
    lost = best_repair(plan, Failure("host", "h0", ""), seed=0)
    assert lost is not None
    made(lost.change.after)


def test_a_plant_of_two_sided_switches_carries_odd_cycles() -> None:
    found = carry(room(5, 1))
    assert found.best.carried
    assert {frozenset(pair) for pair in made(found.best.plan)} if found.best.plan else False
