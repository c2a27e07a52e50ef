"""Turns that search lifts for few steps, whatever their bandwidth factor.

First for one step less than is known; where that is too rare for as many, whose deferred schedules cost less than those
of topologies without symmetry.
"""

from __future__ import annotations

from functools import partial

from topodesign.search.state import SearchState
from topodesign.search.strategies.quotients import orbits_to_search
from topodesign.search.strategies.strategy import Draw, Strategy, gap_in_steps, steps_to_search
from topodesign.search.symmetric import search_symmetric
from topodesign.search.target import Target, scarcity

_WORK, _MAX_TIMES = 4 * 10**8, 4
"""Of the first turn with so many orbits, some tenths of a second, and how often at most it is doubled."""
_RARE = 1.5
"""Scarcity of topologies from which on lifts are not searched; at 0.9 a quarter of all sizes have one that is found."""
_RARER = 4
"""How steeply it gets less likely before, and takes longer: seven of ten sizes have one at 0.3, two or three at 0.8."""

steps_of_lifts = partial(steps_to_search, rarest=_RARE)
"""How many steps lifts should have."""


def _gap(state: SearchState, target: Target) -> float:
    steps = steps_of_lifts(state, target)
    if steps is None:
        return 0.0
    return gap_in_steps(state, target, steps) * max(0.0, 1 - scarcity(target, steps) / _RARE) ** _RARER


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    steps, fewer = steps_of_lifts(state, target), state.fewer(target)
    work = _WORK << min(draw.number, _MAX_TIMES)
    found = search_symmetric(target, work, orbits=[draw.orbits], seed=draw.seed, steps=steps)
    if steps == fewer:
        return state.keep(target, [one.spec for one in found])
    return sum(state.keep_deferred(target, one.spec) for one in found)


lifts = Strategy("lifts", orbits_to_search, _gap, _search, rank=2)
