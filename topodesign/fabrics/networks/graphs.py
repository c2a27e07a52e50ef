"""Graphs of networkx, igraph and scipy, and formats that these read."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.memory import check_memory
from topodesign.fabrics.networks.raw import PLAIN, RawNetwork

if TYPE_CHECKING:
    import networkx as nx

_PER_LETTER = 40  # bytes of memory that a letter of XML may become
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NODE = re.compile(r"<(?:[\w.-]+:)?node\s[^<>]*?\bid\s*=\s*(\"[^\"]*\"|'[^']*')")
_DOT_TOKEN = re.compile(
    r'\s+|//[^\n]*|/\*.*?\*/|#[^\n]*|(?P<text>"(?:[^"\\]|\\.)*"|<[^<>]*(?:<[^<>]*>[^<>]*)*>)|(?P<edge>->|--)'
    r"|(?P<sign>[{}\[\];,=:])|(?P<word>-?[0-9]*\.?[0-9]+|[\w.\x80-\uffff]+)",
    re.DOTALL,
)
_DEEPEST = 50  # blocks inside blocks of DOT


def from_object(value: Any) -> RawNetwork:
    """Return the network of a networkx or igraph graph, or ParameterError."""
    if not is_graph(value):
        raise ParameterError(f"a topology, a spec, a file of links, a graph or a matrix is needed, not {value!r:.100}")
    if isinstance(value, sys.modules["networkx"].Graph):
        return _from_networkx(value, "networkx graph")
    named = "name" in value.vs.attributes()
    names = map(str, value.vs["name"] if named else range(len(value.vs)))
    nodes: dict[str, Mapping[str, Any]] = {}
    for name, vertex in zip(names, value.vs, strict=True):
        nodes[name] = {word: one for word, one in vertex.attributes().items() if word != "name"}
    if len(nodes) < len(value.vs):
        raise FileFormatError("two nodes of the graph have the same name as text")
    order = list(nodes)
    edges = [(order[edge.source], order[edge.target], edge.attributes() or PLAIN) for edge in value.es]
    return RawNetwork(
        "igraph graph", nodes, edges, value.is_directed(), {name: value[name] for name in value.attributes()}
    )


def is_graph(value: object) -> bool:
    """Return whether a value is a graph of networkx or igraph.

    It can be one only if these are imported.
    """
    libraries = (sys.modules.get(name) for name in ("networkx", "igraph"))
    return any(library is not None and isinstance(value, library.Graph) for library in libraries)


def _from_networkx(graph: nx.Graph, form: str) -> RawNetwork:
    names = {node: node if isinstance(node, str) else _name_node(node) for node in graph}
    if len(set(names.values())) < len(names):
        raise FileFormatError("two nodes of the graph have the same name as text")
    edges = [(names[u], names[v], fields or PLAIN) for u, v, fields in graph.edges(data=True)]
    nodes = {names[node]: fields for node, fields in graph.nodes(data=True)}
    about = dict(graph.graph)
    node_default, edge_default = about.pop("node_default", None), about.pop("edge_default", None)
    if node_default:
        nodes = {name: {**node_default, **fields} for name, fields in nodes.items()}
    if edge_default:
        edges = [(u, v, {**edge_default, **fields}) for u, v, fields in edges]
    return RawNetwork(form, nodes, edges, graph.is_directed(), about)


def _name_node(node: Any) -> str:
    return ",".join(map(str, node)) if isinstance(node, tuple) else str(node)


def _parse_graph(form: str, parse: Callable[[], nx.Graph]) -> RawNetwork:
    """Return a network that networkx reads, with its errors as ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a library takes for granted in a file that is not quite its form
            graph = parse()
    except Exception as error:  # noqa: BLE001  networkx does not check the form, so that anything may come of it
        raise FileFormatError(f"not {form}: {' '.join(str(error).split())[:150]}") from None
    return _from_networkx(graph, form)


