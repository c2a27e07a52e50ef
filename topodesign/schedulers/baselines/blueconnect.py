"""BlueConnect: rings along every side of a grid, one side after another, with what the sides before have left."""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.levels import sides_of
from topodesign.schedulers.baselines.messages import Made, plans
from topodesign.schedulers.baselines.nested import level_rings, over_boxes
from topodesign.schedulers.baselines.spanning import tree_plans
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import Topology


def blueconnect(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over rings along all sides of a grid.

    Its cost is that of :func:`~topodesign.schedulers.baselines.nested.level_rings`. On a fabric the boxes are a side.

    Raises
    ------
    InfeasibleError
        If the topology is no grid.

    References
    ----------
    Cho, Finkler, Serrano, Kung and Hunter, BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
    Network Hierarchy (2019).
    """
    sides = sides_of(topology)
    if sides is None:
        raise InfeasibleError("blueconnect needs a grid of alike rows, such as a torus or a product")
    return level_rings(topology, collective, sides)


def _make(request: Request) -> list[Plan]:
    if isinstance(request.where, Topology):
        return plans(request, "blueconnect", blueconnect)
    return tree_plans(request, "blueconnect", over_boxes)


METHOD = Method("blueconnect", frozenset(), (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), _make, fabrics=True, auto=False)
