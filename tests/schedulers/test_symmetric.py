"""Symmetric synthesis: one orbit and its copies are a right plan, at the bound wherever the plan of all chunks is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from topodesign.base.errors import ParameterError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, Collective, as_collective
from topodesign.plans.link_times import link_times
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.time_expanded.network import network_of
from topodesign.schedulers.time_expanded.symmetric import (
    COLLECTIVES,
    bound_symmetric,
    link_orbits,
    symmetric,
    symmetry_of,
)
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable

SPECS = [
    "torus(4,4)",
    "torus(3,5)",
    "hypercube(4)",
    "circulant(16,3,4)",
    "uniring(2,5)",
    "complete(6)",
    "cayley(metacyclic(8,2,7),1,6,8,11)",
    "genkautz(4,20)",  # two orbits of nodes
    "line(circulant(16,3,4),1)",  # four
    "product(ring(4),ring(5))",
]


def checked(plan: Plan) -> Plan:
    """The verifier accepts it, and it takes what it claims, and no less than is proved."""
    report = verify(plan)
    assert report.ok, report.problems
    assert not report.found.notes
    assert plan.claim["time"] >= Fraction(plan.generator["bound"])
    assert simulate(plan, size=plan.movement.timing.size).time <= plan.claim["time"]  # type: ignore[union-attr]
    return plan


@pytest.mark.once
@pytest.mark.parametrize("collective", COLLECTIVES, ids=str)
@pytest.mark.parametrize("spec", SPECS)
def test_copies_of_one_orbit_are_a_plan(spec: str, collective: Collective) -> None:
    topology = build(spec)
    options: dict[str, Any] = {"alpha": 0, "bandwidth": 8 * topology.degree, "size": topology.nodes, "tries": 4}
    plan = checked(schedule(topology, collective, method="tacos", symmetric=True, **options))
    other = schedule(topology, collective, method="tacos", symmetric=False, **options)
    assert plan.generator["copies"] > 1
    assert other.generator["copies"] == 1
    assert plan.claim["time"] <= other.claim["time"] + len(collective.parts)  # a step or so


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("collective", COLLECTIVES, ids=str)
def test_orbits_of_links_may_differ(collective: Collective, overlap: bool) -> None:
    """In a torus the links of one dimension are an orbit; here each has a latency and a bandwidth of its own."""
    topology = build("torus(4,3)")
    symmetry = topology.symmetry
    assert symmetry is not None
    orbit = dict(zip(((u, v) for u, v, _ in topology.links()), _orbits("torus(4,3)").tolist(), strict=True))
    table = LinkTable(
        {pair: Fraction(1 + 3 * number, 10**6) for pair, number in orbit.items()},
        {pair: Fraction((25, 50, 100, 40)[number] * 10**9) for pair, number in orbit.items()},
    )
    options: dict[str, Any] = {"method": "tacos", "link_table": table, "overlap": overlap, "chunks": 2}
    plan = checked(schedule(topology, collective, symmetric=True, **options))
    assert plan.generator["copies"] == 12


def _orbits(spec: str) -> Any:
    topology = build(spec)
    network = network_of(topology, _times(spec))
    assert topology.symmetry is not None
    return link_orbits(network, topology.symmetry)


def _times(spec: str) -> Any:
    return link_times(build(spec), ALLGATHER, 1, size=Fraction(2**20), alpha=Fraction(1), bandwidth=Fraction(10**6))


def test_orbits_of_links_are_those_of_the_group() -> None:
    for spec in SPECS:
        topology = build(spec)
        orbit = _orbits(spec)
        assert topology.symmetry is not None
        nodes = np.bincount(topology.symmetry.represented_by, minlength=topology.nodes).max()
        assert set(np.bincount(orbit).tolist()) == {int(nodes)}  # a free group: each has one image for every element
        for one in topology.symmetry.generators:
            assert np.array_equal(orbit[topology.link_index(one[topology.src], one[topology.dst])], orbit)


def test_the_bound_is_that_of_all_chunks() -> None:
    for spec in SPECS[:6]:
        network = network_of(build(spec), _times(spec))
        symmetry = symmetry_of(network, ALLGATHER)
        assert symmetry is not None
        for collective in (ALLGATHER, ALL_TO_ALL):
            timed = symmetric(network, collective, symmetry, units=1, size=Fraction(2**20), seed=0)
            assert timed.end.max() >= bound_symmetric(network, collective, 1, symmetry)


def test_large_networks_are_symmetric_by_themselves() -> None:
    plan = schedule("torus(12,12)", "allgather", method="tacos", alpha=0, tries=1)
    assert plan.generator["copies"] == 144
    assert any("copied by a group of 144" in note for note in plan.notes)
    assert plan.claim["time"] == Fraction(plan.generator["bound"])


@pytest.mark.parametrize(
    "options",
    [
        {"place": "kautz(3,2)"},
        {"place": "torus(3,3)", "ready": "0=1us"},
        {"place": "torus(3,3)", "group": "0,1"},
        {"place": "torus(3,3)", "collective": "broadcast", "root": 0},
        {"place": "dgx_a100(1)"},
        {"place": "torus(3,3)", "without": "0-1"},
    ],
)
def test_what_has_no_symmetry_says_so(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="--set symmetric=yes"):
        schedule(**{"collective": "allgather", "method": "tacos", "symmetric": True, **options})
    assert as_collective("allgather") in COLLECTIVES
