"""Compiled annealing of voltage lifts: voltages and base together.

A lift has m orbits of k nodes, node (u, g) being u*k + g. Cayley digraphs are the lifts of a base with one node.
All loads are whole multiples of 1/SCALE shards per link, so costs are exact integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, next_random
from topodesign.pricing.kernels import SCALE, _bits, _raise_load, _split_scale
from topodesign.search.screening_kernels import Turns, field_of, screen

Nodes = NDArray[np.int32]
MAX_STEPS = 2**14 - 1  # distances that fit beside a mask of 16 links in 31 bits

_FEW = 5  # with up to so many links all sets of links are looked at
_COOL = 16  # temperatures have so many bits after the point
UNIT = 2**16  # fractions in which logarithms are counted


class Base(NamedTuple):
    """A base digraph whose links get voltages, and the group that they are from.

    * ``images``: maps of the group to itself, shape ``(r, k)``: 0 is the identity, 1 takes each element to its inverse.
    * ``tail``, ``head``: ends of the base's links, shape ``(m*d,)``, sorted by tails; d links leave and d enter every
      node, and d is at most 16.
    * ``leader``, ``image``: the voltage of a link is the image, under that map, of its leading link's voltage (itself
      with map 0). A link whose voltage must be an involution leads itself with map 1.
    """

    turns: Turns  # the group
    images: Ints
    involutions: Ints  # elements that are their own inverse, but for the identity
    tail: Ints
    head: Ints
    leader: Ints
    image: Ints
    orbits: int  # m
    duplex: bool  # every link has its reverse, so that the transpose costs the same


class _Way(NamedTuple):
    """One direction of the links: the lift or its transpose."""

    dst: Nodes  # ends of all links, shape ``(m*k*d,)``: node v's are entries ``v*d`` to ``v*d + d-1``
    head: Ints
    """Orbit that each link of the base enters, as written into ``dst``, -1 for none yet; d links of each orbit."""
    voltage: Ints  # its voltage there
    used: Ints  # how many links of each orbit were looked at


@compile_kernel
def _way(orbits: int, links: int, order: int) -> _Way:
    size = orbits * links
    return _Way(np.empty(order * size, np.int32), np.full(size, -1), np.full(size, -1), np.zeros(orbits, np.int64))


@compile_kernel
def _write(way: _Way, tail: Ints, head: Ints, voltage: Ints, turns: Turns) -> None:
    """Bring ``dst`` up to date where a link has changed."""
    size, order, degree = turns.size, len(turns.coset), len(tail) // len(way.used)
    for orbit in range(len(way.used)):
        way.used[orbit] = 0
    for link in range(len(tail)):
        orbit = tail[link]
        number = way.used[orbit]
        way.used[orbit] += 1
        slot = orbit * degree + number
        if way.head[slot] == head[link] and way.voltage[slot] == voltage[link]:
            continue
        way.head[slot], way.voltage[slot] = head[link], voltage[link]
        for place in range(turns.coset.shape[1]):
            first = ((orbit * order + place * size) * degree) + number
            start = head[link] * order + turns.coset[voltage[link], place] * size
            at = turns.turn[voltage[link], place] + 0
            for _ in range(size):
                way.dst[first] = start + at
                first += degree
                at += 1
                if at == size:
                    at = 0


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


@compile_kernel
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


@compile_kernel
def _layer_load(first: int, last: int, links: int, least: int, most: int, scratch: _Scratch) -> int:
    """Return SCALE * U of the queued layer, at least ``least``.

    Where that is above ``most``, what is returned is so, too, but may be less.
    """
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
    total, heaviest = (last - first) * SCALE // links, 0
    for carried in load:  # its maximum would need a function of numba's that other versions have otherwise
        heaviest = max(heaviest, carried)
    if heaviest <= max(total, least) or total > most:
        result = max(total, least)
    elif links <= _FEW:
        sums[:] = 0
        for g in range(groups):
            sums[masks[g]] = tally[masks[g]]
        for link in range(links):
            for chosen in range(len(sums)):
                if chosen >> link & 1:
                    sums[chosen] += sums[chosen ^ 1 << link]
        result = least
        for chosen in range(1, len(sums)):
            result = max(result, sums[chosen] * (SCALE // _bits(np.uint64(chosen))))
    else:
        for g in range(groups):
            group_mask[g] = np.uint64(masks[g])
            group_count[g] = tally[masks[g]]
        p, q = _raise_load(groups, group_mask, group_count, ones, least, SCALE, _split_scale(links), load)
        result = p * SCALE // q
    for g in range(groups):
        tally[masks[g]] = 0
    return result


@compile_kernel
def _walk(
    source: int, dst: Nodes, links: int, depth: int, spare: int, loads: Ints, limit: int, scratch: _Scratch
) -> tuple[int, int, int]:
    """Search to a depth; return unreached nodes, distance and links.

    ``state`` is 0 for a node not reached, else MAX_STEPS less its distance in the high bits and its next-hop mask in
    the low ones, so that one comparison tells whether a link leads on.

    With a limit above zero the layers' loads are raised too. The walk is given up, with -1 for the nodes, when more
    than ``spare`` nodes cannot be reached any more or d * (sum of loads) is certain to pass the limit.
    """
    state, queue = scratch.state, scratch.queue
    nodes = len(state)
    state[:] = 0
    state[source] = MAX_STEPS << 16
    queue[0] = source
    first, last, reached, x = 0, 1, 1, 0
    total = 0
    for load in loads:
        total += load
    while first < last and x < depth and reached < nodes:
        x += 1
        tag = np.int32((MAX_STEPS - x) << 16)
        bound = np.int32((MAX_STEPS - x + 1) << 16)
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
            ahead = total
            for further in range(x + 1, len(loads)):
                ahead -= loads[further]
            room = min(limit // links - total, (limit - (nodes - reached) * SCALE) // links - ahead)
            load = _layer_load(first, last, links, loads[x], loads[x] + room, scratch)
            if load - loads[x] > room:
                return -1, 0, first * links
            total += load - loads[x]
            loads[x] = load
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


@compile_kernel
def _cost(
    dst: Nodes, orbits: int, links: int, depth: int, limit: int, loads: Ints, scratch: _Scratch
) -> tuple[int, int, int]:
    """Return d * SCALE * (sum of loads) (-1 if over the limit), steps and work."""
    order = len(scratch.state) // orbits
    loads[:] = 0
    steps, work = 0, 0
    for orbit in range(orbits):
        lost, far, looked = _walk(orbit * order, dst, links, depth, 0, loads, limit, scratch)
        work += looked
        if lost != 0:
            return -1, 0, work
        steps = max(steps, far)
    return loads.sum() * links, steps, work


@compile_kernel
def _keep(cost: int, steps: int, turned: int, allowed: Ints, found: Ints) -> None:
    found[steps, -1] = turned
    for more in range(steps, len(allowed)):
        allowed[more] = min(allowed[more], cost)


@compile_kernel
def _draw(count: int, state: Masks) -> int:
    return np.int64(next_random(state) % np.uint64(count))  # type: ignore[return-value]  # int() stays unsigned


class _Links(NamedTuple):
    """The annealed state: heads, voltages and dependencies of links."""

    head: Ints
    voltage: Ints
    leader: Ints
    image: Ints


@compile_kernel
def _empty_links(size: int) -> _Links:
    return _Links(
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    )


@compile_kernel
def _copy(links: _Links, other: _Links) -> None:
    for link in range(len(links.head)):
        other.head[link], other.voltage[link] = links.head[link], links.voltage[link]
        other.leader[link], other.image[link] = links.leader[link], links.image[link]


@compile_kernel
def _follow(links: _Links, leader: int, images: Ints) -> None:
    """Give the links that follow one their voltages."""
    for other in range(len(links.head)):
        if links.leader[other] == leader and other != leader:
            links.voltage[other] = images[links.image[other], links.voltage[leader]]


@compile_kernel
def _redraw(links: _Links, link: int, base: Base, state: Masks) -> None:
    """Draw a new voltage for a leading link and its followers."""
    if links.image[link] == 1:
        links.voltage[link] = base.involutions[_draw(len(base.involutions), state)]
        return
    lowest = 1 if base.orbits == 1 else 0
    links.voltage[link] = lowest + _draw(base.images.shape[1] - lowest, state)
    _follow(links, link, base.images)


@compile_kernel
def _mate(links: _Links, link: int) -> int:
    """Return the reverse of a link, itself for an involution."""
    for other in range(len(links.head)):
        if other != link and (links.leader[other] == link or links.leader[link] == other):
            return other
    return link


@compile_kernel
def _pair(links: _Links, one: int, other: int, base: Base) -> None:
    """Make one link the other's reverse, with the voltage that the one has."""
    links.leader[one], links.image[one], links.head[one] = one, 0, base.tail[other]
    links.leader[other], links.image[other], links.head[other] = one, 1, base.tail[one]
    links.voltage[other] = base.images[1, links.voltage[one]]


