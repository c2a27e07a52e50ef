"""Cost of a topology by the best known plans.

Commands, rows of the catalog and Python ask :func:`price_plans` alone, and ``schedule`` makes the very plans that it
prices. Known are schedules over shortest paths (SPFF), deferred ones, those that were found by a search and shipped, of
expansions those lifted from their bases, and what the catalog says of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from topodesign.base import entry_points
from topodesign.base.cost import Cost
from topodesign.base.dominance import find_unbeaten
from topodesign.base.errors import CatalogError, TooLargeError, TopologyError
from topodesign.base.progress import Progress, part
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER, Collective
from topodesign.plans.measure import cost_of
from topodesign.pricing.all_to_all import AllToAll, all_to_all
from topodesign.pricing.deferral import explain_no_deferral, in_lowest_terms
from topodesign.pricing.efforts import Effort
from topodesign.pricing.evaluation import dearer, price_both, price_both_deferred
from topodesign.pricing.workload import Workload
from topodesign.solve.flows.potentials import GAP
from topodesign.topology.topology import Topology

_QUICK_WORK = 2**27
"""Work, times ports, of the deferred schedules that are looked for unasked, in both directions: some two seconds."""
_MAX_LIFTED = 128  # nodes up to which schedules of expansions are lifted to see what they cost


class PlanPrice(NamedTuple):
    """Available reduce-scatter or allgather plan with its cost.

    * ``method``: what makes it, as ``--algorithm`` names it.
    """

    method: str
    cost: Cost


@dataclass(frozen=True)
class PlanPrices:
    """Costs of both phases of an allreduce on a topology.

    * ``reduce_scatter``, ``allgather``: prices of its best SPFF reduce-scatter and allgather: as many steps, the
      diameter, but the bandwidth factors may differ where the topology is not isomorphic to its transpose.
    * ``deferred_reduce_scatter``, ``deferred_allgather``: prices of the best deferred schedules that are known, in as
      many steps, or two where SPFF takes one; of another schedule in as many steps where that is cheaper, as
      :attr:`methods` tells. None where they were not looked for.
    * ``plans``: for the reduce-scatter and for the allgather all plans known that are worth making, the one with the
      fewest steps first, each of the others with more steps and a smaller bandwidth factor.
    """

    reduce_scatter: Cost
    allgather: Cost
    deferred_reduce_scatter: Cost | None
    deferred_allgather: Cost | None
    plans: tuple[tuple[PlanPrice, ...], tuple[PlanPrice, ...]]

    @property
    def spff_cost(self) -> Cost:
        """SPFF cost of the more expensive collective, valid for both."""
        return dearer(self.reduce_scatter, self.allgather)

    @property
    def cost(self) -> Cost:
        """Cost of the best plans in the fewest steps, the mean of both collectives."""
        there, back = self.cheapest
        return there.average_with(back)

    @property
    def cheapest(self) -> tuple[Cost, Cost]:
        """Costs of the cheapest minimum-step reduce-scatter and allgather."""
        there, back = self.plans
        return there[0].cost, back[0].cost

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods of :attr:`cheapest`, such as ``spff``."""
        return tuple(dict.fromkeys(plans[0].method for plans in self.plans))

    @property
    def longer(self) -> tuple[Cost, Cost] | None:
        """Deferred costs with a step more than SPFF, or None."""
        there, back = self.deferred_reduce_scatter, self.deferred_allgather
        if there is None or back is None or there.steps == self.reduce_scatter.steps == back.steps:
            return None
        return there, back

    @property
    def ways(self) -> tuple[tuple[tuple[str, ...], tuple[Cost, Cost]], ...]:
        """Methods and costs of an allreduce, minimum steps first."""
        fewest = self.methods, self.cheapest
        return (fewest,) if self.longer is None else (fewest, (("deferred",), self.longer))

    def allreduce_times(self, work: Workload) -> tuple[Fraction, ...]:
        """Return seconds of the cheapest reduce-scatter plus allgather, for each size."""
        return tuple(map(min, zip(*(work.allreduce(*pair) for _, pair in self.ways), strict=True)))


