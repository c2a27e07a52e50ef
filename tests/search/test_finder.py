"""The finder and the frontier: laws that hold for every size, and the paper's tables."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.paper import DISTANCE_REGULAR, RINGS_AND_MESHES, TABLE_7, paper_families, paper_finder
from topodesign import build, lower_bound, moore_bound, pareto
from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import InfeasibleError, ParameterError, UnitError
from topodesign.catalog.lookup import Catalog
from topodesign.finder.pareto import Pareto
from topodesign.graphs.expansions.expansion import Base
from topodesign.pricing.closed_form import price
from topodesign.pricing.split_deferral import price_deferred as deferred_reduce_scatter
from topodesign.search.candidate import Candidate, insert
from topodesign.search.finder import Finder
from topodesign.search.target import Target, scarcity, steps_of_most

MIB = Fraction(2**20)


def check_laws(result: Pareto) -> None:
    """Hold a frontier against the definition: right size, undominated, bounded, repriced from the links."""
    optimum = Fraction(result.nodes - 1, result.nodes)
    assert result.entries
    for one, other in itertools.pairwise(result.entries):
        assert one.cost.steps < other.cost.steps
        assert one.cost.bandwidth > other.cost.bandwidth
    for entry in result.entries:
        topology = entry.build()
        assert (topology.nodes, topology.degree) == (result.nodes, result.degree)
        assert topology.is_regular
        assert topology.is_duplex == entry.duplex
        assert entry.duplex or not result.bidirectional
        there, back = price(topology, all_sources=True), price(topology.transpose())
        if entry.basis is Basis.DEFERRED:
            there = min(there, deferred_reduce_scatter(topology), key=lambda cost: cost.bandwidth)
            back = min(back, deferred_reduce_scatter(topology.transpose()), key=lambda cost: cost.bandwidth)
            assert there.dominates(entry.cost)  # the row may be of a time when schedules were dearer
            assert back.dominates(entry.allgather)
        else:
            assert entry.basis is Basis.LINKS
            assert (there, back) == (entry.cost, entry.allgather)
        assert entry.allgather.bandwidth <= entry.cost.bandwidth
        assert entry.cost.bandwidth >= optimum
        assert entry.cost.steps >= result.bound.steps
    for column in range(len(result.workload.sizes)):
        assert sum(entry.best[column] for entry in result.entries) == 1
        fastest = next(entry for entry in result.entries if entry.best[column])
        assert fastest.allreduce[column] == min(entry.allreduce[column] for entry in result.entries)


@pytest.mark.floor(answered=20)
@given(st.integers(2, 60), st.integers(1, 9), st.booleans())
@settings(max_examples=40, deadline=None)
def test_laws_hold_at_every_size(nodes: int, degree: int, bidirectional: bool) -> None:
    try:
        result = pareto(nodes, degree, bidirectional=bidirectional, search=0)
    except ParameterError:
        assert bidirectional
        assert (nodes * degree % 2 and degree >= nodes) or (degree == 1 and nodes > 2)
        return
    reached("answered")
    check_laws(result)


@pytest.mark.dear("1999-2-False", "509-4-False")
@pytest.mark.parametrize(
    ("nodes", "degree", "bidirectional"),
    [
        (509, 4, False), pytest.param(1021, 3, False, marks=pytest.mark.thorough),
        (1999, 2, False), (5, 4, False), (17, 16, True), (2, 1, True), (2, 5, True),
        (7, 1, False), (4, 9, False), (6, 12, True), (5, 8, True), (22, 3, True), (100, 15, True), (90, 7, True),
    ],
)  # fmt: skip
def test_awkward_sizes_have_answers(nodes: int, degree: int, bidirectional: bool) -> None:
    check_laws(pareto(nodes, degree, bidirectional=bidirectional, search=0.05))


def test_table_2_is_reached_or_dominated_without_any_search() -> None:
    """The paper's frontier at N=1024, d=4."""
    front = Finder().frontier(1024, 4)
    for steps, bandwidth in [(5, "341/256"), (6, "261/256"), (8, "257/256"), (11, "1"), (20, "1023/1024")]:
        paper = Cost(steps, Fraction(bandwidth))
        assert any(candidate.cost.dominates(paper) for candidate in front), paper


