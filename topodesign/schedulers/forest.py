"""Plans over spanning trees of any fabric, as fast as any for large sizes (ForestColl)."""

from __future__ import annotations

from topodesign.base.errors import ParameterError
from topodesign.base.wording import with_article
from topodesign.fabrics.places import named_preset
from topodesign.fabrics.shards import as_shards
from topodesign.plans.measure import tree_figures
from topodesign.plans.plan import Plan
from topodesign.plans.trees import TREE_COLLECTIVES
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    """Return the plan; of an allreduce its note says of which kind it is and whether another may be faster."""
    from topodesign.optima.forest.schedule import allreduce_schedule, forest_schedule  # noqa: PLC0415  not for rounds
    from topodesign.optima.forest.throughput import compute_node  # noqa: PLC0415

    fabric, collective = request.fabric, request.collective
    root = None if request.root_name is None else compute_node(fabric, request.root_name)
    shard = None if request.shards is None else as_shards(fabric, request.shards)
    if root is not None and shard is not None:
        raise ParameterError(f"the only shard of {with_article(collective)} is its root's; leave --shards out")
    notes: tuple[str, ...] = ()
    fixed = " and ".join(f"--{name.replace('_', '-')}" for name in request.given() if name in {"fixed_k", "shards"})
    if len(collective.parts) > 1 and not fixed:
        trees, kind = allreduce_schedule(fabric.topology, names=fabric.names)
        notes = (kind,)
        if fabric.multicast | fabric.aggregation:
            notes += ("switches copy or add here, which may be faster: --method in-network",)
    else:
        trees = forest_schedule(
            fabric.topology, collective, k=request.fixed_k, root=root, shard=shard, names=fabric.names
        )
        if len(collective.parts) > 1:
            notes = (
                f"a reduce-scatter and then an allgather; with {fixed} no allreduce of another kind is looked for",
            )
    return [
        Plan(
            fabric,
            trees,
            tree_figures(fabric, trees).claim(),
            None if request.only or request.without else named_preset(request.place),
            {"method": "forest", "fixed_k": request.fixed_k, "root": request.root_name},
            notes,
        )
    ]


METHOD = Method(
    "forest",
    frozenset({"root", "fixed_k", "shards", "only", "without"}),
    TREE_COLLECTIVES,
    _make,
    movement="trees",
    fabrics=True,
)
