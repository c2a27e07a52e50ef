"""Links, event queues and earliest arrivals for the time-expanded kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, next_random, tier_kernel


class Web(NamedTuple):
    """Links and their times for one chunk."""

    src: Ints  # tail of every link
    dst: Ints  # and its head
    takes: Ints  # ticks until a chunk has arrived
    busy: Ints  # and until the link is free again
    opens: Ints  # when it may be used first
    out_start: Ints
    out: Ints  # links out of every node
    into_start: Ints
    into: Ints  # links into every node, the quickest first
    port_start: Ints
    port: Ints  # what a link needs for itself while it is busy: its own wire, or all of a way through switches
    offset: Ints  # when after its start a link needs each of them
    hold: Ints  # and for how long


class Queue(NamedTuple):
    """Event queue by time, as a binary heap."""

    time: Ints  # when
    tie: Ints  # what comes first of those at one time
    what: Ints  # which
    waits: Ints  # of every thing, whether it is in the queue (0 or 1)
    size: Ints  # one number: things in the queue


def queue_for(things: int, most: int) -> Queue:
    """Return an empty queue with room for ``most`` waiting entries.

    ``things`` is the number of distinct things.
    """
    time, tie, what, waits = (np.zeros(count, dtype=np.int64) for count in (most, most, most, things))
    return Queue(time, tie, what, waits, np.array([0]))


@compile_kernel
def push(queue: Queue, time: int, tie: int, what: int | np.int64) -> None:
    """Insert an entry."""
    at = queue.size[0]
    queue.size[0] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if queue.time[above] < time or (queue.time[above] == time and queue.tie[above] <= tie):
            break
        queue.time[at], queue.tie[at], queue.what[at] = queue.time[above], queue.tie[above], queue.what[above]
        at = above
    queue.time[at], queue.tie[at], queue.what[at] = time, tie, what
    queue.waits[what] = 1


@compile_kernel
def pop(queue: Queue) -> None:
    """Remove the first entry."""
    queue.waits[queue.what[0]] = 0
    size = queue.size[0] - 1
    queue.size[0] = size
    time, tie, what = queue.time[size], queue.tie[size], queue.what[size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            queue.time[other] < queue.time[below]
            or (queue.time[other] == queue.time[below] and queue.tie[other] < queue.tie[below])
        ):
            below = other
        if time < queue.time[below] or (time == queue.time[below] and tie <= queue.tie[below]):
            break
        queue.time[at], queue.tie[at], queue.what[at] = queue.time[below], queue.tie[below], queue.what[below]
        at = below
    queue.time[at], queue.tie[at], queue.what[at] = time, tie, what


@compile_kernel
def starts(web: Web, free: Ints, link: int | np.int64, time: int) -> int:
    """Return the earliest start on a link from a time on."""
    time = max(time, web.opens[link])
    for j in range(web.port_start[link], web.port_start[link + 1]):
        time = max(time, free[web.port[j]] - web.offset[j])
    return time


@compile_kernel
def take(web: Web, free: Ints, link: int | np.int64, start: int) -> None:
    """Reserve all ports of a link."""
    for j in range(web.port_start[link], web.port_start[link + 1]):
        free[web.port[j]] = start + web.offset[j] + web.hold[j]


@compile_kernel
def draw(state: Masks) -> int:
    """Return a random number of 31 bits."""
    return np.int64(next_random(state) >> np.uint64(22))  # type: ignore[return-value]


@tier_kernel(lambda web, _queue, since, _into: 8 * len(since) * (len(web.dst) + 2 * int(since.shape[1])))
def reach(web: Web, queue: Queue, since: Ints, into: bool) -> None:
    """Find the earliest arrival of chunks at every node.

    ``since`` has a row for every chunk: when it is at each node at first, ``LARGEST`` where it is not; and then when it
    can be. With ``into`` links are taken against their direction, as if all were open: the times are then what is left
    to go.
    """
    for row in range(len(since)):
        for node in range(since.shape[1]):
            if since[row, node] < LARGEST:
                push(queue, since[row, node], node, node)
        while queue.size[0]:
            node, time = queue.what[0], queue.time[0]
            pop(queue)
            if time > since[row, node]:
                continue
            first, last = web.out_start[node], web.out_start[node + 1]
            if into:
                first, last = web.into_start[node], web.into_start[node + 1]
            for i in range(first, last):
                link, other, then = web.out[i], web.dst[web.out[i]], max(time, web.opens[web.out[i]])
                if into:
                    link, other, then = web.into[i], web.src[web.into[i]], time
                then += web.takes[link]
                if then < since[row, other]:
                    since[row, other] = then
                    push(queue, then, other, other)
