"""Concurrent flows: known factors, flows and prices that prove each other, and paths that are what the flow says."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.errors import DisconnectedError, ParameterError, TopologyError
from topodesign.pricing.flows.arcs import arc_flow
from topodesign.pricing.flows.concurrent import ConcurrentFlow
from topodesign.pricing.flows.paths import path_flow
from topodesign.pricing.flows.quotient import quotient
from topodesign.topology.topology import Topology

KNOWN = {
    "complete(5)": "4/5",
    "hypercube(3)": "3/2",
    "hypercube(4)": "2",
    "torus(3,3)": "4/3",
    "torus(4,4)": "2",
    "torus(3,5)": "12/5",
    "circulant(12,2,3)": "14/9",
    "kautz(2,1)": "13/9",
    "debruijn(2,3)": "9/4",
    "genkautz(2,9)": "22/9",
    "genkautz(4,32)": "85/32",
    "kneser(5,2)": "3/2",
}
"""Exact factors, worked out before any of this was written; kautz(2,1) has six nodes, kneser(5,2) is Petersen's."""


def holds_what_it_says(flow: ConcurrentFlow) -> None:
    """The flow is one, symmetric or not, and its paths carry every shard with no link fuller than its factor."""
    flow.check()
    topology = flow.topology
    total: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for source in range(topology.nodes):
        amounts = dict(zip(zip(topology.src, topology.dst, strict=True), flow.source_amounts(source), strict=True))
        used: dict[tuple[int, int], Fraction] = defaultdict(Fraction)
        found = path_flow(flow, source)
        assert list(found) == [node for node in range(topology.nodes) if node != source]
        for node, paths in found.items():
            assert sum(part for _, part in paths) == 1
            for path, part in paths:
                assert part > 0
                assert (path[0], path[-1]) == (source, node)
                assert len(set(path)) == len(path)
                for link in itertools.pairwise(path):
                    used[link] += part
        for link, part in used.items():
            assert part <= Fraction(int(amounts[link]), flow.scale)
            total[link] += part
    capacity = {(u, v): c for u, v, c in topology.links()}
    fullest = max(part / capacity[link] for link, part in total.items())
    assert fullest * topology.degree / topology.nodes <= flow.factor


@pytest.mark.parametrize("text", KNOWN)
def test_known_factors(text: str) -> None:
    flow = arc_flow(quotient(build(text)))
    assert flow.exact
    assert flow.factor == flow.upper == flow.lower == Fraction(KNOWN[text])
    holds_what_it_says(flow)


@given(regular_digraphs(9, 3))
@settings(max_examples=40)
def test_the_linear_program_is_proved(topology: Topology) -> None:
    flow = arc_flow(quotient(topology))
    assert flow.exact
    holds_what_it_says(flow)


@pytest.mark.parametrize("text", ["genkautz(2,9)", "line(circulant(5,1,2))", "hypercube(3)", "kneser(5,2)", "mms(3)"])
def test_symmetry_changes_no_price(text: str) -> None:
    """Some of these groups leave nodes in their places, so that flows have to be averaged to have images."""
    topology = build(text)
    small, whole = quotient(topology), quotient(topology, symmetric=False)
    assert len(small.sources) < len(whole.sources) == topology.nodes
    assert small.weight.sum() == topology.nodes
    assert small.room.sum() == whole.room.sum()
    if topology.nodes <= 12:
        assert arc_flow(small).factor == arc_flow(whole).factor
    holds_what_it_says(arc_flow(small))


def test_a_wrong_flow_is_found_out() -> None:
    flow = arc_flow(quotient(build("torus(3,3)")))
    more = flow.amounts.copy()
    more[0, 0] += 1
    with pytest.raises(ValueError, match="bring a shard"):
        replace(flow, amounts=more).check()
    assert replace(flow, prices=np.array([1, 0, 0, 0])).lower < flow.lower


def test_what_has_no_flow_is_refused() -> None:
    with pytest.raises(DisconnectedError):
        quotient(Topology.from_links(3, [(0, 1), (1, 2), (2, 1)]))
    with pytest.raises(TopologyError, match="2 nodes"):
        quotient(Topology.from_links(1, [(0, 0)]))
    with pytest.raises(TopologyError, match="switches"):
        quotient(Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2]))
    with pytest.raises(ParameterError, match="nodes 0 to 8"):
        path_flow(arc_flow(quotient(build("torus(3,3)"))), 9)
