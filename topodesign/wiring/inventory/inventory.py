"""What there is to wire with: hosts and their ports, panels, cables, and where everything stands.

A *lane* is one transmitter and one receiver: a port with an LC connector is one lane, an MPO-12 port four (the breakout
of 100 Gbps into four times 25 Gbps). Lanes are numbered from 1. A *panel* joins its ports to each other, by patch cords
or as a circuit switch (``ocs``). A panel port takes the two fibres of a lane: the transmitter's on side A, the
receiver's on side B. At a ``simplex`` port the two sides are patched separately, at a ``duplex`` port only together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from topodesign.base.errors import ParameterError
from topodesign.base.units import format_bandwidth

Connector = Literal["LC", "MPO-12"]
Mode = Literal["simplex", "duplex"]
PanelKind = Literal["patch panel", "ocs"]

LANES: dict[Connector, int] = {"LC": 1, "MPO-12": 4}
"""Lanes of a port by its connector."""

MODES: tuple[Mode, ...] = get_args(Mode)
PANEL_KINDS: tuple[PanelKind, ...] = get_args(PanelKind)


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a host's network card.

    Attributes
    ----------
    name
        Unique on its host.
    connector
        ``LC`` (one lane) or ``MPO-12`` (four lanes).
    speed
        Bits per second of each lane.
    """

    name: str
    connector: Connector
    speed: Fraction

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return LANES[self.connector]


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that can be a node: where it stands (site, rack and rack unit) and its ports."""

    name: str
    site: str
    rack: str
    unit: int
    ports: tuple[Port, ...]

    @property
    def lanes(self) -> int:
        """Number of lanes of all ports."""
        return sum(port.lanes for port in self.ports)


@dataclass(frozen=True, slots=True)
class PanelPort:
    """A port of a panel.

    Attributes
    ----------
    label
        Unique on its panel.
    mode
        ``simplex`` if the sides A and B can be patched separately, ``duplex`` if only together.
    blocked
        Broken or taken by something else: never to be used.
    loss_db
        Insertion loss in dB, or None if unknown.
    """

    label: str
    mode: Mode
    blocked: bool = False
    loss_db: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A patch panel or an optical circuit switch.

    Attributes
    ----------
    name, site, rack, unit
        What it is called and where it stands.
    kind
        ``patch panel`` or ``ocs``.
    ports
        In the order in which they are to be used.
    field
        Patch panels of one field can be patched to each other; a panel is a field of its own if nothing is said.
    """

    name: str
    site: str
    rack: str
    unit: int
    kind: PanelKind
    ports: tuple[PanelPort, ...]
    field: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """Fixed cabling: a lane ends at a panel port, its transmitter at side A and its receiver at side B."""

    host: str
    port: str
    lane: int
    panel: str
    panel_port: str


class Place(NamedTuple):
    """Where a device stands."""

    site: str
    rack: str
    unit: int


class InventoryError(ParameterError):
    """Something in an inventory contradicts itself; knows what, so that a reader of files can tell the line.

    Parameters
    ----------
    part
        ``hosts``, ``panels`` or ``cabling``.
    row
        Position in that part.
    name
        The field at fault.
    message
        What is wrong.
    port
        The port at fault, if it is one of a host or a panel.
    """

    def __init__(self, part: str, row: int, name: str, message: str, port: str | None = None) -> None:
        super().__init__(f"{part}[{row}].{name}: {message}")
        self.part = part
        self.row = row
        self.name = name
        self.message = message
        self.port = port


@dataclass(frozen=True, repr=False)
class Inventory:
    """All that a plan may use.

    Attributes
    ----------
    hosts
        At least one, with different names; all lanes have the same speed, since a link between two speeds stays dark.
    panels
        At least one, with names that differ from each other and from the hosts'.
    cabling
        The fixed cabling that exists: lanes that are not in it are not cabled. Empty if it is to be planned.
    stock
        Lengths in metres that cables can be had in, above zero, by the type of cable; whole metres for other types.
    racks
        Coordinates (x, y) in metres, by site and rack; may be empty or lack some.
    slack
        Metres added to the length of every cable; not below zero.
    name
        What the inventory is called.

    Raises
    ------
    InventoryError
        If it contradicts itself.
    ParameterError
        If ``stock`` or ``slack`` is out of range.
    """

    hosts: tuple[Host, ...]
    panels: tuple[Panel, ...]
    cabling: tuple[Fixed, ...] = ()
    stock: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)
    racks: Mapping[str, Mapping[str, tuple[Fraction, Fraction]]] = field(default_factory=dict)
    slack: Fraction = Fraction(0)
    name: str = ""

    def __post_init__(self) -> None:
        """Take copies, so that nobody changes it from outside, and check it."""
        for name in ("hosts", "panels", "cabling"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "stock", {kind: tuple(lengths) for kind, lengths in self.stock.items()})
        object.__setattr__(self, "racks", {site: dict(places) for site, places in self.racks.items()})
        for problem in (*_host_problems(self), *_panel_problems(self), *_cabling_problems(self)):
            raise problem
        for kind, lengths in self.stock.items():
            if not lengths or min(lengths) <= 0:
                raise ParameterError(f"stock of '{kind}': expected at least one length, all of them above zero")
        if self.slack < 0:
            raise ParameterError("the slack of cables cannot be below zero")

    def __repr__(self) -> str:
        """Return how much there is."""
        lanes, ports = sum(host.lanes for host in self.hosts), len(self.panel_port)
        panels = f"{len(self.panels)} panel{'' if len(self.panels) == 1 else 's'}"
        return f"Inventory({self.name!r}, {len(self.hosts)} hosts with {lanes} lanes, {panels} with {ports} ports)"

    @cached_property
    def host(self) -> dict[str, Host]:
        """Hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def panel(self) -> dict[str, Panel]:
        """Panels by name."""
        return {panel.name: panel for panel in self.panels}

    @cached_property
    def panel_port(self) -> dict[tuple[str, str], PanelPort]:
        """Panel ports by the panel's name and the label."""
        return {(panel.name, port.label): port for panel in self.panels for port in panel.ports}

    @cached_property
    def fields(self) -> dict[str, tuple[Panel, ...]]:
        """Panels by field, in the order of the inventory."""
        fields: dict[str, tuple[Panel, ...]] = {}
        for panel in self.panels:
            fields[panel.field] = (*fields.get(panel.field, ()), panel)
        return fields

    def place(self, device: str) -> Place:
        """Return where a host or a panel stands."""
        found = self.host.get(device) or self.panel[device]
        return Place(found.site, found.rack, found.unit)


