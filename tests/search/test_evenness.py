"""Links loaded evenly: what is found has the steps it should, and is told by a spec that rebuilds it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from topodesign.base.compiled import LARGEST
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.evaluation import deferred_both
from topodesign.search.evenness import _goals, search_even
from topodesign.search.evenness_kernels import PART, even_out, excess
from topodesign.search.near_kernels import _fill, _levels
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology

UNEVEN = [
    "turn(congruential(150,-4,4,5,2,3),4,3)",
    "congruential(60,3,0,1,2)",
    "transpose(turn(congruential(141,4,1,2,3,4),2,2))",
]


def both_ends(topology: Topology) -> tuple[IntArray, IntArray]:
    nodes, degree = topology.nodes, topology.degree
    out = topology.dst.reshape(nodes, degree).astype(np.int64)
    return out, np.argsort(out.ravel(), kind="stable").reshape(nodes, degree) // degree


def by_kernel(out: IntArray, into: IntArray, steps: int, goal: IntArray, limit: int = LARGEST) -> tuple[int, IntArray]:
    """Return the energy, and by how much the fullest link of each node is above the goals in either collective."""
    there, back = _levels(len(out), steps), _levels(len(out), steps)
    assert _fill(there, out) == _fill(back, into) == 0
    union = np.zeros((1 << out.shape[1], there.reached.shape[2]), np.uint64)
    before, worst = np.zeros((2, len(out)), np.int64), np.zeros((2, len(out)), np.int64)
    return excess(there, back, out, into, goal, union, before, worst, limit), worst


def by_definition(topology: Topology, steps: int, goal: list[int]) -> int:
    """Return the energy of a reduce-scatter by its definition: what some ports must carry, from the sets of nodes."""
    total = 0
    reach = [distances(topology, node) for node in range(topology.nodes)]
    for node, ahead in enumerate(reach):
        ports = sorted(topology.dst[topology.src == node].tolist())
        for window, aim in enumerate(goal):
            far = [v for v in range(topology.nodes) if ahead[v] >= steps - window]
            ways = [{j for j, port in enumerate(ports) if reach[port][v] < steps} for v in far]
            for size in range(1, len(ports) + 1):
                for chosen in itertools.combinations(range(len(ports)), size):
                    load = sum(some <= set(chosen) for some in ways)
                    total += max(0, load * PART // size - aim) ** 2
    return total


@given(st.integers(12, 26), st.integers(2, 3), st.integers(0, 99), st.booleans())
@settings(max_examples=25)
def test_the_energy_is_what_links_must_carry(nodes: int, degree: int, seed: int, less: bool) -> None:
    topology = build(f"randomregular({nodes},{degree},{seed})")
    steps = price(topology).steps
    out, into = both_ends(topology)
    goal = [one // (1 + less) for one in _goals(nodes, degree, steps).tolist()]
    total = sum(by_definition(way, steps, goal) for way in (topology, topology.transpose()))
    found, worst = by_kernel(out, into, steps, np.array(goal))
    assert found == total
    assert (found > 0) == (int(worst.max()) > 0)
    assert by_kernel(out, into, steps, np.array(goal), found // 2 + 1)[0] == min(found, found // 2 + 1)


@pytest.mark.parametrize("text", few(UNEVEN, 2))
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_schedules_get_cheaper_in_as_many_steps(text: str, seed: int) -> None:
    base = build(text)
    steps = price(base).steps
    spec = search_even(base, steps, 20_000, seed=seed)
    assert spec is not None
    found = build(str(spec))
    assert (found.nodes, found.degree, found.self_loops) == (base.nodes, base.degree, base.self_loops)
    assert found.is_regular
    before, after = (sum((cost.bandwidth for cost in deferred_both(one)), Fraction(0)) for one in (base, found))
    assert after < before
    assert {cost.steps for cost in deferred_both(found)} == {steps}
    assert spec == search_even(base, steps, 20_000, seed=seed)


def test_swaps_of_swaps_are_told_from_what_was_swapped_first() -> None:
    base = build(UNEVEN[0])
    first = search_even(base, 4, 2_000)
    assert first is not None
    again = search_even(build(str(first)), 4, 2_000, seed=2)
    for spec in (first, again):
        assert spec is not None
        assert spec.name == "successors" or str(spec.args[0]) == UNEVEN[0]


def test_what_is_of_another_kind_is_left_alone() -> None:
    few = build("congruential(60,3,0,1,2)")
    for base, steps in (
        (few, price(few).steps - 1),  # more nodes than that are too far apart
        (few, 1),
        (build("parallel(circulant(9,1),2)"), 4),
        (build("complete(12)"), 1),  # too many links
        (Topology.from_arrays(few.nodes, few.src, few.dst), 4),  # has no spec
    ):
        assert search_even(base, steps, 100) is None


def test_exchanges_keep_ports_and_both_tables_the_same() -> None:
    base = build(UNEVEN[0])
    out, into = both_ends(base)
    before = out.copy()
    state, goal = np.array([5], np.uint64), _goals(150, 4, 4)
    full = int(by_kernel(out, into, 4, goal)[1].max())
    halved = even_out(out, into, goal, 150_000, 0, 4, state)
    assert halved >= 0
    left = int(by_kernel(out, into, 4, goal)[1].max())
    assert left < full
    assert left * 2**halved <= full
    assert np.array_equal(np.sort(before.ravel()), np.sort(out.ravel()))
    assert even_out(out, into, _goals(150, 4, 3), 10, 0, 3, state) == -1
