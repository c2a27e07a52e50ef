"""What a schedule costs, added up from its rows (the verifier adds up for itself)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.cost import Cost
from topodesign.errors import ScheduleError
from topodesign.schedule import Schedule
from topodesign.topology import Topology


def cost_of(topology: Topology, schedule: Schedule) -> Cost:
    """Return steps and bandwidth factor: y = (d/N) * sum over steps of the largest units / (units * capacity).

    Raises
    ------
    ScheduleError
        If a send is over a link that does not exist, or there are too many units to add up exactly.
    """
    key = topology.src * topology.nodes + topology.dst
    used = schedule.src.astype(np.int64) * topology.nodes + schedule.dst
    link = np.searchsorted(key, used)
    if np.any(link >= len(key)) or np.any(key[np.minimum(link, len(key) - 1)] != used):
        raise ScheduleError("the schedule sends over a link that the topology does not have")
    if len(schedule) * schedule.units >= 2**53:
        raise ScheduleError("too many units to add up")
    place = (schedule.step.astype(np.int64) - 1) * len(key) + link
    load = np.bincount(
        place, weights=schedule.hi - schedule.lo, minlength=schedule.steps * len(key)
    )  # exact below 2^53
    table = load.astype(np.int64).reshape(schedule.steps, len(key))
    total = Fraction(0)
    capacities = np.unique(topology.capacity).tolist()
    for row in table:
        total += max(Fraction(int(row[topology.capacity == c].max()), c) for c in capacities)
    return Cost(schedule.steps, Fraction(topology.degree, topology.nodes) * total / schedule.units)
