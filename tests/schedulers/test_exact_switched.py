"""Exact plans through switches, for late nodes and for groups: brute force, order, and bounds."""

from __future__ import annotations

import heapq
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.samples.verdicts import verify_timed
from tests.schedulers.test_exact_time import SINGLE
from topodesign import Fabric, schedule, simulate, verify
from topodesign.base.errors import DisconnectedError, ParameterError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, COLLECTIVES, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import FabricLink
from topodesign.plans.link_times import LinkTimes
from topodesign.schedulers.demands import Setting, complete, lean
from topodesign.schedulers.exact_time import fastest, least_time
from topodesign.topology.topology import Topology

GB = 10**9


def switched(
    seed: int, nodes: int, collective: Collective, *, switches: int = 1, late: bool = False, overlap: bool = False
) -> Setting:
    """Nodes at switches, which are in a row, and some links beside them; times differ from link to link."""
    random = np.random.default_rng(seed)
    pairs = set()
    for node in range(nodes):
        switch = nodes + int(random.integers(switches))
        pairs |= {(node, switch), (switch, node)}
    for switch in range(nodes, nodes + switches - 1):
        pairs |= {(switch, switch + 1), (switch + 1, switch)}
    if random.integers(2):
        pairs.add(tuple(random.permutation(nodes)[:2].tolist()))
    topology = Topology.from_links(nodes + switches, sorted(pairs), switches=range(nodes, nodes + switches))
    times = LinkTimes(Fraction(1), random.integers(0, 2, size=len(pairs)), random.integers(1, 3, size=len(pairs)))
    ready = tuple(Fraction(int(one)) for one in random.integers(0, 4, size=nodes)) + (Fraction(0),) * switches
    return Setting.of(topology, collective, times, overlap=overlap, ready=ready if late else ())


def brute(setting: Setting) -> int:
    """The least time by going through all states, tick by tick: who has what, what is on its way, and ports to come."""
    links = [(u, v) for u, v, _ in setting.topology.links()]
    goals = {(number, goal) for number, one in enumerate(setting.demands) for goal in one.goals}
    first = frozenset((number, one.source) for number, one in enumerate(setting.demands))
    heap: list[tuple[int, int, Any]] = [(0, 0, (first, (), (), 0))]
    seen, count = set(), itertools.count(1)
    best = 10**9
    while heap:
        time, _, state = heapq.heappop(heap)
        if (time, state) in seen or time >= best:
            continue
        seen.add((time, state))
        held, flying, reserved, rest = state
        if goals <= held | {where for _, where in flying}:
            best = min(best, time + max([rest, *(left for left, _ in flying)]))
            continue
        coming = {where for _, where in flying}
        chosen: list[list[tuple[int, int]]] = [[]]
        for link, (u, v) in enumerate(links):
            new = [
                (number, link)
                for number in range(len(setting.demands))
                if time >= setting.opens[link] and (number, u) in held and (number, v) not in held | coming
            ]
            chosen += [[*some, one] for some in chosen for one in new]
        for sends in chosen:
            spans = [*reserved]
            for _, link in sends:
                spans += [(port, offset, offset + hold) for port, offset, hold in setting.ports[link]]
            spans.sort()
            if any(a[0] == b[0] and b[1] < a[2] for a, b in itertools.pairwise(spans)):
                continue
            air = [*flying, *((setting.lasts[link], (number, links[link][1])) for number, link in sends)]
            if len({where for _, where in air}) < len(air):
                continue
            last = max([rest, *(setting.lasts[link] + setting.shuts[link] for _, link in sends)])
            then = (
                frozenset(held | {where for left, where in air if left == 1}),
                tuple(sorted((left - 1, where) for left, where in air if left > 1)),
                tuple((port, max(0, begin - 1), end - 1) for port, begin, end in spans if end > 1),
                max(0, last - 1),
            )
            heapq.heappush(heap, (time + 1, next(count), then))
    return best


def checked(setting: Setting) -> int:
    """Search, check in full and return the ticks."""
    best = fastest(setting, seconds=30)
    report = verify_timed(setting.place, best.timed)
    assert report.ok, str(report)
    # Where sums overtake each other in a switch the best sends make no plan, and nothing is reported as proven.
    assert (best.proof == "none") == (best.timed.time > best.bound)
    assert best.proof != "none" or setting.backwards
    ticks = best.bound / setting.tick
    assert ticks.denominator == 1
    assert least_time(setting) <= ticks <= setting.ending(lean(setting, complete(setting)))
    return int(ticks)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("collective", SINGLE, ids=str)
def test_brute_force(collective: Collective, late: bool) -> None:
    nodes = 3 if collective.rooted else 2
    for seed in range(3):
        setting = switched(seed, nodes, collective, switches=1 + seed % 2, late=late, overlap=seed == 2)
        assert checked(setting) == brute(setting)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("collective", SINGLE, ids=str)
def test_brute_force_at_large(collective: Collective, seed: int) -> None:
    nodes = 4 if collective.rooted and seed % 2 else 3 if collective != ALL_TO_ALL else 2
    setting = switched(seed, nodes, collective, switches=1 + seed % 2, late=seed % 3 == 0, overlap=seed % 5 == 0)
    assert checked(setting) == brute(setting)


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(6, 60))]
)
def test_order_of_methods(seed: int) -> None:
    """The bound, the optimum, what the search begins with: none is slower than the next."""
    collective = SINGLE[seed % len(SINGLE)]
    setting = switched(seed, 3 + seed % 3, collective, switches=1 + seed % 3, late=seed % 2 == 1, overlap=seed % 5 == 0)
    begin = lean(setting, complete(setting))
    assert verify_timed(setting.place, setting.plan(begin)).ok
    assert least_time(setting) <= checked(setting) <= setting.ending(begin)


