"""Voltage lifts and digraphs written out: the links by definition, symmetry, known graphs, and refusals."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from topodesign import build
from topodesign.base.errors import DisconnectedError, SpecError
from topodesign.base.spec import Spec
from topodesign.collectives import ALLGATHER
from topodesign.graphs.expansions.voltage import lift
from topodesign.graphs.successors import successors
from topodesign.pricing.closed_form import price
from topodesign.schedulers.lift import lift_schedule
from topodesign.topology.groups import group
from topodesign.topology.topology import Topology

GROUPS = ("cyclic(1)", "cyclic(5)", "dihedral(3)", "dicyclic(2)", "metacyclic(7,3,2)", "abelian(2,3)")


def links_by_definition(base: Topology, acting: str, voltages: list[int]) -> Topology:
    """Write the links of the lift out one by one."""
    elements = group(
        Spec(acting.partition("(")[0], tuple(int(word) for word in acting[:-1].partition("(")[2].split(",")))
    )
    k = elements.order
    links, remaining = [], list(voltages)
    for u, w, capacity in base.links():
        for _ in range(capacity):
            voltage = remaining.pop(0)
            links += [(u * k + g, w * k + int(elements.multiply(np.array(g), np.array(voltage)))) for g in range(k)]
    return Topology.from_links(base.nodes * k, links)


@st.composite
def lifts(draw: st.DrawFn) -> tuple[Topology, str, list[int]]:
    """Draw a base with loops and parallel links, a group and voltages."""
    nodes, degree = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    heads = draw(st.lists(st.integers(0, nodes - 1), min_size=nodes * degree, max_size=nodes * degree))
    base = successors(degree, *heads)
    acting = draw(st.sampled_from(GROUPS))
    order = build(f"lift(successors(1,0),{acting},0)").nodes
    return base, acting, draw(st.lists(st.integers(0, order - 1), min_size=len(heads), max_size=len(heads)))


@given(lifts())
@settings(deadline=None, max_examples=60)
def test_links_are_those_of_the_definition(drawn: tuple[Topology, str, list[int]]) -> None:
    base, acting, voltages = drawn
    text = f"lift({base.spec},{acting},{','.join(map(str, voltages))})"
    topology = build(text)
    assert str(topology.spec) == text
    assert topology == links_by_definition(base, acting, voltages)
    order = topology.nodes // base.nodes
    assert topology.representatives == tuple(range(0, topology.nodes, order))
    assert np.array_equal(topology.out_ports, np.repeat(base.out_ports, order))
    assert np.array_equal(topology.in_ports, np.repeat(base.in_ports, order))
    assume(topology.nodes > 1)
    try:
        cost = price(topology)
    except DisconnectedError:
        assert not nx.is_strongly_connected(topology.to_networkx())
    else:
        assert cost == price(topology, all_sources=True)
        assert price(topology.transpose()) == price(topology.transpose(), all_sources=True)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("lift(successors(2,0,0),dihedral(8),1,9)", "cayley(dihedral(8),1,9)"),
        ("lift(successors(3,0,0,0),metacyclic(7,3,2),1,7,10)", "cayley(metacyclic(7,3,2),1,7,10)"),
        ("lift(genkautz(3,7),cyclic(1),0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0)", "genkautz(3,7)"),
    ],
)
def test_lifts_of_one_node_are_cayley_digraphs_and_those_by_the_trivial_group_the_base(text: str, same: str) -> None:
    assert build(text) == build(same)


def test_the_petersen_graph_is_a_lift() -> None:
    """It is the lift of a dumbbell by Z_5 with voltages 1 and 2 on the loops (Gross and Tucker, section 2.1)."""
    topology = build("lift(successors(3,0,0,1,0,1,1),cyclic(5),1,4,0,0,2,3)")
    assert topology.is_duplex
    assert nx.is_isomorphic(topology.to_networkx().to_undirected(), nx.petersen_graph())


def test_the_line_digraph_of_a_cayley_digraph_is_a_lift() -> None:
    """Link (g, s) is followed by the links (g s, t): a base of d nodes, all linked, the voltages those of the tail."""
    a, b = 1, 7
    line = build(f"line(cayley(metacyclic(7,3,2),{a},{b}))")
    topology = build(f"lift(successors(2,0,1,0,1),metacyclic(7,3,2),{a},{a},{b},{b})")
    assert nx.is_isomorphic(line.to_networkx(), topology.to_networkx())
    assert price(topology) == price(line)


@pytest.mark.dear("lift(complete(2000),cyclic(1000),1)-too many")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lift(complete(2),cyclic(5),1)", "has 2 links, so give 2 voltages, not 1"),
        ("lift(complete(2),cyclic(5),1,5)", "voltage 5 must be an element of the group, 0 to 4"),
        ("lift(complete(2),cyclic(5),1,-1)", "voltage -1"),
        ("lift(complete(2),cyclic(5),1,complete(3))", "must be an element of the group"),
        ("lift(complete(2),complete(2),1,2)", "requires a group"),
        ("lift(complete(2),3,1,2)", "requires a group"),
        ("lift(cyclic(2),cyclic(5),1,5)", "requires a topology"),
        ("lift(complete(2))", "wrong number of arguments"),
        ("lift(successors(1,0),cyclic(1000000000000),1)", "too many"),
        ("lift(complete(2000),cyclic(1000),1)", "too many"),
        ("successors(2,0,1,1)", "give 2 successors for every node"),
        ("successors(2)", "give 2 successors for every node"),
        ("successors(0,1)", "d must be at least 1"),
        ("successors(1,1)", "must be a node, 0 to 0"),
        ("line(cyclic(5))", "is a group, not a topology"),
    ],
)
def test_bad_lifts_are_refused(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        build(text)


def test_no_schedule_is_lifted() -> None:
    topology = build("lift(complete(2),cyclic(3),0,1)")
    assert lift_schedule(topology, ALLGATHER) is None
    assert lift.lift is None


def test_successors_are_read_as_they_stand() -> None:
    topology = build("successors(2,1,1,2,0,2,0)")
    assert topology.links() == [(0, 1, 2), (1, 0, 1), (1, 2, 1), (2, 0, 1), (2, 2, 1)]
    assert topology.self_loops == 1
