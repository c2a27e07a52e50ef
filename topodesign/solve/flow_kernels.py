"""Maximum flow on one residual network whose capacities change.

A flow is never thrown away: :func:`push` adds to what is there (Dinic's algorithm), so that moving a flow from one sink
to the next, or past a link that has lost capacity, costs a few short searches. All numbers are int64; the caller sees
to it that no amount that leaves the source exceeds 2^62.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, tier_kernel

Bools = NDArray[np.bool_]


class Network(NamedTuple):
    """Half-links of a flow network: ``2 * link`` forwards, ``2 * link + 1`` back.

    ``first[vertex]`` is the first half-link out of a vertex and ``following[half]`` the next one, -1 the end;
    ``head[half]`` is where a half-link leads. There is room for more links than are used. The last three are scratch
    of one entry for each vertex; after a push that falls short, ``level`` is at least 0 on the source side of a
    minimum cut and negative elsewhere.
    """

    first: Ints
    following: Ints
    head: Ints
    capacity: Ints
    level: Ints
    current: Ints
    stack: Ints


@compile_kernel
def add_link(network: Network, link: int, src: int, dst: int, capacity: int) -> None:
    """Put a link in an unused place."""
    network.capacity[link] = capacity
    network.head[2 * link] = dst
    network.head[2 * link + 1] = src
    network.following[2 * link] = network.first[src]
    network.first[src] = 2 * link
    network.following[2 * link + 1] = network.first[dst]
    network.first[dst] = 2 * link + 1


@tier_kernel(lambda vertices, src, *_: len(src))
def make_network(vertices: int, src: Ints, dst: Ints, capacity: Ints, room: int) -> Network:
    """Return the network of links, with room for ``room`` links in all."""
    network = Network(
        np.full(vertices, -1, np.int64),
        np.full(2 * room, -1, np.int64),
        np.full(2 * room, -1, np.int64),
        np.zeros(room, np.int64),
        np.zeros(vertices, np.int64),
        np.zeros(vertices, np.int64),
        np.zeros(vertices, np.int64),
    )
    for link in range(len(src) - 1, -1, -1):  # the lists then have the order of the links
        add_link(network, link, src[link], dst[link], capacity[link])
    return network


@compile_kernel
def residual(network: Network, flow: Ints, half: int) -> int:
    """Return how much more can be pushed along a half-link."""
    return int(flow[half >> 1] if half & 1 else network.capacity[half >> 1] - flow[half >> 1])


@tier_kernel(lambda network, *_: len(network.head) // 4)
def search(network: Network, flow: Ints, start: int, end: int) -> bool:
    """Set residual ``level`` breadth first; return whether the end is reached.

    An end of -1 is none.
    """
    level, queue = network.level, network.stack
    level[:] = -1
    level[start] = 0
    queue[0] = start
    taken, waiting = 0, 1
    while taken < waiting:
        vertex = queue[taken]
        taken += 1
        half = network.first[vertex]
        while half >= 0:
            other = network.head[half]
            if level[other] < 0 and residual(network, flow, half) > 0:
                level[other] = level[vertex] + 1
                if other == end:
                    return True
                queue[waiting] = other
                waiting += 1
            half = network.following[half]
    return False


@compile_kernel
def _augment(network: Network, flow: Ints, path: Ints, length: int, most: int) -> int:
    """Push up to ``most`` along a path of half-links; return the amount."""
    amount = most
    for i in range(length):
        amount = min(amount, residual(network, flow, path[i]))
    for i in range(length):
        flow[path[i] >> 1] += -amount if path[i] & 1 else amount
    return amount


@tier_kernel(lambda network, *_: len(network.head) // 2)
def push(network: Network, flow: Ints, start: int, end: int, wanted: int) -> int:
    """Push up to ``wanted`` between vertices in ``flow``; return the amount."""
    level, current, path = network.level, network.current, network.stack
    moved = 0
    while moved < wanted and search(network, flow, start, end):
        for vertex in range(len(current)):  # what an assignment of arrays compiles to takes two seconds
            current[vertex] = network.first[vertex]
        vertex, length = start, 0
        while True:
            if vertex == end:
                moved += _augment(network, flow, path, length, wanted - moved)
                if moved == wanted:
                    return moved
                vertex, length = start, 0
                continue
            half = current[vertex]
            while half >= 0 and (level[network.head[half]] != level[vertex] + 1 or residual(network, flow, half) == 0):
                half = network.following[half]
            current[vertex] = half
            if half >= 0:
                path[length] = half
                length += 1
                vertex = network.head[half]
            elif length == 0:
                break
            else:
                level[vertex] = -1
                length -= 1
                vertex = network.head[path[length] ^ 1]
    return moved


@tier_kernel(lambda network, flow, sinks, *_: len(sinks) * len(network.head) // 2)
def first_unserved(network: Network, flow: Ints, sinks: Ints, begin: int, wanted: int) -> int:
    """Return the first sink that cannot get ``wanted``, or the number of sinks.

    ``flow`` is all zeros at first; the flow to one sink is turned into the flow to the next. At a sink that is not
    served, ``network.level`` tells the minimum cut: an excess that cannot leave the last sink is on the source side.
    """
    last = len(network.first) - 1
    for i in range(begin, len(sinks)):
        if push(network, flow, last, sinks[i], wanted) < wanted:
            return i
        last = sinks[i]
    return len(sinks)


@compile_kernel
def _feeders(network: Network, flow: Ints, end: int) -> None:
    """Set ``level`` of vertices that reach the end in the residual network."""
    level, queue = network.level, network.stack
    level[:] = -1
    level[end] = 0
    queue[0] = end
    taken, waiting = 0, 1
    while taken < waiting:
        half = network.first[queue[taken]]
        taken += 1
        while half >= 0:
            other = network.head[half]
            if level[other] < 0 and residual(network, flow, half ^ 1) > 0:
                level[other] = 0
                queue[waiting] = other
                waiting += 1
            half = network.following[half]


@tier_kernel(lambda network, sinks, wanted: len(sinks) * len(network.head) // 2)
def least_tight_sets(network: Network, sinks: Ints, wanted: int) -> Bools:
    """Return the smallest tight set around each sink, as rows of vertices.

    The network has a source as its last vertex, which can send ``wanted`` to each sink and no more in all, so that at
    the latest the set of all other vertices is one.
    """
    flow = np.zeros(len(network.capacity), np.int64)
    last = len(network.first) - 1
    found = np.empty((len(sinks), last), np.bool_)
    for i in range(len(sinks)):
        push(network, flow, last, sinks[i], wanted)
        last = sinks[i]
        _feeders(network, flow, last)
        for vertex in range(found.shape[1]):
            found[i, vertex] = network.level[vertex] >= 0
    return found


@compile_kernel
def _width(network: Network, links: int, side: Bools) -> int:
    """Return a rank of a cut: fewer links out, then fewer vertices on a side."""
    count, inside = 0, 0
    for link in range(links):
        if side[network.head[2 * link + 1]] and not side[network.head[2 * link]]:
            count += 1
    for vertex in range(len(side)):
        inside += side[vertex]
    return int((count * len(side) + min(inside, len(side) - inside)) * len(side) + inside)


@tier_kernel(lambda network, links, sinks, demand, ends: len(ends) * len(network.head) // 2)
def narrowest_tight_cut(network: Network, links: int, sinks: Ints, demand: Ints, ends: Ints) -> Bools:
    """Return the sending side of a tight cut, preferably one of few links.

    The network has a source as its last vertex, with a link of capacity ``demand`` to each sink after the other
    ``links``, and sends all demand to each of the ``ends``. Looked at are, for every one of these, the largest tight
    side and smallest ones around vertices with demand, until every such vertex of the largest is in one. All False: no
    cut is tight.
    """
    source = len(network.first) - 1
    wanted = 0
    for i in range(len(sinks)):
        wanted += demand[i]
    flow = np.zeros(len(network.capacity), np.int64)
    best, side, missing = np.zeros(source, np.bool_), np.zeros(source, np.bool_), np.zeros(source, np.bool_)
    least = -1
    last = source
    for sink in ends:
        push(network, flow, last, sink, wanted)
        last = sink
        _feeders(network, flow, sink)
        missing[:] = False
        lost = 0
        for i in range(len(sinks)):
            missing[sinks[i]] = demand[i] > 0 and network.level[sinks[i]] < 0
            lost += missing[sinks[i]]
        if lost == 0:
            continue
        for i in range(-1, len(sinks)):
            if i >= 0:
                if not missing[sinks[i]]:
                    continue
                search(network, flow, sinks[i], -1)
            for vertex in range(source):
                side[vertex] = (network.level[vertex] < 0) == (i < 0)
                missing[vertex] = missing[vertex] and (i < 0 or not side[vertex])
            width = _width(network, links, side)
            if least < 0 or width < least:
                least = width
                for vertex in range(source):
                    best[vertex] = side[vertex]
    return best


ROUNDS = 4  # rounds in which the pairs of links at a switch get a part of what is left, before each gets what it can


class Splitting(NamedTuple):
    """A network during removal of switches, with a full flow to each sink.

    ``flows[i]`` goes to ``sinks[i]``, and the source is the last vertex. ``tight`` remembers some sides of cuts that
    have nothing to spare, and ``log`` says for every split which links lost (in, out) and gained how much: in, out,
    gained (-1: it would have been a self-loop), amount. ``used`` counts links, splits and tight sides found so far.
    """

    network: Network
    sinks: Ints
    flows: Ints
    tight: Bools
    log: Ints
    used: Ints


@tier_kernel(lambda network, sinks, *_: len(sinks) * len(network.head) // 2)
def aim_all(network: Network, sinks: Ints, flows: Ints, wanted: int) -> bool:
    """Fill ``flows[i]`` with a flow to ``sinks[i]``; return whether all suffice."""
    last = len(network.first) - 1
    for i in range(len(sinks)):
        for link in range(flows.shape[1] if i else 0):
            flows[i, link] = flows[i - 1, link]
        if push(network, flows[i], last, sinks[i], wanted) < wanted:
            return False
        last = sinks[i]
    return True


@compile_kernel
def _hops_to(network: Network, end: int, avoided: int) -> None:
    """Set ``level`` to distances to the end around a vertex, -1 if unreachable."""
    level, queue = network.level, network.stack
    level[:] = -1
    level[end] = 0
    queue[0] = end
    taken, waiting = 0, 1
    while taken < waiting:
        vertex = queue[taken]
        half = network.first[vertex]
        taken += 1
        while half >= 0:
            other = network.head[half]
            if half & 1 and level[other] < 0 and other != avoided and network.capacity[half >> 1] > 0:
                level[other] = level[vertex] + 1
                queue[waiting] = other
                waiting += 1
            half = network.following[half]


@compile_kernel
def _find_link(network: Network, src: int, dst: int) -> int:
    """Return the first listed link between two vertices, -1 if there is none."""
    half = network.first[src]
    while half >= 0:
        if not half & 1 and network.head[half] == dst:
            return int(half >> 1)
        half = network.following[half]
    return -1


@compile_kernel
def _is_blocked(state: Splitting, u: int, w: int, t: int) -> bool:
    """Return whether a known tight cut forbids replacing u -> w -> t by u -> t."""
    for i in range(min(state.used[2], len(state.tight))):
        side = state.tight[i]
        if side[u] == side[t] and side[u] != side[w]:
            return True
    return False


@compile_kernel
def _take(state: Splitting, into: int, out: int, gained: int, amount: int) -> None:
    """Replace an amount of u -> w -> t by u -> t; a negative one back."""
    state.network.capacity[into] -= amount
    state.network.capacity[out] -= amount
    if gained >= 0:
        state.network.capacity[gained] += amount


@compile_kernel
def _split(state: Splitting, into: int, out: int, gained: int, amount: int) -> int:
    """Replace up to ``amount`` of u -> w -> t by u -> t, within cuts; return it.

    All of it is taken away at first. A flow that used it goes the new way as far as it used both links, and is sent
    round the one that is now too small as far as it did not. What cannot be sent round is by how much too much was
    taken (Theorem 8: the minimum over the cuts that both links cross), and the search that failed shows such a cut.
    """
    network = state.network
    capacity = network.capacity
    u, w, t = network.head[2 * into + 1], network.head[2 * into], network.head[2 * out]
    known = state.used[2]
    _take(state, into, out, gained, amount)
    for i in range(len(state.sinks)):
        flow = state.flows[i]
        excess = max(flow[into] - capacity[into], flow[out] - capacity[out])
        if excess <= 0:
            continue
        both = min(excess, flow[into], flow[out])
        flow[into] -= both
        flow[out] -= both
        if gained >= 0:
            flow[gained] += both
        excess -= both
        if excess == 0:
            continue
        full = into if flow[into] > capacity[into] else out
        flow[full] = capacity[full]
        start, end = (u, w) if full == into else (w, t)
        missing = excess - push(network, flow, start, end, excess)
        if missing == 0:
            continue
        for vertex in range(len(network.level)):  # a cut found before has something to spare again
            state.tight[known % len(state.tight), vertex] = network.level[vertex] >= 0
        state.used[2] = known + 1
        amount -= missing
        _take(state, into, out, gained, -missing)
        flow[full] += missing
        if gained < 0:
            continue
        for j in range(i):
            back = state.flows[j, gained] - capacity[gained]
            if back > 0:
                state.flows[j, gained] -= back
                state.flows[j, into] += back
                state.flows[j, out] += back
        back = flow[gained] - capacity[gained]
        if back > 0:
            flow[gained] -= back
            push(network, flow, u, t, back)
    return amount


@compile_kernel
def _split_pair(state: Splitting, into: int, out: int, most: int) -> int:
    """Split a pair of links at a switch up to an amount, with a log; return it."""
    network, used = state.network, state.used
    u, t = network.head[2 * into + 1], network.head[2 * out]
    gained = -1
    if u != t:
        gained = _find_link(network, u, t)
        if gained < 0:
            gained = used[0]
            add_link(network, gained, u, t, 0)
    amount = _split(state, into, out, gained, min(most, network.capacity[into], network.capacity[out]))
    if amount > 0:
        row = state.log[used[1]]
        row[0], row[1], row[2], row[3] = into, out, gained, amount
        used[1] += 1
        used[0] = max(used[0], gained + 1)
    elif gained == used[0]:  # take the unused link out again; it is the first of both ends
        network.first[u] = network.following[2 * gained]
        network.first[t] = network.following[2 * gained + 1]
    return amount


@compile_kernel
def _farthest(network: Network, into: Ints, tried: Bools, t: int) -> int:
    """Return the untried in-link of a switch farthest from t, -1 if none.

    Links from t come last.

    Among equals the one with the most capacity left, then the next after t.
    """
    best, best_hops, best_left, best_turn = -1, 0, 0, 0
    vertices = len(network.first)
    for i in range(len(into)):
        left = network.capacity[into[i]]
        if left == 0 or tried[i]:
            continue
        u = network.head[2 * into[i] + 1]
        hops = network.level[u]
        if hops < 0:
            hops = vertices
        turn = (u - t) % vertices
        if best < 0 or (hops, left, -turn) > (best_hops, best_left, -best_turn):
            best, best_hops, best_left, best_turn = i, hops, left, turn
    return best


@compile_kernel
def _round(state: Splitting, w: int, into: Ints, outs: Ints, fan: int) -> bool:
    """Try each pair of links at a switch once; return whether any was split.

    With a fan above one, a pair gets no more than its share of the link out or than one part in ``fan`` of it,
    whichever is larger, and none becomes a self-loop. Products of two capacities at the switch must fit into 64 bits.
    """
    network = state.network
    capacity = network.capacity
    tried = np.zeros((len(outs), len(into)), np.bool_)
    before_in, before_out = capacity[into], capacity[outs]
    total = 0
    for most in before_in:
        total += most
    progress, again = False, True
    while again:
        again = False
        for j in range(len(outs)):
            t = network.head[2 * outs[j]]
            if capacity[outs[j]] == 0 or tried[j].all():
                continue
            _hops_to(network, t, w)
            while True:
                i = _farthest(network, into, tried[j], t)
                if i < 0:
                    tried[j] = True
                    break
                tried[j, i] = True
                u = network.head[2 * into[i] + 1]
                if (fan > 1 and u == t) or _is_blocked(state, u, w, t):
                    continue
                most = before_out[j]
                if fan > 1:
                    most = max(-(-before_out[j] * before_in[i] // total), -(-before_out[j] // fan))
                if _split_pair(state, into[i], outs[j], most) > 0:
                    progress, again = True, True
                    break
    return progress


@tier_kernel(lambda state, w, into, outs, fan: len(into) * len(outs) * len(state.sinks))
def remove_switch(state: Splitting, w: int, into: Ints, outs: Ints, fan: int) -> int:
    """Split all links at a switch; return its remaining capacity.

    It is 0 where the theory applies.

    With a fan above one, a few rounds give each pair a part of what is left at the time; then each gets what it can.
    """
    for _ in range(ROUNDS if fan > 1 else 0):
        if not _round(state, w, into, outs, fan):
            break
    _round(state, w, into, outs, 1)
    left = 0
    for out in outs:
        left += state.network.capacity[out]
    return left
