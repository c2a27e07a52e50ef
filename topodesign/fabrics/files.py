"""Fabrics in files: YAML and JSON read strictly, graphs through networkx, and written so that nothing is lost.

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

GraphML and networkx node-link JSON hold the same as attributes: ``switch``, ``multicast``, ``aggregation`` and
``memory`` of a node (booleans), ``bandwidth`` (text) and ``class`` of a link, ``name`` of the graph, and its
``latency``, ``prices`` and ``shared`` (text: JSON of them), and ``unequal`` (boolean); others are ignored, but a
``weight`` other than 1 of a link without a bandwidth or capacity is refused. Undirected links go both ways.
Where no link has a bandwidth, ``capacity`` (an integer, 1 if missing) says how links compare.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.errors import FileFormatError, ParameterError, TopologyError, UnitError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.base.strict_json import parse_json
from topodesign.base.tables import Located, parse_yaml
from topodesign.base.text_files import read_text
from topodesign.base.units import exact_rate, parse_bandwidth, parse_time
from topodesign.base.wording import suggest
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric, FabricLink, Price, Shared, format_price, parse_price
from topodesign.topology.files import graphml_graph, node_link_graph, read_topology

if TYPE_CHECKING:
    import networkx as nx

_Value = TypeVar("_Value")
FabricFormat = Literal["yaml", "json", "graphml"]
FABRIC_FORMATS: tuple[FabricFormat, ...] = get_args(FabricFormat)
LARGEST_FABRIC = 64 * 2**20
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./() -]*[A-Za-z0-9_)]|[A-Za-z]|[0-9][0-9.]*(/[0-9]+)?[A-Za-z/]+")
_WORDS = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"}  # other programs may not take these for text


def read_fabric(path: str | Path, node_bandwidth: Fraction | None = None) -> Fabric:
    """Read a fabric from a file whose ending names the format: .yaml, .yml, .json, .graphml or .csv.

    A JSON file may also hold node-link data or, like a CSV file, what :func:`topodesign.topology.files.read_topology`
    takes.

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
        If the file is missing, too large, not of its format, or makes no fabric; the message names the file and the
        field or the line. Also if ``node_bandwidth`` is given and the file says bandwidths itself.

    Examples
    --------
    >>> from topodesign import copy_examples, read_fabric
    >>> [path] = copy_examples(["fabric_mi250.yaml"], ".")
    >>> len(read_fabric(path).compute)
    32
    """
    path = as_path(path)
    with expecting(path, FileKind.FABRIC, FileKind.LINKS):
        try:
            text = read_text(path, FABRIC_ENDINGS, LARGEST_FABRIC)
            return _READERS[path.suffix.lower()](path, text, node_bandwidth)
        except (TopologyError, ParameterError, UnitError) as error:
            raise FileFormatError(str(error)) from None


def write_fabric(fabric: Fabric, file_format: FabricFormat) -> str:
    """Return a fabric as text that :func:`read_fabric` takes, with nodes numbered before switches.

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


def _from_yaml(path: Path, text: str, node_bandwidth: Fraction | None) -> Fabric:
    return _from_data(_unlocated(parse_yaml(text)), path.stem, node_bandwidth)


def _from_json(path: Path, text: str, node_bandwidth: Fraction | None) -> Fabric:
    data = parse_json(text)
    if isinstance(data, dict) and isinstance(data.get("nodes"), int):
        return _from_links(path, text, node_bandwidth)
    if isinstance(data, dict) and {"directed", "multigraph", "graph"} & data.keys() and "nodes" in data:
        return fabric_from_graph(node_link_graph(data), path.stem, node_bandwidth)
    return _from_data(data, path.stem, node_bandwidth)


def _from_links(path: Path, text: str, node_bandwidth: Fraction | None) -> Fabric:
    del text
    fabric = Fabric.from_topology(read_topology(path), node_bandwidth or NODE_BANDWIDTH)
    return replace(fabric, name=path.stem)


