"""Boxes on a topology: what a spec makes, which NIC has which cable, and what is refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import as_fabric, build, build_fabric, read_fabric
from topodesign.base.errors import ParameterError, SpecError
from topodesign.base.spec import Spec, parse
from topodesign.fabrics.boxes import box_of, exchange, get_box, join, wire_boxes
from topodesign.fabrics.fabric import Fabric

GB = 10**9


def cables(fabric: Fabric) -> Counter[tuple[str, str]]:
    """Return the links from box to box."""
    every = ((one.src, one.dst) for one in fabric.links())
    return Counter(pair for pair in every if pair[0].split("/")[0] != pair[1].split("/")[0])


def test_spec_rebuilds_the_fabric() -> None:
    for text in (
        "boxes(dgx_h100,bipartite(4))",
        "boxes(rail_optimised(3),complete(4),1,2,8)",
        "boxes(pcie_pair,complete(3),2)",
    ):
        fabric = build_fabric(text)
        assert fabric.name == text == str(parse(text))
        assert as_fabric(fabric.name) == fabric


def test_every_link_of_the_topology_is_a_cable_between_nics() -> None:
    graph = build("genkautz(8,32)")
    fabric = join(get_box(Spec("dgx_h100")), graph)
    found = Counter((int(a.split("/")[0][3:]), int(b.split("/")[0][3:])) for a, b in cables(fabric).elements())
    real = {(u, v): c for u, v, c in graph.links() if u != v}
    assert found == real
    out, into = Counter(a for a, _ in cables(fabric)), Counter(b for _, b in cables(fabric))
    assert set(out.values()) == set(into.values()) == {1}
    assert {one.bandwidth for one in fabric.links() if one.kind.endswith("cable")} == {50 * GB}
    assert dict(fabric.latency)["InfiniBand cable"] == Fraction(5, 10**6)


def test_duplex_cables_have_both_ends_at_one_nic_unless_shifted() -> None:
    box, graph = get_box(Spec("dgx_h100")), build("bipartite(8)")
    there = set(cables(join(box, graph)))
    assert there == {(b, a) for a, b in there}
    shifted = set(cables(join(box, graph, 1, 1)))
    assert shifted != {(b, a) for a, b in shifted}
    code = exchange(graph, 8, 0, 3, (0, 5))
    changed = set(cables(join(box, graph, 1, 0, [code])))
    assert changed == {(b, a) for a, b in changed} != there
    assert join(box, graph, 1, 0, [code, code]).links() == join(box, graph).links()


def test_a_circulant_is_rails_with_strides() -> None:
    wiring = wire_boxes(get_box(Spec("mi300x")), build("dicirculant(8,1,1,2,3,4,5,6,7)"))
    strides = {
        (nic, at, (to - box) % 8) for box, nic, to, at in zip(wiring.box, wiring.nic, wiring.to, wiring.at, strict=True)
    }
    assert strides == {(0, 0, 1), (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6), (7, 7, 7)}


def test_a_file_of_a_box_has_its_nics_at_the_network(tmp_path: Path) -> None:
    path = tmp_path / "box.yaml"
    path.write_text(
        "name: two\nnodes: [a, b]\nswitches: [network]\nlinks:\n"
        "  - {from: a, to: b, bandwidth: 100GB/s, duplex: true}\n"
        "  - {from: a, to: network, bandwidth: 10GB/s, duplex: true}\n"
        "  - {from: b, to: network, bandwidth: 20GB/s, duplex: true}\n"
    )
    box = box_of(read_fabric(path))
    fabric = join(box, build("uniring(2,3)"))
    assert [rate for _, rate in box.nics] == [10 * GB, 20 * GB]
    assert {one.bandwidth for one in fabric.links()} == {100 * GB, 10 * GB, 20 * GB}


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("boxes(dgx_h100,complete(16))", "split each NIC into 2"),
        ("boxes(dgx_h199,complete(4))", "dgx_h100"),
        ("boxes(tpu_v4,complete(4))", "is not a box"),
        ("boxes(dgx_h100,complet(4))", "complete"),
        ("boxes(dgx_h100)", "write boxes"),
        ("boxes(8,complete(4))", "write boxes"),
        ("boxes(dgx_h100,complete(4),0)", "split"),
        ("boxes(dgx_h100,complete(4),1,0,999999999)", "exchange"),
        ("boxes(tpu_torus(2),complete(4))", "not made of boxes"),
        ("torus(dgx_h100,4)", "requires brackets"),
    ],
)
def test_wrong_specs_are_refused(text: str, match: str) -> None:
    with pytest.raises((SpecError, ParameterError), match=match):
        as_fabric(text)
