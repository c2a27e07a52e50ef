"""An inventory as a YAML file that says the same, its entries drawn together into ranges, with comments for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from topodesign.base.errors import ParameterError
from topodesign.wiring.inventory import devices
from topodesign.wiring.inventory.fields import MOST_LETTERS
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.inventory.inventory import Inventory, exact

_DIGITS = re.compile(r"([0-9]{1,9})")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./ -]*")
_GIGA = 10**9

_HEAD = """\
# What there is to wire with. Plan with it: topodesign wire plan SPEC --inventory THIS_FILE
# A range such as [01-12] or [2-24:2] stands for an entry for each number; ranges of one entry go together.
"""
_SLACK = "# Added to the length of every cable, for the ways up and down."
_STOCK = "# Lengths that cables can be had in; of a type that is not here, all whole metres."
_RACKS = "# Where racks stand, in plan view. Without it, plans tell no lengths between racks."
_HOSTS = """\
# Hosts that can be nodes. connector: LC is a port of one lane, MPO-12 one that is broken out into four (MPO-16 eight,
# MPO-24 twelve); the speed is that of the whole port. site, rack and unit are for labels, work sheets and lengths."""
_PANELS = """\
# kind: patch panel, or ocs for an optical circuit switch. mode: the two fibres of a simplex port are patched each by
# itself, which wires any topology; a duplex port takes one cord for both, for topologies whose links go both ways. More
# fields: loss of a port (0.5dB), blocked: [17] for ports that must not be used, and one field for panels that are
# patched to each other."""
_TRUNKS = "# Ports of a panel or switch that hosts reach at another panel, near them."
_LOSSES = (
    "# What light loses, for the loss budget: at a connector, in a kilometre of fibre, at a splice; splices a cable."
)
_TRAYS = (
    "# Pathways: cables between racks run there, the shortest way; cables may take the share fill of a cross-section."
)
_PARTS = "# What cables are bought from."
_CABLING = "# Fixed cabling that exists, lane by lane; plans keep it. Without this part, plans choose it."


def inventory_text(inventory: InventoryLike) -> str:
    """Return the text of a YAML file that :func:`topodesign.read_inventory` reads as this inventory.

    Parameters
    ----------
    inventory
        What there is, or the path of its file; one without a name gets that of the file.

    Raises
    ------
    ParameterError
        If a file cannot say it: a name has ``[``, which begins a range, or a length no decimal.

    Examples
    --------
    >>> from topodesign.wiring.inventory.answers import plain_inventory
    >>> print(inventory_text(plain_inventory(12, 4)).splitlines()[-1])
      - {name: P0, kind: patch panel, rack: r0, unit: 0, ports: [{label: "[1-48]", mode: simplex}]}
    """
    inventory = as_inventory(inventory)
    lines = [_HEAD]
    if inventory.name:
        lines += [f"name: {_scalar(inventory.name)}", ""]
    if inventory.slack:
        lines += [_SLACK, f"slack: {_metres(inventory.slack)}", ""]
    if inventory.stock:
        lines += [_STOCK, "stock:"]
        lines += [f"  {kind}: [{', '.join(map(_metres, sizes))}]" for kind, sizes in inventory.stock.items()]
        lines += [""]
    racks = list(_racks(inventory))
    if racks:
        lines += [_RACKS, "racks:", *racks, ""]
    lines += [_HOSTS, "hosts:", *_hosts(inventory.hosts), ""]
    lines += [_PANELS, "panels:", *map(_panel, inventory.panels)]
    if inventory.trunks:
        lines += ["", _TRUNKS, "trunks:", *_trunks(inventory.trunks)]
    if inventory.trays:
        lines += ["", _TRAYS, "trays:", *_trays(inventory.trays)]
    if inventory.parts:
        lines += ["", _PARTS, f"parts: {_scalar(inventory.parts)}"]
    if inventory.losses != devices.NOTHING_KNOWN:
        lines += ["", _LOSSES, f"losses: {{{', '.join(_losses(inventory.losses))}}}"]
    if inventory.cabling:
        rows = [(one.host, one.port, str(one.lane), one.panel, one.panel_port) for one in inventory.cabling]
        names = ("host", "port", "lane", "panel", "panel_port")
        lines += ["", _CABLING, "cabling:"]
        lines += [f"  - {{{_fields(names, row)}}}" for row in _runs(rows)]
    return "\n".join(lines) + "\n"


def _racks(inventory: Inventory) -> Iterator[str]:
    for site, racks in inventory.racks.items():
        for rack, (x, y) in racks.items():
            yield f"  - {{{_where(site)}rack: {_scalar(rack)}, x: {_metres(x)}, y: {_metres(y)}}}"


def _hosts(hosts: Iterable[devices.Host]) -> Iterator[str]:
    for (site, ports), group in groupby(hosts, key=lambda host: (host.site, host.ports)):
        for name, rack, unit, pod in _runs([(host.name, host.rack, str(host.unit), host.pod) for host in group]):
            where = f"{_where(site)}{_fields(('rack', 'unit'), (rack, unit))}" + (
                f", pod: {_scalar(pod)}" if pod else ""
            )
            yield f"  - {{name: {_scalar(name)}, {where}, ports: [{', '.join(_ports(ports))}]}}"


def _ports(ports: Sequence[devices.Port]) -> Iterator[str]:
    for one, group in groupby(ports, key=lambda port: replace(port, name="")):
        more = f", polarity: {one.polarity}" if one.polarity != devices.POLARITIES[0] else ""
        more += "" if one.budget_db is None else f", budget: {_decimal(one.budget_db)}dB"
        rate = f"{_decimal(one.speed * one.lanes / _GIGA)}Gbps"
        for (name,) in _runs([(port.name,) for port in group]):
            yield f"{{name: {_scalar(name)}, connector: {one.connector}, speed: {rate}{more}}}"


