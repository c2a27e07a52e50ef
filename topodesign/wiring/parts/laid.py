"""Installed pieces, and the path of every fibre through them.

A *hop* is a lane's way through one piece: where its two fibres go in, on the host's side, and where they come out. The
plug is the number of a connector or port of the piece (1 where it has one there), the fibres those of the plug: first
the one that the host sends on; with one fibre a lane they are the same. Of an LC duplex port,
fibre 1 is side A and fibre 2 side B.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple, TypeAlias

from topodesign.base.declared import Declared, key
from topodesign.base.errors import MissingLibraryError
from topodesign.solve.discrete import MAX, Discrete
from topodesign.wiring.exports.cables import far_fibre
from topodesign.wiring.inventory.inventory import Inventory, tray_way
from topodesign.wiring.parts import ways
from topodesign.wiring.parts.choice import Bundle, Lane, RackChoice, lanes_by_rack
from topodesign.wiring.parts.parts import Piece
from topodesign.wiring.parts.ways import LONE, Ends

_LETTERS = {"cord": "D", "breakout": "B", "trunk": "T", "cassette": "K", "circulator": "C"}


class Unit(NamedTuple):
    """Named piece, with the racks of its two ends."""

    name: str
    piece: Piece
    a: ways.Rack
    b: ways.Rack


class Hop(NamedTuple):
    """Path of a lane through one piece."""

    unit: Unit
    enters: Ends
    leaves: Ends


_LaneKey = tuple[str, str, int]  # host, port, lane


class CableLayout:
    """All pieces, and the hops of every lane.

    ``odd``: whether the fibres of every lane shall end up exchanged.
    """

    def __init__(self, shop: ways.Shop, *, odd: bool) -> None:
        self.units: list[Unit] = []
        self.hops: dict[_LaneKey, tuple[Hop, ...]] = {}
        self._shop, self._odd = shop, odd
        self._count: Counter[str] = Counter()

    def lay(self, choice: RackChoice) -> None:
        """Lay the pieces of a rack choice."""
        for ports, way in choice.groups:
            for run in ports:
                pieces = ways.lay_port(self._shop, run, way, odd=self._odd)
                for one in pieces if not isinstance(pieces, str) else ():
                    unit = self._unit(one.piece, run.rack, one.far)
                    for lane, through in one.lanes.items():
                        self.hops[run.key(lane)] = (*self.hops.get(run.key(lane), ()), Hop(unit, *through))
        for rack, lanes in lanes_by_rack(choice.groups).items():
            self._bundle(choice.rack, rack, choice.bundles[rack], lanes)

    def _unit(self, piece: Piece, a: ways.Rack, b: ways.Rack) -> Unit:
        letter = _LETTERS[piece.part.sort]
        self._count[letter] += 1
        self.units.append(Unit(f"{letter}{self._count[letter]}", piece, a, b))
        return self.units[-1]

    def _bundle(self, here: ways.Rack, there: ways.Rack, bundle: Bundle, lanes: Sequence[Lane]) -> None:
        span = bundle.span
        trunks = self._plugs(bundle.trunks, here, there)
        rears = self._plugs(bundle.cassettes, here, here)
        fars = self._plugs(bundle.cassettes, there, there)
        for number, (lane, drop) in enumerate(zip(lanes, bundle.drops, strict=True)):
            hops = list(self.hops.pop(lane.run.key(lane.number), ()))
            width = 2 * span.slots if bundle.single else span.slots
            connector, slot = number // width, number % width + 1
            if bundle.single:
                for piece, through in ways.lone_pieces(drop, hops[-1].leaves if hops else None):
                    hops.append(Hop(self._unit(piece, here, here), *through))
                slot, side = (slot + 1) // 2, (slot - 1) % 2 + 1
            elif drop.near is not None:
                hops.append(Hop(self._unit(drop.near, here, here), *ways.reverse_ends(crosses=drop.near_crosses)))
            send, receive = hops[-1].leaves[1:] if not bundle.single else (side, side)
            unit, rear = rears[connector]
            fibres = ways.fibres_of_slot(span.connector, span.pairing, slot)
            inside = Ends(rear, fibres[send - 1], fibres[receive - 1])
            hops.append(Hop(unit, Ends(_front(span.slots, rear, slot), send, receive), inside))
            trunk, plug = trunks[connector]
            came = Ends(plug, *(far_fibre(span.connector, span.polarity, fibre) for fibre in inside[1:]))
            hops.append(Hop(trunk, Ends(plug, *inside[1:]), came))
            unit, rear = fars[connector]
            every = (ways.fibres_of_slot(span.connector, span.pairing, one + 1) for one in range(span.slots))
            slot, fibres = next((slot, pair) for slot, pair in enumerate(every, start=1) if came.send in pair)
            out = Ends(_front(span.slots, rear, slot), fibres.index(came.send) + 1, fibres.index(came.receive) + 1)
            hops.append(Hop(unit, Ends(rear, *came[1:]), out))
            ends = out[1:][::-1] if drop.far_crosses else out[1:]
            both = (LONE, LONE) if bundle.single else (Ends(1, *out[1:]), Ends(1, *ends))
            hops.append(Hop(self._unit(drop.far, there, there), *both))
            self.hops[lane.run.key(lane.number)] = tuple(hops)

    def _plugs(self, cover: ways.Cover, a: ways.Rack, b: ways.Rack) -> list[tuple[Unit, int]]:
        """Add the pieces of a cover; return their connectors."""
        units = [self._unit(piece, a, b) for piece in cover.pieces]
        return [(unit, plug) for unit in units for plug in range(1, unit.piece.part.count + 1)]


def _front(slots: int, rear: int, slot: int) -> int:
    return (rear - 1) * slots + slot


Thick: TypeAlias = tuple[int, Fraction | None]  # the place of a tray, and the diameter of a cable, None if unknown

_PI = Fraction(355, 113)
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class TrayUse(Declared):
    """Use of a tray by cables.

    * ``site``, ``tray``: its site and its two ends.
    * ``filled``, ``fill``: the share of its cross-section that they take, and may take.
    """

    site: str
    tray: str
    cables: int  # how many run there
    unknown: int  # how many of them have no known diameter, and are not counted
    filled: Fraction
    fill: Fraction

    KEYS = (
        "site tray cables unknown filled=float(filled) fill=float(fill)",
        key("ok", "Whether it is no fuller than it may be."),
    )

    @property
    def ok(self) -> bool:
        """Whether the fill is within the limit."""
        return self.filled <= self.fill

    @property
    def words(self) -> str:
        """Description of the fill."""
        return f"tray {self.tray}: {self.cables} cables fill {float(self.filled):.1%} of {float(self.fill):.0%}"


def cables_of(
    inventory: Inventory, laid: CableLayout, ends: Mapping[tuple[str, str, int], ways.Rack]
) -> Counter[Thick]:
    """Return the number of cables per tray and diameter.

    Trays are given by index; ``ends`` are the racks where lanes end.
    """
    there: defaultdict[str, set[ways.Rack]] = defaultdict(set)
    for lane, hops in laid.hops.items():
        for hop in hops:
            there[hop.unit.name].add(ends[lane] if hop is hops[-1] else hop.unit.b)
    found: Counter[Thick] = Counter()
    for unit in laid.units:
        runs: set[int] = set()
        for site, rack in (there[unit.name] or {unit.b}) if unit.piece.length is not None else ():
            way = tray_way(inventory, site, unit.a[1], rack) if site == unit.a[0] else None
            runs.update(() if way is None else way[1])
        found.update((number, unit.piece.part.diameter) for number in runs)
    return found


def uses_of(inventory: Inventory, cables: Mapping[Thick, int]) -> tuple[TrayUse, ...]:
    """Return the use of each tray, fullest first."""
    found = []
    for number, tray in enumerate(inventory.trays):
        mine = {diameter: count for (place, diameter), count in cables.items() if place == number}
        area = sum((_PI * d * d / 4 * count for d, count in mine.items() if d is not None), Fraction(0))
        share = area / (tray.width * tray.depth)
        found.append(TrayUse(tray.site, tray.name, sum(mine.values()), mine.get(None, 0), share, tray.fill))
    return tuple(sorted(found, key=lambda one: one.fill - one.filled))


def cheapest_that_fits(
    inventory: Inventory, racks: Sequence[Sequence[tuple[RackChoice, Mapping[Thick, int]]]]
) -> tuple[tuple[RackChoice, ...] | None, bool]:
    """Return the cheapest choices that fit all trays.

    One choice for each rack, or None if none is found; and whether this is proven.

    For each rack there are choices with the cables that they lay in trays. With None proven, none fits.
    """
    choices = [choice for rack in racks for choice, _ in rack]
    money = lcm(*(choice.price.denominator for choice in choices))
    squares = {d * d for rack in racks for _, cables in rack for _, d in cables if d is not None}
    rooms = [4 * tray.width * tray.depth * tray.fill / _PI for tray in inventory.trays]
    scale = lcm(*(one.denominator for one in squares), 1)
    limits = [int(room * scale) for room in rooms]  # rounded down: sums are whole
    if max((int(choice.price * money) for choice in choices), default=0) * len(racks) > MAX or max(limits) > MAX:
        return None, False
    program = Discrete()
    flags = [[program.flag() for _ in rack] for rack in racks]
    terms: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for rack, names in zip(racks, flags, strict=True):
        program.require_one(names)
        for (_, cables), name in zip(rack, names, strict=True):
            for (tray, d), count in cables.items():
                if d is not None:
                    terms[tray].append((int(d * d * scale) * count, name))
    for tray, sum_ in terms.items():
        program.row(sum_, 0, limits[tray])
    program.minimise(
        (int(choice.price * money), name)
        for rack, names in zip(racks, flags, strict=True)
        for (choice, _), name in zip(rack, names, strict=True)
    )
    try:
        verdict = program.solve(seconds=_SECONDS)
    except MissingLibraryError:
        return None, False
    if not program.solved:
        return None, verdict == "infeasible"
    picked = [
        next(one for one, name in zip(rack, names, strict=True) if program.value(name))
        for rack, names in zip(racks, flags, strict=True)
    ]
    total: Counter[Thick] = Counter()
    for _, cables in picked:
        total.update(cables)
    if not all(use.ok for use in uses_of(inventory, total)):  # pragma: no cover  were the solver wrong
        return None, False
    return tuple(choice for choice, _ in picked), verdict == "optimal"
