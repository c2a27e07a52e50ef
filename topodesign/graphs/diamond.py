"""The diamond, whose best schedule is not a shortest-path one.

Eight nodes of degree two.
"""

from __future__ import annotations

import numpy as np

from topodesign.graphs.sizes import make_sizes
from topodesign.topology.family import make_family
from topodesign.topology.topology import Topology

_TARGETS = ((1, 2), (2, 3), (4, 5), (0, 6), (0, 6), (3, 7), (5, 7), (1, 4))


@make_family(lambda n, d: make_sizes((n, d) == (8, 2)), size=("8", "2", "diamond()"))
def diamond() -> Topology:
    """Diamond: 8 nodes, degree 2, diameter 3, no isomorphic transpose.

    Reduce-scatter and allgather both have schedules of 3 steps with y = 7/8, which is optimal in both terms, while the
    best SPFF schedule has y = 1. The paper shows it only in a figure, so it was recovered from these properties: of the
    256 strongly connected 2-regular digraphs without self-loops and parallel links on 8 nodes that have diameter 3, six
    have all of them with a shard in halves, and the one with more than the trivial symmetry is unique up to reversing
    all links. The numbering is breadth-first, the lexicographically smallest of both directions.
    ``benchmarks/find_diamond.py`` repeats the search.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7 and appendix H.
    """
    return Topology.from_arrays(8, np.repeat(np.arange(8), 2), np.array(_TARGETS))
