"""Inventory of hosts, ports, panels, cables, positions and distances.

A *lane* is one transmitter and one receiver: a port with an LC connector is one lane, an MPO-12 port four (the breakout
of 100 Gbps into four times 25 Gbps), an MPO-16 port eight. Lanes are numbered from 1. A *panel* joins its ports to
each other, by patch cords or as a circuit switch (``ocs``). A panel port takes the two fibres of a lane: the
transmitter's on side A, the receiver's on side B. At a ``simplex`` port the two sides are patched separately, at a
``duplex`` port only together. A *pod* is a part of the room that some panels are for; a *trunk* leads a port of a panel
to another panel, where hosts plug in: so a switch is reached through panels in the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from typing import Annotated, Literal, get_args

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.wiring.inventory import devices
from topodesign.wiring.inventory.fields import Entries, Inner, Metres, PathText, Racks, Stock, Text

CableType = Literal[
    "LC simplex", "LC duplex", "MPO-12 breakout", "MPO-16 breakout", "MPO-24 breakout", "MPO-32 breakout"
]

CABLE_TYPES: tuple[CableType, ...] = get_args(CableType)

_SLACK = "Added to the length of every cable, for the ways up and down."
_STOCK = "Lengths that cables can be had in; of a type that is not here, all whole metres."
_RACKS = "Where racks stand, in plan view. Without it, plans tell no lengths between racks."
_HOSTS = """\
Hosts that can be nodes. connector: LC is a port of one lane, MPO-12 one that is broken out into four (MPO-16 eight,
MPO-24 twelve, MPO-32 sixteen); the speed is that of the whole port. site, rack and unit are for labels, work sheets
and lengths."""
_PANELS = """\
kind: patch panel, or ocs for an optical circuit switch. mode: the two fibres of a simplex port are patched each by
itself, which wires any topology; a duplex port takes one cord for both, for topologies whose links go both ways. More
fields: loss of a port (0.5dB), blocked: [17] for ports that must not be used, and one field for panels that are
patched to each other."""
_TRUNKS = "Ports of a panel or switch that hosts reach at another panel, near them."
_LOSSES = "Light lost at a connector, in a kilometre of fibre, at a splice; splices of a cable. For the loss budget."
_TRAYS = "Pathways that cables between racks take, the shortest way. Cables may take the share fill of a cross-section."
_PARTS = "What cables are bought from."
_CABLING = "Fixed cabling that exists, lane by lane; plans keep it. Without this part, plans choose it."


class InventoryError(ParameterError):
    """Contradiction in an inventory, with the field at fault.

    ``part``: ``hosts``, ``panels``, ``trunks``, ``trays`` or ``cabling``. ``row``: position in that part. ``name``:
    the field at fault. ``message``: what is wrong. ``port``: the port at fault, if it is one of a host or a panel.
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
    """Inventory of all resources for plans.

    Attributes
    ----------
    hosts
        At least one, with different names. Lanes may have different speeds, but those of a plan have one, since a link
        between two speeds stays dark.
    panels
        At least one, with names that differ from each other and from the hosts'.
    cabling
        The fixed cabling that exists. It is kept; other lanes are cabled where hosts have too few.
    stock
        Lengths in metres that cables can be had in, above zero, by the type of cable; whole metres for other types.
    racks
        Coordinates (x, y) in metres, by site and rack; may be empty or lack some.
    slack
        Metres added to the length of every cable; not below zero.
    name
        What the inventory is called.
    trunks
        Panel ports that are reached at other panels.
    losses
        What light loses.
    trays
        Pathways: in a site that has some, cables between racks run there, the shortest way.
    parts
        The path of a list of parts that cables are bought from; empty if none is named.
    notes
        What was omitted where it was read, in words.

    Raises
    ------
    InventoryError
        If it contradicts itself.
    ParameterError
        If ``stock`` or ``slack`` is out of range.
    """

    hosts: Annotated[
        tuple[devices.Host, ...], Entries("machines with ports", of_kind=devices.Host, comment=_HOSTS, note=None)
    ]
    panels: Annotated[
        tuple[devices.Panel, ...],
        Entries("patch panels and circuit switches", of_kind=devices.Panel, comment=_PANELS, note=None),
    ]
    cabling: Annotated[
        tuple[devices.Fixed, ...],
        Entries(
            "fixed cabling that exists, lane by lane", of_kind=devices.Fixed, comment=_CABLING, note=None, always=True
        ),
    ] = ()
    stock: Annotated[
        Mapping[str, tuple[Fraction, ...]],
        Stock(
            "lengths that are sold, for each type of cable; default: whole metres",
            types=CABLE_TYPES,
            comment=_STOCK,
            always=True,
        ),
    ] = field(default_factory=dict)
    racks: Annotated[
        Mapping[str, Mapping[str, tuple[Fraction, Fraction]]],
        Racks("where racks stand", of_kind=devices.RackPlace, comment=_RACKS, note=None, always=True),
    ] = field(default_factory=dict)
    slack: Annotated[Fraction, Metres("added to the length of every cable", comment=_SLACK, always=True)] = Fraction(0)
    name: Annotated[str, Text("name of the room", note="inventory", always=True)] = ""
    trunks: Annotated[
        tuple[devices.Trunk, ...],
        Entries("ports that hosts reach at other panels", of_kind=devices.Trunk, comment=_TRUNKS, note=None),
    ] = ()
    losses: Annotated[
        devices.Losses, Inner("losses of light, for the loss budget", of_kind=devices.Losses, comment=_LOSSES)
    ] = devices.NOTHING_KNOWN
    trays: Annotated[
        tuple[devices.Tray, ...],
        Entries("pathways for cables between racks", of_kind=devices.Tray, comment=_TRAYS, note="tray"),
    ] = ()
    parts: Annotated[str, PathText("list of parts that cables are bought from", comment=_PARTS, note=None)] = ""
    notes: tuple[str, ...] = field(default=(), compare=False)

    IN_FILES = {"port_table": PathText("port table (CSV) with more hosts, panels and cabling", default="")}  # noqa: RUF012

    def __post_init__(self) -> None:
        """Copy mutable arguments and check the inventory."""
        for name in ("hosts", "panels", "cabling", "trunks", "trays"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "stock", {kind: tuple(lengths) for kind, lengths in self.stock.items()})
        object.__setattr__(self, "racks", {site: dict(places) for site, places in self.racks.items()})
        for problem in _problems(self):
            raise problem
        for kind, lengths in self.stock.items():
            if not lengths or min(lengths) <= 0:
                raise ParameterError(f"stock of '{kind}': expected at least one length, all of them above zero")
        if self.slack < 0:
            raise ParameterError("the slack of cables cannot be below zero")

    def __repr__(self) -> str:
        return f"Inventory({self.name!r}, {self.heading()})"

    def heading(self) -> str:
        """Return the numbers of hosts, lanes, panels and ports."""
        lanes, ports = sum(host.lanes for host in self.hosts), len(self.panel_port)
        panels = f"{len(self.panels)} panel{'' if len(self.panels) == 1 else 's'}"
        return f"{len(self.hosts)} hosts with {lanes} lanes, {panels} with {ports} ports"

    @cached_property
    def host(self) -> dict[str, devices.Host]:
        """Hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def port(self) -> dict[tuple[str, str], devices.Port]:
        """Ports of hosts, by host and port name."""
        return {(host.name, port.name): port for host in self.hosts for port in host.ports}

    @cached_property
    def interfaces(self) -> dict[tuple[str, str], devices.Lane]:
        """Lanes by host and interface name."""
        return {
            (host.name, devices.interface_name(port.name, lane, port.lanes)): devices.Lane(host.name, port.name, lane)
            for host in self.hosts
            for port, lane in devices.lanes_of(host)
        }

    @cached_property
    def panel(self) -> dict[str, devices.Panel]:
        """Panels by name."""
        return {panel.name: panel for panel in self.panels}

    @cached_property
    def switches(self) -> dict[str, devices.Panel]:
        """Circuit switches by name."""
        return {panel.name: panel for panel in self.panels if panel.kind == "ocs"}

    @cached_property
    def panel_port(self) -> dict[tuple[str, str], devices.PanelPort]:
        """Panel ports by panel name and label."""
        return {(panel.name, port.label): port for panel in self.panels for port in panel.ports}

    @cached_property
    def fields(self) -> dict[str, tuple[devices.Panel, ...]]:
        """Panels by field, in inventory order."""
        fields: dict[str, tuple[devices.Panel, ...]] = {}
        for panel in self.panels:
            fields[panel.field] = (*fields.get(panel.field, ()), panel)
        return fields

    @cached_property
    def trunk_at(self) -> dict[tuple[str, str], devices.Trunk]:
        """Trunks by the panel port that they lead to."""
        return {(one.panel, one.panel_port): one for one in self.trunks}

    @cached_property
    def leads_to(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Panel ports behind trunks, by the port where hosts plug in."""
        return {(one.near, one.near_port): (one.panel, one.panel_port) for one in self.trunks}

    @cached_property
    def zones(self) -> dict[devices.Zone, tuple[tuple[str, str], ...]]:
        """Usable panel ports by zone, in inventory order."""
        ports = [key for key in self.panel_port if self.is_open(key)]
        reach: dict[str, set[tuple[str, ...]]] = {}
        for key in ports:
            reach.setdefault(key[0], set()).add(self.pods_of(*key))
        zones: dict[devices.Zone, list[tuple[str, str]]] = {}
        for key in ports:
            panel = self.panel[key[0]]
            alone = panel.name if panel.spare and len(reach[panel.name]) > 1 else ""
            side = self.panel_port[key].side
            zones.setdefault(devices.Zone(panel.field, self.pods_of(*key), alone, side), []).append(key)
        return {zone: tuple(some) for zone, some in zones.items()}

    @property
    def one_way(self) -> bool:
        """Whether any panel port can be patched fibre by fibre."""
        return any(port.mode == "simplex" and not port.blocked for port in self.panel_port.values())

    @cached_property
    def two_sided(self) -> bool:
        """Whether switches connect only ports of opposite sides."""
        return any(port.side for port in self.panel_port.values())

    @cached_property
    def speeds(self) -> tuple[Fraction, ...]:
        """Lane speeds in bits per second, fastest first."""
        few = {id(port.speed): port.speed for host in self.hosts for port in host.ports}  # mostly one object
        return tuple(sorted(set(few.values()), reverse=True))

    @cached_property
    def tray_sites(self) -> frozenset[str]:
        """Sites where cables run in trays."""
        return frozenset(tray.site for tray in self.trays)

    @cached_property
    def tray_ways(self) -> dict[tuple[str, str], dict[str, tuple[Fraction, tuple[int, ...]]]]:
        """Cache of tray routes, by site and rack."""
        return {}

    def find_plugged(self, panel: str, port: str) -> tuple[str, str]:
        """Return the host-side panel and port of a panel port.

        A cable from a host ends there: at the near end of the port's trunk, if it has one.
        """
        trunk = self.trunk_at.get((panel, port))
        return (panel, port) if trunk is None else (trunk.near, trunk.near_port)

    def pods_of(self, panel: str, port: str) -> tuple[str, ...]:
        """Return the pods that reach a panel port; empty if all do."""
        return self.panel[self.near_panel((panel, port))].pods

    def near_panel(self, place: tuple[str, str]) -> str:
        """Return the panel where hosts plug in to reach a port."""
        return self.find_plugged(*place)[0]

    def is_open(self, place: tuple[str, str]) -> bool:
        """Return whether a lane can end at a panel port.

        The port must not lead to another port; neither it nor the port where hosts plug in may be blocked.
        """
        blocked = self.panel_port[place].blocked or self.panel_port[self.find_plugged(*place)].blocked
        return not blocked and place not in self.leads_to

    def at_speed(self, speed: Fraction) -> Inventory:
        """Return the inventory with only ports and cabling of a speed."""
        hosts = [replace(host, ports=tuple(port for port in host.ports if port.speed == speed)) for host in self.hosts]
        there = {(host.name, port.name) for host in hosts for port in host.ports}
        cabling = tuple(one for one in self.cabling if one.socket in there)
        return replace(self, hosts=tuple(hosts), cabling=cabling)

    @cached_property
    def _places(self) -> dict[str, devices.Place]:
        stands: list[devices.Panel | devices.Host] = [*self.panels, *self.hosts]
        return {one.name: devices.Place(one.site, one.rack, one.unit) for one in stands}

    def place(self, device: str) -> devices.Place:
        """Return the position of a host or a panel."""
        return self._places[device]

    @cached_property
    def lengths(self) -> dict[tuple[object, ...], Fraction | None]:
        """Cache of cable lengths, by the positions of their ends."""
        return {}


