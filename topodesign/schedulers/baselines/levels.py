"""Levels: the sides of a topology that is a grid of alike rows, and the boxes of a fabric."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from topodesign.fabrics.fabric import Fabric
from topodesign.pricing.closed_form import distances
from topodesign.topology.topology import IntArray, Topology


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
        if all(_joined(rows(topology, sides, at)) for at in range(len(sides))):
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


def _joined(row: Topology) -> bool:
    """Return whether every node can reach every other."""
    return all(int(distances(way, 0).min()) >= 0 for way in (row, row.transpose()))


def boxes_of(fabric: Fabric) -> list[list[int]] | None:
    """Return the compute nodes of every box, as many of each, or None: those whose names agree up to the last slash."""
    boxes: dict[str, list[int]] = {}
    for node in fabric.compute:
        boxes.setdefault(fabric.names[node].rpartition("/")[0], []).append(node)
    sizes = {len(box) for box in boxes.values()}
    return list(boxes.values()) if len(boxes) > 1 and len(sizes) == 1 and sizes != {1} else None
