"""Compiled inner loops for single-goal chunks and sends on shared links.

Ways are chosen one chunk after the other, each where links have the least to carry so far, and chosen again in view of
all others. Then every link takes of the chunks that wait for it the one that has the longest way to go: event by event,
so that memory goes with the lengths of the ways and not with time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, tier_kernel
from topodesign.schedulers.time_expanded.event_kernels import Queue, Web, draw, pop, push, starts, take

Numbers = NDArray[np.int32]


class Trips(NamedTuple):
    """Chunks, each with its position, goal and route."""

    source: Ints
    goal: Ints
    row: Ints  # which row of a table of goals is that of the goal
    since: Ints  # when it is at its source
    way: Numbers  # links of the way, a row for every chunk
    length: Ints  # how many of them there are


class Piles(NamedTuple):
    """Priority queues of waiting chunks, one binary heap per link."""

    begin: Ints  # where the heap of each link begins
    size: Ints  # how many chunks are in it
    chunk: Ints
    urgency: Ints


@tier_kernel(lambda _web, _trips, left, order, *_: len(order) * 60 * int(left.shape[1]))
def route(web: Web, trips: Trips, left: Ints, order: Ints, weight: Ints, slack: int, queue: Queue) -> None:
    """Choose the routes of chunks in order.

    A chunk that occurs again in ``order`` gets a new route.

    ``left`` has a row for every goal: how long it is to go from each node. A chunk adds ``weight``, below 2^8, to what
    a link has to carry; a step may lead away from the goal by ``slack``.
    """
    ports = 0
    for port in web.port:
        ports = max(ports, port + 1)
    load = np.zeros(ports, np.int64)
    cost, by = np.empty(left.shape[1], np.int64), np.empty(left.shape[1], np.int64)
    for chunk in order:
        for step in range(trips.length[chunk]):
            link = np.int64(trips.way[chunk, step])
            for j in range(web.port_start[link], web.port_start[link + 1]):
                load[web.port[j]] -= weight[link]
        goal, row = trips.goal[chunk], trips.row[chunk]
        cost[:] = LARGEST
        cost[trips.source[chunk]] = 0
        queue.size[0] = 0
        push(queue, 0, 0, trips.source[chunk])
        while queue.size[0]:
            price, node = queue.time[0], queue.what[0]
            pop(queue)
            if node == goal:
                break
            if price > cost[node]:
                continue
            for i in range(web.out_start[node], web.out_start[node + 1]):
                link = web.out[i]
                other = web.dst[link]
                if left[row, other] + web.takes[link] > left[row, node] + slack:
                    continue
                then = price
                for j in range(web.port_start[link], web.port_start[link + 1]):
                    then += weight[link] * (2 * load[web.port[j]] + weight[link])
                if then < cost[other]:
                    cost[other], by[other] = then, link
                    push(queue, then, left[row, other], other)
        length, node = 0, goal
        while node != trips.source[chunk]:
            node = web.src[by[node]]
            length += 1
        trips.length[chunk], node = length, goal
        while length:
            link, length = by[node], length - 1
            trips.way[chunk, length] = link
            node = web.src[link]
            for j in range(web.port_start[link], web.port_start[link + 1]):
                load[web.port[j]] += weight[link]


@compile_kernel
def put(piles: Piles, link: int | np.int64, chunk: int, urgency: int) -> None:
    """Add a chunk to the queue of a link."""
    begin, at = piles.begin[link], piles.size[link]
    piles.size[link] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if piles.urgency[begin + above] >= urgency:
            break
        piles.chunk[begin + at], piles.urgency[begin + at] = piles.chunk[begin + above], piles.urgency[begin + above]
        at = above
    piles.chunk[begin + at], piles.urgency[begin + at] = chunk, urgency


@compile_kernel
def take_out(piles: Piles, link: int) -> int:
    """Remove the most urgent chunk of a link and return it."""
    begin, size = piles.begin[link], piles.size[link] - 1
    piles.size[link] = size
    first, chunk, urgency = piles.chunk[begin], piles.chunk[begin + size], piles.urgency[begin + size]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and piles.urgency[begin + below + 1] > piles.urgency[begin + below]:
            below += 1
        if urgency >= piles.urgency[begin + below]:
            break
        piles.chunk[begin + at], piles.urgency[begin + at] = piles.chunk[begin + below], piles.urgency[begin + below]
        at = below
    piles.chunk[begin + at], piles.urgency[begin + at] = chunk, urgency
    return first  # type: ignore[no-any-return]


@tier_kernel(lambda _web, trips, *_: 60 * int(trips.length.sum()))
def forward(
    web: Web,
    trips: Trips,
    urgency: Ints,
    free: Ints,
    queue: Queue,
    piles: Piles,
    sends: tuple[Ints, Ints, Ints],
    state: Masks,
) -> None:
    """Send every chunk along its route, most urgent first per link.

    Urgency is at first what a chunk takes to its goal and more; it loses what every send takes. ``free`` is when every
    port is; the queue is for links and, after them, chunks. Filled in are ``sends``: link, chunk and arrival.
    """
    links, rows = len(web.dst), 0
    done = np.zeros(len(trips.goal), np.int64)
    for chunk in range(len(trips.goal)):
        if trips.length[chunk]:
            push(queue, trips.since[chunk], -1, links + chunk)
    while queue.size[0]:
        time, link = queue.time[0], queue.what[0]
        pop(queue)
        if link >= links:
            chunk = link - links
            link = np.int64(trips.way[chunk, done[chunk]])
            put(piles, link, chunk, urgency[chunk])
            if not queue.waits[link]:
                push(queue, starts(web, free, link, time), draw(state), link)
            continue
        start = starts(web, free, link, time)
        if start > time:  # another link has taken the port
            push(queue, start, draw(state), link)
            continue
        chunk = take_out(piles, link)
        sends[0][rows], sends[1][rows], sends[2][rows] = link, chunk, time + web.takes[link]
        rows += 1
        take(web, free, link, time)
        urgency[chunk] -= web.takes[link]
        done[chunk] += 1
        if done[chunk] < trips.length[chunk]:
            push(queue, time + web.takes[link], -1, links + chunk)
        if piles.size[link]:
            push(queue, starts(web, free, link, time), draw(state), link)


class Jobs(NamedTuple):
    """Sends and their dependencies."""

    link: Ints  # what each needs for itself
    takes: Ints  # ticks until its data have arrived
    latency: Ints  # those of them that are latency
    least: Ints  # when it may start first
    before: Ints  # the send that it goes on with through a switch, -1 if there is none
    onward: Ints  # the send that goes on with it through a switch, -1 if there is none
    waits: Ints  # for how many deliveries it waits
    after_start: Ints
    after: Ints  # which sends wait for the delivery of each


@tier_kernel(lambda jobs, *_: 40 * len(jobs.link))
def share(jobs: Jobs, urgency: Ints, overlap: bool, free: Ints, queue: Queue, piles: Piles, times: Ints) -> int:
    """Start every send when its data and link are ready.

    If several sends wait for a link, the most urgent starts first.

    Returned is how many sends there were: fewer than all, if some wait for one another. ``jobs.waits`` is counted down;
    the queue is for links and, after them, sends. Filled in are ``times``: when each send starts and ends.
    """
    links, done = len(free), 0
    for row in range(len(jobs.link)):
        times[0, row] = jobs.least[row]
        if jobs.waits[row] == 0 and jobs.before[row] < 0:
            push(queue, jobs.least[row], -1, links + row)
    while queue.size[0]:
        time, what = queue.time[0], queue.what[0]
        pop(queue)
        if what >= links:
            row = what - links
            link = jobs.link[row]
            put(piles, link, row, urgency[row])
            if not queue.waits[link]:
                push(queue, max(time, free[link]), link, link)
            continue
        row = take_out(piles, what)
        end, before = time + jobs.takes[row], jobs.before[row]
        if before >= 0:
            end = max(end, times[1, before] + jobs.latency[row])
        times[0, row], times[1, row] = time, end
        free[what] = end - jobs.latency[row] if overlap else end
        done += 1
        if jobs.onward[row] >= 0:
            other = jobs.onward[row]
            push(queue, max(time + jobs.latency[row], jobs.least[other]), -1, links + other)
        for i in range(jobs.after_start[row], jobs.after_start[row + 1]):
            other = jobs.after[i]
            jobs.waits[other] -= 1
            times[0, other] = max(times[0, other], end)
            if jobs.waits[other] == 0:
                push(queue, times[0, other], -1, links + other)
        if piles.size[what]:
            push(queue, free[what], what, what)
    return done
