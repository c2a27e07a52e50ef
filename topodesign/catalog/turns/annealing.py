"""Turns that exchange links of the fastest topology one by one."""

from __future__ import annotations

from topodesign.base.cost import lower_bound
from topodesign.catalog.standing import Standing
from topodesign.catalog.turns.prospects import left_by_records
from topodesign.catalog.turns.turn import Draw, Turn
from topodesign.search.annealing import MOST_PORTS, anneal
from topodesign.search.target import Target

_WORK = 10**6
"""Of a turn: about a third of a second."""
_MOST_NODES = 500


def _orbits(target: Target) -> list[int]:
    return [0] if target.degree <= MOST_PORTS and target.nodes <= _MOST_NODES else []


def _search(standing: Standing, target: Target, draw: Draw) -> float:
    start = standing.fastest(target)
    if start is None:
        return 0.0
    steps = lower_bound(*target.size, duplex=target.duplex).steps + draw.seed % 2
    known = standing.known(target)
    found = anneal(start.build(), _WORK, duplex=target.duplex, steps=steps, seed=draw.seed, known=known)
    return standing.keep(target, [one.spec for one in found])


annealing = Turn("annealing", _orbits, left_by_records, _search)
