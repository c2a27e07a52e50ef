"""Few steps: what is found has them, and is of the size, degree and cabling that were asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.graphs.expansions.delete import delete
from topodesign.graphs.expansions.line import line
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.evaluation import price_both
from topodesign.search import few_steps
from topodesign.search.few_steps import search_near
from topodesign.search.links import aim_at_steps, anneal_links, ends_of, pairs_too_far
from topodesign.search.target import Target
from topodesign.search.thinned_lines import bases_of_lines, without_nodes
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


@pytest.mark.dear("target2-3-circulant(25,1,7)")
@pytest.mark.parametrize(
    ("target", "steps", "base"),
    [
        (Target(110, 3, False), 5, "kautz(3,3)"),
        (Target(61, 4, False), 4, "line(circulant(16,1,6),1)"),
        (Target(26, 4, True), 3, "circulant(25,1,7)"),
        (Target(64, 3, True), 7, "randomregulargraph(62,3,1)"),
        (Target(33, 5, True), 4, "randomregulargraph(32,5,1)"),
    ],
)
def test_what_is_found_is_what_was_asked_for(target: Target, steps: int, base: str) -> None:
    bases = [build(base)] if abs(build(base).nodes - target.nodes) <= 8 else []
    family = "randomregulargraph" if target.duplex else "randomregular"
    bases.append(build(f"{family}({target.nodes},{target.degree},1)"))
    spec = search_near(target, steps, bases, 2 * 10**7)
    assert spec is not None
    found = build(str(spec))
    assert (found.nodes, found.degree) == (target.nodes, target.degree)
    assert found.is_regular
    assert found.self_loops == target.nodes * target.degree % 2
    assert found.is_duplex or not target.duplex
    assert price(found).steps <= steps


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert search_near(Target(14, 3, False), 2, [build("kautz(3,2)")], 10**5) is None


@given(st.integers(20, 70), st.integers(3, 4), st.booleans(), st.integers(0, 99), st.integers(0, 300))
@settings(max_examples=30)
def test_the_pairs_that_are_left_are_counted_right(n: int, d: int, duplex: bool, seed: int, exchanges: int) -> None:
    n += n * d % 2 * (not duplex)
    start = build(f"{'randomregulargraph' if duplex else 'randomregular'}({n},{d},{seed})")
    ends, state = ends_of(start, duplex=duplex), np.array([seed + 1], np.uint64)
    steps = 3
    left = anneal_links(ends, aim_at_steps(steps), exchanges * n * 20, 64, state).far
    after = type(start).from_arrays(n, np.repeat(np.arange(n), d), ends.out.ravel())
    assert left == far(after, steps) == pairs_too_far(after, steps)
    assert after.is_regular
    assert after.self_loops == start.self_loops
    assert after.is_duplex or not duplex
    assert sorted(zip(np.repeat(np.arange(n), d).tolist(), ends.out.ravel().tolist(), strict=True)) == sorted(
        (u, v) for v in range(n) for u in ends.into[v].tolist()
    )


def test_where_few_pairs_are_left_exchanges_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    base = build("cayley(alternating(5),3,13,47)")
    found = search_near(Target(58, 3, duplex=True), 5, [base], 10**6, seed=2)
    assert found is not None
    assert price(build(str(found))).steps == 5
    monkeypatch.setattr(few_steps, "_NEARLY", 0)
    assert search_near(Target(58, 3, duplex=True), 5, [base], 10**6, seed=2) is None


def far(topology: Topology, steps: int) -> int:
    """Count the pairs of nodes that are too far apart, each both ways."""
    rows = [distances(topology, node) for node in range(topology.nodes)]
    return sum(not 0 <= distance <= steps for row in rows for distance in row)


# -- Line graphs with nodes taken out: they are as small as asked for, nobody is farther away, and links stay even


BASE = "cayley(dicyclic(4),3,6,7,12,13,14)"  # 16 nodes, degree 6, 2 steps, no link with one back


def both(topology: Topology) -> Fraction:
    """Return the bandwidth factors of both collectives added up."""
    there, back = price_both(topology)
    return there.bandwidth + back.bandwidth


def thinned(nodes: int, seed: int = 0) -> Topology:
    """Return the line graph of BASE with so many nodes left."""
    *_, last = without_nodes(line(build(BASE)), nodes, 3, seed=seed)
    return build(str(last.spec))


@pytest.mark.parametrize("nodes", range(91, 96))
def test_nobody_is_farther_away(nodes: int) -> None:
    made = thinned(nodes)
    assert (made.nodes, made.degree, made.self_loops) == (nodes, 6, 0)
    assert made.is_regular
    assert int(made.capacity.max()) == 1
    assert max(int(distances(made, node).max()) for node in range(nodes)) == 3


def test_nodes_are_chosen_that_leave_the_links_even() -> None:
    base = line(build(BASE))
    rng = np.random.default_rng(1)
    others: list[Fraction] = []
    while len(others) < 20:
        drawn = delete(base, *(int(x) for _ in range(3) for x in (rng.integers(93), rng.integers(720))))
        if drawn.self_loops == 0 and price(drawn).steps == 3:
            others.append(both(drawn))
    for seed in range(3):
        cost = both(thinned(93, seed))
        assert sum(cost <= other for other in others) > len(others) / 2


def test_each_has_a_node_less_and_is_what_its_spec_says() -> None:
    left = 95
    for one in without_nodes(line(build(BASE)), 90, 3):
        made = build(str(one.spec))
        assert made.spec == one.spec
        assert made.nodes == one.topology.nodes == left
        assert made.links() == one.topology.links()
        assert one.cost.steps == 3
        assert left < 95 or one.cost.bandwidth <= both(made) / 2  # not all nodes were looked at
        left -= 1
    assert left == 89


def test_bases_have_line_graphs_that_can_do_without_nodes() -> None:
    for size, steps in ((Target(16, 6, duplex=False), 2), (Target(30, 4, duplex=False), 3)):
        bases = bases_of_lines(size, steps, 0)
        assert 1 <= len(bases) <= 2
        for base in bases:
            assert (base.nodes, base.degree) == size.size
            assert price(base).steps <= steps
            assert next(without_nodes(line(base), 1, steps + 1)).topology.nodes == size.nodes * size.degree - 1
    assert bases_of_lines(Target(20, 4, duplex=False), 2, 0) == ()  # as many nodes as of Kautz digraphs: one walk each


def test_none_go_where_all_links_lead_back_or_walks_are_too_few() -> None:
    for base, nodes in ((line(build("circulant(16,1,4,6)")), 95), (build("kautz(3,3)"), 35), (line(build(BASE)), 96)):
        assert not list(without_nodes(base, nodes, 3))
    without_spec = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    assert not list(without_nodes(without_spec, 2, 1))