@pytest.mark.dear
def test_a_small_dihedral_base_beats_table_2() -> None:
    """DESIGN section 2: its third line graph has five steps at y = 277/256 = 1.0820, where the paper has 1.332."""
    found = pareto(16, 4, search=1.0)
    optimal_steps = [entry for entry in found.entries if entry.cost == Cost(2, Fraction(1))]
    assert optimal_steps or any(entry.cost.dominates(Cost(2, Fraction(1))) for entry in found.entries)
    base = next(entry for entry in found.entries if entry.cost.steps == 2)
    cost = price(build(f"line({base.spec},3)"))
    assert cost.dominates(Cost(5, Fraction(277, 256)))


@pytest.mark.parametrize(
    "spec",
    [
        "line(uniring(2,19),5)", "line(uniring(2,31),4)", "line(uniring(3,7),3)", "line(uniring(4,127))",
        "bidirect(line(uniring(2,19),5))", "bidirect(genkautz(2,53))", "bidirect(genkautz(8,515))",
    ],
)  # fmt: skip
def test_expansions_of_dominated_bases_are_reached(spec: str) -> None:
    topology = build(spec)
    front = Finder().frontier(topology.nodes, topology.degree, duplex=topology.is_duplex)
    assert any(candidate.cost.dominates(price(topology)) for candidate in front)


@pytest.mark.parametrize("nodes", range(5, 13))
def test_table_3_is_reached_at_every_size(nodes: int) -> None:
    """Bidirectional, d=4: bandwidth-optimal in T_L = alpha for N=5, else 2 alpha, for half an allreduce."""
    result = pareto(nodes, 4, bidirectional=True, search=0)
    paper = Cost(1 if nodes == 5 else 2, Fraction(nodes - 1, nodes))
    assert any(entry.cost.dominates(paper) for entry in result.entries)


@pytest.mark.parametrize("degree", [2, 4, 8, 16])
@pytest.mark.parametrize("nodes", [17, 100, 365, 511, 777, 1024, 1500, 1999])
def test_generalized_kautz_is_within_twice_the_optimum(nodes: int, degree: int) -> None:
    """Figure 13 and Theorem 22 of the paper."""
    cost = price(build(f"genkautz({degree},{nodes})"))
    assert cost.bandwidth <= 2 * Fraction(nodes - 1, nodes)
    assert cost.steps <= moore_bound(nodes, degree) + 1


@pytest.mark.dear("2000")
@pytest.mark.parametrize("nodes", [7, 8, 25, 26, 100, 365, 512, 729, 999, 1000, 1361, 1999, 2000])
def test_two_jump_circulants_are_bandwidth_optimal(nodes: int) -> None:
    """Theorem 23 and the paper's computation for all n to 2000: diameter m and y = (n-1)/n."""
    entry = next(c for c in Finder().frontier(nodes, 4, duplex=True) if c.cost.bandwidth == Fraction(nodes - 1, nodes))
    topology = build(f"circulant({nodes},{','.join(map(str, _two_jumps(nodes)))})")
    m = _two_jumps(nodes)[0]
    assert price(topology, all_sources=True) == Cost(m, Fraction(nodes - 1, nodes))
    assert entry.cost.steps <= m


def _two_jumps(nodes: int) -> tuple[int, int]:
    """The theorem's m = ceil((-1 + sqrt(2n-1)) / 2), by counting up."""
    m = 1
    while (2 * m + 1) ** 2 < 2 * nodes - 1:
        m += 1
    return m, m + 1


