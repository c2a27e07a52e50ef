"""What the catalog knows of a size or of a range of sizes, filtered and set against the bound."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from topodesign.base.arguments import as_ascending
from topodesign.base.claims import Among, fastest_of
from topodesign.base.cost import bound_in
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Several, Table, shortened
from topodesign.base.units import (
    Quantity,
    as_count,
    format_bandwidth,
    format_excess,
    format_size,
    format_time,
    read_number,
)
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.rows import Row, undominated
from topodesign.finder.find import rank_from_rows
from topodesign.finder.pareto import Pareto
from topodesign.finder.question import MAX_NODES, Objective, Question, check_question
from topodesign.search.close_sizes import better_size


@dataclass(frozen=True, repr=False)
class Known(Several[Pareto]):
    """The best known topologies of a size, or of several."""

    frontiers: tuple[Pareto, ...]  # one for each number of nodes that there is something of, ascending
    single: bool  # whether one size was asked for; the table then shows its frontier, else the fastest topology of each

    MEMBERS = "frontiers"

    def heading(self) -> str:
        """Return the question."""
        first = self.frontiers[0]
        if self.single:
            return first.heading()
        work, kind = first.workload, "duplex" if first.bidirectional else "simplex or duplex"
        return (
            f"degree {first.degree} ({kind}); alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per "
            f"node; allreduce of {format_size(work.sizes[0])}, of each size {fastest_of(Among.CATALOG)}"
        )

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        if self.single:
            return self.frontiers[0].record()
        return {"sizes": [one.record() for one in self.frontiers]}

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat row a topology, of all frontiers."""
        return [record for one in self.frontiers for record in one.to_records()]

    def table(self) -> Table:
        """Return the frontier of one size, or the fastest topology of each of several for the first size of data."""
        if self.single:
            return self.frontiers[0].table()
        size = format_size(self.frontiers[0].workload.sizes[0])
        words = ("cabling", "found", "topology")
        priced = any(one.best.all_to_all is not None for one in self.frontiers)
        return Table(
            self.heading(),
            ("nodes", "steps", "y", "y over bound", *("all-to-all y",) * priced, size, "over bound", *words),
            tuple(_fastest(one, priced) for one in self.frontiers),
            words=frozenset(words),
            spare=frozenset(("y over bound", "all-to-all y", "found")),
        )


def known_topologies(
    nodes: int | Iterable[int],
    degree: int,
    *,
    bidirectional: bool = False,
    alpha: Quantity = "10us",
    sizes: Quantity | Sequence[Quantity] = "1MiB",
    bandwidth: Quantity = "100Gbps",
    max_steps: int | None = None,
    within: Quantity | None = None,
    catalog: Catalog | str | Path | None = None,
) -> Known:
    """Look up the frontiers of a size or of a range of sizes.

    Parameters
    ----------
    nodes, degree
        N, or several that ascend, such as ``range(16, 65, 16)``, and d.
    bidirectional
        Only topologies that duplex cabling can wire.
    alpha, sizes, bandwidth
        As for :func:`topodesign.pareto`.
    max_steps
        Only topologies with at most so many steps.
    within
        Only topologies whose bandwidth factor is at most so much above the optimum (N-1)/N: 0.05 for 5%.
    catalog
        Where to look, or its directory; the shipped one by default.

    Raises
    ------
    InfeasibleError
        If the catalog has nothing there, or nothing so good.
    ParameterError
        If it has not this degree, or no such topology can exist.
    UnitError
        If a quantity cannot be read.
    CatalogError
        If a file is damaged.

    Examples
    --------
    >>> from topodesign import known_topologies
    >>> for one in known_topologies(range(104, 107), 4, sizes="100MiB"):
    ...     print(one.nodes, one.best.spec)
    104 cayley(metacyclic(13,8,5),12,13,42,85)
    105 cayley(metacyclic(35,3,11),2,50,58,66)
    106 bidirect(lift(successors(2,0,1,0,1),cyclic(53),21,1,25,18))
    """
    source, share = as_catalog(catalog), _share(within)
    objective = Objective.read(alpha=alpha, sizes=sizes, bandwidth=bandwidth)
    degree = as_count(degree, "degree", 1)
    asked = as_ascending("number of nodes", nodes)
    found = _frontiers(source, asked, degree, bidirectional)
    kept = [front for one in found if (front := _good_enough(one, max_steps, share))]
    if not kept:
        raise InfeasibleError(_nothing_left(found))
    single = len(asked) == 1
    known = [
        rank_from_rows(front, Question(front[0].nodes, degree, bidirectional, objective, source)) for front in kept
    ]
    if known[0].best.name is not None:
        version = source.version(degree)
        known = [replace(one, version=version) for one in known]
    fronts = {front[0].nodes: front for front in found}
    known = [
        replace(one, better=better_size(source, fronts[one.nodes], objective.work, duplex=bidirectional))
        for one in known
    ]
    return Known(tuple(known), single)


