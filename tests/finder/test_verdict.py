"""Verdicts: who is named wins, sizes are where the times cross, and a bound is met only if it is."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from topodesign import Catalog, pareto
from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.cost import Cost, lower_bounds
from topodesign.base.units import format_size_rounded
from topodesign.catalog.rows import select_frontier
from topodesign.catalog.sizes import DEGREES
from topodesign.finder.verdict import verdict_on
from topodesign.pricing.workload import as_workload

OPEN = [(16, 4), (24, 5), (100, 3), (200, 6), (257, 4), (1000, 4)]
"""Sizes at which no topology is known that meets both bounds."""


@pytest.mark.parametrize(("nodes", "degree"), OPEN)
@pytest.mark.parametrize("size", ["1KiB", "1MiB", "1GiB"])
def test_the_verdict_is_what_the_times_say(nodes: int, degree: int, size: str) -> None:
    found = pareto(nodes, degree, sizes=size)
    text = found.verdict
    assert found.record()["verdict"] == text
    assert text in " ".join(str(found).split())
    bound = found.workload.fastest(found.bounds)[0]
    assert "both bounds" not in text
    assert found[0].cost != found.bound
    assert ("meets the lower bound" in text) == (found.best.allreduce[0] == bound)
    assert f" {found.best.cost.steps} step" in text
    told = re.findall(r"\b[\d.]+(?:[KMGT]i)?B\b", text.split(": at ")[0])
    for word in told:  # at each of these sizes two neighbours on the frontier take the same time
        crossings = [
            format_size_rounded(
                Fraction(other.cost.steps - one.cost.steps)
                / (one.mean.bandwidth - other.mean.bandwidth)
                * found.workload.alpha
                * found.workload.bandwidth
                / 8
            )
            for place, one in enumerate(found)
            for other in found.entries[place + 1 :]
            if other.mean.bandwidth < one.mean.bandwidth
        ]
        assert word in crossings


@pytest.mark.parametrize(("nodes", "degree"), [(12, 4), (64, 6)])
def test_one_that_meets_both_bounds_is_called_so(nodes: int, degree: int) -> None:
    found = pareto(nodes, degree)
    assert [one.cost for one in found] == [found.bound]
    assert (
        " meets both bounds; optimal (proven): least time among topologies with the same nodes and ports ("
        in found.verdict
    )
    assert {claim.of for claim in found.claims} == {Of.STEPS, Of.FACTOR}


@pytest.mark.parametrize(("nodes", "degree"), [(8, 12), (5, 6), (8, 18)])
def test_more_ports_than_peers_need_a_step_or_two(nodes: int, degree: int) -> None:
    found = pareto(nodes, degree, sizes=["1KiB", "1GiB"])
    assert tuple(one.cost for one in found) == found.bounds
    assert found.verdict.startswith("1 step wins up to ")
    assert (
        ", 2 steps from there on; optimal (proven): least time among topologies with the same nodes and ports ("
        in found.verdict
    )
    assert found[0].spec == found[1].spec
    assert "One wiring has both" in str(found)
    assert tuple(min(times) for times in zip(*(one.allreduce for one in found), strict=True)) == (
        found.workload.least(nodes, degree)
    )
    assert found.record()["lower_bound"]["by_steps"] == [
        {"steps": one.cost.steps, "bandwidth": str(one.cost.bandwidth)} for one in found
    ]


def test_three_winners_are_told_in_order() -> None:
    offers = [("a(1)", Cost(2, Fraction(3))), ("b(1)", Cost(4, Fraction(2))), ("c(1)", Cost(9, Fraction(1)))]
    text = verdict_on(offers, [Cost(2, Fraction(1))], as_workload("10us", "1GiB", "100Gbps"), Scope.FOUND, duplex=False)
    assert text.startswith("2 steps win up to 244KiB, 4 steps from 244KiB to 610KiB, 9 steps from there on: at 1GiB 9 ")


@pytest.mark.parametrize("degree", DEGREES)
def test_one_wiring_serves_no_more_nodes_than_ports_as_well_as_is_possible(degree: int) -> None:
    for nodes in range(3, degree + 2):
        for duplex in {False, nodes * degree % 2 == 0}:
            front = select_frontier(Catalog().rows(degree, nodes, nodes), duplex=duplex)
            assert [row.mean for row in front] == list(lower_bounds(nodes, degree, duplex=duplex))
            assert len({row.spec for row in front}) == 1


@pytest.mark.parametrize(("nodes", "degree", "duplex"), [(8, 2, False), (31, 7, True), (24, 5, False), (16, 4, True)])
def test_a_verdict_claims_no_more_than_its_scope(nodes: int, degree: int, duplex: bool) -> None:
    """What is the fastest of the rows alone is not claimed to be so of all topologies."""
    found = pareto(nodes, degree, bidirectional=duplex)
    kind = "duplex topologies" if duplex else "topologies"
    for claim in found.claims:
        assert isinstance(claim, Claim)
        assert claim.proven
        assert claim.among == f"{kind} with the same nodes and ports"
        held = found.bounds[0].steps if claim.of is Of.STEPS else claim.bound
        assert claim.value == held
    if "both bounds" not in found.verdict:
        assert "at every size" not in found.verdict or "the fastest of the catalog entries" in found.verdict
        assert "known" not in found.verdict
