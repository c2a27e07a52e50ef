"""Expansions: what they build, and every closed form against rebuilding and pricing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.base.cost import Basis, Cost, spare_factor
from topodesign.base.errors import ParameterError, SpecError
from topodesign.base.spec import Spec
from topodesign.collectives import ALLGATHER
from topodesign.graphs.expansions import EXPANSIONS
from topodesign.graphs.expansions.bidirect import bidirect
from topodesign.graphs.expansions.cover import cover
from topodesign.graphs.expansions.degree import degree
from topodesign.graphs.expansions.expansion import Base
from topodesign.graphs.expansions.line import _reaches_all, line
from topodesign.graphs.expansions.parallel import parallel
from topodesign.graphs.expansions.power import power
from topodesign.graphs.expansions.product import product
from topodesign.graphs.expansions.spare import spare
from topodesign.graphs.expansions.transpose import transpose
from topodesign.graphs.expansions.turn import turn
from topodesign.graphs.expansions.voltage import lift
from topodesign.pricing.closed_form import distances, price
from topodesign.schedulers.lift import lift_schedule
from topodesign.topology.topology import Topology

SMALL = [
    "complete(4)", "bipartite(2)", "bipartite(3)", "dicirculant(8,1,3)", "circulant(7,2)", "genkautz(2,7)",
    "genkautz(2,8)", "genkautz(3,10)", "debruijn(2,3)", "kautz(2,1)", "diamond()", "dbjmod(2,3)", "uniring(1,5)",
    "uniring(2,4)", "biring(2,6)", "biring(4,5)", "cayley(dihedral(4),1,5)", "hypercube(3)", "odd(3)", "cyclemesh(2,3)",
]  # fmt: skip


def base(text: str) -> Base:
    """Price a topology for both collectives, as the finder does."""
    topology = build(text)
    costs = [price(topology), price(topology.transpose())]
    return Base(topology, max(costs, key=lambda cost: cost.bandwidth))


def dearer(topology: Topology) -> Cost:
    return max(price(topology), price(topology.transpose()), key=lambda cost: cost.bandwidth)


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_line_graph_closed_form(text: str, k: int) -> None:
    start = base(text)
    claim, built = line.claim(start, k), dearer(line(start.topology, k))
    assert claim is not None
    if claim.basis is Basis.THEOREM:
        assert built == claim.cost
    else:
        assert built.steps <= claim.cost.steps
        assert built.bandwidth <= claim.cost.bandwidth


@pytest.mark.parametrize("text", [*SMALL, "biring(2,200)", "debruijn(3,2)", "line(genkautz(3,7))"])
def test_walks_that_avoid_a_distance_are_as_found_one_distance_after_another(text: str) -> None:
    one = Base(build(text), Cost(0, Fraction(0)))
    graph = one.topology
    for node in range(min(graph.nodes, 5)):
        assert one.distances(node).tolist() == distances(graph, node).tolist()
    into = [set(graph.src[graph.dst == node].tolist()) for node in range(graph.nodes)]
    for k in (1, 2, 3) if one.simple and graph.is_regular else ():
        seen = True
        for node in graph.representatives or range(graph.nodes):
            far = distances(graph, node)
            for avoided in set(far.tolist()):
                reached = {node}
                for _ in range(k):
                    reached = {one for other in reached for one in into[other] if far[one] != avoided}
                seen = seen and bool(reached)
        assert _reaches_all(one, k) == seen


def test_line_graph_closed_form_is_exact_for_some() -> None:
    exact = [text for text in SMALL if (claim := line.claim(base(text), 1)) and claim.basis is Basis.THEOREM]
    assert len(exact) >= 3


def test_theorem_10_claims_too_much() -> None:
    """The line graph of this Cayley digraph, whose nodes' in-neighbours are equally far, beats the closed form."""
    start = base("dicirculant(8,1,3)")
    claim = line.claim(start)
    assert claim is not None
    assert claim.cost.bandwidth == 1
    assert claim.basis is Basis.BOUND
    assert price(line(start.topology), all_sources=True) == Cost(4, Fraction(15, 16))


