"""Schedule lifts and the column operations under them: every result replayed by the verifier, every cost as claimed."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product as tuples
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.schedules import (
    COLLECTIVES,
    Collective,
    gather_rows,
    make,
    random_digraph,
    rows_of,
    token_rows,
    valid,
)
from tests.samples.verdicts import verify_rounds
from topodesign import build
from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import InfeasibleError, ParameterError, ScheduleError, TooLargeError, TopodesignError
from topodesign.collectives import REDUCE_SCATTER
from topodesign.graphs.expansions import EXPANSIONS
from topodesign.graphs.expansions.bidirect import bidirect
from topodesign.graphs.expansions.degree import degree
from topodesign.graphs.expansions.expansion import Base, Expansion, Lift
from topodesign.graphs.expansions.line import line
from topodesign.graphs.expansions.parallel import parallel
from topodesign.graphs.expansions.power import power
from topodesign.graphs.expansions.product import product
from topodesign.graphs.expansions.spare import spare
from topodesign.graphs.expansions.transpose import transpose
from topodesign.plans.archive import MAX_ROWS
from topodesign.plans.build import MAX_UNITS, build_steps, check_rows
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, halves, relabel, reverse
from topodesign.plans.step_ops import canonical, is_lean, prune, rescale, share
from topodesign.pricing.closed_form import price
from topodesign.topology.isomorphism import mirror
from topodesign.topology.topology import Topology

BASES = [
    "complete(2)", "complete(4)", "bipartite(2)", "dicirculant(8,1,3)", "circulant(7,2)", "genkautz(2,7)",
    "genkautz(3,10)", "debruijn(2,3)", "diamond()", "dbjmod(2,3)", "uniring(1,5)", "uniring(2,4)", "biring(4,5)",
    "cayley(dihedral(4),1,5)", "hypercube(3)", "cyclemesh(2,3)", "randomregular(7,2,15)",
]  # fmt: skip
LOOPLESS = [text for text in BASES if not build(text).self_loops]
OPTIMAL = [
    "complete(2)", "complete(4)", "bipartite(3)", "uniring(1,4)", "biring(2,5)", "biring(2,6)", "hypercube(3)",
    "odd(3)",
]  # fmt: skip
"""Simple, with a bandwidth-optimal even split."""
seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def lift_of(expansion: Expansion) -> Lift:
    assert expansion.lift is not None
    return expansion.lift


def distances(topology: Topology) -> np.ndarray:
    lengths = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    return np.array([[lengths[u][w] for w in range(topology.nodes)] for u in range(topology.nodes)])


def even_split(topology: Topology) -> Flow:
    """The SPFF reduce-scatter in which each node splits each shard evenly over all links on shortest paths."""
    distance = distances(topology)
    hops = {
        (u, w): [(v, c) for v, c in zip(*links_of(topology, u), strict=True) if distance[v, w] == distance[u, w] - 1]
        for u in range(topology.nodes)
        for w in range(topology.nodes)
        if u != w
    }
    units = math.lcm(*(sum(c for _, c in ways) for ways in hops.values()))
    rows, steps = [], int(distance.max())
    for (u, w), ways in hops.items():
        lo = 0
        for v, c in ways:
            hi = lo + units * c // sum(c for _, c in ways)
            rows.append((steps + 1 - distance[u, w], u, v, w, lo, hi))
            lo = hi
    return make("reduce-scatter", topology.nodes, units, rows, steps=steps)


def links_of(topology: Topology, node: int) -> tuple[list[int], list[int]]:
    here = topology.src == node
    return topology.dst[here].tolist(), topology.capacity[here].tolist()


def schedule_of(topology: Topology, collective: Collective, split: Callable[[Topology], Flow]) -> Flow:
    if collective == "reduce-scatter":
        return split(topology)
    gather = reverse(split(topology.transpose()))
    return gather if collective == "allgather" else concatenate(split(topology), gather)


def random_split(random: np.random.Generator) -> Callable[[Topology], Flow]:
    """Reduce-scatters of random trees with random pieces and delays: not SPFF, but everything moves once."""

    def split(topology: Topology) -> Flow:
        units = int(random.integers(1, 5))
        rows = gather_rows(random, topology.transpose(), units)
        return reverse(make("allgather", topology.nodes, units, rows, steps=max(row[0] for row in rows)))

    return split


def checked(topology: Topology, schedule: Flow) -> Cost:
    """Verify and return the cost of one collective: half of that of an allreduce."""
    report = verify_rounds(topology, schedule)
    assert report.ok, str(report)
    assert report.redundant == report.refilled == 0
    assert is_lean(schedule)
    parts = 2 if schedule.collective.name == "allreduce" else 1
    return Cost(report.cost.steps // parts, report.cost.bandwidth / parts)


def one_way(topology: Topology) -> bool:
    links = {(u, v) for u, v, _ in topology.links()}
    return not any((v, u) in links for u, v in links if u != v)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("text", BASES)
def test_lifts_of_spff_schedules_cost_what_is_claimed(text: str, collective: Collective) -> None:
    topology = build(text)
    schedule = schedule_of(topology, collective, even_split)
    base = Base(topology, checked(topology, schedule))
    cases: list[tuple[Any, tuple[int, ...]]] = [(line, (1,)), (line, (2,)), (parallel, (3,)), (spare, (2,))]
    if text in LOOPLESS:
        cases += [(degree, (n,)) for n in (1, 2, 3)]
    if topology.nodes <= 8:
        cases += [(power, (1,)), (power, (2,))]
    for entry, numbers in cases:
        claim = entry.claim(base, *numbers)
        cost = checked(entry(topology, *numbers), lift_of(entry)(topology, schedule, *numbers))
        if entry is line and claim.basis is Basis.BOUND:
            assert cost.steps == claim.cost.steps
            assert cost.bandwidth <= claim.cost.bandwidth
        else:
            assert cost == claim.cost, (entry.name, numbers)


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("text", BASES)
def test_union_with_the_transpose(text: str, collective: Collective) -> None:
    topology = build(text)
    schedule = schedule_of(topology, collective, even_split)
    base = Base(topology, checked(topology, schedule))
    if not isomorphic_to_transpose(topology):
        with pytest.raises(InfeasibleError):
            lift_of(bidirect)(topology, schedule)
    else:
        lifted = lift_of(bidirect)(topology, schedule)
        cost, claim = checked(bidirect(topology), lifted), bidirect.claim(base)
        assert claim is not None
        assert cost.steps == claim.cost.steps
        assert cost.bandwidth <= claim.cost.bandwidth  # less if where links meet one is less full
        if one_way(topology) or topology.is_duplex:
            assert cost == claim.cost


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("text", BASES)
def test_transposition_turns_the_schedule_round(text: str, collective: Collective) -> None:
    topology = build(text)
    schedule = schedule_of(topology, collective, even_split)
    lifted = lift_of(transpose)(topology, schedule)
    assert checked(transpose(topology), lifted) == checked(topology, schedule)
    assert (lifted.collective.name == collective) == (collective == "allreduce")
    assert lift_of(transpose)(transpose(topology), lifted) == canonical(schedule)


@given(seeds, st.sampled_from(COLLECTIVES))
@settings(max_examples=15, deadline=None)
def test_lifts_of_any_schedule(random: np.random.Generator, collective: Collective) -> None:
    """Trees of any shape, several intervals, late sends, parallel links and self-loops."""
    topology = random_digraph(random, int(random.integers(2, 6)), int(random.integers(1, 4)))
    schedule = schedule_of(topology, collective, random_split(random))
    parts = 2 if collective == "allreduce" else 1
    report = verify_rounds(topology, schedule)
    assert report.ok
    bandwidth, d, size = report.cost.bandwidth / parts, topology.degree, topology.nodes
    steps = np.array([schedule.steps - schedule.reduce_steps, schedule.reduce_steps])
    for k in (1, 2):
        lifted = lift_of(line)(topology, schedule, k)
        added = sum((Fraction(1, size * d**i) for i in range(k)), Fraction(0))
        assert checked(line(topology, k), lifted).bandwidth <= bandwidth + added
        assert lifted.steps == schedule.steps + k * parts
    assert checked(parallel(topology, 2), lift_of(parallel)(topology, schedule, 2)).bandwidth == bandwidth
    lifted = lift_of(power)(topology, schedule, 2)
    assert checked(power(topology, 2), lifted).bandwidth == bandwidth * Fraction(size + 1, size)
    assert lifted.steps == 2 * schedule.steps
    if not topology.self_loops:
        lifted = lift_of(degree)(topology, schedule, 2)
        assert checked(degree(topology, 2), lifted).bandwidth == bandwidth + Fraction(1, 2 * size)
        more = np.array([lifted.steps - lifted.reduce_steps, lifted.reduce_steps]) - steps
        assert set(more.tolist()) <= {0, 1}


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize(("left", "right"), [(a, b) for i, a in enumerate(OPTIMAL) for b in OPTIMAL[i : i + 4]])
def test_product_of_optimal_schedules_is_optimal(left: str, right: str, collective: Collective) -> None:
    bases = [build(left), build(right)]
    schedules = [schedule_of(base, collective, even_split) for base in bases]
    cost = checked(product(*bases), lift_of(product)(bases[0], schedules[0], bases[1], schedules[1]))
    pairs = zip(bases, schedules, strict=True)
    claim = product.claim(*(Base(base, checked(base, schedule)) for base, schedule in pairs))
    assert claim is not None
    assert cost == claim.cost


@pytest.mark.parametrize(
    "texts",
    [("complete(3)", "biring(2,5)", "uniring(1,3)"), ("complete(2)",) * 4, ("uniring(2,3)", "uniring(2,4)")],
)
def test_products_of_more_factors_and_of_parallel_links(texts: tuple[str, ...]) -> None:
    bases = [build(text) for text in texts]
    topology = product(*bases)
    for collective in COLLECTIVES:
        pairs = [(base, schedule_of(base, collective, even_split)) for base in bases]
        lifted = lift_of(product)(*(argument for pair in pairs for argument in pair))
        steps = sum(int(distances(base).max()) for base in bases)
        assert checked(topology, lifted) == Cost(steps, Fraction(topology.nodes - 1, topology.nodes))


@pytest.mark.parametrize("text", OPTIMAL)
def test_power_and_product_agree(text: str) -> None:
    """Two constructions that share nothing but the graph."""
    topology = build(text)
    schedule = even_split(topology)
    twice = power(topology, 2)
    one, other = lift_of(power)(topology, schedule, 2), lift_of(product)(topology, schedule, topology, schedule)
    assert checked(twice, one) == checked(twice, other) == price(twice)


def test_products_refuse_what_is_not_balanced() -> None:
    ring, mixed = build("uniring(1,3)"), build("genkautz(2,5)")
    with pytest.raises(ScheduleError, match="optimal"):
        lift_of(product)(ring, even_split(ring), mixed, even_split(mixed))
    late = even_split(ring)
    step = np.where(late.block == 0, late.step, late.step + 1)
    late = late.having(steps=3, start=step - 1, end=step)
    with pytest.raises(ScheduleError, match="optimal"):
        lift_of(product)(ring, even_split(ring), ring, late)
    halved = canonical(rescale(even_split(ring), 2))
    apart = build_steps(
        REDUCE_SCATTER, 3, 2, 4,
        [(halved.step * 2 - shift, halved.src, halved.dst, halved.block, 1 - shift, 2 - shift) for shift in (0, 1)],
    )  # fmt: skip
    assert verify_rounds(ring, apart).ok
    with pytest.raises(ScheduleError, match="single step"):
        lift_of(product)(ring, even_split(ring), ring, apart)
    trunk, complete = build("uniring(2,3)"), build("complete(3)")
    with pytest.raises(InfeasibleError, match="distance 1"):
        lift_of(product)(trunk, even_split(trunk), complete, even_split(complete))
    with pytest.raises(ParameterError, match="at least two"):
        lift_of(product)(ring, even_split(ring))


NESTED = [
    "line(power(uniring(1,3),2),2)", "power(line(complete(3)),2)", "degree(line(diamond()),2)",
    "line(degree(diamond(),2))",
    "degree(degree(complete(3),2),2)", "bidirect(line(complete(3)))", "line(bidirect(dicirculant(8,1,3)))",
    "power(bidirect(uniring(1,3)),2)", "product(hypercube(2),transpose(uniring(1,5)))",
    "transpose(line(genkautz(2,5)))",
    "line(transpose(diamond()),2)", "parallel(line(complete(3)),2)", "line(parallel(complete(3),2))",
    "degree(power(complete(2),2),3)", "line(line(complete(3)))", "product(complete(3),degree(complete(2),2))",
]  # fmt: skip


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("text", NESTED)
def test_nested_lifts(text: str, collective: Collective) -> None:
    cost, claimed, topology, schedule = nested(text, collective)
    assert topology == build(text)
    assert cost.steps <= claimed.steps
    assert cost.bandwidth <= claimed.bandwidth
    if collective == "allreduce":
        assert concatenate(*halves(schedule)) == schedule


def nested(text: str, collective: Collective) -> tuple[Cost, Cost, Topology, Flow]:
    """Lift along a spec; return the cost, the claim from the base schedule's costs, the topology and the schedule."""
    spec = build(text).spec
    assert spec is not None
    entry = next((entry for entry in EXPANSIONS if entry.name == spec.name), None)
    if entry is None:
        topology = build(text)
        schedule = schedule_of(topology, collective, even_split)
        cost = checked(topology, schedule)
        return cost, cost, topology, schedule
    turned: dict[Collective, Collective] = {"allgather": "reduce-scatter", "reduce-scatter": "allgather"}
    inner = turned.get(collective, collective) if entry is transpose else collective
    graph_args: list[Any] = []
    claim_args: list[Any] = []
    lift_args: list[Any] = []
    for argument in spec.args:
        if isinstance(argument, int):
            for args in (graph_args, claim_args, lift_args):
                args.append(argument)
        else:
            cost, _, topology, schedule = nested(str(argument), inner)
            graph_args.append(topology)
            claim_args.append(Base(topology, cost))
            lift_args += [topology, schedule]
    topology, schedule, claim = entry(*graph_args), lift_of(entry)(*lift_args), entry.claim(*claim_args)
    assert claim is not None
    claimed = claim.cost
    if entry is degree:  # its claim is for an SPFF schedule of the base, which lifts do not always make
        claimed = Cost(max(claimed.steps, cost.steps + 1), claimed.bandwidth)
    return checked(topology, schedule), claimed, topology, schedule


