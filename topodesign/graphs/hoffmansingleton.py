"""The Hoffman-Singleton graph: the largest of degree 7 and diameter 2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology


@make_family(lambda n, d: make_sizes((n, d) == (50, 7)), size=("50", "7", "hoffmansingleton()"))
def hoffmansingleton() -> Topology:
    """Hoffman-Singleton graph: 50 nodes, degree 7, diameter 2.

    It meets the undirected Moore bound.

    Node 5h + j is corner j of the pentagon h, joined with j - 1 and j + 1; node 25 + 5i + j is corner j of the
    pentagram i, joined with j - 2 and j + 2; and corner j of pentagon h is joined with corner hi + j of pentagram i.

    References
    ----------
    Hoffman and Singleton, On Moore Graphs with Diameters 2 and 3 (1960); the pentagons are Robertson's.
    """
    h, i, j = (axis.ravel() for axis in np.indices((5, 5, 5)))
    corner = np.arange(25)
    edges = (
        (corner, corner // 5 * 5 + (corner + 1) % 5),
        (25 + corner, 25 + corner // 5 * 5 + (corner + 2) % 5),
        (5 * h + j, 25 + 5 * i + (h * i + j) % 5),
    )
    source, target = (np.concatenate(ends) for ends in zip(*edges, strict=True))
    ends = np.concatenate((source, target)), np.concatenate((target, source))
    return Topology.from_arrays(50, *ends, symmetry=Symmetry(50, (0,), _automorphisms))


def _automorphisms() -> Iterator[IntArray]:
    """Yield automorphisms: rotations, moves and exchange of pentagons."""
    h, j = np.divmod(np.arange(25), 5)
    for pentagon, pentagram in (
        (5 * h + (j + 1) % 5, 25 + 5 * h + (j + 1) % 5),
        (5 * ((h + 1) % 5) + j, 25 + 5 * h + (j + h) % 5),
        (25 + 5 * h + 2 * j % 5, 5 * (3 * h % 5) + 2 * j % 5),
    ):
        yield np.concatenate((pentagon, pentagram))
