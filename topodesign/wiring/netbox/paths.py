"""Cable paths in NetBox through panels that others modelled.

A cable path runs from an interface over cables and through panels: what goes into a front port comes out of the rear
ports and positions behind it, and the other way round. A front port with all behind it is one *port* of a panel here,
whatever its rear port is: a cassette of four or twelve fronts behind one plug, a pair of positions, or one position.

Lanes of a plug take its positions in order; if the positions are its fibres in pairs of both ends (1 and 12, 2 and 11),
by these. A path that ends at a free port can be patched there, and what lies before is fixed. Of a path from interface
to interface, the cable between two front ports is the patch. Panels passed between the first and the last of the fixed
part are not in an inventory; they and all omitted cables are named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from topodesign.wiring.inventory.devices import LANES, MODES
from topodesign.wiring.netbox import model
from topodesign.wiring.netbox.model import FRONT, INTERFACE, REAR, CableEnd, FrontPort, NetboxCable, RearPort

Unit = tuple[str, str]  # a panel and its port, named as the front port
_MOST_PASSED = 64  # panels on a path: more are a loop
_SIDES = 2  # positions of a rear port whose two fronts are the two fibres of a lane


class LaneEnd(NamedTuple):
    """Lane of an interface."""

    end: CableEnd
    lane: int


class PortSide(NamedTuple):
    """Side of a panel port, ``front`` or ``rear``."""

    unit: Unit
    side: str


class _Side(NamedTuple):
    """Cable at one side of a port or lane, with its far end."""

    cable: NetboxCable
    far: LaneEnd | PortSide


@dataclass
class PathReader:
    """Reader that resolves cable paths through foreign panels.

    ``lanes``: of an interface, by its type; 0 if that does not tell it. ``switches``: panels that are circuit switches.
    """

    objects: model.NetboxObjects
    lanes: dict[tuple[str, str], int]
    switches: frozenset[str]
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Index the ports of foreign panels."""
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
        self.cabled: dict[PortSide, _Side] = {}
        self.at: dict[LaneEnd, _Side] = {}
        self.left: set[Unit] = set()  # ports of omitted cables

    def told(self) -> model.NetboxObjects:
        """Return the objects with foreign panels modelled as here.

        Cables that cannot be interpreted are omitted.
        """
        kept = []
        for cable in self.objects.cables:
            ends = (*cable.a, *cable.b)
            problem = self._unknown(ends)
            if problem:
                self._leave(cable, problem)
            elif any(end.device in self.foreign for end in ends) and cable.status == model.CONNECTED:
                self._plug(cable)
            elif any(end.device in self.foreign for end in ends):
                pass  # what is only planned there is not in the way
            else:
                kept.append(cable)
        if not self.foreign:
            return replace(
                self.objects, cables=tuple(kept), rear_ports=tuple(map(self._marked, self.objects.rear_ports))
            )
        heads, patches = self._paths()
        trunks = self._trunks(heads)
        kept += self._fixed(heads)
        for a, b in sorted(patches):
            kept.append(
                NetboxCable("", model.CONNECTED, (CableEnd(a[0], FRONT, a[1]),), (CableEnd(b[0], FRONT, b[1]),))
            )
        kept += [
            NetboxCable(name, model.CONNECTED, (CableEnd(near[0], FRONT, near[1]),), (CableEnd(far[0], REAR, far[1]),))
            for near, (far, name) in trunks.items()
        ]
        used = {unit for path in heads.values() for unit in (path[0], path[-1])} | {u for pair in patches for u in pair}
        used |= trunks.keys() | {far for far, _ in trunks.values()}
        for (unit, _), side in self.cabled.items():
            if unit not in used and unit not in self.left:
                self._leave(side.cable, f"it joins {' '.join(unit)} to what no interface reaches")
        rears = [self._marked(one) for one in self.objects.rear_ports if one.device not in self.foreign]
        fronts = [one for one in self.objects.front_ports if one.device not in self.foreign]
        for unit, places in self.units.items():
            marked = unit in self.left or self.front[unit].marked
            marked |= any(self.rear[unit[0], name].marked for name, _ in places if (unit[0], name) in self.rear)
            words = "duplex" + (f", {model.TRUNK}" if unit in trunks else "")
            rears.append(RearPort(*unit, 1, marked, words))
            fronts.append(FrontPort(*unit, ((unit[1], 1),), marked))
        return replace(self.objects, rear_ports=tuple(rears), front_ports=tuple(fronts), cables=tuple(kept))

    def _marked(self, one: RearPort) -> RearPort:
        return replace(one, marked=True) if (one.device, one.name) in self.left else one

    def _unknown(self, ends: Sequence[CableEnd]) -> str:
        """Return a message about an unknown cable end; empty if none."""
        devices = {one.name for one in self.objects.devices}
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
            self.left |= {end[::2], *self._units_at(end)}
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
        a: Sequence[LaneEnd | PortSide] = self._strands(cable.a, cable.b)
        b: Sequence[LaneEnd | PortSide] = self._strands(cable.b, cable.a)
        rears = len(cable.a) == len(cable.b) == 1 and cable.a[0].kind == cable.b[0].kind == REAR
        if rears:  # the positions of a trunk are the same at both ends
            ends = [
                {self._places(unit, end.name): unit for unit in self._units_at(end)} for end in (*cable.a, *cable.b)
            ]
            both = [place for place in ends[0] if place in ends[1]]
            if len(both) < max(map(len, ends)):
                self._leave(cable, "the positions of its two ends are shared out otherwise")
            a, b = [PortSide(ends[0][one], "rear") for one in both], [PortSide(ends[1][one], "rear") for one in both]
        if not a or not b or len(a) != len(b):
            if not rears:
                self._leave(cable, f"{len(a)} lanes or ports at one end and {len(b)} at the other")
            return
        for one, other in zip(a, b, strict=True):
            for here, there in ((one, other), (other, one)):
                side = _Side(cable, there)
                if isinstance(here, LaneEnd):
                    self.at[here] = side
                else:
                    self.cabled[here] = side

    def _places(self, unit: Unit, rear: str) -> frozenset[int]:
        return frozenset(place for name, place in self.units[unit] if name == rear)

    def _strands(self, ends: Sequence[CableEnd], others: Sequence[CableEnd]) -> list[LaneEnd | PortSide]:
        """Return the lanes or port sides at cable ends, in order."""
        found: list[LaneEnd | PortSide] = []
        for end in ends:
            if end.kind == INTERFACE:
                units = [unit for other in others for unit in self._units_at(other)]
                count = self.lanes[end[::2]] or (len(units) if len(units) in LANES.values() else 1)
                found += [LaneEnd(end, lane) for lane in range(1, count + 1)]
            else:
                units = self._units_at(end)
                lanes = sum(self.lanes[other[::2]] for other in others if other.kind == INTERFACE)
                if lanes and len(ends) == 1 and len(units) > lanes:
                    units = self._units_of_lanes(end, units, lanes)
                found += [PortSide(unit, "front" if end.kind == FRONT else "rear") for unit in units]
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

    def _paths(self) -> tuple[dict[LaneEnd, list[Unit]], set[tuple[Unit, Unit]]]:
        """Return the fixed path of every lane, and the patches."""
        heads: dict[LaneEnd, list[Unit]] = {}
        patches: set[tuple[Unit, Unit]] = set()
        for start, side in self.at.items():
            path, fronts, end = self._follow(side)
            if not path:
                self._leave(side.cable, "it joins interfaces directly" if end is not None else "it ends nowhere")
            elif end is None:
                heads[start] = path
            elif not fronts:
                self._leave(side.cable, "its path reaches another interface without a patch between front ports")
            else:
                cut = min(fronts, key=lambda place: (abs(2 * place - len(path)), place))
                heads[start] = path[:cut]
                patches.add((min(path[cut - 1], path[cut]), max(path[cut - 1], path[cut])))
                if len(fronts) > 1 and not any(unit in self.rear for unit in path):
                    words = f"the path of {' '.join(start[0][::2])} has {len(fronts)} patches; that between "
                    self.notes.append(f"{words}{' '.join(path[cut - 1])} and {' '.join(path[cut])} counts as one")
        return heads, patches

    def _front(self, unit: Unit, side: str) -> bool:
        """Return whether a side of a port may be its front."""
        return side == "front" or unit in self.rear

    def _follow(self, side: _Side) -> tuple[list[Unit], list[int], LaneEnd | None]:
        """Return a path's ports, patch positions and final interface."""
        path: list[Unit] = []
        fronts: list[int] = []
        here = side.far
        while len(path) < _MOST_PASSED:
            if isinstance(here, LaneEnd):
                return path, fronts, here
            path.append(here.unit)
            if here.unit[0] in self.switches:
                break  # its circuits are what is planned
            out = "rear" if here.side == "front" else "front"
            following = self.cabled.get(PortSide(here.unit, out))
            if following is None:
                break
            here = following.far
            if isinstance(here, PortSide) and self._front(path[-1], out) and self._front(here.unit, here.side):
                fronts.append(len(path))
        return path, fronts, None

    def _trunks(self, heads: dict[LaneEnd, list[Unit]]) -> dict[Unit, tuple[Unit, str]]:
        """Return the target and cable label of each trunk port."""
        found: dict[Unit, tuple[Unit, str]] = {}
        for start, path in heads.items():
            if len(path) > 1:
                between = sorted({device for device, _ in path[1:-1]})
                if between:
                    self.notes.append(
                        f"the path of {' '.join(start[0][::2])} passes {', '.join(between)}, which the inventory lacks"
                    )
                    self.left.update(path[1:-1])
                found[path[0]] = path[-1], self._label(path[0])
        near, far = {one[0] for one in found}, {one[0] for one, _ in found.values()}
        for (unit, what), side in self.cabled.items():  # trunks at which no host plugs in yet
            there = side.far
            if not isinstance(there, PortSide) or not what == there.side == "rear" or unit in found:
                continue
            if unit[0] in near - far and there.unit[0] in far - near:
                found[unit] = there.unit, side.cable.label
        return found

    def _label(self, unit: Unit) -> str:
        labels = (
            self.cabled[key].cable.label for what in ("rear", "front") if (key := PortSide(unit, what)) in self.cabled
        )
        return next(labels, "")

    def _fixed(self, heads: dict[LaneEnd, list[Unit]]) -> Iterator[NetboxCable]:
        """Yield one cable per interface, with a port for every lane."""
        lanes: defaultdict[CableEnd, dict[int, Unit]] = defaultdict(dict)
        for (end, lane), path in heads.items():
            lanes[end][lane] = path[0]
        for end, ports in lanes.items():
            cable = self.at[LaneEnd(end, min(ports))].cable
            count = sum(start == end for start, _ in self.at)
            if len(ports) == count:
                far = tuple(CableEnd(unit[0], REAR, unit[1]) for _, unit in sorted(ports.items()))
                yield NetboxCable(cable.label, model.CONNECTED, (end,), far)
            else:
                self._leave(cable, "some lanes of it do not reach a port that can be patched")
