"""The Cayley search: groups it goes through, prices it computes, and that its seed decides what it tries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from topodesign import build, price, search
from topodesign.cost import Cost
from topodesign.graphs.groups import Group, affine, dicyclic, metacyclic
from topodesign.search import Target, cayley_spec, groups_of_order, search_cayley


class Clock:
    """A clock that moves by a fixed amount at every look, so that a search of so many seconds is so many batches."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.01
        return self.now


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[Target, list[search.Found]]]:
    def run(targets: list[Target], batches: int, seed: int = 0) -> dict[Target, list[search.Found]]:
        monkeypatch.setattr(search, "time", Clock())
        return search_cayley(targets, batches * 0.03, seed=seed)

    return run


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
    target: Target, counted: Callable[..., dict[Target, list[search.Found]]]
) -> None:
    found = counted([target], 12)[target]
    assert found
    for one, other in itertools.pairwise(found):
        assert one.cost.steps < other.cost.steps
        assert one.cost.bandwidth > other.cost.bandwidth
    for one in found:
        topology = build(one.spec)
        assert (topology.nodes, topology.degree) == (target.nodes, target.degree)
        assert price(topology, all_sources=True) == one.cost
        assert price(topology.transpose()).bandwidth <= one.cost.bandwidth
        assert topology.is_duplex or not target.duplex


def test_the_seed_alone_decides(counted: Callable[..., dict[Target, list[search.Found]]]) -> None:
    targets = [Target(60, 4, duplex=False), Target(20, 4, duplex=False)]
    assert counted(targets, 10, seed=3) == counted(targets, 10, seed=3)
    longer, shorter = counted(targets, 20, seed=3), counted(targets, 10, seed=3)
    for target in targets:
        for one in shorter[target]:
            assert any(other.cost.dominates(one.cost) for other in longer[target])


def test_known_costs_are_not_found_again(counted: Callable[..., dict[Target, list[search.Found]]]) -> None:
    target = Target(16, 4, duplex=False)
    best = counted([target], 30)[target]
    with_known = search_cayley([target], 0.2, known=lambda _t: [Cost(2, Fraction(15, 16))])[target]
    assert best
    assert with_known == []


def test_degrees_beyond_the_search_find_nothing() -> None:
    for nodes, degree in ((40, 17), (5, 5), (3, 7)):
        target = Target(nodes, degree, duplex=False)
        assert search_cayley([target], 1.0) == {target: []}


def number_of_classes(base: Group) -> int:
    """Count conjugacy classes one by one."""
    inverse = base.inverses()
    seen: set[int] = set()
    classes = 0
    for element in range(base.order):
        if element not in seen:
            classes += 1
            step = base.multiply(base.elements(), np.array(element))
            seen.update(base.multiply(step, inverse).tolist())
    return classes


@pytest.mark.parametrize("order", [1, 2, 6, 8, 12, 16, 20, 21, 27, 42, 56, 72])
def test_groups_come_by_their_commuting_pairs(order: int) -> None:
    """The share of commuting pairs is the number of conjugacy classes over the order."""
    groups = groups_of_order(order)
    classes = [number_of_classes(base) for base in groups]
    assert classes == sorted(classes)
    assert all(base.order == order for base in groups)
    assert len({str(base.spec) for base in groups}) == len(groups)
    assert any(base.abelian for base in groups)


@pytest.mark.parametrize("base", [dicyclic(2), dicyclic(3), affine(4), affine(5), metacyclic(7, 3, 2)])
def test_inverses_undo(base: Group) -> None:
    assert np.all(base.multiply(base.elements(), base.inverses()) == 0)


def test_cyclic_sets_are_written_as_circulants() -> None:
    cyclic = next(base for base in groups_of_order(12) if base.spec.name == "cyclic")
    assert str(cayley_spec(cyclic, [1, 5, 7, 11], duplex=True)) == "circulant(12,1,5)"
    assert str(cayley_spec(cyclic, [1, 6, 11], duplex=True)) == "dicirculant(12,1,6,11)"
    assert str(cayley_spec(cyclic, [1, 2], duplex=False)) == "dicirculant(12,1,2)"
