"""Near-optimal spreading of blocks over paths and steps.

Every chunk takes a path, waiting where it pays. Chunk by chunk takes the path whose links are the least full at the
steps at which it takes them, and again, given those of all others, with prices that punish full links more and more:
first shortest paths, and then, where that is not too much work, longer ones too. What comes of it is counted exactly;
how good that is is for others to say (:mod:`topodesign.schedulers.flow_in_time`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import TooLargeError
from topodesign.pricing.closed_form import fullest
from topodesign.schedulers import balanced_paths_kernels as kernels
from topodesign.topology.topology import IntArray

MAX_HOPS = 2**28  # chunks of all pairs times steps, which are held at once: 1 GiB
MAX_COMMON = 2**16
"""Largest common multiple of capacities with which loads are exact; beyond, links are priced by rounded ones."""

_POWERS = (1, 2, 2, 3, 3, 4, 4, 3, 4, 5, 5, 4)  # how often prices are squared, pass by pass
_DIRECT = 4  # the first so many passes keep to shortest paths
_WORK, _TOGETHER = 2**29, 2**27
"""Links at nodes and steps that a pass with detours may look at, and after how many there is no other: some seconds."""
_SAMPLE = 64  # pairs that are looked at to say how many that will be


@dataclass(frozen=True, eq=False)
class BalancedPaths:
    """Paths of all chunks."""

    paths: NDArray[np.int32]  # shape ``(chunks, pairs, steps)``: the arc that a chunk takes, -1 where it stays
    total: Fraction  # sum over the steps of the largest load of a link, in blocks over its capacity


def balance_paths(
    distance: IntArray,
    arcs: tuple[IntArray, IntArray, IntArray],
    pairs: IntArray,
    *,
    steps: int,
    chunks: int,
    aim: Sequence[Fraction] = (),
    start: NDArray[np.int32] | None = None,
) -> BalancedPaths:
    """Spread the blocks of node pairs over paths in equal chunks.

    Distances are of shape ``(nodes, nodes)``; arcs are where links other than self-loops start, sorted, where they end,
    and their capacities; pairs of shape ``(pairs, 2)`` are source and destination of every block. ``aim`` is the
    largest load of every step in a solution that nothing is better than: the search ends when it is met.
    """
    if chunks * len(pairs) * steps > MAX_HOPS:
        raise TooLargeError(
            f"{len(pairs)} blocks in {chunks} chunks and {steps} steps are too many to spread; use fewer chunks"
        )
    src, dst, capacity = arcs
    common = math.lcm(*set(capacity.tolist()))
    if common > MAX_COMMON:
        common = MAX_COMMON * int(capacity.max())
    worth, pairs = common // capacity, np.ascontiguousarray(pairs)  # in one order for the kernel
    indptr = np.searchsorted(src, np.arange(len(distance) + 1))
    paths = np.full((chunks, len(pairs), steps), -1, dtype=np.int32) if start is None else start.copy()
    load = _loads(paths, len(src)) * worth
    full = np.array([math.ceil(one * common * chunks) for one in aim] or [0] * steps, dtype=np.int64)
    enough = sum(aim, Fraction(0)) * common * chunks
    best, least = paths.copy(), -1 if start is None else int(load.max(axis=1).sum())
    work = chunks * len(pairs) * _states(distance, pairs, steps) * len(src) // len(distance)
    powers = _POWERS if work > _WORK else _POWERS[: _DIRECT + 1 + _TOGETHER // max(1, work)]
    for turn, squares in enumerate(powers):
        if 0 <= least <= enough:
            break
        detour = steps if work <= _WORK and turn >= _DIRECT else 0
        total = kernels.balance_pass(distance, indptr, dst, worth, pairs, paths, load, full, squares, detour)
        if least < 0 or total < least:
            best, least = paths.copy(), total
    return BalancedPaths(best, _total(best, capacity))


def _states(distance: IntArray, pairs: IntArray, steps: int) -> int:
    """Estimate the (node, step) states on the paths of a pair."""
    chosen = pairs[:: max(1, len(pairs) // _SAMPLE)]
    after, before = distance[chosen[:, 0]], distance[:, chosen[:, 1]].T
    return sum(int(((after <= step) & (before <= steps - step)).sum()) for step in range(steps)) // len(chosen)


def _total(paths: NDArray[np.int32], capacity: IntArray) -> Fraction:
    """Return the exact sum of largest loads over steps."""
    loads = (fullest(load, capacity) for load in _loads(paths, len(capacity)))
    return sum(loads, Fraction(0)) / len(paths)


def _loads(paths: NDArray[np.int32], arcs: int) -> IntArray:
    """Return the chunks per step and arc, shape ``(steps, arcs)``."""
    columns = (paths[:, :, step].ravel() for step in range(paths.shape[2]))
    return np.array([np.bincount(column[column >= 0], minlength=arcs) for column in columns], dtype=np.int64)


def hops_of(paths: NDArray[np.int32]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return chunk, pair, step (from 1) and arc of every hop.

    Chunks of a pair that take the same path are consecutive.
    """
    chunks, _, steps = paths.shape
    if chunks > 1:
        order = np.lexsort([paths[:, :, step].T for step in reversed(range(steps))], axis=-1)  # per pair
        paths = np.take_along_axis(paths, order.T[:, :, None], axis=0)
    chunk, pair, step = np.nonzero(paths >= 0)
    return chunk, pair, step + 1, paths[chunk, pair, step].astype(np.int64)
