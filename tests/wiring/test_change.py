"""Changes of a wiring: the relabelling that keeps most, the patches that are left to move, and their stages."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from tests.samples.wirings import bare, wired
from topodesign import build
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import program
from topodesign.optima.forest.bottleneck import optimum
from topodesign.topology.isomorphism import isomorphism
from topodesign.topology.topology import Topology
from topodesign.wiring.change import field_kernels, relabel_kernels
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.fields import label_links
from topodesign.wiring.change.patches import Change, Pairing, as_simplex, make_topology
from topodesign.wiring.change.relabel import Relabelling, list_symmetries, most_kept, relabel
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.change.stages import Stage, stages
from topodesign.wiring.change.strength import strength
from topodesign.wiring.inventory.answers import init_wiring, plain_inventory
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.inventory.files import read_inventory
from topodesign.wiring.plan.cross_connects import Fibre, fibres
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import load_wiring, save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plan.proof import check_plan
from topodesign.wiring.plan.wire import plan_wiring


def matrix(topology: Topology) -> np.ndarray:
    table = np.zeros((topology.nodes, topology.nodes), dtype=np.int16)
    table[topology.src, topology.dst] = topology.capacity
    np.fill_diagonal(table, 0)
    return table


def shuffled(topology: Topology, order: list[int]) -> Topology:
    links = [(order[u], order[v], capacity) for u, v, capacity in topology.links()]
    return Topology.from_links(topology.nodes, links)


@st.composite
def pairs(draw: st.DrawFn, most_nodes: int, most_degree: int = 3) -> tuple[Topology, Topology]:
    """Two digraphs of one size and degree."""
    first = draw(regular_digraphs(most_nodes, most_degree))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    targets = [np.roll(np.arange(first.nodes), 1), *(rng.permutation(first.nodes) for _ in range(first.degree - 1))]
    return first, Topology.from_arrays(
        first.nodes, np.tile(np.arange(first.nodes), first.degree), np.concatenate(targets)
    )


@settings(max_examples=25, deadline=None)
@given(pairs(7))
def test_relabelling_keeps_as_much_as_any_permutation(two: tuple[Topology, Topology]) -> None:
    have, want = (matrix(topology) for topology in two)
    orders = [np.array(order) for order in itertools.permutations(range(len(have)))]
    best = max(int(np.minimum(want, have[np.ix_(order, order)]).sum()) for order in orders)
    found = relabel(*two)
    place = np.array(found.place)
    assert found.kept == found.most == best == np.minimum(want, have[np.ix_(place, place)]).sum()


@settings(max_examples=25, deadline=None)
@given(pairs(6), st.booleans())
def test_branch_and_bound_alone_finds_the_best(two: tuple[Topology, Topology], both_ways: bool) -> None:
    have, want = (matrix(topology) for topology in two)
    if both_ways:
        have, want = have + have.T, want + want.T
    nodes = len(have)
    orders = [np.array(order) for order in itertools.permutations(range(nodes))]
    best = max(int(np.minimum(want, have[np.ix_(order, order)]).sum()) for order in orders)
    group = np.array([order for order in orders if np.array_equal(have, have[np.ix_(order, order)])], dtype=np.int16)
    for symmetries in (group, group[:1]):
        match = np.full(nodes, -1)
        grain = 2 if both_ways else 1
        assert relabel_kernels.exhaust(want, have, np.arange(nodes), symmetries, match, -1, grain, 10**6) > 0
        assert np.minimum(want, have[np.ix_(match, match)]).sum() == best


@settings(max_examples=40, deadline=None)
@given(pairs(6, 4), st.booleans(), st.integers(0, 2))
def test_no_permutation_keeps_more_than_the_bound(
    two: tuple[Topology, Topology], both_ways: bool, missing: int
) -> None:
    one, other = (without_loops(topology) for topology in two)
    if both_ways:
        one, other = (Topology.from_links(t.nodes, [*t.links(), *t.transpose().links()]) for t in (one, other))
    other = Topology.from_links(other.nodes, other.links()[missing:])
    have, want = matrix(one), matrix(other)
    orders = [np.array(order) for order in itertools.permutations(range(len(have)))]
    best = max(int(np.minimum(want, have[np.ix_(order, order)]).sum()) for order in orders)
    assert best <= most_kept(one, other) == most_kept(other, one)
    assert most_kept(one, one) == have.sum()


@pytest.mark.parametrize("spec", ["torus(5,5)", "genkautz(3,20)"])
def test_nodes_placed_one_by_one_keep_what_is_said_in_both_tiers(spec: str) -> None:
    topology = build(spec)
    nodes = topology.nodes
    order = np.random.default_rng(1).permutation(nodes).tolist()
    have, want = (
        label_links(nodes, np.array([row for u, v, _ in one.links() if u != v for row in ((u, v, 0), (v, u, 1))]))
        for one in (topology, shuffled(topology, order))
    )
    kind = np.arange(nodes) % 2
    for kernel in (field_kernels.spread_nodes.plain, field_kernels.spread_nodes.machine):
        place = np.arange(nodes)
        kept = kernel(have, want, kind, place, (0, 2), np.array([5], dtype=np.uint64))
        assert sorted(place) == list(range(nodes))
        assert np.array_equal(kind[place], kind)
        assert kept == np.minimum(matrix(shuffled(topology, order)), matrix(topology)[np.ix_(place, place)]).sum()


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ("torus(8,8)", "circulant(64,1,8)", 240),
        ("torus(6,6)", "circulant(36,1,6)", 132),
        ("torus(4,8)", "circulant(32,1,8)", 120),
    ],
)
def test_ways_around_are_told_from_each_other(one: str, other: str, kept: int) -> None:
    found = relabel(build(one), build(other))
    assert found.kept == found.most == kept


@pytest.mark.dear
def test_the_bound_on_large_topologies() -> None:
    # a torus has a square through every pair of links that turn off, a Kautz graph hardly any
    wiring = wired(build("torus(6,6)"), 4)
    change = fewest_moves(wiring, build("genkautz(4,36)"))
    assert 144 / 4 < change.at_least <= change.moves
    assert not change.fewest


@pytest.mark.dear("circulant(512,1,21,86,120)-circulant(512,1,30,45,111)-300")
@pytest.mark.parametrize(
    ("one", "other", "lost"),
    [("circulant(512,1,21,86,120)", "circulant(512,1,30,45,111)", 300), ("torus(24,24)", "circulant(576,1,24)", 2)],
)
def test_walks_around_large_topologies_are_counted(one: str, other: str, lost: int) -> None:
    links = int(build(one).capacity.sum())
    assert 0 < lost <= links - most_kept(build(one), build(other)) < links


@pytest.mark.parametrize(("spec", "order"), [("hypercube(3)", 48), ("complete(5)", 120), ("uniring(1,7)", 7)])
def test_automorphisms_are_all_found(spec: str, order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = matrix(build(spec))
    found = list_symmetries(build(spec), table)
    assert len(found) == order == len({tuple(row) for row in found.tolist()})
    assert all(np.array_equal(table, table[np.ix_(row, row)]) for row in found)
    monkeypatch.setattr("topodesign.wiring.change.relabel._GROUP", 6)  # too many: those that fix some nodes
    rows = {tuple(row) for row in list_symmetries(build(spec), table).tolist()}
    assert rows < {tuple(row) for row in found.tolist()}
    assert len(rows) <= 6
    assert all(tuple(np.array(one)[list(other)].tolist()) in rows for one in rows for other in rows)


@settings(max_examples=40, deadline=None)
@given(regular_digraphs(), st.randoms(use_true_random=False))
def test_a_topology_in_another_order_is_recognised(topology: Topology, random: object) -> None:
    order = list(range(topology.nodes))
    random.shuffle(order)  # type: ignore[attr-defined]
    existing = shuffled(topology, order)
    found = isomorphism(existing, topology)
    assert found.decided
    assert found.place is not None
    assert shuffled(topology, list(found.place)) == existing


@settings(max_examples=40, deadline=None)
@given(pairs(7, 2))
def test_isomorphism_agrees_with_a_library(two: tuple[Topology, Topology]) -> None:
    match = nx.algorithms.isomorphism.numerical_edge_match("capacity", 1)
    found = isomorphism(*two)
    assert found.decided
    assert (found.place is not None) == nx.is_isomorphic(*(t.to_networkx() for t in two), edge_match=match)


def test_alike_to_refinement_but_not_isomorphic() -> None:
    rook = build("hamming(2,4)")
    around = [(1, 0), (0, 1), (1, 1)]
    steps = [*around, *((-a % 4, -b % 4) for a, b in around)]
    shrikhande = Topology.from_links(
        16, [(4 * i + j, 4 * ((i + a) % 4) + (j + b) % 4) for i in range(4) for j in range(4) for a, b in steps]
    )
    assert rook.degree == shrikhande.degree == 6
    assert isomorphism(rook, shrikhande).decided
    assert isomorphism(rook, shrikhande).place is None
    undecided = isomorphism(shrikhande, shuffled(rook, list(range(16))), effort=0)
    assert (undecided.place, undecided.decided) == (None, False)


@pytest.mark.floor(staged=15)
@settings(max_examples=30, deadline=None)
@given(pairs(10), st.data())
def test_rewiring_makes_what_is_wanted(two: tuple[Topology, Topology], data: st.DataObject) -> None:
    existing, wanted = two
    panels = data.draw(st.integers(1, existing.degree))
    lanes = panels * -(-existing.degree // panels)
    plan = wired(existing, lanes, panels)
    check_plan(plan)
    change = fewest_moves(plan, wanted)
    check_plan(change.after)
    assert change.after.topology == wanted
    assert {connect.cable for connect in change.made} <= {connect.cable for connect in change.after.connects}
    places = Counter(fibres(connect) for connect in change.after.connects)
    stay = [connect for connect in plan.connects if connect not in set(change.removed)]
    assert places == Counter(map(fibres, stay)) + Counter(map(fibres, change.made))
    links = int(without_loops(wanted).capacity.sum())
    kept = relabel(without_loops(existing), wanted).kept
    assert len(change.made) >= links - kept
    if panels == 1:
        assert len(change.made) == links - kept
        assert change.fewest
    try:
        found = stages(change, 2)
    except InfeasibleError:
        return  # some sparse digraphs fall apart without any one link
    reached("staged")
    check_stages(change, found, 2)


def check_stages(change: Change, found: tuple[Stage, ...], most_dark: int) -> None:
    """Carry the stages out, and look at every one."""
    lit = {fibres(connect): connect for connect in change.before.connects}
    later = {fibre for connect in change.made for fibre in fibres(connect)}
    owner = {f: (e.host, f.side) for c in lit.values() for f, e in zip(fibres(c), (c.a, c.b), strict=True)}
    dark: set[Fibre] = set()
    for stage in found:
        for connect in stage.removed:
            del lit[fibres(connect)]
            dark |= set(fibres(connect))
        worst = max(Counter(owner[fibre] for fibre in dark).values(), default=0)
        assert worst == stage.dark <= most_dark
        assert stage.during == make_topology(change.after.hosts, lit.values())
        busy = {fibre for places in lit for fibre in places}
        for connect in stage.made:
            assert busy.isdisjoint(fibres(connect))
            busy.update(fibres(connect))
            lit[fibres(connect)] = connect
            dark.difference_update(fibres(connect))
        dark &= later  # what nothing is plugged into again is not missed any longer
        assert stage.after == make_topology(change.after.hosts, lit.values())
    assert not dark
    assert lit.keys() == {fibres(connect) for connect in change.after.connects}


@pytest.mark.once
@pytest.mark.parametrize(("panels", "mode"), [(1, "simplex"), (4, "simplex"), (1, "duplex"), (2, "duplex")])
@pytest.mark.parametrize("most_dark", [1, 2])
@pytest.mark.parametrize("nodes", [14, pytest.param(30, marks=pytest.mark.thorough)])
def test_stages_keep_the_fabric_connected(nodes: int, panels: int, mode: str, most_dark: int) -> None:
    plan = wired(build(f"circulant({nodes},1,5)"), 4, panels, mode)  # type: ignore[arg-type]
    change = fewest_moves(plan, build(f"circulant({nodes},3,4)"))
    found = stages(change, most_dark)
    check_stages(change, found, most_dark)
    for stage in found:
        assert nx.is_strongly_connected(stage.during.to_networkx())
        assert nx.is_strongly_connected(stage.after.to_networkx())


def test_the_testbed_of_the_paper_moves_twelve_patches() -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    change = fewest_moves(plan, build("degree(biring(2,6),2)"))
    assert (change.moves, change.fewest) == (12, True)
    (stage,) = stages(change, 1)
    assert (len(stage.made), stage.dark) == (12, 1)
    speed = Fraction(25 * 10**9)
    # an allgather needs 11 shards over 3 links of the host that has lost one, then over 4
    assert strength(stage.during, speed).allgather == 12 * 3 * speed / 8 / 11
    assert strength(stage.after, speed).allgather == 12 * 4 * speed / 8 / 11


@pytest.mark.parametrize(("mode", "moves"), [("simplex", 12), ("duplex", 6)])
def test_the_testbed_as_planned_from_its_inventory(mode: Mode, moves: int) -> None:
    inventory = read_inventory(Path(__file__).parents[2] / "configs" / "inventory_testbed.yaml")
    plan = make_plan(build("circulant(12,2,3)"), inventory, mode=mode)
    change = fewest_moves(plan, build("degree(biring(2,6),2)"))
    assert (change.moves, change.fewest) == (moves, True)
    check_stages(change, stages(change, 1), 1)


def test_hosts_with_few_lanes_are_passed_over() -> None:
    plan = bare(6, 4)
    few = replace(plan, fixed=tuple(one for one in plan.fixed if one.host != "h1" or one.lane <= 2))
    ring = fewest_moves(few, build("biring(2,4)"), hosts=plan.hosts[:4]).after
    change = fewest_moves(ring, build("circulant(5,1,2)"))
    check_plan(change.after)
    assert "h1" not in change.after.hosts


def test_a_ring_cannot_be_turned_round_without_falling_apart() -> None:
    plan = wired(build("uniring(1,6)"), 1)
    backwards = build("uniring(1,6)").transpose()
    assert fewest_moves(plan, backwards).moves == 0  # other hosts are the nodes then
    change = fewest_moves(plan, backwards, hosts=plan.hosts)
    assert (change.moves, change.fewest) == (6, True)
    with pytest.raises(InfeasibleError, match="stays connected"):
        stages(change, 3)
    (outage,) = stages(change, None)
    check_stages(change, (outage,), 1)
    assert not nx.is_strongly_connected(outage.during.to_networkx())
    with pytest.raises(ParameterError, match="at least one"):
        stages(change, 0)


def test_a_wiring_grows_and_shrinks() -> None:
    plan = bare(6, 2)
    small = fewest_moves(plan, build("biring(2,4)"), hosts=plan.hosts[:4]).after
    grown = fewest_moves(small, build("biring(2,6)"))
    assert grown.fewest
    assert len(grown.made) - len(grown.removed) == 4
    check_plan(grown.after)
    found = stages(grown, 1)
    assert found[-1].after == grown.after.topology
    shrunk = fewest_moves(grown.after, build("biring(2,4)"))
    check_plan(shrunk.after)
    assert stages(shrunk, 1)[-1].after == shrunk.after.topology


def test_duplex_and_one_way() -> None:
    duplex = wired(build("biring(2,6)"), 2, mode="duplex")
    wanted = build("genkautz(2,6)")
    with pytest.raises(InfeasibleError, match="reverse"):
        fewest_moves(duplex, wanted)
    with pytest.raises(InfeasibleError, match="one way"):
        as_simplex(duplex)
    both_ways = replace(bare(6, 2), mode="duplex")  # at ports that can be patched one way
    ring = fewest_moves(both_ways, build("biring(2,6)"), hosts=both_ways.hosts).after
    change = fewest_moves(as_simplex(ring), wanted)
    check_plan(as_simplex(ring))
    check_plan(change.after)
    assert change.after.mode == "simplex"


@pytest.mark.parametrize("seed", range(6))
def test_no_fibre_is_given_to_two_links(seed: int) -> None:
    """Whatever is wished for first: each end is free, or of a patch that goes, and is taken once."""
    rng, spot = random.Random(seed), ("h", "AB", "f")  # noqa: S311  a sample
    plan = wired(build("circulant(8,1,2)"), 4, 1, mode="duplex")
    ends = [end for connect in plan.connects for end in (connect.a, connect.b)]
    rng.shuffle(ends)
    free, old = ends[:6], list(zip(ends[6:14:2], ends[7:14:2], strict=True))
    pairing = Pairing([(spot, spot)] * 6, [((spot, a), (spot, b)) for a, b in old], {spot: [*free]})
    granted = {}
    for number in range(3):
        wished = (free[2 * number], ends[rng.randrange(6, 14)])
        if pairing.wish(number, wished):
            granted[number] = wished
    made = pairing.settle()
    taken = [end for pair in made for end in pair]
    assert len(set(taken)) == len(taken) == 12
    assert set(taken) <= set(ends[:14])
    assert all(made[number] == wished for number, wished in granted.items())
    assert granted


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_cables_are_moved_and_not_replaced(mode: str) -> None:
    plan = wired(build("circulant(12,2,3)"), 4, mode=mode)  # type: ignore[arg-type]
    change = fewest_moves(plan, build("degree(biring(2,6),2)"))
    old = {connect.cable: set(fibres(connect)) for connect in change.removed}
    assert {connect.cable for connect in change.made} == old.keys()
    assert all(old[connect.cable].intersection(fibres(connect)) for connect in change.made)


def test_too_much_is_refused() -> None:
    plan = wired(build("biring(2,6)"), 2)
    with pytest.raises(ParameterError, match="7 nodes do not fit on 6 hosts"):
        fewest_moves(plan, build("biring(2,7)"))
    with pytest.raises(InfeasibleError, match="2 lane"):
        fewest_moves(plan, build("complete(6)"))
    with pytest.raises(ParameterError, match="all different"):
        fewest_moves(plan, build("biring(2,6)"), hosts=["h0"] * 6)
    with pytest.raises(InfeasibleError, match="not cabled"):
        fewest_moves(plan, build("biring(2,6)"), hosts=["h0", "h1", "h2", "h3", "h4", "x"])


@settings(max_examples=20, deadline=None)
@given(regular_digraphs(8, 3), st.sampled_from([0, 2, 5]))
def test_strength_is_that_of_a_library(topology: Topology, missing: int) -> None:
    plain = without_loops(topology)
    plain = Topology.from_links(plain.nodes, plain.links()[missing:])
    graph = plain.to_networkx()
    cut = min(nx.minimum_cut_value(graph, u, v) for u, v in itertools.permutations(range(plain.nodes), 2))
    found = strength(plain, Fraction(8))
    assert found.connectivity == cut
    assert found.links == plain.capacity.sum()
    assert (found.allgather is None) == (found.allreduce is None) == (not cut)
    if found.allgather is not None and found.allreduce is not None:
        forth, back = (optimum(way).inverse_rate for way in (plain, plain.transpose()))
        assert found.allgather == found.allgather_most == plain.nodes / forth
        assert found.allreduce == found.allreduce_most == plain.nodes / (forth + back)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("topodesign.wiring.change.strength._MAX_EXACT", 0)
            between = strength(plain, Fraction(8))
        for least, rate, most in (
            (between.allgather, found.allgather, between.allgather_most),
            (between.allreduce, found.allreduce, between.allreduce_most),
        ):
            assert least is not None
            assert most is not None
            assert least <= rate <= most


@settings(max_examples=60, deadline=None)
@given(sizes=st.lists(st.integers(5, 9), min_size=2, max_size=3), degree=st.integers(2, 4), data=st.data())
def test_cuts_of_fewer_links_than_a_node_has_are_found(sizes: list[int], degree: int, data: st.DataObject) -> None:
    links, first = set(), 0
    for size in sizes:  # parts of circulants, with some links between parts
        links |= {(first + u, first + (u + jump) % size) for u in range(size) for jump in range(1, degree + 1)}
        first += size
    pairs = st.tuples(st.integers(0, first - 1), st.integers(0, first - 1)).filter(lambda pair: pair[0] != pair[1])
    links |= set(data.draw(st.lists(pairs, max_size=2 * degree * len(sizes))))
    topology = Topology.from_links(first, sorted(links))
    cut = min(
        nx.minimum_cut_value(topology.to_networkx(), *pair) for u in range(first) for pair in ((0, u), (u, 0)) if u
    )
    assert strength(topology, Fraction(8)).connectivity == cut


def test_command(tmp_path: Path) -> None:
    save_wiring(wired(build("circulant(12,2,3)"), 4), tmp_path / "old.json")
    arguments = [str(tmp_path / "old.json"), "degree(biring(2,6),2)", "-o", str(tmp_path / "new")]
    text = CliRunner().invoke(program, ["wire", "change", *arguments], catch_exceptions=False)
    assert text.output.startswith("circulant(12,2,3) to degree(biring(2,6),2): 12 moves; 36 patches of 48 stay;")
    assert text.output.count("move from") == 12
    assert load_wiring(tmp_path / "new" / "plan.json").topology == build("degree(biring(2,6),2)")
    again = [str(tmp_path / "old.json"), str(tmp_path / "new" / "plan.json"), "--keep-hosts", "--json"]
    document = json.loads(CliRunner().invoke(program, ["wire", "change", *again], catch_exceptions=False).stdout)
    assert document["moves"] == sum(len(stage["made"]) for stage in document["stages"]) == 12
    assert document["stages"][-1]["after"]["connectivity"] == 4
    none = CliRunner().invoke(program, ["wire", "change", arguments[0], "circulant(12,2,3)"], catch_exceptions=False)
    assert none.output == "circulant(12,2,3) to circulant(12,2,3): nothing has to move\n"


def test_racks_that_stand_elsewhere_in_the_room_are_named() -> None:
    room = init_wiring(12, ports=4, connector="LC")
    plan = plan_wiring("circulant(12,2,3)", room)
    (site, places), *_ = room.racks.items()
    rack, (x, y) = next(iter(places.items()))
    moved = replace(room, racks={**room.racks, site: {**places, rack: (x + 1, y)}})
    assert change_wiring(plan, "torus(4,3)", inventory=room).moved_racks == ()
    found = change_wiring(plan, "torus(4,3)", inventory=moved)
    assert found.moved_racks == (rack,)
    assert f"the inventory has 1 rack elsewhere than in the plan: {rack};" in str(found)


def own_moves(plan: WiringPlan, target: WiringPlan) -> int:
    """Moves to the very patches of another plan."""
    old, new = ({frozenset(fibres(connect)) for connect in one.connects} for one in (plan, target))
    return max(len(old - new), len(new - old))


@settings(max_examples=40, deadline=None)
@given(regular_digraphs(7, 4), regular_digraphs(7, 4), st.integers(1, 2), st.data())
def test_a_change_is_never_more_than_with_hosts_as_they_are_or_as_in_the_plan_that_is_wanted(
    one: Topology, two: Topology, fields: int, data: st.DataObject
) -> None:
    mode: Mode = data.draw(st.sampled_from(["simplex", "duplex"]))
    nodes = min(one.nodes, two.nodes)
    have, want = (both_ways(t, nodes) if mode == "duplex" else first_nodes(t, nodes) for t in (one, two))
    lanes = 2 * int(max(have.degree, want.degree, 1)) * fields
    plan, target = wired(have, lanes, fields, mode=mode), wired(want, lanes, fields, mode=mode)
    order = data.draw(st.permutations(target.hosts))
    target = fewest_moves(replace(target, connects=()), want, hosts=order).after
    found = change_wiring(plan, target, downtime=True, throughput=False)
    assert found.moves <= own_moves(plan, target)
    for hosts in (plan.hosts, target.hosts):
        assert found.moves <= fewest_moves(plan, want, hosts=hosts).moves
    kept = change_wiring(plan, target, downtime=True, throughput=False, keep_hosts=True)
    assert found.moves <= kept.moves <= own_moves(plan, target)
    assert found.after.topology == want


def first_nodes(topology: Topology, nodes: int) -> Topology:
    """The links between the first nodes."""
    links = [(u, v) for u, v, count in topology.links() for _ in range(count) if u != v and max(u, v) < nodes]
    return Topology.from_links(nodes, links)


def both_ways(topology: Topology, nodes: int) -> Topology:
    links = [(u, v) for u, v, count in first_nodes(topology, nodes).links() for _ in range(count)]
    return Topology.from_links(nodes, [*links, *((v, u) for u, v in links)])


@pytest.mark.thorough
def test_a_free_order_of_the_hosts_costs_no_more_than_none_over_four_switches() -> None:
    plan = plan_wiring("circulant(256,1,3)", plain_inventory(256, 4, panels=4, kind="ocs"))
    wanted = build("circulant(256,1,5)")
    free, kept = (
        change_wiring(plan, wanted, downtime=True, throughput=False, keep_hosts=keep) for keep in (False, True)
    )
    assert free.moves <= kept.moves == kept.change.at_least == 256


@pytest.mark.dear
def test_an_order_that_needs_more_moves_than_none_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links that stay may have to change their panels, so that an order that keeps more of them can cost more."""
    plan, wanted = wired(build("circulant(12,1,3)"), 4), build("circulant(12,1,5)")
    bad = Relabelling(tuple(np.random.default_rng(1).permutation(12).tolist()), 0, 48)
    monkeypatch.setattr("topodesign.wiring.change.change.relabel", lambda *_, **__: bad)
    kept = fewest_moves(plan, wanted, hosts=plan.hosts)
    worse = fewest_moves(plan, wanted, hosts=[plan.hosts[place] for place in bad.place])
    assert fewest_moves(plan, wanted).moves <= kept.moves < worse.moves
