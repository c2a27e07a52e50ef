"""The best allreduce: known optima, bounds and traffic checked from their definitions, brute force over all sets."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.forest import a100, mi250
from tests.samples.topologies import regular_digraphs
from tests.samples.trees import fabric
from topodesign import build
from topodesign.optima.forest import allreduce
from topodesign.optima.forest.allreduce import PHASES, AllreduceOptimum, allreduce_optimum
from topodesign.optima.forest.bottleneck import optimum
from topodesign.solve.maxflow import find_violated_cut
from topodesign.topology.topology import Topology


def compute(topology: Topology) -> list[int]:
    return [node for node in range(topology.nodes) if node not in topology.switches]


def cheapest(topology: Topology, price: tuple[Fraction, ...], nodes: list[int]) -> dict[tuple[int, int], Fraction]:
    """Bellman-Ford from every node, through switches alone."""
    cost: dict[tuple[int, int], Fraction] = {}
    for root in nodes:
        best = {root: Fraction(0)}
        for _ in range(topology.nodes):
            for (u, v, _), link in zip(topology.links(), price, strict=True):
                if (
                    u in best
                    and (u == root or u in topology.switches)
                    and best[u] + link < best.get(v, best[u] + link + 1)
                ):
                    best[v] = best[u] + link
        cost |= {(root, node): best[node] for node in nodes if node in best and node != root}
    return cost


def check_bound(topology: Topology, found: AllreduceOptimum) -> None:
    """Weak duality, from the definitions."""
    nodes = compute(topology)
    assert all(weight > 0 for weight in found.cuts.values())
    assert all(price >= 0 for price in found.prices)
    assert all(0 < len(side) < len(nodes) and side <= set(nodes) for _, side in found.cuts)
    for node in nodes:
        assert sum(weight for (_, side), weight in found.cuts.items() if node in side) >= 1
    for (u, v), cost in cheapest(topology, found.prices, nodes).items():
        left = sum(w for (phase, side), w in found.cuts.items() if phase == "broadcast" and u in side and v not in side)
        into = sum(w for (phase, side), w in found.cuts.items() if phase == "reduction" and v in side and u not in side)
        assert cost >= max(left, into)
    links = zip(found.prices, topology.capacity.tolist(), strict=True)
    assert sum(price * capacity for price, capacity in links) == found.bound


def check_traffic(topology: Topology, found: AllreduceOptimum) -> None:
    """Capacities and all sets of compute nodes."""
    if not found.traffic:
        assert found.throughput == found.composed
        return
    nodes = compute(topology)
    load: dict[tuple[int, int], Fraction] = {}
    for paths in found.traffic.values():
        for path, amount in paths.items():
            assert amount > 0
            assert set(path[1:-1]) <= topology.switches
            for hop in itertools.pairwise(path):
                load[hop] = load.get(hop, Fraction(0)) + amount
    capacity = {(u, v): c for u, v, c in topology.links()}
    assert all(amount <= capacity[hop] for hop, amount in load.items())
    share = {node: part * found.throughput for node, part in zip(nodes, found.roots, strict=True)}
    assert sum(found.roots) == 1
    for size in range(1, len(nodes)):
        for side in map(set, itertools.combinations(nodes, size)):
            wanted = sum(share[node] for node in side)
            out = sum(a for p, a in found.traffic["broadcast"].items() if p[0] in side and p[-1] not in side)
            into = sum(a for p, a in found.traffic["reduction"].items() if p[-1] in side and p[0] not in side)
            assert out >= wanted
            assert into >= wanted


def check(topology: Topology) -> AllreduceOptimum:
    found = allreduce_optimum(topology)
    halves = optimum(topology).inverse_rate + optimum(topology.transpose()).inverse_rate
    assert found.composed == len(compute(topology)) / halves
    assert found.composed <= found.throughput <= found.bound
    check_bound(topology, found)
    check_traffic(topology, found)
    return found


def path(nodes: int) -> Topology:
    return Topology.from_links(nodes, [(a, b) for a in range(nodes) for b in (a - 1, a + 1) if 0 <= b < nodes])


@pytest.mark.parametrize("nodes", [3, 4, 6])
def test_on_a_path_one_root_in_the_middle_is_better(nodes: int) -> None:
    """Reduction uses the links one way and broadcast the other, so all data pass at full rate: X = 1."""
    found = check(path(nodes))
    assert found.throughput == found.bound == 1
    assert found.composed == Fraction(nodes, 2 * (nodes - 1))


@pytest.mark.parametrize(
    ("spec", "throughput"),
    [
        ("biring(2,4)", Fraction(4, 3)),
        ("uniring(1,5)", Fraction(5, 8)),
        ("complete(5)", Fraction(5, 2)),
        ("circulant(12,2,3)", Fraction(24, 11)),
    ],
)
def test_on_regular_graphs_with_a_balanced_optimum_two_halves_are_best(spec: str, throughput: Fraction) -> None:
    found = check(build(spec))
    assert found.composed == found.bound
    assert found.throughput == throughput  # N d / 2 (N - 1)


def boxes(count: int) -> Topology:
    """Boxes of four nodes on a fast switch each, and all on one slow switch."""
    nodes = 4 * count
    links = []
    for node in range(nodes):
        links += [(node, nodes + node // 4)] * 10 + [(nodes + node // 4, node)] * 10
        links += [(node, nodes + count), (nodes + count, node)]
    return Topology.from_links(nodes + count + 1, links, switches=range(nodes, nodes + count + 1))


def test_the_example_of_the_paper_reaches_half_its_allgather() -> None:
    """Two boxes, 1/x* = 1/b (figure 5): M bytes take M / 4b."""
    found = check(boxes(2))
    assert found.composed == found.bound
    assert found.throughput == 4


@settings(max_examples=25, deadline=None)
@given(regular_digraphs())
def test_random_one_way_graphs(topology: Topology) -> None:
    if topology.nodes <= 9:
        assert check(topology).exact


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 3))
def test_random_switched_fabrics(seed: int, nodes: int, switches: int) -> None:
    found = check(fabric(nodes, switches, random.Random(seed)))  # noqa: S311
    assert found.exact


def without(topology: Topology, lost: int) -> Topology:
    """The fabric without one vertex."""
    links = [
        (u - (u > lost), v - (v > lost))
        for u, v, capacity in topology.links()
        for _ in range(capacity)
        if lost not in {u, v}
    ]
    switches = [switch - (switch > lost) for switch in topology.switches if switch != lost]
    return Topology.from_links(topology.nodes - 1, links, switches=switches)


@pytest.mark.parametrize(
    ("whole", "lost", "throughput"),
    [
        (mi250(2), 3, Fraction(645, 4)),
        pytest.param(mi250(4), 0, Fraction(777, 5), marks=pytest.mark.thorough),
        (a100(2), 0, Fraction(2775, 16)),
        pytest.param(a100(4), 0, Fraction(775, 6), marks=pytest.mark.thorough),
    ],
)
def test_boxes_without_a_node(whole: Topology, lost: int, throughput: Fraction) -> None:
    """Both sides of the proof meet; cuts are looked for by maximum flows, as there are too many to go through."""
    topology = without(whole, lost)
    found = allreduce_optimum(topology)
    assert found.throughput == found.bound == throughput > found.composed
    check_bound(topology, found)
    place = {node: at for at, node in enumerate(compute(topology))}
    load = np.zeros(len(topology.src), dtype=object)
    for phase in PHASES:
        common = math.lcm(*(amount.denominator for amount in found.traffic[phase].values()))
        between: dict[tuple[int, int], int] = {}
        for path, amount in found.traffic[phase].items():
            load[topology.link_index(path[:-1], path[1:])] += amount
            ends = (path[0], path[-1]) if phase == "broadcast" else (path[-1], path[0])
            pair = place[ends[0]], place[ends[1]]
            between[pair] = between.get(pair, 0) + int(amount * common)
        shares = [part * throughput * common for part in found.roots]
        scale = math.lcm(*(share.denominator for share in shares))
        pairs = np.array(list(between))
        logical = Topology.from_arrays(len(place), pairs[:, 0], pairs[:, 1])
        capacity = np.zeros(len(pairs), dtype=np.int64)
        capacity[logical.link_index(pairs[:, 0], pairs[:, 1])] = [scale * amount for amount in between.values()]
        demand = np.array([int(scale * share) for share in shares], dtype=np.int64)
        assert find_violated_cut(logical, capacity, demand)[1] is None
    assert np.all(load <= topology.capacity)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 3), st.sampled_from([6, 1000, 10**8]))
def test_uneven_fabrics_with_large_bandwidths(seed: int, nodes: int, switches: int, most: int) -> None:
    """As much need not go into a switch as comes out; numbers have little in common."""
    plain = fabric(nodes, switches, random.Random(seed))  # noqa: S311
    capacity = np.random.default_rng(seed).integers(1, most, len(plain.src))
    topology = Topology.from_arrays(plain.nodes, plain.src, plain.dst, capacity, switches=plain.switches)
    found = check(topology)
    if most < 10**8:
        assert found.exact
    assert float(found.bound / found.throughput) < 1 + 1e-4


@pytest.mark.thorough
def test_beyond_the_linear_program_disjoint_bottlenecks_prove_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allreduce, "MAX_NODES", 64)
    for topology in (boxes(17), build("biring(2,67)")):
        found = check(topology)
        assert found.composed == found.bound
    assert check(path(65)).bound == 1  # as one root in the middle would reach
