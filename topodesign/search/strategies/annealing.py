"""Turns that exchange links of the fastest topology one by one."""

from __future__ import annotations

from topodesign.base.cost import lower_bound
from topodesign.search.annealing import anneal
from topodesign.search.links import MOST_PORTS
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_to_records
from topodesign.search.target import Target

_WORK = 10**8  # of a turn: about a third of a second
_MOST_NODES = 500


def _orbits(target: Target) -> list[int]:
    return [0] if target.degree <= MOST_PORTS and target.nodes <= _MOST_NODES else []


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    start = state.fastest(target)
    if start is None:
        return 0.0
    steps = lower_bound(*target.size, duplex=target.duplex).steps + draw.seed % 2
    known = state.known(target)
    found = anneal(start.build(), _WORK, duplex=target.duplex, steps=steps, seed=draw.seed, known=known)
    return state.keep(target, [one.spec for one in found])


annealing = Strategy("annealing", _orbits, gap_to_records, _search, rank=5)
