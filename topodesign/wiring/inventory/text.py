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
# A range such as [01-12] or [2-24:2] stands for an entry for each number; ranges of one entry go together."""
_SLACK = "# Added to the length of every cable, for the ways up and down."
_STOCK = "# Lengths that cables can be had in; of a type that is not here, all whole metres."
_RACKS = "# Where racks stand, in plan view. Without it, plans tell no lengths between racks."
_HOSTS = """\
# Hosts that can be nodes. connector: LC is a port of one lane, MPO-12 one that is broken out into four (MPO-16 eight,
# MPO-24 twelve, MPO-32 sixteen); the speed is that of the whole port. site, rack and unit are for labels, work sheets
# and lengths."""
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
    stock = (f"  {kind}: [{', '.join(map(_metres, sizes))}]" for kind, sizes in inventory.stock.items())
    cabling = _runs([(one.host, one.port, str(one.lane), one.panel, one.panel_port) for one in inventory.cabling])
    names = ("host", "port", "lane", "panel", "panel_port")
    sections = [
        [_HEAD],
        [f"name: {_scalar(inventory.name)}"] if inventory.name else [],
        [_SLACK, f"slack: {_metres(inventory.slack)}"] if inventory.slack else [],
        _section(_STOCK, "stock", stock),
        _section(_RACKS, "racks", _racks(inventory)),
        _section(_HOSTS, "hosts", _hosts(inventory.hosts)),
        _section(_PANELS, "panels", map(_panel, inventory.panels)),
        _section(_TRUNKS, "trunks", _trunks(inventory.trunks)),
        _section(_TRAYS, "trays", _trays(inventory.trays)),
        [_PARTS, f"parts: {_scalar(inventory.parts)}"] if inventory.parts else [],
        [_LOSSES, f"losses: {_losses(inventory.losses)}"] if inventory.losses != devices.NOTHING_KNOWN else [],
        _section(_CABLING, "cabling", (f"  - {_flow(zip(names, row, strict=True))}" for row in cabling)),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _section(comment: str, part: str, entries: Iterable[str]) -> list[str]:
    """Return the lines of a part; none if nothing is in it."""
    lines = list(entries)
    return [comment, f"{part}:", *lines] if lines else []


def _flow(said: Iterable[tuple[str, str | None]], **rest: str | None) -> str:
    """Return a mapping on one line, of texts and then of the rest as it is; what is None is left out."""
    texts = [f"{name}: {_scalar(value)}" for name, value in said if value is not None]
    return f"{{{', '.join([*texts, *(f'{name}: {value}' for name, value in rest.items() if value is not None)])}}}"


def _racks(inventory: Inventory) -> Iterator[str]:
    for site, racks in inventory.racks.items():
        for rack, (x, y) in racks.items():
            yield f"  - {_flow([('site', site or None), ('rack', rack)], x=_metres(x), y=_metres(y))}"


def _hosts(hosts: Iterable[devices.Host]) -> Iterator[str]:
    for (site, ports), group in groupby(hosts, key=lambda host: (host.site, host.ports)):
        for name, rack, unit, pod in _runs([(host.name, host.rack, str(host.unit), host.pod) for host in group]):
            said = [("name", name), ("site", site or None), ("rack", rack), ("unit", unit), ("pod", pod or None)]
            yield f"  - {_flow(said, ports=_list(_ports(ports)))}"


def _ports(ports: Sequence[devices.Port]) -> Iterator[str]:
    for one, group in groupby(ports, key=lambda port: replace(port, name="")):
        rest = {
            "connector": one.connector,
            "speed": f"{_decimal(one.speed * one.lanes / _GIGA)}Gbps",
            "polarity": one.polarity if one.polarity != devices.POLARITIES[0] else None,
            "budget": _decibels(one.budget_db),
        }
        for (name,) in _runs([(port.name,) for port in group]):
            yield _flow([("name", name)], **rest)


def _trunks(trunks: Iterable[devices.Trunk]) -> Iterator[str]:
    names = ("panel", "panel_port", "near", "near_port")
    for loss, group in groupby(trunks, key=lambda trunk: trunk.loss_db):
        for row in _runs([(one.panel, one.panel_port, one.near, one.near_port) for one in group]):
            yield f"  - {_flow(zip(names, row, strict=True), loss=_decibels(loss))}"


def _trays(trays: Iterable[devices.Tray]) -> Iterator[str]:
    for (site, *sizes), group in groupby(trays, key=lambda tray: (tray.site, *tray[3:])):
        rest = dict(zip(("length", "width", "depth"), map(_metres, sizes), strict=False))
        for a, b in _runs([(one.a, one.b) for one in group]):
            said = [("site", site or None), ("from", a), ("to", b)]
            yield f"  - {_flow(said, **rest, fill=f'{_decimal(sizes[3] * 100)}%')}"


def _losses(losses: devices.Losses) -> str:
    each = {name: _decibels(loss) for name, loss in zip(losses._fields, losses[:3], strict=False)}
    return _flow([], **each, splices=str(losses.splices) if losses.splices else None)


def _panel(panel: devices.Panel) -> str:
    said = [("name", panel.name), ("kind", panel.kind), ("site", panel.site or None), ("rack", panel.rack)]
    said += [("unit", str(panel.unit)), ("field", None if panel.field == panel.name else panel.field)]
    closed = _runs([(port.label,) for port in panel.ports if port.blocked])
    entry = _flow(
        said,
        ports=_list(_panel_ports(panel.ports)),
        blocked=_list(_scalar(label) for (label,) in closed) if any(port.blocked for port in panel.ports) else None,
        pods=_list(map(_scalar, panel.pods)) if panel.pods else None,
        spare=str(panel.spare) if panel.spare else None,
        circuit=_decibels(panel.circuit_db),
    )
    return f"  - {entry}"


def _panel_ports(ports: Iterable[devices.PanelPort]) -> Iterator[str]:
    for (mode, loss, side), group in groupby(ports, key=lambda port: (port.mode, port.loss_db, port.side)):
        for (label,) in _runs([(port.label,) for port in group]):
            yield _flow([("label", label), ("mode", mode)], loss=_decibels(loss), side=side or None)


def _list(entries: Iterable[str]) -> str:
    return f"[{', '.join(entries)}]"


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
    return text if _PLAIN.fullmatch(text) and text == text.strip() else json.dumps(text, ensure_ascii=False)


def _metres(length: Fraction) -> str:
    return f"{_decimal(length)}m"


def _decibels(loss: Fraction | None) -> str | None:
    return None if loss is None else f"{_decimal(loss)}dB"


def _decimal(value: Fraction) -> str:
    text = exact(value)
    if "/" in text:
        raise ParameterError(f"{text} is no decimal, which a file needs")
    return text
