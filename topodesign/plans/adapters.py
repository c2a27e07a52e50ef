"""Flows of plans in the kinds of movement that there are beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import gcd, lcm
from types import MappingProxyType
from typing import Any

import numpy as np

from topodesign.base.arrays import earlier, ranges
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import Flow, Flows, Routes
from topodesign.plans.flow_ops import flow_of_rounds
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray, Topology

_LARGEST = 2**62  # units; twice as many still fit into 64 bits


def flows_of(plan: Plan) -> tuple[Flow, ...]:
    """Return what moves in a plan.

    Returns
    -------
    tuple of Flow
        One; of stages one for each, in their order; of several collectives at the same time one for each.

    Examples
    --------
    >>> from topodesign import schedule
    >>> flows_of(schedule("biring(2,4)", "allgather"))
    (<Flow allgather in steps, 16 pieces, 16 sends>,)
    """
    moved = plan.movement
    if isinstance(moved, Flow | Flows):
        each = moved.each if isinstance(moved, Flows) else (moved,)
        return tuple(one if one.place is plan.place else replace(one, place=plan.place) for one in each)
    if plan.kind not in _ADAPTERS:  # a kind of another package, which knows its rounds
        return (flow_of_rounds(plan.place, kind_of(plan).in_rounds()[1]),)
    found = _ADAPTERS[plan.kind](plan, moved)
    return found if isinstance(found, tuple) else (found,)


def flow_of(plan: Plan) -> Flow:
    """Return what moves in a plan of one flow; raises InfeasibleError if it has several."""
    found = flows_of(plan)
    if len(found) > 1:
        raise InfeasibleError(f"a plan in {plan.kind} is {len(found)} flows")
    return found[0]


def flow_of_trees(place: Topology | Fabric, trees: Trees, fold: Any = None) -> Flow:
    """Return trees as a flow in chunks: every tree is a piece, and its edges are the sends of it.

    The units of a block are given to the trees of its root in their order, in proportion to their weights: a unit of
    weight stands for as many units as there are in the data of all over the weight of all trees of its phase. So the
    trees of a root with more than its share go beyond its block.
    """
    collective, topology = trees.collective, trees.topology
    phase = (np.arange(len(trees)) >= trees.reduce_trees).astype(np.int64)
    sizes = _sizes_of(trees)
    team = trees.team
    times = np.ones(len(trees), dtype=np.int64)
    if fold is not None:
        known = fold.represented_by
        times = np.bincount(known[known >= 0], minlength=topology.nodes)[trees.root]
    groups = collective.single
    weights = np.zeros((2, len(groups)), dtype=np.int64)
    np.add.at(weights, (phase, team), trees.weight * times)
    whole = np.ones(len(groups), dtype=np.int64)  # units of size one that the data of every group are
    if not collective.rooted:
        owner = collective.teams(topology.nodes, topology.switches)
        owner[trees.root] = team
        own = np.ones(topology.nodes, dtype=np.int64) if sizes is None else sizes
        member = owner >= 0
        if sizes is None:
            member[list(topology.switches)] = False
        np.add.at(whole, owner[member], own[member])
        whole -= 1
    wholes: list[int] = whole.tolist()
    cuts = {
        weight // gcd(weight, parts)
        for row in weights.tolist()
        for weight, parts in zip(row, wholes, strict=True)
        if weight and parts
    }
    units = lcm(*cuts)
    if units * max(wholes) * 2 >= _LARGEST:
        raise TooLargeError("the weights of trees have so few divisors in common that units do not fit into 64 bits")
    scale = np.zeros_like(weights)
    for at, each in enumerate(weights.tolist()):
        pairs = zip(each, wholes, strict=True)
        scale[at] = [units * parts // weight if weight else 0 for weight, parts in pairs]
    width = np.maximum(trees.weight * scale[phase, team], 1)
    lo = earlier(trees.root + phase * topology.nodes, width)
    first = np.searchsorted(trees.tree, np.arange(len(trees) + 1))
    turn = np.arange(len(trees.tree)) - first[trees.tree]
    out = phase[trees.tree]
    late = (int(turn.max(initial=0)) + 1) * (0 if trees.one_shot else 1)
    start = turn + out * late
    return Flow(
        collective,
        place,
        "chunks",
        units,
        trees.root,
        lo,
        lo + width,
        trees.tree,
        trees.src,
        trees.dst,
        start,
        start + 1,
        out * (0 if trees.one_shot else len(collective.movements) - 1),
        weight=trees.weight,
        rate=trees.rate,
        concurrent=trees.concurrent,
        one_shot=trees.one_shot,
        sizes=sizes,
        free=sizes is not None and trees.shard is None,
        routes=Routes(trees.route_edge, trees.route_weight, trees.hop_start, trees.hop),
        fold=fold,
    )


def _sizes_of(trees: Trees) -> IntArray | None:
    """Return the sizes of blocks where they differ, or where switches own some; None where all are alike."""
    sizes = np.zeros(trees.topology.nodes, dtype=np.int64)
    if trees.shard is not None:
        if len(set(trees.shard)) == 1 and trees.collective.group is None:
            return None
        sizes[trees.owners] = trees.shard
        if trees.collective.group is not None:
            sizes[np.setdiff1d(np.arange(len(sizes)), trees.compute_nodes)] = 0
        return sizes
    if trees.concurrent and len(trees.relays):  # a share is then what the trees of a root carry
        inward = slice(trees.reduce_trees)
        np.add.at(sizes, trees.root[inward], trees.weight[inward])
        return sizes
    return None


def _of_trees(plan: Plan, trees: Any) -> Flow:
    return flow_of_trees(plan.fabric, trees)


def _of_orbit_trees(plan: Plan, trees: Any) -> Flow:
    return flow_of_trees(plan.fabric, trees.own, trees.symmetry)


def _of_paths(plan: Plan, paths: Any) -> Flow:
    return flow_of_paths(plan.fabric, paths)


def flow_of_paths(place: Topology | Fabric, paths: Any) -> Flow:
    """Return paths: each is a piece, which goes from node to node; switches are on the routes of its sends."""
    topology = paths.topology
    owner, ends = paths.path_of, np.ones(topology.nodes, dtype=np.bool_)
    ends[list(topology.switches)] = False
    stops = ends[paths.hop]
    stops[paths.hop_start[:-1]] = stops[paths.hop_start[1:] - 1] = True
    at = np.flatnonzero(stops)
    same = owner[at][1:] == owner[at][:-1]
    first, last = at[:-1][same], at[1:][same]
    piece = owner[first]
    start = np.arange(len(piece)) - np.searchsorted(piece, piece)
    length = last - first + 1
    _, hops = ranges(first, length)
    sizes = None
    if paths.amounts is not None:
        sizes = np.zeros(paths.collective.block_count(topology.nodes), dtype=np.int64)
        nodes = paths.collective.members(topology.nodes, topology.switches)
        sizes[paths.collective.blocks(nodes, topology.nodes)] = paths.amounts
    before = earlier(paths.block, paths.weight)
    members = len(paths.collective.members(topology.nodes, topology.switches))
    weight = paths.weight * paths.collective.shares(paths.block, topology.nodes, members)[0]
    routes = Routes(np.arange(len(piece)), weight[piece], np.concatenate(([0], np.cumsum(length))), paths.hop[hops])
    sends = piece, paths.hop[first], paths.hop[last], start, start + 1, np.zeros(len(piece), dtype=np.int8)
    return Flow(
        paths.collective,
        place,
        "chunks",
        paths.units,
        paths.block,
        before,
        before + paths.weight,
        *sends,
        weight=weight,
        sizes=sizes,
        routes=routes,
    )


def _of_stages(plan: Plan, stages: Any) -> tuple[Flow, ...]:
    return tuple(flow_of_trees(plan.fabric, trees) for trees in stages.each)


_ADAPTERS: MappingProxyType[str, Callable[[Plan, Any], Flow | tuple[Flow, ...]]] = MappingProxyType(
    {
        "trees": _of_trees,
        "orbittrees": _of_orbit_trees,
        "paths": _of_paths,
        "stages": _of_stages,
    }
)
