"""Who waits for whom, against definitions: every pair of operations that touch the same cell is looked at."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.floors import reached
from topodesign.base.compiled import Ints
from topodesign.compiler.frontends.colouring import degree_of, edge_colouring
from topodesign.compiler.frontends.thread_kernels import dependencies, find_forwards, keep_order, with_local
from topodesign.compiler.frontends.threads import _groups

CELLS, BLOCKS = 5, 3


class Serial(NamedTuple):
    """Operations of some ranks in their serial order, at random."""

    first: Ints
    source: Ints
    target: Ints
    units: Ints
    block: Ints
    step: Ints
    reduces: np.ndarray

    def reads(self, at: int) -> set[int]:
        """The cells that an operation reads."""
        begins = [self.source[at], self.target[at] if self.reduces[at] else -1]
        return {cell for begin in begins if begin >= 0 for cell in range(begin, begin + self.units[at])}

    def writes(self, at: int) -> set[int]:
        """The cells that an operation writes."""
        return set(range(self.target[at], self.target[at] + self.units[at])) if self.target[at] >= 0 else set()

    @property
    def rank(self) -> list[int]:
        """The rank of every operation."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first)).tolist()

    def conflicts(self, at: int) -> list[tuple[int, int]]:
        """Earlier operations of its rank, and a cell that both touch and one of them writes."""
        return [
            (one, cell)
            for one in range(self.first[self.rank[at]], at)
            for cell in (self.writes(one) & (self.reads(at) | self.writes(at))) | (self.reads(one) & self.writes(at))
        ]

    def counts(self, one: int, at: int, cell: int, half: int) -> bool:
        """Whether the order matters: the result of an allreduce may be written over sums, which it contains."""
        if self.step[at] <= half or self.step[one] > half:
            return True
        later = any(cell in self.writes(x) for x in range(one + 1, at))
        return cell in self.writes(one) & self.reads(at) and not later


def serial(rng: random.Random) -> Serial:
    lengths = [rng.randint(0, 8) for _ in range(rng.randint(1, 3))]
    rows = []
    for length in lengths:
        for step in sorted(rng.randint(0, 4) for _ in range(length)):
            count = rng.randint(1, 2)
            source, target = (rng.choice([-1, rng.randrange(CELLS + 1 - count)]) for _ in range(2))
            rows.append((source, target, count, rng.randrange(BLOCKS), step, target >= 0 and rng.random() < 0.3))
    one = np.array(rows, dtype=np.int64).reshape(-1, 6).T.copy()
    return Serial(np.cumsum([0, *lengths]), one[0], one[1], one[2], one[3], one[4], one[5].astype(bool))


@pytest.mark.floor(needed=200, exempt=20)
def test_waits_keep_the_order_of_conflicts_and_none_is_implied() -> None:
    rng = random.Random(5)  # noqa: S311
    for _ in range(200):
        ops, half = serial(rng), rng.choice([0, 2, 9])
        waits, other, place = dependencies(*ops, half, (CELLS, BLOCKS))
        number: dict[tuple[int, int, int], int] = {}  # of an operation, by rank, threadblock and place there
        over: list[set[int]] = []  # when an operation begins, by waits and by the order of its threadblock
        for at, (rank, block) in enumerate(zip(ops.rank, ops.block.tolist(), strict=True)):
            nth = sum(key[:2] == (rank, block) for key in number)
            mine = slice(waits[at], waits[at + 1])
            assert other[mine].tolist() == sorted(set(other[mine].tolist()))
            direct = [number[rank, *key] for key in zip(other[mine].tolist(), place[mine].tolist(), strict=True)]
            before = {*direct, *([number[rank, block, nth - 1]] if nth else [])}
            over.append(before.union(*(over[one] for one in before)))
            assert len(before) == len(direct) + (nth > 0)
            assert not any(one in over[way] for way in before for one in direct)
            needed = {one for one, cell in ops.conflicts(at) if ops.counts(one, at, cell, half)}
            assert over[at] >= needed >= set(direct)
            if needed:
                reached("needed")
            if {one for one, _ in ops.conflicts(at)} - over[at]:
                reached("exempt")
            number[rank, block, nth] = at


@pytest.mark.floor(kept=40, broken=30)
def test_an_order_is_kept_if_no_conflict_is_turned_round() -> None:
    rng = random.Random(6)  # noqa: S311
    for _ in range(120):
        ops = serial(rng)
        position = np.arange(len(ops.step))
        for begin, end in pairwise(ops.first.tolist()):
            part = position[begin:end].tolist()
            for _ in range(rng.randint(0, 1) * len(part)):
                x = rng.randrange(max(len(part) - 1, 1))
                part[x : x + 2] = part[x : x + 2][::-1]
            position[begin:end] = part
        kept = keep_order(ops.first, ops.source, ops.target, ops.units, position, ops.reduces, CELLS)
        wrong = {
            ops.rank[at] for at in range(len(position)) for one, _ in ops.conflicts(at) if position[one] > position[at]
        }
        assert set(np.flatnonzero(~kept).tolist()) == wrong
        reached("broken" if wrong else "kept")


