"""Strategy: linear congruential digraphs with deferred schedules.

They have few steps.
"""

from __future__ import annotations

from topodesign.base.cost import digits
from topodesign.search.congruential import search_congruential
from topodesign.search.state import WORTHWHILE, SearchState, by_spff
from topodesign.search.strategies.strategy import Draw, Strategy, gap_in_steps, possible_in
from topodesign.search.target import Target

_DRAWN, _DRAWN_FIRST, _DRAWN_WORK = 400, 16, 6 * 10**9
"""Digraphs that are drawn in a turn, in the first turn at a size (four times as many in the next), and how much work
they may be: a few seconds."""
_PROMISING = 2  # of these so many are priced


def _orbits(target: Target) -> list[int]:
    return [0] if target.nodes > 2 * target.degree and not target.duplex else []


def _gap(state: SearchState, target: Target) -> float:
    return gap_in_steps(state, target, digits(*target.size))


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    """Keep what is best of their schedules."""
    most = max(_PROMISING, _DRAWN_WORK // (target.nodes**2 * target.degree))
    tries = min(_DRAWN, _DRAWN_FIRST * 4**draw.number, most)
    gain = 0.0
    fewest = digits(*target.size)
    for steps in (fewest, fewest + 1):  # not all sizes have any of so few steps that is even
        least = possible_in(target, steps) + WORTHWHILE
        if state.ratio(target) <= least:
            continue
        specs = search_congruential(target, steps, tries, seed=draw.seed, most=_PROMISING)
        gain += state.keep(target, specs)
        for spec in specs:
            row = by_spff(target, spec)
            if state.ratio(target) > least and row.either_way not in state.deferred:
                gain += state.defer(row)
    return gain


congruential = Strategy("congruential", _orbits, _gap, _search, rank=7)
