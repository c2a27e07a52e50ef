"""Limits that links share, whatever is asked of a fabric that has them: held against other linear programs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.solve.flows.test_program import by_pairs
from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.fabrics.fabric import Fabric, FabricLink, Shared
from topodesign.fabrics.part import select_part
from topodesign.optima.failures import single_failures
from topodesign.optima.flows import fabric_limits
from topodesign.optima.group_price import degree_of, price_groups
from topodesign.optima.optimum import optimum
from topodesign.optima.purchase import upgrade
from topodesign.optima.uneven import price_uneven
from topodesign.plans.chunk_ops import find_loads
from topodesign.plans.verify.plans import verify
from topodesign.report.comparison.methods import compare_methods
from topodesign.schedulers.failure_plans import repair
from topodesign.schedulers.scheduling import list_schedules, schedule

EVERY = [pytest.param(seed, marks=[] if seed < 3 else pytest.mark.thorough) for seed in range(60)]


def drawn(seed: int, nodes: int = 4) -> Fabric:
    """Nodes in a circle both ways and across, with or without a switch in their midst, and one or two shared limits."""
    rng = np.random.default_rng(seed)
    names, switches = [f"n{at}" for at in range(nodes)], ["s"] * int(rng.integers(0, 2))
    pairs = {(a, b): int(rng.integers(1, 6)) for a, b in zip(names, [*names[1:], names[0]], strict=True)}
    for a, b in itertools.combinations(names, 2):
        if (a, b) not in pairs and (b, a) not in pairs and rng.random() < 0.4:
            pairs[a, b] = int(rng.integers(1, 6))
    for a in names if switches else ():
        pairs[a, "s"] = int(rng.integers(1, 6))
    every = [(*ends, rate) for (a, b), rate in pairs.items() for ends in ((a, b), (b, a))]
    shared = []
    for at in range(int(rng.integers(1, 3))):
        some = rng.permutation(len(every))[: int(rng.integers(2, 5))]
        most = sum(every[one][2] for one in some)
        room = Fraction(int(rng.integers(1, 2 * most)), 2)
        shared.append(Shared(f"limit{at}", room, tuple(every[one][:2] for one in some)))
    links = [FabricLink(a, b, Fraction(rate)) for a, b, rate in every]
    return Fabric.from_links("drawn", names, switches, links, shared=shared)


Rows = list[tuple[NDArray[np.float64], float]]


def spanning_rows(fabric: Fabric, roots: tuple[int, ...], more: int) -> tuple[Rows, Rows, list[NDArray[np.float64]]]:
    """Parts of links that let a flow from all roots into every node: equations, what is at most, and loads of rooms.

    Columns are a part of every link, a flow to every node within it, and ``more``.
    """
    topology, nodes = fabric.topology, fabric.compute
    links = len(topology.src)
    count = links * (len(nodes) + 1) + more
    equal, most = Rows(), Rows()
    for at, sink in enumerate(nodes):
        for vertex in range(topology.nodes):
            if vertex != sink:
                row = np.zeros(count)
                row[links * (at + 1) : links * (at + 2)] = 1.0 * (topology.src == vertex) - (topology.dst == vertex)
                equal.append((row, float(vertex in roots)))
        for link in range(links):
            row = np.zeros(count)
            row[links * (at + 1) + link], row[link] = 1, -1
            most.append((row, 0.0))
    for switch in topology.switches:
        row = np.zeros(count)
        row[:links] = 1.0 * (topology.src == switch) - (topology.dst == switch)
        equal.append((row, 0.0))
    loads = []
    for some, _ in rooms_of(fabric):
        row = np.zeros(count)
        row[list(some)] = 1
        loads.append(row)
    return equal, most, loads


def rooms_of(fabric: Fabric) -> list[tuple[tuple[int, ...], Fraction]]:
    """Links alone, and those that share a limit, with what they carry together."""
    alone = [((link,), Fraction(room)) for link, room in enumerate(fabric.topology.capacity.tolist())]
    return [*alone, *((limit.links, limit.room) for limit in fabric_limits(fabric))]


def spanning_time(fabric: Fabric) -> float:
    """Seconds of an allgather of a byte a node over trees."""
    from scipy.optimize import linprog

    equal, most, loads = spanning_rows(fabric, fabric.compute, 1)
    for row, (_, room) in zip(loads, rooms_of(fabric), strict=True):
        row[-1] = -float(room)
        most.append((row, 0.0))
    cost = np.zeros(len(loads[0]))
    cost[-1] = 1
    (upper, right), (rows, wanted) = (map(np.array, zip(*some, strict=True)) for some in (most, equal))
    found = linprog(cost, A_ub=upper, b_ub=right, A_eq=rows, b_eq=wanted)
    return float(found.fun) / float(fabric.unit) if found.status == 0 else np.inf


def least_purchase(fabric: Fabric, roots: tuple[int, ...], seconds: float) -> float:
    """How many second links both ways let a byte of every root reach all in so many seconds; infinity if none do."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    topology = fabric.topology
    pairs = [(u, v) for u, v, _ in topology.links() if u < v]
    equal, most, loads = spanning_rows(fabric, roots, len(pairs))
    count, first = len(loads[0]), len(loads[0]) - len(pairs)
    for row, (some, room) in zip(loads, rooms_of(fabric), strict=True):
        time = seconds * float(room * fabric.unit)
        if len(some) == 1:
            (link,) = some
            ends = sorted((int(topology.src[link]), int(topology.dst[link])))
            row[first + pairs.index((ends[0], ends[1]))] = -time
        most.append((row, time))
    (upper, right), (rows, wanted) = (map(np.array, zip(*some, strict=True)) for some in (most, equal))
    cost = np.zeros(count)
    cost[first:] = 1
    limits = [LinearConstraint(upper, ub=right + 1e-9), LinearConstraint(rows, wanted, wanted)]
    found = milp(cost, constraints=limits, integrality=cost, bounds=Bounds(0, np.inf))
    return float(found.fun) if found.status == 0 else np.inf


