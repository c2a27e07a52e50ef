"""Compiled loops of deferred schedules: who must forward which shard in time, and what each node takes at a step.

Matrices have a row for each node and a column for each shard, which is called by its source: ``distance[v, s]`` is how
far shard s has to go to node v, ``relay[v, s]`` whether v has to forward it, ``time[v, s]`` the step at which v gets
it, 0 for not yet. Links are given by their ends as ``(first, other)``: node v's are ``other[first[v]:first[v+1]]``.
Those into a node have an entry for each unit of capacity and no self-loops; those out of it one for each neighbour.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compiled, find, tiered
from topodesign.pricing.kernels import _augment, _group, _whole_first, search

Shorts = NDArray[np.int16]
Bytes = NDArray[np.uint8]

CLASSES = 2
"""Bits that tell how urgent a shard is, above those for the links it can come over."""

_MUST, _FORKS, _LEADS, _ENDS = 0, 1, 2, 3


@tiered(lambda out_first, out_other, in_first, in_other, distance, relay: 3 * len(distance) * len(in_other))
def choose_relays(
    out_first: Ints, out_other: Ints, in_first: Ints, in_other: Ints, distance: Shorts, relay: Bytes
) -> int:
    """Fill distances, and for each shard choose few nodes over which shortest paths lead to all others.

    From the farthest nodes to the nearest, each gets one neighbour on a shortest path that forwards in time: who has
    only one such neighbour takes it, others take what is chosen already, else who leads to most of those that have
    none, and forwards the fewest shards from as far away.

    Parameters
    ----------
    out_first, out_other, in_first, in_other
        Links out of and into each node.
    distance, relay
        Shape ``(N, N)``, written.

    Returns
    -------
    int
        The diameter, or -1 if some node is not reached.
    """
    nodes = len(distance)
    far, mask = np.empty(nodes, np.int64), np.empty(nodes, np.uint64)
    queue, first = np.empty(nodes, np.int64), np.empty(nodes + 1, np.int64)
    forwards = np.zeros((nodes, nodes), np.int32)
    chosen = np.zeros(nodes, np.uint8)
    waiting = np.zeros(nodes, np.int64)
    diameter = 0
    for shard in range(nodes):
        if search(shard, out_first, out_other, far, mask, queue) < nodes:
            return -1
        deepest = far[queue[nodes - 1]]
        diameter = max(diameter, deepest)
        layer = -1
        for place in range(nodes):
            node = queue[place]
            distance[node, shard] = far[node]
            chosen[node] = 0
            while layer < far[node]:
                layer += 1
                first[layer] = place
        first[deepest + 1] = nodes
        chosen[shard] = 1
        for x in range(deepest, 1, -1):
            for place in range(first[x - 1], first[x]):
                waiting[queue[place]] = 0
            for place in range(first[x], first[x + 1]):
                node = queue[place]
                only, several = -1, False
                for entry in range(in_first[node], in_first[node + 1]):
                    other = in_other[entry]
                    if far[other] == x - 1:
                        several = several or (only >= 0 and other != only)
                        only = other
                if not several and not chosen[only]:
                    chosen[only] = 1
                    forwards[only, x - 1] += 1
            for again in range(2):
                for place in range(first[x], first[x + 1]):
                    node = queue[place]
                    served = False
                    for entry in range(in_first[node], in_first[node + 1]):
                        other = in_other[entry]
                        served = served or (far[other] == x - 1 and chosen[other] == 1)
                    if served:
                        continue
                    best, fewest = -1, 0
                    for entry in range(in_first[node], in_first[node + 1]):
                        other = in_other[entry]
                        if far[other] != x - 1:
                            continue
                        if again == 0:
                            waiting[other] += 1
                            continue
                        load = forwards[other, x - 1] - waiting[other]
                        if best < 0 or load < fewest:
                            best, fewest = other, load
                    if again == 1:
                        chosen[best] = 1
                        forwards[best, x - 1] += 1
        for node in range(nodes):
            relay[node, shard] = chosen[node]
    return diameter


@compiled
def _urgency(
    node: int, shard: int, step: int, out_first: Ints, out_other: Ints, distance: Shorts, relay: Bytes, time: Shorts
) -> int:
    """Return how urgent a shard is: who must forward it does so now; else the more nodes wait for it the sooner."""
    if relay[node, shard] == 1 and distance[node, shard] == step:
        return _MUST
    behind = 0
    for entry in range(out_first[node], out_first[node + 1]):
        other = out_other[entry]
        if time[other, shard] == 0 and distance[other, shard] == step + 1:
            behind += 1
    return _FORKS if behind > 1 else (_LEADS if behind == 1 else _ENDS)


@tiered(lambda in_first, in_other, *_: 2 * len(in_first) * len(in_other))
def deliver(
    in_first: Ints,
    in_other: Ints,
    out_first: Ints,
    out_other: Ints,
    distance: Shorts,
    relay: Bytes,
    time: Shorts,
    link: Shorts,
    step: int,
    last: bool,
    room: int,
    take: bool,
) -> int:
    """Have every node take shards over each of its links at a step, urgent ones first.

    Parameters
    ----------
    in_first, in_other, out_first, out_other
        Links into and out of each node.
    distance, relay
        As :func:`choose_relays` filled them.
    time, link
        Shape ``(N, N)``: for node v and shard s the step at which it comes, 0 for not yet, and over which of its links;
        changed in place if ``take``.
    step
        Its number, from 1 on.
    last
        Whether it is the last one, so that all that is missing must come.
    room
        Shards that a link may carry, unless those that must come now are more.
    take
        Whether to take anything, or only to look at what must come.

    Returns
    -------
    int
        Shards that a link has to carry: ``room`` or more. -1 if in the last step a shard has not come near.
    """
    nodes = len(time)
    keys, shards = np.empty(nodes, np.uint64), np.empty(nodes, np.int64)
    kinds, counts = np.empty(nodes, np.uint64), np.empty(nodes, np.int64)
    for node in range(nodes):
        begin, ports = in_first[node], in_first[node + 1] - in_first[node]
        over = np.uint64(ports)
        found = 0
        for shard in range(nodes):
            if time[node, shard] != 0 or distance[node, shard] > step or shard == node:
                continue
            must = last or (relay[node, shard] == 1 and distance[node, shard] == step)
            if not (take or must):
                continue
            mask = np.uint64(0)
            for j in range(ports):
                other = in_other[begin + j]
                if other == shard or 0 < time[other, shard] < step:
                    mask |= np.uint64(1) << np.uint64(j)
            if mask == 0:
                if last:
                    return -1
                continue
            if not must:
                urgency = _urgency(node, shard, step, out_first, out_other, distance, relay, time)
                mask |= np.uint64(urgency) << over
            keys[found] = mask
            shards[found] = shard
            found += 1
        if found == 0:
            continue
        groups = _sorted_group(keys[:found], ports, kinds, counts)
        masks, urgencies = np.empty(groups, np.uint64), np.empty(groups, np.int64)
        for g in range(groups):
            urgencies[g] = np.int64(kinds[g] >> over)
            masks[g] = kinds[g] & ((np.uint64(1) << over) - np.uint64(1))
        left, open_, flow = np.full(ports, room), np.zeros(groups, np.int64), np.zeros((groups, ports), np.int64)
        for g in range(groups):
            if urgencies[g] == _MUST:
                open_[g] = counts[g]
        _whole_first(groups, masks, open_, left, flow)
        while _augment(groups, masks, open_, left, flow):
            room += 1
            for j in range(ports):
                left[j] += 1
        if not take:
            continue
        for urgency in range(_FORKS, _ENDS + 1):
            for g in range(groups):
                if urgencies[g] == urgency:
                    open_[g] = counts[g]
                    _augment(groups, masks, open_, left, flow)
                    open_[g] = 0
        for i in range(found):
            g = find(keys[i], kinds[:groups])
            for j in range(ports):
                if flow[g, j] > 0:
                    flow[g, j] -= 1
                    time[node, shards[i]] = step
                    link[node, shards[i]] = j
                    break
    return room


@compiled
def _sorted_group(keys: Masks, ports: int, kinds: Masks, counts: Ints) -> int:
    """Write each distinct key with its count, in order, and return how many there are; the keys stay as they are."""
    copy = np.empty_like(keys)
    for i in range(len(keys)):
        copy[i] = keys[i]
    return _group(copy, ports + CLASSES, np.zeros(0, np.int64), kinds, counts)
