"""Devices of a site: hosts, panels, ports, cabling, trunks, trays and losses.

Each attribute says by its :class:`~topodesign.wiring.inventory.fields.Field` what it means and how files have it; all
that reads and writes inventories derives from that. A new field goes behind the others, with a default.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, get_args

from topodesign.base.errors import FileFormatError
from topodesign.wiring.inventory import fields

Connector = Literal["LC", "MPO-12", "MPO-16", "MPO-24", "MPO-32"]
Polarity = Literal["A", "B", "C"]
Mode = Literal["simplex", "duplex"]
PanelKind = Literal["patch panel", "ocs"]
PortSide = Literal["", "1", "2"]

LANES: dict[Connector, int] = {"LC": 1, "MPO-12": 4, "MPO-16": 8, "MPO-24": 12, "MPO-32": 16}
"""Lanes of a port by its connector."""

MODES: tuple[Mode, ...] = get_args(Mode)
PANEL_KINDS: tuple[PanelKind, ...] = get_args(PanelKind)
PORT_SIDES: tuple[PortSide, ...] = get_args(PortSide)
POLARITIES: tuple[Polarity, ...] = get_args(Polarity)


@dataclass(frozen=True, slots=True)
class Port:
    """Port of a host's network card."""

    name: Annotated[str, fields.Text("name, unique on its host", note=None)]
    connector: Annotated[
        Connector,
        fields.Choice("connector with 1 lane (`LC`), 4, 8, 12 or 16 lanes", words=tuple(LANES), note=None),
    ]
    speed: Annotated[
        Fraction,
        fields.Speed("speed of all lanes together (in Python: bits per second of each lane)", lanes=LANES, note=None),
    ]
    polarity: Annotated[
        Polarity,
        fields.Choice("polarity of its array cable by TIA-568: straight, reversed, pairs exchanged", words=POLARITIES),
    ] = "A"
    budget_db: Annotated[
        Fraction | None, fields.Decibels("loss budget of its optic, from end to end", name="budget")
    ] = None

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return LANES[self.connector]


@dataclass(frozen=True, slots=True)
class Host:
    """Machine that can be a node, with its ports and position."""

    name: Annotated[str, fields.Text("name, different from all other hosts and panels", note=None)]
    site: Annotated[str, fields.Text("site of the rack", default="", note=None)]
    rack: Annotated[str, fields.Text("rack", note=None)]
    unit: Annotated[int, fields.WholeNumber("rack unit", default=1, note=None)]
    ports: Annotated[tuple[Port, ...], fields.Entries("ports", of_kind=Port, note=None)]
    pod: Annotated[str, fields.Text("part of the room; a panel can be limited to some pods")] = ""

    @property
    def lanes(self) -> int:
        """Number of lanes of all ports."""
        return sum(port.lanes for port in self.ports)


@dataclass(frozen=True, slots=True)
class PanelPort:
    """Port of a panel."""

    label: Annotated[str, fields.Text("label, unique on its panel", note=None)]
    mode: Annotated[
        Mode,
        fields.Choice("`simplex` if sides A and B can be patched separately", words=MODES, note=None),
    ]
    blocked: Annotated[bool, fields.Flag("whether it is broken or taken, and never used", always=True, note=None)] = (
        False
    )
    loss_db: Annotated[Fraction | None, fields.Decibels("insertion loss", name="loss", always=True)] = None
    side: Annotated[
        PortSide,
        fields.Choice("side, for a switch that joins ports of side 1 only to ports of side 2", words=PORT_SIDES),
    ] = ""

    def takes(self, mode: Mode) -> bool:
        """Return whether plans of a mode can use the port: a duplex port cannot be patched one way."""
        return mode == "duplex" or self.mode == "simplex"


