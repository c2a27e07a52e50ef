"""Net of a plan: panel ports, wires, optical paths.

A *wire* joins two ports: a fixed cable (or a leg of a breakout cable) a lane of a host and a panel port, a trunk two
panel ports, a patch cord or a circuit of a switch the two sides that a cross-connect joins. A *lead* is the way from a
lane to the panel port where it can be patched, and what ends there. A *path* is the way of light: a lead, a
cross-connect and a lead backwards, or a lead alone where nothing is patched.

Proofs, sheets, losses, failures and checks read these. What NetBox, patch lists and switches report is a *partial
net* of the same wires, each with a status, and perhaps without a known end. Cables at panels that others modelled are
*strands*, which are followed to find these wires.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from topodesign.wiring.inventory.devices import Lane, Mode, Place
from topodesign.wiring.inventory.inventory import FIXED, PATCH, CableType, Inventory, length
from topodesign.wiring.plan.cross_connects import CrossConnect, End, Fibre, fibres

WireKind = Literal["fixed", "trunk", "patch", "circuit"]
CableUse = Literal["fixed cable", "patch cord"]
CableSize: TypeAlias = tuple[CableUse, CableType, Fraction | None]  # what a cable is for, its type and metres
PanelEnd: TypeAlias = tuple[str, str]  # a panel and the label of a port


class Termination(NamedTuple):
    """End of a wire."""

    place: Place  # site, rack and unit
    device: str  # the host, or the panel
    port: str  # its port, or the label of that
    lane: int | None  # of a host's port; None at a panel
    side: str  # the fibres: ``Tx+Rx`` at a host, ``A``, ``B`` or ``A+B`` at a panel

    @property
    def label(self) -> str:
        """Cable label: rack, unit, device, port, lane or side."""
        last = self.side if self.lane is None else str(self.lane)
        return f"{self.where}-{self.port}-{last}"

    @property
    def where(self) -> str:
        """Rack, unit and device."""
        return f"{self.place.rack}-{self.place.unit}-{self.device}"


class Wire(NamedTuple):
    """Cable, breakout leg, trunk, patch cord or circuit.

    ``a``, ``b``: its ends: host and panel of a fixed cable; of a trunk, the port where hosts plug in and the one behind
    it; of a cross-connect, the panel ports that light goes from and to.
    """

    name: str  # unique in the plan
    kind: WireKind
    sort: CableType | None  # the type of cable; None of a trunk and of a circuit
    a: Termination
    b: Termination
    number: int  # of the lane on its host that it is for, or that transmits, from 0

    @property
    def breakout(self) -> str | None:
        """Name of the breakout cable of a leg, or None."""
        return self.name.partition("-")[0] if self.sort is not None and self.sort.endswith("breakout") else None


class Lead(NamedTuple):
    """Connection from a host lane to its patch port."""

    end: End  # the lane and that port
    fixed: Wire
    trunk: Wire | None  # behind the port where the host is plugged in
    trunk_db: Fraction | None  # what that loses; None if unknown, or if there is none

    @property
    def wires(self) -> tuple[Wire, ...]:
        """Wires of the lead, from the host."""
        return (self.fixed,) if self.trunk is None else (self.fixed, self.trunk)

    @property
    def places(self) -> tuple[PanelEnd, ...]:
        """Panel ports of the lead, from the host."""
        return tuple((wire.b.device, wire.b.port) for wire in self.wires)

    @property
    def lane_names(self) -> tuple[str, str, str]:
        """Names of the host, port and lane."""
        host, port, lane = self.end.source
        return host, f"{host}:{port}", f"{host}:{port}/{lane}"

    def through(self, side: str) -> Iterator[str]:
        """Yield the names of wires and following ports."""
        for wire in self.wires:
            yield wire.name
            yield Fibre(wire.b.device, wire.b.port, side).name

    def names(self, side: str) -> Iterator[str]:
        """Yield all names on the lead.

        Panel ports are named with and without a side.
        """
        yield from self.lane_names
        for wire in self.wires:
            yield from (wire.name, wire.a.label, wire.b.label)
            yield from (f"{wire.b.device}:{wire.b.port}{letter}" for letter in ("", *side))
            if wire.breakout is not None:  # and what its plug at the host says
                yield from (wire.breakout, f"{wire.a.where}-{wire.a.port}")


class Path(NamedTuple):
    """Optical path between two lanes through a cross-connect.

    In a duplex plan, the path is for both directions.
    """

    sender: Lead
    cross: Wire
    receiver: Lead
    sides: tuple[str, str]  # of the two panel ports that are joined

    @property
    def wires(self) -> tuple[Wire, ...]:
        """Wires of the path, in order."""
        return (*self.sender.wires, self.cross, *self.receiver.wires[::-1])

    @property
    def through(self) -> tuple[str, ...]:
        """Names of wires and panel ports in between, in order."""
        back = list(self.receiver.through(self.sides[1]))[::-1]
        return (*self.sender.through(self.sides[0]), self.cross.name, *back)

    @property
    def names(self) -> Iterator[str]:
        """Names of everything on the path, including cable labels."""
        yield from self.sender.names(self.sides[0])
        yield from self.receiver.names(self.sides[1])
        yield from (self.cross.name, self.cross.a.label, self.cross.b.label)


class OpenPath(NamedTuple):
    """Optical path between a lane and an unpatched port."""

    sender: Lead
    side: str  # of the panel port

    @property
    def wires(self) -> tuple[Wire, ...]:
        """Wires of the path, in order."""
        return self.sender.wires

    @property
    def through(self) -> tuple[str, ...]:
        """Names of wires and panel ports, in order."""
        return tuple(self.sender.through(self.side))

    @property
    def names(self) -> Iterator[str]:
        """Names of everything on the path."""
        return self.sender.names(self.side)


class Net:
    """Net of fixed cabling and cross-connects at a site."""

    def __init__(
        self, inventory: Inventory, mode: Mode, fixed: Sequence[End], connects: Sequence[CrossConnect] = ()
    ) -> None:
        self.inventory, self.mode, self.fixed, self.connects = inventory, mode, fixed, connects

    @cached_property
    def end(self) -> dict[PanelEnd, End]:
        """Fixed cabling by panel port."""
        return {fixed.place: fixed for fixed in self.fixed}

    @cached_property
    def places(self) -> dict[PanelEnd, tuple[PanelEnd, ...]]:
        """Panel ports from the host to each patch port."""
        plugged_at = self.inventory.find_plugged
        return {one.place: tuple(dict.fromkeys((plugged_at(*one.place), one.place))) for one in self.fixed}

    @cached_property
    def leads(self) -> dict[PanelEnd, Lead]:
        """Leads by patch port, in fixed cabling order."""
        room, first = self.inventory, self._first
        trunks = {(one.panel, one.panel_port): f"T{row}" for row, one in enumerate(room.trunks, start=1)}
        leads: dict[PanelEnd, Lead] = {}
        for end in self.fixed:
            port = room.port[end.socket]
            near = self.places[end.place][0]
            a = Termination(room.place(end.host), end.host, end.port, end.lane, "Tx+Rx")
            b = Termination(room.place(near[0]), *near, None, "A+B")
            sort, lane = FIXED[port.connector], first[end.socket] + end.lane - 1
            fixed = Wire(self.cable_of(end.source), "fixed", sort, a, b, lane)
            trunk, lost = None, None
            if near != end.place:
                lost = room.trunk_at[end.place].loss_db
                far = Termination(room.place(end.panel), *end.place, None, "A+B")
                trunk = Wire(trunks[end.place], "trunk", None, b, far, lane)
            leads[end.place] = Lead(end, fixed, trunk, lost)
        return leads

    @cached_property
    def crosses(self) -> tuple[Wire, ...]:
        """Wires of the cross-connects, in order."""
        room, first, switches = self.inventory, self._first, self.inventory.switches
        sort = PATCH[self.mode]
        sides = ("A", "B") if self.mode == "simplex" else ("A+B", "A+B")
        wires = []
        for one in self.connects:
            a, b = (
                Termination(room.place(end.panel), *end.place, None, side)
                for end, side in zip((one.a, one.b), sides, strict=True)
            )
            kind: WireKind = "circuit" if one.a.panel in switches else "patch"
            lane = first[one.a.socket] + one.a.lane - 1
            wires.append(Wire(one.cable, kind, sort if kind == "patch" else None, a, b, lane))
        return tuple(wires)

    @cached_property
    def wires(self) -> tuple[Wire, ...]:
        """All wires: fixed cables, trunks, then cross-connects."""
        order, rank = self._cable, {(one.panel, one.panel_port): row for row, one in enumerate(self.inventory.trunks)}
        leads = sorted(self.leads.values(), key=lambda one: (order[one.end.socket], one.end.lane))
        behind = sorted((one for one in leads if one.trunk is not None), key=lambda one: rank[one.end.place])
        trunks = [one.trunk for one in behind if one.trunk is not None]
        return (*(one.fixed for one in leads), *trunks, *self.crosses)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Paths through cross-connects, in order."""
        leads, sides = self.leads, ("A", "B") if self.mode == "simplex" else ("AB", "AB")
        return tuple(
            Path(leads[one.a.place], wire, leads[one.b.place], sides)
            for one, wire in zip(self.connects, self.crosses, strict=True)
        )

    @cached_property
    def open_paths(self) -> tuple[OpenPath, ...]:
        """Paths that end at a panel."""
        taken = self.patched
        return tuple(
            OpenPath(lead, side)
            for place, lead in self.leads.items()
            for side in (("A", "B") if self.mode == "simplex" else ("AB",))
            if Fibre(*place, side) not in taken
        )

    @cached_property
    def patched(self) -> dict[Fibre, CrossConnect]:
        """Cross-connects by the places that they occupy."""
        return {place: connect for connect in self.connects for place in fibres(connect)}

    @cached_property
    def hears(self) -> dict[Lane, tuple[Lane, str]]:
        """Expected sender and cross-connect of each receiving lane."""
        return {b.source: (a.source, connect.cable) for connect in self.connects for a, b in connect.ways}

    @cached_property
    def sends(self) -> dict[Lane, tuple[Lane, str]]:
        """Expected receiver and cross-connect of each sending lane."""
        return {sender: (receiver, name) for receiver, (sender, name) in self.hears.items()}

    @cached_property
    def index(self) -> dict[str, tuple[Path | OpenPath, ...]]:
        """Paths through every named object; possibly none."""
        room = self.inventory
        found: defaultdict[str, dict[int, Path | OpenPath]] = defaultdict(dict)
        for name in (*room.host, *(f"{panel}:{port}" for panel, port in room.panel_port)):
            found[name] = {}
        paths: list[Path | OpenPath] = [*self.paths, *self.open_paths]
        for number, path in enumerate(paths):
            for name in path.names:
                found[name][number] = path
        return {name: tuple(some.values()) for name, some in found.items()}

    @cached_property
    def metres(self) -> dict[tuple[str, str], Fraction | None]:
        """Metres of every fixed cable, by host and port.

        The length of a breakout cable is that of its longest leg.

        None where the distance is unknown, and for cabling that exists: nobody said how long it is.
        """
        room = self.inventory
        if room.cabling:
            return dict.fromkeys(one.socket for one in self.fixed)
        metres: dict[tuple[str, str], Fraction | None] = {}
        for one in self.fixed:
            near, _ = self.places[one.place][0]
            leg = length(room, one.host, near, FIXED[room.port[one.socket].connector])
            longest = metres.get(one.socket, leg)
            if leg is None or longest is None:
                metres[one.socket] = None
            elif leg is longest or leg <= longest:
                metres[one.socket] = longest
            else:
                metres[one.socket] = leg
        return metres

    def cables(self) -> Counter[CableSize]:
        """Count the cables to buy by use, type and length (metres).

        Fixed cables that exist are not counted.
        """
        room, found = self.inventory, list[CableSize]()
        if not room.cabling:
            found += [("fixed cable", FIXED[room.port[port].connector], metres) for port, metres in self.metres.items()]
        found += [("patch cord", wire.sort, self.length(wire)) for wire in self.crosses if wire.sort is not None]
        # equal lengths are mostly one object: no fractions
        few = Counter((use, sort, id(metres)) for use, sort, metres in found)
        metres_of = {id(metres): metres for *_, metres in found}
        count: Counter[CableSize] = Counter()
        for (use, sort, number), many in few.items():
            count[use, sort, metres_of[number]] += many
        return count

    def length(self, wire: Wire) -> Fraction | None:
        """Return the metres of a cable, or of a leg's cable.

        None where the inventory does not say where the racks are, of fixed cables that exist, of a trunk and of a
        circuit.
        """
        if wire.kind == "fixed":
            return self.metres[wire.a.device, wire.a.port]
        return None if wire.sort is None else length(self.inventory, wire.a.device, wire.b.device, wire.sort)

    def cable_of(self, lane: Lane) -> str:
        """Return a lane's fixed cable or leg name.

        Empty if the port has no cable.
        """
        number = self._cable.get(lane.socket)
        if number is None:
            return ""
        return f"F{number}" + (f"-{lane.lane}" if self.inventory.port[lane.socket].lanes > 1 else "")

    @cached_property
    def _cable(self) -> dict[tuple[str, str], int]:
        """Numbers of fixed cables from 1, by host and port."""
        return {socket: row for row, socket in enumerate(dict.fromkeys(one.socket for one in self.fixed), start=1)}

    @cached_property
    def _first(self) -> dict[tuple[str, str], int]:
        """Number of preceding host lanes, by host and port."""
        first = {}
        for host in self.inventory.hosts:
            before = 0
            for port in host.ports:
                first[host.name, port.name] = before
                before += port.lanes
        return first


