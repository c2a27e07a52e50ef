"""What an architect asks for: machines, their ports, what a step sends, the room, and what it is measured by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from topodesign.base.declared import Declared, key
from topodesign.pricing.mix import Mix
from topodesign.pricing.workload import Workload
from topodesign.wiring.inventory.inventory import Inventory

Aim = Literal["time", "price", "both"]
Cabling = Literal["simplex", "duplex"]
AIMS: tuple[Aim, ...] = ("time", "price", "both")


@dataclass(frozen=True)
class Request(Declared):
    """A request, checked.

    * ``name``: what it is called.
    * ``nodes``: N, hosts or accelerators that take part; of boxes all that are in them.
    * ``degree``: ports of a node out of, and into, it.
    * ``work``: alpha, gap and hop, and the bandwidth of a node over all its ports.
    * ``mix``: what a training step sends.
    * ``cabling``: ``duplex`` where every link has its reverse in the same cable; ``simplex`` allows one-way links, too.
    * ``rivals``: everyday names, specs or files of what one would wire or buy otherwise.
    * ``prices``, ``watts``: of a cable, a port of a node, a switch and a port of a switch.
    * ``survive``: links that may fail, whichever they are, and all still reach each other.
    * ``grow``: numbers of nodes to grow to, ascending.
    * ``optimise``: ``time`` of a step, ``price``, or ``both``: their product.
    * ``room``: hosts, panels and switches to wire it in; None for a plain room.
    * ``box``: the box that nodes are in; None where nodes stand alone.
    * ``cube``: hosts of a pod along x, y and z, where the room has cubes; else None.
    """

    name: str
    nodes: int
    degree: int
    work: Workload
    mix: Mix
    cabling: Cabling = "simplex"
    rivals: tuple[str, ...] = ()
    prices: Mapping[str, Fraction] = field(default_factory=dict)
    watts: Mapping[str, Fraction] = field(default_factory=dict)
    survive: int = 0
    grow: tuple[int, ...] = ()
    optimise: Aim = "time"
    room: Inventory | None = None
    box: str | None = None
    cube: str | None = None

    KEYS = (
        "name nodes degree",
        "*work.latency bandwidth_bps=float(work.bandwidth)",
        "mix cabling rivals",
        key("prices=float(prices)", "Of a cable, a port of a node, a switch and a port of a switch."),
        key("watts=float(watts)", "Watts of each, likewise."),
        "survive grow optimise",
        key("room=room.name", "Name of the inventory; null for a plain room."),
        "box cube",
    )
