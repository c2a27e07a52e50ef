"""Files of topologies: what is written is read back, and whatever else a file holds is refused in one line."""

from __future__ import annotations

import csv
import dataclasses
import errno
import io
import itertools
import json
import os
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.floors import reached
from topodesign.base.errors import FileFormatError, ParameterError, TooLargeError
from topodesign.base.text_files import LARGEST_FILE
from topodesign.fabrics.networks import read_network
from topodesign.fabrics.places import as_topology
from topodesign.topology.files import LINK_FORMATS, LinkFormat, links_in_pieces, write_links
from topodesign.topology.library import build
from topodesign.topology.topology import MAX_NODES, Topology

SPECS = ["complete(2)", "diamond()", "genkautz(4,9)", "circulant(12,2,3)", "biring(4,5)", "uniring(3,2)", "torus(3,3)"]


@st.composite
def drawn(draw: st.DrawFn) -> Topology:
    nodes = draw(st.integers(2, 12))  # more than ten, so that "10" must not come before "9"
    node = st.integers(0, nodes - 1)
    links = draw(st.lists(st.tuples(node, node, st.integers(1, 9)), min_size=1, max_size=15))
    return Topology.from_links(nodes, links, switches=draw(st.sets(node, max_size=2)))


def read_topology(path: Path) -> Topology:
    return read_network(path).topology()


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path) -> str:
    """The message of the refusal, which is one line that names the file."""
    with pytest.raises(FileFormatError) as caught:
        read_topology(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("file_format", ["json", "csv", "graphml", "adjlist"])
def test_round_trip_through_a_file(tmp_path: Path, spec: str, file_format: LinkFormat) -> None:
    topology = build(spec)
    path = write(tmp_path, f"some.{file_format}", write_links(topology, file_format))
    assert read_topology(path) == topology
    shouted = write(tmp_path, f"OTHER.{file_format.upper()}", write_links(topology, file_format))
    assert read_topology(shouted) == topology
    assert read_topology(shouted).spec is None


@given(topology=drawn())
def test_round_trip_of_any_topology(topology: Topology, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    for file_format in ("json", "graphml"):
        path = write(folder, f"any.{file_format}", write_links(topology, file_format))
        assert read_topology(path) == topology
    path = write(folder, "any.csv", write_links(topology, "csv"))
    used = sorted({end for u, v, _ in topology.links() for end in (u, v)})
    if used == list(range(len(used))) and len(used) > 1:  # which a list of links tells: no switches, and no node alone
        assert read_topology(path) == Topology.from_links(len(used), topology.links())
    elif used != list(range(1, used[-1] + 1)):
        assert "no link names node" in refused(path) or "only one node" in refused(path)
    path = write(folder, "any.dot", write_links(topology, "dot"))
    assert read_topology(path) == topology
    for key in ("links", "edges"):
        data = nx.node_link_data(topology.to_networkx(), edges=key)
        assert read_topology(write(folder, "any.json", json.dumps(data))) == topology


@given(drawn())
def test_documents_are_what_they_say(topology: Topology) -> None:
    document = json.loads(write_links(topology, "json"))
    assert document["nodes"] == topology.nodes
    assert [tuple(link) for link in document["links"]] == topology.links()
    assert set(document) == {"nodes", "links"} | ({"switches"} if topology.switches else set())
    rows = list(csv.DictReader(io.StringIO(write_links(topology, "csv"))))
    assert [tuple(int(row[name]) for name in ("src", "dst", "capacity")) for row in rows] == topology.links()
    for file_format in LINK_FORMATS:
        if file_format == "edges" and not (topology.links() and topology.is_duplex):
            continue
        text = write_links(topology, file_format)
        assert text.isascii()
        assert text.endswith("\n")
        assert text == write_links(topology, file_format)


DOT_EDGE = re.compile(r"  (\d+) -> (\d+)(?: \[(dir=none)?(?:, )?(?:capacity=(\d+), label=\4)?\])?;")


@given(drawn())
def test_dot_draws_every_link_once(topology: Topology) -> None:
    first, second, *lines, last = write_links(topology, "dot").splitlines()
    assert (first, second, last) == ('digraph "topology" {', "  node [shape=circle];", "}")
    boxes = [line for line in lines if "->" not in line]
    alone = set(range(topology.nodes)) - {end for u, v, _ in topology.links() for end in (u, v)} - topology.switches
    assert boxes == [f"  {node} [shape=box, switch=true];" for node in sorted(topology.switches)] + [
        f"  {node};" for node in sorted(alone)
    ]
    links = []
    for line in lines[len(boxes) :]:
        match = DOT_EDGE.fullmatch(line)
        assert match is not None, line
        u, v, capacity = int(match[1]), int(match[2]), int(match[4] or 1)
        assert bool(match[3]) == topology.is_duplex
        links += [(u, v, capacity), (v, u, capacity)] if match[3] and u != v else [(u, v, capacity)]
    assert sorted(links) == topology.links()


def test_dot_carries_the_spec() -> None:
    assert write_links(build("line(diamond(),2)"), "dot").startswith('digraph "line(diamond(),2)" {\n')


def test_undirected_files(tmp_path: Path) -> None:
    square = nx.cycle_graph(4)
    expected = Topology.from_links(4, [(u, (u + step) % 4) for u in range(4) for step in (1, 3)])
    graphml = write(tmp_path, "a.graphml", "\n".join(nx.generate_graphml(square)))
    assert read_topology(graphml) == expected
    node_link = write(tmp_path, "a.json", json.dumps(nx.node_link_data(square, edges="edges")))
    assert read_topology(node_link) == expected
    looped = nx.MultiGraph([(0, 1), (0, 1), (1, 1)])
    assert read_topology(write(tmp_path, "b.graphml", "\n".join(nx.generate_graphml(looped)))).links() == [
        (0, 1, 2),
        (1, 0, 2),
        (1, 1, 1),
    ]


def test_names_are_numbered_by_value_or_in_order(tmp_path: Path) -> None:
    for names, order in ((["10", "9", "1"], ["1", "9", "10"]), (["b", "a", "c"], ["b", "a", "c"])):
        ring = nx.DiGraph()
        ring.add_nodes_from(names)
        ring.add_edges_from(itertools.pairwise(names))
        number = {name: order.index(name) for name in names}
        expected = sorted((number[u], number[v], 1) for u, v in ring.edges)
        path = write(tmp_path, "names.graphml", "\n".join(nx.generate_graphml(ring)))
        assert read_topology(path).links() == expected


@pytest.mark.parametrize(
    "text",
    [
        "src,dst\n0,1\n1,0\n",
        "src,dst,capacity\n0,1,1\n1,0,1\n",
        "SRC, Dst\r\n0, 1\r\n\r\n1,0",
        "\ufeffsrc,dst\n1,0\n0,1\n",
    ],
)
def test_csv_that_is_read(tmp_path: Path, text: str) -> None:
    assert read_topology(write(tmp_path, "a.csv", text)) == build("complete(2)")


LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))
GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">{}</graph></graphml>'
CAPACITY = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="c" for="edge" attr.name="capacity" attr.type="{}"/><graph edgedefault="directed">'
    '<edge source="0" target="1"><data key="c">{}</data></edge></graph></graphml>'
)
DEEP = "[" * 900 + "]" * 900


