"""Mixtures of trees against another program, the forest, cuts, and themselves without symmetry."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.conftest import is_thorough
from tests.optima.fluid.samples import brute_force, random_fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.decomposition import Decomposition, Mixture, Progress, Source
from topodesign.optima.fluid.network import Network, network_of
from topodesign.optima.fluid.symmetry import find_symmetry
from topodesign.optima.optimum import optimum


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
