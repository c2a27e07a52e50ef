"""Results of look-ups from Python: what can be asked for, what rows do, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topodesign import Catalog, evaluate, known_topologies, pareto
from topodesign.base.errors import TopodesignError


def test_a_size_and_a_range_agree() -> None:
    single, several = known_topologies(100, 4), known_topologies(range(99, 102), 4)
    assert (len(single), len(several)) == (1, 3)
    assert several.frontiers[1].entries == single.frontiers[0].entries == pareto(100, 4).entries
    assert several.to_records() == [record for one in several for record in one.to_records()]
    assert several.record() == {"sizes": [one.record() for one in several]}
    assert len(several.table().rows) == 3
    assert [cells[0] for cells in several.table().rows] == ["99", "100", "101"]


def test_sizes_may_be_any_that_ascend() -> None:
    some = known_topologies(range(16, 65, 16), 4)
    assert [one.nodes for one in some] == [16, 32, 48, 64]
    assert known_topologies(np.arange(16, 65, 16), 4).frontiers == some.frontiers
    assert known_topologies([48], 4).frontiers == known_topologies(48, 4).frontiers


@pytest.mark.parametrize("share", [0.05, "0.05", "1/20"])
def test_filters(share: Any) -> None:
    kept = known_topologies(range(900, 920), 4, within=share, max_steps=6)
    assert kept.frontiers
    for front in kept:
        for entry in front:
            assert entry.cost.steps <= 6
            assert float(entry.cost.bandwidth) * front.nodes / (front.nodes - 1) <= 1.05


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
    for value in (rows, rows[0], result, result.best, known_topologies(64, 4), Catalog().quality([4], 5, 40)):
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
        lambda: known_topologies("64", 4),  # type: ignore[arg-type]
        lambda: known_topologies(range(10, 5), 4),
        lambda: known_topologies([5, 5], 4),
        lambda: known_topologies(64, 4, within="much"),
        lambda: known_topologies(64, 4, within=-0.5),
        lambda: known_topologies(64, 99),
        lambda: known_topologies(10**6, 4),
    ],
)
def test_wrong_arguments_are_errors_of_ours(call: Any) -> None:
    with pytest.raises(TopodesignError):
        call()
