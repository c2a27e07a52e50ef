"""Cabling methods from host lanes to panel ports.

* ``breakouts``: one cable from port to panels: a breakout cable, or a cord for a port of one lane.
* ``trunks``: a short breakout or cord to a cassette in the host's rack, a trunk to a cassette in the panel's, a cord.

What is sent must come out at side A of every panel port, or of every one at side B, for a patch to bring it to a
receiver: how often fibres of a pair are exchanged on the way has to be even, or odd, for all.

With *one fibre* a lane, both ways in it, there are no pairs to exchange: circulators in the host's rack join the two
fibres of each lane, or optics do.

A breakout fits if its furcation can lie somewhere such that no leg is longer than it is: at one of its ends, or
anywhere along trays at right angles. In a plane of such distances that is so exactly if every two ends are near enough
(balls that meet two by two meet in one point, as they are boxes when the plane is turned by 45 degrees). Half of the
slack goes to either end of each. Where there are trays it lies at a rack or junction that they join.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

from topodesign.base.errors import InfeasibleError
from topodesign.wiring.exports.cables import ROWS, far_fibre, fibres_at_host
from topodesign.wiring.inventory.devices import Connector, Fixed, Place, Polarity, Port
from topodesign.wiring.inventory.inventory import Inventory, format_metres, run, tray_way, ways_from
from topodesign.wiring.parts.parts import ARRAYS, TURNS, Pairing, Part, PartsList, Piece, shortest
from topodesign.wiring.plan.net import Net

Way = Literal["breakouts", "trunks"]
Single = Literal["circulators", "optics"]
SINGLES: tuple[Single, ...] = ("circulators", "optics")
WAYS: tuple[Way, ...] = ("breakouts", "trunks")

Rack: TypeAlias = tuple[str, str]  # a site and a rack


class PortRun(NamedTuple):
    """Host port with its cabled lanes and their panels."""

    host: str
    port: Port
    place: Place
    ends: Mapping[int, tuple[Fixed, Place]]

    @property
    def name(self) -> str:
        """Host and port."""
        return f"{self.host} {self.port.name}"

    @property
    def rack(self) -> Rack:
        """Rack of the host."""
        return rack_of(self.place)

    def key(self, lane: int) -> tuple[str, str, int]:
        """Return host, port and lane."""
        return self.host, self.port.name, lane

    @property
    def racks(self) -> tuple[tuple[int, Rack], ...]:
        """Lanes and their end racks."""
        return tuple((lane, rack_of(place)) for lane, (_, place) in self.ends.items())


def rack_of(place: Place) -> Rack:
    """Return the rack of a place."""
    return place.site, place.rack


def runs_of(net: Net) -> list[PortRun]:
    """Return fixed cabling by port, in inventory order."""
    room = net.inventory
    found: dict[tuple[str, str], dict[int, tuple[Fixed, Place]]] = {}
    for lead in net.leads.values():
        found.setdefault(lead.end.socket, {})[lead.end.lane] = lead.end, lead.fixed.b.place
    return [
        PortRun(socket[0], room.port[socket], room.place(socket[0]), dict(sorted(ends.items())))
        for socket, ends in found.items()
    ]


class Shop:
    """Parts on sale for a site, with cached answers."""

    def __init__(self, inventory: Inventory, parts: PartsList, single: Single | None = None) -> None:
        self.inventory = inventory
        self.parts = parts
        self.single = single
        self.circulator = _cheapest(map(Piece, parts.by_sort["circulator"])) if single == "circulators" else None
        if single == "circulators" and self.circulator is None:
            raise InfeasibleError("no circulator is in the list of parts")
        self._pieces: dict[object, Piece | None] = {}
        self._metres: dict[object, Fraction] = {}

    @cached_property
    def _tops(self) -> dict[Rack, int]:
        tops: dict[Rack, int] = {}
        for place in map(self.inventory.place, (*self.inventory.host, *self.inventory.panel)):
            tops[rack_of(place)] = max(tops.get(rack_of(place), 0), place.unit + 1)
        return tops

    def top(self, rack: Rack) -> Place:
        """Return the place of a rack's cassettes, at its top."""
        return Place(*rack, self._tops[rack])

    def metres(self, here: Place, there: Place, *, slack: bool = True) -> Fraction:
        """Return the metres between two places.

        Includes the slack of a cable, unless ``slack`` is false.
        """
        name = (here, there, slack)
        if name not in self._metres:
            found = run(self.inventory, here, there)
            if found is None:
                words = f"racks {here.rack} and {there.rack} need a site in common and places (racks: in the inventory)"
                raise InfeasibleError(f"cables cannot be chosen without their lengths: {words}")
            self._metres[name] = found + (self.inventory.slack if slack else 0)
        return self._metres[name]

    def cord(self, ends: str, here: Place, there: Place, *, crosses: bool | None = None) -> Piece | None:
        """Return the cheapest cord between two places, or None.

        ``crosses``: whether it exchanges the fibres of a pair.
        """
        needed = self.metres(here, there)
        name = (ends, needed, crosses)
        if name not in self._pieces:
            fits = {None: TURNS, True: ("crossed", "either"), False: ("straight", "either")}[crosses]
            some = (
                shortest(one, needed)
                for one in self.parts.by_sort["cord"]
                if one.connector == ends and one.polarity in fits
            )
            self._pieces[name] = _cheapest(some)
        return self._pieces[name]

    def breakout(self, run: PortRun, ends: Mapping[int, Place]) -> Piece | None:
        """Return the cheapest breakout from a port, or None.

        ``ends`` are the panel places of its lanes.
        """
        within = any(rack_of(end) == run.rack for end in ends.values())  # only then the unit matters
        name = (run.port.connector, run.place if within else run.rack, tuple(ends.items()))
        if name not in self._pieces:
            some = (
                Piece(one, size)
                for one in self.parts.by_sort["breakout"]
                if one.connector == run.port.connector
                for size in one.lengths
                if self.reaches(one, size, run.place, ends)
            )
            self._pieces[name] = _cheapest(some)
        return self._pieces[name]

    def reaches(self, part: Part, size: Fraction, host: Place, ends: Mapping[int, Place]) -> bool:
        """Return whether a breakout reaches from a host to all ends."""
        legs = {lane: part.leg(lane) for lane in ends}
        arms = [(host, size - max(part.legs))] + [(ends[lane], leg) for lane, leg in legs.items() if leg is not None]
        if len(arms) <= len(ends):
            return False
        for middle in dict.fromkeys(ends.values()):
            slack = [0 if rack_of(end) == rack_of(middle) else self.inventory.slack for end, _ in arms]
            slack[0] = self.inventory.slack
            if all(
                self.metres(end, middle, slack=False) + more <= arm
                for (end, arm), more in zip(arms, slack, strict=True)
            ):
                return True
        half = self.inventory.slack / 2
        if host.site in self.inventory.tray_sites:
            return any(
                all(
                    (way := tray_way(self.inventory, host.site, middle, end.rack)) is not None and way[0] + half <= arm
                    for end, arm in arms
                )
                for middle in ways_from(self.inventory, host.site, host.rack)
            )
        return all(arm >= half for _, arm in arms) and all(
            self.metres(a, b) <= one + other for (a, one), (b, other) in combinations(arms, 2)
        )

    @property
    def ends(self) -> str:
        """Connector type of the cords behind hosts or circulators."""
        return "LC duplex" if self.single is None else "LC simplex"

    def direct(self, run: PortRun, odd: bool) -> Piece | None:
        """Return the single cable for a port, or None.

        ``odd`` is whether it must exchange the fibres of each lane.
        """
        if self.single is not None:
            (_, end) = next(iter(run.ends.values()))
            return self.cord(self.ends, run.place, end) if run.port.lanes == 1 else None
        if run.port.lanes == 1:
            (_, end) = next(iter(run.ends.values()))
            return self.cord("LC duplex", run.place, end, crosses=odd)
        return None if odd else self.breakout(run, {lane: end for lane, (_, end) in run.ends.items()})


