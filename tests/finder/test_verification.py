"""Rows of the catalog that plans undercut are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import groupby

import pytest

from topodesign import Catalog, verify_catalog
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError
from topodesign.finder.verification import compare_with_plans

Run = Callable[..., tuple[int, str, str]]


def test_a_row_that_costs_more_than_its_plan_is_undercut() -> None:
    """Rows with a deferred plan: as they stand none is undercut; a hundredth dearer, each is."""
    found = 0
    for nodes, group in groupby(Catalog().rows(3, 17, 31), key=lambda row: row.nodes):
        rows = tuple(group)
        assert all(compare_with_plans(row, {(3, nodes): rows}).wrong is None for row in rows)
        for row in [row for row in rows if row.deferred]:
            dear = Cost(row.cost.steps, row.cost.bandwidth * Fraction(101, 100))
            above = replace(row, cost=dear, allgather=dear)
            others = [one for one in rows if not one.mean.dominates(row.mean)]
            wrong = compare_with_plans(above, {(3, nodes): (*others, above)}).wrong or ""
            assert "which no row of this size has" in wrong
            found += 1
    assert found > 3


def test_rows_at_the_bound_are_not_built() -> None:
    row = next(row for row in Catalog().rows(4, 16, 16) if row.mean.bandwidth == Fraction(15, 16))
    assert compare_with_plans(row, {}).wrong is None


@pytest.mark.budget(4)
def test_the_command(program: Run) -> None:
    status, out, _ = program("catalog", "verify", "--plans", "-n", "10..11", "-d", 3, "--jobs", 1)
    assert (status, "compared with plans: no faults" in out) == (0, True)
    assert program("catalog", "verify", "--plans", "--audit", "-d", 3)[0] == 2
    assert verify_catalog(by="plans", degrees=[3], nodes=[10], workers=1).planned
    with pytest.raises(ParameterError):
        verify_catalog(by="plans", sample=0)