@compile_kernel
def _rewire(links: _Links, base: Base, state: Masks) -> None:
    """Exchange the heads of two links, or pair or split loops."""
    size = len(links.head)
    one, other = _draw(size, state), _draw(size, state)
    if one == other:
        return
    if not base.duplex:
        links.head[one], links.head[other] = links.head[other], links.head[one]
        return
    mate, partner = _mate(links, one), _mate(links, other)
    if mate == other:
        if len(base.involutions):
            for link in (one, other):
                links.leader[link], links.image[link], links.head[link] = link, 1, base.tail[link]
                links.voltage[link] = base.involutions[_draw(len(base.involutions), state)]
    elif mate == one and partner == other:
        _pair(links, one, other, base)
    elif mate == one or partner == other:
        single, first, second = (one, other, partner) if mate == one else (other, one, mate)
        kept = links.voltage[single]
        _pair(links, first, single, base)
        links.leader[second], links.image[second], links.head[second] = second, 1, base.tail[second]
        links.voltage[second] = kept
    else:
        _pair(links, one, partner, base)
        _pair(links, other, mate, base)


@compile_kernel
def _start(links: _Links, base: Base, state: Masks) -> None:
    """Draw all voltages and, where there are several orbits, all heads."""
    if base.orbits > 1:
        for _ in range(2 * len(links.head)):
            _rewire(links, base, state)
    for link in range(len(links.head)):
        if links.leader[link] == link:
            _redraw(links, link, base, state)


