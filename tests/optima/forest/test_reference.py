"""Forests against slow references that share no code with them: all cuts one by one, and a program over flows.

The references know links as triples (u, v, capacity) and count in fractions. Fabrics are of any kind: duplex or
one-way, with switches that only lead to switches or have more in than out, and with bandwidths that are fractions.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from tests.conftest import few
from tests.samples.forest import a100
from tests.samples.tree_tables import Trees, forest_schedule
from tests.samples.trees import TreeCollective
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.optima.forest.bottleneck import TreeRate, optimum, sensitivity
from topodesign.optima.forest.tree_counts import find_fixed_optimum, smallest_trees
from topodesign.topology.topology import MAX_CAPACITY, Topology

Links = list[tuple[int, int, Fraction]]
Sizes = dict[int, int]
"""Shard size of every compute node."""


def cuts(nodes: int, sizes: Sizes) -> list[set[int]]:
    """All sets that a shard must leave."""
    sets = ({v for v in range(nodes) if number >> v & 1} for number in range(1, 2**nodes))
    return [side for side in sets if not sizes.keys() <= side and any(sizes.get(v) for v in side)]


def worst_cut(nodes: int, links: Links, sizes: Sizes) -> Fraction:
    """The largest ratio over all cuts of the shards inside to the capacity of the links out."""
    worst = Fraction(0)
    for side in cuts(nodes, sizes):
        out = sum((c for u, v, c in links if u in side and v not in side), Fraction(0))
        worst = max(worst, sum(sizes.get(v, 0) for v in side) / out)
    return worst


def rate_of_flows(nodes: int, links: Links, sizes: Sizes) -> float:
    """The best x by another linear program, in floats.

    Every compute node sends flows through switches to the others, which makes logical links; of these, every set of
    compute nodes needs x times its shards. Balance and splitting play no part.
    """
    compute = sorted(sizes)
    width = len(compute) * len(links)
    logical = {(a, b): width + at for at, (a, b) in enumerate((a, b) for a in compute for b in compute if a != b)}
    rate = width + len(logical)
    equal, less, limits, upper = [], [], [], np.full(rate + 1, np.inf)
    for row, a in enumerate(compute):
        for v in set(range(nodes)) - {a}:
            kept = np.zeros(rate + 1)
            for at, (s, t, _) in enumerate(links):
                kept[row * len(links) + at] = (t == v) - (s == v)
            if v in sizes:
                kept[logical[a, v]] = -1
            equal.append(kept)
        for at, (s, t, _) in enumerate(links):
            if (s in sizes and s != a) or t == a:
                upper[row * len(links) + at] = 0
    for at, (_, _, capacity) in enumerate(links):
        used = np.zeros(rate + 1)
        used[at : width : len(links)] = 1
        less.append(used)
        limits.append(float(capacity))
    for number in range(1, 2 ** len(compute) - 1):
        side = {a for at, a in enumerate(compute) if number >> at & 1}
        needs = np.zeros(rate + 1)
        needs[[at for (a, b), at in logical.items() if a in side and b not in side]] = -1
        needs[rate] = sum(sizes[a] for a in side)
        less.append(needs)
        limits.append(0)
    goal = np.zeros(rate + 1)
    goal[rate] = -1
    bounds = np.stack((np.zeros(rate + 1), upper), axis=1)
    return -float(linprog(goal, np.array(less), limits, np.array(equal), np.zeros(len(equal)), bounds).fun)


def check_trees(schedule: Trees, links: Links, sizes: Sizes, inverse: Fraction) -> None:
    """Every tree spans over real routes, no link carries more than it can, and the rate is as specified."""
    capacity = {(u, v): c for u, v, c in links}
    load: dict[tuple[int, int], int] = {}
    weight = dict.fromkeys(sizes, 0)
    inward = schedule.collective.name in {"reduce-scatter", "reduce"}
    for tree, root in enumerate(schedule.root.tolist()):
        weight[root] += int(schedule.weight[tree])
        reached = {root}
        for edge in np.flatnonzero(schedule.tree == tree).tolist()[:: -1 if inward else 1]:
            src, dst = int(schedule.src[edge]), int(schedule.dst[edge])
            near, far = (dst, src) if inward else (src, dst)
            assert near in reached
            assert far not in reached
            reached.add(far)
            carried = 0
            for route in np.flatnonzero(schedule.route_edge == edge).tolist():
                way = schedule.hop[schedule.hop_start[route] : schedule.hop_start[route + 1]].tolist()
                assert (way[0], way[-1]) == (src, dst)
                assert sizes.keys().isdisjoint(way[1:-1])
                carried += int(schedule.route_weight[route])
                for hop in pairwise(way):
                    load[hop] = load.get(hop, 0) + int(schedule.route_weight[route])
            assert carried == schedule.weight[tree]
        assert reached == sizes.keys()
    assert all(amount * schedule.rate <= capacity[hop] for hop, amount in load.items())
    assert all(weight[v] * schedule.rate * inverse == sizes[v] for v in sizes)


def random_fabric(rng: random.Random, most_nodes: int, *, uneven: bool) -> tuple[Topology, Links, list[int]]:
    """A sum of closed walks, duplex or one-way; if uneven, some links have failed or are other than they were."""
    nodes = rng.randint(2, most_nodes)
    switches = [v for v in range(2, nodes) if rng.random() < 0.4]
    duplex = rng.random() < 0.4
    capacity: dict[tuple[int, int], int] = {}
    for walk in [rng.sample(range(nodes), nodes), *(rng.sample(range(nodes), rng.randint(2, nodes)) for _ in range(4))]:
        amount = rng.randint(1, 9)
        for u, v in zip(walk, walk[1:] + walk[:1], strict=True):
            for pair in {(u, v), (v, u)} if duplex else {(u, v)}:
                capacity[pair] = capacity.get(pair, 0) + amount
    if uneven:
        capacity |= {pair: rng.randint(0, 9) for pair in list(capacity) if rng.random() < 0.25}
    rows = [(u, v, c) for (u, v), c in capacity.items() if c]
    topology = Topology.from_links(nodes, rows, switches=switches)
    return topology, [(u, v, Fraction(c)) for u, v, c in topology.links()], switches


def check_optimum(topology: Topology, best: TreeRate, links: Links, sizes: Sizes) -> None:
    """What is usable fits, is balanced, reaches the optimum, and the cut is tight in it."""
    usable = [(u, v, c * best.grain) for u, v, c in best.usable.links()]
    capacity = {(u, v): c for u, v, c in links}
    assert all(c <= capacity[u, v] for u, v, c in usable)
    for switch in topology.switches:
        assert sum(c for u, _, c in usable if u == switch) == sum(c for _, v, c in usable if v == switch)
    assert worst_cut(topology.nodes, usable, sizes) == best.inverse_rate >= best.bound
    out = sum(c for u, v, c in usable if u in best.cut and v not in best.cut)
    assert sum(sizes.get(v, 0) for v in best.cut) == best.inverse_rate * out
    assert not sizes.keys() <= best.cut
    assert all((c / best.tree_rate).denominator == 1 for _, _, c in usable)
    assert best.trees * best.tree_rate * best.inverse_rate == 1


@pytest.mark.dear("True")
@pytest.mark.parametrize("uneven", [False, True])
def test_optima(uneven: bool) -> None:
    rng = random.Random(5)  # noqa: S311
    parts = worse = 0
    turns = few(range(150))
    for _ in turns:
        topology, links, switches = random_fabric(rng, 7, uneven=uneven)
        compute = [v for v in range(topology.nodes) if v not in switches]
        sizes = {v: rng.choice([1, 1, 0, 2, 3]) for v in compute} | {compute[0]: 1}
        try:
            best = optimum(topology, weights=list(sizes.values()))
        except InfeasibleError:
            assert uneven
            continue
        check_optimum(topology, best, links, sizes)
        cut = worst_cut(topology.nodes, links, sizes)
        assert best.bound == best.inverse_rate >= cut
        assert float(best.inverse_rate) * rate_of_flows(topology.nodes, links, sizes) == pytest.approx(1, rel=1e-7)
        parts += best.usable is not topology
        worse += best.inverse_rate > cut
    assert (3 * parts > len(turns)) == uneven
    assert (worse > 0) == uneven


@pytest.mark.dear("True")
@pytest.mark.parametrize("uneven", [False, True])
def test_schedules(uneven: bool) -> None:
    rng = random.Random(6)  # noqa: S311
    collectives: list[TreeCollective] = ["allgather", "reduce-scatter", "broadcast", "reduce"]
    made, turns = 0, few(range(80))
    for turn in turns:
        topology, links, switches = random_fabric(rng, 10, uneven=uneven)
        collective = collectives[turn % 4]
        compute = [v for v in range(topology.nodes) if v not in switches]
        root = rng.choice(compute) if collective in {"broadcast", "reduce"} else None
        sizes = {v: rng.choice([1, 1, 0, 2, 3]) if root is None else int(v == root) for v in compute}
        if root is None:
            sizes[compute[0]] = 1
        graph = topology if collective in {"allgather", "broadcast"} else topology.transpose()
        weights = list(sizes.values())
        k = rng.choice([None, 1, 2, 3, 4, 5, 6])
        try:
            best = optimum(graph, weights=weights)
        except InfeasibleError:
            assert uneven
            continue
        fixed = find_fixed_optimum(
            graph, k or smallest_trees(graph, weights=weights, best=best), best=best, weights=weights
        )
        assert fixed.inverse_rate >= fixed.bound >= best.inverse_rate
        assert k or fixed.inverse_rate == best.inverse_rate
        shard = None if root is not None else weights
        check_trees(
            forest_schedule(topology, collective, k=k, root=root, shard=shard), links, sizes, fixed.inverse_rate
        )
        made += 1
    assert 2 * made > len(turns)


def test_fixed_numbers_of_trees() -> None:
    """The least U at which whole numbers of trees pass every cut, from all U at which one more tree fits somewhere."""
    rng = random.Random(7)  # noqa: S311
    for turn in range(60):
        topology, links, switches = random_fabric(rng, 6, uneven=False)
        sizes = {v: rng.randint(0, 2) for v in range(topology.nodes) if v not in switches} | {0: 1}
        k = turn % 6 + 1
        fixed = find_fixed_optimum(topology, k, weights=list(sizes.values()))
        sides = cuts(topology.nodes, sizes)
        least = Fraction(0)
        for side in sides:
            wanted = k * sum(sizes.get(v, 0) for v in side)
            out = [c for u, v, c in links if u in side and v not in side]
            steps = {
                Fraction(number, c) for c in out for number in range(1, math.ceil(wanted * c / sum(out)) + len(out) + 1)
            }
            least = max(least, min(u for u in steps if sum(math.floor(u * c) for c in out) >= wanted))
        least = max(least, k * worst_cut(topology.nodes, links, sizes))
        assert fixed.bound * k == least
        if topology.is_duplex:
            assert fixed.inverse_rate == fixed.bound


@pytest.mark.dear
def test_no_smaller_number_of_trees_reaches_the_optimum() -> None:
    rng = random.Random(11)  # noqa: S311
    tried = 0
    for _ in range(40):
        topology, _, _ = random_fabric(rng, 5, uneven=True)
        try:
            best = optimum(topology)
        except InfeasibleError:
            continue
        found = smallest_trees(topology, best=best)
        rates = [find_fixed_optimum(topology, k, best=best).inverse_rate for k in range(1, min(found, 12) + 1)]
        assert best.inverse_rate not in rates[: found - 1]
        assert found > 12 or rates[-1] == best.inverse_rate
        tried += len(rates)
    assert tried > 100


def test_bandwidths_that_are_fractions() -> None:
    rng = random.Random(8)  # noqa: S311
    for _ in range(30):
        topology, links, switches = random_fabric(rng, 6, uneven=False)
        scale = Fraction(rng.randint(1, 30), rng.randint(1, 30))
        names = [str(v) for v in range(topology.nodes)]
        order = sorted(range(topology.nodes), key=lambda v: v in switches)
        fabric = Fabric.from_links(
            "random",
            [names[v] for v in order if v not in switches],
            [names[v] for v in order if v in switches],
            [FabricLink(names[u], names[v], c * scale) for u, v, c in links],
        )
        sizes = {v: 1 for v in range(topology.nodes) if v not in switches}
        exact = worst_cut(topology.nodes, [(u, v, c * scale) for u, v, c in links], sizes)
        assert optimum(fabric.topology).inverse_rate == exact * fabric.unit


def test_a_box_with_a_dead_direction() -> None:
    """What a switch no longer gets it cannot pass on: its eight nodes share the rest evenly, 2300 instead of 2600."""
    whole = a100(2)
    links = [(u, v, c) for u, v, c in whole.links() if (u, v) != (0, 16)]
    left = Topology.from_links(whole.nodes, links, switches=whole.switches)
    assert 16 / optimum(left).inverse_rate == Fraction(16 * 2300, 8 * 15)
    assert 16 / optimum(left.transpose()).inverse_rate == Fraction(16 * 25, 15)  # one node has to get all over 25
    exact = [(u, v, Fraction(c)) for u, v, c in links]
    inverse = optimum(left).inverse_rate
    check_trees(forest_schedule(left, "allgather"), exact, dict.fromkeys(range(16), 1), inverse)


@pytest.mark.dear
def test_sensitivity_where_switches_are_not_balanced() -> None:
    """Each figure is the optimum of a fabric with changed links; just below the useful factor it is not the limit."""
    rng = random.Random(9)  # noqa: S311
    useful = 0
    for _ in range(40):
        topology, links, switches = random_fabric(rng, 6, uneven=True)
        group = np.array([rng.random() < 0.4 for _ in links])
        try:
            (gain,) = sensitivity(topology, [group])
        except InfeasibleError:
            continue

        sizes = {v: 1 for v in range(topology.nodes) if v not in switches}

        grows = dict(zip(links, group.tolist(), strict=True))

        def time(
            factor: float,
            nodes: int = topology.nodes,
            sizes: Sizes = sizes,
            of: dict[tuple[int, int, Fraction], bool] = grows,
        ) -> float:
            links = [(u, v, c * Fraction(factor) if more else c) for (u, v, c), more in of.items()]
            return 1 / rate_of_flows(nodes, links, sizes)

        assert float(gain.doubled) == pytest.approx(time(2), rel=1e-7)
        assert float(gain.limit) == pytest.approx(time(10**4), rel=1e-7, abs=1e-3)
        if gain.useful_factor is None:
            assert gain.limit == 0
            continue
        factor = float(gain.useful_factor)
        assert time(factor) == pytest.approx(float(gain.limit), rel=1e-7)
        if factor > 1:
            useful += 1
            assert time(0.99 * factor) > float(gain.limit) * (1 + 1e-6)
    assert useful > 5


def test_more_trees_than_fit_are_refused() -> None:
    links = [(0, 2, 3), (2, 0, 3), (1, 2, 5), (2, 1, 5), (0, 1, 2), (1, 0, 2)]
    topology = Topology.from_links(3, links, switches=[2])
    exact = [(u, v, Fraction(c)) for u, v, c in links]
    check_trees(forest_schedule(topology, "allgather", k=10**9), exact, {0: 1, 1: 1}, Fraction(1, 5))
    for k in (2**31, 10**12, 2**62, 10**25):
        with pytest.raises(TooLargeError, match="trees"):
            forest_schedule(topology, "allgather", k=k)


def test_capacities_far_apart() -> None:
    """From 1 to 2^31 - 1 in one fabric: the exact optimum, and a right schedule or none."""
    rng = random.Random(10)  # noqa: S311
    made = 0
    for _ in range(40):
        small, links, switches = random_fabric(rng, 5, uneven=False)
        large = {
            pair: rng.choice([1, 2, 10**6 + 3, MAX_CAPACITY // 3, MAX_CAPACITY])
            for pair in {(min(u, v), max(u, v)) for u, v, _ in links}
        }
        rows = [(u, v, large[min(u, v), max(u, v)]) for pair in large for u, v in (pair, pair[::-1])]
        topology = Topology.from_links(small.nodes, rows, switches=switches)
        exact = [(u, v, Fraction(c)) for u, v, c in rows]
        sizes = {v: 1 for v in range(small.nodes) if v not in switches}
        best = optimum(topology)
        assert best.inverse_rate == worst_cut(small.nodes, exact, sizes)
        try:
            schedule = forest_schedule(topology, "allgather")
        except TooLargeError:
            continue
        check_trees(schedule, exact, sizes, best.inverse_rate)
        made += 1
    assert made > 5
