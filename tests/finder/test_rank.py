"""Rankings: times are what prices say, the best is the best, and the mix decides which that is."""

from __future__ import annotations

import itertools
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, all_to_all, build, copy_examples, pareto, plan_wiring, price
from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.cost import Cost, lower_bounds, moore_distances
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.units import format_size_rounded
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.files import write_rows
from topodesign.catalog.rows import select_frontier
from topodesign.catalog.sizes import DEGREES
from topodesign.cli.main import run
from topodesign.finder import sources
from topodesign.finder.candidate import Entry, measure
from topodesign.finder.question import Objective, Question
from topodesign.finder.runners_up import WISHES, RunnersUp, count_patches
from topodesign.finder.verdict import verdict_on
from topodesign.pricing.mix import Mix, Share
from topodesign.pricing.workload import as_workload
from topodesign.schedulers.price import price_plans
from topodesign.wiring.inventory.answers import plain_inventory

MIB = Fraction(2**20)


def test_times_are_what_prices_say() -> None:
    ranking = rank(20, 4, sizes=["1MiB", "64MiB"], alpha="1us", bandwidth="100Gbps")
    assert ranking.compared == len(ranking) + len(ranking.beaten) > 5
    for some in (ranking.entries, ranking.beaten):
        assert [one.times[0] for one in some] == sorted(one.times[0] for one in some)
    for one in (*ranking, *ranking.beaten):
        topology = build(one.spec)
        assert (topology.nodes, topology.degree) == (20, 4)
        exchange = all_to_all(topology)
        assert one.all_to_all is not None
        assert one.all_to_all.lower <= exchange.lower
        assert exchange.upper is not None
        assert exchange.upper <= one.all_to_all.upper
        for size, time, least in zip((MIB, 64 * MIB), one.times, ranking.question.least, strict=True):
            seconds = price(topology).steps * Fraction(1, 10**6) + one.all_to_all.upper * 8 * size / 10**11
            assert time == seconds >= least
    assert ranking.best.all_to_all is not None
    assert ranking.best.all_to_all.exact
    assert ranking.proven
    assert str(ranking.best.spec) in ranking.verdict


@pytest.mark.dear
def test_the_mix_decides_which_is_best() -> None:
    """One topology has the best allreduce and another the best all-to-all; between them weights decide."""
    exchange = rank(24, 2, sizes="64MiB")
    reduce = rank(24, 2, collective="allreduce", sizes="64MiB")
    assert reduce.best.spec == reduce.allreduce_best == exchange.allreduce_best
    assert exchange.best.spec != reduce.best.spec
    assert "for allreduce: " in exchange.verdict
    for count, best in ((0, reduce.best), (10**6, exchange.best)):
        shares = (Share("allreduce", 64 * MIB, 1), *((Share("all-to-all", 64 * MIB, count),) if count else ()))
        mixed = rank(24, 2, workload=Mix("mix", shares))
        assert mixed.best.spec == best.spec
    sum_of_parts = rank(24, 2, workload=Mix("mix", (Share("allreduce", MIB), Share("all-to-all", MIB, 2))))
    reduce, exchange = rank(24, 2, collective="allreduce", sizes="1MiB"), rank(24, 2, sizes="1MiB")
    parts = {one.spec: 2 * one.times[0] + one.allreduce[0] for one in (*exchange, *exchange.beaten)}
    assert parts[reduce.best.spec] > reduce.best.times[0]
    for one in (*sum_of_parts, *sum_of_parts.beaten):
        assert one.times[0] == parts[one.spec]


@pytest.mark.dear
@pytest.mark.once
@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_row_is_beaten_by_another(seed: int, duplex: bool) -> None:
    """Whatever the size: by none in steps and in what was asked, and what is omitted is by one that is listed."""
    rng = np.random.Generator(np.random.PCG64(seed))
    nodes, degree = 2 * int(rng.integers(5, 12)), int(rng.integers(3, 6))
    size, count = rng.integers(1, 10, 2)
    mix = Mix("mix", (Share("allreduce", MIB * int(size)), Share("all-to-all", MIB, int(count))))
    for collective in ("all-to-all", "mix"):
        asked: dict[str, Any] = {"workload": mix} if collective == "mix" else {"collective": collective}
        ranking = rank(nodes, degree, bidirectional=duplex, **asked)

        def taken(one: Entry, collective: str = collective) -> tuple[int, Fraction]:
            assert one.all_to_all is not None
            return one.cost.steps, one.all_to_all.upper if collective == "all-to-all" else one.times[0]

        listed = [taken(one) for one in ranking]
        for (steps, least), (fewer, less) in itertools.permutations(listed, 2):
            assert not (fewer <= steps and less <= least)
        for left in map(taken, ranking.beaten):
            assert any(steps <= left[0] and least <= left[1] for steps, least in listed)
        for one in ranking:
            assert one.cost.steps == price(build(one.spec)).steps
        shipped = Catalog()
        compared = {str(one.spec) for one in (*ranking, *ranking.beaten)}
        kept = EXCHANGE.known(shipped.directory, degree, nodes, nodes)
        assert {one.spec for one in kept if one.duplex or not duplex} <= compared
        assert {one.spec for one in shipped.rows(degree, nodes, nodes) if one.duplex or not duplex} <= compared
        assert ranking.best.times[0] == min(one.times[0] for one in (*ranking, *ranking.beaten))


