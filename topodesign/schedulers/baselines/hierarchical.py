"""Hierarchical rings: rings among the boxes of a fabric or the rows of a grid, and rings inside each of them."""

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


def hierarchical(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over two levels of rings: as BlueConnect with two sides.

    Raises
    ------
    InfeasibleError
        If the topology is no grid of two sides.

    References
    ----------
    Sergeev and Del Balso, Horovod: fast and easy distributed deep learning in TensorFlow (2018).
    """
    sides = sides_of(topology, 2)
    if sides is None:
        raise InfeasibleError("hierarchical rings need a grid of alike rows, such as a product of two topologies")
    return level_rings(topology, collective, sides)


def _make(request: Request) -> list[Plan]:
    if isinstance(request.where, Topology):
        return plans(request, "hierarchical", hierarchical)
    return tree_plans(request, "hierarchical", over_boxes)


METHOD = Method("hierarchical", frozenset(), (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), _make, fabrics=True, auto=False)
