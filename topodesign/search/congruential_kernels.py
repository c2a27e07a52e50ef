"""Compiled estimates of how evenly links into nodes can be loaded."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, Masks, compiled

SHARE = 720720  # parts of a shard, into which 1 to 16 links divide it without a rest


@compiled
def fill_levels(links: Ints, reached: Masks) -> None:
    """Write which nodes each node reaches.

    * ``links``: shape ``(N, d)``: ends of the links out of each node.
    * ``reached``: shape ``(levels, N, N/64)``, zeros: row v of level t becomes the nodes within t links of v, as bits.
    """
    levels, nodes, words = reached.shape
    for node in range(nodes):
        reached[0, node, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
    for level in range(1, levels):
        for node in range(nodes):
            for w in range(words):
                row = reached[level - 1, node, w]
                for j in range(links.shape[1]):
                    row |= reached[level - 1, links[node, j], w]
                reached[level, node, w] = row


@compiled
def unevenness(reached: Masks, links: Ints, nodes: Ints, limit: int) -> int:
    """Return the estimated largest load in the last two steps.

    In parts of :data:`SHARE`.

    A node gets the shards of what is more than L - 2 links away in the last two of L steps, each by a link to something
    that is within L - 1 links of it. Those with the fewest such links choose the least loaded one first. If it is
    more, what the last step alone brings to the fullest link counts, where shards are split over all links that can
    bring them, and what a link has to bring a step earlier for others to have it on average. Three tenths of the last
    step are added in either case: the more it is, the less is free to go a step earlier.

    * ``reached``: shape ``(L, N, N/64)``: see :func:`fill_levels`.
    * ``links``: shape ``(N, d)``: the ends of the links.
    * ``nodes``: those to look at, which represent all others.
    * ``limit``: more than this is not worth to know how much.

    Returns: -1 if some node is more than L links away from one that is looked at.
    """
    count, ports = links.shape
    last = len(reached) - 1
    options, found = np.zeros((count, ports), np.int64), np.zeros(count, np.int64)
    have = np.zeros(ports, np.uint64)
    load, late = np.zeros(ports, np.int64), np.zeros(ports, np.int64)
    most = 0
    for node in nodes:
        for j in range(ports):
            load[j] = late[j] = 0
        wanted = far = 0
        for w in range((count + 63) // 64):
            need, near = ~reached[last - 1, node, w], reached[last, node, w]
            if need == np.uint64(0):
                continue
            for j in range(ports):
                have[j] = reached[last, links[node, j], w]
            for place in range(min(64, count - 64 * w)):
                bit = np.uint64(1) << np.uint64(place)
                if not need & bit:
                    continue
                ways = 0
                for j in range(ports):
                    if have[j] & bit:
                        options[wanted, ways] = j
                        ways += 1
                if ways == 0:
                    return -1
                if not near & bit:
                    far += 1
                    for i in range(ways):
                        late[options[wanted, i]] += SHARE // ways
                found[wanted] = ways
                wanted += 1
        for ways in range(1, ports + 1):
            for one in range(wanted):
                if found[one] == ways:
                    best = options[one, 0]
                    for i in range(1, ways):
                        if load[options[one, i]] < load[best]:
                            best = options[one, i]
                    load[best] += 1
        full = fullest = 0
        for j in range(ports):
            full, fullest = max(full, load[j]), max(fullest, late[j])
        most = max(most, max(full * SHARE, fullest + far * SHARE // ports**2) + 3 * fullest // 10)
        if most > limit:
            break
    return most


@compiled
def unevenness_both(out: Ints, into: Ints, steps: int, nodes: Ints, limit: int) -> int:
    """Return :func:`unevenness` of both collectives, weighted.

    The larger one counts twice; -1 if too far.

    * ``out``, ``into``: shape ``(N, d)``: where the links out of each node end, and where those into it start.
    * ``steps``: L, at least 2.
    * ``nodes``, ``limit``: see :func:`unevenness`.
    """
    words = (len(out) + 63) // 64
    reached = np.zeros((steps, len(out), words), np.uint64)
    fill_levels(into, reached)
    there = unevenness(reached, into, nodes, limit)
    if there < 0 or 2 * there > limit:
        return there if there < 0 else 2 * there
    back = np.zeros((steps, len(out), words), np.uint64)
    fill_levels(out, back)
    rest = unevenness(back, out, nodes, min((limit - there) // 2, limit - 2 * there))
    return rest if rest < 0 else there + rest + max(there, rest)
