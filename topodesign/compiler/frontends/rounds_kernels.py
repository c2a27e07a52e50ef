"""Compiled inner loop that places partial sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints, compile_kernel, tier_kernel


@compile_kernel
def _pieces(one: Ints, other: Ints, size: int) -> int:
    """Return the number of pieces consecutive in both columns."""
    number = 1
    for at in range(1, size):
        number += one[at] - one[at - 1] != 1 or other[at] - other[at - 1] != 1
    return number


@compile_kernel
def _fresh(chunks: Ints, sums: Ints, size: int) -> tuple[int, int]:
    """Count chunks without partial sums, and their runs."""
    found, groups, last = 0, 0, np.int64(-2)
    for at in range(size):
        if sums[chunks[at]] < 0:
            found += 1
            groups += chunks[at] != last + 1
            last = chunks[at]
    return found, groups


@compile_kernel
def _bring(
    chunks: Ints,
    size: int,
    sums: tuple[Ints, Ints],
    places: tuple[Ints, Ints],
    homes: tuple[Ints, Ints],
    room: tuple[int, int],
    taken: NDArray[np.bool_],
    sender_first: bool,
) -> int:
    """Return the ends that copy first (sender 1, receiver 2).

    Where some of what moves at once has been added to and some has not, they lie apart, and each piece more is a send
    and a receive. ``room`` is what each end may still copy, ``taken`` whether home is taken; of two ways that are as
    good, the lower rank copies.
    """
    fresh = _fresh(chunks, sums[0], size), _fresh(chunks, sums[1], size)
    best, copied, least = 0, 0, 2 * _pieces(places[0], places[1], size)
    if least == 2:
        return 0
    for way in (1, 3, 2) if sender_first else (2, 1, 3):
        moved = (fresh[0][0] if way & 1 else 0) + (fresh[1][0] if way & 2 else 0)
        if (way & 1 and (taken[0] or fresh[0][0] > room[0])) or (way & 2 and (taken[1] or fresh[1][0] > room[1])):
            continue
        one = homes[0] if way & 1 else places[0]
        other = homes[1] if way & 2 else places[1]
        cost = 2 * _pieces(one, other, size)
        cost += (fresh[0][1] if way & 1 else 0) + (fresh[1][1] if way & 2 else 0)
        if cost < least or (cost == least and moved < copied):
            best, least, copied = way, cost, moved
    return best


def _work(*given: Any) -> int:
    return 8 * len(given[3])


@tier_kernel(_work)
def added(
    src: Ints,
    dst: Ints,
    first: Ints,
    chunks: Ints,
    owners: Ints,
    offset: Ints,
    last: Ints,
    mixed: NDArray[np.bool_],
    spared: Ints,
    sums: Ints,
    brought: Ints,
    when: Ints,
    given: int,
    home: tuple[int, int],
    apart: tuple[bool, int],
    held: Ints,
    times: Ints,
    most: int,
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Reduce part by part; return pieces with their places.

    Part p has ``chunks[first[p] : first[p + 1]]``, and is of step ``times[p]``. ``sums`` has for every rank and chunk
    where its partial sum is, or -1 where it is still ``given``, its own contribution; ``owners`` has the rank that each
    chunk is of, ``last`` the part that completes a chunk at its owner. ``home`` are the beginnings of where a rank adds
    up what is not its own and what is, less ``offset`` of the chunk; ``apart`` says whether sums are elsewhere than
    what is added up, and how many chunks a rank may then copy. ``brought`` gets where it copies them, and ``when``, of
    scratch, in which step: that before the part's. ``spared`` is an owner for each rank whose sums go to where results
    do. ``held`` has how many chunks of scratch a rank needs in each step, and gets those of copies, which make it no
    more than ``most``.
    """
    elsewhere, result = home
    piece = np.empty((5, len(chunks)), dtype=np.int64)
    number = 0
    longest = 0
    for part in range(len(src)):
        longest = max(longest, first[part + 1] - first[part])
    after = np.empty(longest, dtype=np.int64)
    where = np.empty((2, longest), dtype=np.int64)
    homes = np.empty((2, longest), dtype=np.int64)
    copied = np.zeros(len(mixed), dtype=np.int64)
    taken = np.zeros(2, dtype=np.bool_)
    for part in range(len(src)):
        size = first[part + 1] - first[part]
        mine = chunks[first[part] : first[part + 1]]
        ends, now = (src[part], dst[part]), times[part]
        for at in range(size):
            x = mine[at]
            for end in range(2):
                rank = ends[end]
                owner = owners[x]
                there = result + x - offset[x]
                away = (owner != rank or mixed[rank]) and elsewhere >= 0 and owner != spared[rank]
                homes[end, at] = elsewhere + x if away else there
            done = last[x] == part and owner == ends[1]
            after[at] = there if done else homes[1, at]
        if apart[0]:
            begin = 0
            while begin < size:
                stop = begin + 1
                while stop < size and mine[stop] == mine[stop - 1] + 1 and after[stop] == after[stop - 1] + 1:
                    stop += 1
                taken[:] = False
                for at in range(begin, stop):
                    for end in range(2):
                        at_sum = sums[ends[end], mine[at]]
                        where[end, at] = at_sum if at_sum >= 0 else given + mine[at]
                        taken[end] |= spared[ends[end]] >= 0 and homes[end, at] >= given  # the output, from the start
                way = _bring(
                    mine[begin:stop],
                    stop - begin,
                    (sums[ends[0]], sums[ends[1]]),
                    (where[0, begin:stop], where[1, begin:stop]),
                    (homes[0, begin:stop], homes[1, begin:stop]),
                    (
                        min(apart[1] - copied[ends[0]], most - max(held[ends[0], now - 1], held[ends[0], now])),
                        min(apart[1] - copied[ends[1]], most - held[ends[1], now - 1]),
                    ),
                    taken,
                    ends[0] < ends[1],
                )
                for end in range(2):
                    if way >> end & 1:
                        for at in range(begin, stop):
                            if sums[ends[end], mine[at]] < 0:
                                sums[ends[end], mine[at]] = homes[end, at]
                                brought[ends[end], mine[at]] = homes[end, at]
                                copied[ends[end]] += 1
                                if homes[end, at] < given:
                                    when[ends[end], mine[at]] = now - 1
                                    held[ends[end], now - 1] += 1
                                    held[ends[end], now] += 1 - end
                begin = stop
        for at in range(size):
            x = mine[at]
            for end in range(2):
                at_sum = sums[ends[end], x]
                where[end, at] = at_sum if at_sum >= 0 else given + x
            goes_on = at > 0 and x == mine[at - 1] + 1 and after[at] == after[at - 1] + 1
            if goes_on and where[0, at] == where[0, at - 1] + 1 and where[1, at] == where[1, at - 1] + 1:
                continue
            piece[0, number] = part
            piece[1, number] = first[part] + at
            piece[2, number] = where[0, at]
            piece[3, number] = where[1, at]
            piece[4, number] = after[at]
            number += 1
        for at in range(size):
            sums[ends[1], mine[at]] = after[at]
    return piece[0, :number], piece[1, :number], piece[2, :number], piece[3, :number], piece[4, :number]
