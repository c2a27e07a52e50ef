"""Kernels that spread blocks over shortest paths and steps; :mod:`topodesign.schedulers.spread` says what they are for.

Loads are counted in units that each link's capacity makes comparable. A path is priced by how full its links are at the
steps at which it takes them, relative to the fullest link of the step, to a power that grows from pass to pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compiled, tiered

Paths = NDArray[np.int32]
"""Shape ``(chunks, pairs, steps)``: the arc that a chunk takes at a step, -1 where it stays."""

_ONE = 1024  # a full link, in the numbers of prices
_MOST = 1536


@compiled
def fullest(load: Ints, top: Ints) -> int:
    """Write the largest load of every step and return the sum."""
    total = 0
    for step in range(load.shape[0]):
        most = 0
        for arc in range(load.shape[1]):
            most = max(most, load[step, arc])
        top[step] = most
        total += int(most)
    return total


@compiled
def _full(load: Ints, aim: Ints, top: Ints) -> None:
    """Write what is full at every step."""
    fullest(load, top)
    for step in range(len(aim)):
        if aim[step]:
            top[step] = aim[step]


@compiled
def _price(load: int, top: int, squares: int) -> int:
    """Return what it costs to use a link, which doubles of the power say how much more if it is full."""
    much = min(16 * _ONE, load * _ONE // top)
    share = min(_MOST, much)  # the power of more would be too large a number, so what is beyond counts once
    for _ in range(squares):
        share = share * share // _ONE
    return int(1 + share * max(_MOST, much) // _MOST)


def _work(distance: Ints, _arcs: Ints, _dst: Ints, _worth: Ints, pairs: Ints, paths: Paths, *_: object) -> int:
    return int(25 * paths.shape[0] * len(pairs) * distance.max())


@tiered(_work)
def spread_pass(
    distance: Ints,
    indptr: Ints,
    dst: Ints,
    worth: Ints,
    pairs: Ints,
    paths: Paths,
    load: Ints,
    aim: Ints,
    squares: int,
) -> int:
    """Let every chunk of every pair take the cheapest shortest path through time, one after the other.

    Parameters
    ----------
    distance
        Links between nodes, shape ``(nodes, nodes)``.
    indptr, dst
        The arcs of every node, and where they end.
    worth
        What a chunk adds to the load of an arc.
    pairs
        Source and destination, shape ``(pairs, 2)``.
    paths
        Paths so far, whose loads are in ``load``; a chunk without one has -1 everywhere. Changed in place.
    load
        Shape ``(steps, arcs)``. Changed in place.
    aim
        The load at which a link is full, for every step; 0 where that is the load of the fullest.
    squares
        How often a price is squared.

    Returns
    -------
    int
        Sum over steps of the largest load.
    """
    nodes, steps = len(indptr) - 1, paths.shape[2]
    top = np.zeros(steps, np.int64)
    _full(load, aim, top)
    cost = np.zeros((nodes, steps + 1), np.int64)
    via = np.zeros((nodes, steps + 1), np.int64)  # the arc by which a node is reached so late, -1 if it waited there
    mark = np.zeros(nodes, np.int64)
    mark[:] = -1
    layer = np.zeros(nodes, np.int64)
    following = np.zeros(nodes, np.int64)
    start = np.zeros(len(dst), np.int64)
    for node in range(nodes):
        for arc in range(indptr[node], indptr[node + 1]):
            start[arc] = node
    for chunk in range(paths.shape[0]):
        for pair in range(len(pairs)):
            if pair % nodes == 0:
                _full(load, aim, top)
            source, target = pairs[pair, 0], pairs[pair, 1]
            way = paths[chunk, pair]
            for step in range(steps):
                if way[step] >= 0:
                    load[step, way[step]] -= worth[way[step]]
            length = distance[source, target]
            slack = steps - length
            stamp = chunk * len(pairs) + pair
            count = 1
            layer[0] = source
            for late in range(slack + 1):
                cost[source, late] = 0
                via[source, late] = -1
            for hop in range(length):
                found = 0
                for place in range(count):
                    node = layer[place]
                    for arc in range(indptr[node], indptr[node + 1]):
                        far = dst[arc]
                        if distance[far, target] != length - hop - 1:
                            continue
                        if mark[far] != stamp:
                            mark[far] = stamp
                            following[found] = far
                            found += 1
                            for late in range(slack + 1):
                                cost[far, late] = 2**60
                        for late in range(slack + 1):
                            step = hop + late
                            after, full = load[step, arc] + worth[arc], max(top[step], worth[arc])
                            price = cost[node, late] + worth[arc] * _price(after, full, squares)
                            if price < cost[far, late]:
                                cost[far, late] = price
                                via[far, late] = arc
                for place in range(found):
                    node = following[place]
                    layer[place] = node
                    for late in range(1, slack + 1):
                        if cost[node, late - 1] <= cost[node, late]:
                            cost[node, late] = cost[node, late - 1]
                            via[node, late] = -1
                count = found
            for step in range(steps):
                way[step] = -1
            node, late, hop = target, slack, length
            while hop > 0:
                arc = via[node, late]
                if arc < 0:
                    late -= 1
                    continue
                step = hop - 1 + late
                way[step] = arc
                load[step, arc] += worth[arc]
                if not aim[step]:
                    top[step] = max(top[step], load[step, arc])
                node = start[arc]
                hop -= 1
    return fullest(load, top)
