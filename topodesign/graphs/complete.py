"""Complete graphs: everyone is one step away."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.topology.family import named
from topodesign.topology.groups import cyclic
from topodesign.topology.topology import Topology, check_buildable


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    if nodes == degree + 1 >= 2:
        yield (nodes,)


@named(_find, size=("n", "n - 1", "complete(6)"))
def complete(n: int) -> Topology:
    """Complete graph K_n: every node has a link to every other; degree n - 1, diameter 1.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7.
    """
    require_at_least("n", n, 2)
    check_buildable(n, n * (n - 1))
    source, step = np.divmod(np.arange(n * (n - 1)), n - 1)
    return Topology.from_arrays(n, source, (source + step + 1) % n, symmetry=cyclic(n).action())
