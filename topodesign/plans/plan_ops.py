"""Operations on plans, whatever moves in them.

Each asks the timing model once: compilers, runs, charts and tables take sends in steps, transfers of ranks or the plans
of groups from here, and need not know what a plan is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError
from topodesign.plans.build import build_trees
from topodesign.plans.chunk_ops import (
    count_adding,
    find_relays,
    find_teams,
    list_shards,
    routes_of,
    sort_sends,
    take_sends,
    unfold_pieces,
)
from topodesign.plans.flow import Circuits, Flow
from topodesign.plans.flow_ops import relabel
from topodesign.plans.group_ops import apart
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import unfold_steps
from topodesign.plans.time.clock import list_steps
from topodesign.plans.transfers import Transfers, add_up, transfers_of_flow
from topodesign.plans.unroll import graph_of, ranks_of, unroll
from topodesign.topology.topology import IntArray

_OWN_UNITS = 2**30  # of a block where these differ in size
NO_ROUNDS = (
    "ranks add up for themselves here (one-shot), which rounds of shards do not say; simulate it, run it, compile it "
    "with --target msccl, mscclpp or jax, or take another --algorithm"
)


def adds_at_ranks(plan: Plan) -> bool:
    """Return whether ranks add for themselves, which only transfers show."""
    return plan.model == "chunks" and any(one.one_shot for one in plan.flows)


def list_relays(plan: Plan) -> IntArray:
    """Return the switches that add or copy, ascending."""
    if plan.model != "chunks":
        return np.zeros(0, dtype=np.int64)
    return np.unique(np.concatenate([find_relays(one) for one in plan.flows]))


def block_amounts(plan: Plan) -> tuple[int, ...] | None:
    """Return the pieces of every block, where these differ in size."""
    flow = plan.flows[0]
    if flow.model != "chunks" or flow.sizes is None or flow.rate is not None:
        return None
    return tuple(flow.sizes[flow.collective.blocks(flow.members, flow.nodes)].tolist())


def list_rounds(plan: Plan, parts: int = 1) -> Flow:
    """Return the sends between nodes in steps.

    ``parts`` are chunks of what each pipeline carries. Sends of pipelines and routed ones are on the graph of their
    ends. What is wrong with the plan stays wrong.
    """
    if plan.model == "chunks":
        if adds_at_ranks(plan):
            raise InfeasibleError(NO_ROUNDS)
        if block_amounts(plan) is not None:
            raise InfeasibleError(
                "blocks differ in size here, and rounds and programs of this target have blocks of one size: compile "
                "with --target chakra, jax or mscclpp, run the plan, or simulate it"
            )
        return unroll(plan.flow, parts)
    if plan.collective.several:
        raise InfeasibleError("several collectives at the same time have no steps in common")
    if plan.model == "clock":
        return list_steps(plan.flow)
    rounds = unfold_steps(plan.flow)
    return rounds if plan.flow.routes is None else rounds.having(place=graph_of(plan.topology, rounds.src, rounds.dst))


def list_rank_rounds(plan: Plan, parts: int = 1, *, padded: bool = False) -> Flow:
    """Return :func:`list_rounds` with nodes numbered as ranks.

    ``padded``: blocks that differ in size are the first units of blocks as large as the largest, not refused.
    """
    if padded and block_amounts(plan) is not None:
        return ranks_of(unroll(plan.flow))
    return ranks_of(list_rounds(plan, parts))


def list_transfers(plan: Plan, parts: int = 1) -> tuple[Transfers, ...]:
    """Return what ranks send, by its collectives; for compilers and ``run``.

    Blocks of different sizes are in units of their own.
    """
    if plan.model != "chunks" and parts != 1:
        raise ScheduleError(f"parts that follow one another are of trees and paths, not of {plan.kind}; omit them")
    if plan.model == "clock":
        whole = plan.size or Fraction(1)
        return tuple(transfers_of_flow(one, one.timing.size / whole) for one in plan.flows)
    if plan.model == "steps":
        return (transfers_of_flow(list_rounds(plan)),)
    if len(relays := list_relays(plan)):
        raise InfeasibleError(
            f"switch {plan.fabric.names[int(relays[0])]} adds or copies in these trees, and a switch is not a rank; "
            "schedule without in-network trees, one-shot and two-level with --set by-ranks=yes"
        )
    if adds_at_ranks(plan) and plan.collective.group is None:
        if parts > 1:
            raise ParameterError("a one-shot allreduce has no parts that follow one another; omit parts")
        return (add_up([replace(unfold_pieces(one), sizes=None) for one in plan.flows]),)
    amounts = block_amounts(plan)
    if amounts is None:
        return (transfers_of_flow(list_rounds(plan, parts)),)
    found = transfers_of_flow(unroll(plan.flow, parts))
    units = np.array(amounts, dtype=np.int64)[found.block] * (plan.flow.units * parts)
    if int(units.max(initial=0)) > _OWN_UNITS:
        raise TooLargeError("blocks are cut into too many units to be run; round the traffic")
    lo, hi = ((column.astype(object) * _OWN_UNITS // units).astype(np.int64) for column in (found.lo, found.hi))
    return (replace(found, units=_OWN_UNITS, lo=lo, hi=hi, amounts=amounts),)


def list_ways(plan: Plan) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the vertices behind each send of ``list_rounds``, by its ends.

    Of several routes that of the largest weight, and the first of equal ones.
    """
    flow = plan.flow
    routes = routes_of(unfold_pieces(flow)) if flow.model == "chunks" else flow.routes
    if routes is None or flow.model == "clock":
        return {}
    hops, best = routes.hop.tolist(), dict[tuple[int, int], tuple[int, tuple[int, ...]]]()
    weights = [0] * len(routes.send) if flow.rate is None else routes.weight.tolist()
    for weight, (start, end) in zip(weights, pairwise(routes.hop_start.tolist()), strict=True):
        ends = hops[start], hops[end - 1]
        if ends not in best or weight > best[ends][0]:
            best[ends] = weight, tuple(hops[start:end])
    return {ends: way for ends, (_, way) in best.items()}


