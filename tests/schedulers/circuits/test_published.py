"""Published schemes: verified plans with the steps, changes and y that formulas give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from topodesign import verify
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.schedulers.circuits.published import beside, copying, made, published
from topodesign.schedulers.circuits.sequence import Sequence
from topodesign.topology.groups import dihedral


def costs(nodes: int, degree: int, name: str, *, duplex: bool = False) -> dict[str, Fraction]:
    one = next(one for one in published(nodes, degree, ALL_TO_ALL, duplex=duplex) if one.name == name)
    return dict(one.plan.claim)


@pytest.mark.once
@pytest.mark.parametrize("nodes", [2, 5, 6, 8, 9, 12, 16])
@pytest.mark.parametrize(("degree", "duplex"), [(1, False), (1, True), (2, False), (2, True), (3, False), (4, True)])
def test_all_that_there_are_are_right(nodes: int, degree: int, duplex: bool) -> None:
    for collective in (ALL_TO_ALL, ALLGATHER, REDUCE_SCATTER, ALLREDUCE) if degree < nodes else ():
        for one in published(nodes, degree, collective, duplex=duplex):
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
    inner = made(sequence, copying(collective), "test", 1)
    assert inner is not None
    plan = beside(inner, collective)
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
