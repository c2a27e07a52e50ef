"""Generated inventories: identical hosts and panels with enough ports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, cycle, islice

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.base.wording import count_noun
from topodesign.wiring.inventory import devices
from topodesign.wiring.inventory.inventory import FIXED, CableType, Inventory

SITE = "lab"
PER_RACK = 16
SLACK = Fraction(2)
_MAX = 2**17
_WIDTH = Fraction(3, 5)  # metres from a rack to the next
_PANEL_UNIT = 40


def plain_inventory(
    hosts: int,
    lanes: int,
    *,
    panels: int = 1,
    kind: devices.PanelKind = "patch panel",
    mode: devices.Mode = "simplex",
    speed: Quantity = "25Gbps",
) -> Inventory:
    """Return an inventory of identical hosts and panels in one rack.

    Hosts are named ``h0``, ``h1``, ...; panels are named ``P0``, ``P1``, ... Each panel has a port for every lane.

    Parameters
    ----------
    hosts
        How many.
    lanes
        Ports of each host, named ``eth0``, ``eth1``, ..., each one lane.
    panels
        How many.
    kind, mode
        Of the panels and of their ports.
    speed
        Of a lane: text such as ``25Gbps``, or bits per second.

    Raises
    ------
    ParameterError, UnitError
        If there are no hosts, lanes or panels, or the speed is none.

    Examples
    --------
    >>> plain_inventory(12, 4)
    Inventory('plain', 12 hosts with 48 lanes, 1 panel with 48 ports)
    """
    hosts, lanes, panels = (
        as_integer(name, value, 1, _MAX) for name, value in (("hosts", hosts), ("lanes", lanes), ("panels", panels))
    )
    kind, mode = as_choice("kind", kind, devices.PANEL_KINDS), as_choice("mode", mode, devices.MODES)
    ports = tuple(devices.Port(f"eth{number}", "LC", as_bandwidth(speed)) for number in range(lanes))
    labels = tuple(devices.PanelPort(str(number), mode) for number in range(1, hosts * lanes + 1))
    return Inventory(
        tuple(devices.Host(f"h{number}", "", "r0", number + 1, ports) for number in range(hosts)),
        tuple(devices.Panel(f"P{number}", "", "r0", 0, kind, labels, f"P{number}") for number in range(panels)),
        name="plain",
    )


def init_wiring(
    hosts: int | Sequence[devices.Host],
    *,
    ports: int = 1,
    connector: devices.Connector = "MPO-12",
    speed: Quantity = "100Gbps",
    panels: int = 1,
    panel_ports: int | None = None,
    kind: devices.PanelKind = "patch panel",
    mode: devices.Mode = "simplex",
    name: str = "my room",
) -> Inventory:
    """Return a starting inventory of hosts and panels.

    Parameters
    ----------
    hosts
        How many, named ``host01`` and so on; or hosts that are there, to which panels are put.
    ports
        Of each host, named ``eth0`` and so on.
    connector
        Of the hosts' ports: ``LC`` is one lane, ``MPO-12`` four.
    speed
        Of a port, over all lanes: text such as ``100Gbps``, or bits per second.
    panels, panel_ports
        How many, and their ports; enough for all lanes if unsaid.
    kind
        ``patch panel`` or ``ocs``.
    mode
        Of the panels' ports, ``simplex`` or ``duplex``.
    name
        Of the inventory.

    Raises
    ------
    ParameterError, UnitError
        If a number is out of range, or the panels lack ports for all lanes.

    Examples
    --------
    >>> init_wiring(12)
    Inventory('my room', 12 hosts with 48 lanes, 1 panel with 48 ports)
    """
    panels = as_integer("panels", panels, 1, _MAX)
    kind, mode = as_choice("kind", kind, devices.PANEL_KINDS), as_choice("mode", mode, devices.MODES)
    if isinstance(hosts, list | tuple) and hosts and all(isinstance(host, devices.Host) for host in hosts):
        machines = tuple(hosts)
    else:
        machines = _machines(hosts, ports, as_choice("connector", connector, devices.LANES), speed)
    lanes = sum(1 for host in machines for _ in devices.lanes_of(host))
    size = -(-lanes // panels) if panel_ports is None else as_integer("panel_ports", panel_ports, 1, _MAX)
    if size * panels < lanes:
        raise ParameterError(f"{panels} panels of {size} ports have no room for {lanes} lanes")
    as_integer("ports of all panels", size * panels, 1, _MAX)
    labels = tuple(devices.PanelPort(str(number), mode) for number in range(1, size + 1))
    racks = dict.fromkeys(host.rack for host in machines)
    rack = "panels" if "panels" not in racks else "panels2"
    site = machines[0].site
    places = {one: (number * _WIDTH, Fraction(0)) for number, one in enumerate([*racks, rack])}
    word = "ocs" if kind == "ocs" else "panel"
    boards = tuple(
        devices.Panel(
            one, site, rack, _PANEL_UNIT - number % _PANEL_UNIT, kind, labels, one if kind == "ocs" else "panels"
        )
        for number, one in enumerate(_names(word, panels))
    )
    if panels == 1:
        boards = (replace(boards[0], name=word, field=word),)
    return Inventory(machines, boards, racks={site: places}, slack=SLACK, name=name)


@dataclass(frozen=True)
class LargerRoom:
    """Room extended by hosts and the panels that they need.

    * ``before``, ``inventory``: the room, and the larger one. New hosts are like the last of the old, new panels like
      the largest of their field, in racks of their own, whose places are unknown. Circuit switches get more ports.
    * ``cables``: fixed cables of the new hosts, by type.
    """

    before: Inventory
    inventory: Inventory
    cables: Mapping[CableType, int]

    def __str__(self) -> str:
        old, new = self.before, self.inventory
        hosts, panels = new.hosts[len(old.hosts) :], new.panels[len(old.panels) :]
        ports = sum(len(panel.ports) for panel in panels)
        words = [f"{count_noun(len(hosts), 'host')} like {old.hosts[-1].name}"]
        words += [f"{count_noun(len(panels), 'panel')} with {ports} ports"] if panels else []
        for before, after in zip(old.panels, new.panels, strict=False):
            more = len(after.ports) - len(before.ports)
            words += [f"{count_noun(more, 'more port')} at {after.name}"] if more else []
        free = "" if len(words) > 1 else "; the panels have enough ports"
        words += [f"{number} {kind} as fixed cables" for kind, number in self.cables.items()]
        return f"the room has {len(old.hosts)} hosts; for {len(new.hosts)} it needs {', '.join(words)}{free}"


def extend_room(inventory: Inventory, hosts: int, lanes: int) -> LargerRoom:
    """Return a room with more hosts, each like the last one.

    The larger room has ``hosts`` hosts, each of which uses ``lanes`` lanes.
    """
    last, old = inventory.hosts[-1], len(inventory.hosts)
    if hosts <= old:
        return LargerRoom(inventory, inventory, {})
    taken = {*inventory.host, *inventory.panel}
    names = islice((name for name in _names_after(last.name) if name not in taken), hosts - old)
    racks = [f"new{number // PER_RACK + 1}" for number in range(hosts - old)]
    units = [2 + 2 * (number % PER_RACK) for number in range(hosts - old)]
    more = [
        replace(last, name=name, rack=rack, unit=unit) for name, rack, unit in zip(names, racks, units, strict=True)
    ]
    taken |= {host.name for host in more}
    panels = {panel.name: panel for panel in inventory.panels}
    for field, lacking in _lacking_ports(inventory, hosts, min(lanes, last.lanes)).items():
        model = max(inventory.fields[field], key=lambda panel: len(panel.ports))
        if model.kind == "ocs":
            panels[model.name] = replace(model, ports=(*model.ports, *_more_ports(model, lacking)))
            continue
        each = max(sum(not port.blocked for port in model.ports) - model.spare, 1)
        further = (name for name in _names_after(model.name) if name not in taken)
        for name in islice(further, -(-lacking // each)):
            panels[name] = replace(model, name=name, rack="new", unit=_PANEL_UNIT)
            taken.add(name)
    ports = _ports_for(last, lanes)
    cables = {FIXED[kind]: len(more) * number for kind, number in Counter(port.connector for port in ports).items()}
    larger = replace(inventory, hosts=(*inventory.hosts, *more), panels=tuple(panels.values()))
    return LargerRoom(inventory, larger, cables)


def _lacking_ports(inventory: Inventory, hosts: int, lanes: int) -> dict[str, int]:
    """Return the number of missing panel ports by field."""
    usable = Counter({name: -sum(panel.spare for panel in panels) for name, panels in inventory.fields.items()})
    for zone, ports in inventory.zones.items():
        usable[zone.field] += len(ports)
    share = {field: Fraction(max(number, 0) * lanes, max(sum(usable.values()), 1)) for field, number in usable.items()}
    split = {field: int(part) for field, part in share.items()}
    largest = sorted(share, key=lambda field: split[field] - share[field])
    for field in largest[: lanes - sum(split.values())]:
        split[field] += 1
    lacking = {field: hosts * split[field] - usable[field] for field in split}
    return {field: number for field, number in lacking.items() if number > 0}


def _more_ports(panel: devices.Panel, number: int) -> Iterator[devices.PanelPort]:
    """Yield copies of a panel's ports with new labels."""
    taken = {port.label for port in panel.ports}
    labels = (label for label in _names_after(panel.ports[-1].label) if label not in taken)
    for label, port in zip(islice(labels, number), cycle(panel.ports)):
        yield replace(port, label=label, blocked=False)


