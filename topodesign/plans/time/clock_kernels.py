"""Kernels of the clock: start and end of uses, and failures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, tier_kernel

ADDS, SUMS, COPIES = 1, 2, 3
"""What a send takes: a partial sum, the whole sum of a block, or what was copied to its sender; 0 its sender's own."""

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int32]


class Uses(NamedTuple):
    """Link uses: one per hop, shared ones once."""

    link: Numbers
    passed: Numbers  # the use that it goes on with, -1 if it starts at a node; empty where all do
    sent: Numbers  # the first cell that it takes data from, -1 if it goes on with another
    received: Numbers  # the first cell that it brings data to, -1 if another goes on with it
    cells: Numbers  # how many of each
    takes: NDArray[np.int8]  # ADDS, SUMS, COPIES or 0


class Order(NamedTuple):
    """What the plan says of the order of uses."""

    start: Ints  # the instant at which each use starts in the plan
    end: Ints  # and that at which it ends
    rows: Numbers  # the uses that happen, by message; messages by their starts
    bounds: Numbers  # where in ``rows`` each message begins, and the end of the last; empty where each is one use
    arriving: Numbers  # uses that bring partial sums to a node, by their ends
    turn: Numbers  # of every use: of what copies bring at the same instant the first counts; empty: by their numbers


class Spans(NamedTuple):
    """Durations of uses, in one unit of time."""

    takes: NDArray[Any]  # of every use, until all data have arrived, the latency of the link included
    least: NDArray[Any]  # when every use may start; empty where all may at once
    # of every link its latency, and by what it is free later than data arrive: below zero where latencies overlap
    latency: NDArray[Any]
    holds: NDArray[Any]


class Times(NamedTuple):
    """Starts, ends and the use last waited for; zeros if it fails."""

    start: NDArray[Any]
    end: NDArray[Any]
    cause: Numbers


@tier_kernel(lambda _uses, order, *_: 20 * len(order.rows))
def run_uses(
    uses: Uses,
    order: Order,
    spans: Spans,
    found: Times,
    sums: NDArray[Any],
    summed: Numbers,
    copies: NDArray[Any],
    copied: Numbers,
    before: Numbers,
) -> int:
    """Fill in the times; return a use without data, -1 if none.

    ``sums`` and ``copies`` are when the data of cells are there, and ``summed`` and ``copied`` the uses that brought
    them, -1 if nothing was brought; ``before`` is the last message of every link.
    """
    at = 0
    alone = len(order.bounds) == 0
    a, number = 0, len(order.rows)
    message = 0
    while a < number:
        b = a + 1 if alone else order.bounds[message + 1]
        message += 1
        head = order.rows[a]
        now = order.start[head]
        while at < len(order.arriving) and order.end[order.arriving[at]] <= now:
            row = order.arriving[at]
            at += 1
            end, first = found.end[row], uses.received[row]
            for cell in range(first, first + uses.cells[row]):
                if summed[cell] < 0 or end > sums[cell] or (end == sums[cell] and row < summed[cell]):
                    sums[cell] = end
                    summed[cell] = row
        link = uses.link[head]
        latency = spans.latency[link]
        begin, why = latency * 0, -1
        if len(spans.least):
            for place in range(a, b):
                begin = max(begin, spans.least[order.rows[place]])
        last = before[link]
        if last >= 0 and found.end[last] + spans.holds[link] > begin:
            begin, why = found.end[last] + spans.holds[link], last
        finish, by = latency, -1  # a message takes the latency once
        for place in range(a, b):
            row = order.rows[place]
            finish += spans.takes[row] - latency
            if len(uses.passed) and uses.passed[row] >= 0:
                other = uses.passed[row]
                early = found.start[other] + spans.latency[uses.link[other]]
                if early >= begin:
                    begin, why = early, other
                continue
            takes = uses.takes[row]
            if takes == 0:
                continue
            first = uses.sent[row]
            for cell in range(first, first + uses.cells[row]):
                if takes == 3:
                    when, who = copies[cell], copied[cell]
                    if who < 0:
                        return int(row)
                else:
                    when, who = sums[cell], summed[cell]
                    if takes == 1:
                        summed[cell] = -1
                if who >= 0 and (when > begin or (by >= 0 and when == begin and who < by)):
                    begin, why, by = when, who, who  # of several at once the first in the plan
        finish += begin
        if len(uses.passed):
            for place in range(a, b):
                other = uses.passed[order.rows[place]]
                if other >= 0:
                    finish = max(finish, found.end[other] + latency)
        for place in range(a, b):
            row = order.rows[place]
            found.start[row] = begin
            found.end[row] = finish
            found.cause[row] = why
            first = uses.received[row]
            if uses.takes[row] == 1 or first < 0:
                continue
            # What is copied counts from its first delivery in the plan on; that may be a later start.
            for cell in range(first, first + uses.cells[row]):
                other = copied[cell] if len(copied) else row
                if other >= 0 and other != row:
                    sooner = order.end[row] - order.end[other]
                    if sooner == 0:
                        sooner = order.turn[row] - order.turn[other] if len(order.turn) else row - other
                    if sooner >= 0:
                        continue
                if len(copied):
                    copied[cell] = row
                    copies[cell] = finish
        before[link] = head
        a = b
    return -1


@tier_kernel(lambda rows, *_: len(rows))
def come_alone(rows: Ints, link: Numbers, start: Ints, last: Ints) -> bool:
    """Return whether no link starts two uses at once."""
    for row in rows:
        if last[link[row]] == start[row]:
            return False
        last[link[row]] = start[row]
    return True


@tier_kernel(lambda _adds, events, *_: 10 * len(events))
def replay_sends(
    adds: bool, events: Ints, sent: Numbers, received: Numbers, count: Numbers, has: Flags, alive: Flags
) -> None:
    """Replay a movement in order of events; mark impossible sends.

    ``2 * send`` is an arrival, one more a start.
    """
    for event in events:
        row = event // 2
        if not alive[row]:
            continue
        first = sent[row] if event % 2 else received[row]
        if event % 2:
            for cell in range(first, first + count[row]):
                alive[row] &= has[cell]
            if adds and alive[row]:
                has[first : first + count[row]] = False
        else:
            has[first : first + count[row]] = True


@tier_kernel(lambda events, *_: 10 * len(events))
def trace_back(
    events: Ints,
    sent: Numbers,
    received: Numbers,
    count: Numbers,
    offset: Ints,
    carried: Flags,
    has: Flags,
    alive: Flags,
) -> None:
    """Trace sums backwards to the cells they started from."""
    for at in range(len(events) - 1, -1, -1):
        row = events[at] // 2
        if not alive[row]:
            continue
        first, place = sent[row] if events[at] % 2 else received[row], offset[row]
        for more in range(count[row]):
            if events[at] % 2:
                has[first + more] = carried[place + more]
            else:
                carried[place + more] = has[first + more]
