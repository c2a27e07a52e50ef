"""Digraphs given link by link, for small ones without a rule."""

from __future__ import annotations

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.topology.family import make_family
from topodesign.topology.topology import Topology, check_buildable


@make_family(size=("len(heads)/d", "d", "successors(2,1,2,2,3,3,0,0,1)"))
def successors(d: int, *heads: int) -> Topology:
    """Digraph by a list of successors.

    Node i has links to the d nodes ``heads[i*d]`` to ``heads[i*d + d-1]``.

    So ``successors(2,1,2,2,0,0,1)`` has the links 0-1, 0-2, 1-2, 1-0, 2-0, 2-1. A node listed twice for one source is a
    link of capacity two, and the source itself is a self-loop, which uses up a port. A spec has room for about a
    thousand links.
    """
    require_at_least("d", d, 1)
    nodes, rest = divmod(len(heads), d)
    if rest or not heads:
        raise ParameterError(f"give {d} successors for every node; {len(heads)} are no multiple of {d}")
    check_buildable(nodes, len(heads))
    for head in heads:
        if not 0 <= head < nodes:
            raise ParameterError(f"successor {head} must be a node, 0 to {nodes - 1}")
    return Topology.from_arrays(nodes, np.repeat(np.arange(nodes), d), np.array(heads, dtype=np.int64))