def price_plans(
    topology: Topology, deferred: bool | None = None, *, all_sources: bool = False, progress: Progress | None = None
) -> PlanPrices:
    """Return costs of the best known reduce-scatter and allgather.

    Parameters
    ----------
    topology
        A strongly connected topology without switches.
    deferred
        Whether to look for deferred schedules; None for where SPFF leaves something to gain and that takes some two
        seconds at most. How much is looked at is counted, not timed, so that the answer is the same on every machine.
    all_sources
        Look at every node even if the topology's construction proves that some are enough.
    progress
        Called now and then with the share of the work that is done.

    Raises
    ------
    DisconnectedError, TopologyError
        As :func:`topodesign.pricing.closed_form.price`.
    TooLargeError
        If ``deferred`` is given for a topology that is too large for it.
    """
    spff = price_both(topology, all_sources=all_sources, progress=part(progress, 0, 0.5))
    least = Fraction(topology.nodes - 1, topology.nodes)
    gain = dearer(*spff).bandwidth > least
    later = _look_for_deferred(topology, spff, deferred, part(progress, 0.5, 1)) if gain or deferred else None
    halves = []
    for half, (collective, cost) in enumerate(zip((REDUCE_SCATTER, ALLGATHER), spff, strict=True)):
        known = [PlanPrice("spff", cost)]
        if later is not None:
            known.append(PlanPrice("deferred", later[half]))
        if cost.bandwidth > least:
            known += _iterate_plans(topology, collective)
        halves.append(tuple(find_unbeaten(known, lambda plan: (plan.cost.steps, plan.cost.bandwidth))))
    there, back = halves
    if later is None:
        return PlanPrices(*spff, None, None, (there, back))
    deferred_there, deferred_back = (
        min(cost, *(plan.cost for plan in plans if plan.cost.steps == cost.steps), key=lambda one: one.bandwidth)
        for cost, plans in zip(later, halves, strict=True)
    )
    return PlanPrices(*spff, deferred_there, deferred_back, (there, back))


def quick_work(topology: Topology) -> int:
    """Return the default work limit of a deferred schedule."""
    ports = in_lowest_terms(topology)[1].degree
    return _QUICK_WORK // (ports * (1 if topology.is_duplex else 2))


def price_all_to_all(
    topology: Topology, *, effort: Effort = "quick", gap: Fraction | float | str = GAP, progress: Progress | None = None
) -> AllToAll:
    """Return the all-to-all cost; ``quick`` uses catalog values if available.

    A row that is priced exactly is priced again where that is quick, for the flow that proves it. Parameters and errors
    are those of :func:`topodesign.all_to_all`.
    """
    known = _find_bounds(topology) if effort == "quick" else None
    if known is None or known[0] == known[1]:
        found = all_to_all(topology, effort=effort, gap=gap, progress=progress)
        if known is None or found.exact:
            return found
    else:
        found = all_to_all(topology, effort="bounds", progress=progress)
    lower, upper = known
    return replace(found, lower=lower, upper=upper, method="looked up in the catalog", flow=None)


def _find_bounds(topology: Topology) -> tuple[Fraction, Fraction] | None:
    """Return the all-to-all bounds of a topology in the catalog."""
    rows = _find_rows(topology)
    known = [row.all_to_all for row in rows if row.all_to_all is not None]
    if not known and topology.spec is not None:
        catalog = entry_points.load("catalog.lookup:Catalog")()
        if topology.degree in catalog.degrees:
            size = topology.degree, topology.nodes, topology.nodes
            kept = entry_points.load("catalog.all_to_all_rows:EXCHANGE").known(catalog.directory, *size)
            known = [one.all_to_all for one in kept if one.spec == str(topology.spec)]
    return (known[0].lower, known[0].upper) if known else None


def _find_rows(topology: Topology) -> list[Any]:
    """Return the catalog entries of a topology or its transpose."""
    if topology.spec is None:
        return []
    catalog = entry_points.load("catalog.lookup:Catalog")()
    text = str(topology.spec)
    plain = text.removeprefix("transpose(").removesuffix(")") if text.startswith("transpose(") else text
    try:
        size = topology.degree, topology.nodes, topology.nodes
        rows = catalog.rows(*size) if topology.degree in catalog.degrees else []
    except CatalogError:
        return []
    return [row for row in rows if row.either_way == plain]


def find_deferred_costs(topology: Topology) -> tuple[Cost, Cost] | None:
    """Return the catalog's deferred reduce-scatter and allgather costs, or None."""
    known = [row for row in _find_rows(topology) if row.deferred]
    if not known:
        return None
    row = min(known, key=lambda one: one.mean.bandwidth)
    return (row.cost, row.allgather) if row.spec == str(topology.spec) else (row.allgather, row.cost)


def _look_for_deferred(
    topology: Topology, spff: tuple[Cost, Cost], asked: bool | None, progress: Progress | None
) -> tuple[Cost, Cost] | None:
    """Return deferred costs, found or from the catalog, or None."""
    if asked is False:
        return None
    known, most = find_deferred_costs(topology), None if asked else quick_work(topology)
    if not asked and (known is not None or explain_no_deferral(topology, spff[0].steps, most) is not None):
        return known
    try:
        return price_both_deferred(topology, progress, most=most)
    except (TooLargeError, TopologyError):  # such as for too many links of a node
        if asked:
            raise
        return known


def _iterate_plans(topology: Topology, collective: Collective) -> Iterator[PlanPrice]:
    """Yield the stored and the lifted plan of a phase."""
    from topodesign.schedulers.lift import lift_schedule  # noqa: PLC0415  fabrics have no such plans
    from topodesign.schedulers.stored import recognise  # noqa: PLC0415  as above

    stored = recognise(topology, collective)
    if stored is not None:
        yield PlanPrice("stored", stored.cost)
    if topology.nodes <= _MAX_LIFTED:
        schedule = lift_schedule(topology, collective)
        if schedule is not None:
            yield PlanPrice("lift", cost_of(topology, schedule))
