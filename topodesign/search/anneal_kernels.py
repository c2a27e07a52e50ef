"""Compiled inner loops of link-swap annealing.

A side holds, for every source, the distances and next-hop masks of all nodes (see :mod:`topodesign.pricing.kernels`),
how many nodes of each mask there are in each layer, and the load U(u, x) of every layer. A swap of the heads of two
links changes few of them, and only those are computed anew: nodes that lose their last link from a nearer node, nodes
that come nearer, and then the masks behind them, layer by layer. What changes is logged, so that a swap can be taken
back. The dearer of the two collectives counts, so a digraph has two sides, the other that of its transpose.

Ports, not neighbours, are the bits of a mask: a parallel link sets two bits and the bit of a self-loop is never set,
which gives the same loads. All numbers are integers, so that a walk is the same on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compiled, next_random
from topodesign.pricing.kernels import _fill_set, search

Words = NDArray[np.int32]
Bytes = NDArray[np.uint8]

UNIT = 2**16  # fractions of a scaled load in which energies are counted


class Side(NamedTuple):
    """The loads of all sources along the links, or against them, and room to work in.

    * ``out``, ``into``: heads of the links out of each node and tails of those into it, shape ``(N, d)``.
    * ``distance``, ``mask``: from each source (row) to each node.
    * ``log``, ``log_distance``, ``log_mask``: changes of nodes: source * N + node, and what was there before.
    * ``log_place``, ``log_load``: changes of loads: layer * N + source, and what was there before.
    * ``bucket``, ``fill``: nodes to look at by layer, and how many.
    """

    out: Words
    into: Words
    distance: Bytes
    mask: Bytes
    census: Words  # nodes by source, layer and mask
    load: Ints  # scaled loads, shape ``(layers, N)``
    weight: Ints  # for each layer the sum of what the loads weigh
    far: Ints  # one number: pairs of nodes farther apart than is allowed
    log: Ints
    log_distance: Bytes
    log_mask: Bytes
    log_place: Ints
    log_load: Ints
    used: Ints  # entries of the two logs in use, and entries of the first that are not in ``census`` yet
    bucket: Words
    fill: Ints
    stamp: Ints  # four marks on every node and, in the last row, the number that means that a mark is set
    nearer: Ints  # tentative distances


class Rules(NamedTuple):
    """What an energy is made of; nothing of it changes during a walk but the reference loads."""

    inverse: Ints  # for each set of ports the scale divided by its size
    power: Ints  # weight of a load that exceeds the reference by its index less ``zero``
    zero: int  # index of the reference load in ``power``
    reference: Ints  # a load for each layer, about the largest
    sharpness: int  # energy of one more bit of weight
    allowed: int  # steps beyond which pairs of nodes are far apart
    far_energy: int  # energy of one such pair


@compiled
def make_side(out: Words, into: Words, layers: int) -> Side:
    """Return a side with room for distances below ``layers``; see :func:`fill_side`."""
    nodes, ports = out.shape
    entries = min(nodes * nodes, 64 * nodes + 4096)
    return Side(
        out,
        into,
        np.zeros((nodes, nodes), np.uint8),
        np.zeros((nodes, nodes), np.uint8),
        np.zeros((nodes, layers, 1 << ports), np.int32),
        np.zeros((layers, nodes), np.int64),
        np.zeros(layers, np.int64),
        np.zeros(1, np.int64),
        np.zeros(entries, np.int64),
        np.zeros(entries, np.uint8),
        np.zeros(entries, np.uint8),
        np.zeros(nodes * layers, np.int64),
        np.zeros(nodes * layers, np.int64),
        np.zeros(3, np.int64),
        np.zeros((layers + 1, nodes), np.int32),
        np.zeros(layers + 1, np.int64),
        np.zeros((5, nodes), np.int64),
        np.zeros(nodes, np.int64),
    )


@compiled
def _scaled_load(count: Words, inverse: Ints, subset: Ints) -> int:
    """Return the largest ratio of nodes whose masks lie inside a set of ports to the ports, times the scale."""
    size = len(count)
    for mask in range(size):
        subset[mask] = count[mask]
    bit = 1
    while bit < size:
        for mask in range(size):
            if mask & bit:
                subset[mask] += subset[mask ^ bit]
        bit <<= 1
    largest = 0
    for mask in range(1, size):
        largest = max(largest, subset[mask] * inverse[mask])
    return largest


@compiled
def fill_side(side: Side, rules: Rules) -> bool:
    """Compute everything from the links; False if some node is not reached or too far for the layers there are."""
    nodes, ports = side.out.shape
    layers = len(side.load)
    queue = np.empty(nodes, np.int64)
    subset = np.empty(1 << ports, np.int64)
    side.census[:] = 0
    side.load[:] = 0
    side.far[0] = 0
    side.used[:] = 0
    for source in range(nodes):
        distance, mask, count = side.distance[source], side.mask[source], side.census[source]
        distance[:] = 255
        mask[:] = 0
        distance[source] = 0
        queue[0] = source
        reached, head = 1, 0
        while head < reached:
            node = queue[head]
            head += 1
            near = distance[node] + 1
            if near >= layers and reached < nodes:
                return False
            if node != source:
                count[distance[node], mask[node]] += 1
                side.far[0] += distance[node] > rules.allowed
            for port in range(ports):
                other = side.out[node, port]
                if distance[other] == 255:
                    distance[other] = near
                    queue[reached] = other
                    reached += 1
                if distance[other] == near:
                    mask[other] |= np.uint8(1 << port) if node == source else mask[node]
        if reached < nodes:
            return False
        for x in range(1, distance[queue[nodes - 1]] + 1):
            side.load[x, source] = _scaled_load(count[x], rules.inverse, subset)
    return True


@compiled
def _weigh(load: int, reference: int, rules: Rules) -> int:
    place = load - reference + rules.zero
    return rules.power[min(max(place, 0), len(rules.power) - 1)]  # type: ignore[no-any-return]


@compiled
def weigh_side(side: Side, rules: Rules) -> None:
    """Add up the weights of all loads."""
    side.weight[:] = 0
    for x in range(1, len(side.load)):
        for source in range(len(side.out)):
            side.weight[x] += _weigh(side.load[x, source], rules.reference[x], rules)


@compiled
def _logarithm(number: int) -> int:
    """Return UNIT * log2(number), exact for powers of two and linear between them."""
    whole = 0
    for half in (32, 16, 8, 4, 2, 1):
        if number >> (whole + half):
            whole += half
    rest = number - (1 << whole)
    return whole * UNIT + ((rest << 16) >> whole if whole < 46 else (rest >> (whole - 46)) >> 30)


@compiled
def side_energy(side: Side, rules: Rules) -> int:
    """Return the energy: for each layer a smooth maximum of the loads, and something for each pair too far apart."""
    energy: int = side.far[0] * rules.far_energy
    for x in range(1, len(side.load)):
        energy += rules.reference[x] * UNIT + (_logarithm(side.weight[x] + 1) * rules.sharpness)
    return energy


@compiled
def _pull_mask(side: Side, source: int, node: int, near: int, distance: Bytes, mask: Bytes) -> np.uint8:
    """Return the mask of a node from those of the nodes before it, which are at distance ``near``."""
    result = np.uint8(0)
    for port in range(side.into.shape[1]):
        other = side.into[node, port]
        if distance[other] == near:
            if other == source:
                for i in range(side.out.shape[1]):
                    if side.out[source, i] == node:
                        result |= np.uint8(1 << i)
            else:
                result |= mask[other]
    return result


@compiled
def _pull_distance(side: Side, node: int, distance: Bytes, lost: Ints, now: int) -> int:
    """Return the distance of a node from those of the nodes before it that are not lost."""
    nearest = 255
    for port in range(side.into.shape[1]):
        other = side.into[node, port]
        if lost[other] != now and distance[other] < nearest:
            nearest = distance[other]
    return nearest + 1


@compiled
def _push(side: Side, x: int, node: int) -> None:
    side.bucket[x, side.fill[x]] = node
    side.fill[x] += 1


@compiled
def _is_settled(side: Side, source: int, heads: Ints) -> bool:
    """Whether the nodes with new links into them are as far as before, with the same masks."""
    distance, mask = side.distance[source], side.mask[source]
    for node in heads:
        if node != source:
            near = _pull_distance(side, node, distance, side.stamp[0], -1)
            if near != distance[node] or _pull_mask(side, source, node, near - 1, distance, mask) != mask[node]:
                return False
    return True


@compiled
def _lose(side: Side, source: int, heads: Ints, now: int) -> int:
    """Mark the nodes that have lost every link from a nearer node; list them in the last bucket and return how many."""
    layers = len(side.load)
    distance = side.distance[source]
    lost, listed = side.stamp[0], side.stamp[1]
    for node in heads:
        if node != source and listed[node] != now:
            listed[node] = now
            _push(side, distance[node], node)
    side.fill[layers] = 0
    for x in range(1, layers):
        for i in range(side.fill[x]):
            node = side.bucket[x, i]
            held = False
            for port in range(side.into.shape[1]):
                other = side.into[node, port]
                if distance[other] == x - 1 and lost[other] != now:
                    held = True
                    break
            if held:
                continue
            lost[node] = now
            _push(side, layers, node)
            for port in range(side.out.shape[1]):
                other = side.out[node, port]
                if distance[other] == x + 1 and listed[other] != now:
                    listed[other] = now
                    _push(side, x + 1, other)
        side.fill[x] = 0
    return side.fill[layers]  # type: ignore[no-any-return]


@compiled
def _log_node(side: Side, source: int, node: int) -> None:
    entry = side.used[0]
    side.log[entry] = source * len(side.out) + node
    side.log_distance[entry] = side.distance[source, node]
    side.log_mask[entry] = side.mask[source, node]
    side.used[0] = entry + 1


@compiled
def _approach(side: Side, source: int, heads: Ints, now: int, count: int) -> bool:
    """Give lost nodes and those that come nearer their new distances; False if some node cannot be placed."""
    layers = len(side.load)
    distance = side.distance[source]
    lost, waiting, moved = side.stamp[0], side.stamp[2], side.stamp[3]
    for i in range(count + len(heads)):
        node = side.bucket[layers, i] if i < count else heads[i - count]
        if node == source or waiting[node] == now:
            continue
        near = _pull_distance(side, node, distance, lost, now)
        if lost[node] == now or near < distance[node]:
            waiting[node] = now
            side.nearer[node] = near
            if near < layers:
                _push(side, near, node)
    placed = True
    for x in range(1, layers):
        for i in range(side.fill[x]):
            node = side.bucket[x, i]
            if side.nearer[node] != x or moved[node] == now:
                continue
            if side.used[0] == len(side.log):
                placed = False
                break
            _log_node(side, source, node)
            moved[node] = now
            if lost[node] == now:
                lost[node] = 0
                count -= 1
            distance[node] = x
            for port in range(side.out.shape[1]):
                other = side.out[node, port]
                before = side.nearer[other] if waiting[other] == now else distance[other]
                if before > x + 1 and x + 1 < layers:
                    waiting[other] = now
                    side.nearer[other] = x + 1
                    _push(side, x + 1, other)
        side.fill[x] = 0
    return placed and count == 0


@compiled
def _mask_anew(side: Side, source: int, heads: Ints, now: int) -> bool:
    """Give masks to all nodes whose distance has changed and to those behind them; False if the log is full."""
    layers = len(side.load)
    distance, mask = side.distance[source], side.mask[source]
    moved, listed = side.stamp[3], side.stamp[1]
    mark = -now  # the second use of the list
    for i in range(side.used[2], side.used[0]):
        node = side.log[i] - source * len(side.out)
        if listed[node] != mark:
            listed[node] = mark
            _push(side, distance[node], node)
        for port in range(side.out.shape[1]):
            other = side.out[node, port]
            if other != source and listed[other] != mark:
                listed[other] = mark
                _push(side, distance[other], other)
    for node in heads:
        if node != source and listed[node] != mark:
            listed[node] = mark
            _push(side, distance[node], node)
    fits = True
    for x in range(1, layers):
        for i in range(side.fill[x]):
            node = side.bucket[x, i]
            new = _pull_mask(side, source, node, x - 1, distance, mask)
            if new == mask[node]:
                continue
            if moved[node] != now:
                if side.used[0] == len(side.log):
                    fits = False
                    break
                _log_node(side, source, node)
            mask[node] = new
            for port in range(side.out.shape[1]):
                other = side.out[node, port]
                if distance[other] == x + 1 and listed[other] != mark:
                    listed[other] = mark
                    _push(side, x + 1, other)
        side.fill[x] = 0
    return fits


@compiled
def _settle(side: Side, rules: Rules, source: int, subset: Ints) -> None:
    """Count the changes of a source and compute the loads of the layers that they are in."""
    nodes = len(side.out)
    count = side.census[source]
    touched = 0
    for i in range(side.used[2], side.used[0]):
        node = side.log[i] - source * nodes
        x, y = side.log_distance[i], side.distance[source, node]
        count[x, side.log_mask[i]] -= 1
        count[y, side.mask[source, node]] += 1
        touched |= 1 << x | 1 << y
        side.far[0] += (y > rules.allowed) - (x > rules.allowed)
    side.used[2] = side.used[0]
    for x in range(1, len(side.load)):
        if touched >> x & 1:
            load = _scaled_load(count[x], rules.inverse, subset)
            before = side.load[x, source]
            if load != before:
                side.log_place[side.used[1]] = x * nodes + source
                side.log_load[side.used[1]] = before
                side.used[1] += 1
                side.load[x, source] = load
                reference = rules.reference[x]
                side.weight[x] += _weigh(load, reference, rules) - _weigh(before, reference, rules)


@compiled
def _nearest_first(distance: Bytes, ends: Ints, layers: int, order: Ints, fill: Ints) -> None:
    """Order the sources by how near they are to any of the ends of links: those that a change of links hits hardest."""
    nodes = len(order)
    fill[:] = 0
    for source in range(nodes):
        near = layers
        for end in ends:
            near = min(near, distance[end, source])
        order[source] = near
        fill[near] += 1
    total = 0
    for x in range(layers + 1):
        total += fill[x]
        fill[x] = total - fill[x]
    near_of = order.copy()
    for source in range(nodes):
        x = near_of[source]
        order[fill[x]] = source
        fill[x] += 1
    fill[:] = 0


@compiled
def update(side: Side, rules: Rules, heads: Ints, order: Ints, limit: int, subset: Ints) -> bool:
    """Bring a side up to date after the links into some nodes have changed; False if that does not work out.

    It does not if a node is no longer reached, or too far for the layers there are, or too much changes for the log, or
    if the energy passes a limit on the way. In any case :func:`undo` takes all back.
    """
    side.used[:] = 0
    for i in range(len(order)):
        source = order[i]
        if _is_settled(side, source, heads):
            continue
        side.stamp[4, 0] += 1
        now = side.stamp[4, 0]
        if not _approach(side, source, heads, now, _lose(side, source, heads, now)):
            side.fill[:] = 0
            return False
        if not _mask_anew(side, source, heads, now):
            side.fill[:] = 0
            return False
        _settle(side, rules, source, subset)
        if i % 8 == 7 and side_energy(side, rules) > limit:
            return False
    return True


@compiled
def undo(side: Side, rules: Rules) -> None:
    """Take back what the last update did; the links are the caller's."""
    nodes = len(side.out)
    for i in range(side.used[0] - 1, -1, -1):
        source, node = divmod(side.log[i], nodes)
        x, y = side.log_distance[i], side.distance[source, node]
        if i < side.used[2]:
            side.census[source, x, side.log_mask[i]] += 1
            side.census[source, y, side.mask[source, node]] -= 1
            side.far[0] += (x > rules.allowed) - (y > rules.allowed)
        side.distance[source, node] = x
        side.mask[source, node] = side.log_mask[i]
    for i in range(side.used[1] - 1, -1, -1):
        x, source = divmod(side.log_place[i], nodes)
        before = side.log_load[i]
        reference = rules.reference[x]
        side.weight[x] += _weigh(before, reference, rules) - _weigh(side.load[x, source], reference, rules)
        side.load[x, source] = before
    side.used[:] = 0


