"""The ways of cables through trays: the shortest between two racks, and which trays it goes through."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

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
