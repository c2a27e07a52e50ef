"""Search for topologies that an installation supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Unpack

from topodesign.base.arguments import as_several
from topodesign.base.dominance import find_unbeaten
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.options import read, takes
from topodesign.base.progress import Progress, part, tell
from topodesign.base.units import as_count
from topodesign.catalog.lookup import CatalogLike
from topodesign.finder import sources
from topodesign.finder.candidate import Candidate, Entry, measure
from topodesign.finder.options import FindOptions
from topodesign.finder.question import Question
from topodesign.finder.runners_up import pick_runners_up
from topodesign.pricing.efforts import Effort
from topodesign.search.finder import Finder
from topodesign.topology.library import TopologyLike
from topodesign.wiring.change.growth import GrowingSite
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plant.answer import Carriage, Carried
from topodesign.wiring.plant.made import find_frontier, search_structured
from topodesign.wiring.plant.plant import Plant, explain_no_plan, plan_made, plant_of

SECONDS = 10.0  # of work to search in where the plant does not carry all that is known
_PLANNING = 20.0  # seconds to look for a plan of one known topology
_KNOWN = 12  # known topologies that are tried, the cheapest first


@takes(FindOptions)
def carry(
    inventory: InventoryLike,
    nodes: int | None = None,
    degree: int | None = None,
    *,
    bidirectional: bool = False,
    catalog: CatalogLike = None,
    candidates: Iterable[TopologyLike] = (),
    near: WiringLike | None = None,
    progress: Progress | None = None,
    **options: Unpack[FindOptions],
) -> Carried:
    """Find the best topologies that an installation supports.

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
    catalog
        Where to look, or its directory; the shipped one by default; False to make topologies for the plant alone.
    candidates
        Topologies of your own to try as well.
    near
        A wiring of fewer nodes to grow from, or its file: topologies with new nodes in its links are tried as well, and
        for each topology it is counted how many patches of this wiring move.
    progress
        Called now and then with the share of the work that is done.
    **options
        Objective, latency, sizes and bandwidth, and how long to search, as for :func:`topodesign.pareto`.

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
    >>> found.best.entry.mean.steps, found.best.plan.mode
    (2, 'simplex')
    """
    room, given = as_inventory(inventory), read(FindOptions, options, "carry")
    nodes = None if nodes is None else as_count(nodes, "number of nodes", 1)
    degree = None if degree is None else as_count(degree, "degree", 1)
    values = as_several("candidates", candidates)
    plant = plant_of(room, nodes, degree, "simplex" if room.one_way and not bidirectional else "duplex")
    if plant.nodes < 2:
        raise ParameterError("one node has no partner; the site requires two hosts or more")
    asked = Question.read(plant.nodes, plant.degree, options, duplex=plant.duplex, catalog=catalog)
    own = sources.as_candidates(values, plant.nodes, plant.degree, duplex=plant.duplex)
    site = None if near is None else GrowingSite(as_wiring(near), plant.nodes)
    if site is not None:
        own += [Candidate(one.name, "inserted", one.topology) for one in site.find_inserted(asked, asked.seed or 0)]
    every = given["runners_up"] > 0
    tried = list(_try_known(plant, asked, own, every=every, progress=part(progress, 0, 0.4)))
    made, exhaustive = _make(plant, asked, tried, progress=part(progress, 0.4, 1))
    carried = [one for one in tried if one.carried] + made
    if not carried:
        why = next((one.not_carried_because for one in tried), "nothing of this size is known")
        raise InfeasibleError(f"no way was found to join all {plant.nodes} hosts; {why}")
    entries = sorted(_find_unbeaten(carried), key=lambda one: one.entry.times[0])
    refused = [
        one
        for one in _find_unbeaten(one for one in tried if not one.carried)
        if all(_exceeds(other.entry, one.entry) for other in entries)
    ]
    if site is not None:
        entries = [replace(one, moved=site.place(one.entry, asked.seed or 0)) for one in entries]
    best, *others = entries
    more = None
    if every:
        some = [one.entry for one in carried]
        more = pick_runners_up(given["runners_up"], best.entry, some, progress)
        more = replace(more, among="those that were tried and are carried")
    return Carried(
        asked,
        plant.mode,
        len(room.hosts),
        int(plant.lanes.any(axis=0).sum()),
        (replace(best, best=True), *others),
        tuple(refused),
        None if exhaustive and asked.objective.collective == "allreduce" else len(tried) + len(made),
        more,
    )


def _find_unbeaten(some: Iterable[Carriage]) -> list[Carriage]:
    """Return non-dominated topologies, shortest name on ties."""
    return find_unbeaten(some, lambda one: one.entry.merit, lambda one: len(one.entry.spec))


def _exceeds(one: Entry, other: Entry) -> bool:
    """Return whether an entry is worse in steps or factor."""
    return one.merit[0] > other.merit[0] or one.merit[1] > other.merit[1]


def _try_known(
    plant: Plant, asked: Question, own: Sequence[Candidate], *, every: bool, progress: Progress | None
) -> Iterator[Carriage]:
    """Yield known topologies with plans or obstacles."""
    effort: Effort = "quick" if asked.objective.exchanges else "bounds"
    known = [entry for one in sources.find_known(asked) if (entry := measure(one, asked, effort)) is not None]
    if not known:
        found = map(sources.from_found, Finder().frontier(asked.nodes, asked.degree, duplex=asked.duplex))
        known = [entry for one in found if (entry := measure(one, asked, effort)) is not None]
    mine = [entry for one in own if (entry := measure(one, asked, effort)) is not None]
    priced = [*mine, *sorted(known, key=lambda one: one.merit)]
    ranked = asked.objective.collective != "all-to-all"
    front = find_unbeaten(priced, lambda one: one.merit, lambda one: len(one.spec)) if ranked else priced
    rest = [one for one in priced if all(one is not other for other in front)]
    enough: list[Entry] = []
    for place, one in enumerate(todo := [*front, *rest[:_KNOWN]]):
        settled = any(not _exceeds(other, one) for other in enough)
        if settled and not every and any(one is other for other in rest):
            continue
        tell(progress, place / len(todo))
        told = _admit(one, plant)
        enough += [one] if told.carried else []
        yield told


def _admit(one: Entry, plant: Plant) -> Carriage:
    """Return a topology with its plan, or a reason."""
    reason = explain_no_plan(one.topology, plant, lambda: None if one.all_to_all is None else one.all_to_all.upper)
    if reason is not None:
        return Carriage(one, not_carried_because=reason)
    hosts = None if len(plant.classes) > 1 else plant.hosts
    try:
        plan = make_plan(one.topology, plant.inventory, mode=plant.mode, hosts=hosts, seconds=_PLANNING)
        return Carriage(one, plan)
    except InfeasibleError as error:
        return Carriage(one, not_carried_because=str(error))


def _make(
    plant: Plant, asked: Question, tried: Sequence[Carriage], *, progress: Progress | None
) -> tuple[list[Carriage], bool]:
    """Return made topologies, and whether they are the cheapest."""
    if plant.inventory.two_sided:  # made topologies are split for switches that join any two ports
        return [], False
    means = [one.entry.mean for one in tried if one.carried]
    met = all(bound in means for bound in asked.bounds) and asked.objective.collective == "allreduce"
    if asked.seconds is None and met:
        return [], False
    everything = find_frontier(plant, progress) if plant.whole else None
    if everything is not None:
        source, made = "all of them priced", everything
    else:
        wanted = asked.seconds is not None or not tried or not all(one.carried for one in tried)
        limit = SECONDS if asked.seconds is None else asked.seconds
        source = "made for the plant"
        found = search_structured(plant, limit, seed=asked.seed or 0, progress=progress) if wanted else []
        made = [one for _, one in found]
    told = []
    effort: Effort = "quick" if asked.objective.exchanges else "bounds"
    for place, one in enumerate(made, start=1):
        spec = one.topology.spec
        label = f"topology {place}, {source}" if spec is None else str(spec)
        entry = measure(Candidate(label, source, one.topology), asked, effort)
        told += [] if entry is None else [Carriage(entry, plan_made(plant, one))]
    return told, everything is not None