@dataclass(frozen=True, slots=True)
class Panel:
    """Patch panel or optical circuit switch."""

    name: Annotated[str, fields.Text("name, different from all other hosts and panels", note=None)]
    site: Annotated[str, fields.Text("site of the rack", default="", note=None)]
    rack: Annotated[str, fields.Text("rack", note=None)]
    unit: Annotated[int, fields.WholeNumber("rack unit", default=1, note=None)]
    kind: Annotated[PanelKind, fields.Choice("`ocs` is a circuit switch", words=PANEL_KINDS, note=None)]
    ports: Annotated[tuple[PanelPort, ...], fields.Entries("ports, in the order of use", of_kind=PanelPort, note=None)]
    field: Annotated[
        str, fields.OtherName("patch panels of one field can be patched to each other; default: its name", always=True)
    ] = ""
    pods: Annotated[tuple[str, ...], fields.Texts("pods whose hosts reach it; default: all", note="pod")] = ()
    spare: Annotated[int, fields.WholeNumber("number of ports that plans leave free for repairs")] = 0
    circuit_db: Annotated[Fraction | None, fields.Decibels("loss of a circuit through the switch", name="circuit")] = (
        None
    )

    IN_FILES = {"blocked": fields.Texts("labels of blocked ports", default=())}  # noqa: RUF012  a constant

    def __post_init__(self) -> None:
        """Set the field to the panel's name by default."""
        if not self.field:
            object.__setattr__(self, "field", self.name)

    @classmethod
    def from_file(cls, blocked: Collection[str], **said: Any) -> Panel:
        """Return a panel from the fields of an inventory file."""
        labels = {port.label for port in said["ports"]}
        unknown = next((label for label in blocked if label not in labels), None)
        if unknown is not None:
            raise fields.FieldError("blocked", f"there is no port '{unknown}' to block")
        if blocked:
            closed = set(blocked)
            said["ports"] = tuple(
                replace(port, blocked=True) if port.label in closed else port for port in said["ports"]
            )
        return cls(**said)


class Lane(NamedTuple):
    """Lane of a host: one transmitter and one receiver."""

    host: str
    port: str
    lane: int

    @property
    def socket(self) -> tuple[str, str]:
        """Host and port names."""
        return self.host, self.port


@dataclass(frozen=True, slots=True)
class Fixed:
    """Fixed cabling from a lane to a panel port."""

    host: Annotated[str, fields.Text("host")]
    port: Annotated[str, fields.Text("its port")]
    lane: Annotated[int, fields.WholeNumber("lane of the port", default=1, least=1)]
    panel: Annotated[str, fields.Text("panel")]
    panel_port: Annotated[str, fields.Text("port of the panel")]

    KEYS = "host port lane panel panel_port"

    @property
    def socket(self) -> tuple[str, str]:
        """Host and port names."""
        return self.host, self.port

    @property
    def source(self) -> Lane:
        """Lane at the host end."""
        return Lane(self.host, self.port, self.lane)

    @property
    def place(self) -> tuple[str, str]:
        """Panel name and port label."""
        return self.panel, self.panel_port


@dataclass(frozen=True, slots=True)
class Trunk:
    """Trunk from a panel port to a panel where hosts plug in."""

    panel: Annotated[str, fields.Text("panel or switch where links are made")]
    panel_port: Annotated[str, fields.Text("its port")]
    near: Annotated[str, fields.Text("patch panel where hosts plug in")]
    near_port: Annotated[str, fields.Text("its port, which has no other use")]
    loss_db: Annotated[
        Fraction | None,
        fields.Decibels("loss of the trunk, including everything between its two ports", name="loss", always=True),
    ] = None


class Tray(NamedTuple):
    """Cable pathway between two racks or junctions of a site."""

    site: Annotated[str, fields.Text("site", default="")]
    a: Annotated[str, fields.Text("rack, or a junction with any name", name="from")]
    b: Annotated[str, fields.Text("rack or junction", name="to")]
    length: Annotated[Fraction, fields.Metres("length")]
    width: Annotated[Fraction, fields.Metres("width of its cross-section")]
    depth: Annotated[Fraction, fields.Metres("depth of its cross-section")]
    fill: Annotated[Fraction, fields.Share("share of the cross-section that cables may fill", always=True)] = Fraction(
        2, 5
    )

    @property
    def name(self) -> str:
        """Names of both ends."""
        return f"{self.a} - {self.b}"


