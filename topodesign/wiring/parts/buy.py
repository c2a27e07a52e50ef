"""Purchase of a plan's cables.

What is bought in addition to another plan is what its cables do not do. Fixed cables stay where all lanes of a port end
in the same racks as before; the others are chosen like those of a whole plan, with fibres exchanged or not as there.
Patch cords that are pulled are used again where they are long enough: since a longer patch never takes a cheaper cord,
those for the longest patches that they can do save most.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from topodesign.base.arguments import as_choice
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.wording import count_noun
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.inventory.inventory import PATCH, format_metres
from topodesign.wiring.parts.bought import BundleUse, Purchase, WayPrice, lines_of
from topodesign.wiring.parts.choice import HostRack, RackChoice, host_racks
from topodesign.wiring.parts.laid import CableLayout, Hop, cables_of, cheapest_that_fits, uses_of
from topodesign.wiring.parts.parts import PartsLike, PartsList, Piece, as_parts
from topodesign.wiring.parts.ways import SINGLES, WAYS, PortRun, Rack, Shop, Single, Way, rack_of, runs_of
from topodesign.wiring.plan.cross_connects import CrossConnect, fibres
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.losses import (
    CableLosses,
    TableLike,
    circuit_losses,
    fibre_loss,
    losses_of,
)
from topodesign.wiring.plan.plan import WiringPlan

_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%")
_LaneKey = tuple[str, str, int]


def bill_wiring(
    plan: WiringLike,
    parts: PartsLike | None = None,
    *,
    ways: Iterable[Way] = WAYS,
    spares: str | Fraction | int = 0,
    one_fibre: Single | None = None,
    tables: Mapping[str, TableLike] | None = None,
    since: WiringLike | None = None,
) -> Purchase:
    """Choose the cheapest listed parts for a plan's cables.

    Parameters
    ----------
    plan
        A wiring plan, or the path of its file. Fixed cabling that exists is not bought.
    parts
        A list of parts, or the path of its file; see ``topodesign/wiring/parts/parts.py``. None for that which the
        inventory names.
    ways
        Which ways fixed cables may go: ``breakouts``, ``trunks`` (and cassettes).
    spares
        How much more to buy of each line, rounded up: text such as ``3%``, or a share such as ``Fraction(3, 100)``.
    one_fibre
        Send both ways of a lane on one fibre, which takes a duplex plan: by ``circulators`` of the list in the rack of
        the host, or because ``optics`` do.
    tables
        What circuit switches lose from port to port, by name, or the paths of these files (CSV).
    since
        Another plan whose cables are there, such as that before a change, or the path of its file: only what is needed
        in addition is bought. Its cables count as bought from the same list in the same ways.

    Returns
    -------
    Purchase
        The bill, of which every line is one part, the ways compared, and what links lose. ``print`` shows all.

    Raises
    ------
    InfeasibleError
        If no parts of the list make some cable: too short, no legs for it, or fibres that would join Tx to Tx.
    ParameterError
        If an argument is out of range, or a table is of no circuit switch.
    FileFormatError
        If a file cannot be read.

    Examples
    --------
    >>> from topodesign import copy_examples, plan_wiring
    >>> paths = copy_examples(["inventory_testbed.yaml", "parts_neutral.yaml"], ".")
    >>> bill_wiring(plan_wiring("circulant(12,2,3)", paths[0]), paths[1])
    <Purchase: 36 pieces in 3 lines: 528 EUR, delivered in 5 days>
    """
    wiring = as_wiring(plan)
    if parts is None and not wiring.inventory.parts:
        raise ParameterError("no list of parts; use --parts FILE, or parts: FILE in the inventory")
    listed = as_parts(wiring.inventory.parts if parts is None else parts)
    allowed = tuple(dict.fromkeys(as_choice("ways", one, WAYS) for one in ways))
    if not allowed:
        raise ParameterError(f"name at least one way of {', '.join(WAYS)}")
    share = _share(spares)
    switches = circuit_losses(wiring.inventory, tables or {})
    if one_fibre is not None and wiring.mode == "simplex":
        raise ParameterError("one fibre goes both ways, so the plan has to be duplex")
    single = None if one_fibre is None else as_choice("one_fibre", one_fibre, SINGLES)
    shop = Shop(wiring.inventory, listed, single)
    before = None if since is None else _ExistingCables(as_wiring(since), listed, single, allowed)
    runs = [] if wiring.inventory.cabling else runs_of(wiring.net)
    runs = [run for run in runs if before is None or not before.has(run)]
    turns = (False, True) if wiring.mode == "duplex" and single is None else (False,)
    turns = turns if before is None else (before.odd,)
    racks = {odd: host_racks(shop, runs, odd=odd) for odd in turns}
    plugged = {lead.end.source: lead.fixed.b for lead in wiring.net.leads.values()}
    there: dict[_LaneKey, Rack] = {lane: rack_of(end.place) for lane, end in plugged.items()}
    ends: dict[_LaneKey, tuple[str, str, str]] = {
        lane: (end.device, end.port, end.place.rack) for lane, end in plugged.items()
    }
    chosen = _fitting(shop, racks, allowed, there) if runs else _RackChoices((), odd=False)
    alone = tuple(_price_alone(shop, racks, way, chosen) for way in allowed) if runs else ()
    laid = chosen.lay(shop)
    switches_of_room = wiring.inventory.switches
    cords = {one.cable: _patch(shop, wiring, one) for one in wiring.connects if one.a.panel not in switches_of_room}
    again = set() if before is None else before.list_reused(shop, wiring)
    patches = Counter(piece for cable, piece in cords.items() if cable not in again)
    bought = CableLosses(
        {lane: [part for hop in hops for part in _losses(wiring, hop.unit.piece)] for lane, hops in laid.hops.items()},
        {cable: _losses(wiring, piece) for cable, piece in cords.items()},
        _explain_refused(wiring, laid.hops),
        single is not None,
    )
    loss = losses_of(wiring.net, bought=bought, tables=switches)
    return Purchase(
        lines_of(patches + Counter(unit.piece for unit in laid.units), patches, share),
        listed.currency,
        listed.name,
        alone,
        tuple(_bundles(chosen.racks)),
        chosen.price,
        chosen.proven,
        bool(wiring.inventory.cabling),
        loss,
        tuple(laid.units),
        laid.hops,
        ends,
        uses_of(wiring.inventory, cables_of(wiring.inventory, laid, there)) if runs and before is None else (),
        (*listed.notes, *(() if before is None else before.notes(len(cords), len(again)))),
    )


class _ExistingCables:
    """Existing cables of a plan, as if bought."""

    def __init__(self, plan: WiringPlan, parts: PartsList, single: Single | None, ways: Sequence[Way]) -> None:
        self.plan, self.shop = plan, Shop(plan.inventory, parts, single)
        runs = runs_of(plan.net)
        self._racks = {(run.host, run.port.name): dict(run.racks) for run in runs}
        self.odd = False
        if runs and not plan.inventory.cabling and plan.mode == "duplex" and single is None:
            racks = {odd: host_racks(self.shop, runs, odd=odd) for odd in (False, True)}
            there = {run.key(lane): rack for run in runs for lane, rack in run.racks}
            self.odd = _fitting(self.shop, racks, ways, there).odd

    def has(self, run: PortRun) -> bool:
        """Return whether a port's cable exists, with all ends unchanged.

        The ends are the racks of its lanes.
        """
        return dict(run.racks).items() <= self._racks.get((run.host, run.port.name), {}).items()

    def list_reused(self, shop: Shop, plan: WiringPlan) -> set[str]:
        """Return the patches that need no new cord.

        These are the patches that stay and those that pulled cords can replace.
        """
        hand = [one for one in plan.connects if one.a.panel not in plan.inventory.switches]
        old = {
            frozenset(fibres(one)): one for one in self.plan.connects if one.a.panel not in self.plan.inventory.switches
        }
        stay = {one.cable for one in hand if frozenset(fibres(one)) in old}
        if plan.mode != self.plan.mode:
            return set()
        kept = {frozenset(fibres(one)) for one in hand}
        pulled = (_patch(self.shop, self.plan, one).length for places, one in old.items() if places not in kept)
        lengths = sorted(size for size in pulled if size is not None)
        place = plan.inventory.place
        needed = {
            one.cable: shop.metres(place(one.a.panel), place(one.b.panel)) for one in hand if one.cable not in stay
        }
        done: set[str] = set()
        for cable in sorted(needed, key=lambda name: -needed[name]):
            if len(lengths) - bisect_left(lengths, needed[cable]) > len(done):
                done.add(cable)
        return stay | done

    def notes(self, cords: int, again: int) -> tuple[str, ...]:
        """Return a note on the reused cords."""
        words = f"{again} of {count_noun(cords, 'patch cord')} stay or are used again"
        return (f"in addition to a plan of {len(self.plan.hosts)} hosts, whose trunks count as full: {words}",)


@dataclass(frozen=True)
class _RackChoices:
    """Choices of all racks."""

    racks: tuple[RackChoice, ...]
    odd: bool
    sure: bool = True

    @property
    def price(self) -> Fraction:
        return sum((one.price for one in self.racks), Fraction(0))

    @property
    def proven(self) -> bool:
        return self.sure and all(one.proven for one in self.racks)

    def lay(self, shop: Shop) -> CableLayout:
        """Return all pieces and the path of every lane."""
        laid = CableLayout(shop, odd=self.odd)
        for one in self.racks:
            laid.lay(one)
        return laid


def _cheapest(racks: Mapping[bool, Sequence[HostRack]], ways: Sequence[Way]) -> _RackChoices:
    found: list[_RackChoices] = []
    problem: InfeasibleError | None = None
    for odd, some in racks.items():
        try:
            found.append(_RackChoices(tuple(one.best(ways) for one in some), odd))
        except InfeasibleError as error:
            problem = problem or error
    if not found and problem is not None:
        raise problem
    return min(found, key=lambda one: one.price)


def _fitting(
    shop: Shop, racks: Mapping[bool, Sequence[HostRack]], ways: Sequence[Way], there: Mapping[_LaneKey, Rack]
) -> _RackChoices:
    """Return the cheapest choice, if possible within tray capacity."""
    cheapest = _cheapest(racks, ways)
    room = shop.inventory
    if all(use.ok for use in uses_of(room, cables_of(room, cheapest.lay(shop), there))):
        return cheapest
    found: list[_RackChoices] = []
    sure = True
    for odd, some in racks.items():
        try:
            listed = [one.every(ways) for one in some]
        except InfeasibleError:
            continue
        known = [one for one in listed if one is not None]
        if len(known) < len(listed):
            sure = False
            continue
        cabled = [
            [(one, cables_of(room, _RackChoices((one,), odd).lay(shop), there)) for one in rack] for rack in known
        ]
        picked, proven = cheapest_that_fits(room, cabled)
        sure = sure and proven
        found += [] if picked is None else [_RackChoices(picked, odd)]
    if not found:
        return replace(cheapest, sure=False)
    return replace(min(found, key=lambda one: one.price), sure=sure)


def _price_alone(shop: Shop, racks: Mapping[bool, Sequence[HostRack]], way: Way, chosen: _RackChoices) -> WayPrice:
    used = {one for rack in chosen.racks for _, one in rack.groups}
    try:
        only = chosen if used == {way} else _cheapest(racks, [way])
    except InfeasibleError as error:
        return WayPrice(way, None, 0, str(error))
    return WayPrice(way, only.price, len(only.lay(shop).units))


def _bundles(racks: Iterable[RackChoice]) -> Iterable[BundleUse]:
    for choice in racks:
        for there, bundle in choice.bundles.items():
            yield BundleUse(
                _name(choice.rack),
                _name(there),
                len(bundle.drops),
                bundle.connectors,
                tuple(_item(piece) for piece in bundle.trunks.pieces),
                tuple(_item(piece) for piece in bundle.cassettes.pieces),
                bundle.price,
            )


def _name(rack: Rack) -> str:
    return "/".join(filter(None, rack))


def _item(piece: Piece) -> str:
    return piece.part.name if piece.length is None else f"{piece.part.name}, {format_metres(piece.length)} m"


def _patch(shop: Shop, plan: WiringPlan, connect: CrossConnect) -> Piece:
    """Return the cord of a patch, connecting Tx to Rx."""
    mode: Mode = connect.mode
    here, there = (plan.inventory.place(end.panel) for end in (connect.a, connect.b))
    pair = mode == "duplex" and shop.single is None
    found = shop.cord(PATCH["duplex" if pair else "simplex"], here, there, crosses=True if pair else None)
    if found is None:
        kind = "crossed LC duplex" if pair else "LC simplex"
        words = f"no {kind} cord of {format_metres(shop.metres(here, there))} m is in the list of parts"
        hint = "; a straight one would join Tx to Tx" if pair else ""
        raise InfeasibleError(f"patch {connect.cable}: {words}{hint}")
    return found


def _losses(plan: WiringPlan, piece: Piece) -> list[tuple[str, Fraction | None]]:
    found: list[tuple[str, Fraction | None]] = [(piece.part.name, piece.part.loss)]
    return found if piece.length is None else [*found, fibre_loss(plan.inventory, piece.length)]


def _explain_refused(plan: WiringPlan, hops: Mapping[_LaneKey, Sequence[Hop]]) -> dict[str, str]:
    """Return links without a Tx-to-Rx connection, with reasons, by cable."""
    found = {}
    for connect in plan.connects:
        ends = [hops.get(end.source) for end in (connect.a, connect.b)]
        sides = [None if one is None else "AB"[one[-1].leaves.send - 1] for one in ends]
        if None in sides:
            continue
        if connect.mode == "duplex" and len(set(sides)) > 1:
            found[connect.cable] = f"Tx meets Tx: one end comes out at side {sides[0]}, the other at {sides[1]}"
        elif connect.mode == "simplex" and "B" in sides:
            found[connect.cable] = "it runs backwards: what is sent comes out at side B"
    return found


def _share(value: str | Fraction | int) -> Fraction:
    if isinstance(value, str):
        match = _SHARE.fullmatch(value.strip())
        if match is None:
            raise ParameterError(f"{value[:50]!r} is not a share of spares such as 3%")
        share = Fraction(match[1]) / 100
    elif isinstance(value, Fraction | int) and not isinstance(value, bool):
        share = Fraction(value)
    else:
        raise ParameterError(f"{value!r:.50} is not a share of spares; give text such as '3%'")
    if not 0 <= share <= 1:
        raise ParameterError("spares are a share from 0% to 100%")
    return share
