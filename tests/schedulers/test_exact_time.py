"""The fastest sends against brute force over all states, bounds, and laws."""

from __future__ import annotations

import heapq
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.timed import on_clock
from tests.samples.verdicts import verify_timed
from topodesign import build, schedule, simulate
from topodesign.base.errors import DisconnectedError, InfeasibleError, ScheduleError, TooLargeError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, COLLECTIVES, Collective
from topodesign.plans.flow_ops import concatenate
from topodesign.plans.link_times import LinkTimes
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.demands import Send, Setting, complete, lean
from topodesign.schedulers.exact_time import fastest, least_time
from topodesign.solve.discrete import Discrete
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

SINGLE = [one.at(0) if one.rooted else one for one in COLLECTIVES.values() if one != ALLREDUCE]


def random_setting(seed: int, nodes: int, links: int, collective: Collective, *, overlap: bool = False) -> Setting:
    """A ring in a random order and more links, none of which takes as long as another by rule."""
    random = np.random.default_rng(seed)
    order = random.permutation(nodes).tolist()
    pairs = {(order[at], order[(at + 1) % nodes]) for at in range(nodes)}
    rest = [pair for pair in itertools.permutations(range(nodes), 2) if pair not in pairs]
    pairs |= {rest[at] for at in random.permutation(len(rest))[: links - nodes].tolist()}
    topology = Topology.from_links(nodes, sorted(pairs))
    times = LinkTimes(
        Fraction(1, 10**9), random.integers(0, 4, size=len(pairs)), random.integers(1, 6, size=len(pairs))
    )
    return Setting.of(topology, collective, times, overlap=overlap)


def brute(setting: Setting) -> int:
    """The least time by going through all states, the earliest first: who has what, what is on its way, busy links.

    Sends may start when something has arrived or a link has become free: any plan can be moved to such times.
    """
    links = [(u, v) for u, v, _ in setting.topology.links()]
    goals = {(number, goal) for number, one in enumerate(setting.demands) for goal in one.goals}
    first = frozenset((number, one.source) for number, one in enumerate(setting.demands))
    heap: list[tuple[int, int, Any]] = [(0, 0, (first, (), ()))]
    seen, count = set(), itertools.count(1)
    while heap:
        time, _, state = heapq.heappop(heap)
        if state in seen:
            continue
        seen.add(state)
        held, flying, busy = state
        if goals <= held:
            return time
        taken = {link for _, link in busy}
        coming = {where for _, where in flying}
        ways: list[list[tuple[int, int] | None]] = []
        for link, (u, v) in enumerate(links):
            new = [
                (number, link)
                for number in range(len(setting.demands))
                if (number, u) in held and (number, v) not in held | coming
            ]
            if link not in taken and new:
                ways.append([None, *new])
        for choice in itertools.product(*ways):
            sends = [one for one in choice if one is not None]
            air = [*flying, *((setting.lasts[link], (number, links[link][1])) for number, link in sends)]
            used = [*busy, *((setting.busy[link], link) for _, link in sends)]
            if not air and not used:
                continue
            step = min(left for left, _ in [*air, *used])
            now = held | {where for left, where in air if left == step}
            then = (
                frozenset(now),
                tuple(sorted((left - step, where) for left, where in air if left > step and where not in now)),
                tuple(sorted((left - step, link) for left, link in used if left > step)),
            )
            if then not in seen:
                heapq.heappush(heap, (time + step, next(count), then))
    raise AssertionError("the goals are never reached")


def best_of(setting: Setting, **options: Any) -> int:
    """Search, check in full and return the ticks."""
    best = fastest(setting, seconds=30, **options)
    assert best.proof != "none"
    assert best.bound == best.timed.time
    report = verify_timed(setting.place, best.timed, best.bound)
    assert report.ok, str(report)
    assert report.redundant == report.refilled == 0
    ticks = best.timed.time / setting.tick
    assert ticks.denominator == 1
    return int(ticks)


