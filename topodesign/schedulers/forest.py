"""Plans over spanning trees of any fabric, as fast as any for large sizes (ForestColl)."""

from __future__ import annotations

from topodesign.base.errors import ParameterError
from topodesign.base.wording import with_article
from topodesign.fabrics.node_values import as_shards
from topodesign.plans.plan import Plan
from topodesign.plans.trees import TREE_COLLECTIVES
from topodesign.schedulers.answers import fabric_root, tree_plan
from topodesign.schedulers.method import Method, Request

MAY_BE_FASTER = "switches copy or add here, which may be faster: --method in-network"


def _make(request: Request) -> list[Plan]:
    """Return the plan; of an allreduce its note says of which kind it is and whether another may be faster."""
    from topodesign.optima.forest.schedule import allreduce_schedule, spanning, tree_schedule  # noqa: PLC0415  not for rounds

    fabric, collective, names = request.fabric, request.collective, request.fabric.names
    root = fabric_root(request)
    shard = None if request.shards is None else as_shards(fabric, request.shards)
    if root is not None and shard is not None:
        raise ParameterError(f"the only shard of {with_article(collective)} is its root's; leave --shards out")
    notes = []
    fixed = " and ".join(f"--{name.replace('_', '-')}" for name in request.given() if name in {"fixed_k", "shards"})
    if len(collective.parts) > 1 and not fixed:
        trees, kind = allreduce_schedule(fabric.topology, names=names)
        notes.append(kind)
        if fabric.multicast | fabric.aggregation:
            notes.append(MAY_BE_FASTER)
    else:
        trees = tree_schedule(fabric.topology, spanning(collective, root), request.fixed_k, shard, names)
        if len(collective.parts) > 1:
            notes.append(
                f"a reduce-scatter and then an allgather; with {fixed} no allreduce of another kind is looked for"
            )
    made = {"method": "forest", "fixed_k": request.fixed_k, "root": request.root_name}
    return [tree_plan(request, trees, made, *notes)]


OPTIONS = frozenset({"root", "fixed_k", "shards", "only", "without"})
METHOD = Method("forest", OPTIONS, TREE_COLLECTIVES, _make, movement="trees", fabrics=True)
