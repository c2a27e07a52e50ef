"""Numbers along cosets: multiplying rotates them, and breadth-first search by rotations sees what pricing sees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign import build, price
from topodesign.base.spec import Spec, parse
from topodesign.pricing.closed_form import distances
from topodesign.search import screening_kernels as kernels
from topodesign.search.cosets import number_group
from topodesign.search.groups import groups_of_order, groups_to_search
from topodesign.topology.groups import Group

GROUPS = (
    "cyclic(1)",
    "cyclic(64)",
    "cyclic(65)",
    "abelian(2,2,2)",
    "dihedral(33)",
    "dicyclic(3)",
    "affine(8)",
    "metacyclic(25,8,7)",
    "symmetric(4)",
    "psl2(7)",
    "direct(cyclic(3),alternating(4))",
    "semidirect(abelian(2,2,2),4,0,0,1,1,0,1,0,1,1)",
)


@pytest.mark.parametrize("text", GROUPS)
def test_multiplying_rotates_cosets(text: str) -> None:
    group = number_group(parse(text))
    base, size = group.base, group.turns.size
    assert group.element[0] == group.number[0] == 0
    assert np.array_equal(group.number[group.element], np.arange(base.order))
    assert np.all(base.multiply(group.element, group.element[group.inverse]) == 0)
    coset, place = np.divmod(np.arange(base.order), size)
    for element in range(base.order):
        turns = group.turns.coset[element, coset] * size + (place + group.turns.turn[element, coset]) % size
        assert np.array_equal(group.element[turns], base.multiply(group.element, np.array(group.element[element])))


def test_the_subgroup_is_large() -> None:
    assert [number_group(parse(text)).turns.size for text in GROUPS] == [1, 64, 65, 2, 33, 6, 7, 50, 4, 7, 6, 4]
    assert [number_group(parse(f"cyclic({n})")).turns.size for n in (64, 67, 122, 1024)] == [64, 67, 122, 1024]


@st.composite
def lifts(draw: st.DrawFn) -> tuple[str, int, int, list[int], list[int]]:
    """Draw a group, orbits, a degree, heads and voltages (in the group's own numbers), links sorted by ends."""
    text = draw(st.sampled_from(GROUPS[1:]))
    order = number_group(parse(text)).base.order
    orbits, degree = draw(st.sampled_from([1, 2, 3, 5, 17])), draw(st.integers(1, 3))
    heads = draw(st.permutations([orbit for orbit in range(orbits) for _ in range(degree)]))
    voltages = draw(st.lists(st.integers(0, order - 1), min_size=len(heads), max_size=len(heads)))
    rows = sorted(zip([place // degree for place in range(len(heads))], heads, voltages, strict=True))
    return text, orbits, degree, [head for _, head, _ in rows], [voltage for *_, voltage in rows]


@pytest.mark.dear
@given(lifts(), st.integers(1, 9))
@settings(deadline=None, max_examples=60)
def test_screening_counts_what_is_out_of_reach(drawn: tuple[str, int, int, list[int], list[int]], depth: int) -> None:
    """Both in plain Python and in machine code, against distances in the digraph that the spec builds."""
    text, orbits, degree, heads, voltages = drawn
    group = number_group(parse(text))
    spec = Spec("lift", (Spec("successors", (degree, *heads)), parse(text), *voltages))
    topology = build(spec)
    voltage, head = group.number[np.array(voltages)], np.array(heads)
    far = sum(
        not 0 <= distance <= depth
        for orbit in range(orbits)
        for distance in distances(topology, orbit * group.base.order)
    )
    for spare, expected in ((topology.nodes * orbits, far), (far, far), (far - 1, -1)):
        for run in (kernels.screen.plain, kernels.screen.machine):
            field = kernels.field_of.plain(group.turns, orbits)
            assert run(head, voltage, degree, degree, group.turns, depth, spare, field)[0] == expected


@pytest.mark.parametrize(
    "spec", ["cayley(metacyclic(25,8,7),1,27,79,153)", "dicirculant(103,1,5,22,25)", "dicirculant(103,1,102,22,81)"]
)
def test_screening_finds_the_diameter(spec: str) -> None:
    topology = build(spec)
    steps = price(topology).steps
    outer = parse(spec)
    acting, *elements = outer.args
    if outer.name == "dicirculant":
        acting = Spec("cyclic", (int(str(acting)),))
    assert isinstance(acting, Spec)
    group = number_group(acting)
    voltage = group.number[np.array([int(str(element)) for element in elements])]
    field = kernels.field_of.plain(group.turns, 1)
    for depth, right in ((steps, True), (steps - 1, False)):
        for growth in {4, 3 if topology.is_duplex else 4}:
            lost, far, _ = kernels.screen.plain(np.zeros(4, np.int64), voltage, 4, growth, group.turns, depth, 0, field)
            assert (lost == 0) == right
            assert not right or far == steps


# -- Which groups are searched: in which order, and none of them twice


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
