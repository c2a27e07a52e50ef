"""Compiled search for panel groups that keep most patches.

An edge colouring: links are edges between keys (a node and the side of its fibres), fields are colours, and a key has
room for a given number of links of each colour. A link whose two keys have room only in different colours gets some by
moving other links between two colours along an alternating path, as in the proof of König's theorem.

What is to be large is the number of patches that stay: of each pair of hosts and field, as many as there are, or as
links are put there if these are fewer. ``place_all`` makes a colouring, ``improve`` turns alternating paths round and
exchanges hosts of nodes, at first also for the worse, and ``search`` goes through all colourings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, inline_kernel, next_random, tier_kernel

ONE = 2**16  # acceptance of the annealing is counted in parts of this

_SELDOM = 32  # proposals of which one turns a path round, which takes much longer than an exchange of two hosts
_IDLE = 2  # of links that could stay nowhere one is moved, to make room for others
_TRIES = 4
_FAR = 2**32  # a patch that does not stay weighs more than any path is long
_MAX_LOST = 8  # patches that a proposal is ever accepted to lose
_MAX_SCORE = 64  # pairs that would keep more links are not distinguished by :func:`spread_nodes`
_SLACK = 1  # patches that a path may lose more on its way, and bring back


class Fields(NamedTuple):
    """Links in fields, changed in place."""

    ends: Ints  # the two keys of each link, shape ``(links, 2)``
    pair: Ints  # the row of ``have`` of the hosts of each link, -1 if they have no patch
    have: Ints  # patches of pairs in fields, shape ``(pairs, fields)``
    now: Ints  # links there
    field: Ints  # the field each link is in, -1 if in none yet
    room: Ints  # how many more links a key can take in a field, shape ``(keys, fields)``
    at: Ints  # links of a key in a field, shape ``(keys, fields, most + 1)``, of which the first ``size`` are in use
    size: Ints  # how many, shape ``(keys, fields)``
    kept: Ints  # one number, the patches that stay


class Places(NamedTuple):
    """Hosts of nodes, changed in place.

    Nodes without links hold unused hosts.
    """

    place: Ints  # the host of each node
    row: NDArray[np.int32]  # the pair of two hosts, -1 if they have no patch, shape ``(hosts, hosts)``
    kind: Ints  # which hosts can stand for each other
    first: Ints  # where the links of a node begin in ``links``
    links: Ints  # links by node
    start: Ints  # where what a host shares begins in ``near``, at ``(host * sides + side) * fields + field``
    near: Ints  # hosts that share patches of a side and field
    nodes: Ints  # the two nodes of each link


@inline_kernel
def _count(fields: Fields, pair: int, field: int | np.int64, change: int) -> None:
    """Add or remove a link in the counts of a panel group."""
    if pair >= 0 and field >= 0:
        if change < 0:
            fields.now[pair, field] -= 1
        if fields.now[pair, field] < fields.have[pair, field]:
            fields.kept[0] += change
        if change > 0:
            fields.now[pair, field] += 1


@compile_kernel
def put(fields: Fields, link: int | np.int64, field: int | np.int64) -> None:
    """Move a link to a panel group, or to none (-1)."""
    old = fields.field[link]
    _count(fields, fields.pair[link], old, -1)
    _count(fields, fields.pair[link], field, 1)
    for key in fields.ends[link]:
        if old >= 0:
            last = fields.size[key, old] - 1
            row = fields.at[key, old]
            for place in range(last):
                if row[place] == link:
                    row[place] = row[last]
                    break
            fields.size[key, old] = last
            fields.room[key, old] += 1
        if field >= 0:
            fields.at[key, field, fields.size[key, field]] = link
            fields.size[key, field] += 1
            fields.room[key, field] -= 1
    fields.field[link] = field


@tier_kernel(lambda fields, chosen: 10 * len(chosen))
def put_all(fields: Fields, chosen: Ints) -> None:
    """Move unplaced links to the chosen panel groups.

    Links with -1 stay unplaced.
    """
    for link in range(len(chosen)):
        if chosen[link] >= 0:
            put(fields, link, chosen[link])


@inline_kernel
def _stays(fields: Fields, link: int | np.int64, field: int) -> bool:
    """Return whether a patch stays only because of a link."""
    pair = fields.pair[link]
    return bool(pair >= 0 and fields.now[pair, field] <= fields.have[pair, field])


@inline_kernel
def _would_stay(fields: Fields, link: int | np.int64, field: int | np.int64) -> bool:
    """Return whether a link there would keep another patch."""
    pair = fields.pair[link]
    return bool(pair >= 0 and fields.now[pair, field] < fields.have[pair, field])


@compile_kernel
def _alternate(
    fields: Fields, start: int, two: tuple[int, int], path: Ints, mark: Ints, seed: Masks, least: int | np.int64
) -> int:
    """Move links along an alternating path; return its length.

    It ends badly, too, when fewer than ``least`` patches stay.
    """
    full, other = two
    key, length = start, 0
    while True:
        row, count = fields.at[key, full], fields.size[key, full]
        shift = np.int64(next_random(seed) % np.uint64(max(count, 1)))
        link = -1
        for place in range(count):
            candidate = row[(place + shift) % count]
            if mark[candidate] == 0 and (link < 0 or not _stays(fields, candidate, full)):
                link = candidate
        if link < 0:
            break
        mark[link] = 1
        path[length] = link
        length += 1
        put(fields, link, other)
        key = fields.ends[link, 0] + fields.ends[link, 1] - key
        if fields.room[key, other] >= 0 or fields.kept[0] < least:
            break
        full, other = other, full
    for step in range(length):
        mark[path[step]] = 0
    return length if length and fields.room[key].min() >= 0 else -length


@compile_kernel
def _undo(fields: Fields, path: Ints, length: int, first: int | np.int64, second: int | np.int64) -> None:
    for step in range(length - 1, -1, -1):
        put(fields, path[step], first + second - fields.field[path[step]])


@compile_kernel
def _place(fields: Fields, link: int, path: Ints, best_path: Ints, mark: Ints, seed: Masks) -> bool:
    """Place a link at the minimum loss of patches."""
    number = fields.room.shape[1]
    a, b = fields.ends[link]
    kept = fields.kept[0]
    best, best_length, best_full, best_other, floor = LARGEST, 0, -1, -1, 0
    for field in range(number):
        cost = -_FAR if _would_stay(fields, link, field) else 0
        floor = min(floor, cost)
        if fields.room[a, field] > 0 and fields.room[b, field] > 0 and cost < best:
            best, best_full, best_other = cost, field, field
    for one in range(number):
        for two in range(number):
            if best == floor or fields.room[a, one] <= 0 or fields.room[b, two] <= 0:
                continue
            for attempt in range(2 * _TRIES):
                start, full, other = (b, one, two) if attempt % 2 == 0 else (a, two, one)
                length = _alternate(fields, start, (full, other), path, mark, seed, 0)
                steps = abs(length)
                fits = length > 0 and fields.room[a, full] > 0 and fields.room[b, full] > 0
                after = fields.kept[0] + (1 if _would_stay(fields, link, full) else 0)
                _undo(fields, path, steps, one, two)
                cost = (kept - after) * _FAR + steps
                if fits and cost < best:
                    best, best_length, best_full, best_other = cost, steps, full, other
                    best_path[:steps] = path[:steps]
    if best_full < 0:
        return False
    for step in range(best_length):
        moved = best_path[step]
        put(fields, moved, best_full + best_other - fields.field[moved])
    put(fields, link, best_full)
    return True


@tier_kernel(lambda fields, seed: len(fields.field) * len(fields.room))
def place_all(fields: Fields, seed: Masks) -> int:
    """Place all links, then restore patches.

    Returns the first link for which no panel group is found, or -1.
    """
    links = len(fields.field)
    path, best_path = np.empty(links, dtype=np.int64), np.empty(links, dtype=np.int64)
    mark = np.zeros(links, dtype=np.int64)
    for link in range(links):
        if fields.field[link] < 0 and not _place(fields, link, path, best_path, mark, seed):
            return link
    before = -1
    while fields.kept[0] > before:
        before = fields.kept[0]
        for link in range(links):
            if _home(fields, link, 0) >= 0 and not _stays(fields, link, fields.field[link]):
                put(fields, link, -1)
                _place(fields, link, path, best_path, mark, seed)  # where it was, there is room
    return -1


@compile_kernel
def _home(fields: Fields, link: int | np.int64, shift: int | np.int64) -> int:
    """Return a panel group that would keep another patch."""
    number = fields.room.shape[1]
    for step in range(number):
        field = (step + shift) % number
        if field != fields.field[link] and _would_stay(fields, link, field):
            return int(field)
    return -1


@compile_kernel
def _bring(
    fields: Fields, link: int | np.int64, to: int, path: Ints, mark: Ints, seed: Masks, least: int | np.int64
) -> int:
    """Move a link and others aside; return their number or -1.

    It is not, too, if fewer than ``least`` patches would stay then.
    """
    back = int(fields.field[link])
    put(fields, link, to)
    mark[link] = 1
    length, fits = 0, True
    for end in range(2):
        key = fields.ends[link, end]
        if fits and fields.room[key, to] < 0:
            steps = _alternate(fields, key, (to, back), path[length:], mark, seed, least - _SLACK)
            fits = steps > 0
            length += abs(steps)
    mark[link] = 0
    for key in fields.ends[link]:
        fits = fits and fields.room[key, to] >= 0 and fields.room[key, back] >= 0
    if fits and fields.kept[0] >= least:
        return length
    _undo(fields, path, length, to, back)
    put(fields, link, back)
    return -1


@compile_kernel
def _pair_with(fields: Fields, link: int, pair: int) -> None:
    """Assign a link to another pair of hosts."""
    _count(fields, fields.pair[link], fields.field[link], -1)
    fields.pair[link] = pair
    _count(fields, pair, fields.field[link], 1)


@compile_kernel
def _swap(fields: Fields, places: Places, x: int | np.int64, y: int | np.int64) -> None:
    """Exchange the hosts of two nodes."""
    place = places.place
    place[x], place[y] = place[y], place[x]
    for node in (x, y):
        for entry in range(places.first[node], places.first[node + 1]):
            link = places.links[entry]
            pair = places.row[place[places.nodes[link, 0]], place[places.nodes[link, 1]]]
            if pair != fields.pair[link]:
                _pair_with(fields, link, pair)


@inline_kernel
def _get_host(places: Places, x: int | np.int64, y: int | np.int64, node: int | np.int64) -> int:
    """Return a node's host after an exchange of two."""
    return int(places.place[y if node == x else x if node == y else node])


