"""Bounds of generalized Kautz digraphs by windows, against prices from every node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topodesign import build
from topodesign.base.cost import moore_bound
from topodesign.pricing.evaluation import price_both
from topodesign.pricing.windows import genkautz_at_most


@given(st.integers(2, 9), st.integers(10, 300))
def test_no_digraph_costs_more(d: int, n: int) -> None:
    bound = genkautz_at_most(d, n)
    assert bound is not None
    there, back = price_both(build(f"genkautz({d},{n})"))
    assert there.dominates(bound[0])
    assert back.dominates(bound[1])
    assert bound[0].steps <= moore_bound(n, d) + 1


@pytest.mark.parametrize(("d", "n"), [(4, 1024), (3, 729), (2, 128), (4, 1022)])
def test_it_is_the_price_where_the_last_window_goes_round_once(d: int, n: int) -> None:
    assert genkautz_at_most(d, n) == price_both(build(f"genkautz({d},{n})"))


@pytest.mark.parametrize(("d", "n"), [(1, 9), (65, 1000), (4, 4)])
def test_others_have_no_bound(d: int, n: int) -> None:
    assert genkautz_at_most(d, n) is None
