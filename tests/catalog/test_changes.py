"""Catalogs held against each other."""

from __future__ import annotations

from pathlib import Path

from topodesign import Catalog, diff_catalog
from topodesign.catalog.files import write_rows


def test_catalogs_that_differ_are_told_apart(tmp_path: Path) -> None:
    poor = tmp_path / "poor"
    poor.mkdir()
    last = {row.nodes: row for row in Catalog().rows(2, 3, 60)}  # of every size the one with the most steps
    write_rows(poor, 2, last.values())
    changes = diff_catalog(Catalog(), poor, degrees=[2], last=60)
    assert not changes.ok
    assert changes[0].worse
    assert "worse at N=" in str(changes)
    assert diff_catalog(poor, poor).ok
    assert "nowhere worse" in str(diff_catalog(poor, poor))
