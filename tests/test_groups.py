"""Groups against sympy's permutation groups, built another way: from generators, not from formulas."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sympy.combinatorics import Permutation, PermutationGroup
from sympy.combinatorics.named_groups import AbelianGroup, AlternatingGroup, CyclicGroup, DihedralGroup

from topodesign.graphs.groups import Group, abelian, affine, cyclic, dicyclic, dihedral, metacyclic


def multiplier_group(n: int, m: int, r: int) -> PermutationGroup:
    """Z_n : Z_m as permutations of Z_n and m further points: x -> x + 1, and x -> r*x with a turn of the points."""
    shift = [*((x + 1) % n for x in range(n)), *range(n, n + m)]
    turn = [*(x * r % n for x in range(n)), *(n + (i + 1) % m for i in range(m))]
    return PermutationGroup(Permutation(shift), Permutation(turn))


def quaternions() -> PermutationGroup:
    """The quaternion group by its regular representation."""
    i = Permutation([[0, 1, 2, 3], [4, 5, 6, 7]])
    j = Permutation([[0, 4, 2, 6], [1, 7, 3, 5]])
    return PermutationGroup(i, j)


def orders(base: Group) -> Counter[int]:
    """How many elements have each order."""
    result: Counter[int] = Counter()
    for element in range(base.order):
        power, count = element, 1
        while power:
            power = int(base.multiply(np.array(power), np.array(element)))
            count += 1
        result[count] += 1
    return result


CASES = [
    (cyclic(12), CyclicGroup(12)),
    (abelian(2, 4), AbelianGroup(2, 4)),
    (abelian(3, 3, 2), AbelianGroup(3, 3, 2)),
    (dihedral(7), DihedralGroup(7)),
    (dihedral(8), DihedralGroup(8)),
    (affine(4), AlternatingGroup(4)),
    (affine(7), multiplier_group(7, 6, 3)),
    (dicyclic(2), quaternions()),
    (dicyclic(3), multiplier_group(3, 4, 2)),
    (metacyclic(7, 3, 2), multiplier_group(7, 3, 2)),
    (metacyclic(16, 4, 3), multiplier_group(16, 4, 3)),
    (metacyclic(9, 6, 2), multiplier_group(9, 6, 2)),
]


@pytest.mark.parametrize(("ours", "theirs"), CASES, ids=[str(ours.spec) for ours, _ in CASES])
def test_groups_are_sympys(ours: Group, theirs: PermutationGroup) -> None:
    """Same order, same number of elements of each order, as many commuting pairs, and abelian alike."""
    assert ours.order == theirs.order()
    assert ours.abelian == theirs.is_abelian
    elements = list(theirs.elements)
    assert orders(ours) == Counter(int(element.order()) for element in elements)
    table = ours.table()
    assert int(np.sum(table == table.T)) == sum(a * b == b * a for a in elements for b in elements)


@pytest.mark.parametrize("ours", [ours for ours, _ in CASES], ids=[str(ours.spec) for ours, _ in CASES])
def test_groups_obey_the_axioms(ours: Group) -> None:
    g = ours.elements()
    left = ours.multiply(ours.multiply(g[:, None, None], g[None, :, None]), g[None, None, :])
    right = ours.multiply(g[:, None, None], ours.multiply(g[None, :, None], g[None, None, :]))
    assert np.array_equal(left, right)
    assert np.array_equal(ours.multiply(g, np.zeros_like(g)), g)
    assert np.array_equal(ours.multiply(np.zeros_like(g), g), g)
    assert not ours.multiply(g, ours.inverses()).any()
