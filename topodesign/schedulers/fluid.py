"""Plans of optimal steady flows on any fabric, for large sizes.

For what is neither copied nor added up the fastest flow, of those the one over the fewest links, is taken apart into
paths, source by source. For the others trees of nodes are packed that are as fast together as there are. Limits that
links share are kept. In chunks that follow one another this takes as many steps as the longest
way has sends, and the chunks less one (Algorithmic Techniques for Optimal Collective Communication, theorem 4).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, GATHER, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.node_values import as_shards
from topodesign.fabrics.part import compute_node, select_part
from topodesign.optima.flows import FLOWS, best_flow, fabric_limits, naming_ends
from topodesign.optima.fluid.packing import packing
from topodesign.plans.build import build_paths
from topodesign.plans.chunk_ops import MAX_WEIGHT, TREE_COLLECTIVES
from topodesign.plans.flow import Flow
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.pricing.traffic_matrix import as_demand
from topodesign.schedulers.method import Method, Request, fabric_root, spec_of
from topodesign.solve.flows.program import DemandFlow, demand_flow


def _make(request: Request) -> list[Plan]:
    """Return the flow or tree plan of a request."""
    if request.collective.like(*TREE_COLLECTIVES):
        return _make_trees(request)
    fabric, collective, inside = _read_request(request)
    if request.shards is not None:
        return [_uneven(request, fabric, collective)]
    flow = best_flow(fabric, collective, dict.fromkeys(fabric.classes, Fraction(1)), inside=inside)
    movement = _paths(fabric, collective, flow, request.chunks)
    claim = flow_claim(movement)
    lost = claim["inv_x_star"] * fabric.unit / flow.time - 1
    note = f"{float(lost):.2%} more time than the optimum takes, with {movement.units} units per block"
    made = {"method": "fluid", "root": request.root_name, "lost": str(lost)}
    return [Plan(fabric, movement, claim, spec_of(request), made, (note,) if lost else ())]


def _uneven(request: Request, fabric: Fabric, collective: Collective) -> Plan:
    """Return the plan of a non-uniform all-to-all."""
    if not collective.like(ALL_TO_ALL) or collective.groups is not None or request.grouped or request.chunks:
        raise ParameterError(
            "--shards is for an all-to-all of all nodes, not in groups or with --set chunks=, and for trees"
        )
    demand = as_demand(request.shards, fabric).amounts
    sources = np.flatnonzero(demand.any(axis=1))
    with naming_ends(fabric):
        flow = demand_flow(fabric.topology, sources, demand[sources], limits=fabric_limits(fabric))
    paths, whole = flow.paths()
    common = math.gcd(whole, *(part for *_, part in paths))
    if max(part for *_, part in paths) // common > MAX_WEIGHT:
        raise TooLargeError("the fastest flow cuts pieces into too many parts; round the traffic")
    nodes = list(fabric.compute)
    pieces = tuple(demand[np.ix_(nodes, nodes)].ravel().tolist())
    rows = [(source * len(demand) + goal, part // common, hops) for source, goal, hops, part in paths]
    movement = build_paths(fabric, collective, whole // common, rows, pieces)
    claim = Claim.to_bound(Of.TIME, flow.time, Scope.FLOWS, flow.time)
    made = {"method": "fluid", "traffic": str(request.shards) if isinstance(request.shards, str | Path) else "a matrix"}
    words = f"uneven traffic, {sum(pieces)} pieces; {claim}"
    return Plan(fabric, movement, flow_claim(movement), spec_of(request), made, (words,))


def _make_trees(request: Request) -> list[Plan]:
    """Return the plan over trees, of all nodes or in groups."""
    progress, sizes = request.progress, None
    if request.shards is not None:
        if not request.collective.like(ALLGATHER, REDUCE_SCATTER) or request.grouped:
            raise ParameterError("--shards is for an allgather or a reduce-scatter of all nodes; remove it")
        sizes = as_shards(request.fabric, request.shards)
    if request.group not in {"", ()} or request.collective.group is not None:
        fabric, collective, _ = _read_request(request)
    else:
        root = None if request.root_name is None else compute_node(request.fabric, request.root_name)
        fabric, collective = request.fabric, request.collective.at(root)
    found = packing(
        fabric,
        collective,
        units=request.chunks,
        others=request.others,
        sizes=sizes,
        listener=None if progress is None else (lambda now: progress(float(1 - now.gap))),
    )
    lost = found.time / found.bound - 1
    made = {"method": "fluid", "root": request.root_name, "lost": str(lost)}
    notes = [str(found.claim)] if lost else []
    flow = replace(found.trees, place=fabric)
    return [Plan(fabric, flow, flow_claim(flow), spec_of(request), made, tuple(notes))]


def _read_request(request: Request) -> tuple[Fabric, Collective, bool]:
    """Return fabric, collective and whether other nodes forward nothing.

    Nodes that take no part are gone, or switches. Of several groups each has the others' nodes in the same fabric.
    """
    if request.group in {"", ()} and request.collective.group is None:
        return request.fabric, request.collective.at(fabric_root(request)), False
    whole, fabric = request.whole, select_part(request.whole, without=request.without)
    groups, roots = zip(*((one.group or (), one.root) for one in request.among.single), strict=True)
    number = [[fabric.number(whole.names[node]) for node in group] for group in groups]
    chosen = [fabric.number(whole.names[root]) for root in roots if root is not None] or None
    return fabric, request.collective.within(number, chosen), request.others == "vanish"


def _paths(fabric: Fabric, collective: Collective, flow: DemandFlow, chunks: int | None) -> Flow:
    """Return the paths of a flow in limited units per block."""
    nodes, turned = fabric.topology.nodes, collective.like(GATHER)
    members = collective.members(nodes, fabric.topology.switches)
    blocks = collective.blocks(members, nodes)
    starts, goals = collective.places(collective.movements[0], blocks, nodes)
    shares, _ = collective.shares(blocks, nodes, len(members))
    paths, whole = flow.paths()
    many = int(np.lcm.reduce(shares))  # so that a unit of every block is a whole number of units of the flow
    ends = zip(*((goals, starts) if turned else (starts, goals)), strict=True)
    block_of = dict(zip(ends, zip(blocks.tolist(), shares.tolist(), strict=True), strict=True))
    found: list[_Path] = []
    for source, goal, hops, part in paths:
        block, share = block_of[source, goal]
        found.append(_Path(block, share, part * many // share, hops[::-1] if turned else hops))
    units = whole * many
    common = math.gcd(units, *(path.weight for path in found))
    units, weights = units // common, [path.weight // common for path in found]
    if units > (chunks or MAX_WEIGHT):
        if chunks is None:
            raise TooLargeError(f"the fastest flow cuts blocks into {units} parts; say how many will do: --set chunks=")
        weights = _round_weights(fabric, found, [Fraction(weight * chunks, units) for weight in weights], chunks)
        units = chunks
    found = [path._replace(weight=weight) for path, weight in zip(found, weights, strict=True) if weight]
    return build_paths(fabric, collective, units, [(path.block, path.weight, path.hops) for path in found])


class _Path(NamedTuple):
    """Part of a block with its route."""

    block: int
    share: int
    weight: int
    hops: tuple[int, ...]


def _round_weights(fabric: Fabric, paths: list[_Path], wanted: list[Fraction], units: int) -> list[int]:
    """Round path weights to whole units per block, greedily.

    All paths get what they should have rounded down. What is left of a block goes unit by unit to the path of it whose
    fullest link, or limit that links share, is then the least full.
    """
    weights = [int(weight) for weight in wanted]
    limits: dict[tuple[int, int], list[int]] = {
        (u, v): [at] for at, (u, v, _) in enumerate(fabric.topology.links())
    }  # what a link counts for: itself, and those that it shares
    capacity: list[int | Fraction] = [*fabric.topology.capacity.tolist()]
    for limit in fabric.shared:
        for a, b in limit.links:
            limits[fabric.number(a), fabric.number(b)].append(len(capacity))
        capacity.append(limit.bandwidth / fabric.unit)
    over = [[at for ends in itertools.pairwise(path.hops) for at in limits[ends]] for path in paths]
    load = [0] * len(capacity)
    of_block: dict[int, list[int]] = {}
    for number, path in enumerate(paths):
        of_block.setdefault(path.block, []).append(number)
        for at in over[number]:
            load[at] += weights[number] * path.share

    def fullest(number: int) -> Fraction:
        return max(Fraction(load[at] + paths[number].share) / capacity[at] for at in over[number])

    for numbers in of_block.values():
        for _ in range(units - sum(weights[number] for number in numbers)):
            best = min(numbers, key=fullest)
            weights[best] += 1
            for at in over[best]:
                load[at] += paths[best].share
    return weights


OPTIONS = frozenset({"root", "only", "without", "group", "chunks", "shards"})
DONE = (*FLOWS, *TREE_COLLECTIVES)
METHOD = Method("fluid", OPTIONS, DONE, _make, movement="paths", fabrics=True, in_groups=DONE)