def _problems(inventory: Inventory) -> Iterator[InventoryError]:
    yield from _host_problems(inventory)
    yield from _panel_problems(inventory)
    yield from _trunk_problems(inventory)
    yield from _cabling_problems(inventory)
    for row, tray in enumerate(inventory.trays):
        if tray.a == tray.b:
            yield InventoryError("trays", row, "to", f"both ends are at '{tray.a}'")
        elif min(tray.length, tray.width, tray.depth) <= 0 or not 0 < tray.fill <= 1:
            yield InventoryError("trays", row, "length", "lengths are above zero, and a fill is from 0% to 100%")


def _host_problems(inventory: Inventory) -> Iterator[InventoryError]:
    if not inventory.hosts:
        yield InventoryError("hosts", 0, "name", "there are no hosts")
    seen: set[str] = set()
    for row, host in enumerate(inventory.hosts):
        if host.name in seen:
            yield InventoryError("hosts", row, "name", f"there are two hosts '{host.name}'")
        seen.add(host.name)
        twice = _find_repeated(port.name for port in host.ports)
        if twice is not None:
            yield InventoryError("hosts", row, "ports.name", f"host '{host.name}' has two ports '{twice}'", twice)


def _panel_problems(inventory: Inventory) -> Iterator[InventoryError]:
    if not inventory.panels:
        yield InventoryError("panels", 0, "name", "there are no panels")
    seen = {host.name for host in inventory.hosts}
    for row, panel in enumerate(inventory.panels):
        if panel.name in seen:
            yield InventoryError("panels", row, "name", f"there are two devices '{panel.name}'")
        seen.add(panel.name)
        twice = _find_repeated(port.label for port in panel.ports)
        if twice is not None:
            words = f"panel '{panel.name}' has two ports labelled '{twice}'"
            yield InventoryError("panels", row, "ports.label", words, twice)
        if panel.field != panel.name and (panel.kind == "ocs" or panel.field in inventory.switches):
            yield InventoryError("panels", row, "field", "a circuit switch is a field of its own")
        yield from _side_problems(inventory, row, panel)
        if not 0 <= panel.spare <= len(panel.ports):
            words = f"panel '{panel.name}' has {len(panel.ports)} ports, of which {panel.spare} cannot stay free"
            yield InventoryError("panels", row, "spare", words)


