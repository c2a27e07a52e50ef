"""Short specs of rows of the catalog: each is a row of `frontier`, and files say the long one beside it."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from topodesign import (
    Catalog,
    build,
    evaluate,
    load_plan,
    load_wiring,
    pareto,
    plain_inventory,
    plan_wiring,
    save_plan,
    save_wiring,
    schedule,
)
from topodesign.base.errors import FileFormatError, ParameterError, SpecError
from topodesign.catalog.files import catalog_file, default_directory, file_check


@pytest.mark.parametrize("duplex", [False, True])
@pytest.mark.parametrize(("nodes", "degree"), [(12, 4), (24, 3), (40, 4), (100, 5)])
def test_they_name_the_rows_of_the_frontier_in_order(nodes: int, degree: int, duplex: bool) -> None:
    word = "catalog_duplex" if duplex else "catalog"
    rows = Catalog().frontier(nodes, degree, duplex=duplex)
    assert [row.name for row in rows] == [f"{word}({nodes},{degree},{place})" for place in range(1, len(rows) + 1)]
    for place, row in enumerate(rows, start=1):
        topology = build(row.name or "")
        assert topology == row.build()
        assert str(topology.spec) == row.spec
        assert Catalog().row(nodes, degree, place, duplex=duplex) == row
        assert topology.alias == f"{row.name} of catalog {Catalog().version(degree)}"
    answer = pareto(nodes, degree, bidirectional=duplex)
    assert [entry.name for entry in answer] == [row.name for row in rows]
    assert answer.record()["catalog_version"] == Catalog().version(degree)
    assert rows[-1].spec in str(answer)  # alone, or below the table beside the short one


def test_a_filter_leaves_names_as_they_are() -> None:
    whole = Catalog().frontier(200, 6)
    kept = pareto(200, 6, within=0.05)
    assert 0 < len(kept) < len(whole)
    names = {row.spec: row.name for row in whole}
    assert all(entry.name == names[str(entry.spec)] for entry in kept)


def test_the_version_is_that_of_the_file() -> None:
    data = catalog_file(default_directory(), 4).read_bytes()
    assert Catalog().version(4).endswith(f"{zlib.crc32(data):08x}")
    assert file_check(default_directory(), 4) == f"{zlib.crc32(data):08x}"
    assert Catalog().version(4) != Catalog().version(5)


def test_another_catalog_has_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = catalog_file(tmp_path, 4)
    other.write_bytes(catalog_file(default_directory(), 4).read_bytes())
    assert [row.name for row in Catalog(tmp_path).frontier(12, 4)] == [None]
    assert pareto(12, 4, catalog=tmp_path).best.name is None
    assert pareto(12, 4, catalog=tmp_path).version is None
    monkeypatch.setenv("TOPODESIGN_CATALOG", str(tmp_path))  # but the one that all commands look into has
    assert Catalog().frontier(12, 4)[0].name == "catalog(12,4,1)"
    with pytest.raises(SpecError, match="degree"):
        build("catalog(12,5,1)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("catalog(200,6,3)", r"has 1 \(3 steps\), 2 \(4 steps\); there is no 3"),
        ("catalog(200,6,0)", "there is no 0"),
        ("catalog(3000000,6,1)", "no topology of 3000000 nodes and degree 6"),
        ("catalog(200,99,1)", "degrees 2 to 16, not 99"),
        ("catalog(200,6)", r"write catalog\(N,d,k\)"),
        ("catalog(200,6,diamond())", r"write catalog\(N,d,k\)"),
        ("line(catalog_duplex(4,4,9))", "catalog"),
    ],
)
def test_rows_that_are_not_there(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        build(text)


def test_rows_are_refused_by_the_function_too() -> None:
    with pytest.raises(ParameterError):
        Catalog().row(200, 6, 3)


def test_files_say_the_long_spec_and_the_short_one_with_its_version(tmp_path: Path) -> None:
    version = Catalog().version(4)
    alias = f"catalog(12,4,1) of catalog {version}"
    plan = schedule("catalog(12,4,1)", "allgather")
    read = load_plan(save_plan(tmp_path / "plan.npz", plan))
    assert (read.spec, read.generator["alias"]) == ("circulant(12,2,3)", alias)
    assert "alias" not in schedule("circulant(12,2,3)", "allgather").generator
    wiring = plan_wiring("catalog(12,4,1)", plain_inventory(12, 4))
    save_wiring(wiring, tmp_path / "wiring.json")
    written = json.loads((tmp_path / "wiring.json").read_text())
    assert (written["spec"], written["alias"]) == ("circulant(12,2,3)", alias)
    again = load_wiring(tmp_path / "wiring.json")
    assert again == wiring
    assert again.topology.alias == alias == again.record()["alias"]
    assert alias in str(again)
    plain = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4))
    save_wiring(plain, tmp_path / "plain.json")
    assert "alias" not in json.loads((tmp_path / "plain.json").read_text())
    (tmp_path / "wrong.json").write_text(json.dumps(written | {"alias": 5}))
    with pytest.raises(FileFormatError, match="alias"):
        load_wiring(tmp_path / "wrong.json")


def test_evaluate_says_both() -> None:
    found = evaluate("catalog(12,4,1)")
    assert found.record()["spec"] == "circulant(12,2,3)"
    assert found.record()["alias"] == found.topology.alias
    assert "catalog(12,4,1)" in str(found)
    assert str(build("line(catalog(12,4,1))").spec) == "line(circulant(12,2,3))"
    assert build("line(catalog(12,4,1))").alias is None
