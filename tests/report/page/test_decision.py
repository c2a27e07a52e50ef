"""The decision page: every figure is that of the decision's JSON and text, and pictures are recomputed."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from lxml import html as lxml_html

from tests.samples.figures import numbers
from topodesign import design, report_page, simulate
from topodesign.base.shipped import copy_examples
from topodesign.base.units import format_time
from topodesign.cli.main import run
from topodesign.report.charts.decision import ahead_chart, labels, tradeoff_chart
from topodesign.report.design.ahead import merit
from topodesign.report.design.answer import Decision
from topodesign.report.design.parts import Offer
from topodesign.topology.topology import Topology

STEP = {
    "collectives": [
        {"collective": "all-to-all", "size": "1MiB", "count": 4},
        {"collective": "allreduce", "size": "2MiB", "count": 3},
    ]
}
FIGURE = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:us|ms|ns|s|%)(?!\w)|x\d+(?:\.\d+)?\b")


@pytest.fixture(scope="module")
def found() -> Decision:
    prices = {"cable": 40, "port": 300, "switch": 5000, "switch-port": 400}
    return design(
        name="two sizes", nodes=9, degree=4, bandwidth="400Gbps", alpha="5us", workload=STEP, prices=prices,
        rivals=["torus", "fattree"], grow=[10], optimise="both",
    )  # fmt: skip


def told(found: Decision) -> str:
    """The text of the page but for its scripts."""
    tree: Any = lxml_html.document_fromstring(report_page(found).html())
    for one in tree.xpath("//script|//style|//details|//svg"):
        one.getparent().remove(one)
    for one in tree.xpath("//wbr"):
        one.drop_tag()
    return " ".join(" ".join(tree.itertext()).split())


def test_every_figure_is_that_of_the_document_and_of_the_text(found: Decision) -> None:
    record, page = found.record(), told(found)
    known = set(FIGURE.findall(str(found)))
    known |= {format_time(Fraction(one).limit_denominator(10**15)) for one in numbers(record) if one > 0}
    best = record["recommendation"]
    known |= {f"{part['in_step_s'] / best['time_s']:.1%}" for part in best["parts"]}
    figures = FIGURE.findall(page)
    assert len(figures) > 20
    assert set(figures) <= known, set(figures) - known
    for line in found.verdict, *(str(one) for one in (*found.limits, *found.turns)):
        assert " ".join(line.split()) in page
    assert report_page(found).record()["result"] == record


def test_the_table_has_the_cells_of_the_text(found: Decision) -> None:
    sections = report_page(found).record()["choices"][0]["sections"]
    table = next(part for one in sections for part in one["parts"] if "network" in part.get("columns", ()))
    rows, scale = table["rows"], {"step (us)": 10**6, "step (ms)": 10**3}[table["columns"][0]]
    assert [row[:-1] for row in rows] == [list(row[:-1]) for row in found.table().rows]
    assert [row[-1] for row in rows] == list(labels(found))
    for row, one in zip(rows, found.record()["contenders"], strict=True):
        assert float(row[0]) == float(f"{float(Fraction(one['time']) * scale):.4g}")
        assert float(row[5]) == float(f"{one['price']:.6g}")
    assert len(set(labels(found))) == len(found.contenders)
    facts = {one["name"]: one["exact"] for part in sections[-1]["parts"] for one in part["facts"]}
    assert all(facts[name] == one.spec for name, one in zip(labels(found), found.contenders, strict=True) if one.spec)


def test_a_room_is_drawn_with_its_racks_and_cables(tmp_path: Path) -> None:
    copy_examples(["inventory_testbed.yaml"], tmp_path)
    room = tmp_path / "inventory_testbed.yaml"
    page = report_page(design(room=room, bandwidth="100Gbps", workload=STEP, rivals=[]))
    picture = page.record()["summary"]["picture"]
    assert (picture["part"], picture["title"].partition(":")[0]) == ("racks", "12-host testbed")
    tree: Any = lxml_html.document_fromstring(page.html())
    [svg] = tree.xpath("//section[@id='summary']//*[local-name()='svg']")
    said = [one.text for one in svg.iter("{*}text", "text")]
    names = " ".join(said).split()
    assert {f"host{number:02}" for number in range(1, 13)} | {"r1", "r2", "r3", "panel"} <= set(names)
    assert {"6 to r3, 30 m", "6 to r3, 18 m"} <= set(said)


def test_the_summary_is_the_recommendation(found: Decision) -> None:
    summary, best = report_page(found).record()["summary"], found.record()["recommendation"]
    step, price, worst = summary["figures"]
    assert step["value"] == format_time(Fraction(best["time"]))
    assert float(price["value"]) == float(f"{best['price']:.6g}")
    assert worst["value"] == format_time(found.failures[0].seconds or 0)
    assert summary["spec"] == best["spec"]
    assert summary["picture"]["part"] == "drawing"


def test_points_are_those_of_the_contenders(found: Decision) -> None:
    points = sorted((x, y) for one in tradeoff_chart(found).series for x, y in zip(one.x, one.y, strict=True))
    assert points == sorted((one.price, one.time) for one in found.contenders)


def seconds(one: Offer, found: Decision, only: str | None, size: Fraction) -> Fraction:
    """The time of a step, or of one collective of it, from simulations with other sizes where there are plans."""
    asked, time = found.request, Fraction(0)
    for part in one.parts:
        if only in {None, part.share.collective}:
            assert isinstance(one.place, Topology)
            if part.plan is None:  # a price, whose latency is that of the farthest two
                time += part.share.count * (part.latency + size * (part.seconds - part.latency))
                continue
            bandwidth = asked.work.bandwidth * one.topology.degree / asked.degree
            run = simulate(part.plan, size=size * part.share.size, alpha=asked.work.alpha, bandwidth=bandwidth)
            time += part.share.count * run.time
    return time


def test_who_is_ahead_is_who_simulations_say(found: Decision) -> None:
    able = [(one, name) for one, name in zip(found.contenders, labels(found), strict=True) if one.refused is None]
    chart = ahead_chart(found)
    assert chart.lanes == ("the mix", "all-to-all alone", "allreduce alone")
    for number, only in enumerate((None, "all-to-all", "allreduce")):
        for factor in (Fraction(2) ** power for power in range(-6, 7)):
            shown = [
                series.name
                for series in chart.series
                for begin, until, at in zip(series.x, series.until, series.y, strict=True)
                if at == number and begin < factor < until
            ]
            worth = {
                name: (*merit(offer, found.request, seconds(offer, found, only, factor)), len(offer.name))
                for offer, name in able
            }
            assert shown == [min(worth, key=lambda name: worth[name])]


@pytest.mark.dear
def test_the_command_writes_the_page_that_python_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = tmp_path / "asked.yaml"
    asked.write_text(
        "name: six\nnodes: 6\ndegree: 4\nbandwidth: 100Gbps\n"
        "workload:\n  name: one\n  collectives:\n    - {collective: allreduce, size: 64MiB}\nrivals: [torus]\n"
    )
    page = tmp_path / "decision.html"
    assert run(["design", str(asked), "--json", "-o", str(page)]) == 0
    printed = capsys.readouterr()
    assert printed.err.endswith(f"wrote {page}\n")
    again = report_page(design(asked))
    assert page.read_text() == again.html()
    document = json.loads(printed.out)
    document.pop("schema")
    assert document == json.loads(json.dumps(again.record()["result"]))
    assert run(["design", str(asked), "-o", str(tmp_path / "none" / "a.html")]) == 2
    assert "create it first" in capsys.readouterr().err
    assert run(["design", str(asked), "-o", str(tmp_path / "all")]) == 0
    tree: Any = lxml_html.document_fromstring((tmp_path / "all" / "decision.html").read_text())
    written = json.loads((tmp_path / "all" / "decision.json").read_text())
    assert json.loads(tree.xpath("string(//script[@id='data'])"))["result"] == written
