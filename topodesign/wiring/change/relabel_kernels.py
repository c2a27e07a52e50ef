"""Compiled search for the relabelling that keeps most links.

Both topologies are square matrices of link capacities, ``have[h, k]`` between hosts and ``want[u, v]`` between nodes. A
placement gives every node a host of its own and keeps ``sum of min(want[u, v], have[place[u], place[v]])`` links. All
numbers are integers, so that a walk is the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compile_kernel, next_random

Matrix = NDArray[np.int16]  # links between each two nodes, or rows of nodes

ONE = 2**16  # acceptance of the annealing is counted in parts of this


@compile_kernel
def _count_kept(have: Matrix, want: Matrix, place: Ints) -> int:
    """Return how many links a placement keeps."""
    total = 0
    for u in range(len(place)):
        for v in range(len(place)):
            if want[u, v]:
                total += min(want[u, v], have[place[u], place[v]])
    return total


@compile_kernel
def _count_held(
    have: Matrix, want: Matrix, near: Ints, start: Ints, place: Ints, node: np.int64, other: np.int64
) -> int:
    """Return the links kept between a node and all others but one."""
    total = 0
    here = place[node]
    for entry in range(start[node], start[node + 1]):
        v = near[entry]
        if v != other:
            there = place[v]
            total += min(want[node, v], have[here, there]) + min(want[v, node], have[there, here])
    return total


@compile_kernel
def anneal(
    have: Matrix, want: Matrix, near: Ints, start: Ints, place: Ints, proposals: int, warmth: int, seed: Masks
) -> int:
    """Improve a placement by annealing exchanges of two hosts; return the links it keeps.

    ``near[start[u]:start[u + 1]]`` are the nodes that u shares links with, and the same for hosts from ``start[n + u]``
    on. An exchange that loses k links is accepted with probability ``(q / ONE) ** k``, q falling from ``warmth`` to 0.
    The best placement is left in ``place``.
    """
    nodes = len(place)
    occupant = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        occupant[place[node]] = node
    current = _count_kept(have, want, place)
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
        before = _count_held(have, want, near, start, place, x, y) + _count_held(have, want, near, start, place, y, x)
        a, b = place[x], place[y]
        before += min(want[x, y], have[a, b]) + min(want[y, x], have[b, a])
        place[x], place[y] = b, a
        after = _count_held(have, want, near, start, place, x, y) + _count_held(have, want, near, start, place, y, x)
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


@compile_kernel
def _most(matrix: Ints, free_row: NDArray[np.bool_], free_column: NDArray[np.bool_]) -> int:
    """Return an upper bound on an assignment."""
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


@compile_kernel
def exhaust(
    one: Matrix, other: Matrix, order: Ints, group: Matrix, best: Ints, least: int, grain: int, limit: int
) -> int:
    """Search node matchings exactly, by branch and bound.

    A matching has to keep more than ``least`` links.

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
