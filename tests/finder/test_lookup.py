"""Results of look-ups from Python: what can be asked for, what rows do, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, Pareto, build, evaluate, pareto, survey, verify_catalog, write_links
from topodesign.base.cost import Cost, lower_bound
from topodesign.base.errors import FileFormatError, InfeasibleError, ParameterError, SpecError, TopodesignError
from topodesign.catalog.idle import idle_row
from topodesign.catalog.sizes import MAX_NODES
from topodesign.cli.main import run
from topodesign.finder import find, sources
from topodesign.finder.question import Objective, Question
from topodesign.finder.sources import read_candidates
from topodesign.finder.survey import Survey
from topodesign.finder.verification import compare_with_plans
from topodesign.schedulers.price import price_plans
from topodesign.search.close_sizes import SMOOTH


@pytest.mark.parametrize("share", [0.05, "5%", "1/20"])
def test_limits_keep_exactly_what_they_say(share: Any) -> None:
    sizes = *survey(range(20, 26), 4, within=share, max_steps=6), *survey(range(900, 903), 4, within=share, max_steps=6)
    for front in sizes:
        assert isinstance(front, Pareto)
        most = Fraction(21, 20) * Fraction(front.nodes - 1, front.nodes)
        kept = [one for one in pareto(front.nodes, 4) if one.cost.steps <= 6 and one.cost.bandwidth <= most]
        assert [one.spec for one in front] == [one.spec for one in kept]


def test_limits_hold_for_other_collectives_and_your_own() -> None:
    whole = rank(24, 4, candidates=["torus(4,6)"])
    some = rank(24, 4, candidates=["torus(4,6)"], max_steps=3)
    assert {one.spec for one in some} <= {one.spec for one in whole}
    assert all(one.cost.steps <= 3 for one in some)
    assert not some.candidates
    with pytest.raises(InfeasibleError, match="--max-steps"):
        pareto(24, 4, max_steps=1)


def test_rows_build_what_they_say() -> None:
    for row in Catalog().frontier(24, 3):
        topology = row.build()
        assert (topology.nodes, topology.degree, topology.is_duplex) == (row.nodes, row.degree, row.duplex)
        assert evaluate(row.spec).spff_cost == row.cost
        assert evaluate(row.spec).allgather.bandwidth <= row.cost.bandwidth
    result = pareto(24, 3)
    assert [entry.build() for entry in result] == [row.build() for row in Catalog().frontier(24, 3)]
    assert result[0] == result.entries[0]


def test_results_show_themselves() -> None:
    rows, result = Catalog().rows(4, 10, 20), pareto(64, 4, sizes=[25e6, "1MiB"], alpha=1e-5, bandwidth=1e11)
    for value in (rows, rows[0], result, result.best, survey([64, 65], 4), Catalog().quality([4], 5, 40)):
        assert "<table>" in value._repr_html_()
        assert len(repr(value).splitlines()) == 1
        assert len(repr(value)) < 500
        assert len(str(value).splitlines()) > 2
        assert len(value.to_dataframe()) == len(value.to_records())
    assert str(rows[0].spec) in str(rows)
    assert "lower bound" in str(result)


@pytest.mark.parametrize(
    "call",
    [
        lambda: pareto("64", 4),  # type: ignore[arg-type]
        lambda: pareto(64.0, 4),  # type: ignore[arg-type]
        lambda: pareto(64, True),
        lambda: pareto(64, None),  # type: ignore[arg-type]
        lambda: pareto(64, 4, sizes=object()),  # type: ignore[arg-type]
        lambda: pareto(64, 4, alpha=-1),
        lambda: pareto(64, 4, search=float("inf")),
        lambda: pareto(64, 4, search="soon"),
        lambda: pareto(64, 4, seed=-1),
        lambda: pareto(64, 4, seed="x"),  # type: ignore[arg-type]
        lambda: pareto(64, 4, catalog=5),  # type: ignore[arg-type]
        lambda: Catalog(None),  # type: ignore[arg-type]
        lambda: Catalog("no such place").rows(4),  # type: ignore[arg-type]
        lambda: Catalog().rows("4"),  # type: ignore[arg-type]
        lambda: Catalog().frontier(None, 4),  # type: ignore[arg-type]
        lambda: Catalog(Path("no such place")).coverage(),
        lambda: pareto(64, 4, within="much"),
        lambda: pareto(64, 4, within=-0.5),
    ],
)
def test_wrong_arguments_are_errors_of_ours(call: Any) -> None:
    with pytest.raises(TopodesignError):
        call()


# -- Candidates of the user: priced by their links, held against the frontier, refused where they do not fit


def test_they_are_priced_by_their_links() -> None:
    graph = nx.hypercube_graph(4)
    found = pareto(16, 4, candidates=["torus(4,4)", build("dicirculant(16,1,2,5,8)"), graph, "circulant(16,3,4)"])
    assert found.entries == pareto(16, 4).entries
    for one, text in zip(found.candidates, ("torus(4,4)", "dicirculant(16,1,2,5,8)", "hypercube(4)"), strict=False):
        assert (one.cost, one.allgather) == price_plans(build(text)).cheapest
        assert one.duplex == build(text).is_duplex
        assert one.found == "own"
    assert [one.label for one in found.candidates][2] == "candidate 3"
    assert found.candidates[3].dominated_by == "circulant(16,3,4)"
    for one in found.candidates:
        as_good = [
            entry
            for entry in found
            if entry.mean.steps <= one.mean.steps and entry.mean.bandwidth <= one.mean.bandwidth
        ]
        assert one.dominated_by == (str(as_good[0].spec) if as_good else None)
    assert found.record()["candidates"][0]["spec"] == "torus(4,4)"
    assert "candidates" not in pareto(16, 4).record()
    assert "torus(4,4) (own) is no better than" in str(found)


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        ("torus(4,5)", "20 nodes of degree 4, and not 16 of degree 4"),
        ("dgx_a100(2)", "fabric"),
    ],
)
def test_what_does_not_fit_is_refused(candidate: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pareto(16, 4, candidates=[candidate])


def test_one_way_links_are_refused_where_cables_are_duplex() -> None:
    with pytest.raises(ParameterError, match="one way only"):
        pareto(16, 4, bidirectional=True, candidates=["genkautz(4,16)"])
    with pytest.raises(SpecError, match="did you mean 'torus'"):
        pareto(16, 4, candidates=["toru(4)"])
    with pytest.raises(ParameterError, match="several"):
        pareto(16, 4, candidates="torus(4,4)")


def test_a_file_has_one_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "links.csv").write_text(write_links(build("hypercube(4)"), "csv"))
    listed = tmp_path / "own.txt"
    listed.write_text("# today\ntorus(4,4)  # wired\n\nlinks.csv\n")
    assert read_candidates(listed) == ["torus(4,4)", str(tmp_path / "links.csv")]
    assert run(["pareto", "-n", "16", "-d", "4", "--candidates", str(listed)]) == 0
    assert "own" in capsys.readouterr().out
    listed.write_text("torus(4,4)\nmissing.csv\n")
    with pytest.raises(FileFormatError, match=r"own.txt: line 2: .*missing.csv"):
        read_candidates(listed)
    listed.write_text("torus(4,4)\ncirculant(17,1,2)\n")
    assert run(["pareto", "-n", "16..17", "-d", "4", "--candidates", str(listed)]) == 0
    assert run(["pareto", "-n", "17..18", "-d", "4", "--candidates", str(listed)]) == 2
    assert "torus(4,4): none of these sizes" in capsys.readouterr().err


@pytest.mark.parametrize(("nodes", "degree"), [(24, 4), (20, 3), (30, 2)])
def test_rows_come_first_and_nothing_that_is_no_topology_of_the_size(nodes: int, degree: int) -> None:
    asked = Question(nodes, degree, False, Objective.read("all-to-all"), Catalog())
    found = sources.read_catalog(asked, exchanges=True)
    rows = {row.spec for row in Catalog().rows(degree, nodes, nodes)}
    assert rows == {one.spec for one in found if one.costs is not None}
    for one in (*found, *sources.find_members(asked)):
        assert (one.topology.nodes, one.topology.degree) == (nodes, degree)
    front = Catalog().frontier(nodes, degree)
    assert {row.name for row in front} == {one.name for one in found} - {None}
    duplex = Question(nodes, degree, True, Objective.read("all-to-all"), Catalog())
    assert all(one.duplex for one in sources.read_catalog(duplex, exchanges=True))


# -- surveys: every size has the answer that it has alone, and what a port buys is the difference of two of them ------


def test_every_size_is_answered_as_alone() -> None:
    found = survey(range(40, 43), range(3, 6), sizes=["1MiB", "1GiB"])
    assert [(one.nodes, one.degree) for one in found] == [(n, d) for n in range(40, 43) for d in range(3, 6)]
    for one in found:
        assert one.fastest == pareto(one.nodes, one.degree, sizes=["1MiB", "1GiB"]).best
    assert len(found.table().rows) == len(found.to_records()) == len(found.record()["sizes"]) == 9


def test_sizes_may_be_any_that_ascend() -> None:
    found = survey(range(16, 65, 16), np.array([3, 4]))
    assert [(one.nodes, one.degree) for one in found] == [(n, d) for n in (16, 32, 48, 64) for d in (3, 4)]
    assert [one.fastest for one in survey([16, 48], 4)] == [found.frontiers[place].fastest for place in (1, 5)]


def test_gains_are_over_one_port_less_and_start_anew_with_every_size() -> None:
    found = survey(range(40, 42), range(3, 6))
    times = [one.fastest.allreduce[0] for one in found]
    assert [gain is None for gain in found.gains] == [True, False, False] * 2
    for place, gain in enumerate(found.gains):
        if gain is not None:
            assert times[place] == times[place - 1] * (1 - gain[0])
    for row, gain in zip(found.table().rows, found.gains, strict=True):
        assert row[4].split()[1:] == ([] if gain is None else [f"{-float(gain[0]) * 100:+.1f}%" if gain[0] else "same"])
    along = survey(range(40, 44), 4)
    assert [gain is None for gain in along.gains] == [True, False, False, False]


@pytest.mark.parametrize("per_port", [False, True])
def test_the_verdict_is_what_the_rows_say(per_port: bool) -> None:
    found = survey(100, range(3, 8), per_port=per_port, bandwidth="25Gbps")
    first, last = found.frontiers[0], found.frontiers[-1]
    saved = 1 - last.fastest.allreduce[0] / first.fastest.allreduce[0]
    assert f"{float(saved) * 100:.1f}%" in found.verdict
    gains = {one.degree: gain[0] for one, gain in zip(found, found.gains, strict=True) if gain is not None}
    assert f"the step to {max(gains, key=lambda port: gains[port])} saves most" in found.verdict
    for one in found:
        assert one.fastest.workload.bandwidth == Fraction(25 * 10**9) * (one.degree if per_port else 1)


def test_sizes_that_are_none_are_told() -> None:
    found = survey(range(2, 4), 1, bidirectional=True)
    assert [(one.nodes, one.degree) for one in found.missing] == [(3, 1)]
    assert "3 nodes, degree 1: one duplex port" in str(found)
    assert found.record()["missing"][0]["nodes"] == 3
    with pytest.raises(InfeasibleError):
        survey(3, range(1, 2), bidirectional=True)


def test_ports_that_buy_nothing() -> None:
    assert survey(3, range(2, 4), sizes="1GiB").verdict
    assert not survey(12, 4).verdict


@pytest.mark.parametrize(
    "call", [lambda: survey(range(5, 5), 4), lambda: survey(range(9, 5, -2), 4), lambda: survey(range(3, 5000), 4)]
)
def test_ranges_that_make_no_sense(call: Callable[[], Survey]) -> None:
    with pytest.raises(TopodesignError):
        call()


# -- rows of the catalog that plans undercut are found ----------------------------------------------------------------


Run = Callable[..., tuple[int, str, str]]


def test_a_row_that_costs_more_than_its_plan_is_undercut() -> None:
    """Rows with a deferred plan: as they stand none is undercut; a hundredth dearer, each is."""
    found = 0
    for nodes, group in groupby(Catalog().rows(3, 17, 31), key=lambda row: row.nodes):
        rows = tuple(group)
        assert all(compare_with_plans(row, {(3, nodes): rows}).wrong is None for row in rows)
        for row in [row for row in rows if row.deferred]:
            dear = Cost(row.cost.steps, row.cost.bandwidth * Fraction(101, 100))
            above = replace(row, cost=dear, allgather=dear)
            others = [one for one in rows if not one.mean.dominates(row.mean)]
            wrong = compare_with_plans(above, {(3, nodes): (*others, above)}).wrong or ""
            assert "which no row of this size has" in wrong
            found += 1
    assert found > 3


def test_rows_at_the_bound_are_not_built() -> None:
    row = next(row for row in Catalog().rows(4, 16, 16) if row.mean.bandwidth == Fraction(15, 16))
    assert compare_with_plans(row, {}).wrong is None


@pytest.mark.budget(4)
def test_the_command(program: Run) -> None:
    status, out, _ = program("catalog", "verify", "--plans", "-n", "10..11", "-d", 3, "--jobs", 1)
    assert (status, "compared with plans: no faults" in out) == (0, True)
    assert program("catalog", "verify", "--plans", "--audit", "-d", 3)[0] == 2
    assert verify_catalog(by="plans", degrees=[3], nodes=range(10, 11), workers=1).planned
    with pytest.raises(ParameterError):
        verify_catalog(by="plans", sample=0)


# -- rules of a look-up, one by one ------------------------------------------------------------------------------------


def test_a_long_spec_gives_way_to_its_name_and_a_short_one_does_not() -> None:
    best = pareto(12, 4).best
    long = replace(best, spec="c" * 25)
    assert [replace(one, name="catalog(12,4,1)").short for one in (best, long)] == [best.spec, "catalog(12,4,1)"]
    assert replace(long, name=None).short == long.spec


def test_one_row_at_the_bound_settles_a_size_whose_nodes_keep_ports_free() -> None:
    asked = Question(9, 3, True, Objective.read("allreduce"), Catalog())
    bound = lower_bound(9, 3, duplex=True)
    row = idle_row(next(row for row in Catalog().rows(2, 9, 9) if row.duplex))
    dear = Cost(bound.steps + 1, bound.bandwidth)
    met, worse = (replace(row, cost=cost, allgather=cost) for cost in (bound, dear))
    assert find._settles([worse, met], asked)
    assert not find._settles([worse], asked)


def test_a_search_is_suggested_where_the_catalog_has_rows_and_sizes_beyond() -> None:
    assert find._suggest_size(MAX_NODES, 4) == "try --time-limit 30s"
    first = find._suggest_size(MAX_NODES + 1, 4)
    assert f"({MAX_NODES},4)" in first
    assert f"({MAX_NODES + SMOOTH},4)" in first


def test_a_survey_has_a_most_number_of_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topodesign.finder.survey._MAX", 2)
    assert [one.nodes for one in survey([5, 6], 2)] == [5, 6]
    with pytest.raises(ParameterError, match="3 sizes are too many"):
        survey([5, 6, 7], 2)


def test_a_survey_says_by_what_sizes_are_compared() -> None:
    assert survey(12, 4, sizes="1MiB").what == "allreduce of 1MiB"
    mixed = survey(12, 4, workload=Path(__file__).parents[2] / "configs" / "workload_moe.yaml")
    assert mixed.what == mixed.objective.mix.words