def _ports_for(host: devices.Host, lanes: int) -> list[devices.Port]:
    """Return the first ports of a host that provide enough lanes."""
    found: list[devices.Port] = []
    for port in host.ports:
        if sum(one.lanes for one in found) < lanes:
            found.append(port)
    return found


def _names_after(name: str) -> Iterator[str]:
    """Yield names with increasing numbers that follow a name."""
    digits = name[len(name.rstrip("0123456789")) :]
    head = name.removesuffix(digits) if digits else f"{name}-"
    for number in count(int(digits or 0) + 1):
        yield f"{head}{number:0{len(digits)}}"


def _machines(hosts: object, ports: int, connector: devices.Connector, speed: Quantity) -> tuple[devices.Host, ...]:
    number, ports = as_integer("hosts", hosts, 1, _MAX), as_integer("ports", ports, 1, _MAX)
    as_integer("lanes of all hosts", number * ports * devices.LANES[connector], 1, _MAX)
    rate = as_bandwidth(speed) / devices.LANES[connector]
    these = tuple(devices.Port(f"eth{number}", connector, rate) for number in range(ports))
    racks = _names("r", -(-number // PER_RACK))
    return tuple(
        devices.Host(name, SITE, racks[place // PER_RACK], 2 + 2 * (place % PER_RACK), these)
        for place, name in enumerate(_names("host", number))
    )


def _names(word: str, count: int) -> list[str]:
    width = max(2, len(str(count))) if word == "host" else len(str(count))
    return [f"{word}{number:0{width}}" for number in range(1, count + 1)]