@pytest.mark.parametrize("text", SMALL)
@pytest.mark.parametrize("k", [1, 2])
def test_line_graph_sums_in_closed_form(text: str, k: int) -> None:
    """The added bandwidth is d/(d-1) * (1/N - 1/(d^k N)) (Corollary 6)."""
    start = base(text)
    d, n = start.degree, start.nodes
    claim = line.claim(start, k)
    assert claim is not None
    if d > 1:
        assert claim.cost.bandwidth - start.cost.bandwidth == Fraction(d, d - 1) * (
            Fraction(1, n) - Fraction(1, d**k * n)
        )


@pytest.mark.parametrize("text", [text for text in SMALL if not build(text).self_loops])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_degree_expansion_closed_form(text: str, n: int) -> None:
    start = base(text)
    claim, built = degree.claim(start, n), dearer(degree(start.topology, n))
    assert claim is not None
    assert start.cost.steps <= built.steps <= claim.cost.steps
    assert built.bandwidth >= start.cost.bandwidth
    if claim.basis is Basis.THEOREM:
        assert built == claim.cost
    elif claim.basis is Basis.BOUND:
        assert built.bandwidth <= claim.cost.bandwidth
        assert built.steps == claim.cost.steps
    lower = Fraction(n * start.nodes - 1, n * start.nodes)
    if claim.basis is not Basis.SCHEDULE and start.cost.bandwidth == Fraction(start.nodes - 1, start.nodes):
        assert built.bandwidth == lower  # Corollary 8


@pytest.mark.parametrize(("left", "right"), [(a, b) for i, a in enumerate(SMALL) for b in SMALL[i : i + 4]])
def test_product_closed_form(left: str, right: str) -> None:
    one, two = base(left), base(right)
    claim, built = product.claim(one, two), dearer(product(one.topology, two.topology))
    assert built.steps == one.cost.steps + two.cost.steps
    if claim is not None:
        assert claim.basis is Basis.THEOREM
        assert built == claim.cost


@pytest.mark.parametrize("text", SMALL)
def test_power_closed_form(text: str) -> None:
    start = base(text)
    claim, built = power.claim(start, 2), dearer(power(start.topology, 2))
    assert claim is not None
    assert built.steps == claim.cost.steps == 2 * start.cost.steps
    if claim.basis is Basis.THEOREM:
        assert built == claim.cost
    assert power(start.topology, 2) == product(start.topology, start.topology)


@pytest.mark.parametrize("text", SMALL)
def test_union_with_the_transpose(text: str) -> None:
    start = base(text)
    union = bidirect(start.topology)
    claim = bidirect.claim(start)
    assert union.is_duplex
    assert union.degree == 2 * start.degree
    assert np.array_equal(union.out_ports, start.topology.out_ports + start.topology.in_ports)
    assert claim is not None
    assert price(union).steps <= claim.cost.steps


@pytest.mark.parametrize("text", SMALL)
def test_trunks_and_transpose_keep_the_cost(text: str) -> None:
    start = base(text)
    trunks, wider = parallel.claim(start, 3), spare.claim(start, 2)
    assert trunks is not None
    assert wider is not None
    assert dearer(spare(start.topology, 2)) == wider.cost
    assert wider.cost.bandwidth == start.cost.bandwidth * spare_factor(start.degree, 2)
    assert spare(start.topology) == product(start.topology, build("successors(1,0)"))
    assert dearer(parallel(start.topology, 3)) == trunks.cost
    assert dearer(transpose(start.topology)) == start.cost
    assert transpose(transpose(start.topology)) == start.topology


@pytest.mark.parametrize("text", [text for text in SMALL if build(text).capacity.max() == 1])
def test_line_graph_is_the_line_graph_of_networkx(text: str) -> None:
    topology = build(text)
    ours, theirs = line(topology), nx.line_graph(topology.to_networkx())
    number = {(u, v): i for i, (u, v, _) in enumerate(topology.links())}
    assert {(number[a], number[b]) for a, b in theirs.edges} == {(u, v) for u, v, _ in ours.links()}


