"""Compiled routing with detours, up and down or inside a dependency graph, and lanes for ways with circles.

The graph and its order are those of :mod:`topodesign.wiring.routes.lane_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, compiled, sort
from topodesign.wiring.routes.lane_kernels import BITS, Bytes, Network, join, least_full, number_of


class Heights(NamedTuple):
    """What up and down mean."""

    order: Ints  # the vertices from the root on
    height: Ints  # the place of each vertex in that order; links to an earlier one go up
    inside: Ints  # 1 for the links that may be used so: those of a spanning tree, or all


@compiled
def _carry(net: Network, target: int, row: Ints, weight: Ints, queue: Ints, count: int, load: Ints) -> None:
    """Load the links of the steps to a target; the queue has what is nearer first."""
    total = weight[:, target].copy()
    for i in range(count - 1, 0, -1):
        node = queue[i]
        load[row[node]] += total[node]
        total[net.dst[row[node]]] += total[node]


@compiled
def _up_down(net: Network, target: int, weight: Ints, heights: Heights, row: Ints, load: Ints) -> None:
    """Route one target over the links inside: first up, then down, and only down from where that leads there."""
    nodes = len(net.begin) - 1
    height, inside = heights.height, heights.inside
    level, queue, down = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.full(nodes, -1, np.int64)
    far = np.empty(nodes, np.int64)
    down[target], queue[0] = 0, target
    count, at = 1, 0
    while at < count:
        node = queue[at]
        at += 1
        if node == target or net.forwards[node]:
            for k in range(net.into_begin[node], net.into_begin[node + 1]):
                source = net.src[net.into[k]]
                if inside[net.into[k]] and height[source] < height[node] and down[source] < 0:
                    down[source], queue[count] = down[node] + 1, source
                    count += 1
    for node in heights.order:
        if node == target:
            level[node] = 0
            continue
        best, least, steepest = -1, LARGEST, LARGEST
        for link in range(net.begin[node], net.begin[node + 1]):
            end = net.dst[link]
            if not inside[link] or (end != target and not net.forwards[end]):
                continue
            if down[node] >= 0:
                length = down[end] if down[end] == down[node] - 1 and height[end] > height[node] else LARGEST
            else:
                length = level[end] if height[end] < height[node] else LARGEST
            now = (load[link] + 1) * net.share[link]
            if length < steepest or (length == steepest and length < LARGEST and now < least):
                best, least, steepest = link, now, length
        row[node] = best
        level[node] = down[node] if down[node] >= 0 else steepest + 1
    for node in range(nodes):
        far[node] = level[node] * nodes + node
    sort(far, 2 * BITS)
    for i in range(nodes):
        queue[i] = far[i] % nodes
    _carry(net, target, row, weight, queue, nodes, load)


@compiled
def up_and_down(net: Network, order: Ints, weight: Ints, heights: Heights, steps: Ints, load: Ints) -> None:
    """Route all targets first up, then down: never up again after a link down."""
    for target in order:
        _up_down(net, target, weight, heights, steps[target], load)


@compiled
def confine_trees(
    net: Network,
    order: Ints,
    weight: Ints,
    heights: Heights,
    steps: Ints,
    lane: Ints,
    load: Ints,
    state: Bytes,
    rank: Ints,
) -> int:
    """Route all targets inside the dependency graphs of so many lanes, with detours where shortest paths do not fit.

    The targets take the lanes in turn, each one lane for all sources. A vertex joins at the least level at which one of
    its links depends on nothing that closes a cycle; where some vertex never joins, the target is routed up and then
    down over the links inside, whose dependencies are in every lane from the start.

    * ``heights``: what is up; all others as in ``grow_trees``.

    Returns: how many targets are routed up and down.
    """
    nodes, links, lanes = len(net.begin) - 1, len(net.src), len(state)
    level, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    seen, found = np.zeros(links, np.int64), np.empty(links + 1, np.int64)
    tried, added, asked = np.zeros(links, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    height = heights.height
    for its in range(lanes):
        for link in range(links):
            end = net.dst[link]
            for then in range(net.begin[end], net.begin[end + 1]):
                falls = height[end] > height[net.src[link]] and height[net.dst[then]] < height[end]
                if heights.inside[link] and heights.inside[then] and not falls and net.forwards[end]:
                    join(net, state[its], rank[its], link, then, seen, found)
    escaped = 0
    for place in range(len(order)):
        target, its = order[place], place % lanes
        row = steps[target]
        lane[target, :] = its
        count = 0
        for careful in range(2):
            if count == nodes:
                break
            level[:] = -1
            level[target], queue[0] = 0, target
            count, begin, joined = 1, 0, 0
            while begin < count:
                end, now = count, level[queue[begin]]
                waiting = 0
                for i in range(begin, end):
                    node = queue[i]
                    if node == target or net.forwards[node]:
                        for k in range(net.into_begin[node], net.into_begin[node + 1]):
                            source = net.src[net.into[k]]
                            if level[source] == -1:
                                level[source] = -2
                                asked[waiting] = source
                                waiting += 1
                for i in range(waiting):
                    node = asked[i]
                    level[node] = -1
                    ports = net.begin[node + 1] - net.begin[node]
                    tried[:ports] = 0
                    for trial in range(1 - careful, 2):  # careful: first what joins nothing
                        link = least_full(net, node, target, level, now, row, load, tried)
                        while link >= 0:
                            then = net.dst[link]
                            if then == target:
                                break
                            number = number_of(net, link, row[then])
                            known = state[its, number]
                            if known == 1:
                                break
                            if trial and join(net, state[its], rank[its], link, row[then], seen, found):
                                added[joined] = number
                                joined += 1
                                break
                            tried[link - net.begin[node]] = 1
                            link = least_full(net, node, target, level, now, row, load, tried)
                        if link >= 0:
                            row[node], level[node], queue[count] = link, now + 1, node
                            count += 1
                            break
                        tried[:ports] = 0
                begin = end
            if count < nodes:
                for i in range(joined):
                    state[its, added[i]] = 0
        if count < nodes:
            escaped += 1
            _up_down(net, target, weight, heights, row, load)
        else:
            _carry(net, target, row, weight, queue, count, load)
    return escaped


@compiled
def break_cycles(net: Network, start: Ints, hop: Ints, lane: Ints, lanes: int) -> int:
    """Give ways lanes: all the first; of every cycle there the ways of the rarest dependency the next, and so on.

    * ``start``, ``hop``: where the links of each way begin, and the links.
    * ``lane``: of each way.

    Returns: the lanes in use, or -1 if there are too few.
    """
    links, ways = len(net.src), len(start) - 1
    dependencies = net.first[links]
    where, holder = np.zeros(dependencies + 1, np.int64), np.empty(len(hop), np.int64)
    for way in range(ways):
        for i in range(start[way], start[way + 1] - 1):
            where[number_of(net, hop[i], hop[i + 1]) + 1] += 1
    for i in range(dependencies):
        where[i + 1] += where[i]
    fill = where.copy()
    for way in range(ways):
        for i in range(start[way], start[way + 1] - 1):
            number = number_of(net, hop[i], hop[i + 1])
            holder[fill[number]] = way
            fill[number] += 1
    count = np.zeros(dependencies, np.int64)
    colour, stack, port = np.zeros(links, np.int64), np.empty(links, np.int64), np.zeros(links, np.int64)
    lane[:] = 0
    for its in range(lanes + 1):
        count[:] = 0
        some = False
        for way in range(ways):
            if lane[way] == its:
                some = True
                for i in range(start[way], start[way + 1] - 1):
                    count[number_of(net, hop[i], hop[i + 1])] += 1
        if not some:
            return its
        if its == lanes:
            return -1
        colour[:] = 0
        for root in range(links):
            depth = 0
            if colour[root] == 0:
                stack[0], colour[root], port[root], depth = root, 1, 0, 1
            while depth:
                link = stack[depth - 1]
                end = net.dst[link]
                then = net.begin[end] + port[link]
                if then == net.begin[end + 1]:
                    colour[link] = 2
                    depth -= 1
                    continue
                if count[number_of(net, link, then)] == 0 or colour[then] == 2:
                    port[link] += 1
                elif colour[then] == 0:
                    stack[depth], colour[then], port[then] = then, 1, 0
                    depth += 1
                else:  # a cycle: from `then` up to the top of the stack
                    rarest, least, place = number_of(net, link, then), count[number_of(net, link, then)], depth - 1
                    i = depth - 1
                    while stack[i] != then:
                        i -= 1
                        number = number_of(net, stack[i], stack[i + 1])
                        if count[number] < least:
                            rarest, least, place = number, count[number], i
                    for k in range(where[rarest], where[rarest + 1]):
                        way = holder[k]
                        if lane[way] == its:
                            lane[way] = its + 1
                            for j in range(start[way], start[way + 1] - 1):
                                count[number_of(net, hop[j], hop[j + 1])] -= 1
                    # what is on the stack above a link that nothing leads on from any more is looked at again
                    keep = 1
                    while keep < depth and count[number_of(net, stack[keep - 1], stack[keep])]:
                        keep += 1
                    for j in range(min(keep, place + 1), depth):
                        colour[stack[j]] = 0
                    depth = min(keep, place + 1)
    return lanes
