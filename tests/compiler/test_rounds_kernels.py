"""Where partial sums are copied home: against the count of sends, receives and copies, chunk by chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.floors import reached
from topodesign.compiler.frontends.rounds_kernels import _bring


def runs(*columns: list[int]) -> int:
    """Into how many runs rows fall, each of which follows on the one before in all columns."""
    rows = list(zip(*columns, strict=True))
    return sum(not at or any(b != a + 1 for a, b in zip(rows[at - 1], row, strict=True)) for at, row in enumerate(rows))


@pytest.mark.floor(way0=100, way1=10, way2=10, way3=3)
def test_copies_are_made_where_they_save_most() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 6))
        chunks = np.sort(rng.choice(8, size, replace=False))
        homes = [100 + chunks, 200 + chunks]
        added = rng.integers(0, 2, (2, size)).astype(bool)
        sums = np.full((2, 8), -1)
        for end in range(2):
            sums[end, chunks[added[end]]] = homes[end][added[end]]
        places = [np.where(added[end], homes[end], chunks) for end in range(2)]
        room, taken = rng.integers(0, 6, 2).tolist(), rng.integers(0, 4, 2) == 0
        first = bool(rng.integers(0, 2))
        costs = {0: (2 * runs(*(one.tolist() for one in places)), 0, 0)}
        for turn, way in enumerate((1, 3, 2) if first else (2, 1, 3)):
            ends = [end for end in range(2) if way >> end & 1]
            fresh = [chunks[~added[end]].tolist() for end in ends]
            if any(taken[end] or len(some) > room[end] for end, some in zip(ends, fresh, strict=True)):
                continue
            after = [homes[end] if end in ends else places[end] for end in range(2)]
            cost = 2 * runs(*(one.tolist() for one in after)) + sum(map(runs, fresh))
            costs[way] = cost, sum(map(len, fresh)), turn
        least = min(costs, key=costs.__getitem__)
        given: Any = (np.array(chunks), size, tuple(sums), tuple(places), tuple(homes), tuple(room), taken, first)
        assert _bring.plain(*given) == least, seed
        reached(f"way{least}")
