"""Compiled inner loop of symmetric synthesis on ports of link orbits."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, tier_kernel
from topodesign.schedulers.time_expanded.event_kernels import Queue, Web, draw, pop, push


@tier_kernel(lambda web, copies, *_: 40 * copies * len(web.dst))
def deliver_copies(
    web: Web, copies: int, arrival: Ints, over: Ints, queue: Queue, pools: tuple[Ints, Ints, Ints], state: Masks
) -> int:
    """Deliver every chunk to all nodes; return the number of deliveries.

    Each link needs one port.

    Whenever a port is free, it takes of the chunks that it could bring to a node one that the fewest links could bring
    there so far: so chunks spread far at first, and no port has nothing to do in the end.

    ``arrival`` is when each chunk is at each node, rows of chunks in one array; ``over`` the link over which it came.
    The queue is for ports and, after them, chunks at nodes. ``pools`` are which links could bring what: where those of
    each port begin, how many there are (zeros), and room for every link with every chunk.
    """
    begin, count, pool = pools
    nodes, ports, done = len(web.out_start) - 1, len(begin), 0
    ways = np.zeros(copies * nodes, np.int64)  # how many links could bring a chunk to a node
    free = np.zeros(ports, np.int64)
    for place in range(copies * nodes):
        if arrival[place] < LARGEST:
            push(queue, arrival[place], -1, ports + place)
    while queue.size[0]:
        time, what = queue.time[0], queue.what[0]
        pop(queue)
        if what >= ports:
            place = what - ports
            copy, node = place // nodes, place % nodes
            for i in range(web.out_start[node], web.out_start[node + 1]):
                link = web.out[i]
                head = copy * nodes + web.dst[link]
                ways[head] += 1
                if arrival[head] == LARGEST:
                    port = web.port[link]
                    pool[begin[port] + count[port]] = copy * len(web.dst) + link
                    count[port] += 1
                    if not queue.waits[port]:
                        push(queue, max(time, free[port]), 0, port)
            continue
        # Links whose chunk has come in another way drop out; of the rest the scarcest is taken.
        low, best, value = begin[what], -1, LARGEST
        kept = low
        for i in range(low, low + count[what]):
            entry = pool[i]
            head = entry // len(web.dst) * nodes + web.dst[entry % len(web.dst)]
            if arrival[head] < LARGEST:
                continue
            pool[kept] = entry
            rank = ways[head] * 1024 + draw(state) % 1024
            if rank < value:
                best, value = kept, rank
            kept += 1
        count[what] = kept - low
        if best < 0:
            continue
        entry = pool[best]
        pool[best] = pool[kept - 1]
        count[what] -= 1
        link = entry % len(web.dst)
        head = entry // len(web.dst) * nodes + web.dst[link]
        arrival[head], over[head] = time + web.takes[link], link
        free[what] = time + web.busy[link]
        push(queue, arrival[head], -1, ports + head)
        push(queue, free[what], 0, what)
        done += 1
    return done
