"""What each single failure costs, against pricing them one by one."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign import as_fabric, optimum, select_part, single_failures
from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.fabrics.fabric import Fabric, FabricLink

SPECS = ("dgx_a100(2)", "mi250(1)", "fat_tree(3,2,2)", "rail_optimised(3,2)", "torus(3,3)", "genkautz(2,7)", "trn2(1)")


def left_of(fabric: Fabric, word: str, collective: str = "allgather") -> Fraction | None:
    try:
        return optimum(select_part(fabric, without=word), collective).bandwidth
    except (InfeasibleError, TopologyError):
        return None


def check(fabric: Fabric) -> None:
    """Every failure alone has what one line says of it, and lines count all of them."""
    told = single_failures(fabric)
    pairs = {tuple(sorted((link.src, link.dst))) for link in fabric.links()}
    alone = {
        "link": [left_of(fabric, f"{a}-{b}") for a, b in pairs],
        "node": [left_of(fabric, fabric.names[node]) for node in fabric.compute],
        "switch": [left_of(fabric, fabric.names[node]) for node in fabric.topology.switches],
    }
    for kind, bandwidths in alone.items():
        lines = [(one.bandwidth, one.alike) for one in told.parts if one.kind == kind]
        grouped = [bandwidth for bandwidth, alike in lines for _ in range(alike)]
        key = lambda rate: rate or Fraction(-1)  # noqa: E731
        assert sorted(grouped, key=key) == sorted(bandwidths, key=key)
    for one in told.parts:
        assert left_of(fabric, one.first) == one.bandwidth
        assert one.lost == 1 - (one.bandwidth or 0) / told.bandwidth
    assert [one.lost for one in told.parts] == sorted((one.lost for one in told.parts), reverse=True)


@pytest.mark.parametrize("spec", SPECS)
def test_known_fabrics(spec: str) -> None:
    check(as_fabric(spec))


@given(st.integers(3, 5), st.integers(0, 2), st.data())
@settings(max_examples=25, deadline=None)
def test_random_fabrics(nodes: int, switches: int, data: st.DataObject) -> None:
    names = [f"n{one}" for one in range(nodes)] + [f"s{one}" for one in range(switches)]
    ring = [(names[one], names[(one + 1) % len(names)]) for one in range(len(names))]
    more = data.draw(st.lists(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=5))
    links = [
        FabricLink(*ends, Fraction(data.draw(st.integers(1, 2))))
        for a, b in [*ring, *(pair for pair in more if pair[0] != pair[1])]
        for ends in ((a, b), (b, a))
    ]
    check(Fabric.from_links("random", names[:nodes], names[nodes:], links))


def test_what_is_alike_is_one_line() -> None:
    assert [(one.kind, one.alike) for one in single_failures("torus(4,4)").parts] == [("link", 32), ("node", 16)]
    assert "-25.0%" in str(single_failures("torus(4,4)"))


@pytest.mark.parametrize("spec", ["dgx_a100(1)", "torus(3,3)", "genkautz(2,7)"])
def test_an_all_to_all_is_ranked_by_its_flow(spec: str) -> None:
    fabric = as_fabric(spec)
    told = single_failures(fabric, "all-to-all")
    assert told.bandwidth == optimum(fabric, "all-to-all").bandwidth
    for one in told.parts:
        assert one.bandwidth == left_of(fabric, one.first, "all-to-all")


@pytest.mark.parametrize("collective", ["broadcast", "gather"])
def test_collectives_that_trees_do_not_rank(collective: str) -> None:
    with pytest.raises(ParameterError, match="failures are ranked for all-to-all, allgather"):
        single_failures("torus(3,3)", collective)


def test_what_fails_takes_its_shard_along() -> None:
    fabric, sizes = as_fabric("genkautz(2,7)"), [3, 1, 0, 2, 1, 1, 2]
    told = single_failures(fabric, "reduce-scatter", shards=sizes)
    assert told.bandwidth == optimum(fabric, "reduce-scatter", shards=sizes).bandwidth
    assert {one.alike for one in told.parts} == {1}
    for one in told.parts:
        left = select_part(fabric, without=one.first)
        own = [sizes[int(left.names[node])] for node in left.compute]
        try:
            assert one.bandwidth == optimum(left, "reduce-scatter", shards=own).bandwidth
        except (InfeasibleError, TopologyError):
            assert one.bandwidth is None
    with pytest.raises(ParameterError, match="over trees"):
        single_failures(fabric, "all-to-all", shards=sizes)


def test_failures_that_cost_the_same_are_in_the_order_of_the_nodes() -> None:
    graph = nx.random_regular_graph(4, 14, seed=3)  # without symmetry, so that each is a row
    parts = [one for one in single_failures(graph).parts if one.kind == "node"]
    assert len(parts) == 14
    assert parts == sorted(parts, key=lambda one: (-one.lost, int(one.first)))
