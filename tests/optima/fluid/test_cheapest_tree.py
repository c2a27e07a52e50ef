"""Cheapest trees: over links that exist, to all nodes, and at the price that is reported."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER
from topodesign.fabrics.fabric import Fabric, FabricLink, Shared
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.fluid.cheapest_tree import Ways, cheapest_tree
from topodesign.optima.fluid.network import network_of
from topodesign.optima.fluid.problem import solve_fluid
from topodesign.optima.question import Question


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
