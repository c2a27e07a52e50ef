"""Which groups are searched: in which order, and none of them twice."""

from __future__ import annotations

import numpy as np
import pytest

from topodesign.search.groups import groups_of_order, groups_to_search
from topodesign.topology.groups import Group


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


def test_groups_to_search_include_all_abelian_ones() -> None:
    for order, number in {8: 3, 16: 5, 32: 7, 36: 4, 64: 11, 72: 6, 97: 1}.items():
        squares = set()
        for base in groups_to_search(order):
            if base.abelian:  # told apart by how many elements have each order
                orders = [element_order(base, element) for element in range(order)]
                squares.add(tuple(sorted(orders)))
        assert len(squares) == number


def element_order(base: Group, element: int) -> int:
    count, power = 1, element
    while power:
        power, count = int(base.multiply(np.array(power), np.array(element))), count + 1
    return count


@pytest.mark.parametrize("order", [10_001, 16_384, 20_000, 99_990, 500_000])
def test_of_large_orders_there_are_groups_with_small_tables(order: int) -> None:
    """Each is a group, as the generators' relation says, that no other has the same numbers as."""
    groups = groups_to_search(order)
    assert 1 <= len(groups) <= 40
    assert len({str(base.spec) for base in groups}) == len(groups)
    for base in groups:
        assert base.order == order
        if base.spec.name == "metacyclic":
            n, m, r = map(int, map(str, base.spec.args))
            assert m * order <= 2**22
            assert pow(r, m, n) == 1
