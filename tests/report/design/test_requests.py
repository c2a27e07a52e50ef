"""The shipped requests are answered, and every figure is the same in text, JSON and on the page."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

from tests.samples.figures import numbers
from topodesign import Decision, copy_examples, design, load_plan, price_step, report_page, verify
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.shipped import find_shipped_folder
from topodesign.base.units import format_time
from topodesign.report.charts.decision import labels
from topodesign.report.design.ahead import split_beaten
from topodesign.report.design.contenders import Budget, gather_offers
from topodesign.report.design.growth import bound_of
from topodesign.report.design.measure import plan_parts, step_at
from topodesign.report.design.parts import FAR, Offer
from topodesign.report.design.reading import request_of

SHIPPED = {
    "request_testbed.yaml": "plant",
    "request_moe200.yaml": "direct",
    "request_boxes64.yaml": "boxes",
    "request_room1024.yaml": "plant",
    "request_mixtral64.yaml": "direct",
}
LONG = {name: pytest.mark.thorough for name in SHIPPED if name != "request_testbed.yaml"}
FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:us|ms|ns|s)(?!\w)")
LARGEST = 3 * 10**6


def test_those_that_are_shipped_are_all_answered_here() -> None:
    assert {path.name for path in find_shipped_folder("configs").glob("request_*.yaml")} == SHIPPED.keys()


def bare(text: str) -> str:
    """A text without blanks."""
    return "".join(text.split())


@pytest.mark.dear
@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG.get(name, ())) for name in SHIPPED])
def test_a_shipped_request_has_the_same_figures_everywhere(name: str, tmp_path: Path) -> None:
    copy_examples([path.name for path in find_shipped_folder("configs").glob("*.yaml")], tmp_path)
    found = design(tmp_path / name)
    record, text, page = found.record(), " ".join(str(found).split()), report_page(found)
    best = record["recommendation"]
    assert best["kind"] == SHIPPED[name]
    assert record["text"] == str(found)
    assert page.record()["result"] == json.loads(json.dumps(record))
    written = page.html()
    assert len(written.encode()) < LARGEST
    tree: Any = lxml_html.document_fromstring(written)
    for one in tree.xpath("//script|//style|//details|//svg"):
        one.getparent().remove(one)
    for one in tree.xpath("//wbr"):
        one.drop_tag()
    shown = " ".join(" ".join(tree.itertext()).split())
    known = {format_time(Fraction(one).limit_denominator(10**15)) for one in numbers(record) if one > 0}
    for where in (shown, text):
        assert set(FIGURE.findall(where)) <= known, set(FIGURE.findall(where)) - known
    (unit,) = re.findall(r"\((ns|us|ms|s)\)", found.table().columns[0])
    scale = Fraction(1, 1000 ** ["s", "ms", "us", "ns"].index(unit))
    for row, one, label in zip(found.table().rows, record["contenders"], labels(found), strict=True):
        assert abs(Fraction(row[0]) * scale / Fraction(one["time"]) - 1) < Fraction(1, 1000)
        assert " ".join(row) in text
        assert label in shown
        assert row[0] in shown
    for part in found.recommendation.parts:
        assert part.plan is None or verify(part.plan).ok
        assert format_time(part.seconds) in shown
    if found.recommendation.step is None:
        assert Fraction(best["time"]) == sum(part.in_step for part in found.recommendation.parts)
    else:
        assert sum(seconds for _, seconds in found.recommendation.step.shares) == found.recommendation.time
    for sentence in (record["verdict"], *(one["words"] for one in (*record["limits"], *record["turns"]))):
        assert bare(sentence) in bare(text)  # lines break inside long specs
        assert bare(sentence) in bare(shown)


# -- Contenders that are ranked by the training step of a model: as ``step`` prices it, here and after every change


MODEL: dict[str, Any] = {
    "name": "small", "layers": 4, "hidden": 1024, "heads": 16, "vocabulary": 51200, "sequence": 1024, "batch": 64,
    "flops": "312T", "experts": 4, "top_k": 2, "data": 8, "expert": 4,
}  # fmt: skip
FIELDS: dict[str, Any] = {"nodes": 8, "degree": 4, "bandwidth": "400Gbps", "alpha": "5us", "rivals": ["torus"]}


@pytest.fixture(scope="module")
def found() -> Decision:
    return design(**FIELDS, model=MODEL)


def test_contenders_are_ranked_by_the_step(found: Decision) -> None:
    times = []
    for one in found.contenders:
        assert one.step is not None
        used = Fraction(one.topology.degree, 4)
        priced = price_step(MODEL, one.place, alpha="5us", bandwidth=400 * 10**9 * used)
        assert one.time == priced.seconds == sum(seconds for _, seconds in one.step.shares)
        times.append(one.time)
    assert times == sorted(times)
    assert bound_of(found.request.mix, found.request) <= times[0]


def test_factors_are_those_of_a_step_that_is_priced_anew(found: Decision) -> None:
    best = found.recommendation
    assert best.step is not None
    assert step_at(best, found.request, often={}) == best.time
    for factor in (Fraction(1, 4), Fraction(3)):
        rate = price_step(MODEL, best.place, alpha="5us", bandwidth=400 * 10**9 / factor, placement=best.step.nodes)
        assert step_at(best, found.request, size=factor, often={}) == rate.seconds


def test_where_the_time_goes_is_told(found: Decision, tmp_path: Path) -> None:
    document, best = found.record(), found.recommendation
    assert best.step is not None
    assert document["request"]["model"]["name"] == "small"
    told = document["recommendation"]["step"]
    assert told["seconds"] == float(best.time)
    assert len(told["collectives"]) == len(best.step.sent)
    assert best.step.heading() in " ".join(str(found).split())
    page = report_page(found).html()
    assert all(one.sent.collective in page for one in best.step.sent)
    written = found.save(tmp_path / "all")
    plans = [load_plan(tmp_path / "all" / one.path) for one in written.files if one.path.endswith(".npz")]
    assert plans
    assert all(verify(plan).ok for plan in plans)
    assert json.loads((tmp_path / "all" / "decision.json").read_text())["recommendation"]["step"] == told


def test_failures_keep_the_layout(found: Decision) -> None:
    assert found.failures
    assert all(one.seconds is not None and one.seconds >= found.recommendation.time for one in found.failures)


# -- What is not in the table is no better than a contender, and its plans are no faster than its bounds


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
