"""What is not scheduled because of its bounds is no better than a contender once it is."""

from fractions import Fraction

import pytest

from topodesign import design
from topodesign.report.design import contenders
from topodesign.report.design.contenders import gather_offers
from topodesign.report.design.parts import FAR, Offer
from topodesign.report.design.reading import request_of


def _figures(one: Offer) -> tuple[Fraction, Fraction, Fraction]:
    return one.time, one.price or Fraction(0), one.watts or Fraction(0)


@pytest.mark.parametrize("prices", [None, {"cable": 60, "port": 400}])
def test_topologies_that_bounds_rule_out_are_dominated(
    prices: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = [{"collective": "all-to-all", "size": "4MiB"}, {"collective": "allreduce", "size": "2MiB"}]
    fields = {"nodes": 8, "degree": 3, "bandwidth": "300Gbps", "workload": {"collectives": step}}
    request = request_of(fields | ({} if prices is None else {"prices": prices}))
    found = gather_offers(request, None)
    assert found.beaten
    monkeypatch.setattr(contenders, "_is_beaten", lambda *_: False)
    every = {one.name: one for one in gather_offers(request, None).offers}
    assert {one.name for one in found.offers} | set(found.beaten) == set(every)
    fastest = min(one.time for one in found.offers)
    for name in found.beaten:
        beaten = _figures(every[name])
        dominated = any(all(map(Fraction.__le__, _figures(one), beaten)) for one in found.offers)
        assert dominated or beaten[0] >= FAR * fastest
    assert min(one.time for one in every.values()) == fastest


def test_progress_never_goes_back() -> None:
    seen: list[float] = []
    step = {"collectives": [{"collective": "allreduce", "size": "2MiB"}]}
    prices = {"cable": 60, "port": 400}
    design(nodes=8, degree=3, bandwidth="300Gbps", workload=step, rivals=["torus"], prices=prices, progress=seen.append)
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert seen[-1] <= 1
