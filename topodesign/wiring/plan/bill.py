"""The bill of materials: what cables have to be bought for a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.records import Result
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.inventory.lengths import FIXED, PATCH, CableType, format_metres, length
from topodesign.wiring.plan.cross_connects import CrossConnect


@dataclass(frozen=True, slots=True)
class Item:
    """What to buy."""

    kind: CableType  # its type
    length: Fraction | None  # metres; None where they are not known
    count: int  # how many

    KEYS = "type=kind length_m=length count"


@dataclass(frozen=True, repr=False)
class Bill(Result):
    """A bill of materials."""

    items: tuple[Item, ...]  # what to buy, by type and length
    cabled: bool  # whether the fixed cabling exists, so that none is on the bill

    KEYS = "items metres cabled"
    ROWS = "items"

    @property
    def metres(self) -> Fraction | None:
        """Metres of all cables together; None if the length of some is unknown."""
        if any(item.length is None for item in self.items):
            return None
        return sum((item.length * item.count for item in self.items if item.length is not None), Fraction(0))

    def heading(self) -> str:
        """Return what it is."""
        return f"bill of materials{'; the fixed cabling exists' if self.cabled else ''}"

    def __str__(self) -> str:
        """Return a line an item, and the sum if it is known."""
        if not self.items:
            return self.heading().replace("materials", "materials: nothing", 1)
        lines = [f"{self.heading()}:"]
        for item in self.items:
            size = "unknown length" if item.length is None else f"{format_metres(item.length)} m"
            lines.append(f"  {item.count:6} x {item.kind}, {size}")
        if self.metres is not None:
            lines.append(f"  {format_metres(self.metres)} m of cable in all")
        return "\n".join(lines)


def bill_of(inventory: Inventory, fixed: Sequence[Fixed], connects: Sequence[CrossConnect]) -> Bill:
    """Return the bill of materials: fixed cables, unless they exist, and patch cords.

    What runs inside a circuit switch is no cable.
    """
    count: Counter[tuple[CableType, Fraction | None]] = Counter()
    if not inventory.cabling:
        lengths = fixed_lengths(inventory, fixed)
        count.update((FIXED[inventory.port[port].connector], metres) for port, metres in lengths.items())
    for connect in connects:
        if connect.a.panel not in inventory.switches:
            kind = PATCH[connect.mode]
            count[kind, length(inventory, connect.a.panel, connect.b.panel, kind)] += 1
    lines = sorted(count.items(), key=lambda line: (line[0][0], line[0][1] is None, line[0][1] or 0))
    items = tuple(Item(kind, metres, number) for (kind, metres), number in lines)
    return Bill(items, cabled=bool(inventory.cabling))


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
