"""Turning of near links, which removes self-loops.

Links between close numbers take each other's heads.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.expansions.expansion import Expansion, require_base, require_count
from topodesign.graphs.expansions.rewiring import no_claim, unit_links
from topodesign.topology.symmetry import Symmetry, shift
from topodesign.topology.topology import Topology

_SIGNATURE = "turn(G,s,places)"


def graph(base: Topology, s: int, places: int = 1) -> Topology:
    """Return G with the heads of equally long near links rotated.

    Those with |u - v| <= s modulo N.

    The links of every length u - v from -s to s are put in order of u, and each takes the head of the one so many
    places further, cyclically; so all nodes keep their ports. With s = 0 self-loops alone are turned, into links from
    each of their nodes to the next. In digraphs such as generalized Kautz ones a node close to a fixed point of
    x -> -dx - a reaches by such a link what it has nearby already; by a link that is turned it reaches something else.
    """
    topology = require_base(base, _SIGNATURE)
    reach, further = require_count(s, _SIGNATURE, 0), require_count(places, _SIGNATURE)
    nodes = topology.nodes
    if 2 * reach >= nodes:
        raise ParameterError(f"{_SIGNATURE} requires an s below N/2 there, not {reach}")
    src, dst = unit_links(topology)
    length = (src - dst + reach) % nodes
    near = np.flatnonzero(length <= 2 * reach)
    near = near[np.argsort(length[near], kind="stable")]
    starts = np.flatnonzero(np.diff(length[near], prepend=-1))
    sizes = np.diff(starts, append=len(near))
    first, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    dst[near] = dst[near[first + (np.arange(len(near)) - first + further % size) % size]]
    return Topology.from_arrays(nodes, src, dst, symmetry=_shifts(topology))


def _shifts(topology: Topology) -> Symmetry | None:
    """Return the shifts of node numbers, modulo N, that keep G."""
    nodes, known = topology.nodes, topology.symmetry
    if known is None:
        return None
    added = [int(one[0]) for one in known.generators if np.all((one - np.arange(nodes) - one[0]) % nodes == 0)]
    period = int(np.gcd.reduce([nodes, *added]))
    if period == nodes:
        return None
    return Symmetry(nodes, tuple(range(period)), lambda: [shift(nodes, period)])


turn = Expansion("turn", graph, no_claim, lift=None, size=("N", "d", "turn(genkautz(2,11),1)"))