def _side_problems(inventory: Inventory, row: int, panel: devices.Panel) -> Iterator[InventoryError]:
    """Yield errors about missing or invalid port sides."""
    led = {(one.near, one.near_port) for one in inventory.trunks} if inventory.two_sided else set()
    for port in panel.ports if inventory.two_sided else ():
        words = ""
        if port.side and (panel.kind != "ocs" or port.mode != "duplex"):
            words = f"port '{port.label}' of '{panel.name}' has a side; only duplex ports of circuit switches have one"
        elif not (port.side or port.blocked or (panel.name, port.label) in led):
            words = f"port '{port.label}' of '{panel.name}' needs a side, as ports of other switches have one"
        if words:
            yield InventoryError("panels", row, "ports.side", words, port.label)


def _trunk_problems(inventory: Inventory) -> Iterator[InventoryError]:
    used: set[tuple[str, str]] = set()
    for row, trunk in enumerate(inventory.trunks):
        ends = {"panel": (trunk.panel, trunk.panel_port), "near": (trunk.near, trunk.near_port)}
        for name, end in ends.items():
            if end[0] not in inventory.panel:
                yield InventoryError("trunks", row, name, f"there is no panel '{end[0]}'")
            elif end not in inventory.panel_port:
                yield InventoryError("trunks", row, f"{name}_port", f"panel '{end[0]}' has no port '{end[1]}'")
            elif end in used:
                yield InventoryError("trunks", row, f"{name}_port", f"port '{end[1]}' of '{end[0]}' has two trunks")
            used.add(end)
        if trunk.near in inventory.switches:
            words = f"hosts plug into patch panels; '{trunk.near}' is a circuit switch"
            yield InventoryError("trunks", row, "near", words)
        if trunk.near in inventory.panel and trunk.panel == trunk.near:
            yield InventoryError("trunks", row, "near", f"both ends are at panel '{trunk.panel}'")


