"""Lossless files of fabrics: YAML, JSON and GraphML.

A fabric file is, in YAML or JSON,

    name: two boxes                                   # optional
    nodes: [g0, g1]
    switches: [s0, {name: s1, multicast: true, aggregation: true}, {name: m0, memory: true}]     # optional
    links:
      - {from: g0, to: s0, bandwidth: 300GB/s, duplex: true, class: NVLink}    # duplex and class are optional
    latency: {NVLink: 300ns}                                           # optional, by class of links
    prices: {NVLink: 900, Ethernet: 450/25GB/s}                        # optional, by class: of one more, or of so much
    unequal: true                       # optional: nodes and switches may have more in than out, or the reverse
    shared:                                                            # optional
      - {name: bus, bandwidth: 64GB/s, links: [{from: g0, to: m0, duplex: true}, {from: m0, to: g1}]}

Repeated links add up. Memory is a switch that stores what it receives, and so can send it to several. A shared limit is
on what its links carry together. A bandwidth is a number with a unit, or a fraction such as ``50/3GB/s``. In YAML every
scalar is text but ``true`` and ``false``, so that no name turns into a number; anchors, aliases and tags are refused.

GraphML and node-link JSON hold the same as attributes: ``switch``, ``multicast``, ``aggregation`` and ``memory`` of a
node (booleans), ``bandwidth`` (text) and ``class`` of a link, ``name`` of the graph, its ``latency``, ``prices`` and
``shared`` (text: JSON of them), and ``unequal`` (boolean). Undirected links go both ways. Where no link has a
bandwidth, ``capacity`` (an integer, 1 if missing) says how links compare. :mod:`topodesign.fabrics.networks` reads all.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, get_args

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.errors import ParameterError
from topodesign.base.units import exact_rate
from topodesign.fabrics.fabric import Fabric, format_price
from topodesign.fabrics.networks import read_network

FabricFormat = Literal["yaml", "json", "graphml"]
FABRIC_FORMATS: tuple[FabricFormat, ...] = get_args(FabricFormat)
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./() -]*[A-Za-z0-9_)]|[A-Za-z]|[0-9][0-9.]*(/[0-9]+)?[A-Za-z/]+")
_WORDS = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}  # other programs may not take these for text


def read_fabric(path: str | Path, node_bandwidth: Fraction | None = None) -> Fabric:
    """Read a fabric from a file of any known format.

    See :func:`~topodesign.fabrics.networks.read_network`.

    Parameters
    ----------
    path
        The file.
    node_bandwidth
        Bytes per second of all links of the node with the most of them, for a file that only says how links compare;
        ``NODE_BANDWIDTH`` if None.

    Raises
    ------
    FileFormatError
        If the file is missing, too large, of no known format, or makes no fabric; the message names the file and the
        field or the line. Also if ``node_bandwidth`` is given and the file says bandwidths itself.

    Examples
    --------
    >>> from topodesign import copy_examples, read_fabric
    >>> [path] = copy_examples(["fabric_mi250.yaml"], ".")
    >>> len(read_fabric(path).compute)
    32
    """
    return read_network(as_path(path)).fabric(node_bandwidth)


def write_fabric(fabric: Fabric, file_format: FabricFormat) -> str:
    """Return a fabric as text for :func:`read_fabric`.

    Nodes are numbered before switches.

    Parameters
    ----------
    fabric
        Fabric to write.
    file_format
        ``yaml``, ``json`` or ``graphml``.

    Examples
    --------
    >>> from topodesign import as_fabric, write_fabric
    >>> print(write_fabric(as_fabric("uniring(1,2)"), "yaml"), end="")
    name: "uniring(1,2)"
    nodes:
      - "0"
      - "1"
    switches: []
    links:
      - {from: "0", to: "1", bandwidth: 12.5GB/s, duplex: true}
    """
    if not isinstance(fabric, Fabric):
        raise ParameterError(f"a fabric is needed, not {fabric!r:.60}")
    writers = {"yaml": _to_yaml, "json": _to_json, "graphml": _to_graphml}
    return writers[as_choice("format", file_format, writers)](fabric)


def _document(fabric: Fabric) -> dict[str, Any]:
    """Return the content of a fabric file, with equal directions as one link."""
    switches: list[Any] = []
    for node in sorted(fabric.topology.switches):
        said = _powers(fabric, node)
        switches.append({"name": fabric.names[node], **said} if said else fabric.names[node])
    links = fabric.links()
    present = set(links)
    rank = {name: number for number, name in enumerate(fabric.names)}
    rows = []
    for link in links:
        duplex = link._replace(src=link.dst, dst=link.src) in present
        if duplex and rank[link.src] > rank[link.dst]:
            continue
        row: dict[str, Any] = {"from": link.src, "to": link.dst, "bandwidth": exact_rate(link.bandwidth)}
        rows.append(row | ({"duplex": True} if duplex else {}) | ({"class": link.kind} if link.kind else {}))
    nodes = [fabric.names[node] for node in fabric.compute]
    document = {"name": fabric.name, "nodes": nodes, "switches": switches, "links": rows}
    return document | _format_classes(fabric) | ({"unequal": True} if _is_unequal(fabric) else {})


def _is_unequal(fabric: Fabric) -> bool:
    """Return whether the file must declare unequal bandwidths in and out."""
    return bool(fabric.unequal(range(len(fabric.names))))


def _format_classes(fabric: Fabric) -> dict[str, Any]:
    """Return latencies, prices and shared limits, if any."""
    shared = [
        {
            "name": limit.name,
            "bandwidth": exact_rate(limit.bandwidth),
            "links": [{"from": a, "to": b} for a, b in limit.links],
        }
        for limit in fabric.shared
    ]
    said = {
        "latency": {kind: f"{time * 10**9}ns" for kind, time in fabric.latency},  # exactly: 500ns, 1/3ns
        "prices": {kind: format_price(price) for kind, price in fabric.prices},
        "shared": shared,
    }
    return {field: value for field, value in said.items() if value}


def _powers(fabric: Fabric, node: int) -> dict[str, bool]:
    """Return a switch's abilities in file form."""
    able = {"multicast": fabric.multicast - fabric.memory, "aggregation": fabric.aggregation, "memory": fabric.memory}
    return {power: True for power, those in able.items() if node in those}