def test_runtimes_and_baselines_are_those_of_the_model() -> None:
    result = pareto(1024, 4, sizes=["1MiB", "100MiB"], search=0)
    alpha, rate = Fraction(1, 10**5), Fraction(100 * 10**9)
    for entry in result.entries:
        for size, time in zip((MIB, 100 * MIB), entry.allreduce, strict=True):
            factors = entry.cost.bandwidth + entry.allgather.bandwidth
            assert time == 2 * alpha * entry.cost.steps + factors * 8 * size / rate
    ring, fast_ring, trees = result.baselines
    assert ring.allreduce[0] == 2 * (1023 * alpha + Fraction(1023, 1024) * 8 * MIB / rate)
    assert abs(ring.allreduce[0] - Fraction(20640, 10**6)) < Fraction(20640, 10**6) / 500
    assert fast_ring.allreduce[0] == 2 * (512 * alpha + Fraction(1023, 1024) * 8 * MIB / rate)
    every = [2 * (9 + k) * (alpha + 2 * 8 * MIB / rate / k) for k in range(1, 400)]
    assert trees.allreduce[0] == min(every)
    assert result.bound == lower_bound(1024, 4) == Cost(5, Fraction(1023, 1024))


def test_baselines_need_the_ports_they_use() -> None:
    assert [baseline.name for baseline in pareto(9, 3, search=0).baselines] == []
    assert [baseline.name for baseline in pareto(9, 2, search=0).baselines] == ["shifted ring", "shifted ring, SPFF"]
    assert len(pareto(9, 4, search=0).baselines) == 3


@pytest.mark.parametrize(
    ("nodes", "degree", "duplex"),
    [
        pytest.param(5120, 4, False, marks=pytest.mark.thorough),
        pytest.param(6250, 4, True, marks=pytest.mark.thorough),
        (5000, 3, False),
    ],
)
def test_beyond_the_largest_priced_size_closed_forms_hold(nodes: int, degree: int, duplex: bool) -> None:
    for candidate in Finder().frontier(nodes, degree, duplex=duplex):
        topology = build(candidate.spec)
        sources = topology.representatives or range(topology.nodes)
        if len(sources) > 100:
            continue  # too long for a test
        cost = price(topology)
        assert cost.steps <= candidate.cost.steps
        assert cost.bandwidth <= candidate.cost.bandwidth
        if candidate.basis in {Basis.LINKS, Basis.THEOREM}:
            assert max(cost.bandwidth, price(topology.transpose()).bandwidth) == candidate.cost.bandwidth


def test_dominated_bases_that_overtake_are_not_lost() -> None:
    """The line graph of a digraph whose in-neighbours are equally far costs less than the closed form says."""
    for nodes, degree, cost in [
        (44, 4, Cost(3, Fraction(43, 44))),
        (14, 2, Cost(4, Fraction(13, 14))),
        (176, 4, Cost(4, Fraction(1))),
        (704, 4, Cost(5, Fraction(177, 176))),
    ]:
        assert any(candidate.cost.dominates(cost) for candidate in Finder().frontier(nodes, degree))


def test_impossible_sizes_name_the_nearest_possible() -> None:
    with pytest.raises(ParameterError, match=r"\(9,2\)"):
        pareto(9, 1, bidirectional=True)
    for nodes, degree in ((1, 1), (0, 4), (-5, 2), (10**7, 4), (10, 0), (10, -1), (10, 10**6)):
        with pytest.raises(ParameterError):
            pareto(nodes, degree)
    with pytest.raises(UnitError):
        pareto(8, 2, alpha="10 parsecs", search=0)
    with pytest.raises(ParameterError, match="at least one size"):
        pareto(8, 2, sizes=[], search=0)


