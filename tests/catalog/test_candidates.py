"""Candidates of a size: all rows of the catalog, and members of the families, each once."""

from __future__ import annotations

import pytest

from topodesign import Catalog
from topodesign.catalog.candidates import candidates


@pytest.mark.parametrize(("nodes", "degree"), [(24, 4), (20, 3), (30, 2)])
def test_rows_come_first_and_nothing_twice(nodes: int, degree: int) -> None:
    catalog = Catalog()
    found = list(candidates(nodes, degree, duplex=False, catalog=catalog))
    rows = catalog.rows(degree, nodes, nodes)
    assert [row for _, row in found[: len(rows)]] == rows
    assert all(row is None for _, row in found[len(rows) :])
    specs = [str(spec) for spec, _ in found]
    assert len(set(specs)) == len(specs) > len(rows)


def test_duplex_leaves_simplex_rows_out() -> None:
    found = [row for _, row in candidates(24, 4, duplex=True, catalog=Catalog()) if row is not None]
    assert found
    assert all(row.duplex for row in found)
