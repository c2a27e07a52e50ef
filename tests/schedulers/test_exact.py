"""Searched rounds against brute force, SPFF prices and exact bounds; and the stored schedules, each in full."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import find_stored
from tests.conftest import few
from tests.samples.schedules import Collective, Random, random_digraph
from tests.samples.verdicts import verify_rounds
from topodesign import build, price
from topodesign.base.cost import Cost
from topodesign.base.errors import (
    DisconnectedError,
    FileFormatError,
    InfeasibleError,
    ParameterError,
    ScheduleError,
    SpecError,
    TooLargeError,
    TopologyError,
)
from topodesign.collectives import ALLGATHER, ALLREDUCE, REDUCE_SCATTER, as_collective
from topodesign.plans.flow import Flow
from topodesign.schedulers.exact_rounds import fewest_rounds, fewest_steps
from topodesign.schedulers.steps_bound import lower_bound_lp
from topodesign.schedulers.stored import (
    DATA,
    file_of,
    from_text,
    get_stored,
    get_stored_schedule,
    list_stored_specs,
)
from topodesign.solve.discrete import Discrete
from topodesign.solve.program import Program
from topodesign.topology.topology import Topology

HALVES: tuple[Collective, ...] = ("allgather", "reduce-scatter")
Loads = tuple[int, ...]


def found(topology: Topology, collective: Collective, steps: int, chunks: int, seed: int = 0) -> Fraction:
    """Search, verify in full and return y."""
    best = fewest_rounds(topology, as_collective(collective), steps=steps, chunks=chunks, seconds=30, seed=seed)
    schedule = best.schedule
    assert schedule is not None
    assert best.proof != "none"
    assert best.rounds == best.bound
    assert (schedule.collective.name, schedule.steps) == (collective, steps)
    report = verify_rounds(topology, schedule)
    assert report.ok, str(report)
    assert report.redundant == report.refilled == 0
    assert report.cost.bandwidth == Fraction(topology.degree, topology.nodes * chunks) * best.rounds
    return report.cost.bandwidth


def spff_price(topology: Topology, collective: Collective) -> Cost:
    return price(topology if collective == "reduce-scatter" else topology.transpose(), all_sources=True)


def trees(topology: Topology, owner: int, steps: int) -> set[Loads]:
    """All ways in which one chunk can get from its owner to all nodes, as chunks by (step, link)."""
    links = [(u, v) for u, v, _ in topology.links()]

    def extend(step: int, has: frozenset[int]) -> Iterator[Loads]:
        if step == steps:
            if len(has) == topology.nodes:
                yield ()
            return
        lacking = [v for v in range(topology.nodes) if v not in has]
        ways = [[None, *(e for e, (a, b) in enumerate(links) if b == v and a in has)] for v in lacking]
        for choice in itertools.product(*ways):
            used = [e for e in choice if e is not None]
            now = tuple(used.count(e) for e in range(len(links)))
            new = frozenset(v for v, e in zip(lacking, choice, strict=True) if e is not None)
            yield from (now + rest for rest in extend(step + 1, has | new))

    return set(extend(0, frozenset({owner})))


def brute_allgather(topology: Topology, steps: int, chunks: int) -> Fraction | None:
    """The smallest y of all schedules in whole chunks, by trying all sums of trees."""
    sums = {(0,) * steps * len(topology.src)}
    for owner in range(topology.nodes):
        for _ in range(chunks):
            ways = trees(topology, owner, steps)
            sums = {tuple(map(sum, zip(total, way, strict=True))) for total in sums for way in ways}
    capacity = topology.capacity.tolist()
    totals = [
        sum(
            max(Fraction(load, c) for load, c in zip(one[t * len(capacity) :], capacity, strict=False))
            for t in range(steps)
        )
        for one in sums
    ]
    return Fraction(topology.degree, topology.nodes * chunks) * min(totals) if totals else None


@pytest.mark.once
@pytest.mark.parametrize("collective", HALVES)
@pytest.mark.parametrize(("size", "steps", "chunks", "seeds"), [
    ((3, 1), 2, 2, range(3)),
    ((3, 2), 2, 2, range(3)),
    ((4, 2), 2, 1, range(8)),
    ((4, 2), 3, 1, range(1, 5)),
    ((4, 1), 2, 1, range(1)),  # too few steps
])  # fmt: skip
def test_search_finds_what_brute_force_finds(
    collective: Collective, size: tuple[int, int], steps: int, chunks: int, seeds: range
) -> None:
    nodes, degree = size
    for seed in few(seeds):
        compare_with_brute_force(random_digraph(np.random.default_rng(seed), nodes, degree), collective, steps, chunks)


def compare_with_brute_force(topology: Topology, collective: Collective, steps: int, chunks: int) -> None:
    way = topology if collective == "allgather" else topology.transpose()
    best = brute_allgather(way, steps, chunks)
    if best is None:
        with pytest.raises(InfeasibleError, match=f"at least {steps + 1} steps"):
            found(topology, collective, steps, chunks)
        assert lower_bound_lp(topology, as_collective(collective), steps=steps) is None
    else:
        bound = lower_bound_lp(topology, as_collective(collective), steps=steps)
        assert bound is not None
        assert bound <= best == found(topology, collective, steps, chunks)


@pytest.mark.parametrize("collective", HALVES)
@pytest.mark.parametrize(("spec", "chunks"), [
    ("uniring(1,4)", 1),
    ("uniring(2,4)", 2),
    ("biring(2,4)", 2),
    ("biring(2,5)", 1),
    ("complete(4)", 1),
    ("bipartite(2)", 2),
    ("bipartite(3)", 3),
    ("dicirculant(4,1,2)", 2),
    ("dicirculant(5,1,2,3)", 3),
    ("hypercube(3)", 3),
    ("torus(3,3)", 1),
])  # fmt: skip
def test_search_finds_the_spff_price_where_that_is_optimal(collective: Collective, spec: str, chunks: int) -> None:
    topology = build(spec)
    cost = spff_price(topology, collective)
    assert cost.bandwidth == Fraction(topology.nodes - 1, topology.nodes)
    assert found(topology, collective, cost.steps, chunks) == cost.bandwidth
    assert lower_bound_lp(topology, as_collective(collective), steps=cost.steps) == cost.bandwidth
    if cost.steps > 1:
        assert fewest_steps(topology, as_collective(collective)) == cost.steps


def test_the_schedule_of_the_paper_for_k22() -> None:
    """Figure 2: every link carries half a shard in one step of the reduce-scatter and a shard in the other."""
    topology = build("bipartite(2)")
    schedule = fewest_rounds(topology, REDUCE_SCATTER, steps=2, chunks=2).schedule
    assert schedule is not None
    loads = set()
    for step in (1, 2):
        rows = schedule.step == step
        load = np.zeros((4, 4), dtype=np.int64)
        np.add.at(load, (schedule.src[rows], schedule.dst[rows]), (schedule.hi - schedule.lo)[rows])
        loads.add(tuple(load[topology.src, topology.dst].tolist()))
    assert loads == {(1,) * 8, (2,) * 8}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 6), st.integers(1, 3), st.integers(0, 1), st.sampled_from(HALVES))
def test_no_schedule_beats_the_bound(seed: int, nodes: int, degree: int, more: int, collective: Collective) -> None:
    topology = random_digraph(np.random.default_rng(seed), nodes, degree)
    cost = spff_price(topology, collective)
    steps = cost.steps + more
    bound = lower_bound_lp(topology, as_collective(collective), steps=steps)
    assert bound is not None
    assert Fraction(nodes - 1, nodes) <= bound <= cost.bandwidth
    best = found(topology, collective, steps, 2)
    assert bound <= best
    assert best <= found(topology, collective, steps, 1)  # a chunk can always be cut in two


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_holds_whatever_the_solver_says(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers out of nowhere, or the right ones a little off, give a lower bound, never one that is wrong."""
    topology = build("diamond()")
    random = np.random.default_rng(seed)
    right = Program._solution

    def mislead(program: Program) -> Any:
        columns, prices = right(program)
        noise = 10.0 ** -random.integers(0, 6)
        return columns, (prices if seed % 2 else 0) + noise * random.normal(size=len(prices))

    monkeypatch.setattr(Program, "_solution", mislead)
    bound = lower_bound_lp(topology, ALLGATHER, steps=3)
    assert bound is not None
    assert 0 <= bound <= Fraction(7, 8)
    monkeypatch.setattr(Program, "solve", lambda *_, **__: "stopped")
    assert lower_bound_lp(topology, ALLGATHER, steps=3) == 0