def lanes_of(host: Host) -> Iterator[tuple[Port, int]]:
    """Yield all lanes of a host as port and number, in order."""
    for port in host.ports:
        for lane in range(1, port.lanes + 1):
            yield port, lane


def interface_name(port: str, lane: int, lanes: int) -> str:
    """Return what the interface of a lane is called: the name of the port, and which of its lanes if it has several."""
    return port if lanes == 1 else f"{port}/{lane}"


def _host_problems(inventory: Inventory) -> Iterator[InventoryError]:
    if not inventory.hosts:
        yield InventoryError("hosts", 0, "name", "there are no hosts")
    seen: set[str] = set()
    speed: Fraction | None = None
    for row, host in enumerate(inventory.hosts):
        if host.name in seen:
            yield InventoryError("hosts", row, "name", f"there are two hosts '{host.name}'")
        seen.add(host.name)
        twice = _repeated(port.name for port in host.ports)
        if twice is not None:
            yield InventoryError("hosts", row, "ports.name", f"host '{host.name}' has two ports '{twice}'", twice)
        for port in host.ports:
            speed = speed or port.speed
            if port.speed != speed:
                words = (
                    f"'{port.name}' has {format_bandwidth(port.speed)} a lane, ports before {format_bandwidth(speed)}"
                )
                yield InventoryError("hosts", row, "ports.speed", f"mixed speeds: {words}", port.name)


def _panel_problems(inventory: Inventory) -> Iterator[InventoryError]:
    if not inventory.panels:
        yield InventoryError("panels", 0, "name", "there are no panels")
    seen = {host.name for host in inventory.hosts}
    switches = {panel.name for panel in inventory.panels if panel.kind == "ocs"}
    for row, panel in enumerate(inventory.panels):
        if panel.name in seen:
            yield InventoryError("panels", row, "name", f"there are two devices '{panel.name}'")
        seen.add(panel.name)
        twice = _repeated(port.label for port in panel.ports)
        if twice is not None:
            words = f"panel '{panel.name}' has two ports labelled '{twice}'"
            yield InventoryError("panels", row, "ports.label", words, twice)
        if panel.field != panel.name and (panel.kind == "ocs" or panel.field in switches):
            yield InventoryError("panels", row, "field", "a circuit switch is a field of its own")


def _cabling_problems(inventory: Inventory) -> Iterator[InventoryError]:
    lanes = {(host.name, port.name, lane) for host in inventory.hosts for port, lane in lanes_of(host)}
    ports = {(host.name, port.name) for host in inventory.hosts for port in host.ports}
    used: set[tuple[str, ...] | tuple[str, str, int]] = set()
    for row, fixed in enumerate(inventory.cabling):
        lane, end = (fixed.host, fixed.port, fixed.lane), (fixed.panel, fixed.panel_port)
        if fixed.host not in inventory.host:
            yield InventoryError("cabling", row, "host", f"there is no host '{fixed.host}'")
        elif lane[:2] not in ports:
            yield InventoryError("cabling", row, "port", f"host '{fixed.host}' has no port '{fixed.port}'")
        elif lane not in lanes:
            yield InventoryError("cabling", row, "lane", f"port '{fixed.port}' has no lane {fixed.lane}")
        elif fixed.panel not in inventory.panel:
            yield InventoryError("cabling", row, "panel", f"there is no panel '{fixed.panel}'")
        elif end not in inventory.panel_port:
            words = f"panel '{fixed.panel}' has no port '{fixed.panel_port}'"
            yield InventoryError("cabling", row, "panel_port", words)
        elif inventory.panel_port[end].blocked:
            yield InventoryError("cabling", row, "panel_port", f"port '{fixed.panel_port}' is blocked")
        elif lane in used:
            words = f"lane {fixed.lane} of '{fixed.host}', '{fixed.port}' is cabled twice"
            yield InventoryError("cabling", row, "lane", words)
        elif end in used:
            words = f"port '{fixed.panel_port}' of '{fixed.panel}' takes two lanes"
            yield InventoryError("cabling", row, "panel_port", words)
        used |= {lane, end}


def _repeated(names: Iterator[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
