"""The cables of a plan as people handle them: names, labels of both ends, polarity, length, colour.

*Fixed* cables join a lane of a host to a panel port: the transmitter to side A, the receiver to side B; those of an
MPO port are the legs ``F1-1``, ``F1-2`` and so on of the breakout cable ``F1``, which has one plug at the host.
*Trunks*, which are there, lead that port on to the one that can be patched. *Cross-connects* join panel ports: patch
cords on a patch panel, circuits (without a cable) in a switch.

An optic with parallel lanes sends on the first fibres of its connector and receives on the last, mirrored: lane i of an
MPO-12 (as of 40GBASE-SR4 and 100GBASE-SR4, IEEE 802.3 clauses 86 and 95) on fibres i and 13 - i, of an MPO-16 on i and
17 - i. The fibres of an MPO-24 or MPO-32 stand in two rows, of which the first sends here and the second receives. An
array cable takes fibre i to the same place (type A of TIA-568), to the mirrored one of its row (B) or to the other of a
pair (C). Side A of the panel port is where the transmitter comes out, whichever fibre that is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Literal

from topodesign.wiring.inventory.devices import Connector, Fixed, Lane, Place, Polarity, Port, lanes_of
from topodesign.wiring.inventory.inventory import FIXED, PATCH, CableType, Inventory, fixed_lengths, length
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan

Kind = Literal["fixed", "trunk", "patch", "circuit"]

COLOURS = {
    "blue": "0000ff",
    "orange": "ff8000",
    "green": "008000",
    "brown": "804000",
    "slate": "708090",
    "white": "ffffff",
    "red": "ff0000",
    "black": "000000",
    "yellow": "ffff00",
    "violet": "8000ff",
    "rose": "ff80a0",
    "aqua": "00ffff",
}
"""The twelve fibre colours of TIA-598 in their order, with a hexadecimal RGB value each."""

_NAMES = tuple(COLOURS)
ROWS: dict[Connector, tuple[int, int]] = {
    "LC": (2, 1),
    "MPO-12": (12, 1),
    "MPO-16": (16, 1),
    "MPO-24": (12, 2),
    "MPO-32": (16, 2),
}
"""Fibres in a row of a connector, and rows; its fibres are numbered from 1, row by row."""


@dataclass(frozen=True, slots=True)
class Termination:
    """One end of a cable."""

    place: Place  # site, rack and unit
    device: str  # the host, or the panel
    port: str  # its port, or the label of that
    lane: int | None  # of a host's port; None at a panel
    side: str  # the fibres: ``Tx+Rx`` at a host, ``A``, ``B`` or ``A+B`` at a panel

    @property
    def label(self) -> str:
        """Rack, unit, device, port and lane or side, as on the label of the cable."""
        last = self.side if self.lane is None else str(self.lane)
        return f"{self.where}-{self.port}-{last}"

    @property
    def where(self) -> str:
        """Rack, unit and device."""
        return f"{self.place.rack}-{self.place.unit}-{self.device}"


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable or a circuit.

    ``kind``, ``sort``: what it is, and the type of cable, or None of a circuit and of a trunk. ``a``, ``b``: its ends:
    host and panel of a fixed cable; of a trunk, the port where hosts plug in and the one behind it; of a cross-connect,
    the panel ports that light goes from and to. ``colour``: the TIA-598 colour for the number of the lane on its host:
    that of the fixed cable, or the one that transmits. ``sends``, ``receives``: labels of the host lanes that a
    cross-connect joins (of duplex ones, each does both); empty for others. ``length``: metres, of a leg those of its
    breakout cable; None where the inventory does not say where the racks are, of fixed cables that exist, of a trunk
    and of a circuit.
    """

    name: str  # unique in the plan
    kind: Kind
    sort: CableType | None
    a: Termination
    b: Termination
    polarity: str  # which fibre goes where
    colour: str
    sends: str
    receives: str
    length: Fraction | None


@dataclass(frozen=True, slots=True)
class Plug:
    """One end of a cable or a circuit, or of all legs of a breakout cable, where it is plugged in."""

    name: str  # of the cable; of a breakout cable at the host, what the names of its legs begin with
    cable: Cable  # the cable, or the first leg
    end: Literal["a", "b"]  # which end of it
    colour: str | None  # as of the cable; None for all legs together
    here: str  # what is on the label of this end
    there: str  # and on that of the other
    polarity: str  # which fibre goes where, seen from here

    @property
    def at(self) -> Termination:
        """Where it is plugged in."""
        return self.cable.a if self.end == "a" else self.cable.b


def plugs(plan: WiringPlan) -> Iterator[Plug]:
    """Yield all that is plugged in, cable by cable; trunks are in already."""
    for breakout, group in groupby((cable for cable in cables(plan) if cable.kind != "trunk"), key=breakout_of):
        legs = list(group)
        if breakout is not None:
            yield _common_plug(breakout, legs)
        for cable in legs:
            a, b = cable.a.label, cable.b.label
            if breakout is None:
                yield Plug(cable.name, cable, "a", cable.colour, a, b, cable.polarity)
            back = cable.polarity if cable.a.side != "A" else "B from A"
            yield Plug(cable.name, cable, "b", cable.colour, b, a, back)


