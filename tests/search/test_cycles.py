"""Cycles that a rotation turns: lengths make up the size, pairs are counted right, and few steps are found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from topodesign.base.spec import parse
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.row_check import check_row
from topodesign.pricing.closed_form import distances
from topodesign.search.cycle_kernels import bring_near, too_far
from topodesign.search.cycles import cycles_of, random_cycles, search_cycles, spec_of
from topodesign.search.state import SearchState
from topodesign.search.strategies import cycles as strategy
from topodesign.search.strategies.cycles import cycles
from topodesign.search.strategies.strategy import Draw
from topodesign.search.target import Target
from topodesign.topology.library import build


@pytest.mark.dear
@given(st.integers(9, 150), st.integers(3, 8), st.data())
@settings(max_examples=40, deadline=None)
def test_pairs_are_counted_as_in_the_graph_that_the_spec_builds(nodes: int, degree: int, data: st.DataObject) -> None:
    every = cycles_of(Target(nodes, degree, duplex=True))
    assume(every)
    lengths = every[data.draw(st.sampled_from(sorted(every)))]
    assert sum(lengths) == nodes
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    cycles = random_cycles(degree, lengths, rng)
    assume(cycles is not None)
    assert cycles is not None
    steps = data.draw(st.integers(1, 4))
    far = bring_near(cycles, steps, data.draw(st.sampled_from([0, 40])), rng.integers(1, 2**63, 1, dtype=np.uint64))
    topology = build(str(spec_of(degree, cycles)))
    assert (topology.nodes, topology.degree) == (nodes, degree)
    assert topology.is_duplex
    assert topology.is_regular
    assert topology.self_loops == 0
    assert topology.symmetry is not None
    topology.symmetry.check(topology)
    apart = np.array([distances(topology, int(node)) for node in np.cumsum((0, *lengths[:-1]))])
    assert far == np.count_nonzero((apart > steps) | (apart < 0))
    rows = np.zeros((2, len(lengths), 2 * lengths[0]), dtype=np.uint64)
    assert far == too_far(cycles, steps, *rows)


@pytest.mark.parametrize(("nodes", "degree", "steps"), [(53, 6, 3), (107, 4, 5), (36, 3, 5)])
def test_few_steps_are_found_for_primes_too(nodes: int, degree: int, steps: int) -> None:
    target = Target(nodes, degree, duplex=True)
    every = cycles_of(target)
    found = [search_cycles(target, steps, 10**7, lengths, seed=1) for lengths in every.values()]
    specs = [spec for spec in found if spec is not None]
    assert specs
    assert all(distances(build(str(spec)), node).max() <= steps for spec in specs for node in range(nodes))


def test_sizes_without_cycles() -> None:
    assert cycles_of(Target(30, 4, duplex=False)) == {}
    assert cycles_of(Target(2050, 4, duplex=True)) == {}
    assert cycles_of(Target(5, 4, duplex=True)) == {}
    assert cycles_of(Target(53, 5, duplex=True)) == {}  # a port stays free
    assert set(cycles_of(Target(907, 6, duplex=True))[18]) == {60, 30, 15, 12, 10}


# -- Turns among cycles: what they keep is right by its links, and has a step less


TARGET = Target(107, 6, duplex=True)


def test_a_step_less_is_found_and_kept_for_a_prime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategy, "_WORK", 10**7)
    state = SearchState(range(107, 108), {6: []})
    state.keep(TARGET, [parse("circulant(107,1,2,3)")])
    before = state.fastest(TARGET)
    assert before is not None
    assert cycles.gap(state, TARGET) > 0
    assert sum(cycles.search(state, TARGET, Draw(count, 0, 0)) for count in cycles.orbits(TARGET)) > 0
    after = state.fastest(TARGET)
    assert after is not None
    assert after.cost.steps < before.cost.steps
    assert after.spec.startswith("multicirculant(")
    assert check_row(after) is None


def test_sizes_that_are_searched() -> None:
    assert cycles.orbits(Target(36, 3, duplex=False)) == []
    assert len(cycles.orbits(TARGET)) > 1
    assert cycles.gap(SearchState([107], {6: []}, Catalog()), TARGET) == 0
