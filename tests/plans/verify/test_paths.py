"""The verifier of paths: right ones, whatever they are for, and every way to make them wrong."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.paths import COLLECTIVES, Paths, some_paths
from tests.samples.verdicts import replay_rounds, verify_paths
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.collectives import as_collective
from topodesign.fabrics.fabric import Shared
from topodesign.plans.build import build_paths
from topodesign.plans.plan import Plan
from topodesign.plans.unroll import unroll
from topodesign.plans.verify.plans import check_movement


def drawn(seed: int, collective: str = "all-to-all") -> Paths:
    rng = random.Random(seed)  # noqa: S311  a sample
    return some_paths(collective, rng.randint(2, 5), rng.randint(1, 3), rng)


@given(st.integers(0, 2**32 - 1), st.sampled_from(COLLECTIVES), st.integers(1, 3))
@settings(max_examples=60)
def test_right_paths_are_right_as_rounds_too(seed: int, collective: str, chunks: int) -> None:
    """Two verifiers that share nothing, and loads added up another way."""
    paths = drawn(seed, collective)
    report = verify_paths(paths)
    assert report.ok, report.problems
    assert report.inverse_rate == paths.inverse_rate
    assert report.height == paths.height
    rounds = unroll(paths.flow, chunks)
    replayed = replay_rounds(rounds)
    assert replayed.ok, replayed.problems
    assert replayed.redundant == 0
    assert rounds.steps == paths.height + chunks - 1


@given(st.integers(0, 2**32 - 1), st.sampled_from(COLLECTIVES), st.integers(1, 9))
@settings(max_examples=30)
def test_links_with_a_limit_in_common_are_as_one_link_that_all_go_over(seed: int, collective: str, room: int) -> None:
    paths = drawn(seed, collective)
    rng, fabric = random.Random(seed), Plan(paths.topology, paths.flow).fabric  # noqa: S311  a sample
    links = rng.sample([(u, v) for u, v, _ in paths.topology.links()], 2)
    bus = tuple((fabric.names[u], fabric.names[v]) for u, v in links)
    hops = [paths.hop[a:b].tolist() for a, b in pairwise(paths.hop_start.tolist())]
    carried = sum(
        weight
        for way, weight in zip(hops, paths.weight.tolist(), strict=True)
        for pair in pairwise(way)
        if pair in links
    )
    limited = replace(fabric, shared=(Shared("bus", room * fabric.unit, bus),))
    figures = check_movement(limited, paths.flow).figures
    inverse = max(paths.inverse_rate, Fraction(carried, room * paths.units)) / fabric.unit
    members = len(paths.collective.members(paths.topology.nodes, paths.topology.switches))
    assert figures["inv_x_star"] == inverse
    assert figures["height"] == paths.height
    assert figures["algorithmic_bandwidth"] == paths.collective.shards(members) / inverse


@given(st.integers(0, 2**32 - 1), st.integers(2, 9))
@settings(max_examples=30)
def test_blocks_of_so_many_pieces_take_as_long_as_of_one(seed: int, pieces: int) -> None:
    """Time is reported for the data of a node, whatever they are; what a node keeps neither moves nor counts."""
    paths = drawn(seed)
    members = len(paths.collective.members(paths.topology.nodes, paths.topology.switches))
    amounts = np.where(np.eye(members, dtype=bool), 7, pieces).ravel().tolist()
    more = replace(paths, weight=pieces * paths.weight, amounts=tuple(amounts))
    assert verify_paths(more).inverse_rate == paths.inverse_rate
    assert not verify_paths(replace(more, weight=paths.weight)).ok


@given(st.integers(0, 2**32 - 1), st.sampled_from(("weight", "block", "hop", "less", "loop", "more")))
@settings(max_examples=60)
def test_wrong_paths_are_wrong(seed: int, what: str) -> None:
    """One change at a time, which always loses or moves something, is always found, and as rounds too."""
    paths = drawn(seed)
    rng = random.Random(seed)  # noqa: S311  a sample
    at = rng.randrange(len(paths))
    columns: dict[str, Any] = {name: getattr(paths, name).copy() for name in ("block", "weight", "hop_start", "hop")}
    start, stop = int(paths.hop_start[at]), int(paths.hop_start[at + 1])
    if what == "weight":
        columns["weight"][at] += rng.choice([1, 2])
    elif what == "block":
        columns["block"][at] = (columns["block"][at] + rng.randint(1, 5)) % paths.topology.nodes**2
    elif what == "hop":
        place = rng.randrange(start, stop)
        columns["hop"][place] = (columns["hop"][place] + 1) % paths.topology.nodes
    elif what == "more":
        columns["block"] = np.append(columns["block"], paths.block[at])
        columns["weight"] = np.append(columns["weight"], paths.weight[at])
        columns["hop_start"] = np.append(columns["hop_start"], len(paths.hop) + stop - start)
        columns["hop"] = np.append(columns["hop"], paths.hop[start:stop])
    elif what == "loop":
        there_and_back = [int(paths.hop[start + 1]), int(paths.hop[start])]
        columns["hop"] = np.insert(columns["hop"], start + 1, there_and_back)
        columns["hop_start"][at + 1 :] += 2
    else:
        kept = np.arange(len(paths)) != at
        columns["block"], columns["weight"] = columns["block"][kept], columns["weight"][kept]
        columns["hop"] = np.delete(columns["hop"], np.arange(start, stop))
        columns["hop_start"] = np.concatenate(([0], np.cumsum(np.diff(paths.hop_start)[kept])))
    wrong = replace(paths, **columns)
    report = verify_paths(wrong)
    if what == "hop" and report.ok:  # another way that is as good
        assert replay_rounds(unroll(wrong.flow)).ok
    else:
        assert not report.ok
        assert report.problems
        assert report.inverse_rate is None
    if what in {"weight", "more"}:
        with pytest.raises(InfeasibleError, match="more than there is"):
            unroll(wrong.flow)


def test_problems_say_where() -> None:
    paths = drawn(3)
    names = [f"n{node}" for node in range(paths.topology.nodes)]
    columns: dict[str, Any] = {name: getattr(paths, name).copy() for name in ("block", "weight", "hop_start", "hop")}
    columns["hop"][0] = columns["hop"][1]
    text = str(
        check_movement(
            replace(Plan(paths.topology, paths.flow).fabric, names=tuple(names)), replace(paths, **columns).flow
        ).format(paths.collective)
    )
    assert text.startswith("all-to-all: WRONG\n  piece 0: ")
    assert f"route n{paths.hop[1]} -> n{paths.hop[1]} -> " in text
    assert "the block from n0 to n3" in text
    assert "n" + str(paths.hop[1]) in text
    assert "goes where there is no link" in text
    none = replace(
        paths, block=np.zeros(0, int), weight=np.zeros(0, int), hop_start=np.zeros(1, int), hop=np.zeros(0, int)
    )
    assert verify_paths(none).problems == ("it has no paths",)
    with pytest.raises(InfeasibleError, match="without paths"):
        unroll(none.flow)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"units": 0}, "from 1 to"),
        ({"weight": 0}, "from 1 to"),
        ({"block": 10**6}, "column"),
        ({"way": [0]}, "two vert"),
    ],
)
def test_the_form_is_checked_when_made(changes: dict[str, Any], message: str) -> None:
    paths = drawn(5)
    row = changes.get("block", 1), changes.get("weight", 1), changes.get("way", paths.ways[0])
    with pytest.raises(ScheduleError, match=message):
        build_paths(paths.topology, paths.collective, changes.get("units", 1), [row])
    with pytest.raises(ScheduleError, match="not for"):
        build_paths(paths.topology, as_collective("allgather"), 1, [])


def test_equal_paths_are_equal() -> None:
    first, second = drawn(7).flow, drawn(7).flow
    assert first == second
    assert hash(first) == hash(second)
    assert first != drawn(8).flow
    assert first.kind == "paths"