def _cabling_problems(inventory: Inventory) -> Iterator[InventoryError]:
    lanes = {(host.name, port.name, lane) for host in inventory.hosts for port, lane in devices.lanes_of(host)}
    used: set[tuple[str, str] | devices.Lane] = set()
    for row, fixed in enumerate(inventory.cabling):
        lane, end = fixed.source, fixed.place
        if fixed.host not in inventory.host:
            yield InventoryError("cabling", row, "host", f"there is no host '{fixed.host}'")
        elif fixed.socket not in inventory.port:
            yield InventoryError("cabling", row, "port", f"host '{fixed.host}' has no port '{fixed.port}'")
        elif lane not in lanes:
            yield InventoryError("cabling", row, "lane", f"port '{fixed.port}' has no lane {fixed.lane}")
        elif fixed.panel not in inventory.panel:
            yield InventoryError("cabling", row, "panel", f"there is no panel '{fixed.panel}'")
        elif end not in inventory.panel_port:
            words = f"panel '{fixed.panel}' has no port '{fixed.panel_port}'"
            yield InventoryError("cabling", row, "panel_port", words)
        elif end in inventory.leads_to:
            panel, port = inventory.leads_to[end]
            words = f"port '{fixed.panel_port}' of '{fixed.panel}' leads to port '{port}' of '{panel}'; name that one"
            yield InventoryError("cabling", row, "panel_port", words)
        elif inventory.pods_of(*end) and inventory.host[fixed.host].pod not in inventory.pods_of(*end):
            pods, pod = ", ".join(inventory.pods_of(*end)), inventory.host[fixed.host].pod
            words = f"pod '{pod}' does not reach port '{fixed.panel_port}' of '{fixed.panel}'; pods {pods} do"
            yield InventoryError("cabling", row, "panel", words)
        elif not inventory.is_open(end):
            yield InventoryError("cabling", row, "panel_port", f"port '{fixed.panel_port}' is blocked")
        elif lane in used:
            words = f"lane {fixed.lane} of '{fixed.host}', '{fixed.port}' is cabled twice"
            yield InventoryError("cabling", row, "lane", words)
        elif end in used:
            words = f"port '{fixed.panel_port}' of '{fixed.panel}' takes two lanes"
            yield InventoryError("cabling", row, "panel_port", words)
        used |= {lane, end}


