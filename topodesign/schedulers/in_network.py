"""Plans over trees that go through switches which copy and add (NVLS, SHARP); of an allreduce often the fastest."""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError
from topodesign.fabrics.places import named_preset
from topodesign.plans.measure import tree_figures
from topodesign.plans.plan import Plan
from topodesign.plans.trees import TREE_COLLECTIVES
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    """Return the plan; its note says how good it is."""
    from topodesign.optima.forest.relays import in_network_schedule  # noqa: PLC0415  not for rounds
    from topodesign.optima.forest.throughput import compute_node  # noqa: PLC0415

    fabric, collective = request.fabric, request.collective
    if not fabric.multicast | fabric.aggregation:
        raise InfeasibleError(f"no switch of {fabric.name} copies or adds; use --method forest")
    root = None if request.root_name is None else compute_node(fabric, request.root_name)
    trees, words = in_network_schedule(
        fabric.topology, collective, fabric.multicast, fabric.aggregation, root=root, names=fabric.names
    )
    return [
        Plan(
            fabric,
            trees,
            tree_figures(fabric, trees).claim(),
            None if request.only or request.without else named_preset(request.place),
            {"method": "in-network", "root": request.root_name},
            (words,),
        )
    ]


METHOD = Method(
    "in-network",
    frozenset({"root", "only", "without"}),
    TREE_COLLECTIVES,
    _make,
    movement="trees",
    fabrics=True,
    auto=False,
)
