"""Change of site: the same wiring with other hosts.

Fixed cables stay where both of their ends do, unless the new room says otherwise; hosts that will be nodes and have too
few lanes get new ones. Patches at a cable that goes have to go, too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from topodesign.base.claims import Proof
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.topology.topology import Topology
from topodesign.wiring.change.patches import Change, make_topology
from topodesign.wiring.inventory.devices import Fixed, Lane
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import Where, complete_cabling
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import lanes_needed, make_plan


@dataclass(frozen=True)
class MovedWiring:
    """Wiring in another site."""

    plan: WiringPlan  # what stays of it, over all fixed cables that there will be
    lost: tuple[CrossConnect, ...]  # patches that cannot stay, as a fixed cable at one of their ends goes
    laid: tuple[Fixed, ...]  # fixed cables that come
    drawn: tuple[Fixed, ...]  # fixed cables that go
    moved: tuple[tuple[Fixed, Fixed], ...] = ()  # those whose lane ends elsewhere then

    def with_lost(self, change: Change) -> Change:
        """Return a change that includes the lost patches."""
        whole = replace(
            change,
            before=replace(change.before, connects=(*self.lost, *change.before.connects)),
            removed=(*self.lost, *change.removed),
        )
        after, before, left = (len(one.connects) for one in (change.after, whole.before, change.before))
        if self.moved:  # with other cables moved there may be fewer moves: only what is more or less is sure
            return replace(whole, at_least=max(abs(after - before), 1), proof=Proof.BOUND)
        return replace(whole, at_least=max(after, before) - max(after, left) + change.at_least)


def with_names_of(old: Inventory, room: Inventory) -> tuple[Inventory, dict[str, str]]:
    """Return a site with the old digits in names.

    Also returns the old names by new ones.

    A larger room may number its hosts with more digits: host001 is host01.
    """

    def pair(there: Iterable[str], here: Iterable[str]) -> dict[str, str]:
        gone, come = dict.fromkeys(there), dict.fromkeys(here)
        left = {split_number(name): name for name in gone if name not in come}
        come = dict.fromkeys(name for name in come if name not in gone)
        width = {
            (split_number(name)[0], len(name)): len(left[split_number(name)])
            for name in come
            if split_number(name) in left
        }
        found = {}
        for name in come:
            head, number = split_number(name)
            if number is not None and (head, len(name)) in width:
                found[name] = f"{head}{number:0{width[head, len(name)] - len(head)}}"
        names = dict.fromkeys(here)
        if len({found.get(name, name) for name in names}) < len(names):  # one would be another's
            return {}
        return {name: meant for name, meant in found.items() if name != meant}

    def split_number(name: str) -> tuple[str, int | None]:
        head = name.rstrip("0123456789")
        return head, int(name[len(head) :]) if len(head) < len(name) else None

    devices = pair((*old.host, *old.panel), (*room.host, *room.panel))
    fields = pair(old.fields, room.fields)
    racks = pair(*([one.rack for some in (each.hosts, each.panels) for one in some] for each in (old, room)))
    if not (devices or fields or racks):
        return room, {}

    def named(name: str) -> str:
        return devices.get(name, name)

    def at(rack: str) -> str:
        return racks.get(rack, rack)

    renamed = replace(
        room,
        hosts=tuple(replace(one, name=named(one.name), rack=at(one.rack)) for one in room.hosts),
        panels=tuple(
            replace(one, name=named(one.name), rack=at(one.rack), field=fields.get(one.field, one.field))
            for one in room.panels
        ),
        cabling=tuple(replace(one, host=named(one.host), panel=named(one.panel)) for one in room.cabling),
        trunks=tuple(replace(one, panel=named(one.panel), near=named(one.near)) for one in room.trunks),
        racks={site: {at(rack): place for rack, place in places.items()} for site, places in room.racks.items()},
        trays=tuple(one._replace(a=at(one.a), b=at(one.b)) for one in room.trays),
    )
    return renamed, devices | racks


def in_room(plan: WiringPlan, inventory: Inventory, wanted: Topology, own: WiringPlan | None = None) -> MovedWiring:
    """Return a wiring in another site, for a topology.

    If possible, the cabling is that of ``own``, a plan of the topology.
    """
    room = inventory if len(inventory.speeds) < 2 else inventory.at_speed(plan.speed)
    fixed = _select_staying(room, plan.fixed)
    if own is not None:
        fixed = _with(fixed, (one for one in own.fixed if one.host in own.node and _exists(room, one)))
    names = [host for host in plan.hosts if host in room.host]
    if not names:
        raise ParameterError(
            f"no host of the plan is in the inventory: the plan has {plan.hosts[0]}, the inventory "
            f"{room.hosts[0].name}; name hosts alike in both"
        )
    chosen = list(own.hosts) if own is not None and set(own.hosts) <= room.host.keys() else names
    chosen = list(dict.fromkeys((*chosen, *names, *room.host)))[: max(wanted.nodes, 0)]
    if len(chosen) < wanted.nodes:
        raise InfeasibleError(f"{wanted.nodes} nodes do not fit on {len(room.hosts)} hosts")
    most = int(lanes_needed(wanted).max(initial=0))
    lanes = [min(most, room.host[name].lanes) for name in chosen]
    cabled = complete_cabling(room, fixed, chosen, lanes, plan.mode)
    return _move_wiring(plan, room, names, cabled)


def with_cables_moved(
    plan: WiringPlan, inventory: Inventory, wanted: Topology, *, seed: int
) -> tuple[MovedWiring, WiringPlan]:
    """Return a wiring with moved fixed cables, and a plan.

    Fixed cables stay if their ends are still wanted.
    """
    room = inventory if len(inventory.speeds) < 2 else inventory.at_speed(plan.speed)
    fresh, cabled = recable(room, _select_staying(room, plan.fixed), wanted, plan, seed=seed)
    found = _move_wiring(plan, room, [host for host in plan.hosts if host in room.host], cabled)
    new = {one.source: one for one in found.laid}
    pairs = [(one, new.get(one.source)) for one in found.drawn]
    moved = tuple((one, other) for one, other in pairs if other is not None)
    at = {one for pair in moved for one in pair}
    laid, drawn = (tuple(one for one in some if one not in at) for some in (found.laid, found.drawn))
    return replace(found, laid=laid, drawn=drawn, moved=moved), fresh


def _move_wiring(plan: WiringPlan, room: Inventory, names: Sequence[str], cabled: tuple[Fixed, ...]) -> MovedWiring:
    """Return a wiring over other fixed cabling."""
    there = set(cabled)
    stay = tuple(connect for connect in plan.connects if {connect.a, connect.b} <= there)
    lost = tuple(connect for connect in plan.connects if not {connect.a, connect.b} <= there)
    before = WiringPlan(room, make_topology(names, stay), tuple(names), plan.mode, stay, cabled)
    old = set(plan.fixed)
    laid = tuple(one for one in cabled if one not in old)
    return MovedWiring(before, lost, laid, tuple(one for one in plan.fixed if one not in there))


def _select_staying(room: Inventory, fixed: tuple[Fixed, ...]) -> tuple[Fixed, ...]:
    """Return a site's cabling, with other cables that fit."""
    return _with(room.cabling, (one for one in fixed if _exists(room, one)))


