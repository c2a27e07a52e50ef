"""Scratch is packed: what is needed at the same time lies apart, and nothing takes more room than before."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.floors import reached
from topodesign.compiler.compilation import compile_plan
from topodesign.compiler.frontends.packing import fit_groups
from topodesign.schedulers.scheduling import schedule


@pytest.mark.floor(shared=50)
def test_groups_that_are_needed_at_one_time_lie_apart() -> None:
    rng = random.Random(3)  # noqa: S311
    for _ in range(200):
        rows = []
        for rank in range(rng.randint(1, 3)):
            for _ in range(rng.randint(0, 8)):
                turn = rng.randint(0, 6)
                rows.append((rank, turn, turn + rng.randint(0, 3), rng.randint(1, 4)))
        rows.sort(key=lambda row: (row[0], row[1], -row[3]))
        owner, first, last, length = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
        found = fit_groups(owner, first, last, length)
        assert found.tolist() == fit_groups.plain(owner, first, last, length).tolist()
        for x in range(len(rows)):
            for y in range(x):
                if owner[x] != owner[y]:
                    continue
                beside = found[x] < found[y] + length[y] and found[y] < found[x] + length[x]
                assert not (beside and first[x] <= last[y] and first[y] <= last[x])
                if beside:
                    reached("shared")
        for one in set(owner.tolist()):
            mine = owner == one
            assert (found + length)[mine].max() <= length[mine].sum()


@pytest.mark.parametrize(
    ("spec", "collective", "share"),
    [
        ("torus(8,8)", "reduce-scatter", 0.375),  # 0.81 where every sum has a place of its own
        ("uniring(1,8)", "all-to-all", 2.5),  # 4
        ("torus(4,4)", "all-to-all", 1.82),  # 3.25
    ],
)
def test_scratch_is_used_again(spec: str, collective: str, share: float) -> None:
    made = compile_plan(schedule(spec, collective)).checked()
    assert made.program.columns.scratch.max() <= share * made.program.chunks
