"""Compiled exchange of hosts with different cabling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import Ints, Masks, compile_kernel, next_random, tier_kernel

_PARTNERS = 16  # exchanges that are tried for a node with excess, before the next one's turn
ONE = 2**16  # acceptance is counted in parts of this


class Pods(NamedTuple):
    """Relevant counts of hosts and links."""

    start: Ints  # where the links of a node begin in ``near``
    near: Ints  # the other ends of links
    way: Ints  # which of its links take the same fibres: 0 out and 1 in, all 0 where these come together
    kind: Ints  # hosts that are cabled alike
    first: Ints  # where the hosts of a kind begin in ``alike``
    alike: Ints  # hosts, by kind
    group: Ints  # by two kinds, which fields they share
    room: Ints  # lanes of a kind at the fields of a group; the last is of all


@compile_kernel
def _excess(pods: Pods, place: Ints, node: int | np.int64, count: Ints) -> int:
    """Return the number of a node's links without lanes."""
    mine, last = pods.kind[place[node]], pods.room.shape[1] - 1
    count[:] = 0
    for entry in range(pods.start[node], pods.start[node + 1]):
        count[pods.way[entry], pods.group[mine, pods.kind[place[pods.near[entry]]]]] += 1
        count[pods.way[entry], last] += 1
    total = 0
    for group in range(last + 1):
        for way in range(2):
            total += max(count[way, group] - pods.room[mine, group], 0)
    return total


@compile_kernel
def _list_touched(pods: Pods, two: tuple[np.int64, np.int64], mark: Ints, stamp: int, around: Ints) -> int:
    """List two nodes and their neighbours in ``around``; return the count."""
    size = 0
    for end in two:
        for entry in range(pods.start[end] - 1, pods.start[end + 1]):
            u = end if entry < pods.start[end] else pods.near[entry]
            if mark[u] != stamp:
                mark[u] = stamp
                around[size] = u
                size += 1
    return size


@compile_kernel
def _chance(change: int) -> int:
    """Return the acceptance chance of a change, of ``ONE``."""
    return ONE if change < 0 else ONE // 4 if change == 0 else ONE // 256 if change == 1 else 0


@tier_kernel(lambda pods, place, tries, _: 10 * len(pods.near) + 100 * tries)
def exchange(pods: Pods, place: Ints, tries: int, random: Masks) -> int:
    """Exchange hosts to reduce excess; return the remaining excess.

    ``place`` is changed in place.

    A node with excess, or a neighbour of it, goes to a host of the other's kind. Seldom there may be more excess then.
    """
    nodes = len(place)
    occupant = np.argsort(place)
    count = np.zeros((2, pods.room.shape[1]), dtype=np.int64)
    excess, fresh, mark = np.empty(nodes, dtype=np.int64), np.empty(nodes, dtype=np.int64), np.zeros(nodes, np.int64)
    for node in range(nodes):
        excess[node] = _excess(pods, place, node, count)
    left, stamp = excess.sum(), 0
    around = np.empty(nodes, dtype=np.int64)
    for turn in range(tries):
        node = turn % nodes
        if left == 0:
            break
        for attempt in range(_PARTNERS if excess[node] else 0):
            links = pods.start[node + 1] - pods.start[node]
            a, other = (
                np.int64(node),
                pods.near[pods.start[node] + np.int64(next_random(random) % np.uint64(max(links, 1)))],
            )
            if attempt % 2:
                a, other = other, a
            to = pods.kind[place[other]]
            some = pods.first[to + 1] - pods.first[to]
            b = occupant[pods.alike[pods.first[to] + np.int64(next_random(random) % np.uint64(some))]]
            if pods.kind[place[a]] == to:
                continue
            place[a], place[b] = place[b], place[a]
            stamp += 1
            size, change = _list_touched(pods, (a, b), mark, stamp, around), 0
            for u in around[:size]:
                fresh[u] = _excess(pods, place, u, count)
                change += fresh[u] - excess[u]
            if np.int64(next_random(random) % np.uint64(ONE)) >= _chance(change):
                place[a], place[b] = place[b], place[a]
                continue
            occupant[place[a]], occupant[place[b]] = a, b
            left += change
            for u in around[:size]:
                excess[u] = fresh[u]
            if excess[node] == 0:
                break
    return int(left)
