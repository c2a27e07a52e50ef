"""Charts in pages: the numbers of the chart, names as text, identifiers and colours of the page."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from topodesign.report.charts.chart import Chart, Series
from topodesign.report.figures import Picture
from topodesign.report.page.plotted import chart_element

EVIL = "</svg><script>alert(1)</script> $\\frac$ url(#a) \u4e2d"
CHART = Chart(
    "times",
    EVIL,
    "bytes",
    "seconds",
    (
        Series(EVIL, (1, 2, 4), (3, 2, 1), "points", texts=("a", EVIL, "c")),
        Series("level", (1,), (2,), "level", "bound"),
        Series("bars", (1, 2), (1, 2), "bars", "other"),
    ),
    marks=((2, EVIL),),
    note=EVIL,
)


def element(**options: Any) -> Any:
    return etree.fromstring(chart_element(CHART, "here", **options).encode())


def test_what_is_told_of_points_is_on_them_and_choices_can_be_picked() -> None:
    root = element(chooses=True)
    picked = root.xpath("//*[@data-pick]")
    assert [one.get("data-pick") for one in picked] == ["0", "1", "2"]
    assert [one[0].text for one in picked] == list(CHART.series[0].texts)
    assert not element().xpath("//*[@data-pick]")
    heights = [float(one.xpath(".//*[local-name()='use']/@y")[0]) for one in picked]
    assert heights == sorted(heights)  # downwards


def test_names_stay_names_and_nothing_else_is_meant() -> None:
    root = element()
    assert not root.xpath("//*[local-name()='script' or local-name()='style']")
    own = root.xpath("//@id")
    assert len(set(own)) == len(own)
    assert all(one.startswith("here-") for one in own)
    meant = [one[1:] for one in root.xpath("//@href")]
    meant += re.findall(r"url\(#([^)]+)\)", " ".join(root.xpath("//@clip-path | //@fill")))
    assert set(meant) == set(own)
    assert root.get("aria-label") == EVIL
    assert not root.xpath("//@style")


def test_colours_are_those_of_the_page() -> None:
    colours = {one for one in element().xpath("//@fill | //@stroke") if not one.startswith("url(")}
    assert all(one == "none" or one.startswith("var(--") for one in colours), colours
    assert Picture(CHART).svg().startswith("<svg")
