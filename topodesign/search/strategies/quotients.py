"""Strategy: lifts and Cayley digraphs with the best costs."""

from __future__ import annotations

from topodesign.base.cost import keeps_port_free
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_to_records
from topodesign.search.symmetric import MAX_LINKS, orbit_counts, search_symmetric
from topodesign.search.target import Target

_WORK = 3 * 10**7  # of a turn: some tenths of a second, most of which pricing takes


def orbits_to_search(target: Target) -> list[int]:
    """Return the orbit numbers of lifts of a size.

    None where a port stays free: then nodes do not look alike.
    """
    if target.degree > MAX_LINKS or keeps_port_free(*target.size, duplex=target.duplex):
        return []
    return [1, *orbit_counts(*target.size)]


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    known = state.known(target)
    found = search_symmetric(target, _WORK, orbits=[draw.orbits], seed=draw.seed, known=known)
    return state.keep(target, [one.spec for one in found])


quotients = Strategy("quotients", orbits_to_search, gap_to_records, _search, rank=1)