@pytest.mark.parametrize(("left", "right"), [("genkautz(2,5)", "circulant(6,1)"), ("diamond()", "uniring(2,3)")])
def test_product_is_the_cartesian_product_of_networkx(left: str, right: str) -> None:
    one, two = build(left), build(right)
    theirs = nx.cartesian_product(one.to_networkx(), two.to_networkx())
    number = {(u, v): u + one.nodes * v for u in range(one.nodes) for v in range(two.nodes)}
    assert {(number[a], number[b]) for a, b in theirs.edges} == {(u, v) for u, v, _ in product(one, two).links()}


nestings = st.recursive(
    st.sampled_from(["complete(3)", "dicirculant(4,1,2)", "genkautz(2,5)", "uniring(1,3)", "diamond()"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["line", "bidirect", "transpose"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["degree", "power", "parallel", "spare"]), inner).map(lambda t: f"{t[0]}({t[1]},2)"),
        st.tuples(inner, inner).map(lambda t: f"product({t[0]},{t[1]})"),
    ),
    max_leaves=3,
)


PROVEN = {
    "line(complete(4))": 3, "line(uniring(3,4))": 1, "line(debruijn(2,2),2)": 8, "line(parallel(complete(3),2))": 2,
    "degree(diamond(),2)": 8, "degree(genkautz(2,9),3)": 2, "power(genkautz(2,6),2)": 1,
    "product(complete(3),genkautz(2,11))": 6, "product(diamond(),complete(3),diamond())": 64,
    "bidirect(debruijn(2,3))": 4, "parallel(genkautz(2,11),3)": 6, "spare(genkautz(2,11),3)": 6,
    "transpose(line(uniring(3,4)))": 1,
    "lift(complete(3),dihedral(4),1,2,3,4,5,6)": 3, "line(degree(diamond(),2))": 32, "cover(genkautz(2,9),3)": 2,
    "turn(genkautz(3,22),1)": 11, "turn(congruential(24,-3,-1,-2,-6),2,2)": 6, "turn(circulant(12,1,5),0)": 1,
}  # fmt: skip
"""Expansions and how many orbits the automorphisms have that they know."""


@pytest.mark.parametrize("text", PROVEN)
def test_symmetry_of_an_expansion_proves_itself(text: str) -> None:
    topology = build(text)
    assert topology.symmetry is not None
    topology.symmetry.check(topology)
    assert len(topology.symmetry.orbits()) == PROVEN[text]


CHANGED = ("delete(complete(4),0,0)", "insert(complete(3),0,1,1,2)", "swap(complete(4),0,1,2,3)")


@pytest.mark.parametrize("text", CHANGED)
def test_no_schedule_is_made_of_a_base_that_gives_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise AssertionError("a schedule of the base was made for nothing")

    monkeypatch.setattr("topodesign.schedulers.lift.thriftiest", refuse)
    assert lift_schedule(build(text), ALLGATHER) is None


def test_every_expansion_has_its_symmetry_proved_or_has_none() -> None:
    changing = {"delete", "insert", "swap"}  # the turns of near links keep shifts
    proven = {one.name for one in EXPANSIONS if any(f"{one.name}(" in text for text in PROVEN)}
    assert proven == {one.name for one in EXPANSIONS} - changing
    for text in CHANGED:
        assert build(text).symmetry is None


@pytest.mark.floor(built=60)
@given(nestings)
@settings(max_examples=120, deadline=None)
def test_nested_specs_rebuild_themselves(text: str) -> None:
    try:
        topology = build(text)
    except SpecError:
        return  # too large, or self-loops in a degree expansion
    reached("built")
    assert str(topology.spec) == text
    assert build(str(topology.spec)) == topology
    if topology.nodes <= 600 and topology.symmetry is not None:
        topology.symmetry.check(topology)
        assert price(topology) == price(topology, all_sources=True)