def keyed(name: str, kind: str, value: str) -> str:
    """GraphML of two nodes, the first with an attribute."""
    return (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'<key id="k" for="node" attr.name="{name}" attr.type="{kind}"/><graph edgedefault="undirected">'
        f'<node id="a"><data key="k">{value}</data></node><node id="b"/><edge source="a" target="b"/></graph></graphml>'
    )


HOSTILE: list[tuple[str, str | bytes, str]] = [
    *((f"a.{ending}", "", "") for ending in ("json", "csv", "graphml")),
    *((f"a.{ending}", "   \n", "") for ending in ("json", "csv", "graphml")),
    *((f"a.{ending}", b"\xff\xfe\x00garbage", "not a text file") for ending in ("json", "csv", "graphml")),
    *((f"a.{ending}", "\0" * 100, "") for ending in ("json", "csv", "graphml")),
    ("a.txt", "nothing that is known", "is not an edge"),
    ("a", "0", "only one node"),
    ("a.json.gz", "x", "is not an edge"),
    ("a.json", '{"nodes":2,"links":[[0,1],[1,0]', "not JSON"),
    ("a.json", '{"nodes":2,"links":[[0,1],[1,0]]} x', "not JSON"),
    ("a.json", "[" * 10**5, "not JSON"),
    ("a.json", '{"nodes":' * 10**5, "not JSON"),
    ("a.json", "[]", "expected {"),
    ("a.json", "7", "expected {"),
    ("a.json", "null", "expected {"),
    ("a.json", "{}", "'nodes' is missing"),
    ("a.json", '"nodes"', "expected {"),
    ("a.json", '{"nodes":2}', '"links"'),
    ("a.json", '{"nodes":2,"links":{}}', '"links"'),
    ("a.json", '{"nodes":2,"links":null}', '"links"'),
    ("a.json", '{"nodes":null,"links":[]}', '"nodes"'),
    ("a.json", '{"nodes":2.0,"links":[]}', '"nodes"'),
    ("a.json", '{"nodes":true,"links":[]}', '"nodes"'),
    ("a.json", '{"nodes":NaN,"links":[]}', "NaN is not a number"),
    ("a.json", '{"nodes":"2","links":[]}', "nodes: expected a list"),
    ("a.json", '{"nodes":-Infinity,"links":[]}', "-Infinity is not a number"),
    ("a.json", f'{{"nodes":{10**30},"links":[]}}', '"nodes"'),
    ("a.json", f'{{"nodes":{"9" * 5000},"links":[]}}', "not JSON"),
    ("a.json", f'{{"nodes":{MAX_NODES + 1},"links":[]}}', "too many"),
    ("a.json", '{"nodes":0,"links":[]}', "at least one node"),
    ("a.json", '{"nodes":-2,"links":[]}', "at least one node"),
    ("a.json", '{"nodes":2,"links":[[0,2]]}', "nodes 0 to 1"),
    ("a.json", '{"nodes":2,"links":[[0,-1]]}', "nodes 0 to 1"),
    ("a.json", '{"nodes":2,"links":[[0,1,0]]}', "capacities"),
    ("a.json", '{"nodes":2,"links":[[0,1,-1]]}', "capacities"),
    ("a.json", f'{{"nodes":2,"links":[[0,1,{2**40}]]}}', "capacities"),
    ("a.json", f'{{"nodes":2,"links":[[0,1,{2**70}]]}}', "links[0] must be"),
    ("a.json", f'{{"nodes":2,"links":[[0,{-(2**70)}]]}}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":[[0,1],[1]]}', "links[1] must be"),
    ("a.json", '{"nodes":2,"links":[[0,1,1,1]]}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":[[0,1.0]]}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":[[0,true]]}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":[["0","1"]]}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":[{"source":0,"target":1}]}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":["01"]}', "links[0] must be"),
    ("a.json", f'{{"nodes":2,"links":[{DEEP}]}}', "links[0] must be"),
    ("a.json", '{"nodes":2,"links":[],"switches":3}', '"switches"'),
    ("a.json", '{"nodes":2,"links":[],"switches":["a"]}', '"switches"'),
    ("a.json", '{"nodes":2,"links":[],"switches":[2]}', "switches must be among"),
    ("a.json", '{"nodes":[],"links":[]}', "at least one node"),
    ("a.json", '{"nodes":[]}', "'links' is missing"),
    ("a.json", '{"nodes":[0,1],"links":[]}', "expected text, not 0"),
    ("a.json", '{"nodes":[null],"links":[]}', "expected text, not nothing"),
    ("a.json", '{"nodes":[{"id":{}}],"links":[]}', "node-link"),
    ("a.json", '{"nodes":[{"id":null}],"links":[]}', ""),
    ("a.json", '{"nodes":[{"id":[1,2]}],"links":[]}', "node names"),
    ("a.json", '{"nodes":[{"id":0.5}],"links":[]}', "node names"),
    ("a.json", f'{{"nodes":[{{"id":{DEEP}}}],"links":[]}}', ""),
    ("a.json", '{"nodes":[{"id":0},{"id":0}],"links":[]}', "repeated"),
    ("a.json", '{"nodes":[{"id":0}],"links":[{"source":0,"target":1}]}', "unknown ones"),
    ("a.json", '{"nodes":[{"id":0}],"links":[{"source":0,"target":0,"capacity":NaN}]}', "NaN is not a number"),
    ("a.json", '{"nodes":2,"nodes":3,"links":[[0,1],[1,0]]}', "'nodes' is there twice"),
    ("a.json", '{"nodes":2,"links":[[0,1],[1,0]],"swiches":[0]}', "unknown field 'swiches'"),
    ("a.json", '{"nodes":[{"id":0}],"links":[],"graph":[]}', "only one node"),
    ("a.json", '{"nodes":[{"id":0}],"links":[],"edges":[]}', "node-link"),
    ("a.json", '{"nodes":[{"id":0}],"links":[],"more":0}', "unknown field 'more'"),
    ("a.json", '{"nodes":[{"id":0,"swich":true},{"id":1}],"links":[]}', "did you mean 'switch'"),
    ("a.json", '{"nodes":[{"id":0,"switch":"true"},{"id":1}],"links":[]}', "switch of node"),
    ("a.json", '{"nodes":[{"id":0,"switch":1},{"id":1}],"links":[]}', "switch of node"),
    ("a.json", '{"nodes":[{"id":0}],"links":[{"source":0,"target":0,"capcity":2}]}', "did you mean 'capacity'"),
    ("a.graphml", keyed("switch", "string", "true"), "switch of node"),
    ("a.graphml", keyed("swicth", "boolean", "true"), "did you mean 'switch'"),
    ("a.graphml", keyed("Switch", "boolean", "true"), "did you mean 'switch'"),
    ("a.graphml", keyed("color", "string", "red").replace('id="b"', 'id="a"'), "repeated"),
    ("a.json", '{"nodes":[{"id":0}],"links":7}', "node-link"),
    ("a.json", '{"nodes":[{"id":0}],"links":[7]}', "node-link"),
    ("a.json", '{"nodes":[{"id":0}],"links":[{}]}', "node-link"),
    ("a.json", '{"nodes":[{"id":0}],"links":[{"source":0}]}', "node-link"),
    *(
        ("a.json", f'{{"nodes":[{{"id":0}}],"links":[{{"source":0,"target":0,"capacity":{capacity}}}]}}', "capacit")
        for capacity in ("1.5", '"x"', "null", "true", "[1]", "-1", "0", 2**70)
    ),
    ("a.csv", "0,1\n1,0\n", "expected the header"),
    ("a.csv", "src,dst,weight\n0,1,2\n", "--read ignore=weight"),
    ("a.csv", "src,dst,capacity,more\n0,1,1,2\n", "--read ignore=more"),
    ("a.csv", "0;1\n1;0\n", "expected the header"),
    ("a.csv", "src,dst\n", "no links"),
    ("a.csv", "src,dst\n0,1\n1\n", "line 3: expected src,dst"),
    ("a.csv", "src,dst\n0,1,1\n", "line 2"),
    ("a.csv", "src,dst,capacity\n0,1\n", "line 2"),
    ("a.csv", "src,dst\n0,-1\n", "is not a node"),
    ("a.csv", "src,dst\n0,1.0\n", "is not a node"),
    ("a.csv", "src,dst\n0,\n", "line 2"),
    ("a.csv", "src,dst\n0,\N{ARABIC-INDIC DIGIT ONE}\n", "is not a node"),
    ("a.csv", 'src,dst\n0,"1\n', "not CSV"),
    ("a.csv", "src,dst\n0,1\0\n", "null bytes"),
    ("a.csv", f"src,dst\n0,{10**30}\n", "is not a node"),
    ("a.csv", f"src,dst\n0,{'9' * 5000}\n", "is not a node"),
    ("a.csv", f"src,dst\n0,{'9' * 200000}\n", "field"),
    ("a.csv", "src,dst\n0,1048576\n", "no link names node 1,"),
    ("a.csv", "src,dst,capacity\n0,1,0\n", "capacities"),
    ("a.graphml", "<graphml", "not GraphML"),
    ("a.graphml", "<html></html>", "this is a page or a picture, not a fabric or a list of links"),
    ("a.graphml", "<a>" * 10**5, "not GraphML"),
    ("a.graphml", "<a>" * 10**5 + "</a>" * 10**5, "not GraphML"),
    ("a.graphml", GRAPHML.format(""), "at least one node"),
    ("a.graphml", GRAPHML.format("<node/>"), "has no id"),
    ("a.graphml", GRAPHML.format('<edge source="0"/>'), "lacks one of its ends"),
    ("a.graphml", GRAPHML.format('<node id="0"/><hyperedge/>'), "not GraphML"),
    ("a.graphml", GRAPHML.format('<node id="0"/><edge source="0" target="0" directed="false"/>'), "not GraphML"),
    ("a.graphml", GRAPHML.format("&a11;"), "not GraphML"),
    ("a.graphml", '<?xml version="1.0" encoding="nonsense"?>' + GRAPHML.format(""), ""),
    *(
        ("a.graphml", CAPACITY.format(kind, value), "")
        for kind, value in (
            ("double", "1.5"), ("double", "nan"), ("string", "2"), ("int", "x"), ("int", 2**70), ("int", "9" * 5000),
            ("int", "0"), ("boolean", "true"), ("nonsense", "1"),
        )
    ),
    ("a.graphml", f"<!DOCTYPE lolz [<!ENTITY a0 'lol'>{LAUGHS}]>" + GRAPHML.format("&a11;"), "declarations"),
    ("a.graphml", '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname">]>' + GRAPHML.format("&f;"), "declarations"),
    ("a.graphml", f"<!DOCTYPE x [{LAUGHS}]>".encode("utf-16"), "not a text file"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), HOSTILE, ids=lambda value: ascii(value)[:24])