@compile_kernel
def _logarithm(number: int) -> int:
    """Return UNIT * log2(number), exact for powers of two and linear between them."""
    whole = 0
    for half in (32, 16, 8, 4, 2, 1):
        if number >> (whole + half):
            whole += half
    rest = number - (1 << whole)
    return whole * UNIT + ((rest << 16) >> whole if whole < 46 else (rest >> (whole - 46)) >> 30)


@compile_kernel
def _noise(temperature: int, state: Masks) -> int:
    """Return an exponential random number with the temperature as mean."""
    return temperature * (11 * UNIT - _logarithm(2 * _draw(1024, state) + 1)) // UNIT


@compile_kernel
def _dearer(
    base: Base, links: _Links, there: _Way, back: _Way, depth: int, limit: int, loads: Ints, scratch: _Scratch
) -> tuple[int, int, int, int]:
    """Return the dearer direction's cost or -1, steps, side and work."""
    degree = len(links.head) // base.orbits
    _write(there, base.tail, links.head, links.voltage, base.turns)
    cost, steps, work = _cost(there.dst, base.orbits, degree, depth, limit, loads, scratch)
    if cost < 0 or base.duplex:
        return cost, steps, 0, work
    _write(back, links.head, base.tail, base.images[1][links.voltage], base.turns)
    other, _, looked = _cost(back.dst, base.orbits, degree, depth, limit, loads, scratch)
    work += looked
    if other < 0:
        return -1, steps, 0, work
    return max(cost, other), steps, 1 if other > cost else 0, work


