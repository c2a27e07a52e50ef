"""Trees of one phase that go through switches which copy or add."""

from __future__ import annotations

import pytest

from tests.samples.tree_tables import Trees
from tests.samples.verdicts import verify_trees
from topodesign import build_fabric
from topodesign.base.claims import Scope
from topodesign.collectives import as_collective
from topodesign.optima.forest.in_network_schedule import in_network_schedule
from topodesign.plans.chunk_ops import find_loads


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "broadcast", "reduce"])
def test_other_collectives_spare_links_and_are_as_fast(collective: str) -> None:
    fabric = build_fabric("dgx_h100(2)")
    root = 3 if collective in {"broadcast", "reduce"} else None
    powers = fabric.multicast, fabric.aggregation
    made, words = in_network_schedule(
        fabric.topology, as_collective(collective), *powers, root=root, names=fabric.names
    )
    other, _ = in_network_schedule(fabric.topology, as_collective(collective), frozenset(), frozenset(), root=root)
    trees, plain = Trees.of(made), Trees.of(other)
    assert verify_trees(trees, multicast=powers[0], aggregation=powers[1]).ok
    assert not verify_trees(trees).ok
    assert trees.inverse_rate == plain.inverse_rate
    assert trees.height <= plain.height
    assert find_loads(trees.flow).sum() * trees.rate < find_loads(plain.flow).sum() * plain.rate
    assert f"optimal (proven): most bandwidth among {Scope.CAPABLE_TREES}" in words