class Face(NamedTuple):
    """Front or rear of a panel port."""

    port: PanelEnd
    side: Literal["front", "rear"]


class StrandPath(NamedTuple):
    """Path of a strand from a lane: panel ports, those before which a patch may be, and the lane at its end."""

    ports: list[PanelEnd]
    patches: list[int]
    end: Lane | None


class Strands:
    """Strands of cables, each between two lanes or faces of panel ports.

    Attributes
    ----------
    far
        What is at the other end of a strand.
    one_faced
        Ports that do not tell front from rear: cables at both may be patches.
    last
        Panels where paths end: switches, whose circuits are what is planned.
    """

    def __init__(self, one_faced: Collection[PanelEnd], last: Collection[str]) -> None:
        self.far: dict[Lane | Face, Lane | Face] = {}
        self.one_faced, self.last = one_faced, last

    def join(self, a: Lane | Face, b: Lane | Face) -> None:
        """Add a strand."""
        self.far |= {a: b, b: a}

    def follow(self, start: Lane) -> StrandPath:
        """Return the path from a lane, through both faces of every port."""
        path = StrandPath([], [], None)
        here: Lane | Face | None = self.far[start]
        while here is not None and len(path.ports) < _MAX_PASSED:
            if isinstance(here, Lane):
                return path._replace(end=here)
            path.ports.append(here.port)
            if here.port[0] in self.last:
                break
            out = Face(here.port, "rear" if here.side == "front" else "front")
            here = self.far.get(out)
            if isinstance(here, Face) and self._is_front(out) and self._is_front(here):
                path.patches.append(len(path.ports))
        return path

    def _is_front(self, face: Face) -> bool:
        return face.side == "front" or face.port in self.one_faced


