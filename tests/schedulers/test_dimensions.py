"""All-to-all dimension by dimension and digit by digit: replayed, with factors that are known in closed form."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.samples.verdicts import verify_rounds
from topodesign.base.spec import parse
from topodesign.collectives import ALL_TO_ALL
from topodesign.graphs.expansions.product import graph as product
from topodesign.plans.flow import Flow
from topodesign.plans.measure import cost_of
from topodesign.schedulers.dimensions import by_digits, by_dimensions
from topodesign.schedulers.peel import distance_bound, exchange
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.factors import list_factors
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

PRODUCTS = {
    "torus(3,5)": ["torus(3)", "torus(5)"],
    "torus(2,3,2)": ["torus(2)", "torus(3)", "torus(2)"],
    "mesh(3,2)": ["mesh(3)", "mesh(2)"],
    "hypercube(3)": ["hypercube(1)"] * 3,
    "hamming(2,4)": ["complete(4)"] * 2,
    "product(torus(3,3),complete(2))": ["torus(3)", "torus(3)", "complete(2)"],
    "product(uniring(1,3),diamond())": ["uniring(1,3)", "diamond()"],
    "power(kautz(2,1),2)": ["kautz(2,1)", "kautz(2,1)"],
}


def right(topology: Topology, rounds: Flow) -> Fraction:
    report = verify_rounds(topology, rounds)
    assert report.ok, report.problems
    assert not report.redundant
    return report.cost.bandwidth


@pytest.mark.parametrize("spec", PRODUCTS)
def test_products_are_done_dimension_by_dimension(spec: str) -> None:
    topology, factors = build(spec), [build(factor) for factor in PRODUCTS[spec]]
    assert list(map(str, list_factors(parse(spec)))) == PRODUCTS[spec]
    assert product(*factors) == topology
    alone = [exchange(factor, ALL_TO_ALL).rounds for factor in factors]
    for chunks in (None, 1, 3):
        rounds = by_dimensions(topology, factors, chunks=chunks)
        factor = right(topology, rounds)
        assert rounds.steps == sum(one.steps for one in alone)
        assert chunks is None or rounds.units <= chunks
        assert factor >= distance_bound(topology)
        if chunks is None and len(set(PRODUCTS[spec])) == 1:  # all dimensions are busy with their own best all the time
            degree = topology.degree // len(factors)
            assert factor == Fraction(topology.degree, degree) * cost_of(factors[0], alone[0]).bandwidth
    plan = schedule(topology, "all-to-all", method="dimensions")
    assert plan.claim["bandwidth"] == right(topology, by_dimensions(topology, factors))


@pytest.mark.parametrize(("spec", "digits"), [("debruijn(2,3)", 3), ("genkautz(3,9)", 2), ("genkautz(2,16)", 4)])
def test_one_walk_of_one_length_for_each(spec: str, digits: int) -> None:
    topology = build(spec)
    rounds = by_digits(topology)
    assert rounds is not None
    assert rounds.steps == digits
    assert rounds.units == 1
    assert right(topology, rounds) <= digits
    assert schedule(spec, "all-to-all").claim["bandwidth"] == exchange(topology, ALL_TO_ALL).bound


@pytest.mark.parametrize("spec", ["kautz(2,2)", "torus(4,4)", "genkautz(2,9)", "uniring(1,4)", "complete(4)"])
def test_others_have_no_such_walks(spec: str) -> None:
    assert by_digits(build(spec)) is None


def test_auto_takes_the_fewest_units_of_what_is_as_good() -> None:
    plan = schedule("torus(4,4)", "all-to-all")
    assert plan.generator["method"] == "dimensions"
    assert plan.claim["bandwidth"] == 2
    mixed = schedule("product(complete(3),uniring(1,3))", "all-to-all")
    assert mixed.claim["bandwidth"] == exchange(build("product(complete(3),uniring(1,3))"), ALL_TO_ALL).bound
    assert mixed.claim["bandwidth"] == Fraction(mixed.generator["least"])
    assert "lost" not in str(mixed)


@pytest.mark.thorough
def test_a_thousand_nodes() -> None:
    for spec, factor in {
        "torus(32,32)": Fraction(16),
        "hypercube(10)": Fraction(5),
        "genkautz(4,1024)": Fraction(5),
    }.items():
        plan = schedule(spec, "all-to-all", chunks=4)
        assert right(plan.topology, plan.rounds) == plan.claim["bandwidth"] == factor


def test_open_paths_lose_nothing() -> None:
    """The middle of the longest side binds: half of the nodes send to the other half over 4 links."""
    plan = schedule("mesh(4,4)", ALL_TO_ALL)
    assert plan.claim["bandwidth"] == Fraction(4, 16) * 16 == Fraction(plan.generator["least"])
    unlike = schedule("mesh(5,2)", ALL_TO_ALL, method="dimensions")
    assert Fraction(unlike.generator["least"]) == Fraction(3, 10) * 12
