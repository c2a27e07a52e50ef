"""The laws the execution relies on: single chunks and few slots are the worst."""

from __future__ import annotations

import random
from collections import Counter

from tests.conftest import few
from tests.runtime.msccl.test_programs import FAMILIES, P, S, T, ring_allgather, ring_allreduce, write
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.msccl.build import build_machine
from topodesign.runtime.msccl.check import check_program, make_layout
from topodesign.runtime.msccl.operations import Table, load
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import PROFILES

EXECUTOR = PROFILES["msccl-executor-256"]


def table_of(program: P) -> tuple[Table, Layout]:
    parsed = parse_xml(write(program), EXECUTOR)
    root = 2 if program == FAMILIES["tree broadcast from 2"] else 0
    return load(parsed, EXECUTOR).table, make_layout(parsed, inplace=program.inplace, root=root)


def talkative(rng: random.Random) -> P:
    """Three ranks, a threadblock for each ordered pair: random counts, forwarding, flags between threadblocks."""
    counts = {pair: [rng.randrange(1, 6) for _ in range(rng.randrange(4))] for pair in ((0, 1), (1, 2), (2, 0))}
    ranks = []
    for r in range(3):
        into, out = counts[(r - 1) % 3, r], counts[r, (r + 1) % 3]
        kinds = [S("r", "i0", "i0", c) for c in into], [S("s", "i0", "i0", c) for c in out]
        mixed: list[S] = []
        left, right = [list(k) for k in kinds]
        while left or right:
            if left and right and left[0].cnt == right[0].cnt and rng.random() < 0.3:
                mixed.append(S("rcs", "i0", "i0", left.pop(0).cnt))
                right.pop(0)
            else:
                mixed.append(rng.choice([side for side in (left, right) if side]).pop(0))
        ranks.append((T(tuple(mixed), (r + 1) % 3, (r - 1) % 3),))
    return P("allreduce", 8, tuple(ranks), max_bytes=0)


def test_short_pieces_and_few_slots_are_the_worst_case() -> None:
    rng = random.Random(1)  # noqa: S311
    seen: Counter[bool] = Counter()
    rescued = 0
    for _ in few(range(300)):
        program = table_of(talkative(rng))
        for slots in (1, 2, 3):
            stuck = [not build_machine(*program, slots, piece=piece).ends() for piece in range(1, 6)]
            assert stuck == sorted(stuck, reverse=True)
            seen[stuck[0]] += 1
            rescued += stuck[0] and not stuck[-1]
            for piece, worst in enumerate(stuck, start=1):
                assert worst or build_machine(*program, slots + rng.randrange(1, 3), piece=piece).ends()
    assert min(seen.values()) > 15
    assert rescued > 6


def test_sixty_four_ranks() -> None:
    for program in (ring_allgather(64), ring_allreduce(64)):
        report = check_program(parse_xml(write(program), EXECUTOR), EXECUTOR)
        assert report.ok, str(report)
