"""Checks of catalog entries against the links of their specs."""

from __future__ import annotations

from topodesign.base import entry_points
from topodesign.base.cost import Basis, Cost
from topodesign.base.errors import DisconnectedError, TopodesignError
from topodesign.base.spec import Spec, parse
from topodesign.catalog.all_to_all_rows import Exchange
from topodesign.catalog.price import wrong_bounds, wrong_price
from topodesign.catalog.rows import VERSION, Row, describe_origin
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.evaluation import cheaper, dearer, price_both, price_both_deferred
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def check_row(row: Row, *, all_sources: bool = False) -> str | None:
    """Return the fault of a row rebuilt and priced from its links, or None."""
    try:
        wrong = _differences(row, all_sources)
        if (price := wrong_price(row)) is not None:
            wrong.append(price)
    except TopodesignError as error:
        return f"it cannot be rebuilt: {str(error).splitlines()[0]}"
    return "rebuilt it has " + ", ".join(wrong) if wrong else None


def _differences(row: Row, all_sources: bool) -> list[str]:
    spec = parse(row.spec)
    topology = build(spec)
    there = price(topology, all_sources=all_sources)
    back = there if topology.is_duplex else price(topology.transpose(), all_sources=all_sources)
    pairs = (
        ("spec", str(spec), row.spec),
        ("nodes", topology.nodes, row.nodes),
        ("degree", topology.degree, row.degree),
        ("wiring", "duplex" if topology.is_duplex else "simplex", row.wiring),
        ("found", describe_origin(spec), row.found),
    )
    wrong = [f"{name} {came_out}, not {said}" for name, came_out, said in pairs if came_out != said]
    wrong += _wrong_deferred(row, topology, there, back) if row.deferred else _wrong_prices(row, spec, there, back)
    if row.allgather.bandwidth > row.cost.bandwidth:
        wrong.append("an allgather that costs more than the reduce-scatter (take the transpose)")
    if not 1 <= row.version <= VERSION:
        wrong.append(f"version {row.version}, where there are versions 1 to {VERSION}")
    return wrong


def _wrong_prices(row: Row, spec: Spec, there: Cost, back: Cost) -> list[str]:
    """Return the difference of prices from links to a row's, within its basis."""
    pairs = (("bandwidth", there.bandwidth, row.cost.bandwidth), ("allgather", back.bandwidth, row.allgather.bandwidth))
    wrong = [] if there.steps == row.cost.steps else [f"steps {there.steps}, not {row.cost.steps}"]
    if row.basis is not Basis.BOUND:
        wrong += [f"{name} {came_out}, not {said}" for name, came_out, said in pairs if came_out != said]
    else:
        wrong += [f"{name} {came_out}, above {said}" for name, came_out, said in pairs if came_out > said]
    if row.basis is not Basis.LINKS:
        claim = _claim(spec)
        exact = claim is not None and claim[1] is Basis.THEOREM
        if claim is None or claim[0] != row.cost or exact != (row.basis is Basis.THEOREM):
            wrong.append(f"no {row.basis} that gives this price")
    return wrong


def _wrong_deferred(row: Row, topology: Topology, there: Cost, back: Cost) -> list[str]:
    """Return where SPFF or deferral costs more than the row says, or None.

    It may cost less: then schedules are found that are better than when the row was made.
    """
    again = tuple(map(cheaper, (there, back), price_both_deferred(topology)))
    pairs = (("bandwidth", again[0], row.cost), ("allgather", again[1], row.allgather))
    wrong = [] if again[0].steps == row.cost.steps else [f"steps {again[0].steps}, not {row.cost.steps}"]
    wrong += [
        f"{name} {now.bandwidth}, above {said.bandwidth}" for name, now, said in pairs if now.bandwidth > said.bandwidth
    ]
    if row.cost.bandwidth >= there.bandwidth and row.allgather.bandwidth >= back.bandwidth:
        wrong.append("prices by SPFF that are as low")
    return wrong


def _claim(spec: Spec) -> tuple[Cost, Basis] | None:
    """Return an expansion's closed form from its bases' links, or None.

    Rows of all other kinds must be priced by their links.
    """
    if describe_origin(spec) != "expansion" or spec.name not in entry_points.EXPANSIONS:
        return None
    args = (build(arg) if isinstance(arg, Spec) else arg for arg in spec.args)
    claim = entry_points.EXPANSIONS[spec.name].claim_by_links(args, lambda topology: dearer(*price_both(topology)))
    return None if claim is None else (claim.cost, claim.basis)


def wrong_exchange(one: Exchange, degree: int) -> str | None:
    """Return the fault of an all-to-all entry, rebuilt and repriced, or None."""
    try:
        topology = build(one.spec)
        found = topology.nodes, topology.degree, topology.is_duplex, diameter(topology)
        if found != (one.nodes, degree, one.duplex, one.steps):
            return f"N, d, duplex and steps {found}"
        return wrong_bounds(topology, one.all_to_all)
    except TopodesignError as error:
        return str(error)


def diameter(topology: Topology) -> int:
    """Return the largest distance, or raise DisconnectedError."""
    far = [distances(topology, source) for source in topology.representatives or range(topology.nodes)]
    if any((row < 0).any() for row in far):
        raise DisconnectedError("some nodes do not reach each other")
    return max(int(row.max()) for row in far)
