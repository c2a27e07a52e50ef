"""Partial sums of a reduce-scatter, and their use of the output."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.compiler.frontends.layout import Layout


class Sums:
    """Partial sums of every rank, from first arrival to forwarding.

    A rank sends and receives at the same time in a step, so that what it does either with has a place of its own then.
    """

    def __init__(self, plan: Layout, mixed: NDArray[np.bool_] | None = None) -> None:
        """Analyse reduced messages; ``mixed`` ranks use scratch for own sums."""
        self.nodes, self.shard = int(max(plan.src.max(), plan.dst.max())) + 1, plan.shard
        self.mixed = np.zeros(self.nodes, dtype=bool) if mixed is None else mixed
        of = plan.message
        src, dst, step = (column[of] for column in (plan.src, plan.dst, plan.step))
        self.never = int(step.max()) + 1
        self._first = np.full((self.nodes, self.nodes * self.shard), self.never)
        self._last = np.full_like(self._first, -1)
        np.minimum.at(self._first, (dst, plan.chunks), step)
        np.maximum.at(self._last, (np.append(src, dst), np.tile(plan.chunks, 2)), np.tile(step, 2))

    @cached_property
    def begun(self) -> Ints:
        """First step with results in each rank's output."""
        own = np.arange(self.nodes)[:, None]
        results = own, own * self.shard + np.arange(self.shard)
        found: Ints = np.where(self.mixed, self._last[results].min(axis=1), self._first[results].min(axis=1))
        return found

    @cached_property
    def live(self) -> Ints:
        """Chunks of partial sums outside the output, by rank, owner and step."""
        change = np.zeros((self.nodes, self.nodes * self.shard, self.never + 1), dtype=np.int64)
        rank, chunk = np.nonzero(self._first < self.never)
        change[rank, chunk, self._first[rank, chunk]] = 1
        change[rank, chunk, self._last[rank, chunk] + 1] -= 1
        found: Ints = np.cumsum(change, axis=2).reshape(self.nodes, self.nodes, self.shard, -1).sum(axis=2)
        plain = np.flatnonzero(~self.mixed)
        found[plain, plain] = 0
        return found

    def least(self) -> int:
        """Return the minimum scratch (chunks) per rank, without unstored forwarding."""
        spare = self.shard * (np.arange(self.never + 1) < self.begun[:, None])
        return max(0, int((self.live.sum(axis=1) - spare).max()))

    def find_spared(self) -> Ints:
        """Return per rank an owner whose sums end before results, or -1.

        Of these it has the most in the step in which the rank has the most.
        """
        ranks = np.arange(self.nodes)
        peak = self.live.sum(axis=1).argmax(axis=1)
        over = np.where(self._first < self.never, self._last, -1).reshape(self.nodes, self.nodes, -1).max(axis=2)
        gain = np.where(over < self.begun[:, None], self.live[ranks, :, peak], 0)
        gain[ranks, ranks] = 0
        found: Ints = np.where(gain.max(axis=1) > 0, gain.argmax(axis=1), -1)
        return found

    def count_held(self, spared: Ints) -> Ints:
        """Return scratch chunks per rank and step, spared sums excluded."""
        found: Ints = self.live.sum(axis=1)
        some = np.flatnonzero(spared >= 0)
        found[some] -= self.live[some, spared[some]]
        return found