@compile_kernel
def _gains(fields: Fields, places: Places, x: int | np.int64, y: int | np.int64) -> int:
    """Return an upper bound on patches gained by an exchange."""
    gain = 0
    for node in (x, y):
        for entry in range(places.first[node], places.first[node + 1]):
            link = places.links[entry]
            field = fields.field[link]
            if node == y and (places.nodes[link, 0] == x or places.nodes[link, 1] == x):
                continue
            if _stays(fields, link, field):
                gain -= 1
            u, v = _get_host(places, x, y, places.nodes[link, 0]), _get_host(places, x, y, places.nodes[link, 1])
            pair = places.row[u, v]
            if pair >= 0 and fields.have[pair, field] > 0:
                gain += 1
    return gain


class LabelledLinks(NamedTuple):
    """Links by end: of node u, ``start[u]`` to ``start[u + 1]``."""

    start: Ints
    near: Ints  # the other end
    label: Ints  # which links can be the same, told apart by direction and field
    copies: Ints  # how many they are


@tier_kernel(lambda have, want, kind, place, first, seed: 10 * len(have.near) * len(want.near) // max(len(place), 1))
def spread_nodes(
    have: LabelledLinks, want: LabelledLinks, kind: Ints, place: Ints, first: tuple[int, int], seed: Masks
) -> int:
    """Place nodes one by one, keeping most links each time.

    Returns how many links are kept.

    What is placed says which neighbours could be placed with it, and a pair that is named most often comes next
    (percolation, Yartseva and Grossglauser 2013). A node keeps to hosts of the ``kind`` of the one it has in ``place``,
    which is changed. ``first`` are a node and the host that it gets.
    """
    nodes = len(place)
    old = kind[place]
    place[:] = -1
    free = np.ones(nodes, dtype=np.bool_)
    score = np.zeros((nodes, nodes), dtype=np.int16)
    pairs = np.int64(0)
    for node in range(nodes):
        pairs = max(pairs, want.start[node + 1] - want.start[node])
    pairs *= len(have.near)
    pair, below = np.empty(pairs, dtype=np.int64), np.empty(pairs, dtype=np.int64)  # stacks, one a score
    last = np.full(_MAX_SCORE, -1, dtype=np.int64)
    x, h = np.int64(first[0]), np.int64(first[1])
    total, top, used, rest = 0, np.int64(0), 0, 0
    for _ in range(nodes):
        place[x] = h
        free[h] = False
        total += score[x, h]
        many, more = want.start[x + 1] - want.start[x], have.start[h + 1] - have.start[h]
        shift = np.int64(next_random(seed) % np.uint64(max(many, 1)))
        turn = np.int64(next_random(seed) % np.uint64(max(more, 1)))
        for i in range(many):
            one = want.start[x] + (i + shift) % many
            u = want.near[one]
            for j in range(more if place[u] < 0 else 0):
                other = have.start[h] + (j + turn) % more
                g = have.near[other]
                if want.label[one] == have.label[other] and free[g] and old[u] == kind[g]:
                    score[u, g] += min(want.copies[one], have.copies[other])
                    named = min(score[u, g], _MAX_SCORE - 1)
                    pair[used], below[used], last[named] = u * nodes + g, last[named], used
                    used += 1
                    top = max(top, named)
        x = np.int64(-1)
        while top > 0 and x < 0:
            entry = last[top]
            if entry < 0:
                top -= 1
                continue
            last[top] = below[entry]
            u, g = pair[entry] // nodes, pair[entry] % nodes
            if place[u] < 0 and free[g] and min(score[u, g], _MAX_SCORE - 1) == top:
                x, h = u, g
        if x < 0:
            while rest < nodes and place[rest] >= 0:
                rest += 1
            x, h = np.int64(rest), np.int64(0)
            while rest < nodes and not (free[h] and kind[h] == old[rest]):
                h += 1
    return int(total)


@tier_kernel(
    lambda fields, places, proposals, swaps, warmth, seed, best, enough: proposals * max(20, len(places.place))
)
def improve(
    fields: Fields,
    places: Places,
    proposals: int,
    swaps: bool,
    warmth: int,
    seed: Masks,
    best: tuple[Ints, Ints],
    enough: int,
) -> int:
    """Improve panel groups and hosts by random moves.

    Moves flip alternating paths or exchange hosts. Returns the most patches kept.

    A proposal that loses k patches is accepted with probability ``(q / ONE) ** k``, q falling from ``warmth`` to 0.
    Fields and hosts of the best are left in ``best``. Hosts are exchanged with ``swaps`` only. It ends when as many as
    are ``enough`` stay.
    """
    links, nodes, sides = len(fields.field), len(places.place), len(fields.room) // len(places.place)
    path, mark = np.empty(2 * links + 2, dtype=np.int64), np.zeros(links, dtype=np.int64)
    occupant = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        occupant[places.place[node]] = node
    most = fields.kept[0]
    best[0][:] = fields.field
    best[1][:] = places.place
    for proposal in range(proposals if links else 0):
        if most >= enough:
            break
        q = warmth * (proposals - proposal) // proposals
        before = fields.kept[0]
        link = np.int64(next_random(seed) % np.uint64(links))
        choice = np.int64(next_random(seed) % np.uint64(ONE))
        lost, drawn, chance = 0, np.int64(next_random(seed) % np.uint64(ONE)), q
        while lost < _MAX_LOST and drawn < chance:
            lost += 1
            chance = chance * q // ONE
        if swaps and choice % _SELDOM != 0:
            # bring a node to a host that shares a patch in its link's field with the host of the link's other node
            end = choice // _SELDOM % 2
            x, y = places.nodes[link, 1 - end], places.nodes[link, end]
            spot = (places.place[y] * sides + end % sides) * fields.room.shape[1] + fields.field[link]
            row = places.start[spot + 1] - places.start[spot]
            if row == 0:
                continue
            y = occupant[places.near[places.start[spot] + choice // (2 * _SELDOM) % row]]
            if x == y or places.kind[places.place[x]] != places.kind[places.place[y]]:
                continue
            if _gains(fields, places, x, y) < -lost:
                continue
            _swap(fields, places, x, y)
            if fields.kept[0] < before - lost:
                _swap(fields, places, x, y)
                continue
            occupant[places.place[x]], occupant[places.place[y]] = x, y
        else:
            if _stays(fields, link, fields.field[link]):
                continue
            back, to = fields.field[link], _home(fields, link, choice)
            if to < 0:
                to = choice % fields.room.shape[1]
                if to == back or proposal % _IDLE:
                    continue
            _bring(fields, link, to, path, mark, seed, before - lost)
        if fields.kept[0] > most:
            most = fields.kept[0]
            best[0][:] = fields.field
            best[1][:] = places.place
    return int(most)


@compile_kernel
def _next(fields: Fields, twin: Ints, able: Ints, left: Ints, slack: Ints, least: int) -> int:
    """Return the next link to decide, or -1 if hopeless.

    ``able``, ``left`` and ``slack`` are room to count in: links that can come to a key in a field, those of a key that
    are in none, and patches of a pair that can still stay.
    """
    keys, number = fields.room.shape
    able[:] = 0
    left[:] = 0
    for pair in range(len(slack)):
        slack[pair] = 0
        for field in range(number):
            slack[pair] += max(fields.have[pair, field] - fields.now[pair, field], 0)
    found, fewest, total = -1, LARGEST, fields.kept[0]
    for link in range(len(fields.field)):
        if fields.field[link] >= 0:
            continue
        a, b = fields.ends[link]
        options, home = 0, False
        for field in range(number):
            if fields.room[a, field] > 0 and fields.room[b, field] > 0:
                options += 1
                able[a, field] += 1
                able[b, field] += 1
                home = home or _would_stay(fields, link, field)
        if options == 0:
            return -1
        left[a] += 1
        left[b] += 1
        if home and slack[fields.pair[link]] > 0:
            slack[fields.pair[link]] -= 1
            total += 1
        if options < fewest and (twin[link] < 0 or fields.field[twin[link]] >= 0):
            found, fewest = link, options
    if total <= least:
        return -1
    for key in range(keys):
        room = 0
        for field in range(number):
            room += fields.room[key, field]
        if left[key] > room:
            return -1
        for field in range(number):  # what the others have room for, and so what must come here
            if able[key, field] < left[key] - (room - fields.room[key, field]):
                return -1
    return found


@tier_kernel(lambda fields, twin, least, limit, best: int(limit[0]) * len(fields.field) * fields.room.shape[1])
def search(fields: Fields, twin: Ints, least: int, limit: Ints, best: Ints) -> int:
    """Search all panel groups for more than ``least`` patches.

    All links are unplaced at the start.

    ``twin`` is an earlier link between the same nodes, -1 if there is none; the order of these does not count. Returns
    how many patches stay at best, ``least`` if none keeps more; the best fields are left in ``best``. Of the branches
    that may be looked at, ``limit`` says how many are left; below zero the search was given up.
    """
    links, number = len(fields.field), fields.room.shape[1]
    able, left = np.zeros(fields.room.shape, dtype=np.int64), np.zeros(len(fields.room), dtype=np.int64)
    slack = np.zeros(len(fields.have), dtype=np.int64)
    order, turn = np.empty(links + 1, dtype=np.int64), np.zeros(links + 1, dtype=np.int64)
    depth = 0
    order[0] = _next(fields, twin, able, left, slack, least)
    if order[0] < 0:
        return least
    while depth >= 0:
        link = order[depth]
        if fields.field[link] >= 0:
            put(fields, link, -1)
        a, b = fields.ends[link]
        lowest = 0 if twin[link] < 0 else fields.field[twin[link]]
        field = -1
        while turn[depth] < 2 * number and field < 0:  # first where a patch would stay, then elsewhere
            candidate, late = turn[depth] % number, turn[depth] >= number
            turn[depth] += 1
            fits = candidate >= lowest and fields.room[a, candidate] > 0 and fields.room[b, candidate] > 0
            if fits and _would_stay(fields, link, candidate) != late:
                field = candidate
        if field < 0:
            depth -= 1
            continue
        put(fields, link, field)
        limit[0] -= 1
        if limit[0] < 0:
            return least
        if depth == links - 1:
            if fields.kept[0] > least:
                least = fields.kept[0]
                best[:] = fields.field
            continue
        following = _next(fields, twin, able, left, slack, least)
        if following >= 0:
            depth += 1
            order[depth], turn[depth] = following, 0
    return least
