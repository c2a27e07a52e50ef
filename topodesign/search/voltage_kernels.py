"""Compiled climb over voltage lifts: one link's voltage at a time, priced from one node of each orbit.

A lift has m orbits of k nodes, node (u, g) being u*k + g. Cayley digraphs are the lifts of a base with one node. All
loads are whole multiples of 1/SCALE shards per link, so costs are exact integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compiled, next_random
from topodesign.pricing.kernels import SCALE, _bits, _raise_load, _split_scale

Nodes = NDArray[np.int32]
MOST_STEPS = 2**14 - 1
"""Distances that fit beside a mask of 16 links in 31 bits."""

_FEW = 5  # with up to so many links all sets of links are looked at


@compiled
def multiply_rows(table: Nodes, first: int, one: Ints, other: Ints) -> None:
    """Fill rows from ``first`` on: the multiplication by a product is one multiplication after the other."""
    for i in range(len(one)):
        for g in range(table.shape[1]):
            table[first + i, g] = table[other[i], table[one[i], g]]


@compiled
def invert_rows(table: Nodes, rows: int) -> None:
    """Write the inverses of the first rows, as permutations, into as many rows after them."""
    for i in range(rows):
        for g in range(table.shape[1]):
            table[rows + i, table[i, g]] = g


class _Way(NamedTuple):
    """One direction of the links: the lift (reduce-scatter) or its transpose (allgather).

    Node v's d links are entries ``v*d`` to ``v*d + d-1`` of ``dst``.
    """

    orbit: Ints
    """Orbit that the link leaves."""
    number: Ints
    """Which of that orbit's d links it is."""
    head: Ints
    """Orbit that the link enters."""
    dst: Nodes
    """Ends of all links, shape ``(m*k*d,)``."""
    there: Ints
    """Voltage of each link as written into ``dst``, -1 for none yet."""


class _Scratch(NamedTuple):
    """Arrays that one walk after another writes over."""

    state: Nodes
    queue: Nodes
    tally: Nodes
    masks: Nodes
    load: Ints
    group_mask: Masks
    group_count: Ints
    ones: Ints
    sums: Ints


@compiled
def _scratch(nodes: int, links: int) -> _Scratch:
    return _Scratch(
        np.empty(nodes, np.int32),
        np.empty(nodes + 1, np.int32),
        np.zeros(1 << links, np.int32),
        np.empty(nodes, np.int32),
        np.empty(links, np.int64),
        np.empty(nodes, np.uint64),
        np.empty(nodes, np.int64),
        np.ones(links, np.int64),
        np.empty(1 << min(links, _FEW), np.int64),
    )


