"""Tree schedules: their form, their reversal, and those that ForestColl makes of a fabric."""

from __future__ import annotations

import functools
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples import trees as sample_trees
from tests.samples.forest import a100, fabrics, mi250
from tests.samples.tree_tables import Trees, forest_schedule
from tests.samples.trees import ROOTED, TREE_COLLECTIVES, TreeCollective
from tests.samples.verdicts import verify_trees
from topodesign import build
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TopologyError
from topodesign.collectives import GATHER, REDUCE
from topodesign.optima.forest.bottleneck import optimum
from topodesign.optima.forest.tree_counts import find_fixed_optimum, smallest_trees
from topodesign.plans.chunk_ops import MAX_WEIGHT, find_heights, find_loads
from topodesign.plans.flow_ops import reverse
from topodesign.topology.topology import Topology


def right(schedule: Trees) -> Trees:
    """The schedule, after the verifier and the schedule's own sums have looked at it."""
    report = verify_trees(schedule, schedule.inverse_rate)
    assert report.ok, str(report)
    for loads in [find_loads(schedule.flow).sum(axis=0)] if schedule.concurrent else find_loads(schedule.flow):
        capacities = schedule.topology.capacity.tolist()
        assert all(load * schedule.rate <= capacity for load, capacity in zip(loads.tolist(), capacities, strict=True))
    return schedule


@pytest.mark.floor(apart=30)
@settings(max_examples=60, deadline=None)
@given(fabrics(), st.sampled_from(TREE_COLLECTIVES), st.integers(0, 3), st.data())
def test_any_collective_on_any_fabric(
    topology: Topology, collective: TreeCollective, k: int, data: st.DataObject
) -> None:
    nodes = [node for node in range(topology.nodes) if node not in topology.switches]
    root = data.draw(st.sampled_from(nodes)) if collective in ROOTED else None
    shard = None
    if root is None and data.draw(st.booleans()):
        shard = data.draw(st.lists(st.integers(0, 3), min_size=len(nodes), max_size=len(nodes)).filter(any))
    schedule = right(Trees.of(forest_schedule(topology, collective, k=k or None, root=root, shard=shard)))
    assert schedule.topology == topology
    assert schedule.collective.name == collective
    if not schedule.concurrent:
        assert schedule.shard == (None if shard is None else tuple(shard))
    sizes = shard if root is None else [int(node == root) for node in nodes]
    one_way = optimum(topology, weights=sizes).inverse_rate
    other_way = optimum(topology.transpose(), weights=sizes).inverse_rate
    forward = {"allgather": 1, "broadcast": 1, "allreduce": 1}.get(collective, 0)
    backward = {"reduce-scatter": 1, "reduce": 1, "allreduce": 1}.get(collective, 0)
    best = forward * one_way + backward * other_way
    if schedule.concurrent:
        assert collective == "allreduce"
        assert not k
        assert shard is None
        assert sum(schedule.shard or ()) / schedule.inverse_rate > len(nodes) / best
        return
    reached("apart")
    assert schedule.inverse_rate >= best
    if k:
        there = find_fixed_optimum(topology, k, weights=sizes).inverse_rate
        back = find_fixed_optimum(topology.transpose(), k, weights=sizes).inverse_rate
        assert schedule.inverse_rate == forward * there + backward * back
    else:
        assert schedule.inverse_rate == best


@pytest.mark.dear("MI250")
@pytest.mark.parametrize("topology", [a100(2), mi250(1)], ids=["A100", "MI250"])
def test_known_fabrics(topology: Topology) -> None:
    schedule = right(Trees.of(forest_schedule(topology, "allgather")))
    assert np.bincount(schedule.root, schedule.weight, topology.nodes).max() == smallest_trees(topology)
    assert find_heights(schedule.flow).shape == (len(schedule),)
    assert schedule.height == find_heights(schedule.flow).max() <= 12


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(TREE_COLLECTIVES))
def test_reversal(rng: random.Random, collective: TreeCollective) -> None:
    topology = sample_trees.fabric(rng.randint(2, 6), rng.randint(1, 3), rng)
    schedule = sample_trees.tree_schedule(topology, collective, rng)
    back = Trees.of(reverse(schedule.flow))
    assert verify_trees(schedule).ok == verify_trees(back).ok
    assert back.collective == schedule.collective.dual
    assert reverse(back.flow) == schedule.flow
    assert hash(reverse(back.flow)) == hash(schedule.flow)
    assert back != schedule
    assert back.height == schedule.height
    assert back.inverse_rate == schedule.inverse_rate