class Losses(NamedTuple):
    """Default light losses in dB; None if unknown."""

    connector: Annotated[
        Fraction | None,
        fields.Decibels("loss of a panel port that states none", note="loss connector", always=True),
    ] = None
    fibre: Annotated[
        Fraction | None, fields.Decibels("loss of a kilometre of fibre", note="loss fibre", always=True)
    ] = None
    splice: Annotated[Fraction | None, fields.Decibels("loss of a splice", note="loss splice", always=True)] = None
    splices: Annotated[int, fields.WholeNumber("number of splices in each fixed cable", always=True)] = 0


NOTHING_KNOWN = Losses()


class RackPlace(NamedTuple):
    """Position of a rack in plan view."""

    site: Annotated[str, fields.Text("site", default="", note=None)]
    rack: Annotated[str, fields.Text("name of the rack", note=None)]
    x: Annotated[Fraction, fields.Metres("coordinate", signed=True)]
    y: Annotated[Fraction, fields.Metres("coordinate", signed=True)]


class Zone(NamedTuple):
    """Panel ports of a field that the same pods reach."""

    field: str  # of their panels
    pods: tuple[str, ...]  # none if all hosts reach them
    panel: str = ""  # theirs, if some of its ports stay free and other pods reach others of its ports; else empty
    side: PortSide = ""  # of its switch, if that has two


class Place(NamedTuple):
    """Position of a device."""

    site: str
    rack: str
    unit: int


def lanes_of(host: Host) -> Iterator[tuple[Port, int]]:
    """Yield the lanes of a host as (port, number), in order."""
    for port in host.ports:
        for lane in range(1, port.lanes + 1):
            yield port, lane


def interface_name(port: str, lane: int, lanes: int) -> str:
    """Return the interface name of a lane: ``PORT`` or ``PORT/LANE``."""
    return port if lanes == 1 else f"{port}/{lane}"


def split_name(port: str, lane: int, lanes: int) -> str:
    """Return the Linux interface name of a lane.

    The parts of a split port are named ``PORTs0``, ``PORTs1``, ...
    """
    return port if lanes == 1 else f"{port}s{lane - 1}"


class PortLabels:
    """Labels of panel ports and their spellings in files.

    ``places``: panels and labels of all ports that are meant.
    """

    def __init__(self, places: Iterable[tuple[str, str]]) -> None:
        self._places = frozenset(places)
        self._by_number: dict[tuple[str, int], list[str]] = {}
        for panel, label in sorted(self._places):
            if is_number(label):
                self._by_number.setdefault((panel, int(label)), []).append(label)
        self._taken: dict[tuple[str, str], str] = {}

    def read(self, panel: str, said: str) -> str:
        """Return the matching port label, by text or else by number.

        What a panel lacks altogether comes back as it is.
        """
        if (panel, said) in self._places or not is_number(said):
            return said
        known = self._by_number.get((panel, int(said)), [said])
        if len(known) > 1:
            raise FileFormatError(f"panel '{panel}' has no port '{said}', and both '{known[0]}' and '{known[1]}'")
        if known[0] != said:
            self._taken[panel, said] = known[0]
        return known[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """Note on corrected labels; empty if none."""
        if not self._taken:
            return ()
        (panel, said), label = next(iter(self._taken.items()))
        more = f", and so for {len(self._taken) - 1} more" if len(self._taken) > 1 else ""
        return (f"port '{said}' of panel '{panel}' is taken for '{label}'{more}: zeros are lost in spreadsheets",)


def is_number(text: str, most: int = 9) -> bool:
    """Return whether a text is a number of up to ``most`` digits."""
    return text.isascii() and text.isdecimal() and len(text) <= most