def _cheapest(pieces: Iterable[Piece | None]) -> Piece | None:
    return min((one for one in pieces if one is not None), key=lambda one: one.rank, default=None)


class Drop(NamedTuple):
    """Cords of a lane at both ends of a bundle."""

    near: Piece | None
    far: Piece
    near_crosses: bool
    far_crosses: bool
    circulator: Piece | None = None  # behind the near cord, or the leg of a breakout

    @property
    def price(self) -> Fraction:
        """Total price of the cords and circulator."""
        return sum((one.price for one in (self.far, self.near, self.circulator) if one is not None), Fraction(0))


def lone_drop(shop: Shop, run: PortRun, start: Place, end: Place) -> Drop | None:
    """Return the cords of a one-fibre lane, or None.

    The far cord goes from ``start`` to a panel at ``end``.
    """
    ends = "LC duplex" if shop.circulator is not None else shop.ends
    near = shop.cord(ends, run.place, shop.top(run.rack)) if run.port.lanes == 1 else None
    far = shop.cord(shop.ends, start, end)
    if far is None or (near is None and run.port.lanes == 1):
        return None
    return Drop(near, far, near_crosses=False, far_crosses=False, circulator=shop.circulator)


def near_piece(shop: Shop, run: PortRun, *, inside: bool = False) -> Piece | None:
    """Return the piece from a port to cassettes, or None.

    The cassettes are in the host's rack. A port of one lane needs a cord instead.

    Lanes that end at a panel in that rack go there at once, unless all shall end ``inside``, at circulators.
    """
    top = shop.top(run.rack)
    if run.port.lanes == 1:
        return None
    ends = {lane: end if not inside and rack_of(end) == run.rack else top for lane, (_, end) in run.ends.items()}
    return shop.breakout(run, ends)


