"""Links loaded evenly: what is found has the steps it should, and is named by a spec that rebuilds it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.conftest import few
from topodesign.pricing.closed_form import price
from topodesign.pricing.evaluation import deferred_both
from topodesign.search.evenness import search_even
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

UNEVEN = [
    "turn(congruential(150,-4,4,5,2,3),4,3)",
    "congruential(60,3,0,1,2)",
    "transpose(turn(congruential(141,4,1,2,3,4),2,2))",
]


@pytest.mark.dear
@pytest.mark.parametrize("text", few(UNEVEN, 2))
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_schedules_get_cheaper_in_as_many_steps(text: str, seed: int) -> None:
    base = build(text)
    steps = price(base).steps
    spec = search_even(base, steps, 10**7, seed=seed)
    assert spec is not None
    found = build(str(spec))
    assert (found.nodes, found.degree, found.self_loops) == (base.nodes, base.degree, base.self_loops)
    assert found.is_regular
    before, after = (sum((cost.bandwidth for cost in deferred_both(one)), Fraction(0)) for one in (base, found))
    assert after < before
    assert {cost.steps for cost in deferred_both(found)} == {steps}
    assert spec == search_even(base, steps, 10**7, seed=seed)


def test_swaps_of_swaps_are_told_from_what_was_swapped_first() -> None:
    base = build(UNEVEN[0])
    first = search_even(base, 4, 10**7)
    assert first is not None
    again = search_even(build(str(first)), 4, 10**7, seed=2)
    for spec in (first, again):
        assert spec is not None
        assert spec.name == "successors" or str(spec.args[0]) == UNEVEN[0]


def test_what_is_of_another_kind_is_left_alone() -> None:
    few = build("congruential(60,3,0,1,2)")
    for base, steps in (
        (few, price(few).steps - 1),  # more nodes than that are too far apart
        (few, 1),
        (build("parallel(circulant(9,1),2)"), 4),
        (build("complete(12)"), 1),  # too many links
        (Topology.from_arrays(few.nodes, few.src, few.dst), 4),  # has no spec
    ):
        assert search_even(base, steps, 10**5) is None