@pytest.mark.dear("False")
@pytest.mark.parametrize("duplex", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_where_all_that_is_known_takes_long_a_search_joins_in(duplex: bool, tmp_path: Path) -> None:
    """Its result is the same again, and near the bound; for an allreduce alone none is made."""
    write_rows(tmp_path, 4, [])
    few, many = (
        rank(60, 4, collective=collective, bidirectional=duplex, catalog=tmp_path)
        for collective in ("allreduce", "all-to-all")
    )
    assert many.best.all_to_all is not None
    new = {str(one.spec) for one in (*many, *many.beaten)} - {str(one.spec) for one in (*few, *few.beaten)}
    assert str(many.best.spec) in new
    assert many.best.all_to_all.upper < moore_distances(60, 4, duplex=duplex) * Fraction(21, 20)
    again = rank(60, 4, bidirectional=duplex, catalog=tmp_path)
    assert [one.spec for one in again] == [one.spec for one in many]


def test_duplex_only() -> None:
    assert all(one.duplex and build(one.spec).is_duplex for one in rank(12, 3, bidirectional=True))


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def program(*args: object) -> tuple[int, str, str]:
        status = run([str(arg) for arg in args])
        return (status, *capsys.readouterr())

    [path] = copy_examples(["workload_moe.yaml"], tmp_path)
    status, out, _ = program("pareto", "-n", "12", "-d", "3", "--workload", path, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["questions"][0]["name"] == "mixture of experts, 32 layers"
    assert document["topologies"][0]["best"] is True
    assert document["topologies"][0]["all_to_all"]["upper"]
    status, out, _ = program("pareto", "-n", "12", "-d", "3", "--collective", "all-to-all")
    assert status == 0
    assert "best of" in out
    bad = tmp_path / "bad.yaml"
    bad.write_text("collectives: [{collective: alltoall, size: 1MB}]")
    status, _, said = program("pareto", "-n", "12", "-d", "3", "--workload", bad)
    assert status == 2
    assert "did you mean 'all-to-all'" in said


def test_wrong_arguments_are_errors_of_ours(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        rank(12, 3, collective="broadcast")
    with pytest.raises(ParameterError):
        rank(12, 0)
    with pytest.raises(FileFormatError):
        rank(12, 3, workload=tmp_path / "none.yaml")


@pytest.mark.parametrize(("size", "options"), [((12, 2), {}), ((20, 4), {"collective": "all-to-all"})])
def test_a_simplex_recommendation_says_what_the_fastest_duplex_one_takes(
    size: tuple[int, int], options: dict[str, Any]
) -> None:
    found, paired = pareto(*size, **options), pareto(*size, bidirectional=True, **options)
    assert found.duplex is not None
    assert not found.best.duplex
    assert found.duplex.times[0] == paired.best.times[0]
    assert "do not bring up one-way links; duplex: " in found.verdict
    assert "one-way" not in paired.verdict


# -- runners-up: each is the best of its wish among all that is known, by definition, and its figures are of its ------


def found(nodes: int, degree: int, count: int, *, duplex: bool = False) -> RunnersUp:
    result = pareto(nodes, degree, bidirectional=duplex, runners_up=count).runners_up
    assert result is not None
    return result


@pytest.mark.dear("False")
@pytest.mark.parametrize("duplex", [False, True])
def test_nobody_known_is_better(duplex: bool) -> None:
    nodes, degree, count = 24, 4, 2
    result = pareto(nodes, degree, bidirectional=duplex, runners_up=count)
    rest = []
    asked = Question(nodes, degree, duplex, Objective.read(), Catalog())
    rows = sources.read_catalog(asked, exchanges=False)
    known = {one.spec for one in rows}
    for candidate in (*rows, *(one for one in sources.find_members(asked) if one.spec not in known)):
        entry = measure(candidate, asked)
        if entry is not None and entry.spec != result.best.spec:
            rest.append(entry)
            if candidate.costs is None:
                assert (entry.cost, entry.allgather) == price_plans(build(entry.spec)).cheapest
    assert len(rest) > 2
    assert result.runners_up is not None
    by_wish = {wish: [one for one in result.runners_up if one.wish == wish] for wish in WISHES}
    for wish, several in by_wish.items():
        assert [one.place for one in several] == list(range(1, len(several) + 1)), wish
        assert result.best.spec not in [one.entry.spec for one in several]
    times = sorted(one.allreduce[0] for one in rest)
    assert [one.entry.allreduce[0] for one in by_wish["time"]] == times[:count]
    assert [one.entry.cost.steps for one in by_wish["steps"]] == sorted(one.cost.steps for one in rest)[:count]
    factors = sorted(one.mean.bandwidth for one in rest)
    assert [one.entry.mean.bandwidth for one in by_wish["bandwidth"]] == factors[:count]
    assert all(one.entry.duplex and build(one.entry.spec).is_duplex for one in by_wish["duplex"])
    assert all(one.transitive and build(one.entry.spec).vertex_transitive for one in by_wish["vertex-transitive"])
    least = result.best.allreduce[0]
    quick = [one for one in rest if one.allreduce[0] < 2 * least]
    assert by_wish["wiring"][0].patches == min(count_patches(one.topology)[0] for one in quick)
    for other in result.runners_up:
        assert other.over == other.entry.allreduce[0] / least >= 1
        assert (other.patches, other.lengths) == count_patches(build(other.entry.spec))
    assert result.record()["runners_up"] == [one.record() for one in result.runners_up]


@pytest.mark.parametrize(
    ("spec", "patches", "lengths"),
    [
        ("circulant(12,2,3)", 24, 2),
        ("dicirculant(12,1,5)", 24, 2),
        ("dicirculant(12,1,11)", 12, 1),  # whose two jumps are each other's way back
        ("uniring(2,5)", 10, 1),
        ("biring(4,5)", 10, 1),
        ("complete(6)", 15, 3),
    ],
)
def test_patches_and_lengths_of_those_that_can_be_counted_by_hand(spec: str, patches: int, lengths: int) -> None:
    assert count_patches(build(spec)) == (patches, lengths)


@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "torus(4,4)", "genkautz(3,12)", "dicirculant(8,1,3)"])
def test_patches_are_those_of_a_wiring_plan(spec: str) -> None:
    topology = build(spec)
    plan = plan_wiring(topology, plain_inventory(topology.nodes, topology.degree))
    assert count_patches(topology)[0] <= len(plan.connects)
    if topology.is_duplex:
        assert count_patches(topology)[0] == len(plan.connects)


def test_none_unless_asked_for() -> None:
    assert pareto(24, 4).runners_up is None
    assert pareto(24, 4).record()["runners_up"] == []
    shown = found(24, 4, 1)
    assert len(shown.table().rows) == len({one.entry.spec for one in shown}) + 1
    assert len(shown.to_records()) == len(shown)
    assert shown.fastest.over == Fraction(1)
    assert found(24, 4, 1, duplex=True).fastest.entry.duplex


@pytest.mark.parametrize("count", [1, 3])
def test_the_table_names_each_topology_once_with_all_that_it_is_next_by(count: int) -> None:
    shown = found(24, 4, count)
    rows = shown.table().rows
    assert len({row[-1] for row in rows}) == len(rows)
    assert rows[0][0] == "fastest"
    told = {(wish, row[-1]) for row in rows[1:] for wish in row[0].split(", ")}
    assert told == {(one.wish if one.place == 1 else f"{one.wish} #{one.place}", one.entry.spec) for one in shown}


@pytest.mark.parametrize("size", ["1KiB", "1MiB"])
def test_the_fastest_of_two_rows_of_one_wiring_comes_first(size: str) -> None:
    found = pareto(8, 12, sizes=size, runners_up=1)
    assert found.runners_up is not None
    assert found.runners_up.fastest.entry.cost == found.best.cost
    assert all(one.over >= 1 for one in found.runners_up)


# -- verdicts: who is named wins, sizes are where the times cross, and a bound is met only if it is -------------------


OPEN = [(16, 4), (24, 5), (100, 3), (200, 6), (257, 4), (1000, 4)]
"""Sizes at which no topology is known that meets both bounds."""


@pytest.mark.parametrize(("nodes", "degree"), OPEN)
@pytest.mark.parametrize("size", ["1KiB", "1MiB", "1GiB"])
def test_the_verdict_is_what_the_times_say(nodes: int, degree: int, size: str) -> None:
    found = pareto(nodes, degree, sizes=size)
    text = found.verdict
    assert found.record()["verdict"] == text
    assert text in " ".join(str(found).split())
    bound = found.workload.fastest(found.bounds)[0]
    assert "both bounds" not in text
    assert found[0].cost != found.bound
    assert ("meets the lower bound" in text) == (found.best.allreduce[0] == bound)
    assert f" {found.best.cost.steps} step" in text
    told = re.findall(r"\b[\d.]+(?:[KMGT]i)?B\b", text.split(": at ")[0])
    for word in told:  # at each of these sizes two neighbours on the frontier take the same time
        crossings = [
            format_size_rounded(
                Fraction(other.cost.steps - one.cost.steps)
                / (one.mean.bandwidth - other.mean.bandwidth)
                * found.workload.alpha
                * found.workload.bandwidth
                / 8
            )
            for place, one in enumerate(found)
            for other in found.entries[place + 1 :]
            if other.mean.bandwidth < one.mean.bandwidth
        ]
        assert word in crossings


@pytest.mark.parametrize(("nodes", "degree"), [(12, 4), (64, 6)])
def test_one_that_meets_both_bounds_is_called_so(nodes: int, degree: int) -> None:
    found = pareto(nodes, degree)
    assert [one.cost for one in found] == [found.bound]
    assert (
        " meets both bounds; optimal (proven): least time among topologies with the same nodes and ports ("
        in found.verdict
    )
    assert {claim.of for claim in found.claims} == {Of.STEPS, Of.FACTOR}


@pytest.mark.parametrize(("nodes", "degree"), [(8, 12), (5, 6), (8, 18)])
def test_more_ports_than_peers_need_a_step_or_two(nodes: int, degree: int) -> None:
    found = pareto(nodes, degree, sizes=["1KiB", "1GiB"])
    assert tuple(one.cost for one in found) == found.bounds
    assert found.verdict.startswith("1 step wins up to ")
    assert (
        ", 2 steps from there on; optimal (proven): least time among topologies with the same nodes and ports ("
        in found.verdict
    )
    assert found[0].spec == found[1].spec
    assert "One wiring has both" in str(found)
    assert tuple(min(times) for times in zip(*(one.allreduce for one in found), strict=True)) == (
        found.workload.least(nodes, degree)
    )
    assert found.record()["lower_bound"]["by_steps"] == [
        {"steps": one.cost.steps, "bandwidth": str(one.cost.bandwidth)} for one in found
    ]


def test_three_winners_are_told_in_order() -> None:
    offers = [("a(1)", Cost(2, Fraction(3))), ("b(1)", Cost(4, Fraction(2))), ("c(1)", Cost(9, Fraction(1)))]
    text = verdict_on(offers, [Cost(2, Fraction(1))], as_workload("10us", "1GiB", "100Gbps"), Scope.FOUND, duplex=False)
    assert text.startswith("2 steps win up to 244KiB, 4 steps from 244KiB to 610KiB, 9 steps from there on: at 1GiB 9 ")


@pytest.mark.parametrize("degree", DEGREES)
def test_one_wiring_serves_no_more_nodes_than_ports_as_well_as_is_possible(degree: int) -> None:
    for nodes in range(3, degree + 2):
        for duplex in {False, nodes * degree % 2 == 0}:
            front = select_frontier(Catalog().rows(degree, nodes, nodes), duplex=duplex)
            assert [row.mean for row in front] == list(lower_bounds(nodes, degree, duplex=duplex))
            assert len({row.spec for row in front}) == 1


@pytest.mark.parametrize(("nodes", "degree", "duplex"), [(8, 2, False), (31, 7, True), (24, 5, False), (16, 4, True)])
def test_a_verdict_claims_no_more_than_its_scope(nodes: int, degree: int, duplex: bool) -> None:
    """What is the fastest of the rows alone is not claimed to be so of all topologies."""
    found = pareto(nodes, degree, bidirectional=duplex)
    kind = "duplex topologies" if duplex else "topologies"
    for claim in found.claims:
        assert isinstance(claim, Claim)
        assert claim.proven
        assert claim.among == f"{kind} with the same nodes and ports"
        held = found.bounds[0].steps if claim.of is Of.STEPS else claim.bound
        assert claim.value == held
    if "both bounds" not in found.verdict:
        assert "at every size" not in found.verdict or "the fastest of the catalog entries" in found.verdict
        assert "known" not in found.verdict
