"""What plans cost, added up from what moves; the verifier adds up for itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import ScheduleError
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.paths import Paths
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import find_links
from topodesign.plans.trees import Trees
from topodesign.topology.topology import Topology


def cost_of(topology: Topology, schedule: Rounds) -> Cost:
    """Return steps and bandwidth factor: y = (d/n) * sum over steps of the largest units / (units * capacity).

    n is the number of blocks that the data is cut into: one for every member, or one for broadcast and reduce. Where
    several groups differ in it, units of each count as what they are.
    """
    link = find_links(topology, schedule)
    if not len(link):
        return Cost(schedule.steps, Fraction(0))
    place = schedule.step.astype(np.int64) * len(topology.src) + link
    order = np.argsort(place, kind="stable")
    members = schedule.collective.members(topology.nodes, topology.switches)
    share, shards = schedule.collective.shares(schedule.block, topology.nodes, len(members))
    place, width = place[order], (schedule.hi - schedule.lo)[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    most_rows = int(np.diff(first, append=len(place)).max())
    if most_rows * int(width.max()) * int(share.max()) >= 2**62:
        width = width.astype(object)  # Python integers: slower, and of any size
    width = width * share[order]
    load = np.add.reduceat(width, first)
    step, link = np.divmod(place[first], len(topology.src))
    worst: dict[int, Fraction] = {}
    for capacity in np.unique(topology.capacity[link]).tolist():
        alike = topology.capacity[link] == capacity
        begin = np.flatnonzero(np.diff(step[alike], prepend=-1))
        largest = np.maximum.reduceat(load[alike], begin)
        for at, units in zip(step[alike][begin].tolist(), largest.tolist(), strict=True):
            worst[at] = max(worst.get(at, Fraction(0)), Fraction(units, capacity))
    total = sum(worst.values(), Fraction(0))
    return Cost(schedule.steps, Fraction(topology.degree, shards) * total / schedule.units)


def cost_claim(cost: Cost) -> dict[str, Fraction]:
    """Return the claim of rounds that have this cost."""
    return {"steps": Fraction(cost.steps), "bandwidth": cost.bandwidth}


@dataclass(frozen=True)
class TreeFigures:
    """What trees reach on their fabric."""

    # trees per root, and per unit of shard size where those differ, of capacity ``rate`` each; of an allreduce in the
    # phase with more of them
    k: Fraction
    height: int  # tree edges on the longest way between a root and a node, as :attr:`Trees.height`
    # 1/x*: seconds per byte of a shard, of the mean one where they differ (of the whole data for broadcast and
    # reduce)
    inverse_rate: Fraction
    bandwidth: Fraction  # algorithmic bandwidth: bytes of the whole data per second

    def claim(self) -> dict[str, Fraction]:
        """Return the claim of trees that reach this."""
        return {
            "k": self.k,
            "height": Fraction(self.height),
            "inv_x_star": self.inverse_rate,
            "algorithmic_bandwidth": self.bandwidth,
        }


def tree_figures(fabric: Fabric, schedule: Trees | OrbitTrees) -> TreeFigures:
    """Return what valid trees reach."""
    own, times = schedule.own, schedule.images
    if not len(own):
        raise ScheduleError("the schedule has no trees")
    owners, shards = own.collective.shards(len(own.compute_nodes)), own.shards
    bandwidth = shards * fabric.unit * times / own.inverse_rate
    return TreeFigures(times * max(own.phase_weights) / shards, own.height, owners / bandwidth, bandwidth)


def per_root(fabric: Fabric, schedule: Trees | OrbitTrees) -> str:
    """Return how many trees every root has, in words."""
    k = tree_figures(fabric, schedule).k
    unit = "" if schedule.own.shard is None else " and unit of shard size"
    return f"{k} {'tree' if k == 1 else 'trees'} per root{unit}"


def path_time(fabric: Fabric, paths: Paths) -> Fraction:
    """Return 1/x of paths in units of one over the fabric's: of its fullest link, or limit that links share.

    As :attr:`topodesign.plans.paths.Paths.inverse_rate`, which knows of links alone.
    """
    loads: list[int] = paths.loads.tolist()
    shared = (
        sum(loads[link] for link in links) * fabric.unit / limit.bandwidth / paths.block_units
        for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
    )
    return max([paths.inverse_rate, *shared])


def path_claim(fabric: Fabric, paths: Paths) -> dict[str, Fraction]:
    """Return the claim of paths on their fabric: height, 1/x* in seconds per byte of a shard, algorithmic bandwidth."""
    members = paths.collective.members(fabric.topology.nodes, fabric.topology.switches)
    inverse = path_time(fabric, paths) / fabric.unit
    return {
        "height": Fraction(paths.height),
        "inv_x_star": inverse,
        "algorithmic_bandwidth": paths.collective.shards(len(members)) / inverse,
    }