def test_reversal_on_one_way_links() -> None:
    ring = build("uniring(1,5)")
    back = forest_schedule(ring, "allgather").reverse()
    assert back.topology == ring.transpose()
    assert right(back).collective.name == "reduce-scatter"


def test_allreduce_with_halves_of_different_rates() -> None:
    """A node with more links out than in: gathering and scattering are not equally fast."""
    topology = Topology.from_links(3, [(0, 1, 3), (0, 2, 5), (1, 0, 2), (1, 2, 1), (2, 1, 4), (2, 0, 2)])
    halves = [forest_schedule(topology, collective).inverse_rate for collective in ("reduce-scatter", "allgather")]
    assert halves[0] != halves[1]
    assert right(Trees.of(forest_schedule(topology, "allreduce", shard=[1, 1, 1]))).inverse_rate == sum(halves)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"k": 0}, ParameterError),
        ({"root": 0}, ParameterError),
        ({"shard": [1, 2]}, ParameterError),
        ({"shard": [0, 0, 0]}, ParameterError),
        ({"collective": "broadcast"}, ParameterError),
        ({"collective": "reduce", "root": 3}, ParameterError),
        ({"collective": "reduce", "root": 0, "shard": [1, 1, 1]}, ParameterError),
        ({"topology": Topology.from_links(3, [(0, 1), (1, 0)])}, InfeasibleError),
        ({"topology": Topology.from_links(1, [])}, TopologyError),
    ],
)
def test_what_cannot_be(options: dict[str, Any], error: type[Exception]) -> None:
    star = Topology.from_links(4, [(u, 3) for u in range(3)] + [(3, u) for u in range(3)], switches=[3])
    arguments: dict[str, Any] = {"topology": star, "collective": "allgather"}
    with pytest.raises(error):
        forest_schedule(**(arguments | options))


@functools.cache
def sample() -> Trees:
    """Two nodes at a switch, one tree each."""
    star = Topology.from_links(3, [(0, 2), (2, 1), (1, 2), (2, 0)], switches=[2])
    return Trees.of(forest_schedule(star, "allgather"))


@pytest.mark.parametrize(
    "change",
    [
        {"collective": GATHER},
        {"collective": REDUCE},
        {"rate": Fraction(0)},
        {"reduce_trees": 1},
        {"reduce_trees": 3},
        {"concurrent": True},
        {"shard": (1, 2, 3)},
        {"shard": (0, 0)},
        {"shard": (-1, 2)},
        {"root": np.array([0, 3])},
        {"weight": np.array([1, 0])},
        {"weight": np.array([1, MAX_WEIGHT + 1])},
        {"weight": np.array([1])},
        {"tree": np.array([1, 0])},
        {"tree": np.array([0, 2])},
        {"src": np.array([0, -1])},
        {"route_edge": np.array([0, 2])},
        {"route_weight": np.array([1, 0])},
        {"hop_start": np.array([0, 3])},
        {"hop_start": np.array([0, 1, 6])},
        {"hop_start": np.array([0, 3, 5])},
        {"hop_start": np.array([1, 3, 6])},
        {"hop": np.array([0, 2, 1, 1, 2, 9])},
    ],
)
def test_form(change: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError):
        replace(sample(), **change)


def test_columns_are_frozen() -> None:
    for column in sample().columns().values():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_circles_and_missing_links_are_told() -> None:
    swapped = replace(sample(), src=np.array([1, 1]), dst=np.array([1, 0]))
    with pytest.raises(ScheduleError, match="circle"):
        find_heights(swapped.flow)
    astray = replace(sample(), hop=np.array([0, 1, 1, 1, 2, 0]))
    with pytest.raises(ScheduleError, match="from 0 to 1, where there is no link"):
        find_loads(astray.flow)
