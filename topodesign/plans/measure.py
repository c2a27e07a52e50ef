"""Costs of plans from their columns; the verifier has its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import stable_order
from topodesign.base.cost import Cost
from topodesign.base.errors import ScheduleError
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.plans.chunk_ops import count_shards, find_height, find_unit_time, sum_weights
from topodesign.plans.flow import Flow
from topodesign.plans.stages import list_shares
from topodesign.plans.step_ops import unfold_steps
from topodesign.topology.topology import IntArray, Topology

_DENSE = 2**24  # pairs of a step and a link whose loads are counted in a table


class Loads(NamedTuple):
    """What links carry in each step, of those that carry something."""

    step: IntArray  # from 1, ascending
    link: IntArray  # of the topology; of folded flows the first of its orbit
    units: IntArray  # units of ``whole_units``; Python integers where they do not fit into 64 bits
    capacity: IntArray  # of the link in that step

    def steps(self) -> list[tuple[int, int, int]]:
        """Return the steps with messages: (step, first, last + 1)."""
        begin = np.flatnonzero(np.diff(self.step, prepend=0)).tolist()
        return list(zip(self.step[begin].tolist(), begin, [*begin, len(self.step)][1:], strict=True))

    def fullest(self) -> dict[int, Fraction]:
        """Return what the fullest link carries per capacity, by step."""
        worst: dict[int, Fraction] = {}
        for wide in np.unique(self.capacity).tolist():
            alike = self.capacity == wide
            step = self.step[alike]
            begin = np.flatnonzero(np.diff(step, prepend=0))
            largest = np.maximum.reduceat(self.units[alike], begin)
            for at, units in zip(step[begin].tolist(), largest.tolist(), strict=True):
                worst[at] = max(worst.get(at, Fraction(0)), Fraction(units, wide))
        return worst


def find_step_loads(flow: Flow) -> Loads:
    """Return what links carry in each step of a flow in steps, over routes and circuits.

    Images of a fold are added up by orbits of links, of which each link carries the same if the symmetry is free.
    """
    topology, circuits = flow.topology, flow.circuits
    send, link = flow.find_links()
    wrong = send[link < 0]
    if len(wrong):
        row = wrong[0]
        raise ScheduleError(f"step {flow.step[row]} sends over {flow.src[row]}->{flow.dst[row]}, which is not a link")
    if flow.fold is not None:
        flow.fold.check(topology)
        link = flow.fold.link_orbits(topology)[link]
    share = flow.share_of(flow.block)
    amount, links = ((flow.hi - flow.lo) * share)[flow.piece[send]], max(1, len(topology.src))
    key = flow.start[send].astype(np.int64) * links + link
    if flow.units * int(share.max(initial=1)) * max(1, len(link)) >= 2**62:
        most = int(np.unique(key, return_counts=True)[1].max())
        amount = amount.astype(object) if most * int(amount.max()) >= 2**62 else amount
    number = (int(flow.end.max(initial=0)) + 1) * links
    if number <= _DENSE and amount.dtype != object:
        table = np.zeros(number, dtype=np.int64)
        np.add.at(table, key, amount)
        found = np.flatnonzero(table)
        units = table[found]
    else:
        order = stable_order(key)
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        found, units = key[first], np.add.reduceat(amount[order], first) if len(first) else amount
    step, link = np.divmod(found, links)
    if circuits is None:
        return Loads(step + 1, link, units, topology.capacity[link])
    phase, capacity = circuits.phase_of(step + 1), np.zeros(len(step), dtype=np.int64)
    for number in range(len(circuits.begin)):
        here = np.flatnonzero(phase == number)
        graph, ends = circuits.links(number, flow.nodes), (topology.src[link[here]], topology.dst[link[here]])
        own = graph.link_index(*ends)
        if np.any(own < 0):
            row = int(np.argmin(own))
            where = f"{ends[0][row]}->{ends[1][row]}"
            raise ScheduleError(f"step {step[here[row]] + 1} sends over {where}, which is not a link then")
        capacity[here] = graph.capacity[own]
    return Loads(step + 1, link, units, capacity)


def cost_of(topology: Topology, schedule: Flow) -> Cost:
    """Return steps and y = (d/n) * sum over steps of the largest load.

    Units over units per shard times capacity.

    n is the number of blocks that the data is cut into: one for every member, or one for broadcast and reduce. Where
    several groups differ in it, units of each count as what they are.
    """
    flow = schedule if schedule.place is topology else schedule.having(place=topology)
    total = sum(find_step_loads(flow).fullest().values(), Fraction(0))
    return Cost(flow.steps, topology.degree * total / flow.whole_units)


class StepCosts(NamedTuple):
    """What each step of a flow costs."""

    factors: list[Fraction]  # what it adds to the bandwidth factor y
    longest: list[int]  # links of its longest route


def step_costs(flow: Flow) -> StepCosts:
    """Return the cost of each step over routes and circuits."""
    fullest = find_step_loads(flow).fullest()
    ports = flow.topology.degree if flow.circuits is None else flow.circuits.ports
    longest = np.zeros(flow.steps, dtype=np.int64)
    if flow.routes is not None:
        np.maximum.at(longest, flow.start[flow.routes.send], flow.routes.lengths)
    factors = [ports * fullest.get(at, Fraction(0)) / flow.whole_units for at in range(1, flow.steps + 1)]
    return StepCosts(factors, longest.tolist())


def flow_claim(flow: Flow) -> dict[str, Fraction]:
    """Return the claim of a step or chunk flow.

    Folded steps need no images if the symmetry is free.
    """
    if flow.model == "chunks":
        return chunk_claim(flow)
    if flow.routes is None and flow.circuits is None:
        free = flow.fold is None or flow.fold.is_free
        return cost_claim(cost_of(flow.topology, flow if free else unfold_steps(flow)))
    costs, found = step_costs(flow), {"steps": Fraction(flow.steps)}
    if flow.routes is not None:
        found["hops"] = Fraction(sum(costs.longest))
    found["bandwidth"] = sum(costs.factors, Fraction(0))
    if flow.circuits is not None:
        found["changes"] = Fraction(flow.circuits.changes)
    return found


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
