"""Topologies in files, read strictly and written the same way.

JSON and CSV lists of links, GraphML, node-link JSON, and the lists of edges and neighbours that others publish.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.errors import FileFormatError, ParameterError, TopologyError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.memory import check_memory
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import fixed_columns, unexpected_row
from topodesign.base.text_files import read_text
from topodesign.base.wording import suggest
from topodesign.topology.topology import Topology, check_buildable, check_weights

if TYPE_CHECKING:
    import networkx as nx

LinkFormat = Literal["json", "csv", "dot", "graphml", "edges", "adjlist"]
LINK_FORMATS: tuple[LinkFormat, ...] = get_args(LinkFormat)
_NODE_LINK_KEYS = {"directed", "multigraph", "graph", "nodes", "links", "edges"}
_NODE_ATTRIBUTES = ("switch", "multicast", "aggregation", "memory")
_EDGE_ATTRIBUTES = ("capacity", "bandwidth", "class")
_SIMILAR = 0.75  # swich, Switch and is_switch are; unit, site and weight are not
_PER_GRAPHML_LETTER = 40
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NODE = re.compile(r"<(?:[\w.-]+:)?node\s[^<>]*?\bid\s*=\s*(\"[^\"]*\"|'[^']*')")
_PIECE = 2**14  # links or nodes whose text is made at once
_GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="d2" for="edge" attr.name="capacity" attr.type="long" />
  <key id="d1" for="node" attr.name="switch" attr.type="boolean" />
  <key id="d0" for="graph" attr.name="spec" attr.type="string" />
  <graph edgedefault="directed">
"""
_NO_DATA = "{}"  # what networkx puts after an edge without attributes
_ROW = "src,dst and perhaps capacity as integers"


def read_topology(path: Path) -> Topology:
    """Read a topology from a file whose ending names the format: .json, .csv, .graphml, .edges (.edgelist) or .adjlist.

    JSON is ``{"nodes": N, "links": [[u, v, capacity], ...], "switches": [u, ...]}``, the switches optional, or networkx
    node-link data; CSV has the columns ``src,dst[,capacity]``, and as many nodes as the largest number demands.
    ``.edges`` has an undirected edge ``u v`` a line, as Graph Golf publishes them, and ``.adjlist`` a node a line and
    those that it has links to, as networkx writes them; where all of these have later lines every edge is there once,
    and undirected. What is repeated is a wider link, nodes are numbers from 0 on, and ``#`` begins a comment.
    """
    with expecting(path, FileKind.LINKS):
        try:
            text = read_text(path, READERS)
            return READERS[path.suffix.lower()](text)
        except (TopologyError, ParameterError) as error:
            raise FileFormatError(str(error)) from None


def write_links(topology: Topology, file_format: LinkFormat) -> str:
    """Return the links of a topology as text.

    Parameters
    ----------
    topology
        Any.
    file_format
        ``json``: ``{"nodes": N, "links": [[u, v, capacity], ...]}``, and ``"switches"`` if there are any; ``csv``: a
        row a link with a header; ``dot`` for Graphviz; ``graphml``; ``edges``: a line ``u v`` an edge, of duplex
        topologies only; ``adjlist``: a line a node, with those that it has links to. CSV and the last two do not say
        which nodes are switches.

    Examples
    --------
    >>> from topodesign import build, write_links
    >>> print(write_links(build("uniring(1,3)"), "csv"), end="")
    src,dst,capacity
    0,1,1
    1,2,1
    2,0,1
    """
    return "".join(links_in_pieces(topology, file_format))


def links_in_pieces(topology: Topology, file_format: LinkFormat) -> Iterator[str]:
    """Return what :func:`write_links` does, piece by piece, for more links than a text should hold."""
    if not isinstance(topology, Topology):
        raise ParameterError(f"links are written of a topology, not of {topology!r:.60}")
    writers = {
        "json": _to_json,
        "csv": _to_csv,
        "dot": _to_dot,
        "graphml": _to_graphml,
        "edges": _to_edges,
        "adjlist": _to_adjlist,
    }
    return writers[as_choice("format", file_format, writers)](topology)


