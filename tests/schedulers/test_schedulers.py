"""SPFF schedules: verified independently, with exactly the claimed cost, and no more units than needed."""

from __future__ import annotations

import importlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.loads import heterogeneous_steps
from tests.samples.scheduled import scheduled
from tests.samples.schedules import COLLECTIVES, COLUMNS, Collective, from_columns
from tests.samples.topologies import regular_digraphs
from tests.samples.verdicts import verify_rounds
from topodesign import build
from topodesign.base.cost import Cost
from topodesign.base.errors import (
    DisconnectedError,
    FileFormatError,
    ParameterError,
    ScheduleError,
    TooLargeError,
    TopologyError,
)
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER
from topodesign.compiler.frontends import layout as layout_module
from topodesign.plans import step_ops
from topodesign.plans.build import build_steps
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import reverse
from topodesign.plans.measure import cost_of
from topodesign.plans.step_ops import is_lean
from topodesign.plans.time.steps import time_steps
from topodesign.pricing.closed_form import layer_loads, price
from topodesign.schedulers import lift, scheduling
from topodesign.schedulers.spff import _round_splits, spff, theorem_21_bound, unequal_spff
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology


def claimed(topology: Topology, collective: Collective) -> Cost:
    there, back = price(topology), price(topology.transpose())
    if collective == "allreduce":
        return Cost(there.steps + back.steps, there.bandwidth + back.bandwidth)
    return there if collective == "reduce-scatter" else back


@given(regular_digraphs(most_nodes=14), st.sampled_from(COLLECTIVES))
@settings(max_examples=200, deadline=None)
def test_schedules_are_right_and_cost_what_they_should(topology: Topology, collective: Collective) -> None:
    made = scheduled(topology, collective, method="spff")
    cost = claimed(topology, collective)
    assert made.cost == cost == cost_of(topology, made.schedule)
    report = verify_rounds(topology, made.schedule, cost)
    assert report.ok, report
    assert report.redundant == report.refilled == 0


@given(regular_digraphs(most_nodes=10), st.integers(1, 12))
@settings(max_examples=80, deadline=None)
def test_a_limit_on_chunks_costs_no_more_than_theorem_21_says(topology: Topology, chunks: int) -> None:
    best = price(topology)
    schedule = spff(topology, chunks=chunks)
    report = verify_rounds(topology, schedule)
    assert report.ok, report
    assert schedule.units <= chunks
    lost = report.cost.bandwidth - best.bandwidth
    assert 0 <= lost <= theorem_21_bound(topology, best.steps, chunks)
    if topology.capacity.max() == 1:  # the optimum of the integer program (20): every layer's load rounded up
        assert lost <= Fraction(topology.degree * best.steps, topology.nodes * chunks)


@given(regular_digraphs(most_nodes=9))
@settings(max_examples=60, deadline=None)
def test_no_fewer_units_lose_nothing(topology: Topology) -> None:
    best = price(topology).bandwidth
    units = spff(topology).units
    for fewer in range(1, min(units, 30)):
        assert cost_of(topology, spff(topology, chunks=fewer)).bandwidth > best


@pytest.mark.parametrize(
    ("text", "units"),
    [("circulant(12,2,3)", 4), ("hypercube(4)", 4), ("uniring(3,5)", 1), ("biring(4,6)", 2), ("complete(9)", 1)],
)
def test_known_numbers_of_units(text: str, units: int) -> None:
    assert spff(build(text)).units == units


def test_chunk_loss_is_reported() -> None:
    topology = build("circulant(12,2,3)")
    made = scheduled(topology, "allreduce", chunks=1)
    assert made.lost == made.cost.bandwidth - 2 * Fraction(11, 12) > 0
    assert made.lost_at_most == 2 * theorem_21_bound(topology, 2, 1) >= made.lost
    free = scheduled(topology, "allreduce")
    assert free.lost == free.lost_at_most == 0


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter"])
def test_loss_is_measured_against_the_schedule_of_the_same_collective(collective: Collective) -> None:
    topology = build("genkautz(2,9)")  # its transpose has another price
    best = scheduled(topology, collective, method="spff").cost.bandwidth
    made = scheduled(topology, collective, chunks=1)
    assert made.lost == made.cost.bandwidth - best


