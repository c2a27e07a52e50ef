"""Strategy: insertions into and deletions from close sizes' best."""

from __future__ import annotations

from topodesign.base.cost import keeps_port_free
from topodesign.catalog.quality import runtime
from topodesign.catalog.sizes import MAX_NODES
from topodesign.search.links import MAX_PORTS
from topodesign.search.neighbours import REACH, search_neighbours
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_to_records
from topodesign.search.target import Target

_WORK = 10**8  # of a turn: about a third of a second
_BASES = 8  # so many topologies of neighbouring sizes are started from


def _orbits(target: Target) -> list[int]:
    fits = target.degree <= MAX_PORTS or keeps_port_free(*target.size, duplex=target.duplex)
    return [0] if fits and target.nodes <= MAX_NODES else []


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    near = state.beside(target, REACH)
    near.sort(key=lambda row: (not row.spec.startswith("line("), runtime(row.mean), row.spec))  # most nodes are near
    bases = [row.build() for row in near[:_BASES]]
    found = search_neighbours(target, bases, _WORK, seed=draw.seed, known=state.known(target))
    return state.keep(target, [one.spec for one in found])


neighbours = Strategy("neighbours", _orbits, gap_to_records, _search, rank=4)
