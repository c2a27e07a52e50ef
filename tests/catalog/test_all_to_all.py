"""The column of all-to-all: kept beside the rows, gone on with, checked again, and refused where it was damaged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from topodesign import Catalog, all_to_all, pareto, price_catalog, verify_catalog
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.files import write_rows
from topodesign.catalog.price import price_row, wrong_price


@pytest.fixture
def mine(tmp_path: Path) -> Catalog:
    """Some rows of the shipped catalog, without prices."""
    write_rows(tmp_path, 4, Catalog().rows(4, 12, 16))
    return Catalog(tmp_path)


@pytest.mark.dear
def test_rows_are_priced_once_and_looked_up(mine: Catalog) -> None:
    plain = mine.rows(4)
    assert all(row.all_to_all is None for row in plain)
    done = price_catalog(mine, nodes=range(12, 15))
    assert done == {4: (len(mine.rows(4, 12, 14)),) * 2}
    before = PRICES.path(mine.directory, 4).read_bytes()
    assert price_catalog(mine, nodes=range(12, 15)) == done
    assert PRICES.path(mine.directory, 4).read_bytes() == before
    assert price_catalog(mine)[4] == (len(plain), len(plain))
    assert [row.line for row in mine.rows(4)] == [row.line for row in plain]
    for row in mine.rows(4):
        assert row.all_to_all == price_row(row)
        assert wrong_price(row) is None
    assert verify_catalog(mine, nodes=range(12, 17), workers=1).ok
    known = pareto(12, 4, catalog=mine)
    assert "all-to-all y" in str(known)
    first = known.record()["topologies"][0]
    assert Fraction(first["all_to_all"]["bandwidth"]) == all_to_all(first["spec"]).bandwidth


def test_no_time_is_no_prices(mine: Catalog) -> None:
    assert price_catalog(mine, seconds=0)[4][0] <= 1
    with pytest.raises(ParameterError):
        price_catalog(mine, seconds=-1)


def test_wrong_prices_are_found(mine: Catalog) -> None:
    row = mine.rows(4, 12, 12)[0]
    right = price_row(row)
    assert right is not None
    for wrong in (Bounds(right.lower, right.upper + 1), Bounds(right.lower / 2, right.upper / 2)):
        assert wrong_price(replace(row, all_to_all=wrong)) is not None
    PRICES.write(mine.directory, 4, {row.price_key: Bounds(Fraction(1, 2), Fraction(1, 2))}.items())
    report = verify_catalog(mine, nodes=range(12, 13), workers=1)
    assert len(report.faults) == 1
    assert "all-to-all" in str(report.faults[0])


def test_approximate_prices_agree_where_they_overlap() -> None:
    row = next(row for row in Catalog().rows(4, 150, 200) if row.found == "annealed")
    found = price_row(row)
    assert found is not None
    assert not found.exact
    assert found.lower < found.upper <= found.lower * Fraction(102, 100)
    assert wrong_price(replace(row, all_to_all=Bounds(found.lower, found.lower + Fraction(1, 100)))) is None
    assert wrong_price(replace(row, all_to_all=Bounds(found.lower / 2, found.lower * Fraction(99, 100)))) is not None


@pytest.mark.parametrize("damage", ["cut", "edited", "header", "binary"])
def test_a_damaged_file_is_an_error_that_says_where(mine: Catalog, damage: str) -> None:
    price_catalog(mine)
    path = PRICES.path(mine.directory, 4)
    text = path.read_text()
    if damage == "binary":
        path.write_bytes(b"\xff\xfe")
    elif damage == "cut":
        path.write_text(text[: len(text) // 2])
    elif damage == "header":
        path.write_text("x" + text)
    else:
        path.write_text(text.replace("12\t", "13\t", 1))
    with pytest.raises(CatalogError, match=path.name):
        dict(PRICES.lines(mine.directory, 4, 0, 100))
