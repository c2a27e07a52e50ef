"""Costs of data on links as people give them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from topodesign.base.errors import ParameterError
from topodesign.fabrics.link_costs import as_costs
from topodesign.fabrics.presets import build_fabric


def test_of_what_fits_a_class_the_last_counts() -> None:
    """A class that nothing is said of costs nothing; without a word there are no costs at all."""
    fabric = build_fabric("dgx_a100(2)")
    assert as_costs(fabric, ()) == {}
    assert as_costs(fabric, "NVLink=1/2") == {"NVLink": Fraction(1, 2), "InfiniBand": 0}
    assert as_costs(fabric, {"*": 3, "Infini*": 0.5}) == {"NVLink": 3, "InfiniBand": Fraction(1, 2)}


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (["NVLink"], "CLASS=COST"),
        ("NVLnk=1", "no link has the class 'NVLnk'"),
        ({"NVLink": -1}, "from 0 to"),
        ("NVLink=1e9", "from 0 to"),
        ("NVLink=dear", "is a number"),
        ("NVLink=1/0", "is a number"),
        ({"NVLink": float("nan")}, "is a number"),
    ],
)
def test_what_is_no_cost_is_refused(costs: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        as_costs(build_fabric("dgx_a100(1)"), costs)
