"""Exact pricing against brute force, the linear program, the reference implementation and the theorems."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.floors import reached
from tests.samples.loads import reference_layer_loads, spff_loads
from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.compiled import Kernel
from topodesign.base.cost import Cost, moore_bound
from topodesign.base.errors import DisconnectedError, TopologyError
from topodesign.pricing import closed_form, kernels
from topodesign.pricing.baselines import baselines
from topodesign.pricing.closed_form import (
    compute_undirected_girth,
    distances,
    fullest,
    girth,
    larger,
    layer_loads,
    next_hops,
    price,
    price_at_least,
)
from topodesign.pricing.evaluation import price_both
from topodesign.pricing.node_order import node_order
from topodesign.pricing.repricing import price_topology
from topodesign.pricing.split_deferral import best_deferral
from topodesign.pricing.windows import genkautz_at_most
from topodesign.pricing.workload import Workload, winners
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology


def all_distances(topology: Topology) -> np.ndarray[Any, Any]:
    """Distances by Floyd and Warshall."""
    n = topology.nodes
    far = np.full((n, n), 10**6)
    np.fill_diagonal(far, 0)
    for u, v, _ in topology.links():
        far[u, v] = min(far[u, v], 1)
    for k in range(n):
        far = np.minimum(far, far[:, [k]] + far[[k], :])
    return far


def brute_force_loads(topology: Topology, step: int = 1) -> list[Fraction]:
    """Try every non-empty set of links of every node (Theorem 20), or of one of so many."""
    n, far = topology.nodes, all_distances(topology)
    loads = [Fraction(0)] * int(far[::step].max())
    for u in range(0, n, step):
        links = {v: c for w, v, c in topology.links() if w == u and v != u}
        for x in range(1, int(far[u].max()) + 1):
            hops = [{w for w in links if far[w, v] == x - 1} for v in range(n) if far[u, v] == x]
            for size in range(1, len(links) + 1):
                for chosen in itertools.combinations(links, size):
                    inside = sum(h <= set(chosen) for h in hops)
                    loads[x - 1] = max(loads[x - 1], Fraction(inside, sum(links[w] for w in chosen)))
    return loads


@given(regular_digraphs(), st.integers(1, 12))
@settings(max_examples=150, deadline=None)
def test_price_is_the_largest_ratio_over_all_sets_of_links(topology: Topology, some: int) -> None:
    loads = brute_force_loads(topology)
    assert layer_loads(topology) == loads
    assert reference_layer_loads(topology) == loads
    cost = price(topology)
    assert cost.steps == len(loads)
    assert cost.bandwidth == Fraction(topology.degree, topology.nodes) * sum(loads)
    least = brute_force_loads(topology, -(-topology.nodes // some))  # of nodes as far apart as so many can be
    assert price_at_least(topology, some) == Cost(len(least), Fraction(topology.degree, topology.nodes) * sum(least))
    far = all_distances(topology)
    assert [distances(topology, node).tolist() for node in range(topology.nodes)] == far.tolist()
    assert girth(topology) == min(1 + far[v, u] for u, v, _ in topology.links() if u != v)


@pytest.mark.dear
@given(regular_digraphs(most_nodes=14, most_degree=5))
@settings(max_examples=40, deadline=None)
def test_price_equals_the_linear_program(topology: Topology) -> None:
    assert layer_loads(topology) == spff_loads(topology)


@given(regular_digraphs(most_nodes=60, most_degree=9), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_compiled_kernel_equals_the_reference(topology: Topology, some: int) -> None:
    assert layer_loads(topology) == reference_layer_loads(topology)
    least, cost = price_at_least(topology, some), price(topology)
    assert least.dominates(cost)
    assert price_at_least(topology, topology.nodes) == cost  # no symmetry is known, so no node is omitted
    assert all(set(np.unique(hops)) <= {0, 1} for hops, _, _ in next_hops(topology, some % topology.nodes))
    assert cost.bandwidth >= Fraction(topology.nodes - 1, topology.nodes)


@given(regular_digraphs(), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_trunks_cost_what_single_links_cost(topology: Topology, times: int) -> None:
    trunks = Topology.from_arrays(topology.nodes, topology.src, topology.dst, topology.capacity * times)
    assert price(trunks) == price(topology)


@given(regular_digraphs(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_price_does_not_depend_on_the_numbering(topology: Topology, random: object) -> None:
    order = np.arange(topology.nodes)
    random.shuffle(order)  # type: ignore[attr-defined]
    renamed = Topology.from_arrays(topology.nodes, order[topology.src], order[topology.dst], topology.capacity)
    assert price(renamed) == price(topology)


@pytest.mark.parametrize(
    "text",
    [
        "circulant(30,4,7)",
        "cayley(metacyclic(7,3,2),1,8,13)",
        "line(cayley(dihedral(5),1,5,7),2)",
        "line(product(circulant(5,1),dicirculant(4,1)),2)",
        "product(genkautz(2,7),complete(4))",
        "degree(genkautz(2,6),3)",
        "degree(line(cayley(dihedral(4),1,5)),2)",
        "power(diamond(),2)",
        "bidirect(cayley(metacyclic(7,3,2),1,8))",
        "parallel(product(genkautz(2,9),biring(2,4)),3)",
        "transpose(line(cayley(metacyclic(7,3,2),1,8,13)))",
    ],
)
def test_representatives_stand_for_all_sources(text: str) -> None:
    topology = build(text)
    assert topology.representatives is None or len(topology.representatives) < topology.nodes
    assert price(topology) == price(topology, all_sources=True)


def test_more_than_sixty_four_neighbours_take_the_other_way() -> None:
    assert price(build("complete(70)")).bandwidth == Fraction(69, 70)
    wide, shares = build("product(complete(66),uniring(1,2))"), list[float]()
    assert price(wide) == price(wide, all_sources=True, progress=shares.append)
    assert price(wide).bandwidth == Fraction(wide.nodes - 1, wide.nodes)
    assert shares == [node / wide.nodes for node in range(wide.nodes)]


def test_as_much_work_as_is_said_is_done_the_other_way_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build("complete(66)")
    work = len(topology.representatives or ()) * 66 * 65 * 65
    monkeypatch.setattr(closed_form, "_MAX_WIDE_WORK", work)
    assert price(topology) == Cost(1, Fraction(65, 66))
    monkeypatch.setattr(closed_form, "_MAX_WIDE_WORK", work - 1)
    with pytest.raises(TopologyError, match="more than 64 neighbours"):
        price(topology)


def test_all_sources_are_looked_at_whatever_a_symmetry_says() -> None:
    """A false one says that all nodes are like one of them, where another is farther from all, or near a cycle."""
    ring = [(1, 2), (2, 3), (3, 1)]
    both = Topology.from_links(4, [*ring, (0, 1), *((v, u) for u, v in [*ring, (0, 1)])])
    one_way = Topology.from_links(4, [*ring, (0, 1), (3, 0)])

    def false(true: Topology, node: int) -> Topology:
        return replace(true, symmetry=Symmetry(4, (node,), lambda: [np.array([1, 2, 3, 0])]))

    near, far = false(both, 1), false(both, 0)
    assert layer_loads(near, all_sources=True) == brute_force_loads(both) != layer_loads(near)
    assert price(near, all_sources=True) == price(both) != price(near)
    assert compute_undirected_girth(far, all_sources=True) == compute_undirected_girth(both) == 3
    assert compute_undirected_girth(far) != 3
    assert girth(false(one_way, 0), all_sources=True) == girth(one_way) == 3
    assert girth(false(one_way, 0)) == 4


def test_known_prices() -> None:
    """Table 2 of the paper and DESIGN section 2."""
    assert price(build("genkautz(4,1024)")).bandwidth == Fraction(133203125, 10**8)
    for text, steps, bandwidth in [
        ("line(circulant(16,3,4),3)", 6, "261/256"),
        ("dicirculant(8,1,3)", 3, "7/8"),
        ("power(product(uniring(1,4),uniring(1,8)),2)", 20, "1023/1024"),
    ]:
        cost = price(build(text), all_sources=True)
        assert (cost.steps, cost.bandwidth) == (steps, Fraction(bandwidth))


def test_what_cannot_be_priced_is_refused() -> None:
    with pytest.raises(DisconnectedError):
        price(Topology.from_links(4, [(0, 1), (1, 0), (2, 3), (3, 2)]))
    with pytest.raises(DisconnectedError):
        price(Topology.from_links(3, [(0, 1), (1, 2)]))
    with pytest.raises(DisconnectedError):
        price(Topology.from_links(2, []))
    for source in range(3):
        with pytest.raises(DisconnectedError):
            next_hops(Topology.from_links(3, [(0, 1), (1, 0)]), source)
    with pytest.raises(TopologyError, match="at least 2"):
        price(Topology.from_links(1, [(0, 0)]))
    switched = Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2])
    for asked in (price, layer_loads, lambda topology: price_at_least(topology, 1)):
        with pytest.raises(TopologyError, match="switches"):
            asked(switched)
    most = 2**20
    assert price(Topology.from_links(2, [(0, 1, most), (1, 0, most)])) == Cost(1, Fraction(1, 2))
    with pytest.raises(TopologyError, match="ports"):
        price(Topology.from_links(2, [(0, 1, most + 1), (1, 0, most + 1)]))


COLUMN = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 99)), min_size=1, max_size=5)


@given(COLUMN, COLUMN)
def test_of_two_columns_the_larger_fraction_is_taken_at_each_distance(one: list[Any], other: list[Any]) -> None:
    """As of the sources that two threads look at; one may reach farther than the other."""
    found = larger(*(tuple(np.array(rows).T) for rows in (one, other)))
    wanted = [max(Fraction(*row) for row in both if row is not None) for both in itertools.zip_longest(one, other)]
    assert [Fraction(p, q) for p, q in zip(*(side.tolist() for side in found), strict=True)] == wanted


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 4)), min_size=1, max_size=9))
def test_the_fullest_link_has_the_largest_load_over_its_capacity(links: list[tuple[int, int]]) -> None:
    load, capacity = np.array(links).T
    assert fullest(load, capacity) == max(Fraction(*link) for link in links)


@pytest.mark.parametrize("asked", [price, girth, compute_undirected_girth])
def test_progress_is_told_until_all_is_done(asked: Callable[..., object]) -> None:
    shares: list[float] = []
    asked(build("circulant(30,4,7)"), all_sources=True, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_what_has_no_cycle_has_no_girth() -> None:
    path = [(0, 1), (1, 2)]
    assert girth(Topology.from_links(3, path)) is None
    assert girth(Topology.from_links(3, [])) is None
    assert compute_undirected_girth(Topology.from_links(3, [*path, *((v, u) for u, v in path)])) is None


def test_distances_mark_what_is_not_reached() -> None:
    topology = Topology.from_links(4, [(0, 1), (1, 2), (2, 0), (3, 0)])
    assert distances(topology, 0).tolist() == [0, 1, 2, -1]


@given(st.integers(1, 7), st.integers(0, 2**32))
def test_all_sets_and_a_flow_find_the_same_load(links: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks = rng.permutation(np.arange(1, 1 << links))[: rng.integers(1, 20)].astype(np.uint64)
    counts, capacity = rng.integers(1, 50, len(masks)), rng.integers(1, 4, links)
    layer = len(masks), masks, counts, capacity
    wanted = max(
        Fraction(
            sum(count for mask, count in zip(masks.tolist(), counts.tolist(), strict=True) if not mask & ~some),
            sum(room for link, room in enumerate(capacity.tolist()) if some >> link & 1),
        )
        for some in range(1, 1 << links)
    )
    assert Fraction(*kernels._fullest_set.plain(*layer, 0, 1)) == wanted
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernels, "_SETS_PER_GROUP", 0)
        by_flow = Kernel(kernels._raise_load._source, None)
        found = by_flow.plain(*layer, 0, 1, kernels._split_scale.plain(links), np.zeros(links, np.int64))
    assert Fraction(*found) == wanted


def test_a_topology_is_given_up_by_what_some_of_its_nodes_show() -> None:
    """It is asked after 32, 96 and all nodes, of means that never fall, and the last is the price."""
    topology = build("randomregular(100,3,1)")
    asked: list[Cost] = []

    def never(cost: Cost) -> bool:
        asked.append(cost)
        return False

    found = closed_form.price_unless(topology, never)
    assert found == (price(topology), price(topology.transpose()))
    assert asked[-1] == found[0].average_with(found[1])
    assert len(asked) == 3
    assert all(one.dominates(other) for one, other in itertools.pairwise(asked))
    assert closed_form.price_unless(topology, lambda cost: cost == asked[1]) is None
    assert closed_form.price_unless(topology, lambda _: True) is None


@pytest.mark.parametrize("seed", range(4))
def test_no_node_is_skipped_where_none_rules_a_topology_out(seed: int) -> None:
    """Whichever node is the worst: each is the first in one of the numberings."""
    links = regular_links(7, 2, seed)
    for shift in range(7):
        topology = Topology.from_links(7, [((u + shift) % 7, (v + shift) % 7) for u, v in links])
        assert closed_form.price_unless(topology, lambda _: False) == (price(topology), price(topology.transpose()))


def regular_links(nodes: int, degree: int, seed: int) -> list[tuple[int, int]]:
    """A ring, and random permutations."""
    rng = np.random.default_rng(seed)
    targets = [np.roll(np.arange(nodes), -1), *(rng.permutation(nodes) for _ in range(degree - 1))]
    return [(u, int(v)) for row in targets for u, v in enumerate(row)]


# -- Crossovers: between two of them one cost stays the least, and it is the one that is named


@given(st.lists(st.tuples(st.integers(0, 30), st.fractions(0, 4, max_denominator=30)), min_size=1, max_size=8))
def test_the_winner_is_the_least_of_all_until_the_next(points: list[tuple[int, Fraction]]) -> None:
    costs = [Cost(steps, y) for steps, y in points]
    found = winners(costs, Fraction(3))
    sizes = [size for size, _ in found]
    assert sizes[0] == 0
    assert sizes == sorted(set(sizes))

    def time(place: int, size: Fraction) -> Fraction:
        return costs[place].steps + costs[place].bandwidth * size / 3

    for (low, place), high in zip(found, [*sizes[1:], sizes[-1] + 10**6], strict=True):
        for size in (low, low + (high - low) / 3, high):
            assert time(place, size) == min(time(other, size) for other in range(len(costs)))
    for (_, one), (size, other) in itertools.pairwise(found):
        assert time(one, size) == time(other, size)
        assert time(one, size + 1) > time(other, size + 1)


# -- Bounds of generalized Kautz digraphs by windows, against prices from every node


@given(st.integers(2, 9), st.integers(10, 300))
def test_no_digraph_costs_more(d: int, n: int) -> None:
    bound = genkautz_at_most(d, n)
    assert bound is not None
    there, back = price_both(build(f"genkautz({d},{n})"))
    assert there.dominates(bound[0])
    assert back.dominates(bound[1])
    assert bound[0].steps <= moore_bound(n, d) + 1


@pytest.mark.parametrize(("d", "n"), [(4, 1024), (3, 729), (2, 128), (4, 1022)])
def test_it_is_the_price_where_the_last_window_goes_round_once(d: int, n: int) -> None:
    assert genkautz_at_most(d, n) == price_both(build(f"genkautz({d},{n})"))


@pytest.mark.parametrize(("d", "n"), [(1, 9), (65, 1000), (4, 4)])
def test_others_have_no_bound(d: int, n: int) -> None:
    assert genkautz_at_most(d, n) is None


# -- Prices after losses: what is known of the nodes that nothing changes for is what pricing anew finds


def without_loops(topology: Topology) -> Topology:
    return Topology.from_links(topology.nodes, [link for link in topology.links() if link[0] != link[1]])


@given(regular_digraphs())
def test_nothing_lost_is_the_price(topology: Topology) -> None:
    topology = without_loops(topology)
    known = price_topology(topology)
    assert known.cost() == known.cost_without(topology) == price(topology, all_sources=True)


@pytest.mark.floor(apart=10, left=15)
@settings(max_examples=80)
@given(regular_digraphs(9, 4), st.data())
def test_what_is_left_costs_what_pricing_it_anew_gives(topology: Topology, data: st.DataObject) -> None:
    """In parts of the bandwidth that a node had before: the degree in the price is the one before the loss."""
    topology = without_loops(topology)
    lost = data.draw(st.lists(st.integers(0, len(topology.src) - 1), min_size=1, max_size=3))
    capacity = topology.capacity.copy()
    np.subtract.at(capacity, lost, 1)
    some = capacity > 0
    left = Topology.from_arrays(topology.nodes, topology.src[some], topology.dst[some], capacity[some])
    try:
        anew = price(left, all_sources=True)
    except DisconnectedError:
        with pytest.raises(DisconnectedError):
            price_topology(topology).cost_without(left)
        reached("apart")
        return
    reached("left")
    before = Fraction(topology.degree, left.degree)
    assert price_topology(topology).cost_without(left) == Cost(anew.steps, anew.bandwidth * before)


# -- What people wire today: each baseline is its model, and is there only where its ports are


WORK = Workload(Fraction(1, 10**5), (Fraction(2**20), Fraction(10**9)), Fraction(10**11))


def test_baselines_are_their_models() -> None:
    ring, fast, trees = baselines(1024, 4, WORK)
    optimal = Fraction(1023, 1024)
    assert (ring.cost, fast.cost, trees.cost) == (Cost(1023, optimal), Cost(512, optimal), None)
    for place, size in enumerate(WORK.sizes):
        whole = 8 * size / WORK.bandwidth
        assert ring.allreduce[place] == 2 * (1023 * WORK.alpha + optimal * whole)
        assert fast.allreduce[place] == 2 * (512 * WORK.alpha + optimal * whole)
        assert trees.allreduce[place] == min(2 * (9 + k) * (WORK.alpha + 2 * whole / k) for k in range(1, 1000))
    free = Workload(Fraction(0), (Fraction(2**20),), WORK.bandwidth)
    assert float(baselines(64, 4, free)[2].allreduce[0]) == pytest.approx(
        float(4 * 8 * 2**20 / WORK.bandwidth), rel=1e-4
    )


@pytest.mark.parametrize(("degree", "count"), [(1, 0), (3, 0), (2, 2), (4, 3), (5, 1), (8, 3)])
def test_baselines_need_the_ports_they_use(degree: int, count: int) -> None:
    assert len(baselines(9, degree, WORK)) == count


# -- Orders of nodes: the same, however nodes are numbered, and so is what deferral finds


def renamed(topology: Topology, places: np.ndarray) -> Topology:
    """Return the topology with each node called by its place, without its symmetry."""
    return Topology.from_arrays(topology.nodes, places[topology.src], places[topology.dst], topology.capacity)


def in_order(topology: Topology) -> Topology:
    return renamed(topology, np.argsort(node_order(topology)))


@given(regular_digraphs(14, 4), st.integers(0, 2**32))
@settings(max_examples=60)
def test_the_order_says_nothing_of_numbers(topology: Topology, seed: int) -> None:
    order = node_order(topology)
    assert sorted(order) == list(range(topology.nodes))
    other = renamed(topology, np.random.default_rng(seed).permutation(topology.nodes))
    assert in_order(other) == in_order(topology)


@pytest.mark.parametrize("links", [[], [(1, 2)], [(3, 0), (3, 1), (1, 3)]])
def test_nodes_without_links_have_a_place(links: list[tuple[int, int]]) -> None:
    topology = Topology.from_links(4, links)
    for seed in range(6):
        other = renamed(topology, np.random.default_rng(seed).permutation(4))
        assert sorted(node_order(other)) == [0, 1, 2, 3]
        assert in_order(other) == in_order(topology)


@pytest.mark.parametrize("spec", ["randomregulargraph(40,3,1)", "torus(4,6)", "genkautz(3,40)", "complete(70)"])
def test_regular_and_symmetric_topologies_have_one_too(spec: str) -> None:
    topology = build(spec)
    for seed in range(4):
        other = renamed(topology, np.random.default_rng(seed).permutation(topology.nodes))
        assert in_order(other) == in_order(topology)


@pytest.mark.parametrize("spec", ["randomregulargraph(22,4,0)", "genkautz(3,20)", "randomregular(24,3,1)"])
def test_deferred_prices_are_within_one_percent_however_nodes_are_numbered(spec: str) -> None:
    topology = build(spec)
    ways = [renamed(topology, np.random.default_rng(seed).permutation(topology.nodes)) for seed in few(range(8))]
    prices = [best_deferral(way).cost(way).bandwidth for way in (topology, *ways)]
    assert 100 * max(prices) <= 101 * min(prices)