def test_a_limit_on_chunks_is_a_limit_and_not_a_number() -> None:
    topology = build("hypercube(3)")
    three, four = (scheduled(topology, "allgather", chunks=chunks) for chunks in (3, 4))
    assert three.cost == four.cost == price(topology)
    assert three.schedule.units == four.schedule.units == 3
    assert spff(topology, chunks=2**31).units == 3
    assert spff(build("hypercube(4)"), chunks=3).units == 2  # 8/2 = 12/3: of equals the fewest
    six = build("hypercube(6)")  # loads 1, 5/2, 10/3, 5/2, 1, 1/6 come to 43/4 with 4 units and to 54/5 with 5
    assert cost_of(six, spff(six, chunks=5)).bandwidth == Fraction(6, 64) * Fraction(43, 4)


def test_rounding_shares_out_evenly() -> None:
    topology = build("complete(3)")
    third = Fraction(1, 3)
    halves, mixed = [Fraction(1, 2)] * 2, [third, 2 * third]
    for shares, units, wanted in (
        (halves, 1, [8, 8]),
        (halves, 4, [32, 32]),
        (mixed, 1, [5, 11]),
        (mixed, 2, [11, 21]),
    ):
        rows = _round_splits(topology, [(1, 0, 1, [0, 1], shares)] * 16, units)
        width = rows[:, 5] - rows[:, 4]
        assert [int(width[rows[:, 2] == node].sum()) for node in (1, 2)] == wanted
        assert np.all(width[::2] + width[1::2] == units)
        assert all(abs(w - shares[i % 2] * units) < 1 for i, w in enumerate(width.tolist()))


