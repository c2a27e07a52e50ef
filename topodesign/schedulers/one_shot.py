"""A one-shot allreduce: every node sends all that it has to all others, and adds up what it gets; for little data.

It takes as many steps as the farthest node is away, where a reduce-scatter and an allgather take as many twice, and
moves N times as much in each. Where switches copy, a node may send once. What libraries of collectives take for the
smallest calls (MSCCL++ and TensorRT-LLM call it one-shot); their two-shot is ``--method direct``.
"""

from __future__ import annotations

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers.baselines.mpi import stars
from topodesign.schedulers.baselines.spanning import spanning_plan
from topodesign.schedulers.for_size import time_of
from topodesign.schedulers.forest import IN_NETWORK
from topodesign.schedulers.method import Method, Request, tree_plan


def _make(request: Request) -> list[Plan]:
    """Return the plan over shortest paths, or through switches that copy, whichever takes less time for the size."""
    if len(request.fabric.compute) < 2:
        raise InfeasibleError("one node alone needs no one-shot")
    gathers = request.asking(ALLGATHER)
    ways = [spanning_plan(gathers, "one-shot", stars)]
    if request.fabric.multicast and not request.by_ranks:
        ways += IN_NETWORK.make(gathers)
    trees = [one.moving(Trees).having(collective=ALLREDUCE) for one in ways]
    made = [tree_plan(request, one, {"method": "one-shot"}) for one in trees]
    return [min(made, key=lambda plan: time_of(plan, request))]


OPTIONS = frozenset({"only", "without", "by_ranks", "alpha"})
METHOD = Method("one-shot", OPTIONS, (ALLREDUCE,), _make, movement="trees", fabrics=True, auto=False)
