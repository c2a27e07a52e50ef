"""Flows and prices of links are believed for what they show: as a linear program says, and nothing that is broken."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.solve.flows.test_program import least_factor
from topodesign import all_to_all, build
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.all_to_all_rows import Exchange
from topodesign.catalog.audit import audit_exchange
from topodesign.catalog.flow_audit import proven, wrong_flow
from topodesign.catalog.replayed import Digraph, InvalidScheduleError, Orbits, orbits_of
from topodesign.topology.topology import Topology

SPECS = ("genkautz(2,11)", "circulant(12,2,3)", "parallel(genkautz(2,7),2)", "torus(3,4)", "spare(complete(5))")


def looked_at(spec: str) -> tuple[Topology, Digraph, Orbits]:
    topology = build(spec)
    links = Digraph.of(topology.nodes, *(np.array(one) for one in (topology.src, topology.dst, topology.capacity)))
    return topology, links, orbits_of(links, topology.symmetry.generators if topology.symmetry else ())


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_proven_is_the_optimum(spec: str) -> None:
    topology, links, orbits = looked_at(spec)
    flow, least = all_to_all(topology, effort="exact").flow, least_factor(topology)
    assert flow is not None
    unit = Fraction(topology.degree, topology.nodes)
    assert [one * unit for one in proven(flow, links, orbits)] == [least, least]
    assert wrong_flow(topology, links, orbits, topology.degree, Bounds(least, least)) is None
    assert wrong_flow(topology, links, orbits, topology.degree, Bounds(least * 2, least * 2)) is not None
    assert wrong_flow(topology, links, orbits, topology.degree, Bounds(least / 2, least / 2)) is not None
    near = all_to_all(topology, effort="approximate").flow
    assert near is not None
    lower, upper = (one * unit for one in proven(near, links, orbits))
    assert lower <= least <= upper <= lower * Fraction(101, 100)


@pytest.mark.parametrize("name", ["amounts", "negative", "denominator", "prices", "none", "sources"])
def test_what_is_broken_proves_nothing(name: str) -> None:
    topology, links, orbits = looked_at("genkautz(2,11)")
    flow = all_to_all(topology, effort="exact").flow
    assert flow is not None
    amounts: Any = np.array(flow.amounts)
    prices: Any = np.array(flow.prices)
    if name == "amounts":
        amounts[0, 0] += 1
    elif name == "negative":
        amounts[:] = -amounts
    elif name == "prices":
        prices[0] = -1
    elif name == "none":
        prices[:] = 0
    elif name == "sources":
        flow = replace(flow, quotient=replace(flow.quotient, sources=flow.quotient.sources[1:]))
    broken = replace(flow, amounts=amounts, prices=prices, denominator=flow.denominator + (name == "denominator"))
    with pytest.raises(InvalidScheduleError):
        proven(broken, links, orbits)


def test_every_word_of_what_is_kept_is_audited() -> None:
    least = all_to_all("circulant(12,2,3)").bandwidth
    assert least is not None
    right = Exchange(12, True, 2, Bounds(least, least), "circulant(12,2,3)")
    assert audit_exchange(right, 4) is None
    wrong = [replace(right, nodes=13), replace(right, duplex=False), replace(right, steps=3)]
    wrong += [replace(right, all_to_all=Bounds(least - 1, least - 1)), replace(right, spec="circulant(12,2)")]
    assert all(audit_exchange(one, 4) is not None for one in wrong)
    assert audit_exchange(right, 5) is not None