@pytest.mark.floor(passed=30)
def test_what_is_passed_on_is_all_of_one_receive_and_nothing_else() -> None:
    """A receive just before, with no send of the connection between, whose data nothing has written over."""
    rng = random.Random(7)  # noqa: S311
    for _ in range(150):
        ops = serial(rng)
        size = len(ops.step)
        sends = np.array([rng.random() < 0.5 for _ in range(size)], dtype=bool) & (ops.source >= 0)
        line = np.array([2 * rank + rng.randrange(2) for rank in ops.rank], dtype=np.int64)
        line[~sends] = -1
        ops.target[sends] = -1
        for at in np.flatnonzero(sends).tolist():
            received = [one for one in range(ops.first[ops.rank[at]], at) if ops.target[one] >= 0]
            if received and rng.random() < 0.8:
                one = rng.choice(received[-2:])
                ops.source[at], ops.units[at] = ops.target[one], ops.units[one]
        receives = np.array([rng.random() < 0.8 for _ in range(size)], dtype=bool) & (ops.target >= 0)
        instance = np.array([rng.randrange(2) for _ in range(size)], dtype=np.int64)
        lines = 2 * len(ops.first)
        found = find_forwards(ops.first, ops.source, ops.target, ops.units, line, receives, instance, (CELLS, lines))
        for at in range(size):
            begin = ops.first[ops.rank[at]]
            sent = max((one for one in range(begin, at) if line[one] == line[at]), default=begin - 1)
            some = [
                one
                for one in range(sent + 1, at)
                if sends[at]
                and receives[one]
                and instance[one] == instance[at]
                and (ops.target[one], ops.units[one]) == (ops.source[at], ops.units[at])
                and not any(ops.writes(x) & ops.writes(one) for x in range(one + 1, at))
            ]
            assert found[at] == max(some, default=-1)
            if some:
                reached("passed")


def test_what_is_local_goes_with_what_is_before_it_or_with_its_send() -> None:
    rng = random.Random(8)  # noqa: S311
    for _ in range(100):
        ops = serial(rng)
        flags = np.array([rng.randrange(4) for _ in ops.step], dtype=np.int64)
        key = np.array([rng.randrange(100) for _ in ops.step], dtype=np.int64)
        block = ops.block + BLOCKS * np.array(ops.rank, dtype=np.int64)
        found = key.copy()
        with_local(ops.first, found, flags, block, BLOCKS * (len(ops.first) - 1))
        for at, flag in enumerate(flags.tolist()):
            begin, end = ops.first[ops.rank[at]], ops.first[ops.rank[at] + 1]
            last = [key[one] for one in range(begin, at) if flags[one] == 1]
            send = [key[one] for one in range(at, end) if flags[one] == 0 and block[one] == block[at]]
            wanted = send if flag == 3 and send else last[-1:] or [0]
            assert found[at] == (key[at] if flag < 2 else wanted[0])


def test_no_node_has_more_links_of_a_channel_than_it_may() -> None:
    for seed in range(30):
        rng = random.Random(seed)  # noqa: S311
        links = {(u, v) for u in range(6) for v in range(6) if u != v and rng.random() < 0.5}
        for limit in (1, 2, 3):
            group = _groups(links, limit)
            assert group.keys() == links
            for side in (0, 1):
                assert max(Counter((link[side], colour) for link, colour in group.items()).values()) <= limit


# -- sends as permutations: proper colourings with as many colours as the degree --------------------------------------


sparse = st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=60).map(sorted)
complete = st.integers(2, 7).map(lambda side: [(u, v) for u in range(side) for v in range(side)])


@given(sparse | complete, st.randoms(use_true_random=False))
def test_colours_are_proper_and_as_few_as_the_degree(found: list[tuple[int, int]], rng: object) -> None:
    rng.shuffle(found)  # type: ignore[attr-defined]
    colours = edge_colouring(found)
    degree = degree_of(found)
    assert degree == max((sum(end[side] == node for end in found) for side in (0, 1) for node in range(10)), default=0)
    assert set(colours) <= set(range(degree))
    for side in (0, 1):
        assert len({(edge[side], colour) for edge, colour in zip(found, colours, strict=True)}) == len(found)
