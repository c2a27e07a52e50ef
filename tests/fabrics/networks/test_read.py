"""One reader: a network is the same in every format that holds it, and nothing that may mean something is dropped."""

from __future__ import annotations

import io
import json
import string
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import few
from tests.fabrics.test_files import fabrics
from tests.floors import reached
from topodesign.base.errors import FileFormatError, ParameterError, TopodesignError
from topodesign.base.units import exact_rate
from topodesign.cli.main import run
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.files import read_fabric, write_fabric
from topodesign.fabrics.networks import read_network, reading
from topodesign.fabrics.places import as_fabric, as_place, as_topology
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

GBPS = Fraction(10**9, 8)
PETERSEN = as_topology(nx.petersen_graph())
EDGES = sorted((u, v) for u, v, _ in PETERSEN.links() if u < v)


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def lines(rows: list[tuple[int, int]], between: str = " ", shift: int = 0) -> str:
    return "".join(f"{u + shift}{between}{v + shift}\n" for u, v in rows)


def written(name: str) -> str:
    """The Petersen graph as each library writes it."""
    graph, out = nx.petersen_graph(), io.BytesIO()
    if name == "graph6":
        nx.write_graph6(graph, out)
    elif name == "bare graph6":
        nx.write_graph6(graph, out, header=False)
    elif name == "sparse6":
        nx.write_sparse6(graph, out)
    elif name == "gexf":
        nx.write_gexf(graph, out)
    elif name == "pajek":
        nx.write_pajek(graph, out)
    elif name == "graphml":
        nx.write_graphml(graph, out)
    elif name == "gml":
        nx.write_gml(graph, out)
    elif name == "edge list with data":
        nx.write_edgelist(graph, out)
    elif name == "adjacency list":
        nx.write_adjlist(graph, out)
    return out.getvalue().decode()


