"""Rates of boxes, level by level, against the flow among all nodes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import build
from topodesign.base.spec import Spec
from topodesign.collectives import ALL_TO_ALL
from topodesign.fabrics.boxes import get_box, join
from topodesign.optima.boxes import ANY_ORDER, PARTS, box_rates, exchange_bound
from topodesign.optima.flows import solve_flow
from topodesign.optima.optimum import optimum
from topodesign.optima.question import Question

GB = 10**9


@pytest.mark.parametrize(
    ("box", "graph", "inside"),
    [
        ("dgx_h100", "complete(3)", ANY_ORDER),
        ("mi300x", "dicirculant(3,1,1,2)", ANY_ORDER),
        ("pcie_pair", "dicirculant(3,1,1,1,1,2,2,2,2)", PARTS),
        ("dgx_a100_pcie", "complete(3)", PARTS),
    ],
)
def test_level_by_level_is_the_flow_among_all_nodes(box: str, graph: str, inside: str) -> None:
    """The certificate for the inside, and the contraction of parts, lose and gain nothing."""
    one, topology = get_box(Spec(box)), build(graph)
    for shift in (0, 1):
        rates = box_rates(one, topology, 1, shift)
        whole = join(one, topology, 1, shift)
        assert rates.inside == inside
        assert rates.least == rates.most == solve_flow(Question(whole, ALL_TO_ALL)).bandwidth
        assert rates.allgather == optimum(whole).bandwidth


@pytest.mark.parametrize(
    ("boxes", "graph", "allgather"),
    [
        (4, "dicirculant(4,1,1,1,2,2,3,3,3)", Fraction(500 * 32, 31)),
        (8, "dicirculant(8,1,1,2,3,4,5,6,7)", Fraction(400 * 8, 7)),
        (16, "bipartite(8)", Fraction(400 * 16, 15)),
    ],
)
def test_allgather_is_the_narrower_of_two_cuts(boxes: int, graph: str, allgather: Fraction) -> None:
    assert box_rates(get_box(Spec("dgx_h100")), build(graph)).allgather == allgather * GB
    assert build(graph).nodes == boxes


def test_bound_of_any_graph_counts_what_several_cables_carry() -> None:
    """With 8 ports: 62.5 for 4 boxes, 53.85 for 8 (7/6.5 of a cable to each other box), and by distances beyond."""
    assert [Fraction(50) / exchange_bound(boxes, 8) for boxes in (4, 8)] == [Fraction(125, 2), Fraction(700, 13)]
    assert Fraction(50) / exchange_bound(16, 8) == Fraction(400, 11)
    for boxes in range(2, 7):  # it is a bound of what any of these reach
        for jumps in ((1,) * 8, (1, 1, 1, 1, *[boxes - 1] * 4)):
            graph = build(f"dicirculant({boxes},{','.join(map(str, jumps))})")
            rates = box_rates(get_box(Spec("dgx_h100")), graph)
            assert rates.most <= 50 * GB / exchange_bound(boxes, 8)
