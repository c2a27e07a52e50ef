"""Strategy: one step less among duplex graphs of several cycles."""

from __future__ import annotations

from topodesign.search.cycles import cycles_of, search_cycles
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_in_steps
from topodesign.search.target import Target, scarcity

_WORK, _MAX_TIMES = 3 * 10**8, 6
"""Of the first turn with so many cycles, some tenths of a second, and how often at most it is doubled."""
_COUNTS = 4  # numbers of cycles that are tried
_RARE = 0.8  # scarcity of topologies from which on they are not searched for


def _orbits(target: Target) -> list[int]:
    """Return the numbers of cycles: about a dozen, with few shorter ones."""

    def reluctance(item: tuple[int, tuple[int, ...]]) -> float:
        count, lengths = item
        shorter = count - lengths.count(lengths[0])
        return abs(count - 12) * 0.4 + shorter * 1.5

    return [count for count, _ in sorted(cycles_of(target).items(), key=reluctance)[:_COUNTS]]


def _gap(state: SearchState, target: Target) -> float:
    fewer = state.fewer(target)
    if fewer is None or scarcity(target, fewer) > _RARE:
        return 0.0
    return gap_in_steps(state, target, fewer) / (1 + scarcity(target, fewer))


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    fewer = state.fewer(target)
    if fewer is None or fewer < 2:
        return 0.0
    work = _WORK << min(draw.number, _MAX_TIMES)
    found = search_cycles(target, fewer, work, cycles_of(target)[draw.orbits], seed=draw.seed)
    return 0.0 if found is None else state.keep_deferred(target, found)


cycles = Strategy("cycles", _orbits, _gap, _search, rank=-2)
