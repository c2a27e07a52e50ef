"""BlueConnect: rings along every side of a grid, one side after another, with what the sides before have left."""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.hierarchical import level_rings, over_boxes
from topodesign.schedulers.baselines.levels import sides_of
from topodesign.schedulers.baselines.messages import Made
from topodesign.topology.topology import Topology


def blueconnect(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over rings along all sides of a grid; on a fabric the boxes are a side.

    Cho, Finkler, Serrano, Kung and Hunter, BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous
    Network Hierarchy (2019).
    """
    sides = sides_of(topology)
    if sides is None:
        raise InfeasibleError("blueconnect needs a grid of alike rows, such as a torus or a product")
    return level_rings(topology, collective, sides)


METHOD = baseline("blueconnect", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), blueconnect, trees=over_boxes)
