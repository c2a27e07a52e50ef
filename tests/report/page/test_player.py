"""What is played is the plan: replayed here from the frames alone, all data arrive, and only over links."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from topodesign import Plan, schedule
from topodesign.plans.time.ticks import time_rounds
from topodesign.report.charts.structure import structure_drawing
from topodesign.report.page.player import player_of


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
    monkeypatch.setattr("topodesign.report.page.player.MOST_SENDS", 300)
    plan = schedule("hypercube(4)", "allreduce")
    data = played(plan)
    assert len(data["blocks"]) == 1
    assert "alone" in data["note"]
    assert all(len(got) == wanted for got, wanted in replayed(data))


def test_large_plans_are_not_played() -> None:
    plan = schedule("circulant(65,1,2,3)", "allgather")
    assert player_of(plan, structure_drawing(plan.place)) is None
