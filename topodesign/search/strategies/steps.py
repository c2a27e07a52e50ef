"""Strategy: one step less, near topologies with as few.

Whatever the bandwidth factor.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topodesign.catalog.quality import runtime
from topodesign.catalog.sizes import MOST_NODES
from topodesign.search.evenness import search_even
from topodesign.search.few_steps import search_near
from topodesign.search.links import MOST_PORTS
from topodesign.search.neighbours import REACH
from topodesign.search.state import SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_to_records
from topodesign.search.symmetric import orbit_counts, search_symmetric
from topodesign.search.target import Target, scarcity
from topodesign.topology.library import build

_WORK = 10**8  # of exchanges of links, in words: a third of a second
_BASES = 24  # so many topologies of neighbouring sizes are started from
_WORK_BESIDE, _COUNTS_BESIDE, _FEWEST_BESIDE = 4 * 10**8, 4, 3
"""Fresh lifts beside a size: work with each number of orbits, how many of these are tried until one has such lifts, and
the least of them: nodes of fewer orbits look too much alike."""
_EVENED = 10**9  # words that are looked at to even out its loads


def _orbits(target: Target) -> list[int]:
    return [0] if 2 * target.degree < target.nodes <= MOST_NODES else []


def _gap(state: SearchState, target: Target) -> float:
    fewer = state.fewer(target)
    return 0.0 if fewer is None else gap_to_records(state, target) / (1 + scarcity(target, fewer))


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    """Search for one step less than the fastest topology of a size.

    There may be some with as few already that are slower, as generalized Kautz digraphs often are.
    """
    fastest, steps = state.fastest(target), state.fewer(target)
    if fastest is None or steps is None:
        return 0.0
    several = {row.spec: row for row in state.beside(target, REACH) if row.cost.steps <= steps}
    near = sorted(several.values(), key=lambda row: (runtime(row.mean), abs(row.nodes - target.nodes), row.spec))
    specs = [*_lifts_beside(target, steps, draw.seed), *(row.spec for row in [*near[:_BASES], fastest])]
    found = search_near(target, steps, map(build, specs), _WORK, seed=draw.seed)
    if found is None:
        return 0.0
    if target.duplex:
        return state.keep(target, [found])
    even = search_even(build(str(found)), steps, _EVENED, seed=draw.seed) if target.degree <= MOST_PORTS else None
    return state.keep_deferred(target, even or found)


def _lifts_beside(target: Target, steps: int, seed: int) -> list[str]:
    """Return new lifts with a node or two more, with few steps; other seeds make others.

    A node less often makes no pair of nodes too far apart, or few. Which one it is matters little in one lift, where
    many look alike, but lifts differ.
    """
    in_pairs = target.duplex and target.degree % 2 == 1 and target.nodes % 2 == 0
    beside = replace(target, nodes=target.nodes + (2 if in_pairs else 1))
    counts = [count for count in orbit_counts(*beside.size) if count >= _FEWEST_BESIDE]
    for count in np.random.default_rng(seed).permutation(counts).tolist()[:_COUNTS_BESIDE]:
        if several := search_symmetric(beside, _WORK_BESIDE, orbits=[count], seed=seed, steps=steps):
            return [str(one.spec) for one in several]
    return []


steps = Strategy("steps", _orbits, _gap, _search, rank=6)
