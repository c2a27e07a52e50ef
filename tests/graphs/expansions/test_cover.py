"""Cyclic covers: against networkx and voltage lifts, their symmetry, and how far apart nodes are."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from topodesign.base.errors import SpecError
from topodesign.base.spec import Spec
from topodesign.graphs.expansions.cover import cover
from topodesign.graphs.expansions.voltage import lift
from topodesign.pricing.closed_form import price
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


@settings(max_examples=60, deadline=None)
@given(regular_digraphs(), st.integers(2, 5))
def test_it_is_the_lift_with_all_voltages_one(topology: Topology, m: int) -> None:
    made = cover(topology, m)
    links = int(topology.capacity.sum())
    assert made == lift(topology, Spec("cyclic", (m,)), *[1] * links)
    assert made.is_regular
    assert made.self_loops == 0
    assert made.symmetry is not None
    made.symmetry.check(made)


@pytest.mark.parametrize("text", ["complete(4)", "genkautz(2,7)", "diamond()"])
@pytest.mark.parametrize("m", [2, 3])
def test_it_is_the_tensor_product_of_networkx(text: str, m: int) -> None:
    base = build(text)
    theirs = nx.tensor_product(base.to_networkx(), nx.cycle_graph(m, create_using=nx.DiGraph))
    ours = {(u, v) for u, v, _ in cover(base, m).links()}
    assert {(a * m + i, b * m + j) for (a, i), (b, j) in theirs.edges} == ours


@pytest.mark.parametrize(("text", "orbits"), [("genkautz(2,9)", 2), ("debruijn(2,3)", 4), ("diamond()", 8)])
def test_there_are_as_many_orbits_as_of_the_base(text: str, orbits: int) -> None:
    made = build(f"cover({text},2)")
    assert made.symmetry is not None
    assert len(made.symmetry.orbits()) == orbits
    assert price(made) == price(made, all_sources=True)


@pytest.mark.parametrize(("degree", "steps", "less"), [(2, 6, 0), (3, 5, 7), (4, 4, 1), (5, 3, 4)])
def test_twice_as_many_nodes_as_a_power_of_the_degree_take_one_step_more(degree: int, steps: int, less: int) -> None:
    """All walks of k links from a node of a generalized Kautz digraph of at most d^k nodes reach all of them."""
    nodes = degree**steps - less
    made = build(f"cover(genkautz({degree},{nodes}),2)")
    assert made.nodes == 2 * nodes
    assert price(made).steps == steps + 1


def test_duplex_bases_stay_duplex() -> None:
    assert build("cover(complete(4),2)") == build("cover(complete(4))")
    assert build("cover(complete(4))").is_duplex
    assert not build("cover(complete(4),3)").is_duplex
    assert np.array_equal(build("cover(parallel(complete(3),2))").capacity, [2] * 12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cover(complete(4),1)", "at least 2"),
        ("cover(4,2)", "needs a topology"),
        ("cover(complete(4),complete(3))", "needs an integer"),
        ("cover(complete(4),10000000)", "too many"),
        ("cover()", "arguments"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(text)