@compiled
def side_cost(side: Side) -> tuple[int, int]:
    """Return steps and the scaled sum over the layers of the largest loads."""
    steps, total = 0, 0
    for x in range(1, len(side.load)):
        largest = side.load[x].max()
        if largest:
            steps = x
            total += largest
    return steps, total


@compiled
def _random_below(state: Masks, limit: int) -> int:
    return np.int64(next_random(state) % np.uint64(limit))  # type: ignore[return-value]  # int() stays unsigned


@compiled
def _place(row: Words, value: int) -> int:
    """Return the first place of a value in a row that has it."""
    for place in range(len(row)):
        if row[place] == value:
            return place
    return -1


@compiled
def _rotate(out: Words, into: Words, links: Ints, back: bool) -> None:
    """Let each link (a row: tail, port there, head, port there) have the head of the next one, or its own again."""
    size = len(links)
    for i in range(size):
        other = i if back else (i + 1) % size
        out[links[i, 0], links[i, 1]] = links[other, 2]
        into[links[other, 2], links[other, 3]] = links[i, 0]


@compiled
def _set_link(out: Words, into: Words, tail: int, port: int, link: Ints) -> None:
    link[0], link[1], link[2] = tail, port, out[tail, port]
    link[3] = _place(into[link[2]], tail)


