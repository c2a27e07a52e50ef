"""The cheapest trunks and cassettes between two racks.

A *bundle* is all that goes from one rack to another by trunks and cassettes: its *slots* are pairs of fibres, so many
behind each connector. A connector of a trunk joins a rear of a cassette of either rack; or at the near end an output of
a shuffle. The cheapest trunks with at least so many connectors, and cassettes with at least so many rears, are a
knapsack that has to be covered, by dynamic programming over the number of connectors: exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from topodesign.wiring.exports.cables import ROWS, far_fibre
from topodesign.wiring.inventory.devices import Connector, Polarity
from topodesign.wiring.parts.parts import ARRAYS, Pairing, PartsList, Piece, shortest


class Cover(NamedTuple):
    """Pieces with enough connectors, the cheapest: how often each, and what they cost together."""

    pieces: tuple[Piece, ...]
    price: Fraction


class Span(NamedTuple):
    """What trunks and cassettes of one kind make of a connector, and the parts to choose from.

    * ``connector``, ``polarity``, ``pairing``: of the trunks, and of the cassettes at the far end.
    * ``trunks``, ``cassettes``: pieces of which there may be any number.
    """

    connector: Connector
    polarity: Polarity
    pairing: Pairing
    slots: int  # pairs of fibres of a connector that can be used
    crosses: bool  # whether what is sent comes out where the other fibre of the pair is
    trunks: tuple[Piece, ...]
    cassettes: tuple[Piece, ...]


def fibres_of_slot(connector: Connector, pairing: Pairing, slot: int) -> tuple[int, int]:
    """Return the two fibres of a slot, that of side A first; slots are numbered from 1."""
    width, rows = ROWS[connector]
    if pairing == "pairs":
        return 2 * slot - 1, 2 * slot
    return (slot, width + slot) if rows == 2 else (slot, width + 1 - slot)


def slot_after(connector: Connector, pairing: Pairing, polarity: Polarity, slot: int) -> tuple[int, bool] | None:
    """Return the slot where one comes out of an array cable, and whether its fibres are exchanged; None if torn up."""
    a, b = (far_fibre(connector, polarity, fibre) for fibre in fibres_of_slot(connector, pairing, slot))
    width, rows = ROWS[connector]
    for other in range(1, width * rows // 2 + 1):
        here = fibres_of_slot(connector, pairing, other)
        if (a, b) in {here, here[::-1]}:
            return other, (b, a) == here
    return None


def spans(parts: PartsList, needed: Fraction, *, pairing: Pairing | None = None, least: int = 1) -> Iterator[Span]:
    """Yield the kinds of bundles that go so many metres, by connector, type of trunk, fibres and slots of a cassette.

    With ``pairing`` only those of cassettes with such fibres, with at least so many slots.
    """
    kinds = {
        (array, one.pairing, one.slots)
        for one in parts.by_sort["cassette"]
        for array in ARRAYS
        if array == one.connector
    }
    for connector, fibres, slots in sorted(kinds):
        if (pairing is not None and fibres != pairing) or slots < least:
            continue
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


def cheapest_cover(pieces: Sequence[Piece], needed: int, memo: dict[object, Cover] | None = None) -> Cover:
    """Return the cheapest pieces that have at least so many connectors (or rears) together."""
    name = (tuple(pieces), needed)
    if memo is not None and name in memo:
        return memo[name]
    best: list[tuple[Fraction, Piece | None]] = [(Fraction(0), None)]
    for count in range(1, needed + 1):
        best.append(min(((best[max(0, count - one.part.count)][0] + one.price, one) for one in pieces), key=_by_price))
    chosen: list[Piece] = []
    left = needed
    while left > 0:
        piece = best[left][1]
        if piece is None:  # pragma: no cover  only at zero
            break
        chosen.append(piece)
        left -= piece.part.count
    found = Cover(tuple(chosen), best[needed][0])
    if memo is not None:
        memo[name] = found
    return found


def _by_price(entry: tuple[Fraction, Piece]) -> tuple[Fraction, int, str]:
    """Rank the last piece: of the same price the larger one, so that there are few."""
    price, piece = entry
    return price, -piece.part.count, piece.part.name
