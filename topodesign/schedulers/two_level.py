"""Allreduces for little data, one-shot or in two levels.

In two levels there is one exchange between boxes, a step, in which every node sends to the nodes of its own place in
all other boxes and adds up what it gets from them. Inside there are two ways. In the one (*one-shot*) all send all they
have first, and then all that the box has to the other boxes: two steps. In the other each node adds up its part of the
data first, and sends the sum of that part on to the others of its box in the end: three steps, and as little data as
there can be. Where a switch of the box copies, or adds, each node sends once. Trees go between boxes twice, there and
back.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.build import lay_out
from topodesign.plans.chunk_ops import unfold_pieces
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.plan import Plan
from topodesign.plans.time.models import compute_claim
from topodesign.schedulers.baselines.baseline import Ranks, Tree, assemble_trees, route_trees, spanning_plan
from topodesign.schedulers.baselines.mpi import stars
from topodesign.schedulers.for_size import take_fastest
from topodesign.schedulers.forest import IN_NETWORK
from topodesign.schedulers.method import Method, Request, spec_of, tree_plan

_Groups = Sequence[Sequence[int]]


def _make(request: Request) -> list[Plan]:
    """Return the fastest two-level plan for the size."""
    fabric = request.fabric
    if request.by_ranks:
        fabric = replace(fabric, multicast=frozenset(), aggregation=frozenset())
    boxes = boxes_of(fabric)
    if boxes is None:
        raise InfeasibleError("two levels require boxes with as many nodes each, named box0/gpu0, box0/gpu1 and so on")
    between = _stage(fabric, ALLREDUCE, list(zip(*boxes, strict=True)))
    made = []
    for copies, adds in dict.fromkeys([(False, False), (True, False), (True, True)]):
        hubs = [_hubs(fabric, box, copies=copies, adds=False) for box in boxes]
        if copies and not all(hubs):
            continue
        if not adds:
            made.append([_stage(fabric, ALLREDUCE, boxes, hubs), between])
        inner = [_hubs(fabric, box, copies=False, adds=adds) for box in boxes]
        if all(inner) or not adds:
            halves = [_stage(fabric, one, boxes, way) for one, way in ((REDUCE_SCATTER, inner), (ALLGATHER, hubs))]
            made.append([halves[0], between, halves[1]])
    plans = [_make_plan(request, Flows(tuple(replace(one, place=fabric) for one in stages))) for stages in made]
    return [take_fastest(plans, request)]


def _make_plan(request: Request, stages: Flows) -> Plan:
    plan = Plan(request.fabric, stages, {}, spec_of(request), {"method": "two-level"})
    claim = compute_claim(plan)
    names = ", ".join(
        f"{'one-shot' if one.collective.like(ALLREDUCE) else one.collective} {where}"
        for one, where in zip(stages.each, ("in boxes", "between boxes", "in boxes"), strict=False)
    )
    return replace(plan, claim=claim, notes=(names,))


def _hubs(fabric: Fabric, box: Sequence[int], *, copies: bool, adds: bool) -> list[tuple[int, int]]:
    """Return capable switches of a box, with their capacity."""
    able = (fabric.multicast if copies else frozenset()) | (fabric.aggregation if adds else frozenset())
    capacity = {(src, dst): wide for src, dst, wide in fabric.topology.links()}
    found = []
    for hub in sorted(able):
        wide = [capacity.get(pair, 0) for node in box for pair in ((node, hub), (hub, node))]
        if min(wide):
            found.append((hub, min(wide)))
    return found


def _stage(fabric: Fabric, does: Collective, groups: _Groups, hubs: Iterable[list[tuple[int, int]]] = ()) -> Flow:
    """Return a stage of trees within groups, direct or switched."""
    adds = does.like(REDUCE_SCATTER)
    topology = fabric.topology.transpose() if adds and not fabric.topology.is_duplex else fabric.topology
    trees: list[Tree] = []
    for group, through in itertools.zip_longest(groups, hubs, fillvalue=()):
        for root in group if through else ():
            others = [node for node in group if node != root]
            for hub, wide in through:
                trees.append(Tree(root, wide, ((root, hub), *((hub, node) for node in others))))
    if not trees:
        shapes = [
            Ranks(root, 1, [(root, node) for node in group if node != root]) for group in groups for root in group
        ]
        trees = route_trees(topology, fabric, shapes)
        inside = {node: number for number, group in enumerate(groups) for node in group}
        if any(inside[way[0]] != inside[way[-1]] for tree in trees for way in tree.ways):
            raise InfeasibleError("the way from a node to another of its group leads through a node of another group")
    moved = ALLGATHER if does.like(ALLREDUCE) else does
    one = moved.within(groups)
    made = assemble_trees(fabric, one, [tree.backwards for tree in trees] if adds else [], [] if adds else trees)
    return with_collective(made, does.within(groups))


def with_collective(trees: Flow, collective: Collective) -> Flow:
    """Return trees of another collective, of shards of one size.

    Out-trees of an allreduce are one-shot.
    """
    one_shot = collective.like(ALLREDUCE)
    return lay_out(replace(trees, collective=collective, sizes=None, free=False, one_shot=one_shot))


OPTIONS = frozenset({"only", "without", "by_ranks", "alpha"})
METHOD = Method("two-level", OPTIONS, (ALLREDUCE,), _make, movement="stages", fabrics=True, auto=False)


def _make_one_shot(request: Request) -> list[Plan]:
    """Return the faster one-shot plan, over shortest paths or copying switches.

    Every node sends all that it has to all others, and adds up what it gets. It takes as many steps as the farthest
    node is away, where a reduce-scatter and an allgather take as many twice, and moves N times as much in each. Where
    switches copy, a node may send once. MSCCL++ and TensorRT-LLM call it so; their two-shot is ``--algorithm direct``.
    """
    if len(request.fabric.compute) < 2:
        raise InfeasibleError("one node alone requires no one-shot")
    gathers = request.asking(ALLGATHER)
    ways = [spanning_plan(gathers, "one-shot", stars)]
    if request.fabric.multicast and not request.by_ranks:
        ways += IN_NETWORK.make(gathers)
    trees = [with_collective(unfold_pieces(one.flow), ALLREDUCE) for one in ways]
    made = [tree_plan(request, one, {"method": "one-shot"}) for one in trees]
    return [take_fastest(made, request)]


ONE_SHOT = Method("one-shot", OPTIONS, (ALLREDUCE,), _make_one_shot, movement="trees", fabrics=True, auto=False)