NVLINKS = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2,
    (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip
"""Of a DGX-1, in both directions."""


@pytest.mark.parametrize(
    ("chunks", "steps", "rounds"), [(1, 2, 2), (2, 2, 3), pytest.param(6, 3, 7, marks=pytest.mark.thorough)]
)
def test_allgathers_of_a_dgx1(chunks: int, steps: int, rounds: int) -> None:
    """SCCL's ends of the frontier: one chunk in 2 steps and 2 rounds; six chunks in 3 steps and 7 rounds."""
    links = [(a, b, count) for (u, v), count in NVLINKS.items() for a, b in ((u, v), (v, u))]
    best = fewest_rounds(Topology.from_links(8, links), ALLGATHER, steps=steps, chunks=chunks)
    assert best.rounds == best.bound == rounds


def test_the_bound_proves_that_a_step_more_is_needed() -> None:
    """dbjmod(2,4) has a schedule of 5 steps with y = 15/16; with 4, its diameter, y is 11/8 and no less."""
    topology = build("dbjmod(2,4)")
    assert lower_bound_lp(topology, ALLGATHER, steps=3) is None
    for collective in HALVES:
        assert (
            lower_bound_lp(topology, as_collective(collective), steps=4)
            == Fraction(11, 8)
            == found(topology, collective, 4, 1)
        )
    assert spff_price(topology, "allgather") == Cost(4, Fraction(3, 2))  # not SPFF, and better


def test_reduce_scatter_is_the_allgather_of_the_transpose() -> None:
    topology = build("genkautz(2,9)")
    turned = topology.transpose()
    for steps in (3, 4):
        y = found(topology, "reduce-scatter", steps, 1)
        assert y == found(turned, "allgather", steps, 1)
        bound = lower_bound_lp(topology, REDUCE_SCATTER, steps=steps)
        assert bound == lower_bound_lp(turned, ALLGATHER, steps=steps)


def test_seeds() -> None:
    topology = build("diamond()")
    one, again = (fewest_rounds(topology, ALLGATHER, steps=3, chunks=2, seed=1) for _ in range(2))
    assert one == again
    assert found(topology, "allgather", 3, 2, seed=3) == Fraction(7, 8)


def test_time_is_over() -> None:
    topology = build("kautz(2,2)")
    best = fewest_rounds(topology, ALLGATHER, steps=5, chunks=2, seconds=0.01)
    assert best.proof == "none"
    assert 11 <= best.bound <= 12
    assert best.schedule is None or verify_rounds(topology, best.schedule).ok


@pytest.mark.parametrize("flips", range(1, 7))
def test_what_the_solver_says_is_checked(monkeypatch: pytest.MonkeyPatch, flips: int) -> None:
    """A wrong answer of the solver is an error, never a schedule."""
    value = Discrete.value
    wrong = set(np.random.default_rng(flips).integers(10, 60, size=flips).tolist())
    monkeypatch.setattr(Discrete, "value", lambda program, name: value(program, name) ^ (name in wrong))
    with pytest.raises(ScheduleError, match="the solver's answer is not a schedule"):
        fewest_rounds(build("diamond()"), REDUCE_SCATTER, steps=3, chunks=2)


def test_a_schedule_that_is_not_the_best_is_not_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Discrete, "minimise", lambda *_: None)
    monkeypatch.setattr(Discrete, "bound", 0)
    best = fewest_rounds(build("diamond()"), ALLGATHER, steps=3, chunks=2)
    assert best.rounds is not None
    assert best.bound == 7
    assert (best.proof == "none") == (best.rounds > 7)