def _with(fixed: tuple[Fixed, ...], more: Iterable[Fixed]) -> tuple[Fixed, ...]:
    """Return fixed cables, with others on free ports."""
    lanes, ports = {one.source for one in fixed}, {one.place for one in fixed}
    added = [one for one in more if one.source not in lanes and one.place not in ports]
    return (*fixed, *added)


def _exists(room: Inventory, one: Fixed) -> bool:
    """Return whether both ends of a fixed cable exist."""
    host, port = room.host.get(one.host), room.panel_port.get(one.place)
    if host is None or port is None or not room.is_open(one.place):
        return False
    pods = room.pods_of(*one.place)
    lanes = next((each.lanes for each in host.ports if each.name == one.port), 0)
    return one.lane <= lanes and (not pods or host.pod in pods)


def recable(
    room: Inventory, fixed: Sequence[Fixed], wanted: Topology, plan: WiringPlan, *, seed: int
) -> tuple[WiringPlan, tuple[Fixed, ...]]:
    """Return a fresh plan and cabling that keeps old cables.

    The plan ignores existing cabling.

    How many lanes of a host end at each field of panels (and side) is taken from the plan; cables that end where lanes
    are wanted stay, the others move to ports of fields that lack them.
    """
    if room.cabling:
        raise InfeasibleError("the inventory says how its lanes are cabled, so that none is moved")
    fresh = make_plan(wanted, room, mode=plan.mode, seed=seed)

    def where(one: Fixed) -> Where:
        return room.panel[one.panel].field, room.panel_port[one.place].side

    needed: defaultdict[str, Counter[Where]] = defaultdict(Counter)
    for one in fresh.fixed:
        needed[one.host][where(one)] += 1
    lacking = Counter({(host, spot): count for host, spots in needed.items() for spot, count in spots.items()})
    kept, idle = list[Fixed](), set[Lane]()
    for one in fixed:
        if lacking[one.host, where(one)] > 0:
            lacking[one.host, where(one)] -= 1
            kept.append(one)
        else:
            idle.add(one.source)
    lanes = [spots.total() for spots in needed.values()]
    cabled = complete_cabling(room, kept, list(needed), lanes, plan.mode, wanted=needed, first=idle)
    return replace(fresh, inventory=room), cabled
