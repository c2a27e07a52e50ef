"""The catalog: files that are what was written or say so, and looking up what was put in."""

from __future__ import annotations

import csv
import dataclasses
import gc
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.samples.catalogs import DEGREES, LAST, any_row, write_catalog
from topodesign import Catalog, lower_bound, pareto
from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.records import shorten_text
from topodesign.base.shipped import find_shipped_folder
from topodesign.base.spec import Spec, parse
from topodesign.catalog import files
from topodesign.catalog.files import catalog_file, read_prices, read_rows, write_rows
from topodesign.catalog.quality import STANDARD, coverage, quality
from topodesign.catalog.rows import COLUMNS, Row, describe_origin, read_row, select_frontier, worth_keeping
from topodesign.graphs.expansions import EXPANSIONS
from topodesign.search.close_sizes import better_size
from topodesign.search.finder import Finder
from topodesign.search.target import Target

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalog(tmp_path_factory.mktemp("catalog"))


@pytest.fixture
def damaged(directory: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    for degree in DEGREES:
        catalog_file(tmp_path, degree).write_bytes(catalog_file(directory, degree).read_bytes())
    return tmp_path


# -- rows and files ---------------------------------------------------------------------------------------------------


@given(any_row())
def test_a_row_is_read_as_it_was_written(row: Row) -> None:
    assert read_row(row.line) == row


@given(any_row(), st.data())
def test_no_character_of_a_row_can_change_unnoticed(row: Row, data: st.DataObject) -> None:
    line = row.line
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.sampled_from("0123456789/\tabcdefx(,) "))
    edited = line[:place] + other + line[place + 1 :]
    if edited != line:
        with pytest.raises(CatalogError):
            read_row(edited)


@given(st.lists(any_row(degree=7), max_size=30, unique_by=lambda row: row.key), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_range_is_read_as_if_all_had_been(tmp_path: Path, some: list[Row], data: st.DataObject) -> None:
    write_rows(tmp_path, 7, some)
    ordered = sorted(some, key=lambda row: row.key)
    assert read_rows(tmp_path, 7) == ordered
    first, last = data.draw(st.integers(0, 3001)), data.draw(st.integers(0, 3001))
    assert read_rows(tmp_path, 7, first, last) == [row for row in ordered if first <= row.nodes <= last]


def test_only_what_is_asked_for_is_read(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(line: str) -> Row:
        read.append(line)
        return read_row(line)

    monkeypatch.setattr(files, "read_row", reading)
    wanted = Catalog(directory).rows(4, 20, 21)
    assert [row.line for row in wanted] == read
    assert {row.nodes for row in wanted} == {20, 21}


def fails(directory: Path, degree: int = 4) -> str:
    """The message with which a file is refused; it names the file."""
    with pytest.raises(CatalogError) as caught:
        read_rows(directory, degree)
    message = str(caught.value)
    assert message.startswith(str(catalog_file(directory, degree)))
    return message


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_truncated_file_is_refused_whatever_is_asked(damaged: Path, data: st.DataObject) -> None:
    path = catalog_file(damaged, 4)
    whole = path.read_bytes()
    length = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:length])
    try:
        lines = whole[:length].count(b"\n")
        message = fails(damaged)
        assert f":{max(lines, 1)}:" in message or f":{lines + 1}:" in message
        with pytest.raises(CatalogError):
            read_rows(damaged, 4, 3, 3)
    finally:
        path.write_bytes(whole)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_an_edited_row_is_named_with_its_line(damaged: Path, data: st.DataObject) -> None:
    path = catalog_file(damaged, 4)
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    number = data.draw(st.integers(1, len(lines) - 2))
    line = lines[number]
    place = data.draw(st.integers(0, len(line) - 2))
    middle = data.draw(st.text("0123456789/(,)abc", max_size=3))
    edited = line[:place] + middle + line[place + 1 :]
    try:
        path.write_text("".join([*lines[:number], edited, *lines[number + 1 :]]))
        if edited != line:
            assert f"{path}:{number + 1}: " in fails(damaged)
    finally:
        path.write_text(whole)


