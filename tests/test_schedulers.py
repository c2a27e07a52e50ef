"""SPFF schedules: verified independently, with exactly the claimed cost, and no more units than needed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign import build, price
from topodesign.columns import reverse
from topodesign.cost import Cost
from topodesign.errors import DisconnectedError, FileFormatError, ParameterError, ScheduleError, TopologyError
from topodesign.link_table import LinkTable
from topodesign.schedule import COLLECTIVES, Collective
from topodesign.schedulers import make_schedule
from topodesign.schedulers.measure import cost_of
from topodesign.schedulers.spff import spff, spff_heterogeneous, theorem_21_bound
from topodesign.simulate import simulate
from topodesign.solve.lp import heterogeneous_steps
from topodesign.topology import Topology
from topodesign.verify import verify


@st.composite
def regular_digraphs(draw: st.DrawFn, most_nodes: int = 14, most_degree: int = 4) -> Topology:
    """A connected regular digraph with parallel links and self-loops: a cycle and random permutations."""
    nodes = draw(st.integers(2, most_nodes))
    degree = draw(st.integers(1, most_degree))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    targets = [np.roll(np.arange(nodes), -1), *(rng.permutation(nodes) for _ in range(degree - 1))]
    return Topology.from_arrays(nodes, np.tile(np.arange(nodes), degree), np.concatenate(targets))


def claimed(topology: Topology, collective: Collective) -> Cost:
    there, back = price(topology), price(topology.transpose())
    if collective == "allreduce":
        return Cost(there.steps + back.steps, there.bandwidth + back.bandwidth)
    return there if collective == "reduce-scatter" else back


@given(regular_digraphs(), st.sampled_from(COLLECTIVES))
@settings(max_examples=200, deadline=None)
def test_schedules_are_right_and_cost_what_they_should(topology: Topology, collective: Collective) -> None:
    made = make_schedule(topology, collective, method="spff")
    cost = claimed(topology, collective)
    assert made.cost == cost == cost_of(topology, made.schedule)
    report = verify(topology, made.schedule, cost)
    assert report.ok, report
    assert report.redundant == report.refilled == 0


@given(regular_digraphs(most_nodes=10), st.integers(1, 12))
@settings(max_examples=80, deadline=None)
def test_a_limit_on_chunks_costs_no_more_than_theorem_21_says(topology: Topology, chunks: int) -> None:
    best = price(topology)
    schedule = spff(topology, chunks=chunks)
    report = verify(topology, schedule)
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
    made = make_schedule(topology, "allreduce", chunks=1)
    assert made.lost == made.cost.bandwidth - 2 * Fraction(11, 12) > 0
    assert make_schedule(topology, "allreduce").lost == 0


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
    schedule = spff_heterogeneous(topology, table, size)
    assert verify(topology, schedule).ok
    gather = spff_heterogeneous(topology.transpose(), table.transpose(), size, "allgather")
    assert verify(topology.transpose(), gather).ok
    assert reverse(gather) == schedule
    result = simulate(
        topology,
        schedule,
        alpha=Fraction(0),
        size=size,
        bandwidth=Fraction(10**9),
        link_alpha=table.alpha,
        link_bandwidth=table.bandwidth,
    )
    assert result.time == sum(steps)


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
    with pytest.raises(ParameterError):
        make_schedule(build("complete(4)"), "allgather", method="lift", chunks=3)
    with pytest.raises(ParameterError):
        spff(build("complete(4)"), "allreduce")
    with pytest.raises(FileFormatError, match="lacks 6 link"):
        spff_heterogeneous(build("complete(3)"), LinkTable({}, {}), Fraction(1))
    with pytest.raises(ParameterError, match="for each"):
        heterogeneous_steps(build("complete(3)"), [Fraction(0)], [Fraction(1)], Fraction(1))
    with pytest.raises(ScheduleError, match="link"):
        cost_of(build("uniring(1,4)"), spff(build("complete(4)")))
