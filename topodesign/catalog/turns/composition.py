"""Turns that compose rows for sizes beyond those that all have some: line graphs, products, lifts of a short search."""

from __future__ import annotations

from topodesign.catalog.composed import composed, work_to_price
from topodesign.catalog.sizes import MOST_NODES
from topodesign.catalog.standing import Standing
from topodesign.catalog.turns.prospects import left_by_records
from topodesign.catalog.turns.turn import Draw, Turn
from topodesign.search.target import Target
from topodesign.topology.library import build

_MOST_WORK = 2**33
"""Links times sources of what is priced: some tens of seconds."""


def _orbits(target: Target) -> list[int]:
    return [0] if target.nodes > MOST_NODES else []


def _search(standing: Standing, target: Target, draw: Draw) -> float:
    found = composed(target, standing.source, seed=draw.seed)
    specs = [one.spec for one in found if work_to_price(build(str(one.spec))) <= _MOST_WORK]
    return standing.keep_composed(target, specs)


composition = Turn("composition", _orbits, left_by_records, _search)
