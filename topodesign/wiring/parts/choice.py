"""Exact choice of the cheapest cabling method per rack.

Ports of a rack whose lanes end in the same racks are cabled alike. Bundles are between two racks, so racks of hosts do
not meddle with each other: for each, all choices of a way for all its groups of ports are priced, with the bundles that
they then share. A bundle has trunks of one type and cassettes of one kind; of these the cheapest are chosen
(``bundles``). So the total is the least of all such choices, unless a rack has too many: then the best is taken that no
change of one group makes cheaper, and that is reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

from topodesign.base.errors import InfeasibleError
from topodesign.wiring.inventory.devices import Place
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.parts.ways import (
    WAYS,
    Cover,
    Drop,
    PortRun,
    Rack,
    Shop,
    Span,
    Way,
    cheapest_cover,
    lay_port,
    lone_drop,
    rack_of,
    spans,
)

_MAX_CHOICES = 5000  # choices of a rack that are gone through
_MAX_LISTED = 64  # choices of a rack that an integer program of all racks takes


class Lane(NamedTuple):
    """Lane of a bundle to the panel's rack."""

    run: PortRun
    number: int
    end: Place


@dataclass(frozen=True)
class Bundle:
    """Bundle between cassettes: its pieces, and cords by lane."""

    span: Span
    connectors: int
    trunks: Cover
    cassettes: Cover
    drops: tuple[Drop, ...]
    single: bool = False  # whether each lane has one fibre, so that there are two lanes to a slot

    @cached_property
    def price(self) -> Fraction:
        """Total price."""
        cords = sum((drop.price * count for drop, count in Counter(self.drops).items()), Fraction(0))
        return self.trunks.price + 2 * self.cassettes.price + cords


@dataclass(frozen=True)
class RackChoice:
    """Cabling choice for the hosts of a rack."""

    rack: Rack
    groups: tuple[tuple[tuple[PortRun, ...], Way], ...]
    bundles: dict[Rack, Bundle]
    price: Fraction
    proven: bool


def host_racks(shop: Shop, runs: Sequence[PortRun], *, odd: bool) -> list[HostRack]:
    """Return the racks of hosts.

    ``odd``: whether the fibres of every lane must end up exchanged.
    """
    racks: dict[Rack, dict[object, list[PortRun]]] = {}
    for run in runs:
        racks.setdefault(run.rack, {}).setdefault((run.port.connector, run.racks), []).append(run)
    return [
        HostRack(shop, rack, [tuple(group) for group in groups.values()], odd=odd) for rack, groups in racks.items()
    ]


def lanes_by_rack(groups: Sequence[tuple[Sequence[PortRun], Way]]) -> dict[Rack, list[Lane]]:
    """Return the lanes of each bundle by far rack.

    Lanes are in the order of ports and lanes. Lanes that end within their own rack use no bundle.
    """
    found: dict[Rack, list[Lane]] = {}
    for ports, way in groups:
        for run in ports if way != "breakouts" else ():
            for lane, (_, end) in run.ends.items():
                if rack_of(end) != run.rack:
                    found.setdefault(rack_of(end), []).append(Lane(run, lane, end))
    return found