def test_a_result_prints_and_converts() -> None:
    pandas = pytest.importorskip("pandas")
    result = pareto(12, 4, sizes=["1kB", "1GB"], search=0)
    text = str(result)
    assert str(result.best.spec) in text
    assert "lower bound" in text
    frame = pandas.DataFrame(result.to_records())
    assert len(frame) == len(result.entries)
    assert frame["best"].sum() == 1
    graph = result.best.build().to_networkx()
    assert graph.number_of_nodes() == 12


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=20))
def test_insert_keeps_exactly_the_undominated(costs: list[tuple[int, int]]) -> None:
    template = Finder().frontier(5, 4)[0]
    front: list[Candidate] = []
    for steps, y in costs:
        base = Base(template.base.topology, Cost(steps, Fraction(y)))
        insert(front, Candidate(template.spec, base.cost, base.cost, True, Basis.LINKS, base.topology))
    wanted = {(s, Fraction(y)) for s, y in costs if not any(a <= s and b <= y and (a, b) != (s, y) for a, b in costs)}
    assert [(c.cost.steps, c.cost.bandwidth) for c in front] == sorted(wanted)


def test_no_answer_is_said_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Finder, "frontier", lambda *_args, **_kwargs: [])
    with pytest.raises(InfeasibleError, match="no duplex topology"):
        pareto(10, 4, bidirectional=True, search=0)


@pytest.mark.parametrize("nodes", [9, 10])
def test_good_random_digraphs_are_found(nodes: int) -> None:
    """Degree 2: bandwidth-optimal in three steps, where the Moore bound is three."""
    assert any(c.cost == lower_bound(nodes, 2) for c in Finder().frontier(nodes, 2))


# -- Scarcity tells which numbers of steps random lifts have


@pytest.mark.parametrize("duplex", [True, False])
def test_topologies_get_rarer_with_more_nodes_and_fewer_steps(duplex: bool) -> None:
    by_nodes = [scarcity(Target(nodes, 4, duplex), 7) for nodes in (800, 1000, 1300, 4373)]
    assert by_nodes == sorted(by_nodes)
    by_steps = [scarcity(Target(1300, 4, duplex), steps) for steps in range(5, 12)]
    assert by_steps == sorted(by_steps, reverse=True)


def test_it_counts_the_nodes_that_random_topologies_leave_out() -> None:
    """Times d ln N it is about what a breadth-first search of a random digraph misses."""
    nodes, degree, steps = 3000, 3, 7
    topology = build(f"randomregular({nodes},{degree},1)")
    ends = topology.dst[np.argsort(topology.src, kind="stable")].reshape(nodes, degree)
    missed = []
    for source in range(0, nodes, 100):
        seen = np.zeros(nodes, dtype=bool)
        seen[source] = True
        for _ in range(steps):
            seen[ends[seen]] = True
        missed.append(nodes - int(seen.sum()))
    told = scarcity(Target(nodes, degree, duplex=False), steps) * degree * np.log(nodes)
    assert 0.5 * told < np.mean(missed) < 2 * told


@pytest.mark.parametrize("target", [Target(200, 4, True), Target(4096, 3, False), Target(100_000, 16, True)])
def test_most_topologies_have_the_steps_that_are_not_scarce(target: Target) -> None:
    steps = steps_of_most(target, 0.1)
    assert steps >= lower_bound(*target.size, duplex=target.duplex).steps
    assert scarcity(target, steps) <= 0.1 < scarcity(target, steps - 1)
    if target.nodes <= 200:
        assert price(build("bidirect(randomregular(200,2,1))")).steps >= steps


# -- The finder of the paper knows all families that the paper names, and nothing that beats a bound or our frontiers


def test_all_families_of_the_paper_are_there() -> None:
    assert {family.name for family in paper_families()} == TABLE_7 | DISTANCE_REGULAR | RINGS_AND_MESHES | {
        "dicirculant"
    }


@pytest.mark.parametrize(("nodes", "degree"), [(20, 4), (36, 4), (81, 3), (100, 4)])
def test_the_catalog_is_never_worse(nodes: int, degree: int) -> None:
    bound = lower_bound(nodes, degree)
    ours = [row.cost for row in Catalog().frontier(nodes, degree, duplex=False)]
    theirs = [one.cost for one in paper_finder().frontier(nodes, degree)]
    assert theirs
    for cost in theirs:
        assert cost.steps >= bound.steps
        assert cost.bandwidth >= bound.bandwidth
        assert any(own.dominates(cost) for own in ours)