def relabel_plan(plan: Plan, order: IntArray) -> Plan:
    """Return the plan with node v called ``order[v]``."""
    flow = plan.flows[0]
    if plan.model == "clock" or len(plan.flows) > 1 or (plan.model == "chunks" and flow.rate is None):
        raise InfeasibleError(f"a plan in {plan.kind} has no image under {len(order)} names")
    if plan.model == "chunks":
        return replace(plan, movement=relabel(unfold_pieces(flow), order, plan.place))
    if flow.circuits is None:
        return replace(plan, movement=relabel(flow, order, plan.place))
    union = flow.circuits._replace(src=order[flow.circuits.src], dst=order[flow.circuits.dst]).union(flow.nodes)
    return replace(plan, place=union, movement=relabel(flow, order, union), spec=None)


def split_groups(plan: Plan) -> Iterator[Plan]:
    """Yield the plan of each group alone, with the switches it uses and nodes numbered from 0."""
    if plan.model == "chunks" and len(plan.flows) == 1 and plan.flow.rate is not None:
        yield from _split_trees(plan)
        return
    if plan.model == "chunks" or (plan.model == "clock" and plan.topology.switches):
        raise InfeasibleError(
            f"only rounds, trees and timed sends without switches are compiled in groups, not {plan.kind}"
        )
    circuits = plan.flows[0].circuits
    for one, rounds in zip(plan.collective.single, apart(list_rounds(plan)), strict=True):
        if circuits is None:
            yield Plan(rounds.topology, rounds, flow_claim(rounds), generator=plan.generator)
            continue
        own = _circuits_of(circuits, plan.topology.nodes, one.group or ())
        union = own.union(len(one.group or ()))
        moved = rounds.having(place=union, circuits=own)
        yield Plan(union, moved, flow_claim(moved), generator=plan.generator)


def _circuits_of(circuits: Circuits, nodes: int, members: Sequence[int]) -> Circuits:
    """Return the circuits among members, which are numbered from 0."""
    number = np.full(nodes, -1)
    number[list(members)] = np.arange(len(members))
    src, dst = number[circuits.src], number[circuits.dst]
    mine = (src >= 0) & (dst >= 0)
    ports = {name: getattr(circuits, name)[mine] for name in ("phase", "src_port", "dst_port")}
    return circuits._replace(src=src[mine], dst=dst[mine], **ports)


def _own_shards(flow: Flow, trees: Flow, members: Sequence[int]) -> tuple[int, ...] | None:
    """Return the shard sizes of a group's trees, None if they are equal."""
    own: list[int] = []
    shards = list_shards(flow)
    if shards is not None:
        sizes = np.asarray(flow.sizes)
        own = sizes[list(members)].tolist()
    elif flow.free and set(members).issuperset(np.concatenate((trees.block, trees.src, trees.dst)).tolist()):
        # Where a switch adds for another group, a share is what a root's trees carry here, too.
        inward = slice(count_adding(trees))
        weights = np.zeros(flow.nodes, dtype=np.int64)
        np.add.at(weights, trees.block[inward], np.asarray(trees.weight)[inward])
        own = weights[list(members)].tolist()
    return tuple(own) if any(own) else None


def _split_trees(plan: Plan) -> Iterator[Plan]:
    """Yield the trees of each group on its part of the fabric."""
    whole, flow = plan.fabric, sort_sends(unfold_pieces(plan.flow))
    if flow.collective.group is None and not flow.collective.several:
        yield replace(plan, movement=flow, claim=flow_claim(flow))
        return
    team = find_teams(flow)
    for number, one in enumerate(flow.collective.single):
        members, names = one.group or (), [whole.names[node] for node in one.group or ()]
        mine = team == number
        trees = take_sends(flow, np.flatnonzero(mine), np.flatnonzero(mine[flow.piece]))
        routes = routes_of(trees)
        passed = [node for node in np.unique(routes.hop).tolist() if node not in whole.topology.switches.union(members)]
        if passed:
            raise InfeasibleError(
                f"node {whole.names[passed[0]]} passes on data of group {number}, of which it is no "
                "member, and a program is run by members alone; make the schedule with --no-forward"
            )
        part = whole.only(names, forward=False)
        place = {name: at for at, name in enumerate(part.names)}
        order = np.array([place.get(name, -1) for name in whole.names], dtype=np.int64)
        alone = replace(one, group=None)
        moved = build_trees(
            part,
            alone if one.root is None else alone.at(int(order[one.root])),
            (order[trees.block], np.asarray(trees.weight)),
            (trees.piece.astype(np.int64), order[trees.src], order[trees.dst]),
            routes._replace(hop=order[routes.hop]),
            # the same in units of the part, which may be larger
            rate=(trees.rate or Fraction(1)) * whole.unit / part.unit,
            reduce_trees=count_adding(trees),
            shard=_own_shards(flow, trees, members),
            concurrent=flow.concurrent,
        )
        yield Plan(part, moved, flow_claim(moved) if len(moved.block) else {}, generator=plan.generator)