def test_hostile_files_are_refused(tmp_path: Path, name: str, content: str | bytes, words: str) -> None:
    assert words in refused(write(tmp_path, name, content))


@pytest.mark.dear("csv", "graphml")
@pytest.mark.parametrize("ending", ["json", "csv", "graphml"])
def test_ten_megabytes_of_garbage(tmp_path: Path, ending: str) -> None:
    refused(write(tmp_path, f"bytes.{ending}", np.random.default_rng(7).bytes(10**7)))
    refused(write(tmp_path, f"text.{ending}", "0,1 <[{\n" * 10**6 + "x" * 2 * 10**6))
    refused(write(tmp_path, f"line.{ending}", "x" * 10**7))


@pytest.mark.parametrize("ending", ["json", "csv", "graphml"])
def test_what_is_not_a_file(tmp_path: Path, ending: str) -> None:
    assert refused(tmp_path / f"missing.{ending}") == "No such file or directory"
    assert refused(tmp_path / "missing" / f"a.{ending}") == "No such file or directory"
    assert refused(tmp_path / f"{'x' * 300}.{ending}") == "File name too long"
    assert refused(Path(f"nul\0.{ending}")) == "not a file"
    folder = tmp_path / f"folder.{ending}"
    folder.mkdir()
    assert refused(folder).startswith("this is a directory, not a fabric or a list of links")
    inside = write(tmp_path, f"plain.{ending}", "") / f"a.{ending}"
    assert refused(inside) == "Not a directory"
    loop = tmp_path / f"loop.{ending}"
    loop.symlink_to(loop)
    assert "symbolic links" in refused(loop)
    pipe = tmp_path / f"pipe.{ending}"
    os.mkfifo(pipe)
    assert refused(pipe) == "not a file"
    endless = tmp_path / f"endless.{ending}"
    endless.symlink_to("/dev/zero")
    assert refused(endless) == "not a file"


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_args: object, **_options: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", forbid)  # the permission bits of a file do not bind every user
    assert refused(write(tmp_path, "a.json", "{}")) == "Permission denied"


