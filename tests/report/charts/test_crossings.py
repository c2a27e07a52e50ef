"""Where circuits that change begin to pay: the plot against questions asked on both sides of its lines."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.conftest import few
from topodesign import reconfigure
from topodesign.base.errors import ParameterError
from topodesign.report.charts.crossings import OVER, TURNING, crossings_chart


@pytest.mark.parametrize(("nodes", "degree", "cabling"), [(6, 2, "simplex"), (5, 2, "duplex")])
def test_changes_pay_below_the_lines_and_never_above_the_bounds(nodes: int, degree: int, cabling: str) -> None:
    ends, how = (nodes, degree), dict[str, Any](alpha="1us", cabling=cabling)
    found = reconfigure(*ends, **how)
    chart = crossings_chart(found, "turn")
    lines: dict[str, dict[Any, Any]] = {}
    for one in chart.series:
        names, words = one.name.split(": ")
        lines |= {f"{name}: {words}": dict(zip(one.x, one.y, strict=True)) for name in names.split(", ")}
    assert any(name.endswith("pays to") for name in lines)
    for name in TURNING:
        pays, never = lines.get(f"{name}: pays to", {}), lines.get(f"{name}: never beyond", {})
        for size, delay in few(list(pays.items())[::8], 6):
            assert delay <= never[size]
            asked = reconfigure(*ends, name, delay=delay * Fraction(99, 100), size=size, **how)
            assert asked.best.changes
        for size, delay in few(list(never.items())[::8], 6):
            asked = reconfigure(*ends, name, delay=delay * Fraction(101, 100), size=size, **how)
            assert not asked.best.changes


def test_pairs_alone_never_stay() -> None:
    with pytest.raises(ParameterError, match="changes always pay"):
        crossings_chart(reconfigure(6, 1, cabling="duplex"), "turn")
    with pytest.raises(ParameterError, match="axis"):
        crossings_chart(reconfigure(6, 1), "nodes")
    assert OVER == ("delay", "size", "turn")
