"""Cables and plugs of a plan, with labels, length and colour.

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
from itertools import groupby
from typing import Literal

from topodesign.wiring.inventory.devices import Connector, Polarity, Port
from topodesign.wiring.plan.net import Termination, Wire
from topodesign.wiring.plan.plan import WiringPlan

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
class Plug:
    """Plug of a cable, a circuit or a whole breakout cable."""

    name: str  # of the cable; of a breakout cable at the host, what the names of its legs begin with
    cable: Wire  # the cable, or the first leg
    end: Literal["a", "b"]  # which end of it
    colour: str | None  # as of the cable; None for all legs together
    here: str  # what is on the label of this end
    there: str  # and on that of the other
    polarity: str  # which fibre goes where, seen from here

    @property
    def at(self) -> Termination:
        """Termination of this end."""
        return self.cable.a if self.end == "a" else self.cable.b


def plugs(plan: WiringPlan) -> Iterator[Plug]:
    """Yield every plug of a plan, except those of trunks."""
    plugged = (wire for wire in plan.net.wires if wire.kind != "trunk")
    for breakout, group in groupby(plugged, key=lambda one: one.breakout):
        legs = list(group)
        if breakout is not None:
            yield _common_plug(breakout, legs)
        for wire in legs:
            a, b, polarity, colour = wire.a.label, wire.b.label, polarity_of(plan, wire), colour_of(wire)
            if breakout is None:
                yield Plug(wire.name, wire, "a", colour, a, b, polarity)
            back = polarity if wire.a.side != "A" else "B from A"
            yield Plug(wire.name, wire, "b", colour, b, a, back)


def colour_of(wire: Wire) -> str:
    """Return the TIA-598 colour of the lane that a wire serves.

    A cross-connect has the colour of its transmitting lane.
    """
    return _NAMES[wire.number % len(_NAMES)]


def polarity_of(plan: WiringPlan, wire: Wire) -> str:
    """Return the polarity of a wire in words."""
    if wire.a.lane is not None:
        return fibres_of_lane(plan.inventory.port[wire.a.device, wire.a.port], wire.a.lane)
    if wire.kind == "trunk":
        return "A to A, B to B"
    return "A to B" if plan.mode == "simplex" else "A to B, B to A"


def _common_plug(name: str, legs: Sequence[Wire]) -> Plug:
    """Return the host plug of a breakout cable."""
    here = legs[0].a
    devices = groupby((leg.b for leg in legs), key=lambda end: end.where)
    there = " ".join(f"{where}-{','.join(end.port for end in ends)}" for where, ends in devices)
    return Plug(name, legs[0], "a", None, f"{here.where}-{here.port}", there, "all legs")


def fibres_at_host(connector: Connector, lane: int) -> tuple[int, int]:
    """Return the send and receive fibres of an optic's lane.

    Lanes and fibres are numbered from 1.
    """
    width, rows = ROWS[connector]
    return (lane, width + lane) if rows == 2 else (lane, width + 1 - lane)


def far_fibre(connector: Connector, polarity: Polarity, fibre: int) -> int:
    """Return the far-end number of an array cable's fibre."""
    width, _ = ROWS[connector]
    row, place = divmod(fibre - 1, width)
    places = {"A": place, "B": width - 1 - place, "C": place ^ 1}
    return row * width + places[polarity] + 1


def fibres_of_lane(port: Port, lane: int) -> str:
    """Return a lane's fibres as text for a cable label."""
    if port.connector == "LC":
        return "Tx to A, Rx to B"
    send, receive = fibres_at_host(port.connector, lane)
    if port.polarity == "A":
        return f"Tx fibre {send} to A, Rx fibre {receive} to B"
    out, back = (far_fibre(port.connector, port.polarity, fibre) for fibre in (send, receive))
    return f"Tx fibre {send} comes out at {out}: A, Rx fibre {receive} at {back}: B"