def _from_json(text: str) -> Topology:
    data = parse_json(text)
    if not isinstance(data, dict) or "nodes" not in data:
        raise FileFormatError('expected {"nodes": N, "links": [[u, v, capacity], ...]}')
    if isinstance(data["nodes"], list):
        return _from_networkx(node_link_graph(data))
    unknown = sorted(data.keys() - {"nodes", "links", "switches"})
    if unknown:
        raise FileFormatError(f"unknown field {unknown[0][:50]!r}; known are nodes, links, switches")
    links, switches = data.get("links"), data.get("switches", [])
    if not isinstance(links, list) or not isinstance(switches, list) or not _whole(data["nodes"]):
        raise FileFormatError('"nodes" must be an integer, "links" and "switches" lists')
    if not all(map(_whole, switches)):
        raise FileFormatError('"switches" must hold node numbers')
    for row, link in enumerate(links):
        if not isinstance(link, list) or len(link) not in {2, 3} or not all(map(_whole, link)):
            raise FileFormatError(f"links[{row}] must be [u, v] or [u, v, capacity] with integers")
    return Topology.from_links(data["nodes"], [tuple(link) for link in links], switches=switches)


def node_link_graph(data: dict[str, Any]) -> Any:
    """Return the networkx graph of node-link data; raises FileFormatError if it is no such."""
    import networkx as nx  # noqa: PLC0415  heavy

    unknown = sorted(data.keys() - _NODE_LINK_KEYS)
    if unknown:
        raise FileFormatError(f"unknown field {unknown[0][:50]!r} in node-link data")
    if {"links", "edges"} <= data.keys() or not isinstance(data.get("graph", {}), dict):
        raise FileFormatError("not networkx node-link data: 'links' or 'edges', and 'graph' an object")
    try:
        graph = nx.node_link_graph(data, edges="edges" if "edges" in data else "links")
    except Exception as error:  # noqa: BLE001  networkx does not check the form, so that anything may come of it
        raise FileFormatError(f"not networkx node-link data: {error!r}") from None
    if len(graph) != len(data["nodes"]):
        raise FileFormatError("nodes are repeated, or links name unknown ones")
    _check_attributes(graph)
    return graph


def graphml_graph(text: str) -> Any:
    """Return the networkx graph of GraphML; raises FileFormatError if it is no such."""
    import networkx as nx  # noqa: PLC0415  heavy

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileFormatError("document type declarations are not accepted")
    check_memory(_PER_GRAPHML_LETTER * len(text), f"{len(text)} letters of GraphML")
    try:
        graph = nx.parse_graphml(text)
    except Exception as error:  # noqa: BLE001  the parser raises whatever its XML library does
        raise FileFormatError(f"not GraphML: {error}") from None
    if "None" in graph:  # networkx takes what is missing for a name
        raise FileFormatError("not GraphML: a node has no id, or an edge lacks one of its ends")
    names = _NODE.findall(_COMMENT.sub("", text))
    if not len(graph) == len(names) == len(set(names)):
        raise FileFormatError("nodes are repeated, or edges name unknown ones")
    _check_attributes(graph)
    return graph


def _check_attributes(graph: nx.Graph) -> None:
    """Refuse attributes whose names are nearly those that mean something; others do no harm."""
    _check_names({name for _, fields in graph.nodes(data=True) for name in fields}, _NODE_ATTRIBUTES, "nodes")
    _check_names({name for _, _, fields in graph.edges(data=True) for name in fields}, _EDGE_ATTRIBUTES, "edges")
    check_weights(graph)


def _check_names(names: set[Any], known: tuple[str, ...], where: str) -> None:
    for name in sorted(map(str, names - set(known))):
        hint = suggest(name, known, "", most=1, like=_SIMILAR)
        if hint:
            raise FileFormatError(f"unknown attribute {name[:50]!r} of {where}; {hint}")


def _from_graphml(text: str) -> Topology:
    return _from_networkx(graphml_graph(text))


