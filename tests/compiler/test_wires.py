"""What runtimes join beside a program is reported where the wiring has no links for it, and only there."""

from __future__ import annotations

import re
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.wires import boxes_of, find_unlinked, single_nic
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.places import as_place
from topodesign.runtime.connections import pat_pairs, ring_pairs, tree_pairs
from topodesign.runtime.msccl.profiles import get_profile
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology


def notes(place: str | Topology, target: str = "msccl", runtime: str = "msccl", box: int | None = None) -> str:
    found = as_place(place)
    return "\n".join(single_nic(found, box) if target == "mscclpp" else find_unlinked(found, get_profile(runtime)))


def test_a_ring_of_four_has_no_link_for_a_tree() -> None:
    """The failure of MiaAI-Lab/DeepSeek-v4.1-Flash-DGX-Sparks#3, said before the start."""
    said = notes("biring(2,4)")
    assert "2 pairs of the trees (0-2, 1-3)" in said
    assert "of the ring (" not in said
    assert "number the ranks" not in said
    assert "relay" in said
    assert "cuMem" not in said
    late = notes("biring(2,4)", runtime="msccl-executor")
    assert "unless cuMem is on at every rank" in late
    assert "NCCL_CUMEM_ENABLE=1" in late
    assert "2 pairs of the PAT (0-2, 1-3)" in late


def test_ranks_out_of_order_are_told_to_follow_the_ring() -> None:
    said = notes("circulant(8,3)")
    assert "8 pairs of the ring" in said
    assert "number the ranks along a ring of links" in said


@given(st.integers(2, 9), st.data())
def test_pairs_are_those_without_a_link(nodes: int, data: st.DataObject) -> None:
    """Oracle: the edges of a drawn graph, one by one."""
    pairs = [(a, b) for a in range(nodes) for b in range(a + 1, nodes)]
    drawn = nx.Graph(data.draw(st.sets(st.sampled_from(pairs), min_size=1)))
    links = [(u, v, 1) for a, b in drawn.edges for u, v in ((a, b), (b, a))]
    topology = Topology.from_links(nodes, links)
    for runtime, kinds in (("rccl", [ring_pairs, tree_pairs]), ("msccl-executor", [ring_pairs, tree_pairs, pat_pairs])):
        lacking = [len({frozenset(p) for p in kind(nodes) if not drawn.has_edge(*p)}) for kind in kinds]
        said = [int(number) for number in re.findall(r"(\d+) pairs? of the", notes(topology, runtime=runtime))]
        assert said == [number for number in lacking if number]


def test_a_link_one_way_is_enough_for_the_ring_and_not_for_trees() -> None:
    said = notes("uniring(1,3)")
    assert "of the ring (" not in said
    assert "3 pairs of the trees" in said


@pytest.mark.parametrize("spec", ["complete(5)", "dgx_a100(2)", "dgx_a100(1)", "mi250(1)", "fat_tree(2,4,2)"])
def test_nothing_is_said_where_all_are_joined(spec: str) -> None:
    for target, runtime in (("msccl", "msccl"), ("msccl", "msccl-executor"), ("mscclpp", "mscclpp")):
        assert not notes(spec, target, runtime)


def test_boxes_are_hosts() -> None:
    """Boxes in a ring, each with a switch of its own: what is between them counts."""
    links = []
    for box in range(4):
        other = f"box{(box + 1) % 4}/gpu0"
        links += [FabricLink(f"box{box}/gpu1", other, Fraction(1)), FabricLink(other, f"box{box}/gpu1", Fraction(1))]
        for gpu in (f"box{box}/gpu0", f"box{box}/gpu1"):
            links += [FabricLink(gpu, f"box{box}/sw", Fraction(9)), FabricLink(f"box{box}/sw", gpu, Fraction(9))]
    names = [f"box{box}/{gpu}" for box in range(4) for gpu in ("gpu0", "gpu1")]
    place = Fabric.from_links("wired boxes", names, [f"box{box}/sw" for box in range(4)], links)
    assert len(set(boxes_of(place) or [])) == 4
    said = "\n".join(find_unlinked(place, get_profile("msccl")))
    assert "joins boxes in a ring" in said
    assert "2 pairs of the trees (0-2, 1-3)" in said
    assert "of the ring (" not in said


def test_one_nic_is_said_where_links_want_more() -> None:
    said = notes("torus(4,4)", "mscclpp", "mscclpp", box=4)
    assert "rank 0 has links to 2 places outside its box" in said
    assert not notes("torus(4,4)", "mscclpp", "mscclpp")  # all in one box
    assert not notes("torus(4,4)", "mscclpp", "mscclpp", box=16)
    assert not notes("circulant(4,1)", "mscclpp", "mscclpp", box=2)  # 0 1 | 2 3: one link of each rank goes out
    assert "one NIC" in notes("biring(2,4)", "mscclpp", "mscclpp", box=1)


def test_programs_carry_the_notes() -> None:
    made = compile_plan(schedule("biring(2,4)", "allgather"), inplace=True)
    assert any("trees" in note for note in made.notes)
    assert made.checked().notes == made.notes
    assert compile_plan(schedule("complete(4)", "allgather")).notes == ()
