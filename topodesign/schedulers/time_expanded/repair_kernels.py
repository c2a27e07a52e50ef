"""Compiled inner loops of local repair.

A *wish* is a node and a chunk that it needs. Granted in some order, each goes the way by which it is there first, in
gaps that those before it have left on the links; so an order of wishes, and a link that each avoids, make a schedule.
Neighbours of it, in which one wish is granted earlier or avoids another link, are tried, and kept as long as they are
not much worse than some steps ago (late acceptance).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, tier_kernel
from topodesign.schedulers.time_expanded.event_kernels import Web, draw

MEMORY = 32  # steps back to which a change is compared
_WEIGHT = 16  # how much more the end of all counts than when chunks arrive on average


class Wishes(NamedTuple):
    """Requests and the order in which they are granted."""

    node: Ints
    chunk: Ints
    at: Ints  # where every chunk is at first
    since: Ints  # and from when on
    order: Ints  # wishes in the order in which they are granted
    avoid: Ints  # a link that each does not take, -1 for none


class Books(NamedTuple):
    """Reservations and arrivals of granted requests."""

    begin: Ints  # of every port the times from when on it is taken, ascending
    end: Ints  # and until when
    taken: Ints  # and how many there are
    arrival: Ints  # when each chunk is at each node, ``LARGEST`` if never, shape ``(chunks, nodes)``
    when: Ints  # of the wish at hand: when each node could have its chunk
    by: Ints  # over which link
    start: Ints  # from when on
    done: Ints  # and whether that is settled
    sends: Ints  # links, chunks and arrivals of all sends, shape ``(3, rows)``
    rows: Ints  # one number: how many there are


@compile_kernel
def _gap(web: Web, books: Books, link: int | np.int64, time: int | np.int64) -> int:
    """Return the first sufficient gap of a link."""
    time = max(time, web.opens[link])
    moved = True
    while moved:
        moved = False
        for j in range(web.port_start[link], web.port_start[link + 1]):
            port, low = web.port[j], time + web.offset[j]
            for i in range(books.taken[port]):
                if books.end[port, i] > low:
                    if books.begin[port, i] < low + web.hold[j]:
                        low = books.end[port, i]
                        time, moved = low - web.offset[j], True
                    else:
                        break
    return time  # type: ignore[return-value]


@compile_kernel
def _book(web: Web, books: Books, link: int | np.int64, time: int | np.int64) -> None:
    """Reserve all ports of a link from a time on."""
    for j in range(web.port_start[link], web.port_start[link + 1]):
        port, low = web.port[j], time + web.offset[j]
        i = books.taken[port]
        books.taken[port] = i + 1
        while i > 0 and books.begin[port, i - 1] > low:
            books.begin[port, i], books.end[port, i] = books.begin[port, i - 1], books.end[port, i - 1]
            i -= 1
        books.begin[port, i], books.end[port, i] = low, low + web.hold[j]


@compile_kernel
def _grant(web: Web, wishes: Wishes, books: Books, wish: int | np.int64, avoid: int | np.int64) -> bool:
    """Deliver a chunk as early as possible; return whether it succeeds."""
    chunk, goal = wishes.chunk[wish], wishes.node[wish]
    nodes = books.arrival.shape[1]
    for node in range(nodes):
        books.when[node], books.by[node], books.done[node] = books.arrival[chunk, node], -1, 0
    while True:
        node, least = -1, LARGEST
        for other in range(nodes):
            if not books.done[other] and books.when[other] < least:
                node, least = other, books.when[other]
        if node < 0:
            return False
        if node == goal:
            break
        books.done[node] = 1
        for i in range(web.out_start[node], web.out_start[node + 1]):
            link = web.out[i]
            head = web.dst[link]
            if link == avoid or books.arrival[chunk, head] < LARGEST or books.when[head] <= least + web.takes[link]:
                continue  # what is there already is not brought again
            time = _gap(web, books, link, least)
            if time + web.takes[link] < books.when[head]:
                books.when[head], books.by[head], books.start[head] = time + web.takes[link], link, time
    while books.by[goal] >= 0:
        link = books.by[goal]
        _book(web, books, link, books.start[goal])
        books.arrival[chunk, goal] = books.when[goal]
        row = books.rows[0]
        books.sends[0, row], books.sends[1, row], books.sends[2, row] = link, chunk, books.when[goal]
        books.rows[0] = row + 1
        goal = web.src[link]
    return True


@compile_kernel
def _grant_all(web: Web, wishes: Wishes, books: Books) -> int:
    """Grant all wishes in order and return the schedule's score."""
    books.rows[0] = 0
    for port in range(len(books.taken)):
        books.taken[port] = 0
    for chunk in range(len(wishes.at)):
        for node in range(books.arrival.shape[1]):
            books.arrival[chunk, node] = LARGEST
        books.arrival[chunk, wishes.at[chunk]] = wishes.since[chunk]
    last, total = 0, 0
    for wish in wishes.order:
        if books.arrival[wishes.chunk[wish], wishes.node[wish]] == LARGEST:
            granted = _grant(web, wishes, books, wish, wishes.avoid[wish])
            if not granted:
                wishes.avoid[wish] = -1
                granted = _grant(web, wishes, books, wish, -1)
            if not granted:
                return LARGEST
        time = books.arrival[wishes.chunk[wish], wishes.node[wish]]
        last = max(last, time)
        total += time // len(wishes.order)
    return last * _WEIGHT + total


