"""Allreduce where switches copy and add: known optima, and an independent program over trees on random fabrics."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.floors import reached
from topodesign import build_fabric
from topodesign.base.claims import Among
from topodesign.base.errors import InfeasibleError
from topodesign.optima.forest.in_network import InNetworkOptimum, in_network_optimum
from topodesign.optima.forest.in_network_schedule import in_network_schedule
from topodesign.plans.replay.trees import verify_trees
from topodesign.topology.topology import Topology

Capable = frozenset[int]
Load = dict[tuple[int, int], int]

# -- an independent program: its columns are pairs of an in-tree and an out-tree ---------------------------------------


class Trees:
    """The cheapest trees from every root, by dynamic programming over sets of nodes (Dreyfus and Wagner 1971)."""

    def __init__(self, links: list[tuple[int, int]], vertices: int, nodes: list[int], able: Capable) -> None:
        self.links, self.vertices, self.nodes, self.able = links, vertices, nodes, able | set(nodes)

    def cheapest(self, price: list[float]) -> list[tuple[float, Load]]:
        """Return cost and links of the cheapest out-tree from every vertex to all nodes."""
        count = len(self.nodes)
        cost = np.full((self.vertices, 2**count), np.inf)
        how: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        cost[:, 0] = 0
        for mask in range(1, 2**count):
            for at, node in enumerate(self.nodes):
                if mask >> at & 1:
                    cost[node, mask], how[node, mask] = cost[node, mask ^ 1 << at], ((node, mask ^ 1 << at),)
            part = (mask - 1) & mask
            while part:
                for vertex in self.able:
                    if cost[vertex, part] + cost[vertex, mask ^ part] < cost[vertex, mask]:
                        cost[vertex, mask] = cost[vertex, part] + cost[vertex, mask ^ part]
                        how[vertex, mask] = ((vertex, part), (vertex, mask ^ part))
                part = (part - 1) & mask
            for _ in range(self.vertices):
                for (u, v), one in zip(self.links, price, strict=True):
                    if cost[v, mask] + one < cost[u, mask] - 1e-12:
                        cost[u, mask], how[u, mask] = cost[v, mask] + one, ((v, mask),)
        return [(float(cost[root, -1]), self._load(how, root, 2**count - 1)) for root in range(self.vertices)]

    def _load(self, how: dict[tuple[int, int], tuple[tuple[int, int], ...]], root: int, full: int) -> Load:
        load: Load = {}
        todo = [(root, full)]
        while todo:
            at = todo.pop()
            for there in how.get(at, ()):
                if there[0] != at[0]:
                    load[at[0], there[0]] = load.get((at[0], there[0]), 0) + 1
                todo.append(there)
        return load


def best_of_trees(topology: Topology, multicast: Capable, aggregation: Capable) -> Fraction:
    """Return what a packing of pairs of trees reaches, exactly; the best there is, as far as floats can tell."""
    nodes = [v for v in range(topology.nodes) if v not in topology.switches]
    links = [(u, v) for u, v, _ in topology.links()]
    place = {link: at for at, link in enumerate(links)}
    out = Trees(links, topology.nodes, nodes, multicast)
    back = Trees([(v, u) for u, v in links], topology.nodes, nodes, aggregation)
    columns: list[np.ndarray] = []
    price = [1.0] * len(links)
    while True:
        pairs = zip(out.cheapest(price), back.cheapest(price), strict=True)
        cost, (there, here) = min(((a + b, (x, y)) for (a, x), (b, y) in pairs), key=lambda one: one[0])
        column = np.zeros(len(links), dtype=np.int64)
        for link, times in there.items():
            column[place[link]] += times
        for (v, u), times in here.items():
            column[place[u, v]] += times
        if columns and (cost > 1 - 1e-9 or any(np.array_equal(column, one) for one in columns)):
            break
        columns.append(column)
        capacity = topology.capacity.astype(float)
        solved = linprog(-np.ones(len(columns)), A_ub=np.array(columns).T, b_ub=capacity, method="highs")
        price = [max(0.0, -one) for one in solved.ineqlin.marginals]
    amounts = [Fraction(max(0.0, one)).limit_denominator(10**6) for one in solved.x]
    used = [sum(a * int(c[at]) for a, c in zip(amounts, columns, strict=True)) for at in range(len(links))]
    over = max([Fraction(1), *(u / c for u, c in zip(used, topology.capacity.tolist(), strict=True))])
    return sum(amounts, Fraction(0)) / Fraction(over)


def random_fabric(seed: int) -> tuple[Topology, Capable, Capable]:
    """Return two to five nodes and one to three switches, some of which copy or add; mostly duplex."""
    draw = random.Random(seed)  # noqa: S311
    nodes, switches = draw.randint(2, 5), draw.randint(1, 3)
    every = range(nodes + switches)
    links = []
    for switch in every[nodes:]:  # alike links, as in a box
        for node in draw.sample(every[:nodes], draw.randint(2, nodes)):
            links += [(node, switch), (switch, node)] * (1 + switch % 3)
    for _ in range(draw.randint(0, nodes)):
        u, v = draw.sample(every, 2)
        links += [(u, v), (v, u)] * draw.randint(1, 4)
    if draw.random() < 0.2:  # a link lost in one direction, maybe
        links.remove(draw.choice(links))
    topology = Topology.from_links(len(every), links, switches=every[nodes:])
    powers = [frozenset(v for v in every[nodes:] if draw.random() < 0.6) for _ in range(2)]
    return topology, powers[0], powers[0] if draw.random() < 0.7 else powers[1]


def check(seed: int) -> None:
    topology, multicast, aggregation = random_fabric(seed)
    if not multicast | aggregation:
        return
    try:
        found = in_network_optimum(topology, multicast, aggregation)
    except InfeasibleError:
        return
    other = best_of_trees(topology, multicast, aggregation)
    assert other <= found.bound
    assert found.throughput <= found.bound
    if found.exact:
        reached("proven")
        assert float(other) == pytest.approx(float(found.throughput))
    reached("compared")
    trees, _ = in_network_schedule(topology, "allreduce", multicast, aggregation)
    report = verify_trees(trees, multicast=multicast, aggregation=aggregation)
    assert report.ok, report
    assert len(trees.compute_nodes) / trees.inverse_rate >= found.throughput or not found.families


@pytest.mark.floor(compared=10, proven=8)
def test_no_proof_is_refuted_by_a_packing_of_trees() -> None:
    for seed in range(20):
        check(seed)


@pytest.mark.thorough
@pytest.mark.floor(compared=250, proven=230)
def test_no_proof_is_refuted_on_more_fabrics() -> None:
    for seed in range(20, 420):
        check(seed)


# -- what is known -----------------------------------------------------------------------------------------------------


def rated(spec: str, more: str = "") -> tuple[InNetworkOptimum, Fraction]:
    fabric = build_fabric(spec)
    sharp = frozenset(v for v, name in enumerate(fabric.names) if more and name.startswith(more))
    found = in_network_optimum(fabric.topology, fabric.multicast | sharp, fabric.aggregation | sharp)
    return found, found.throughput * fabric.unit / 10**9


def test_nvls_and_sharp_reach_what_every_box_can_send() -> None:
    """450 GB/s of a GPU; 400 of the eight NICs of a box, for two boxes or where rails add and copy, too."""
    assert rated("dgx_h100(1)")[1] == 450
    assert rated("dgx_h100(2)")[1] == 400
    assert rated("dgx_h100(2)", "rail")[1] == 400
    assert all(rated(spec)[0].exact for spec in ("dgx_h100(1)", "dgx_h100(2)"))


@pytest.mark.thorough
def test_of_more_boxes_rails_are_the_bottleneck_unless_they_add_and_copy() -> None:
    """What crosses the rails alone is as in a ring of boxes: 400 B / 2 (B - 1) GB/s."""
    for boxes in (3, 4):
        found, rate = rated(f"dgx_h100({boxes})")
        assert found.exact
        assert rate == Fraction(400 * boxes, 2 * (boxes - 1))
    found, rate = rated("dgx_h100(3)", "rail")
    assert found.exact
    assert rate == 400


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_a_star_of_a_capable_switch_is_a_link_fast(nodes: int) -> None:
    links = [(v, nodes) for v in range(nodes)] + [(nodes, v) for v in range(nodes)]
    topology = Topology.from_links(nodes + 1, links, switches=[nodes])
    every, nothing = frozenset({nodes}), frozenset[int]()
    found = in_network_optimum(topology, every, every)
    assert found.exact
    assert found.throughput == 1
    for powers in itertools.product((every, nothing), repeat=2):
        one = in_network_optimum(topology, *powers)
        assert found.composed == one.composed == Fraction(nodes, 2 * (nodes - 1))
        assert one.composed <= one.throughput <= 1


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "broadcast", "reduce"])
def test_other_collectives_spare_links_and_are_as_fast(collective: str) -> None:
    fabric = build_fabric("dgx_h100(2)")
    root = 3 if collective in {"broadcast", "reduce"} else None
    powers = fabric.multicast, fabric.aggregation
    trees, words = in_network_schedule(fabric.topology, collective, *powers, root=root, names=fabric.names)
    plain, _ = in_network_schedule(fabric.topology, collective, frozenset(), frozenset(), root=root)
    assert verify_trees(trees, multicast=powers[0], aggregation=powers[1]).ok
    assert not verify_trees(trees).ok
    assert trees.inverse_rate == plain.inverse_rate
    assert trees.height <= plain.height
    assert trees.link_loads.sum() * trees.rate < plain.link_loads.sum() * plain.rate
    assert f"proven: no {Among.CAPABLE_TREES.one} has more bandwidth" in words
