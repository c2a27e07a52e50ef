"""Allreduce where switches copy and add: known optima, and an independent program over trees on random fabrics."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.conftest import few
from tests.floors import reached
from topodesign import build_fabric
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.optima.fluid.packing import packing
from topodesign.optima.trees import BestAllreduce, best_allreduce
from topodesign.plans.chunk_ops import MAX_WEIGHT
from topodesign.plans.verify.plans import check_movement
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


def as_fabric(topology: Topology, multicast: Capable, aggregation: Capable) -> Fabric:
    """Return a fabric with these links, of one byte a second for a unit of capacity."""
    names = [f"{'s' if v in topology.switches else 'n'}{v}" for v in range(topology.nodes)]
    links = [FabricLink(names[u], names[v], Fraction(c)) for u, v, c in topology.links()]
    switches = [names[v] for v in sorted(topology.switches)]
    able = ([names[v] for v in sorted(power)] for power in (multicast, aggregation))
    nodes = [name for name in names if name[0] == "n"]
    return Fabric.from_links("random", nodes, switches, links, multicast=next(able), aggregation=next(able))


def check(seed: int) -> None:
    topology, multicast, aggregation = random_fabric(seed)
    if not multicast | aggregation:
        return
    fabric = as_fabric(topology, multicast, aggregation)
    try:
        found = best_allreduce(fabric)
    except InfeasibleError:
        return
    other = best_of_trees(topology, multicast, aggregation)
    assert found.bandwidth == found.bound
    assert float(other) == pytest.approx(float(found.bandwidth))
    reached("compared")
    made = packing(fabric, ALLREDUCE, units=MAX_WEIGHT, spared=seed % 2 == 0)
    plan = check_movement(fabric, made.trees)
    assert not plan.problems, plan.problems
    assert Fraction(99, 100) * found.bandwidth < plan.figures["algorithmic_bandwidth"] <= found.bandwidth


@pytest.mark.dear
@pytest.mark.floor(compared=5)
def test_optima_are_those_of_another_program_and_plans_reach_them() -> None:
    for seed in few(range(25)):
        check(seed)


@pytest.mark.thorough
@pytest.mark.floor(compared=300)
def test_they_are_on_more_fabrics() -> None:
    for seed in range(25, 450):
        check(seed)


# -- what is known -----------------------------------------------------------------------------------------------------


def rated(spec: str, more: str = "") -> BestAllreduce:
    fabric = build_fabric(spec)
    sharp = frozenset(v for v, name in enumerate(fabric.names) if more and name.startswith(more))
    return best_allreduce(replace(fabric, multicast=fabric.multicast | sharp, aggregation=fabric.aggregation | sharp))


@pytest.mark.parametrize(
    ("spec", "more", "rate"),
    [
        ("dgx_h100(1)", "", Fraction(450)),  # a GPU sends
        ("dgx_h100(2)", "", Fraction(400)),  # the eight NICs of a box send
        ("dgx_h100(2)", "rail", Fraction(400)),
        # what crosses rails that do not add and copy is as in a ring of boxes: 400 B / 2 (B - 1)
        ("dgx_h100(3)", "", Fraction(300)),
        ("dgx_h100(16)", "", Fraction(640, 3)),
        ("dgx_h100(3)", "rail", Fraction(400)),
        pytest.param("dgx_h100(16)", "rail", Fraction(400), marks=pytest.mark.thorough),
    ],
)
def test_nvls_and_sharp_reach_what_every_box_can_send(spec: str, more: str, rate: Fraction) -> None:
    found = rated(spec, more)
    assert found.proven
    assert found.bandwidth == rate * 10**9


@pytest.mark.parametrize("nodes", [2, 3, 5])
def test_a_star_of_a_capable_switch_is_a_link_fast(nodes: int) -> None:
    links = [(v, nodes) for v in range(nodes)] + [(nodes, v) for v in range(nodes)]
    topology = Topology.from_links(nodes + 1, links, switches=[nodes])
    every, nothing = frozenset({nodes}), frozenset[int]()
    found = best_allreduce(as_fabric(topology, every, every))
    assert found.proven
    assert found.bandwidth == 1
    for powers in itertools.product((every, nothing), repeat=2):
        one = best_allreduce(as_fabric(topology, *powers))
        assert found.composed == one.composed == Fraction(nodes, 2 * (nodes - 1))
        assert one.composed <= one.bandwidth <= 1


def planes(gpus: int, switches: int) -> Fabric:
    """GPUs with 50 GB/s to each of several switches that add and copy, as in a rack of NVLink switches."""
    nodes, chips = [f"gpu{at}" for at in range(gpus)], [f"nvswitch{at}" for at in range(switches)]
    links = [
        FabricLink(*ends, Fraction(50 * 10**9)) for a, b in itertools.product(nodes, chips) for ends in ((a, b), (b, a))
    ]
    return Fabric.from_links("planes", nodes, chips, links, multicast=chips, aggregation=chips)


@pytest.mark.dear
@pytest.mark.parametrize(
    ("fabric", "rate"),
    [
        (planes(72, 18), Fraction(900)),
        (build_fabric("gb200_nvl72(2)"), Fraction(131400, 143)),  # 918.88
        pytest.param(build_fabric("gb200_nvl72(8)"), Fraction(21024, 23), marks=pytest.mark.thorough),
        pytest.param(build_fabric("dgx_h100(64)"), Fraction(12800, 63), marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_plans_of_racks_and_boxes_are_at_the_rate_that_is_proven(fabric: Fabric, rate: Fraction) -> None:
    made = packing(fabric, ALLREDUCE)
    assert made.time == made.bound
    plan = check_movement(fabric, made.trees)
    assert not plan.problems
    assert plan.figures["algorithmic_bandwidth"] == rate * 10**9
