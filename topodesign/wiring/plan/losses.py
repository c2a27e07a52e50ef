"""Loss budget: optical loss of each link and limits.

A link passes the fixed cable of either end (its fibre and splices), the panel port where it is plugged in and the trunk
behind that, if any, then the port where it is patched, and between these the patch cord, or the circuit of a switch.
The connectors at the optics are not counted, as in the channel insertion loss of IEEE 802.3. Where it is known of which
parts the cables are made, the losses of these stand in their place; where a switch has a table of its losses, that of
the circuit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, TypeAlias

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared, key
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.records import Result, Table, table_of
from topodesign.base.tables import csv_rows
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import count_noun, suggest
from topodesign.wiring.inventory.devices import PortLabels
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.net import Lead, Net

_PAIRS = ("from", "to", "loss")
_LARGEST = 2**28
_LOSS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?(\s*dB)?")

TableLike: TypeAlias = "CircuitLosses | str | Path"  # a table, or the path of its file


@dataclass(frozen=True)
class CircuitLosses:
    """Circuit losses in dB, by entry and exit port.

    Circuits of missing pairs are impossible.
    """

    loss: Mapping[tuple[str, str], Fraction]  # by pair of labels
    both: bool = False  # whether a pair stands for both of its directions where only one is there

    def between(self, a: str, b: str) -> Fraction | None:
        """Return the loss from port a to b, or None."""
        found = self.loss.get((a, b))
        return self.loss.get((b, a)) if found is None and self.both else found

    def of(self, connect: CrossConnect, *, single: bool = False) -> Fraction | None:
        """Return the loss of a circuit, or None.

        A duplex circuit has the larger loss of its two directions. None if the circuit is impossible.

        With a ``single`` fibre for both ways there is one cross-connect, of a switch with two sides from one to the
        other: whichever way the table lists it.
        """
        a, b = connect.a.panel_port, connect.b.panel_port
        if single:
            found = self.between(a, b)
            return self.between(b, a) if found is None else found
        ways = [self.between(one.panel_port, other.panel_port) for one, other in connect.ways]
        known = [one for one in ways if one is not None]
        return max(known) if len(known) == len(ways) else None


_SWITCH = "of the table"  # the name of the panel in messages: the table does not say it


def read_circuit_losses(path: str | Path, labels: Sequence[str]) -> CircuitLosses:
    """Read the losses of a switch (dB) from CSV.

    Values may include the unit. ``labels`` are those of the switch's ports.

    *Pairs* have the columns ``from``, ``to`` and ``loss``; where only one direction is listed the other loses as much.
    A *matrix* has labels of ports that light comes out of in its first line and a port that it goes into at the head of
    each other line; an empty cell, or ``-``, is a cross-connect that the switch cannot make.
    """
    path = as_path(path)
    there = dict.fromkeys(labels)
    known = PortLabels((_SWITCH, label) for label in there)
    with naming(path):
        rows = csv_rows(read_text(path, (".csv",), _LARGEST))
        line, head = next(rows, (1, []))
        names = [cell.strip() for cell in head]
        pairs = tuple(name.lower().removesuffix("_db") for name in names) == _PAIRS
        if not pairs and len(names) < 2:
            raise FileFormatError(f"line {line}: expected the columns from, to and loss, or a port at the head of each")
        for name in () if pairs else names[1:]:
            _label(name, known, there, line)
        found: dict[tuple[str, str], Fraction] = {}
        for row, a, b, cell in _pairs(rows) if pairs else _matrix(line, names[1:], rows):
            ports = _label(a, known, there, row), _label(b, known, there, row)
            if ports in found:
                raise FileFormatError(f"line {row}: from {ports[0]} to {ports[1]} is there twice")
            if pairs or cell.strip() not in {"", "-"}:
                found[ports] = _loss(cell, row)
        if not found:
            raise FileFormatError("no cross-connect is in it")
        return CircuitLosses(found, both=pairs)


_Cell = tuple[int, str, str, str]  # line, port, port, loss


def _pairs(rows: Iterable[tuple[int, list[str]]]) -> Iterator[_Cell]:
    for row, cells in rows:
        if len(cells) != len(_PAIRS):
            raise FileFormatError(f"line {row}: expected a port, a port and a loss")
        yield row, cells[0], cells[1], cells[2]


def _matrix(line: int, outs: Sequence[str], rows: Iterable[tuple[int, list[str]]]) -> Iterator[_Cell]:
    if len(set(outs)) < len(outs):
        raise FileFormatError(f"line {line}: a port is there twice")
    for row, cells in rows:
        if len(cells) != len(outs) + 1:
            raise FileFormatError(f"line {row}: {len(cells)} cells, the first line has {len(outs) + 1}")
        for b, cell in zip(outs, cells[1:], strict=True):
            yield row, cells[0], b, cell


def circuit_losses(inventory: Inventory, files: Mapping[str, TableLike]) -> dict[str, CircuitLosses]:
    """Return the tables of circuit switches by name."""
    switches, tables = inventory.switches, {}
    for name, table in files.items():
        if name not in switches:
            hint = suggest(name, switches) if switches else "the inventory has none"
            raise ParameterError(f"there is no circuit switch '{name[:50]}'; {hint}")
        labels = [port.label for port in switches[name].ports]
        tables[name] = table if isinstance(table, CircuitLosses) else read_circuit_losses(table, labels)
    return tables


def _label(cell: str, known: PortLabels, labels: Mapping[str, None], line: int) -> str:
    text = cell.strip()
    label = known.read(_SWITCH, text)
    if label not in labels:
        raise FileFormatError(f"line {line}: the switch has no port {text[:50]!r}; {suggest(text, labels)}")
    return label


def _loss(cell: str, line: int) -> Fraction:
    text = cell.strip()
    if not _LOSS.fullmatch(text):
        raise FileFormatError(f"line {line}: {text[:50]!r} is not a loss such as 1.2 (in dB)")
    return Fraction(text.removesuffix("dB").strip())


_MAX_ROWS = 40
_MAX_REFUSED = 10  # links that a table gives the reasons for


@dataclass(frozen=True, slots=True)
class PartLoss(Declared):
    """Loss of a link in parts of one kind."""

    name: str  # fibre, splice, connector, trunk, circuit, or a part that was bought
    loss: Fraction  # in dB

    KEYS = "part=name loss_db=loss"


@dataclass(frozen=True, slots=True)
class LinkLoss(Declared):
    """Loss of a cross-connect and its cabling."""

    cable: str  # the patch or circuit
    sender: str  # host
    receiver: str  # host
    loss: Fraction  # what is lost from optic to optic, in dB, as far as it is known
    unknown: tuple[str, ...]  # parts whose loss is not known and not counted
    budget: Fraction | None  # what the optics of both ends stand, in dB; null where unknown
    parts: tuple[PartLoss, ...] = ()  # where how much of it is lost
    refused: str = ""  # why the link cannot be, whatever it loses; empty if it can

    KEYS = "cable from=sender to=receiver loss_db=loss budget_db=budget unknown parts refused"
    ROW = "cable from=sender to=receiver loss_db=loss budget_db=budget margin_db=margin unknown"

    @property
    def margin(self) -> Fraction | None:
        """Remaining budget in dB (negative: exceeded); None if unknown."""
        return None if self.budget is None else self.budget - self.loss

    @property
    def problem(self) -> str:
        """Reason with figures if the link is rejected."""
        where = f"{self.cable} {self.sender} - {self.receiver}: "
        if self.refused:
            return f"{where}{self.refused}"
        if self.margin is None or self.margin >= 0:
            return ""
        parts = ", ".join(f"{part.name} {_figure(part.loss)}" for part in self.parts)
        return f"{where}loses {_figure(self.loss)} dB of {_figure(self.budget)} dB: {parts}"


@dataclass(frozen=True, repr=False)
class LossBudget(Result):
    """Losses of all links of a plan.

    * ``links``: by what is left of the budget, the least first, then those without one, the greatest loss first.
    """

    links: tuple[LinkLoss, ...]

    KEYS = ("ok known links", key("refused", "Links that are refused, with the reason and its figures."))
    ROWS = "links"

    @property
    def over(self) -> tuple[LinkLoss, ...]:
        """Links that exceed their loss budget."""
        return tuple(link for link in self.links if link.margin is not None and link.margin < 0)

    @property
    def refused(self) -> tuple[str, ...]:
        """Reasons of the rejected links."""
        return tuple(link.problem for link in self.links if link.problem)

    @property
    def budgeted(self) -> bool:
        """Whether some link has a budget."""
        return any(link.budget is not None for link in self.links)

    @property
    def known(self) -> bool:
        """Whether all losses and all budgets are known."""
        return all(not link.unknown and link.budget is not None for link in self.links)

    @property
    def ok(self) -> bool:
        """Whether no link is rejected or exceeds its known budget."""
        return not self.over and not any(link.refused for link in self.links)

    def heading(self) -> str:
        """Return a summary of the budget and the tightest link."""
        if not self.links:
            return "no links"
        if barred := [link.refused for link in self.links if link.refused]:
            return f"{len(barred)} of {count_noun(len(self.links), 'link')} cannot be: {barred[0]}"
        unknown = list(dict.fromkeys(part for link in self.links for part in link.unknown))
        words = f"; unknown and not counted: {', '.join(unknown)}" if unknown else ""
        with_budget = [link for link in self.links if link.budget is not None]
        most = max(self.links, key=lambda link: link.loss)
        if not with_budget:
            return f"largest loss {_decibels(most.loss)} ({most.cable}); no port has a loss budget{words}"
        tight = self.links[0]
        at = f"{tight.cable} loses {_decibels(tight.loss)} of {_decibels(tight.budget)}"
        lacking = len(self.links) - len(with_budget)
        words = (f"; {lacking} links have no budget" if lacking else "") + words
        if self.over:
            return f"{len(self.over)} of {len(self.links)} links exceed their loss budget: {at}{words}"
        return f"all within the loss budget: {at}{words}"

    def table(self) -> Table:
        """Return the tightest links."""
        rows = [
            {
                "cable": link.cable,
                "from": link.sender,
                "to": link.receiver,
                "loss": _decibels(link.loss),
                "budget": _decibels(link.budget),
                "margin": _decibels(link.margin),
            }
            for link in self.links[:_MAX_ROWS]
        ]
        hidden = len(self.links) - len(rows)
        title = f"optical loss of {count_noun(len(self.links), 'link')}, the least margin first"
        table = replace(table_of(rows, title), words=frozenset(("cable", "from", "to")))
        foot = [f"and {hidden} more, with more margin"] if hidden > 0 else []
        foot.append(self.heading())
        foot += [f"refused: {words}" for words in self.refused[:_MAX_REFUSED]]
        return replace(table, footnote="\n".join(foot))


_Part = tuple[str, Fraction | None]


class CableLosses(NamedTuple):
    """Losses of bought cables, by lane and by cord."""

    lanes: Mapping[tuple[str, str, int], Sequence[_Part]]
    cords: Mapping[str, Sequence[_Part]]
    refused: Mapping[str, str]  # cables of links that cannot be, and why
    single: bool = False  # whether both ways of a link go by one fibre


def losses_of(
    net: Net, *, bought: CableLosses | None = None, tables: Mapping[str, CircuitLosses] | None = None
) -> LossBudget:
    """Return the known loss of every link against its budget.

    With the parts that are ``bought``, these are what is lost in; ``tables`` are those of circuit switches by name.
    Links through parts that are alike lose alike, so that only one of them is added up.
    """
    room = net.inventory
    ends: dict[tuple[object, ...], int] = {}  # leads that lose alike, numbered, and what is lost in each
    lost: list[tuple[_Part, ...]] = []
    number: dict[tuple[str, str], int] = {}
    for place, lead in net.leads.items():
        known = None if bought is None else bought.lanes.get(lead.end.source)
        metres = net.length(lead.fixed) if bought is None else None
        passed = (metres, lead.trunk_db, *(room.panel_port[one].loss_db for one in lead.places))
        key = known and id(known), *map(id, passed)  # of what the room keeps, so that no fractions are compared
        if key not in ends:
            ends[key] = len(ends)
            lost.append((*(known or _iterate_fixed_losses(room, metres)), *_behind_cable(room, lead)))
        number[place] = ends[key]
    sums: dict[object, _Sum] = {}
    found: list[tuple[object, CrossConnect, str]] = []
    for connect, wire in zip(net.connects, net.crosses, strict=True):
        refused = "" if bought is None else bought.refused.get(connect.cable, "")
        table = (tables or {}).get(connect.a.panel)
        between: Sequence[_Part] | None = None
        if table is not None:
            circuit = table.of(connect, single=bought is not None and bought.single)
            a, b = connect.a.panel_port, connect.b.panel_port
            refused = refused or ("" if circuit is not None else f"the table of {connect.a.panel} has none {a} to {b}")
            between = [("circuit", circuit)]
        elif bought is not None and connect.cable in bought.cords:
            between = bought.cords[connect.cable]
        budgets = room.port[connect.a.socket].budget_db, room.port[connect.b.socket].budget_db
        here, there = number[connect.a.place], number[connect.b.place]
        run = net.length(wire) if wire.kind == "patch" and between is None else None
        what = (connect.a.panel, id(run)) if between is None else tuple(between)
        sort = here, there, what, *map(id, budgets)
        if sort not in sums:
            if between is None:
                circuit = room.panel[connect.a.panel].circuit_db
                between = [fibre_loss(room, run) if wire.kind == "patch" else ("circuit", circuit)]
            sums[sort] = _sum_of([*lost[here], *lost[there], *between], budgets)
        found.append((sort, connect, refused))
    rank = {one: row for row, one in enumerate(sorted({one.rank for one in sums.values()}))}
    order = {sort: rank[one.rank] for sort, one in sums.items()}
    found.sort(key=lambda one: (not one[2], order[one[0]]))
    return LossBudget(
        tuple(
            LinkLoss(one.cable, one.a.host, one.b.host, *sums[sort][1:], refused=refused)
            for sort, one, refused in found
        )
    )


class _Sum(NamedTuple):
    """Loss of links through equivalent parts."""

    rank: tuple[bool, Fraction]  # by which they are listed
    loss: Fraction
    unknown: tuple[str, ...]
    budget: Fraction | None
    parts: tuple[PartLoss, ...]


def _sum_of(parts: Sequence[_Part], budgets: Sequence[Fraction | None]) -> _Sum:
    lost: dict[str, Fraction] = {}
    for name, value in parts:
        if value is not None:
            lost[name] = lost.get(name, Fraction(0)) + value
    unknown = tuple(dict.fromkeys(name for name, value in parts if value is None))
    where = tuple(PartLoss(name, value) for name, value in lost.items())
    loss = sum(lost.values(), Fraction(0))
    budget = min((one for one in budgets if one is not None), default=None)
    rank = (budget is None, -loss if budget is None else budget - loss)
    return _Sum(rank, loss, unknown, budget, where)


def _iterate_fixed_losses(inventory: Inventory, metres: Fraction | None) -> Iterator[_Part]:
    """Yield the losses in a host's fixed cable."""
    splice, splices = inventory.losses.splice, inventory.losses.splices
    yield fibre_loss(inventory, metres)
    if splices:
        yield "splice", None if splice is None else splice * splices


def _behind_cable(inventory: Inventory, lead: Lead) -> Iterator[_Part]:
    """Yield the losses behind a host's fixed cable."""
    for place in lead.places:
        measured = inventory.panel_port[place].loss_db
        yield "connector", inventory.losses.connector if measured is None else measured
    if lead.trunk is not None:
        yield "trunk", lead.trunk_db


def fibre_loss(inventory: Inventory, metres: Fraction | None) -> _Part:
    """Return the loss in some metres of fibre."""
    per_kilometre = inventory.losses.fibre
    return "fibre", None if metres is None or per_kilometre is None else metres * per_kilometre / 1000


def _figure(value: Fraction | None) -> str:
    return "?" if value is None else f"{float(value):.3g}"


def _decibels(value: Fraction | None) -> str:
    return "" if value is None else f"{float(value):.3g} dB"
