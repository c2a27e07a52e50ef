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
BITS = 24  # of the number of a link


class Network(NamedTuple):
    """Links, by number in the order of the topology."""

    src: Ints  # where each link begins
    dst: Ints  # where it ends
    begin: Ints  # where the links out of a vertex begin
    into: Ints  # links into each vertex, one vertex after another
    into_begin: Ints  # where those of a vertex begin
    first: Ints  # the number of the first dependency of each link, one for each link out of its end
    forwards: Ints  # 1 for a vertex that passes on
    ends: Ints  # 1 for a vertex that sends and receives
    share: Ints  # what a unit counts on a link: inverse to its capacity


@compiled
def number_of(net: Network, link: int, then: int) -> int:
    """Return the number of a dependency."""
    return net.first[link] + then - net.begin[net.dst[link]]  # type: ignore[no-any-return]


@compiled
def join(net: Network, state: Bytes, rank: Ints, link: int, then: int, seen: Ints, found: Ints) -> bool:
    """Add a dependency to the graph of a lane unless that closes a cycle; return whether it is in it."""
    number = number_of(net, link, then)
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
            if state[number_of(net, other, one)] == 1 and rank[other] >= low and not seen[other]:
                seen[other] = 1
                found[total] = other
                total += 1
    for i in range(ahead, total):
        seen[found[i]] = 0
    keys, ranks = np.empty(total, np.int64), np.empty(total, np.int64)
    for i in range(total):
        ranks[i] = rank[found[i]]
        keys[i] = (np.int64(i < ahead) << 2 * BITS) | (ranks[i] << BITS) | found[i]
    sort(keys, 2 * BITS + 4)
    sort(ranks, BITS)
    for i in range(total):
        rank[keys[i] & ((1 << BITS) - 1)] = ranks[i]
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
        if state[number_of(net, last, then)] == 2:
            return False
        last, node = then, net.dst[then]
    last, node, count = link, net.dst[link], 0
    while node != target:
        then = steps[node]
        number = number_of(net, last, then)
        if state[number] != 1:
            if not join(net, state, rank, last, then, seen, found):
                for i in range(count):
                    state[added[i]] = 0
                return False
            added[count] = number
            count += 1
        last, node = then, net.dst[then]
    return True


@compiled
def least_full(
    net: Network, node: int, target: int, level: Ints, wanted: int, steps: Ints, load: Ints, tried: Ints
) -> int:
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
                    chosen = least_full(net, node, target, level, level[node] - 1, row, load, tried)
                while chosen < 0 and its < lanes:
                    link = least_full(net, node, target, level, level[node] - 1, row, load, tried)
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
