"""Bandwidth factors of groups, from programs that are held against each other."""

from __future__ import annotations

import pytest

from topodesign.collectives import ALLREDUCE
from topodesign.optima.forest.allreduce import allreduce_optimum
from topodesign.pricing.flows.shared import Multicast, share_both, share_links
from topodesign.pricing.groups import bandwidth_of, both_of, degree_of, in_turn_of, shared
from topodesign.topology.library import build


def test_parts_of_links_add_up() -> None:
    topology = build("torus(3,3)")
    found = share_links(
        topology, [Multicast((0, 4, 8), (0,), 1), Multicast((1, 3), (1, 3), 2), Multicast((5,), (5,), 1)]
    )
    for capacity, *loads in zip(topology.capacity.tolist(), *found.load, strict=True):
        assert sum(loads) <= found.time * capacity
    assert not any(found.load[2])


@pytest.mark.parametrize("spec", ["mesh(3,3)", "genkautz(2,7)", "genkautz(2,9)", "torus(3,3)", "line(diamond())"])
def test_both_phases_of_all_nodes_at_once_are_the_best_of_forests(spec: str) -> None:
    topology = build(spec)
    time = 1 / allreduce_optimum(topology).throughput
    assert share_both(topology, [range(topology.nodes)]) == time
    everyone = ALLREDUCE.within([tuple(range(topology.nodes))])
    assert bandwidth_of(topology, everyone, "forward") == both_of(topology, everyone, "forward")
    assert bandwidth_of(topology, everyone, "forward") == degree_of(topology) * time
    assert degree_of(topology) * time <= in_turn_of(topology, everyone, "forward")


def test_loads_of_a_reduction_are_those_of_the_dual_turned_round() -> None:
    topology = build("torus(3,3)")
    out, back = (shared(topology, part) for part in reversed(ALLREDUCE.within([(0, 4, 8)]).parts))
    assert out.time == back.time
    assert sum(map(sum, out.load)) == sum(map(sum, back.load))
