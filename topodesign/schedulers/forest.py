"""Tree plans over ranks (ForestColl) or switches (NVLS, SHARP)."""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import format_option
from topodesign.base.wording import with_article
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.node_values import as_shards
from topodesign.plans.chunk_ops import MAX_WEIGHT, TREE_COLLECTIVES, find_relays
from topodesign.plans.plan import Plan
from topodesign.schedulers.method import Method, Request, fabric_root, tree_plan

MAY_BE_FASTER = "switches copy or add here, which may be faster: --algorithm in-network"


def _make(request: Request) -> list[Plan]:
    """Return the tree plan, with notes on its kind."""
    from topodesign.optima.forest.schedule import allreduce_schedule, spanning, tree_schedule  # noqa: PLC0415  not for rounds

    fabric, collective, names = request.fabric, request.collective, request.fabric.names
    root = fabric_root(request)
    shard = None if request.shards is None else as_shards(fabric, request.shards)
    if root is not None and shard is not None:
        raise ParameterError(f"the only shard of {with_article(collective)} is its root's; remove --shards")
    notes = []
    fixed = " and ".join(format_option(name) for name in request.list_given() if name in {"fixed_k", "shards"})
    if len(collective.parts) > 1 and not fixed:
        trees, kind = allreduce_schedule(fabric.topology, names=names)
        notes.append(kind)
        if fabric.multicast | fabric.aggregation and not request.by_ranks:
            notes.append(MAY_BE_FASTER)
    else:
        trees = tree_schedule(fabric.topology, spanning(collective, root), request.fixed_k, shard, names)
        if len(collective.parts) > 1:
            notes.append(
                f"a reduce-scatter and then an allgather; with {fixed} no allreduce of another kind is looked for"
            )
    made = {"method": "forest", "fixed_k": request.fixed_k, "root": request.root_name}
    return [tree_plan(request, trees, made, *notes)]


OPTIONS = frozenset({"root", "fixed_k", "shards", "only", "without", "by_ranks"})
METHOD = Method("forest", OPTIONS, TREE_COLLECTIVES, _make, movement="trees", fabrics=True)


def _in_network(request: Request) -> list[Plan]:
    """Return the plan over trees with in-network operations."""
    from topodesign.optima.fluid.packing import packing  # noqa: PLC0415  not for rounds
    from topodesign.optima.forest.in_network_schedule import in_network_schedule  # noqa: PLC0415

    fabric = request.fabric
    copies, adds = fabric.multicast, fabric.aggregation
    if not copies | adds:
        raise InfeasibleError(f"no switch of {fabric.name} copies or adds; use --algorithm forest")
    root = fabric_root(request)
    if request.collective.like(ALLREDUCE):
        found = packing(fabric, request.collective, units=MAX_WEIGHT, spared=False)
        trees = found.trees
        note = f"switches {'copy and add' if len(find_relays(trees)) else 'only forward'}; {found.claim}"
    else:
        trees, note = in_network_schedule(
            fabric.topology, request.collective, copies, adds, root=root, names=fabric.names
        )
    return [tree_plan(request, trees, {"method": "in-network", "root": request.root_name}, note)]


_IN_NETWORK = frozenset({"root", "only", "without"})
IN_NETWORK = Method(
    "in-network", _IN_NETWORK, TREE_COLLECTIVES, _in_network, movement="trees", fabrics=True, auto=False
)
