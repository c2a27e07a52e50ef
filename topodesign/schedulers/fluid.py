"""Plans over paths of any fabric for what is neither copied nor added up, as fast as any for large sizes.

The fastest flow, of those the one over the fewest links, is taken apart into paths, source by source.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.collectives import GATHER, Collective
from topodesign.expand.places import named_preset
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import part_of
from topodesign.plans.measure import path_claim
from topodesign.plans.paths import MAX_WEIGHT, Paths
from topodesign.plans.plan import Plan
from topodesign.pricing.flows.demands import DemandFlow
from topodesign.pricing.flows.flow_optimum import FLOWS, best_flow
from topodesign.pricing.flows.paths import taken_apart
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    """Return the plan."""
    fabric, collective, inside = _asked(request)
    flow = best_flow(fabric, collective, dict.fromkeys(fabric.classes, Fraction(1)), inside=inside)
    movement = _paths(fabric, collective, flow)
    spec = None if request.only or request.without else named_preset(request.place)
    claim, made = path_claim(fabric, movement), {"method": "fluid", "root": request.root_name}
    return [Plan(fabric, movement, claim, spec, made)]


def _asked(request: Request) -> tuple[Fabric, Collective, bool]:
    """Return the fabric, the collective with root and groups, and whether other nodes pass nothing on.

    Nodes that take no part are gone, or switches. Of several groups each has the others' nodes in the same fabric.
    """
    if request.group in {"", ()} and request.collective.group is None:
        root = None if request.root_name is None else request.fabric.number(request.root_name)
        if root is not None and root not in request.fabric.compute:
            raise ParameterError(f"the root '{request.root_name}' is a switch")
        return request.fabric, request.collective.at(root), False
    whole, fabric = request.whole, part_of(request.whole, without=request.without)
    groups, roots = zip(*((one.group or (), one.root) for one in request.among.single), strict=True)
    number = [[fabric.number(whole.names[node]) for node in group] for group in groups]
    chosen = [fabric.number(whole.names[root]) for root in roots if root is not None] or None
    return fabric, request.collective.within(number, chosen), request.others == "vanish"


def _paths(fabric: Fabric, collective: Collective, flow: DemandFlow) -> Paths:
    """Return the paths of a flow.

    Raises
    ------
    TooLargeError
        If it cuts blocks into too many parts.
    """
    nodes, turned = fabric.topology.nodes, collective.like(GATHER)
    members = collective.members(nodes, fabric.topology.switches)
    blocks = collective.blocks(members, nodes)
    starts, goals = collective.places(collective.movements[0], blocks, nodes)
    shares, _ = collective.shares(blocks, nodes, len(members))
    amounts, whole = flow.flows()
    many = int(np.lcm.reduce(shares))  # so that a unit of every block is a whole number of units of the flow
    wanted: dict[int, dict[int, int]] = {int(source): {} for source in flow.sources}
    block_of: dict[tuple[int, int], tuple[int, int]] = {}
    for start, goal, block, share in zip(*(c.tolist() for c in (starts, goals, blocks, shares)), strict=True):
        if start != goal:
            ends = (goal, start) if turned else (start, goal)
            wanted[ends[0]][ends[1]] = whole * share
            block_of[ends] = block, many // share
    rows: list[tuple[int, int]] = []
    hops: list[tuple[int, ...]] = []
    for source, row in zip(flow.sources.tolist(), amounts, strict=True):
        for goal, paths in taken_apart(flow.topology, source, row.tolist(), wanted[source]).items():
            block, times = block_of[source, goal]
            rows += [(block, part * times) for _, part in paths]
            hops += [path[::-1] if turned else path for path, _ in paths]
    common = math.gcd(whole * many, *(weight for _, weight in rows))
    units = whole * many // common
    if units > MAX_WEIGHT:
        raise TooLargeError(f"the fastest flow cuts blocks into {units} parts (at most {MAX_WEIGHT}); round bandwidths")
    columns = (
        [block for block, _ in rows],
        [weight // common for _, weight in rows],
        list(itertools.accumulate(map(len, hops), initial=0)),
        list(itertools.chain.from_iterable(hops)),
    )
    return Paths(collective, fabric.topology, units, *(np.array(column, dtype=np.int64) for column in columns))


METHOD = Method(
    "fluid",
    frozenset({"root", "only", "without", "group"}),
    FLOWS,
    _make,
    movement="paths",
    fabrics=True,
)
