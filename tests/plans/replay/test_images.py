"""The verifier of folded trees against that of what they unfold to: same verdict and figures, whatever is damaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.plans.test_orbit_trees import LARGE_LATER, SPECS, folded, orbit_of
from topodesign.base.errors import ScheduleError, TooLargeError, TopologyError
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.replay.images import Images, images_of
from topodesign.plans.replay.plans import verify
from topodesign.plans.replay.trees import loads_of, verify_trees
from topodesign.plans.trees import Trees
from topodesign.topology.symmetry import Symmetry

NAMES = ("root", "weight", "tree", "src", "dst", "route_edge", "route_weight", "hop")


def alike(orbit: OrbitTrees) -> bool:
    """Whether both verifiers say the same; returns what they say."""
    one, whole = verify_trees(orbit), verify_trees(orbit.unfold())
    assert one.ok == whole.ok, (str(one), str(whole))
    assert (one.trees, one.fullest, one.inverse_rate) == (whole.trees, whole.fullest, whole.inverse_rate)
    assert one.height == whole.height
    assert np.array_equal(images_of(orbit).loads(loads_of(orbit.own)), loads_of(orbit.unfold()))
    return one.ok


@pytest.mark.once
@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
@pytest.mark.parametrize("spec", LARGE_LATER)
def test_right_trees_are_right(spec: str, collective: str) -> None:
    plan = folded(spec, collective)
    assert alike(orbit_of(plan))
    assert verify(plan).ok
    wrong = {name: value + 1 for name, value in plan.claim.items()}
    assert len(verify(replace(plan, claim=wrong)).problems) == len(wrong)


def damaged(own: Trees, random: np.random.Generator) -> Trees:
    """With one entry of a column changed, or a tree less."""
    name = str(random.choice([*NAMES, "drop"]))
    if name == "drop":
        return own.some(np.arange(len(own)) != random.integers(len(own)))
    column = getattr(own, name).copy()
    row = random.integers(len(column))
    top = {"tree": len(own), "route_edge": len(own.tree), "weight": 9, "route_weight": 9}
    column[row] = random.integers(top.get(name, own.topology.nodes))
    return own.having(**{name: column})


@settings(max_examples=60)
@given(st.sampled_from(SPECS[::2]), st.sampled_from(["allgather", "allreduce"]), st.integers(0, 2**32))
@pytest.mark.floor(wrong=10)
def test_damage_is_found_as_in_the_whole(spec: str, collective: str, seed: int) -> None:
    orbit = orbit_of(folded(spec, collective))
    try:
        orbit = replace(orbit, own=damaged(orbit.own, np.random.default_rng(seed)))
    except ScheduleError:  # not even the form is right
        return
    if not alike(orbit):
        reached("wrong")


def test_nodes_have_their_names() -> None:
    orbit = orbit_of(folded("mi250(4)", "allgather"))
    less = replace(orbit, own=orbit.own.having(weight=orbit.own.weight + 1))
    assert "tree 0, edge 0 -> 1:" in str(verify_trees(less))
    assert "tree 0, edge gpu0 -> gpu1:" in str(verify_trees(less, names=[f"gpu{node}" for node in range(orbit.nodes)]))


def test_a_symmetry_of_another_fabric_is_refused() -> None:
    orbit = orbit_of(folded("mi250(4)", "allgather"))
    swapped = orbit.generators.copy()
    swapped[0, [0, 16]] = swapped[0, [16, 0]]  # in a ring of boxes two nodes less
    nodes = tuple(np.unique(Symmetry(orbit.nodes, (), lambda: swapped).orbit_of).tolist())
    other = replace(orbit, generators=swapped, representatives=nodes)
    with pytest.raises(TopologyError, match="which is no link"):
        images_of(other)
    assert "the symmetry is none of the topology" in str(verify_trees(other))


def test_a_symmetry_that_leaves_nodes_where_they_are_is_refused() -> None:
    """A reflection of a ring of two rows: which permutation takes a tree elsewhere would make a difference."""
    orbit = orbit_of(folded("dgx_a100(2)", "allgather"))
    nodes = orbit.nodes
    swap = np.arange(nodes, dtype=np.int32)
    swap[[2, 4]] = swap[[4, 2]]  # two GPUs on the same switches
    both = replace(orbit, generators=np.concatenate((orbit.generators, swap[None, :])))
    assert "leaves compute nodes where they are" in str(verify_trees(both))


def test_a_link_that_permutations_leave_where_it_is_carries_all_images() -> None:
    """Links 0 and 2 are one orbit, and link 1 one of its own; sums are in 64 bits or refused."""
    link = np.array([0, 1, 0])
    assert Images(4, None, link).loads(np.array([[1, 2, 5]])).tolist() == [[12, 8, 12]]
    assert Images(2**62, None, link).loads(np.array([[0, 1, 0]])).tolist() == [[0, 2**62, 0]]
    with pytest.raises(TooLargeError, match="images each"):
        Images(2**62, None, link).loads(np.array([[0, 2, 0]]))
