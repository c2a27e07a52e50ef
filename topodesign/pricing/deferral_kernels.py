"""Compiled loops of deferred schedules.

Who must forward which shard in time, and what each node takes at a step.

A shard is called by its source. Matrices have a row for each node that receives, which are all, or one of each orbit
of a symmetry, and a column for each shard: ``code[r, s]`` is :data:`CLASSES` times how far shard s has to go to
receiver r plus how urgent it is there, ``time[r, s]`` the step at which it comes, 0 for its own shard, :data:`NOT_YET`
before it is taken. The links into receiver r are ``first[r]`` to ``first[r+1]``, one for each unit of capacity and no
self-loop. Link e comes from a node that looks like receiver ``other[e]``, to which shard s is what ``moved[e, s]`` is
to that one; without a symmetry ``moved`` has no rows, and each shard is itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, compile_kernel, find, sort, tier_kernel
from topodesign.pricing.kernels import _augment, _whole_first, search

Shorts = NDArray[np.int16]
Bytes = NDArray[np.uint8]

NOT_YET = 2**15 - 1  # A step later than all others
CLASSES = 4  # how urgent a shard can be
CLASS_BITS = 2

_MUST, _FORKS, _LEADS, _ENDS = 0, 1, 2, 3
_TABLE_BITS = 16  # keys of so many bits are counted in a table, which beats sorting them


@tier_kernel(lambda shards, out_first, out_other, in_first, in_other, *_: 4 * len(shards) * len(in_other))
def choose_relays(
    shards: Ints,
    out_first: Ints,
    out_other: Ints,
    in_first: Ints,
    in_other: Ints,
    orbit: Ints,
    code: Shorts,
    forwards: NDArray[np.int32],
) -> int:
    """Choose few relays per shard, with their urgency.

    Shortest paths lead over them to all others.

    From the farthest nodes to the nearest, each gets one neighbour on a shortest path that forwards in time: who has
    only one such neighbour takes it, others take what is chosen already, else who leads to most of those that have
    none, and forwards the fewest shards from as far away. Who forwards a shard must have it at once; of the others
    those are the more urgent that lead to more nodes.

    * ``shards``: which to look at.
    * ``out_first``, ``out_other``, ``in_first``, ``in_other``: links out of and into each node.
    * ``orbit``: the number of the orbit that each node is in.
    * ``code``: shape ``(shards, N)``, written: what the codes are of these shards at all nodes.
    * ``forwards``: shape ``(orbits, diameter + 1)``, zeros: counts what is forwarded by distance.

    Returns: the diameter, or -1 if some node is not reached.
    """
    nodes = len(orbit)
    far, mask = np.empty(nodes, np.int64), np.empty(nodes, np.uint64)
    queue, first = np.empty(nodes, np.int64), np.empty(nodes + 1, np.int64)
    chosen = np.zeros(nodes, np.uint8)
    waiting = np.zeros(nodes, np.int64)
    diameter = 0
    for number in range(len(shards)):
        shard = shards[number]
        if search(shard, out_first, out_other, far, mask, queue) < nodes:
            return -1
        deepest = far[queue[nodes - 1]]
        diameter = max(diameter, deepest)
        layer = -1
        for place in range(nodes):
            node = queue[place]
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
                    forwards[orbit[only], x - 1] += 1
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
                        load = forwards[orbit[other], x - 1] - waiting[other]
                        if best < 0 or load < fewest:
                            best, fewest = other, load
                    if again == 1:
                        chosen[best] = 1
                        forwards[orbit[best], x - 1] += 1
        for node in range(nodes):
            urgency = _MUST
            if chosen[node] == 0:
                behind = 0
                for entry in range(out_first[node], out_first[node + 1]):
                    if far[out_other[entry]] == far[node] + 1:
                        behind += 1
                urgency = _FORKS if behind > 1 else (_LEADS if behind == 1 else _ENDS)
            code[number, node] = CLASSES * far[node] + urgency
    return diameter


@tier_kernel(lambda begin, end, in_first, in_other, moved, code, *_: 2 * (end - begin) * len(code[0]) * 4)
def deliver(
    begin: int,
    end: int,
    in_first: Ints,
    in_other: Ints,
    moved: NDArray[np.int32],
    code: Shorts,
    time: Shorts,
    link: Bytes,
    step: int,
    last: bool,
    room: int,
    take: bool,
) -> int:
    """Have receivers take shards over their links at a step, urgent ones first.

    * ``begin``, ``end``: which receivers: from the first of these up to the second.
    * ``in_first``, ``in_other``, ``moved``, ``code``: links and codes, as above.
    * ``time``, ``link``: shape ``(receivers, N)``: the step at which a shard comes, and over which of the receiver's
      links; changed in place if ``take``. What has come at an earlier step is left as it is.
    * ``step``: its number, from 1 on.
    * ``last``: whether it is the last one, so that all that is missing must come.
    * ``room``: shards that a link may carry, unless those that must come now are more.
    * ``take``: whether to take anything, or only to look at what must come.

    Returns: shards that a link has to carry: ``room`` or more. -1 if in the last step a shard has not come near.
    """
    nodes = code.shape[1]
    keys, shards = np.empty(nodes, np.uint64), np.empty(nodes, np.int64)
    kinds, counts = np.empty(nodes, np.uint64), np.empty(nodes, np.int64)
    widest = 0
    for node in range(begin, end):
        widest = max(widest, in_first[node + 1] - in_first[node])
    bits = widest + CLASS_BITS
    place = np.zeros(1 << bits if bits <= _TABLE_BITS else 0, np.int64)
    for node in range(begin, end):
        start, ports = in_first[node], in_first[node + 1] - in_first[node]
        over = np.uint64(ports)
        found = 0
        for shard in range(nodes):
            urgency = int(code[node, shard]) - CLASSES * step
            if urgency >= CLASSES or (urgency != _MUST and not take) or time[node, shard] < step:
                continue
            if last:
                urgency = _MUST
            elif urgency < 0:
                urgency = _ENDS  # all whom it leads to have got it from others, or may
            mask = np.uint64(0)
            for j in range(ports):
                there = moved[start + j, shard] if len(moved) else shard
                if time[in_other[start + j], there] < step:
                    mask |= np.uint64(1) << np.uint64(j)
            if mask == 0:
                if last:
                    return -1
                continue
            keys[found] = mask | np.uint64(urgency) << over
            shards[found] = shard
            found += 1
        if found == 0:
            continue
        groups = _number_keys(keys[:found], ports + CLASS_BITS, place, kinds, counts)
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
        full = np.uint64(0)  # links over which nothing more can come, however others change over
        for urgency in range(_FORKS, _ENDS + 1):
            for g in range(groups):
                if urgencies[g] == urgency:
                    open_[g] = counts[g]
            while True:
                for g in range(groups):
                    if not masks[g] & ~full:
                        open_[g] = 0
                more = _augment(groups, masks, open_, left, flow)
                if more == 0:
                    break
                full |= more
        for i in range(found):
            group = keys[i]
            for j in range(ports):
                if flow[group, j] > 0:
                    flow[group, j] -= 1
                    time[node, shards[i]] = step
                    link[node, shards[i]] = j
                    break
    return room


@compile_kernel
def _number_keys(keys: Masks, bits: int, place: Ints, kinds: Masks, counts: Ints) -> int:
    """Replace sorted keys by numbers and counts; return their number.

    ``place`` holds zeros, before and after, for all keys of as many bits as it has room for.
    """
    groups = 0
    table = len(place) > 0
    if table:
        for key in keys:
            if place[key] == 0:
                place[key] = 1
                kinds[groups] = key
                groups += 1
        sort(kinds[:groups].view(np.int64), bits)
        for g in range(groups):
            place[kinds[g]] = g
    else:
        spare = np.empty_like(keys)
        for i in range(len(keys)):
            spare[i] = keys[i]
        sort(spare.view(np.int64), bits)
        for i in range(len(keys)):
            if i == 0 or spare[i] != spare[i - 1]:
                kinds[groups] = spare[i]
                groups += 1
    for g in range(groups):
        counts[g] = 0
    for i in range(len(keys)):
        number = int(place[keys[i]]) if table else find(keys[i], kinds[:groups])
        counts[number] += 1
        keys[i] = number
    if table:
        for g in range(groups):
            place[kinds[g]] = 0
    return groups