def turned(fabric: Fabric) -> Fabric:
    """The same with all links turned round, on which sums go out from where they are added up."""
    links = [one._replace(src=one.dst, dst=one.src) for one in fabric.links()]
    shared = [one._replace(links=tuple((b, a) for a, b in one.links)) for one in fabric.shared]
    switches = [fabric.names[at] for at in sorted(fabric.topology.switches)]
    nodes = [fabric.names[at] for at in fabric.compute]
    return Fabric.from_links("turned", nodes, switches, links, shared=shared)


def matrix(fabric: Fabric, seed: int) -> NDArray[np.int64]:
    rng, nodes = np.random.default_rng(seed), len(fabric.compute)
    demand = rng.integers(0, 6, (nodes, nodes))
    demand[0, 1] += 1
    np.fill_diagonal(demand, 0)
    return demand


def over_all(fabric: Fabric, demand: NDArray[np.int64]) -> NDArray[np.int64]:
    whole = np.zeros((fabric.topology.nodes,) * 2, dtype=np.int64)
    whole[np.ix_(fabric.compute, fabric.compute)] = demand
    return whole


@pytest.mark.parametrize("seed", EVERY)
def test_uneven_traffic(seed: int) -> None:
    fabric = drawn(seed)
    demand = matrix(fabric, seed)
    least = by_pairs(
        fabric.topology, over_all(fabric, demand), [0] * len(fabric.topology.src), limits=fabric_limits(fabric)
    )
    found = price_uneven(fabric, demand, piece=1)
    assert float(found.seconds) == pytest.approx(least / float(fabric.unit), rel=1e-7)
    assert found.regret is not None
    assert found.regret >= 1
    plan = schedule(fabric, "all-to-all", method="fluid", shards=demand)
    assert verify(plan).ok
    assert "proven" in plan.notes[0]
    loads = [Fraction(load, plan.flow.units) for load in find_loads(plan.flow)[0].tolist()]
    assert max(sum(loads[link] for link in some) / room for some, room in rooms_of(fabric)) == found.flow.time


