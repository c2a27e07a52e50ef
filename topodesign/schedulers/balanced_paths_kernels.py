"""Kernels of :mod:`topodesign.schedulers.balanced_paths`.

Loads are counted in units that each link's capacity makes comparable. A path is priced by how full its links are at the
steps at which it takes them, relative to the fullest link of the step, to a power that grows from pass to pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, tier_kernel

Paths = NDArray[np.int32]  # shape ``(chunks, pairs, steps)``: the arc that a chunk takes at a step, -1 where it stays

_ONE = 1024  # a full link, in the numbers of prices
_MAX = 2**30  # whose square is a number of 64 bits


@compile_kernel
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


@compile_kernel
def _full(load: Ints, aim: Ints, top: Ints) -> None:
    """Write the load of a full link, by step."""
    fullest(load, top)
    for step in range(len(aim)):
        if aim[step]:
            top[step] = aim[step]


@compile_kernel
def _price(load: int, top: int, squares: int) -> int:
    """Return the cost of a link: its relative load, repeatedly squared."""
    share = min(4 * _ONE, load * _ONE // top)
    for _ in range(squares):
        share = min(_MAX, share * share // _ONE)
    return int(1 + share)


def _work(distance: Ints, _indptr: Ints, dst: Ints, _worth: Ints, pairs: Ints, paths: Paths, *_: object) -> int:
    return int(4 * paths.shape[0] * len(pairs) * distance.max() * (len(dst) // len(distance) + 4))


@tier_kernel(_work)
def balance_pass(
    distance: Ints,
    indptr: Ints,
    dst: Ints,
    worth: Ints,
    pairs: Ints,
    paths: Paths,
    load: Ints,
    aim: Ints,
    squares: int,
    detour: int,
) -> int:
    """Reroute chunks in sequence; return the sum of largest loads.

    ``worth`` is what a chunk adds to the load of an arc, ``load`` is of shape ``(steps, arcs)``; it and ``paths``,
    whose loads are in it, are changed in place. A link is full at ``aim``, or where that is 0 at the load of the
    fullest; ``squares`` is how often a price is squared. Ways keep to nodes over which a path is at most ``detour``
    links longer than the shortest.
    """
    nodes, steps = len(indptr) - 1, paths.shape[2]
    top = np.zeros(steps, np.int64)
    _full(load, aim, top)
    cost = np.zeros((steps + 1, nodes), np.int64)
    via = np.zeros((steps + 1, nodes), np.int64)  # the arc by which a node is reached at a step, -1 if it waited there
    mark = np.zeros((steps + 1, nodes), np.int64)
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
            most = distance[source, target] + detour
            stamp = chunk * len(pairs) + pair
            count = 1
            layer[0] = source
            cost[0, source] = 0
            for step in range(steps):
                left = steps - step - 1
                found = 0
                for place in range(count):
                    node = layer[place]
                    if distance[node, target] <= left:
                        if mark[step + 1, node] != stamp:
                            mark[step + 1, node] = stamp
                            following[found] = node
                            found += 1
                            cost[step + 1, node] = 2**60
                        if cost[step, node] < cost[step + 1, node]:
                            cost[step + 1, node] = cost[step, node]
                            via[step + 1, node] = -1
                    for arc in range(indptr[node], indptr[node + 1]):
                        far = dst[arc]
                        if distance[far, target] > left or distance[source, far] + distance[far, target] > most:
                            continue
                        if mark[step + 1, far] != stamp:
                            mark[step + 1, far] = stamp
                            following[found] = far
                            found += 1
                            cost[step + 1, far] = 2**60
                        after, full = load[step, arc] + worth[arc], max(top[step], worth[arc])
                        price = cost[step, node] + worth[arc] * _price(after, full, squares)
                        if price < cost[step + 1, far]:
                            cost[step + 1, far] = price
                            via[step + 1, far] = arc
                for place in range(found):
                    layer[place] = following[place]
                count = found
            node = target
            for back in range(steps):
                step = steps - 1 - back
                arc = via[step + 1, node]
                way[step] = arc
                if arc >= 0:
                    load[step, arc] += worth[arc]
                    if not aim[step]:
                        top[step] = max(top[step], load[step, arc])
                    node = start[arc]
    return fullest(load, top)
