"""Compiled inner loops of TACOS-Greedy for copied chunks.

The time-expanded network is never built. Sends are decided in order of when they arrive: of all that links could carry
next, the one that is there first. So a slow link takes a chunk only if no faster way has brought it before (shorter
link first and chunk replacement, TACOS section VI-B), and what a link may carry is what has arrived at its tail when it
starts, not when the choice is made. Every link keeps a set of the chunks that it has seen arrive; memory goes with
links times chunks, in bits, and with the sends, not with time.

All numbers are integers, so that a seed means the same on every machine.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST, Ints, Masks, compile_kernel, next_random, tier_kernel
from topodesign.schedulers.time_expanded.event_kernels import Queue, Web, draw, pop, push, starts, take

Numbers = NDArray[np.int32]

WORD = 32  # chunks in one word of a set: so that no bit is a sign
PLENTY = 48  # chunks that a link looks at before it takes the best of them
_FAR = 2**32  # more than nodes can wait for a chunk


class Flow(NamedTuple):
    """Decisions so far and remaining requests."""

    want: Ints  # sets of the chunks that each node still waits for, one row a node
    seen: Ints  # sets of the chunks that each link has seen at its tail
    lacking: Ints  # how many nodes wait for each chunk
    chunk: Numbers  # of every arrival what
    time: Ints  # when
    link: Numbers  # over which link, -1 if it was there
    after: Numbers  # and the next one at the same node
    first: Ints  # the first arrival at every node
    last: Ints  # and the last
    upto: Ints  # the last arrival that each link has seen, -1 before the first
    made: Ints  # and the last that it has made
    free: Ints  # when every port is free
    left: Ints  # one number: chunks that nodes wait for
    taken: Ints  # one number: the chunk that was taken over last


class Taste(NamedTuple):
    """Preferences of links among the chunks that they could carry."""

    bias: Ints  # added to how many nodes wait for each chunk, when chunks are compared
    most: int  # how many chunks a link looks at; 1 takes one by chance, as the paper does
    # Whether a link leaves chunks to quicker ones that could bring them: 1 if it rather waits, 0 if it takes such a
    # chunk when there is no other, and -1 if it does not look. The quickest links wait for none, so that all arrive.
    shy: int


@compile_kernel
def _low(word: int) -> int:
    """Return the number of the lowest bit of a word."""
    number = 0
    if not word & 0xFFFF:
        number, word = 16, word >> 16
    if not word & 0xFF:
        number, word = number + 8, word >> 8
    if not word & 0xF:
        number, word = number + 4, word >> 4
    if not word & 3:
        number, word = number + 2, word >> 2
    return number if word & 1 else number + 1


@compile_kernel
def _elsewhere(web: Web, flow: Flow, link: int | np.int64, at: int, bit: int) -> int:
    """Count quicker links that could deliver a chunk to the head."""
    node, count = web.dst[link], 0
    for i in range(web.into_start[node], web.into_start[node + 1]):
        other = web.into[i]
        if web.takes[other] >= web.takes[link]:
            break
        if not flow.want[web.src[other], at] & bit:
            count += 1
    return count


@compile_kernel
def _choose(web: Web, flow: Flow, taste: Taste, link: int | np.int64, state: Masks) -> int:
    """Return the chunk that a link should carry, or -1.

    Of at most so many that it could, from a random one on, it is one that the fewest could bring over quicker links; of
    these that which most nodes wait for, and by chance where that is equal.
    """
    node = web.dst[link]
    quickest = web.takes[web.into[web.into_start[node]]] == web.takes[link] or taste.shy < 0
    words = flow.want.shape[1]
    draw = np.int64(next_random(state) >> np.uint64(2))
    begin, bit = draw % words, (draw >> 40) % WORD
    best, value, left = -1, -LARGEST, taste.most
    for step in range(words + 1):
        at = begin + step
        if at >= words:
            at -= words
        word = flow.seen[link, at] & flow.want[node, at]
        if step == 0:
            word = word >> bit << bit
        elif step == words:
            word &= (1 << bit) - 1
        while word:
            chunk = at * WORD + _low(word)
            worth = flow.lacking[chunk] + taste.bias[chunk]
            if not quickest:
                others = _elsewhere(web, flow, link, at, word ^ (word & (word - 1)))
                if others and taste.shy:
                    word &= word - 1
                    continue
                worth -= others * _FAR
            word &= word - 1
            if worth > value:
                best, value = chunk, worth
            left -= 1
            if left == 0:
                return best
    return best


@compile_kernel
def _arrives(flow: Flow, row: int, node: int | np.int64) -> None:
    """Append an arrival at a node and clear its request."""
    flow.after[row] = -1
    if flow.last[node] < 0:
        flow.first[node] = row
    else:
        flow.after[flow.last[node]] = row
    flow.last[node] = row
    chunk = flow.chunk[row]
    at, bit = chunk // WORD, 1 << chunk % WORD
    if flow.want[node, at] & bit:
        flow.want[node, at] ^= bit
        flow.lacking[chunk] -= 1
        flow.left[0] -= 1


@compile_kernel
def _wake(web: Web, flow: Flow, queue: Queue, node: int | np.int64, row: int, state: Masks) -> None:
    """Queue the idle links out of a node for an arrival."""
    at, bit = flow.chunk[row] // WORD, 1 << flow.chunk[row] % WORD
    for i in range(web.out_start[node], web.out_start[node + 1]):
        link = web.out[i]
        if not queue.waits[link] and flow.want[web.dst[link], at] & bit:
            push(queue, starts(web, flow.free, link, flow.time[row]) + web.takes[link], draw(state), link)


@compile_kernel
def _exchange(web: Web, flow: Flow, taste: Taste, link: int | np.int64, time: int, state: Masks) -> int:
    """Return an arrival whose chunk a link takes over, or -1.

    Both come to the same node at the same time, so that nobody has looked at either yet. What the other link carries
    now is written down; the chunk taken over is waited for again.
    """
    node = web.dst[link]
    for i in range(web.into_start[node], web.into_start[node + 1]):
        other = web.into[i]
        row = flow.made[other]
        if other == link or row < 0 or flow.time[row] != time:
            continue
        chunk = flow.chunk[row]
        if flow.seen[link, chunk // WORD] >> chunk % WORD & 1:
            instead = _choose(web, flow, taste, other, state)
            if instead >= 0:
                flow.chunk[row] = instead
                flow.want[node, instead // WORD] ^= 1 << instead % WORD
                flow.lacking[instead] -= 1
                flow.want[node, chunk // WORD] ^= 1 << chunk % WORD
                flow.lacking[chunk] += 1
                flow.taken[0] = chunk
                return row  # type: ignore[no-any-return]
    return -1


def _copying_work(web: Web, flow: Flow, *_: object) -> int:
    shared = len(web.port) > len(web.dst)  # links wait for one another there
    return len(flow.chunk) * (100 + shared * 30 * len(web.dst) // len(web.out_start))


@tier_kernel(_copying_work)
def copying(web: Web, flow: Flow, queue: Queue, taste: Taste, held: int, state: Masks) -> int:
    """Send chunks while possible and return the number of arrivals.

    ``flow`` has the ``held`` arrivals of what is there at the start, in order of their times, whose ``link`` says at
    which nodes; and room for one of every chunk that a node waits for.
    """
    rows = held
    for row in range(held):
        node = np.int64(flow.link[row])
        flow.link[row] = -1
        _arrives(flow, row, node)
        _wake(web, flow, queue, node, row, state)
    while queue.size[0] and flow.left[0]:
        time, link = queue.time[0], queue.what[0]
        pop(queue)
        node, takes = web.dst[link], web.takes[link]
        start = starts(web, flow.free, link, time - takes)
        if start + takes > time:  # another link has taken the port
            push(queue, start + takes, draw(state), link)
            continue
        seen = flow.upto[link]
        coming = flow.first[web.src[link]] if seen < 0 else np.int64(flow.after[seen])
        while coming >= 0 and flow.time[coming] <= start:
            chunk = np.int64(flow.chunk[coming])
            flow.seen[link, chunk // WORD] |= 1 << chunk % WORD
            flow.upto[link] = coming
            coming = np.int64(flow.after[coming])
        chunk = np.int64(_choose(web, flow, taste, link, state))
        if chunk < 0:
            other = _exchange(web, flow, taste, link, time, state)
            if other < 0:
                while coming >= 0:
                    chunk = np.int64(flow.chunk[coming])
                    if flow.want[node, chunk // WORD] >> chunk % WORD & 1:
                        push(queue, max(start, flow.time[coming]) + takes, draw(state), link)
                        break
                    coming = np.int64(flow.after[coming])
                continue
            _wake(web, flow, queue, node, other, state)
            chunk = np.int64(flow.taken[0])
        flow.chunk[rows], flow.time[rows], flow.link[rows] = chunk, time, link
        flow.made[link] = rows
        _arrives(flow, rows, node)
        take(web, flow.free, link, start)
        _wake(web, flow, queue, node, rows, state)
        push(queue, starts(web, flow.free, link, start) + takes, draw(state), link)
        rows += 1
    return rows