def is_graph(value: object) -> bool:
    """Return whether a value is a networkx graph, which it can be only if somebody has imported that."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(value, networkx.Graph)


def as_graph(value: Any) -> nx.Graph:
    """Return a networkx graph whose weights mean something; raises ParameterError for anything else."""
    if not is_graph(value):
        raise ParameterError(f"a topology, a spec, a file of links, a graph or a matrix is needed, not {value!r:.100}")
    check_weights(value)
    graph: nx.Graph = value
    return graph


def _from_networkx(graph: Any) -> Topology:
    if not all(isinstance(name, str | int) for name in graph.nodes):
        raise FileFormatError("node names must be text or integers")
    return from_graph(graph)


def from_graph(graph: nx.Graph) -> Topology:
    """Make a topology from a networkx graph with any names of nodes; an undirected edge becomes two links.

    Nodes are numbered by name if all names are whole numbers, else in the graph's own order, and
    :attr:`Topology.node_names` has the names. The attributes ``capacity`` of an edge and ``switch`` of a node are used
    where they are present; a ``weight`` counts for nothing beside a capacity.
    """
    names = list(graph.nodes)
    if all(_digits(str(name)) for name in names):
        names.sort(key=int)
    number = {name: row for row, name in enumerate(names)}
    links = []
    for u, v, capacity in graph.edges(data="capacity", default=1):
        if not _whole(capacity):
            raise TopologyError(f"the capacity of link {number[u]}, {number[v]} must be an integer")
        links.append((number[u], number[v], capacity))
        if not graph.is_directed() and u != v:
            links.append((number[v], number[u], capacity))
    for name, switch in graph.nodes(data="switch", default=False):
        if not isinstance(switch, bool):
            raise TopologyError(f"switch of node {str(name)[:50]!r} must be True or False, not {str(switch)[:50]!r}")
    switches = [number[name] for name, switch in graph.nodes(data="switch", default=False) if switch]
    topology = Topology.from_links(len(names), links, switches=switches)
    called = tuple(map(str, names))
    return topology if all(map(_digits, called)) else replace(topology, node_names=called)


def _from_csv(text: str) -> Topology:
    links = []
    for line, cells in fixed_columns(text, ("src", "dst", "capacity"), _ROW, optional=1):
        if not all(map(_digits, cells)):
            raise unexpected_row(line, cells, _ROW)
        links.append(tuple(map(int, cells)))
    if not links:
        raise FileFormatError("there are no links")
    return Topology.from_links(1 + max(max(link[:2]) for link in links), links)  # type: ignore[arg-type]


def _from_edges(text: str) -> Topology:
    """Read an undirected edge a line; one of a node with itself is one link."""
    links = []
    for line, cells in _numbers(text, "two nodes such as 0 5", data=True):
        if len(cells) != 2:
            raise FileFormatError(f"line {line}: an edge has two nodes, not {len(cells)}")
        links += [(cells[0], cells[1], 1), (cells[1], cells[0], 1)][: 1 if cells[0] == cells[1] else 2]
    if not links:
        raise FileFormatError("there are no edges")
    return Topology.from_links(1 + max(map(max, ((u, v) for u, v, _ in links))), links)


def _from_adjlist(text: str) -> Topology:
    """Read a node a line, and those that it has links to.

    Where all links lead to nodes of later lines this is how networkx writes undirected graphs, each edge once; as links
    of one way they would never lead back.
    """
    lists: dict[int, list[int]] = {}
    for line, (node, *others) in _numbers(text, "nodes such as 0 5 7"):
        if node in lists:
            raise FileFormatError(f"line {line}: node {node} has a line already")
        lists[node] = others
    if not lists:
        raise FileFormatError("there are no nodes")
    place = {node: number for number, node in enumerate(lists)}
    after = len(place)
    once = all(place.get(v, after) > place[u] for u, others in lists.items() for v in others if v != u)
    links = [(u, v, 1) for u, others in lists.items() for v in others]
    if once:
        links += [(v, u, 1) for u, v, _ in links if u != v]
    return Topology.from_links(1 + max(max([node, *others]) for node, others in lists.items()), links)


def _numbers(text: str, wanted: str, *, data: bool = False) -> Iterator[tuple[int, list[int]]]:
    """Yield the numbers of every line that is no comment; with ``data`` no attributes may follow them."""
    for line, row in enumerate(text.splitlines(), start=1):
        cells = row.partition("#")[0].split()
        if data and cells and cells[-1] == _NO_DATA:
            del cells[-1]
        if not all(map(_digits, cells)):
            raise FileFormatError(f"line {line}: expected {wanted}, not {row[:50]!r}")
        if cells:
            yield line, list(map(int, cells))


def _pieces(topology: Topology) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the links some at a time."""
    columns = (topology.src, topology.dst, topology.capacity)
    for start in range(0, len(topology.src), _PIECE):
        yield list(zip(*(column[start : start + _PIECE].tolist() for column in columns), strict=True))


