"""The laws the execution relies on: one run decides deadlock, single chunks are the worst, two ways agree."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.runtime.msccl.test_programs import FAMILIES, P, S, T, ring_allgather, ring_allreduce, write
from topodesign.runtime.machine.layout import Layout
from topodesign.runtime.msccl.build import build_machine
from topodesign.runtime.msccl.check import check_program, make_layout, prove
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
    for _ in range(300):
        program = table_of(talkative(rng))
        for slots in (1, 2, 3):
            stuck = [not build_machine(*program, slots, piece=piece).ends() for piece in range(1, 6)]
            assert stuck == sorted(stuck, reverse=True)
            seen[stuck[0]] += 1
            rescued += stuck[0] and not stuck[-1]
            for piece, worst in enumerate(stuck, start=1):
                assert worst or build_machine(*program, slots + rng.randrange(1, 3), piece=piece).ends()
    assert min(seen.values()) > 50
    assert rescued > 20


def test_all_orders_get_stuck_in_the_same_place() -> None:
    """One run decides: every random order makes the same moves."""
    rng = random.Random(2)  # noqa: S311
    deadlocks = 0
    for _ in range(200):
        machine = build_machine(*table_of(talkative(rng)), 2)
        ended = not machine.prove().deadlock
        deadlocks += not ended
        for seed in range(1, 6):
            assert machine.ends(seed) == ended
    assert 20 < deadlocks < 180


@pytest.mark.parametrize("name", FAMILIES)
def test_both_ways_find_correct_programs_correct(name: str) -> None:
    table, layout = table_of(FAMILIES[name])
    assert not prove(build_machine(table, layout, 8))[0]
    for seed in range(10):
        assert build_machine(table, layout, 8).random(seed) is None


def test_both_ways_find_a_wrong_result() -> None:
    program = ring_allgather(4)
    swapped = write(program).replace('dstoff="1"', 'dstoff="9"').replace('dstoff="2"', 'dstoff="1"')
    parsed = parse_xml(swapped.replace('dstoff="9"', 'dstoff="2"'), EXECUTOR)
    table, layout = load(parsed, EXECUTOR).table, make_layout(parsed, inplace=False)
    assert {finding.verdict for finding in prove(build_machine(table, layout, 2))[0]} & {
        "wrong result",
        "uninitialised read",
    }
    for seed in range(10):
        finding = build_machine(table, layout, 2).random(seed)
        assert finding is not None
        assert finding.verdict == "wrong result"


def test_random_orders_show_a_race() -> None:
    one = T((S("cpy", "i0", "s0"), S("cpy", "s0", "o0")))
    two = T((S("cpy", "i1", "s0"), S("cpy", "s0", "o1")))
    table, layout = table_of(P("allreduce", 2, ((one, two),), scratch=1, inplace=False))
    assert prove(build_machine(table, layout, 2))[0][0].verdict == "race"
    outcomes = {build_machine(table, layout, 2).random(seed) is None for seed in range(60)}
    assert outcomes == {True, False}


def test_random_orders_are_repeatable() -> None:
    one = T((S("cpy", "i0", "s0"), S("cpy", "s0", "o0")))
    two = T((S("cpy", "i1", "s0"), S("cpy", "s0", "o1")))
    table, layout = table_of(P("allreduce", 2, ((one, two),), scratch=1, inplace=False))
    for seed in range(10):
        assert build_machine(table, layout, 2).random(seed) == build_machine(table, layout, 2).random(seed)


def test_sixty_four_ranks() -> None:
    for program in (ring_allgather(64), ring_allreduce(64)):
        report = check_program(parse_xml(write(program), EXECUTOR), EXECUTOR, interleavings=1)
        assert report.ok, str(report)
