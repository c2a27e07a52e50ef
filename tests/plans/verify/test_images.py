"""The verifier of folded trees against that of what they unfold to: same verdict and figures, whatever is damaged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.plans.test_orbit_trees import LARGE_LATER, SPECS, folded, orbit_of
from tests.samples.tree_tables import Trees
from tests.samples.verdicts import verify_trees
from topodesign.base.errors import ScheduleError
from topodesign.plans.build import fold_of
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import verify

NAMES = ("root", "weight", "tree", "src", "dst", "route_edge", "route_weight", "hop")


def alike(orbit: Trees) -> bool:
    """Whether both verifiers say the same; returns what they say."""
    one, whole = verify_trees(orbit), verify_trees(orbit.unfold())
    assert one.ok == whole.ok, (str(one), str(whole))
    assert (one.trees, one.fullest, one.inverse_rate) == (whole.trees, whole.fullest, whole.inverse_rate)
    assert one.height == whole.height
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
        orbit = damaged(orbit, np.random.default_rng(seed))
        _ = Plan(orbit.topology, orbit.flow)
    except ScheduleError:  # not even the form is right
        return
    if not alike(orbit):
        reached("wrong")


def test_nodes_have_their_names() -> None:
    orbit = orbit_of(folded("mi250(4)", "allgather"))
    less = orbit.having(weight=orbit.weight + 1)
    assert "piece 0: 0 -> 1, units" in str(verify_trees(less))
    assert "piece 0: gpu0 -> gpu1, units" in str(
        verify_trees(less, names=[f"gpu{node}" for node in range(orbit.topology.nodes)])
    )


def test_a_symmetry_of_another_fabric_is_refused() -> None:
    orbit = orbit_of(folded("mi250(4)", "allgather"))
    assert orbit.fold is not None
    swapped = orbit.fold.generators.copy()
    swapped[0, [0, 16]] = swapped[0, [16, 0]]  # in a ring of boxes two nodes less
    other = replace(orbit, fold=fold_of(swapped))
    (problem,) = verify_trees(other).problems
    assert "the symmetry is none of the topology" in problem
    assert "which is not a link" in problem


def test_a_symmetry_that_leaves_nodes_where_they_are_is_refused() -> None:
    """A reflection of a ring of two rows: which permutation takes a tree elsewhere would make a difference."""
    orbit = orbit_of(folded("dgx_a100(2)", "allgather"))
    assert orbit.fold is not None
    own = orbit.fold.generators
    swap = np.arange(orbit.topology.nodes, dtype=np.int32)
    swap[[2, 4]] = swap[[4, 2]]  # two GPUs on the same switches
    both = replace(orbit, fold=replace(orbit.fold, make=lambda: [*own, swap]))
    assert "leaves compute nodes where they are" in str(verify_trees(both))
