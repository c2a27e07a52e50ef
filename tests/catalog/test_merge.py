"""Merging catalogs: nothing is lost, nothing that others beat stays, and damaged files leave nothing behind."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import CatalogError, FileFormatError, ParameterError
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange
from topodesign.catalog.files import default_directory, read_rows, write_rows
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.merge import merge_catalog
from topodesign.catalog.rows import Row, worth_keeping
from topodesign.catalog.sizes import NO_LIMIT

DEGREE = 4


def a_row(nodes: int, steps: int, factor: str, spec: str, *, duplex: bool = False, deferred: bool = False) -> Row:
    cost = Cost(steps, Fraction(factor))
    basis = Basis.DEFERRED if deferred else Basis.LINKS
    return Row(nodes, DEGREE, cost, cost, duplex, "family", basis, 1, spec)


def made(directory: Path, *rows: Row) -> Path:
    directory.mkdir()
    write_rows(directory, DEGREE, rows)
    return directory


def texts(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the shipped catalog, with its prices of all-to-all."""
    directory = tmp_path_factory.mktemp("catalogs") / "shipped"
    directory.mkdir()
    rows = read_rows(default_directory(), DEGREE, 3, 120)
    write_rows(directory, DEGREE, rows)
    keys = {row.price_key for row in rows}
    prices = dict(PRICES.lines(default_directory(), DEGREE, 3, 120))
    PRICES.write(directory, DEGREE, {key: bounds for key, bounds in prices.items() if key in keys}.items())
    return directory


def test_a_catalog_merged_with_itself_is_itself(shipped: Path, tmp_path: Path) -> None:
    (share, none) = merge_catalog([shipped, Catalog(shipped)], tmp_path / "merged")
    assert texts(tmp_path / "merged") == texts(shipped)
    assert share.kept == share.rows == none.rows
    assert none.kept == 0


@pytest.mark.parametrize("parts", [2, 5])
def test_parts_make_the_whole_whatever_their_order(shipped: Path, tmp_path: Path, parts: int) -> None:
    rows = read_rows(shipped, DEGREE)
    prices = dict(PRICES.lines(shipped, DEGREE, 0, NO_LIMIT))
    places = [made(tmp_path / str(part), *rows[part::parts]) for part in range(parts)]
    for part, place in enumerate(places):
        own = {row.price_key for row in rows[part::parts]}
        PRICES.write(place, DEGREE, {key: bounds for key, bounds in prices.items() if key in own}.items())
    for name, order in (("forth", places), ("back", places[::-1])):
        merge_catalog(order, tmp_path / name)
        assert texts(tmp_path / name) == texts(shipped)


def test_of_each_size_the_better_rows_stay(tmp_path: Path) -> None:
    old = made(tmp_path / "old", a_row(9, 3, "8/9", "torus(3,3)"), a_row(10, 2, "1", "old"))
    new = made(tmp_path / "new", a_row(9, 2, "8/9", "paley(9)", duplex=True), a_row(10, 3, "1", "new"))
    shares = merge_catalog([old, new], tmp_path / "both")
    kept = read_rows(tmp_path / "both", DEGREE)
    assert [row.spec for row in kept] == ["paley(9)", "old"]
    assert [(one.degree, one.rows, one.kept) for one in shares] == [(4, 2, 1), (4, 2, 1)]
    assert str(shares).splitlines()[0] == "2 rows of 1 degree"


def test_degrees_come_from_whoever_has_them(tmp_path: Path) -> None:
    first = made(tmp_path / "first", a_row(9, 2, "8/9", "paley(9)"))
    (tmp_path / "second").mkdir()
    write_rows(tmp_path / "second", 2, [replace(a_row(5, 2, "1", "ring(5)"), degree=2)])
    shares = merge_catalog([first, tmp_path / "second"], tmp_path / "both")
    assert [(one.degree, one.directory.name) for one in shares] == [(2, "second"), (4, "first")]


