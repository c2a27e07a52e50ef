"""Parts laid: each piece by its name, and the way of every lane through them, fibre by fibre.

A *hop* is a lane's way through one piece: where its two fibres go in, on the host's side, and where they come out. The
plug is the number of a connector or port of the piece (1 where it has one there), the fibres those of the plug: first
the one that the host sends on; with one fibre a lane they are the same. Of an LC duplex port,
fibre 1 is side A and fibre 2 side B.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import NamedTuple, TypeAlias

from topodesign.base.declared import Declared, key
from topodesign.base.errors import MissingLibraryError
from topodesign.solve.discrete import MOST, Discrete
from topodesign.wiring.exports.cables import far_fibre, fibres_at_host
from topodesign.wiring.inventory.inventory import Inventory, tray_way
from topodesign.wiring.parts import ways
from topodesign.wiring.parts.choice import Bundle, Lane, RackChoice, lanes_by_rack
from topodesign.wiring.parts.parts import Piece

_LETTERS = {"cord": "D", "breakout": "B", "trunk": "T", "cassette": "K", "shuffle": "S", "circulator": "C"}


class Unit(NamedTuple):
    """A piece by its name, with the racks (site and rack) of its two ends."""

    name: str
    piece: Piece
    a: ways.Rack
    b: ways.Rack


class Ends(NamedTuple):
    """Where a lane goes in or comes out: the plug, the fibre that the host sends on, the one that it receives on."""

    plug: int
    send: int
    receive: int


_LONE = Ends(1, 1, 1)  # one fibre, both ways


class Hop(NamedTuple):
    """A lane's way through a piece."""

    unit: Unit
    enters: Ends
    leaves: Ends


_LaneKey = tuple[str, str, int]  # host, port, lane


@dataclass
class Laid:
    """All pieces, and the hops of every lane from its host to the panel port."""

    units: list[Unit] = field(default_factory=list)
    hops: dict[_LaneKey, tuple[Hop, ...]] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def unit(self, piece: Piece, a: ways.Rack, b: ways.Rack) -> Unit:
        """Add a piece."""
        letter = _LETTERS[piece.part.sort]
        self._count[letter] = self._count.get(letter, 0) + 1
        found = Unit(f"{letter}{self._count[letter]}", piece, a, b)
        self.units.append(found)
        return found


def lay(laid: Laid, shop: ways.Shop, choice: RackChoice, *, odd: bool) -> None:
    """Lay what a rack's hosts are cabled with."""
    near: dict[_LaneKey, tuple[Hop, ...]] = {}  # up to the bundle
    outputs: dict[_LaneKey, tuple[Unit, int]] = {}  # the shuffle and its output
    for ports, option in choice.groups:
        box: Unit | None = None
        for number, run in enumerate(ports):
            if option.way == "breakouts":
                _direct(laid, shop, run, odd=odd)
            elif option.shuffle is None:
                _to_cassettes(laid, shop, run, near)
            else:
                if number % option.shuffle.count == 0:
                    box = laid.unit(Piece(option.shuffle), choice.rack, choice.rack)
                if box is not None:
                    place = number % option.shuffle.count + 1
                    _to_shuffle(laid, shop, (run, option), (box, place), (near, outputs))
    for (rack, kind), lanes in lanes_by_rack(choice.groups).items():
        _bundle(laid, (choice.rack, rack), choice.bundles[rack, kind], lanes, (near, outputs))


def _direct(laid: Laid, shop: ways.Shop, run: ways.PortRun, *, odd: bool) -> None:
    if shop.circulator is not None:
        _by_circulators(laid, shop, run)
        return
    piece = shop.direct(run, odd)
    if piece is None:  # pragma: no cover  the choice has priced it
        return
    far = next(iter(run.ends.values()))[1]
    unit = laid.unit(piece, ways.rack_of(run.place), ways.rack_of(far))
    for lane in run.ends:
        enters, leaves = _fan(run, lane) if run.port.lanes > 1 else _turned(1, crosses=odd)
        if shop.single is not None:
            enters = leaves = _LONE
        laid.hops[run.host, run.port.name, lane] = (Hop(unit, enters, leaves),)