@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
@pytest.mark.parametrize("seed", EVERY)
def test_groups(seed: int, collective: str) -> None:
    """Two groups of two, over all that is there."""
    fabric = drawn(seed)
    groups, demand = [("n0", "n2"), ("n1", "n3")], np.zeros((4, 4), dtype=np.int64)
    ends = {"all-to-all": [(0, 2), (2, 0), (1, 3), (3, 1)], "scatter": [(0, 2), (1, 3)], "gather": [(2, 0), (3, 1)]}
    demand[tuple(np.array(ends[collective]).T)] = 1
    least = by_pairs(
        fabric.topology, over_all(fabric, demand), [0] * len(fabric.topology.src), limits=fabric_limits(fabric)
    )
    root = None if collective == "all-to-all" else "first"
    found = price_groups(fabric, collective, groups, root=root)
    shards = 2  # blocks that a root, or a node with its own, has
    assert float(found.bandwidth) == pytest.approx(degree_of(fabric.topology) * least / shards, rel=1e-7)


@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
@pytest.mark.parametrize("seed", EVERY)
def test_optima_of_flows(seed: int, collective: str) -> None:
    """The rate, and that with twice the links, are those of the program; what binds is named and full in any flow."""
    fabric = drawn(seed)
    demand = 1 - np.eye(4, dtype=np.int64)
    if collective != "all-to-all":
        demand[1:] = 0
    demand = demand.T if collective == "gather" else demand

    def rate(where: Fabric) -> float:
        free = [0] * len(where.topology.src)
        time = by_pairs(where.topology, over_all(where, demand), free, limits=fabric_limits(where))
        return len(demand) * float(where.unit) / time

    found = optimum(fabric, collective, root=None if collective == "all-to-all" else "n0", method="fluid")
    assert float(found.bandwidth) == pytest.approx(rate(fabric), rel=1e-7)
    assert found.proven
    assert found.bottleneck_limits is not None
    assert found.bottleneck_limits or found.bottleneck_links
    (more,) = found.upgrades
    switches = [fabric.names[at] for at in sorted(fabric.topology.switches)]

    def changed(links: list[FabricLink], shared: list[Shared]) -> Fabric:
        return Fabric.from_links("changed", fabric.names[:4], switches, links, shared=shared)

    twice = changed([one._replace(bandwidth=2 * one.bandwidth) for one in fabric.links()], list(fabric.shared))
    assert float(more.doubled) == pytest.approx(rate(twice), rel=1e-7)
    slow = {(one.src, one.dst) for one in found.bottleneck_links} | {one.shared for one in found.bottleneck_limits}
    less = Fraction(9, 10)
    links = [one._replace(bandwidth=one.bandwidth * (less if one[:2] in slow else 1)) for one in fabric.links()]
    limits = [one._replace(bandwidth=one.bandwidth * (less if one.name in slow else 1)) for one in fabric.shared]
    assert rate(changed(links, limits)) == pytest.approx(float(less) * rate(fabric), rel=1e-7)


@pytest.mark.dear("0")
@pytest.mark.parametrize("seed", EVERY)
def test_failures(seed: int) -> None:
    """Every failure by itself, and those that are reported as equivalent cost the same."""
    fabric = drawn(seed)
    found = single_failures(fabric, "allgather")
    assert float(found.bandwidth) == pytest.approx(len(fabric.compute) / spanning_time(fabric), rel=1e-7)
    for one in found.parts:
        try:
            left = select_part(fabric, without=one.first)
            rate = len(left.compute) / spanning_time(left)
        except (InfeasibleError, TopologyError):
            rate = 0.0
        assert float(one.bandwidth or 0) == pytest.approx(rate, rel=1e-7)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "broadcast"])