def as_set(schedule: Flow) -> set[tuple[int, ...]]:
    """Single units, so that it does not matter how intervals are cut."""
    return {(*row[:4], unit) for row in rows_of(schedule) for unit in range(row[4], row[5])}


@pytest.mark.parametrize("text", ["genkautz(2,5)", "diamond()", "complete(3)"])
def test_line_lift_is_definition_2(text: str) -> None:
    topology = build(text)
    links = [(u, v) for u, v, _ in topology.links()]
    number = {link: i for i, link in enumerate(links)}
    base = even_split(topology)
    wanted = {
        (t, number[w, u], number[u, x], number[v, y], unit)
        for t, u, x, v, unit in as_set(base)
        for w, y in tuples(range(topology.nodes), repeat=2)
        if (w, u) in number and (v, y) in number and (w, u) != (v, y)
    } | {
        (base.steps + 1, number[u, v], number[v, y], number[v, y], unit)
        for u, v in links
        for y in range(topology.nodes)
        for unit in range(base.units)
        if (v, y) in number and (u, v) != (v, y)
    }
    lifted = lift_of(line)(topology, base)
    assert as_set(rescale(lifted, base.units)) == wanted


@pytest.mark.parametrize("text", ["uniring(1,4)", "complete(3)"])
def test_degree_lift_is_definition_4_where_a_step_is_needed(text: str) -> None:
    topology, n = build(text), 2
    base = rescale(even_split(topology), n * topology.degree)
    ports = {u: [(v, k) for v in links_of(topology, u)[0] for k in range(n)] for u in range(topology.nodes)}
    wanted = {
        (t + 1, u * n + i, v * n + j, w * n + j, x) for t, u, v, w, x in as_set(base) for i in (0, 1) for j in (0, 1)
    }
    wanted |= {
        (1, u * n + i, v * n + k, u * n + 1 - i, unit)
        for u in range(topology.nodes)
        for i in (0, 1)
        for unit, (v, k) in enumerate(ports[u])
    }
    assert as_set(rescale(lift_of(degree)(topology, base, n), base.units)) == wanted


