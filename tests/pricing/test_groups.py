"""Bandwidth factors of groups, from programs that are held against each other."""

from __future__ import annotations

from topodesign.collectives import ALLREDUCE
from topodesign.pricing.groups import shared
from topodesign.solve.flows.multicast import Multicast, share_links
from topodesign.topology.library import build


def test_parts_of_links_add_up() -> None:
    topology = build("torus(3,3)")
    found = share_links(
        topology, [Multicast((0, 4, 8), (0,), 1), Multicast((1, 3), (1, 3), 2), Multicast((5,), (5,), 1)]
    )
    for capacity, *loads in zip(topology.capacity.tolist(), *found.load, strict=True):
        assert sum(loads) <= found.time * capacity
    assert not any(found.load[2])


def test_loads_of_a_reduction_are_those_of_the_dual_turned_round() -> None:
    topology = build("torus(3,3)")
    out, back = (shared(topology, part) for part in reversed(ALLREDUCE.within([(0, 4, 8)]).parts))
    assert out.time == back.time
    assert sum(map(sum, out.load)) == sum(map(sum, back.load))
