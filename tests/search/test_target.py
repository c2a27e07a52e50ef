"""Scarcity tells which numbers of steps random lifts have."""

from __future__ import annotations

import numpy as np
import pytest

from topodesign import build
from topodesign.base.cost import lower_bound
from topodesign.pricing.closed_form import price
from topodesign.search.target import Target, scarcity, steps_of_most


@pytest.mark.parametrize("duplex", [True, False])
def test_topologies_get_rarer_with_more_nodes_and_fewer_steps(duplex: bool) -> None:
    by_nodes = [scarcity(Target(nodes, 4, duplex), 7) for nodes in (800, 1000, 1300, 4373)]
    assert by_nodes == sorted(by_nodes)
    by_steps = [scarcity(Target(1300, 4, duplex), steps) for steps in range(5, 12)]
    assert by_steps == sorted(by_steps, reverse=True)


def test_it_counts_the_nodes_that_random_topologies_leave_out() -> None:
    """Times d ln N it is about what a breadth-first search of a random digraph misses."""
    nodes, degree, steps = 3000, 3, 7
    topology = build(f"randomregular({nodes},{degree},1)")
    ends = topology.dst[np.argsort(topology.src, kind="stable")].reshape(nodes, degree)
    missed = []
    for source in range(0, nodes, 100):
        seen = np.zeros(nodes, dtype=bool)
        seen[source] = True
        for _ in range(steps):
            seen[ends[seen]] = True
        missed.append(nodes - int(seen.sum()))
    told = scarcity(Target(nodes, degree, duplex=False), steps) * degree * np.log(nodes)
    assert 0.5 * told < np.mean(missed) < 2 * told


@pytest.mark.parametrize("target", [Target(200, 4, True), Target(4096, 3, False), Target(100_000, 16, True)])
def test_most_topologies_have_the_steps_that_are_not_scarce(target: Target) -> None:
    steps = steps_of_most(target, 0.1)
    assert steps >= lower_bound(*target.size, duplex=target.duplex).steps
    assert scarcity(target, steps) <= 0.1 < scarcity(target, steps - 1)
    if target.nodes <= 200:
        assert price(build("bidirect(randomregular(200,2,1))")).steps >= steps
