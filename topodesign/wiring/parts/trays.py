"""How full trays get, and the cheapest choice that fits in them.

A cable takes the area of its cross-section in every tray of its shortest way; a breakout all of its own wherever one of
its legs runs, which is on the safe side. For pi stands 355/113, which is a little more, so that what is found to fit
does. Where the cheapest choice of every rack does not fit together, an integer program takes one choice of each rack
such that all trays hold and the price is least; it is exact (CP-SAT concludes in integers), and both are counted again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TypeAlias

from topodesign.base.declared import Declared, key
from topodesign.base.errors import MissingLibraryError
from topodesign.solve.discrete import MOST, Discrete
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.inventory.trays import tray_way
from topodesign.wiring.parts.choice import RackChoice
from topodesign.wiring.parts.laid import Laid
from topodesign.wiring.parts.ways import Rack

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


def cables_of(inventory: Inventory, laid: Laid, ends: Mapping[tuple[str, str, int], Rack]) -> Counter[Thick]:
    """Return how many cables run in each tray, by the tray's place and the diameter, from the racks where lanes end."""
    there: defaultdict[str, set[Rack]] = defaultdict(set)
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
