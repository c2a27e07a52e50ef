"""Partial net of NetBox cables, also through panels that others modelled.

A cable path runs from an interface over cables and through panels: what goes into a front port comes out of the rear
ports and positions behind it, and the other way round. A front port with all behind it is one *port* of a panel here,
whatever its rear port is: a cassette of four or twelve fronts behind one plug, a pair of positions, or one position.

Lanes of a plug take its positions in order; if the positions are its fibres in pairs of both ends (1 and 12, 2 and 11),
by these. A path that ends at a free port can be patched there, and what lies before is fixed. Of a path from interface
to interface, the cable between two front ports is the patch. Panels passed between the first and the last of the fixed
part are not in an inventory; they and all omitted cables are named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from topodesign.wiring.inventory.devices import LANES, MODES, Lane, PortLabels
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.model import FRONT, INTERFACE, REAR, CableEnd, FrontPort, NetboxCable
from topodesign.wiring.plan.cross_connects import Fibre
from topodesign.wiring.plan.net import CONNECTED, Face, PanelEnd, PartialNet, Strands

Unit = PanelEnd  # a panel and its port, named as the front port
_SIDES = 2  # positions of a rear port whose two fronts are the two fibres of a lane


@dataclass
class EndNames:
    """Lanes and panel ports by the names of cable ends.

    Attributes
    ----------
    lanes
        Lanes of an interface.
    fronts, rears
        The panel port that a front or rear port is part of, of a front port with its fibres.
    leading
        Panel ports with a trunk at the front.
    labels
        Spellings of the names.
    """

    lanes: Mapping[CableEnd, Sequence[Lane]]
    fronts: Mapping[PanelEnd, Fibre]
    rears: Mapping[PanelEnd, PanelEnd]
    leading: Collection[PanelEnd]
    labels: PortLabels = field(default_factory=lambda: PortLabels(()))

    def add(self, net: PartialNet, cable: NetboxCable, status: str) -> None:
        """Add a cable to a net; if no wire is made of it, its ports are open."""
        a, b = (tuple(end._replace(name=self.labels.read(*end[::2])) for end in ends) for ends in (cable.a, cable.b))
        for near, far in ((a, b), (b, a)):
            lanes = [lane for end in near for lane in self.lanes.get(end, ())]
            rears = [end[::2] for end in far if end.kind == REAR and end[::2] in self.rears]
            parts = [" ".join(port) for port in rears if self.rears[port] != port]
            if lanes and len(rears) == len(far) and not parts:
                net.fixed |= dict.fromkeys(zip(lanes, rears, strict=False), status)
                return
            if lanes and status == CONNECTED:
                net.faults += [f"{net.source} has a lane at one side of a port: {part}" for part in parts]
            for end, other in zip(near, far, strict=False):  # an export does not tell rear from front ports
                front, there = self._front(end), self.rears.get(other[::2])
                if front is not None and front[:2] in self.leading and there is not None:
                    net.trunks.setdefault(front[:2], {})[front.side] = there, status
                    return
        fronts = [[front for end in ends if (front := self._front(end)) is not None] for ends in (a, b)]
        if len(fronts[0]) == len(fronts[1]) == len(a) == len(b):
            for one, other in zip(*fronts, strict=True):
                net.patch(one, other, status)
        elif status == CONNECTED:
            net.open |= {front[:2] for some in fronts for front in some}
            net.open |= {self.rears[end[::2]] for end in (*a, *b) if end.kind == REAR and end[::2] in self.rears}

    def _front(self, end: CableEnd) -> Fibre | None:
        return self.fronts.get(end[::2]) if end.kind == FRONT else None


@dataclass
class CablePaths:
    """Cables, and paths of those at panels that others modelled.

    Attributes
    ----------
    lanes
        Of an interface, by its type; 0 if that does not tell it.
    switches
        Panels that are circuit switches.
    cables
        Those at other panels and hosts.
    foreign, units
        Panels that others modelled, and their ports with the positions behind each.
    heads
        Ports on the fixed path of a lane, each lane given by device, interface and number.
    trunks, patches
        Where ports lead to that hosts plug into, and pairs of ports.
    omitted
        Ports of cables that are no part of these.
    """

    objects: model.NetboxObjects
    lanes: dict[tuple[str, str], int]
    switches: frozenset[str]
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Index the ports of foreign panels, and follow their cables."""
        objects = self.objects
        self.rear = {(one.device, one.name): one for one in objects.rear_ports}
        self.front = {(one.device, one.name): one for one in objects.front_ports}
        behind: defaultdict[Unit, list[FrontPort]] = defaultdict(list)
        for front in objects.front_ports:
            for name, _ in front.behind:
                behind[front.device, name].append(front)
        own = {one.device for one in objects.rear_ports if one.description.split(", ")[0] in MODES}
        self.foreign = {one.device for one in objects.rear_ports} - own
        single = {key for key, count in self.lanes.items() if count == 1}
        plugged = {end[::2]: cable for cable in objects.cables for end in (*cable.a, *cable.b) if end.kind != FRONT}
        for key, rear in self.rear.items():
            fronts = behind[key]
            cable = plugged.get(key)
            alone = cable is None or any(end[::2] in single for end in (*cable.a, *cable.b))
            if rear.positions == _SIDES == len(fronts) and alone and all(len(one.behind) == 1 for one in fronts):
                self.foreign.discard(key[0])  # its fronts are the two fibres of a lane, as here
        self.units: dict[Unit, tuple[tuple[str, int], ...]] = {
            key: front.behind for key, front in self.front.items() if key[0] in self.foreign
        }
        self.unit_of = {(key[0], *place): key for key, places in self.units.items() for place in places}
        self.strands = Strands(self.rear, self.switches)
        self.cable_of: dict[Lane | Face, NetboxCable] = {}
        devices = {device.name for device in objects.devices}
        self.omitted: set[Unit] = set()
        self.cables: list[NetboxCable] = []
        for cable in objects.cables:
            ends = (*cable.a, *cable.b)
            problem = self._unknown(ends, devices)
            if problem:
                self._leave(cable, problem)
            elif all(end.device not in self.foreign for end in ends):
                self.cables.append(cable)
            elif cable.status == CONNECTED:  # what is only planned there is not in the way
                self._plug(cable)
        self.heads, self.patches = self._paths()
        self.trunks = self._trunks()
        used = {unit for path in self.heads.values() for unit in (path[0], path[-1])}
        used |= {unit for pair in (*self.patches, *self.trunks.items()) for unit in pair}
        self._drop_partial()
        for here, cable in self.cable_of.items():
            if isinstance(here, Face) and here.port not in used and here.port not in self.omitted:
                self._leave(cable, f"it joins {' '.join(here.port)} to what no interface reaches")

    def net(self, names: EndNames, source: str, *, exported: bool = False) -> PartialNet:
        """Return all wires; ``exported``: whether what is only planned counts as there."""
        net, known = PartialNet(source), names.rears
        for cable in self.cables:
            names.add(net, cable, CONNECTED if exported else cable.status)
        for lane, path in self.heads.items():
            lanes = names.lanes.get(CableEnd(lane.host, INTERFACE, lane.port), ())
            if path[0] in known and lane.lane <= len(lanes):
                net.fixed[lanes[lane.lane - 1], known[path[0]]] = CONNECTED
            elif path[0] in known:
                net.open.add(known[path[0]])
        for one, other in sorted(self.patches):
            if one in known and other in known:
                net.patch(Fibre(*known[one], "AB"), Fibre(*known[other], "AB"))
            else:
                net.open |= {known[unit] for unit in (one, other) if unit in known}
        for near, far in self.trunks.items():
            if near in known and far in known:
                net.trunks[known[near]] = {"AB": (known[far], CONNECTED)}
        net.open |= {known.get(unit, unit) for unit in self.omitted}
        return net

    def _unknown(self, ends: Sequence[CableEnd], devices: set[str]) -> str:
        """Return a message about an unknown cable end; empty if none."""
        tables: dict[str, Collection[Unit]] = {INTERFACE: self.lanes, FRONT: self.front, REAR: self.rear}
        for end in ends:
            there = tables.get(end.kind)
            if there is None or (end.device in devices and end[::2] not in there):
                kind = end.kind.rpartition(".")[2].replace("port", " port")
                return f"{end.device} has no {kind} '{end.name}'"
        return ""

    def _leave(self, cable: NetboxCable, why: str) -> None:
        """Note an omitted cable and mark its panel ports as taken."""
        for end in (*cable.a, *cable.b):
            self.omitted |= {end[::2], *self._units_at(end)}
        ends = " - ".join(" ".join(end[::2]) for end in (*cable.a[:1], *cable.b[:1]))
        words = f"cable {cable.label or ends} is omitted: {why}"
        if words not in self.notes:
            self.notes.append(words)

    def _units_at(self, end: CableEnd) -> list[Unit]:
        """Return the foreign panel ports at an end, in position order."""
        if end.kind == FRONT:
            return [end[::2]] if end[::2] in self.units else []
        if end.kind != REAR or end.device not in self.foreign:
            return []
        places = range(1, self.rear[end[::2]].positions + 1) if end[::2] in self.rear else ()
        return list(dict.fromkeys(u for n in places if (u := self.unit_of.get((end.device, end.name, n)))))

    def _plug(self, cable: NetboxCable) -> None:
        """Record the two ends of each strand of a cable."""
        a, b = self._strands(cable.a, cable.b), self._strands(cable.b, cable.a)
        rears = len(cable.a) == len(cable.b) == 1 and cable.a[0].kind == cable.b[0].kind == REAR
        if rears:  # the positions of a trunk are the same at both ends
            ends = [
                {self._places(unit, end.name): unit for unit in self._units_at(end)} for end in (*cable.a, *cable.b)
            ]
            both = [place for place in ends[0] if place in ends[1]]
            if len(both) < max(map(len, ends)):
                self._leave(cable, "the positions of its two ends are shared out otherwise")
            a, b = [Face(ends[0][one], "rear") for one in both], [Face(ends[1][one], "rear") for one in both]
        if not a or not b or len(a) != len(b):
            if not rears:
                self._leave(cable, f"{len(a)} lanes or ports at one end and {len(b)} at the other")
            return
        for one, other in zip(a, b, strict=True):
            self.strands.join(one, other)
            self.cable_of |= {one: cable, other: cable}

    def _places(self, unit: Unit, rear: str) -> frozenset[int]:
        return frozenset(place for name, place in self.units[unit] if name == rear)

    def _strands(self, ends: Sequence[CableEnd], others: Sequence[CableEnd]) -> list[Lane | Face]:
        """Return the lanes or port sides at cable ends, in order."""
        found: list[Lane | Face] = []
        for end in ends:
            if end.kind == INTERFACE:
                units = [unit for other in others for unit in self._units_at(other)]
                count = self.lanes.get(end[::2]) or (len(units) if len(units) in LANES.values() else 1)
                found += [Lane(end.device, end.name, lane) for lane in range(1, count + 1)]
            else:
                units = self._units_at(end)
                lanes = sum(self.lanes.get(other[::2], 0) for other in others if other.kind == INTERFACE)
                if lanes and len(ends) == 1 and len(units) > lanes:
                    units = self._units_of_lanes(end, units, lanes)
                found += [Face(unit, "front" if end.kind == FRONT else "rear") for unit in units]
        return found

    def _units_of_lanes(self, end: CableEnd, units: list[Unit], lanes: int) -> list[Unit]:
        """Return the ports of a plug's lanes, by fibre pairs or positions."""
        width = self.rear[end[::2]].positions
        places = {self._places(unit, end.name): unit for unit in units}
        ends = [places.get(frozenset((lane, width + 1 - lane))) for lane in range(1, lanes + 1)]
        if None not in ends:
            return [unit for unit in ends if unit is not None]
        if all(len(place) == 1 for place in places):
            return units[:lanes]
        return []

    def _paths(self) -> tuple[dict[Lane, list[Unit]], set[tuple[Unit, Unit]]]:
        """Return the fixed path of every lane, and the patches."""
        heads: dict[Lane, list[Unit]] = {}
        patches: set[tuple[Unit, Unit]] = set()
        for start in self.strands.far:
            if not isinstance(start, Lane):
                continue
            path, fronts, end = self.strands.follow(start)
            if not path:
                why = "it joins interfaces directly" if end is not None else "it ends nowhere"
                self._leave(self.cable_of[start], why)
            elif end is None:
                heads[start] = path
            elif not fronts:
                words = "its path reaches another interface without a patch between front ports"
                self._leave(self.cable_of[start], words)
            else:
                cut = min(fronts, key=lambda place: (abs(2 * place - len(path)), place))
                heads[start] = path[:cut]
                patches.add((min(path[cut - 1], path[cut]), max(path[cut - 1], path[cut])))
                if len(fronts) > 1 and not any(unit in self.rear for unit in path):
                    words = f"the path of {start.host} {start.port} has {len(fronts)} patches; that between "
                    self.notes.append(f"{words}{' '.join(path[cut - 1])} and {' '.join(path[cut])} counts as one")
        return heads, patches

    def _trunks(self) -> dict[Unit, Unit]:
        """Return the target of each trunk port."""
        found: dict[Unit, Unit] = {}
        for lane, path in self.heads.items():
            if len(path) > 1:
                between = sorted({device for device, _ in path[1:-1]})
                if between:
                    words = f"passes {', '.join(between)}, which the inventory lacks"
                    self.notes.append(f"the path of {lane.host} {lane.port} {words}")
                    self.omitted.update(path[1:-1])
                found[path[0]] = path[-1]
        near, far = ({panel for panel, _ in units} for units in (found, found.values()))
        for here, there in self.strands.far.items():  # trunks at which no host plugs in yet
            if not isinstance(here, Face) or not isinstance(there, Face):
                continue
            if here.side == there.side == "rear" and here.port[0] in near - far and there.port[0] in far - near:
                found.setdefault(here.port, there.port)
        return found

    def _drop_partial(self) -> None:
        """Omit the interfaces of which not all lanes reach a port."""
        plugged = Counter(here.socket for here in self.cable_of if isinstance(here, Lane))
        count = Counter(lane.socket for lane in self.heads)
        for socket in [socket for socket, lanes in count.items() if lanes < plugged[socket]]:
            lanes = sorted(lane for lane in self.heads if lane.socket == socket)
            self._leave(self.cable_of[lanes[0]], "some lanes of it do not reach a port that can be patched")
            for lane in lanes:
                del self.heads[lane]
