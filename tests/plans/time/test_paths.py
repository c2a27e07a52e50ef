"""Paths in time: the formula against rounds played one by one, the best chunks against all, and failures."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.paths import COLLECTIVES, Paths, some_paths
from topodesign.base.errors import ParameterError
from topodesign.base.latency import GAP, HOP, USUAL, Latency
from topodesign.plans.chunk_ops import find_ways
from topodesign.plans.time.chunks import OwnLinks, PipelineSimulation, simulate_chunks
from topodesign.plans.time.simulate import simulate
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology

UNIT = Fraction(8 * 10**9)
NONE = Latency(*[Fraction(0)] * 3)


def simulate_paths(paths: Paths, **asked: Any) -> PipelineSimulation:
    return simulate_chunks(paths.flow, **asked)


def drawn(seed: int, collective: str = "all-to-all") -> Paths:
    rng = random.Random(seed)  # noqa: S311  a sample
    return some_paths(collective, rng.randint(2, 5), rng.randint(1, 3), rng)


@given(st.integers(0, 2**32 - 1), st.sampled_from(COLLECTIVES), st.integers(0, 3))
@settings(max_examples=40)
def test_the_best_number_of_chunks_is_the_best(seed: int, collective: str, latency: int) -> None:
    paths = drawn(seed, collective)
    alpha = Fraction(latency, 10**6)
    messages = Latency(alpha)
    asked: dict[str, Any] = {"latency": messages, "size": Fraction(2**16), "unit": UNIT}
    best = simulate_paths(paths, **asked)
    starts, switches = sends(paths)
    assert [(one.starts, one.switches) for one in best.phases] == [(starts, switches)]
    step = alpha + (starts - 1) * GAP + switches * HOP
    assert best.time >= best.optimum
    for chunks in (1, 2, 3, 5, 8, 30):
        given_ = simulate_paths(paths, **asked, chunks=chunks)
        assert given_.time == (paths.height + chunks - 1) * (step + best.optimum / chunks)
        assert given_.time >= best.time or chunks > best.chunks
    assert best.utilisation.max() <= 1 + 1e-9


def test_time_by_bandwidth_is_that_of_the_fullest_link() -> None:
    paths = drawn(11)
    endless = simulate_paths(paths, latency=NONE, size=Fraction(10**6), unit=UNIT, chunks=10**6)
    members = paths.topology.nodes - len(paths.topology.switches)
    assert endless.optimum == Fraction(10**6, members) * paths.inverse_rate / 10**9
    assert float(endless.time) == pytest.approx(float(endless.optimum), rel=1e-4)
    assert endless.utilisation.max() == pytest.approx(1, rel=1e-4)


def test_failures_stop_the_paths_that_go_there() -> None:
    plan = schedule("dgx_a100(2)", "all-to-all")
    right = simulate(plan, size="64MiB")
    assert right.completes
    broken = simulate(plan, size="64MiB", without=["box0/gpu0-rail0"])
    assert not broken.completes
    assert "does not finish" in str(broken)
    lost = broken.run.loss
    assert lost is not None
    flow = plan.flow
    assert 0 < len(lost.pairs) < 240
    ways = find_ways(flow)
    for path in np.unique(flow.piece[lost.rows]).tolist():
        names = [plan.fabric.names[at] for at in ways[path]]
        assert any({a, b} == {"box0/gpu0", "rail0"} for a, b in itertools.pairwise(names))
    with pytest.raises(ParameterError, match="no link"):
        simulate_chunks(flow, latency=USUAL, size=Fraction(1), unit=UNIT, failed_links=[(0, 1)])


@pytest.mark.parametrize(
    "wrong", [{"latency": Latency(Fraction(-1))}, {"size": Fraction(0)}, {"unit": Fraction(0)}, {"chunks": 0}]
)
def test_numbers_out_of_range(wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"latency": USUAL, "size": Fraction(1), "unit": UNIT} | wrong
    with pytest.raises(ParameterError):
        simulate_paths(drawn(1), **asked)


def test_nothing_to_do_takes_no_time() -> None:
    """A scatter on a fabric whose paths are all gone."""
    paths = drawn(2)
    every = [(int(u), int(v)) for u, v in zip(paths.topology.src, paths.topology.dst, strict=True)]
    assert isinstance(paths.topology, Topology)
    result = simulate_paths(paths, latency=USUAL, size=Fraction(8), unit=UNIT, failed_links=every)
    assert result.time == 0
    assert result.loss is not None
    assert len(result.loss.rows) == len(paths.flow)
    assert np.all(result.utilisation == 0)
    assert "paths" in str(result)


def sends(paths: Paths) -> tuple[int, int]:
    """Return most receivers that a node sends to over one of its links, and most switches between two nodes."""
    receivers: dict[tuple[int, int], set[int]] = defaultdict(set)
    between = 0
    for at in range(len(paths)):
        way = paths.hop[paths.hop_start[at] : paths.hop_start[at + 1]].tolist()
        stops = [place for place, vertex in enumerate(way) if vertex not in paths.topology.switches]
        for a, b in itertools.pairwise(stops):
            receivers[way[a], way[a + 1]].add(way[b])
            between = max(between, b - a - 1)
    return max(map(len, receivers.values()), default=1), between


def by_events(
    paths: Paths,
    busy: Fraction,
    chunks: int,
    latency: dict[tuple[int, int], Fraction],
    slow: dict[tuple[int, int], Fraction] | None = None,
) -> Fraction:
    """Send chunk after chunk from node to node as soon as the chunk is there and the one before has arrived."""
    last = Fraction(0)
    for at in range(len(paths)):
        way = paths.hop[paths.hop_start[at] : paths.hop_start[at + 1]].tolist()
        stops = [place for place, vertex in enumerate(way) if vertex not in paths.topology.switches]
        takes = [
            busy / chunks * max((slow or {}).get(hop, Fraction(1)) for hop in itertools.pairwise(way[a : b + 1]))
            + sum(latency[hop] for hop in itertools.pairwise(way[a : b + 1]))
            for a, b in itertools.pairwise(stops)
        ]
        free = [Fraction(0)] * len(takes)
        for _ in range(chunks):
            there = Fraction(0)
            for send, time in enumerate(takes):
                there = free[send] = max(there, free[send]) + time
        last = max(last, *free)
    return last


@given(st.integers(0, 2**32 - 1), st.sampled_from(COLLECTIVES), st.integers(1, 9))
@settings(max_examples=40)
def test_sends_take_the_latencies_of_their_links(seed: int, collective: str, chunks: int) -> None:
    """The formula against events, alike latencies against one, and the best number of chunks against others."""
    paths = drawn(seed, collective)
    rng = random.Random(seed)  # noqa: S311
    own = [Fraction(rng.randint(0, 9), rng.choice((3, 7)) * 10**6) for _ in paths.topology.links()]
    latency = {(u, v): one for (u, v, _), one in zip(paths.topology.links(), own, strict=True)}
    asked: dict[str, Any] = {"latency": NONE, "size": Fraction(2**14), "unit": UNIT, "own": OwnLinks.late(own)}
    run = simulate_paths(paths, **asked, chunks=chunks)
    assert run.time == by_events(paths, run.optimum, chunks, latency)
    late = (sends(paths)[0] - 1) * GAP
    with_gaps = simulate_paths(paths, **asked | {"latency": Latency(None)}, chunks=chunks)
    assert run.time <= with_gaps.time <= run.time + (paths.height + chunks - 1) * late
    best = simulate_paths(paths, **asked)
    assert best.time == by_events(paths, best.optimum, best.chunks, latency)
    for count in (best.chunks - 1, best.chunks, best.chunks + 1):
        assert count < 1 or simulate_paths(paths, **asked, chunks=count).time >= best.time or count > best.chunks
    none = [Fraction(0)] * len(own)
    assert simulate_paths(paths, **asked | {"own": OwnLinks.late(none)}, chunks=chunks).time == (
        simulate_paths(paths, **asked | {"own": None}, chunks=chunks).time
    )
    if len(paths):
        lone = replace(
            paths,
            block=paths.block[:1].copy(),
            weight=paths.weight[:1].copy(),
            hop_start=paths.hop_start[:2].copy(),
            hop=paths.hop[: paths.hop_start[1]].copy(),
        )
        assert {one for way in simulate_paths(lone, **asked).critical for one in way} == set(lone.hop.tolist())


@given(st.integers(0, 2**32 - 1), st.sampled_from(COLLECTIVES), st.integers(1, 9))
@settings(max_examples=40)
def test_sends_wait_for_slower_links(seed: int, collective: str, chunks: int) -> None:
    """Links that are slower or faster than their capacities, against events; time by bandwidth is by the slowest."""
    paths = drawn(seed, collective)
    rng = random.Random(seed)  # noqa: S311
    links = [(u, v) for u, v, _ in paths.topology.links()]
    own = OwnLinks(
        tuple(Fraction(rng.randint(0, 9), 10**6) for _ in links), tuple(Fraction(rng.randint(1, 6), 3) for _ in links)
    )
    asked: dict[str, Any] = {"latency": NONE, "size": Fraction(2**14), "unit": UNIT}
    planned = simulate_paths(paths, **asked, chunks=chunks).optimum
    run = simulate_paths(paths, **asked, own=own, chunks=chunks)
    latency, slow = (dict(zip(links, values, strict=True)) for values in (own.latency, own.slowness))
    assert run.time == by_events(paths, planned, chunks, latency, slow)
    used = {hop for at in range(len(paths)) for hop in itertools.pairwise(way_of(paths, at))}
    assert run.optimum == planned * max((slow[hop] for hop in used), default=Fraction(1))
    best = simulate_paths(paths, **asked, own=own)
    for count in (best.chunks - 1, best.chunks + 1):
        assert (
            count < 1 or simulate_paths(paths, **asked, own=own, chunks=count).time >= best.time or count > best.chunks
        )


def way_of(paths: Paths, number: int) -> list[int]:
    """Return the vertices of a path."""
    way: list[int] = paths.hop[paths.hop_start[number] : paths.hop_start[number + 1]].tolist()
    return way
