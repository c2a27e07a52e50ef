"""Strategy: line graphs, products and lifts beyond the catalog's sizes."""

from __future__ import annotations

from topodesign.catalog.sizes import MAX_NODES
from topodesign.search.composed import compose_frontier, work_to_price
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_to_records
from topodesign.search.target import Target
from topodesign.topology.library import build

_MAX_WORK = 2**33  # links times sources of what is priced: some tens of seconds


def _orbits(target: Target) -> list[int]:
    return [0] if target.nodes > MAX_NODES else []


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    found = compose_frontier(target, state.source, seed=draw.seed)
    specs = [one.spec for one in found if work_to_price(build(str(one.spec))) <= _MAX_WORK]
    return state.keep_composed(target, specs)


composition = Strategy("composition", _orbits, gap_to_records, _search, rank=0)
