"""Levels: the sides of a grid of alike rows, the boxes of a fabric, and the rings through them, as NCCL makes them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.fabric import Fabric
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.baselines.cycles import Cycle, link_disjoint_cycles, shortest_tour
from topodesign.schedulers.baselines.messages import Router
from topodesign.topology.topology import IntArray, Topology

_MOST_EDGES = 2**20  # edges of all trees of a plan, to which the number of rings is limited


def factorings(number: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a product of factors above one, in every order."""
    if number == 1:
        yield ()
    for factor in range(2, number + 1):
        if number % factor == 0:
            for rest in factorings(number // factor):
                yield (factor, *rest)


def sides_of(topology: Topology, count: int | None = None) -> tuple[int, ...] | None:
    """Return the sides of a topology as a grid, or None if it is none.

    Node x0 + p0 (x1 + p1 (x2 + ...)) has the coordinates x. Of all sides p, at least two or as many as ``count``, along
    each of which every row has the same links, and these join all of the row, those with the least sum are taken; of
    several the first in order.
    """
    best: tuple[int, tuple[int, ...]] | None = None
    for sides in factorings(topology.nodes):
        key = sum(sides), sides
        if len(sides) < 2 or (count is not None and len(sides) != count) or (best is not None and best <= key):
            continue
        found = [rows(topology, sides, at) for at in range(len(sides))]
        if all(int(distances(way, 0).min()) >= 0 for row in found for way in (row, row.transpose())):
            best = key
    return None if best is None else best[1]


def rows(topology: Topology, sides: tuple[int, ...], level: int) -> Topology:
    """Return the links that all rows along one side have, between its coordinates."""
    place = int(np.prod(sides[:level], dtype=np.int64))
    side = sides[level]
    src, dst = (ends // place % side for ends in (topology.src, topology.dst))
    along = (topology.src - src * place == topology.dst - dst * place) & (src != dst)
    pair, capacity = (src * side + dst)[along], topology.capacity[along]
    number = np.bincount(pair, minlength=side * side)
    common: IntArray = np.flatnonzero(number == topology.nodes // side)
    least = np.full(side * side, np.iinfo(np.int64).max)
    np.minimum.at(least, pair, capacity)
    return Topology.from_arrays(side, common // side, common % side, least[common])


def ring_orders(fabric: Fabric) -> list[Cycle]:
    """Return the rings that carry most together, each with as much as the others.

    Without switches these are Hamiltonian cycles that share no link, or a short tour where there is none. Else rings go
    through the boxes in turn, along a short tour of each; begun at every node of it, in the same direction in all boxes
    or to and fro, and all backwards too: of these sets the one with the highest rate is taken, of equals the smallest.
    """
    topology = fabric.topology
    if not topology.switches and (cycles := link_disjoint_cycles(topology)):
        return list(cycles)
    router = Router(topology, fabric.names)
    tours = box_tours(fabric, boxes_of(fabric) or [list(fabric.compute)])
    most = max(1, _MOST_EDGES // len(fabric.compute) ** 2)
    best: tuple[Fraction, int, list[Cycle]] | None = None
    for to_and_fro in (False, True):
        for count in {1, len(tours[0])}:
            rings = [_through(tours, start, to_and_fro=to_and_fro) for start in range(count)]
            for chosen in (rings, [*rings, *((one[0], *one[:0:-1]) for one in rings)]):
                if len(chosen) > most and best is not None:
                    continue
                key = -len(chosen) * _rate(topology, router, chosen), len(chosen), chosen
                best = key if best is None else min(best, key)
    return [] if best is None else best[2]


def _through(tours: list[list[int]], start: int, *, to_and_fro: bool) -> Cycle:
    """Return the ring through all boxes that begins each at some place of its tour."""
    ring: list[int] = []
    for number, tour in enumerate(tours):
        turned = [*tour[start:], *tour[:start]]
        ring += turned[::-1] if to_and_fro and number % 2 else turned
    return tuple(ring)


def box_tours(fabric: Fabric, boxes: list[list[int]]) -> list[list[int]]:
    """Return the nodes of every box in the order of a short tour over wide links."""
    cost = _costs(fabric, Router(fabric.topology, fabric.names))
    return [[box[at] for at in shortest_tour(cost[np.ix_(box, box)])] for box in boxes]


def _costs(fabric: Fabric, router: Router) -> IntArray:
    """Return what a way between two nodes costs: the inverse of the widest link or switch between them, else a lot."""
    topology = fabric.topology
    common = math.lcm(*topology.capacity.tolist())
    far = common * topology.nodes
    cost: IntArray = router.distance * far
    wide: dict[int, list[tuple[int, int]]] = {}
    for u, v, capacity in topology.links():
        if v not in topology.switches:
            cost[u, v] = min(cost[u, v], common // capacity)
        wide.setdefault(u, []).append((v, capacity))
    for u in fabric.compute:
        for switch, up in wide.get(u, []):
            for v, down in wide.get(switch, []) if switch in topology.switches else ():
                if v != u and v not in topology.switches:
                    cost[u, v] = min(cost[u, v], common // min(up, down))
    return cost


def _rate(topology: Topology, router: Router, rings: list[Cycle]) -> Fraction:
    """Return the capacity that each of some rings can have everywhere."""
    widths = Counter(pair for ring in rings for pair in zip(ring, [*ring[1:], ring[0]], strict=True))
    loads: Counter[tuple[int, int]] = Counter()
    ways = router.paths(list(widths), list(widths.values()), by_step=False)
    for way, width in zip(ways, widths.values(), strict=True):
        for hop in itertools.pairwise(way):
            loads[hop] += width
    capacity = {(u, v): c for u, v, c in topology.links()}
    return min(Fraction(capacity[hop], load) for hop, load in loads.items())
