"""Places for one node more: what is compared is a bound, and the best are far better than random ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign import build
from topodesign.pricing.closed_form import distances
from topodesign.search.insertion import best_insertions, can_be_compared
from topodesign.search.insertion_kernels import rank_insertions
from topodesign.search.neighbours import drawn
from topodesign.search.target import Target
from topodesign.topology.topology import Topology


def far(topology: Topology, steps: int) -> int:
    """Count the pairs of nodes that are too far apart, each both ways."""
    rows = [distances(topology, node) for node in range(topology.nodes)]
    return sum(not 0 <= distance <= steps for row in rows for distance in row)


@given(st.integers(10, 40), st.integers(0, 100), st.integers(3, 4), st.booleans())
@settings(deadline=None, max_examples=30)
def test_no_place_is_better_than_it_seems(nodes: int, seed: int, steps: int, machine: bool) -> None:
    base = build(f"randomregulargraph({nodes},4,{seed})")
    out = base.dst.reshape(nodes, 4).astype(np.int64)
    best = np.zeros((40, 5), dtype=np.int64)
    run = rank_insertions.machine if machine else rank_insertions.plain
    found = run(out, np.arange(0, nodes, 7), steps, best)
    assert 0 < found <= 40
    for bound, *ends in best[:found].tolist():
        a, b, c, e = ends
        assert a % 7 == 0
        assert b in out[a]
        assert e in out[c]
        assert len(set(ends)) == 4
        around = [int(v) for end, gone in ((a, b), (b, a), (c, e), (e, c)) for v in out[end] if v != gone]
        if len({*around, *ends}) == 16:  # else some are counted twice
            after = Topology.from_links(
                nodes + 1,
                [(u, w) for u in range(nodes) for w in out[u].tolist() if {u, w} not in ({a, b}, {c, e})]
                + [link for end in ends for link in ((end, nodes), (nodes, end))],
            )
            assert bound <= far(after, steps)


def test_the_best_places_are_better_than_random_ones() -> None:
    base = build("circulant(100,1,34)")
    target = Target(101, 4, duplex=True)
    steps = 7
    best = list(best_insertions(base, steps, 20))
    for one in best:
        assert (one.nodes, one.degree, one.is_duplex, one.is_regular, one.self_loops) == (101, 4, True, True, 0)
    random = [far(one, steps) for one in drawn(base, target, 40, np.random.default_rng(1))]
    assert far(best[0], steps) <= min(random)
    assert np.mean([far(one, steps) for one in best]) < np.mean(random)


def test_at_odd_degree_a_port_stays_free() -> None:
    base = build("randomregulargraph(40,5,1)")
    for one in best_insertions(base, 4, 3):
        assert (one.nodes, one.degree, one.is_duplex, one.self_loops) == (41, 5, True, 1)


@pytest.mark.parametrize(("degree", "steps", "duplex"), [(4, 2, True), (4, 5, False), (6, 4, True), (3, 4, True)])
def test_other_places_are_too_many(degree: int, steps: int, duplex: bool) -> None:
    assert can_be_compared(4, 3, duplex=True)
    assert not can_be_compared(degree, steps, duplex=duplex)
