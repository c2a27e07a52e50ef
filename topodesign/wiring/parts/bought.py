"""Purchase for a plan: bill, bundles and optical loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.declared import Declared, key
from topodesign.base.fitted import wrap_text
from topodesign.base.records import MAX_WIDE, Table, TextResult, table_of
from topodesign.base.tables import write_csv
from topodesign.base.wording import count_noun
from topodesign.wiring.inventory.fields import exact
from topodesign.wiring.inventory.inventory import format_metres
from topodesign.wiring.parts.laid import Hop, TrayUse, Unit
from topodesign.wiring.parts.parts import Piece, Sort
from topodesign.wiring.parts.ways import Ends, Way
from topodesign.wiring.plan.losses import LossBudget

RUNS = (
    *("host", "port", "lane", "panel", "panel_port", "step", "name", "part", "length_m", "from_rack", "to_rack"),
    *("in_plug", "in_send", "in_receive", "out_plug", "out_send", "out_receive"),
)
"""Columns of the list of what every lane goes through."""
_MAX_REFUSED = 5  # links that a text gives the reasons for


@dataclass(frozen=True, slots=True)
class BillLine(Declared):
    """Bill line: one listed part in one length.

    * ``part``, ``sort``: its name in the list, and what it is.
    * ``count``, ``spares``: pieces that are used, and more that are bought with them.
    * ``patches``: pieces of the count that are patch cords; the others are of fixed cabling.
    """

    part: str
    sort: Sort
    length: Fraction | None  # metres that it is sold in; null for what has no length
    count: int
    spares: int
    price: Fraction  # of one piece. ``total``: of all, spares too
    lead: int  # days until it is there
    patches: int

    KEYS = "part sort length_m=length count patches spares price=float(price) total=float(total) lead_days=lead"
    ROW = "part sort length_m=length count patches spares price total lead_days=lead"

    @property
    def use(self) -> str:
        """Use of the pieces in words."""
        if self.patches in {0, self.count}:
            return "patch" if self.patches else "fixed"
        return f"{self.count - self.patches} fixed, {self.patches} patch"

    @property
    def total(self) -> Fraction:
        """Total price of all pieces, including spares."""
        return self.price * (self.count + self.spares)


@dataclass(frozen=True, slots=True)
class BundleUse(Declared):
    """Trunks and cassettes between two racks.

    * ``here``, ``there``: rack of the hosts and rack of the panels, with the site before it if there is one.
    * ``lanes``, ``connectors``: lanes that go by it, and connectors of trunks that they need.
    * ``trunks``, ``cassettes``: parts, and of cassettes those of one end.
    """

    here: str
    there: str
    lanes: int
    connectors: int
    trunks: tuple[str, ...]
    cassettes: tuple[str, ...]
    price: Fraction  # of trunks, cassettes and the cords behind these

    KEYS = "from_rack=here to_rack=there lanes connectors trunks cassettes price=float(price)"


@dataclass(frozen=True, slots=True)
class WayPrice(Declared):
    """Cost of the fixed cables by one method alone."""

    way: Way  # which
    price: Fraction | None  # without spares; null if it cannot be
    pieces: int  # how many pieces there are to lay
    reason: str = ""  # why it cannot be; empty if it can

    KEYS = "way price=float(price) pieces reason"


@dataclass(frozen=True, repr=False)
class Purchase(TextResult):
    """Purchase for the cables of a plan.

    * ``currency``, ``parts``: of the prices; and the name of the list of parts.
    * ``proven``: whether no other choice of ways and parts is cheaper, of those in which ports of a rack that go to the
      same racks are cabled alike and a bundle has one kind of trunks and cassettes.
    * ``units``, ``hops``, ``panels``: all pieces of fixed cabling by name, and by host, port and lane the way through
      them and the panel, port and rack where it ends.
    """

    lines: tuple[BillLine, ...]  # the bill, by what it is, then by name and length
    currency: str
    parts: str
    ways: tuple[WayPrice, ...]  # each way alone, for the fixed cables
    bundles: tuple[BundleUse, ...]  # trunks and cassettes between racks
    fixed_price: Fraction  # of the fixed cables without spares
    proven: bool
    cabled: bool  # whether the fixed cabling exists, so that none is on the bill
    loss: LossBudget  # what links lose by these parts
    units: tuple[Unit, ...]
    hops: dict[tuple[str, str, int], tuple[Hop, ...]]
    panels: dict[tuple[str, str, int], tuple[str, str, str]]
    trays: tuple[TrayUse, ...] = ()  # what runs in trays, the fullest first
    notes: tuple[str, ...] = ()  # what the list of parts has and nothing uses any more

    KEYS = (
        "parts currency",
        key("total=float(total)", "What all costs, spares too."),
        key("fixed_price=float(fixed_price)", "Of the fixed cables, without spares."),
        "lead_days=lead proven claims cabled ways lines bundles trays loss notes",
    )
    ROWS = "lines"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Whether other fixed cables cost less."""
        proof = Proof.SEARCH if self.proven else Proof.NONE
        return (Claim(Of.COST, self.fixed_price, Scope.CABLES, proof),)

    @property
    def total(self) -> Fraction:
        """Total price, including spares."""
        return sum((line.total for line in self.lines), Fraction(0))

    @property
    def lead(self) -> int:
        """Days until the last part is there."""
        return max((line.lead for line in self.lines), default=0)

    @property
    def ok(self) -> bool:
        """Whether no link is rejected and no tray too full."""
        return self.loss.ok and all(tray.ok for tray in self.trays)

    def heading(self) -> str:
        """Return the total price and the lead time."""
        pieces = sum(line.count + line.spares for line in self.lines)
        parts = f"{count_noun(pieces, 'piece')} in {count_noun(len(self.lines), 'line')}"
        return f"{parts}: {self._money(self.total)}, delivered in {count_noun(self.lead, 'day')}"

    def table(self) -> Table:
        """Return the bill."""
        money = f" ({self.currency})" if self.currency else ""
        rows: list[dict[str, Any]] = [
            {
                "part": line.part,
                "length (m)": "" if line.length is None else format_metres(line.length),
                "use": line.use,
                "count": str(line.count),
                "spare": str(line.spares),
                f"each{money}": exact(line.price),
                f"total{money}": exact(line.total),
                "days": str(line.lead),
            }
            for line in self.lines
        ]
        table = table_of(rows, self.heading())
        return replace(table, words=frozenset({"part", "use"}), spare=frozenset({"days"}))

    def __str__(self) -> str:
        lines = [self.table().text()] if self.lines else ["nothing to buy"]
        if self.cabled:
            lines.append("the fixed cabling exists")
        for one in self.ways:
            if one.price is None:
                lines.append(f"fixed cables by {one.way} alone: impossible ({one.reason})")
            else:
                lines.append(f"fixed cables by {one.way} alone: {self._money(one.price)}, {one.pieces} pieces")
        if self.ways:
            [claim] = self.claims
            lines.append(f"fixed cables as chosen: {self._money(self.fixed_price)}, {claim.verdict}")
        if self.trays:
            over = [tray for tray in self.trays if not tray.ok]
            lines += [f"too full: {tray.words}" for tray in over[:_MAX_REFUSED]]
            lines += [] if over else [f"all trays have room: {self.trays[0].words}"]
        lines += [self.loss.heading(), *(f"refused: {words}" for words in self.loss.refused[:_MAX_REFUSED])]
        hidden = len(self.loss.refused) - _MAX_REFUSED
        lines += [f"and {hidden} more are refused"] if hidden > 0 else []
        lines += self.notes
        head = lines[0].count("\n") + 1
        text = "\n".join(lines).split("\n")
        return "\n".join([*text[:head], *(part for line in text[head:] for part in wrap_text(line, MAX_WIDE, 2))])

    def _money(self, price: Fraction) -> str:
        return f"{exact(price)}{f' {self.currency}' if self.currency else ''}"

    def runs_text(self) -> str:
        """Return pieces, plugs and fibres of every lane as CSV."""
        return write_csv([RUNS, *self._runs()])

    def _runs(self) -> Iterator[list[object]]:
        for (host, port, lane), hops in self.hops.items():
            panel, label, rack = self.panels[host, port, lane]
            for step, hop in enumerate(hops, start=1):
                unit = hop.unit
                size = "" if unit.piece.length is None else exact(unit.piece.length)
                racks = (unit.a[1], rack if step == len(hops) else unit.b[1])  # legs end in several
                yield [
                    *(host, port, lane, panel, label, step, unit.name, unit.piece.part.name, size, *racks),
                    *_plain(hop.enters),
                    *_plain(hop.leaves),
                ]


def _plain(ends: Ends) -> tuple[int, int, int]:
    return ends.plug, ends.send, ends.receive


def lines_of(count: Counter[Piece], patches: Counter[Piece], spares: Fraction) -> tuple[BillLine, ...]:
    """Return bill lines for counted pieces, some of which are patch cords, with spares.

    ``spares`` is a share of each line, rounded up.
    """
    order = ("breakout", "cord", "trunk", "cassette", "circulator")
    found = []
    for piece, number in count.items():
        part, more = piece.part, -(-number * spares.numerator // spares.denominator)
        line = BillLine(part.name, part.sort, piece.length, number, more, piece.price, part.lead, patches[piece])
        found.append(line)
    return tuple(sorted(found, key=lambda line: (order.index(line.sort), line.part, line.length or 0)))
