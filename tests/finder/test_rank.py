"""Rankings: times are what prices say, the best is the best, and the mix decides which that is."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, all_to_all, build, copy_examples, pareto, price
from topodesign.base.cost import moore_distances
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.files import write_rows
from topodesign.cli.main import run
from topodesign.finder.candidate import Entry
from topodesign.pricing.mix import Mix, Share

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