def _to_json(topology: Topology) -> Iterator[str]:
    yield f'{{"nodes": {topology.nodes},\n "links": [\n    '
    for number, links in enumerate(_pieces(topology)):
        yield (",\n    " if number else "") + ",\n    ".join(f"[{u}, {v}, {c}]" for u, v, c in links)
    switches = f',\n "switches": {sorted(topology.switches)}' if topology.switches else ""
    yield f"\n]{switches}}}\n"


def _to_csv(topology: Topology) -> Iterator[str]:
    yield "src,dst,capacity\n"
    for links in _pieces(topology):
        yield "".join(f"{u},{v},{c}\n" for u, v, c in links)


def _to_edges(topology: Topology) -> Iterator[str]:
    if not topology.is_duplex:
        raise ParameterError("a list of edges is of a duplex topology, and this one has one-way links; write adjlist")
    check_buildable(topology.nodes, int(topology.capacity.sum()))
    for links in _pieces(topology):
        yield "".join(f"{u} {v}\n" * c for u, v, c in links if u <= v)


def _to_adjlist(topology: Topology) -> Iterator[str]:
    """Write a line a node; backwards where links lead to larger numbers only, which would be read as undirected."""
    check_buildable(topology.nodes, int(topology.capacity.sum()))
    first, size = topology.indptr, max(1, _PIECE // 8)
    nodes = range(topology.nodes)
    if np.all(topology.src <= topology.dst):
        nodes = nodes[::-1]
    for start in range(0, topology.nodes, size):
        lines = []
        for node in nodes[start : start + size]:
            own = slice(int(first[node]), int(first[node + 1]))
            ends = np.repeat(topology.dst[own], topology.capacity[own]).tolist()
            lines.append(" ".join(map(str, [node, *ends])) + "\n")
        yield "".join(lines)


def _to_dot(topology: Topology) -> Iterator[str]:
    """Write a digraph; duplex links become one line without arrowheads, and switches boxes."""
    name, duplex = str(topology.spec) if topology.spec is not None else "topology", topology.is_duplex
    yield f'digraph "{name}" {{\n  node [shape=circle];\n'
    yield "".join(f"  {node} [shape=box];\n" for node in sorted(topology.switches))
    for links in _pieces(topology):
        lines = []
        for u, v, c in links:
            if duplex and u > v:
                continue
            marks = (["dir=none"] if duplex else []) + ([f"label={c}"] if c > 1 else [])
            lines.append(f"  {u} -> {v} [{', '.join(marks)}];\n" if marks else f"  {u} -> {v};\n")
        yield "".join(lines)
    yield "}\n"


def _to_graphml(topology: Topology) -> Iterator[str]:
    """Write what networkx would of :meth:`Topology.to_networkx`, without the graph."""
    yield _GRAPHML
    for start in range(0, topology.nodes, _PIECE):
        yield "".join(
            f'    <node id="{node}">\n      <data key="d1">{node in topology.switches}</data>\n    </node>\n'
            for node in range(start, min(start + _PIECE, topology.nodes))
        )
    for links in _pieces(topology):
        yield "".join(
            f'    <edge source="{u}" target="{v}">\n      <data key="d2">{c}</data>\n    </edge>\n' for u, v, c in links
        )
    spec = '<data key="d0" />' if topology.spec is None else f'<data key="d0">{topology.spec}</data>'
    yield f"    {spec}\n  </graph>\n</graphml>\n"


def _whole(value: object) -> bool:
    """Whether a value from a file is an integer that fits an array."""
    return isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63


def _digits(text: str) -> bool:
    """Whether the text is a plain integer that fits an array."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


READERS = {
    ".json": _from_json,
    ".csv": _from_csv,
    ".graphml": _from_graphml,
    ".edges": _from_edges,
    ".edgelist": _from_edges,
    ".adjlist": _from_adjlist,
}  # what reads a file, by its ending