def star(nodes: int, slow: int = 0) -> Fabric:
    """Nodes at one switch, some ports of which are slow."""
    rates = [2 if node < slow else 8 for node in range(nodes)]
    links = [
        FabricLink(*ends, Fraction(GB * one, 8), "")
        for node, one in enumerate(rates)
        for ends in ((f"n{node}", "s"), ("s", f"n{node}"))
    ]
    return Fabric.from_links("star", [f"n{node}" for node in range(nodes)], ["s"], links)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_plans_through_switches(collective: str) -> None:
    root = "n1" if COLLECTIVES[collective].rooted else None
    more: dict[str, Any] = {"root": root, "alpha": "1us", "size": "8kB"}
    place = star(4, slow=2)
    plan = schedule(place, collective, method="exact", time_limit="5s", **more)
    assert verify(plan).ok
    assert simulate(plan, size="8kB").time <= plan.claim["time"]
    assert plan.claim["time"] <= schedule(place, collective, method="tacos", **more).claim["time"]
    if collective == "allgather":  # three shards of 2 kB over a link of 2 Gb/s, and its latency for each of them
        assert plan.claim["time"] >= Fraction(3 * 16_000, 2 * GB) + Fraction(3, 10**6)


@pytest.mark.parametrize("unwound", ["1", "all", "ring"])
def test_switches_unwound(unwound: str) -> None:
    """What is proven is of the links that replace the switch; TACOS-Greedy over them is not faster."""
    plan = schedule(star(4), "allgather", method="exact", size="8kB", unwind=unwound)
    assert verify(plan).ok
    assert not plan.topology.switches
    assert plan.generator["proof"] != "none"
    assert (
        plan.claim["time"] <= schedule(star(4), "allgather", method="tacos", size="8kB", unwind=unwound).claim["time"]
    )


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "broadcast", "gather"])
def test_late_nodes(collective: str) -> None:
    """Nobody sends or receives before it is ready, and no plan of TACOS-Greedy is faster."""
    root = 0 if COLLECTIVES[collective].rooted else None
    more: dict[str, Any] = {"root": root, "ready": "2=30us", "size": "4kB", "alpha": "1us", "time_limit": "10s"}
    plan = schedule("biring(2,4)", collective, method="exact", **more)
    assert verify(plan).ok
    timed = plan.movement.table()
    at_late = (timed["src"] == 2) | (timed["dst"] == 2)
    tick = plan.movement.timing.tick  # type: ignore[union-attr]
    assert all(int(start) * tick >= Fraction(30, 10**6) for start in timed["start"][at_late])
    assert plan.claim["time"] > Fraction(30, 10**6)
    assert plan.claim["time"] <= schedule("biring(2,4)", collective, method="tacos", **more).claim["time"]
    if collective != "allreduce":
        assert plan.generator["proof"] != "none"


def test_late_nodes_backwards() -> None:
    """A reduce-scatter with late nodes is not the reverse of an allgather with late nodes."""
    line = Topology.from_links(3, [(0, 1), (1, 0), (1, 2), (2, 1)])
    times = LinkTimes(Fraction(1), np.zeros(4, dtype=np.int64), np.ones(4, dtype=np.int64))
    late = (Fraction(5), Fraction(0), Fraction(0))
    ticks = [checked(Setting.of(line, one, times, ready=late)) for one in (ALLGATHER, REDUCE_SCATTER)]
    assert ticks == [7, 7]
    last = (Fraction(0), Fraction(5), Fraction(0))
    assert [checked(Setting.of(line, one, times, ready=last)) for one in (ALLGATHER, REDUCE_SCATTER)] == [7, 7]


@pytest.mark.parametrize("collective", [COLLECTIVES["broadcast"].at(0), COLLECTIVES["reduce"].at(1)], ids=str)
def test_late_node_behind_a_switch(collective: Collective) -> None:
    """A chunk can set out before the node is ready that it is for: it is late by what the last link takes."""
    line = Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2])
    times = LinkTimes(Fraction(1), np.full(4, 2), np.ones(4, dtype=np.int64))
    assert checked(Setting.of(line, collective, times, ready=(Fraction(0), Fraction(10), Fraction(0)))) == 13


def test_groups() -> None:
    """Groups at the same time, each over its own links; each as fast as alone."""
    more: dict[str, Any] = {"size": "6kB", "alpha": "1us"}
    both = schedule("biring(2,6)", "allgather", method="exact", group=["0,1,2", "3,4,5"], **more)
    alone = schedule("biring(2,6)", "allgather", method="exact", only="0,1,2", **more)
    assert verify(both).ok
    assert verify(alone).ok
    assert both.claim == alone.claim
    assert both.generator["proof"] != "none"
    through = schedule(star(4), "reduce-scatter", method="tacos-ilp", group=["n0,n1", "n2,n3"], **more)
    assert verify(through).ok
    assert len(through.collective.groups or ()) == 2


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="for fabrics with switches"):
        schedule("biring(2,4)", "allgather", method="exact", unwind=1)
    with pytest.raises(ParameterError, match="a number of links, all, or ring"):
        schedule(star(3), "allgather", method="exact", unwind="most")
    with pytest.raises(ParameterError, match="groups are of all nodes and switches"):
        schedule(star(4), "allgather", method="exact", group=["n0,n1", "n2,n3"], unwind=1)
    with pytest.raises(DisconnectedError, match="cannot be reached"):
        schedule(star(4), "allgather", method="exact", without="s")
