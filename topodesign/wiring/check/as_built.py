"""What NetBox says was wired: its cables, read from a server or from a file.

Only cables that are ``connected`` count, the fixed ones too: what a receiver hears goes from transmitter to panel, over
the patch and back, as NetBox has it. Of what is not there yet, it is said which cable is still ``planned`` or missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind, expecting
from topodesign.wiring.check.observed import Observed
from topodesign.wiring.exports.formats.netbox import front_port_sides, netbox_cables, rear_port_labels
from topodesign.wiring.inventory.devices import Lane, interface_name, lanes_of
from topodesign.wiring.netbox.model import CONNECTED, FRONT, INTERFACE, REAR, CableEnd, NetboxCable
from topodesign.wiring.netbox.rest import is_address, read_rest_cables
from topodesign.wiring.netbox.tables import cable_file, read_cables
from topodesign.wiring.plan.plan import WiringPlan

_Side = tuple[str, str, str]  # panel, label and sides of a front port

_Port = tuple[str, str]


def read_as_built(source: str | Path, plan: WiringPlan) -> Observed:
    """Read what NetBox has of the cables of a plan.

    The source is the address of a server, or the path of a CSV, what NetBox exports of its list of cables or its import
    file, or of a directory with one of these.
    """
    if is_address(source):
        cables: Iterable[NetboxCable] = read_rest_cables(str(source))
    else:
        path = cable_file(as_path(source))
        with expecting(path, FileKind.NETBOX):
            cables = read_cables(path, plan.inventory.panel.__contains__)
    found = _Built(plan, cables)
    if not found.fixed and not found.patches:
        raise FileFormatError(f"{source}: there is no cable of the devices of the plan")
    return found.observed()


class _Built:
    """The cables between lanes and panel ports, as NetBox has them."""

    def __init__(self, plan: WiringPlan, cables: Iterable[NetboxCable]) -> None:
        self.plan = plan
        self.lanes: dict[CableEnd, list[Lane]] = {}
        for host in plan.inventory.hosts:
            for port, lane in lanes_of(host):
                one = Lane(host.name, port.name, lane)
                name = interface_name(port.name, lane, port.lanes)
                for alias in {name, f"{name} ({port.name})"}:  # an export shows the label behind the name
                    self.lanes[CableEnd(host.name, INTERFACE, alias)] = [one]
                if port.lanes > 1:  # or one interface for all lanes, on a breakout cable
                    self.lanes.setdefault(CableEnd(host.name, INTERFACE, port.name), []).append(one)
        self.sides = {CableEnd(panel, FRONT, name): side for (panel, name), side in front_port_sides(plan)}
        self.rears = dict(rear_port_labels(plan))
        self.trunks: dict[_Port, dict[str, tuple[_Port, str]]] = {}
        self.fixed: dict[tuple[Lane, _Port], str] = {}
        self.patches: dict[frozenset[_Side], str] = {}
        for cable in cables:
            self._add(cable)
        self.lane_at = {self._behind(port): lane for (lane, port), status in self.fixed.items() if status == CONNECTED}

    def _add(self, cable: NetboxCable) -> None:
        for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
            lanes = [lane for end in near for lane in self.lanes.get(end, ())]
            ports = [(end.device, end.name) for end in far if end.kind == REAR]
            for lane, port in zip(lanes, ports, strict=False):
                self.fixed[lane, port] = cable.status
            for end, other in zip(near, far, strict=False):  # an export does not tell rear from front ports
                panel, label, side = self.sides.get(end, ("", "", ""))
                if (panel, label) in self.plan.inventory.leads_to and end.kind == FRONT:
                    there = self.rears.get((other.device, other.name), (other.device, other.name))
                    self.trunks.setdefault((panel, label), {})[side] = there, cable.status
                    return
        sides = [self.sides[end] for end in (*cable.a, *cable.b) if end in self.sides]
        if len(sides) == len(cable.a) + len(cable.b) and len(cable.a) == len(cable.b):
            half = len(cable.a)
            self.patches |= {frozenset(pair): cable.status for pair in zip(sides[:half], sides[half:], strict=True)}

    def _behind(self, port: _Port) -> _Port:
        """Return the port that a lane reaches from where it is plugged in: that of a trunk that is whole."""
        if port not in self.plan.inventory.leads_to:
            return port
        ends = {there for there, _ in self.trunks.get(port, {}).values()}
        return next(iter(ends)) if len(ends) == 1 and self._trunk_status(port) == CONNECTED else port

    def _trunk_status(self, port: _Port) -> str | None:
        """Return that of the cables of a trunk, by the port where hosts plug in; None if they are not there."""
        cables = self.trunks.get(port, {})
        if cables.keys() not in ({"A", "B"}, {"AB"}):
            return None
        return next((status for _, status in cables.values() if status != CONNECTED), CONNECTED)

    def observed(self) -> Observed:
        """Return what receivers hear, and why others hear nothing."""
        heard: dict[Lane, Lane] = {}
        faults = []
        for patch in (patch for patch, status in self.patches.items() if status == CONNECTED):
            ends = sorted(patch, key=lambda end: end[2])
            sides = tuple(end[2] for end in ends)
            if sides not in {("A", "B"), ("AB", "AB")}:
                there = " and ".join(f"{panel} {label}{side}" for panel, label, side in ends)
                faults.append(f"NetBox has a cable between {there}, which carries no light")
                continue
            for sender, receiver in (ends, ends[::-1])[: 2 if sides == ("AB", "AB") else 1]:
                if sender[:2] in self.lane_at and receiver[:2] in self.lane_at:
                    heard[self.lane_at[receiver[:2]]] = self.lane_at[sender[:2]]
        return Observed(heard, {}, frozenset(), unbuilt=dict(self._unbuilt(heard)), faults=tuple(faults))

    def _unbuilt(self, heard: Collection[Lane]) -> Iterator[tuple[Lane, str]]:
        """Yield the receivers that should hear something and do not, with the cables on the way that are not there."""
        names = {(cable.a[0], cable.b[0]): cable.label for cable in netbox_cables(self.plan)}
        room = self.plan.inventory
        fixed = {
            (end.device, end.name): (self.lanes[lane][0], name)
            for (lane, end), name in names.items()
            if lane.kind == INTERFACE
        }
        trunk = {place: f"T{row}" for row, place in enumerate(room.leads_to, start=1)}
        for (a, b), name in names.items():
            if a not in self.sides or b not in self.sides:
                continue
            ends = [self.sides[end] for end in (a, b)]
            plugged = [room.plugged_at(*end[:2]) for end in ends]
            ways = [(*fixed[place], place) for place in plugged]
            told = [(label, self.fixed.get((lane, port))) for lane, label, port in ways]
            told += [(trunk[place], self._trunk_status(place)) for place in plugged if place in trunk]
            told.insert(1, (name, self.patches.get(frozenset(ends))))
            lacking = [
                f"{label} is {'not there' if status is None else status}"
                for label, status in told
                if status != CONNECTED
            ]
            for lane, _, _ in ways[1:] if self.plan.mode == "simplex" else ways:
                if lane not in heard and lacking:
                    yield lane, f"in NetBox {' and '.join(lacking)}"