def test_lines_that_are_lost_added_or_moved_are_told(damaged: Path) -> None:
    path = catalog_file(damaged, 4)
    lines = path.read_text().splitlines(keepends=True)
    for changed, words in (
        (lines[:5] + lines[6:], f":{len(lines) - 1}: the last line counts {len(lines) - 2} rows"),
        ([*lines[:5], lines[5], *lines[5:]], ":7: a row of"),
        ([*lines[:5], lines[6], lines[5], *lines[7:]], ":7: a row of"),
        ([*lines[:-1], "# end: 1 rows, 5 bytes\n"], f":{len(lines)}: the last line counts 1 rows"),
        ([*lines, "\n"], f":{len(lines) + 1}: the file ends without"),
        (lines[1:], ":1: the first line"),
        ([], ":1: the file is empty"),
    ):
        path.write_text("".join(changed))
        assert words in fails(damaged)
    path.unlink()
    assert "No such file" in fails(damaged)


def test_a_file_of_another_degree_is_refused(damaged: Path) -> None:
    catalog_file(damaged, 4).rename(catalog_file(damaged, 5))
    assert ":2: a row of degree 4" in fails(damaged, 5)


def test_files_are_written_whole_or_not_at_all(damaged: Path) -> None:
    before = catalog_file(damaged, 4).read_bytes()
    four = read_rows(damaged, 4)
    for wrong in ([*four, four[0]], [*four, dataclasses.replace(four[0], degree=5)]):
        with pytest.raises(CatalogError):
            write_rows(damaged, 4, wrong)
    assert catalog_file(damaged, 4).read_bytes() == before
    write_rows(damaged, 4, reversed(four))
    assert catalog_file(damaged, 4).read_bytes() == before
    assert {path.name for path in damaged.iterdir()} == {"degree_02.tsv", "degree_04.tsv"}


def test_where_a_topology_comes_from() -> None:
    for text, word in (
        ("genkautz(4,9)", "family"),
        ("transpose(transpose(dicirculant(9,1,2)))", "circulant"),
        ("cayley(dihedral(4),1,4)", "cayley"),
        ("transpose(line(cayley(dihedral(4),1,4)))", "expansion"),
        ("swap(delete(genkautz(4,9),1,2),1,2,3,4)", "annealed"),
    ):
        assert describe_origin(parse(text)) == word
    for expansion in EXPANSIONS:
        if expansion.name != "transpose":
            assert describe_origin(parse(f"{expansion.name}(complete(3),2)")) != "family"


# -- looking up -------------------------------------------------------------------------------------------------------


@pytest.mark.dear
@pytest.mark.once
@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize("degree", DEGREES)
def test_frontiers_are_those_that_were_put_in(directory: Path, degree: int, duplex: bool) -> None:
    catalog, finder = Catalog(directory), Finder()
    for nodes in range(2, LAST + 3):
        wanted = finder.frontier(nodes, degree, duplex=duplex) if 3 <= nodes <= LAST else []
        assert [(row.spec, row.cost, row.allgather) for row in catalog.frontier(nodes, degree, duplex=duplex)] == [
            (str(one.spec), one.cost, one.allgather) for one in wanted
        ]


_BASES = st.sampled_from([Basis.LINKS, Basis.DEFERRED])
_ROWS = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.booleans(), _BASES)


def _row(steps: int, one: int, other: int, duplex: bool, basis: Basis) -> Row:
    there, back = (Cost(steps, Fraction(y)) for y in (max(one, other), min(one, other)))
    return Row(9, 4, there, back, duplex, "family", basis, 1, "genkautz(4,9)")


@given(_ROWS, _ROWS, st.integers(8, 10), st.integers(2, 10))
def test_rows_are_ordered_and_averaged_as_by_fractions(
    one: tuple[int, int, int, bool, Basis], other: tuple[int, int, int, bool, Basis], nodes: int, divisor: int
) -> None:
    first, second = _row(*one), dataclasses.replace(_row(*other), nodes=nodes)
    second = dataclasses.replace(second, allgather=Cost(second.cost.steps, second.allgather.bandwidth / divisor))
    assert first.leads(second) == (first.key[:3] < second.key[:3])
    assert second.leads(first) == (second.key[:3] < first.key[:3])
    for row in (first, second, dataclasses.replace(first, allgather=first.cost)):
        assert Fraction(*row.twice_mean) == 2 * row.mean.bandwidth


def test_rows_that_descend_are_refused_whatever_their_steps(tmp_path: Path) -> None:
    for steps in (1, 2, 3):
        rows = [_row(2, 1, 1, True, Basis.LINKS), dataclasses.replace(_row(steps, 1, 1, True, Basis.LINKS), nodes=8)]
        body = "\t".join(COLUMNS) + "\n" + "".join(f"{row.line}\n" for row in rows)
        catalog_file(tmp_path, 4).write_text(f"{body}# end: 2 rows, {len(body)} bytes\n")
        with pytest.raises(CatalogError, match=r"degree_04\.tsv:3: a row of 8 nodes .* comes after one of 9 nodes"):
            read_rows(tmp_path, 4)
        assert gc.isenabled()