@pytest.mark.parametrize(("spec", "change", "error"), [
    ("diamond()", {"steps": 2}, InfeasibleError),
    ("diamond()", {"steps": 0}, ParameterError),
    ("diamond()", {"chunks": 0}, ParameterError),
    ("diamond()", {"chunks": -3}, ParameterError),
    ("diamond()", {"steps": 10**9}, TooLargeError),
    ("diamond()", {"chunks": 10**9}, TooLargeError),
    ("genkautz(4,1024)", {}, TooLargeError),
    ("uniring(1001,3)", {}, TooLargeError),
])  # fmt: skip
def test_bad_input(spec: str, change: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        fewest_rounds(build(spec), ALLGATHER, **{"steps": 3, "chunks": 1, **change})


def test_just_small_enough() -> None:
    assert found(build("uniring(997,3)"), "allgather", 3, 1) == Fraction(2, 3)


def test_bad_topologies() -> None:
    apart = Topology.from_links(4, [(0, 1), (1, 0), (2, 3), (3, 2)])
    with pytest.raises(DisconnectedError):
        fewest_rounds(apart, ALLGATHER, steps=2)
    switched = Topology.from_links(3, [(0, 2), (2, 1), (1, 2), (2, 0)], switches=[2])
    for topology in (switched, Topology.from_links(1, [])):
        with pytest.raises(TopologyError, match="at least 2 nodes"):
            lower_bound_lp(topology, ALLGATHER, steps=2)
    with pytest.raises(TopologyError, match="without switches"):
        fewest_rounds(switched, ALLGATHER, steps=2)
    with pytest.raises(ParameterError, match="allgather or a reduce-scatter"):
        lower_bound_lp(build("diamond()"), ALLREDUCE, steps=2)
    with pytest.raises(TooLargeError):
        lower_bound_lp(build("genkautz(4,1024)"), ALLGATHER, steps=5)
    with pytest.raises(DisconnectedError):
        lower_bound_lp(Topology.from_links(2, []), ALLGATHER, steps=2)


PAPER = {
    "diamond()": Cost(3, Fraction(7, 8)),
    "dbjmod(2,3)": Cost(4, Fraction(7, 8)),
    "dbjmod(2,4)": Cost(5, Fraction(15, 16)),
    "dbjmod(3,2)": Cost(3, Fraction(8, 9)),
    "dbjmod(4,2)": Cost(3, Fraction(15, 16)),
}


@pytest.mark.parametrize("collective", HALVES)
@pytest.mark.parametrize("spec", list_stored_specs())
def test_stored_schedule(spec: str, collective: Collective) -> None:
    entry = get_stored(spec, as_collective(collective))
    assert entry is not None
    topology = build(spec)
    report = verify_rounds(topology, entry.schedule, entry.cost)
    assert report.ok, str(report)
    assert report.redundant == report.refilled == 0
    assert entry.schedule.collective.name == collective
    assert get_stored_schedule(topology.spec, as_collective(collective)) is entry.schedule
    assert entry.cost == PAPER.get(spec, entry.cost)

    # The certificate: (N-1)/N bounds every schedule (Theorem 4); any other bound has to be proven again.
    optimum = Fraction(topology.nodes - 1, topology.nodes)
    assert entry.cost.bandwidth == entry.bound
    assert entry.bound == optimum or entry.bound == lower_bound_lp(
        topology, as_collective(collective), steps=entry.cost.steps
    )

    # Why it is stored.
    spff = spff_price(topology, collective)
    assert entry.cost.bandwidth < spff.bandwidth
    assert entry.cost.steps == spff.steps or (entry.cost.bandwidth == optimum and entry.cost.steps <= spff.steps + 2)


def test_stored_files() -> None:
    assert set(PAPER) <= set(list_stored_specs())
    assert {path.name for path in DATA.iterdir()} == {file_of(spec).name for spec in list_stored_specs()}
    for spec in list_stored_specs():
        text = file_of(spec).read_text(encoding="utf-8")
        read = list(from_text(text).values())
        for one, written in zip(read, json.loads(text)["schedules"], strict=True):
            columns = one.schedule.table().values()
            assert written["rows"] == [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
            assert (written["bandwidth"], written["bound"]) == (str(one.cost.bandwidth), str(one.bound))


def test_the_script_writes_what_is_stored() -> None:
    text = file_of("dbjmod(2,3)").read_text(encoding="utf-8")
    assert find_stored.to_text(build("dbjmod(2,3)"), from_text(text).values()) == text


def test_what_is_not_stored() -> None:
    assert get_stored_schedule(None, ALLGATHER) is None
    assert get_stored_schedule("complete(4)", ALLGATHER) is None
    assert get_stored_schedule("diamond()", ALLREDUCE) is None
    assert get_stored_schedule(" diamond( ) ", ALLGATHER) is not None
    with pytest.raises(SpecError):
        get_stored_schedule("diamond(", ALLGATHER)


def damage(random: Random, fields: dict[str, Any]) -> None:
    """Change one number of one row in place, to one that counts for the cost or the form."""
    rows = fields["schedules"][int(random.integers(2))]["rows"]
    row = rows[int(random.integers(len(rows)))]
    place = int(random.integers(6))
    row[place] = [-1, 2**40, "1", None, 1.5, True, [0]][int(random.integers(7))]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_rows_are_refused(seed: int) -> None:
    fields = json.loads(file_of("diamond()").read_text(encoding="utf-8"))
    damage(np.random.default_rng(seed), fields)
    with pytest.raises(FileFormatError, match="diamond"):
        from_text(json.dumps(fields))


@pytest.mark.parametrize(("path", "value"), [
    (["format"], "another"),
    (["version"], 2),
    (["spec"], 5),
    (["spec"], "dbjmod(2,3)"),
    (["spec"], "dbjmod("),
    (["spec"], "nowhere(3)"),
    (["links"], "0" * 64),
    (["links"], None),
    (["schedules"], {}),
    (["schedules"], [5]),
    (["schedules", 0, "collective"], "allreduce"),
    (["schedules", 0, "collective"], []),
    (["schedules", 0, "steps"], 2),
    (["schedules", 0, "steps"], "3"),
    (["schedules", 0, "units"], 1),
    (["schedules", 0, "units"], 0),
    (["schedules", 0, "units"], 4),
    (["schedules", 0, "bandwidth"], "15/16"),
    (["schedules", 0, "bandwidth"], "7/0"),
    (["schedules", 0, "bandwidth"], None),
    (["schedules", 0, "bound"], "x"),
    (["schedules", 0, "search"], 1),
    (["schedules", 0, "rows"], []),
    (["schedules", 0, "rows"], [5]),
    (["schedules", 0, "rows"], [[1, 0, 1, 0, 0]]),
    (["schedules", 0, "rows"], [[1, 0, 5, 0, 0, 1]]),  # no such link
])  # fmt: skip
def test_damaged_fields_are_refused(path: list[str | int], value: object) -> None:
    fields = json.loads(file_of("diamond()").read_text(encoding="utf-8"))
    inner = fields
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(FileFormatError):
        from_text(json.dumps(fields))


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 10**5])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(FileFormatError):
        from_text(text)


def test_schedules_are_read_only() -> None:
    schedule = get_stored_schedule("diamond()", ALLGATHER)
    assert isinstance(schedule, Flow)
    with pytest.raises(ValueError, match="read-only"):
        schedule.step[0] = 2
