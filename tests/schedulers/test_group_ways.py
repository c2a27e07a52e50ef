"""Ways of collectives in groups: closed forms on rings and switches, and never below what is proven."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import schedule, simulate
from topodesign.base.errors import InfeasibleError
from topodesign.base.latency import Latency
from topodesign.fabrics.groups import along
from topodesign.optima.group_price import price_groups
from topodesign.schedulers.group_ways import Wires, ways_of
from topodesign.topology.topology import Topology

BYTE_A_SECOND = Fraction(8)
ALPHA = Fraction(1, 10**5)


def wires_of(place: str, alpha: int = 0) -> Wires:
    return Wires.of(place, Latency(Fraction(alpha), Fraction(0), Fraction(0)), BYTE_A_SECOND)


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce", "all-to-all"])
@pytest.mark.parametrize(("place", "group"), [
    ("torus(4,4)", "4x4:0"), ("torus(4,4)", "4x4:1"), ("genkautz(3,9)", "3x3:0"), ("hypercube(3)", "2x4:1"),
    ("circulant(8,1,3)", "8:0"), ("fat_tree(2,4,2)", "4x2:0"),
])  # fmt: skip
def test_no_way_is_below_the_exact_price_nor_that_below_the_bound(place: str, group: str, collective: str) -> None:
    wires = wires_of(place)
    shape, axis = ([int(one) for one in part.split("x")] for part in group.split(":"))
    found = ways_of(wires, collective, along(wires.fabric, shape, axis))
    exact = price_groups(wires.fabric, collective, group)
    links = wires.fabric.topology
    most = max(int(links.out_ports[node]) for node in wires.fabric.compute)
    seconds = exact.bandwidth / (wires.fabric.unit * most)
    assert found.bound(Fraction(1)) <= seconds <= found.best(Fraction(1)).seconds(Fraction(1))
    for size in (Fraction(0), Fraction(1, 10), Fraction(1), Fraction(100)):  # ways that cannot be best stay out
        assert found.best(size).seconds(size) == min(way.seconds(size) for way in found.each)
    assert all(way.least_rate <= way.rate for way in (*found.each, found.least))
    if collective == "all-to-all":
        assert found.best(Fraction(1)).rate == seconds == found.least.rate


def test_a_ring_of_four_has_both_directions() -> None:
    """Lines of a torus: 3/4 of the data over each of two of four ports."""
    wires = wires_of("torus(4,4)", alpha=1)
    found = ways_of(wires, "allgather", along(wires.fabric, (4, 4), (0,)))
    ring = next(way for way in found.each if way.name == "ring")
    assert ring.rate == Fraction(3, 2)
    assert ring.latency == 3
    assert found.each[0].latency == 2  # the farthest are two apart


@pytest.mark.parametrize("collective", ["allgather", "reduce-scatter", "allreduce"])
def test_all_nodes_of_a_fabric_have_the_trees_of_a_plan(collective: str) -> None:
    """With 64 chunks it takes what the plan is simulated to take, at any size."""
    wires = Wires.of("dgx_a100(2)", Latency(ALPHA, Fraction(0), Fraction(0)), BYTE_A_SECOND)
    found = ways_of(wires, collective, [tuple(wires.fabric.compute)])
    plan = schedule("dgx_a100(2)", collective, method="forest")
    for size in (10**6, 10**9):
        took = {simulate(plan, size=size, alpha=ALPHA, gap=0, hop=0, chunks=chunks).time for chunks in (1, 64, 1024)}
        assert took <= {way.seconds(Fraction(size)) for way in found.each if way.name == "trees"}
    assert found.best(Fraction(10**9)).name == "trees"


def test_pairs_send_and_exchange() -> None:
    wires = wires_of("torus(4,4)", alpha=1)
    send = ways_of(wires, "send", along(wires.fabric, (4, 4), (0,))).best(Fraction(1))
    assert (send.latency, send.rate) == (Fraction(1), Fraction(4))  # one of four links
    ends = ways_of(wires, "exchange", along(wires.fabric, (4, 4), (0,))).best(Fraction(1))
    assert ends.latency == 2
    assert ends.rate <= 4


def test_switches_cost_hops_and_gaps() -> None:
    latency = Latency(Fraction(100), Fraction(10), Fraction(1))
    wires = Wires.of("fat_tree(2,4,2)", latency, BYTE_A_SECOND)
    found = ways_of(wires, "all-to-all", [wires.fabric.compute])
    assert found.best(Fraction(1)).latency == 100 + 3 + 6 * 10
    assert found.least.latency == 103


def test_who_cannot_be_reached_is_named() -> None:
    wires = wires_of("uniring(1,4)")
    assert ways_of(wires, "all-to-all", [(0, 1, 2, 3)]).each
    apart = Topology.from_links(4, [(0, 1), (1, 0), (2, 3), (3, 2)])
    cut = Wires.of(apart, Latency(Fraction(0)), BYTE_A_SECOND)
    with pytest.raises(InfeasibleError, match="cannot be reached"):
        ways_of(cut, "all-to-all", [(0, 1, 2, 3)])
