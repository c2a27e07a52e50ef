"""The symmetric search: groups it goes through, prices it computes, and that its seed decides what it tries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from topodesign import build
from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError
from topodesign.graphs.cayley import cayley_of
from topodesign.pricing.closed_form import price
from topodesign.search import symmetric as search
from topodesign.search.groups import groups_of_order, groups_to_search
from topodesign.search.lifted import cayley_spec
from topodesign.search.symmetric import search_sizes, search_symmetric
from topodesign.search.target import FoundDigraph, Target
from topodesign.topology.groups import Group, affine, dicyclic, metacyclic


class Clock:
    """A clock that moves by a fixed amount at every look, so that a search of so many seconds is so many batches."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[Target, list[FoundDigraph]]]:
    def run(targets: list[Target], batches: int, seed: int = 0) -> dict[Target, list[FoundDigraph]]:
        monkeypatch.setattr(search, "Stopwatch", Clock)
        return search_sizes(targets, batches * 0.03, seed=seed, known=lambda _: ())

    return run


def check(found: FoundDigraph, target: Target) -> None:
    """Price a find again, from all its nodes and both ways round."""
    topology = build(found.spec)
    assert (topology.nodes, topology.degree) == (target.nodes, target.degree)
    assert topology.is_regular
    assert topology.is_duplex or not target.duplex
    assert price(topology, all_sources=True) == found.cost
    assert price(topology.transpose(), all_sources=True).bandwidth <= found.cost.bandwidth


@pytest.mark.parametrize(
    "target",
    [
        Target(16, 4, duplex=False),
        Target(21, 3, duplex=False),
        Target(24, 5, duplex=True),
        Target(42, 4, duplex=False),
        Target(56, 16, duplex=False),
        Target(30, 4, duplex=True),
        Target(12, 3, duplex=True),
        Target(7, 2, duplex=False),
        Target(13, 1, duplex=False),
    ],
)
def test_found_digraphs_cost_what_the_search_says(
    target: Target, counted: Callable[..., dict[Target, list[FoundDigraph]]]
) -> None:
    found = counted([target], 12)[target]
    assert found
    for one, other in itertools.pairwise(found):
        assert one.cost.steps < other.cost.steps
        assert one.cost.bandwidth > other.cost.bandwidth
    for one in found:
        check(one, target)


def test_the_seed_alone_decides(counted: Callable[..., dict[Target, list[FoundDigraph]]]) -> None:
    targets = [Target(60, 4, duplex=False), Target(20, 4, duplex=False)]
    assert counted(targets, 10, seed=3) == counted(targets, 10, seed=3)
    longer, shorter = counted(targets, 20, seed=3), counted(targets, 10, seed=3)
    for target in targets:
        for one in shorter[target]:
            assert any(other.cost.dominates(one.cost) for other in longer[target])


def test_known_costs_are_not_found_again(counted: Callable[..., dict[Target, list[FoundDigraph]]]) -> None:
    target = Target(16, 4, duplex=False)
    best = counted([target], 30)[target]
    with_known = search_sizes([target], 0.2, known=lambda _: [Cost(2, Fraction(15, 16))])[target]
    assert best
    assert with_known == []


def test_degrees_beyond_the_search_find_nothing() -> None:
    for nodes, degree in ((40, 17), (5, 5), (3, 7)):
        target = Target(nodes, degree, duplex=False)
        assert search_sizes([target], 1.0, known=lambda _: ()) == {target: []}


@pytest.mark.parametrize("base", [dicyclic(2), dicyclic(3), affine(4), affine(5), metacyclic(7, 3, 2)])
def test_inverses_undo(base: Group) -> None:
    assert np.all(base.multiply(base.elements(), base.inverses()) == 0)


def test_cyclic_sets_are_written_as_circulants() -> None:
    cyclic = next(base for base in groups_of_order(12) if base.spec.name == "cyclic")
    assert str(cayley_spec(cyclic, [1, 5, 7, 11], duplex=True)) == "circulant(12,1,5)"
    assert str(cayley_spec(cyclic, [1, 6, 11], duplex=True)) == "dicirculant(12,1,6,11)"
    assert str(cayley_spec(cyclic, [1, 2], duplex=False)) == "dicirculant(12,1,2)"


def best_of_all_sets(target: Target) -> list[Cost]:
    """Price every connection set of every group one by one."""
    best: dict[int, Fraction] = {}
    for base in groups_to_search(target.nodes):
        inverse = base.inverses().tolist()
        for chosen in itertools.combinations(range(1, target.nodes), target.degree):
            if target.duplex and {inverse[s] for s in chosen} != set(chosen):
                continue
            topology = cayley_of(base, chosen)
            try:
                there, back = price(topology), price(topology.transpose())
            except DisconnectedError:
                continue
            dearer = max(there.bandwidth, back.bandwidth)
            best[there.steps] = min(best.get(there.steps, dearer), dearer)
    costs = [Cost(steps, y) for steps, y in sorted(best.items())]
    return [cost for place, cost in enumerate(costs) if not any(one.dominates(cost) for one in costs[:place])]


