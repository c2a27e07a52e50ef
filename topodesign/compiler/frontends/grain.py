"""Choice of chunk count: lossless minimum or divisor of calls.

A runtime uses a program for calls whose elements are a multiple of its chunks alone. A schedule on 96 nodes has 96
shards, and no call of 64 MiB is a multiple of them. So for given calls the data are cut into another number of chunks,
one that divides all of them: units of the schedule are then longer or shorter by a chunk, and the links that get the
longer ones carry more. What that costs is known exactly before anything is compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.arrays import distinct
from topodesign.base.compiled import Ints
from topodesign.base.errors import TooLargeError
from topodesign.compiler.ir import Program

MAX_CHUNKS = 2**15 - 1  # of a program: the largest offset that the runtimes of MSCCL can say

_NEAR = Fraction(
    1, 100
)  # of a bandwidth factor: what is lost more than with the best number of chunks and is no matter


class Lowering(NamedTuple):
    """Laid-out plan, ready for any number of chunks.

    * ``program``: makes a program of so many chunks or, with None, of as few as lose nothing.
    * ``cost``: bandwidth that the plan takes with so many chunks, None: with as few; None where data are cut as the
      schedule is, or not at all.
    """

    program: Callable[[int | None], Program]
    cost: Callable[[int | None], Fraction] | None = None
    natural: int = 0  # as few chunks as the plan can do with, without any loss
    groups: int = 1  # chunks come in equal groups of so many

    def loss(self, chunks: int) -> Fraction:
        """Return the relative growth of the bandwidth factor for ``chunks``."""
        if self.cost is None or not (least := self.cost(None)):
            return Fraction(0)
        return self.cost(chunks) / least - 1


def steps_cost(step: Ints, link: Ints, size: Ints, capacity: Ints, whole: int) -> Fraction:
    """Return the lock-step time of messages; ``whole`` is all data.

    ``step``, ``link`` and ``size`` are of every message, ``capacity`` of every link.
    """
    if not len(step):
        return Fraction(0)
    links = len(capacity)
    key = step.astype(np.int64) * links + link
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    load = np.add.reduceat(size[order].astype(np.int64), starts)
    step, link = np.divmod(key[order][starts], links)
    common = math.lcm(*distinct(capacity[link]).tolist())
    load = load * (common // capacity[link])
    last = np.zeros(int(step.max()) + 1, dtype=np.int64)
    np.maximum.at(last, step, load)
    return Fraction(int(last.sum()), common * whole)


def choices(grain: Lowering, common: int, groups: int, most: int = MAX_CHUNKS) -> list[tuple[int, Fraction]]:
    """Return multiples of ``groups`` that divide ``common``, with losses.

    Those come first that lose the least, but of those that lose hardly more than the best (a hundredth) the fewest
    chunks, which need the fewest instructions.
    """
    step = math.lcm(groups, grain.groups)
    if grain.natural % groups == 0 and common % grain.natural == 0:
        return [(grain.natural, Fraction(0))]
    known = [chunks for chunks in range(step, most + 1, step) if common % chunks == 0]
    few = [chunks for chunks in known if chunks >= grain.natural // 4] or known[-1:]
    found = []
    for chunks in few:
        try:
            found.append((chunks, grain.loss(chunks)))
        except TooLargeError:
            break  # so would be more
    least = min((loss for _, loss in found), default=Fraction(0))
    near = sorted(one for one in found if one[1] <= least + _NEAR)
    return near + sorted((one for one in found if one[1] > least + _NEAR), key=lambda one: (one[1], one[0]))
