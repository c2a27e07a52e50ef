"""What a machine room has: hosts, panels, their ports and where they stand, fixed cables, trunks, trays and losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

from topodesign.base.errors import FileFormatError

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

    name: str  # unique on its host
    connector: (
        Connector  # ``LC`` (one lane), ``MPO-12`` (four lanes), ``MPO-16`` (8), ``MPO-24`` (12) or ``MPO-32`` (16)
    )
    speed: Fraction  # bits per second of each lane
    polarity: Polarity = "A"  # of its array cable, by TIA-568: ``A`` straight, ``B`` reversed, ``C`` pairs exchanged
    budget_db: Fraction | None = None  # the loss in dB that its optic stands from end to end, or None if unknown

    @property
    def lanes(self) -> int:
        """Number of lanes."""
        return LANES[self.connector]


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that can be a node: where it stands (site, rack and rack unit), its ports, and its pod if any."""

    name: str
    site: str
    rack: str
    unit: int
    ports: tuple[Port, ...]
    pod: str = ""

    @property
    def lanes(self) -> int:
        """Number of lanes of all ports."""
        return sum(port.lanes for port in self.ports)


@dataclass(frozen=True, slots=True)
class PanelPort:
    """A port of a panel."""

    label: str  # unique on its panel
    mode: Mode  # ``simplex`` if the sides A and B can be patched separately, ``duplex`` if only together
    blocked: bool = False  # broken or taken by something else: never to be used
    loss_db: Fraction | None = None  # insertion loss in dB, or None if unknown
    side: PortSide = ""  # of a switch that joins only ports of its side 1 to ports of its side 2; else empty


@dataclass(frozen=True, slots=True)
class Panel:
    """A patch panel or an optical circuit switch."""

    name: str
    site: str
    rack: str
    unit: int
    kind: PanelKind  # ``patch panel`` or ``ocs``
    ports: tuple[PanelPort, ...]  # in the order in which they are to be used
    field: str  # panels of one field can be patched to each other; its name if nothing is said
    pods: tuple[str, ...] = ()  # those whose hosts reach it; all hosts do if none is named
    spare: int = 0  # ports that a plan leaves free, for repairs
    circuit_db: Fraction | None = None  # loss in dB of a circuit through a switch, or None if unknown


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

    host: str  # host
    port: str  # its port
    lane: int  # lane of the port
    panel: str  # panel
    panel_port: str  # port of the panel

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

    panel: str  # where links are switched or patched
    panel_port: str
    near: str  # a patch panel
    near_port: str  # which joins nothing else
    loss_db: Fraction | None = None  # of the trunk in dB with all that is between the two ports, or None if unknown


class Tray(NamedTuple):
    """A pathway for cables between two racks, or junctions, of a site."""

    site: str
    a: str
    b: str
    length: Fraction  # in metres, as width and depth are
    width: Fraction
    depth: Fraction
    fill: Fraction = Fraction(2, 5)  # the share of its cross-section that cables may take

    @property
    def name(self) -> str:
        """Its two ends."""
        return f"{self.a} - {self.b}"


class Losses(NamedTuple):
    """What light loses, in dB, where nothing closer is said; None if unknown."""

    connector: Fraction | None = None  # a mated pair of connectors, as at a panel port without a loss of its own
    fibre: Fraction | None = None  # a kilometre of fibre
    splice: Fraction | None = None  # a splice
    splices: int = 0  # how many there are in a fixed cable


NOTHING_KNOWN = Losses()


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
        """Return the label that is meant: the one that is said, or else the only one of the same number.

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
