"""The simulator of tree schedules: laws of the pipeline, an event simulation beside it, and failed links."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.tree_tables import Trees
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective, fabric, tree_schedule
from topodesign.base.errors import ParameterError
from topodesign.base.latency import GAP, HOP, USUAL, Latency
from topodesign.plans.plan import Plan
from topodesign.plans.time.chunks import OwnLinks, PipelineSimulation, simulate_chunks
from topodesign.plans.time.losses import Link
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.link_table import LinkTable

ALPHA, UNIT = Fraction(1, 10**5), Fraction(10**11)
collectives = st.sampled_from(TREE_COLLECTIVES)


def sample(collective: TreeCollective, seed: int = 1, nodes: int = 6) -> Trees:
    rng = random.Random(seed)  # noqa: S311
    return tree_schedule(fabric(nodes, 3, rng), collective, rng, per_root=4)


def simulate_trees(schedule: Trees, **asked: Any) -> PipelineSimulation:
    return simulate_chunks(schedule.on(schedule.topology), **asked)


def run(schedule: Trees, size: int, chunks: int | None = None, latency: Latency = USUAL) -> PipelineSimulation:
    return simulate_chunks(
        schedule.on(schedule.topology), latency=latency, size=Fraction(size), unit=UNIT, chunks=chunks
    )


def shards(schedule: Trees) -> int:
    return 1 if schedule.collective.name in {"broadcast", "reduce"} else len(schedule.compute_nodes)


def slowest(schedule: Trees, row: int, latency: dict[Link, Fraction]) -> Fraction:
    """The latency of the slowest route of a tree edge."""
    ways = [
        schedule.hop[schedule.hop_start[at] : schedule.hop_start[at + 1]].tolist()
        for at in np.flatnonzero(schedule.route_edge == row).tolist()
    ]
    return max(sum((latency[hop] for hop in pairwise(way)), Fraction(0)) for way in ways)


def slowest_link(schedule: Trees, row: int, slowness: dict[Link, Fraction] | None) -> Fraction:
    """How often slower than planned the slowest link of a tree edge is."""
    ways = [
        schedule.hop[schedule.hop_start[at] : schedule.hop_start[at + 1]].tolist()
        for at in np.flatnonzero(schedule.route_edge == row).tolist()
    ]
    return max((slowness or {}).get(hop, Fraction(1)) for way in ways for hop in pairwise(way))


def messages(schedule: Trees, rows: list[int]) -> tuple[int, int]:
    """Return most receivers that a node sends to over one of its links, and most switches between two ends."""
    receivers: dict[Link, set[int]] = defaultdict(set)
    between = 0
    for row in rows:
        for at in np.flatnonzero(schedule.route_edge == row).tolist():
            way = schedule.hop[schedule.hop_start[at] : schedule.hop_start[at + 1]].tolist()
            receivers[way[0], way[1]].add(way[-1])
            between = max(between, len(way) - 2)
    return max(map(len, receivers.values()), default=1), between


def by_events(
    schedule: Trees,
    size: int,
    chunks: int,
    latency: Latency,
    of_links: dict[Link, Fraction] | None = None,
    *,
    slowness: dict[Link, Fraction] | None = None,
) -> Fraction:
    """Send chunk after chunk over every tree edge as soon as the edge is free and all of the chunk is there."""
    begin = Fraction(0)
    halves = [np.flatnonzero((schedule.tree < schedule.reduce_trees) == inward).tolist() for inward in (True, False)]
    step = [messages(schedule, [*halves[0], *halves[1]] if schedule.concurrent else half) for half in halves]
    starts, switches = map(max, zip(*step, strict=True))
    shared = (starts - 1) * latency.gap + switches * latency.hop
    complete: dict[tuple[int, int], Fraction] = {}  # when a root has a chunk from all its in-trees
    for phase in (schedule.tree < schedule.reduce_trees, schedule.tree >= schedule.reduce_trees):
        there: dict[tuple[int, int, int], Fraction] = {}
        for row in np.flatnonzero(phase).tolist():
            tree, src, dst = int(schedule.tree[row]), int(schedule.src[row]), int(schedule.dst[row])
            root, weight = int(schedule.root[tree]), int(schedule.weight[tree])
            together = (np.arange(len(schedule)) < schedule.reduce_trees) == (tree < schedule.reduce_trees)
            data = Fraction(size) * weight / int(schedule.weight[together].sum())
            late = latency.alpha or Fraction(0) if of_links is None else slowest(schedule, row, of_links)
            late += shared
            takes = late + 8 * data / chunks / (weight * schedule.rate * UNIT) * slowest_link(schedule, row, slowness)
            free = begin
            for chunk in range(chunks):
                ready = complete.get((root, chunk), begin) if src == root else begin
                free = max(free, there.get((tree, src, chunk), ready)) + takes
                there[tree, dst, chunk] = max(there.get((tree, dst, chunk), begin), free)
        end = max(there.values(), default=begin)
        if not schedule.concurrent:
            begin = end
            continue
        for (tree, node, chunk), time in there.items():
            if node == schedule.root[tree]:
                complete[node, chunk] = max(complete.get((node, chunk), begin), time)
    return end


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), collectives, st.integers(2, 6), st.integers(1, 5), st.integers(1, 10**7))
def test_the_formula_is_what_events_give(
    seed: int, collective: TreeCollective, nodes: int, chunks: int, size: int
) -> None:
    schedule = sample(collective, seed, nodes)
    assert run(schedule, size, chunks).time == by_events(schedule, size, chunks, USUAL)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), collectives, st.integers(2, 6), st.integers(1, 5), st.integers(1, 10**7))
def test_links_of_unlike_latency_are_what_events_give(
    seed: int, collective: TreeCollective, nodes: int, chunks: int, size: int
) -> None:
    schedule = sample(collective, seed, nodes)
    rng = random.Random(seed)  # noqa: S311
    latency = [Fraction(rng.choice([0, 1, 2, 9]), 10**6) for _ in schedule.topology.src]
    how: dict[str, Any] = {
        "size": Fraction(size),
        "unit": UNIT,
        "latency": Latency(hop=Fraction(0)),
        "own": OwnLinks.late(latency),
    }
    found = simulate_trees(schedule, chunks=chunks, **how)
    ends = {(u, v): late for (u, v, _), late in zip(schedule.topology.links(), latency, strict=True)}
    assert found.time == by_events(schedule, size, chunks, Latency(hop=Fraction(0)), ends)
    best = simulate_trees(schedule, **how)
    assert best.time <= min(
        found.time,
        *(simulate_trees(schedule, chunks=c, **how).time for c in (1, 2, 3)),
    )
    alike = simulate_chunks(
        schedule.on(schedule.topology),
        chunks=chunks,
        **how | {"own": OwnLinks.late([ALPHA] * len(latency))},
    )
    if not schedule.topology.switches:
        assert alike.time == run(schedule, size, chunks).time


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), collectives, st.integers(2, 6), st.integers(1, 5), st.integers(1, 10**7))
def test_a_table_of_links_is_what_events_give(
    seed: int, collective: TreeCollective, nodes: int, chunks: int, size: int
) -> None:
    """Latencies and bandwidths of single links: the rest have alpha out of nodes and hop out of switches."""
    schedule = sample(collective, seed, nodes)
    rng = random.Random(seed)  # noqa: S311
    links = {(u, v): capacity for u, v, capacity in schedule.topology.links()}
    alpha = {link: Fraction(rng.choice([0, 1, 9]), 10**6) for link in links if rng.random() < 0.5}
    rate = {link: UNIT * c * Fraction(rng.choice([1, 2, 3]), 2) for link, c in links.items() if rng.random() < 0.5}
    plan, ports = Plan(schedule.topology, schedule.flow), int(schedule.topology.out_ports[schedule.compute_nodes].max())
    unlike = [LinkTable(alpha, rate), LinkTable({}, rate)]
    for table in unlike:
        run = simulate(plan, size=size, chunks=chunks, links=table, bandwidth=UNIT * ports)
        usual = {(u, v): HOP if u in schedule.topology.switches else ALPHA for u, v in links}
        slow = {link: UNIT * links[link] / own for link, own in rate.items()}
        assert run.time == by_events(
            schedule, size, chunks, Latency(hop=Fraction(0)), usual | dict(table.alpha), slowness=slow
        )
        best = simulate(plan, size=size, links=table, bandwidth=UNIT * ports)
        assert isinstance(run.run, PipelineSimulation)
        assert isinstance(best.run, PipelineSimulation)
        assert best.time <= run.time or chunks > best.run.smallest
        assert run.run.utilisation.max() <= 1 + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), collectives, st.integers(1, 10**9), st.integers(1, 2000))
def test_no_number_of_chunks_is_better_than_the_one_chosen(
    seed: int, collective: TreeCollective, size: int, other: int
) -> None:
    schedule = sample(collective, seed)
    best = run(schedule, size)
    weight = int(schedule.weight.sum()) // len(best.phase_ends or ())
    smallest = Fraction(size, weight) * int(schedule.weight.min())
    if other <= smallest:
        assert best.time <= run(schedule, size, other).time
    for chunks in (best.chunks - 1, best.chunks + 1):
        if 1 <= chunks <= smallest:
            assert best.time <= run(schedule, size, chunks).time


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_small_data_show_latency_and_large_data_bandwidth(collective: TreeCollective) -> None:
    schedule = sample(collective)
    small = run(schedule, 1)
    assert small.chunks == 1
    late = sum(one.height * USUAL.of_step(one.starts, one.switches) for one in small.phases)
    assert small.time - late == schedule.height * small.optimum / len(small.phase_ends or ())
    assert small.optimum < ALPHA / 1000
    times = [run(schedule, 10**power) for power in (6, 9, 12, 15)]
    over = [one.time / one.optimum for one in times]
    assert all(later < earlier for earlier, later in pairwise(over))
    assert 1 < over[-1] < Fraction(10001, 10000)
    assert times[0].optimum == Fraction(10**6, shards(schedule)) * schedule.inverse_rate * 8 / UNIT


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_without_latency_a_link_is_busy_all_the_time_for_endless_chunks(collective: TreeCollective) -> None:
    schedule = sample(collective)
    result = run(schedule, 10**9, latency=Latency(*[Fraction(0)] * 3))
    assert float(result.time / result.optimum) == pytest.approx(1, abs=1e-5)
    phases = len(result.phase_ends or ())
    assert result.utilisation.max() <= 1 + 1e-9
    assert result.utilisation.max() >= (1 - 1e-4) / phases
    assert sum(len(way) - 1 for way in result.critical) == schedule.height


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), collectives, st.integers(0, 10**3))
def test_what_a_failed_link_breaks(seed: int, collective: TreeCollective, choice: int) -> None:
    """Pairs that are lost are those whose way through some tree leads over the link."""
    schedule = sample(collective, seed)
    links = schedule.topology.links()
    u, v, _ = links[choice % len(links)]
    result = simulate_chunks(
        schedule.on(schedule.topology),
        latency=USUAL,
        size=Fraction(10**6),
        unit=UNIT,
        failed_links=[(u, v)],
    )
    dead = set()
    for route, edge in enumerate(schedule.route_edge.tolist()):
        hops = schedule.hop[schedule.hop_start[route] : schedule.hop_start[route + 1]].tolist()
        dead |= {edge} if (u, v) in pairwise(hops) else set()
    lost: set[tuple[int, int]] = set()
    for tree, root in enumerate(schedule.root.tolist()):
        rows = np.flatnonzero(schedule.tree == tree).tolist()
        inward = tree < schedule.reduce_trees
        up = {int((schedule.src if inward else schedule.dst)[row]): row for row in rows}
        for node in schedule.compute_nodes.tolist():
            at, broken = node, False
            while at != root:
                broken |= up[at] in dead
                at = int((schedule.dst if inward else schedule.src)[up[at]])
            if broken and inward and collective == "allreduce":
                lost |= {(root, other) for other in schedule.compute_nodes.tolist()}
            elif broken:
                lost.add((root, node))
    assert result.loss is not None
    assert [tuple(pair) for pair in result.loss.pairs.tolist()] == sorted(lost)
    assert bool(len(result.loss.rows)) == bool(dead)
    assert str(result)


def test_bad_numbers_are_refused() -> None:
    schedule = sample("allgather")
    good = partial(simulate_chunks, schedule.on(schedule.topology), latency=USUAL, size=Fraction(1), unit=UNIT)
    with pytest.raises(ParameterError, match="above zero"):
        good(size=Fraction(0))
    with pytest.raises(ParameterError, match="above zero"):
        good(unit=Fraction(0))
    with pytest.raises(ParameterError, match="not be negative"):
        good(latency=Latency(Fraction(-1)))
    with pytest.raises(ParameterError, match="not be negative"):
        good(latency=Latency(gap=Fraction(-1)))
    with pytest.raises(ParameterError, match="chunk"):
        good(chunks=0)
    with pytest.raises(ParameterError, match="no link"):
        good(failed_links=[(0, 0)])


@pytest.mark.parametrize("boxes", [1, 2])
def test_what_switches_add_and_copy_is_timed_by_the_sends_of_nodes(boxes: int) -> None:
    """(h + C - 1) (L + B / C) with the height that the verifier finds, B of 450 or 400 GB/s.

    A GPU of one box has one message for its NVSwitch, which passes it on to the others.
    """
    plan = schedule(f"dgx_h100({boxes})", method="in-network")
    size, alpha, chunks = 10**9, Fraction(1, 10**5), 10
    run = simulate(plan, size=size, alpha=alpha, chunks=chunks)
    busy = Fraction(size, (450, 400)[boxes - 1] * 10**9)
    height = verify(plan).figures["height"]
    [phase] = run.run.record()["phases"]
    assert boxes > 1 or (phase["starts"], phase["switches"]) == (1, 1)
    step = alpha + (phase["starts"] - 1) * GAP + phase["switches"] * HOP
    assert run.time == (height + chunks - 1) * (step + busy / chunks)
    down = simulate(plan, size=size, without=["box0/gpu0-box0/nvswitch"])
    assert not down.completes
    assert "nvswitch lacks" not in str(down)


def test_latencies_of_the_fabric_are_those_of_its_links() -> None:
    """One chunk from GPU to GPU goes over two links of 2.5 us between boxes and two of 0.3 us in one."""
    plan = schedule("dgx_a100(2)", "broadcast", root="box0/gpu0", fixed_k=1)
    small = simulate(plan, size=1, alpha="fabric")
    assert "the fabric's own latencies" in str(small)
    by_alpha = {alpha: simulate(plan, size=1, alpha=alpha).time for alpha in ("600ns", "5us")}
    assert by_alpha["600ns"] < small.time < by_alpha["5us"]
    with pytest.raises(ParameterError, match="has no latencies"):
        simulate(schedule("torus(2,2)", "broadcast", root=0), alpha="fabric")
    with pytest.raises(ParameterError, match="has no latencies"):
        simulate(schedule("torus(2,2)"), alpha="fabric")
    fine = replace(plan.fabric, latency=(("InfiniBand", Fraction(1, 3)), ("NVLink", Fraction(1, 10**25))))
    assert simulate(replace(plan, place=fine), size=1, alpha="fabric").time > Fraction(2, 3)
