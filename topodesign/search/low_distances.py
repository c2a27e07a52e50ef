"""Local search for topologies with small distances, which bound what all-to-all takes.

Every shard takes up as many links as its way is long, so all-to-all takes at least the mean distance; and as much where
links can be loaded evenly, which a rotation makes easy. Some eight orbits under it are best for their time: fewer leave
little to choose, more take long to look at.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.spec import Spec
from topodesign.search.neighbours import drawn
from topodesign.search.order_degree import orders, search_order_degree
from topodesign.search.target import Target, steps_of_most
from topodesign.topology.topology import Topology

_WORK, _MOST_TIMES = 3 * 10**7, 6  # of a first turn, a tenth of a second, and how often at most it is doubled
_MOST, _MIDDLE, _COUNTS = 32, 8, 4
"""Numbers of orbits under a rotation: the most, what is tried first, and how many are tried."""
_FREE = 400  # nodes of the largest topologies that are searched without a rotation
_LARGEST = 2**13  # nodes
_DRAWS = 8  # tries to put nodes in or to take them out
_RARE = 1.0  # scarcity up to which topologies with so few steps are looked for


def is_searched(target: Target) -> bool:
    """Whether there is more than rings, and not all are neighbours."""
    nodes, degree = target.size
    return (degree >= 3 or not target.duplex) and degree + 1 < nodes <= _LARGEST


def orbits_to_search(target: Target) -> list[int]:
    """Return the numbers of orbits that are worth searching, the most promising first."""
    nodes, degree = target.size
    if not is_searched(target):
        return []
    counts = orders(nodes, degree, duplex=target.duplex)
    several = [m for m in counts if m <= min(_MOST, nodes - 1)]
    several.sort(key=lambda m: max(m, _MIDDLE) / min(m, _MIDDLE))
    return several[:_COUNTS] + [m for m in counts if m == nodes <= _FREE]


def search_low_distances(target: Target, orbits: int, turn: int, *, seed: int = 0) -> Spec | None:
    """Search for few steps and low distances, in every other turn for a step less; later turns search longer."""
    return _searched(target, orbits, turn, None, seed)


def search_near(target: Target, base: Topology, turn: int, *, seed: int = 0) -> Spec | None:
    """Search among what exchanged links make of a topology of the size, or of one with a few nodes more or less."""
    rng = np.random.Generator(np.random.PCG64([seed, *target.size, target.duplex, turn]))
    drafts = [base] if base.nodes == target.nodes else drawn(base, target, _DRAWS, rng)
    start = next((one for one in drafts if one.is_regular and one.is_duplex >= target.duplex), None)
    return None if start is None else _searched(target, target.nodes, turn, start, seed)


def _searched(target: Target, orbits: int, turn: int, start: Topology | None, seed: int) -> Spec | None:
    most = steps_of_most(target, _RARE)
    steps = max(2, steps_of_most(target, _RARE * target.nodes), most - turn % 2)
    work = _WORK << min(turn, _MOST_TIMES)
    found = search_order_degree(target, steps, work, orbits=orbits, start=start, seed=seed)
    return None if found is None else found.spec
