"""Theorems on the most nodes of a degree and diameter, against all small digraphs, known records and the catalog."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import pytest

from topodesign import Catalog, build, least_steps, lower_bound
from topodesign.base.cost import moore_bound, moore_distances
from topodesign.base.moore import explain_impossible, free_port_order, moore_order
from topodesign.catalog.sizes import DEGREES
from topodesign.pricing.evaluation import price

RECORD_DIGRAPHS = {
    2: {2: 6, 3: 12, 4: 25, 5: 50, 6: 100, 7: 200, 8: 400, 9: 800, 10: 1600},
    **{d: {k: d**k + d ** (k - 1) for k in range(2, 8)} for d in range(3, 17)},
}
RECORD_GRAPHS = {
    3: {2: 10, 3: 20, 4: 38, 5: 70, 6: 132, 7: 196, 8: 360, 9: 600, 10: 1250},
    4: {2: 15, 3: 41, 4: 98, 5: 364, 6: 740, 7: 1320},
    5: {2: 24, 3: 72, 4: 212, 5: 624},
    6: {2: 32, 3: 111, 4: 390, 5: 1404},
    7: {2: 50, 3: 168, 4: 672},
    8: {2: 57, 3: 253, 4: 1100},
    9: {2: 74, 3: 585, 4: 1640},
    10: {2: 91, 3: 650},
    16: {2: 200, 3: 1600},
}
"""Orders of the largest known digraphs and graphs, by degree and diameter."""


@pytest.mark.parametrize("duplex", [False, True])
def test_nothing_that_is_known_is_called_impossible(duplex: bool) -> None:
    for degree, orders in (RECORD_GRAPHS if duplex else RECORD_DIGRAPHS).items():
        for steps, order in orders.items():
            assert order <= moore_order(degree, steps, duplex=duplex)
            assert explain_impossible(order, degree, steps, duplex=duplex) is None
            assert (
                explain_impossible(moore_order(degree, steps, duplex=duplex) + 1, degree, steps, duplex=duplex)
            ) is not None


@pytest.mark.parametrize(
    ("spec", "duplex"),
    [
        ("kautz(2,1)", False),
        ("kautz(5,1)", False),
        ("hoffmansingleton()", True),
        ("kneser(5,2)", True),
        ("biring(2,9)", True),
    ],
)
def test_what_reaches_a_bound_is_allowed(spec: str, duplex: bool) -> None:
    topology = build(spec)
    assert price(topology).steps == least_steps(topology.nodes, topology.degree, duplex=duplex).steps


def _exists(nodes: int, degree: int, steps: int, *, duplex: bool) -> bool:
    """Try all regular digraphs, link by link, as long as every node may still reach all others in so many steps."""
    rows, into = [0] * nodes, [0] * nodes  # heads of each node as bits, and links into it
    behind = [sum(degree**x for x in range(left + 1)) for left in range(steps)]  # nodes over a link that is to come

    def reaches_all(node: int) -> bool:
        seen = edge = 1 << node
        more = 0
        for left in reversed(range(steps)):
            heads = 0
            for tail in (v for v in range(nodes) if edge >> v & 1):
                heads |= rows[tail]
                more += (degree - rows[tail].bit_count()) * behind[left]
            edge = heads & ~seen
            seen |= edge
        return seen.bit_count() + more >= nodes

    def complete(tail: int) -> bool:
        while tail < nodes and rows[tail].bit_count() == degree:
            tail += 1
        if tail == nodes:
            return True
        # Nodes without links are alike, so only the first of them is tried; heads of a node are tried in order.
        untouched = next((v for v in range(nodes) if v != tail and not rows[v] and not into[v]), nodes - 1)
        for head in range(max(rows[tail].bit_length() - 1, 0), untouched + 1):
            full = into[head] == degree or (duplex and rows[head].bit_count() == degree)
            if head == tail or rows[tail] >> head & 1 or full:
                continue
            ends = ((tail, head), (head, tail)) if duplex else ((tail, head),)
            for u, v in ends:
                rows[u] ^= 1 << v
                into[v] += 1
            if all(map(reaches_all, range(nodes))) and complete(tail):
                return True
            for u, v in ends:
                rows[u] ^= 1 << v
                into[v] -= 1
        return False

    return complete(0)


@pytest.mark.parametrize(
    ("nodes", "degree", "steps", "duplex"),
    [
        (5, 2, 2, False), (6, 2, 2, False), (7, 2, 2, False), (15, 2, 3, False), (13, 3, 2, False),
        (8, 3, 2, True), (10, 3, 2, True),
    ],
)  # fmt: skip
def test_theorems_against_all_digraphs_of_a_size(nodes: int, degree: int, steps: int, duplex: bool) -> None:
    possible = explain_impossible(nodes, degree, steps, duplex=duplex) is None
    assert _exists(nodes, degree, steps, duplex=duplex) == possible


def test_all_graphs_up_to_seven_nodes_keep_the_bounds() -> None:
    reached: dict[tuple[int, int], int] = {}
    for graph in nx.graph_atlas_g()[3:]:
        if not nx.is_connected(graph):
            continue
        nodes, widest = len(graph), max(dict(graph.degree).values())
        paths = [length for _, ends in nx.shortest_path_length(graph) for length in ends.values()]
        for degree in range(widest, 8):
            if degree > 1 or nodes == 2:
                least = least_steps(nodes, degree, duplex=True).steps
                assert max(paths) >= least
                fewest = min(dict(graph.degree).values())
                # Shards over some link at least: on average over all, or over those of the node that has the fewest.
                load = max(Fraction(sum(paths), 2 * graph.size()), Fraction(nodes - 1, fewest))
                assert load * Fraction(degree, nodes) >= moore_distances(nodes, degree, duplex=True)
                reached[nodes, degree] = min(reached.get((nodes, degree), 99), max(paths) - least)
    assert set(reached.values()) == {0}  # the bound of the steps is met at all of these sizes


@pytest.mark.parametrize("degree", range(3, 17, 2))
def test_where_a_port_is_free_the_tree_of_its_node_counts(degree: int) -> None:
    for steps in range(2, 7):
        tree = free_port_order(degree, steps)
        assert tree == 1 + (degree - 1) * sum((degree - 1) ** x for x in range(steps))
        for nodes in range(tree - 1 + tree % 2, min(tree + 40, moore_order(degree, steps, duplex=True)) + 1, 2):
            told = least_steps(nodes, degree, duplex=True)
            assert told.steps == steps + (nodes > tree) or told.why is not None
            assert moore_distances(nodes, degree, duplex=True) >= moore_distances(nodes, degree)


@pytest.mark.parametrize("degree", DEGREES)
def test_no_row_of_the_catalog_beats_a_theorem(degree: int) -> None:
    catalog, told = Catalog(), 0
    for duplex in (False, True):
        for nodes in range(degree + 2, 2049):
            least = least_steps(nodes, degree, duplex=duplex)
            assert least.moore == moore_bound(nodes, degree, duplex=duplex)
            assert lower_bound(nodes, degree, duplex=duplex).steps == least.steps
            assert least.steps - least.moore == (least.why is not None)
            if least.why is not None or (duplex and nodes * degree % 2):
                told += least.why is not None
                rows = [row for row in catalog.rows(degree, nodes, nodes) if row.duplex or not duplex]
                assert all(row.cost.steps >= least.steps for row in rows)
                if not duplex:
                    assert least_steps(nodes, degree, duplex=True).steps >= least.steps
    assert told > 2


def test_a_long_cycle_is_no_trouble() -> None:
    assert least_steps(10**18, 2, duplex=True).steps == 5 * 10**17
    assert least_steps(100, 1).why is None
