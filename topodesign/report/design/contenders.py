"""What is compared: topologies of the frontier, what the room carries, and rivals.

A new kind of contender is a function from a request to candidates, and a line in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from topodesign.base.deadline import OutOfTime, deadline
from topodesign.base.errors import CatalogError, InfeasibleError, TopodesignError
from topodesign.base.progress import Progress, each, part
from topodesign.base.spec import Spec, parse
from topodesign.catalog.lookup import Catalog
from topodesign.fabrics.boxes import Box, Boxed, join
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import as_place
from topodesign.finder.find import pareto, rank
from topodesign.report.boxes.frontier import BoxDesign
from topodesign.report.comparison.contender import counts_of, sum_of
from topodesign.report.comparison.everyday import EVERYDAY, everyday
from topodesign.report.comparison.measures import Counts
from topodesign.report.design.boxed import RAILS, frontier_of, rails_of, rated_parts
from topodesign.report.design.measure import Measured, at_least, measured
from topodesign.report.design.parts import FAR, Offer, OfferKind
from topodesign.report.design.request import Request
from topodesign.topology.library import build
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plant.carry import carry

_ALL_PLANNED = 64  # nodes up to which everything that is known of the size is planned, unless bounds say it is beaten
_PLANNED = 4  # topologies of a larger size that are planned, the first by their prices
_INSIDE = 3  # numbers of ports inside groups, more than half, that are looked at
_SECONDS = 60.0  # for the plans of one contender
_NOT_CARRIED = 3  # topologies that the room does not carry, and are shown all the same


@dataclass(frozen=True)
class Candidate:
    """What may be wired or bought, not yet measured; ``refused`` says why it cannot be recommended.

    ``boxes`` says which NIC has which cable where that was looked for; ``frontier`` whether no other topology of the
    size has fewer steps and a smaller bandwidth factor, so that it may be ahead for other sizes. ``least`` are the
    seconds of a step that none of its plans undercuts, where they were looked at.
    """

    name: str
    kind: OfferKind
    spec: str | None
    place: Topology | Fabric
    method: str = "auto"
    wiring: WiringPlan | None = None
    refused: str | None = None
    boxes: BoxDesign | None = None
    frontier: bool = False
    least: Fraction | None = None

    @property
    def topology(self) -> Topology:
        """Its links."""
        return self.place.topology if isinstance(self.place, Fabric) else self.place


class Gathered(NamedTuple):
    """Contenders with their plans, the wiring of those that have one, and what is missing.

    ``beaten`` are those that were not planned, since their bounds say that a contender is as good; ``whole`` says
    whether all that is known was planned or beaten.
    """

    offers: list[Offer]
    wirings: Mapping[str, WiringPlan]
    missing: list[tuple[str, str]]
    beaten: list[str]
    whole: bool


Missing = Callable[[str, str], None]


def _direct(request: Request, missing: Missing, progress: Progress | None) -> Iterator[Candidate]:
    """Yield topologies of the catalog and the families, with fewer ports too where that costs less."""
    if request.room is None and request.box is None:
        yield from _of_degrees(request, missing, partial(_of_degree, request), progress)
        yield from _for_groups(request)


def _for_groups(request: Request) -> Iterator[Candidate]:
    """Yield products with most links inside groups of tensor parallel ranks, which send most."""
    size = request.step.shape[0] if request.step is not None and request.step.shape else 1
    most, duplex = min(size, request.degree) - 1, request.cabling == "duplex"
    for inside in range(most, max(most - _INSIDE, request.degree // 2), -1):
        try:
            near = pareto(size, inside, bidirectional=duplex)
            far = pareto(request.nodes // size, request.degree - inside, bidirectional=duplex)
            spec = Spec("product", (parse(min(near, key=lambda one: one.bandwidth).spec), parse(next(iter(far)).spec)))
            yield Candidate(str(spec), "direct", str(spec), build(spec))
        except TopodesignError:
            continue


def _boxes(request: Request, missing: Missing, progress: Progress | None) -> Iterator[Candidate]:
    """Yield the graphs of boxes that are worth it, likewise."""
    box = request.box
    if request.room is None and box is not None:
        yield from _of_degrees(request, missing, partial(_of_cables, box, request), progress)


def _of_degrees(
    request: Request,
    missing: Missing,
    make: Callable[[int, Progress | None], Iterator[Candidate]],
    progress: Progress | None,
) -> Iterator[Candidate]:
    """Yield the candidates of the degree that was asked for, and of fewer ports where that costs less."""
    fewest = 1 if request.prices or request.watts else request.degree
    count = request.degree - fewest + 1
    for turn, degree in enumerate(range(request.degree, fewest - 1, -1)):
        try:
            yield from make(degree, part(progress, turn / count, (turn + 1) / count))
        except TopodesignError as error:
            if degree == request.degree:
                missing("frontier", str(error))


def _of_cables(box: Box, request: Request, degree: int, progress: Progress | None) -> Iterator[Candidate]:
    found = frontier_of(box, request.nodes, degree, duplex=request.cabling == "duplex")
    for one in each(found.entries, progress):
        yield Candidate(_short(one.name, request.nodes, degree), "boxes", one.fabric.name, build(one.name), boxes=one)


def _of_degree(request: Request, degree: int, progress: Progress | None) -> Iterator[Candidate]:
    work: dict[str, Any] = {"alpha": request.work.alpha, "bandwidth": request.work.bandwidth * degree / request.degree}
    duplex = request.cabling == "duplex"
    specs: list[str] = []
    exchanges: dict[str, Fraction] = {}
    if degree == request.degree or _whole(request):
        found = rank(request.nodes, degree, workload=request.mix, bidirectional=duplex, progress=progress, **work)
        ranked = sorted((*found.entries, *found.beaten), key=lambda one: one.times[0])
        specs = [one.spec for one in ranked[: _most(request)]]
        exchanges = {one.spec: one.all_to_all.lower for one in ranked if one.all_to_all is not None}
    sizes = [share.size for share in request.mix.shares]
    front = pareto(request.nodes, degree, bidirectional=duplex, sizes=sizes, **work)
    edges = {one.spec for one in front if degree == request.degree}
    for spec in dict.fromkeys([*specs, *(one.spec for one in front)]):
        name, topology = _short(spec, request.nodes, degree), build(spec)
        least = None if request.step is not None else at_least(topology, request, exchange=exchanges.get(spec))
        yield Candidate(name, "direct", spec, topology, frontier=spec in edges, least=least)


def _most(request: Request) -> int | None:
    return None if _whole(request) else _PLANNED


def _whole(request: Request) -> bool:
    """Return whether everything that is known of the size is planned."""
    return request.nodes <= _ALL_PLANNED and request.step is None and request.box is None


def _short(spec: str, nodes: int, degree: int) -> str:
    """Return the name of the row of the catalog that a spec is of; the spec if that is short, or there is none."""
    try:
        return Catalog().short(spec, nodes, degree)
    except CatalogError:
        return spec


def _plant(request: Request, _missing: Missing, progress: Progress | None) -> Iterator[Candidate]:
    """Yield what the room carries, with its circuits, and some of what it does not."""
    if request.room is None:
        return
    found = carry(
        request.room,
        request.nodes,
        request.degree,
        bidirectional=request.cabling == "duplex",
        workload=request.graph_mix,
        alpha=request.work.alpha,
        bandwidth=request.work.bandwidth,
        progress=progress,
    )
    for one in (*found.entries, *found.refused[:_NOT_CARRIED]):
        name = _short(one.label, request.nodes, request.degree)
        name = one.title if name == one.label else name
        yield Candidate(name, "plant", one.label, one.topology, "auto", one.plan, one.not_carried_because)


def _rivals(request: Request, missing: Missing, progress: Progress | None) -> Iterator[Candidate]:
    """Yield what people would wire or buy otherwise."""
    for name in each(request.rivals, progress):
        try:
            yield _rival(name, request)
        except InfeasibleError as error:
            missing(name, str(error))


def _rival(name: str, request: Request) -> Candidate:
    method = "auto"
    if request.box is not None:
        return _boxed_rival(name, request, request.box)
    if name in EVERYDAY:
        place, method = everyday(name, request.nodes, request.degree, request.work)
    else:
        place = request.given.get(name) or as_place(name)
    _check_size(place, request)
    spec = place.name if isinstance(place, Fabric) else str(place.spec or name)
    return Candidate(name, "rival", spec, place, method)


def _check_size(place: Topology | Fabric, request: Request) -> None:
    links = place.topology if isinstance(place, Fabric) else place
    own = links.nodes - len(links.switches)
    if own != request.nodes:
        raise InfeasibleError(f"it has {own} nodes, not {request.nodes}")
    if isinstance(place, Topology) and place.degree > request.degree:
        raise InfeasibleError(f"it needs {place.degree} ports a node, not {request.degree}")


def _boxed_rival(name: str, request: Request, box: Box) -> Candidate:
    """Return the rails of boxes, or boxes on an everyday topology or one of a spec."""
    if name == RAILS:
        rails, links = rails_of(box, request.nodes, request.degree)
        return Candidate(name, "rival", rails.fabric.name, links, boxes=rails)
    if name in EVERYDAY:
        place = everyday(name, request.nodes, request.degree, request.work).place
    else:
        place = request.given.get(name) or as_place(name)
    if isinstance(place, Fabric):
        raise InfeasibleError(f"it has switches; boxes with switches between them are the rival '{RAILS}'")
    _check_size(place, request)
    return Candidate(name, "rival", join(box, place).name, place)


KINDS: Mapping[str, Callable[[Request, Missing, Progress | None], Iterator[Candidate]]] = {
    "direct": _direct,
    "boxes": _boxes,
    "plant": _plant,
    "rival": _rivals,
}
"""The kinds of contenders."""


def gather_offers(request: Request, progress: Progress | None) -> Gathered:
    """Return all contenders, planned and timed; of two with the same links the first."""
    missing: list[tuple[str, str]] = []
    offers: list[Offer] = []
    wirings: dict[str, WiringPlan] = {}
    beaten: list[str] = []
    links: list[tuple[Topology, str]] = []
    late = False

    def note(name: str, why: str) -> None:
        missing.append((name, why))

    for kind, make in KINDS.items():  # a request has contenders of one kind, and rivals
        share = part(progress, 0.9, 1) if kind == "rival" else part(progress, 0, 0.9)
        found = make(request, note, part(share, 0, 0.2) if kind == "direct" else share)
        for one in each(_by_bounds(found), part(share, 0.2, 1)) if kind == "direct" else found:
            same = next((name for other, name in links if other == one.topology), None)
            if kind == "rival" and same is not None:
                note(one.name, f"it is {same}, and in the table as that")
                continue
            number = counts_of(one.place)
            if _is_beaten(one, number, request, offers):
                beaten.append(one.name)
                continue
            try:
                with deadline(_SECONDS):
                    offers.append(_offer(one, number, request))
            except OutOfTime:
                late = True
                note(one.name, f"was not scheduled and verified within {_SECONDS:g} s")
            except InfeasibleError as error:
                note(one.name, str(error))
            else:
                links.append((one.topology, one.name))
                if one.wiring is not None:
                    wirings[one.name] = one.wiring
    if not offers:
        raise InfeasibleError("\n".join(f"{name}: {why}" for name, why in missing))
    return Gathered(offers, wirings, missing, beaten, _whole(request) and request.room is None and not late)


def _by_bounds(some: Iterator[Candidate]) -> list[Candidate]:
    """Return candidates with the most promising first, so that their plans rule out as many others as can be.

    The two whose bounds are least are always planned: there is a runner-up, then.
    """
    ordered = sorted(some, key=lambda one: one.least or 0)
    return [replace(one, frontier=True) for one in ordered[:2]] + ordered[2:]


def _is_beaten(one: Candidate, number: Counts, request: Request, offers: list[Offer]) -> bool:
    """Return whether a contender takes no more time, money and power than this does at least.

    Or, where time is what was asked for, whether it takes far longer than another.
    """
    if one.frontier or one.least is None:
        return False
    price, watts = _charges(number, request)
    able = [other for other in offers if other.refused is None]
    enough = [other.time for other in able if (other.price or 0) <= (price or 0) and (other.watts or 0) <= (watts or 0)]
    enough += [FAR * other.time for other in able if request.optimise == "time"]
    return any(time <= one.least for time in enough)


def _charges(number: Counts, request: Request) -> tuple[Fraction | None, Fraction | None]:
    """Return price and watts, each None where none are given."""
    price, watts = (sum_of(number, each) if each else None for each in (request.prices, request.watts))
    return price, watts


def _offer(one: Candidate, number: Counts, request: Request) -> Offer:
    fabric, boxed = None, None
    price, watts = _charges(number, request)
    if one.boxes is not None:
        fabric, boxed = one.boxes.fabric, one.boxes.boxed
        if request.step is None:
            found = Measured(rated_parts(fabric, one.boxes.rates, request))
        else:
            found = measured(fabric, request)
    else:
        found = measured(one.place, request, one.method)
        if request.box is not None and isinstance(one.place, Topology):
            boxed = Boxed(request.box, one.place)
            fabric = boxed.fabric
    return Offer(
        one.name,
        one.kind,
        one.spec,
        one.place,
        found.parts,
        number,
        price,
        watts,
        one.refused or _refusal(one, number.survives, request),
        step=found.step,
        fabric=fabric,
        boxed=boxed,
    )


def _refusal(one: Candidate, survives: int | None, request: Request) -> str | None:
    """Return why something that could be wired is not what was asked for."""
    if isinstance(one.place, Fabric) or one.place.switches:
        return "it has switches, which are bought and not wired by hand here"
    if request.cabling == "duplex" and not one.place.is_duplex:
        return "some links go one way only, and the cabling is duplex"
    if request.survive and (survives is None or survives < request.survive):
        known = "is not known to survive" if survives is None else f"survives {survives} failures, not"
        return f"it {known} {request.survive}"
    return None
