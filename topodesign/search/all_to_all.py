"""Strategy: topologies of low distances, for a fast all-to-all."""

from __future__ import annotations

from dataclasses import replace

from topodesign.search.all_to_all_state import ExchangeState
from topodesign.search.candidate import line_spec
from topodesign.search.order_degree import is_searched, orbits_to_search, search_low_distances, search_near
from topodesign.search.strategies.strategy import Draw, Strategy
from topodesign.search.target import Target
from topodesign.topology.library import build

_CONTENT = 0.001  # sizes so close to the bound are not searched
_CLOSE, _NEAR = 2, 3  # how many nodes more or less topologies may have that are searched near, and how many of them are


def _orbits(target: Target) -> list[int]:
    """Return the numbers of orbits, and 0 for a search near the best of close sizes."""
    return [*orbits_to_search(target), 0] if is_searched(target) else []


def _gap(state: ExchangeState, target: Target) -> float:
    return max(0.0, state.ratio(target) - 1 - _CONTENT)


def _search(state: ExchangeState, target: Target, draw: Draw) -> float:
    """Search ever longer, and line graphs of what is found."""
    sizes = [replace(target, duplex=duplex) for duplex in {False, target.duplex}]  # what is duplex may be best of all
    before = sum(map(state.ratio, sizes))
    if draw.number == 0:
        for known in state.known(target.size):
            state.refine(known, target.degree)
    if draw.orbits:
        spec = search_low_distances(target, draw.orbits, draw.number, seed=draw.seed)
    else:
        near = _find_near(state, target)
        turn, place = divmod(draw.number, max(1, len(near)))
        spec = search_near(target, build(near[place]), turn, seed=draw.seed) if near else None
    while spec is not None and state.offer(spec, target.degree, duplex=target.duplex):
        target, spec = Target(target.nodes * target.degree, target.degree, duplex=False), line_spec(spec)
        if not state.has(target):
            break
    return before - sum(map(state.ratio, sizes))


def _find_near(state: ExchangeState, target: Target) -> list[str]:
    """Return the fastest topologies of the size and of close sizes, by ratio."""
    sizes = range(max(2, target.nodes - _CLOSE), target.nodes + _CLOSE + 1)
    found = [
        (state.ratio(near), one.spec)
        for nodes in sizes
        for near in [replace(target, nodes=nodes)]
        if (one := state.fastest(near)) is not None
    ]
    return [spec for _, spec in sorted(found)[:_NEAR]]


low_distances = Strategy("low-distances", _orbits, _gap, _search)
