"""Topologies as text: link lists, GraphML, DOT and adjacency lists.

Link lists in JSON and CSV.

:mod:`topodesign.fabrics.networks` reads all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.errors import ParameterError
from topodesign.topology.topology import Topology, check_buildable

LinkFormat = Literal["json", "csv", "dot", "graphml", "edges", "adjlist"]
LINK_FORMATS: tuple[LinkFormat, ...] = get_args(LinkFormat)
_PIECE = 2**14  # links or nodes whose text is made at once
_GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
  <key id="d2" for="edge" attr.name="capacity" attr.type="long" />
  <key id="d1" for="node" attr.name="switch" attr.type="boolean" />
  <key id="d0" for="graph" attr.name="spec" attr.type="string" />
  <graph edgedefault="directed">
"""


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
    """Yield the text of :func:`write_links` in pieces.

    For more links than one text should hold.
    """
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
    """Write a line per node."""
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
    """Write a digraph.

    Duplex links become one line without arrowheads, and switches boxes.

    A node without links has a line of its own, so that readers find it.
    """
    name, duplex = str(topology.spec) if topology.spec is not None else "topology", topology.is_duplex
    yield f'digraph "{name}" {{\n  node [shape=circle];\n'
    yield "".join(f"  {node} [shape=box, switch=true];\n" for node in sorted(topology.switches))
    alone = np.flatnonzero((topology.out_ports == 0) & (topology.in_ports == 0)).tolist()
    yield "".join(f"  {node};\n" for node in alone if node not in topology.switches)
    for links in _pieces(topology):
        lines = []
        for u, v, c in links:
            if duplex and u > v:
                continue
            marks = (["dir=none"] if duplex else []) + ([f"capacity={c}, label={c}"] if c > 1 else [])
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