@pytest.mark.dear("line(complete(20),30)-too many")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("line(complete(4),0)", "at least 1"), ("line(complete(4),-1)", "at least 1"),
        ("line(3)", "requires a topology"),
        ("line(complete(4),complete(3))", "requires an integer"), ("line(complete(4),65)", "at most 64"),
        ("line(complete(20),30)", "too many"), ("degree(debruijn(2,3),2)", "self-loops"),
        ("degree(complete(3))", "write"),
        ("degree(complete(3),0)", "at least 1"), ("product(complete(3))", "at least two"),
        ("product(3,4)", "requires a"),
        ("power(complete(30),9)", "too many"), ("power(complete(3),1000000)", "too many"), ("bidirect()", "write"),
        ("parallel(complete(3),0)", "at least 1"), ("parallel(complete(3),10000000000)", "capacities"),
        ("spare(complete(3),0)", "at least 1"),
        ("line(dihedral(4))", "group, not a topology"), ("cayley(complete(3),1)", "unknown group"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        build(text)
    assert 0 <= caught.value.position <= len(text)


def test_expansions_without_specs_have_none() -> None:
    topology = Topology.from_links(3, [(0, 1), (1, 2), (2, 0)])
    assert line(topology).spec is None
    assert product(build("complete(3)"), topology).spec is None
    with pytest.raises(ParameterError, match="switches"):
        line(Topology.from_links(3, [(0, 1), (1, 2), (2, 0)], switches=[1]))


# -- Cyclic covers: against networkx and voltage lifts, their symmetry, and how far apart nodes are


@settings(max_examples=60, deadline=None)
@given(regular_digraphs(), st.integers(2, 5))
def test_it_is_the_lift_with_all_voltages_one(topology: Topology, m: int) -> None:
    made = cover(topology, m)
    links = int(topology.capacity.sum())
    assert made == lift(topology, Spec("cyclic", (m,)), *[1] * links)
    assert made.is_regular
    assert made.self_loops == 0
    assert made.symmetry is not None
    made.symmetry.check(made)


@pytest.mark.parametrize("text", ["complete(4)", "genkautz(2,7)", "diamond()"])
@pytest.mark.parametrize("m", [2, 3])
def test_it_is_the_tensor_product_of_networkx(text: str, m: int) -> None:
    base = build(text)
    theirs = nx.tensor_product(base.to_networkx(), nx.cycle_graph(m, create_using=nx.DiGraph))
    ours = {(u, v) for u, v, _ in cover(base, m).links()}
    assert {(a * m + i, b * m + j) for (a, i), (b, j) in theirs.edges} == ours


@pytest.mark.parametrize(("text", "orbits"), [("genkautz(2,9)", 2), ("debruijn(2,3)", 4), ("diamond()", 8)])
def test_there_are_as_many_orbits_as_of_the_base(text: str, orbits: int) -> None:
    made = build(f"cover({text},2)")
    assert made.symmetry is not None
    assert len(made.symmetry.orbits()) == orbits
    assert price(made) == price(made, all_sources=True)


@pytest.mark.parametrize(("degree", "steps", "less"), [(2, 6, 0), (3, 5, 7), (4, 4, 1), (5, 3, 4)])
def test_twice_as_many_nodes_as_a_power_of_the_degree_take_one_step_more(degree: int, steps: int, less: int) -> None:
    """All walks of k links from a node of a generalized Kautz digraph of at most d^k nodes reach all of them."""
    nodes = degree**steps - less
    made = build(f"cover(genkautz({degree},{nodes}),2)")
    assert made.nodes == 2 * nodes
    assert price(made).steps == steps + 1


def test_duplex_bases_stay_duplex() -> None:
    assert build("cover(complete(4),2)") == build("cover(complete(4))")
    assert build("cover(complete(4))").is_duplex
    assert not build("cover(complete(4),3)").is_duplex
    assert np.array_equal(build("cover(parallel(complete(3),2))").capacity, [2] * 12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cover(complete(4),1)", "at least 2"),
        ("cover(4,2)", "requires a topology"),
        ("cover(complete(4),complete(3))", "requires an integer"),
        ("cover(complete(4),10000000)", "too many"),
        ("cover()", "arguments"),
    ],
)
def test_refusals_say_what_is_wrong_of_cover(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(text)


# -- Turns of near links: against the definition, what they keep, and what they are refused for


Links = list[tuple[int, int]]


def unit_links(topology: Topology) -> Links:
    return [(u, v) for u, v, c in topology.links() for _ in range(c)]


def naive(topology: Topology, s: int, places: int) -> Links:
    """The definition, link by link."""
    n = topology.nodes
    by_length: dict[int, Links] = defaultdict(list)
    made: Links = []
    for u, v in unit_links(topology):
        length = next(z for z in (0, *range(1, n), *range(-1, -n, -1)) if (u - v - z) % n == 0 and 2 * abs(z) <= n)
        if abs(length) <= s:
            by_length[length].append((u, v))
        else:
            made.append((u, v))
    for several in by_length.values():
        made += [(u, several[(i + places) % len(several)][1]) for i, (u, _) in enumerate(several)]
    return sorted(made)


@pytest.mark.floor(changed=80)
@settings(max_examples=200, deadline=None)
@given(regular_digraphs(), st.data())
def test_links_are_those_of_the_definition(topology: Topology, data: st.DataObject) -> None:
    s = data.draw(st.integers(0, (topology.nodes - 1) // 2))
    places = data.draw(st.integers(1, 9))
    turned = turn(topology, s, places)
    assert unit_links(turned) == naive(topology, s, places)
    assert np.array_equal(turned.out_ports, topology.out_ports)
    assert np.array_equal(turned.in_ports, topology.in_ports)
    every = math.lcm(*range(1, 3 * topology.nodes))
    assert turn(topology, s, every) == topology
    if turned != topology:
        reached("changed")


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(6, 90), st.booleans())
def test_no_self_loops_are_left_of_several(d: int, n: int, kautz: bool) -> None:
    n += d
    base = build(f"congruential({n},{-d if kautz else d},{','.join(map(str, range(d)))})")
    turned = turn(base, 0)
    loops = sorted(u for u, v in unit_links(base) if u == v)
    if len(set(loops)) == len(loops) > 1:
        assert turned.self_loops == 0
    before, after = Counter(unit_links(base)), Counter(unit_links(turned))
    assert sorted((before - after).elements()) == [(u, u) for u in sorted(set(loops)) if len(loops) > 1]


@pytest.mark.parametrize(
    ("text", "orbits"),
    [("genkautz(3,40)", 10), ("genkautz(5,33)", 11), ("congruential(45,4,0,1,2,7)", 15)],
)
@pytest.mark.parametrize("s", [0, 1, 4])
def test_shifts_stay_automorphisms(text: str, orbits: int, s: int) -> None:
    turned = build(f"turn({text},{s})")
    assert turned.symmetry is not None
    turned.symmetry.check(turned)
    assert len(turned.symmetry.orbits()) == orbits
    assert price(turned) == price(turned, all_sources=True)


def test_other_automorphisms_are_not_claimed() -> None:
    assert build("turn(kneser(5,2),1)").symmetry is None


def test_it_claims_nothing_and_rebuilds_itself() -> None:
    topology = build("turn(genkautz(2,11),1,2)")
    assert str(topology.spec) == "turn(genkautz(2,11),1,2)"
    assert turn(build("genkautz(2,11)"), 1, 2) == topology
    assert turn(build("genkautz(2,11)"), 1) == build("turn(genkautz(2,11),1)")
    assert turn.claim(None) is None
    assert turn.lift is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("turn(complete(4))", "arguments"),
        ("turn(complete(4),-1)", "at least 0"),
        ("turn(complete(4),2)", "below N/2"),
        ("turn(complete(4),1,0)", "at least 1"),
        ("turn(4,1)", "requires a topology"),
        ("turn(complete(4),complete(3))", "requires an integer"),
        ("turn(complete(4),1,1,1)", "arguments"),
    ],
)
def test_refusals_say_what_is_wrong_of_turn(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(text)
