"""Costs of plans from their columns; the verifier has its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import ScheduleError
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.plans.chunk_ops import count_shards, find_height, find_unit_time, sum_weights
from topodesign.plans.flow import Column, Flow, Flows
from topodesign.plans.plan import Plan
from topodesign.plans.stages import list_shares
from topodesign.plans.step_ops import find_links, gather, unfold_steps
from topodesign.topology.topology import IntArray, Topology


def cost_of(topology: Topology, schedule: Flow) -> Cost:
    """Return steps and y = (d/n) * sum over steps of the largest load.

    Units over units per shard times capacity.

    n is the number of blocks that the data is cut into: one for every member, or one for broadcast and reduce. Where
    several groups differ in it, units of each count as what they are.
    """
    link = find_links(topology, schedule)
    if not len(link):
        return Cost(schedule.steps, Fraction(0))
    members = schedule.collective.members(topology.nodes, topology.switches)
    share, shards = schedule.collective.shares(schedule.block, topology.nodes, len(members))
    worst = _find_fullest(schedule.step, link, schedule.hi - schedule.lo, share, topology.capacity)
    total = sum(worst.values(), Fraction(0))
    return Cost(schedule.steps, Fraction(topology.degree, shards) * total / schedule.units)


def _find_fullest(
    step: Column, link: IntArray, width: IntArray, share: IntArray, capacity: IntArray
) -> dict[int, Fraction]:
    """Return what the fullest link carries per capacity, of ``width * share`` a row, by step."""
    place = step.astype(np.int64) * len(capacity) + link
    order = np.argsort(place, kind="stable")
    place, width = place[order], width[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    most_rows = int(np.diff(first, append=len(place)).max(initial=0))
    if most_rows * int(width.max(initial=0)) * int(share.max(initial=0)) >= 2**62:
        width = width.astype(object)  # Python integers: slower, and of any size
    load = np.add.reduceat(width * share[order], first)
    step, link = np.divmod(place[first], len(capacity))
    worst: dict[int, Fraction] = {}
    for wide in np.unique(capacity[link]).tolist():
        alike = capacity[link] == wide
        begin = np.flatnonzero(np.diff(step[alike], prepend=-1))
        largest = np.maximum.reduceat(load[alike], begin)
        for at, units in zip(step[alike][begin].tolist(), largest.tolist(), strict=True):
            worst[at] = max(worst.get(at, Fraction(0)), Fraction(units, wide))
    return worst


class StepCosts(NamedTuple):
    """What each step of a flow costs."""

    factors: list[Fraction]  # what it adds to the bandwidth factor y
    longest: list[int]  # links of its longest route

    def claim(self, flow: Flow) -> dict[str, Fraction]:
        """Return the claim of a flow that has these costs."""
        found = {"steps": Fraction(flow.steps)}
        if flow.routes is not None:
            found["hops"] = Fraction(sum(self.longest))
        found["bandwidth"] = sum(self.factors, Fraction(0))
        if flow.circuits is not None:
            found["changes"] = Fraction(flow.circuits.changes)
        return found


def step_costs(flow: Flow) -> StepCosts:
    """Return the cost of each step over routes and circuits."""
    send, src, dst = flow.hops()
    step, piece = flow.start[send].astype(np.int64), flow.piece[send]
    width, share = (flow.hi - flow.lo)[piece], flow.share_of(flow.block)[piece]
    circuits = flow.circuits
    phase = np.zeros(len(send), dtype=np.int64) if circuits is None else circuits.phase_of(step + 1)
    graphs = (
        [flow.topology] if circuits is None else [circuits.links(at, flow.nodes) for at in range(len(circuits.begin))]
    )
    fullest = dict[int, Fraction]()
    for number, graph in enumerate(graphs):
        here = np.flatnonzero(phase == number)
        link = graph.link_index(src[here], dst[here])
        wrong = np.flatnonzero((link < 0) | (src[here] == dst[here]))
        if len(wrong):
            at = here[wrong[0]]
            raise ScheduleError(f"step {step[at] + 1} sends over {src[at]}->{dst[at]}, where there is no link")
        if len(here):
            fullest |= _find_fullest(step[here], link, width[here], share[here], graph.capacity)
    ports = flow.topology.degree if circuits is None else circuits.ports
    longest = np.zeros(flow.steps, dtype=np.int64)
    if flow.routes is not None:
        np.maximum.at(longest, flow.start[flow.routes.send], flow.routes.lengths)
    factors = [ports * fullest.get(at, Fraction(0)) / flow.whole_units for at in range(flow.steps)]
    return StepCosts(factors, longest.tolist())


def compute_claim(plan: Plan) -> dict[str, Fraction]:
    """Return the cost of a plan from its columns, by the names of a claim."""
    flows = plan.flows
    if plan.model == "clock":
        each = {f"time_{number}": one.time for number, one in enumerate(flows)} if plan.collective.several else {}
        return {"time": max(one.time for one in flows), **each}
    return stages_claim(flows) if isinstance(plan.movement, Flows) else flow_claim(flows[0])


def flow_claim(flow: Flow) -> dict[str, Fraction]:
    """Return the claim of a step or chunk flow.

    Folded steps need no images if the symmetry is free.
    """
    if flow.model == "chunks":
        return chunk_claim(flow)
    if flow.routes is not None or flow.circuits is not None:
        return step_costs(flow).claim(flow)
    free = flow.fold is not None and flow.fold.is_free
    return cost_claim(cost_of(flow.topology, gather(flow) if free else unfold_steps(flow)))


def cost_claim(cost: Cost) -> dict[str, Fraction]:
    """Return the claim of rounds that have this cost."""
    return {"steps": Fraction(cost.steps), "bandwidth": cost.bandwidth}


def chunk_claim(flow: Flow) -> dict[str, Fraction]:
    """Return a chunk flow's claim: height, 1/x* and bandwidth.

    Of trees also ``k``, trees per root: per unit of shard size if these differ, of an allreduce in the phase with more.
    """
    if not len(flow.block):
        raise ScheduleError("the schedule has no trees")
    unit = (flow.place if isinstance(flow.place, Fabric) else Fabric.from_topology(flow.place, NODE_BANDWIDTH)).unit
    shards = Fraction(flow.collective.shards(len(flow.members)))
    time, trees = find_unit_time(flow), dict[str, Fraction]()  # of a byte, at one byte per second and capacity
    if flow.rate is not None:
        groups = max(1, sum(len(one) > 1 for one in flow.collective.groups or ()))
        trees = {"k": max(sum_weights(flow)) / groups / count_shards(flow)}
    height = Fraction(find_height(flow))
    return trees | {"height": height, "inv_x_star": shards * time / unit, "algorithmic_bandwidth": unit / time}


def stages_claim(stages: Sequence[Flow]) -> dict[str, Fraction]:
    """Return the claim of stages on a fabric: height and bandwidth."""
    claims = [chunk_claim(one) for one in stages]
    pairs = zip(claims, list_shares(stages), strict=True)
    time = sum((share / claim["algorithmic_bandwidth"] for claim, share in pairs), Fraction(0))
    return {"height": sum((one["height"] for one in claims), Fraction(0)), "algorithmic_bandwidth": 1 / time}


def per_root(flow: Flow) -> str:
    """Return how many trees every root has, in words."""
    k = chunk_claim(flow)["k"]
    unit = "" if flow.sizes is None or flow.free else " and unit of shard size"
    return f"{k} {'tree' if k == 1 else 'trees'} per root{unit}"
