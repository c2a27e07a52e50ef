"""Strategy: deferred schedules of rows that would become the best."""

from __future__ import annotations

import heapq

from topodesign.catalog.rows import Row
from topodesign.pricing.deferral import count_receivers
from topodesign.search.state import SearchState
from topodesign.search.target import Target

_COUNTS = 2
"""How often the work of a deferred schedule is estimated from below before it is looked for, ever more closely."""


class DeferralQueue:
    """A queue of rows for deferral, by likely gain per work."""

    def __init__(self, state: SearchState) -> None:
        self.state = state
        self._waiting: list[tuple[float, Target]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, target: Target) -> None:
        """Add a size if any of its rows could gain."""
        worth, row = self.state.hope(target)
        if row is not None:
            heapq.heappush(self._waiting, (-worth, target))

    def next(self) -> Row | None:
        """Return the row of the largest likely gain, or None."""
        while self._waiting:
            before, target = heapq.heappop(self._waiting)
            worth, row = self.state.hope(target)
            if row is not None and len(counts := self.state.receivers[row.either_way]) < _COUNTS:
                topology = row.build()
                counts.append(
                    count_receivers(topology) if counts else len(topology.representatives or range(row.nodes))
                )
                worth, row = self.state.hope(target)
            if row is not None and worth >= -before:
                heapq.heappush(self._waiting, (before, target))  # its other rows may be worth it, too
                return row
            if row is not None:
                heapq.heappush(self._waiting, (-worth, target))
        return None