@compiled
def _mirror(out: Words, into: Words, links: Ints, mirrored: Ints) -> None:
    """Write the opposite links in the opposite order, which rotates them alike."""
    size = len(links)
    for i in range(size):
        tail, head = links[size - 1 - i, 2], links[size - 1 - i, 0]
        mirrored[i, 0], mirrored[i, 1], mirrored[i, 2] = tail, _place(out[tail], head), head
        mirrored[i, 3] = _place(into[head], tail)


@compiled
def _worst_ports(count: Words, inverse: Ints, subset: Ints) -> int:
    """Return the set of ports that makes the load the largest."""
    largest = _scaled_load(count, inverse, subset)
    for ports in range(1, len(count)):
        if subset[ports] * inverse[ports] == largest:
            return ports
    return 0


@compiled
def _critical_layer(side: Side, rules: Rules, state: Masks) -> int:
    """Choose a layer with a chance in proportion to its largest load; among those too far away if there are any."""
    first = rules.allowed + 1 if side.far[0] > 0 else 1
    total = 0
    for x in range(first, len(side.load)):
        total += side.load[x].max()
    rest = _random_below(state, total)
    for x in range(first, len(side.load)):
        rest -= side.load[x].max()
        if rest < 0:
            return x
    return 0


@compiled
def _critical_link(side: Side, rules: Rules, subset: Ints, state: Masks, links: Ints) -> bool:
    """Choose a link that a largest load rests on, and one from a node that could do better with its head.

    The first link leads to one of the nodes that the worst ports of the worst source serve, or, by chance, to one on
    the way there.
    """
    nodes, ports = side.out.shape
    x = _critical_layer(side, rules, state)
    source = _random_below(state, nodes)
    largest = side.load[x].max()
    while side.load[x, source] < largest:
        source = (source + 1) % nodes
    worst = _worst_ports(side.census[source, x], rules.inverse, subset)
    distance, mask = side.distance[source], side.mask[source]
    node = _random_below(state, nodes)
    while distance[node] != x or mask[node] & ~worst:
        node = (node + 1) % nodes
    while True:
        port = _random_below(state, ports)
        while distance[side.into[node, port]] != x - 1:
            port = (port + 1) % ports
        if x < 3 or _random_below(state, 4):
            break
        node = side.into[node, port]
        x -= 1
    tail = np.int64(side.into[node, port])
    links[0, 0], links[0, 1], links[0, 2], links[0, 3] = tail, _place(side.out[tail], node), node, port
    taker = _random_below(state, nodes)
    for _ in range(nodes):
        alike = distance[taker] == x - 1 and mask[taker] & ~worst
        fits = distance[taker] < rules.allowed if side.far[0] else alike
        if fits and taker not in (source, tail):
            break
        taker = (taker + 1) % nodes
    _set_link(side.out, side.into, taker, _random_below(state, ports), links[1])
    return True


