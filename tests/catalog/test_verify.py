"""Verifying the catalog: nothing that a row says can be wrong without being reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.samples.catalogs import DEGREES, LAST, write_catalog
from topodesign import Catalog
from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import FileFormatError, TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.catalog import verify as verifying
from topodesign.catalog.files import catalog_file, write_rows
from topodesign.catalog.row_check import check_row
from topodesign.catalog.rows import VERSION, Row, describe_origin, read_row
from topodesign.catalog.verify import (
    StoredRow,
    Verified,
    draw,
    find_misplaced,
    read_stored_rows,
    rebuild_row,
    verify,
)
from topodesign.finder.verification import verify_catalog
from topodesign.graphs.expansions.expansion import Base, Expansion
from topodesign.pricing.closed_form import price
from topodesign.topology.library import build, generator
from topodesign.topology.topology import Topology

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_catalog(tmp_path_factory.mktemp("catalog"))


def row_of(text: str, basis: Basis = Basis.LINKS, cost: Cost | None = None) -> Row:
    """The true row of a spec, unless another price is given."""
    graph = build(text)
    there, back = price(graph), price(graph.transpose())
    found = describe_origin(parse(text))
    return Row(graph.nodes, graph.degree, cost or there, cost or back, graph.is_duplex, found, basis, VERSION, text)


def last(states: Iterator[Verified]) -> Verified:
    return list(states)[-1]


def faults(rows: list[StoredRow], **options: Any) -> list[str]:
    return [str(fault) for state in verify(rows, workers=1, **options) for fault in state.faults]


def test_what_the_finder_wrote_is_right(directory: Path) -> None:
    rows = read_stored_rows(Catalog(directory), DEGREES)
    assert len(rows) == sum(len(Catalog(directory).rows(degree)) for degree in DEGREES)
    assert find_misplaced(rows) == []
    for all_sources in (False, True):
        states = list(verify(rows, partial(rebuild_row, all_sources=all_sources), workers=1))
        assert [state.faults for state in states] == [()] * len(states)
        assert (states[-1].done, states[-1].total, states[-1].share) == (len(rows), len(rows), 1.0)
        assert [state.share for state in states] == sorted(state.share for state in states)


MUTATIONS: dict[str, Callable[[Row], Row]] = {
    "nodes": lambda row: replace(row, nodes=row.nodes + 1),
    "degree": lambda row: replace(row, degree=row.degree * 2),
    "steps": lambda row: replace(row, cost=Cost(row.cost.steps + 1, row.cost.bandwidth)),
    "bandwidth": lambda row: replace(row, cost=Cost(row.cost.steps, row.cost.bandwidth + Fraction(1, 10**6))),
    "cheaper": lambda row: replace(row, cost=Cost(row.cost.steps, row.cost.bandwidth - Fraction(1, 10**6))),
    "allgather": lambda row: replace(
        row, allgather=Cost(row.cost.steps, row.allgather.bandwidth - Fraction(1, row.nodes))
    ),
    "wiring": lambda row: replace(row, duplex=not row.duplex),
    "found": lambda row: replace(row, found="lift" if row.found != "lift" else "family"),
    "basis": lambda row: replace(row, basis=Basis.THEOREM),
    "bound": lambda row: replace(row, basis=Basis.BOUND),
    "version": lambda row: replace(row, version=VERSION + 1),
    "spec": lambda row: replace(row, spec=f"genkautz({row.degree},{row.nodes + 1})"),
    "no spec": lambda row: replace(row, spec="nonsense("),
    "unknown": lambda row: replace(row, spec="nonsense(4)"),
    "blanks": lambda row: replace(row, spec=row.spec.replace(",", ", ")),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_column_is_held_against_the_links(name: str) -> None:
    for text in ("genkautz(2,11)", "circulant(12,2,3)", "transpose(genkautz(3,14))"):
        row = row_of(text)
        assert check_row(row) is None
        mutant = read_row(MUTATIONS[name](row).line)  # with a check that fits
        message = check_row(mutant)
        assert message is not None
        for word, came_out, said in (
            ("nodes", row.nodes, mutant.nodes),
            ("steps", row.cost.steps, mutant.cost.steps),
            ("bandwidth", row.cost.bandwidth, mutant.cost.bandwidth),
        ):
            if came_out != said:
                assert f"{word} {came_out}, not {said}" in message


def test_the_dearer_collective_comes_first() -> None:
    text = next(
        f"genkautz(3,{nodes})"
        for nodes in range(5, 60)
        if price(build(f"genkautz(3,{nodes})")).bandwidth < price(build(f"genkautz(3,{nodes})").transpose()).bandwidth
    )
    assert "take the transpose" in str(check_row(row_of(text)))
    assert check_row(row_of(f"transpose({text})")) is None


def dearer_way(graph: Topology) -> Base:
    return Base(graph, max(price(graph), price(graph.transpose()), key=lambda cost: cost.bandwidth))


@pytest.mark.parametrize(
    "text",
    ["power(complete(3),2)", "line(genkautz(2,9))", "line(circulant(8,1,3))", "product(complete(3),uniring(1,4))"],
)
def test_rows_on_theorems_are_held_against_them_and_the_links(text: str) -> None:
    spec = parse(text)
    entry = generator(spec.name)
    assert isinstance(entry, Expansion)
    bases = [dearer_way(build(arg)) if isinstance(arg, Spec) else arg for arg in spec.args]
    claim = entry.claim(*bases)
    assert claim is not None
    right, wrong = (Basis.THEOREM, Basis.BOUND) if claim.basis is Basis.THEOREM else (Basis.BOUND, Basis.THEOREM)
    assert check_row(row_of(text, right, claim.cost)) is None
    assert f"no {wrong}" in str(check_row(row_of(text, wrong, claim.cost)))
    for change in (Fraction(1, 99), Fraction(-1, 99)):
        other = Cost(claim.cost.steps, claim.cost.bandwidth + change)
        assert f"no {right}" in str(check_row(row_of(text, right, other)))


def test_dominated_rows_are_told(tmp_path: Path) -> None:
    rows = [row_of("circulant(12,2,3)"), row_of("circulant(12,1,2)"), row_of("biring(4,12)")]
    write_rows(tmp_path, 4, rows)
    told = [fault.place.row.spec for fault in find_misplaced(read_stored_rows(Catalog(tmp_path), [4]))]
    assert told == ["circulant(12,1,2)", "biring(4,12)"]


def test_a_wrong_row_is_told_with_its_line_and_what_came_out(directory: Path, tmp_path: Path, program: Run) -> None:
    rows = Catalog(directory).rows(4)
    wrong = 17
    rows[wrong] = replace(rows[wrong], cost=Cost(rows[wrong].cost.steps, rows[wrong].cost.bandwidth + 1))
    write_rows(tmp_path, 4, rows)
    line = 1 + catalog_file(tmp_path, 4).read_text().splitlines().index(rows[wrong].line)
    status, out, err = program("catalog", "verify", "-d", 4, "--jobs", 1, "--catalog", tmp_path)
    assert status == 1
    assert f"{catalog_file(tmp_path, 4)}:{line}: " in err
    assert rows[wrong].line in err
    assert f"{rows[wrong].cost.bandwidth - 1}, not {rows[wrong].cost.bandwidth}" in err
    assert "no fault" not in out
    document = json.loads(program("catalog", "verify", "--all", "--jobs", 1, "--json", "--catalog", tmp_path)[1])
    assert {fault["line"] for fault in document["faults"]} == {line}


def test_samples_are_drawn_by_seed(directory: Path) -> None:
    rows = read_stored_rows(Catalog(directory), DEGREES)
    assert draw(rows, 20, 1) == draw(rows, 20, 1) != draw(rows, 20, 2)
    assert len(set(map(str, draw(rows, 20, 1)))) == 20
    assert draw(rows, 10**6, 3) == rows
    assert draw([], 5, 3) == []


@pytest.mark.dear
def test_processes_find_what_one_finds(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_stored_rows(Catalog(directory), [4], 20, LAST)
    rows[7] = replace(rows[7], row=replace(rows[7].row, version=9))
    rows[-1] = replace(rows[-1], row=replace(rows[-1].row, spec="uniring(4,4)"))
    monkeypatch.setattr(verifying, "_BATCH_WORK", 2**14)
    two = [str(fault) for state in verify(rows, workers=2) for fault in state.faults]
    assert sorted(two) == sorted(faults(rows))
    assert len(two) == 2


def test_a_verification_goes_on_where_it_was_killed(directory: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(verifying, "_BATCH_WORK", 2**12)
    rows = read_stored_rows(Catalog(directory), DEGREES)
    rows[3] = replace(rows[3], row=replace(rows[3].row, version=9))
    kept = tmp_path / "progress"
    states = verify(rows, workers=1, resume=kept)
    half = next(state for state in states if state.share >= 0.5)
    with kept.open("a") as stream:
        stream.write("4 12 2 12")  # torn
    seen: list[Row] = []

    def seeing(row: Row, *, all_sources: bool) -> str | None:
        seen.append(row)
        return check_row(row, all_sources=all_sources)

    monkeypatch.setattr(verifying, "check_row", seeing)
    first, *_, end = verify(rows, workers=1, resume=kept)
    assert half.done - 1 <= first.done <= half.done  # the wrong row is looked at again
    assert (end.done, end.share) == (len(rows), 1.0)
    assert len(seen) == len(rows) - first.done
    seen.clear()
    assert last(verify(rows, workers=1, resume=kept)).done == len(rows)
    assert seen == [rows[3].row]
    changed = [replace(place, row=replace(place.row, version=8)) for place in rows]
    assert next(verify(changed, workers=1, resume=kept)).done == 0  # other rows than those that were right


def test_a_progress_file_is_no_other_file(directory: Path, tmp_path: Path) -> None:
    rows = read_stored_rows(Catalog(directory), [4], 3, 5)
    other = tmp_path / "notes"
    other.write_text("mine\n")
    with pytest.raises(FileFormatError, match="notes:1"):
        next(verify(rows, resume=other))
    assert other.read_text() == "mine\n"
    kept = tmp_path / "progress"
    last(verify(rows, workers=1, resume=kept))
    with pytest.raises(FileFormatError, match="all sources"):
        next(verify(rows, how=", from all sources", resume=kept))


@pytest.mark.parametrize(
    "args", [(), ("--all", "-d", 4), ("--sample", 0), ("-n", "4..x"), ("--all", "--catalog", "nowhere")]
)
def test_refusals(program: Run, args: tuple[object, ...]) -> None:
    status, out, err = program("catalog", "verify", *args)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1


@pytest.mark.dear
def test_a_fixed_sample_of_the_shipped_catalog_is_right() -> None:
    catalog = Catalog()
    rows = draw(read_stored_rows(catalog, catalog.degrees, 0, 512), 4, 4)
    assert faults(rows) == []


def test_python_says_what_the_command_says(directory: Path) -> None:
    wrong: list[str] = []
    result = verify_catalog(
        str(directory), degrees=[4], sample=5, seed=2, workers=1, on_fault=lambda one: wrong.append(str(one))
    )
    assert (result.ok, result.rows, wrong) == (True, 5, [])
    assert result.record() == {
        "rows": 5,
        "verified_before": 0,
        "faults": [],
        "audited": False,
        "planned": False,
        "sampled": 0,
    }
    assert "no faults" in repr(result)
    with pytest.raises(TopodesignError):
        verify_catalog(5)  # type: ignore[arg-type]
    with pytest.raises(TopodesignError):
        verify_catalog(directory, sample=0)