def test_power_lift_is_definition_13() -> None:
    topology, n = build("genkautz(2,3)"), 3
    base = reverse(even_split(topology.transpose()))
    size = range(topology.nodes)
    wanted = set()
    for t, u, v, w, unit in as_set(base):
        for j in range(n):
            for x, y in tuples(tuples(size, repeat=j), repeat=2):
                for z in tuples(size, repeat=n - 1 - j):
                    for i in range(n):
                        nodes = [(*y, u, *z), (*y, v, *z), (*x, w, *z)]
                        shifted = [node[n - i :] + node[: n - i] for node in nodes]
                        names = [sum(c * topology.nodes**p for p, c in enumerate(node)) for node in shifted]
                        wanted.add((t + j * base.steps, *names, unit + i * base.units))
    assert as_set(rescale(lift_of(power)(topology, base, n), n * base.units)) == wanted


def test_theorem_12_claims_too_much() -> None:
    """Shortest cycles of one length through all nodes are not enough: they have to pass all neighbours."""
    topology = build("randomregular(5,2,11)")
    lengths = distances(topology)
    cycles = {min(lengths[v, u] for v in links_of(topology, u)[0]) for u in range(5)}
    assert len(cycles) == 1
    assert price(topology) == Cost(2, Fraction(4, 5))
    assert price(degree(topology, 2)) == Cost(2, Fraction(1)) != Cost(2, Fraction(9, 10))
    claim = degree.claim(Base(topology, price(topology)), 2)
    assert claim is not None
    assert (claim.cost, claim.basis) == (Cost(3, Fraction(9, 10)), Basis.SCHEDULE)