def _share(within: Quantity | None) -> Fraction | None:
    if within is None:
        return None
    try:
        share = read_number(within)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"within must be a share such as 0.05, not {within!r:.100}") from None
    if share < 0:
        raise ParameterError(f"within must not be below zero, as {within} is")
    return share


def _frontiers(catalog: Catalog, nodes: list[int], degree: int, duplex: bool) -> list[list[Row]]:
    """Return the frontiers of those N that the catalog has."""
    if catalog.degrees and degree not in catalog.degrees:
        raise ParameterError(
            f"the catalog has the degrees {', '.join(map(str, catalog.degrees))}, not {degree}; "
            f"search with: topodesign pareto -n {nodes[0]} -d {degree}"
        )
    wanted = set(nodes)
    rows = [row for row in catalog.rows(degree, nodes[0], nodes[-1]) if row.nodes in wanted]
    groups = itertools.groupby(rows, key=lambda row: row.nodes)
    fronts = [
        front for _, group in groups if (front := catalog.named(undominated(group, duplex=duplex), duplex=duplex))
    ]
    if not fronts:
        if len(nodes) == 1:
            check_question(nodes[0], degree, bidirectional=duplex, most=MAX_NODES)
        size = f"{nodes[0]} nodes" if len(nodes) == 1 else f"{nodes[0]} to {nodes[-1]} nodes"
        raise InfeasibleError(
            f"the catalog has no {'duplex ' if duplex else ''}topology of {size} and degree {degree}; "
            f"search with: topodesign pareto -n {nodes[0]} -d {degree}{' --duplex' if duplex else ''}"
        )
    return fronts


def _good_enough(front: list[Row], max_steps: int | None, within: Fraction | None) -> list[Row]:
    optimum = Fraction(front[0].nodes - 1, front[0].nodes)
    return [
        row
        for row in front
        if (max_steps is None or row.cost.steps <= max_steps)
        and (within is None or row.cost.bandwidth <= optimum * (1 + within))
    ]


def _nothing_left(fronts: list[list[Row]]) -> str:
    """Say what there is, where the filters leave nothing."""
    if len(fronts) > 1:
        return f"none of {sum(map(len, fronts))} topologies is so good; loosen --max-steps or --within"
    rows = ", ".join(
        f"{row.cost.steps} steps with y {float(row.cost.bandwidth * row.nodes / (row.nodes - 1) - 1):.1%} over optimum"
        for row in fronts[0]
    )
    return f"no row is so good; there are {rows}"


def _fastest(result: Pareto, priced: bool) -> tuple[str, ...]:
    best, bound = result.best, result.workload.fastest(result.bounds)[0]
    return (
        str(result.nodes),
        str(best.cost.steps),
        f"{float(best.mean.bandwidth):.4f}",
        format_excess(best.mean.bandwidth / bound_in(best.cost.steps, result.bounds).bandwidth),
        *(("" if best.all_to_all is None else best.all_to_all.words,) if priced else ()),
        format_time(best.allreduce[0]),
        format_excess(best.allreduce[0] / bound),
        best.cabling,
        best.found,
        shortened(best.label),
    )
