"""Networks as simulators, planners, labs and subnet managers describe them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from topodesign.base.errors import FileFormatError
from topodesign.base.units import exact_rate, read_number
from topodesign.fabrics.machines.xml import parse_xml
from topodesign.fabrics.networks.ours import format_value
from topodesign.fabrics.networks.raw import PLAIN, RawNetwork, is_whole
from topodesign.topology.topology import check_buildable

_GB = 10**9
_LANES: dict[str, int | Fraction] = {
    "SDR": 2, "DDR": 4, "QDR": 8, "FDR10": 10, "FDR": Fraction(150, 11), "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200,
}  # fmt: skip
"""Gbps of data of one lane of InfiniBand, after its line code (InfiniBand Architecture Specification, volume 2)."""
_IB_NODE = re.compile(r'(Switch|Ca|Rt)\s+[0-9]+\s+"([^"]+)"\s*(?:#\s*"([^"]*)")?')
_IB_PORT = re.compile(r'\[([0-9]+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[([0-9]+)\].*?(?:([0-9]+)x([A-Z]+[0-9]*))?\s*$')
_TECCL_PRESETS = {"DGX1": "dgx1_v100", "NDV2": "dgx1_v100", "DGX2": "dgx_a100", "AMD": "mi250"}


def read_ibnetdiscover(text: str) -> RawNetwork:
    """Read ``ibnetdiscover``.

    Adapters of one host are one node, by the first word of their name.
    """
    names: dict[str, str] = {}
    nodes: dict[str, Mapping[str, Any]] = {}
    cables: dict[frozenset[tuple[str, str]], Fraction] = {}
    here = ""
    for number, line in enumerate(text.splitlines(), 1):
        found = _IB_NODE.match(line)
        if found is not None:
            kind, here, said = found[1], found[2], (found[3] or "").strip()
            words = said.split()
            name = here if not words else words[0] if kind == "Ca" else said
            if kind != "Ca" and name.replace(",", ":") in nodes:
                name = here  # switches that nobody named have one name
            names[here] = name.replace(",", ":")
            nodes[names[here]] = {"switch": True} if kind != "Ca" else PLAIN
        elif line.startswith("["):
            port = _IB_PORT.match(line)
            if port is None or not here or (port[4] and port[5] not in _LANES):
                raise FileFormatError(f"line {number}: not a port as ibnetdiscover prints it: {line[:50]!r}")
            if port[4] is None:
                raise FileFormatError(f"line {number}: the port says no width and speed such as 4xHDR")
            cables[frozenset(((here, port[1]), (port[2], port[3])))] = int(port[4]) * Fraction(_LANES[port[5]])
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for cable, gbps in cables.items():
        ends = [names.get(guid) for guid, _ in sorted(cable)]
        if None in ends or len(ends) != 2:
            raise FileFormatError(f"a port leads to {min(cable)[0][:40]!r}, which has no section of its own")
        edges.append((str(ends[0]), str(ends[1]), {"bandwidth": gbps * _GB / 8}))
    return RawNetwork(
        "ibnetdiscover",
        nodes,
        edges,
        directed=False,
        exact=True,
        notes=["bandwidths are those of data, after the line code"],
    )


def read_containerlab(data: dict[str, Any]) -> RawNetwork:
    """Read containerlab.

    Linux containers are nodes; other kinds are switches.
    """
    about = data["topology"]
    if not isinstance(about.get("nodes"), dict) or not isinstance(about.get("links"), list):
        raise FileFormatError("a containerlab file has topology.nodes and topology.links")
    default = about.get("defaults", {}).get("kind", "") if isinstance(about.get("defaults", {}), dict) else ""
    kinds = {
        name: (one or {}).get("kind", default) if isinstance(one, dict) else default
        for name, one in about["nodes"].items()
    }
    hosts = [name for name, kind in kinds.items() if kind == "linux"]
    nodes = {name: {"switch": True} if hosts and kind != "linux" else PLAIN for name, kind in kinds.items()}
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for place, link in enumerate(about["links"]):
        said = link.get("endpoints") if isinstance(link, dict) else None
        if not isinstance(said, list) or len(said) != 2:
            raise FileFormatError(f"topology.links[{place}] requires two endpoints such as a:eth1")
        ends = [str(end.get("node") if isinstance(end, dict) else end).partition(":")[0] for end in said]
        strange = next((end for end in ends if end not in nodes), None)
        if strange is not None:
            raise FileFormatError(f"topology.links[{place}] names {strange[:40]!r}, which is not a node")
        edges.append((ends[0], ends[1], PLAIN))
    note = "kind linux is a node, other kinds are switches" if hosts else "no kind is linux: all are nodes"
    return RawNetwork("containerlab", nodes, edges, directed=False, exact=True, notes=[note])


def read_fnss(text: str) -> RawNetwork:
    """Read an FNSS file, with the units of its properties."""
    root = parse_xml(text, "topology", "FNSS")

    def properties(element: Any) -> dict[str, Any]:
        return {one.get("name", ""): (one.text or "").strip() for one in element.findall("property")}

    nodes: dict[str, Mapping[str, Any]] = {node.get("id", ""): properties(node) for node in root.findall("node")}
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for link in root.findall("link"):
        ends = [(link.findtext(end) or "").strip() for end in ("from", "to")]
        if not all(end in nodes for end in ends):
            raise FileFormatError(f"a link leads from {ends[0][:40]!r} to {ends[1][:40]!r}, which are no nodes")
        edges.append((ends[0], ends[1], properties(link) or PLAIN))
    return RawNetwork("FNSS", nodes, edges, root.get("linkdefault") == "directed", properties(root))


def read_booksim(text: str) -> RawNetwork:
    """Read a BookSim ``anynet`` file: switches as routers, duplex links."""
    nodes: dict[str, Mapping[str, Any]] = {}
    links: dict[tuple[str, str], Mapping[str, Any]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("//")[0].split()
        pairs: list[tuple[str, int]] = []
        while words:
            kind, *words = words
            if kind not in {"router", "node"} or not words or not is_whole(words[0]):
                raise FileFormatError(f"line {number}: expected router or node and a number, not {kind[:20]!r}")
            name, cycles = f"{kind}{words.pop(0)}", 1
            if words and is_whole(words[0]):
                cycles = int(words.pop(0))
            nodes.setdefault(name, {"switch": kind == "router"})
            pairs.append((name, cycles))
        for name, cycles in pairs[1:]:
            here = pairs[0][0]
            back = links.get((name, here), {"cycles": cycles})
            links[here, name] = {"cycles": cycles}
            links[name, here] = back
    edges = [(u, v, fields) for (u, v), fields in links.items()]
    return RawNetwork("BookSim anynet", nodes, edges, directed=True, notes=["routers are switches"])


def read_ns3(text: str) -> RawNetwork:
    """Read a topology file of ns-3 (HPCC) or SimAI.

    Counts, switches, links with rate and delay.
    """
    lines = [line.split() for line in text.splitlines() if line.split() and not line.startswith("#")]
    heading = [int(word) for word in lines[0] if is_whole(word)]
    simai = len(lines[0]) > 3
    if len(heading) < (5 if simai else 3):
        raise FileFormatError("line 1: expected the numbers of nodes, switches and links")
    count, switches, links = (heading[0], sum(heading[2:4]), heading[4]) if simai else heading
    check_buildable(count, links)
    chosen: set[str] = set()
    at = 1
    while at < len(lines) and len(chosen) < switches:
        chosen.update(lines[at])
        at += 1
    rows = lines[at:]
    if len(chosen) != switches or len(rows) != links:
        raise FileFormatError(
            f"line 1 says {switches} switches and {links} links; there are {len(chosen)} and {len(rows)}"
        )
    nodes: dict[str, Mapping[str, Any]] = {
        str(number): {"switch": True} if str(number) in chosen else PLAIN for number in range(count)
    }
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for row in rows:
        if len(row) not in {4, 5} or row[0] not in nodes or row[1] not in nodes:
            raise FileFormatError(f"expected a link such as '0 8 100Gbps 1us 0', not {' '.join(row)[:50]!r}")
        said = {"bandwidth": row[2], "delay": row[3]}
        edges.append((row[0], row[1], {**said, "error_rate": row[4]} if len(row) == 5 else said))
    return RawNetwork("SimAI topology" if simai else "ns-3 topology", nodes, edges, directed=False)


def read_astra(data: dict[str, Any]) -> RawNetwork:
    """Read ASTRA-sim's analytical network: a building block per dimension."""
    fields: list[Any] = [data.get(name) for name in ("topology", "npus_count", "bandwidth", "latency")]
    shapes, counts, rates, delays = fields
    if not all(isinstance(one, list) and len(one) == len(shapes) for one in fields):
        raise FileFormatError("topology, npus_count, bandwidth and latency are lists of the same length")
    try:
        sizes = [int(word) for word in counts]
        speeds = [read_number(word) for word in rates]
        times = [read_number(word) for word in delays]
    except ValueError:
        raise FileFormatError("npus_count, bandwidth (GB/s) and latency (ns) are numbers") from None
    if min(sizes, default=0) < 2 or min(speeds) <= 0 or min(times) < 0:
        raise FileFormatError("npus_count must be 2 or more, bandwidth above zero, and latency zero or more")
    total = 1
    for size in sizes:
        total *= size
        check_buildable(total, total)
    nodes: dict[str, Mapping[str, Any]] = {str(number): PLAIN for number in range(total)}
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    stride = 1
    for axis, (shape, size) in enumerate(zip(shapes, sizes, strict=True)):
        said = {"bandwidth": speeds[axis] * 2**30, "delay": f"{times[axis]}ns"}
        for first in (n for n in range(total) if n // stride % size == 0):
            row = [str(first + stride * step) for step in range(size)]
            if shape == "Ring":
                pairs = list(zip(row, [*row[1:], row[0]], strict=True))[: size if size > 2 else 1]
            elif shape == "FullyConnected":
                pairs = list(combinations(row, 2))
            elif shape == "Switch":
                name = f"switch{axis}.{first}"
                nodes[name] = {"switch": True}
                pairs = [(one, name) for one in row]
            else:
                raise FileFormatError(f"topology: {format_value(shape)} is not one of Ring, FullyConnected and Switch")
            edges += [(u, v, said) for u, v in pairs if u != v]
        stride *= size
    note = "bandwidths are those of each link, in GB/s of 2^30 bytes as ASTRA-sim counts them"
    return RawNetwork("ASTRA-sim network", nodes, edges, directed=False, exact=True, notes=[note])


def read_taccl(data: dict[str, Any]) -> RawNetwork:
    """Read TACCL matrices ``links`` and ``betas``, with destinations as rows."""
    links: Any = data.get("links")
    betas: Any = data.get("betas")
    alpha = data.get("alpha")
    if links is None:
        raise FileFormatError(
            "the file names one of TACCL's own topologies and has no links; give a fabric such as 'dgx_a100(2)', or "
            "the matrices links and betas"
        )
    count = data["gpus_per_node"]
    square = all(
        isinstance(one, list) and len(one) == count and all(isinstance(row, list) and len(row) == count for row in one)
        for one in (links, betas)
    )
    if not square or not isinstance(alpha, int | float):
        raise FileFormatError(f"alpha must be a number, and links and betas matrices of {count} by {count}")
    edges: list[tuple[str, str, Mapping[str, Any]]] = []
    for to, source in product(range(count), repeat=2):
        if to == source or not links[to][source]:
            continue
        if not all(isinstance(one[to][source], int | float) and 0 < one[to][source] < 10**9 for one in (links, betas)):
            raise FileFormatError(
                f"links and betas of row {to}, column {source} must be numbers above zero, below 10^9"
            )
        said = {"bandwidth": 10**12 / read_number(betas[to][source]), "delay": f"{alpha}us"}
        edges.append((str(source), str(to), said))
    note = (
        f"a link carries 1 MB (10^6 bytes) in betas microseconds, such as {exact_rate(edges[0][2]['bandwidth'])}"
        if edges
        else ""
    )
    nodes: dict[str, Mapping[str, Any]] = {str(number): PLAIN for number in range(count)}
    return RawNetwork("TACCL topology", nodes, edges, directed=True, exact=True, notes=[note] if note else [])


def refuse_teccl(data: dict[str, Any]) -> RawNetwork:
    """Refuse a TE-CCL input, and name the fabric it refers to."""
    said = data["TopologyParams"] if isinstance(data["TopologyParams"], dict) else {}
    name, boxes = str(said.get("name", "")), said.get("chassis", 1)
    spec = _TECCL_PRESETS.get(name.upper())
    meant = f"; give the fabric '{spec}({boxes})' if that is meant" if spec else ""
    raise FileFormatError(f"the file names TE-CCL's topology {name[:30]!r} and holds no links{meant}")
