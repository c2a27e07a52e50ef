"""The exact search, against every sequence of circuits of four and five nodes with a linear program of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from topodesign import reconfigure, verify
from topodesign.base.claims import Proof
from topodesign.base.errors import ParameterError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER
from topodesign.schedulers.circuits.bounds import Room, Work
from topodesign.schedulers.circuits.every import sequences
from topodesign.schedulers.circuits.exact import Search, fastest

US = Fraction(1, 10**6)
Links = tuple[tuple[int, int], ...]


def least_sum(steps: list[Links], nodes: int, *, pairwise: bool) -> float:
    """The times of steps, added up, in blocks over a link: a flow of its own to every node, in parts of any size.

    In an allgather what flows to several nodes counts once on a link, which no plan beats, and most reach.
    """
    flows = [(s, d) for s in range(nodes) for d in range(nodes) if s != d]
    column = {key: place for place, key in enumerate(_columns(steps, nodes, flows, pairwise=pairwise))}

    def row(*terms: tuple[int, Any]) -> np.ndarray:
        found = np.zeros(len(column))
        for sign, key in terms:
            found[column[key]] += sign
        return found

    equal, right, most = [], [], []
    for (s, d), k, v in itertools.product(flows, range(len(steps) + 1), range(nodes)):
        comes: list[Any] = [("go", s, d, k - 1, a, b) for a, b in steps[k - 1] if b == v] if k else []
        comes += [("stay", s, d, k - 1, v)] if k else []
        goes: list[Any] = [("go", s, d, k, a, b) for a, b in steps[k] if a == v] if k < len(steps) else []
        goes += [("stay", s, d, k, v)] if k < len(steps) else []
        equal.append(row(*((1, one) for one in comes), *((-1, one) for one in goes)))
        right.append((k == len(steps) and v == d) - (k == 0 and v == s))
    for k, (a, b) in ((k, link) for k, links in enumerate(steps) for link in links):
        carried = (
            [("go", *flow, k, a, b) for flow in flows] if pairwise else [("all", s, k, a, b) for s in range(nodes)]
        )
        most.append(row((-1, ("time", k)), *((1, one) for one in carried)))
        if not pairwise:
            most += [row((1, ("go", s, d, k, a, b)), (-1, ("all", s, k, a, b))) for s, d in flows]
    cost = row(*((1, ("time", k)) for k in range(len(steps))))
    found = linprog(cost, A_ub=np.array(most), b_ub=np.zeros(len(most)), A_eq=np.array(equal), b_eq=right)
    return float(found.fun) if found.status == 0 else np.inf


def _columns(steps: list[Links], nodes: int, flows: list[tuple[int, int]], *, pairwise: bool) -> Iterator[Any]:
    for k, links in enumerate(steps):
        yield "time", k
        for s, d in flows:
            yield from (("stay", s, d, k, v) for v in range(nodes))
            yield from (("go", s, d, k, a, b) for a, b in links)
        if not pairwise:
            yield from (("all", s, k, a, b) for s in range(nodes) for a, b in links)


def reaches(steps: list[Links], nodes: int) -> bool:
    known = [{v} for v in range(nodes)]
    for links in steps:
        new = [set(one) for one in known]
        for a, b in links:
            new[b] |= known[a]
        known = new
    return all(len(one) == nodes for one in known)


def pairs(nodes: int) -> list[Links]:
    """All pairs of nodes at a time, of an odd number without one."""
    found = []
    for order in itertools.permutations(range(nodes)):
        cut = list(zip(order[0 : nodes - 1 : 2], order[1::2], strict=False))
        if all(a < b for a, b in cut) and cut == sorted(cut):
            found.append(tuple(itertools.chain(*(((a, b), (b, a)) for a, b in cut))))
    return sorted(set(found))


def rings(nodes: int) -> list[Links]:
    """All permutations."""
    every = itertools.permutations(range(nodes))
    return [tuple((v, w) for v, w in enumerate(one) if v != w) for one in every]


def _cycles(links: Links) -> Iterator[int]:
    """The lengths of the cycles of a permutation without its fixed nodes."""
    to = dict(links)
    while to:
        node, length = next(iter(to)), 0
        while node in to:
            node, length = to.pop(node), length + 1
        yield length


CASES = [
    ("duplex", 4, pairs(4), 3),
    ("simplex", 3, rings(3), 3),
    pytest.param("simplex", 4, rings(4), 2, marks=pytest.mark.thorough),
    pytest.param("duplex", 5, pairs(5), 4, marks=pytest.mark.thorough),
]


@pytest.mark.once
@pytest.mark.parametrize("collective", ["all-to-all", "allgather"])
@pytest.mark.parametrize(("cabling", "nodes", "layers", "most"), CASES)
def test_the_least_time_is_that_of_all_sequences(
    collective: str, cabling: str, nodes: int, layers: list[Links], most: int
) -> None:
    """The first circuits are one of each kind; matchings have one step, permutations of four nodes three at most."""
    work, delay, best = Work(US, 20 * US, 30 * US), 30 * US, np.inf
    for phases in range(1, most + 1):
        first = {tuple(sorted(_cycles(links))): links for links in layers}  # others are these with other numbers
        for chosen in itertools.product(first.values(), *[layers] * (phases - 1)):
            for counts in itertools.product(range(1, 2 if cabling == "duplex" else 4), repeat=phases):
                steps = [links for links, count in zip(chosen, counts, strict=True) for _ in range(count)]
                if len(steps) <= 4 and reaches(steps, nodes):
                    apart = float(work.time(len(steps), Fraction(0), phases - 1))
                    if apart < best:  # it can be the fastest, if its data take little
                        total = least_sum(steps, nodes, pairwise=collective == "all-to-all")
                        best = min(best, apart + total / nodes * 20e-6)
    found = reconfigure(
        nodes, 1, collective, delay=delay, size=20 * US * 10**9 / 8, alpha="1us", bandwidth="1Gbps", cabling=cabling,
        time_limit="60s",
    )  # fmt: skip
    assert float(found.best.time) == pytest.approx(best, rel=1e-6)
    assert found.claim.proven
    assert verify(found.plan).ok


@pytest.mark.parametrize(
    ("question", "steps", "factor", "changes"),
    [
        ((5, 1, "all-to-all", "duplex", 10), 4, Fraction(7, 5), 3),
        pytest.param((5, 1, "allreduce", "duplex", 100), 8, Fraction(11, 5), 6, marks=pytest.mark.thorough),
        ((6, 2, "all-to-all", "simplex", 100), 2, Fraction(7, 5), 0),
        ((7, 2, "all-to-all", "simplex", 100), 3, Fraction(11, 7), 0),
        pytest.param((6, 2, "allgather", "simplex", 1), 3, Fraction(5, 6), 0, marks=pytest.mark.thorough),
        pytest.param((6, 3, "all-to-all", "duplex", 1), 3, Fraction(9, 10), 1, marks=pytest.mark.thorough),
    ],
)
def test_what_counting_leaves_open_is_answered(question: Any, steps: int, factor: Fraction, changes: int) -> None:
    nodes, degree, collective, cabling, delay = question
    how: Any = {"cabling": cabling, "delay": delay * US, "alpha": "1us", "bandwidth": "400Gbps"}
    assert not reconfigure(nodes, degree, collective, **how).claim.proven
    found = reconfigure(nodes, degree, collective, time_limit="60s", **how)
    assert (found.best.steps, found.best.bandwidth, found.best.changes) == (steps, factor, changes)
    assert found.claim.proof is (Proof.BOUND if nodes == 7 else Proof.SEARCH)  # which it meets there
    assert verify(found.plan).ok


def test_one_sequence_of_every_kind_is_there() -> None:
    """Of five nodes, and of all that permutations make of one another, as sets of images."""
    every = list(itertools.permutations(range(4)))
    for degree, duplex, count in ((1, True, 2), (1, False, 2), (2, False, 1), (3, True, 1)):
        seen = set()
        for given, share in sequences(4, degree, count, duplex=duplex):
            assert 0 <= share < 1
            seen |= {given.width[:, one][:, :, one].tobytes() for one in every}
        one = {given.width[0].tobytes() for given, _ in sequences(4, degree, 1, duplex=duplex)}
        images = {
            np.frombuffer(w, dtype=np.int64).reshape(4, 4)[list(p)][:, list(p)].tobytes() for w in one for p in every
        }
        assert len(seen) == len(images) ** count


def test_without_time_nothing_is_proved_but_what_counting_says() -> None:
    room, work = Room(5, 1, True), Work(US, 20 * US, 10 * US)
    plan, bound = fastest(room, ALLGATHER, work, 70 * US, seconds=0)
    assert plan is None
    assert bound < 70 * US
    search = Search(room, ALL_TO_ALL, work, 10 * US, lambda: False)
    assert search.run() == 10 * US  # counting says so


@pytest.mark.parametrize("options", [{"nodes": 9}, {"degree": 4}, {"dark": "moved"}, {"group": ["0,1", "2,3"]}])
def test_a_search_of_what_is_too_much_is_refused(options: Any) -> None:
    with pytest.raises(ParameterError, match="leave the time limit out"):
        reconfigure(**({"nodes": 6, "degree": 1, "time_limit": "1s"} | options))