def _to_json(fabric: Fabric) -> str:
    """Write one link a line."""
    document = _document(fabric)
    parts = []
    for field, value in document.items():
        if field in {"links", "shared"}:
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value)
            parts.append(f'"{field}": [\n  {rows}\n ]')
        else:
            parts.append(f'"{field}": {json.dumps(value, ensure_ascii=False)}')
    return "{" + ",\n ".join(parts) + "}\n"


def _to_yaml(fabric: Fabric) -> str:
    document = _document(fabric)
    lines = [f"name: {_quote(document['name'])}"]
    for field in [name for name in document if name != "name"]:
        items = document[field]
        if isinstance(items, dict | bool):
            lines.append(f"{field}: {_flow(items)}")
            continue
        lines += [f"{field}:", *(f"  - {_flow(item)}" for item in items)] if items else [f"{field}: []"]
    return "\n".join(lines) + "\n"


def _flow(item: Any) -> str:
    if isinstance(item, dict):
        return "{" + ", ".join(f"{_quote(field)}: {_flow(value)}" for field, value in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(_flow, item)) + "]"
    return "true" if item is True else _quote(item)


def _quote(text: str) -> str:
    """Return text as YAML, quoted only if it could be misread."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def _to_graphml(fabric: Fabric) -> str:
    import networkx as nx  # noqa: PLC0415  heavy

    graph = nx.DiGraph(name=fabric.name, **({"unequal": True} if _is_unequal(fabric) else {}))
    for field, value in sorted(_format_classes(fabric).items(), reverse=True):
        graph.graph[field] = json.dumps(value, ensure_ascii=False)
    for node in (*fabric.compute, *sorted(fabric.topology.switches)):
        graph.add_node(fabric.names[node], switch=node in fabric.topology.switches, **_powers(fabric, node))
    for link in fabric.links():
        kind = {"class": link.kind} if link.kind else {}
        graph.add_edge(link.src, link.dst, bandwidth=exact_rate(link.bandwidth), **kind)
    return "\n".join(nx.generate_graphml(graph)) + "\n"