@compiled
def _slide(out: Words, into: Words, first_new: int, state: Masks, links: Ints) -> None:
    """Choose a way u->n->w through a new node n and a link c->e, which are to become u->w and c->n->e."""
    nodes, ports = out.shape
    node = first_new + _random_below(state, nodes - first_new)
    port = _random_below(state, ports)
    tail = into[node, port]
    links[0, 0], links[0, 1], links[0, 2], links[0, 3] = tail, _place(out[tail], node), node, port
    _set_link(out, into, node, _random_below(state, ports), links[1])
    _set_link(out, into, _random_below(state, nodes), _random_below(state, ports), links[2])


@compiled
def _choose(
    side: Side, other: Side, rules: Rules, duplex: bool, first_new: int, subset: Ints, state: Masks, links: Ints
) -> int:
    """Choose links whose heads to rotate and return how many: a critical one and another, those of a slide, any two."""
    nodes, ports = side.out.shape
    kind = _random_below(state, 16)
    if first_new < nodes and kind < 11:
        _slide(side.out, side.into, first_new, state, links)
        return 3
    if kind < 7 or 10 < kind < 14:
        if duplex or _random_below(state, 2):
            _critical_link(side, rules, subset, state, links)
        else:
            turned = np.empty((2, 4), np.int64)
            _critical_link(other, rules, subset, state, turned)
            for i in range(2):  # a link of the transpose is the other way round, and so is the rotation
                for k in range(4):
                    links[i, k] = turned[1 - i, (k + 2) % 4]
    else:
        for i in range(2):
            _set_link(side.out, side.into, _random_below(state, nodes), _random_below(state, ports), links[i])
    return 2