@pytest.mark.parametrize(
    "target",
    [
        Target(7, 2, duplex=False),
        Target(8, 3, duplex=False),
        Target(12, 3, duplex=True),
        Target(12, 4, duplex=True),
        Target(13, 4, duplex=True),
        Target(12, 2, duplex=False),
        Target(10, 8, duplex=False),
        Target(6, 5, duplex=True),
    ],
)
def test_small_sizes_are_searched_exhaustively(target: Target) -> None:
    found = search_symmetric(target, 10**8, orbits=[1])
    assert [one.cost for one in found] == best_of_all_sets(target)
    for one in found:
        check(one, target)


LIFTED = [
    (Target(30, 4, duplex=False), 3),
    (Target(22, 3, duplex=False), 2),
    (Target(26, 4, duplex=True), 2),
    (Target(21, 4, duplex=True), 3),
    (Target(24, 5, duplex=True), 4),
    (Target(30, 3, duplex=True), 2),
    (Target(14, 3, duplex=True), 2),
    (Target(40, 16, duplex=False), 4),
    (Target(34, 8, duplex=True), 2),
    (Target(12, 2, duplex=False), 6),
]


@pytest.mark.parametrize(("target", "orbits"), LIFTED)
def test_found_lifts_cost_what_the_search_says(target: Target, orbits: int) -> None:
    found = search_symmetric(target, 2 * 10**6, orbits=[orbits])
    assert found
    for one in found:
        check(one, target)
        representatives = build(one.spec).representatives
        assert representatives is not None
        assert len(representatives) == orbits


@pytest.mark.parametrize(
    "target", [Target(77, 4, duplex=False), Target(58, 4, duplex=True), Target(48, 8, duplex=False)]
)
def test_a_budget_of_work_decides_what_is_found(target: Target) -> None:
    found = search_symmetric(target, 10**6, seed=2)
    assert found
    assert search_symmetric(target, 10**6, seed=2) == found
    for one, other in itertools.pairwise(found):
        assert one.cost.steps < other.cost.steps
        assert one.cost.bandwidth > other.cost.bandwidth
    for one in found:
        check(one, target)
    assert not [
        one
        for one in search_symmetric(target, 10**6, seed=2, known=[one.cost for one in found])
        if any(other.cost.dominates(one.cost) for other in found)
    ]


def test_steps_alone_are_searched_for_whatever_the_bandwidth_factor() -> None:
    target = Target(403, 4, duplex=True)
    (found,) = search_symmetric(target, 2 * 10**9, orbits=[13], steps=6)
    check(found, target)
    assert found.cost.steps == 6
    assert search_symmetric(target, 10**9, orbits=[13], steps=4) == []  # fewer than any has
    known = [Cost(6, found.cost.bandwidth)]
    others = search_symmetric(target, 10**8, orbits=[13], known=known, steps=6)
    assert all(one.cost.bandwidth < found.cost.bandwidth for one in others)


def test_steps_that_are_out_of_reach_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    turns: list[int] = []
    turn = search._Search.turn

    def counted(self: search._Search, most: int) -> int:
        turns.append(self.orbits)
        return turn(self, most)

    monkeypatch.setattr(search._Search, "turn", counted)
    assert search_symmetric(Target(934, 4, duplex=True), 10**12, orbits=[1, 2], steps=7) == []  # 2 * 467: poor groups
    assert (turns.count(1), turns.count(2)) == (search._ENOUGH_TURNS_OF_GROUPS, search._ENOUGH_TURNS)


def test_lifts_reach_sizes_whose_groups_are_poor() -> None:
    """Of the only group of order 77 no digraph has four steps, as sums of four terms of four kinds are 70 at most."""
    target = Target(77, 4, duplex=False)
    assert min(one.cost.steps for one in search_symmetric(target, 2 * 10**6, orbits=[1])) >= 5
    assert min(one.cost.steps for one in search_symmetric(target, 2 * 10**6, orbits=[7])) <= 4


@pytest.mark.parametrize(
    "target",
    [
        Target(9, 3, duplex=True),  # an odd number of link ends
        Target(12, 2, duplex=True),  # a cycle, which needs no search
        Target(40, 17, duplex=False),
        Target(5, 5, duplex=False),
    ],
)
def test_nothing_is_found_where_there_is_nothing_to_look_for(target: Target) -> None:
    assert search_symmetric(target, 10**6) == []
    assert search_symmetric(target, 10**6, orbits=[3]) == []


def test_what_is_enough_is_not_made_better() -> None:
    """With one and a half times the optimal bandwidth factor to be content with, fewer steps are searched."""
    target = Target(12_000, 4, duplex=True)
    content = search_symmetric(target, 10**8, orbits=[8], enough=Fraction(3, 2))
    fewest = min(one.cost.steps for one in content)
    assert [one.cost.steps for one in content] == [fewest]
    assert content[0].cost.bandwidth <= Fraction(3, 2)
    topology = build(content[0].spec)
    assert price(topology) == content[0].cost