@given(seeds, st.integers(2, 3))
@settings(max_examples=60, deadline=None)
def test_degree_claims_hold(random: np.random.Generator, n: int) -> None:
    topology = random_digraph(random, int(random.integers(3, 8)), int(random.integers(1, 4)))
    assume(not topology.self_loops)
    schedule = even_split(topology)
    claim = degree.claim(Base(topology, checked(topology, schedule)), n)
    assert claim is not None
    assert checked(degree(topology, n), lift_of(degree)(topology, schedule, n)) == claim.cost
    best = degree.claim(Base(topology, price(topology)), n)
    built = price(degree(topology, n))
    assert best is not None
    assert built.steps <= best.cost.steps
    if best.basis is Basis.BOUND:
        assert built.bandwidth <= best.cost.bandwidth


def isomorphic_to_transpose(topology: Topology) -> bool:
    graph, back = topology.to_networkx(), topology.transpose().to_networkx()
    match = nx.isomorphism.numerical_edge_match("capacity", 1)
    return bool(nx.is_isomorphic(graph, back, edge_match=match))


def mirrors(topology: Topology, match: np.ndarray) -> bool:
    matrix = np.zeros((topology.nodes, topology.nodes), dtype=np.int64)
    matrix[topology.src, topology.dst] = topology.capacity
    return sorted(match.tolist()) == list(range(topology.nodes)) and np.array_equal(matrix, matrix.T[match][:, match])


