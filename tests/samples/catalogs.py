"""Small catalogs that several tests read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from topodesign.base.cost import Basis, Cost
from topodesign.catalog.files import write_rows
from topodesign.catalog.rows import VERSION, Row, describe_origin
from topodesign.search.finder import Finder

LAST = 40
DEGREES = (2, 4)

specs = st.from_regex(r"[a-z]{1,9}\([0-9]{1,4}(,[0-9]{1,4}){0,9}\)", fullmatch=True)


@st.composite
def any_row(draw: st.DrawFn, degree: int | None = None) -> Row:
    """A row whose spec means nothing."""
    steps = draw(st.integers(1, 60))
    allgather = draw(st.fractions(0, 9, max_denominator=4000))
    return Row(
        draw(st.integers(2, 3000)),
        draw(st.integers(1, 64)) if degree is None else degree,
        Cost(steps, allgather + draw(st.fractions(0, 9, max_denominator=4000))),
        Cost(steps, allgather),
        draw(st.booleans()),
        draw(st.sampled_from(["family", "lift"])),
        draw(st.sampled_from([Basis.LINKS, Basis.THEOREM, Basis.BOUND, Basis.DEFERRED])),
        draw(st.integers(1, 9)),
        draw(specs),
    )


_FINDER = Finder()


@cache
def finder_rows(nodes: int, degree: int) -> tuple[Row, ...]:
    """The frontiers of a size, of all topologies and of the duplex ones, as rows: found once for all tests."""
    candidates = [
        one
        for duplex in (False, True)
        if not (duplex and nodes * degree % 2)
        for one in _FINDER.frontier(nodes, degree, duplex=duplex)
    ]
    rows = (
        Row(nodes, degree, c.cost, c.allgather, c.duplex, describe_origin(c.spec), Basis.LINKS, VERSION, str(c.spec))
        for c in candidates
    )
    return tuple({row.key: row for row in rows}.values())


def write_catalog(directory: Path, sizes: Iterable[int] = range(3, LAST + 1)) -> Path:
    """Write what the finder knows without any search."""
    several = list(sizes)
    for degree in DEGREES:
        write_rows(directory, degree, [row for nodes in several for row in finder_rows(nodes, degree)])
    return directory
