"""Programs for given calls: their runtimes use them for these, by rules that are written here a second time."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from topodesign import check_call
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError, UnitError
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.frontends.grain import Lowering, choices, steps_cost
from topodesign.runtime.calls import DTYPES, About, Call, parse_call
from topodesign.schedulers.scheduling import schedule

PLACES = ("torus(2,3)", "circulant(5,1,2)", "torus(4,4)", "genkautz(2,7)", "dgx_a100(1)", "circulant(12,2,3)")
WHOLE = {"allreduce": False, "allgather": True, "reduce-scatter": True, "all-to-all": True}
"""Collectives, and whether each rank has a part of the data of its own."""


def takes(made: Compiled, *calls: tuple[int, int]) -> list[bool]:
    """Whether a runtime takes a program for each call of some bytes and bytes of an element.

    MSCCL compares bytes with ``minBytes`` and ``maxBytes`` and wants a multiple of ``nchunksperloop`` elements; the
    executor of MSCCL++ throws where the bytes are no multiple of the chunks of a buffer times the alignment.
    """
    (content,) = made.files.values()
    if made.backend.name == "msccl":
        algo = ET.fromstring(content.decode())  # noqa: S314  our own
        least, most = int(algo.get("minBytes", 0)), int(algo.get("maxBytes", 0))
        chunks = int(algo.get("nchunksperloop", 0))
        return [least <= size < most and size // width % chunks == 0 for size, width in calls]
    plan = json.loads(content)
    buffer = "output_chunks" if plan["collective"] == "allgather" else "input_chunks"
    return [all(size % (gpu[buffer] * plan["buffer_alignment"]) == 0 for gpu in plan["gpus"]) for size, _ in calls]


class Case(NamedTuple):
    """What is compiled, for which calls."""

    place: str
    collective: str
    target: str
    sizes: tuple[int, ...]
    dtype: str
    inplace: bool


def cases(count: int) -> list[Case]:
    draw = random.Random(20260)  # noqa: S311  of samples
    found: list[Case] = []
    while len(found) < count:
        place, collective, target = draw.choice(PLACES), draw.choice(sorted(WHOLE)), draw.choice(["msccl", "mscclpp"])
        ranks = schedule(place).topology.nodes if "dgx" not in place else 8
        dtype = draw.choice(["float32", "bf16", "int8", "float64"])
        unit = (ranks if WHOLE[collective] else 1) * max(16, DTYPES[dtype])
        sizes = tuple(unit * 2 ** draw.randrange(4, 18) for _ in range(draw.randrange(1, 4)))
        found.append(Case(place, collective, target, sizes, dtype, draw.random() < 0.5))
    return found


@pytest.mark.parametrize("case", cases(20))
def test_programs_serve_the_calls_that_they_are_for(case: Case) -> None:
    check(case)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(20, 220))
def test_many_programs_serve_the_calls_that_they_are_for(number: int) -> None:
    check(cases(220)[number])


def check(case: Case) -> None:
    target, sizes, dtype = case.target, case.sizes, case.dtype
    plan = schedule(case.place, case.collective)
    made = compile_plan(plan, target, size=list(sizes), dtype=dtype, inplace=case.inplace).checked()
    assert made.report is not None
    assert made.report.ok, str(made.report)
    assert all(takes(made, *((size, DTYPES[dtype]) for size in sizes)))
    assert made.cut is not None
    assert (made.cut.sizes, made.cut.chunks) == (sizes, made.program.chunks)
    if made.cut.chunks % made.cut.natural == 0:
        assert not made.cut.loss


def test_a_call_that_no_shard_divides_is_served() -> None:
    """96 shards divide no power of two: the program has other chunks, is right, and says what that costs."""
    plan = schedule("torus(2,3)", "allreduce")
    without = compile_plan(plan)
    assert takes(without, (2**20, 4)) == [False]
    made = compile_plan(plan, size="1MiB").checked()
    assert made.report is not None
    assert made.report.ok
    assert takes(made, (2**20, 4), (2**20, 2)) == [True, True]
    assert made.cut is not None
    assert 0 < made.cut.loss < Fraction(1, 50)
    assert str(made.cut) in made.notes


def test_the_loss_is_what_links_carry_more() -> None:
    """Counted here message by message, of every step the most, over the same of the schedule."""
    plan = schedule("circulant(5,1,2)", "allgather")
    made = compile_plan(plan, size=[5 * 2**14])
    assert made.cut is not None
    rounds = plan.rounds
    units, cells = rounds.units, made.cut.chunks // 5

    def time(scale: int, whole: int) -> Fraction:
        load: dict[tuple[int, int, int], int] = {}
        rows = zip(*(getattr(rounds, name).tolist() for name in ("step", "src", "dst", "lo", "hi")), strict=True)
        for step, src, dst, low, high in rows:
            size = high * scale // units - low * scale // units
            load[step, src, dst] = load.get((step, src, dst), 0) + size
        return sum(
            (Fraction(max(load[key] for key in load if key[0] == step), whole) for step in {key[0] for key in load}),
            start=Fraction(0),
        )

    # the units of a shard may be laid out in another order, which changes what is rounded up by a chunk of a message
    assert abs(time(cells, cells) / time(units, units) - 1 - made.cut.loss) <= Fraction(2 * rounds.steps, cells)


@pytest.mark.parametrize("shards", [None, [[0, 3, 1], [1, 0, 2], [2, 1, 0]]])
def test_calls_that_the_schedule_divides_are_served_where_data_cannot_be_cut_otherwise(
    shards: list[list[int]] | None,
) -> None:
    """What switches add, and blocks of unequal sizes: multiples of the chunks that there are, and no others."""
    if shards is None:
        plan = schedule("dgx_h100(1)", "allreduce", method="in-network")
    else:
        plan = schedule("complete(3)", "all-to-all", shards=np.array(shards))
    chunks = compile_plan(plan, "mscclpp").program.chunks
    size = chunks * 16 * 64
    made = compile_plan(plan, "mscclpp", size=size).checked()
    assert takes(made, (size, 4)) == [True]
    assert made.cut is not None
    assert (made.cut.chunks, made.cut.natural, made.cut.loss) == (chunks, chunks, Fraction(0))
    whole = 3 * 16 * 1009  # a prime that no schedule has
    with pytest.raises(InfeasibleError, match=f"multiples of {chunks * 16} bytes"):
        compile_plan(plan, "mscclpp", size=whole if shards else 16 * 1009)


def test_steps_cost_is_the_sum_of_the_longest() -> None:
    step, link, size = np.array([[1, 1, 1, 2], [0, 0, 1, 1], [3, 2, 4, 5]])
    assert steps_cost(step, link, size, np.array([1, 1]), 10) == Fraction(10, 10)
    assert steps_cost(step, link, size, np.array([2, 4]), 1) == Fraction(5, 2) + Fraction(5, 4)


def test_choices_divide_and_the_natural_one_comes_first() -> None:

    def program(chunks: int | None) -> NoReturn:
        raise AssertionError(f"{chunks} chunks are compiled")

    def cost(chunks: int | None) -> Fraction:
        return Fraction(1) if chunks is None else Fraction(1) + Fraction(1, chunks)

    lowering = Lowering(program, cost, 12)
    assert choices(lowering, 48, 4) == [(12, Fraction(0))]
    found = choices(lowering, 64, 4)
    assert {64 % chunks for chunks, _ in found} == {0}
    assert all(chunks % 4 == 0 for chunks, _ in found)
    assert found[0][1] <= min(loss for _, loss in found) + Fraction(1, 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "1000B"}, "the nearest sizes are 960 or 1008"),
        ({"size": "1MiB", "dtype": "flat32"}, "did you mean 'float32'"),
        ({"size": 0}, "above zero"),
    ],
)
def test_calls_that_there_are_not_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InfeasibleError, ParameterError, UnitError), match=message):
        compile_plan(schedule("circulant(12,2,3)", "allgather"), **({"dtype": "float32"} | options))


# -- before a run -----------------------------------------------------------------------------------------------------


def test_nearest_sizes_are_served_and_none_between(tmp_path: Any) -> None:
    path = tmp_path / "ar.xml"
    made = compile_plan(schedule("circulant(12,2,3)"), min_size=1000, max_size=5000)
    made.save(path)
    every = range(0, 5100, 2)
    served = [size for size, taken in zip(every, takes(made, *((size, 2) for size in every)), strict=True) if taken]
    for size in (900, 999, 1000, 1008, 1009, 3000, 4980, 4992, 4993, 5000, 5001, 5300):
        found = check_call(path, f"allreduce:{size}B:bf16", "msccl")
        assert found.ok == (size in served)
        assert found.below == max((one for one in served if one <= size), default=None)
        assert found.above == min((one for one in served if one >= size), default=None)


@pytest.mark.parametrize("text", ["allreduce", "allreduce:", "allreduce:1MiB:x", "x:1MiB", "allreduce:1MiB:bf16:bf16"])
def test_what_is_no_call_is_refused(text: str) -> None:
    with pytest.raises(TopodesignError):
        parse_call(text)


def test_reasons_are_of_the_call() -> None:
    about = About("p", "allgather", 6, chunks=12, inplace=False, outofplace=True)
    assert list(about.reasons(parse_call("allgather:768B:fp32:out-of-place"))) == []
    assert "in place" not in " ".join(about.reasons(Call("allgather", 768, 6, False, 4)))
    assert list(about.reasons(Call("allgather", 768, 6, True, 4))) == ["it is for calls out of place"]
    assert "for each of 6 ranks" in next(about.reasons(Call("allgather", 772, 6, None, 4)))


@pytest.mark.parametrize(("target", "unit"), [("msccl", 4), ("mscclpp", 16)])
def test_programs_that_serve_no_power_of_two_say_how_to_compile_them(target: str, unit: int) -> None:
    """Held against every power of two, of each rank where each has a part."""
    for spec, collective in (
        ("circulant(12,2,3)", "allreduce"),
        ("circulant(12,2,3)", "allgather"),
        ("torus(4,4)", "allreduce"),
    ):
        plan = schedule(spec, collective)
        made = compile_plan(plan, target)
        shares = 12 if collective == "allgather" else 1
        served = any((shares << power) % (made.program.chunks * unit) == 0 for power in range(40))
        notes = [note for note in made.notes if "compile with --size" in note]
        assert served != bool(notes)
        if notes:
            below, above = (int(word) for word in re.findall(r"(\d+) bytes", notes[0])[-2:])
            assert below < 2**26 < above == below + made.program.chunks * unit
            assert not [note for note in compile_plan(plan, target, size="64MiB").notes if "--size" in note]
