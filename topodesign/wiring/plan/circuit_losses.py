"""What a circuit switch loses from each port to each other: the table that is measured before it is shipped, as CSV.

Two forms are read. *Pairs* have a row for each cross-connect and the columns ``from``, ``to`` and ``loss``; where only
one direction of a pair is listed the other loses as much. A *matrix* has labels of ports that light comes out of in its
first line and a port that it goes into at the head of each other line; an empty cell, or ``-``, is a cross-connect that
the switch cannot make. Losses are in dB, with or without the unit; the labels are those of the inventory, and a number
may have lost its zeros in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.tables import csv_rows, plain_cell
from topodesign.base.text_files import naming, read_text
from topodesign.base.wording import suggest
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.inventory.port_labels import PortLabels
from topodesign.wiring.plan.cross_connects import CrossConnect

_PAIRS = ("from", "to", "loss")
_LARGEST = 2**28
_LOSS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?(\s*dB)?")

TableLike: TypeAlias = "CircuitLosses | str | Path"  # a table, or the path of its file


@dataclass(frozen=True)
class CircuitLosses:
    """What light loses in dB by the labels of the ports where it goes in and comes out; what is not there is not made.

    ``loss``: by pair of labels. ``both``: whether a pair stands for both of its directions where only one is there.
    """

    loss: Mapping[tuple[str, str], Fraction]
    both: bool = False

    def between(self, a: str, b: str) -> Fraction | None:
        """Return what is lost from port a to port b; None if the switch does not join them."""
        found = self.loss.get((a, b))
        return self.loss.get((b, a)) if found is None and self.both else found

    def of(self, connect: CrossConnect, *, single: bool = False) -> Fraction | None:
        """Return what a circuit loses, a duplex one in the worse of its directions; None if it cannot be made.

        With a ``single`` fibre for both ways there is one cross-connect, of a switch with two sides from one to the
        other: whichever way the table lists it.
        """
        a, b = connect.a.panel_port, connect.b.panel_port
        if single:
            found = self.between(a, b)
            return self.between(b, a) if found is None else found
        ways = [self.between(a, b)] + ([self.between(b, a)] if connect.mode == "duplex" else [])
        known = [one for one in ways if one is not None]
        return max(known) if len(known) == len(ways) else None


_SWITCH = "of the table"  # the name of the panel in messages: the table does not say it


def read_circuit_losses(path: str | Path, labels: Sequence[str]) -> CircuitLosses:
    """Read the table of a switch whose ports have some labels.

    Raises
    ------
    FileFormatError
        If it cannot be read; the message names the file, the line and the cell.
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
    text = plain_cell(cell).strip()
    label = known.read(_SWITCH, text)
    if label not in labels:
        raise FileFormatError(f"line {line}: the switch has no port {text[:50]!r}; {suggest(text, labels)}")
    return label


def _loss(cell: str, line: int) -> Fraction:
    text = cell.strip()
    if not _LOSS.fullmatch(text):
        raise FileFormatError(f"line {line}: {text[:50]!r} is no loss such as 1.2 (in dB)")
    return Fraction(text.removesuffix("dB").strip())
