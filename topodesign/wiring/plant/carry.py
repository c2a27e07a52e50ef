"""What a plant can carry: known topologies that fit it, and others that are made for it, each with its circuits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Unpack

from topodesign.base.arguments import as_several
from topodesign.base.cost import Cost, lower_bounds, moore_distances
from topodesign.base.errors import CatalogError, InfeasibleError, ParameterError, TopodesignError
from topodesign.base.options import read, takes
from topodesign.base.progress import Progress, part, tell
from topodesign.base.units import as_count
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.candidates import candidates_for_all_to_all
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.own import as_candidates
from topodesign.catalog.ranking import least_seconds_of, seconds_of
from topodesign.catalog.rows import how_found
from topodesign.pricing.all_to_all import all_to_all
from topodesign.pricing.evaluation import price_both
from topodesign.pricing.mix import Mix, questions
from topodesign.pricing.workload import Workload, as_workload
from topodesign.search.finder import Finder
from topodesign.topology.library import TopologyLike, build
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plant.answer import Carriage, Carried
from topodesign.wiring.plant.made import all_cheapest, structured
from topodesign.wiring.plant.options import CarryOptions
from topodesign.wiring.plant.plant import Plant, plan_made, plant_of, why_not

SECONDS = 10.0  # of work to search in where the plant does not carry all that is known
_PLANNING = 20.0  # seconds to look for a plan of one known topology
_KNOWN = 12  # known topologies that are tried, the cheapest first


@dataclass(frozen=True)
class _Question:
    """What topologies are ranked for."""

    mixes: tuple[Mix, ...]
    work: Workload
    collective: str | None  # None for all that a training step sends

    def rank(self, one: Carriage) -> tuple[int, Fraction]:
        """Return the steps, and the factor or the time that is to be small for so many."""
        if self.collective == "all-to-all":
            return one.mean.steps, one.all_to_all.upper
        return one.mean.steps, one.mean.bandwidth if self.collective is not None else one.times[0]

    def answer(
        self,
        size: tuple[int, int, Mode, int, int],
        exchange: Fraction,
        entries: Iterable[Carriage],
        refused: Iterable[Carriage],
        compared: int | None,
    ) -> Carried:
        """Return the answer for nodes, degree, mode, hosts and fields: the fastest first, held against the bounds."""
        nodes, degree, mode, _, _ = size
        first, *others = sorted(entries, key=lambda one: one.times[0])
        bounds = lower_bounds(nodes, degree, duplex=mode == "duplex")
        least = tuple(least_seconds_of(one, bounds, exchange, self.work) for one in self.mixes)
        told = (replace(first, best=True), *others)
        return Carried(*size, self.mixes, self.work, bounds, least, told, tuple(refused), compared)


@takes(CarryOptions)
def carry(
    inventory: InventoryLike,
    nodes: int | None = None,
    degree: int | None = None,
    *,
    bidirectional: bool = False,
    collective: str = "allreduce",
    workload: Mix | str | Path | None = None,
    candidates: Iterable[TopologyLike] = (),
    catalog: Catalog | str | Path | None = None,
    progress: Progress | None = None,
    **options: Unpack[CarryOptions],
) -> Carried:
    """Find the best topologies that a plant can carry, each with its circuits.

    Known topologies of the size are tried: those of the catalog, of the families, and your own. Where some that would
    be better do not fit, others are made for the plant: all there are for few nodes, else symmetric ones whose links
    keep to the fields of panels.

    Parameters
    ----------
    inventory
        Hosts, panels and switches, and which lane ends where; or the path of its file. Without cabling, it is planned.
    nodes, degree
        N and d; by default all hosts, and all lanes of the host that has most.
    bidirectional
        Only links with their reverse, patched together; else the two fibres of a lane are patched apart, where panels
        allow that.
    collective, workload
        What to rank for, as :func:`topodesign.rank`: a collective, or all that a training step sends.
    candidates
        Topologies of your own to try as well.
    catalog
        Where to look, or its directory; the shipped one by default.
    progress
        Called now and then with the share of the work that is done.
    **options
        Latency, sizes and bandwidth, as for :func:`topodesign.pareto`, and how long to search.

    Returns
    -------
    Carried
        What is carried has a plan, which has been checked; what is not says why, and whether that is proven.

    Raises
    ------
    ParameterError, UnitError, FileFormatError
        If an argument or a file cannot be read, or no topology of this size can exist.
    InfeasibleError
        If the plant has too few hosts, or no way to join them all was found.

    Examples
    --------
    >>> from topodesign import carry, copy_examples
    >>> [path] = copy_examples(["inventory_pods.yaml"], ".")
    >>> found = carry(path, degree=6)
    >>> found.best.mean.steps, found.best.plan.mode
    (2, 'simplex')
    """
    room, said = as_inventory(inventory), read(CarryOptions, options, "carry")
    work = as_workload(said["alpha"], said["sizes"], said["bandwidth"])
    mixes = questions(collective, workload, work.sizes)
    question = _Question(mixes, work, None if workload is not None else collective)
    nodes = None if nodes is None else as_count(nodes, "number of nodes", 1)
    degree = None if degree is None else as_count(degree, "degree", 1)
    seconds = None if said["search"] is None else float(said["search"])
    own_topologies = as_several("candidates", candidates)
    plant = plant_of(room, nodes, degree, "simplex" if room.one_way and not bidirectional else "duplex")
    if plant.nodes < 2:
        raise ParameterError("one node has nobody to talk to; the plant needs two hosts or more")
    own = [
        (label, one) for label, one, _ in as_candidates(own_topologies, plant.nodes, plant.degree, duplex=plant.duplex)
    ]
    tried = list(_known(plant, own, question, as_catalog(catalog), part(progress, 0, 0.4)))
    made, exhaustive = _made_for(plant, tried, question, seconds, seed=said["seed"], progress=part(progress, 0.4, 1))
    carried = [one for one in tried if one.carried] + made
    if not carried:
        why = next((one.not_carried_because for one in tried), "nothing of this size is known")
        raise InfeasibleError(f"no way was found to join all {plant.nodes} hosts; {why}")
    entries = _unbeaten(carried, question)
    fewest = {one.mean.steps: question.rank(one)[1] for one in entries}
    refused = _unbeaten([one for one in tried if not one.carried], question)
    refused = [
        one
        for one in refused
        if all(steps > one.mean.steps or other > question.rank(one)[1] for steps, other in fewest.items())
    ]
    compared = None if exhaustive and question.collective == "allreduce" else len(tried) + len(made)
    exchange = moore_distances(plant.nodes, plant.degree, duplex=plant.duplex)
    size = plant.nodes, plant.degree, plant.mode, len(room.hosts), int(plant.lanes.any(axis=0).sum())
    return question.answer(size, exchange, entries, refused, compared)


def _known(
    plant: Plant, own: Sequence[tuple[str, Topology]], question: _Question, catalog: Catalog, progress: Progress | None
) -> Iterator[Carriage]:
    """Yield known topologies of the size with their plans or what is in their way, until one is carried at each end."""
    priced = [_priced(label, one, "own", question) for label, one in own]
    priced += sorted(_library(plant, question, catalog), key=question.rank)
    front = _unbeaten(priced, question) if question.collective != "all-to-all" else priced
    rest = [one for one in priced if one not in front]
    todo = [*front, *rest[:_KNOWN]]
    enough: list[Carriage] = []
    for place, one in enumerate(todo):
        steps, value = question.rank(one)
        if one in rest and any(
            question.rank(other)[0] <= steps and question.rank(other)[1] <= value for other in enough
        ):
            continue
        tell(progress, place / len(todo))
        told = _carriage(one, plant)
        enough += [told] if told.carried else []
        yield told


def _library(plant: Plant, question: _Question, catalog: Catalog) -> Iterator[Carriage]:
    """Yield the topologies of the catalog and the families, with their prices."""
    nodes, degree, duplex = plant.nodes, plant.degree, plant.duplex
    met = 0
    try:
        for spec, row, bounds in candidates_for_all_to_all(nodes, degree, duplex=duplex, catalog=catalog):
            try:
                one = build(spec)
                if one.is_duplex or not duplex:
                    costs = None if row is None else (row.cost, row.allgather)
                    met += 1
                    priced = _priced(str(spec), one, how_found(spec), question, bounds, costs=costs)
                    yield replace(priced, deferred=row is not None and row.deferred)
            except TopodesignError:
                continue
    except CatalogError:
        pass
    if not met:
        for found in Finder().frontier(nodes, degree, duplex=duplex):
            yield _priced(str(found.spec), build(found.spec), how_found(found.spec), question)


def _priced(
    label: str,
    topology: Topology,
    found: str,
    question: _Question,
    known: Bounds | None = None,
    *,
    costs: tuple[Cost, Cost] | None = None,
) -> Carriage:
    there, back = price_both(topology) if costs is None else costs
    if known is None:
        wanted = all_to_all(topology, effort="quick" if question.collective in {"all-to-all", None} else "bounds")
        upper = wanted.upper or all_to_all(topology, effort="bounds").upper
        known = Bounds(wanted.lower, upper or Fraction(topology.nodes))
    times = tuple(seconds_of(one, there, back, known.upper, question.work) for one in question.mixes)
    return Carriage(label, topology, found, there, back, known, times, None)


def _carriage(one: Carriage, plant: Plant) -> Carriage:
    """Return a topology with its plan, or with why there is none."""
    reason = why_not(one.topology, plant, lambda: one.all_to_all.upper)
    if reason is not None:
        return replace(one, not_carried_because=reason)
    hosts = None if len(plant.classes) > 1 else plant.hosts
    try:
        plan = make_plan(one.topology, plant.inventory, mode=plant.mode, hosts=hosts, seconds=_PLANNING)
        return replace(one, plan=plan)
    except InfeasibleError as error:
        return replace(one, not_carried_because=str(error))


def _made_for(
    plant: Plant,
    tried: Sequence[Carriage],
    question: _Question,
    seconds: float | None,
    *,
    seed: int,
    progress: Progress | None,
) -> tuple[list[Carriage], bool]:
    """Return topologies made for the plant, and whether these are the cheapest of all."""
    if plant.inventory.two_sided:  # made topologies are split for switches that join any two ports
        return [], False
    bounds = lower_bounds(plant.nodes, plant.degree, duplex=plant.duplex)
    means = [one.mean for one in tried if one.carried]
    if seconds is None and all(bound in means for bound in bounds) and question.collective == "allreduce":
        return [], False
    everything = all_cheapest(plant, progress) if plant.whole else None
    if everything is not None:
        found, made = "all of them priced", everything
    else:
        wanted = seconds is not None or not tried or not all(one.carried for one in tried)
        limit = SECONDS if seconds is None else seconds
        found = "made for the plant"
        made = [one for _, one in structured(plant, limit, seed=seed, progress=progress)] if wanted else []
    told = []
    for place, one in enumerate(made, start=1):
        spec = one.topology.spec
        label = f"topology {place}, {found}" if spec is None else str(spec)
        told.append(replace(_priced(label, one.topology, found, question), plan=plan_made(plant, one)))
    return told, everything is not None


def _unbeaten(priced: Iterable[Carriage], question: _Question) -> list[Carriage]:
    """Return what no other beats in steps and what it is ranked by; of those alike the one with the shortest name."""
    kept: list[Carriage] = []
    for one in sorted(priced, key=lambda one: (*question.rank(one), len(one.label))):
        if not kept or question.rank(one)[1] < question.rank(kept[-1])[1]:
            kept.append(one)
    return kept
