"""Claims about rows of the catalog and about those that were compared, against all rows and all that is compared.

The oracle reads rows as they are in the files and knows no frontier: it goes through all of a size, at many sizes of
data, by the formula of docs/time.md.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.ranked import rank
from topodesign import Catalog, compare, pareto, survey
from topodesign.base.claims import Of, Proof, Scope, fastest_of, first_of
from topodesign.base.cost import least_steps

ALPHA, RATE = Fraction(1, 10**5), Fraction(10**11)


def times(nodes: int, degree: int, size: Fraction, *, duplex: bool) -> dict[tuple[str, int], Fraction]:
    """Seconds of an allreduce by every row of a size that may be wired so, by spec and steps."""
    rows = Catalog().rows(degree, nodes, nodes)
    return {
        (row.spec, row.cost.steps): 2 * row.cost.steps * ALPHA
        + (row.cost.bandwidth + row.allgather.bandwidth) * 8 * size / RATE
        for row in rows
        if row.duplex or not duplex
    }


@pytest.mark.floor(compared=20, everywhere=1, steps=3)
@settings(max_examples=30, deadline=None)
@given(st.integers(3, 2048), st.integers(2, 16), st.booleans(), st.integers(0, 10**6))
def test_no_row_is_faster_than_the_one_that_a_verdict_names(nodes: int, degree: int, duplex: bool, seed: int) -> None:
    size = Fraction(2) ** random.Random(seed).randint(8, 33)  # noqa: S311  a sample
    every = times(nodes, degree, size, duplex=duplex)
    if not every:
        return
    found = pareto(nodes, degree, bidirectional=duplex, sizes=size)
    assert found.among is Scope.CATALOG
    assert found.best.allreduce[0] == min(every.values())
    reached("compared")
    if fastest_of(Scope.CATALOG) in found.verdict:  # at every size
        reached("everywhere")
        for power in range(0, 41, 10):
            other = times(nodes, degree, Fraction(2) ** power, duplex=duplex)
            assert min(other.values()) == other[str(found.best.spec), found.best.cost.steps]
    for claim in found.claims:
        assert claim.proof is Proof.BOUND
        if claim.of is Of.STEPS:
            assert claim.value == least_steps(nodes, degree, duplex=duplex).steps
            reached("steps")


@pytest.mark.dear
@settings(max_examples=3, deadline=None)
@given(st.integers(5, 60), st.integers(2, 8))
def test_the_first_of_those_that_are_ranked_is_not_beaten(nodes: int, degree: int) -> None:
    found = rank(nodes, degree, sizes="16MiB")
    (claim,) = found.claims
    assert first_of(found.compared) in found.verdict
    least = min(one.least[0] for one in found)
    assert claim.proven == all(found.best.times[0] <= one.least[0] for one in found.entries[1:])
    assert claim.bound == (claim.value if claim.proven else least)
    assert all(one.times[0] >= one.least[0] for one in found)


def test_the_fastest_of_each_size_is_that_of_its_rows() -> None:
    found = survey(range(100, 130), 4)
    assert fastest_of(Scope.CATALOG) in found.heading()
    for one in found:
        assert one.fastest.allreduce[0] == min(times(one.nodes, 4, Fraction(2**20), duplex=False).values())


def test_the_asterisk_is_at_the_least_of_its_column() -> None:
    found = compare(["best", "torus", "ring", "fattree"], nodes=16, degree=4, sizes=["1KiB", "1MiB", "1GiB"])
    table = found.table()
    for place in range(3):
        column = [
            row[next(at for at, title in enumerate(table.columns) if "iB (" in title) + place]
            for row in table.rows[: table.compared]
        ]
        marked = [at for at, cell in enumerate(column) if cell.endswith("*")]
        least = min(one.times[place] for one in found.contenders)
        assert marked == [at for at, one in enumerate(found.contenders) if one.times[place] == least]