_READERS = {
    ".yaml": _from_yaml,
    ".yml": _from_yaml,
    ".json": _from_json,
    ".graphml": lambda path, text, rate: fabric_from_graph(graphml_graph(text), path.stem, rate),
    ".csv": _from_links,
}
FABRIC_ENDINGS = tuple(_READERS)  # how the name of a file ends that :func:`read_fabric` takes


def _unlocated(located: Located) -> Any:
    """Return text, true or false, a list, or a mapping, without its lines."""
    value = located.value
    if isinstance(value, list):
        return [_unlocated(item) for item in value]
    if isinstance(value, dict):
        return {field: _unlocated(item) for field, item in value.items()}
    return value == "true" if located.plain and value in {"true", "false"} else value


def _from_data(data: Any, stem: str, node_bandwidth: Fraction | None) -> Fabric:
    """Make a fabric from the content of a fabric file."""
    _refuse(node_bandwidth)
    fields = _fields(data, "", ("nodes", "links"), ("name", "switches", "shared", "latency", "prices", "unequal"))
    nodes = [_text(name, f"nodes[{row}]") for row, name in enumerate(_list(fields["nodes"], "nodes"))]
    switches: list[str] = []
    capable: dict[str, list[str]] = {"multicast": [], "aggregation": [], "memory": []}
    for row, entry in enumerate(_list(fields.get("switches", []), "switches")):
        where = f"switches[{row}]"
        switch = _fields(entry, where, ("name",), tuple(capable)) if isinstance(entry, dict) else {"name": entry}
        switches.append(_text(switch["name"], where))
        for power, those in capable.items():
            if _flag(switch.get(power, False), f"{where}.{power}"):
                those.append(switches[-1])
    links: list[FabricLink] = []
    for row, entry in enumerate(_list(fields["links"], "links")):
        where = f"links[{row}]"
        link = _fields(entry, where, ("from", "to", "bandwidth"), ("duplex", "class"))
        ends = _text(link["from"], f"{where}.from"), _text(link["to"], f"{where}.to")
        rate = _parsed(parse_bandwidth, link["bandwidth"], f"{where}.bandwidth") / 8
        kind = _text(link.get("class", ""), f"{where}.class")
        links.append(FabricLink(*ends, rate, kind))
        if _flag(link.get("duplex", False), f"{where}.duplex"):
            links.append(FabricLink(ends[1], ends[0], rate, kind))
    return _made(nodes, switches, links, capable, {"name": stem, **fields})


def _made(
    nodes: list[str],
    switches: list[str],
    links: list[FabricLink],
    capable: Mapping[str, list[str]],
    said: Mapping[str, Any],
) -> Fabric:
    """Return the fabric; raises TopologyError if bandwidths in and out differ, and the file does not say so."""
    shared = _shared_limits(said.get("shared", []))
    name = _text(said["name"], "name")
    latency, prices = _latencies(said.get("latency", {})), _prices(said.get("prices", {}))
    unequal = _flag(said.get("unequal", False), "unequal")
    fabric = Fabric.from_links(name, nodes, switches, links, shared=shared, latency=latency, prices=prices, **capable)
    if not unequal:
        fabric.check_balance()
    return fabric


def _latencies(value: Any) -> dict[str, Fraction]:
    if not isinstance(value, dict):
        raise FileFormatError(f"latency: expected a time for each class of links, not {_shown(value)}")
    where = {kind: f"latency.{kind[:50]}" for kind in value}
    return {kind: _parsed(parse_time, _text(time, where[kind]), where[kind]) for kind, time in value.items()}


def _prices(value: Any) -> dict[str, Price]:
    """Return what the field ``prices`` says; in JSON a cost may be a number."""
    if not isinstance(value, dict):
        raise FileFormatError(f"prices: expected a price for each class of links, not {_shown(value)}")
    found = {}
    for kind, said in value.items():
        where = f"prices.{kind[:50]}"
        number = isinstance(said, int | float) and not isinstance(said, bool)
        found[kind] = _parsed(parse_price, _shown(said) if number else _text(said, where), where)
    return found


