"""Chain: data go from node to node along a path, cut into chunks that follow one another."""

from __future__ import annotations

import itertools

from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.orders import ring_orders
from topodesign.schedulers.baselines.spanning import Ranks, tree_plans
from topodesign.schedulers.method import Method, Request


def chains(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a path from the root along every ring of the fabric, or the transpose of it.

    C chunks take (N - 2 + C)(alpha + beta M/(R C)) over R rings that share no link. Without a root, as in an allreduce,
    the first node is it.
    """
    root = fabric.compute[0] if root is None else root
    found = []
    for ring in ring_orders(fabric):
        at = ring.index(root)
        path = (*ring[at:], *ring[:at])
        found.append(Ranks(root, 1, list(itertools.pairwise(path))))
    return found


def _make(request: Request) -> list[Plan]:
    return tree_plans(request, "chain", chains)


METHOD = Method(
    "chain",
    frozenset({"root", "only", "without"}),
    (BROADCAST, REDUCE, ALLREDUCE),
    _make,
    movement="trees",
    fabrics=True,
    auto=False,
)
