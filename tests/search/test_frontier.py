"""The frontier of a size from scratch: what is searched for it bears on it, and what comes out is rebuilt."""

from __future__ import annotations

import pytest

from topodesign import build, price
from topodesign.graphs.expansions.degree import degree as copies
from topodesign.graphs.expansions.line import line
from topodesign.search.frontier import search_frontier, search_targets
from topodesign.search.target import Target


@pytest.mark.parametrize(
    "target",
    [Target(24, 4, False), Target(64, 2, False), Target(36, 6, False), Target(7, 3, False), Target(24, 4, True)],
)
def test_targets_are_the_size_and_what_expands_to_it(target: Target) -> None:
    first, *bases = search_targets(target)
    assert first == target
    for base in bases:
        start = build(f"genkautz({base.degree},{base.nodes})")
        if base.degree == target.degree:
            while start.nodes < target.nodes:
                start = line(start)
            assert (start.nodes, base.duplex) == (target.nodes, False)
        else:
            ratio = target.degree // base.degree
            if not start.self_loops:
                grown = copies(start, ratio)
                assert (grown.nodes, grown.degree) == (target.nodes, target.degree)
            assert (base.nodes * ratio, base.degree * ratio, base.duplex) == (
                target.nodes,
                target.degree,
                target.duplex,
            )


def test_without_a_search_it_is_families_and_expansions_rebuilt_and_priced() -> None:
    front = search_frontier(Target(24, 4, False), 0)
    assert [one.cost.steps for one in front] == sorted({one.cost.steps for one in front})
    assert [one.cost.bandwidth for one in front] == sorted({one.cost.bandwidth for one in front}, reverse=True)
    for one in front:
        topology = build(str(one.spec))
        assert (topology.nodes, topology.degree) == (24, 4)
        assert max(price(topology).bandwidth, price(topology.transpose()).bandwidth) == one.cost.bandwidth