@given(st.lists(_ROWS, max_size=12))
def test_undominated_by_definition(costs: list[tuple[int, int, int, bool, Basis]]) -> None:
    ordered = sorted((_row(*cost) for cost in costs), key=lambda row: row.key)
    for only in (False, True):
        pool = [row for row in ordered if row.duplex or not only]
        best = {row.mean for row in pool if not any(o.mean.dominates(row.mean) and o.mean != row.mean for o in pool)}
        front = select_frontier(ordered, duplex=only)
        assert [row.mean for row in front] == sorted(best, key=lambda cost: cost.steps)
        for row in front:
            assert row in pool
            assert row.cost.bandwidth == min(o.cost.bandwidth for o in pool if o.mean == row.mean)


@given(st.lists(_ROWS, max_size=14))
def test_a_catalog_keeps_the_frontiers_by_spff_and_of_all(costs: list[tuple[int, int, int, bool, Basis]]) -> None:
    made = [_row(*cost) for cost in costs]
    kept = worth_keeping(made)
    assert [row.key for row in kept] == sorted({row.key for row in kept})
    assert worth_keeping(kept) == kept
    for duplex in (False, True):
        for only in (False, True):
            pool = [row for row in made if (row.duplex or not duplex) and not (only and row.deferred)]
            front = select_frontier([row for row in kept if not (only and row.deferred)], duplex=duplex)
            assert all(any(one.mean.dominates(row.mean) for one in front) for row in pool)
    spff = [row for row in made if not row.deferred]
    assert worth_keeping(spff) == [row for row in kept if not row.deferred]


