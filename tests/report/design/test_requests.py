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
from topodesign import copy_examples, design, report_page, verify
from topodesign.base.shipped import shipped_folder
from topodesign.base.units import format_time
from topodesign.report.charts.decision import labels

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
    assert {path.name for path in shipped_folder("configs").glob("request_*.yaml")} == SHIPPED.keys()


def bare(text: str) -> str:
    """A text without blanks."""
    return "".join(text.split())


@pytest.mark.dear
@pytest.mark.parametrize("name", [pytest.param(name, marks=LONG.get(name, ())) for name in SHIPPED])
def test_a_shipped_request_has_the_same_figures_everywhere(name: str, tmp_path: Path) -> None:
    copy_examples([path.name for path in shipped_folder("configs").glob("*.yaml")], tmp_path)
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
    for row, one, label in zip(found.table().rows, record["contenders"], labels(found), strict=True):
        assert row[0] == format_time(Fraction(one["time"]))
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
