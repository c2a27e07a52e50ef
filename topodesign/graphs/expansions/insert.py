"""Insertion of nodes in the middle of some links."""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.expansions.expansion import Expansion, require_base, require_count
from topodesign.graphs.expansions.rewiring import find_link, no_claim, unit_links
from topodesign.topology.topology import Topology, check_buildable

_SIGNATURE = "insert(G,u1,w1,...)"


def graph(base: Topology, *numbers: int) -> Topology:
    """Return G with a new last node in the middle of d links.

    Each link u->w becomes u->new and new->w.

    All nodes keep their number of ports. With k times d links, k nodes are inserted one after the other; the later
    ones may be put in the middle of the links of the earlier. The link of a new node to itself is one that need not be
    there: the node gets it, and so a port of it stays free.
    """
    topology = require_base(base, _SIGNATURE)
    ends = [require_count(number, _SIGNATURE, 0) for number in numbers]
    ports = 2 * topology.degree
    if not ends or len(ends) % ports:
        raise ParameterError(f"write {_SIGNATURE} with {topology.degree} links for every new node")
    new = len(ends) // ports
    check_buildable(topology.nodes + new, len(topology.src) + new * topology.degree)
    src, dst = unit_links(topology)
    src = np.concatenate((src, np.repeat(np.arange(topology.nodes, topology.nodes + new), topology.degree)))
    dst = np.concatenate((dst, np.full(new * topology.degree, -1)))
    links = len(src) - new * topology.degree
    for place in range(0, len(ends), 2):
        node = topology.nodes + place // ports
        if not ends[place] == ends[place + 1] == node:
            at = find_link(src[:links], dst[:links], ends[place], ends[place + 1], _SIGNATURE)
            dst[at] = node
        dst[links] = ends[place + 1]
        links += 1
    return Topology.from_arrays(topology.nodes + new, src, dst)


insert = Expansion(
    "insert",
    graph,
    no_claim,
    lift=None,
    size=("N + 1 for every d links", "d", "insert(circulant(12,2,3),0,2,3,5,6,8,9,11)"),
)