def _parsed(parse: Callable[[str], _Value], text: str, where: str) -> _Value:
    """Return what a text says, and where it is wrong."""
    try:
        return parse(text)
    except UnitError as error:
        raise FileFormatError(f"{where}: {error}") from None


def _shared_limits(value: Any) -> list[Shared]:
    limits = []
    for row, entry in enumerate(_list(value, "shared")):
        where = f"shared[{row}]"
        limit = _fields(entry, where, ("name", "bandwidth", "links"), ())
        ends: list[tuple[str, str]] = []
        for at, one in enumerate(_list(limit["links"], f"{where}.links")):
            inner = f"{where}.links[{at}]"
            link = _fields(one, inner, ("from", "to"), ("duplex",))
            pair = _text(link["from"], f"{inner}.from"), _text(link["to"], f"{inner}.to")
            ends.append(pair)
            if _flag(link.get("duplex", False), f"{inner}.duplex"):
                ends.append((pair[1], pair[0]))
        rate = _parsed(parse_bandwidth, limit["bandwidth"], f"{where}.bandwidth") / 8
        limits.append(Shared(_text(limit["name"], f"{where}.name"), rate, tuple(ends)))
    return limits


def fabric_from_graph(graph: nx.Graph, name: str = "graph", node_bandwidth: Fraction | None = None) -> Fabric:
    """Make a fabric from a networkx graph with the attributes that the head of this module tells.

    It is called ``name`` if the graph has none; names of nodes that are all numbers are put in their order.
    FileFormatError, TopologyError or TooLargeError says what cannot be read.
    """
    if not all(isinstance(name, str | int) for name in graph):
        raise FileFormatError("node names must be text or integers")
    vertices = {str(name): fields for name, fields in graph.nodes(data=True)}
    numbered = all(name.isascii() and name.isdecimal() and len(name) <= 18 for name in vertices)
    order = sorted(vertices, key=int) if numbered else list(vertices)
    chosen: dict[str, list[str]] = {}
    for power in ("switch", "multicast", "aggregation", "memory"):
        chosen[power] = [v for v in order if _flag(vertices[v].get(power, False), f"{power} of node '{v[:50]}'")]
    edges = [(str(u), str(v), fields) for u, v, fields in graph.edges(data=True)]
    stated = any("bandwidth" in fields for _, _, fields in edges)
    if stated:
        _refuse(node_bandwidth)
    links: list[FabricLink] = []
    for u, v, fields in edges:
        where = f"link '{u[:50]}', '{v[:50]}'"
        rate = (
            _parsed(parse_bandwidth, fields.get("bandwidth"), where) / 8
            if stated
            else _capacity(fields.get("capacity", 1), where)
        )
        kind = _text(fields.get("class", ""), f"class of {where}")
        links.append(FabricLink(u, v, rate, kind))
        if not graph.is_directed():
            links.append(FabricLink(v, u, rate, kind))
    switches = dict.fromkeys(chosen.pop("switch"))
    nodes = [v for v in order if v not in switches]
    if not stated:
        links = _split_among(links, nodes, node_bandwidth or NODE_BANDWIDTH)
    about = graph.graph
    said = {
        field: parse_json(_text(about[field], field)) for field in ("shared", "latency", "prices") if field in about
    }
    said |= {"name": about.get("name") or name, "unequal": about.get("unequal", False)}
    return _made(nodes, list(switches), links, chosen, said)


def _split_among(links: list[FabricLink], nodes: list[str], node_bandwidth: Fraction) -> list[FabricLink]:
    """Return the links with bandwidths in place of capacities; the busiest node has ``node_bandwidth`` out."""
    out = dict.fromkeys(nodes, Fraction(0))
    for link in links:
        if link.src in out:
            out[link.src] += link.bandwidth
    unit = node_bandwidth / max(*out.values(), Fraction(1))
    return [link._replace(bandwidth=link.bandwidth * unit) for link in links]


