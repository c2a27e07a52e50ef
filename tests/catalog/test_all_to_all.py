"""The column of all-to-all: kept beside the rows, gone on with, checked again, and refused where it was damaged."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.samples.ranked import rank
from topodesign import Catalog, all_to_all, pareto, price_catalog, verify_catalog
from topodesign.base.cost import Cost, least_steps, moore_distances
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.catalog.all_to_all import PRICES, Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange, unbeaten
from topodesign.catalog.files import write_rows
from topodesign.catalog.price import price_row, wrong_price
from topodesign.catalog.quality import STANDARD, exchange_quality
from topodesign.cli.main import run


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
    assert "all-to-all factor" in str(known)
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


# -- What is kept for all-to-all: read as it was written, unbeaten, and refused where it was damaged


EXACT = Bounds(Fraction(7, 4), Fraction(7, 4))
KEPT = [Exchange(n, n % 2 == 0, 3, EXACT, f"circulant({n},1,2)") for n in range(9, 15)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert EXCHANGE.known(tmp_path, 4, 0, 100) == []
    with pytest.raises(CatalogError):
        list(EXCHANGE.lines(tmp_path, 4, 0, 100))
    EXCHANGE.write(tmp_path, 4, reversed(KEPT))
    assert list(EXCHANGE.lines(tmp_path, 4, 0, 100)) == EXCHANGE.known(tmp_path, 4, 0, 100) == KEPT
    assert list(EXCHANGE.lines(tmp_path, 4, 10, 11)) == KEPT[1:3]


def test_of_one_size_what_no_other_beats_is_kept() -> None:
    one = KEPT[0]
    less, longer = Bounds(Fraction(3, 2), Fraction(3, 2)), replace(one, steps=4, spec="a")
    better = replace(longer, all_to_all=less, spec="b")
    assert unbeaten([longer, better, one]) == [one, better]
    duplex = replace(longer, duplex=True, spec="c")
    assert unbeaten([duplex, better, one]) == [one, better, duplex]


@pytest.mark.parametrize("damage", ["cut", "edited", "header", "binary", "wiring", "cells"])
def test_a_damaged_file_is_an_error_that_says_where_of_exchange(tmp_path: Path, damage: str) -> None:
    path = EXCHANGE.write(tmp_path, 4, KEPT)
    assert path == EXCHANGE.path(tmp_path, 4)
    text = path.read_text()
    changed = {
        "binary": "\x00\x01",
        "cut": text[: len(text) // 2],
        "header": "x" + text,
        "edited": text.replace("circulant(9", "circulant(8"),
        "wiring": text.replace("simplex", "both"),
        "cells": text.replace("simplex\t", ""),
    }
    path.write_text(changed[damage])
    with pytest.raises(CatalogError, match=path.name):
        list(EXCHANGE.lines(tmp_path, 4, 0, 100))


# -- All-to-all beside its bound: by definition, from the rows and what is kept, and what the command says of it


FIRST, LAST, DEGREE = 30, 31, 4


@pytest.mark.dear
@pytest.mark.parametrize("duplex", [False, True])
def test_quality_of_all_to_all_by_definition(duplex: bool) -> None:
    (judged,) = [one for one in Catalog().exchange_quality([DEGREE], FIRST, LAST) if one.duplex == duplex]
    assert judged.sizes == LAST - FIRST + 1
    for size, ratio in zip(STANDARD.sizes, judged.ratios, strict=True):
        found = {}
        for nodes in range(FIRST, LAST + 1):
            steps, y = least_steps(nodes, DEGREE, duplex=duplex).steps, moore_distances(nodes, DEGREE, duplex=duplex)
            bound = Cost(steps, y).runtime(STANDARD.alpha, size, STANDARD.bandwidth)
            best = rank(nodes, DEGREE, bidirectional=duplex, sizes=int(size)).best
            found[nodes] = best.times[0] / bound
        assert ratio.worst == max(found.values()) == found[ratio.worst_nodes]
        assert ratio.mean == pytest.approx(float(sum(found.values()) / len(found)), abs=1e-12)
        if size == STANDARD.sizes[0]:
            assert judged.share == Fraction(sum(one == 1 for one in found.values()), len(found))


def test_nothing_is_judged_where_there_is_nothing(tmp_path: Path) -> None:
    assert exchange_quality(4, []) is None
    assert not Catalog().exchange_quality([4], 70000, 70001)
    with pytest.raises(CatalogError):
        Catalog(tmp_path).exchange_quality()


def test_the_command_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["catalog", "status", "--compare-bound", "--collective", "all-to-all", "-d", "3", "-n", "5..40"]
    assert run([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["exchange"] == Catalog().exchange_quality([3], 5, 40).to_records()
    assert run(asked) == 0
    assert "best all-to-all over the bound by distances" in capsys.readouterr().out
    assert run([*asked[:2], *asked[3:]]) == 2
    assert "--compare-bound" in capsys.readouterr().err