@compiled
def _makes_sense(links: Ints, duplex: bool) -> bool:
    """Whether the links are all different, and rotating them changes something and makes no self-loop.

    Where every link has its reverse self-loops stay, as they are their own.
    """
    size = len(links)
    for i in range(size):
        if duplex and links[i, 0] == links[i, 2]:
            return False
        if links[i, 0] == links[(i + 1) % size, 2]:
            return False
        for j in range(i):
            if links[i, 0] == links[j, 0] and links[i, 2] == links[j, 2]:
                return False
            if duplex and links[i, 0] == links[j, 2] and links[i, 2] == links[j, 0]:
                return False
    return size > 2 or not (links[0, 0] == links[1, 0] or links[0, 2] == links[1, 2])


@compiled
def _joint(here: int, there: int) -> int:
    """Return the energy of both sides, of which the larger counts three times as much."""
    return here + there + abs(here - there) // 2


@compiled
def _room(limit: int, there: int) -> int:
    """Return what one side's energy may be at most if the other's does not change and the limit is to hold."""
    return max((2 * limit - there) // 3, 2 * limit - 3 * there)


@compiled
def _record(side: Side, other: Side, allowed: Ints, found: Words) -> None:
    """Keep the links if they cost less than any before with as many steps."""
    steps, total = side_cost(side)
    more, cost = side_cost(other)
    steps, total = max(steps, more), max(total, cost)
    if total < allowed[steps]:
        found[steps] = side.out
        for s in range(steps, len(allowed)):
            allowed[s] = min(allowed[s], total)


@compiled
def walk(
    side: Side,
    other: Side,
    rules: Rules,
    duplex: bool,
    first_new: int,
    work: int,
    temperature: int,
    state: Masks,
    allowed: Ints,
    found: Words,
) -> None:
    """Exchange the heads of links, and take back what makes the energy too much larger.

    * ``side``, ``other``: filled sides of a regular digraph and its transpose; the same one twice for a duplex digraph.
      They share their links and are changed in place.
    * ``rules``: its reference loads are set to what the largest are now.
    * ``duplex``: exchange pairs of opposite links.
    * ``first_new``: number of the first node that was put in the middle of links; what goes through such nodes may
      slide.
    * ``work``: sources looked at and nodes changed, after which the walk ends.
    * ``temperature``: by how much the energy may grow in an exchange, on average of those that make it grow.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.
    * ``allowed``, ``found``: for each number of steps the scaled sum of loads that a digraph must stay below to be
      kept, and the heads of its links, shape ``(steps, N, d)``; changed in place.
    """
    nodes, ports = side.out.shape
    layers = len(side.load)
    subset = np.empty(1 << ports, np.int64)
    order, fill = np.empty(nodes, np.int64), np.empty(layers + 1, np.int64)
    out, into = side.out, side.into
    room, mirrored_room = np.empty((3, 4), np.int64), np.empty((3, 4), np.int64)
    for x in range(layers):
        rules.reference[x] = max(side.load[x].max(), other.load[x].max())
    weigh_side(side, rules)
    weigh_side(other, rules)
    here, there = side_energy(side, rules), side_energy(other, rules)
    _record(side, other, allowed, found)
    while work > 0:
        work -= nodes
        limit = _joint(here, there) + (temperature * (11 * UNIT - _logarithm(2 * _random_below(state, 1024) + 1)) >> 16)
        size = _choose(side, other, rules, duplex, first_new, subset, state, room)
        links, mirrored = room[:size], mirrored_room[:size]
        if not _makes_sense(links, duplex):
            continue
        tails, heads = links[:, 0].copy(), links[:, 2].copy()
        if duplex:
            _mirror(out, into, links, mirrored)
            tails = heads = np.concatenate((tails, heads))
        _nearest_first(other.distance, tails, layers, order, fill)
        _rotate(out, into, links, False)
        if duplex:
            _rotate(out, into, mirrored, False)
        right = update(side, rules, heads, order, _room(limit, there), subset)
        one = two = side_energy(side, rules)
        work -= side.used[0]
        if right and not duplex:
            _nearest_first(side.distance, heads, layers, order, fill)
            right = update(other, rules, tails, order, _room(limit, one), subset)
            two = side_energy(other, rules)
            work -= other.used[0]
        if right and _joint(one, two) <= limit:
            here, there = one, two
            side.used[:] = 0
            other.used[:] = 0
            _record(side, other, allowed, found)
            continue
        undo(side, rules)
        undo(other, rules)
        if duplex:
            _rotate(out, into, mirrored, True)
        _rotate(out, into, links, True)


@compiled
def climb_compact(table: Ints, partner: Ints, links: int, tries: int, patience: int, state: Masks, best: Ints) -> int:
    """Search for the connection set whose Cayley digraph has its nodes nearest: with the least sum of cubed distances.

    * ``table``: ``table[i, g]`` is g times the i-th element of a pool, shape ``(pool, N)``; the identity is not in the
      pool.
    * ``partner``: for a duplex digraph the place in the pool of the inverse of each element, else its own place.
    * ``links``: degree d.
    * ``tries``: number of sets to try.
    * ``patience``: tries without progress before a new random start.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.
    * ``best``: shape ``(d,)``: places in the pool of the best set, written in place.

    Returns: the sum for the best set, ``LARGEST`` if none connects all nodes.
    """
    pool, nodes = table.shape
    indptr = np.arange(0, nodes * links + 1, links)
    dst = np.empty(nodes * links, np.int64)
    distance, queue, mask = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes, np.uint64)
    current, trial = np.zeros(links, np.int64), np.zeros(links, np.int64)
    taken = np.zeros(pool, np.bool_)
    least, value, failures = LARGEST, LARGEST, 0
    for _ in range(tries):
        kept = 0
        if failures > patience:
            value, failures = LARGEST, 0
        if value < LARGEST:
            dropped = current[_random_below(state, links)]
            for element in current:
                if element not in (dropped, partner[dropped]):
                    trial[kept] = element
                    kept += 1
        failures += 1
        if not _fill_set(trial, kept, partner, taken, state):
            continue
        for i in range(links):
            row = table[trial[i]]
            for node in range(nodes):
                dst[node * links + i] = row[node]
        if search(0, indptr, dst, distance, mask, queue) < nodes:
            continue
        total = 0
        for node in range(nodes):
            total += distance[node] ** 3
        if total < value:
            value, failures = total, 0
            current[:] = trial
            if total < least:
                least = total
                best[:] = trial
    return least
