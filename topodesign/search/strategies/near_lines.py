"""Strategy: line graphs without some nodes.

For sizes that the degree does not divide.

A turn serves all sizes between two multiples of the degree, as one node is taken out after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from topodesign.base.cost import Cost, lower_bound
from topodesign.catalog.quality import runtime
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import MAX_NODES
from topodesign.graphs.expansions.line import line
from topodesign.search.state import LEFT, WORTHWHILE, SearchState
from topodesign.search.strategies.strategy import Draw, Strategy, gap_in_steps
from topodesign.search.target import Target
from topodesign.search.thinned_lines import GOOD, ThinnedDigraph, bases_of_lines, without_nodes

_FURTHER = 2  # how many more nodes than needed a base of line graphs may have
_LOST = 0.01  # what the nodes that are missing cost, as a rule
_TIGHT = 3  # steps up to which deferred schedules hardly help
_MAX_DEFERRED = 2**24  # steps times links times nodes of deferred schedules that are found at once: a second


def _orbits(target: Target) -> list[int]:
    nodes, degree = target.size
    fits = not target.duplex and nodes % degree and degree * (degree + 1) < nodes <= MAX_NODES
    return [0] if fits else []


def _gap(state: SearchState, target: Target) -> float:
    steps = _steps(state, target)
    return 0.0 if steps is None else gap_in_steps(state, target, steps) - _LOST


def _steps(state: SearchState, target: Target) -> int | None:
    """Return the steps of the next sizes' line graphs, or None."""
    return min((row.cost.steps + 1 for row in _base_rows(state, target)), default=None)


def _base_rows(state: SearchState, target: Target) -> Iterator[Row]:
    """Yield the rows of bases of line graphs of the next sizes."""
    for size in _base_sizes(target):
        bound = lower_bound(*size.size).bandwidth
        yield from (row for row in state.front(size) if not row.deferred and row.mean.bandwidth <= GOOD * bound)


def _base_sizes(target: Target) -> list[Target]:
    fewest = -(-target.nodes // target.degree)
    return [replace(target, nodes=fewest + more) for more in range(_FURTHER + 1)]


def _search(state: SearchState, target: Target, draw: Draw) -> float:
    """Delete nodes of line graphs to the next multiple of the degree."""
    nodes, degree = target.size
    best: dict[int, ThinnedDigraph] = {}
    for one in _iterate_thinned(state, target, (nodes - 1) // degree * degree + 1, draw.seed):
        left = one.topology.nodes
        if left not in best or one.cost.bandwidth < best[left].cost.bandwidth:
            best[left] = one
    gain = 0.0
    for left, one in best.items():
        size = replace(target, nodes=left)
        bound = lower_bound(left, degree)
        if state.has(size) and state.ratio(size) - runtime(_likely(one, bound)) / runtime(bound) > WORTHWHILE:
            gain += state.keep(size, [one.spec], most=_MAX_DEFERRED)
    return gain


def _likely(one: ThinnedDigraph, bound: Cost) -> Cost:
    """Return a likely final cost."""
    steps, bandwidth = one.cost.steps, one.cost.bandwidth
    return one.cost if steps <= _TIGHT else Cost(steps, bound.bandwidth + (bandwidth - bound.bandwidth) * LEFT)


def _iterate_thinned(state: SearchState, target: Target, fewest: int, seed: int) -> Iterator[ThinnedDigraph]:
    """Yield the topologies made of bases of the first useful size."""
    steps = _steps(state, target)
    if steps is None:
        return
    for size in _base_sizes(target):
        reached = False
        for base in bases_of_lines(size, steps - 1, seed):
            for one in without_nodes(line(base), fewest, steps, seed=seed):
                yield one
                reached |= one.topology.nodes == fewest
        if reached:
            return


near_lines = Strategy("near-lines", _orbits, _gap, _search, rank=3)
