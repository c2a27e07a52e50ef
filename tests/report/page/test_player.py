"""What is played is the plan: replayed here from the frames alone, all data arrive, and only over links."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from lxml import etree

from topodesign import Plan, schedule
from topodesign.plans.time.ticks import time_rounds
from topodesign.report.charts.chart import Chart, Series
from topodesign.report.charts.structure import structure_drawing
from topodesign.report.figures import Picture
from topodesign.report.page.player import player_of
from topodesign.report.page.plotted import chart_element


def replayed(data: dict[str, Any]) -> list[tuple[Any, int]]:
    """Return what every node that is to have a part of a block has of it at the end, and how much it should have."""
    nodes, cells = len(data["drawing"]["nodes"]), len(data["cuts"]) - 1
    sends = list(zip(*data["sends"].values(), strict=True))
    assert list(data["sends"]) == ["from", "to", "path", "block", "low", "high", "add"]
    held: dict[tuple[int, int, int], frozenset[int]] = defaultdict(frozenset)
    for number, block in enumerate(data["blocks"]):
        for node in data["members"] if block["from"] is None else block["from"]:
            for cell in range(cells):
                held[node, number, cell] = frozenset((node,))
    flying: dict[int, list[frozenset[int]]] = {}
    for instant in range(len(data["instants"])):
        for place, (start, _, path, block, low, high, _) in enumerate(sends):
            if start == instant:
                flying[place] = [held[data["paths"][path][0], block, cell] for cell in range(low, high)]
        for place, (_, end, path, block, low, _, add) in enumerate(sends):
            if end == instant + 1:
                for cell, value in enumerate(flying.pop(place), low):
                    key = (data["paths"][path][-1], block, cell)
                    assert value, "what nobody has is sent"
                    assert not add or not held[key] & value, "a contribution is added twice"
                    held[key] = held[key] | value if add else max(held[key], value, key=len)
    assert not flying
    assert max(node for node, _, _ in held) < nodes
    return [
        (
            held[node, number, cell],
            len(data["members"] if block["from"] is None else block["from"]) if data["adds"] else 1,
        )
        for number, block in enumerate(data["blocks"])
        for node in (data["members"] if block["to"] is None else block["to"])
        for cell in range(cells)
    ]


def played(plan: Plan) -> dict[str, Any]:
    data = player_of(plan, structure_drawing(plan.place))
    assert data is not None
    return data.record()


@pytest.mark.parametrize(
    ("place", "collective", "options"),
    [
        ("circulant(12,2,3)", "allreduce", {}),
        ("genkautz(2,9)", "allgather", {}),
        ("genkautz(3,11)", "reduce-scatter", {}),
        ("torus(3,3)", "broadcast", {"root": 4}),
        ("kautz(2,1)", "all-to-all", {}),
        ("dgx_a100(2)", "allgather", {}),
        ("dgx_a100(1)", "all-to-all", {}),
        ("mi250(1)", "scatter", {"root": 3}),
        pytest.param("mi250(1)", "allreduce", {}, marks=pytest.mark.thorough),
        ("rail_spine(2,2,1)", "allreduce", {}),
        ("circulant(6,1,2)", "allreduce", {"method": "tacos"}),
        ("torus(4,2)", "allgather", {"group": [[0, 1, 2, 3], [4, 5, 6, 7]]}),
    ],
)
def test_everything_arrives(place: str, collective: str, options: dict[str, Any]) -> None:
    plan = schedule(place, collective, **options)
    data = played(plan)
    links = {(u, v) for u, v, _ in plan.topology.links()}
    assert all((u, v) in links for way in data["paths"] for u, v in pairwise(way))
    done = replayed(data)
    assert done
    assert all(len(got) == wanted for got, wanted in done)


def test_rounds_as_timed_sends_are_played_alike() -> None:
    plan = schedule("circulant(6,1,2)", "allgather")
    sends = time_rounds(
        plan.topology, plan.rounds, size=Fraction(6000), alpha=Fraction(1, 1000), bandwidth=Fraction(10**6)
    )
    for one in (plan, Plan(plan.topology, sends)):
        assert all(len(got) == wanted for got, wanted in replayed(played(one)))


def test_of_many_sends_those_of_one_node_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topodesign.report.page.player.MAX_SENDS", 300)
    plan = schedule("hypercube(4)", "allreduce")
    data = played(plan)
    assert len(data["blocks"]) == 1
    assert "alone" in data["note"]
    assert all(len(got) == wanted for got, wanted in replayed(data))


def test_large_plans_are_not_played() -> None:
    plan = schedule("circulant(65,1,2,3)", "allgather")
    assert player_of(plan, structure_drawing(plan.place)) is None


# -- Charts in pages: the numbers of the chart, names as text, identifiers and colours of the page


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
