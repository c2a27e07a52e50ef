"""Swaps of the heads of two links, which keep all ports."""

from __future__ import annotations

from topodesign.base.errors import ParameterError
from topodesign.graphs.expansions.expansion import Expansion, require_base, require_count
from topodesign.graphs.expansions.rewiring import find_link, no_claim, unit_links
from topodesign.topology.topology import Topology

_SIGNATURE = "swap(G,a,b,c,d,...)"


def graph(base: Topology, *numbers: int) -> Topology:
    """Return G with links a->b and c->d replaced by a->d and c->b.

    More swaps follow in sequence.

    In a duplex topology the swaps a, b, c, d and b, a, d, c exchange two pairs of opposite links.
    """
    topology = require_base(base, _SIGNATURE)
    ends = [require_count(number, _SIGNATURE, 0) for number in numbers]
    if not ends or len(ends) % 4:
        raise ParameterError(f"write {_SIGNATURE} with four nodes for every swap")
    src, dst = unit_links(topology)
    for place in range(0, len(ends), 4):
        a, b, c, d = ends[place : place + 4]
        one, other = (find_link(src, dst, tail, head, _SIGNATURE) for tail, head in ((a, b), (c, d)))
        dst[one], dst[other] = d, b
    return Topology.from_arrays(topology.nodes, src, dst)


swap = Expansion("swap", graph, no_claim, lift=None, size=("N", "d", "swap(circulant(8,1,2),0,1,5,4,1,0,4,5)"))