@given(seeds)
@settings(max_examples=150, deadline=None)
def test_mirror_is_found_where_there_is_one(random: np.random.Generator) -> None:
    topology = random_digraph(random, int(random.integers(2, 6)), int(random.integers(1, 4)))
    try:
        match = mirror(topology)
    except InfeasibleError:
        assert not isomorphic_to_transpose(topology)
    else:
        assert mirrors(topology, match)


@pytest.mark.parametrize(
    "text",
    [
        "dicirculant(30,1,5)", "kautz(2,3)", "debruijn(3,3)", "degree(uniring(1,8),4)", "line(dicirculant(8,1,3),2)",
        "product(uniring(1,4),dicirculant(8,1,3))", "product(diamond(),transpose(diamond()))", "power(uniring(1,3),3)",
        "cayley(dihedral(6),1,7)",
    ],
)  # fmt: skip
def test_mirror_does_not_depend_on_names(text: str) -> None:
    topology = build(text)
    assert mirrors(topology, mirror(topology))
    names = np.random.default_rng(1).permutation(topology.nodes)
    shuffled = Topology.from_arrays(topology.nodes, names[topology.src], names[topology.dst], topology.capacity)
    assert mirrors(shuffled, mirror(shuffled))


@pytest.mark.parametrize(
    "text", ["diamond()", "dbjmod(2,4)", "genkautz(2,7)", "degree(diamond(),3)", "line(diamond())"]
)
def test_there_is_not_always_a_mirror(text: str) -> None:
    with pytest.raises(InfeasibleError, match="not isomorphic"):
        mirror(build(text))


