"""What a schedule costs, added up from its rows (the verifier adds up for itself)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import find_links
from topodesign.topology.topology import Topology


def cost_of(topology: Topology, schedule: Rounds) -> Cost:
    """Return steps and bandwidth factor: y = (d/n) * sum over steps of the largest units / (units * capacity).

    Raises
    ------
    ScheduleError
        If the schedule is for another number of nodes, or a send is over a link that does not exist.
    """
    link = find_links(topology, schedule)
    if not len(link):
        return Cost(schedule.steps, Fraction(0))
    place = schedule.step.astype(np.int64) * len(topology.src) + link
    order = np.argsort(place, kind="stable")
    place, width = place[order], (schedule.hi - schedule.lo)[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    most_rows = int(np.diff(first, append=len(place)).max())
    if most_rows * int(width.max()) >= 2**62:
        width = width.astype(object)  # Python integers: slower, and of any size
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
    shards = schedule.collective.shards(len(schedule.collective.members(topology.nodes, topology.switches)))
    return Cost(schedule.steps, Fraction(topology.degree, shards) * total / schedule.units)