def _find_repeated(names: Iterator[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def tray_way(inventory: Inventory, site: str, a: str, b: str) -> tuple[Fraction, tuple[int, ...]] | None:
    """Return the length (m) and trays of the shortest tray route.

    Trays are positions in the inventory. The result is None if no route exists.
    """
    return ways_from(inventory, site, a).get(b)


def ways_from(inventory: Inventory, site: str, rack: str) -> dict[str, tuple[Fraction, tuple[int, ...]]]:
    """Return the shortest tray routes from a rack (Dijkstra).

    Keys are racks and junctions. The first of equally short routes is returned.
    """
    if (site, rack) in inventory.tray_ways:
        return inventory.tray_ways[site, rack]
    near: dict[str, list[tuple[str, int]]] = {}
    for number, tray in enumerate(inventory.trays):
        if tray.site == site:
            near.setdefault(tray.a, []).append((tray.b, number))
            near.setdefault(tray.b, []).append((tray.a, number))
    found: dict[str, tuple[Fraction, tuple[int, ...]]] = {}
    heap: list[tuple[Fraction, tuple[int, ...], str]] = [(Fraction(0), (), rack)]
    while heap:
        metres, way, here = heappop(heap)
        if here in found:
            continue
        found[here] = metres, way
        for there, number in near.get(here, ()):
            if there not in found:
                heappush(heap, (metres + inventory.trays[number].length, (*way, number), there))
    inventory.tray_ways[site, rack] = found
    return found


UNIT = Fraction(4445, 100000)  # height of a rack unit in metres (IEC 60297: 44.45 mm)

FIXED: dict[devices.Connector, CableType] = {
    "LC": "LC duplex",
    "MPO-12": "MPO-12 breakout",
    "MPO-16": "MPO-16 breakout",
    "MPO-24": "MPO-24 breakout",
    "MPO-32": "MPO-32 breakout",
}
"""The type of a fixed cable by the connector of the host's port; at the panel it ends in LC connectors."""

PATCH: dict[devices.Mode, CableType] = {
    "simplex": "LC simplex",
    "duplex": "LC duplex",
}  # the type of a patch cord by its mode


def distance(inventory: Inventory, a: str, b: str) -> Fraction | None:
    """Return the cable run between devices in metres; None if unknown.

    Slack is not included.

    Between racks it runs along the trays of the inventory, or without these at right angles, ``|dx| + |dy|``; the slack
    has to do for the ways up and down. Within a rack it runs from unit to unit.
    """
    return run(inventory, inventory.place(a), inventory.place(b))


def run(inventory: Inventory, here: devices.Place, there: devices.Place) -> Fraction | None:
    """Return the cable run of :func:`distance` between two positions."""
    if here.site != there.site:
        return None
    if here.rack == there.rack:
        return abs(here.unit - there.unit) * UNIT
    if here.site in inventory.tray_sites:
        found = tray_way(inventory, here.site, here.rack, there.rack)
        return None if found is None else found[0]
    racks = inventory.racks.get(here.site, {})
    if here.rack not in racks or there.rack not in racks:
        return None
    (x1, y1), (x2, y2) = racks[here.rack], racks[there.rack]
    return abs(x1 - x2) + abs(y1 - y2)


def length(inventory: Inventory, a: str, b: str, kind: CableType) -> Fraction | None:
    """Return the shortest suitable cable length (m); None if unknown.

    Types that the stock does not list can be had in all whole metres from 1 on.
    """
    here, there = inventory.place(a), inventory.place(b)
    racks = here[:2], there[:2]  # between racks units do not matter
    key = kind, *racks, abs(here.unit - there.unit) if racks[0] == racks[1] else None
    if key in inventory.lengths:
        return inventory.lengths[key]
    metres = run(inventory, here, there)
    needed = None if metres is None else metres + inventory.slack
    found = None
    if needed is not None and kind not in inventory.stock:
        found = max(Fraction(1), Fraction(-(-needed // 1)))
    elif needed is not None:
        found = min((metres for metres in inventory.stock[kind] if metres >= needed), default=None)
        if found is None:
            longest = max(inventory.stock[kind])
            words = f"needs {format_metres(needed)} m; the longest there is has {format_metres(longest)} m"
            raise InfeasibleError(f"a cable of type '{kind}' from {a} to {b} {words}")
    inventory.lengths[key] = found
    return found


def racks_without_place(inventory: Inventory) -> list[str]:
    """Return racks without coordinates, if several racks exist."""
    racks = dict.fromkeys(inventory.place(name)[:2] for name in (*inventory.host, *inventory.panel))
    lacking = [rack for site, rack in racks if rack not in inventory.racks.get(site, {})]
    return lacking if len(racks) > 1 else []


def format_metres(length: Fraction | None) -> str:
    """Return metres rounded up to two decimals; empty if unknown."""
    if length is None:
        return ""
    whole, hundredths = divmod(-(-length * 100 // 1), 100)
    return f"{whole}.{hundredths:02}".rstrip("0").rstrip(".")
