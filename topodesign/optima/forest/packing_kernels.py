"""Inner loops of tree packing.

Trees grow level by level, and on each level node by node. Say that the trees i, of weight m(i), have reached the node
sets R(i) and the links have capacities g left. They can all be completed if and only if for every node y

    a flow exists to y of m(i) from every tree i that has not reached y, where the flow of i may start anywhere in R(i).

(Tarjan; ForestColl, Theorems 9 and 11.) A tree i with x in R(i) may take the link (x, y) if that still holds
afterwards, and of all sinks only y needs a look: every cut that the step weakens separates x from y (Theorem 12). So
one flow to y says at once which trees may take which links into y: those whose own flow starts at a neighbour x of y
and goes over (x, y). The others can if what goes over the link instead finds another way.

A flow is kept in ``flow``, one number per link, and in entries (tree, node, amount): how much of the flow of a tree
starts at a node. Where a tree enters is free to change, so residual paths may go back through a tree: node, tree that
enters there, another node of that tree. All numbers are int64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, tier_kernel

DONE, NO_ROOM, IMPOSSIBLE = 0, 1, 2


class Network(NamedTuple):
    """Links with remaining capacity, as residual arcs by node.

    Arcs of node u are ``first[u]:first[u + 1]``: every link out of u (``out`` 1) and into u (``out`` 0), with the index
    of the link and the node at the other end. ``left`` is the capacity that no tree has taken, one number per link.
    """

    first: Ints
    link: Ints
    other: Ints
    out: Ints
    left: Ints
    flow: Ints


class Forest(NamedTuple):
    """Growing trees; arrays have more rows than ``trees[0]``.

    ``member[i, :size[i]]`` are the nodes of tree i in the order they were reached; ``within`` has bit i of row u set if
    tree i has reached u; ``depth`` is -1 for nodes not reached, whose ``parent`` means nothing.
    """

    trees: Ints
    weight: Ints
    size: Ints
    member: NDArray[np.int32]
    depth: NDArray[np.int32]
    parent: NDArray[np.int32]
    within: Masks


class Entries(NamedTuple):
    """Starts of tree flows: (tree, node, amount), chained twice."""

    used: Ints
    tree: Ints
    node: Ints
    amount: Ints
    next_of_tree: Ints
    next_at_node: Ints
    of_tree: Ints
    at_node: Ints


class Search(NamedTuple):
    """Scratch of searches by vertex: nodes, then trees.

    ``dead`` are vertices that no residual path leaves, so that what flows through them finds no other way.
    """

    distance: Ints
    arc_cursor: Ints
    entry_cursor: Ints
    queue: Ints
    came_from: Ints
    via: Ints
    excess: Ints
    unsent: Ints
    dead: NDArray[np.bool_]
    todo: Masks


@compile_kernel
def _lowest_bit(mask: np.uint64) -> int:
    """Return the position of the lowest one."""
    position = 0
    for shift in (32, 16, 8, 4, 2, 1):
        low = np.uint64((1 << shift) - 1)
        if not mask & low:
            mask >>= np.uint64(shift)
            position += shift
    return position


@compile_kernel
def _entry(tree: int, node: int, entries: Entries) -> int:
    """Return the entry of a tree at a node, made if needed."""
    at: int = entries.of_tree[tree]
    while at >= 0:
        if entries.node[at] == node:
            return at
        at = entries.next_of_tree[at]
    at = entries.used[0]
    entries.used[0] += 1
    entries.tree[at], entries.node[at], entries.amount[at] = tree, node, 0
    entries.next_of_tree[at], entries.of_tree[tree] = entries.of_tree[tree], at
    entries.next_at_node[at], entries.at_node[node] = entries.at_node[node], at
    return at


@compile_kernel
def _measure(sink: int, level: int, net: Network, forest: Forest, entries: Entries, search: Search) -> bool:
    """Find residual distances to the sink; return if a tree is met.

    Below a level of ``LARGEST`` only links into the sink count, and trees that may take one at that level.
    """
    nodes, trees = len(net.first) - 1, forest.trees[0]
    distance, queue, todo = search.distance, search.queue, search.todo
    distance[: nodes + trees] = -1
    for word in range((trees + 63) // 64):
        todo[word] = ~forest.within[sink, word]
    if trees % 64:
        todo[trees // 64] &= (np.uint64(1) << np.uint64(trees % 64)) - np.uint64(1)
    distance[sink] = 0
    queue[0] = sink
    head, tail, last = 0, 1, LARGEST
    while head < tail and distance[queue[head]] < last:
        at = queue[head]
        head += 1
        near = distance[at] + 1
        if at >= nodes:
            entry = entries.of_tree[at - nodes]
            while entry >= 0:
                node = entries.node[entry]
                if entries.amount[entry] > 0 and distance[node] < 0:
                    distance[node] = near
                    queue[tail] = node
                    tail += 1
                entry = entries.next_of_tree[entry]
            continue
        if at == sink or level == LARGEST:
            for arc in range(net.first[at], net.first[at + 1]):
                link, node = net.link[arc], net.other[arc]
                room = net.flow[link] if net.out[arc] else net.left[link] - net.flow[link]
                if room > 0 and distance[node] < 0:
                    distance[node] = near
                    queue[tail] = node
                    tail += 1
        for word in range((trees + 63) // 64):
            fresh = forest.within[at, word] & todo[word]
            while fresh:
                lowest = fresh & (~fresh + np.uint64(1))
                fresh ^= lowest
                tree = word * 64 + _lowest_bit(lowest)
                if level < LARGEST and forest.depth[tree, at] != level - 1:
                    continue
                todo[word] ^= lowest
                distance[nodes + tree] = near
                queue[tail] = nodes + tree
                tail += 1
                if search.unsent[tree] > 0:
                    last = near
    return last < LARGEST


@compile_kernel
def _room(at: int, to: int, via: int, net: Network, entries: Entries) -> int:
    """Return how much fits on a residual step between two vertices."""
    nodes = len(net.first) - 1
    room: int = LARGEST
    if at < nodes and to >= nodes:
        room = entries.amount[via]
    elif at < nodes:
        link = net.link[via]
        room = net.left[link] - net.flow[link] if net.out[via] else net.flow[link]
    return room


@compile_kernel
def _shift(at: int, to: int, via: int, amount: int, net: Network, entries: Entries) -> None:
    """Send so much over a residual step."""
    nodes = len(net.first) - 1
    if at >= nodes:
        entries.amount[_entry(at - nodes, to, entries)] += amount
    elif to >= nodes:
        entries.amount[via] -= amount
    else:
        net.flow[net.link[via]] += amount if net.out[via] else -amount


@compile_kernel
def _send(tree: int, sink: int, net: Network, forest: Forest, entries: Entries, search: Search) -> int:
    """Send a tree's flow along a shortest path; return the amount."""
    nodes, path, via = len(net.first) - 1, search.queue, search.via
    distance, cursor, entry_cursor = search.distance, search.arc_cursor, search.entry_cursor
    at = path[0] = nodes + tree
    length = 0
    while at != sink:
        near = distance[at] - 1
        following = -1
        if at >= nodes:
            while cursor[at] < forest.size[at - nodes] and following < 0:
                node = forest.member[at - nodes, cursor[at]]
                if distance[node] == near:
                    following = node
                else:
                    cursor[at] += 1
        else:
            while cursor[at] < net.first[at + 1] and following < 0:
                arc = cursor[at]
                link, node = net.link[arc], net.other[arc]
                room = net.left[link] - net.flow[link] if net.out[arc] else net.flow[link]
                if room > 0 and distance[node] == near:
                    following, via[at] = node, arc
                else:
                    cursor[at] += 1
            while following < 0 and entry_cursor[at] >= 0:
                entry = entry_cursor[at]
                vertex = nodes + entries.tree[entry]
                if entries.amount[entry] > 0 and distance[vertex] == near:
                    following, via[at] = vertex, entry
                else:
                    entry_cursor[at] = entries.next_at_node[entry]
        if following >= 0:
            length += 1
            at = path[length] = following
        elif length == 0:
            return 0
        else:
            distance[at] = -1
            length -= 1
            at = path[length]
    amount: int = search.unsent[tree]
    for step in range(length):
        amount = min(amount, _room(path[step], path[step + 1], via[path[step]], net, entries))
    for step in range(length):
        _shift(path[step], path[step + 1], via[path[step]], amount, net, entries)
    search.unsent[tree] -= amount
    return amount