def test_prices_of_one_row_tighten_each_other_and_may_not_exclude_each_other(tmp_path: Path) -> None:
    row = a_row(9, 2, "8/9", "paley(9)")
    places = [made(tmp_path / name, row) for name in "ab"]
    for place, ends in zip(places, ((1, 3), (2, 4)), strict=True):
        PRICES.write(place, DEGREE, {row.price_key: Bounds(*map(Fraction, ends))}.items())
    merge_catalog(places, tmp_path / "both")
    assert dict(PRICES.lines(tmp_path / "both", DEGREE, 0, 9)) == {row.price_key: Bounds(Fraction(2), Fraction(3))}
    PRICES.write(places[0], DEGREE, {row.price_key: Bounds(Fraction(5), Fraction(6))}.items())
    with pytest.raises(CatalogError, match=r"of 9 nodes .*: 5 to 6 and 2 to 4"):
        merge_catalog(places, tmp_path / "neither")
    assert not (tmp_path / "neither").exists()


def test_a_deferred_row_keeps_the_price_of_a_row_that_is_gone(tmp_path: Path) -> None:
    spff, deferred = a_row(9, 3, "2", "torus(3,3)"), a_row(9, 3, "1", "torus(3,3)", deferred=True)
    old = made(tmp_path / "old", spff, deferred)
    PRICES.write(old, DEGREE, {spff.price_key: Bounds(Fraction(3), Fraction(3))}.items())
    better = made(tmp_path / "new", a_row(9, 3, "3/2", "other"))
    merge_catalog([old, better], tmp_path / "both")
    found = {row.spec: row.all_to_all for row in Catalog(tmp_path / "both").rows(DEGREE)}
    assert found == {"other": None, "torus(3,3)": Bounds(Fraction(3), Fraction(3))}


def test_what_is_kept_is_worth_keeping(shipped: Path) -> None:
    rows = [row for row in read_rows(shipped, DEGREE) if row.nodes == 100]
    assert worth_keeping(worth_keeping(rows)) == worth_keeping(rows)


@pytest.mark.parametrize("damage", ["rows", "prices"])
def test_nothing_is_written_if_a_file_is_damaged(shipped: Path, tmp_path: Path, damage: str) -> None:
    bad = made(tmp_path / "bad", a_row(9, 2, "8/9", "paley(9)"))
    path = bad / f"degree_{DEGREE:02}.tsv" if damage == "rows" else PRICES.path(bad, DEGREE)
    path.write_text("torn")
    with pytest.raises(CatalogError, match=path.name):
        merge_catalog([shipped, bad], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_what_cannot_be_merged_is_said(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no catalogs"):
        merge_catalog([], tmp_path / "merged")
    with pytest.raises(ParameterError, match="several"):
        merge_catalog(str(shipped), tmp_path / "merged")
    with pytest.raises(CatalogError, match="no catalog files"):
        merge_catalog([shipped, tmp_path], tmp_path / "merged")
    with pytest.raises(FileFormatError, match="already exists"):
        merge_catalog([shipped], shipped)


def test_topologies_for_all_to_all_alone_come_along(tmp_path: Path) -> None:
    def kept(steps: int, factor: str, spec: str) -> Exchange:
        return Exchange(9, False, steps, Bounds(Fraction(factor), Fraction(factor)), spec)

    best, beaten, quick = kept(3, "3/2", "kautz(2,2)"), kept(3, "5/3", "genkautz(2,9)"), kept(2, "2", "paley(9)")
    for name, several in (("one", [best]), ("other", [beaten, quick])):
        EXCHANGE.write(made(tmp_path / name, a_row(9, 3, "1", "paley(9)")), DEGREE, several)
    merge_catalog([tmp_path / "one", tmp_path / "other"], tmp_path / "both")
    assert list(EXCHANGE.lines(tmp_path / "both", DEGREE, 0, NO_LIMIT)) == [quick, best]
