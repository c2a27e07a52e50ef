"""Meshes: grids that do not go round."""

from __future__ import annotations

import math

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.topology.family import named, never
from topodesign.topology.topology import Topology, check_buildable


@named(never, size=("prod(sides)", "2 for each side, 1 for a side of 2", "mesh(4,4)"))
def mesh(*sides: int) -> Topology:
    """Mesh: duplex links between neighbours along every dimension; the node (x0, x1, ...) is x0 + a(x1 + b(x2 + ...)).

    As ``torus`` without the links that go round. Nodes on the rim have ports to spare, so no search offers a mesh; it
    is there to be compared with.

    References
    ----------
    TACOS: Topology-Aware Collective Algorithm Synthesizer for Distributed Machine Learning (2D mesh).
    """
    if not sides:
        raise ParameterError("give at least one side, as in mesh(4,4)")
    for side in sides:
        require_at_least("every side", side, 2)
    nodes = math.prod(sides)
    check_buildable(nodes, 2 * len(sides) * nodes)
    node, place = np.arange(nodes), 1
    ends = []
    for side in sides:
        left = node[node // place % side < side - 1]
        ends += [(left, left + place), (left + place, left)]
        place *= side
    return Topology.from_arrays(nodes, *(np.concatenate(column) for column in zip(*ends, strict=True)))
