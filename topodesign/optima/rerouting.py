"""Repair of paths after a failure, over the emptiest ways.

The weight of torn paths goes round by round, a part of it in each: from every source over the ways that are cheapest
for the loads so far, where fuller links are much dearer. Nothing is solved; how near to the best it is, a bound tells.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.flows import fabric_limits
from topodesign.optima.forest.repair import remaining
from topodesign.plans.build import build_paths
from topodesign.plans.chunk_ops import MAX_WEIGHT, find_ways
from topodesign.plans.flow import Flow
from topodesign.topology.topology import IntArray

_ROUNDS = 8
_STEEP = 12  # how much dearer fuller links are


def reroute_paths(paths: Flow, left: Fabric, order: Sequence[int], slower: Mapping[tuple[int, int], Fraction]) -> Flow:
    """Return the repaired paths of all surviving blocks.

    ``order`` is the number there of each vertex, below 0 if it is gone, and ``slower`` the share of its bandwidth that
    a link there has left, where that is not all; as much stays on it. Raises InfeasibleError if the root is gone, or
    some goal is no longer reached.
    """
    topology, known = left.topology, np.array(order, dtype=np.int64)
    collective, named = remaining(paths.collective, known), _renumber_blocks(paths, known, topology.nodes)
    weights: list[int] = (paths.hi - paths.lo).tolist()
    scale = _ROUNDS if max(paths.units, *weights) * _ROUNDS <= MAX_WEIGHT else 1
    links = {(u, v): at for at, (u, v, _) in enumerate(topology.links())}
    load, kept = _Loads(left), list[tuple[int, int, tuple[int, ...]]]()
    torn: dict[int, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))  # by source: block, goal
    for block, weight, before in zip(paths.block.tolist(), weights, find_ways(paths), strict=True):
        if named[block] < 0:
            continue
        way = known[before].tolist()
        over = [links.get(pair, -1) for pair in pairwise(way)]
        share = Fraction(0) if min(over) < 0 else min(slower.get(pair, Fraction(1)) for pair in pairwise(way))
        stays = int(weight * scale * share)
        if stays:
            kept.append((int(named[block]), stays, tuple(way)))
            load.add(over, stays)
        if stays < weight * scale:
            torn[way[0]][int(named[block]), way[-1]] += weight * scale - stays
    for turn in range(_ROUNDS):
        for source, wanted in torn.items():
            parts = {key: w * (turn + 1) // _ROUNDS - w * turn // _ROUNDS for key, w in wanted.items()}
            above = _cheapest(left, load, source, max(parts.values()))
            for (block, goal), part in parts.items():
                if part:
                    way = _way(left, above, source, goal)
                    load.add([links[pair] for pair in pairwise(way)], part)
                    kept.append((block, part, way))
    if max(weight for _, weight, _ in kept) > MAX_WEIGHT:
        raise TooLargeError("the paths require more than 31 bits of weight")
    return build_paths(left, collective, paths.units * scale, kept, _amounts(paths, known))


def _renumber_blocks(paths: Flow, known: IntArray, count: int) -> IntArray:
    """Return the new number of every block, negative if lost."""
    collective, before = paths.collective, paths.topology.nodes
    if not collective.pairwise:
        return known
    source, goal = np.divmod(np.arange(before**2), before)
    named: IntArray = np.where(np.minimum(known[source], known[goal]) < 0, -1, known[source] * count + known[goal])
    return named


def _amounts(paths: Flow, known: IntArray) -> tuple[int, ...] | None:
    """Return the pieces of every surviving block, if they differ."""
    if paths.sizes is None:
        return None
    own = [vertex for vertex in range(len(known)) if vertex not in paths.topology.switches]
    there = known[own] >= 0
    amounts: list[int] = paths.sizes.reshape(paths.nodes, -1)[np.ix_(own, own)][np.ix_(there, there)].ravel().tolist()
    return tuple(amounts)


class _Loads:
    """Loads of links so far, and of their shared limits."""

    def __init__(self, left: Fabric) -> None:
        self.of_links = np.zeros(len(left.topology.src))
        self.limits = [(list(limit.links), float(limit.room)) for limit in fabric_limits(left)]
        self.capacity = left.topology.capacity

    def add(self, links: Sequence[int], weight: int) -> None:
        """Add a weight to some links."""
        self.of_links[list(links)] += weight

    def with_more(self, weight: int) -> NDArray[np.float64]:
        """Return the utilisation of every link with some more load."""
        full: NDArray[np.float64] = (self.of_links + weight) / self.capacity
        for links, room in self.limits:
            full[links] = np.maximum(full[links], (self.of_links[links].sum() + weight) / room)
        return full


def _cheapest(left: Fabric, load: _Loads, source: int, weight: int) -> IntArray:
    """Return predecessors on cheapest ways from a source."""
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    topology = left.topology
    full = load.with_more(weight)
    price = (full / full.max()) ** _STEEP + 1e-9
    graph = csr_array((price, (topology.src, topology.dst)), shape=(topology.nodes, topology.nodes))
    above: IntArray = dijkstra(graph, indices=source, return_predecessors=True)[1]
    return above


def _way(left: Fabric, above: IntArray, source: int, goal: int) -> tuple[int, ...]:
    way = [goal]
    while way[-1] != source:
        if above[way[-1]] < 0:
            raise InfeasibleError(f"no way leads from '{left.names[source]}' to '{left.names[goal]}'")
        way.append(int(above[way[-1]]))
    return tuple(way[::-1])


def node_bound(paths: Flow) -> Fraction:
    """Return the time bound of each node's own links."""
    collective, topology = paths.collective, paths.topology
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    source, goal = collective.places(collective.movements[0], blocks, topology.nodes)
    shares, _ = collective.shares(blocks, topology.nodes, len(members))
    pieces = shares if paths.sizes is None else paths.sizes[blocks]
    moves = source != goal
    least = Fraction(0)
    for end, link in ((source, topology.src), (goal, topology.dst)):
        wanted = np.bincount(end[moves], pieces[moves], topology.nodes)
        room = np.bincount(link, topology.capacity, topology.nodes)
        for node in np.flatnonzero(wanted).tolist():
            least = max(least, Fraction(int(wanted[node]), int(room[node])) if room[node] else least)
    return least * paths.units * collective.shards(len(members)) / paths.whole_units