def _refuse(node_bandwidth: Fraction | None) -> None:
    if node_bandwidth is not None:
        raise FileFormatError("the file says the bandwidths of its links; give no other")


def _fields(value: Any, where: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    """Return a mapping after a look at the names of its fields."""
    before = f"{where}: " if where else ""
    if not isinstance(value, dict):
        raise FileFormatError(f"{before}expected fields {', '.join(required)}, not {_shown(value)}")
    for field in value:
        if field not in required + optional:
            hint = suggest(field, required + optional, most=1, like=0.6)
            raise FileFormatError(f"{before}unknown field {field[:50]!r}; {hint}")
    for field in required:
        if field not in value:
            raise FileFormatError(f"{before}the field '{field}' is missing")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise FileFormatError(f"{where}: expected a list, not {_shown(value)}")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise FileFormatError(f"{where}: expected text, not {_shown(value)}; put it in quotes")
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise FileFormatError(f"{where}: expected true or false, not {_shown(value)}")
    return value


def _capacity(value: Any, where: str) -> Fraction:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise FileFormatError(f"{where}: the capacity must be an integer above zero, not {_shown(value)}")
    return Fraction(int(value))


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    text = f"{value!r}" if isinstance(value, str | float) or abs(value) < 10**20 else "a huge number"
    return text if len(text) <= 50 else f"{text[:50]}..."


def _document(fabric: Fabric) -> dict[str, Any]:
    """Return the content of a fabric file; links that are alike both ways are one duplex link."""
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
    return document | _said_of_classes(fabric) | ({"unequal": True} if _is_unequal(fabric) else {})


def _is_unequal(fabric: Fabric) -> bool:
    """Return whether the file has to say that bandwidths in and out differ."""
    return bool(fabric.unequal(range(len(fabric.names))))


def _said_of_classes(fabric: Fabric) -> dict[str, Any]:
    """Return latencies, prices and shared limits, as far as there are any."""
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
    """Return what a switch can do, as a file says it; memory multicasts without saying so."""
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
    lines = [f"name: {_quoted(document['name'])}"]
    for field in [name for name in document if name != "name"]:
        items = document[field]
        if isinstance(items, dict | bool):
            lines.append(f"{field}: {_flow(items)}")
            continue
        lines += [f"{field}:", *(f"  - {_flow(item)}" for item in items)] if items else [f"{field}: []"]
    return "\n".join(lines) + "\n"


def _flow(item: Any) -> str:
    if isinstance(item, dict):
        return "{" + ", ".join(f"{_quoted(field)}: {_flow(value)}" for field, value in item.items()) + "}"
    if isinstance(item, list):
        return "[" + ", ".join(map(_flow, item)) + "]"
    return "true" if item is True else _quoted(item)


def _quoted(text: str) -> str:
    """Return text as YAML: plain where nothing can be mistaken, else in double quotes."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)


def _to_graphml(fabric: Fabric) -> str:
    import networkx as nx  # noqa: PLC0415  heavy

    graph = nx.DiGraph(name=fabric.name, **({"unequal": True} if _is_unequal(fabric) else {}))
    for field, value in sorted(_said_of_classes(fabric).items(), reverse=True):
        graph.graph[field] = json.dumps(value, ensure_ascii=False)
    for node in (*fabric.compute, *sorted(fabric.topology.switches)):
        graph.add_node(fabric.names[node], switch=node in fabric.topology.switches, **_powers(fabric, node))
    for link in fabric.links():
        kind = {"class": link.kind} if link.kind else {}
        graph.add_edge(link.src, link.dst, bandwidth=exact_rate(link.bandwidth), **kind)
    return "\n".join(nx.generate_graphml(graph)) + "\n"
