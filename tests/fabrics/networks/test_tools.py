"""Networks of simulators, planners, labs and subnet managers, and of collections with attributes of their own."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from topodesign.base.errors import FileFormatError
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.networks import Network, read_network

GB = 10**9


def put(folder: Path, text: str) -> Path:
    path = folder / "it.txt"
    path.write_text(text)
    return path


def rates(network: Network) -> dict[tuple[str, str], Fraction]:
    return {(link.src, link.dst): link.bandwidth / GB for link in network.fabric().links()}


def switches(fabric: Fabric) -> set[str]:
    return {fabric.names[node] for node in fabric.topology.switches}


def test_booksim(tmp_path: Path) -> None:
    text = "router 0 node 0 node 1 router 1\nrouter 1 node 2 router 0\n"
    network = read_network(put(tmp_path, text))
    fabric = network.fabric()
    assert switches(fabric) == {"router0", "router1"}
    assert len(fabric.links()) == 2 * 4  # three nodes and a link, both ways, though one line says it again
    with pytest.raises(FileFormatError, match="--read latency=cycles:us"):
        read_network(put(tmp_path, text.replace("router 1\n", "router 1 15\n", 1)))
    slow = read_network(put(tmp_path, text.replace("router 1\n", "router 1 15\n", 1)), "latency=cycles:ns")
    assert max(seconds for _, seconds in slow.fabric().latency) == Fraction(15, GB)


HPCC = "4 1 3\n3\n0 3 100Gbps 1us 0\n1 3 100Gbps 1us 0\n2 3 400Gbps 2us 0\n"
SIMAI = "5 2 1 1 5 A100\n3\n4\n0 3 2400Gbps 25ns 0\n1 3 2400Gbps 25ns 0\n0 4 400Gbps 500ns 0\n1 4 400Gbps 500ns 0\n2 4 400Gbps 500ns 0\n"  # noqa: E501


def test_ns3_and_simai(tmp_path: Path) -> None:
    network = read_network(put(tmp_path, HPCC))
    assert rates(network)["2", "3"] == 50
    assert switches(network.fabric()) == {"3"}
    assert sorted(seconds * 10**6 for _, seconds in network.fabric().latency) == [1, 2]
    network = read_network(put(tmp_path, SIMAI))
    assert switches(network.fabric()) == {"3", "4"}
    assert rates(network)["3", "0"] == 300
    with pytest.raises(FileFormatError, match="says 1 switches and 4 links; there are 1 and 3"):
        read_network(put(tmp_path, HPCC.replace("4 1 3", "4 1 4")))
    with pytest.raises(FileFormatError, match="--read ignore=error_rate"):
        read_network(put(tmp_path, HPCC.replace("1us 0\n1", "1us 0.1\n1")))


@pytest.mark.parametrize(
    ("shape", "counts", "links"),
    [("[ Ring ]", "[ 8 ]", 16), ("[ FullyConnected ]", "[ 4 ]", 12), ("[ Ring, Switch ]", "[ 4, 2 ]", 16 + 16)],
)
def test_astra(tmp_path: Path, shape: str, counts: str, links: int) -> None:
    many = shape.count(",") + 1
    lists = [f"[ {', '.join([one] * many)} ]" for one in ("50.0", "500.0")]
    text = f"topology: {shape}\nnpus_count: {counts}\nbandwidth: {lists[0]}\nlatency: {lists[1]}\n"
    network = read_network(put(tmp_path, text))
    assert len(network.fabric().links()) == links
    assert {rate * GB for rate in rates(network).values()} == {50 * 2**30}
    assert {seconds for _, seconds in network.fabric().latency} == {Fraction(1, 2 * 10**6)}
    assert "2^30 bytes" in str(network)


def test_taccl_and_teccl(tmp_path: Path) -> None:
    ring = {"name": "r", "gpus_per_node": 3, "alpha": 0.7, "links": [[0, 1, 0], [0, 0, 1], [1, 0, 0]]}
    network = read_network(put(tmp_path, json.dumps(ring | {"betas": [[0, 40, 0], [0, 0, 40], [40, 0, 0]]})))
    assert rates(network) == {("1", "0"): 25, ("2", "1"): 25, ("0", "2"): 25}  # a row is what a destination receives
    with pytest.raises(FileFormatError, match="names one of TACCL's own topologies"):
        read_network(put(tmp_path, json.dumps({"name": "ndv2", "gpus_per_node": 8, "alpha": 0.7})))
    with pytest.raises(FileFormatError, match=r"holds no links; give the fabric 'dgx1_v100\(2\)'"):
        read_network(put(tmp_path, json.dumps({"TopologyParams": {"name": "NDv2", "chassis": 2}})))


def test_ibnetdiscover(tmp_path: Path) -> None:
    text = (
        'switchguid=0xb00(b00)\nSwitch 4 "S-b00" # "leaf0" enhanced port 0 lid 1 lmc 0\n'
        '[1] "H-a00"[1](a01) # "host0 HCA-1" lid 10 4xHDR\n[2] "H-a10"[1](a11) # "host1 HCA-1" lid 11 4xEDR\n'
        '[3] "H-a01"[1](a02) # "host0 HCA-2" lid 12 4xHDR\n\n'
        'caguid=0xa00\nCa 1 "H-a00" # "host0 HCA-1"\n[1](a01) "S-b00"[1] # lid 10 lmc 0 "leaf0" lid 1 4xHDR\n\n'
        'Ca 1 "H-a10" # "host1 HCA-1"\n[1](a11) "S-b00"[2] # lid 11 lmc 0 "leaf0" lid 1 4xEDR\n\n'
        'Ca 1 "H-a01" # "host0 HCA-2"\n[1](a02) "S-b00"[3] # lid 12 lmc 0 "leaf0" lid 1 4xHDR\n'
    )
    network = read_network(put(tmp_path, text))
    assert rates(network) == {  # two adapters of 200 Gbps of a host are 50 GB/s
        **dict.fromkeys([("host0", "leaf0"), ("leaf0", "host0")], 50),
        **dict.fromkeys([("host1", "leaf0"), ("leaf0", "host1")], Fraction(25, 2)),
    }
    with pytest.raises(FileFormatError, match="which has no section of its own"):
        read_network(put(tmp_path, text.partition('Ca 1 "H-a01"')[0]))


LAB = (
    "name: lab\ntopology:\n  nodes:\n    leaf: {kind: nokia_srlinux}\n    h1: {kind: linux}\n    h2: {kind: linux}\n"
    '  links:\n    - endpoints: ["leaf:e1-1", "h1:eth1"]\n    - endpoints: ["leaf:e1-2", "h2:eth1"]\n'
)


def test_containerlab(tmp_path: Path) -> None:
    fabric = read_network(put(tmp_path, LAB)).fabric()
    assert (switches(fabric), len(fabric.links())) == ({"leaf"}, 4)
    with pytest.raises(FileFormatError, match="names 'h3', which is not a node"):
        read_network(put(tmp_path, LAB.replace('"h2:eth1"', '"h3:eth1"')))


def test_fnss(tmp_path: Path) -> None:
    links = "".join(
        f'<link id="{n}"><from type="int">{n}</from><to type="int">{(n + 1) % 3}</to>'
        f'<property name="capacity">{10 * (n + 1)}</property><property name="delay">{n + 1}</property></link>'
        for n in range(3)
    )
    head = '<property name="capacity_unit">Gbps</property><property name="delay_unit">us</property>'
    nodes = "".join(f'<node id="{n}"/>' for n in range(3))
    text = f'<?xml version="1.0"?><topology linkdefault="undirected">{head}{nodes}{links}</topology>'
    network = read_network(put(tmp_path, text))
    assert rates(network)["1", "2"] == rates(network)["2", "1"] == Fraction(5, 2)
    assert sorted(seconds * 10**6 for _, seconds in network.fabric().latency) == [1, 2, 3]
    with pytest.raises(FileFormatError, match="is a unit"):
        read_network(put(tmp_path, text.replace("delay_unit", "nothing")))


def graphml(keys: dict[str, str], edges: list[dict[str, Any]], about: str = "") -> str:
    heads = "".join(
        f'<key id="{name}" for="edge" attr.name="{name}" attr.type="{kind}"/>' for name, kind in keys.items()
    )
    rows = "".join(
        f'<edge source="{at}" target="{(at + 1) % len(edges)}">'
        + "".join(f'<data key="{name}">{value}</data>' for name, value in fields.items())
        + "</edge>"
        for at, fields in enumerate(edges)
    )
    nodes = "".join(f'<node id="{at}"/>' for at in range(len(edges)))
    graph = f'<graph edgedefault="undirected">{about}{nodes}{rows}</graph>'
    return f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{heads}{graph}</graphml>'


def test_topology_zoo(tmp_path: Path) -> None:
    keys = {"LinkSpeedRaw": "double", "LinkSpeed": "string", "LinkSpeedUnits": "string", "LinkLabel": "string"}
    rows = [
        {"LinkSpeedRaw": f"{rate}e9", "LinkSpeed": rate, "LinkSpeedUnits": "G", "LinkLabel": f"{rate} Gbps"}
        for rate in (10, 1, 10)
    ]
    network = read_network(put(tmp_path, graphml(keys, rows)))
    assert rates(network)["1", "2"] == Fraction(1, 8)
    del keys["LinkSpeedRaw"]
    for row in rows:
        del row["LinkSpeedRaw"]
    assert rates(read_network(put(tmp_path, graphml(keys, rows)))) == rates(network)
    rows[0]["LinkLabel"] = "40 Gbps"
    with pytest.raises(FileFormatError, match="LinkLabel"):
        read_network(put(tmp_path, graphml(keys, rows)))


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("bw", [10, 1, 10], "--read capacity=bw:Gbps"),
        ("bw_gbps", [10, 1, 10], ""),
        ("speed", ["10Gbps", "1Gbps", "10Gbps"], ""),
        ("weight", ["10Gbps", "1Gbps", "10Gbps"], ""),
        ("weight", [1, 1, 1], ""),
        ("weight", [1, 2, 1], "--read capacity=weight"),
        ("latency", [1, 2, 1], "--read latency=latency:us"),
        ("latency", ["1us", "2us", "1us"], ""),
        ("anything", [3, 3, 3], "--read ignore=anything"),
        ("anything", ["x", "y", "x"], ""),
        ("anything", ["5us", "5us", "5us"], "looks like a bandwidth or a latency"),
        ("bandwidth", ["10Gbps", "1Gbps", "fast"], "'fast' is not a number and a unit"),
    ],
)
def test_attributes_of_links(tmp_path: Path, name: str, values: list[Any], words: str) -> None:
    kind = "string" if isinstance(values[0], str) else "int"
    path = put(tmp_path, graphml({name: kind}, [{name: value} for value in values]))
    if not words:
        assert read_network(path).form == "GraphML"
    else:
        with pytest.raises(FileFormatError) as caught:
            read_network(path)
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)


def test_defaults_of_graphml_count(tmp_path: Path) -> None:
    text = graphml({"capacity": "int"}, [{"capacity": 3}, {}, {}])
    text = text.replace('attr.type="int"/>', 'attr.type="int"><default>2</default></key>')
    assert sorted({c for _, _, c in read_network(put(tmp_path, text)).topology().links()}) == [2, 3]


@pytest.mark.parametrize(
    ("name", "values", "rule", "found"),
    [
        ("type", ["host", "host", "switch"], "", 1),
        ("role", ["server", "gpu", "Spine"], "", 1),
        ("kind", ["host", "host", "thing"], "", "names neither a host nor a switch"),
        ("is_sw", [0, 0, 1], "", "--read role=is_sw"),
        ("is_sw", [0, 0, 1], "role=is_sw", 1),
        ("is_sw", [0, 0, 1], "ignore=is_sw", 0),
        ("is_sw", ["no", "no", "yes"], "role=is_sw", 1),
        ("Latitude", [1.5, 2.5, 3.5], "", 0),
        ("label", ["a", "b", "switch"], "", "may mean the role"),
    ],
)
def test_attributes_of_nodes(tmp_path: Path, name: str, values: list[Any], rule: str, found: int | str) -> None:
    nodes = [{"id": n, name: value} for n, value in enumerate(values)]
    links = [{"source": 0, "target": 2}, {"source": 1, "target": 2}]
    path = put(tmp_path, json.dumps({"nodes": nodes, "links": links}))
    if isinstance(found, int):
        assert len(read_network(path, rule).able["switch"]) == found
    else:
        with pytest.raises(FileFormatError, match=found):
            read_network(path, rule)
