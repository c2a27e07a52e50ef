"""The columns that decide that a program is right, against the execution move by move that explains what is not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.conftest import few
from tests.floors import reached
from tests.runtime.msccl.test_mutations import BASES, damage, random_program
from tests.runtime.msccl.test_programs import FAMILIES, P, write
from topodesign.runtime.memory import Layout
from topodesign.runtime.msccl.execute import explained
from topodesign.runtime.msccl.flat import Flat
from topodesign.runtime.msccl.legal import limits, mismatches, out_of_bounds
from topodesign.runtime.msccl.operations import load
from topodesign.runtime.msccl.parse import XmlError, parse_xml
from topodesign.runtime.msccl.profiles import PROFILES

EXECUTOR = PROFILES["msccl-executor-256"]


def agree(program: P, rng: random.Random) -> None:
    """Both say the same, with any number of slots, pieces of any length, and with sends that settle late."""
    try:
        parsed = parse_xml(write(program), EXECUTOR)
    except XmlError:
        return
    if any(limits(parsed, EXECUTOR)):
        return
    loaded = load(parsed, EXECUTOR)
    if loaded.findings or any(mismatches(loaded.table)):
        return
    for inplace in (True, False):
        root = 0 if parsed.collective.rooted else None
        layout = Layout.of(parsed, inplace=inplace, root=root)
        if any(out_of_bounds(loaded.table, layout)):
            continue
        slots, piece, unsettled = rng.choice([1, 2, 8]), rng.choice([1, 1, 2]), rng.random() < 0.3
        flat = Flat(loaded.table, layout)
        findings, longest = explained(flat, slots, piece=piece, unsettled=unsettled)
        fast = flat.chain(slots, piece, unsettled=unsettled)
        assert fast == (None if findings else longest), (findings, write(program))
        reached("wrong" if findings else "right")


@pytest.mark.floor(right=10, wrong=0)
def test_programs_by_hand() -> None:
    rng = random.Random(3)  # noqa: S311
    for program in FAMILIES.values():
        agree(replace(program, max_bytes=0), rng)


@pytest.mark.dear
@pytest.mark.floor(right=80, wrong=200)
def test_damaged_programs() -> None:
    rng = random.Random(4)  # noqa: S311
    for name in BASES:
        for _ in few(range(150)):
            agree(damage(replace(BASES[name], max_bytes=0), rng), rng)


@pytest.mark.dear
@pytest.mark.floor(right=0, wrong=300)
def test_random_programs() -> None:
    rng = random.Random(6)  # noqa: S311
    for _ in range(400):
        agree(random_program(rng), rng)


@pytest.mark.thorough
@pytest.mark.floor(right=2000, wrong=4000)
def test_many_damaged_programs() -> None:
    rng = random.Random()  # noqa: S311
    for name in BASES:
        for _ in range(1500):
            agree(damage(replace(BASES[name], max_bytes=0), rng), rng)
