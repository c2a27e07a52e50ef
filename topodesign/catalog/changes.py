"""Comparison of two catalogs: gains, and that nothing is worse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from topodesign.base.declared import key
from topodesign.base.errors import CatalogError, ParameterError
from topodesign.base.records import Result, ResultList, Table
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.quality import least_runtime, runtime
from topodesign.catalog.rows import Row, select_frontier
from topodesign.catalog.sizes import NO_LIMIT

_SHOWN = 20  # sizes that are listed at most


@dataclass(frozen=True, repr=False)
class Change(Result):
    """What became of a degree's topologies from one catalog to another."""

    degree: int  # ports of a node
    duplex: bool  # whether it is about duplex topologies only
    sizes: int  # how many N either has a topology of
    better: tuple[int, ...]  # N at which the new one has a topology that none of the old one is as good as
    worse: tuple[int, ...]  # N at which it is the other way round
    before: float  # mean ratio of the best allreduce of 1 MiB to the bound, in the old one
    after: float  # the same in the new one

    KEYS = (
        "degree duplex sizes better=len(better) worse=len(worse)",
        key("worse_nodes", "Which these are.", kind=str, value=lambda one: " ".join(map(str, one.worse))),
        "mean_before=before mean_after=after",
    )


class Changes(ResultList[Change]):
    """What became of all degrees, a line per degree and cabling."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether the new catalog is nowhere worse."""
        return not any(one.worse for one in self)

    def table(self) -> Table:
        """Return the counts and the mean ratios."""
        rows = tuple(
            (
                *map(str, (one.degree, one.sizes, len(one.better), len(one.worse))),
                f"{one.before:.4f}",
                f"{one.after:.4f}",
                "duplex" if one.duplex else "any",
            )
            for one in self
        )
        worse = [f"N={nodes} d={one.degree}" for one in self for nodes in one.worse]
        more = f" and {len(worse) - _SHOWN} more" if len(worse) > _SHOWN else ""
        return Table(
            "mean of the best allreduce of 1MiB over the lower bound; alpha 10us, 100Gbps per node",
            ("degree", "sizes", "better", "worse", "before", "after", "cabling"),
            rows,
            words=frozenset(("cabling",)),
            footnote=f"worse at {', '.join(worse[:_SHOWN])}{more}" if worse else "nowhere worse",
        )


def diff_catalog(
    old: Catalog | str | Path,
    new: Catalog | str | Path | None = None,
    *,
    degrees: Iterable[int] | None = None,
    first: int = 0,
    last: int = NO_LIMIT,
) -> Changes:
    """Compare a catalog with another one, size by size and cost by cost.

    Parameters
    ----------
    old, new
        Catalogs or their directories; the new one is the shipped one by default.
    degrees
        Only these; by default all that both have.
    first, last
        Range of N.

    Raises
    ------
    CatalogError
        If a file is missing, truncated or edited, or no degree has one in both.
    ParameterError
        If the old one is no catalog and no directory.

    Examples
    --------
    >>> from topodesign import Catalog, diff_catalog
    >>> diff_catalog(Catalog(), degrees=[2], last=64).ok
    True
    """
    if not isinstance(old, Catalog | str | Path):
        raise ParameterError(f"the old catalog is one or its directory, not {old!r:.60}")
    before, after = as_catalog(old), as_catalog(new)
    both = [degree for degree in before.degrees if degree in after.degrees]
    if not both:
        raise CatalogError(f"no degree has a file of rows in both {before.directory} and {after.directory}")
    changes = Changes()
    for degree in both if degrees is None else degrees:
        rows = [_by_nodes(one.rows(degree, first, last)) for one in (before, after)]
        for duplex in (False, True):
            fronts = [{n: select_frontier(some, duplex=duplex) for n, some in one.items()} for one in rows]
            changes.append(_change(degree, duplex, *({n: some for n, some in one.items() if some} for one in fronts)))
    return changes


def _by_nodes(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.nodes, []).append(row)
    return found


def _change(degree: int, duplex: bool, old: dict[int, list[Row]], new: dict[int, list[Row]]) -> Change:
    sizes = sorted({*old, *new})
    both = [n for n in sizes if n in old and n in new]
    means = [
        math.fsum(float(_best(one[n]) / least_runtime(n, degree, duplex=duplex)) for n in both) / max(1, len(both))
        for one in (old, new)
    ]
    better = tuple(n for n in sizes if not _covers(old.get(n, []), new.get(n, [])))
    worse = tuple(n for n in sizes if not _covers(new.get(n, []), old.get(n, [])))
    return Change(degree, duplex, len(sizes), better, worse, *means)


def _best(front: Sequence[Row]) -> Fraction:
    return min(runtime(row.mean) for row in front)


def _covers(front: Sequence[Row], others: Sequence[Row]) -> bool:
    """Return whether a frontier matches each of some topologies."""
    return all(any(row.mean.dominates(other.mean) for row in front) for other in others)
