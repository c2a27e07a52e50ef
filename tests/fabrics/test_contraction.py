"""Contractions: boxes or their parts become nodes, and what joins them carries what all links between them do."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import build_fabric
from topodesign.fabrics.contraction import boxes_of, contracted


@pytest.mark.parametrize(
    ("spec", "nodes", "each", "parted"),
    [
        ("boxes(dgx_h100,complete(4))", 4, 8, True),
        ("boxes(mi300x,complete(4))", 4, 8, False),
        ("boxes(pcie_pair,complete(4))", 8, 4, True),
        ("dgx_h100(2)", 2, 8, True),
    ],
)
def test_links_between_nodes_add_up(spec: str, nodes: int, each: int, parted: bool) -> None:
    fabric = build_fabric(spec)
    small = contracted(fabric)
    assert small is not None
    assert small.parted == parted
    assert len(small.fabric.compute) == len(small.members) == nodes
    assert {len(some) for some in small.members.values()} == {each}
    assert sorted(node for some in small.members.values() for node in some) == sorted(fabric.compute)
    owner = {fabric.names[node]: at for at, some in small.members.items() for node in some}
    room: dict[tuple[str, str], Fraction] = {}
    for u, v, capacity in fabric.topology.links():
        ends = small.called[u], small.called[v]
        if ends[0] != ends[1]:
            room[ends] = room.get(ends, Fraction(0)) + capacity * fabric.unit
    names = small.fabric.names
    joined = {(names[u], names[v]): many * small.fabric.unit for u, v, many in small.fabric.topology.links()}
    assert joined == room
    assert all(owner[small.called[node]] == owner[fabric.names[node]] for node in fabric.compute)


def test_names_tell_of_boxes() -> None:
    assert boxes_of(build_fabric("dgx_h100(1)")) is None
    assert contracted(build_fabric("dgx_h100(1)")) is None
