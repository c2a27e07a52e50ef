"""Catalog verification by links, audit or plans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path

from topodesign.base.arguments import as_choice
from topodesign.base.cost import Cost
from topodesign.base.errors import TopodesignError
from topodesign.base.progress import tell
from topodesign.base.units import as_count
from topodesign.catalog.audit import AuditedRow, audit_exchange, audit_row
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.row_check import wrong_exchange
from topodesign.catalog.rows import Row
from topodesign.catalog.verify import (
    By,
    Fault,
    Verification,
    draw,
    find_misplaced,
    read_stored_exchanges,
    read_stored_rows,
    rebuild_row,
    verify,
)
from topodesign.pricing.deferral import explain_no_deferral
from topodesign.pricing.evaluation import price_both_deferred
from topodesign.schedulers.price import find_deferred_costs, price_plans, quick_work
from topodesign.topology.topology import Topology

_Size = tuple[int, int]  # ports and nodes
_Known = Mapping[_Size, tuple[Row, ...]]
_HOW: dict[By, str] = {"links": "", "sources": ", from all sources", "audit": ", by audit", "plans": ", by plans"}
"""The ways to verify, with what the first line of a file of right rows says of each."""


def verify_catalog(
    catalog: Catalog | str | Path | None = None,
    *,
    by: By = "links",
    degrees: Iterable[int] | None = None,
    nodes: range | None = None,
    sample: int | None = None,
    seed: int = 0,
    resume: Path | None = None,
    workers: int | None = None,
    on_fault: Callable[[Fault], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Verification:
    """Verify catalog rows, and the all-to-all rows unless sampled.

    Parameters
    ----------
    catalog
        Which, or its directory; the shipped one by default.
    by
        ``links``: rows are rebuilt from their specs and priced from their links again; ``sources``: from every node,
        whatever symmetry their construction proves. ``audit``: by :mod:`topodesign.catalog.audit`, which shares nothing
        with what makes rows; flows and prices of links prove what all-to-all takes. ``plans``: a row is wrong if
        :func:`topodesign.schedule` has a plan of its topology that is cheaper than every row of the size, among duplex
        rows where the topology is one. Deferred plans are made again, and rows at the lower bound are not built.
    degrees, nodes
        Only these degrees, and only a range of N.
    sample, seed
        Only so many rows, drawn at random; all by default, which takes hours for the shipped catalog.
    resume, workers
        File that keeps which rows are right, and how many processes; as for :func:`topodesign.catalog.verify.verify`.
    on_fault
        Called for every fault as it is found.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    CatalogError, FileFormatError
        If a file is missing, truncated or edited, or ``resume`` is not such a file.

    Examples
    --------
    >>> from topodesign import verify_catalog
    >>> verify_catalog(degrees=[2], nodes=range(3, 20), sample=5)
    <Verification: 5 rows rebuilt and priced: no faults>
    >>> verify_catalog(by="audit", degrees=[2], nodes=range(3, 20), sample=5)
    <Verification: 5 rows audited: no faults>
    """
    as_choice("by", by, _HOW)
    source = as_catalog(catalog)
    every = read_stored_rows(source, source.select_degrees(degrees), *((nodes[0], nodes[-1]) if nodes else ()))
    some = every if sample is None else draw(every, as_count(sample, "sample", 1), as_count(seed, "seed", 0))
    faults: list[Fault] = []
    kept = 0
    check: Callable[[Row], AuditedRow]
    if by == "plans":
        sizes = {(place.row.degree, place.row.nodes) for place in some}
        known: dict[_Size, list[Row]] = defaultdict(list)
        for place in every:
            if (size := (place.row.degree, place.row.nodes)) in sizes:
                known[size].append(place.row)
        check = partial(compare_with_plans, known={size: tuple(rows) for size, rows in known.items()})
    else:
        check = audit_row if by == "audit" else partial(rebuild_row, all_sources=by == "sources")
        wrong = audit_exchange if by == "audit" else wrong_exchange
        more = read_stored_exchanges(source, source.select_degrees(degrees), nodes) if sample is None else []
        faults, kept = find_misplaced(every), len(more)
        faults += [Fault(one, why) for degree, one in more if (why := wrong(one.row, degree)) is not None]
    told = (lambda _: None) if on_fault is None else on_fault
    for fault in faults:
        told(fault)
    before: int | None = None
    sampled = 0
    for state in verify(some, check, how=_HOW[by], resume=resume, workers=workers):
        before = state.done if before is None else before
        sampled += state.sampled
        tell(progress, state.share)
        for fault in state.faults:
            faults.append(fault)
            told(fault)
    return Verification(len(some) + kept, before or 0, tuple(faults), by, sampled)


def compare_with_plans(row: Row, known: _Known) -> AuditedRow:
    """Check a row against the plans of its topology.

    A plan that no row of its size matches is a fault.
    """
    if row.mean.bandwidth == Fraction(row.nodes - 1, row.nodes):
        return AuditedRow(None)
    rows = known[row.degree, row.nodes]
    try:
        topology = row.build()
        plans = [*_mean_costs(topology)]
    except TopodesignError as error:
        return AuditedRow(f"it cannot be rebuilt: {str(error).splitlines()[0]}")
    for method, cost in plans:
        among = [other.mean for other in rows if other.duplex or not topology.is_duplex]
        if not any(mean.steps <= cost.steps and mean.bandwidth <= cost.bandwidth for mean in among):
            words = (
                f"schedule makes a plan of {cost.steps} steps with a bandwidth factor of {cost.bandwidth} ({method})"
            )
            return AuditedRow(f"{words}, which no row of this size has")
    return AuditedRow(None)


def _mean_costs(topology: Topology) -> Iterable[tuple[str, Cost]]:
    """Yield the mean cost of each known plan, with its methods."""
    prices = price_plans(topology)
    for methods, (there, back) in prices.ways:
        yield " and ".join(methods), there.average_with(back)
    most = quick_work(topology)  # what the catalog knows was not made again for the prices
    if find_deferred_costs(topology) is not None and explain_no_deferral(topology, prices.cost.steps, most) is None:
        there, back = price_both_deferred(topology, most=most)
        yield "deferred", there.average_with(back)