class HostRack:
    """Rack of hosts, with cached costs of its choices."""

    def __init__(self, shop: Shop, rack: Rack, groups: list[tuple[PortRun, ...]], *, odd: bool) -> None:
        self.shop, self.rack, self.groups, self.odd = shop, rack, groups, odd
        self._local: dict[tuple[int, Way], Fraction | str] = {}
        self._bundles: dict[object, Bundle] = {}
        self._drops: dict[object, Drop | None] = {}

    def best(self, ways: Sequence[Way]) -> RackChoice:
        """Return the cheapest choice of some methods.

        Raises InfeasibleError if there is none.
        """
        options = [self._options(number, ways) for number in range(len(self.groups))]
        proven = prod(map(len, options)) <= _MAX_CHOICES
        found = min(self._iterate_choices(options) if proven else self._descent(options, ways), key=lambda one: one[0])
        return self._choice(*found, proven=proven)

    def every(self, ways: Sequence[Way]) -> list[RackChoice] | None:
        """Return all choices of some methods.

        None if there are too many.
        """
        options = [self._options(number, ways) for number in range(len(self.groups))]
        if prod(map(len, options)) > _MAX_LISTED:
            return None
        return [self._choice(price, chosen, proven=True) for price, chosen in self._iterate_choices(options)]

    def _choice(self, price: Fraction, chosen: tuple[Way, ...], *, proven: bool) -> RackChoice:
        groups = tuple(zip(self.groups, chosen, strict=True))
        return RackChoice(self.rack, groups, dict(self._price_bundles(chosen)), price, proven)

    def _iterate_choices(self, options: list[list[Way]]) -> Iterator[tuple[Fraction, tuple[Way, ...]]]:
        for chosen in product(*options):
            yield self._price(chosen), chosen

    def _descent(self, options: list[list[Way]], ways: Sequence[Way]) -> Iterator[tuple[Fraction, tuple[Way, ...]]]:
        """Yield locally optimal choices, from near-uniform starts."""
        for way in ways:
            chosen = tuple(way if way in some else some[0] for some in options)
            price, better = self._price(chosen), True
            while better:
                better = False
                for place, some in enumerate(options):
                    for one in some:
                        other = (*chosen[:place], one, *chosen[place + 1 :])
                        if (less := self._price(other)) < price:
                            chosen, price, better = other, less, True
            yield price, chosen

    def _price(self, chosen: Sequence[Way]) -> Fraction:
        local = [price for one in enumerate(chosen) if not isinstance(price := self._local[one], str)]
        return sum(local, Fraction(0)) + sum((bundle.price for _, bundle in self._price_bundles(chosen)), Fraction(0))

    def _price_bundles(self, chosen: Sequence[Way]) -> Iterator[tuple[Rack, Bundle]]:
        """Yield the bundles of a choice."""
        members = tuple(number for number, way in enumerate(chosen) if way != "breakouts")
        for rack, lanes in lanes_by_rack(list(zip(self.groups, chosen, strict=True))).items():
            name = (rack, members)
            if name not in self._bundles:
                bundle = self._bundle(rack, lanes)
                if isinstance(bundle, str):  # pragma: no cover  impossible options were excluded
                    raise InfeasibleError(bundle)
                self._bundles[name] = bundle
            yield rack, self._bundles[name]

    def _options(self, number: int, ways: Sequence[Way]) -> list[Way]:
        """Return the feasible methods of a group."""
        reasons, found = [], []
        inside = all(rack == self.rack for _, rack in self.groups[number][0].racks)
        for way in WAYS[:1] if inside else ways:  # no trunk is laid within a rack
            said = self._local.get((number, way))
            if said is None:
                said = self._local[number, way] = self._price_alone(number, way)
            if isinstance(said, str):
                reasons.append(f"{way}: {said}")
            else:
                found.append(way)
        if not found:
            name = self.groups[number][0].name
            raise InfeasibleError(f"{name}: no parts of the list cable it; {'; '.join(dict.fromkeys(reasons))}")
        return found

    def _price_alone(self, number: int, way: Way) -> Fraction | str:
        """Return a group's cost without bundles, or why it fails."""
        ports, total = self.groups[number], Fraction(0)
        for run in ports:
            pieces = lay_port(self.shop, run, way, odd=self.odd)
            if isinstance(pieces, str):
                return pieces
            total += sum((one.piece.price for one in pieces), Fraction(0))
        for rack, lanes in lanes_by_rack([(ports, way)]).items():
            bundle = self._bundle(rack, lanes)
            if isinstance(bundle, str):
                return bundle
        return total

    def _bundle(self, rack: Rack, lanes: Sequence[Lane]) -> Bundle | str:
        """Return the cheapest bundle to a rack, or a reason."""
        shop = self.shop
        needed = shop.metres(shop.top(self.rack), shop.top(rack))
        best: Bundle | None = None
        met = False
        for span in spans(shop.parts, needed):
            met = True
            drops = tuple(drop for lane in lanes if (drop := self._drop(lane, span.crosses)) is not None)
            if len(drops) < len(lanes):
                continue
            connectors = -(-len(lanes) // (span.slots if shop.single is None else 2 * span.slots))
            trunks = cheapest_cover(span.trunks, connectors)
            cassettes = cheapest_cover(span.cassettes, connectors)
            bundle = Bundle(span, connectors, trunks, cassettes, drops, shop.single is not None)
            if best is None or bundle.price < best.price:
                best = bundle
        if best is not None:
            return best
        if met:
            return f"cords to rack {rack[1]} are too short, or none brings Tx to Rx behind these trunks (polarity)"
        return (
            f"no trunk of {format_metres(needed)} m to rack {rack[1]} with cassettes for its plugs and fibres is sold"
        )

    def _drop(self, lane: Lane, crosses: bool) -> Drop | None:
        """Return the cheapest cords of a lane in a bundle."""
        name = (lane.run.place if lane.run.port.lanes == 1 else None, lane.end, crosses)
        if name not in self._drops:
            self._drops[name] = self._cheapest_drop(lane, crosses)
        return self._drops[name]

    def _cheapest_drop(self, lane: Lane, crosses: bool) -> Drop | None:
        shop, run = self.shop, lane.run
        top = shop.top(rack_of(lane.end))
        if shop.single is not None:
            return lone_drop(shop, run, top, lane.end)
        if run.port.lanes > 1:
            turn = crosses ^ self.odd
            far = shop.cord("LC duplex", top, lane.end, crosses=turn)
            return None if far is None else Drop(None, far, near_crosses=False, far_crosses=turn)
        found = []
        for turn in (False, True):
            near = shop.cord("LC duplex", run.place, shop.top(self.rack), crosses=turn)
            far = shop.cord("LC duplex", top, lane.end, crosses=turn ^ crosses ^ self.odd)
            if near is not None and far is not None:
                found.append(Drop(near, far, turn, turn ^ crosses ^ self.odd))
        return min(found, key=lambda one: one.price, default=None)
