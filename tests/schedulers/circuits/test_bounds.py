"""Bounds over circuits that change, against every sequence of permutations, and against counting words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import pytest

from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE
from topodesign.schedulers.circuits.bounds import Room, Work, bound, bound_times, least, least_hops, least_steps, words

WORK = Work(Fraction(1), Fraction(20), Fraction(3))


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("topologies", [1, 2, 3])
@pytest.mark.parametrize("duplex", [False, True])
def test_words_are_counted(degree: int, topologies: int, duplex: bool) -> None:
    for hops in (1, 2, 3):
        every = itertools.product(itertools.product(range(topologies), range(degree)), repeat=hops)
        some = [word for word in every if all(a[0] <= b[0] for a, b in itertools.pairwise(word))]
        if duplex:  # of every phase one port of d leads back
            back = [word for word in some if all(a[0] < b[0] or b[1] < degree - 1 for a, b in itertools.pairwise(word))]
            some = back
        assert words(topologies, hops, degree, duplex=duplex) == len(some)


@pytest.mark.parametrize(
    ("nodes", "topologies"), [(4, 2), (5, 2), (4, 3), pytest.param(5, 3, marks=pytest.mark.thorough)]
)
def test_no_sequence_of_permutations_has_fewer_hops(nodes: int, topologies: int) -> None:
    found = least_hops(nodes, 1, topologies, duplex=False)
    assert found is not None
    every = list(itertools.permutations(range(nodes)))
    best = min(hops(nodes, [*chosen], 0) for chosen in itertools.combinations(every, topologies))
    assert found[0] <= best  # of what one node sends; 4 and 5 nodes meet it


def hops(nodes: int, permutations: list[tuple[int, ...]], source: int) -> int:
    """Hops to all from one node, by breadth-first search through (phase, node)."""
    far = {source: 0}
    for one in permutations:
        for _ in range(nodes):
            for node, done in list(far.items()):
                far[one[node]] = min(far.get(one[node], nodes * nodes), done + 1)
    return sum(far.values()) if len(far) == nodes else nodes * nodes * nodes


def test_figures_of_the_table() -> None:
    assert least_hops(64, 2, 1, duplex=False) == (264, 6)  # 4.125, Moore's
    assert [least_hops(n, 1, 2, duplex=False) for n in (4, 5, 7, 8)] == [(4, 2), (6, 2), (11, 3), (14, 3)]
    assert least_hops(64, 1, 5, duplex=True) is None  # five matchings reach 32
    assert least_hops(64, 1, 6, duplex=True) == (192, 6)
    assert [least_steps(64, d, 1, duplex=False) for d in (1, 2, 4)] == [63, 6, 3]
    assert least_steps(64, 1, 3, duplex=False) == 9  # 4x4x4
    assert least(Room(64, 1, False), 3, ALLGATHER).factor == Fraction(63, 64)  # type: ignore[union-attr]


def test_the_bound_is_the_least_over_the_numbers_of_topologies() -> None:
    times = bound_times([Room(64, 2, False)], ALL_TO_ALL, WORK)
    known = [one for one in times if one is not None]
    assert bound([Room(64, 2, False)], ALL_TO_ALL, WORK, moving=False) == (min(known), known.index(min(known)) + 1)
    both = bound([Room(64, 2, False)], ALLREDUCE, WORK, moving=False)[0]
    assert both == 2 * bound([Room(64, 2, False)], ALLGATHER, WORK, moving=False)[0]
    assert bound([Room(64, 2, False)], ALL_TO_ALL, WORK, moving=True)[0] <= min(known)


def matchings(nodes: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """All matchings of an odd number of nodes that omit one."""
    for out in nodes:
        rest = [one for one in nodes if one != out]
        yield from pairings(rest)


def pairings(nodes: list[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    if not nodes:
        yield ()
        return
    first, *rest = nodes
    for place, other in enumerate(rest):
        for more in pairings(rest[:place] + rest[place + 1 :]):
            yield ((first, other), *more)


def test_an_odd_number_of_nodes_takes_a_matching_more() -> None:
    """Of 5 nodes no three matchings let everybody reach everybody, and four do; words of hops alone say three."""
    every, full = list(matchings(tuple(range(5)))), 2**5 - 1

    def spread(some: tuple[tuple[tuple[int, int], ...], ...]) -> bool:
        known = [1 << node for node in range(5)]
        for pairs in some:
            for a, b in pairs:
                known[a] = known[b] = known[a] | known[b]
        return all(one == full for one in known)

    assert not any(map(spread, itertools.product(every, repeat=3)))
    assert any(map(spread, itertools.product(every[:1], every, every, every)))
    room = Room(5, 1, True)
    assert [least(room, number, ALLGATHER) is None for number in (3, 4)] == [True, False]
    assert least_steps(5, 1, 3, duplex=True) == 3


def test_some_node_lacks_a_port_where_their_number_is_odd() -> None:
    room = Room(5, 3, True)
    assert room.bound_received(1) == Fraction(4, 5) * Fraction(3, 2)  # four blocks of a fifth over two ports of three
    assert [room.bound_received(number) for number in (5, 9)] == [Fraction(4, 5) * Fraction(15, 14)] * 2
    assert Room(5, 3, True, groups=2).bound_received(1) == Room(5, 3, False).bound_received(1) == Fraction(4, 5)
    assert Room(5, 1, True, idle=2).bound_received(1) == Fraction(4, 5)  # it may be one of those


def test_no_digraph_has_room_for_nobody_else() -> None:
    """Of 7 nodes with two links each some reach no more than 6 in two steps: all that send to 1 and 2 first."""
    assert [least_steps(n, d, 1, duplex=False) for n, d in ((7, 2), (13, 3), (6, 2), (3, 2), (7, 1))] == [3, 3, 2, 1, 6]
    assert least_steps(7, 2, 2, duplex=False) == 2
