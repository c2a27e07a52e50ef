"""Compiled search for the relabelling of a topology that keeps most links of another.

Both topologies are square matrices of link capacities, ``have[h, k]`` between hosts and ``want[u, v]`` between nodes. A
placement gives every node a host of its own and keeps ``sum of min(want[u, v], have[place[u], place[v]])`` links. All
numbers are integers, so that a walk is the same on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled, next_random, tiered

Matrix = NDArray[np.int16]  # links between each two nodes, or rows of nodes

ONE = 2**16  # acceptance of the annealing is counted in parts of this
_MOST_SCORE = 64  # pairs that would keep more links are not distinguished


class Labelled(NamedTuple):
    """Links by their ends: those of node u from ``start[u]`` on, up to ``start[u + 1]``."""

    start: Ints
    near: Ints  # the other end
    label: Ints  # which links can be the same, told apart by direction and field
    copies: Ints  # how many they are


@tiered(lambda have, want, kind, place, first, seed: 10 * len(have.near) * len(want.near) // max(len(place), 1))
def spread(have: Labelled, want: Labelled, kind: Ints, place: Ints, first: tuple[int, int], seed: Masks) -> int:
    """Place node by node, each time one that then keeps most links to those placed; return how many are kept.

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
    last = np.full(_MOST_SCORE, -1, dtype=np.int64)
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
                    named = min(score[u, g], _MOST_SCORE - 1)
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
            if place[u] < 0 and free[g] and min(score[u, g], _MOST_SCORE - 1) == top:
                x, h = u, g
        if x < 0:
            while rest < nodes and place[rest] >= 0:
                rest += 1
            x, h = np.int64(rest), np.int64(0)
            while rest < nodes and not (free[h] and kind[h] == old[rest]):
                h += 1
    return int(total)


@compiled
def kept(have: Matrix, want: Matrix, place: Ints) -> int:
    """Return how many links a placement keeps."""
    total = 0
    for u in range(len(place)):
        for v in range(len(place)):
            if want[u, v]:
                total += min(want[u, v], have[place[u], place[v]])
    return total


@compiled
def _held(have: Matrix, want: Matrix, near: Ints, start: Ints, place: Ints, node: np.int64, other: np.int64) -> int:
    """Return the links kept between a node and all others but one."""
    total = 0
    here = place[node]
    for entry in range(start[node], start[node + 1]):
        v = near[entry]
        if v != other:
            there = place[v]
            total += min(want[node, v], have[here, there]) + min(want[v, node], have[there, here])
    return total


@compiled
def anneal(
    have: Matrix, want: Matrix, near: Ints, start: Ints, place: Ints, proposals: int, warmth: int, seed: Masks
) -> int:
    """Swap hosts of nodes, at first also for the worse; leave the best placement in ``place``, return what it keeps.

    ``near[start[u]:start[u + 1]]`` are the nodes that u shares links with, and the same for hosts from ``start[n + u]``
    on. A swap that loses k links is accepted with probability ``(q / ONE) ** k``, q falling from ``warmth`` to 0.
    """
    nodes = len(place)
    occupant = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        occupant[place[node]] = node
    current = kept(have, want, place)
    best, best_place = current, place.copy()
    for proposal in range(proposals):
        q = warmth * (proposals - proposal) // proposals
        x = np.int64(next_random(seed) % np.uint64(nodes))
        row = start[x + 1] - start[x]
        y = np.int64(next_random(seed) % np.uint64(nodes))
        if row:  # bring a node that x wants a link with to a host that x's host has a link with
            u = near[start[x] + np.int64(next_random(seed) % np.uint64(row))]
            first = start[nodes + place[u]]
            row = start[nodes + place[u] + 1] - first
            if row:
                y = occupant[near[first + np.int64(next_random(seed) % np.uint64(row))]]
        if x == y:
            continue
        before = _held(have, want, near, start, place, x, y) + _held(have, want, near, start, place, y, x)
        a, b = place[x], place[y]
        before += min(want[x, y], have[a, b]) + min(want[y, x], have[b, a])
        place[x], place[y] = b, a
        after = _held(have, want, near, start, place, x, y) + _held(have, want, near, start, place, y, x)
        after += min(want[x, y], have[b, a]) + min(want[y, x], have[a, b])
        chance = ONE
        for _ in range(before - after):
            chance = chance * q // ONE
        if after < before and np.int64(next_random(seed) % np.uint64(ONE)) >= chance:
            place[x], place[y] = a, b
            continue
        occupant[a], occupant[b] = y, x
        current += after - before
        if current > best:
            best = current
            best_place[:] = place
    place[:] = best_place
    return best


@compiled
def _agrees(one: Matrix, other: Matrix, order: Ints, image: Ints, depth: int) -> bool:
    """Return whether the last node's image has the links to the others' images that the node has to the others."""
    node, host = order[depth], image[depth]
    if one[node, node] != other[host, host]:
        return False
    for earlier in range(depth):
        u, h = order[earlier], image[earlier]
        if one[node, u] != other[host, h] or one[u, node] != other[h, host]:
            return False
    return True


