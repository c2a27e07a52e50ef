"""Sequences of circuits: their plans are right for every group and collective, and cost what one node's ways say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from topodesign import verify
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER
from topodesign.schedulers.circuits import kernels
from topodesign.schedulers.circuits.sequence import Sequence, circuits_of, exchange, sequence_plan, spreading
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