def test_file_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as stream:
        stream.truncate(LARGEST_FILE + 1)  # a hole: nothing is written
    assert refused(path) == f"larger than {LARGEST_FILE} bytes"


KEYS = st.sampled_from(["nodes", "links", "edges", "id", "source", "target", "capacity", "switches", "graph", "key"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
LINK = st.fixed_dictionaries({"source": st.integers(0, 2), "target": st.integers(0, 2)}, optional={"capacity": JSON})
RIGHT_LINK = st.fixed_dictionaries(
    {"source": st.integers(0, 2), "target": st.integers(0, 2), "capacity": st.integers(1, 9)}
)
DOCUMENTS: st.SearchStrategy[Any] = (
    JSON
    | st.fixed_dictionaries({"nodes": JSON, "links": JSON}, optional={"switches": JSON, "multigraph": JSON})
    | st.fixed_dictionaries(
        {
            "nodes": st.lists(st.fixed_dictionaries({"id": st.integers(0, 2) | JSON}), max_size=3),
            "links": st.lists(LINK),
        },
        optional={"directed": JSON, "multigraph": JSON, "graph": JSON},
    )
    | st.fixed_dictionaries(
        {"nodes": st.just([{"id": node} for node in range(3)]), "links": st.lists(RIGHT_LINK)},
        optional={"directed": st.booleans(), "multigraph": st.booleans()},
    )
)


@pytest.mark.floor(read=8, refused=30)
@given(document=DOCUMENTS)
def test_any_json_is_a_topology_or_refused(document: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write(tmp_path_factory.getbasetemp(), "fuzz.json", json.dumps(document))
    try:
        topology = read_topology(path)
    except FileFormatError:
        reached("refused")
        return
    reached("read")
    assert read_topology(write(path.parent, "again.json", write_links(topology, "json"))) == topology


@pytest.mark.floor(read=8, refused=30)
@given(spec=st.sampled_from(SPECS), ending=st.sampled_from(["json", "csv", "graphml"]), data=st.data())
def test_damaged_files_are_a_topology_or_refused(
    spec: str, ending: LinkFormat, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    topology = dataclasses.replace(build(spec), spec=None)
    content = write_links(topology, ending).encode()
    start, length = data.draw(st.integers(0, len(content))), data.draw(st.integers(0, 9))
    damaged = content[:start] + data.draw(st.binary(max_size=6)) + content[start + length :]
    path = write(tmp_path_factory.getbasetemp(), f"damaged.{ending}", damaged)
    try:
        read = read_topology(path)
    except FileFormatError:
        reached("refused")
        return
    reached("read")
    assert isinstance(read, Topology)
    assert read.nodes <= MAX_NODES


@given(drawn())
def test_graphml_is_what_networkx_writes(topology: Topology) -> None:
    graph = topology.to_networkx()
    graph.graph["spec"] = ""
    if len(topology.src):
        assert write_links(topology, "graphml") == "\n".join(nx.generate_graphml(graph)) + "\n"


@pytest.mark.parametrize("file_format", LINK_FORMATS)
def test_many_links_come_in_pieces(file_format: LinkFormat) -> None:
    topology = build("torus(150,150)" if file_format == "edges" else "genkautz(2,20000)")
    pieces = list(links_in_pieces(topology, file_format))
    assert len(pieces) > 3
    assert max(map(len, pieces)) < sum(map(len, pieces)) / 2
    assert "".join(pieces) == write_links(topology, file_format)


@given(topology=drawn())
def test_lists_of_others_are_read_back_and_by_networkx(
    topology: Topology, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of any topology as a list of neighbours; of one with cables also as a list of edges."""
    folder, plain = tmp_path_factory.getbasetemp(), Topology.from_links(topology.nodes, topology.links())
    path = write(folder, "any.adjlist", write_links(topology, "adjlist"))
    assert read_topology(path) == plain
    theirs = nx.read_adjlist(path, create_using=nx.MultiDiGraph, nodetype=int)
    assert sorted(theirs.edges()) == sorted((u, v) for u, v, c in topology.links() for _ in range(c))
    assert set(theirs) == set(range(topology.nodes))
    back = [(v, u, c) for u, v, c in topology.links() if u != v]
    both = Topology.from_links(topology.nodes, [*topology.links(), *back])
    used = sorted({end for u, v, _ in both.links() for end in (u, v)})
    if used == list(range(len(used))) and len(used) > 1:
        last = used[-1]
        for ending in ("edges", "edgelist"):
            path = write(folder, f"any.{ending}", write_links(both, "edges"))
            assert read_topology(path) == Topology.from_links(last + 1, both.links())
        graph = nx.read_edgelist(path, create_using=nx.MultiGraph, nodetype=int)
        assert sorted(map(sorted, graph.edges())) == sorted(
            [u, v] for u, v, c in both.links() for _ in range(c) if u <= v
        )


@pytest.mark.parametrize("graph", [nx.petersen_graph(), nx.cycle_graph(5), nx.hypercube_graph(3)])
def test_what_networkx_writes_is_read(tmp_path: Path, graph: nx.Graph) -> None:
    numbered = nx.convert_node_labels_to_integers(graph)
    wanted = Topology.from_links(len(graph), list(numbered.to_directed().edges()))
    nx.write_edgelist(numbered, tmp_path / "a.edges")
    nx.write_edgelist(numbered, tmp_path / "plain.edges", data=False)
    nx.write_adjlist(numbered, tmp_path / "once.adjlist")
    nx.write_adjlist(numbered.to_directed(), tmp_path / "both.adjlist")
    for name in ("a.edges", "plain.edges", "once.adjlist", "both.adjlist"):
        assert as_topology(str(tmp_path / name)) == wanted


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.edges", "# none\n", "no links"),
        ("a.edges", "0 1\n1\n", "line 2: an edge has two nodes"),
        ("a.edges", "0 1 {'weight': 3}\n", "--read capacity=weight:Gbps"),
        ("a.edges", "0,1\n", "line 1: an edge has two nodes"),
        ("a.edges", "0 99999999999\n", "no link names node 1,"),
        ("a.adjlist", "# nothing\n", "no links"),
        ("a.adjlist", "0 1\n0 2\n", "line 2: node 0 has a line already"),
        ("a.adjlist", "0 1.5\n", "is not a node"),
    ],
)
def test_lists_that_are_none_are_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    assert words in read_refusal(write(tmp_path, name, content))


def read_refusal(path: Path) -> str:
    with pytest.raises(FileFormatError) as caught:
        read_topology(path)
    return str(caught.value)


def test_only_cables_make_edges() -> None:
    with pytest.raises(ParameterError, match="one-way"):
        write_links(build("uniring(1,3)"), "edges")
    huge = Topology.from_links(2, [(0, 1, 2**30), (1, 0, 2**30)])
    for file_format in ("edges", "adjlist"):
        with pytest.raises(TooLargeError):
            write_links(huge, file_format)