def test_the_search_for_a_mirror_ends() -> None:
    with pytest.raises(InfeasibleError, match="isomorphi"):
        mirror(build("randomregular(200,3,1)"))


@given(seeds, st.sampled_from(COLLECTIVES))
@settings(max_examples=100, deadline=None)
def test_column_laws(random: np.random.Generator, collective: Collective) -> None:
    topology, schedule = valid(random, collective)
    plain = canonical(schedule)
    cost = verify_rounds(topology, schedule).cost
    assert verify_rounds(topology, plain).ok
    assert verify_rounds(topology, plain).cost == cost
    assert canonical(plain) == plain
    assert as_set(rescale(plain, schedule.units)) == as_set(schedule)
    assert reverse(reverse(schedule)) == schedule
    factor = int(random.integers(1, 5))
    assert canonical(rescale(schedule, factor * schedule.units)) == plain
    names = random.permutation(schedule.nodes)
    renamed = relabel(schedule, names)
    moved = Topology.from_arrays(topology.nodes, names[topology.src], names[topology.dst], topology.capacity)
    assert verify_rounds(moved, renamed, cost).ok
    assert relabel(renamed, np.argsort(names)) == schedule
    mixed = random.permutation(len(schedule))
    assert canonical(rows_taken(schedule, mixed)) == plain
    shared = share([schedule, rescale(schedule, 2 * schedule.units), schedule])
    assert verify_rounds(topology, shared, cost).ok
    if collective == "allreduce":
        first, second = halves(schedule)
        assert verify_rounds(topology, first).ok
        assert verify_rounds(topology, second).ok
        assert canonical(concatenate(first, second)) == plain


def rows_taken(schedule: Flow, order: np.ndarray) -> Flow:
    rows = rows_of(schedule)
    taken = [rows[i] for i in order.tolist()]
    shape = schedule.collective, schedule.nodes, schedule.units
    made = make(*shape, taken, steps=schedule.steps, reduce_steps=schedule.reduce_steps)
    return made.having(place=schedule.place)


def test_neighbouring_intervals_become_one_row() -> None:
    rows = [(1, 0, 1, 0, 6, 9), (1, 0, 1, 0, 0, 3), (1, 0, 1, 0, 3, 6), (1, 1, 0, 1, 0, 9), (2, 0, 1, 0, 9, 12)]
    joined = canonical(make("allgather", 2, 12, rows, steps=2))
    assert (joined.units, rows_of(joined)) == (4, [(1, 0, 1, 0, 0, 3), (1, 1, 0, 1, 0, 3), (2, 0, 1, 0, 3, 4)])


@given(seeds, st.sampled_from(COLLECTIVES))
@settings(max_examples=100, deadline=None)
def test_pruning_leaves_a_right_and_lean_schedule(random: np.random.Generator, collective: Collective) -> None:
    topology, schedule = valid(random, collective)
    before, pruned = verify_rounds(topology, schedule), prune(schedule)
    cost = checked(topology, pruned)
    parts = 2 if collective == "allreduce" else 1
    assert cost.bandwidth * parts <= before.cost.bandwidth
    assert pruned.steps == schedule.steps
    assert as_set(rescale(pruned, math.lcm(pruned.units, schedule.units))) <= as_set(
        rescale(schedule, math.lcm(pruned.units, schedule.units))
    )
    assert prune(pruned) == pruned
    if is_lean(schedule):
        assert pruned == canonical(schedule)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_turned_round_lean_schedules_are_right(random: np.random.Generator) -> None:
    """Theorem 1, and why it is for schedules that send everything once."""
    topology = random_digraph(random, int(random.integers(2, 6)), int(random.integers(1, 4)))
    rows = token_rows(random, topology, 3)
    schedule = make("reduce-scatter", topology.nodes, 3, rows, steps=max(row[0] for row in rows))
    report = verify_rounds(topology.transpose(), reverse(schedule))
    assert report.ok
    assert (report.redundant == 0) == is_lean(schedule) == (verify_rounds(topology, schedule).refilled == 0)


