"""Charts as page elements: their SVG in the page's colours, with tooltips."""

from __future__ import annotations

import re
from typing import Any

from topodesign.report.charts.chart import Chart
from topodesign.report.figures import COLOURS, TELLING, Picture

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_PLACES = frozenset(("d", "x", "y", "width", "height", "transform"))
_COLOURED = frozenset(("fill", "stroke"))
_NAMES = ("one", "two", "three", "four", "five", "six", "seven", "muted")
_VARIABLES = {
    **{colour.lower(): name for colour, name in zip(COLOURS, _NAMES, strict=True)},
    **dict.fromkeys(("#4d4d4d", "#8c8c8c", "#6b6b6b", "#a6a6a6"), "muted"),
    "#000000": "ink",
    "#333333": "soft",
    "#dddddd": "line",
    "#ffffff": "card",
}
"""Variables of ``page.css`` that stand for the colours of pictures, in light and in dark."""


def chart_element(chart: Chart, name: str, *, chooses: bool = False) -> str:
    """Return a chart as an SVG element.

    Parameters
    ----------
    chart
        What to draw. Its title and note are left to the page.
    name
        Text that begins its identifiers, which no other element of the page has.
    chooses
        Whether the points of the first series are choices of the page: they get ``data-pick``.

    Returns
    -------
    str
        Markup in which all text is escaped.
    """
    from lxml import etree  # noqa: PLC0415  heavy

    root: Any = etree.fromstring(Picture(chart).svg(in_page=True).encode())
    for one in root.xpath("//*[local-name()='metadata' or local-name()='title' or local-name()='style']"):
        one.getparent().remove(one)
    meant = set(re.findall(r"url\(#([^)]+)\)", " ".join(root.xpath("//@*"))))
    meant |= {one.get(_LINK, "")[1:] for one in root.iter(f"{_SVG}use")}
    for one in root.iter():
        own = one.attrib.pop("id", "")
        if own in meant:
            one.set("id", f"{name}-{own}")
        if own.startswith(TELLING):
            _tell(one, chart, own, chooses=chooses)
        if _LINK in one.attrib:
            one.set("href", f"#{name}-{one.attrib.pop(_LINK)[1:]}")
        for style in one.attrib.pop("style", "").split(";"):
            key, _, value = style.strip().partition(": ")
            if key not in {"", "font-family"}:
                one.set(key, value)
        for key, value in one.attrib.items():
            if key in _PLACES:
                one.set(key, re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}", " ".join(value.split())))
            elif key in _COLOURED:
                one.set(key, f"var(--{_VARIABLES[value]})" if value in _VARIABLES else value)
            one.set(key, one.get(key).replace("url(#", f"url(#{name}-"))
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.set("role", "img")
    root.set("aria-label", chart.title)
    etree.cleanup_namespaces(root)
    return str(etree.tostring(root, encoding="unicode"))


def _tell(element: Any, chart: Chart, own: str, *, chooses: bool) -> None:
    """Add a tooltip to the element of a point."""
    from lxml import etree  # noqa: PLC0415  heavy

    series, point = map(int, own.removeprefix(TELLING).split("-"))
    title = etree.Element(f"{_SVG}title")
    title.text = chart.series[series].texts[point]
    element.insert(0, title)
    if chooses and series == 0:
        element.set("data-pick", str(point))
