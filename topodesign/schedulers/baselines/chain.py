"""Chain: data go from node to node along a path, cut into chunks that follow one another."""

from __future__ import annotations

import itertools

from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE
from topodesign.fabrics.fabric import Fabric
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.levels import ring_orders
from topodesign.schedulers.baselines.spanning import Ranks


def chains(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a path from the root along every ring of the fabric, or the transpose of it.

    C chunks take (N - 2 + C)(alpha + beta M/(R C)) over R rings that share no link. Without a root, as in an allreduce,
    the first node is it.
    """
    root = fabric.compute[0] if root is None else root
    found = []
    for ring in ring_orders(fabric):
        at = ring.index(root)
        found.append(Ranks(root, 1, list(itertools.pairwise((*ring[at:], *ring[:at])))))
    return found


METHOD = baseline("chain", (BROADCAST, REDUCE, ALLREDUCE), trees=chains)
