"""What is alike: automorphisms keep everything, and orbits are those of the known fabrics."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from topodesign.fabrics.fabric import Shared
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.network import network_of
from topodesign.optima.fluid.symmetry import find_symmetry, sets_of_relays


@pytest.mark.parametrize(("spec", "orbits"), [("dgx_a100_links(2)", 1), ("mi250(1)", 4), ("dgx_a100(2)", 1)])
def test_generators_keep_links_and_limits(spec: str, orbits: int) -> None:
    network = network_of(build_fabric(spec))
    group = find_symmetry(network)
    assert len(group.representatives(network.nodes)) == orbits
    for generator, arcs, limits in zip(group.generators, group.arcs, group.limits, strict=True):
        assert np.array_equal(generator[network.src], network.src[arcs])
        assert np.array_equal(generator[network.dst], network.dst[arcs])
        assert [network.bounds[limit] for limit in limits.tolist()] == list(network.bounds)
    assert sum(group.bounds) == sum(network.bounds)
    root = int(network.nodes[0])
    for image, mover in group.movers(root).items():
        assert mover[root] == image
        assert np.array_equal(np.sort(mover), np.arange(network.vertices))


def test_a_shared_limit_tells_boxes_apart() -> None:
    fabric = build_fabric("dgx_a100_pcie(2)")
    links = tuple((f"box0/pcie{number}", "box0/memory") for number in range(4))
    limited = replace(fabric, shared=(Shared("bus", Fraction(64 * 10**9), links),))
    sizes = [many for _, many in find_symmetry(network_of(limited)).representatives(network_of(limited).nodes)]
    assert sizes == [8, 8]
    assert [many for _, many in find_symmetry(network_of(fabric)).representatives(network_of(fabric).nodes)] == [16]


def test_nothing_is_alike_where_that_is_asked_for() -> None:
    network = network_of(build_fabric("dgx_a100(1)"))
    group = find_symmetry(network, apart=True)
    assert len(group.sizes) == len(network.limits)
    assert group.generators == ()


def test_sets_of_relays_count_what_is_exchanged() -> None:
    network = network_of(build_fabric("dgx_a100_pcie(3)"))
    sets = sets_of_relays(network, 0, 100)
    assert sets is not None
    own, *others = network.relays.tolist()
    assert sorted((own in some, len(set(some) & set(others))) for some in sets) == [
        (has, many) for has in (False, True) for many in range(3)
    ]
    assert sets_of_relays(network, 0, 5) is None
