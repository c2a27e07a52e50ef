"""The verifier of tree schedules: what is right passes, and every kind of damage is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.tree_tables import Trees
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective, fabric, tree_schedule
from tests.samples.verdicts import verify_rounds, verify_trees
from topodesign.collectives import ALLREDUCE, BROADCAST
from topodesign.fabrics.fabric import Shared
from topodesign.plans.chunk_ops import find_loads
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rounds, split_groups
from topodesign.plans.verify.plans import check_movement, verify
from topodesign.schedulers.scheduling import schedule
from topodesign.topology.topology import Topology

collectives = st.sampled_from(TREE_COLLECTIVES)


def sample(collective: TreeCollective = "allgather", seed: int = 1, **options: Any) -> Trees:
    rng = random.Random(seed)  # noqa: S311
    return tree_schedule(fabric(6, 3, rng), collective, rng, **options)


def changed(schedule: Trees, name: str, row: int, value: int) -> Trees:
    column = getattr(schedule, name).copy()
    column[row] = value
    return replace(schedule, **{name: column})


def complaint(schedule: Trees) -> str:
    report = verify_trees(schedule)
    assert not report.ok
    return "\n".join(report.problems)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), collectives, st.integers(2, 8), st.integers(1, 4), st.integers(1, 7))
def test_random_trees_are_right_and_measured_alike(
    seed: int, collective: TreeCollective, nodes: int, switches: int, per_root: int
) -> None:
    rng = random.Random(seed)  # noqa: S311
    schedule = tree_schedule(fabric(nodes, switches, rng), collective, rng, per_root=per_root)
    report = verify_trees(schedule, schedule.inverse_rate)
    assert report.ok, report
    assert (report.height, report.trees) == (schedule.height, len(schedule))
    assert report.fullest == Fraction(1)
    if schedule.topology.is_duplex:
        assert verify_trees(schedule.reverse()).ok


@pytest.mark.parametrize("seed", range(6))
def test_phases_at_the_same_time_are_as_high_as_the_two_of_one_root(seed: int) -> None:
    trees = sample("allreduce", seed, concurrent=True, per_root=1)
    report = verify_trees(trees)
    assert report.ok, report
    assert report.height == trees.height


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_shards_of_unequal_size(collective: TreeCollective) -> None:
    schedule = sample(collective, shard=None if collective in {"broadcast", "reduce"} else (0, 1, 2, 3, 1, 1))
    assert verify_trees(schedule).ok
    if schedule.shard is not None:
        assert complaint(replace(schedule, shard=(1, 1, 2, 3, 1, 1)))
        assert complaint(replace(schedule, shard=None))


def test_a_rate_that_the_links_do_not_have() -> None:
    schedule = sample()
    assert verify_trees(replace(schedule, rate=schedule.rate / 3)).ok
    assert "of capacity" in complaint(replace(schedule, rate=schedule.rate * Fraction(10**9 + 1, 10**9)))
    report = verify_trees(schedule, schedule.inverse_rate * Fraction(10**12, 10**12 + 1))
    assert "claimed" in report.problems[-1]
    assert not report.ok


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
def test_a_limit_that_links_share_is_kept_in_every_phase(collective: TreeCollective) -> None:
    trees = sample(collective)
    fabric = Plan(trees.topology, trees.flow).fabric
    links = [0, 2]
    most = int(find_loads(trees.flow)[:, links].sum(axis=1).max()) * trees.rate * fabric.unit
    ends = [trees.topology.links()[at][:2] for at in links]
    bus = Shared("bus", most, tuple((fabric.names[u], fabric.names[v]) for u, v in ends))
    assert not check_movement(replace(fabric, shared=(bus,)), trees.flow).problems
    (problem,) = check_movement(replace(fabric, shared=(bus._replace(bandwidth=most - 1),)), trees.flow).problems
    assert "the shared limit 'bus' carry" in problem


def turned(schedule: Trees) -> Trees:
    """Turn one edge round, with its routes."""
    hop = schedule.hop.copy()
    for route in np.flatnonzero(schedule.route_edge == 0):
        part = slice(schedule.hop_start[route], schedule.hop_start[route + 1])
        hop[part] = hop[part][::-1]
    src, dst = schedule.src.copy(), schedule.dst.copy()
    src[0], dst[0] = schedule.dst[0], schedule.src[0]
    return replace(schedule, src=src, dst=dst, hop=hop)


def swapped(schedule: Trees) -> Trees:
    """Let a node send before it has received: the first and the last edge of a tree change places."""
    last = int(np.flatnonzero(schedule.tree == 0)[-1])
    order = np.arange(len(schedule.tree))
    order[[0, last]] = order[[last, 0]]
    return _reordered(schedule, order)


def _reordered(schedule: Trees, order: np.ndarray[Any, Any]) -> Trees:
    routes = np.concatenate([np.flatnonzero(schedule.route_edge == edge) for edge in order])
    hops = [schedule.hop[schedule.hop_start[r] : schedule.hop_start[r + 1]] for r in routes]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return replace(
        schedule,
        src=schedule.src[order],
        dst=schedule.dst[order],
        route_edge=place[schedule.route_edge[routes]],
        route_weight=schedule.route_weight[routes],
        hop=np.concatenate(hops),
        hop_start=np.cumsum([0, *map(len, hops)]),
    )


def to_switch(schedule: Trees) -> Trees:
    return changed(schedule, "dst", 0, min(schedule.topology.switches))


def other_root(schedule: Trees) -> Trees:
    wrong = next(v for v in schedule.compute_nodes.tolist() if v != schedule.root[0])
    return changed(schedule, "root", 0, wrong)


def relayed(schedule: Trees) -> Trees:
    """Put a compute node where a switch was."""
    route = int(np.flatnonzero(np.diff(schedule.hop_start) > 2)[0])
    return changed(schedule, "hop", int(schedule.hop_start[route]) + 1, int(schedule.compute_nodes[0]))


def thinner(schedule: Trees) -> Trees:
    """Take away a link that is used."""
    kept = np.ones(len(schedule.topology.src), dtype=bool)
    kept[int(np.flatnonzero(find_loads(schedule.flow).sum(axis=0))[0])] = False
    topology = schedule.topology
    links = (column[kept] for column in (topology.src, topology.dst, topology.capacity))
    return replace(schedule, topology=Topology.from_arrays(topology.nodes, *links, switches=topology.switches))


DAMAGE: dict[str, tuple[Callable[[Trees], Trees], str]] = {
    "an edge turned round": (turned, "does not have all of them then"),
    "a wrong order": (swapped, "does not have all of them then: it waits for"),
    "an edge to a switch": (to_switch, "does not pass it on"),
    "another root": (other_root, "units ["),
    "a route through a compute node": (relayed, "passes through a node"),
    "a route without a link": (thinner, "no link"),
    "a heavier tree": (lambda s: changed(s, "weight", 0, int(s.weight[0]) + 1), "its routes carry"),
    "a heavier route": (lambda s: changed(s, "route_weight", 0, int(s.route_weight[0]) + 1), "its routes carry"),
    "a node served twice": (lambda s: changed(s, "dst", 1, int(s.dst[0])), "gets the piece several times"),
    "a route of another edge": (lambda s: changed(s, "hop", 0, int(s.hop[-1])), "from one end to the other"),
}


@pytest.mark.parametrize("collective", ["allgather", "broadcast"])
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found(name: str, collective: TreeCollective) -> None:
    damage, words = DAMAGE[name]
    schedule = sample(collective, seed=4, per_root=5)
    assert verify_trees(schedule).ok
    assert words in complaint(damage(schedule))
    assert not verify_trees(damage(schedule).reverse()).ok


def test_a_missing_tree_and_a_second_root() -> None:
    schedule = sample("allreduce")
    for gone in (0, len(schedule) - 1):
        kept = schedule.tree != gone
        rows = kept[schedule.route_edge]
        hops = [schedule.hop[schedule.hop_start[r] : schedule.hop_start[r + 1]] for r in np.flatnonzero(rows)]
        number = np.cumsum(kept) - 1
        less = replace(
            schedule,
            root=np.delete(schedule.root, gone),
            weight=np.delete(schedule.weight, gone),
            tree=schedule.tree[kept] - (gone == 0),
            src=schedule.src[kept],
            dst=schedule.dst[kept],
            route_edge=number[schedule.route_edge[rows]],
            route_weight=schedule.route_weight[rows],
            hop=np.concatenate(hops),
            hop_start=np.cumsum([0, *map(len, hops)]),
            reduce_trees=schedule.reduce_trees - (gone == 0),
        )
        assert complaint(less)
    assert "never gets" in complaint(replace(schedule, reduce_trees=len(schedule)))
    assert "no such block" in complaint(replace(sample("allgather"), collective=BROADCAST.at(0)))
    other = next(node for node in schedule.compute_nodes.tolist() if node != sample("broadcast").root[0])
    assert "no such block" in complaint(replace(sample("broadcast"), collective=BROADCAST.at(other)))


def test_a_wrong_route_is_told_hop_by_hop() -> None:
    trees = sample()
    broken = changed(trees, "hop", len(trees.hop) - 1, int(trees.hop[-2]))
    way = " -> ".join(map(str, broken.hop[broken.hop_start[-2] :].tolist()))
    assert f": route {way} does not lead" in complaint(broken)


@pytest.mark.floor(verified=80)
@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(0, 50), collectives)
def test_no_change_of_a_number_goes_unnoticed(data: st.DataObject, seed: int, collective: TreeCollective) -> None:
    """A schedule of full links with one number changed is wrong, or another right one of the same data."""
    schedule = sample(collective, seed)
    name = data.draw(st.sampled_from(["root", "weight", "tree", "src", "dst", "route_edge", "route_weight", "hop"]))
    column = getattr(schedule, name)
    row = data.draw(st.integers(0, len(column) - 1))
    high = {"tree": len(schedule), "route_edge": len(schedule.tree)}.get(name, schedule.topology.nodes)
    value = data.draw(st.integers(1 if "weight" in name else 0, high - 1))
    try:
        damaged = changed(schedule, name, row, value)
    except ValueError:  # not even the form is right
        return
    reached("verified")
    report = verify_trees(damaged)
    if column[row] == value:
        assert report.ok
    elif name == "hop":  # another switch may do as well, if it has the links and the room
        assert not report.ok or {int(column[row]), value} <= schedule.topology.switches
    else:
        assert not report.ok


# -- switches that add and copy ----------------------------------------------------------------------------------------


def star(root: int = 3) -> Trees:
    """An allreduce of three nodes around switch 3, which adds and copies; the root may be the switch or a node."""
    topology = Topology.from_links(4, [(a, b) for v in range(3) for a, b in ((v, 3), (3, v))], switches=[3])
    leaves = [v for v in range(3) if v != root]
    up = [(v, 3) for v in leaves] + ([] if root == 3 else [(3, root)])
    down = [(b, a) for a, b in reversed(up)]
    edges = np.array([*up, *down], dtype=np.int64)
    every = np.arange(len(edges))
    return Trees(
        collective=ALLREDUCE,
        topology=topology,
        rate=Fraction(1),
        root=np.array([root, root]),
        weight=np.array([1, 1]),
        tree=every // len(up),
        src=edges[:, 0].copy(),
        dst=edges[:, 1].copy(),
        route_edge=every,
        route_weight=np.ones(len(edges), dtype=np.int64),
        hop_start=np.arange(len(edges) + 1) * 2,
        hop=edges.ravel(),
        reduce_trees=1,
        concurrent=True,
    )


def capable(schedule: Trees, multicast: set[int] = {3}, aggregation: set[int] = {3}) -> str:  # noqa: B006
    report = verify_trees(schedule, multicast=frozenset(multicast), aggregation=frozenset(aggregation))
    assert report.ok != bool(report.problems)
    return "\n".join(report.problems)


@pytest.mark.parametrize("root", range(4))
def test_switches_that_can_may_add_and_copy(root: int) -> None:
    trees = star(root)
    assert not capable(trees)
    assert "nothing says that it can add" in capable(trees, aggregation=set())
    assert "nothing says that it can copy" in capable(trees, multicast=set())
    report = verify_trees(trees, multicast=frozenset({3}), aggregation=frozenset({3}))
    assert report.height == trees.height == (1 if root == 3 else 2)
    assert report.inverse_rate == trees.inverse_rate == 3  # all data at the rate of one link
    assert trees.relays.tolist() == [3]


def test_what_switches_may_not_do_is_found() -> None:
    trees = star()
    assert "the collective has no such block" in capable(replace(trees, concurrent=False))
    assert "never gets" in capable(replace(trees, root=np.array([3, 0])))
    node = star(0)
    assert "its sender sends the piece several times" in capable(changed(node, "src", 1, 3))
    assert "does not lead from one end" in capable(changed(changed(node, "dst", 0, 0), "dst", 1, 0))
    order = np.array([2, 0, 1, 3, 4, 5])
    early = replace(node, src=node.src[order], dst=node.dst[order])
    assert "has no partial sum of all of them" in capable(early)


def in_groups(collective: str = "allgather") -> Trees:
    return Trees.of(schedule("dgx_h100(2)", collective, group="8x2:1"))


@pytest.mark.parametrize("collective", TREE_COLLECTIVES)
def test_groups_have_trees_of_their_own(collective: TreeCollective) -> None:
    root = "first" if collective in {"broadcast", "reduce"} else None
    plan = schedule("dgx_h100(2)", collective, group="8x2:1", root=root)
    assert verify(plan).ok
    trees = Trees.of(plan)
    assert sum(len(one.flow.block) for one in split_groups(plan)) == len(trees)
    rounds = list_rounds(plan)
    place = rounds.topology
    assert verify_rounds(place, rounds).ok  # by another verifier, which knows no trees


def test_damage_to_the_trees_of_groups_is_found() -> None:
    trees = in_groups()
    far = int(trees.dst[0])
    other = next(node for group in trees.collective.groups or () if far not in group for node in group)
    assert complaint(changed(trees, "dst", 0, other))  # a node of another group in its place
    assert complaint(changed(trees, "root", 0, other))  # a tree that is of no group
    own = trees.team == 1
    heavy = np.where(own[trees.tree[trees.route_edge]], 2, 1) * trees.route_weight
    twice = replace(trees, weight=np.where(own, 2, 1) * trees.weight, route_weight=heavy, rate=trees.rate / 2)
    assert "takes another time" in complaint(twice)
    assert "carries" in complaint(replace(trees, rate=2 * trees.rate))  # of all groups together