class Ends(NamedTuple):
    """Entry or exit of a lane: plug and two fibres."""

    plug: int
    send: int
    receive: int


LONE = Ends(1, 1, 1)  # one fibre, both ways


def _fan(run: PortRun, lane: int) -> tuple[Ends, Ends]:
    """Return a lane's ends in a breakout, sending at side A."""
    return Ends(1, *fibres_at_host(run.port.connector, lane)), Ends(lane, 1, 2)


def reverse_ends(*, crosses: bool) -> tuple[Ends, Ends]:
    """Return a lane's ends in a duplex cord."""
    return Ends(1, 1, 2), Ends(1, 2, 1) if crosses else Ends(1, 1, 2)


class PortPiece(NamedTuple):
    """Piece of a port's cabling, with its lanes."""

    piece: Piece
    far: Rack
    lanes: Mapping[int, tuple[Ends, Ends]]


def lay_port(shop: Shop, run: PortRun, way: Way, *, odd: bool) -> list[PortPiece] | str:
    """Return the pieces of one port, or why none fit.

    Pieces are listed from the host on, without bundles.

    ``odd``: whether the fibres of every lane shall end up exchanged.
    """
    fans = {lane: _fan(run, lane) for lane in run.ends} if run.port.lanes > 1 else {}
    if way == "trunks":
        return _lay_to_cassettes(shop, run, fans, odd=odd)
    if shop.circulator is not None:
        return _lay_by_circulators(shop, run, fans)
    piece = shop.direct(run, odd)
    if piece is None:
        return _explain_no_cable(shop, run, odd=odd)
    through = fans or dict.fromkeys(run.ends, reverse_ends(crosses=odd) if shop.single is None else (LONE, LONE))
    return [PortPiece(piece, rack_of(next(iter(run.ends.values()))[1]), through)]


def _lay_to_cassettes(
    shop: Shop, run: PortRun, fans: Mapping[int, tuple[Ends, Ends]], *, odd: bool
) -> list[PortPiece] | str:
    if fans and shop.single == "optics":
        return "optics of one fibre have ports of one lane"
    if fans and any(rack == run.rack for _, rack in run.racks) and (odd or shop.circulator is not None):
        return "legs that end in their own rack would be the only ones not exchanged, or behind no circulator"
    piece = near_piece(shop, run)
    if piece is None:
        return "no breakout is long enough within the rack" if fans else []
    return [PortPiece(piece, run.rack, fans)]


def _lay_by_circulators(shop: Shop, run: PortRun, fans: Mapping[int, tuple[Ends, Ends]]) -> list[PortPiece] | str:
    drops = [lone_drop(shop, run, shop.top(run.rack), end) for _, end in run.ends.values()]
    fan = near_piece(shop, run, inside=True)
    found = [] if fan is None else [PortPiece(fan, run.rack, fans)]
    for (lane, (_, end)), drop in zip(run.ends.items(), drops, strict=True):
        if drop is None or (fans and fan is None):
            return "no cord of one fibre is long enough, or no cord or breakout to circulators"
        before = fans[lane][1] if fans else None
        found += [PortPiece(piece, run.rack, {lane: ends}) for piece, ends in lone_pieces(drop, before)]
        found.append(PortPiece(drop.far, rack_of(end), {lane: (LONE, LONE)}))
    return found


def lone_pieces(drop: Drop, before: Ends | None) -> Iterator[tuple[Piece, tuple[Ends, Ends]]]:
    """Yield the near cord and the circulator of a lane.

    ``before`` is where the lane comes from: a leg of a breakout, if there is one.
    """
    if drop.near is not None:
        crosses = drop.near.part.polarity == "crossed"
        ends = reverse_ends(crosses=crosses) if drop.circulator is not None else (LONE, LONE)
        yield drop.near, ends
        before = ends[1]
    if drop.circulator is not None and before is not None:
        yield drop.circulator, (Ends(1, before.send, before.receive), LONE)


