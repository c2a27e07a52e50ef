"""Topologies in files: JSON and CSV link lists, GraphML and node-link JSON, read strictly and written the same way."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, Literal, get_args

from topodesign.errors import FileFormatError, ParameterError, TopologyError
from topodesign.topology import Topology

LinkFormat = Literal["json", "csv", "dot", "graphml"]
LINK_FORMATS: tuple[LinkFormat, ...] = get_args(LinkFormat)
LARGEST_FILE = 256 * 2**20


def read_topology(path: Path) -> Topology:
    """Read a topology from a file whose ending names the format: .json, .csv or .graphml.

    JSON is ``{"nodes": N, "links": [[u, v, capacity], ...]}`` or networkx node-link data; CSV has the columns
    ``src,dst[,capacity]``, and as many nodes as the largest number demands.

    Raises
    ------
    FileFormatError
        If the file is missing, too large, or not of its format.
    TopologyError
        If its links do not make a topology.
    """
    readers = {".json": _from_json, ".csv": _from_csv, ".graphml": _from_graphml}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileFormatError(f"{path}: unknown ending '{path.suffix}'; known are {', '.join(readers)}")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FileFormatError(f"{path}: larger than {LARGEST_FILE} bytes")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: not a text file") from None
    try:
        return reader(text)
    except (FileFormatError, TopologyError, ParameterError) as error:
        raise FileFormatError(f"{path}: {error}") from None


def write_links(topology: Topology, file_format: LinkFormat) -> str:
    """Return the links of a topology as text.

    Parameters
    ----------
    topology
        Any.
    file_format
        ``json``: ``{"nodes": N, "links": [[u, v, capacity], ...]}``; ``csv``: a row a link with a header; ``dot`` for
        Graphviz; ``graphml``.
    """
    writers = {"json": _to_json, "csv": _to_csv, "dot": _to_dot, "graphml": _to_graphml}
    return writers[file_format](topology)


def _from_json(text: str) -> Topology:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"not JSON: {error}") from None
    if not isinstance(data, dict) or "nodes" not in data:
        raise FileFormatError('expected {"nodes": N, "links": [[u, v, capacity], ...]}')
    if isinstance(data["nodes"], list):
        return _from_node_link(data)
    links = data.get("links")
    if not isinstance(links, list) or not _whole(data["nodes"]):
        raise FileFormatError('"nodes" must be an integer and "links" a list')
    for row, link in enumerate(links):
        if not isinstance(link, list) or len(link) not in {2, 3} or not all(map(_whole, link)):
            raise FileFormatError(
                f"links[{row}] must be [u, v] or [u, v, capacity] with integers, not {str(link)[:40]}"
            )
    return Topology.from_links(data["nodes"], [tuple(link) for link in links])


def _from_node_link(data: dict[str, Any]) -> Topology:
    import networkx as nx  # noqa: PLC0415  heavy

    try:
        graph = nx.node_link_graph(data, edges="edges" if "edges" in data else "links")
    except (KeyError, TypeError, ValueError, nx.NetworkXError) as error:
        raise FileFormatError(f"not networkx node-link data: {error!r}") from None
    return Topology.from_networkx(_numbered(graph))


def _from_graphml(text: str) -> Topology:
    import networkx as nx  # noqa: PLC0415  heavy

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise FileFormatError("document type declarations are not accepted")
    try:
        graph = nx.parse_graphml(text)
    except Exception as error:  # noqa: BLE001  the parser raises whatever its XML library does
        raise FileFormatError(f"not GraphML: {error}") from None
    return Topology.from_networkx(_numbered(graph))


def _numbered(graph: Any) -> Any:
    """Return the graph with nodes 0..N-1: by number if they are numbers, else in the order of the file."""
    import networkx as nx  # noqa: PLC0415  heavy

    names = list(graph.nodes)
    if all(str(name).isdecimal() for name in names):
        names.sort(key=int)
    return nx.relabel_nodes(graph, {name: number for number, name in enumerate(names)})


def _from_csv(text: str) -> Topology:
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or [cell.strip().lower() for cell in rows[0]][:2] != ["src", "dst"]:
        raise FileFormatError("line 1: expected the header src,dst,capacity")
    links = []
    for line, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) not in {2, 3} or not all(cell.strip().isdecimal() for cell in row):
            raise FileFormatError(f"line {line}: expected src,dst,capacity as integers, not {','.join(row)[:40]!r}")
        links.append(tuple(int(cell) for cell in row))
    if not links:
        raise FileFormatError("there are no links")
    return Topology.from_links(1 + max(max(link[:2]) for link in links), links)  # type: ignore[arg-type]


def _to_json(topology: Topology) -> str:
    links = ",\n    ".join(f"[{u}, {v}, {c}]" for u, v, c in topology.links())
    return f'{{"nodes": {topology.nodes},\n "links": [\n    {links}\n]}}\n'


def _to_csv(topology: Topology) -> str:
    return "src,dst,capacity\n" + "".join(f"{u},{v},{c}\n" for u, v, c in topology.links())


def _to_dot(topology: Topology) -> str:
    """Write a digraph; duplex links become one line without arrowheads."""
    lines = []
    for u, v, c in topology.links():
        if topology.is_duplex and u > v:
            continue
        marks = (["dir=none"] if topology.is_duplex else []) + ([f"label={c}"] if c > 1 else [])
        lines.append(f"  {u} -> {v}{f' [{chr(44).join(marks)}]' if marks else ''};")
    name = str(topology.spec) if topology.spec is not None else "topology"
    return f'digraph "{name}" {{\n  node [shape=circle];\n' + "\n".join(lines) + "\n}\n"


def _to_graphml(topology: Topology) -> str:
    import networkx as nx  # noqa: PLC0415  heavy

    graph = topology.to_networkx()
    graph.graph["spec"] = graph.graph["spec"] or ""
    return "\n".join(nx.generate_graphml(graph)) + "\n"


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