LIBRARIES = [
    "graph6",
    "bare graph6",
    "sparse6",
    "gexf",
    "pajek",
    "graphml",
    "gml",
    "edge list with data",
    "adjacency list",
]
PLAIN: dict[str, Callable[[], str]] = {
    **{
        name: lambda name=name: written(name)  # type: ignore[misc]
        for name in LIBRARIES
    },
    "edges": lambda: lines(EDGES),
    "edges from 1": lambda: lines(EDGES, shift=1),
    "edges with a heading": lambda: f"10 15\n{lines(EDGES)}",
    "edges with a count": lambda: f"10\n{lines(EDGES)}",
    "edges with comments": lambda: f"# Petersen\n\n{lines(EDGES, '   ')}",
    "csv": lambda: "source,target\n" + lines([*EDGES, *((v, u) for u, v in EDGES)], ","),
    "csv with tabs": lambda: "Source\tTarget\tType\n" + "".join(f"{u}\t{v}\tUndirected\n" for u, v in EDGES),
    "matrix": lambda: (
        f"%%MatrixMarket matrix coordinate pattern symmetric\n10 10 15\n"
        f"{''.join(f'{v + 1} {u + 1}{chr(10)}' for u, v in EDGES)}"
    ),
    "dot": lambda: "graph G {\n  // a comment\n" + lines(EDGES, " -- ") + "}\n",
    "dot of blocks": lambda: (
        'strict graph "G" { edge [color=red]; subgraph cluster_a { 0; 1 }\n'
        + "".join(f'  "{u}" -- {{{v}}} [color=blue];\n' for u, v in EDGES)
        + "}"
    ),
    "node-link": lambda: json.dumps(nx.node_link_data(nx.petersen_graph(), edges="links")),
    "d3": lambda: json.dumps(
        {
            "nodes": [{"id": n, "group": str(n % 2) + "x"} for n in range(10)],
            "links": [{"source": u, "target": v} for u, v in EDGES],
        }
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_one_graph_in_every_format(tmp_path: Path, name: str) -> None:
    """By content: the ending says nothing."""
    for ending in ("txt", "dat", "net"):
        path = put(tmp_path, f"it.{ending}", PLAIN[name]())
        network = read_network(path)
        assert replace(network.topology(), node_names=None) == PETERSEN, network
        assert as_place(str(path)) == as_topology(path) == network.topology()
        assert as_fabric(path).topology == PETERSEN


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (lines(EDGES, shift=1), "nodes count from 1"),
        (f"10 15\n{lines(EDGES)}", "line 1 is a heading"),
        ("4 2 3\n0 4\n1 4\n2 5\n3 5\n4 5\n", "4 hosts, then 2 switches of 3 ports"),
    ],
)
def test_what_is_assumed_of_lines_is_said(tmp_path: Path, text: str, note: str) -> None:
    assert note in str(read_network(put(tmp_path, "a.edges", text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 1\n1 3\n3 0\n", "no link names node 2, but 3 is a node"),
        ("5 6\n6 7\n7 5\n", "no link names node 1"),
        ("0 1 3\n1 2 3\n2 0 4\n", "--read capacity=column3:Gbps"),
    ],
)
def test_gaps_and_columns_without_names(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read_network(put(tmp_path, "a.txt", text))


def test_a_heading_is_read_whatever_the_ending(tmp_path: Path) -> None:
    assert read_network(put(tmp_path, "a.txt", "src,dst\n0,1\n1,0\n")).topology() == build("complete(2)")


def test_rules_decide(tmp_path: Path) -> None:
    path = put(tmp_path, "a.csv", "src,dst,bw,km\nx,y,10,3\ny,z,10,4\nz,x,10,5\n")
    with pytest.raises(FileFormatError, match="--read capacity=bw:Gbps"):
        read_network(path)
    with pytest.raises(FileFormatError, match="--read ignore=km"):
        read_network(path, "capacity=bw:Gbps")
    fabric = read_network(path, ["capacity=bw:Gbps", "ignore=km"]).fabric()
    assert {link.bandwidth for link in fabric.links()} == {10 * GBPS}
    with reading(["capacity=bw", "latency=km:us", "links=duplex"]):
        fabric = as_fabric(path)
    assert sorted(seconds * 10**6 for _, seconds in fabric.latency) == [3, 4, 5]
    assert len(fabric.links()) == 6
    for wrong in ("capacity", "capcity=bw", "links=both", "nodes=x"):
        with pytest.raises(ParameterError, match="--read"):
            read_network(path, wrong)
    with pytest.raises(FileFormatError, match="no link has the attribute 'speed'"):
        read_network(path, "capacity=speed:Gbps")
    stars = put(tmp_path, "s.edges", "h1 s1\nh2 s1\nh3 s2\ns1 s2\n")
    assert len(read_network(stars, "switch=s*").fabric().compute) == 3


# -- attributes -------------------------------------------------------------------------------------------------------


def graph_of(fabric: Fabric) -> nx.DiGraph:
    return nx.parse_graphml(write_fabric(fabric, "graphml"))


def to_csv(graph: nx.DiGraph) -> str:
    names = sorted({name for _, _, fields in graph.edges(data=True) for name in fields})
    rows = [",".join(["src", "dst", *names])]
    rows += [
        ",".join([u, v, *(str(fields.get(name, "")) for name in names)]) for u, v, fields in graph.edges(data=True)
    ]
    return "\n".join(rows) + "\n"


def to_dot(graph: nx.DiGraph) -> str:
    def said(fields: Mapping[str, Any]) -> str:
        words = [f'"{name}"="{str(value).lower() if value is True else value}"' for name, value in fields.items()]
        return f" [{', '.join(words)}]" if words else ""

    rows = [f'"{node}"{said({k: v for k, v in fields.items() if v})}' for node, fields in graph.nodes(data=True)]
    rows += [f'"{u}" -> "{v}"{said(fields)}' for u, v, fields in graph.edges(data=True)]
    return "digraph {\n" + ";\n".join(rows) + "}\n"


def to_gexf(graph: nx.DiGraph) -> str:
    return "\n".join(nx.generate_gexf(graph))


def to_gml(graph: nx.DiGraph) -> str:
    plain = nx.DiGraph()
    plain.add_nodes_from((node, {k: v for k, v in fields.items() if v}) for node, fields in graph.nodes(data=True))
    plain.add_edges_from(graph.edges(data=True))
    return "\n".join(nx.generate_gml(plain, stringizer=str))


WRITERS: dict[str, Callable[[nx.DiGraph], str]] = {
    "graphml": lambda graph: "\n".join(nx.generate_graphml(graph)),
    "node-link": lambda graph: json.dumps(nx.node_link_data(graph, edges="links")),
    "dot": to_dot,
    "gexf": to_gexf,
    "csv": to_csv,
}


def answer(fabric: Fabric) -> Any:
    """What decides any number: links, bandwidths, roles and limits, by name."""
    names = fabric.names
    able = [frozenset(names[node] for node in some) for some in
            (fabric.topology.switches, fabric.multicast, fabric.aggregation, fabric.memory)]  # fmt: skip
    links = frozenset((link.src, link.dst, link.bandwidth) for link in fabric.links())
    return frozenset(names), able, links, frozenset(fabric.shared), fabric.latency


PLAIN_NAMES = st.text(string.ascii_letters, min_size=2, max_size=6)


@st.composite
def simple(draw: st.DrawFn) -> Fabric:
    """Fabrics with names that every format can hold, and without limits or prices, which few hold."""
    fabric = draw(fabrics())
    names = tuple(f"v{number}" for number in range(len(fabric.names)))
    return replace(fabric, name="net", names=names, shared=(), prices=(), latency=())


@pytest.mark.parametrize("name", WRITERS)
@given(fabric=simple())
def test_round_trip_of_any_fabric(name: str, fabric: Fabric, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    if name == "csv":  # which says nothing of nodes
        assume(not any((fabric.topology.in_ports == 0) & (fabric.topology.out_ports == 0)))
        fabric = replace(
            fabric,
            topology=Topology.from_links(len(fabric.names), fabric.topology.links()),
            multicast=frozenset(),
            aggregation=frozenset(),
            memory=frozenset(),
        )
    assume(fabric.topology.links())
    path.write_text(WRITERS[name](graph_of(fabric)))
    rates = {link.bandwidth for link in fabric.links()}
    found = read_fabric(path)
    assert answer(found) == answer(fabric), rates


KNOWN = ["weight", "capacity", "bandwidth", "class", "label", "id", "name", "speed", "bw", "rate", "latency", "delay",
         "type", "role", "kind", "switch", "multicast", "memory", "key", "length", "cost", "column3", "dir", "shape",
         "color", "LinkSpeed", "LinkSpeedRaw", "capacity_unit", "unequal", "shared", "source", "target"]  # fmt: skip


@pytest.mark.floor(same=1, refused=5)
@given(
    fabric=simple(),
    name=st.sampled_from(sorted(WRITERS)),
    old=st.sampled_from(["bandwidth", "switch", "multicast", "memory", "capacity", "role", "unit"]),
    new=st.sampled_from(KNOWN) | PLAIN_NAMES,
)
def test_an_attribute_renamed_to_anything_is_the_same_or_refused(
    fabric: Fabric, name: str, old: str, new: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Bandwidths as text, as whole numbers with a unit of the graph, and as how links compare; roles as words."""
    assume((name, new) != ("gexf", "id"))  # networkx makes marks of edges of it, which are no attributes
    assume(new not in {"switch", "multicast", "aggregation", "memory"})  # which say something else of a switch
    graph = graph_of(fabric)
    if name == "csv":
        for _, fields in graph.nodes(data=True):
            fields.clear()
    if old == "role":
        for _, fields in graph.nodes(data=True):
            fields["role"] = "switch" if fields.pop("switch", False) else "host"
    if old in {"capacity", "unit"}:
        scale = fabric.unit
        for _, _, fields in graph.edges(data=True):
            fields["capacity"] = int(next(iter_rates(fields.pop("bandwidth"))) / scale)
        if old == "unit" and name not in {"csv", "dot", "gexf"}:
            graph.graph["capacity_unit"] = "Mbps"
    path = tmp_path_factory.getbasetemp() / "renamed.txt"
    try:
        path.write_text(WRITERS[name](graph))
        before = answer(read_fabric(path))
    except TopodesignError:
        return
    for fields in (
        graph.graph,
        *(one for _, one in graph.nodes(data=True)),
        *(o for _, _, o in graph.edges(data=True)),
    ):
        key = "capacity_unit" if old == "unit" else old
        if key in fields and new not in fields:
            fields[new] = fields.pop(key)
    try:
        path.write_text(WRITERS[name](graph))
        after = answer(read_fabric(path))
    except (TopodesignError, nx.NetworkXError):
        reached("refused")
        return
    assert after == before
    reached("same")


def iter_rates(text: str) -> Any:
    from topodesign.base.units import parse_bandwidth

    yield parse_bandwidth(text) / 8


def test_graphs_of_python_are_the_same_as_their_files(tmp_path: Path) -> None:
    """What evaluate priced as plain links is a fabric, as on the command line."""
    graph = nx.Graph()
    for (u, v), rate in zip([(0, 1), (1, 2), (2, 0)], ["25GB/s", "25GB/s", "5GB/s"], strict=True):
        graph.add_edge(u, v, bandwidth=rate)
    path = put(tmp_path, "g.txt", "\n".join(nx.generate_graphml(graph)))
    for place in (graph, path):
        with pytest.raises(TopodesignError, match="is a fabric, whose links have bandwidths"):
            as_topology(place)
    assert answer(as_fabric(graph)) == answer(as_fabric(path))
    graph = nx.Graph([(0, 1, {"weight": 3}), (1, 2, {"weight": 1}), (2, 0, {"weight": 1})])
    with pytest.raises(ParameterError, match="--read capacity=weight"):
        as_place(graph)
    assert exact_rate(max(k.bandwidth for k in read_network(graph, "capacity=weight:GB/s").fabric().links())) == "3GB/s"


def test_graphs_of_igraph_and_matrices_of_scipy() -> None:
    from scipy import sparse

    matrix = sparse.csr_array(nx.to_numpy_array(nx.petersen_graph()))
    assert as_topology(matrix) == as_topology(nx.to_numpy_array(nx.petersen_graph())) == PETERSEN
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(EDGES)
    assert as_topology(graph) == PETERSEN
    graph.es["speed"] = ["25GB/s"] * 15
    assert {link.bandwidth for link in as_fabric(graph).links()} == {Fraction(25 * 10**9)}


@pytest.mark.parametrize("ending", ["edges", "csv", "json", "graphml", "dot", "yaml", "g6", "gml"])
def test_networks_of_no_or_one_node_are_refused(tmp_path: Path, ending: str) -> None:
    none, one = nx.DiGraph(), nx.DiGraph()
    one.add_node("a")
    texts = {
        "edges": ["# nothing\n", "0 0\n"],
        "csv": ["src,dst\n", "src,dst\na,a\n"],
        "json": [json.dumps(nx.node_link_data(graph, edges="links")) for graph in (none, one)]
        + ['{"nodes":1,"links":[]}'],
        "graphml": ["\n".join(nx.generate_graphml(graph)) for graph in (none, one)],
        "dot": ["graph {}", "graph {a}"],
        "yaml": ["nodes: []\nlinks: []\n", "nodes: [a]\nlinks: []\n"],
        "g6": ["?\n", "@\n"],
        "gml": ["graph [\n]\n", 'graph [\n node [\n id 0\n label "a"\n ]\n]\n'],
    }
    for text in texts[ending]:
        with pytest.raises(FileFormatError) as caught:
            read_network(put(tmp_path, f"a.{ending}", text))
        assert "\n" not in str(caught.value)


# -- Networks without nodes, with one node or without links: every format and every command refuses them in one line


FORMATS = ["gml", "graphml", "gexf", "net", "adjlist", "json", "dot", "csv", "edges", "mtx", "yaml"]
COMMANDS = [
    "evaluate F", "schedule F -o o.npz", "evaluate F --group 0,1", "evaluate F --traffic zipf:1.2",
    "compare F --algorithm all", "compile F -o o.xml", "run F", "convert --as links F",
    "convert --as fabric F -o o.yaml", "evaluate F -o o.html", "evaluate F -o o.svg --plot-kind structure",
    "evaluate F -o o.svg --plot-kind bottleneck", "evaluate F -o o.svg --plot-kind distances",
    "compile F --for all -o set", "failures F --collective allgather",
]  # fmt: skip


def write_network(path: Path, nodes: int) -> None:
    """Write a network of no node, or of one without links, in the format of the ending."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    form = path.suffix.removeprefix(".")
    writers = {"gml": nx.write_gml, "graphml": nx.write_graphml, "gexf": nx.write_gexf, "net": nx.write_pajek}
    if form in writers:
        writers[form](graph, path)
        return
    texts = {
        "adjlist": "0\n" * nodes,
        "json": json.dumps(nx.node_link_data(graph, edges="links")),
        "dot": f"digraph {{{'0;' * nodes}}}",
        "csv": "src,dst\n" + "0,0\n" * nodes,
        "edges": "0 0\n" * nodes,
        "mtx": "%%MatrixMarket matrix coordinate integer general\n1 1 0\n",
        "yaml": f"name: x\nnodes: {['a'] * nodes}\nlinks: []\n",
    }
    path.write_text(texts[form], encoding="utf-8")


@pytest.mark.parametrize("command", few(COMMANDS, 6))
def test_networks_with_nothing_to_send_over_are_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for form in FORMATS:
        for nodes in (0, 1):
            write_network(Path(f"n{nodes}.{form}"), nodes)
            assert run(command.replace("F", f"n{nodes}.{form}", 1).split()) == 2, (form, nodes)
            printed = capfd.readouterr()
            assert not printed.out
            assert printed.err.count("\n") == 1, printed.err
