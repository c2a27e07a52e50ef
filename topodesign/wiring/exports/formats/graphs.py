"""The graph of a plan: Graphviz DOT, GraphML and node-link JSON, with hosts, places and cables as attributes.

Nodes are the numbers of the topology. GraphML and node-link JSON are files that every command takes as a topology.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind
from topodesign.topology.files import read_topology
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import circuits, topology_of

if TYPE_CHECKING:
    import networkx as nx


def to_graph(plan: WiringPlan) -> nx.DiGraph:
    """Return the links that the cross-connects make; every node knows its host, every link its cables."""
    import networkx as nx  # noqa: PLC0415  heavy

    spec = plan.topology.spec
    graph = nx.DiGraph(spec="" if spec is None else str(spec), mode=plan.mode)
    for node, name in enumerate(plan.hosts):
        place = plan.inventory.place(name)
        graph.add_node(node, host=name, site=place.site, rack=place.rack, unit=place.unit)
    names: dict[tuple[int, int], list[str]] = {}
    for connect in plan.connects:
        for link in {connect.link, connect.link[::-1] if connect.mode == "duplex" else connect.link}:
            names.setdefault(link, []).append(connect.cable)
    for u, v, capacity in topology_of(circuits(plan), plan).links():
        graph.add_edge(u, v, capacity=capacity, cables=" ".join(names[u, v]))
    return graph


def to_graphml(plan: WiringPlan) -> str:
    """Return GraphML, as networkx writes it."""
    import networkx as nx  # noqa: PLC0415  heavy

    return "\n".join(nx.generate_graphml(to_graph(plan))) + "\n"


def to_node_link(plan: WiringPlan) -> str:
    """Return node-link JSON, as networkx reads it with ``node_link_graph(data, edges="links")``."""
    import networkx as nx  # noqa: PLC0415  heavy

    return json.dumps(nx.node_link_data(to_graph(plan), edges="links"), indent=1) + "\n"


def to_dot(plan: WiringPlan) -> str:
    """Return a digraph with the racks as clusters; what a duplex patch makes is one line without arrowheads."""
    lines = [f"digraph {_quoted(str(plan.topology.spec or 'wiring'))} {{", "  node [shape=box];"]
    racks: dict[tuple[str, str], list[int]] = {}
    for node, name in enumerate(plan.hosts):
        racks.setdefault(plan.inventory.place(name)[:2], []).append(node)
    for number, ((site, rack), nodes) in enumerate(racks.items()):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(f'{site} {rack}'.strip())};"]
        lines += [f"    {node} [label={_quoted(f'{node}: {plan.hosts[node]}')}];" for node in nodes]
        lines.append("  }")
    style = ", dir=none" if plan.mode == "duplex" else ""
    for connect in plan.connects:
        u, v = connect.link
        lines.append(f"  {u} -> {v} [tooltip={_quoted(connect.cable)}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def from_graph(path: Path, plan: WiringPlan) -> Topology:
    """Return the links of a file of the graph."""
    topology = read_topology(path)
    if topology.nodes != len(plan.hosts):
        raise FileFormatError(f"there are {topology.nodes} nodes, and {len(plan.hosts)} in the plan")
    return topology


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


FORMATS = {
    "dot": Format("drawing for Graphviz", to_dot),
    "graphml": Format(
        "graph; also a topology for other commands, as is json (node-link)", to_graphml, from_graph, kind=FileKind.LINKS
    ),
    "json": Format("the same graph as node-link data", to_node_link, from_graph, kind=FileKind.LINKS),
}
