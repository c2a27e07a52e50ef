"""Line graphs with nodes taken out: they are as small as asked for, nobody is farther away, and links stay even."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from topodesign.graphs.expansions.delete import delete
from topodesign.graphs.expansions.line import line
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.evaluation import price_both
from topodesign.search.target import Target
from topodesign.search.thinned_lines import bases_of_lines, without_nodes
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

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