@compile_kernel
def anneal_lifts(
    base: Base,
    depth: int,
    work: int,
    tries: int,
    temperature: int,
    enough: int,
    state: Masks,
    allowed: Ints,
    found: Ints,
) -> tuple[int, int]:
    """Anneal a base's links and voltages, for steps, then bandwidth.

    * ``base``: what to start from; heads change only where there are several orbits.
    * ``depth``: steps that are aimed at.
    * ``work``: links to look at, about.
    * ``tries``: changes from a random start to the end, during which it gets colder, and as many again for bandwidth.
    * ``temperature``: at the start, in nodes that are missing, times 2**16.
    * ``enough``: d * SCALE * (sum of loads) that nothing better is searched for.
    * ``state``: one uint64, not zero: the random generator's state, changed in place.
    * ``allowed``: ``allowed[s]`` is the number that d * SCALE * (sum of loads) must stay below with s steps; changed in
      place.
    * ``found``: shape ``(len(allowed), 2*m*d + 1)``: voltages and heads of the best for each number of steps, and 1 if
      the transpose is dearer; changed in place.

    Returns: links looked at, and the fewest nodes that were missing at that depth.
    """
    orbits, order, size = base.orbits, len(base.turns.coset), len(base.tail)
    nodes, degree = orbits * order, size // orbits
    growth = degree - 1 if base.duplex else degree
    field = field_of(base.turns, orbits)
    there, back = _way(orbits, degree, order), _way(orbits, degree, order)
    scratch, loads = _scratch(nodes, degree), np.zeros(depth + 1, np.int64)
    current, trial = _empty_links(size), _empty_links(size)
    for link in range(size):
        current.head[link], current.leader[link], current.image[link] = (
            base.head[link],
            base.leader[link],
            base.image[link],
        )
    left, missing, cost, spent, least = 0, 0, LARGEST, 0, orbits * nodes
    while spent < work:
        _copy(current, trial)
        if left == 0:
            left, missing, cost = tries, orbits * nodes, LARGEST
            _start(trial, base, state)
        elif orbits > 1 and _draw(2, state):
            _rewire(trial, base, state)
        else:
            link = trial.leader[_draw(size, state)]
            _redraw(trial, link, base, state)
        left -= 1
        limit = missing
        if missing > 0:
            limit += _noise(temperature * left // tries, state) >> 16
        lost, _, looked = screen(trial.head, trial.voltage, degree, growth, base.turns, depth, limit, field)
        spent += looked + size
        if lost < 0:
            continue
        if lost > 0:
            missing = lost
            least = min(least, lost)
            _copy(trial, current)
            continue
        if missing > 0:
            left = tries
        limit = LARGEST if cost == LARGEST else cost + _noise(nodes * (SCALE // 128) * left // tries, state)
        price, steps, turned, looked = _dearer(base, trial, there, back, depth, limit, loads, scratch)
        spent += looked
        if price < 0:
            continue
        missing, least, cost = 0, 0, price
        _copy(trial, current)
        if cost < allowed[steps]:
            for link in range(size):
                found[steps, link], found[steps, size + link] = trial.voltage[link], trial.head[link]
            _keep(cost, steps, turned, allowed, found)
        if cost <= enough:
            left = 0
            if steps == depth:
                break
    return spent, least


@compile_kernel
def try_sets(
    turns: Turns, inverse: Ints, fixed: Ints, choice: Ints, duplex: bool, links: int, allowed: Ints, found: Ints
) -> int:
    """Price the promising connection sets that hold certain elements.

    * ``turns``, ``inverse``: the group, and the inverse of each element.
    * ``fixed``: elements that every set holds.
    * ``choice``: elements of which the others are chosen; if duplex one of each pair of inverses, which come together.
    * ``duplex``, ``allowed``, ``found``: as in :func:`anneal_lifts`, with one orbit.
    * ``links``: size d of the sets.

    Returns: links looked at.
    """
    nodes, growth = len(turns.coset), links - 1 if duplex else links
    nowhere = np.zeros(links, np.int64)
    there, back = _way(1, links, nodes), _way(1, links, nodes)
    field = field_of(turns, 1)
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
        level -= 1
        depth = len(allowed) - 1
        lost, steps, looked = screen(nowhere, chosen, links, growth, turns, depth, 0, field)
        work += looked
        if lost < 0 or allowed[steps] <= (nodes - 1) * SCALE:
            continue
        _write(there, nowhere, nowhere, chosen, turns)
        cost, _, looked = _cost(there.dst, 1, links, steps, allowed[steps] - 1, loads, scratch)
        work += looked
        if cost < 0:
            continue
        turned = 0
        if not duplex:
            _write(back, nowhere, nowhere, inverse[chosen], turns)
            other, _, looked = _cost(back.dst, 1, links, steps, allowed[steps] - 1, loads, scratch)
            work += looked
            if other < 0:
                continue
            if other > cost:
                cost, turned = other, 1
        for link in range(links):
            found[steps, link] = chosen[link]
        _keep(cost, steps, turned, allowed, found)
    return work
