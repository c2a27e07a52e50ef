"""Trees unrolled into rounds: the two verifiers, which share nothing, judge alike, and steps and loads agree."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.floors import reached
from tests.samples.tree_tables import Trees
from tests.samples.trees import TREE_COLLECTIVES, TreeCollective, fabric, tree_schedule
from tests.samples.verdicts import replay_rounds, verify_rounds, verify_trees
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError
from topodesign.plans.chunk_ops import find_loads, sum_weights
from topodesign.plans.unroll import unroll
from topodesign.topology.topology import Topology

collectives = st.sampled_from(TREE_COLLECTIVES)


def direct(trees: Trees) -> Trees:
    """The same over links of its own for every edge, so that only what moves can be wrong."""
    nodes = trees.topology.nodes
    pairs = [(u, v, 2**20) for u in range(nodes) for v in range(nodes)]
    topology = Topology.from_links(nodes, pairs, switches=trees.topology.switches)
    return routed(replace(trees, topology=topology, rate=Fraction(1)), np.arange(len(trees.tree)))


def routed(trees: Trees, rows: NDArray[np.int64]) -> Trees:
    """Some of the edges, over one link each."""
    tree, src, dst = trees.tree[rows], trees.src[rows], trees.dst[rows]
    return replace(
        trees,
        tree=tree,
        src=src,
        dst=dst,
        route_edge=np.arange(len(rows)),
        route_weight=trees.weight[tree],
        hop_start=2 * np.arange(len(rows) + 1),
        hop=np.stack((src, dst), axis=1).ravel(),
    )


def is_right(trees: Trees, chunks: int = 1) -> bool:
    """Whether the unrolled trees are right and send nothing in vain, which trees do not."""
    report = replay_rounds(unroll(trees.on(trees.topology), chunks))
    return report.ok and not report.redundant and not report.refilled


@settings(max_examples=80)
@given(st.integers(0, 10**6), collectives, st.integers(2, 7), st.integers(1, 5), st.integers(1, 4))
def test_unrolled_trees_are_right_and_measured_alike(
    seed: int, collective: TreeCollective, nodes: int, per_root: int, chunks: int
) -> None:
    rng = random.Random(seed)  # noqa: S311
    trees = tree_schedule(fabric(nodes, 2, rng), collective, rng, per_root=per_root)
    rounds = unroll(trees.on(trees.topology), chunks)
    topology = rounds.topology
    assert verify_rounds(topology, rounds).ok
    weights = [part for part in sum_weights(trees.flow) if part]
    assert rounds.steps == trees.height + len(weights) * (chunks - 1)
    # What a link carries, in units, is the weight of the trees over it, each part of the data for itself.
    straight = direct(trees)
    owners = trees.collective.shards(nodes)
    for phase, weight in enumerate(weights):
        rows = (rounds.step > rounds.reduce_steps) == (phase == 1) if len(weights) > 1 else rounds.step > 0
        carried = np.zeros(len(straight.topology.src), dtype=np.int64)
        link = straight.topology.link_index(rounds.src[rows], rounds.dst[rows])
        np.add.at(carried, link, (rounds.hi - rounds.lo)[rows])
        assert np.array_equal(carried * int(weight), find_loads(straight.flow)[phase] * rounds.units * owners)


Damage = Callable[[random.Random, Trees], Trees]


def another(name: str) -> Damage:
    def apply(rng: random.Random, trees: Trees) -> Trees:
        column = getattr(trees, name).copy()
        top = {"weight": 4}.get(name, trees.topology.nodes)
        column[rng.randrange(len(column))] = rng.randrange(1 if name == "weight" else 0, top)
        return replace(trees, **{name: column})

    return apply


def swapped(rng: random.Random, trees: Trees) -> Trees:
    """Two neighbouring edges in the other order: right unless one needs the other."""
    row = rng.randrange(max(1, len(trees.tree) - 1))
    order = np.arange(len(trees.tree))
    order[row : row + 2] = order[row : row + 2][::-1]
    src, dst = trees.src[order], trees.dst[order]
    return trees if len(set(trees.tree[row : row + 2].tolist())) > 1 else replace(trees, src=src, dst=dst)


def turned(rng: random.Random, trees: Trees) -> Trees:
    row = rng.randrange(len(trees.tree))
    src, dst = trees.src.copy(), trees.dst.copy()
    src[row], dst[row] = dst[row], src[row]
    return replace(trees, src=src, dst=dst)


def resized(rng: random.Random, trees: Trees) -> Trees:
    """Without an edge, or with one twice."""
    row = rng.randrange(len(trees.tree))
    rows = np.arange(len(trees.tree))
    return routed(trees, rng.choice([np.delete(rows, row), np.insert(rows, row, row)]))


DAMAGE: dict[str, Damage] = {
    "sender": another("src"),
    "receiver": another("dst"),
    "root": another("root"),
    "weight": another("weight"),
    "order": swapped,
    "direction": turned,
    "edges": resized,
}


@pytest.mark.parametrize("name", DAMAGE)
@settings(max_examples=120)
@given(st.integers(0, 10**6), collectives, st.booleans())
@pytest.mark.floor(judged=80)
def test_both_verifiers_judge_damage_alike(name: str, seed: int, collective: TreeCollective, concurrent: bool) -> None:
    rng = random.Random(seed)  # noqa: S311
    concurrent = concurrent and collective == "allreduce"
    trees = direct(tree_schedule(fabric(rng.randint(2, 6), 2, rng), collective, rng, concurrent=concurrent))
    assert is_right(trees)
    try:
        damaged = direct(DAMAGE[name](rng, trees))
    except ScheduleError:  # not even the form is right
        return
    assert verify_trees(damaged).ok == is_right(damaged, 1 if concurrent else rng.randint(1, 3))
    reached("judged")


def test_damage_is_found_and_not_all_damage_is_wrong() -> None:
    """The law above would hold for verifiers that say the same of everything."""
    rng = random.Random(7)  # noqa: S311
    trees = direct(tree_schedule(fabric(6, 2, rng), "allgather", rng))
    verdicts = {name: {is_right(direct(damage(rng, trees))) for _ in range(40)} for name, damage in DAMAGE.items()}
    assert all(False in verdict for verdict in verdicts.values())
    assert True in verdicts["order"]


def test_what_rounds_cannot_say() -> None:
    rng = random.Random(1)  # noqa: S311
    where = fabric(4, 2, rng)
    with pytest.raises(InfeasibleError, match="unequal size"):
        unroll(tree_schedule(where, "allgather", rng, shard=(1, 2, 1, 1)).on(where))
    concurrent = tree_schedule(where, "allreduce", rng, concurrent=True).on(where)
    assert replay_rounds(unroll(concurrent)).ok
    with pytest.raises(InfeasibleError, match="at the same time"):
        unroll(concurrent, 2)
    with pytest.raises(ParameterError):
        unroll(concurrent, 0)
