"""Rows of the catalog that ``schedule`` undercuts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from topodesign.base.cost import Cost
from topodesign.base.errors import TopodesignError
from topodesign.catalog.audit import Audited
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.rows import Row
from topodesign.catalog.verify import Fault, Verification, Wanted, collect, verify
from topodesign.pricing.deferral import why_not
from topodesign.pricing.evaluation import deferred_both
from topodesign.schedulers.price import deferred_in_catalog, price_plans, quick_work
from topodesign.topology.topology import Topology

_Size = tuple[int, int]  # ports and nodes
_Known = Mapping[_Size, tuple[Row, ...]]


def find_undercut_rows(
    catalog: Catalog | str | Path | None = None,
    *,
    degrees: Iterable[int] | None = None,
    nodes: range | None = None,
    sample: int | None = None,
    seed: int = 0,
    resume: Path | None = None,
    workers: int | None = None,
    on_fault: Callable[[Fault], None] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Verification:
    """Find rows of a catalog with a plan that is cheaper than every row of their size.

    A row is compared with the plans that :func:`topodesign.schedule` knows of it without being asked for more effort:
    shortest paths, deferred, stored and lifted ones. Deferred plans are made again, also where the row has some. A
    fault is a plan of which no row of the size takes at most as many steps and at most its bandwidth factor, among
    duplex rows where the topology is one. Rows at the lower bound are not built.

    Parameters and errors are those of :func:`topodesign.verify_catalog`.

    Examples
    --------
    >>> from topodesign import find_undercut_rows
    >>> find_undercut_rows(degrees=[2], nodes=range(3, 20), sample=5)
    <Verification: 5 rows compared with plans: no fault(s)>
    """
    source = as_catalog(catalog)
    every, some = Wanted(degrees, nodes, sample, seed).rows_of(source)
    sizes = {(place.row.degree, place.row.nodes) for place in some}
    known: dict[_Size, list[Row]] = defaultdict(list)
    for place in every:
        size = place.row.degree, place.row.nodes
        if size in sizes:
            known[size].append(place.row)
    check = partial(compare_with_plans, known={size: tuple(rows) for size, rows in known.items()})
    states = verify(some, check, how=", by plans", resume=resume, workers=workers)
    return replace(collect(states, on_fault, progress), planned=True)


def compare_with_plans(row: Row, known: _Known) -> Audited:
    """Return which plan of a row's topology no row of its size matches, if any."""
    if row.mean.bandwidth == Fraction(row.nodes - 1, row.nodes):
        return Audited(None)
    rows = known[row.degree, row.nodes]
    try:
        topology = row.build()
        plans = [*_mean_costs(topology)]
    except TopodesignError as error:
        return Audited(f"it cannot be rebuilt: {str(error).splitlines()[0]}")
    for method, cost in plans:
        among = [other.mean for other in rows if other.duplex or not topology.is_duplex]
        if not any(mean.steps <= cost.steps and mean.bandwidth <= cost.bandwidth for mean in among):
            words = (
                f"schedule makes a plan of {cost.steps} steps with a bandwidth factor of {cost.bandwidth} ({method})"
            )
            return Audited(f"{words}, which no row of this size has")
    return Audited(None)


def _mean_costs(topology: Topology) -> Iterable[tuple[str, Cost]]:
    """Yield the mean prices of both halves of an allreduce by the plans known, with their methods."""
    prices = price_plans(topology)
    for methods, (there, back) in prices.ways:
        yield " and ".join(methods), there.averaged(back)
    most = quick_work(topology)  # what the catalog knows was not made again for the prices
    if deferred_in_catalog(topology) is not None and why_not(topology, prices.cost.steps, most) is None:
        there, back = deferred_both(topology, most=most)
        yield "deferred", there.averaged(back)