def test_the_environment_names_a_catalog(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Catalog().directory == find_shipped_folder("catalog")
    monkeypatch.setenv("TOPODESIGN_CATALOG", str(directory))
    assert Catalog().directory == directory
    assert pareto(16, 4).origin == "catalog"


def test_a_lookup_imports_nothing_heavy(directory: Path) -> None:
    code = (
        "import sys; from topodesign.cli.main import run\n"
        "status = run(sys.argv[1:])\n"
        "heavy = {'numpy', 'numba', 'scipy', 'networkx', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'{heavy} imported' if heavy else status)\n"
    )
    for command in (["pareto"], ["pareto", "--within", "9%"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *command, "-n", "33", "-d", "4"],
            env=os.environ | {"TOPODESIGN_CATALOG": str(directory)},
            text=True, capture_output=True, timeout=600, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        assert "from the catalog" in done.stdout


def test_records_are_rows_for_pandas(directory: Path) -> None:
    pytest.importorskip("pandas")
    frame = Catalog(directory).rows(4, 10, 20).to_dataframe()
    assert len(frame) == len(Catalog(directory).rows(4, 10, 20))
    assert set(frame["nodes"]) == set(range(10, 21))


# -- pareto -----------------------------------------------------------------------------------------------------------


def test_pareto_looks_up_first(directory: Path) -> None:
    catalog = Catalog(directory)
    for bidirectional in (False, True):
        looked_up = pareto(33, 4, catalog=catalog, bidirectional=bidirectional)
        searched = pareto(33, 4, catalog=False, search=0, bidirectional=bidirectional)
        assert (looked_up.origin, searched.origin) == ("catalog", "search")
        assert looked_up.question.catalog is catalog
        assert searched.question.catalog is None
        kept = [[(one.cost, one.allgather, one.duplex) for one in found.entries] for found in (looked_up, searched)]
        assert kept[0] == kept[1]
    assert pareto(LAST + 1, 4, catalog=catalog, search=0).origin == "search"
    with pytest.raises(ParameterError):
        pareto(33, 0, catalog=catalog)


def test_a_search_loses_nothing_that_the_catalog_has(tmp_path: Path) -> None:
    better = "cayley(dihedral(8),1,2,9,10)"
    cost = pareto(16, 4, catalog=False, search=0).entries[0].cost
    row = Row(16, 4, Cost(2, Fraction(1)), Cost(2, Fraction(1)), False, "cayley", Basis.LINKS, 1, better)
    write_rows(tmp_path, 4, [row])
    result = pareto(16, 4, catalog=Catalog(tmp_path), search=0)
    assert result.origin == "catalog and search"
    assert any(entry.cost.dominates(cost) for entry in result.entries)


def test_a_damaged_catalog_is_told_and_searched_around(damaged: Path, program: Run) -> None:
    args = ("pareto", "-n", 12, "-d", 4, "--json", "--catalog", damaged)
    status, out, err = program(*args)
    assert (status, err, json.loads(out)["origin"]) == (0, "", "catalog")
    path = catalog_file(damaged, 4)
    good = path.read_text()
    at = next(k for k, line in enumerate(good.splitlines(), 1) if line.startswith("12\t"))
    truncated = f"{path}:{good[: len(good) // 2].count(chr(10)) + 1}: "
    for text, words in (
        (good[: len(good) // 2], truncated),
        (good.replace("\n12\t4\t", "\n12\t4\t1"), f"{path}:{at}: "),
        (None, f"{path}: "),
    ):
        path.unlink()
        if text is not None:
            path.write_text(text)
        status, out, err = program(*args, "--time-limit", "0s")
        assert status == 0
        assert json.loads(out)["origin"] == "search"
        assert err.startswith(f"topodesign: {words}")
        assert err.count("\n") == 1
        if text is None:
            path.write_text(good)


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [("--max-steps", 4), ("--within", "5%"), ("--max-steps", 5, "--within", "30%")])
def test_limits_keep_exactly_what_they_say(directory: Path, program: Run, limits: tuple[object, ...]) -> None:
    option = dict(zip(limits[::2], limits[1::2], strict=True))
    most = int(str(option.get("--max-steps", 99)))
    share = Fraction(str(option.get("--within", "9900%")).removesuffix("%")) / 100
    for flags, duplex in (((), False), (("--duplex",), True)):
        for nodes in (6, 20, LAST):
            status, out, _ = program("pareto", "-n", nodes, "-d", 4, *limits, *flags, "--csv", "--catalog", directory)
            kept = [
                row.spec
                for row in Catalog(directory).frontier(nodes, 4, duplex=duplex)
                if row.cost.steps <= most and row.cost.bandwidth <= Fraction(nodes - 1, nodes) * (1 + share)
            ]
            assert status == (0 if kept else 1)
            assert [row["spec"] for row in csv.DictReader(io.StringIO(out))] == kept


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("--max-steps", 1), 1, "within --max-steps and --within"),
        (("--within", "much"), 2, "share such as 5%"),
        (("--within", "-1%"), 2, "from 0 to 1"),
        (("--within", "5"), 2, "from 0 to 1"),
        (("--boxes", "dgx_h100", "--within", "5%"), 2, "--within cannot be combined with --boxes"),
    ],
)
def test_limits_that_are_refused(
    directory: Path, program: Run, args: tuple[object, ...], status: int, words: str
) -> None:
    place = () if "--boxes" in args else ("--catalog", directory)
    got, out, err = program("pareto", "-n", 33, "-d", 4, *args, *place)
    assert (got, out) == (status, "")
    assert words in err
    assert err.count("\n") == 1


def test_impossible_sizes_are_not_sent_to_a_search(program: Run) -> None:
    question = ("-n", 2047, "-d", 1, "--duplex")
    refused = program("pareto", *question)
    assert refused[0] == 2
    assert "one duplex port each cannot connect 2047 nodes" in refused[2]


