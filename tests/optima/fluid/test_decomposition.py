"""Mixtures of trees against another program, the forest, cuts, and themselves without symmetry."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.conftest import is_thorough
from tests.optima.fluid.samples import brute_force, random_fabric
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER
from topodesign.fabrics.fabric import Fabric, FabricLink, Shared
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.cheapest_tree import Ways, cheapest_arborescence, cheapest_tree, proven_price
from topodesign.optima.fluid.decomposition import Decomposition, Mixture, Progress, Source
from topodesign.optima.fluid.network import Network, network_of
from topodesign.optima.fluid.problem import solve_fluid
from topodesign.optima.fluid.symmetry import find_symmetry
from topodesign.optima.optimum import optimum
from topodesign.optima.question import Question


def solved(network: Network, *, apart: bool = False, gap: Fraction = Fraction(0)) -> Mixture:
    group = find_symmetry(network, apart=apart)
    sources = [Source(network, root, many) for root, many in group.representatives(network.nodes)]
    mixture = Decomposition(sources, group, gap=gap).solve(cheapest=True)
    check(mixture, network, apart)
    return mixture


def check(mixture: Mixture, network: Network, apart: bool) -> None:
    """Weights add up to a shard of every root, and limits carry what they can, all counted again."""
    group = find_symmetry(network, apart=apart)
    shares = {one.source: Fraction(0) for one in mixture.columns}
    total = [Fraction(0)] * len(group.sizes)
    for column, weight in zip(mixture.columns, mixture.weights, strict=True):
        assert weight > 0
        shares[column.source] += weight
        many = dict(group.representatives(network.nodes))[column.tree.root]
        assert column.load.tolist() == (many * group.spread(column.tree.load)).tolist()
        for orbit, load in enumerate(column.load.tolist()):
            total[orbit] += weight * load
    assert set(shares.values()) == {1}
    assert all(load <= mixture.time * bound for load, bound in zip(total, group.bounds, strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_memory_and_shared_limits_against_all_trees_and_all_paths(seed: int) -> None:
    network = network_of(random_fabric(seed), {"x": 1, "y": 3})
    mixture = solved(network)
    time, cost = brute_force(network, network.nodes.tolist())
    assert mixture.proven
    assert float(mixture.time) == pytest.approx(time, rel=1e-6)
    assert mixture.cost is not None
    assert float(mixture.cost) == pytest.approx(cost, rel=1e-5, abs=1e-7)


def test_where_models_coincide_it_is_the_forest_and_no_cut_is_beaten(pytestconfig: pytest.Config) -> None:
    for seed in range(200 if is_thorough(pytestconfig) else 25):
        fabric = random_fabric(seed, relays=False, limits=False)
        network = network_of(fabric, {"x": 1, "y": 2})
        mixture = solved(network)
        assert mixture.proven
        assert mixture.time / fabric.unit == optimum(fabric).inverse_rate
        rng = np.random.default_rng(seed)
        for _ in range(10):
            side = rng.random(network.vertices) < 0.5
            inside = int(side[network.nodes].sum())
            out = fabric.topology.capacity[side[network.src] & ~side[network.dst]].sum()
            if 0 < inside < len(network.nodes):
                assert mixture.time * int(out) >= inside


@pytest.mark.parametrize("spec", ["dgx_a100_rails(2)", "mi250(1)", "dgx_a100_links(1)"])
def test_standard_and_mirrored_agree(spec: str) -> None:
    network = network_of(build_fabric(spec), {"NVLink": 1, "PCIe": 1, "InfiniBand": 1, "Infinity Fabric": 2})
    one, other = (solved(network, apart=apart) for apart in (False, True))
    assert (one.time, one.cost) == (other.time, other.cost)
    assert one.proven
    assert other.proven


def test_progress_closes_the_gap_and_a_gap_ends_it() -> None:
    network = network_of(build_fabric("mi250(1)"), {"NVLink": 1})
    group = find_symmetry(network, apart=True)
    heard: list[Progress] = []
    sources = [Source(network, root, many) for root, many in group.representatives(network.nodes)]
    exact = Decomposition(sources, group, listener=heard.append).solve(cheapest=False)
    assert all(now.bound <= now.value for now in heard)
    assert heard[-1].gap == 0
    near = Decomposition(sources, group, gap=Fraction(1, 4)).solve(cheapest=False)
    assert near.time_bound <= exact.time <= near.time
    assert near.time_bound >= near.time * Fraction(3, 4)
    assert near.rounds < exact.rounds


# -- Cheapest trees: over links that exist, to all nodes, and at the price that is reported


@pytest.mark.parametrize("spec", ["dgx_a100_links(2)", "mi250(1)", "dragonfly(3,2,2)"])
def test_it_leads_to_all(spec: str) -> None:
    network = network_of(build_fabric(spec))
    prices = np.random.default_rng(1).integers(0, 20, len(network.src)).tolist()
    ways = Ways(network, prices)
    assert ways.proven()
    root = int(network.nodes[3])
    relays = tuple(network.relays.tolist())
    found = cheapest_tree(ways, root, [(), relays])
    tree = found.tree
    links = set(zip(network.src.tolist(), network.dst.tolist(), strict=True))
    assert all(step in links for edge in tree.edges for step in itertools.pairwise(edge))
    assert found.price == sum(price * int(many) for price, many in zip(prices, tree.load, strict=True))
    reached = {root}
    for edge in tree.edges:
        assert edge[0] in reached
        reached.add(edge[-1])
    assert reached >= set(network.nodes.tolist())
    inner = {vertex for edge in tree.edges for vertex in edge[1:-1]}
    assert not inner & set(network.nodes.tolist())


def test_who_cannot_be_reached_is_named() -> None:
    names = ["a", "b", "c", "d"]
    links = [FabricLink(x, y, Fraction(10**9)) for x, y in (("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"))]
    network = network_of(Fabric.from_links("two", names, [], links))
    with pytest.raises(InfeasibleError, match="no way leads from vertex 0 to vertex"):
        cheapest_tree(Ways(network, [1] * 4), 0, [()])


def test_links_that_are_missing_are_dearer_than_any_tree() -> None:
    """Three links in a row share a tight limit, so that a tree over them weighs more than a few of its paths may."""
    links = [(0, 1, 2), (0, 3, 1), (1, 0, 2), (2, 3, 3), (3, 0, 1), (3, 2, 3)]
    names = ("n0", "n1", "n2", "n3")
    row = (("n1", "n0"), ("n0", "n3"), ("n3", "n2"))
    every = [FabricLink(names[u], names[v], Fraction(rate)) for u, v, rate in links]
    fabric = Fabric.from_links("row", names, (), every, shared=[Shared("row", Fraction(1), row)])
    assert solve_fluid(Question(fabric, ALLGATHER)).bandwidth == Fraction(2, 3)


# -- The cheapest arborescence: as cheap as any there is, and proven by its cuts


def least(prices: np.ndarray, root: int) -> int:
    """By looking at all choices of parents."""
    others = [vertex for vertex in range(len(prices)) if vertex != root]
    found = []
    for above in itertools.product(range(len(prices)), repeat=len(others)):
        parent = dict(zip(others, above, strict=True))
        reached, more = {root}, True
        while more:
            new = {v for v, u in parent.items() if u in reached} - reached
            reached |= new
            more = bool(new)
        if len(reached) == len(prices):
            found.append(sum(int(prices[u, v]) for v, u in parent.items()))
    return min(found)


@pytest.mark.parametrize("seed", range(30))
def test_none_is_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, root = int(rng.integers(2, 6)), 0
    prices = rng.integers(0, 6, (count, count))
    best = cheapest_arborescence(prices, root)
    assert best.price == least(prices, root) == proven_price(best, prices, root)
    assert best.parent[root] == -1


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_larger_ones_prove_themselves_whatever_the_size_of_numbers(dtype: type) -> None:
    rng = np.random.default_rng(5)
    for count in (1, 10, 40):
        prices: Any = rng.integers(0, 9, (count, count)).astype(dtype) * (10**30 if dtype is object else 1)
        best = cheapest_arborescence(prices, count // 2)
        assert proven_price(best, prices, count // 2) == best.price


def test_cuts_that_are_dearer_than_an_arc_prove_nothing() -> None:
    prices = np.array([[0, 2], [2, 0]])
    best = cheapest_arborescence(prices, 0)
    assert proven_price(best, prices, 0) == 2
    for weight in ([0, 3, 0, 0], [1, 1, 0, 0], [0, -1, 0, 0]):
        assert proven_price(best._replace(weight=np.array(weight)), prices, 0) is None
