"""How long a cable has to be, and which one to take from the stock."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush
from typing import Literal

from topodesign.base.errors import InfeasibleError
from topodesign.wiring.inventory.devices import Connector, Fixed, Mode, Place
from topodesign.wiring.inventory.inventory import Inventory


def tray_way(inventory: Inventory, site: str, a: str, b: str) -> tuple[Fraction, tuple[int, ...]] | None:
    """Return the metres of the shortest way through trays, and the trays by their place; None if there is no way."""
    return ways_from(inventory, site, a).get(b)


def ways_from(inventory: Inventory, site: str, rack: str) -> dict[str, tuple[Fraction, tuple[int, ...]]]:
    """Return the shortest way from a rack to each rack and junction (Dijkstra's algorithm); the first of equal ones."""
    if (site, rack) in inventory.tray_ways:
        return inventory.tray_ways[site, rack]
    near: dict[str, list[tuple[str, int]]] = {}
    for number, tray in enumerate(inventory.trays):
        if tray.site == site:
            near.setdefault(tray.a, []).append((tray.b, number))
            near.setdefault(tray.b, []).append((tray.a, number))
    found: dict[str, tuple[Fraction, tuple[int, ...]]] = {}
    heap: list[tuple[Fraction, tuple[int, ...], str]] = [(Fraction(0), (), rack)]
    while heap:
        metres, way, here = heappop(heap)
        if here in found:
            continue
        found[here] = metres, way
        for there, number in near.get(here, ()):
            if there not in found:
                heappush(heap, (metres + inventory.trays[number].length, (*way, number), there))
    inventory.tray_ways[site, rack] = found
    return found


CableType = Literal["LC simplex", "LC duplex", "MPO-12 breakout", "MPO-16 breakout", "MPO-24 breakout"]

UNIT = Fraction(4445, 100000)  # height of a rack unit in metres (IEC 60297: 44.45 mm)

FIXED: dict[Connector, CableType] = {
    "LC": "LC duplex",
    "MPO-12": "MPO-12 breakout",
    "MPO-16": "MPO-16 breakout",
    "MPO-24": "MPO-24 breakout",
}
"""The type of a fixed cable by the connector of the host's port; at the panel it ends in LC connectors."""

PATCH: dict[Mode, CableType] = {"simplex": "LC simplex", "duplex": "LC duplex"}  # the type of a patch cord by its mode


def distance(inventory: Inventory, a: str, b: str) -> Fraction | None:
    """Return the metres that a cable between two devices runs, without slack; None if nobody says where they stand.

    Between racks it runs along the trays of the inventory, or without these at right angles, ``|dx| + |dy|``; the slack
    has to do for the ways up and down. Within a rack it runs from unit to unit.
    """
    return run(inventory, inventory.place(a), inventory.place(b))


def run(inventory: Inventory, here: Place, there: Place) -> Fraction | None:
    """Return the metres of :func:`distance` between two places."""
    if here.site != there.site:
        return None
    if here.rack == there.rack:
        return abs(here.unit - there.unit) * UNIT
    if here.site in inventory.tray_sites:
        found = tray_way(inventory, here.site, here.rack, there.rack)
        return None if found is None else found[0]
    racks = inventory.racks.get(here.site, {})
    if here.rack not in racks or there.rack not in racks:
        return None
    (x1, y1), (x2, y2) = racks[here.rack], racks[there.rack]
    return abs(x1 - x2) + abs(y1 - y2)


def length(inventory: Inventory, a: str, b: str, kind: CableType) -> Fraction | None:
    """Return the metres of the shortest cable of a type that joins two devices; None if the distance is unknown.

    Types that the stock does not list can be had in all whole metres from 1 on.
    """
    run = distance(inventory, a, b)
    if run is None:
        return None
    needed = run + inventory.slack
    if kind not in inventory.stock:
        return max(Fraction(1), Fraction(-(-needed // 1)))
    found = min((metres for metres in inventory.stock[kind] if metres >= needed), default=None)
    if found is None:
        longest = max(inventory.stock[kind])
        words = f"needs {format_metres(needed)} m; the longest there is has {format_metres(longest)} m"
        raise InfeasibleError(f"a cable of type '{kind}' from {a} to {b} {words}")
    return found


def fixed_lengths(inventory: Inventory, fixed: Sequence[Fixed]) -> dict[tuple[str, str], Fraction | None]:
    """Return the metres of every fixed cable by host and port; a breakout cable is as long as its longest leg.

    None where the distance is unknown, and for cabling that exists: nobody said how long it is.
    """
    if inventory.cabling:
        return dict.fromkeys(one.socket for one in fixed)
    metres: dict[tuple[str, str], Fraction | None] = {}
    for one in fixed:
        near, _ = inventory.plugged_at(*one.place)
        leg = length(inventory, one.host, near, FIXED[inventory.port[one.socket].connector])
        longest = metres.get(one.socket, leg)
        metres[one.socket] = None if leg is None or longest is None else max(leg, longest)
    return metres


def racks_without_place(inventory: Inventory) -> list[str]:
    """Return the racks of devices for which the inventory has no coordinates, if it has more than one rack."""
    racks = dict.fromkeys(inventory.place(name)[:2] for name in (*inventory.host, *inventory.panel))
    lacking = [rack for site, rack in racks if rack not in inventory.racks.get(site, {})]
    return lacking if len(racks) > 1 else []


def format_metres(length: Fraction | None) -> str:
    """Return a length with at most two decimals, rounded up so that no cable comes out too short; empty if unknown."""
    if length is None:
        return ""
    whole, hundredths = divmod(-(-length * 100 // 1), 100)
    return f"{whole}.{hundredths:02}".rstrip("0").rstrip(".")


def exact(value: Fraction) -> str:
    """Return a number as a decimal where it is one, else as a fraction."""
    places = next((n for n in range(13) if (value * 10**n).denominator == 1), None)
    if not places:
        return str(value)
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}}"
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
