"""All-to-all, scatter and gather in rounds: replayed, bounded from below by other means, and by brute force if tiny."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.programs import compile_movement
from tests.samples.schedules import flow_columns
from tests.samples.topologies import regular_digraphs
from tests.samples.verdicts import verify_rounds
from tests.solve.flows.test_program import least_factor
from topodesign.base.errors import (
    DisconnectedError,
    InfeasibleError,
    ParameterError,
    TooLargeError,
    TopodesignError,
    TopologyError,
)
from topodesign.base.spec import Spec
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, GATHER, SCATTER, Collective
from topodesign.graphs import FAMILIES
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.measure import cost_of
from topodesign.plans.time.steps import time_steps
from topodesign.plans.verify.plans import verify
from topodesign.pricing.closed_form import distances
from topodesign.schedulers import balanced_paths_kernels, peel
from topodesign.schedulers.peel import Exchange, exchange, frontier
from topodesign.schedulers.scheduling import schedule
from topodesign.solve.flows.program import UnreachableError
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

SAMPLES = (
    "complete(7)",
    "torus(4,4)",
    "torus(3,5)",
    "hypercube(3)",
    "kautz(2,1)",
    "kautz(2,2)",
    "debruijn(2,3)",
    "genkautz(2,11)",
    "circulant(12,2,3)",
    "uniring(1,6)",
    "biring(2,7)",
    "biring(2,3)",
    "line(diamond())",
    "genkautz(4,16)",
    "bipartite(3)",
    "product(complete(3),uniring(1,3))",
)


def eccentricity(topology: Topology, root: int | None = None) -> int:
    sources = range(topology.nodes) if root is None else [root]
    return max(int(distances(topology, source).max()) for source in sources)


def check(topology: Topology, made: Exchange) -> Fraction:
    """The replay accepts it without waste, and it is no better than the bound; returns its factor."""
    report = verify_rounds(topology, made.rounds)
    assert report.ok, report.problems
    assert not report.redundant
    assert report.cost == cost_of(topology, made.rounds)
    assert report.cost.bandwidth >= made.bound
    return report.cost.bandwidth


@pytest.mark.parametrize("spec", SAMPLES)
@pytest.mark.parametrize("collective", [ALL_TO_ALL, SCATTER.at(2), GATHER.at(1)], ids=str)
def test_best_plans_of_fewest_steps(spec: str, collective: Collective) -> None:
    topology = build(spec)
    made = exchange(topology, collective)
    factor = check(topology, made)
    assert made.proven
    assert factor - made.bound < Fraction(1, 10**4)
    way = topology.transpose() if collective.like(GATHER) else topology
    assert made.rounds.steps == eccentricity(way, collective.root)
    if collective.root is None:
        assert factor >= least_factor(topology)
        assert made.bound == exchange(topology, collective, steps=made.rounds.steps).bound
    else:
        assert factor >= Fraction(topology.nodes - 1, topology.nodes)


def test_known_factors() -> None:
    """Complete graphs, square tori and hypercubes reach the distance bound in diameter steps."""
    for spec, factor in {
        "complete(9)": Fraction(8, 9),
        "torus(4,4)": Fraction(2),
        "hypercube(4)": Fraction(2),
        "debruijn(2,3)": Fraction(3),
        "uniring(1,8)": Fraction(7, 2),
    }.items():
        topology = build(spec)
        assert check(topology, exchange(topology, "all-to-all")) == factor
    assert check(build("torus(4,4)"), exchange(build("torus(4,4)"), SCATTER.at(5))) == Fraction(15, 16)


def small_specs(most: int, every: int) -> list[str]:
    """Members of all families of at most so many nodes, of degrees up to 8, spread over them."""
    specs: list[str] = []
    for family in FAMILIES:
        for nodes, degree in itertools.product(range(2, most + 1), range(1, 9)):
            with contextlib.suppress(TopodesignError):
                specs += [
                    str(Spec(family.name, tuple(args))) for args in itertools.islice(family.find(nodes, degree), 1)
                ]
    return list(dict.fromkeys(specs))[::every]


def check_all(spec: str) -> bool:
    """All three collectives of a topology: verified, timed, the best of so many steps; programs of all-to-all run."""
    topology = build(spec)
    if topology.nodes < 2:
        return False
    try:
        exact = least_factor(topology)
    except UnreachableError:
        return False
    for collective in (ALL_TO_ALL, SCATTER.at(topology.nodes // 2), GATHER.at(topology.nodes // 2)):
        made = exchange(topology, collective)
        factor = check(topology, made)
        assert made.proven
        assert factor - made.bound < Fraction(1, 10**4)
        time = time_steps(
            made.rounds.having(place=topology), alpha=Fraction(0), size=Fraction(1), bandwidth=Fraction(8)
        ).time
        assert time == factor
    assert exchange(topology, ALL_TO_ALL).bound >= exact
    few = exchange(topology, ALL_TO_ALL, chunks=2).rounds
    for inplace in (False, True):
        report = compile_movement(topology, few, inplace=inplace).checked().report
        assert report is not None
        assert report.ok
    return True


@pytest.mark.dear
def test_families_of_few_nodes() -> None:
    assert sum(map(check_all, small_specs(9, 23))) >= 5


@pytest.mark.thorough
def test_families_up_to_32_nodes() -> None:
    assert sum(map(check_all, small_specs(32, 5))) >= 200


def brute_force(topology: Topology, steps: int) -> Fraction:
    """The least factor of an all-to-all of one unit a block, over all ways of all blocks through time."""
    links = [(u, v) for u, v, _ in topology.links() if u != v]
    ways = []
    for source, target in itertools.permutations(range(topology.nodes), 2):
        found = []
        for hops in itertools.product([None, *links], repeat=steps):
            at = source
            for hop in hops:
                if hop is not None and hop[0] != at:
                    break
                at = at if hop is None else hop[1]
            else:
                if at == target:
                    found.append(hops)
        ways.append(found)
    best = None
    capacity = {(u, v): c for u, v, c in topology.links()}
    for choice in itertools.product(*ways):
        total = Fraction(0)
        for moves in zip(*choice, strict=True):
            used = [move for move in moves if move is not None]
            total += max((Fraction(used.count(link), capacity[link]) for link in set(used)), default=Fraction(0))
        best = total if best is None else min(best, total)
    assert best is not None
    return Fraction(topology.degree, topology.nodes) * best


def test_brute_force_finds_nothing_better() -> None:
    for links in ([(0, 1, 1), (1, 2, 1), (2, 0, 1), (2, 1, 1)], [(0, 1, 2), (1, 2, 1), (2, 0, 1)]):
        topology = Topology.from_links(3, links)
        made = exchange(topology, "all-to-all", chunks=1)
        assert check(topology, made) == brute_force(topology, 2)


@settings(max_examples=25)
@given(regular_digraphs(8, 3), st.integers(0, 2), st.sampled_from([None, 1, 3]), st.data())
def test_any_graph_any_steps_any_chunks(topology: Topology, more: int, chunks: int | None, data: st.DataObject) -> None:
    root = data.draw(st.integers(0, topology.nodes - 1))
    collective = data.draw(st.sampled_from([ALL_TO_ALL, SCATTER.at(root), GATHER.at(root)]))
    way = topology.transpose() if collective.like(GATHER) else topology
    steps = eccentricity(way, collective.root) + more
    made = exchange(topology, collective, steps=steps, chunks=chunks)
    check(topology, made)
    assert made.rounds.steps == steps
    assert chunks is None or made.rounds.units <= chunks
    if steps > 1 and not more:
        with pytest.raises(InfeasibleError, match=f"takes at least {steps} steps here, not {steps - 1}"):
            exchange(topology, collective, steps=steps - 1)


def test_more_steps_never_cost_bandwidth() -> None:
    topology = build("debruijn(2,3)")
    found = frontier(topology, "all-to-all", 3)
    factors = [exchange(topology, "all-to-all", steps=steps).bound for steps in range(3, 7)]
    assert factors == sorted(factors, reverse=True)
    assert found
    assert all(factors[steps - 3] == y for steps, y in found)
    assert frontier(build("complete(5)"), "all-to-all", 1) == []
    assert frontier(build("kautz(2,2)"), GATHER.at(0), 3) == [
        (steps, y) for steps, y in frontier(build("kautz(2,2)").transpose(), SCATTER.at(0), 3)
    ]


def test_symmetry_loses_nothing() -> None:
    for spec in ("torus(3,3)", "kautz(2,1)", "genkautz(2,9)"):
        topology = build(spec)
        plain = Topology.from_links(topology.nodes, topology.links())
        assert plain.symmetry is None
        assert exchange(topology, "all-to-all").bound == exchange(plain, "all-to-all").bound


def test_what_chunks_lose_is_said() -> None:
    plan = schedule("torus(4,4)", "all-to-all", chunks=1)
    assert plan.flow.hi.max() == 1
    lost = Fraction(plan.generator["lost"])
    assert lost == plan.claim["bandwidth"] - Fraction(plan.generator["least"])
    assert (f"{float(lost):.4f} more than the proven minimum" in plan.notes) == (lost > 0)
    assert verify(plan).ok


@pytest.mark.parametrize(("spec", "most"), [("circulant(12,2,3)", 1), ("randomregular(16,4,1)", Fraction(6, 5))])
def test_few_chunks_begin_with_the_best_flow(spec: str, most: Fraction) -> None:
    """Beginning with its rounded ways, two chunks lose little or nothing."""
    topology = build(spec)
    made = exchange(topology, ALL_TO_ALL, chunks=2)
    assert made.rounds.units <= 2
    assert check(topology, made) <= most * made.bound


def test_large_programs_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peel, "MAX_COLUMNS", 10)
    for spec in ("torus(4,4)", "circulant(12,2,3)", "biring(4,5)"):
        topology = build(spec)
        made = exchange(topology, "all-to-all")
        assert check(topology, made) <= Fraction(3, 2) * made.bound
        check(topology, exchange(topology, SCATTER.at(3), chunks=2))


def test_files_keep_plans(tmp_path: Any) -> None:
    for collective, root in (("all-to-all", None), ("scatter", 2), ("gather", 2)):
        plan = schedule("kautz(2,1)", collective, root=root)
        save_plan(tmp_path / "plan.npz", plan)
        again = load_plan(tmp_path / "plan.npz")
        assert again.movement == plan.movement
        assert again.claim == plan.claim
        assert verify(again).ok


def test_times_are_the_claim() -> None:
    topology = build("torus(3,5)")
    rounds = exchange(topology, "all-to-all").rounds
    cost = cost_of(topology, rounds)
    alpha, size, rate = Fraction(1, 10**5), Fraction(2**20), Fraction(10**11)
    time = time_steps(rounds.having(place=topology), alpha=alpha, size=size, bandwidth=rate).time
    assert time == alpha * cost.steps + cost.bandwidth * size * 8 / rate


def test_unequal_links_carry_by_their_bandwidth() -> None:
    """A slow link gets less than it would as an equal, so that the steps take less time."""
    topology = build("complete(4)")
    rate = {(u, v): Fraction(10**9 if (u, v) == (0, 1) else 10**11) for u, v, _ in topology.links()}
    table = LinkTable(dict.fromkeys(rate, Fraction(0)), rate)
    for collective, root in (("all-to-all", None), ("scatter", 0), ("gather", 1)):
        slow = schedule(topology, collective, root=root, link_table=table, steps=2)
        report = verify(slow)
        assert report.ok
        carried: Counter[tuple[int, int]] = Counter()
        columns = flow_columns(slow.rounds)
        for u, v, lo, hi in zip(*(columns[name].tolist() for name in ("src", "dst", "lo", "hi")), strict=True):
            carried[u, v] += hi - lo
        assert carried[0, 1] * 50 < max(carried.values())


def test_wrong_arguments() -> None:
    topology = build("complete(4)")
    with pytest.raises(ParameterError, match="ways through time are for all-to-all, scatter, gather"):
        exchange(topology, ALLGATHER)
    with pytest.raises(ParameterError, match="scatter requires a root"):
        exchange(topology, SCATTER)
    with pytest.raises(ParameterError, match="root"):
        exchange(topology, SCATTER.at(9))
    with pytest.raises(ParameterError, match="chunks must be from 1"):
        exchange(topology, ALL_TO_ALL, chunks=0)
    with pytest.raises(DisconnectedError):
        exchange(Topology.from_links(3, [(0, 1), (1, 0), (1, 2)]), ALL_TO_ALL)
    one_way = Topology.from_links(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert check(one_way, exchange(one_way, SCATTER.at(0))) == Fraction(1)
    assert check(one_way, exchange(one_way, SCATTER.at(0), chunks=1)) >= Fraction(1)
    assert check(one_way.transpose(), exchange(one_way.transpose(), GATHER.at(0))) == Fraction(1)
    with pytest.raises(DisconnectedError, match="node 0 have no way between it and the root 1"):
        exchange(one_way, SCATTER.at(1))
    with pytest.raises(TopologyError, match="at least 2 nodes"):
        exchange(Topology.from_links(1, []), ALL_TO_ALL)
    with pytest.raises(TopologyError, match="without switches"):
        exchange(Topology.from_links(3, [(0, 2), (2, 0), (1, 2), (2, 1)], switches=[2]), ALL_TO_ALL)
    with pytest.raises(TooLargeError):
        exchange(build("uniring(1,1200)"), ALL_TO_ALL)
    with pytest.raises(ParameterError, match="--set steps= is not for trees"):
        schedule("torus(3,3)", "broadcast", root=1, steps=3)


@pytest.mark.dear
@settings(max_examples=10)
@given(regular_digraphs(6, 3), st.integers(1, 3))
def test_spread_counts_what_it_moves(topology: Topology, chunks: int) -> None:
    """Loads kept along the way are those of the paths."""
    assume(topology.nodes > 2)
    keep = topology.src != topology.dst
    src, dst = topology.src[keep], topology.dst[keep]
    distance = np.array([distances(topology, node) for node in range(topology.nodes)], dtype=np.int64)
    pairs = np.argwhere(~np.eye(topology.nodes, dtype=bool))
    steps = int(distance.max()) + 1
    paths = np.full((chunks, len(pairs), steps), -1, dtype=np.int32)
    load = np.zeros((steps, len(src)), dtype=np.int64)
    indptr = np.searchsorted(src, np.arange(topology.nodes + 1))
    worth, aim = np.ones(len(src), dtype=np.int64), np.zeros(steps, dtype=np.int64)
    for squares in (1, 2):
        total = balanced_paths_kernels.balance_pass(distance, indptr, dst, worth, pairs, paths, load, aim, squares, 0)
        again = np.zeros_like(load)
        for step in range(steps):
            arcs = paths[:, :, step]
            np.add.at(again[step], arcs[arcs >= 0], 1)
        assert np.array_equal(again, load)
        assert total == int(load.max(axis=1).sum())
        hops = (paths >= 0).sum(axis=2)
        assert np.all(hops == distance[pairs[:, 0], pairs[:, 1]])