def every_size(rows: list[Row], duplex: bool) -> Iterator[tuple[int, list[Row]]]:
    for nodes, group in itertools.groupby(rows, key=lambda row: row.nodes):
        if front := [row for row in group if row.duplex or not duplex]:
            yield nodes, front


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sizes with neighbours within 2%."""
    return write_catalog(tmp_path_factory.mktemp("wide"), range(98, 117))


@pytest.mark.parametrize("duplex", [False, True])
def test_a_better_size_close_by_by_definition(wide: Path, duplex: bool) -> None:
    catalog, told = Catalog(wide), 0
    times = {
        nodes: min(STANDARD.allreduce(row.mean)[0] for row in front)
        for nodes, front in every_size(catalog.rows(4), duplex)
    }
    for nodes in range(101, 114):
        near = {n: times[n] for n in range(nodes - nodes // 50, nodes + nodes // 50 + 1)}
        bound = STANDARD.allreduce(lower_bound(nodes, 4, duplex=duplex))[0]
        poor = times[nodes] >= Fraction(105, 100) * max(min(near.values()), bound)
        better = better_size(catalog, catalog.frontier(nodes, 4, duplex=duplex), Target(nodes, 4, duplex), STANDARD)
        assert (better is not None) == poor
        if better is not None:
            told += 1
            assert better.other_time == min(near.values()) == times[better.other]
            assert better.speedup == times[nodes] / min(near.values())
            prime = all(nodes % k for k in range(2, nodes))
            assert ("prime" in str(better)) == prime
            assert str(better.other) in str(better)
    assert told or duplex
    assert better_size(catalog, catalog.frontier(97, 4), Target(97, 4, duplex=False), STANDARD) is None


# -- catalog list -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize("degree", DEGREES)
def test_quality_by_definition(directory: Path, degree: int, duplex: bool) -> None:
    rows = Catalog(directory).rows(degree, 5, 30)
    result = quality(degree, [row.price for row in rows], duplex=duplex)
    assert result is not None
    fronts = dict(every_size(rows, duplex))
    assert result.sizes == len(fronts)
    for column, ratio in enumerate(result.ratios):
        values = {
            nodes: min(STANDARD.allreduce(row.mean)[column] for row in front)
            / STANDARD.allreduce(lower_bound(nodes, degree, duplex=duplex))[column]
            for nodes, front in fronts.items()
        }
        assert ratio.worst == max(values.values()) == values[ratio.worst_nodes]
        assert abs(ratio.mean - float(sum(values.values()) / len(values))) < 1e-12
    near = [
        nodes
        for nodes, front in fronts.items()
        if any(
            row.cost.bandwidth == Fraction(nodes - 1, nodes)
            and row.cost.steps <= lower_bound(nodes, degree, duplex=duplex).steps + 2
            for row in front
        )
    ]
    assert result.share == Fraction(len(near), len(fronts))
    assert quality(degree, [], duplex=duplex) is None


@pytest.mark.parametrize("degree", DEGREES)
def test_prices_alone_are_those_of_rows(directory: Path, degree: int, tmp_path: Path) -> None:
    assert read_prices(directory, degree, 5, 30) == [row.price for row in read_rows(directory, degree, 5, 30)]
    for one in directory.glob("degree_*.tsv"):
        shutil.copy(one, tmp_path)
    path = catalog_file(tmp_path, degree)
    path.write_text(path.read_text().replace("\tsimplex\t", "\tduplex\t", 1))
    with pytest.raises(CatalogError, match="edited"):
        read_prices(tmp_path, degree)


def test_summary_reads_once_what_coverage_and_quality_read(directory: Path) -> None:
    catalog = Catalog(directory)
    for span in ((), (5, 20)):
        assert catalog.summary(None, *span) == (catalog.coverage(None, *span), catalog.quality(None, *span))


def test_list_counts_and_judges(directory: Path, program: Run) -> None:
    for flags in ((), ("--compare-bound",)):
        document = json.loads(program("catalog", "status", *flags, "--json", "--catalog", directory)[1])
        assert [one["degree"] for one in document["degrees"]] == list(DEGREES)
        for one in document["degrees"]:
            there = Catalog(directory).rows(one["degree"])
            assert (one["first"], one["last"], one["sizes"]) == (3, LAST, LAST - 2)
            assert one["rows"] == len(there) == sum(n for key, n in one.items() if key.startswith("found_"))
            assert one["duplex_sizes"] == len({row.nodes for row in there if row.duplex})
        assert ("quality" in document) == bool(flags)
        table = program("catalog", "status", *flags, "--catalog", directory)
        assert (table[0], table[2]) == (0, "")
        records: list[dict[str, Any]] = list(
            csv.DictReader(io.StringIO(program("catalog", "status", *flags, "--csv", "--catalog", directory)[1]))
        )
        assert len(records) == len(DEGREES) * (2 if flags else 1)
    assert coverage(4, []).rows == 0
    assert program("catalog", "status", "--catalog", directory / "nowhere")[0] == 2


@pytest.mark.dear
def test_the_shipped_files_are_whole() -> None:
    assert Catalog().degrees == list(range(2, 17))
    for degree in Catalog().degrees:
        for row in Catalog().rows(degree):
            assert row.cost.steps >= 1
            assert row.cost.bandwidth >= Fraction(row.nodes - 1, row.nodes)
    assert len(COLUMNS) == sum(one.compare for one in dataclasses.fields(Row)) + 2


def test_tables_show_the_beginning_of_long_specs() -> None:
    short, long = parse("line(complete(3),2)"), Spec("successors", tuple(range(3, 200)))
    assert shorten_text(str(short)) == str(short)
    assert shorten_text(str(long)).startswith(str(long)[:100])
    assert len(shorten_text(str(long))) < 200
    assert str(len(str(long))) in shorten_text(str(long))