@compiled
def _way(tail: Ints, head: Ints, orbits: int, nodes: int) -> _Way:
    links = len(tail)
    number, used = np.empty(links, np.int64), np.zeros(orbits, np.int64)
    for link in range(links):
        number[link] = used[tail[link]]
        used[tail[link]] += 1
    return _Way(tail, number, head, np.empty(nodes * (links // orbits), np.int32), np.full(links, -1))


@compiled
def _write(way: _Way, voltage: Ints, table: Nodes, degree: int) -> None:
    """Bring ``dst`` up to date where a voltage has changed."""
    order = table.shape[1]
    for link in range(len(voltage)):
        if way.there[link] != voltage[link]:
            way.there[link] = voltage[link]
            row = table[voltage[link]]
            first, base = way.orbit[link] * order, way.head[link] * order
            for g in range(order):
                way.dst[(first + g) * degree + way.number[link]] = base + row[g]


@compiled
def _layer_load(first: int, last: int, links: int, scratch: _Scratch) -> int:
    """Return SCALE * U of the layer that is in the queue from first to last."""
    state, queue, tally, masks, load, group_mask, group_count, ones, sums = scratch
    groups = 0
    for i in range(first, last):
        mask = state[queue[i]] & 0xFFFF
        if tally[mask] == 0:
            masks[groups] = mask
            groups += 1
        tally[mask] += 1
    load[:] = 0
    for g in range(groups):
        mask = masks[g]
        share = tally[mask] * (SCALE // _bits(np.uint64(mask)))
        for link in range(links):
            if mask >> link & 1:
                load[link] += share
    total = (last - first) * SCALE
    if load.max() * links <= total:
        result = total // links
    elif links <= _FEW:
        sums[:] = 0
        for g in range(groups):
            sums[masks[g]] = tally[masks[g]]
        for link in range(links):
            for chosen in range(len(sums)):
                if chosen >> link & 1:
                    sums[chosen] += sums[chosen ^ 1 << link]
        result = 0
        for chosen in range(1, len(sums)):
            result = max(result, sums[chosen] * (SCALE // _bits(np.uint64(chosen))))
    else:
        for g in range(groups):
            group_mask[g] = np.uint64(masks[g])
            group_count[g] = tally[masks[g]]
        p, q = _raise_load(groups, group_mask, group_count, ones, 0, 1, _split_scale(links), load)
        result = p * (SCALE // q)
    for g in range(groups):
        tally[masks[g]] = 0
    return result


@compiled
def _walk(
    source: int, dst: Nodes, links: int, depth: int, spare: int, loads: Ints, limit: int, scratch: _Scratch
) -> tuple[int, int, int]:
    """Walk breadth first to a depth; return nodes not reached, the largest distance and links looked at.

    ``state`` is 0 for a node not reached, else MOST_STEPS less its distance in the high bits and its next-hop mask in
    the low ones, so that one comparison tells whether a link leads on.

    With a limit above zero the layers' loads are raised too. The walk is given up, with -1 for the nodes, when more
    than ``spare`` nodes cannot be reached any more or d * (sum of loads) is certain to pass the limit.
    """
    state, queue = scratch.state, scratch.queue
    nodes = len(state)
    state[:] = 0
    state[source] = MOST_STEPS << 16
    queue[0] = source
    first, last, reached, x = 0, 1, 1, 0
    total = 0
    for load in loads:
        total += load
    while first < last and x < depth and reached < nodes:
        x += 1
        tag = np.int32((MOST_STEPS - x) << 16)
        bound = np.int32((MOST_STEPS - x + 1) << 16)
        for i in range(first, last):
            node = queue[i]
            mine = tag | state[node] & np.int32(0xFFFF)
            for j in range(links):
                end = dst[node * links + j]
                if x == 1:
                    mine = tag | np.int32(1 << j)
                seen = state[end]
                queue[reached] = end  # kept only if it is new: the loop has no branch that is hard to predict
                reached += seen == 0
                state[end] = seen | (mine if seen < bound else np.int32(0))
        first, last = last, reached
        if limit > 0:
            load = _layer_load(first, last, links, scratch)
            if load > loads[x]:
                total += load - loads[x]
                loads[x] = load
            ahead = total
            for further in range(x + 1, len(loads)):
                ahead -= loads[further]
            if max(total * links, ahead * links + (nodes - reached) * SCALE) > limit:
                return -1, 0, first * links
        else:
            most, layer = reached, last - first
            for _ in range(x, depth):
                layer *= links
                most += layer
                if most >= nodes:
                    break
            if nodes - most > spare:
                return -1, 0, first * links
    return nodes - reached, x, first * links


@compiled
def _missing(
    way: _Way, orbits: int, links: int, depth: int, limit: int, loads: Ints, scratch: _Scratch
) -> tuple[int, int]:
    """Return how many nodes the orbits' first nodes do not reach within the depth (-1 if over limit), and the work."""
    order = len(scratch.state) // orbits
    missing, work = 0, 0
    for orbit in range(orbits):
        lost, _, looked = _walk(orbit * order, way.dst, links, depth, limit - missing, loads, 0, scratch)
        work += looked
        if lost < 0 or missing + lost > limit:
            return -1, work
        missing += lost
    return missing, work


@compiled
def _cost(
    way: _Way, orbits: int, links: int, depth: int, limit: int, loads: Ints, scratch: _Scratch
) -> tuple[int, int, int]:
    """Return d * SCALE * (sum of loads) (-1 if over the limit), steps and work."""
    order = len(scratch.state) // orbits
    loads[:] = 0
    steps, work = 0, 0
    for orbit in range(orbits):
        lost, far, looked = _walk(orbit * order, way.dst, links, depth, 0, loads, limit, scratch)
        work += looked
        if lost != 0:
            return -1, 0, work
        steps = max(steps, far)
    return loads.sum() * links, steps, work


@compiled
def _keep(cost: int, steps: int, voltage: Ints, dearer: int, allowed: Ints, found: Ints) -> None:
    found[steps, :-1] = voltage
    found[steps, -1] = dearer
    for more in range(steps, len(allowed)):
        allowed[more] = min(allowed[more], cost)


@compiled
def _draw(count: int, state: Masks) -> int:
    return int(next_random(state) % np.uint64(count))


@compiled
def _redraw(link: int, voltage: Ints, images: Ints, leader: Ints, image: Ints, involutions: Ints, state: Masks) -> None:
    """Draw a new voltage for a leading link and those that follow it."""
    if leader[link] != link:
        return
    if image[link] == 1:
        voltage[link] = involutions[_draw(len(involutions), state)]
        return
    voltage[link] = _draw(images.shape[1], state)
    for other in range(len(leader)):
        if leader[other] == link:
            voltage[other] = images[image[other], voltage[link]]


class Base(NamedTuple):
    """A base digraph whose links get voltages, and the group that they are from.

    Attributes
    ----------
    table
        ``table[i, g]`` is g times the i-th element of a pool, shape ``(pool, k)``.
    images
        Maps of the pool to itself, shape ``(r, pool)``: 0 is the identity, 1 takes each element to its inverse.
    tail, head
        Ends of the base's links, shape ``(m*d,)``; d links leave and d enter every node, and d is at most 16.
    leader, image
        The voltage of a link is the image, under that map, of its leading link's voltage (itself with map 0). A link
        whose voltage must be an involution leads itself with map 1.
    orbits
        m.
    duplex
        Every link has its reverse, so that the transpose costs the same.
    """

    table: Nodes
    images: Ints
    tail: Ints
    head: Ints
    leader: Ints
    image: Ints
    orbits: int
    duplex: bool


@compiled
def climb_lifts(
    base: Base, depth: int, work: int, patience: int, state: Masks, allowed: Ints, found: Ints
) -> tuple[int, int]:
    """Improve the voltages of a base one link at a time: first until all nodes are near, then for bandwidth.

    Parameters
    ----------
    base
        What gets voltages.
    depth
        Steps that are aimed at.
    work
        Links to look at, about.
    patience
        Tries without progress before a new random start.
    state
        One uint64, not zero: the random generator's state, changed in place.
    allowed
        ``allowed[s]`` is the number that d * SCALE * (sum of loads) must stay below with s steps; changed in place.
    found
        Shape ``(len(allowed), m*d + 1)``: positions in the pool of the best voltages for each number of steps, and 1 if
        the transpose is dearer; changed in place.

    Returns
    -------
    tuple
        Links looked at, and the fewest nodes that were missing at that depth.
    """
    table, images, tail, head, leader, image, orbits, duplex = base
    pool, order = table.shape
    nodes, links, size = orbits * order, len(tail) // orbits, len(tail)
    inverse = images[1]
    involutions = np.array([i for i in range(pool) if inverse[i] == i])
    there, back = _way(tail, head, orbits, nodes), _way(head, tail, orbits, nodes)
    scratch = _scratch(nodes, links)
    loads = np.zeros(depth + 1, np.int64)
    current, trial = np.zeros(size, np.int64), np.zeros(size, np.int64)
    lost_limit, limit, failures, spent, least = orbits * nodes, LARGEST, patience, 0, orbits * nodes
    while spent < work:
        trial[:] = current
        if failures >= patience:
            lost_limit, limit, failures = orbits * nodes, LARGEST, 0
            for link in range(size):
                _redraw(link, trial, images, leader, image, involutions, state)
        else:
            _redraw(leader[_draw(size, state)], trial, images, leader, image, involutions, state)
        failures += 1
        spent += links
        _write(there, trial, table, links)
        if lost_limit > 0:
            lost, looked = _missing(there, orbits, links, depth, lost_limit, loads, scratch)
            spent += looked
            if lost < 0:
                continue
            if lost < lost_limit:
                failures = 0
                least = min(least, lost)
            lost_limit = lost
            current[:] = trial
            if lost > 0:
                continue
        cost, steps, looked = _cost(there, orbits, links, depth, limit, loads, scratch)
        spent += looked
        if cost < 0:
            continue
        dearer = 0
        if not duplex:
            _write(back, inverse[trial], table, links)
            other, _, looked = _cost(back, orbits, links, depth, limit, loads, scratch)
            spent += looked
            if other < 0:
                continue
            if other > cost:
                cost, dearer = other, 1
        if cost < limit:
            failures = 0
        limit = cost
        current[:] = trial
        if cost < allowed[steps]:
            _keep(cost, steps, trial, dearer, allowed, found)
        if cost <= (nodes - 1) * SCALE:
            failures = patience
            if steps == depth:
                break
    return spent, least


@compiled
def try_sets(
    table: Nodes, inverse: Ints, fixed: Ints, choice: Ints, duplex: bool, links: int, allowed: Ints, found: Ints
) -> int:
    """Price all connection sets of a group that hold certain elements and are better than what is known.

    Parameters
    ----------
    table, inverse
        As in :class:`Base`, for all elements of the group but the identity.
    fixed
        Elements that every set holds.
    choice
        Elements of which the others are chosen; if duplex one of each pair of inverses, which come together.
    duplex, allowed, found
        As there and in :func:`climb_lifts`, with one orbit.
    links
        Size d of the sets.

    Returns
    -------
    int
        Links looked at.
    """
    nodes = table.shape[1]
    nowhere = np.zeros(links, np.int64)
    there, back = _way(nowhere, nowhere, 1, nodes), _way(nowhere, nowhere, 1, nodes)
    scratch = _scratch(nodes, links)
    loads = np.zeros(len(allowed), np.int64)
    chosen = np.zeros(links, np.int64)
    chosen[: len(fixed)] = fixed
    place, filled = np.zeros(links + 1, np.int64), np.zeros(links + 1, np.int64)
    filled[0] = len(fixed)
    level, work = 0, 0
    while level >= 0:
        size = filled[level]
        if size < links and place[level] == len(choice):
            level -= 1
            continue
        if size < links:
            element = choice[place[level]]
            place[level] += 1
            more = 2 if duplex and inverse[element] != element else 1
            if size + more <= links:
                chosen[size] = element
                chosen[size + more - 1] = inverse[element] if duplex else element
                level += 1
                place[level] = place[level - 1]
                filled[level] = size + more
            continue
        _write(there, chosen, table, links)
        lost, steps, looked = _walk(0, there.dst, links, len(allowed) - 1, 0, loads, 0, scratch)
        work += looked
        if lost == 0 and allowed[steps] > (nodes - 1) * SCALE:
            cost, _, looked = _cost(there, 1, links, steps, allowed[steps] - 1, loads, scratch)
            work += looked
            dearer = 0
            if cost >= 0 and not duplex:
                _write(back, inverse[chosen], table, links)
                other, _, looked = _cost(back, 1, links, steps, allowed[steps] - 1, loads, scratch)
                work += looked
                if other < 0 or other > cost:
                    cost, dearer = other, 1
            if cost >= 0:
                _keep(cost, steps, chosen, dearer, allowed, found)
        level -= 1
    return work