@given(regular_digraphs(most_nodes=9, most_degree=3))
@settings(max_examples=40, deadline=None)
def test_more_chunks_never_cost_more(topology: Topology) -> None:
    schedules = [spff(topology, chunks=chunks) for chunks in range(1, 9)]
    bandwidths = [cost_of(topology, schedule).bandwidth for schedule in schedules]
    if len(set(topology.capacity[topology.src != topology.dst].tolist())) == 1:
        assert bandwidths == sorted(bandwidths, reverse=True)
        loads, capacity = layer_loads(topology), int(topology.capacity[topology.src != topology.dst][0])
        for chunks, bandwidth in enumerate(bandwidths, start=1):  # the least over all numbers of units, by rounding up
            totals = [
                sum(-(-load * units * capacity // 1) for load in loads) / Fraction(units * capacity)
                for units in range(1, chunks + 1)
            ]
            assert bandwidth == Fraction(topology.degree, topology.nodes) * min(totals)


@pytest.mark.parametrize("seed", range(60))
def test_units_are_fewest_with_mixed_capacities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, degree = int(rng.integers(4, 8)), int(rng.integers(2, 4))
    targets = [np.roll(np.arange(nodes), -1), *(rng.permutation(nodes) for _ in range(degree - 1))]
    capacity = np.repeat(rng.integers(1, 5, size=degree), nodes)
    topology = Topology.from_arrays(nodes, np.tile(np.arange(nodes), degree), np.concatenate(targets), capacity)
    schedule = spff(topology)
    assert verify_rounds(topology, schedule, price(topology)).ok
    for fewer in range(1, min(schedule.units, 12)):
        assert cost_of(topology, spff(topology, chunks=fewer)).bandwidth > price(topology).bandwidth


def slow_cost(topology: Topology, schedule: Flow) -> Cost:
    """Add up row by row in Python integers."""
    load: dict[tuple[int, int, int], int] = {}
    for step, src, dst, _, lo, hi in zip(*(getattr(schedule, name).tolist() for name in COLUMNS), strict=True):
        load[step, src, dst] = load.get((step, src, dst), 0) + hi - lo
    capacity = {(u, v): c for u, v, c in topology.links()}
    worst: dict[int, Fraction] = {}
    for (step, src, dst), units in load.items():
        worst[step] = max(worst.get(step, Fraction(0)), Fraction(units, schedule.units * capacity[src, dst]))
    return Cost(schedule.steps, Fraction(topology.degree, topology.nodes) * sum(worst.values(), Fraction(0)))


@given(regular_digraphs(most_nodes=14), st.sampled_from(COLLECTIVES))
@settings(max_examples=60, deadline=None)
def test_costs_are_added_up_as_row_by_row(topology: Topology, collective: Collective) -> None:
    made = scheduled(topology, collective, method="spff", chunks=3)
    assert made.cost == slow_cost(topology, made.schedule)


@pytest.mark.parametrize("units", [2**40, 2**53 + 1, 2**60 - 1, 2**61 - 1, 2**62 - 1])
def test_costs_are_exact_with_many_units(units: int) -> None:
    nodes = 9
    ring = build(f"uniring(1,{nodes})")
    owner = np.arange(nodes)
    rows = [(0, units - 1), (units - 1, units)]  # every shard in two parts, all over the same link in one step
    blocks = [(1, 0, 1, owner, low, high) for low, high in rows]
    schedule = build_steps(ALLGATHER, nodes, units, 1, blocks)
    assert cost_of(ring, schedule) == slow_cost(ring, schedule) == Cost(1, Fraction(1))


def test_a_schedule_without_sends_costs_nothing() -> None:
    assert cost_of(build("complete(3)"), build_steps(ALLGATHER, 3, 1, 2, [])) == Cost(2, Fraction(0))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_auto_tells_what_it_does_not_dominate(collective: Collective) -> None:
    topology = build("line(dbjmod(2,3))" if collective == "allreduce" else "line(diamond())")
    made = scheduled(topology, collective)
    costs = {}
    for method in ("spff", "lift"):
        costs[method] = scheduled(topology, collective, method=method).cost
    wanted = {name: cost for name, cost in costs.items() if not made.cost.dominates(cost)}
    assert made.others == wanted
    assert wanted or collective != "allreduce"
    assert scheduled(topology, collective, method="spff").others == {}


def test_a_base_schedule_with_needless_sends_is_pruned_before_it_is_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    base = build("complete(3)")
    once = spff(base, "allgather")
    columns = [np.concatenate([getattr(once, name)] * 2) for name in COLUMNS]
    columns[0][len(once) :] = 2
    twice = from_columns(ALLGATHER, 3, once.units, 2, 0, *columns)
    assert verify_rounds(base, twice).ok
    assert not is_lean(twice)
    monkeypatch.setattr(lift, "thriftiest", lambda *_: twice)
    topology = build("line(complete(3))")
    schedule = lift.lift_schedule(topology, ALLGATHER)
    assert schedule is not None
    assert verify_rounds(topology, schedule).ok


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("method", ["spff", "ring"])
def test_what_moves_once_is_pruned_to_the_same_rows_the_long_way(
    method: str, collective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean = scheduling.schedule("torus(3,4)", collective, method=method).rounds
    assert isinstance(lean, Flow)
    assert is_lean(lean)
    short = step_ops.prune(lean)
    monkeypatch.setattr(step_ops, "is_lean", lambda _: False)
    long = step_ops.prune(lean)
    assert (short.units, short.steps) == (long.units, long.steps)
    assert all(np.array_equal(getattr(short, name), getattr(long, name)) for name in COLUMNS)


@given(regular_digraphs(most_nodes=7, most_degree=3), st.data())
@settings(max_examples=40, deadline=None)
def test_heterogeneous_schedules_take_the_time_of_the_linear_program(topology: Topology, data: st.DataObject) -> None:
    links = len(topology.src)
    alpha = [Fraction(data.draw(st.integers(0, 40)), 10**6) for _ in range(links)]
    rate = [Fraction(data.draw(st.sampled_from([10, 25, 100]))) * 10**9 for _ in range(links)]
    size = Fraction(data.draw(st.sampled_from([1000, 10**6])))
    steps = heterogeneous_steps(topology, alpha, rate, size)
    of_link = {(u, v): i for i, (u, v, _) in enumerate(topology.links()) if u != v}
    table = LinkTable({p: alpha[i] for p, i in of_link.items()}, {p: rate[i] for p, i in of_link.items()})
    schedule, _ = unequal_spff(topology, table, size, REDUCE_SCATTER, None)
    assert verify_rounds(topology, schedule).ok
    gather, _ = unequal_spff(topology.transpose(), table.transpose(), size, ALLGATHER, None)
    assert verify_rounds(topology.transpose(), gather).ok
    assert reverse(gather) == schedule
    flow = schedule.having(place=topology)
    result = time_steps(flow, alpha=Fraction(0), size=size, bandwidth=Fraction(10**9), table=table)
    assert result.time == sum(steps)


@given(regular_digraphs(most_nodes=7, most_degree=3), st.data())
@settings(max_examples=30, deadline=None)
def test_rounded_heterogeneous_schedules_are_right_and_close(topology: Topology, data: st.DataObject) -> None:
    pairs = [(u, v) for u, v, _ in topology.links() if u != v]
    table = LinkTable(
        {pair: Fraction(data.draw(st.integers(0, 40)), 10**6) for pair in pairs},
        {pair: Fraction(data.draw(st.sampled_from([10, 25, 100]))) * 10**9 for pair in pairs},
    )
    size = Fraction(10**6)
    alpha, rate = table.columns(topology)
    least = sum(heterogeneous_steps(topology, alpha, rate, size))
    for chunks in (1, 7, 10**6):
        made = scheduled(topology, "reduce-scatter", chunks=chunks, link_table=table, size=size)
        report = verify_rounds(topology, made.schedule, made.cost)
        assert report.ok, report
        assert report.redundant == report.refilled == 0
        assert made.schedule.units <= chunks
        assert abs(made.lost) <= made.lost_at_most
        flow = made.schedule.having(place=topology)
        result = time_steps(flow, alpha=Fraction(0), size=size, bandwidth=Fraction(10**9), table=table)
        # a link gets less than a unit too much for each destination behind it
        slack = Fraction(8) * size / topology.nodes / chunks / min(rate) * (topology.nodes - 1) * made.cost.steps
        assert least <= result.time <= least + slack
    gather = scheduled(topology.transpose(), "allgather", chunks=7, link_table=table.transpose(), size=size)
    assert verify_rounds(topology.transpose(), gather.schedule, gather.cost).ok


def test_allreduce_for_unequal_links_has_a_cost() -> None:
    topology = build("circulant(12,2,3)")
    rates = [Fraction(10**9 * (7 + 3 * (i % 7))) for i in range(len(topology.src))]
    pairs = [(u, v) for u, v, _ in topology.links()]
    table = LinkTable(dict.fromkeys(pairs, Fraction(1, 10**6)), dict(zip(pairs, rates, strict=True)))
    made = scheduled(topology, "allreduce", link_table=table, size=10**6)
    assert made.schedule.units * len(made.schedule) >= 2**53
    assert verify_rounds(topology, made.schedule, made.cost).ok


def test_equal_links_are_a_special_case_of_unequal_ones() -> None:
    topology = build("genkautz(3,11)")
    links = len(topology.src)
    alpha, total, size = Fraction(1, 10**5), Fraction(10**11), Fraction(2**20)
    rates = [total / 3 * int(capacity) for capacity in topology.capacity]
    steps = heterogeneous_steps(topology, [alpha] * links, rates, size)
    assert sum(steps) == price(topology).runtime(alpha, size, total)


def test_a_link_that_is_not_worth_its_latency_is_not_used() -> None:
    topology = build("complete(3)")
    alpha = [Fraction(1, 1000) if (u, v) == (0, 1) else Fraction(0) for u, v, _ in topology.links()]
    rate = [Fraction(10**9)] * 6
    assert heterogeneous_steps(topology, alpha, rate, Fraction(3000)) == [Fraction(1, 1000) + Fraction(8000, 10**9)]
    diamond = Topology.from_links(4, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 0)])
    slow = [Fraction(1) if (u, v) == (0, 2) else Fraction(0) for u, v, _ in diamond.links()]
    steps = heterogeneous_steps(diamond, slow, [Fraction(10**9)] * 5, Fraction(4000))
    shard = Fraction(8000, 10**9)
    assert steps == [1 + shard, 2 * shard, shard]  # only what is for node 2 itself waits; node 3 is reached by node 1


def test_what_cannot_be_scheduled_is_refused() -> None:
    with pytest.raises(DisconnectedError):
        spff(Topology.from_links(3, [(0, 1), (1, 2)]))
    with pytest.raises(TopologyError, match="64"):
        spff(build("complete(70)"))
    with pytest.raises(ParameterError, match="chunks"):
        spff(build("complete(4)"), chunks=0)
    for table in (None, LinkTable({}, {})):
        with pytest.raises(ParameterError, match="chunks"):
            scheduled(build("complete(4)"), "allgather", chunks=10**20, link_table=table)
    with pytest.raises(ParameterError):
        scheduled(build("complete(4)"), "allgather", method="lift", chunks=3)
    with pytest.raises(ParameterError):
        spff(build("complete(4)"), "allreduce")
    with pytest.raises(FileFormatError, match="lacks 6 link"):
        unequal_spff(build("complete(3)"), LinkTable({}, {}), Fraction(1), REDUCE_SCATTER, None)
    with pytest.raises(ScheduleError, match="link"):
        cost_of(build("uniring(1,4)"), spff(build("complete(4)")))


def test_what_is_too_large_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(*_: object, **__: object) -> None:
        raise RuntimeError("too late")

    module = importlib.import_module("topodesign.schedulers.spff")  # the package calls the function so, too
    monkeypatch.setattr(module, "layer_loads", work)
    with pytest.raises(TooLargeError, match="rows"):
        spff(build("uniring(1,9001)"))
    with pytest.raises(RuntimeError, match="too late"):
        spff(build("uniring(1,9)"))
    monkeypatch.setattr(layout_module, "_pieces", work)
    with pytest.raises(TooLargeError, match="compile"):
        layout_module.layout(build_steps(ALLGATHER, 2500, 1, 1, []))
    with pytest.raises(RuntimeError, match="too late"):
        layout_module.layout(build_steps(ALLGATHER, 9, 1, 1, []))
