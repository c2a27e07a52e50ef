"""What is bought for a plan: the bill, line by line one part of the list, bundles, ways compared, and the light."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from topodesign.base.claims import Among, Claim, Of, Proof
from topodesign.base.declared import Declared, key
from topodesign.base.fitted import wrapped
from topodesign.base.records import MOST_WIDE, Table, TextResult, table_of
from topodesign.base.tables import write_csv
from topodesign.base.wording import counted
from topodesign.wiring.inventory.inventory import exact, format_metres
from topodesign.wiring.parts.laid import Ends, Hop, TrayUse, Unit
from topodesign.wiring.parts.parts import Piece, Sort
from topodesign.wiring.parts.ways import Way
from topodesign.wiring.plan.losses import LossBudget

RUNS = (
    *("host", "port", "lane", "panel", "panel_port", "step", "name", "part", "length_m", "from_rack", "to_rack"),
    *("in_plug", "in_send", "in_receive", "out_plug", "out_send", "out_receive"),
)
"""Columns of the list of what every lane goes through."""
_MOST_REFUSED = 5  # links that a text gives the reasons for


@dataclass(frozen=True, slots=True)
class BillLine(Declared):
    """A line of the bill: one part of the list in one length.

    * ``part``, ``sort``: its name in the list, and what it is.
    * ``count``, ``spares``: pieces that are used, and more that are bought with them.
    * ``fails``: how many of the pieces that are used fail in a year, on the average; null where the list does not say.
    * ``missing``: how many wait for a new one at any time, on the average, with these spares; null as before.
    """

    part: str
    sort: Sort
    length: Fraction | None  # metres that it is sold in; null for what has no length
    count: int
    spares: int
    price: Fraction  # of one piece. ``total``: of all, spares too
    lead: int  # days until it is there
    fails: Fraction | None = None
    missing: float | None = None
    missing_without: float | None = None  # the same without spares

    KEYS = (
        "part sort length_m=length count spares price=float(price) total=float(total) lead_days=lead",
        "fails_a_year=float(fails) missing missing_without",
    )
    ROW = "part sort length_m=length count spares price total lead_days=lead"

    @property
    def total(self) -> Fraction:
        """What all pieces cost, spares too."""
        return self.price * (self.count + self.spares)


@dataclass(frozen=True, slots=True)
class BundleUse(Declared):
    """Trunks and cassettes between two racks.

    * ``here``, ``there``: rack of the hosts and rack of the panels, with the site before it if there is one.
    * ``lanes``, ``connectors``: lanes that go by it, and connectors of trunks that they need.
    * ``trunks``, ``cassettes``: parts, and of cassettes those of one end (with shuffles: the far end).
    """

    here: str
    there: str
    way: Way  # ``trunks`` between cassettes, or ``shuffles`` at the hosts
    lanes: int
    connectors: int
    trunks: tuple[str, ...]
    cassettes: tuple[str, ...]
    price: Fraction  # of trunks, cassettes and the cords behind these

    KEYS = "from_rack=here to_rack=there way lanes connectors trunks cassettes price=float(price)"


@dataclass(frozen=True, slots=True)
class WayPrice(Declared):
    """What the fixed cables cost if all are of one way."""

    way: Way  # which
    price: Fraction | None  # without spares; null if it cannot be
    pieces: int  # how many pieces there are to lay
    reason: str = ""  # why it cannot be; empty if it can

    KEYS = "way price=float(price) pieces reason"


@dataclass(frozen=True, repr=False)
class Purchase(TextResult):
    """What is bought for the cables of a plan.

    * ``currency``, ``parts``: of the prices; and the name of the list of parts.
    * ``proven``: whether no other choice of ways and parts is cheaper, of those in which ports of a rack that go to the
      same racks are cabled alike and a bundle has one kind of trunks and cassettes.
    * ``units``, ``hops``, ``panels``: all pieces of fixed cabling by name, and by host, port and lane the way through
      them and the panel, port and rack where it ends.
    * ``dark``: at most so many links are dark at any time, on the average, because a piece waits for a new one; null
      where the list does not say how often parts fail.
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
    dark: float | None = None
    dark_without: float | None = None  # the same without spares

    KEYS = (
        "parts currency",
        key("total=float(total)", "What all costs, spares too."),
        key("fixed_price=float(fixed_price)", "Of the fixed cables, without spares."),
        "lead_days=lead proven claims cabled ways lines bundles trays dark dark_without loss",
    )
    ROWS = "lines"

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Whether other fixed cables cost less."""
        proof = Proof.SEARCH if self.proven else Proof.NONE
        return (Claim(Of.COST, self.fixed_price, Among.CABLES, proof),)

    @property
    def total(self) -> Fraction:
        """What all costs, spares too."""
        return sum((line.total for line in self.lines), Fraction(0))

    @property
    def lead(self) -> int:
        """Days until the last part is there."""
        return max((line.lead for line in self.lines), default=0)

    @property
    def ok(self) -> bool:
        """Whether no link is refused and no tray too full."""
        return self.loss.ok and all(tray.ok for tray in self.trays)

    def heading(self) -> str:
        """Return what it costs and when it is there."""
        pieces = sum(line.count + line.spares for line in self.lines)
        parts = f"{counted(pieces, 'piece')} in {counted(len(self.lines), 'line')}"
        return f"{parts}: {self._money(self.total)}, there in {counted(self.lead, 'day')}"

    def table(self) -> Table:
        """Return the bill."""
        rows: list[dict[str, Any]] = [
            {
                "part": line.part,
                "length": "" if line.length is None else f"{format_metres(line.length)} m",
                "count": str(line.count),
                "spare": str(line.spares),
                "each": exact(line.price),
                "total": exact(line.total),
                "days": str(line.lead),
            }
            for line in self.lines
        ]
        table = table_of(rows, self.heading())
        return replace(table, words=frozenset({"part"}), spare=frozenset({"days"}))

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
            lines.append(f"fixed cables as chosen: {self._money(self.fixed_price)} ({claim.verdict})")
        lines += self._stock()
        if self.trays:
            over = [tray for tray in self.trays if not tray.ok]
            lines += [f"too full: {tray.words}" for tray in over[:_MOST_REFUSED]]
            lines += [] if over else [f"all trays hold: {self.trays[0].words}"]
        lines += [self.loss.heading(), *(f"refused: {words}" for words in self.loss.refused[:_MOST_REFUSED])]
        hidden = len(self.loss.refused) - _MOST_REFUSED
        lines += [f"and {hidden} more are refused"] if hidden > 0 else []
        head = lines[0].count("\n") + 1
        text = "\n".join(lines).split("\n")
        return "\n".join([*text[:head], *(part for line in text[head:] for part in wrapped(line, MOST_WIDE, 2))])

    def _stock(self) -> Iterator[str]:
        """Yield what fails in a year and what waits, if the list says how often parts fail."""
        told = [line for line in self.lines if line.fails is not None]
        if told:
            fails = sum(float(line.fails or 0) for line in told)
            bare, kept = (sum(getattr(line, name) or 0 for line in told) for name in ("missing_without", "missing"))
            words = f"{bare:.3g} pieces wait for a new one at any time without spares, {kept:.2g} with these"
            lacking = len(self.lines) - len(told)
            more = f"; no fit of {counted(lacking, 'line')}" if lacking else ""
            yield f"{fails:.3g} pieces fail in a year; {words}{more}"
        if self.dark is not None and self.dark_without is not None:
            of = counted(len(self.loss.links), "link")
            yield f"of {of} at most {self.dark_without:.3g} are dark for that without spares, {self.dark:.2g} with"

    def _money(self, price: Fraction) -> str:
        return f"{exact(price)}{f' {self.currency}' if self.currency else ''}"

    def runs_text(self) -> str:
        """Return a CSV of what every lane goes through from its host on: pieces by name, plugs and fibres."""
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


def _line(piece: Piece, number: int, spares: Fraction, in_stock: Fraction | None) -> BillLine:
    part = piece.part
    fails: Fraction | None = None
    lacking: tuple[float | None, float | None] = (None, None)
    more = -(-number * spares.numerator // spares.denominator)
    if part.fit is not None:
        fails = failures(number, part.fit, HOURS_A_YEAR)
        mean = failures(number, part.fit, 24 * part.lead)
        more = max(more, 0 if in_stock is None else least_stock(mean, in_stock))
        lacking = missing(mean, more), float(mean)
    return BillLine(part.name, part.sort, piece.length, number, more, piece.price, part.lead, fails, *lacking)


def lines_of(count: Counter[Piece], spares: Fraction, in_stock: Fraction | None) -> tuple[BillLine, ...]:
    """Return the lines of a bill from pieces and how many there are, with spares of each.

    At least a share ``spares``, rounded up; and so many that with probability ``in_stock`` they last for a lead time.
    """
    order = ("breakout", "cord", "trunk", "cassette", "shuffle", "circulator", "optic")
    found = [_line(piece, number, spares, in_stock) for piece, number in count.items()]
    return tuple(sorted(found, key=lambda line: (order.index(line.sort), line.part, line.length or 0)))


def dark_links(lines: Iterable[BillLine], links: Iterable[Iterable[Piece]]) -> tuple[float | None, float | None]:
    """Return how many links are dark at most because a piece waits, on the average: with the spares, and without.

    A piece in use waits as often as those of its line do, shared out among them; chances on a link are added up.
    """
    share = {
        (line.part, line.length): (line.missing / line.count, line.missing_without / line.count)
        for line in lines
        if line.missing is not None and line.missing_without is not None
    }
    if not share:
        return None, None
    kept = bare = 0.0
    for pieces in links:
        for part, length in pieces:
            one, other = share.get((part.name, length), (0.0, 0.0))
            kept, bare = kept + one, bare + other
    return kept, bare


HOURS_A_YEAR = 8766
_PER_FIT = 10**9  # hours that a FIT is a failure in


def failures(count: int, fit: Fraction, hours: int) -> Fraction:
    """Return how many of some pieces fail in so many hours, on the average."""
    return count * fit * hours / _PER_FIT


def least_stock(mean: Fraction, share: Fraction) -> int:
    """Return the fewest spares with which, with at least some probability below 1, no more are on order.

    Pieces fail independently at a constant rate, and each that is taken is ordered again at once: what is on order is
    Poisson distributed with the failures in a lead time as its ``mean``, however long deliveries vary (Palm 1938). The
    exponential is held between two fractions, which come nearer until it is certain.

    Examples
    --------
    >>> least_stock(Fraction(1, 100), Fraction(99, 100)), least_stock(Fraction(1, 3), Fraction(99, 100))
    (0, 2)
    """
    stock, term, total = 0, Fraction(1), Fraction(1)
    while not _likely(total, mean, share):
        stock += 1
        term *= mean / stock
        total += term
    return stock


def _likely(total: Fraction, mean: Fraction, share: Fraction) -> bool:
    """Return whether ``total * exp(-mean) >= share``."""
    low, term, place = Fraction(1), Fraction(1), 0
    while True:
        place += 1
        term *= mean / place
        low += term
        if total < share * low:
            return False
        if place + 1 > mean and total >= share * (low + term * mean / (place + 1 - mean)):
            return True


def missing(mean: Fraction, stock: int) -> float:
    """Return how many pieces wait for a spare at any time, on the average: about, in floats."""
    x = float(mean)
    chance, waiting = math.exp(-x), x - stock
    for number in range(stock):
        waiting += (stock - number) * chance
        chance *= x / (number + 1)
    return max(waiting, 0.0)
