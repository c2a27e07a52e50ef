"""Compiled routing inside a dependency graph that never has a cycle.

A *dependency* is of two links one after the other: a message that waits for the second holds the first. Each lane has a
graph of them, of which every state is known: 0 not asked yet, 1 in the graph, 2 would close a cycle, as it always will,
since dependencies only join. The links of a lane keep an order in which all dependencies go up (Pearce and Kelly, A
Dynamic Topological Sort Algorithm for Directed Acyclic Graphs, 2006), which in the end is the certificate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, compiled, sort

Bytes = NDArray[np.int8]
_BITS = 24  # of the number of a link


class Network(NamedTuple):
    """Links, by number in the order of the topology.

    * ``src``, ``dst``: ends of each link.
    * ``begin``: where the links out of a vertex begin.
    * ``into``, ``into_begin``: links into each vertex, one vertex after another.
    * ``first``: the number of the first dependency of each link, one for each link out of its end.
    * ``forwards``: 1 for a vertex that passes on.
    * ``ends``: 1 for a vertex that sends and receives.
    * ``share``: what a unit counts on a link: inverse to its capacity.
    """

    src: Ints
    dst: Ints
    begin: Ints
    into: Ints
    into_begin: Ints
    first: Ints
    forwards: Ints
    ends: Ints
    share: Ints


class Heights(NamedTuple):
    """What up and down mean.

    * ``order``: the vertices from the root on.
    * ``height``: the place of each vertex in that order; links to an earlier one go up.
    * ``inside``: 1 for the links that may be used so: those of a spanning tree, or all.
    """

    order: Ints
    height: Ints
    inside: Ints


@compiled
def _number(net: Network, link: int, then: int) -> int:
    """Return the number of a dependency."""
    return net.first[link] + then - net.begin[net.dst[link]]  # type: ignore[no-any-return]


@compiled
def _join(net: Network, state: Bytes, rank: Ints, link: int, then: int, seen: Ints, found: Ints) -> bool:
    """Add a dependency to the graph of a lane unless that closes a cycle; return whether it is in it."""
    number = _number(net, link, then)
    if state[number]:
        return state[number] == 1  # type: ignore[no-any-return]
    low, high = rank[then], rank[link]
    if low > high:
        state[number] = 1
        return True
    # from `then` on forwards, up to the rank of `link`
    ahead, at = 1, 0
    found[0], seen[then] = then, 1
    cyclic = link == then
    while at < ahead and not cyclic:
        one = found[at]
        at += 1
        end = net.dst[one]
        for other in range(net.begin[end], net.begin[end + 1]):
            if state[net.first[one] + other - net.begin[end]] == 1 and rank[other] <= high and not seen[other]:
                cyclic = cyclic or other == link
                seen[other] = 1
                found[ahead] = other
                ahead += 1
    for i in range(ahead):
        seen[found[i]] = 0
    if cyclic:
        state[number] = 2
        return False
    total = ahead
    found[total], seen[link] = link, 1
    total += 1
    at = ahead
    while at < total:
        one = found[at]
        at += 1
        start = net.src[one]
        for i in range(net.into_begin[start], net.into_begin[start + 1]):
            other = net.into[i]
            if state[_number(net, other, one)] == 1 and rank[other] >= low and not seen[other]:
                seen[other] = 1
                found[total] = other
                total += 1
    for i in range(ahead, total):
        seen[found[i]] = 0
    keys, ranks = np.empty(total, np.int64), np.empty(total, np.int64)
    for i in range(total):
        ranks[i] = rank[found[i]]
        keys[i] = (np.int64(i < ahead) << 2 * _BITS) | (ranks[i] << _BITS) | found[i]
    sort(keys, 2 * _BITS + 4)
    sort(ranks, _BITS)
    for i in range(total):
        rank[keys[i] & ((1 << _BITS) - 1)] = ranks[i]
    state[number] = 1
    return True


@compiled
def _fits(
    net: Network, steps: Ints, target: int, link: int, state: Bytes, rank: Ints, seen: Ints, found: Ints, added: Ints
) -> bool:
    """Add all dependencies of the way over a link and then by the steps to a target, or none; return whether it is."""
    last, node = link, net.dst[link]
    while node != target:
        then = steps[node]
        if state[_number(net, last, then)] == 2:
            return False
        last, node = then, net.dst[then]
    last, node, count = link, net.dst[link], 0
    while node != target:
        then = steps[node]
        number = _number(net, last, then)
        if state[number] != 1:
            if not _join(net, state, rank, last, then, seen, found):
                for i in range(count):
                    state[added[i]] = 0
                return False
            added[count] = number
            count += 1
        last, node = then, net.dst[then]
    return True


@compiled
def _least(net: Network, node: int, target: int, level: Ints, wanted: int, steps: Ints, load: Ints, tried: Ints) -> int:
    """Return the link of a node to a vertex of a level that passes on, with the least full way on; -1 if there is none.

    Full is a way as its fullest link is; of ways as full the one with less on all links is taken.
    """
    best, least, lightest = -1, LARGEST, LARGEST
    for link in range(net.begin[node], net.begin[node + 1]):
        end = net.dst[link]
        if level[end] == wanted and (end == target or net.forwards[end]) and not tried[link - net.begin[node]]:
            most = (load[link] + 1) * net.share[link]
            total = most
            while end != target and most <= least:
                now = (load[steps[end]] + 1) * net.share[steps[end]]
                most, total, end = max(most, now), total + now, net.dst[steps[end]]
            if most < least or (most == least and total < lightest):
                best, least, lightest = link, most, total
    return best


@compiled
def grow_trees(
    net: Network, order: Ints, weight: Ints, steps: Ints, lane: Ints, load: Ints, state: Bytes, rank: Ints
) -> int:
    """Route all pairs over shortest paths, each in the first lane where its dependencies close no cycle.

    One target after another, and of each the nearest vertices first: the link out of a vertex is the one with the least
    full way of those in the first lane that any of them fits. What is routed already, without lanes, is routed anew.

    * ``order``: the targets.
    * ``weight``: what goes from a vertex to a target, a row for each vertex.
    * ``steps``: for each target a row with the link out of every vertex.
    * ``lane``: for each target a row with the lane of every source.
    * ``load``: what all links carry.
    * ``state``, ``rank``: a row for every lane; without lanes none are given.

    Returns: the lanes in use; or -1 if there are too few, -2 - v if vertex v cannot reach a target.
    """
    nodes, links, lanes = len(net.begin) - 1, len(net.src), len(state)
    level, queue = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    seen, found, added = np.zeros(links, np.int64), np.empty(links + 1, np.int64), np.empty(nodes, np.int64)
    tried = np.zeros(links, np.int64)
    used = 1
    for target in order:
        row = steps[target]
        for node in range(nodes):
            place = node
            while place != target and row[place] >= 0 and weight[node, target]:
                load[row[place]] -= weight[node, target]
                place = net.dst[row[place]]
        level[:] = -1
        level[target], queue[0] = 0, target
        count, at = 1, 0
        while at < count:
            node = queue[at]
            at += 1
            if node != target:
                ports = net.begin[node + 1] - net.begin[node]
                tried[:ports] = 0
                chosen, its = -1, 0
                if lanes == 0 or net.ends[node] == 0:
                    chosen = _least(net, node, target, level, level[node] - 1, row, load, tried)
                while chosen < 0 and its < lanes:
                    link = _least(net, node, target, level, level[node] - 1, row, load, tried)
                    if link < 0:
                        its += 1
                        tried[:ports] = 0
                    elif _fits(net, row, target, link, state[its], rank[its], seen, found, added):
                        chosen = link
                    else:
                        tried[link - net.begin[node]] = 1
                if chosen < 0:
                    return -1
                row[node], lane[target, node] = chosen, its
                used = max(used, its + 1)
                place = node
                while place != target:
                    load[row[place]] += weight[node, target]
                    place = net.dst[row[place]]
            if node == target or net.forwards[node]:
                for i in range(net.into_begin[node], net.into_begin[node + 1]):
                    source = net.src[net.into[i]]
                    if level[source] < 0:
                        level[source], queue[count] = level[node] + 1, source
                        count += 1
        for node in range(nodes):
            if level[node] < 0 and net.ends[node]:
                return -2 - node
    return used


@compiled
def fit_lanes(net: Network, order: Ints, steps: Ints, lane: Ints, state: Bytes, rank: Ints) -> int:
    """Give each pair the first lane where its way closes no cycle; return the lanes in use, or -1 if there are too few.

    What it takes is as for ``grow_trees``. The ranks suit all pairs that fit, also where some do not.
    """
    nodes, links, lanes = len(net.begin) - 1, len(net.src), len(state)
    seen, found, added = np.zeros(links, np.int64), np.empty(links + 1, np.int64), np.empty(nodes, np.int64)
    used = 1
    for target in order:
        row = steps[target]
        for node in range(nodes):
            if node == target or not net.ends[node]:
                continue
            its = 0
            while its < lanes and not _fits(net, row, target, row[node], state[its], rank[its], seen, found, added):
                its += 1
            lane[target, node] = its
            used = max(used, its + 1)
    return used if used <= lanes else -1


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
    sort(far, 2 * _BITS)
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
                    _join(net, state[its], rank[its], link, then, seen, found)
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
                        link = _least(net, node, target, level, now, row, load, tried)
                        while link >= 0:
                            then = net.dst[link]
                            if then == target:
                                break
                            number = _number(net, link, row[then])
                            known = state[its, number]
                            if known == 1:
                                break
                            if trial and _join(net, state[its], rank[its], link, row[then], seen, found):
                                added[joined] = number
                                joined += 1
                                break
                            tried[link - net.begin[node]] = 1
                            link = _least(net, node, target, level, now, row, load, tried)
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
            where[_number(net, hop[i], hop[i + 1]) + 1] += 1
    for i in range(dependencies):
        where[i + 1] += where[i]
    fill = where.copy()
    for way in range(ways):
        for i in range(start[way], start[way + 1] - 1):
            number = _number(net, hop[i], hop[i + 1])
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
                    count[_number(net, hop[i], hop[i + 1])] += 1
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
                if count[_number(net, link, then)] == 0 or colour[then] == 2:
                    port[link] += 1
                elif colour[then] == 0:
                    stack[depth], colour[then], port[then] = then, 1, 0
                    depth += 1
                else:  # a cycle: from `then` up to the top of the stack
                    rarest, least, place = _number(net, link, then), count[_number(net, link, then)], depth - 1
                    i = depth - 1
                    while stack[i] != then:
                        i -= 1
                        number = _number(net, stack[i], stack[i + 1])
                        if count[number] < least:
                            rarest, least, place = number, count[number], i
                    for k in range(where[rarest], where[rarest + 1]):
                        way = holder[k]
                        if lane[way] == its:
                            lane[way] = its + 1
                            for j in range(start[way], start[way + 1] - 1):
                                count[_number(net, hop[j], hop[j + 1])] -= 1
                    # what is on the stack above a link that nothing leads on from any more is looked at again
                    keep = 1
                    while keep < depth and count[_number(net, stack[keep - 1], stack[keep])]:
                        keep += 1
                    for j in range(min(keep, place + 1), depth):
                        colour[stack[j]] = 0
                    depth = min(keep, place + 1)
    return lanes
