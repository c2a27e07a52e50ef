"""Groups against sympy's permutation groups, built another way: from generators, not from formulas."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from sympy.combinatorics import Permutation, PermutationGroup
from sympy.combinatorics.group_constructs import DirectProduct
from sympy.combinatorics.named_groups import (
    AbelianGroup,
    AlternatingGroup,
    CyclicGroup,
    DihedralGroup,
    SymmetricGroup,
)

from topodesign.base.errors import ParameterError
from topodesign.base.spec import parse
from topodesign.topology.finite_field import FiniteField
from topodesign.topology.group_catalog import further_groups
from topodesign.topology.groups import (
    Group,
    abelian,
    affine,
    alternating,
    cyclic,
    dicyclic,
    dihedral,
    group,
    metacyclic,
    pgl2,
    psl2,
    sl2,
    symmetric,
)


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


def wreath(bottom: int, top: int) -> PermutationGroup:
    """Z_bottom wr Z_top on bottom * top points: a turn of the first block, and the exchange of blocks in a cycle."""
    turn = [*((x + 1) % bottom for x in range(bottom)), *range(bottom, bottom * top)]
    exchange = [(x + bottom) % (bottom * top) for x in range(bottom * top)]
    return PermutationGroup(Permutation(turn), Permutation(exchange))


def linear(p: int, matrices: list[list[int]]) -> PermutationGroup:
    """The group that 2 x 2 matrices over Z_p generate, on all vectors."""
    vectors = list(itertools.product(range(p), repeat=2))
    place = {vector: i for i, vector in enumerate(vectors)}
    images = [[place[(a * x + b * y) % p, (c * x + d * y) % p] for x, y in vectors] for a, b, c, d in matrices]
    return PermutationGroup(*map(Permutation, images))


def heisenberg(p: int) -> PermutationGroup:
    """Unitriangular 3 x 3 matrices over Z_p, on the vectors (x, y, 1): x -> x + y, x -> x + 1, y -> y + 1."""
    vectors = list(itertools.product(range(p), repeat=2))
    place = {vector: i for i, vector in enumerate(vectors)}
    maps = [[place[(x + y) % p, y], place[x, (y + 1) % p], place[(x + 1) % p, y]] for x, y in vectors]
    return PermutationGroup(*(Permutation(list(image)) for image in zip(*maps, strict=True)))


def named(text: str) -> Group:
    return group(parse(text))


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
    (symmetric(1), CyclicGroup(1)),
    (symmetric(3), DihedralGroup(3)),
    (symmetric(4), SymmetricGroup(4)),
    (alternating(3), CyclicGroup(3)),
    (alternating(5), AlternatingGroup(5)),
    (psl2(2), SymmetricGroup(3)),
    (psl2(3), AlternatingGroup(4)),
    (psl2(4), AlternatingGroup(5)),
    (psl2(5), AlternatingGroup(5)),
    (pgl2(3), SymmetricGroup(4)),
    (pgl2(5), SymmetricGroup(5)),
    (sl2(2), SymmetricGroup(3)),
    (sl2(3), linear(3, [[1, 1, 0, 1], [1, 0, 1, 1]])),
    (sl2(4), AlternatingGroup(5)),
    (sl2(5), linear(5, [[1, 1, 0, 1], [1, 0, 1, 1]])),
    (named("direct(symmetric(3),cyclic(4))"), DirectProduct(SymmetricGroup(3), CyclicGroup(4))),
    (named("direct(cyclic(2),dihedral(3),cyclic(3))"), DirectProduct(*map(CyclicGroup, (2, 3)), DihedralGroup(3))),
    (named("semidirect(abelian(2,2,2),3,0,0,1,1,0,0,0,1,0)"), wreath(2, 3)),
    (named("semidirect(abelian(5,5),2,0,1,1,0)"), wreath(5, 2)),
    (named("semidirect(abelian(3,3),3,1,1,0,1)"), heisenberg(3)),
    (named("semidirect(abelian(4,4),4,1,1,0,1)"), heisenberg(4)),
    (named("semidirect(abelian(7),3,2)"), multiplier_group(7, 3, 2)),
    (named("semidirect(abelian(3,2),2,2,0,0,1)"), DihedralGroup(6)),
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


@pytest.mark.parametrize("q", [7, 8, 9, 11])
def test_projective_groups_are_sharply_three_transitive(q: int) -> None:
    base = pgl2(q)
    assert base.order == q**3 - q
    assert orders(base).keys() == ({1, FiniteField(q).characteristic} | _divisors(q - 1) | _divisors(q + 1))
    assert psl2(q).order == base.order // (1 + q % 2)
    assert sl2(q).order == base.order


def _divisors(n: int) -> set[int]:
    return {d for d in range(1, n + 1) if n % d == 0}


NO_GROUPS = [
    "semidirect(cyclic(4),2,3)", "semidirect(5,2,3)", "semidirect(abelian(3,3),2,0,1,1)",
    "semidirect(abelian(3,3),3,0,1,1,0)", "semidirect(abelian(2,4),2,1,0,1,1)", "semidirect(abelian(3),0,1)",
    "semidirect(abelian(3),2,cyclic(3))", "semidirect(abelian(3),cyclic(1),1)", "semidirect(abelian(1,1),9,0,0,0,0)",
    "semidirect(abelian(4),2,2)", "semidirect(abelian(1000,1000),1000,1,0,0,1)", "direct()", "direct(3)",
    "direct(cyclic(3),4)", "direct(cyclic(10000),cyclic(10000))", "symmetric(0)", "symmetric(10)", "alternating(10)",
    "symmetric(cyclic(3))", "psl2(6)", "psl2(1)", "psl2(1000)", "pgl2(1000000000000)", "sl2(25)", "pgl2(59)", "sl2(-1)",
    "nothing(3)",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_GROUPS)
def test_what_is_no_group_is_refused(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        named(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("order", [8, 12, 24, 27, 48, 60, 72, 96, 120])
def test_further_groups_come_by_the_share_that_commutes(order: int) -> None:
    shares = []
    for base in further_groups(order, most=100):
        assert base.order == order
        assert base.spec == group(base.spec).spec
        table = base.table()
        shares.append(Fraction(int(np.sum(table == table.T)), order**2))
    assert shares == sorted(shares)
    assert all(share < 1 for share in shares)


def test_further_groups_know_the_small_simple_ones() -> None:
    for order, text in (
        (60, "alternating(5)"),
        (168, "psl2(7)"),
        (504, "psl2(8)"),
        (660, "psl2(11)"),
        (1092, "psl2(13)"),
    ):
        assert str(further_groups(order)[0].spec) == text
    assert not any(further_groups(order) for order in (1, 2, 7, 15, 1021, 1023))
    assert len(further_groups(1024, most=5)) == 5