@compile_kernel
def _fill(sink: int, level: int, net: Network, forest: Forest, entries: Entries, search: Search) -> None:
    """Send the remaining flow of trees (Dinic's algorithm)."""
    nodes, trees = len(net.first) - 1, forest.trees[0]
    while _measure(sink, level, net, forest, entries, search):
        for node in range(nodes):
            search.arc_cursor[node] = net.first[node]
            search.entry_cursor[node] = entries.at_node[node]
        search.arc_cursor[nodes : nodes + trees] = 0
        for tree in range(trees):
            while search.unsent[tree] > 0 and search.distance[nodes + tree] >= 0:
                if not _send(tree, sink, net, forest, entries, search):
                    break


@compile_kernel
def _free(start: int, tree: int, sink: int, net: Network, forest: Forest, entries: Entries, search: Search) -> int:
    """Return the end of a residual path from a node, or -1.

    The path is in ``came_from`` and ``via``, its end the sink or the tree. The link from ``start`` to the sink is left
    out. If the search fails, ``came_from`` tells what it reached.
    """
    nodes, trees = len(net.first) - 1, forest.trees[0]
    came_from, queue = search.came_from, search.queue
    came_from[: nodes + trees] = -1
    came_from[start] = start
    queue[0] = start
    avoid = not search.dead[nodes + tree]
    head, tail, unseen = 0, 1, nodes - 2
    while head < tail:
        at = queue[head]
        head += 1
        if at >= nodes:
            for place in range(forest.size[at - nodes] if unseen else 0):
                node = forest.member[at - nodes, place]
                if came_from[node] < 0 and not (avoid and search.dead[node]):
                    came_from[node] = at
                    queue[tail] = node
                    tail += 1
                    unseen -= 1
            continue
        entry = entries.at_node[at]
        while entry >= 0:
            vertex: int = nodes + entries.tree[entry]
            if entries.amount[entry] > 0 and came_from[vertex] < 0:
                came_from[vertex] = at
                search.via[vertex] = entry
                if vertex == nodes + tree:
                    return vertex
                queue[tail] = vertex
                tail += 1
            entry = entries.next_at_node[entry]
        for arc in range(net.first[at], net.first[at + 1]):
            node = net.other[arc]
            if came_from[node] >= 0 or (at == start and node == sink) or (avoid and search.dead[node]):
                continue
            link = net.link[arc]
            if (net.left[link] > net.flow[link]) if net.out[arc] else (net.flow[link] > 0):
                came_from[node] = at
                search.via[node] = arc
                if node == sink:
                    return sink
                queue[tail] = node
                tail += 1
                unseen -= 1
    return -1