@pytest.mark.parametrize("seed", EVERY)
def test_upgrades(seed: int, collective: str) -> None:
    """The cheapest second links cost what a program in whole numbers says, or none are enough in both."""
    fabric = drawn(seed)
    root = "n0" if collective == "broadcast" else None
    now = optimum(fabric, collective, root=root).bandwidth
    target = now * Fraction(int(np.random.default_rng(seed).integers(11, 25)), 10)
    roots = fabric.compute if root is None else (0,)
    way = turned(fabric) if collective == "reduce-scatter" else fabric
    least = least_purchase(way, roots, float(len(roots) / target))
    if np.isinf(least):
        with pytest.raises(InfeasibleError, match="limits that links share"):
            upgrade(fabric, {"": 7}, collective, root=root, target=8 * target)
        return
    found = upgrade(fabric, {"": 7}, collective, root=root, target=8 * target)
    assert found.proven
    assert found.bandwidth >= target
    assert found.cost == 7 * round(least)


def test_what_is_not_known_to_buy_for() -> None:
    wrong: list[dict[str, Any]] = [
        {"budget": 5},
        {"target": "9B/s", "shards": "2,1,1,1"},
        {"target": "9B/s", "collective": "allreduce"},
    ]
    for options in wrong:
        with pytest.raises(ParameterError, match="share"):
            upgrade(drawn(0), {"": 7}, **options)


@pytest.mark.parametrize("seed", EVERY)
def test_methods(seed: int) -> None:
    """The bound is that of the program, and the plan of the fluid method reaches it."""
    fabric = drawn(seed)
    found = compare_methods(fabric, "allgather", methods=["fluid"])
    rate = 8 * len(fabric.compute) / spanning_time(fabric)
    assert float(found.workload.bandwidth / found.lower_bound.bandwidth) == pytest.approx(rate, rel=1e-7)
    (fluid,) = found.contenders
    assert fluid.bandwidth == found.lower_bound.bandwidth


@pytest.mark.parametrize("seed", EVERY)
def test_repairs(seed: int, tmp_path: Path) -> None:
    """A plan of what is left keeps the limits, and is no faster than the program says."""
    fabric = drawn(seed)
    for collective in ("allgather", "all-to-all"):
        plan = schedule(fabric, collective)
        repaired = repair(plan, without="n0-n1")
        assert verify(repaired.plan).ok
        left = repaired.plan.fabric
        if collective == "allgather":
            most = len(left.compute) / spanning_time(left)
        else:
            everyone = over_all(left, 1 - np.eye(len(left.compute), dtype=np.int64))
            time = by_pairs(left.topology, everyone, [0] * len(left.topology.src), limits=fabric_limits(left))
            most = len(left.compute) * float(left.unit) / time
        assert 0 < float(repaired.bandwidth) <= most * (1 + 1e-7) <= float(repaired.bound) * (1 + 2e-7)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "all-to-all"])
@pytest.mark.parametrize("seed", EVERY)
def test_lists_of_exact_schedules(seed: int, collective: str) -> None:
    """Rounds are those of the fullest link or limit, counted again step by step, and no list beats the program."""
    pytest.importorskip("ortools")
    fabric = drawn(seed, 3)
    if not fabric.topology.switches:
        listed = list_schedules(fabric, collective, chunks=1, time_limit="20s")
        rooms = [*(((at,), Fraction(room)) for at, room in enumerate(fabric.topology.capacity.tolist())),
                 *fabric_limits(fabric)]  # fmt: skip
        for one in listed.schedules:
            moved = one.plan.rounds
            link = fabric.topology.link_index(moved.src, moved.dst)
            rounds = Fraction(0)
            for step in range(1, moved.steps + 1):
                load = np.bincount(link[moved.step == step], minlength=len(fabric.topology.src)).tolist()
                rounds += max(sum(load[at] for at in some) / room for some, room in rooms)
            assert rounds == one.rounds
            assert one.bandwidth == one.plan.claim["bandwidth"]
