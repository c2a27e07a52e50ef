"""The generalised hexagon of order 3 with points split in two.

Large duplex graphs of degree 4 and diameter 6.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.errors import ParameterError
from topodesign.graphs.polygon import gh
from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.topology import Topology

_SPLIT = (
    (157, 0, 3), (168, 0, 1), (266, 2, 3), (67, 0, 2), (15, 1, 3), (156, 0, 1), (86, 2, 3), (82, 0, 2), (47, 1, 2),
    (53, 1, 2), (344, 1, 2), (281, 0, 1), (11, 0, 1), (175, 0, 3), (228, 2, 3), (308, 0, 1), (203, 2, 3), (27, 2, 3),
)  # fmt: skip
"""Points no two of which are nearer than 6 links, and which two of its four lines, in ascending order, each keeps."""


@make_family(
    lambda n, d: make_sizes(d == 4 and 0 < n - 728 <= len(_SPLIT), n - 728), size=("728 + k", "4", "ghtwins(12)")
)
def ghtwins(k: int) -> Topology:
    """Hexagon H(3) with k split points: 728 + k nodes, degree 4, diameter 6.

    Incidence graph; k is at most 18.

    A split point keeps two of its lines, its twin takes the other two, and they are joined. Each has a port left then:
    the twin of every split point is joined with the next split point, in a ring (for k = 1 with its own once more). No
    two of the split points are nearer than 6 links, so that a shortest path of at most 5 links passes through one at
    most and becomes at most one link longer. Ends 6 links apart have four such paths, which the few split points do
    not all lengthen. And a half of one point is near a half of another if two links lead from a line of the one to a
    line of the other, else by the ring: points, lines and ring are such that this is always so, for the first k of them
    too.

    The nodes of the hexagon come first, then the twins.

    References
    ----------
    Comellas and Gomez, New large graphs with given degree and diameter (1995), and Gomez, Pelayo and Balbuena, New
    large graphs with given degree and diameter six (1999), for putting small complete graphs in the place of nodes far
    apart; the former reaches 740 nodes. Which points and lines was found by simulated annealing here.
    """
    if not 1 <= k <= len(_SPLIT):
        raise ParameterError(f"k must be 1 to {len(_SPLIT)}, not {k}")
    plain = gh.function(3)
    nodes, target, source = plain.nodes, plain.dst.copy(), plain.src.copy()
    for number, (point, *keeps) in enumerate(_SPLIT[:k]):
        lines = np.sort(plain.dst[plain.src == point])
        for line in np.delete(lines, keeps):
            source[(plain.src == point) & (plain.dst == line)] = nodes + number
            target[(plain.src == line) & (plain.dst == point)] = nodes + number
    points, twins = np.array([point for point, *_ in _SPLIT[:k]]), nodes + np.arange(k)
    after = np.roll(points, -1)
    return Topology.from_arrays(
        nodes + k,
        np.concatenate((source, points, twins, twins, after)),
        np.concatenate((target, twins, points, after, twins)),
    )