def _repair_work(web: Web, wishes: Wishes, books: Books, enough: int, most: int, state: Masks) -> int:  # noqa: ARG001
    return most * len(wishes.order) * (len(web.dst) + books.arrival.shape[1]) * 2  # type: ignore[no-any-return]


@tier_kernel(_repair_work)
def repair(web: Web, wishes: Wishes, books: Books, enough: int, most: int, state: Masks) -> int:
    """Reorder wishes for earlier delivery and return the completion time.

    The books then hold the best schedule found, of at most ``most``; ``LARGEST`` if some wish cannot be granted.
    """
    count, links = len(wishes.order), len(web.dst)
    now = _grant_all(web, wishes, books)
    if now == LARGEST or count < 2:
        return LARGEST if now == LARGEST else int(now // _WEIGHT)
    past = np.full(MEMORY, now, np.int64)
    order, avoid = wishes.order.copy(), wishes.avoid.copy()
    best, best_order, best_avoid = now, order.copy(), avoid.copy()
    for number in range(most):
        if best // _WEIGHT <= enough:
            break
        last = 0
        for wish in range(count):
            last = max(last, books.arrival[wishes.chunk[wish], wishes.node[wish]])
        place = draw(state) % count
        if draw(state) % 4:  # one that is late, if the books are of the present order
            for step in range(count):
                other = (place + step) % count
                wish = wishes.order[other]
                if 8 * books.arrival[wishes.chunk[wish], wishes.node[wish]] >= 7 * last:
                    place = other
                    break
        wish, kind = wishes.order[place], draw(state) % 8
        if kind < 6:
            to = draw(state) % count if kind == 0 else draw(state) % (place + 1)
            while place > to:
                wishes.order[place] = wishes.order[place - 1]
                place -= 1
            while place < to:
                wishes.order[place] = wishes.order[place + 1]
                place += 1
            wishes.order[place] = wish
        else:
            wishes.avoid[wish] = draw(state) % (links + 1) - 1
        then = _grant_all(web, wishes, books)
        if then <= now or then <= past[number % MEMORY]:
            now = then
            for i in range(count):
                order[i], avoid[i] = wishes.order[i], wishes.avoid[i]
            if now < best:
                best = now
                for i in range(count):
                    best_order[i], best_avoid[i] = order[i], avoid[i]
        else:
            for i in range(count):
                wishes.order[i], wishes.avoid[i] = order[i], avoid[i]
        past[number % MEMORY] = now
    for i in range(count):
        wishes.order[i], wishes.avoid[i] = best_order[i], best_avoid[i]
    return _grant_all(web, wishes, books) // _WEIGHT
