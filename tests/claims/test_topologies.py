"""What is claimed of topologies and of schedules on them, against all that can be built, and against plain searches.

The oracles know no pricing: distances are counted by breadth-first search, flows by a linear program with a variable
for every source and link, schedules and topologies by going through all there are.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.floors import reached
from tests.samples.ranked import rank
from topodesign import Catalog, Topology, all_to_all, compare, evaluate, pareto, price_deferred, schedule, survey
from topodesign.base.claims import Of, Proof, Scope, fastest_of, first_of
from topodesign.base.cost import Cost, bound_in, least_steps, lower_bounds, moore_distances
from topodesign.base.errors import TopodesignError
from topodesign.collectives import ALLGATHER
from topodesign.graphs import FAMILIES
from topodesign.pricing.evaluation import price_both, price_both_deferred
from topodesign.schedulers.exact_rounds import fewest_rounds

CLOSE = 1e-7
"""What a linear program in floats may be beside the exact number."""
Links = Sequence[tuple[int, int]]


def random_topology(nodes: int, degree: int, duplex: bool, seed: int) -> Topology:
    """A topology whose ports are all taken, but for self-loops where that is not possible."""
    rng = np.random.default_rng(seed)
    if not duplex:
        targets = [np.roll(np.arange(nodes), -1), *(rng.permutation(nodes) for _ in range(degree - 1))]
        return Topology.from_arrays(nodes, np.tile(np.arange(nodes), degree), np.concatenate(targets))
    free, pairs = [degree - 2] * nodes, [(node, (node + 1) % nodes) for node in range(nodes)]
    while sum(free) > 1:
        open_ = [node for node in range(nodes) if free[node]]
        if len(open_) == 1:
            break
        u, v = rng.choice(open_, 2, replace=False).tolist()
        pairs.append((u, v))
        free[u] -= 1
        free[v] -= 1
    loops = [(node, node) for node in range(nodes) for _ in range(free[node])]
    return Topology.from_links(nodes, [*pairs, *((v, u) for u, v in pairs), *loops])


def all_distances(topology: Topology) -> list[int] | None:
    """Distances of all ordered pairs; None if some node does not reach another."""
    heads: list[set[int]] = [set() for _ in range(topology.nodes)]
    for u, v, _ in topology.links():
        heads[u].add(v)
    found = []
    for source in range(topology.nodes):
        seen, edge, far = {source}, {source}, 0
        while edge:
            far += 1
            edge = {v for u in edge for v in heads[u]} - seen
            seen |= edge
            found += [far] * len(edge)
        if len(seen) < topology.nodes:
            return None
    return found


def against_bounds(topology: Topology, *costs: Cost) -> None:
    nodes, degree, duplex = topology.nodes, topology.degree, topology.is_duplex
    bounds, distances = lower_bounds(nodes, degree, duplex=duplex), all_distances(topology)
    assert distances is not None
    assert max(distances) >= least_steps(nodes, degree, duplex=duplex).steps == bounds[0].steps
    room = sum(capacity for u, v, capacity in topology.links() if u != v)
    assert all_to_all(topology, effort="bounds").upper is not None
    least = moore_distances(nodes, degree, duplex=duplex)
    assert (all_to_all(topology, effort="bounds").upper or 0) >= least
    assert max(Fraction(sum(distances) * degree, room * nodes), bounds[-1].bandwidth) >= least
    for cost in costs:
        assert cost.steps >= bounds[0].steps
        assert cost.bandwidth >= bound_in(cost.steps, bounds).bandwidth


@given(st.integers(2, 40), st.integers(2, 7), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=30)
def test_no_random_topology_beats_the_bounds(nodes: int, degree: int, duplex: bool, seed: int) -> None:
    assume(not duplex or nodes > 2)
    topology = random_topology(nodes, degree, duplex, seed)
    assert topology.degree == degree
    against_bounds(topology, *price_both(topology), *price_both_deferred(topology))


@given(st.integers(2, 60), st.integers(2, 7))
@settings(max_examples=12)
@pytest.mark.floor(built=10)
def test_no_family_beats_the_bounds(nodes: int, degree: int) -> None:
    for family in FAMILIES:
        for arguments in itertools.islice(family.find(nodes, degree), 2):
            try:
                topology = family(*arguments)
                costs = price_both(topology)
            except TopodesignError:
                continue
            against_bounds(topology, *costs)
            reached("built")


@pytest.mark.parametrize("degree", [2, 3, 4, 5, 7])
def test_no_row_beats_the_bounds(degree: int) -> None:
    rows = Catalog().rows(degree, 2, 2048)
    for row in rows:
        bounds = lower_bounds(row.nodes, degree, duplex=row.duplex)
        for cost in (row.cost, row.allgather):
            assert cost.steps >= bounds[0].steps
            assert cost.bandwidth >= bound_in(cost.steps, bounds).bandwidth
        if row.all_to_all is not None:
            assert row.all_to_all.upper >= moore_distances(row.nodes, degree, duplex=row.duplex)
    assert rows


def flow_program(nodes: int, degree: int, links: Iterable[tuple[int, int, int]]) -> float:
    """Price of all-to-all by a linear program: a shard from every source to every node, and the fullest link least."""
    arcs = [(u, v, capacity) for u, v, capacity in links if u != v]
    columns = 1 + nodes * len(arcs)
    kept, wanted = np.zeros((nodes * nodes, columns)), np.ones(nodes * nodes)
    full = np.zeros((len(arcs), columns))
    for source in range(nodes):
        wanted[source * nodes + source] = 1 - nodes
        for place, (u, v, capacity) in enumerate(arcs):
            column = 1 + source * len(arcs) + place
            kept[source * nodes + v, column] += 1
            kept[source * nodes + u, column] -= 1
            full[place, column], full[place, 0] = 1, -capacity
    costs = np.zeros(columns)
    costs[0] = 1
    found = linprog(costs, A_ub=full, b_ub=np.zeros(len(arcs)), A_eq=kept, b_eq=wanted)
    assert found.status == 0
    return float(found.fun) * degree / nodes


@given(st.integers(3, 9), st.integers(2, 4), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=12)
def test_exact_all_to_all_is_that_of_the_linear_program(nodes: int, degree: int, duplex: bool, seed: int) -> None:
    topology = random_topology(nodes, degree, duplex, seed)
    found = all_to_all(topology, effort="exact")
    assert found.exact
    assert float(found.bandwidth or 0) == pytest.approx(flow_program(nodes, degree, topology.links()), abs=CLOSE)
    for effort in ("quick", "approximate", "bounds"):
        other = all_to_all(topology, effort=effort)
        assert other.lower <= (found.bandwidth or 0) <= (other.upper or 0)
    mine, every = found.claims
    assert mine.proven
    assert mine.among is Scope.FLOWS
    assert every.value >= (every.bound or 0) == moore_distances(nodes, degree, duplex=topology.is_duplex)


@given(st.integers(3, 8), st.integers(2, 3), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=12)
def test_no_deferred_schedule_is_below_what_must_come_in(nodes: int, degree: int, duplex: bool, seed: int) -> None:
    """Every node takes in all other shards; those x links away, and farther ones, over the steps from x on."""
    topology = random_topology(nodes, degree, duplex, seed)
    cost = price_deferred(topology)
    least = Fraction(0)
    for transposed in (False, True):
        links = [(v, u, c) if transposed else (u, v, c) for u, v, c in topology.links() if u != v]
        into = [sum(c for _, v, c in links if v == node) for node in range(nodes)]
        least = max(least, Fraction((nodes - 1) * degree, nodes * min(into)))
    assert cost.bandwidth >= least
    assert cost.steps >= max(all_distances(topology) or [0])


def fewest(links: Links, nodes: int, steps: int) -> int:
    """Fewest rounds of an allgather of whole shards over single links, by going through all schedules."""
    everyone = frozenset(range(nodes))
    states = {tuple(frozenset((node,)) for node in range(nodes)): 0}
    best = nodes * steps
    for step in range(steps):
        after: dict[tuple[frozenset[int], ...], int] = {}
        for state, rounds in states.items():
            for load in range(1, best - rounds - (steps - 1 - step) + 1):
                gains = [_gains([state[u] - state[v] for u, w in links if w == v], load) for v in range(nodes)]
                for taken in itertools.product(*gains):
                    new = tuple(has | more for has, more in zip(state, taken, strict=True))
                    if all(has == everyone for has in new):
                        best = min(best, rounds + load)
                    elif step < steps - 1 and after.get(new, best) > rounds + load:
                        after[new] = rounds + load
        states = after
    return best


def _gains(offers: list[frozenset[int]], load: int) -> list[frozenset[int]]:
    """Return what a node can get if each neighbour sends so many shards at most, but what is part of more."""
    found = {frozenset[int]()}
    for offer in offers:
        some = [frozenset(one) for one in itertools.combinations(sorted(offer), min(load, len(offer)))]
        found = {has | more for has in found for more in some}
    return [one for one in found if not any(one < other for other in found)]


@given(st.integers(3, 4), st.integers(2, 2), st.integers(0, 1), st.integers(0, 2**32))
@settings(max_examples=12)
def test_exact_rounds_are_the_fewest_of_all_schedules(nodes: int, degree: int, more: int, seed: int) -> None:
    topology = random_topology(nodes, degree, False, seed)
    links = [(u, v) for u, v, capacity in topology.links() if u != v]
    assume(all(capacity == 1 for _, _, capacity in topology.links()))
    steps = max(all_distances(topology) or [0]) + more
    found = fewest_rounds(topology, ALLGATHER, steps=steps, chunks=1)
    assert found.proof != "none"
    assert found.rounds == fewest(links, nodes, steps)
    if not more:
        (note,) = schedule(topology, "allgather", method="exact").notes
        assert "optimal (proven): fewest rounds among schedules with the same steps and equal chunks" in note


@given(st.integers(3, 24), st.integers(2, 4), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=10)
def test_claims_of_an_evaluation_hold_among_random_topologies(nodes: int, degree: int, duplex: bool, seed: int) -> None:
    """Whatever is proven of one topology no other of its size refutes."""
    one, other = (evaluate(random_topology(nodes, degree, duplex, seed + more)) for more in (0, 1))
    assume(one.topology.is_duplex == other.topology.is_duplex)
    steps, factor, *_ = one.claims
    if steps.proven and steps.among in {Scope.TOPOLOGIES, Scope.DUPLEX}:
        assert other.cost.steps >= steps.value
    if factor.proven:
        assert min(max(pair[0].bandwidth, pair[1].bandwidth) for _, pair in other.ways) >= factor.value


# -- claims about rows of the catalog and about those that were compared, against all rows and all that is compared ---


ALPHA, RATE = Fraction(1, 10**5), Fraction(10**11)


def times(nodes: int, degree: int, size: Fraction, *, duplex: bool) -> dict[tuple[str, int], Fraction]:
    """Seconds of an allreduce by every row of a size that may be wired so, by spec and steps."""
    rows = Catalog().rows(degree, nodes, nodes)
    return {
        (row.spec, row.cost.steps): 2 * row.cost.steps * ALPHA
        + (row.cost.bandwidth + row.allgather.bandwidth) * 8 * size / RATE
        for row in rows
        if row.duplex or not duplex
    }


@pytest.mark.floor(compared=20, everywhere=1, steps=3)
@settings(max_examples=30, deadline=None)
@given(st.integers(3, 2048), st.integers(2, 16), st.booleans(), st.integers(0, 10**6))
def test_no_row_is_faster_than_the_one_that_a_verdict_names(nodes: int, degree: int, duplex: bool, seed: int) -> None:
    size = Fraction(2) ** random.Random(seed).randint(8, 33)  # noqa: S311  a sample
    every = times(nodes, degree, size, duplex=duplex)
    if not every:
        return
    found = pareto(nodes, degree, bidirectional=duplex, sizes=size)
    assert found.among is Scope.CATALOG
    assert found.best.allreduce[0] == min(every.values())
    reached("compared")
    if fastest_of(Scope.CATALOG) in found.verdict:  # at every size
        reached("everywhere")
        for power in range(0, 41, 10):
            other = times(nodes, degree, Fraction(2) ** power, duplex=duplex)
            assert min(other.values()) == other[str(found.best.spec), found.best.cost.steps]
    for claim in found.claims:
        assert claim.proof is Proof.BOUND
        if claim.of is Of.STEPS:
            assert claim.value == least_steps(nodes, degree, duplex=duplex).steps
            reached("steps")


@pytest.mark.dear
@settings(max_examples=3, deadline=None)
@given(st.integers(5, 60), st.integers(2, 8))
def test_the_first_of_those_that_are_ranked_is_not_beaten(nodes: int, degree: int) -> None:
    found = rank(nodes, degree, sizes="16MiB")
    (claim,) = found.claims
    assert first_of(found.compared) in found.verdict
    least = min(one.least[0] for one in found)
    assert claim.proven == all(found.best.times[0] <= one.least[0] for one in found.entries[1:])
    assert claim.bound == (claim.value if claim.proven else least)
    assert all(one.times[0] >= one.least[0] for one in found)


def test_the_fastest_of_each_size_is_that_of_its_rows() -> None:
    found = survey(range(100, 130), 4)
    assert fastest_of(Scope.CATALOG) in found.heading()
    for one in found:
        assert one.fastest.allreduce[0] == min(times(one.nodes, 4, Fraction(2**20), duplex=False).values())


def test_the_asterisk_is_at_the_least_of_its_column() -> None:
    found = compare(["best", "torus", "ring", "fattree"], nodes=16, degree=4, sizes=["1KiB", "1MiB", "1GiB"])
    table = found.table()
    for place in range(3):
        column = [
            row[next(at for at, title in enumerate(table.columns) if "iB (" in title) + place]
            for row in table.rows[: table.compared]
        ]
        marked = [at for at, cell in enumerate(column) if cell.endswith("*")]
        least = min(one.times[place] for one in found.contenders)
        assert marked == [at for at, one in enumerate(found.contenders) if one.times[place] == least]
