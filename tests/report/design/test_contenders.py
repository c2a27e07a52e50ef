"""What is not in the table is no better than a contender, and its plans are no faster than its bounds."""

from fractions import Fraction
from typing import Any

import pytest

from topodesign import design
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.report.design.ahead import split_beaten
from topodesign.report.design.contenders import Budget, gather_offers
from topodesign.report.design.measure import plan_parts
from topodesign.report.design.parts import FAR, Offer
from topodesign.report.design.reading import request_of


def _figures(one: Offer) -> tuple[Fraction, Fraction, Fraction]:
    return one.time, one.price or Fraction(0), one.watts or Fraction(0)


@pytest.mark.dear("prices1")
@pytest.mark.parametrize("prices", [None, {"cable": 60, "port": 400}])
def test_topologies_that_are_not_shown_are_dominated(prices: dict[str, int] | None) -> None:
    step = [{"collective": "all-to-all", "size": "4MiB"}, {"collective": "allreduce", "size": "2MiB"}]
    fields = {"nodes": 8, "degree": 3, "bandwidth": "300Gbps", "workload": {"collectives": step}}
    request = request_of(fields | ({} if prices is None else {"prices": prices}))
    offers = gather_offers(request, Budget(), None).offers
    shown, beaten = split_beaten(offers, (), request)
    assert beaten
    assert sorted([*beaten, *(one.name for one in shown)]) == sorted(one.name for one in offers)
    fastest = min(one.time for one in offers)
    for one in offers:
        if one.name in beaten:
            dominated = any(all(map(Fraction.__le__, _figures(other), _figures(one))) for other in shown)
            assert dominated or one.time >= FAR * fastest
        planned = sum(part.in_step for part in plan_parts(one.place, request))
        assert (one.least or one.time) <= planned
        assert planned >= fastest


@pytest.mark.dear
def test_a_limit_of_time_says_what_it_was_too_short_for() -> None:
    step = {"collectives": [{"collective": "all-to-all", "size": "2MiB"}, {"collective": "allreduce", "size": "2MiB"}]}
    fields: dict[str, Any] = {"nodes": 6, "degree": 3, "bandwidth": "300Gbps", "workload": step, "grow": [7]}
    request, budget = request_of(fields), Budget(seconds=10**-9)
    with pytest.raises(InfeasibleError, match="no time for contenders"):
        gather_offers(request, budget, None)
    assert budget.cut
    whole = design(**fields, time_limit="1h")
    assert (whole.cut, whole.record()) == ((), design(**fields).record())
    with pytest.raises(ParameterError, match="time_limit must be above zero"):
        design(**fields, time_limit=0)
    assert budget.do("growth", lambda: 1, 0) == 0
    assert budget.cut[-1] == "growth"


def test_progress_never_goes_back() -> None:
    seen: list[float] = []
    step = {"collectives": [{"collective": "allreduce", "size": "2MiB"}]}
    prices = {"cable": 60, "port": 400}
    design(nodes=8, degree=3, bandwidth="300Gbps", workload=step, rivals=["torus"], prices=prices, progress=seen.append)
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert seen[-1] <= 1