def cables(plan: WiringPlan) -> Iterator[Cable]:
    """Yield the fixed cables, port by port, then the trunks behind them, then the cross-connects."""
    inventory = plan.inventory
    colour = {
        Lane(host.name, port.name, lane): _NAMES[number % len(_NAMES)]
        for host in inventory.hosts
        for number, (port, lane) in enumerate(lanes_of(host))
    }
    metres = fixed_lengths(inventory, plan.fixed)
    number = {port: row for row, port in enumerate(metres, start=1)}
    for fixed in sorted(plan.fixed, key=lambda one: (number[one.socket], one.lane)):
        a, b = _host_end(inventory, fixed), _panel_end(inventory, *inventory.plugged_at(*fixed.place), "A+B")
        here = inventory.port[fixed.socket]
        name = f"F{number[fixed.socket]}" + (f"-{fixed.lane}" if here.lanes > 1 else "")
        polarity, size = fibres_of_lane(here, fixed.lane), metres[fixed.socket]
        yield Cable(name, "fixed", FIXED[here.connector], a, b, polarity, colour[fixed.source], "", "", size)
    for row, trunk in enumerate(inventory.trunks, start=1):
        end = plan.end.get((trunk.panel, trunk.panel_port))
        if end is not None:
            a, b = (
                _panel_end(inventory, *place, "A+B")
                for place in ((trunk.near, trunk.near_port), (trunk.panel, trunk.panel_port))
            )
            yield Cable(f"T{row}", "trunk", None, a, b, "A to A, B to B", colour[end.source], "", "", None)
    for connect in plan.connects:
        yield _cross_connect(inventory, connect, colour[connect.a.source])


def breakout_of(cable: Cable) -> str | None:
    """Return the name of the breakout cable that a leg belongs to, or None."""
    return cable.name.partition("-")[0] if cable.sort is not None and cable.sort.endswith("breakout") else None


def _common_plug(name: str, legs: Sequence[Cable]) -> Plug:
    """Return the plug at the host of all legs of a breakout cable."""
    here = legs[0].a
    devices = groupby((leg.b for leg in legs), key=lambda end: end.where)
    there = " ".join(f"{where}-{','.join(end.port for end in ends)}" for where, ends in devices)
    return Plug(name, legs[0], "a", None, f"{here.where}-{here.port}", there, "all legs")


def _cross_connect(inventory: Inventory, connect: CrossConnect, colour: str) -> Cable:
    simplex = connect.mode == "simplex"
    a, b = (
        _panel_end(inventory, *end.place, side if simplex else "A+B")
        for end, side in ((connect.a, "A"), (connect.b, "B"))
    )
    circuit = connect.a.panel in inventory.switches
    sort = PATCH[connect.mode]
    return Cable(
        connect.cable,
        "circuit" if circuit else "patch",
        None if circuit else sort,
        a,
        b,
        "A to B" if simplex else "A to B, B to A",
        colour,
        _host_end(inventory, connect.a).label,
        _host_end(inventory, connect.b).label,
        None if circuit else length(inventory, connect.a.panel, connect.b.panel, sort),
    )


def _host_end(inventory: Inventory, end: Fixed | End) -> Termination:
    return Termination(inventory.place(end.host), end.host, end.port, end.lane, "Tx+Rx")


def _panel_end(inventory: Inventory, panel: str, port: str, side: str) -> Termination:
    return Termination(inventory.place(panel), panel, port, None, side)


def fibres_at_host(connector: Connector, lane: int) -> tuple[int, int]:
    """Return the fibres on which a lane of an optic sends and receives; lanes and fibres are numbered from 1."""
    width, rows = ROWS[connector]
    return (lane, width + lane) if rows == 2 else (lane, width + 1 - lane)


def far_fibre(connector: Connector, polarity: Polarity, fibre: int) -> int:
    """Return where a fibre comes out at the other end of an array cable of a type."""
    width, _ = ROWS[connector]
    row, place = divmod(fibre - 1, width)
    places = {"A": place, "B": width - 1 - place, "C": place ^ 1}
    return row * width + places[polarity] + 1


def fibres_of_lane(port: Port, lane: int) -> str:
    """Return in words which fibre of a lane goes where, for the label of a cable."""
    if port.connector == "LC":
        return "Tx to A, Rx to B"
    send, receive = fibres_at_host(port.connector, lane)
    if port.polarity == "A":
        return f"Tx fibre {send} to A, Rx fibre {receive} to B"
    out, back = (far_fibre(port.connector, port.polarity, fibre) for fibre in (send, receive))
    return f"Tx fibre {send} comes out at {out}: A, Rx fibre {receive} at {back}: B"
