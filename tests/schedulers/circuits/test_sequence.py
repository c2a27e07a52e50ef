"""Sequences of circuits: their plans are right for every group and collective, and cost what one node's ways say."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from topodesign import simulate, verify
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.schedulers.circuits import kernels
from topodesign.schedulers.circuits.bounds import Room, Work, bound
from topodesign.schedulers.circuits.published import Contender, copying, extend_pairs, iterate_published, make_plan
from topodesign.schedulers.circuits.reconfigure import reconfigure
from topodesign.schedulers.circuits.search import groups, search
from topodesign.schedulers.circuits.sequence import Sequence, circuits_of, exchange, sequence_plan, spreading
from topodesign.schedulers.circuits.together import combine_groups, in_groups, options_of
from topodesign.topology.groups import Group, abelian, cyclic, dihedral
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

GROUPS = {str(one.spec): one for one in (cyclic(9), abelian(2, 4), dihedral(5))}


def drawn(group: Group, degree: int, seed: int, *, duplex: bool = False) -> Sequence:
    """A sequence that reaches all: enough steps, drawn until it does."""
    draw, inverse = random.Random(seed), group.inverses()  # noqa: S311
    while True:
        phases = draw.randint(1, 3)
        ports = np.array([[draw.randrange(1, group.order) for _ in range(degree)] for _ in range(phases)])
        if duplex:
            ports[:, 1::2] = inverse[ports[:, ::2]]
        found = Sequence(group, ports, np.array([draw.randint(1, 4) for _ in range(phases)]), duplex)
        if (found.hops() < kernels.FAR).all():
            return found


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("degree", "duplex"), [(1, False), (2, False), (3, False), (2, True)])
def test_plans_are_right_and_cost_what_ways_say(group: str, degree: int, duplex: bool) -> None:
    for seed in range(3):
        sequence = drawn(GROUPS[group], degree, seed, duplex=duplex)
        ways = exchange(sequence, 2, 6)
        plan = sequence_plan(ways, ALL_TO_ALL, "test")
        assert plan is not None
        assert verify(plan).ok
        assert plan.claim == {"steps": ways.steps, "bandwidth": ways.factor, "changes": ways.changes}
        assert plan.flow.switching.duplex is duplex
        gather = spreading(sequence)
        assert gather is not None
        for collective in (ALLGATHER, REDUCE_SCATTER, ALLREDUCE):
            plan = sequence_plan(gather, collective, "test")
            assert plan is not None or not GROUPS[group].abelian
            if plan is not None:
                assert verify(plan).ok
                halves = len(collective.parts)
                assert plan.claim["changes"] == halves * gather.changes
                assert plan.claim["steps"] == halves * gather.steps


def test_hops_are_those_of_words() -> None:
    sequence = drawn(dihedral(5), 2, 7)
    table = dihedral(5).table()
    reached = {0: 0}
    for phase in sequence.at.tolist():
        for x, hops in list(reached.items()):
            for g in sequence.ports[phase].tolist():
                y = int(table[g, x])
                reached[y] = min(reached.get(y, 99), hops + 1)
    assert sequence.hops().tolist() == [reached[x] for x in range(10)]


def test_ways_are_no_longer_than_they_must_be_where_nothing_is_full() -> None:
    ways = exchange(Sequence(cyclic(9), np.array([[1, 8], [3, 6]]), np.array([1, 1]), duplex=True), 1, 8)
    assert (ways.steps, ways.changes, str(ways.factor)) == (2, 1, "4/3")  # two balanced ternary digits


@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "genkautz(2,7)", "biring(4,5)"])
def test_circuits_make_the_topology_again(spec: str) -> None:
    topology = build(spec)
    for duplex in {False, topology.is_duplex}:
        rows = circuits_of(topology, duplex=duplex)
        proper = topology.src != topology.dst
        again = Topology.from_arrays(topology.nodes, rows[:, 0], rows[:, 2])
        assert again.links() == [one for one, keep in zip(topology.links(), proper, strict=True) if keep]
        for ends in (rows[:, :2], rows[:, 2:]):
            assert len(set(map(tuple, ends.tolist()))) == len(rows)
            assert ends[:, 1].max() < topology.degree


# -- The search: what it finds is verified and beats what there was, and the same question has the same answer


US = Fraction(1, 10**6)


@pytest.mark.once
@pytest.mark.parametrize("room", [Room(12, 1, False), Room(12, 2, True), Room(16, 1, True)])
@pytest.mark.parametrize("collective", [ALL_TO_ALL, ALLGATHER])
def test_what_is_found_is_better_and_right(room: Room, collective: object) -> None:
    work = Work(US, 20 * US, 5 * US)
    found = search(room, collective, work, Fraction(1))  # type: ignore[arg-type]
    assert found
    times = [work.time(*(int(one.claim["steps"]), one.claim["bandwidth"], int(one.claim["changes"]))) for one in found]
    assert times == sorted(times, reverse=True)
    assert all(verify(one).ok for one in found)
    assert times[-1] >= bound([room], collective, work, moving=False)[0]  # type: ignore[arg-type]
    again = search(room, collective, work, Fraction(1))  # type: ignore[arg-type]
    assert [one.claim for one in again] == [one.claim for one in found]
    assert search(room, collective, work, times[-1]) == []  # type: ignore[arg-type]


def test_groups_have_the_order() -> None:
    assert {group.order for group in groups(24)} == {24}
    assert [str(group.spec) for group in groups(7)] == ["cyclic(7)"]


# -- Groups of unlike size: of all ways to choose a plan for each the fastest is taken, timed by replay


US_TOGETHER = Fraction(1, 10**6)


@pytest.mark.once
@pytest.mark.parametrize("collective", [ALL_TO_ALL, REDUCE_SCATTER, ALLREDUCE])
@pytest.mark.parametrize("delay", [0, 5])
def test_the_fastest_of_all_choices_is_taken(collective: Collective, delay: int) -> None:
    teams = tuple(range(6)), tuple(range(6, 10))
    work = Work(US_TOGETHER, 20 * US_TOGETHER, delay * US_TOGETHER)
    options = [list(options_of(Room(len(team), 1, False), collective, planes=False)) for team in teams]
    done = collective.within(teams)

    def time(chosen: tuple[Contender, ...]) -> Fraction:
        plan = in_groups(chosen, done, 10)
        timed = replace(plan.flow, circuits=plan.flow.switching._replace(delay=work.delay))
        size = work.second * 10**9  # bytes of M, at 8 Gbps
        return simulate(replace(plan, movement=timed), alpha=work.alpha, size=size, bandwidth="8Gbps").time

    found = combine_groups(options, work)
    assert time(found[0]) <= min(map(time, product(*options)))  # less where data are spread over phases
    assert any(not any(one.moved.switching.changes for one in chosen) for chosen in found)


@pytest.mark.parametrize("delay", ["500ns", "1us"])
@pytest.mark.parametrize("collective", ["all-to-all", "allgather", "reduce-scatter", "allreduce"])
def test_a_pair_spreads_its_data_over_the_steps_of_three(collective: str, delay: str) -> None:
    """A part of what the pair has goes in each step of the three: y is that of the three alone."""
    asked: dict[str, Any] = {"cabling": "simplex", "alpha": "1us", "delay": delay, "bandwidth": "400Gbps"}
    best = reconfigure(5, 1, collective, group=["0,1", "2,3,4"], size="256KiB", **asked).contenders[0]
    halves = 2 if collective == "allreduce" else 1
    assert (best.steps, best.bandwidth) == (2 * halves, Fraction(2, 3) * halves)
    if collective == "all-to-all":  # over one topology one block takes both its links
        assert best.changes == 1
        assert delay == "500ns" or float(best.time) == pytest.approx(6.495e-6, rel=1e-3)
    assert verify(best.plan).ok


# -- Published schemes: verified plans with the steps, changes and y that formulas give


def costs(nodes: int, degree: int, name: str, *, duplex: bool = False) -> dict[str, Fraction]:
    one = next(one for one in iterate_published(nodes, degree, ALL_TO_ALL, duplex=duplex) if one.name == name)
    return dict(one.plan.claim)


@pytest.mark.once
@pytest.mark.parametrize("nodes", [2, 5, 6, 8, 9, 12, 16])
@pytest.mark.parametrize(("degree", "duplex"), [(1, False), (1, True), (2, False), (2, True), (3, False), (4, True)])
def test_all_that_there_are_are_right(nodes: int, degree: int, duplex: bool) -> None:
    for collective in (ALL_TO_ALL, ALLGATHER, REDUCE_SCATTER, ALLREDUCE) if degree < nodes else ():
        for one in iterate_published(nodes, degree, collective, duplex=duplex):
            assert verify(one.plan).ok
            assert one.plan.collective == collective
            assert one.plan.claim["bandwidth"] >= len(collective.parts) * Fraction(nodes - 1, nodes)


@pytest.mark.parametrize("collective", [ALL_TO_ALL, ALLGATHER, REDUCE_SCATTER, ALLREDUCE])
@pytest.mark.parametrize("nodes", [5, 7, 9])
def test_a_node_beside_pairs_takes_two_phases_more(collective: Collective, nodes: int) -> None:
    """Right whatever the plan of the others: recursive doubling, or what is drawn."""
    group = further(nodes - 1)
    ports = np.array([[turn] for turn in group], dtype=np.int64)
    sequence = Sequence(dihedral((nodes - 1) // 2), ports, np.ones(len(ports), dtype=np.int64), duplex=True)
    inner = make_plan(sequence, copying(collective), "test", 1)
    assert inner is not None
    plan = extend_pairs(inner, collective)
    assert plan is not None
    assert verify(plan).ok
    assert plan.collective == collective
    halves = len(collective.parts)
    assert plan.claim["changes"] == halves * (int(inner.claim["changes"]) + 2)


def further(order: int) -> list[int]:
    """Turns of a dihedral group, all of them twice: pairs that reach all."""
    turns = np.flatnonzero(dihedral(order // 2).inverses() == np.arange(order))[1:].tolist()
    return [*turns, *turns]


@pytest.mark.dear
def test_formulas() -> None:
    # an odd number of pairs: log2(N - 1) phases and two more
    assert costs(9, 1, "one beside, recursive doubling", duplex=True)["steps"] == 5
    # F1: direct circuits; the last phase has several circuits to each of the few that are left
    assert costs(64, 1, "direct circuits") == {"steps": 63, "bandwidth": Fraction(63, 64), "changes": 62}
    assert costs(64, 2, "direct circuits") == {"steps": 32, "bandwidth": Fraction(63, 64), "changes": 31}
    assert costs(16, 4, "direct circuits", duplex=True) == {"steps": 4, "bandwidth": 1, "changes": 3}
    # Bruck, radix 2: log2(N)/2
    assert costs(64, 1, "Bruck, radix 2") == {"steps": 6, "bandwidth": 3, "changes": 5}
    assert costs(64, 1, "recursive doubling", duplex=True) == {"steps": 6, "bandwidth": 3, "changes": 5}
    # two-way ternary: K*d/(d+1) for N = 3^K
    assert costs(27, 2, "ternary", duplex=True) == {"steps": 3, "bandwidth": 2, "changes": 2}
    # bridges: the sum of (r-1)/2 of one-way rings
    assert costs(64, 1, "bridges, rings of 8x8") == {"steps": 14, "bandwidth": 7, "changes": 1}
    assert costs(64, 1, "bridges, rings of 4x4x4") == {"steps": 9, "bandwidth": Fraction(9, 2), "changes": 2}
