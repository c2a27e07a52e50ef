"""Enumeration of digraphs: one of each kind, against all of them; nothing that it leaves out is better."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from topodesign import all_to_all, synthesize
from topodesign.search.enumeration import Enumeration
from topodesign.search.enumeration_kernels import least_distances, loads_allow, ones
from topodesign.search.link_swaps import distance_sum
from topodesign.topology.topology import Topology

Rows = tuple[int, ...]


def every(nodes: int, degree: int, *, duplex: bool = False) -> list[Rows]:
    """All regular digraphs with numbered nodes, as words of ends."""
    rows = [
        [sum(1 << v for v in ends) for ends in itertools.combinations([v for v in range(nodes) if v != u], degree)]
        for u in range(nodes)
    ]
    return [
        out
        for out in itertools.product(*rows)
        if all(sum(one >> v & 1 for one in out) == degree for v in range(nodes))
        and not (duplex and any((out[u] >> v & 1) != (out[v] >> u & 1) for u in range(nodes) for v in range(u)))
    ]


def kind(out: Rows) -> Rows:
    """The smallest words of any numbering."""
    nodes = len(out)
    best: Rows = (1 << nodes,) * nodes
    for order in itertools.permutations(range(nodes)):
        place = {v: at for at, v in enumerate(order)}
        words = tuple(sum(1 << place[v] for v in range(nodes) if out[u] >> v & 1) for u in order)
        best = min(best, words)
    return best


def words(topology: Topology) -> Rows:
    return tuple(sum(1 << v for v in topology.neighbours(u).tolist()) for u in range(topology.nodes))


def all_of(nodes: int, degree: int, most: int, *, duplex: bool = False) -> list[Topology]:
    one = Enumeration(nodes, degree, duplex=duplex)
    found: list[Topology] = []
    while not one.finished:
        found += one.some(most)
    return found


@pytest.mark.parametrize(("nodes", "degree", "duplex"), [
    (4, 1, False), (4, 2, False), (5, 2, False), (5, 2, True), (5, 3, False), (6, 3, True),
])  # fmt: skip
def test_one_of_each_kind(nodes: int, degree: int, duplex: bool) -> None:
    """What has no sum of distances above a limit, however it is numbered, is there once; nothing else is."""
    labelled = [(out, distance_sum(list(out))[0]) for out in every(nodes, degree, duplex=duplex)]
    sums = sorted({total for _, total in labelled if total < nodes**3})
    for most in {sums[0], sums[len(sums) // 2], sums[-1]}:
        kinds = {kind(out) for out, total in labelled if total <= most}
        found = [kind(words(topology)) for topology in all_of(nodes, degree, most, duplex=duplex)]
        assert len(set(found)) == len(found)
        assert set(found) == kinds


@pytest.mark.parametrize(("nodes", "degree"), [(4, 2), (5, 2)])
def test_the_best_of_all(nodes: int, degree: int) -> None:
    """Each kind is priced by the exact flow: synthesis finds the best of them."""
    kinds = {kind(out): out for out in every(nodes, degree) if distance_sum(list(out))[0] < nodes**3}
    best = min(
        all_to_all(
            Topology.from_links(nodes, [(u, v) for u in range(nodes) for v in range(nodes) if out[u] >> v & 1]),
            effort="exact",
        ).bandwidth
        or Fraction(nodes)
        for out in kinds.values()
    )
    found = synthesize(nodes, degree, time_limit="20s")
    assert found.bandwidth == best
    assert found.proof != "none"


@pytest.mark.parametrize(("nodes", "degree", "duplex", "best"), [
    (6, 2, False, "7/5"), (7, 2, False, "11/7"), (8, 2, False, "5/3"), (8, 3, True, "3/2"),
    pytest.param(9, 2, False, "82/45", marks=pytest.mark.thorough),
])  # fmt: skip
def test_proofs(nodes: int, degree: int, duplex: bool, best: str) -> None:
    """From any start: no digraph is better than this, and from above the enumeration itself finds it."""
    one = Enumeration(nodes, degree, duplex=duplex)
    steps = list(one.undercutting(Fraction(best) + Fraction(1, 50), price, lambda: True))
    assert one.finished
    assert steps[-1][0] == Fraction(best)
    assert [y for y, _ in steps] == sorted({y for y, _ in steps}, reverse=True)
    again = Enumeration(nodes, degree, duplex=duplex)
    assert not list(again.undercutting(Fraction(best), price, lambda: True))
    assert again.finished


def price(topology: Topology) -> Fraction:
    found = all_to_all(topology, effort="exact").bandwidth
    assert found is not None
    return found


def test_no_time() -> None:
    one = Enumeration(9, 3, duplex=False)
    assert not list(one.undercutting(Fraction(2), price, lambda: False))
    assert not one.finished


@pytest.mark.parametrize("seed", range(6))
def test_bounds(seed: int) -> None:
    """Rows that are not assigned shorten distances at most; weights never rule out what has a smaller factor."""
    random = np.random.default_rng(seed)
    nodes, degree = 7, 2
    order = random.permutation(nodes).tolist()
    jumps = [(1, 2), (1, 3), (1, 5), (2, 3), (1, 4), (3, 4)][seed]
    topology = Topology.from_links(
        nodes, [(order[u], order[(u + jump) % nodes]) for u in range(nodes) for jump in jumps]
    )
    rows = np.array(words(topology), dtype=np.int64)
    own = [least_distances(nodes, degree, rows, nodes, node) for node in range(nodes)]
    assert sum(own) == distance_sum(rows.tolist())[0]
    for assigned in range(nodes):
        assert all(least_distances(nodes, degree, rows, assigned, node) <= own[node] for node in range(nodes))
    space = np.zeros((4, nodes * nodes), dtype=np.int64)
    y = price(topology)
    above = y + Fraction(1, 1000)
    assert loads_allow(nodes, degree, rows, above.numerator, above.denominator, space) == 1
    low = Fraction(sum(own), nodes**2)
    assert loads_allow(nodes, degree, rows, low.numerator, low.denominator, space) == 0


def test_ones() -> None:
    assert all(ones(word) == word.bit_count() for word in range(0, 2**16, 7))
