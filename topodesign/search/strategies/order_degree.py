"""Strategy: exchanged cables of duplex topologies.

For few steps, and for low distances.
"""

from __future__ import annotations

from functools import partial

from topodesign.search.order_degree import MAX_NODES, orders, search_order_degree
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_in_steps, steps_to_search
from topodesign.search.target import Target, scarcity
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_WORK, _MAX_TIMES = 10**8, 6
"""Of the first turn with so many orbits, some tenths of a second, and how often at most it is doubled."""
_FEWEST, _MAX, _COUNTS = 6, 128, 4
"""Numbers of orbits: the least and the most under a rotation, and how many are tried, the fewest first."""
_FREE = 512  # nodes of the largest graphs that are searched without a rotation
_RARE = 3.0
"""Scarcity of topologies from which on one step less is not searched for: what is found for random ones in seconds has
up to 1.5, and rotations and exchanges go beyond."""


def _orbits(target: Target) -> list[int]:
    nodes, degree = target.size
    if not target.duplex or degree < 3 or not 2 * degree < nodes <= MAX_NODES:  # or only rings
        return []
    counts = orders(nodes, degree)
    several = [count for count in counts if _FEWEST <= count <= min(_MAX, nodes // 2)][:_COUNTS]
    free = nodes <= _FREE or not several
    return several + [count for count in counts if count == nodes and free]


steps_of_graphs = partial(steps_to_search, rarest=_RARE)
"""How many steps graphs should have."""


def _gap(state: SearchState, target: Target) -> float:
    steps = steps_of_graphs(state, target)
    if steps is None:
        return 0.0
    return gap_in_steps(state, target, steps) / (1 + scarcity(target, steps))


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    """Search for few steps."""
    steps, fewer = steps_of_graphs(state, target), state.fewer(target)
    if steps is None or steps < 2:
        return 0.0
    work = _WORK << min(draw.number, _MAX_TIMES)
    orbits = draw.orbits
    then: tuple[int, ...] = ()
    start: Topology | None = None
    if draw.orbits == target.nodes and draw.number % 3:
        lifts = [count for count in orders(*target.size) if _FEWEST <= count < target.nodes]
        if draw.number % 3 == 1:
            start = _row(state, target)
        elif lifts:
            orbits, then = lifts[-1], (target.nodes,)
    found = search_order_degree(target, steps, work, orbits=orbits, then=then, start=start, seed=draw.seed)
    if found is None or found.far:
        return 0.0
    return state.keep(target, [found.spec]) if steps == fewer else state.keep_deferred(target, found.spec)


def _row(state: SearchState, target: Target) -> Topology | None:
    """Return the fastest row, None if it wastes ports."""
    fastest = state.fastest(target)
    topology = None if fastest is None else build(fastest.spec)
    wasted = topology is None or topology.self_loops > target.nodes * target.degree % 2
    return None if wasted else topology


order_degree = Strategy("order-degree", _orbits, _gap, _search, rank=-1)