CONNECTED = "connected"
"""Status of a wire that exists."""

_MAX_PASSED = 64  # panels on a path: more are a loop


class PartialNet:
    """Net of reported wires, each ``connected`` or of another status.

    Attributes
    ----------
    source
        What reports them, in words.
    fixed
        Status of fixed cables, by the lane and the panel port where it is plugged in.
    trunks
        Trunks behind the ports where hosts plug in: by the sides of that port, where they lead and their status.
    patches
        Status of patches and circuits by their two ends.
    open
        Panel ports with a connected wire of which the other end is unknown, or no port of the net.
    faults
        Wires that cannot be, in words.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.fixed: dict[tuple[Lane, PanelEnd], str] = {}
        self.trunks: dict[PanelEnd, dict[str, tuple[PanelEnd, str]]] = {}
        self.patches: dict[frozenset[Fibre], str] = {}
        self.open: set[PanelEnd] = set()
        self.faults: list[str] = []
        self._plugged: set[Fibre] = set()

    def patch(self, a: Fibre, b: Fibre, status: str = CONNECTED) -> Fibre | None:
        """Add a patch or circuit; return its first occupied end, if any."""
        ends = [end._replace(side=side) for end in (a, b) for side in end.side]
        taken = next((end for end in ends if end in self._plugged), None)
        self._plugged.update(ends)
        self.patches[frozenset((a, b))] = status
        if taken is not None:
            self.faults.append(f"{self.source} has two cables at {taken.panel} {taken.panel_port}{taken.side}")
        return taken

    def heard(self) -> dict[Lane, Lane]:
        """Return the sender that each lane hears over connected wires."""
        lane_at: dict[PanelEnd, Lane] = {}
        for (lane, port), status in self.fixed.items():
            if status == CONNECTED and lane_at.setdefault(self._behind(port), lane) != lane:
                self.faults.append(f"{self.source} has two lanes at {' '.join(port)}")
        heard: dict[Lane, Lane] = {}
        for patch in (patch for patch, status in self.patches.items() if status == CONNECTED):
            ends = sorted(patch, key=lambda end: (end.side, end))
            sides = tuple(end.side for end in ends)
            if sides not in {("A", "B"), ("AB", "AB")}:
                there = " and ".join(f"{end.panel} {end.panel_port}{end.side}" for end in ends)
                self.faults.append(f"{self.source} has a cable between {there}, which carries no light")
                continue
            for sender, receiver in (ends, ends[::-1])[: 2 if sides == ("AB", "AB") else 1]:
                if sender[:2] in lane_at and receiver[:2] in lane_at:
                    heard[lane_at[receiver[:2]]] = lane_at[sender[:2]]
        return heard

    def lacking(self, net: Net) -> Iterator[tuple[Lane, str]]:
        """Yield the receivers of a net whose wires are not all connected, and why."""
        for path in net.paths:
            leads = path.sender, path.receiver
            patch = frozenset(Fibre(*lead.end.place, side) for lead, side in zip(leads, path.sides, strict=True))
            told = [(lead.fixed.name, self.fixed.get((lead.end.source, lead.places[0]))) for lead in leads]
            told.insert(1, (path.cross.name, self.patches.get(patch)))
            told += [(one.trunk.name, self._trunk_status(one.places[0])) for one in leads if one.trunk is not None]
            words = [
                f"{label} is {'not there' if status is None else status}"
                for label, status in told
                if status != CONNECTED
            ]
            for lane in (one.end.source for one in (leads[1:] if net.mode == "simplex" else leads)):
                if words:
                    yield lane, f"in {self.source} {' and '.join(words)}"

    def _behind(self, port: PanelEnd) -> PanelEnd:
        """Return the port behind a trunk, or the port itself."""
        ends = {there for there, _ in self.trunks.get(port, {}).values()}
        return next(iter(ends)) if len(ends) == 1 and self._trunk_status(port) == CONNECTED else port

    def _trunk_status(self, port: PanelEnd) -> str | None:
        """Return the status of a trunk's cables; None if incomplete."""
        cables = self.trunks.get(port, {})
        if cables.keys() not in ({"A", "B"}, {"AB"}):
            return None
        return next((status for _, status in cables.values() if status != CONNECTED), CONNECTED)
