"""Contenders: finder topologies, topologies for the room, boxes, and rivals.

A new kind of contender is a function from a request to offers, and a line in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from topodesign.base.deadline import OutOfTime, Stopwatch, check, deadline
from topodesign.base.errors import CatalogError, InfeasibleError, TopodesignError
from topodesign.base.progress import Progress, iterate_with_progress, part
from topodesign.base.spec import Spec, parse
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.lookup import Catalog
from topodesign.fabrics.boxes import BoxSpec, join
from topodesign.fabrics.fabric import Fabric
from topodesign.finder.candidate import Candidate, Entry, measure
from topodesign.finder.find import find, pareto
from topodesign.report.boxes.frontier import BoxDesign, find_wirings
from topodesign.report.comparison.contender import counts_of, found_contender, sum_of, why_unfit
from topodesign.report.design.ahead import merit
from topodesign.report.design.boxed import RAILS, rails_of, rate_parts
from topodesign.report.design.measure import Measured, ask_for, get_least, measure_step, parts_of, plan_parts
from topodesign.report.design.parts import Offer, OfferKind
from topodesign.report.design.request import Request
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.plant.carry import carry

Value = TypeVar("Value")

_ALL_PRICED = 64  # nodes up to which everything that is known of the size is compared
_PRICED = 4  # topologies of a larger size that are, the first by their prices
_INSIDE = 3  # numbers of ports inside groups, more than half, that are looked at
_SECONDS = 60.0  # for the plans of one contender
_NOT_CARRIED = 3  # topologies that the room does not carry, and are shown all the same
_SETTLED = 2  # contenders that have plans, the first in what was asked, so that there is a runner-up


@dataclass
class Budget:
    """Time budget of a decision, with the parts cut short.

    * ``seconds``: of work; None without a limit.
    """

    seconds: float | None = None
    cut: list[str] = field(default_factory=list)
    watch: Stopwatch = field(default_factory=Stopwatch)

    @property
    def left(self) -> float:
        """Remaining seconds, at least a moment; a day without a limit."""
        return 86400.0 if self.seconds is None else max(self.seconds - self.watch(), 1e-3)

    @property
    def over(self) -> bool:
        """Whether there is a limit and it is reached."""
        return self.seconds is not None and self.watch() >= self.seconds

    def do(self, what: str, make: Callable[[], Value], otherwise: Value) -> Value:
        """Run a function in the remaining time, or record it as cut."""
        if not self.over:
            try:
                with deadline(self.left):
                    return make()
            except OutOfTime:
                pass
        self.cut.append(what)
        return otherwise


@dataclass
class Gathered:
    """Contenders with costs and plans, and the missing names.

    * ``missing``: rivals of which there is none, and contenders without a plan, each with the reason.
    * ``whole``: whether all that is known of the size was compared.
    """

    offers: list[Offer] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    whole: bool = True

    def note(self, name: str, why: str) -> None:
        """Record the reason a name has no contender."""
        self.missing.append((name, why))


def gather_offers(request: Request, budget: Budget, progress: Progress | None) -> Gathered:
    """Gather all contenders with costs, and plans for potential winners.

    Of two contenders with the same links only the first stays.

    Raises
    ------
    InfeasibleError
        If there is no contender, or none was priced in time.
    """
    found = Gathered(whole=_is_whole(request) and request.room is None)
    own = "plant" if request.room is not None else "direct" if request.box is None else "boxes"
    for kind in (own, "rival") if request.rivals else (own,):
        share = part(progress, 0.7, 0.8) if kind == "rival" else part(progress, 0, 0.7)
        try:
            with deadline(budget.left):
                for one in KINDS[kind](request, found, share):
                    same = next((other.name for other in found.offers if other.topology == one.topology), None)
                    if kind == "rival" and same is not None:
                        found.note(one.name, f"it is {same}, which is compared")
                    else:
                        found.offers.append(one)
        except OutOfTime:
            found.whole = False
            budget.cut.append("rivals" if kind == "rival" else f"contenders: {len(found.offers)} were compared")
    settle_offers(found, request, budget, part(progress, 0.8, 1))
    if not found.offers:
        reasons = [f"{name}: {why}" for name, why in found.missing]
        raise InfeasibleError("\n".join([*reasons, *(f"no time for {one}" for one in budget.cut)]))
    return found


def settle_offers(found: Gathered, request: Request, budget: Budget, progress: Progress | None) -> None:
    """Make plans for the best contenders and all that may beat them.

    Bounds show which may beat them.
    """
    for _ in iterate_with_progress(range(len(found.offers)), progress):
        able = [one for one in found.offers if one.refused is None]
        settled = sorted(merit(one, request) for one in able if one.planned)
        last = settled[_SETTLED - 1] if len(settled) >= _SETTLED else None
        waiting = [one for one in able if not one.planned]
        waiting = [one for one in waiting if last is None or merit(one, request, one.least) < last]
        if not waiting:
            return
        first = min(waiting, key=lambda one: (merit(one, request, one.least), len(one.name)))
        place = found.offers.index(first)
        try:
            with deadline(min(_SECONDS, budget.left)):
                parts = plan_parts(first.place, request)
        except OutOfTime:
            if budget.over:
                budget.cut.append("plans of the contenders that come first, which have prices")
                return
            found.whole = False
            found.note(first.name, f"was not scheduled and verified within {_SECONDS:g} s")
            del found.offers[place]
        except InfeasibleError as error:
            found.note(first.name, str(error))
            del found.offers[place]
        else:
            found.offers[place] = replace(first, parts=parts, least=None)


def _make_offer(
    request: Request,
    named: tuple[OfferKind, str, str],
    place: Topology | Fabric,
    measured: Measured,
    *,
    refused: str | None = None,
    **more: Any,
) -> Offer:
    """Build a contender with its counts, cost, power and any refusal."""
    kind, name, spec = named
    counts = counts_of(place)
    price, watts = (sum_of(counts, each) if each else None for each in (request.prices, request.watts))
    refused = refused or _refuse(place, counts.survives, request)
    parts, step = measured
    return Offer(name, kind, spec, place, parts, counts, price, watts, refused, step=step, **more)


def _refuse(place: Topology | Fabric, survives: int | None, request: Request) -> str | None:
    """Return the reason a network does not fit the request."""
    if isinstance(place, Fabric) or place.switches:
        return "it has switches, which are bought and not wired by hand here"
    if request.cabling == "duplex" and not place.is_duplex:
        return "some links go one way only, and the cabling is duplex"
    if request.survive and (survives is None or survives < request.survive):
        known = "is not known to survive" if survives is None else f"survives {survives} failures, not"
        return f"it {known} {request.survive}"
    return None


def _from_entry(request: Request, kind: OfferKind, name: str, entry: Entry, **more: Any) -> Offer:
    """Build a contender from a finder entry, with its times."""
    graph = entry.topology
    if request.box is not None:
        boxed = BoxSpec(request.box, graph)
        measured = measure_step(graph, request)
        return _make_offer(request, (kind, name, entry.spec), graph, measured, boxed=boxed, fabric=boxed.fabric, **more)
    if request.step is not None:
        return _make_offer(request, (kind, name, entry.spec), graph, measure_step(graph, request), **more)
    measured, least = Measured(parts_of(entry, request)), get_least(entry)
    return _make_offer(request, (kind, name, entry.spec), graph, measured, least=least, **more)


def _direct(request: Request, found: Gathered, progress: Progress | None) -> Iterator[Offer]:
    """Yield catalog and family topologies, with fewer ports if cheaper."""
    for degree, share in _degrees(request, progress):
        try:
            entries = list(_find_entries(request, degree, share))
        except TopodesignError as error:
            entries = []
            if degree == request.degree:
                found.note("frontier", str(error))
        for entry, shown in entries:
            name = _short(entry.spec, request.nodes, degree)
            try:
                with deadline(_SECONDS):
                    offer = _from_entry(request, "direct", name, entry, shown=shown)
            except OutOfTime:
                check()  # whether all of the time is over
                found.whole = False
                found.note(name, f"was not priced within {_SECONDS:g} s")
            except InfeasibleError as error:
                found.note(name, str(error))
            else:
                yield offer
    for spec in _group_products(request):
        yield _make_offer(request, ("direct", spec, spec), build(spec), measure_step(build(spec), request), shown=False)


def _degrees(request: Request, progress: Progress | None) -> Iterator[tuple[int, Progress | None]]:
    """Yield the requested degree, and smaller ones if cheaper, with progress shares."""
    fewest = 1 if request.prices or request.watts else request.degree
    count = request.degree - fewest + 1
    for turn in range(count):
        yield request.degree - turn, part(progress, turn / count, (turn + 1) / count)


def _find_entries(request: Request, degree: int, progress: Progress | None) -> Iterator[tuple[Entry, bool]]:
    """Yield the topologies of a degree to compare, with frontier flags."""
    asked = ask_for(request, degree)
    front = pareto(
        request.nodes,
        degree,
        bidirectional=asked.duplex,
        sizes=[share.size for share in request.mix.shares],
        alpha=request.work.alpha,
        bandwidth=asked.objective.work.bandwidth,
    )
    edges, own = {one.spec for one in front}, degree == request.degree
    exchanges: dict[str, Bounds | None] = {}
    if own or _is_whole(request):
        found = find(asked, progress=progress)
        ranked = sorted((*found.entries, *found.beaten), key=lambda one: one.times[0])
        exchanges = {one.spec: one.all_to_all for one in ranked}
        most = len(ranked) if _is_whole(request) else _PRICED
        yield from ((one, False) for one in ranked[:most] if one.spec not in edges)
    for one in front:
        costs, exchange = (one.cost, one.allgather), exchanges.get(one.spec, one.all_to_all)
        entry = measure(Candidate(one.spec, None, one.given, costs, exchange, one.duplex, one.basis), asked)
        if entry is not None:
            yield entry, own


def _group_products(request: Request) -> Iterator[str]:
    """Yield products with most links inside tensor parallel groups."""
    size = request.step.shape[0] if request.step is not None and request.step.shape else 1
    most, duplex = min(size, request.degree) - 1, request.cabling == "duplex"
    for inside in range(most, max(most - _INSIDE, request.degree // 2), -1):
        try:
            near = pareto(size, inside, bidirectional=duplex)
            far = pareto(request.nodes // size, request.degree - inside, bidirectional=duplex)
            spec = Spec("product", (parse(min(near, key=lambda one: one.bandwidth).spec), parse(next(iter(far)).spec)))
            build(spec)
            yield str(spec)
        except TopodesignError:
            continue


def _boxes(request: Request, found: Gathered, progress: Progress | None) -> Iterator[Offer]:
    """Yield the best graphs of boxes, with fewer ports if cheaper."""
    box = request.box
    if box is None:
        return
    for degree, share in _degrees(request, progress):
        try:
            wirings, _ = find_wirings(box, request.nodes, degree, duplex=request.cabling == "duplex", progress=share)
        except TopodesignError as error:
            if degree == request.degree:
                found.note("frontier", str(error))
            continue
        for one, shown in wirings:
            name = _short(one.name, request.nodes, degree)
            try:
                yield _from_design(request, "boxes", name, one, build(one.name), shown=shown)
            except InfeasibleError as error:
                found.note(name, str(error))


def _from_design(request: Request, kind: OfferKind, name: str, one: BoxDesign, links: Topology, **more: Any) -> Offer:
    """Build a contender from a wiring of boxes, or their rails."""
    if request.step is None:
        measured = Measured(rate_parts(one.fabric, one.rates, request))
    else:
        measured = measure_step(one.fabric, request)
    spec = one.fabric.name
    return _make_offer(request, (kind, name, spec), links, measured, fabric=one.fabric, boxed=one.boxed, **more)


def _is_whole(request: Request) -> bool:
    """Return whether all known topologies of the size are compared."""
    return request.nodes <= _ALL_PRICED and request.step is None and request.box is None


def _short(spec: str, nodes: int, degree: int) -> str:
    """Return the catalog row name of a spec, or the spec."""
    try:
        return Catalog().short(spec, nodes, degree)
    except CatalogError:
        return spec


def _plant(request: Request, found: Gathered, progress: Progress | None) -> Iterator[Offer]:
    """Yield topologies the room supports with circuits, and some it does not."""
    if request.room is None:
        return
    carried = carry(
        request.room,
        request.nodes,
        request.degree,
        bidirectional=request.cabling == "duplex",
        workload=request.graph_mix,
        alpha=request.work.alpha,
        bandwidth=request.work.bandwidth,
        progress=progress,
    )
    for one in (*carried.entries, *carried.refused[:_NOT_CARRIED]):
        name = _short(one.entry.spec, request.nodes, request.degree)
        name = one.title if name == one.entry.spec else name
        try:
            yield _from_entry(request, "plant", name, one.entry, wiring=one.plan, refused=one.not_carried_because)
        except InfeasibleError as error:
            found.note(name, str(error))


def _rivals(request: Request, found: Gathered, progress: Progress | None) -> Iterator[Offer]:
    """Yield the requested rivals with plans."""
    for name in iterate_with_progress(request.rivals, progress):
        try:
            with deadline(_SECONDS):
                offer = _rival(name, request)
        except OutOfTime:
            check()  # whether all of the time is over
            found.whole = False
            found.note(name, f"was not scheduled and verified within {_SECONDS:g} s")
        except InfeasibleError as error:
            found.note(name, str(error))
        else:
            yield offer


def _rival(name: str, request: Request) -> Offer:
    if name == RAILS and request.box is not None:
        return _from_design(request, "rival", name, *rails_of(request.box, request.nodes))
    _, found = found_contender(request.given.get(name, name), request.work, request.nodes, request.degree)
    place, method = found.place, getattr(found, "method", "auto")
    if request.box is not None and isinstance(place, Fabric):
        raise InfeasibleError(f"it has switches; boxes with switches between them are the rival '{RAILS}'")
    reason = why_unfit(place, request.nodes, request.degree)
    if reason is not None:
        raise InfeasibleError(reason)
    if request.box is not None and isinstance(place, Topology):
        boxed, spec = BoxSpec(request.box, place), join(request.box, place).name
        measured = measure_step(place, request)
        return _make_offer(request, ("rival", name, spec), place, measured, boxed=boxed, fabric=boxed.fabric)
    plain = request.step is None
    measured = Measured(plan_parts(place, request, method)) if plain else measure_step(place, request)
    spec = place.name if isinstance(place, Fabric) else str(place.spec or name)
    return _make_offer(request, ("rival", name, spec), place, measured)


KINDS: Mapping[str, Callable[[Request, Gathered, Progress | None], Iterator[Offer]]] = {
    "direct": _direct,
    "boxes": _boxes,
    "plant": _plant,
    "rival": _rivals,
}
"""The kinds of contenders."""
