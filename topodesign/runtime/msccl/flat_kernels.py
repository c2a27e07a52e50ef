"""Compiled loops: one run, the happens-before order, sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, Masks, inlined, next_random, tiered

SENDS, RECEIVES, PLAIN_SEND = 1, 2, 4
"""Bits of what an operation does to connections."""

Clocks = NDArray[np.int16]
Bits = NDArray[np.uint8]


class Columns(NamedTuple):
    """Operations thread by thread, from ``first[t]`` on."""

    first: Ints
    kinds: Ints
    counts: Ints  # chunks
    thread_of: Ints
    sends: Ints  # by thread, the number of its connection, or -1
    receives: Ints
    wait_start: Ints  # operation x waits for waits[wait_start[x] : wait_start[x + 1]]; -1 is what never is over
    waits: Ints
    source_start: Ints  # and reads the cells from sources[source_start[x]] on, and from the next, and so on
    sources: Ints
    targets: Ints  # the first cell that it writes, or -1
    stream_at: Ints  # of sends, where their data lie among all that is sent
    match: Ints  # of receives, the send


def _run_work(columns: Columns, *_: object) -> int:
    return 10 * len(columns.kinds) + 5 * int(columns.counts.sum()) + len(columns.first)


@tiered(_run_work)
def run(
    columns: Columns,
    slots: Ints,
    piece: int,
    state: Masks,
    memory: Masks,
    valid: Bits,
    stream: Masks,
    stream_valid: Bits,
    moves: Ints,
) -> bool:
    """Run until nothing moves; return whether every thread has finished.

    ``slots`` and ``piece`` are what connections hold, and chunks of a step that move at once; ``state`` seeds a random
    order, and with 0 the order is fixed. ``memory`` holds a number in each cell that is ``valid``, and ``stream`` what
    connections carry. ``moves`` becomes the operations move by move: ``~x`` where operation x goes on.
    """
    first, kinds, counts, thread_of, sends, receives = columns[:6]
    wait_start, waits, source_start, sources, targets, stream_at, match = columns[6:]
    threads = len(first) - 1
    connections = len(slots)
    at = first[:-1].copy()
    done = np.zeros(threads, dtype=np.int64)
    queue = np.zeros(connections, dtype=np.int64)
    sleepers = np.full(threads + 2 * connections, -1, dtype=np.int64)
    following = np.full(threads, -1, dtype=np.int64)
    stack = np.zeros(threads, dtype=np.int64)
    budgets = np.array([1, 1, 2, 5, 50])
    for thread in range(threads):
        stack[thread] = threads - 1 - thread
    height = threads
    finished = 0
    moved = 0
    random = state[0] != 0
    while height > 0:
        budget = -1
        if random:
            chosen = np.int64(next_random(state) % np.uint64(height))
            swapped = stack[chosen]
            stack[chosen] = stack[height - 1]
            stack[height - 1] = swapped
            budget = budgets[np.int64(next_random(state) % np.uint64(5))]
        height -= 1
        thread = stack[height]
        while True:
            one = at[thread]
            if one == first[thread + 1]:
                finished += 1
                break
            kind = kinds[one]
            blocked = -1
            if done[thread] == 0:
                for x in range(wait_start[one], wait_start[one + 1]):
                    if waits[x] < 0:
                        blocked = thread  # nobody ends that
                        break
                    if at[thread_of[waits[x]]] <= waits[x]:
                        blocked = thread_of[waits[x]]
                        break
            moving = counts[one] > 0
            if blocked < 0 and moving and kind & RECEIVES and queue[receives[thread]] == 0:
                blocked = threads + connections + receives[thread]
            if blocked < 0 and moving and kind & SENDS and queue[sends[thread]] >= slots[sends[thread]]:
                blocked = threads + sends[thread]
            if blocked >= 0:
                following[thread] = sleepers[blocked]
                sleepers[blocked] = thread
                break
            if budget == 0:
                stack[height] = thread
                height += 1
                break
            budget -= 1
            low = done[thread]
            moves[moved] = one if low == 0 else ~one
            moved += 1
            high = min(low + piece, counts[one])
            target = targets[one]
            for k in range(low, high):
                value = np.uint64(0)
                right = np.uint8(1)
                if kind & RECEIVES:
                    value = stream[stream_at[match[one]] + k]
                    right = stream_valid[stream_at[match[one]] + k]
                for x in range(source_start[one], source_start[one + 1]):
                    value += memory[sources[x] + k]
                    right &= valid[sources[x] + k]
                if target >= 0:
                    memory[target + k] = value
                    valid[target + k] = right
                if kind & SENDS:
                    stream[stream_at[one] + k] = value
                    stream_valid[stream_at[one] + k] = right
            woken = -1
            if moving and kind & RECEIVES:
                queue[receives[thread]] -= 1
                woken = sleepers[threads + receives[thread]]
                sleepers[threads + receives[thread]] = -1
                if woken >= 0:
                    stack[height] = woken
                    height += 1
            if moving and kind & SENDS:
                queue[sends[thread]] += 1
                woken = sleepers[threads + connections + sends[thread]]
                sleepers[threads + connections + sends[thread]] = -1
                if woken >= 0:
                    stack[height] = woken
                    height += 1
            done[thread] = high
            if high == counts[one]:
                at[thread] += 1
                done[thread] = 0
                woken = sleepers[thread]
                sleepers[thread] = -1
                base = height
                while woken >= 0:
                    stack[height] = woken
                    height += 1
                    woken = following[woken]
                if height > base + 1:  # who came last goes first
                    stack[base:height] = stack[base:height][::-1].copy()
    return finished == threads


@inlined
def _doubt(
    one: int,
    other: int,
    whole: bool,
    written: bool,
    first: Ints,
    thread_of: Ints,
    column: Ints,
    clock: Clocks,
    pairs: Ints,
    count: int,
) -> int:
    """Note an operation that may begin before another ends."""
    if other < 0:
        return count
    thread = thread_of[other]
    least = 2 * (other - first[thread]) + 1 + whole
    if clock[one, column[thread]] >= least:
        return count
    if count > 0 and pairs[count - 1, 0] == one and pairs[count - 1, 1] == other:
        pairs[count - 1, 2] = max(pairs[count - 1, 2], least)
        pairs[count - 1, 3] |= written
        return count
    pairs[count, 0] = one
    pairs[count, 1] = other
    pairs[count, 2] = least
    pairs[count, 3] = written
    return count + 1


def _clock_work(columns: Columns, order: Ints, *rest: Any) -> int:
    return len(order) * (int(rest[-1].shape[1]) + 20) // 2 + len(columns.first)


@tiered(_clock_work)
def clocks(columns: Columns, order: Ints, column: Ints, unsettled: bool, messages: bool, clock: Clocks) -> None:
    """Fill the clock of each operation's start.

    It says of each thread, in its ``column``, twice the operations, and 1 more where of the next one the chunk at hand
    is known alone. Threads without a column (-1) are not looked at. With ``messages`` a column is that of one thread;
    without, no message is held to say what is over, so that threads of different ranks share columns.
    """
    first, kinds, counts, thread_of, _, _, wait_start, waits, _, _, _, _, match = columns
    width = clock.shape[1]
    for one in order:
        thread = thread_of[one]
        here = column[thread]
        step = one - first[thread]
        if step > 0:
            for c in range(width):
                known = clock[one - 1, c]
                clock[one, c] = known + (known & 1)
            if here >= 0 and not (unsettled and kinds[one - 1] & PLAIN_SEND):
                clock[one, here] = 2 * step
        else:
            for c in range(width):
                clock[one, c] = 0
        if here >= 0 and (kinds[one] & SENDS or wait_start[one + 1] > wait_start[one]):
            clock[one, here] = 2 * step
        for x in range(wait_start[one], wait_start[one + 1]):
            other = waits[x]
            there = column[thread_of[other]]
            for c in range(width):
                known = clock[other, c]
                known += known & 1
                clock[one, c] = max(clock[one, c], known)
            if there >= 0 and not (unsettled and kinds[other] & PLAIN_SEND):
                over = 2 * (other - first[thread_of[other]]) + 2
                clock[one, there] = max(clock[one, there], over)
        if messages and kinds[one] & RECEIVES and counts[one] > 0:
            other = match[one]
            there = column[thread_of[other]]
            for c in range(width):
                clock[one, c] = max(clock[one, c], clock[other, c])
            if there >= 0:
                over = 2 * (other - first[thread_of[other]]) + 1
                clock[one, there] = max(clock[one, there], over)


def _access_work(columns: Columns, order: Ints, *_: object) -> int:
    return 5 * len(order) + 20 * int(columns.counts.sum()) + len(columns.first)


@tiered(_access_work)
def doubtful(columns: Columns, order: Ints, column: Ints, cells: int, clock: Clocks, pairs: Ints) -> int:
    """Find accesses unordered with earlier ones, by the clocks.

    Rows of ``pairs`` become the operation, the earlier one, what the clock would have to say of that one's thread, and
    whether it writes the cell; returned is how many.
    """
    first, _, counts, thread_of, _, _, _, _, source_start, sources, targets, _, _ = columns
    reads = 0
    for one in order:
        reads += counts[one] * (source_start[one + 1] - source_start[one])
    writer = np.full(cells, -1, dtype=np.int64)
    written = np.zeros(cells, dtype=np.int64)
    last = np.full(cells, -1, dtype=np.int64)  # read
    before = np.full(reads, -1, dtype=np.int64)
    reader = np.zeros(reads, dtype=np.int64)
    read = np.zeros(reads, dtype=np.int64)
    free = 0
    count = 0
    for one in order:
        thread = thread_of[one]
        for k in range(counts[one]):
            for x in range(source_start[one], source_start[one + 1]):
                cell = sources[x] + k
                whole = written[cell] != k
                count = _doubt(one, writer[cell], whole, True, first, thread_of, column, clock, pairs, count)
                found = last[cell]
                while found >= 0 and not (thread_of[reader[found]] == thread and read[found] == k):
                    found = before[found]
                if found < 0:
                    found = free
                    free += 1
                    before[found] = last[cell]
                    last[cell] = found
                    read[found] = k
                reader[found] = one
            if targets[one] < 0:
                continue
            cell = targets[one] + k
            found = last[cell]
            if found < 0:  # else reads come between the two writes, in order with both or doubtful
                whole = written[cell] != k
                count = _doubt(one, writer[cell], whole, True, first, thread_of, column, clock, pairs, count)
            while found >= 0:
                if reader[found] != one or read[found] != k:
                    whole = read[found] != k
                    count = _doubt(one, reader[found], whole, False, first, thread_of, column, clock, pairs, count)
                found = before[found]
            last[cell] = -1
            writer[cell] = one
            written[cell] = k
    return count


def _sum_work(columns: Columns, order: Ints, *_: object) -> int:
    return 5 * len(order) + 10 * int(columns.counts.sum()) + len(columns.first)


@tiered(_sum_work)
def sums(
    columns: Columns,
    order: Ints,
    chunk: Ints,
    ranks: Masks,
    stream_chunk: Ints,
    stream_ranks: Masks,
    rank_of: Ints,
    pairs: Ints,
    sent: Ints,
) -> int:
    """Execute sums; return the longest message chain, or -1.

    A cell holds chunk ``chunk`` of the ranks whose bits are in its row of ``ranks``, each once; -1 is what nobody has
    written. Odd is to read that, to add different chunks, or the same of one rank twice.

    Of ``pairs`` (see :func:`doubtful`) that have an order after all the last column becomes 2: where what is received
    has the input of the own rank in it, and of that chunk one message alone had left the rank with it (``sent``, -1 for
    every rank and chunk at first), then this message is over, since what is received was made of it.
    """
    first, kinds, counts, thread_of, _, _, wait_start, waits, source_start, sources, targets, stream_at, match = columns
    words = ranks.shape[1]
    length = np.zeros(len(order), dtype=np.int64)
    mask = np.zeros(words, dtype=np.uint64)
    longest = 0
    low = 0
    for one in order:
        rank = rank_of[thread_of[one]]
        word = rank // 64
        bit = np.uint64(1) << np.uint64(rank % 64)
        if one > first[thread_of[one]]:
            length[one] = length[one - 1]
        for x in range(wait_start[one], wait_start[one + 1]):
            length[one] = max(length[one], length[waits[x]])
        if kinds[one] & RECEIVES and counts[one] > 0:
            length[one] = max(length[one], length[match[one]] + 1)
        longest = max(longest, length[one])
        while low < len(pairs) and pairs[low, 0] == one:
            other = pairs[low, 1]
            known = kinds[one] & RECEIVES and kinds[other] & SENDS and pairs[low, 3] == 0
            for x in range(source_start[other], source_start[other + 1]):
                after = targets[one] - sources[x]
                for k in range(max(0, -after), min(counts[one], counts[other] - after)):
                    if known:
                        place = stream_at[match[one]] + k
                        known = stream_ranks[place, word] & bit and (
                            sent[rank, stream_chunk[place]] == stream_at[other] + after + k
                        )
            if known:
                pairs[low, 3] = 2
            low += 1
        for k in range(counts[one]):
            holds = -1
            for w in range(words):
                mask[w] = 0
            if kinds[one] & RECEIVES:
                place = stream_at[match[one]] + k
                holds = stream_chunk[place]
                for w in range(words):
                    mask[w] = stream_ranks[place, w]
            for x in range(source_start[one], source_start[one + 1]):
                cell = sources[x] + k
                if chunk[cell] < 0 or (holds >= 0 and holds != chunk[cell]):
                    return -1
                holds = chunk[cell]
                for w in range(words):
                    if mask[w] & ranks[cell, w]:
                        return -1
                    mask[w] |= ranks[cell, w]
            if targets[one] >= 0:
                cell = targets[one] + k
                chunk[cell] = holds
                for w in range(words):
                    ranks[cell, w] = mask[w]
            if kinds[one] & SENDS:
                place = stream_at[one] + k
                stream_chunk[place] = holds
                for w in range(words):
                    stream_ranks[place, w] = mask[w]
                if mask[word] & bit:
                    sent[rank, holds] = place if sent[rank, holds] == -1 else -2
    return longest
