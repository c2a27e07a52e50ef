"""Strategy: exchanged links of the fastest topology for even loads."""

from __future__ import annotations

from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import MOST_NODES
from topodesign.search.evenness import search_even
from topodesign.search.links import MOST_PORTS
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_in_steps
from topodesign.search.target import Target

_WORK, _MOST_TIMES = 10**9, 3
"""Words that are looked at in the first turn at a size, and how often at most that is doubled."""
_OTHERS_ARE_BETTER = "genkautz"
"""Topologies whose links are not exchanged: linear congruential digraphs of the same size are better starts."""


def _orbits(target: Target) -> list[int]:
    fits = not target.duplex and target.degree <= MOST_PORTS
    return [0] if fits and 2 * target.degree < target.nodes <= MOST_NODES else []


def _start(state: SearchState, target: Target) -> Row | None:
    best = state.fastest(target)
    return None if best is None or best.spec.startswith(_OTHERS_ARE_BETTER) else best


def _gap(state: SearchState, target: Target) -> float:
    start = _start(state, target)
    return 0.0 if start is None else gap_in_steps(state, target, start.cost.steps)


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    start = _start(state, target)
    if start is None:
        return 0.0
    work = _WORK << min(draw.number, _MOST_TIMES)
    spec = search_even(start.build(), start.cost.steps, work, seed=draw.seed)
    return 0.0 if spec is None else state.keep_deferred(target, spec)


evenness = Strategy("evenness", _orbits, _gap, _search, rank=8)
