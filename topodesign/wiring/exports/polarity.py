"""Which fibre of an array cable the light of a lane is on, at the host and where it comes out at the panel.

An optic with parallel lanes sends on the first fibres of its connector and receives on the last, mirrored: lane i of an
MPO-12 (as of 40GBASE-SR4 and 100GBASE-SR4, IEEE 802.3 clauses 86 and 95) on fibres i and 13 - i, of an MPO-16 on i and
17 - i. The 24 fibres of an MPO-24 stand in two rows, of which the first sends here and the second receives. An array
cable takes fibre i to the same place (type A of TIA-568), to the mirrored one of its row (B) or to the other of a pair
(C). Side A of the panel port is where the transmitter comes out, whichever fibre that is.
"""

from __future__ import annotations

from topodesign.wiring.inventory.inventory import Connector, Polarity, Port

ROWS: dict[Connector, tuple[int, int]] = {"LC": (2, 1), "MPO-12": (12, 1), "MPO-16": (16, 1), "MPO-24": (12, 2)}
"""Fibres in a row of a connector, and rows; its fibres are numbered from 1, row by row."""


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
