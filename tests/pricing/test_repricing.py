"""Prices after losses: what is known of the nodes that nothing changes for is what pricing anew finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError
from topodesign.pricing.closed_form import price
from topodesign.pricing.repricing import priced
from topodesign.topology.topology import Topology


def without_loops(topology: Topology) -> Topology:
    return Topology.from_links(topology.nodes, [link for link in topology.links() if link[0] != link[1]])


@given(regular_digraphs())
def test_nothing_lost_is_the_price(topology: Topology) -> None:
    topology = without_loops(topology)
    known = priced(topology)
    assert known.cost() == known.cost_without(topology) == price(topology, all_sources=True)


@pytest.mark.floor(apart=10, left=15)
@settings(max_examples=80)
@given(regular_digraphs(9, 4), st.data())
def test_what_is_left_costs_what_pricing_it_anew_gives(topology: Topology, data: st.DataObject) -> None:
    """In parts of the bandwidth that a node had before: the degree in the price is the one before the loss."""
    topology = without_loops(topology)
    lost = data.draw(st.lists(st.integers(0, len(topology.src) - 1), min_size=1, max_size=3))
    capacity = topology.capacity.copy()
    np.subtract.at(capacity, lost, 1)
    some = capacity > 0
    left = Topology.from_arrays(topology.nodes, topology.src[some], topology.dst[some], capacity[some])
    try:
        anew = price(left, all_sources=True)
    except DisconnectedError:
        with pytest.raises(DisconnectedError):
            priced(topology).cost_without(left)
        reached("apart")
        return
    reached("left")
    before = Fraction(topology.degree, left.degree)
    assert priced(topology).cost_without(left) == Cost(anew.steps, anew.bandwidth * before)