RING = build("uniring(1,3)")
GOOD = even_split(RING)
TURNED = RING.transpose()
DUPLEX = build("biring(2,5)")
RIGHT = even_split(DUPLEX)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lift_of(line)(build("uniring(1,4)"), GOOD), ScheduleError, "3 nodes"),
        (lambda: lift_of(line)(build("transpose(uniring(1,3))"), GOOD), ScheduleError, "not a link"),
        (lambda: lift_of(line)(RING, share([GOOD, GOOD]), 0), ParameterError, "at least 1"),
        (lambda: lift_of(line)(RING, GOOD, 65), ParameterError, "64"),
        (lambda: lift_of(line)(RING, doubled(GOOD)), ScheduleError, "prune"),
        (lambda: lift_of(degree)(RING, doubled(GOOD), 2), ScheduleError, "prune"),
        (lambda: lift_of(transpose)(RING, doubled(GOOD)), ScheduleError, "prune"),
        (
            lambda: lift_of(degree)(build("debruijn(2,2)"), even_split(build("debruijn(2,2)")), 2),
            ParameterError,
            "self-loop",
        ),
        (lambda: lift_of(degree)(RING, GOOD, 0), ParameterError, "at least 1"),
        (lambda: lift_of(degree)(RING, GOOD, 20000), TooLargeError, "rows"),
        (lambda: lift_of(power)(RING, GOOD, 100), TooLargeError, "nodes"),
        (lambda: lift_of(power)(RING, GOOD, 9), TooLargeError, "rows"),
        (lambda: lift_of(parallel)(RING, GOOD, -1), ParameterError, "at least 1"),
        (lambda: lift_of(line)(RING, RING), ScheduleError, "requires a schedule"),
        (lambda: lift_of(line)(Topology.from_links(3, RING.links(), switches=[2]), GOOD), ParameterError, "switches"),
        (
            lambda: lift_of(product)(RING, GOOD, RING, lift_of(transpose)(TURNED, GOOD)),
            ScheduleError,
            "not a link",
        ),
        (lambda: lift_of(product)(DUPLEX, RIGHT, DUPLEX, reverse(RIGHT)), ScheduleError, "one collective"),
        (lambda: halves(GOOD), ScheduleError, "halves"),
        (lambda: concatenate(GOOD, GOOD), ScheduleError, "reduce-scatter"),
        (lambda: concatenate(GOOD, reverse(even_split(build("complete(2)")))), ScheduleError, "nodes"),
        (lambda: share([GOOD, reverse(GOOD)]), ScheduleError, "share"),
        (lambda: rescale(rescale(GOOD, 4), 6), ScheduleError, "multiple"),
        (lambda: rescale(GOOD, MAX_UNITS), TooLargeError, "units"),
        (lambda: rescale(GOOD, 0), ScheduleError, "multiple"),
        (lambda: relabel(GOOD, np.array([0, 0, 1])), ScheduleError, "permutation"),
        (lambda: relabel(GOOD, np.arange(4)), ScheduleError, "permutation"),
        (lambda: check_rows(MAX_ROWS + 1), TooLargeError, "rows"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object], error: type[TopodesignError], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def doubled(schedule: Flow) -> Flow:
    return rows_taken(schedule, np.tile(np.arange(len(schedule)), 2))


def test_schedules_without_rows() -> None:
    empty = make("allgather", 1, 3, [], steps=0)
    assert canonical(empty).units == 1
    assert len(prune(empty)) == len(reverse(empty)) == len(share([empty, empty])) == 0
    assert is_lean(empty)
