"""The cheapest items for all cuts, against trying everything that is cheaper."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.forest import fabrics, worst_ratio
from topodesign.base.errors import InfeasibleError
from topodesign.optima.forest.bottleneck import optimum
from topodesign.optima.forest.covering import Covering, Item
from topodesign.topology.topology import Topology


def every(costs: list[int], below: int) -> Iterator[tuple[int, ...]]:
    """All numbers of items that cost less together."""
    if not costs:
        yield ()
        return
    for number in range((below - 1) // costs[0] + 1 if below > 0 else 0):
        for rest in every(costs[1:], below - number * costs[0]):
            yield number, *rest


@pytest.mark.floor(impossible=1, cheapest=10)
@settings(max_examples=60, deadline=None)
@given(fabrics(most_nodes=6), st.data())
def test_nothing_cheaper_is_enough(fabric: Topology, data: st.DataObject) -> None:
    topology = Topology.from_links(fabric.nodes, fabric.links())
    links = len(topology.src)
    items = []
    for _ in range(data.draw(st.integers(1, 3))):
        some = data.draw(st.lists(st.integers(0, links - 1), min_size=1, max_size=links, unique=True))
        steps = data.draw(st.lists(st.integers(1, 4), min_size=len(some), max_size=len(some)))
        items.append(Item(tuple(some), tuple(steps), data.draw(st.integers(1, 5))))
    demand = np.ones(topology.nodes, dtype=np.int64)
    covering = Covering(topology, topology.capacity, demand, items)
    now = optimum(topology).inverse_rate
    wanted = now * Fraction(data.draw(st.integers(30, 99)), 100)
    try:
        found = covering.cheapest(wanted)
    except InfeasibleError:
        much = covering.capacities([10**6] * len(items))
        assert worst_ratio(topology, demand, much) > wanted
        reached("impossible")
        return
    assert found is not None
    assert found.bound == found.cost == sum(i.cost * n for i, n in zip(items, found.times, strict=True))
    assert worst_ratio(topology, demand, covering.capacities(found.times)) <= wanted
    for times in itertools.islice(every([item.cost for item in items], found.cost), 3000):
        assert worst_ratio(topology, demand, covering.capacities(times)) > wanted
    assert covering.cheapest(wanted, below=found.cost) is None
    again = covering.cheapest(wanted, below=found.cost + 1)
    assert again is not None
    assert again.cost == found.cost
    reached("cheapest")


def test_what_is_there_already_costs_nothing() -> None:
    ring = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    covering = Covering(ring, ring.capacity, np.ones(3, dtype=np.int64), [Item((0,), (1,), 7)])
    nothing = covering.cheapest(Fraction(2))
    assert nothing is not None
    assert (nothing.cost, nothing.times, nothing.bound) == (0, (0,), 0)
    with pytest.raises(InfeasibleError, match="not for sale"):
        covering.cheapest(Fraction(1))
