"""Compiled inner loop of the proof that a program ends."""

from __future__ import annotations

import numpy as np

from topodesign.base.compiled import Ints, tiered

SENDS, RECEIVES = 1, 2
"""Bits of what an instruction does to connections."""


def _work(starts: Ints, kinds: Ints, pieces: Ints, *_: object) -> int:
    return 4 * len(kinds) + int(pieces.sum()) // 2 + len(starts)


@tiered(_work)
def run(
    starts: Ints,
    kinds: Ints,
    pieces: Ints,
    waits: Ints,
    targets: Ints,
    positions: Ints,
    send: Ints,
    receive: Ints,
    slots: int,
    connections: int,
) -> bool:
    """Run until nothing moves; return whether nothing is left.

    Instruction x of thread t is number ``starts[t] + x``; it waits for threads ``targets[waits[x] : waits[x + 1]]`` to
    have done more than ``positions``. ``send`` and ``receive`` are the connections of each thread, or -1. A thread that
    cannot move is linked to what it waits for: thread t, or t + threads for the connection that it sends on and t + 2
    threads for that on which it receives.
    """
    threads = len(starts) - 1
    at = np.zeros(threads, dtype=np.int64)
    done = np.zeros(threads, dtype=np.int64)
    queue = np.zeros(connections, dtype=np.int64)
    ready = np.zeros(connections, dtype=np.int64)  # pieces that a receiver would take at once, without slots
    sleepers = np.full(threads + 2 * connections, -1, dtype=np.int64)
    following = np.full(threads, -1, dtype=np.int64)
    stack = np.zeros(threads, dtype=np.int64)
    for thread in range(threads):
        stack[thread] = thread
    height = threads
    finished = 0
    while height > 0:
        height -= 1
        thread = stack[height]
        while True:
            if at[thread] == starts[thread + 1] - starts[thread]:
                finished += 1
                break
            one = starts[thread] + at[thread]
            blocked = np.int64(-1)
            if done[thread] == 0:
                for x in range(waits[one], waits[one + 1]):
                    if at[targets[x]] <= positions[x]:
                        blocked = targets[x]
                        break
            amount = pieces[one] - done[thread]
            into = receive[thread]
            out = send[thread]
            if blocked < 0 and kinds[one] & RECEIVES:
                if slots == 0:
                    ready[into] = amount - queue[into]
                    if sleepers[threads + into] >= 0:  # its sender
                        stack[height] = sleepers[threads + into]
                        height += 1
                        sleepers[threads + into] = -1
                amount = min(amount, queue[into])
                if amount == 0:
                    blocked = threads + connections + into
            if blocked < 0 and kinds[one] & SENDS:
                amount = min(amount, ready[out] if slots == 0 else slots - queue[out])
                if amount == 0:
                    blocked = threads + out
            if blocked >= 0:
                following[thread] = sleepers[blocked]
                sleepers[blocked] = thread
                break
            woken = np.int64(-1)
            if kinds[one] & RECEIVES:
                queue[into] -= amount
                if slots > 0:
                    woken = sleepers[threads + into]
                    sleepers[threads + into] = -1
                    if woken >= 0:
                        stack[height] = woken
                        height += 1
            if kinds[one] & SENDS:
                queue[out] += amount
                if slots == 0:
                    ready[out] -= amount
                woken = sleepers[threads + connections + out]
                sleepers[threads + connections + out] = -1
                if woken >= 0:
                    stack[height] = woken
                    height += 1
            done[thread] += amount
            if done[thread] == pieces[one]:
                at[thread] += 1
                done[thread] = 0
                woken = sleepers[thread]
                sleepers[thread] = -1
                while woken >= 0:
                    stack[height] = woken
                    height += 1
                    woken = following[woken]
    return finished == threads
