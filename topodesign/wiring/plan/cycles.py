"""Simplex links over panels that hosts can be cabled to at will, by cycles.

A lane sends and receives, so a cycle of links needs one lane at each of its nodes, all on one field of panels, however
the cycles are spread over the fields. Nodes that send more than they receive get links from others for the count, which
no panel carries; then all links are a union of cycles (Euler), and it remains to pack the cycles into the fields.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from topodesign.topology.topology import IntArray

_TRIES = 20
_CHOSEN_EXACTLY = 256  # cycles of which the best choice is found, the shortest ones


def spread_cycles(nodes: int, src: IntArray, dst: IntArray, room: Sequence[int], seed: int = 0) -> IntArray | None:
    """Spread links over fields so that no lane more is needed than on a single one.

    ``room`` has the ports of each field. Returns the field of each link; None if this was not found, which does not say
    that there is no way.
    """
    excess = np.bincount(src, minlength=nodes) - np.bincount(dst, minlength=nodes)
    everyone = np.arange(nodes)
    begin = np.concatenate((src, np.repeat(everyone, np.maximum(-excess, 0))))
    end = np.concatenate((dst, np.repeat(everyone, np.maximum(excess, 0))))
    if len(begin) > sum(room):
        return None
    rng = np.random.default_rng(seed)
    for _ in range(_TRIES):
        cycles = _cycles(nodes, begin, end, rng)
        packed = _pack([len(cycle) for cycle in cycles], room)
        if packed is not None:
            part = np.empty(len(begin), dtype=np.int64)
            for cycle, field in zip(cycles, packed, strict=True):
                part[cycle] = field
            return part[: len(src)]
    return None


def _cycles(nodes: int, begin: IntArray, end: IntArray, rng: np.random.Generator) -> list[list[int]]:
    """Take links apart into cycles that visit no node twice, along a random walk that drops each cycle it closes."""
    leaving: list[list[int]] = [[] for _ in range(nodes)]
    for link in rng.permutation(len(begin)).tolist():
        leaving[begin[link]].append(link)
    target = end.tolist()
    cycles: list[list[int]] = []
    for start in range(nodes):
        walk: list[int] = []
        step = {start: 0}  # position on the walk of the nodes on it
        here = start
        while leaving[here] or walk:
            walk.append(leaving[here].pop())
            there = target[walk[-1]]
            if there in step:
                cycle = walk[step[there] :]
                del walk[step[there] :]
                for link in cycle[:-1]:
                    del step[target[link]]
                cycles.append(cycle)
            else:
                step[there] = len(walk)
            here = there
    return cycles


def _pack(sizes: list[int], room: Sequence[int]) -> list[int] | None:
    """Return a bin for each thing, so that all fit; the largest things go first, and the last ones fill exactly."""
    bins = [-1] * len(sizes)
    rest = sorted(range(len(sizes)), key=lambda one: -sizes[one])
    for number in sorted(range(len(room)), key=lambda one: room[one]):
        left, later, chosen = room[number], [], []
        for one in rest[: max(len(rest) - _CHOSEN_EXACTLY, 0)]:
            if sizes[one] <= left // 2:
                left -= sizes[one]
                chosen.append(one)
            else:
                later.append(one)
        small = rest[max(len(rest) - _CHOSEN_EXACTLY, 0) :]
        taken = set(_fullest([sizes[one] for one in small], left))
        chosen += [one for place, one in enumerate(small) if place in taken]
        rest = later + [one for place, one in enumerate(small) if place not in taken]
        for one in chosen:
            bins[one] = number
    return None if rest else bins


def _fullest(sizes: list[int], room: int) -> list[int]:
    """Return the positions of sizes whose sum is largest within the room."""
    mask = (1 << (room + 1)) - 1
    sums = [1]  # bit s: some of the first things sum to s
    for size in sizes:
        sums.append((sums[-1] | sums[-1] << size) & mask)
    total, chosen = sums[-1].bit_length() - 1, []
    for place in reversed(range(len(sizes))):
        if not sums[place] >> total & 1:
            chosen.append(place)
            total -= sizes[place]
    return chosen