def _trunks(trunks: Iterable[devices.Trunk]) -> Iterator[str]:
    names = ("panel", "panel_port", "near", "near_port")
    for loss, group in groupby(trunks, key=lambda trunk: trunk.loss_db):
        more = "" if loss is None else f", loss: {_decimal(loss)}dB"
        for row in _runs([(one.panel, one.panel_port, one.near, one.near_port) for one in group]):
            yield f"  - {{{_fields(names, row)}{more}}}"


def _trays(trays: Iterable[devices.Tray]) -> Iterator[str]:
    for (site, *sizes), group in groupby(trays, key=lambda tray: (tray.site, *tray[3:])):
        length, width, depth = map(_metres, sizes[:3])
        more = f"length: {length}, width: {width}, depth: {depth}, fill: {_decimal(sizes[3] * 100)}%"
        for ends in _runs([(one.a, one.b) for one in group]):
            yield f"  - {{{_where(site)}{_fields(('from', 'to'), ends)}, {more}}}"


def _losses(losses: devices.Losses) -> Iterator[str]:
    for name, loss in (("connector", losses.connector), ("fibre", losses.fibre), ("splice", losses.splice)):
        if loss is not None:
            yield f"{name}: {_decimal(loss)}dB"
    if losses.splices:
        yield f"splices: {losses.splices}"


def _panel(panel: devices.Panel) -> str:
    group = "" if panel.field == panel.name else f", field: {_scalar(panel.field)}"
    closed = _runs([(port.label,) for port in panel.ports if port.blocked])
    blocked = ", ".join(_scalar(label) for (label,) in closed)
    where = f"{_where(panel.site)}rack: {_scalar(panel.rack)}, unit: {panel.unit}{group}"
    tail = f", blocked: [{blocked}]" if blocked else ""
    tail += f", pods: [{', '.join(map(_scalar, panel.pods))}]" if panel.pods else ""
    tail += f", spare: {panel.spare}" if panel.spare else ""
    tail += "" if panel.circuit_db is None else f", circuit: {_decimal(panel.circuit_db)}dB"
    ports = ", ".join(_panel_ports(panel.ports))
    return f"  - {{name: {_scalar(panel.name)}, kind: {panel.kind}, {where}, ports: [{ports}]{tail}}}"


def _panel_ports(ports: Iterable[devices.PanelPort]) -> Iterator[str]:
    for (mode, loss), group in groupby(ports, key=lambda port: (port.mode, port.loss_db)):
        more = "" if loss is None else f", loss: {_decimal(loss)}dB"
        for (label,) in _runs([(port.label,) for port in group]):
            yield f"{{label: {_scalar(label)}, mode: {mode}{more}}}"


def _where(site: str) -> str:
    return f"site: {_scalar(site)}, " if site else ""


def _fields(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{name}: {_scalar(value)}" for name, value in zip(names, values, strict=True))


def _runs(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield entries that stand for the rows in order: texts, of which those that count up are ranges."""
    for text in {text for row in rows for text in row}:
        if "[" in text:
            raise ParameterError(f"in a file, [ begins a range; rename {text!r}")
    start = 0
    while start < len(rows):
        entry, count = _run(rows, start)
        yield entry
        start += count


def _run(rows: Sequence[tuple[str, ...]], start: int) -> tuple[tuple[str, ...], int]:
    """Return the entry for as many rows from one on as it can stand for, and their number."""
    if start + 1 == len(rows):
        return rows[start], 1
    columns = [_column(a, b) for a, b in zip(rows[start], rows[start + 1], strict=True)]
    count = 1
    while start + count < len(rows) and all(
        column is not None and column.text(count) == text
        for column, text in zip(columns, rows[start + count], strict=True)
    ):
        count += 1
    entry = tuple(column.entry(count) for column in columns if column is not None)
    if count == 1 or any(len(text) > MOST_LETTERS for text in entry):
        return rows[start], 1
    return entry, count


class _Column(NamedTuple):
    """Texts that count up from the first by a step, which is 0 where they are all the same."""

    before: str
    first: str
    after: str
    step: int

    def text(self, number: int) -> str:
        """Return the text that is so many after the first."""
        if not self.step:
            return self.before
        return f"{self.before}{int(self.first) + number * self.step:0{len(self.first)}}{self.after}"

    def entry(self, count: int) -> str:
        """Return the range for so many."""
        if not self.step:
            return self.before
        step = f":{self.step}" if self.step > 1 else ""
        last = int(self.first) + (count - 1) * self.step
        return f"{self.before}[{self.first}-{last}{step}]{self.after}"


def _column(a: str, b: str) -> _Column | None:
    """Return what two texts begin; None if no range does."""
    if a == b:
        return _Column(a, "", "", 0)
    here, there = _DIGITS.split(a), _DIGITS.split(b)
    if len(here) != len(there):
        return None
    differ = [place for place, (x, y) in enumerate(zip(here, there, strict=True)) if x != y]
    place = differ[0]
    if len(differ) > 1 or place % 2 == 0 or int(there[place]) <= int(here[place]):
        return None
    found = _Column(
        "".join(here[:place]), here[place], "".join(here[place + 1 :]), int(there[place]) - int(here[place])
    )
    return found if found.text(1) == b else None


def _scalar(text: str) -> str:
    """Return a text as YAML has it."""
    return text if _PLAIN.fullmatch(text) and text == text.strip() else json.dumps(text, ensure_ascii=False)


def _metres(length: Fraction) -> str:
    return f"{_decimal(length)}m"


def _decimal(value: Fraction) -> str:
    text = exact(value)
    if "/" in text:
        raise ParameterError(f"{text} is no decimal, which a file needs")
    return text