@compiled
def automorphisms(matrix: Matrix, order: Ints, fixed: int, found: Matrix, effort: int) -> int:
    """List the automorphisms that fix the first nodes of an order, as rows of ``found``.

    Returns their number, or -1 if they are more than there are rows or cannot be listed with so many comparisons.
    """
    nodes = len(order)
    image = np.full(nodes + 1, -1, dtype=np.int64)
    used = np.zeros(nodes, dtype=np.bool_)
    count, depth = 0, 0
    while depth >= 0:
        if image[depth] >= 0:
            used[image[depth]] = False
        image[depth] += 1
        if depth < fixed:
            image[depth] = order[depth] if image[depth] <= order[depth] else nodes
        while image[depth] < nodes and used[image[depth]]:
            image[depth] += 1
        if image[depth] >= nodes:
            image[depth] = -1
            depth -= 1
            if depth < fixed:
                break
            continue
        used[image[depth]] = True
        effort -= depth + 1
        if effort < 0:
            return -1
        if not _agrees(matrix, matrix, order, image, depth):
            continue
        if depth < nodes - 1:
            depth += 1
            continue
        if count == len(found):
            return -1
        for place in range(nodes):
            found[count, order[place]] = image[place]
        count += 1
    return count


@compiled
def _most(matrix: Ints, free_row: NDArray[np.bool_], free_column: NDArray[np.bool_]) -> int:
    """Return a bound on the largest assignment of rows to columns: sums of the largest of each row, or column."""
    rows, columns = 0, 0
    for i in range(len(matrix)):
        largest_row, largest_column = 0, 0
        for j in range(len(matrix)):
            if free_row[i] and free_column[j]:
                largest_row = max(largest_row, matrix[i, j])
            if free_row[j] and free_column[i]:
                largest_column = max(largest_column, matrix[j, i])
        rows += largest_row
        columns += largest_column
    return min(rows, columns)


@compiled
def exhaust(
    one: Matrix, other: Matrix, order: Ints, group: Matrix, best: Ints, least: int, grain: int, limit: int
) -> int:
    """Search all matchings of two sets of nodes for one that keeps more links than ``least``, by branch and bound.

    ``group`` has automorphisms of ``other`` that form a group, a row each: of matchings that differ by one of them only
    that is looked at whose images come first in ``order``. What is kept is a multiple of ``grain``. Returns how many
    branches were looked at, or -1 if ``limit`` was not enough for all.
    """
    nodes = len(order)
    image = np.full(nodes, -1, dtype=np.int64)
    free_one, free_other = np.ones(nodes, dtype=np.bool_), np.ones(nodes, dtype=np.bool_)
    gained = np.zeros(nodes + 1, dtype=np.int64)
    # links that a match would keep to the matched, at each depth
    cross = np.zeros((nodes + 1, nodes, nodes), dtype=np.int64)
    alive = np.zeros((nodes + 1, len(group)), dtype=np.int64)
    size = np.zeros(nodes + 1, dtype=np.int64)
    alive[0] = np.arange(len(group))
    size[0] = len(group)
    value = np.zeros((nodes, nodes), dtype=np.int64)
    room_one, room_other = np.zeros((2, nodes), dtype=np.int64), np.zeros((2, nodes), dtype=np.int64)
    branches, depth = 0, 0
    while depth >= 0:
        node = order[depth]
        if image[depth] >= 0:
            free_other[image[depth]] = True
            free_one[node] = True
        host = image[depth] + 1
        while host < nodes:
            if free_other[host]:
                first = True
                for row in range(size[depth]):
                    if group[alive[depth, row], host] < host:
                        first = False
                        break
                if first:
                    break
            host += 1
        if host == nodes:
            image[depth] = -1
            depth -= 1
            continue
        image[depth] = host
        branches += 1
        if branches > limit:
            return -1
        free_other[host] = False
        free_one[node] = False
        total = gained[depth] + cross[depth, node, host] + min(one[node, node], other[host, host])
        if depth == nodes - 1:
            if total > least:
                least = total
                for place in range(nodes):
                    best[order[place]] = image[place]
            continue
        for u in range(nodes):  # what the rest can still keep among itself
            room_one[:, u] = 0
            room_other[:, u] = 0
            for v in range(nodes):
                if free_one[v]:
                    room_one[0, u] += one[u, v]
                    room_one[1, u] += one[v, u]
                if free_other[v]:
                    room_other[0, u] += other[u, v]
                    room_other[1, u] += other[v, u]
        for u in range(nodes):
            for h in range(nodes):
                if free_one[u] and free_other[h]:
                    kept_here = min(one[node, u], other[host, h]) + min(one[u, node], other[h, host])
                    cross[depth + 1, u, h] = cross[depth, u, h] + kept_here
                    inner = min(room_one[0, u], room_other[0, h]) + min(room_one[1, u], room_other[1, h])
                    value[u, h] = 2 * cross[depth + 1, u, h] + inner
        bound = total + _most(value, free_one, free_other) // 2
        if bound // grain * grain <= least:
            continue
        gained[depth + 1] = total
        count = 0
        for row in range(size[depth]):
            if group[alive[depth, row], host] == host:
                alive[depth + 1, count] = alive[depth, row]
                count += 1
        size[depth + 1] = count
        depth += 1
    return branches