@pytest.mark.once
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("collective", SINGLE, ids=str)
def test_search_finds_what_brute_force_finds(collective: Collective, overlap: bool) -> None:
    sizes = [(3, 4, 2), (4, 5, 2)] if collective.rooted else [(3, 3, 2), (3, 4, 1)]
    if collective == ALL_TO_ALL:
        sizes = [(2, 2, 3), (3, 3, 0 if overlap else 2)]
    for nodes, links, seeds in sizes:
        for seed in few(range(seeds), 2):
            setting = random_setting(seed, nodes, links, collective, overlap=overlap)
            assert best_of(setting) == brute(setting)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("collective", SINGLE, ids=str)
def test_brute_force_at_large(collective: Collective, seed: int) -> None:
    nodes, links = (4, 4 + seed % 4) if collective.rooted else (4, 4) if collective != ALL_TO_ALL else (3, 3)
    setting = random_setting(seed, nodes, links, collective, overlap=seed % 3 == 0)
    assert best_of(setting) == brute(setting)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 6), st.sampled_from(SINGLE), st.booleans())
def test_laws(seed: int, nodes: int, collective: Collective, overlap: bool) -> None:
    """Not below the bound, not above what shortest paths do, and as fast backwards."""
    setting = random_setting(seed, nodes, nodes + seed % nodes, collective, overlap=overlap)
    first = complete(setting)
    assert verify_timed(setting.place, setting.plan(first)).ok
    assert setting.ending(lean(setting, first)) <= setting.ending(first)
    best = best_of(setting)
    assert least_time(setting) <= best <= setting.ending(lean(setting, first))
    turned = setting.topology.transpose()
    order = np.lexsort((setting.topology.src, setting.topology.dst))
    times = LinkTimes(
        Fraction(1),
        np.array([setting.lasts[link] - setting.busy[link] if overlap else 0 for link in order]),
        np.array([setting.busy[link] for link in order]),
    )
    asked = setting.collective
    back = Setting.of(turned, asked.dual, times, overlap=overlap)
    assert best_of(back) * back.grain == best
    slow = [Send(one.demand, one.link, one.start * 2, one.start * 2 + setting.lasts[one.link]) for one in first]
    assert best_of(setting, known=slow) == best


def ticks_of(setting: Setting) -> int:
    return best_of(setting) * setting.grain