@compile_kernel
def _withdraw(tree: int, amount: int, sink: int, net: Network, entries: Entries, search: Search) -> None:
    """Withdraw flow of a tree, from its entries to the sink."""
    excess, queue = search.excess, search.queue
    entry = entries.of_tree[tree]
    while amount > 0:
        part = min(amount, entries.amount[entry])
        entries.amount[entry] -= part
        amount -= part
        at = queue[0] = entries.node[entry]
        excess[at] = part
        waiting = 1 if part > 0 else 0
        while waiting:
            waiting -= 1
            at = queue[waiting]
            for arc in range(net.first[at], net.first[at + 1]):
                link, node = net.link[arc], net.other[arc]
                back = min(excess[at], net.flow[link]) if net.out[arc] else 0
                if back > 0:
                    net.flow[link] -= back
                    excess[at] -= back
                    if search.dead[at] and not search.dead[node]:
                        search.dead[:] = False
                    if node != sink:
                        if excess[node] == 0:
                            queue[waiting] = node
                            waiting += 1
                        excess[node] += back
        entry = entries.next_of_tree[entry]


@compile_kernel
def _claim(
    tree: int, source: int, sink: int, link: int, net: Network, forest: Forest, entries: Entries, search: Search
) -> int:
    """Give a tree link capacity into the sink; return the amount.

    What else flows over the link makes way. The flow of so much of the tree is taken back, as it has now arrived.
    """
    nodes, came_from, via = len(net.first) - 1, search.came_from, search.via
    want = min(net.left[link], forest.weight[tree])
    entry = _entry(tree, source, entries)
    back = min(want, net.flow[link], entries.amount[entry])
    entries.amount[entry] -= back
    net.flow[link] -= back
    over = max(0, net.flow[link] + want - net.left[link])
    while over > 0:
        end = _free(source, tree, sink, net, forest, entries, search)
        if end < 0:
            break
        amount, at = over, end
        while at != source:
            amount = min(amount, _room(came_from[at], at, via[at], net, entries))
            at = came_from[at]
        at = end
        while at != source:
            _shift(came_from[at], at, via[at], amount, net, entries)
            at = came_from[at]
        net.flow[link] -= amount
        over -= amount
        if end >= nodes:
            back += amount
    taken: int = want - over
    net.left[link] -= taken
    _withdraw(tree, taken - back, sink, net, entries, search)
    return taken


