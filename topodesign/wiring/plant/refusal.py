"""Why a plant does not carry a topology: counts that every plan would break.

* *Degree*: a node has more links than any host has lanes.
* *Edge colours*: with one lane a host at each of k fields, a duplex topology needs a proper colouring of its edges by k
  colours. Of n nodes no field joins more than floor(n/2) pairs, and two colours have no odd cycle (König).
* *Pods*: hosts that share fields which others do not reach have so many lanes that lead beyond. If all-to-all is known
  to take y, a flow puts y*N/d on a link at most, and the m(N-m) shards that leave m nodes need m(N-m)*d/(y*N) links,
  whichever nodes these are.

What these leave open, :func:`~topodesign.wiring.plan.planner.make_plan` searches, and proves where it can.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from topodesign.base.claims import PROVEN_NONE
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.decompose import two_sides, unit_edges, without_loops
from topodesign.wiring.plan.planner import lanes_needed
from topodesign.wiring.plant.plant import Plant


def why_not(topology: Topology, plant: Plant, exchange: Callable[[], Fraction | None]) -> str | None:
    """Return why no plan of a plant makes a topology, None if no count says so.

    ``exchange`` returns the bandwidth factor of a known way to do all-to-all, or None.
    """
    needed = np.sort(lanes_needed(topology))[::-1]
    have = np.sort(plant.lanes.sum(axis=1))[::-1]
    if len(needed) > len(have):
        return f"{len(needed)} nodes do not fit on {len(have)} hosts"
    short = np.flatnonzero(needed > have[: len(needed)])
    if len(short):
        most = int(needed[short[0]])
        there = f"{np.sum(needed >= most)} nodes have {most} or more links, {np.sum(have >= most)} hosts so many lanes"
        return f"degree: {there} ({PROVEN_NONE})"
    if plant.duplex and not topology.is_duplex:
        return "some links have no reverse, and these panels join both ways together"
    reason = _colours(topology, plant) or _pods(topology, plant, exchange)
    return None if reason is None else f"{reason} ({PROVEN_NONE})"


def _colours(topology: Topology, plant: Plant) -> str | None:
    """Return why links do not go on fields with one lane a host each."""
    if not plant.duplex or plant.inventory.two_sided:  # where Euler tours turn links, so that matchings are no limit
        return None
    pairs = len(unit_edges(topology)[0])
    fields = int(np.count_nonzero(plant.lanes.any(axis=0)))
    most = int((plant.lanes.sum(axis=0) // 2).sum())
    if pairs > most:
        return f"edge colours: {fields} fields join {most} pairs of lanes, the topology has {pairs}"
    if fields <= 2 and plant.lanes.max() == 1 and two_sides(without_loops(topology)) is None:
        return f"edge colours: the topology has an odd cycle, and {fields} matchings have none"
    return None


def _pods(topology: Topology, plant: Plant, exchange: Callable[[], Fraction | None]) -> str | None:
    """Return why too few lanes lead out of a pod."""
    users = np.unique(plant.lanes.T > 0, axis=0)
    pods = [some for some in users if 0 < some.sum() < plant.nodes]
    if not pods or topology.nodes < plant.nodes:
        return None
    factor = exchange()
    if factor is None:
        return None
    for pod in pods:
        beyond = [field for field, there in enumerate(plant.lanes.T > 0) if np.any(there & ~pod)]
        lanes, size = int(plant.lanes[pod][:, beyond].sum()), int(pod.sum())
        least = size * (topology.nodes - size) * topology.degree / (factor * topology.nodes)
        if lanes < least:
            words = f"pods: {lanes} lanes lead out of {size} hosts, and any {size} nodes"
            return f"{words} have {-(-least // 1)} links or more to the others"
    return None