def test_known_times() -> None:
    """A ring is filled from both sides; three chunks over one link follow one another."""
    ring = build("biring(2,6)")
    even = LinkTimes(Fraction(1), np.zeros(12, dtype=np.int64), np.ones(12, dtype=np.int64))
    assert ticks_of(Setting.of(ring, ALLGATHER, even)) == 3
    path = Topology.from_links(3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    times = LinkTimes(Fraction(1), np.full(4, 2), np.full(4, 1))
    scatter = COLLECTIVES["scatter"].at(0)
    assert ticks_of(Setting.of(path, scatter, times)) == 6
    assert ticks_of(Setting.of(path, scatter, times, overlap=True)) == 6
    assert ticks_of(Setting.of(path, ALLGATHER, times)) == 6
    assert ticks_of(Setting.of(path, ALLGATHER, times._replace(latency=np.zeros(4, dtype=np.int64)), units=4)) == 8


def test_scatter_of_the_paper() -> None:
    """TACOS, figure 8: three steps on a ring of 4 nodes in one direction."""
    plan = schedule("uniring(1,4)", "scatter", root=0, method="exact")
    assert plan.claim["steps"] == 3
    timed = schedule("uniring(1,4)", "scatter", root=0, method="exact", alpha="1us", size="1kB", bandwidth="2Gbps")
    assert timed.claim["time"] == 3 * (Fraction(1, 10**6) + Fraction(8 * 250, 2 * 10**9))


def test_the_mesh_of_the_paper() -> None:
    """TACOS, figure 20: an allgather on a mesh of 3 x 3 takes 4 steps."""
    links = [
        (3 * r + c, 3 * (r + i) + c + j)
        for r, c, (i, j) in itertools.product(range(3), range(3), ((0, 1), (0, -1), (1, 0), (-1, 0)))
        if 0 <= r + i < 3 and 0 <= c + j < 3
    ]
    mesh = Topology.from_links(9, links)
    even = LinkTimes(Fraction(1), np.zeros(24, dtype=np.int64), np.ones(24, dtype=np.int64))
    assert best_of(Setting.of(mesh, ALLGATHER, even)) == 4


@pytest.mark.parametrize("collective", ["allgather", "allreduce", "reduce", "all-to-all"])
def test_plans(collective: str) -> None:
    table = LinkTable({(0, 1): Fraction(1, 10**5)}, {(0, 1): Fraction(10**9)})
    plan = schedule(
        "biring(2,4)", collective, root=2 if collective == "reduce" else None, method="exact", link_table=table
    )
    assert verify(plan).ok
    assert simulate(plan).time == plan.claim["time"]
    assert plan.generator["method"] == "exact"
    if collective == "allreduce":
        assert plan.notes[0].startswith("reduce-scatter: optimal (proven)")
        assert plan.notes[-1] == "that no allreduce is better does not follow"
    else:
        assert plan.notes[0].startswith("optimal (proven)")
        assert Fraction(plan.generator["bound"]) == plan.claim["time"]


def test_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any time for the search there is a plan, and it reports what it lacks."""
    monkeypatch.setattr(Discrete, "solve", lambda *_args, **_more: "stopped")
    monkeypatch.setattr(Discrete, "bound", 0)
    plan = schedule("torus(3,3)", "all-to-all", method="exact", alpha="1us")
    assert plan.generator["proof"] == "none"
    assert " of the lower bound: least time among plans of whole chunks" in plan.notes[0]
    assert "plans that send whole shards take" in plan.notes[0]
    assert verify(plan).ok


def test_what_the_solver_says_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    value = Discrete.value
    monkeypatch.setattr(Discrete, "value", lambda program, name: value(program, name) if name > 30 else 0)
    searched = [seed for seed in range(30) if _searched(random_setting(seed, 4, 6, ALLGATHER))]
    assert searched
    for seed in searched:
        with pytest.raises(ScheduleError, match="the solver's answer is not a plan"):
            fastest(random_setting(seed, 4, 6, ALLGATHER))


def _searched(setting: Setting) -> bool:
    return setting.ending(lean(setting, complete(setting))) > least_time(setting) + 2


def test_bad_input() -> None:
    times = LinkTimes(Fraction(1), np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64))
    with pytest.raises(DisconnectedError):
        Setting.of(Topology.from_links(3, [(0, 1), (1, 0)]), ALLGATHER, times)
    with pytest.raises(InfeasibleError, match="through switches"):
        Setting.of(Topology.from_links(2, [(0, 1), (1, 0)], switches=[1]), ALLGATHER, times)
    big = build("genkautz(4,1024)")
    times = LinkTimes(Fraction(1), np.zeros(len(big.src), dtype=np.int64), np.ones(len(big.src), dtype=np.int64))
    with pytest.raises(TooLargeError, match="too many"):
        Setting.of(big, ALLGATHER, times)


def test_in_turn() -> None:
    times = LinkTimes(Fraction(1), np.zeros(8, dtype=np.int64), np.ones(8, dtype=np.int64))
    ring = build("biring(2,4)")
    one, other = (fastest(Setting.of(ring, part, times)).timed for part in ALLREDUCE.parts)
    both = concatenate(one, other)
    assert both.time == one.time + other.time
    assert verify_timed(ring, both).ok
    with pytest.raises(ScheduleError, match="made of"):
        concatenate(other, one)
    with pytest.raises(ScheduleError, match="the same links"):
        concatenate(one, on_clock(other, size=Fraction(1)))
