"""What a machine room has: hosts, panels, their ports and where they stand, fixed cables, trunks, trays and losses.

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
    """A port of a host's network card."""

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
    """A machine that can be a node: rack (site, rack and rack unit), its ports, and its pod if any."""

    name: Annotated[str, fields.Text("name, different from all other hosts and panels", note=None)]
    site: Annotated[str, fields.Text("site of the rack", default="", note=None)]
    rack: Annotated[str, fields.Text("rack", note=None)]
    unit: Annotated[int, fields.Whole("rack unit", default=1, note=None)]
    ports: Annotated[tuple[Port, ...], fields.Entries("ports", of_kind=Port, note=None)]
    pod: Annotated[str, fields.Text("part of the room; a panel can be limited to some pods")] = ""

    @property
    def lanes(self) -> int:
        """Number of lanes of all ports."""
        return sum(port.lanes for port in self.ports)


@dataclass(frozen=True, slots=True)
class PanelPort:
    """A port of a panel."""

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


@dataclass(frozen=True, slots=True)
class Panel:
    """A patch panel or an optical circuit switch."""

    name: Annotated[str, fields.Text("name, different from all other hosts and panels", note=None)]
    site: Annotated[str, fields.Text("site of the rack", default="", note=None)]
    rack: Annotated[str, fields.Text("rack", note=None)]
    unit: Annotated[int, fields.Whole("rack unit", default=1, note=None)]
    kind: Annotated[PanelKind, fields.Choice("`ocs` is a circuit switch", words=PANEL_KINDS, note=None)]
    ports: Annotated[tuple[PanelPort, ...], fields.Entries("ports, in the order of use", of_kind=PanelPort, note=None)]
    field: Annotated[
        str, fields.OtherName("patch panels of one field can be patched to each other; default: its name", always=True)
    ] = ""
    pods: Annotated[tuple[str, ...], fields.Texts("pods whose hosts reach it; default: all", note="pod")] = ()
    spare: Annotated[int, fields.Whole("number of ports that plans leave free for repairs")] = 0
    circuit_db: Annotated[Fraction | None, fields.Decibels("loss of a circuit through the switch", name="circuit")] = (
        None
    )

    IN_FILES = {"blocked": fields.Texts("labels of blocked ports", default=())}  # noqa: RUF012  a constant

    def __post_init__(self) -> None:
        """Take its name for that of its field if no field is given."""
        if not self.field:
            object.__setattr__(self, "field", self.name)

    @classmethod
    def from_file(cls, blocked: Collection[str], **said: Any) -> Panel:
        """Return the panel that a file for people describes."""
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
    """A lane of a host: one transmitter and one receiver."""

    host: str
    port: str
    lane: int

    @property
    def socket(self) -> tuple[str, str]:
        """The host and its port."""
        return self.host, self.port


@dataclass(frozen=True, slots=True)
class Fixed:
    """Fixed cabling: a lane ends at a panel port, its transmitter at side A and its receiver at side B."""

    host: Annotated[str, fields.Text("host")]
    port: Annotated[str, fields.Text("its port")]
    lane: Annotated[int, fields.Whole("lane of the port", default=1, least=1)]
    panel: Annotated[str, fields.Text("panel")]
    panel_port: Annotated[str, fields.Text("port of the panel")]

    KEYS = "host port lane panel panel_port"

    @property
    def socket(self) -> tuple[str, str]:
        """The host and its port."""
        return self.host, self.port

    @property
    def source(self) -> Lane:
        """The lane that ends there."""
        return Lane(self.host, self.port, self.lane)

    @property
    def place(self) -> tuple[str, str]:
        """The panel and the label of its port."""
        return self.panel, self.panel_port


@dataclass(frozen=True, slots=True)
class Trunk:
    """What a port of a panel is led to: hosts plug into port ``near_port`` of ``near`` to reach it."""

    panel: Annotated[str, fields.Text("panel or switch where links are made")]
    panel_port: Annotated[str, fields.Text("its port")]
    near: Annotated[str, fields.Text("patch panel where hosts plug in")]
    near_port: Annotated[str, fields.Text("its port, which has no other use")]
    loss_db: Annotated[
        Fraction | None,
        fields.Decibels("loss of the trunk, including everything between its two ports", name="loss", always=True),
    ] = None


class Tray(NamedTuple):
    """A pathway for cables between two racks, or junctions, of a site."""

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
        """Its two ends."""
        return f"{self.a} - {self.b}"


class Losses(NamedTuple):
    """What light loses, in dB, where nothing more specific is given; None if unknown."""

    connector: Annotated[
        Fraction | None,
        fields.Decibels("loss of a panel port that states none", note="loss connector", always=True),
    ] = None
    fibre: Annotated[
        Fraction | None, fields.Decibels("loss of a kilometre of fibre", note="loss fibre", always=True)
    ] = None
    splice: Annotated[Fraction | None, fields.Decibels("loss of a splice", note="loss splice", always=True)] = None
    splices: Annotated[int, fields.Whole("number of splices in each fixed cable", always=True)] = 0


NOTHING_KNOWN = Losses()


class RackPlace(NamedTuple):
    """Where a rack stands, in plan view."""

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
    """Where a device stands."""

    site: str
    rack: str
    unit: int


def lanes_of(host: Host) -> Iterator[tuple[Port, int]]:
    """Yield all lanes of a host as port and number, in order."""
    for port in host.ports:
        for lane in range(1, port.lanes + 1):
            yield port, lane


def interface_name(port: str, lane: int, lanes: int) -> str:
    """Return what the interface of a lane is called: the name of the port, and which of its lanes if it has several."""
    return port if lanes == 1 else f"{port}/{lane}"


def split_name(port: str, lane: int, lanes: int) -> str:
    """Return what Linux calls the interface of a lane: the parts of a split port are ``PORTs0``, ``PORTs1``, ..."""
    return port if lanes == 1 else f"{port}s{lane - 1}"


class PortLabels:
    """Labels of panel ports, and how they were spelt in what was read.

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
        """Return the label that is meant: the given one, or else the only one of the same number.

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
        """What was read for what, in words; nothing if all labels were as they are."""
        if not self._taken:
            return ()
        (panel, said), label = next(iter(self._taken.items()))
        more = f", and so for {len(self._taken) - 1} more" if len(self._taken) > 1 else ""
        return (f"port '{said}' of panel '{panel}' is taken for '{label}'{more}: zeros are lost in spreadsheets",)


def is_number(text: str, most: int = 9) -> bool:
    """Return whether a text is a number of so many digits at most."""
    return text.isascii() and text.isdecimal() and len(text) <= most