def _explain_no_cable(shop: Shop, run: PortRun, *, odd: bool) -> str:
    ends = [end for _, end in run.ends.values()]
    far = max(shop.metres(run.place, end) for end in ends)
    if shop.single is not None:
        return "optics of one fibre have ports of one lane, and a simplex cord that is long enough"
    if run.port.lanes == 1:
        return f"no {'crossed' if odd else 'straight'} duplex cord of {format_metres(far)} m is sold"
    apart = max(shop.metres(one, other, slack=False) for one in ends for other in ends)
    words = f"its lanes end up to {format_metres(apart)} m apart, {format_metres(far)} m away with slack"
    if odd:
        return "the legs of a breakout do not exchange fibres, as cords to other panel ports do: Tx would meet Tx"
    return f"{words}; no {run.port.connector} breakout is sold with legs for that"


class Cover(NamedTuple):
    """Cheapest pieces with enough connectors, and their total price."""

    pieces: tuple[Piece, ...]
    price: Fraction


class Span(NamedTuple):
    """Bundle kind of a connector, with its available parts."""

    connector: Connector  # of the trunks, and of the cassettes at the far end, as the next two are
    polarity: Polarity
    pairing: Pairing
    slots: int  # pairs of fibres of a connector that can be used
    crosses: bool  # whether what is sent comes out where the other fibre of the pair is
    trunks: tuple[Piece, ...]  # to choose from, any number of each
    cassettes: tuple[Piece, ...]  # likewise


def fibres_of_slot(connector: Connector, pairing: Pairing, slot: int) -> tuple[int, int]:
    """Return the two fibres of a slot, side A first.

    Slots are numbered from 1.
    """
    width, rows = ROWS[connector]
    if pairing == "pairs":
        return 2 * slot - 1, 2 * slot
    return (slot, width + slot) if rows == 2 else (slot, width + 1 - slot)


def slot_after(connector: Connector, pairing: Pairing, polarity: Polarity, slot: int) -> tuple[int, bool] | None:
    """Return the exit slot of an array cable's slot.

    Also returns whether its fibres are exchanged; None if the cable separates them.
    """
    a, b = (far_fibre(connector, polarity, fibre) for fibre in fibres_of_slot(connector, pairing, slot))
    width, rows = ROWS[connector]
    for other in range(1, width * rows // 2 + 1):
        here = fibres_of_slot(connector, pairing, other)
        if (a, b) in {here, here[::-1]}:
            return other, (b, a) == here
    return None


def spans(parts: PartsList, needed: Fraction) -> Iterator[Span]:
    """Yield bundle kinds of sufficient length (metres).

    Kinds are by connector, type of trunk, fibres and slots of cassettes.
    """
    kinds = {
        (array, one.pairing, one.slots)
        for one in parts.by_sort["cassette"]
        for array in ARRAYS
        if array == one.connector
    }
    for connector, fibres, slots in sorted(kinds):
        cassettes = tuple(
            Piece(one)
            for one in parts.by_sort["cassette"]
            if (one.connector, one.pairing, one.slots) == (connector, fibres, slots)
        )
        for polarity in ("A", "B", "C"):
            came = [slot_after(connector, fibres, polarity, slot) for slot in range(1, slots + 1)]
            landed = [one for one in came if one is not None and one[0] <= slots]
            if len(landed) < slots or len({crossed for _, crossed in landed}) > 1:
                continue
            fitting = (one for one in parts.by_sort["trunk"] if (one.connector, one.polarity) == (connector, polarity))
            trunks = tuple(piece for one in fitting if (piece := shortest(one, needed)) is not None)
            if trunks:
                yield Span(connector, polarity, fibres, slots, landed[0][1], trunks, cassettes)


@lru_cache(maxsize=1024)
def cheapest_cover(pieces: tuple[Piece, ...], needed: int) -> Cover:
    """Return the cheapest pieces with enough connectors (or rears).

    A knapsack that has to be covered, by dynamic programming over the number of connectors: exact.
    """
    best = [Cover((), Fraction(0))]
    for count in range(1, needed + 1):
        ways = ((one, best[max(0, count - one.part.count)]) for one in pieces)
        # of the same price the larger one, so that there are few
        one, rest = min(ways, key=lambda way: (way[1].price + way[0].price, -way[0].part.count, way[0].part.name))
        best.append(Cover((one, *rest.pieces), rest.price + one.price))
    return best[needed]
