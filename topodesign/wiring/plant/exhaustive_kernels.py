"""Compiled pricing of many small topologies.

Steps are those of a breadth-first search, on bits; the load of a node at a distance is the most over all sets of its
neighbours of the shards that only these can bring, over the links to them (Efficient Direct-Connect Topologies,
Theorem 20), in parts of a shard that up to 12 parallel links divide.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, compile_kernel

PART = 27720  # parts of a shard, into which 1 to 12 links divide it without a rest
MAX_STEPS = 10


@compile_kernel
def _loads(links: Ints, reach: Ints, near: Ints) -> tuple[int, int]:
    """Return steps (-1: disconnected) and summed maximum loads.

    ``reach`` is room for the nodes within so many steps of each, as bits; ``near`` for the neighbours of one.
    """
    nodes = len(links)
    everyone = (1 << nodes) - 1
    for u in range(nodes):
        reach[0, u] = 1 << u
    steps, total = 0, 0
    while True:
        done = True
        for u in range(nodes):
            found = reach[steps, u]
            done &= found == everyone
            for w in range(nodes):
                if links[u, w]:
                    found |= reach[steps, w]
            reach[steps + 1, u] = found
        if done:
            return steps, total
        steps += 1
        worst = 0
        grown = False
        for u in range(nodes):
            far = reach[steps, u] & ~reach[steps - 1, u]
            if not far:
                continue
            grown = True
            count = 0
            for w in range(nodes):
                if links[u, w] and w != u:
                    near[count] = w
                    count += 1
            for some in range(1, 1 << count):
                others, room = 0, 0
                for i in range(count):
                    if some >> i & 1:
                        room += links[u, near[i]]
                    else:
                        others |= reach[steps - 1, near[i]]
                left, waiting = far & ~others, 0
                while left:
                    left &= left - 1
                    waiting += 1
                worst = max(worst, waiting * PART // room)
        if not grown or steps >= MAX_STEPS:
            return -1, 0
        total += worst


@compile_kernel
def cheapest(fixed: Ints, tables: Ints, duplex: bool, least: Ints, chosen: Ints) -> None:
    """Price link tables; record the cheapest per step count.

    Each topology is the sum of ``fixed`` and one of ``tables``.

    ``least[s]`` is the least load of reduce-scatter and allgather together in s steps, and ``chosen[s]`` becomes the
    number of the table where one is cheaper than that and than all in fewer steps.
    """
    nodes = len(fixed)
    links, turned = np.empty((nodes, nodes), np.int64), np.empty((nodes, nodes), np.int64)
    reach, near = np.empty((MAX_STEPS + 2, nodes), np.int64), np.empty(nodes, np.int64)
    for number in range(len(tables)):
        for u in range(nodes):
            for v in range(nodes):
                links[u, v] = fixed[u, v] + tables[number, u, v]
                turned[v, u] = links[u, v]
        steps, load = _loads(links, reach, near)
        if steps < 0:
            continue
        below = LARGEST
        for fewer in range(steps + 1):
            below = min(below, least[fewer])
        if duplex:
            load *= 2
        elif load < below:
            load += _loads(turned, reach, near)[1]
        if load < below:
            least[steps], chosen[steps] = load, number