def _by_circulators(laid: Laid, shop: ways.Shop, run: ways.PortRun) -> None:
    rack = ways.rack_of(run.place)
    fan = ways.near_piece(shop, run, ways.Option("trunks"), inside=True)
    unit = None if fan is None else laid.unit(fan, rack, rack)
    for (lane, (_, end)), drop in zip(run.ends.items(), ways.lone_drops(shop, run) or (), strict=True):
        hops = [] if unit is None else [Hop(unit, *_fan(run, lane))]
        _lone(laid, drop, rack, hops)
        hops.append(Hop(laid.unit(drop.far, rack, ways.rack_of(end)), _LONE, _LONE))
        laid.hops[run.host, run.port.name, lane] = tuple(hops)


def _lone(laid: Laid, drop: ways.Drop, rack: ways.Rack, hops: list[Hop]) -> None:
    """Lay the near cord of a lane, and the circulator that joins its fibres, if there is one."""
    if drop.near is not None:
        crosses = drop.near.part.polarity == "crossed"
        ends = _turned(1, crosses=crosses) if drop.circulator is not None else (_LONE, _LONE)
        hops.append(Hop(laid.unit(drop.near, rack, rack), *ends))
    if drop.circulator is not None:
        hops.append(Hop(laid.unit(drop.circulator, rack, rack), Ends(1, *hops[-1].leaves[1:]), _LONE))


def _to_cassettes(laid: Laid, shop: ways.Shop, run: ways.PortRun, near: dict[_LaneKey, tuple[Hop, ...]]) -> None:
    piece = ways.near_piece(shop, run, ways.Option("trunks"))
    if piece is None:
        return
    rack = ways.rack_of(run.place)
    unit = laid.unit(piece, rack, rack)
    for lane, (_, end) in run.ends.items():
        hops = (Hop(unit, *_fan(run, lane)),)
        if ways.rack_of(end) == rack:
            laid.hops[run.host, run.port.name, lane] = hops
        else:
            near[run.host, run.port.name, lane] = hops


def _to_shuffle(
    laid: Laid,
    shop: ways.Shop,
    cabled: tuple[ways.PortRun, ways.Option],
    box: tuple[Unit, int],
    before: tuple[dict[_LaneKey, tuple[Hop, ...]], dict[_LaneKey, tuple[Unit, int]]],
) -> None:
    """Lay the array cord of a port and its lanes through a shuffle, of which it has one input."""
    (run, option), (shuffle, place), (near, outputs) = cabled, box, before
    piece = ways.near_piece(shop, run, option)
    if piece is None or option.shuffle is None:  # pragma: no cover  the choice has priced it
        return
    rack, connector = ways.rack_of(run.place), run.port.connector
    cord = laid.unit(piece, rack, rack)
    width = run.port.lanes // option.shuffle.fronts
    for lane in run.ends:
        output, rest = divmod(lane - 1, width)
        slot = (place - 1) * width + rest + 1
        send, receive = fibres_at_host(connector, lane)
        kind = next(one for one in ("A", "B", "C") if one == option.kind)
        came, back = (far_fibre(connector, kind, fibre) for fibre in (send, receive))
        out = ways.fibres_of_slot(connector, "ends", slot)
        if (came, back) != ways.fibres_of_slot(connector, "ends", lane):
            out = out[::-1]
        key = (run.host, run.port.name, lane)
        near[key] = (
            Hop(cord, Ends(1, send, receive), Ends(1, came, back)),
            Hop(shuffle, Ends(place, came, back), Ends(output + 1, *out)),
        )
        outputs[key] = shuffle, output + 1