def read_graphml(text: str) -> RawNetwork:
    """Return the network of GraphML."""
    import networkx as nx  # noqa: PLC0415  heavy

    _check_xml(text)
    raw = _parse_graph("GraphML", lambda: nx.parse_graphml(text))
    if "None" in raw.nodes:  # networkx takes what is missing for a name
        raise FileFormatError("not GraphML: a node has no id, or an edge lacks one of its ends")
    names = _NODE.findall(_COMMENT.sub("", text))
    if not len(raw.nodes) == len(names) == len(set(names)):
        raise FileFormatError("nodes are repeated, or edges name unknown ones")
    return _without_ids(raw, re.search(r"<key\b[^>]*\battr.name\s*=\s*[\"']id[\"']", text))


def _without_ids(raw: RawNetwork, declared: re.Match[str] | None) -> RawNetwork:
    """Return a network without edge ids that networkx puts for an attribute."""
    if declared is not None:
        raise FileFormatError("an attribute of edges has a name that the format has another use for; rename it")
    marks = [str(fields.get("id", at)) for at, (_, _, fields) in enumerate(raw.edges)]
    if len(set(marks)) < len(marks) or any("/s" in mark or "bps" in mark for mark in marks):
        return raw  # these are no marks, and it is for the attributes to be understood or refused
    edges = [(u, v, {name: one for name, one in fields.items() if name != "id"} or PLAIN) for u, v, fields in raw.edges]
    return replace(raw, edges=edges)


def read_gexf(text: str) -> RawNetwork:
    """Return the network of GEXF."""
    import networkx as nx  # noqa: PLC0415  heavy

    _check_xml(text)
    raw = _parse_graph("GEXF", lambda: nx.read_gexf(io.BytesIO(text.encode())))
    raw.about.clear()  # the version and the mode of the format
    return _without_ids(raw, re.search(r"<attribute\b[^>]*\btitle\s*=\s*[\"'](id|label|weight)[\"']", text))


def _check_xml(text: str) -> None:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileFormatError("document type declarations are not accepted")
    check_memory(_PER_LETTER * len(text), f"{len(text)} letters of XML")


def read_gml(text: str) -> RawNetwork:
    """Read GML.

    Nodes are named by their labels if all have one.
    """
    import networkx as nx  # noqa: PLC0415  heavy

    labels = re.findall(r"\bnode\s*\[[^\[\]]*?\blabel\s+(\"[^\"]*\"|\S+)", text)
    by = "label" if len(labels) == len(re.findall(r"\bnode\s*\[", text)) == len(set(labels)) else "id"
    return _parse_graph("GML", lambda: nx.parse_gml(text, label=by))


def read_pajek(text: str) -> RawNetwork:
    """Return the network of a Pajek file."""
    import networkx as nx  # noqa: PLC0415  heavy

    return _parse_graph("Pajek", lambda: nx.parse_pajek(text))


