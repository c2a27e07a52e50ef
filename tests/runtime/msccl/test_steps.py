"""Steps read as machine code reads them are those that are read one by one, and what is odd is left to others."""

from __future__ import annotations

import random

import pytest

from tests.runtime.msccl.test_mutations import BASES, damage
from tests.runtime.msccl.test_programs import write
from topodesign.runtime.msccl import parse
from topodesign.runtime.msccl.parse import Program, XmlError, parse_xml
from topodesign.runtime.msccl.profiles import PROFILES
from topodesign.runtime.msccl.steps import STEP_TYPES, Step, Steps
from topodesign.runtime.msccl.steps_kernels import read_steps

PROFILE = PROFILES["msccl-executor-256"]
PLAIN = (
    '<step s="0" type="rrcs" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="12" cnt="3" depid="-1" deps="-1" hasdep="0"/>'
)
ODD = (
    'hasdep="2"/>',
    'hasdep="0"  />',
    'hasdep="0">',
    'cnt="03"',
    'cnt=" 3"',
    'cnt="1234567890"',
    'cnt="-0"',
    'cnt="-"',
    'cnt=""',
    'type="rrcss"',
    'type="rr"',
    'type="nope"',
    'dstbuf="x"',
    'dstbuf="os"',
    "cnt='3'",
    'count="3"',
)


def read(text: str) -> Program | str:
    try:
        return parse_xml(text, PROFILE)
    except XmlError as error:
        return str(error)


def changed(step: str, odd: str) -> str:
    """A step in which one attribute is said otherwise."""
    name = odd.split("=", maxsplit=1)[0].replace("count", "cnt")
    tail = step[step.index(f" {name}=") + 1 :]
    return step.replace(tail if name == "hasdep" else tail.split(" ")[0], odd)


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> Program | str:
    monkeypatch.setattr(parse, "_BULK", len(text))
    one = read(text)
    monkeypatch.setattr(parse, "_BULK", 0)
    assert read(text) == one
    return one


@pytest.mark.parametrize("machine", [False, True])
def test_both_read_the_same(machine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not machine:
        monkeypatch.setattr(type(read_steps), "__call__", lambda kernel, *args: kernel.plain(*args))
    rng, right = random.Random(1), 0  # noqa: S311
    for base in BASES.values():
        text = write(base)
        right += isinstance(both(text, monkeypatch), Program)
        for _ in range(5):
            both(write(damage(base, rng)), monkeypatch)
            at = rng.randrange(len(text))
            both(text[:at] + rng.choice(' "\n<>/=x0-1') + text[at + rng.randrange(2) :], monkeypatch)
    assert right == len(BASES)
    for odd in ODD:
        step = changed(PLAIN, odd)
        assert step != PLAIN
        text = write(next(iter(BASES.values())))
        first = text.index("<step")
        both(text[:first] + PLAIN + "\r\n " + step + text[first:], monkeypatch)


def test_steps_are_made_when_somebody_looks() -> None:
    program = parse_xml(write(next(iter(BASES.values()))), PROFILE)
    steps = program.gpus[0].threadblocks[0].steps
    assert list(steps) == [steps[at] for at in range(len(steps))]
    assert steps[:1] == Steps(steps.rows[:1])
    assert {steps[:1], Steps(steps.rows[:1])} == {steps[:1]}
    assert isinstance(steps[-1], Step)
    assert steps[0].type in STEP_TYPES