@compile_kernel
def _join(tree: int, source: int, sink: int, taken: int, forest: Forest) -> None:
    """Extend weight of a tree to the sink, splitting the tree."""
    taker = tree
    if taken < forest.weight[tree]:
        taker = forest.trees[0]
        forest.trees[0] += 1
        forest.weight[tree] -= taken
        forest.weight[taker] = taken
        forest.size[taker] = forest.size[tree]
        for place in range(forest.size[tree]):
            node = forest.member[tree, place]
            forest.member[taker, place] = node
            forest.depth[taker, node] = forest.depth[tree, node]
            forest.parent[taker, node] = forest.parent[tree, node]
            forest.within[node, taker // 64] |= np.uint64(1) << np.uint64(taker % 64)
    forest.member[taker, forest.size[taker]] = sink
    forest.size[taker] += 1
    forest.depth[taker, sink] = forest.depth[taker, source] + 1
    forest.parent[taker, sink] = source
    forest.within[sink, taker // 64] |= np.uint64(1) << np.uint64(taker % 64)


@compile_kernel
def _can_reach(sink: int, level: int, net: Network, forest: Forest) -> bool:
    """Return whether some tree could reach the sink at this level."""
    for arc in range(net.first[sink], net.first[sink + 1]):
        if not net.out[arc] and net.left[net.link[arc]] > 0:
            node = net.other[arc]
            for tree in range(forest.trees[0]):
                if forest.depth[tree, node] == level - 1 and forest.depth[tree, sink] < 0:
                    return True
    return False


@compile_kernel
def _take_whole(sink: int, level: int, net: Network, forest: Forest, entries: Entries, search: Search) -> None:
    """Extend trees whose whole flow comes over one link."""
    for arc in range(net.first[sink], net.first[sink + 1]):
        link, source = net.link[arc], net.other[arc]
        entry = -1 if net.out[arc] else entries.at_node[source]
        while entry >= 0:
            tree = entries.tree[entry]
            weight = forest.weight[tree]
            ready = forest.depth[tree, source] == level - 1 and forest.depth[tree, sink] < 0
            if ready and entries.amount[entry] == weight and net.flow[link] >= weight:
                _claim(tree, source, sink, link, net, forest, entries, search)
                _join(tree, source, sink, weight, forest)
            entry = entries.next_at_node[entry]


@tier_kernel(lambda sink, level, net, *_: len(net.link))
def grow(sink: int, level: int, net: Network, forest: Forest, entries: Entries, search: Search) -> int:
    """Let all possible trees reach a node at this level.

    Return ``DONE``; ``NO_ROOM`` if the forest has no room for another tree (call again with more room); ``IMPOSSIBLE``
    if the trees cannot all be completed.
    """
    if not _can_reach(sink, level, net, forest):
        return DONE
    trees = forest.trees[0]
    net.flow[:] = 0
    entries.used[0] = 0
    entries.of_tree[:trees] = -1
    entries.at_node[:] = -1
    search.dead[:] = False
    for tree in range(trees):
        search.unsent[tree] = forest.weight[tree] if forest.depth[tree, sink] < 0 else 0
    for most in (level, LARGEST):
        _fill(sink, most, net, forest, entries, search)
    for tree in range(trees):
        if search.unsent[tree] > 0:
            return IMPOSSIBLE
    _take_whole(sink, level, net, forest, entries, search)
    outcome = DONE
    for whole in (True, False):
        if outcome == DONE:
            outcome = _take_more(whole, sink, level, trees, net, forest, entries, search)
    return outcome


@compile_kernel
def _take_more(
    whole: bool, sink: int, level: int, trees: int, net: Network, forest: Forest, entries: Entries, search: Search
) -> int:
    """Extend other trees, in whole or in part."""
    nodes, dead = len(net.first) - 1, search.dead
    for tree in range(trees):
        for arc in range(net.first[sink], net.first[sink + 1]):
            link, source = net.link[arc], net.other[arc]
            if net.out[arc] or forest.depth[tree, sink] >= 0 or forest.depth[tree, source] != level - 1:
                continue
            if net.left[link] < (forest.weight[tree] if whole else 1) or (dead[source] and not dead[nodes + tree]):
                continue
            if forest.trees[0] == len(forest.weight):
                return NO_ROOM
            want = min(net.left[link], forest.weight[tree])
            taken = _claim(tree, source, sink, link, net, forest, entries, search)
            if taken > 0:
                _join(tree, source, sink, taken, forest)
            if taken < want:
                for vertex in range(nodes + trees):
                    dead[vertex] |= search.came_from[vertex] >= 0
    return DONE
