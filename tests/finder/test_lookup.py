"""Results of look-ups from Python: what can be asked for, what rows do, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, Pareto, evaluate, pareto, survey
from topodesign.base.errors import InfeasibleError, TopodesignError


@pytest.mark.parametrize("share", [0.05, "5%", "1/20"])
def test_limits_keep_exactly_what_they_say(share: Any) -> None:
    for front in survey(range(900, 906), 4, within=share, max_steps=6):
        assert isinstance(front, Pareto)
        most = Fraction(21, 20) * Fraction(front.nodes - 1, front.nodes)
        kept = [one for one in pareto(front.nodes, 4) if one.cost.steps <= 6 and one.cost.bandwidth <= most]
        assert [one.spec for one in front] == [one.spec for one in kept]


def test_limits_hold_for_other_collectives_and_your_own() -> None:
    whole = rank(24, 4, candidates=["torus(4,6)"])
    some = rank(24, 4, candidates=["torus(4,6)"], max_steps=3)
    assert {one.spec for one in some} <= {one.spec for one in whole}
    assert all(one.cost.steps <= 3 for one in some)
    assert not some.candidates
    with pytest.raises(InfeasibleError, match="--max-steps"):
        pareto(24, 4, max_steps=1)


def test_rows_build_what_they_say() -> None:
    for row in Catalog().frontier(24, 3):
        topology = row.build()
        assert (topology.nodes, topology.degree, topology.is_duplex) == (row.nodes, row.degree, row.duplex)
        assert evaluate(row.spec).cost == row.cost
        assert evaluate(row.spec).allgather.bandwidth <= row.cost.bandwidth
    result = pareto(24, 3)
    assert [entry.build() for entry in result] == [row.build() for row in Catalog().frontier(24, 3)]
    assert result[0] == result.entries[0]


def test_results_show_themselves() -> None:
    rows, result = Catalog().rows(4, 10, 20), pareto(64, 4, sizes=[25e6, "1MiB"], alpha=1e-5, bandwidth=1e11)
    for value in (rows, rows[0], result, result.best, survey([64, 65], 4), Catalog().quality([4], 5, 40)):
        assert "<table>" in value._repr_html_()
        assert len(repr(value).splitlines()) == 1
        assert len(repr(value)) < 500
        assert len(str(value).splitlines()) > 2
        assert len(value.to_dataframe()) == len(value.to_records())
    assert str(rows[0].spec) in str(rows)
    assert "lower bound" in str(result)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pareto("64", 4),  # type: ignore[arg-type]
        lambda: pareto(64.0, 4),  # type: ignore[arg-type]
        lambda: pareto(64, True),
        lambda: pareto(64, None),  # type: ignore[arg-type]
        lambda: pareto(64, 4, sizes=object()),  # type: ignore[arg-type]
        lambda: pareto(64, 4, alpha=-1),
        lambda: pareto(64, 4, search=float("inf")),
        lambda: pareto(64, 4, search="soon"),
        lambda: pareto(64, 4, seed=-1),
        lambda: pareto(64, 4, seed="x"),  # type: ignore[arg-type]
        lambda: pareto(64, 4, catalog=5),  # type: ignore[arg-type]
        lambda: Catalog(None),  # type: ignore[arg-type]
        lambda: Catalog("no such place").rows(4),  # type: ignore[arg-type]
        lambda: Catalog().rows("4"),  # type: ignore[arg-type]
        lambda: Catalog().frontier(None, 4),  # type: ignore[arg-type]
        lambda: Catalog(Path("no such place")).coverage(),
        lambda: pareto(64, 4, within="much"),
        lambda: pareto(64, 4, within=-0.5),
    ],
)
def test_wrong_arguments_are_errors_of_ours(call: Any) -> None:
    with pytest.raises(TopodesignError):
        call()
