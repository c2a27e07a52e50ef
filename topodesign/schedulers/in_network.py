"""Plans over trees that go through switches which copy and add (NVLS, SHARP); of an allreduce often the fastest."""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLREDUCE
from topodesign.plans.plan import Plan
from topodesign.plans.trees import MAX_WEIGHT, TREE_COLLECTIVES
from topodesign.schedulers.answers import fabric_root, tree_plan
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    """Return the plan; its note says how good it is."""
    from topodesign.optima.fluid.packing import packing  # noqa: PLC0415  not for rounds
    from topodesign.optima.forest.in_network_schedule import in_network_schedule  # noqa: PLC0415

    fabric = request.fabric
    copies, adds = fabric.multicast, fabric.aggregation
    if not copies | adds:
        raise InfeasibleError(f"no switch of {fabric.name} copies or adds; use --method forest")
    root = fabric_root(request)
    if request.collective.like(ALLREDUCE):
        found = packing(fabric, request.collective, units=MAX_WEIGHT, spared=False)
        trees = found.trees
        note = f"switches {'copy and add' if len(trees.relays) else 'only forward'}; {found.claim}"
    else:
        trees, note = in_network_schedule(
            fabric.topology, request.collective, copies, adds, root=root, names=fabric.names
        )
    return [tree_plan(request, trees, {"method": "in-network", "root": request.root_name}, note)]


OPTIONS = frozenset({"root", "only", "without"})
METHOD = Method("in-network", OPTIONS, TREE_COLLECTIVES, _make, movement="trees", fabrics=True, auto=False)