def is_graph6(line: str) -> bool:
    """Return whether a line without heading has the length of its graph6 size."""
    if not re.fullmatch(r"[?-~]{2,}", line):
        return False
    nodes = ord(line[0]) - 63
    return nodes == 63 or len(line) == 1 + -(-nodes * (nodes - 1) // 2 // 6)


def read_graph6(text: str) -> RawNetwork:
    """Return the network of one line of graph6 or sparse6."""
    import networkx as nx  # noqa: PLC0415  heavy

    lines = text.split()
    if len(lines) != 1:
        raise FileFormatError(f"there are {len(lines)} graphs in the file; keep one line")
    line = lines[0].removeprefix(">>graph6<<").removeprefix(">>sparse6<<")
    if line.startswith(":"):
        return _parse_graph("sparse6", lambda: nx.from_sparse6_bytes(line.encode()))
    return _parse_graph("graph6", lambda: nx.from_graph6_bytes(line.encode()))


def read_matrix_market(text: str) -> RawNetwork:
    """Read a link matrix in the Matrix Market format."""
    import numpy as np  # noqa: PLC0415  heavy
    import scipy.io  # noqa: PLC0415  heavy

    try:
        matrix = scipy.io.mmread(io.StringIO(text))
    except Exception as error:  # noqa: BLE001  whatever the parser raises
        raise FileFormatError(f"not Matrix Market: {' '.join(str(error).split())[:150]}") from None
    coo = scipy.sparse.coo_array(matrix)
    if coo.shape[0] != coo.shape[1]:
        raise FileFormatError(f"a matrix of links is square, and this one is {coo.shape[0]} by {coo.shape[1]}")
    pattern = "pattern" in text.partition("\n")[0].lower()
    nodes: dict[str, Mapping[str, Any]] = {str(number): PLAIN for number in range(coo.shape[0])}
    values = np.ones(coo.nnz) if pattern else coo.data
    edges = [
        (str(u), str(v), PLAIN if value == 1 else {"weight": value})
        for u, v, value in zip(*(axis.tolist() for axis in coo.coords), values.tolist(), strict=True)
        if value
    ]
    return RawNetwork("Matrix Market", nodes, edges, directed=True, notes=["node 1 of the file is node 0"])


def read_node_link(data: dict[str, Any]) -> RawNetwork:
    """Read node-link data, as networkx and D3 write it."""
    unknown = sorted(data.keys() - {"directed", "multigraph", "graph", "nodes", "links", "edges"})
    if unknown:
        raise FileFormatError(f"unknown field {unknown[0][:50]!r} in node-link data")
    links: Any = data.get("links", data.get("edges"))
    about: Any = data.get("graph", {})
    if isinstance(about, list):
        about = dict(about) if all(isinstance(pair, list) and len(pair) == 2 for pair in about) else None
    flags = [data.get("directed", False), data.get("multigraph", False)]
    wrong = {"links", "edges"} <= data.keys() or not isinstance(about, dict) or not isinstance(links, list)
    if wrong or not isinstance(data["nodes"], list) or not all(isinstance(flag, bool) for flag in flags):
        raise FileFormatError("not node-link data: 'nodes' and 'links' (or 'edges') are lists, 'graph' an object")
    names: dict[Any, str] = {}
    nodes: dict[str, Mapping[str, Any]] = {}
    for place, entry in enumerate(data["nodes"]):
        if not isinstance(entry, dict):
            raise FileFormatError(f"not node-link data: nodes[{place}] is not an object with an id")
        fields = dict(entry)
        key = fields.pop("id", place if "name" not in fields else None)
        name = fields.pop("name", None) if key is None else key
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise FileFormatError(f"not node-link data: node names must be text or integers, not {name!r:.40}")
        names[place if key is None else key] = str(name)
        nodes[str(name)] = fields
    if not len(names) == len(nodes) == len(data["nodes"]):
        raise FileFormatError("nodes are repeated")
    edges = []
    for place, entry in enumerate(links):
        fields = dict(entry) if isinstance(entry, dict) else {}
        ends = [fields.pop(end, None) for end in ("source", "target")]
        if flags[1] and isinstance(fields.get("key"), int):
            del fields["key"]  # of parallel edges
        if not all(isinstance(end, str | int) for end in ends):
            raise FileFormatError(f"not node-link data: links[{place}] has no source and target")
        if not all(end in names for end in ends):
            raise FileFormatError("nodes are repeated, or links name unknown ones")
        edges.append((names[ends[0]], names[ends[1]], fields or PLAIN))
    return RawNetwork("node-link JSON", nodes, edges, flags[0], about)


# -- DOT --------------------------------------------------------------------------------------------------------------


def read_dot(text: str) -> RawNetwork:
    """Read DOT.

    An edge of a directed graph with ``dir=none`` or ``both`` becomes two links.
    """
    dot = _Dot(text)
    strict = dot.next("strict")
    dot.directed = dot.word() == "digraph"
    if not dot.next("{"):
        dot.word()
        dot.at += dot.tokens[dot.at : dot.at + 1] == [("sign", "{")]
    dot.block(({}, {}))
    if dot.at < len(dot.tokens):
        raise FileFormatError("not DOT: there is more after the graph's closing bracket")
    edges = list({(u, v): (u, v, fields) for u, v, fields in dot.edges}.values()) if strict else dot.edges
    return RawNetwork("DOT", dict(dot.nodes), edges, directed=True)


def _dot_tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _DOT_TOKEN.match(text, place)
        if match is None:
            raise FileFormatError(f"line {text.count(chr(10), 0, place) + 1}: not DOT: {text[place : place + 20]!r}")
        place = match.end()
        if match.lastgroup == "text" and match[0].startswith('"'):
            yield "quoted", match[0][1:-1].replace('\\"', '"')
        elif match.lastgroup is not None:
            yield ("quoted" if match.lastgroup == "text" else match.lastgroup), match[0]


class _Dot:
    """Statements of DOT, read one after the other into a network."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_dot_tokens(text))
        self.at = 0
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[tuple[str, str, Mapping[str, Any]]] = []
        self.directed = False

    def next(self, *words: str) -> str:
        """Consume the next token if it is one of some words; else return no text."""
        found = self.tokens[self.at][1] if self.at < len(self.tokens) else ""
        if found not in words or self.tokens[self.at][0] == "quoted":
            return ""
        self.at += 1
        return found

    def word(self) -> str:
        """Return the name that is next, and go on."""
        kind, found = self.tokens[self.at] if self.at < len(self.tokens) else ("", "the end")
        if kind not in {"word", "quoted"}:
            raise FileFormatError(f"not DOT: {found[:20]!r} where a name is expected")
        self.at += 1
        return found

    def block(self, defaults: tuple[dict[str, Any], dict[str, Any]], depth: int = 0) -> list[str]:
        """Read statements up to the closing bracket; return their nodes."""
        own = dict(defaults[0]), dict(defaults[1])
        found: list[str] = []
        if depth > _DEEPEST:
            raise FileFormatError(f"not DOT: blocks are more than {_DEEPEST} deep")
        while not self.next("}"):
            if self.next(";", ","):
                continue
            chain, ways = [self.group(own, depth)], []
            if self.next("="):
                self.word()  # an attribute of the graph, which is about its drawing
                continue
            while way := self.next("->", "--"):
                ways.append(way)
                chain.append(self.group(own, depth))
            fields = self.fields()
            if chain[0] in (["node"], ["edge"], ["graph"]) and not ways:
                {"node": own[0], "edge": own[1], "graph": {}}[chain[0][0]].update(fields)
                continue
            for name in (name for group in chain for name in group):
                self.nodes.setdefault(name, dict(own[0])).update({} if ways else fields)
                self.nodes[name].pop("shape", None)
                found.append(name)
            for before, after in pairwise(chain):
                self.link(before, after, {**own[1], **fields})
        return found

    def group(self, defaults: tuple[dict[str, Any], dict[str, Any]], depth: int) -> list[str]:
        """Return the nodes at one end of an edge: one, or those of a block."""
        if self.next("subgraph") and self.tokens[self.at : self.at + 1] != [("sign", "{")]:
            self.word()
        if self.next("{"):
            return self.block(defaults, depth + 1)
        name = self.word()
        while self.next(":"):
            self.word()  # a port of the node
        return [name]

    def link(self, before: list[str], after: list[str], fields: dict[str, Any]) -> None:
        """Add the links of an edge between groups."""
        way = fields.pop("dir", "forward" if self.directed else "none")
        for u, v in ((u, v) for u in before for v in after):
            if way != "back":
                self.edges.append((u, v, fields or PLAIN))
            if way != "forward" and u != v:
                self.edges.append((v, u, fields or PLAIN))

    def fields(self) -> dict[str, Any]:
        """Return the attributes in square brackets."""
        found: dict[str, Any] = {}
        while self.next("["):
            while not self.next("]"):
                if not self.next(",", ";"):
                    name = self.word()
                    if not self.next("="):
                        raise FileFormatError(f"not DOT: the attribute {name[:20]!r} has no value")
                    value = self.word()
                    found[name] = value == "true" if value in {"true", "false"} and name != "class" else value
        return found