def _bundle(
    laid: Laid,
    racks: tuple[ways.Rack, ways.Rack],
    bundle: Bundle,
    lanes: Sequence[Lane],
    before: tuple[dict[_LaneKey, tuple[Hop, ...]], dict[_LaneKey, tuple[Unit, int]]],
) -> None:
    """Lay a bundle with the cords at its ends."""
    here, there = racks
    near, outputs = before
    span = bundle.span
    trunks = _plugs(laid, bundle.trunks, here, there)
    rears = _plugs(laid, bundle.cassettes, here, here) if bundle.both else []
    fars = _plugs(laid, bundle.cassettes, there, there)
    connector_of: dict[tuple[Unit, int], int] = {}
    for number, (lane, drop) in enumerate(zip(lanes, bundle.drops, strict=True)):
        key = (lane.run.host, lane.run.port.name, lane.number)
        hops = list(near.get(key, ()))
        if bundle.both:
            width = 2 * span.slots if bundle.single else span.slots
            connector, slot = number // width, number % width + 1
            if bundle.single:
                _lone(laid, drop, here, hops)
                slot, side = (slot + 1) // 2, (slot - 1) % 2 + 1
            elif drop.near is not None:
                hops.append(Hop(laid.unit(drop.near, here, here), *_turned(1, crosses=drop.near_crosses)))
            send, receive = hops[-1].leaves[1:] if not bundle.single else (side, side)
            unit, rear = rears[connector]
            fibres = ways.fibres_of_slot(span.connector, span.pairing, slot)
            inside = Ends(rear, fibres[send - 1], fibres[receive - 1])
            hops.append(Hop(unit, Ends(_front(span.slots, rear, slot), send, receive), inside))
        else:
            connector = connector_of.setdefault(outputs[key], len(connector_of))
            inside = hops[-1].leaves
        trunk, plug = trunks[connector]
        came = Ends(plug, *(far_fibre(span.connector, span.polarity, fibre) for fibre in inside[1:]))
        hops.append(Hop(trunk, Ends(plug, *inside[1:]), came))
        unit, rear = fars[connector]
        slot = next(
            one
            for one in range(1, span.slots + 1)
            if came.send in ways.fibres_of_slot(span.connector, span.pairing, one)
        )
        fibres = ways.fibres_of_slot(span.connector, span.pairing, slot)
        out = Ends(_front(span.slots, rear, slot), fibres.index(came.send) + 1, fibres.index(came.receive) + 1)
        hops.append(Hop(unit, Ends(rear, *came[1:]), out))
        cord = laid.unit(drop.far, there, there)
        ends = out[1:][::-1] if drop.far_crosses else out[1:]
        hops.append(Hop(cord, *((_LONE, _LONE) if bundle.single else (Ends(1, *out[1:]), Ends(1, *ends)))))
        laid.hops[key] = tuple(hops)


def _plugs(laid: Laid, cover: ways.Cover, a: ways.Rack, b: ways.Rack) -> list[tuple[Unit, int]]:
    """Add the pieces of a cover and return their connectors, or rears, in order."""
    units = [laid.unit(piece, a, b) for piece in cover.pieces]
    return [(unit, plug) for unit in units for plug in range(1, unit.piece.part.count + 1)]


def _front(slots: int, rear: int, slot: int) -> int:
    return (rear - 1) * slots + slot


def _fan(run: ways.PortRun, lane: int) -> tuple[Ends, Ends]:
    """Return how a lane goes through a breakout: each leg has what is sent at side A."""
    return Ends(1, *fibres_at_host(run.port.connector, lane)), Ends(lane, 1, 2)


def _turned(plug: int, *, crosses: bool) -> tuple[Ends, Ends]:
    """Return how a lane goes through a duplex cord of its host."""
    return Ends(plug, 1, 2), Ends(plug, 2, 1) if crosses else Ends(plug, 1, 2)


Thick: TypeAlias = tuple[int, Fraction | None]  # the place of a tray, and the diameter of a cable, None if unknown

_PI = Fraction(355, 113)
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class TrayUse(Declared):
    """What runs in a tray.

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
        """Whether it is no fuller than it may be."""
        return self.filled <= self.fill

    @property
    def words(self) -> str:
        """How full it is."""
        return f"tray {self.tray}: {self.cables} cables fill {float(self.filled):.1%} of {float(self.fill):.0%}"


def cables_of(inventory: Inventory, laid: Laid, ends: Mapping[tuple[str, str, int], ways.Rack]) -> Counter[Thick]:
    """Return how many cables run in each tray, by the tray's place and the diameter, from the racks where lanes end."""
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
    """Return what runs in each tray, the fullest first."""
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
    """Return a choice of each rack with which all trays hold, or None, and whether it is proven to be the cheapest.

    For each rack there are choices with the cables that they lay in trays. With None proven, none fits.
    """
    choices = [choice for rack in racks for choice, _ in rack]
    money = lcm(*(choice.price.denominator for choice in choices))
    squares = {d * d for rack in racks for _, cables in rack for _, d in cables if d is not None}
    rooms = [4 * tray.width * tray.depth * tray.fill / _PI for tray in inventory.trays]
    scale = lcm(*(one.denominator for one in squares), 1)
    limits = [int(room * scale) for room in rooms]  # rounded down: sums are whole
    if max((int(choice.price * money) for choice in choices), default=0) * len(racks) > MOST or max(limits) > MOST:
        return None, False
    program = Discrete()
    flags = [[program.flag() for _ in rack] for rack in racks]
    terms: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for rack, names in zip(racks, flags, strict=True):
        program.one_of(names)
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
