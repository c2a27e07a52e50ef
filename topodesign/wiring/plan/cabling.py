"""Fixed cabling, given or planned: lanes per panel group."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.base.wording import count_noun, join_words
from topodesign.topology.topology import IntArray
from topodesign.wiring.inventory.devices import Fixed, Host, Lane, Mode, PortSide, Zone, lanes_of
from topodesign.wiring.inventory.inventory import Inventory, distance


def usable(inventory: Inventory, mode: Mode) -> dict[Zone, list[tuple[str, str]]]:
    """Return the usable panel ports of each zone.

    Ports are in inventory order, usable in a plan of the mode.

    A blocked port never can be; a duplex port cannot in a simplex plan. Of every panel as many ports as it shall spare
    stay free, the last ones; where these are in several zones, all are listed, see :func:`most_of_panels`.
    """
    most = most_of_panels(inventory, mode)
    zones: dict[Zone, list[tuple[str, str]]] = {zone: [] for zone in inventory.zones}
    for zone, ports in inventory.zones.items():
        for key in ports:
            if inventory.panel_port[key].takes(mode):
                most[key[0]] -= not zone.panel
                if most[key[0]] >= 0:
                    zones[zone].append(key)
    return zones


def most_of_panels(inventory: Inventory, mode: Mode) -> dict[str, int]:
    """Return the number of ports per panel that a mode can use."""
    open_, able = Counter[str](), Counter[str]()
    for key in (key for ports in inventory.zones.values() for key in ports):
        open_[key[0]] += 1
        able[key[0]] += inventory.panel_port[key].takes(mode)
    return {panel.name: max(min(able[panel.name], open_[panel.name] - panel.spare), 0) for panel in inventory.panels}


def reaches(host: Host, zone: Zone) -> bool:
    """Return whether a host can be cabled to a zone."""
    return not zone.pods or host.pod in zone.pods


def plan_cabling(
    inventory: Inventory, used: Sequence[str], lanes: Sequence[int], mode: Mode, *, idle: bool = False
) -> tuple[Fixed, ...] | None:
    """Plan identical fixed cabling for all hosts.

    Lanes are spread evenly over the zones that all hosts reach.

    Every host gets all of its lanes cabled if the panels have room, or as many as are needed. Such cabling can carry
    any topology of that degree.

    Of the hosts in ``used``, each needs so many ``lanes``; in a duplex plan these come in pairs where panels have room,
    which can always be split. With ``idle`` the other hosts are cabled, too, if the panels have room. The cabling is by
    host, in the order of the inventory, then by lane; None if panels have no room for such that is alike.
    """
    room = {zone: len(ports) for zone, ports in usable(inventory, mode).items()}
    there = sum(most_of_panels(inventory, mode).values())
    if there < sum(lanes):
        raise InfeasibleError(_too_few(inventory, there, len(used), sum(lanes), mode))
    hosts = [inventory.host[name] for name in used]
    for cabled in (inventory.hosts, hosts) if idle else (hosts,):
        shares = {
            zone: ports // len(cabled)
            for zone, ports in room.items()
            if not zone.panel and all(reaches(host, zone) for host in (cabled if zone.pods else ()))
        }
        for width in range(min(host.lanes for host in cabled), max(lanes, default=0) - 1, -1):
            zones = spread_lanes(width, shares, mode)
            if zones is not None:
                return tuple(assign_lanes(inventory, {host.name: zones for host in cabled}, mode))
    return None


def spread_lanes(width: int, most: dict[Zone, int], mode: Mode) -> list[Zone] | None:
    """Spread lanes evenly over zones within their limits.

    In a duplex plan, lanes are spread in pairs if possible. None if they do not fit.
    """
    taken = dict.fromkeys(most, 0)
    for step in (2, 1) if mode == "duplex" else (1,):
        while width >= step:
            open_ = [zone for zone in most if taken[zone] + step <= most[zone]]
            if not open_:
                break
            taken[min(open_, key=taken.__getitem__)] += step
            width -= step
    return [zone for zone, count in taken.items() for _ in range(count)] if width == 0 else None


def assign_lanes(inventory: Inventory, zones: Mapping[str, Sequence[Zone]], mode: Mode) -> Iterator[Fixed]:
    """Yield the cabling of hosts to their nearest panels.

    ``zones`` are the zones of each host's lanes. A panel is used if it has a free port.
    """
    left: dict[Zone, dict[str, list[tuple[str, str]]]] = {}
    for zone, ports in usable(inventory, mode).items():
        by_panel = left.setdefault(zone, {})
        for key in reversed(ports):
            by_panel.setdefault(inventory.near_panel(key), []).append(key)
    for host in inventory.hosts:
        mine = zones.get(host.name, ())
        near = {zone: iter(nearest(inventory, host, left[zone])) for zone in dict.fromkeys(mine)}
        panel = {zone: next(panels) for zone, panels in near.items()}
        for (port, lane), zone in zip(lanes_of(host), mine, strict=False):
            while not left[zone][panel[zone]]:
                panel[zone] = next(near[zone])
            yield Fixed(host.name, port.name, lane, *left[zone][panel[zone]].pop())


def nearest(inventory: Inventory, host: Host, panels: Iterable[str]) -> list[str]:
    """Return panels by distance from a host.

    Unknown distances are last; ties are in inventory order.
    """
    there = set(panels)
    ordered = [panel.name for panel in inventory.panels if panel.name in there]
    if len(ordered) == 1:
        return ordered
    runs = {name: distance(inventory, host.name, name) for name in ordered}
    return sorted(ordered, key=lambda name: (runs[name] is None, runs[name] or 0))


def nearest_port(inventory: Inventory, host: Host, ports: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return the first port at the panel nearest a host."""
    near = nearest(inventory, host, map(inventory.near_panel, ports))[0]
    return next(key for key in ports if inventory.near_panel(key) == near)


def _too_few(inventory: Inventory, room: int, hosts: int, lanes: int, mode: Mode) -> str:
    led = len(inventory.trunks)
    spare = sum(panel.spare for panel in inventory.panels)
    open_ = sum(map(len, inventory.zones.values()))
    blocked = len(inventory.panel_port) - led - open_
    closed = sum(inventory.panel_port[key].mode != "simplex" for ports in inventory.zones.values() for key in ports)
    aside = [f"{blocked} are blocked"] if blocked else []
    aside += [f"{closed} are duplex, which a {mode} plan cannot use"] if closed and mode == "simplex" else []
    aside += [f"{spare} stay free as spares"] if spare else []
    aside += [f"{led} only lead to others"] if led else []
    words = f"; {join_words(aside)}" if aside else ""
    return f"too few panel ports: {hosts} hosts need {lanes}, there are {room}{words}"


def lanes_by_field(inventory: Inventory, fixed: Sequence[Fixed], mode: Mode) -> dict[tuple[str, str], list[Fixed]]:
    """Group usable fixed cabling by host and panel group.

    Usable is a panel port that a plan of the mode can use.
    """
    groups: defaultdict[tuple[str, str], list[Fixed]] = defaultdict(list)
    for one in fixed:
        if inventory.panel_port[one.place].takes(mode):
            groups[one.host, inventory.panel[one.panel].field].append(one)
    return dict(groups)


def count_lanes(inventory: Inventory, fixed: Sequence[Fixed], hosts: Iterable[str], mode: Mode) -> IntArray:
    """Count usable lanes by host, side and panel group, ``(hosts, 2, fields)``.

    Lanes at panel ports without a side count on both.
    """
    number = {name: row for row, name in enumerate(hosts)}
    field = {name: column for column, name in enumerate(inventory.fields)}
    lanes = np.zeros((len(number), 2, len(field)), dtype=np.int64)
    for one in fixed:
        port = inventory.panel_port[one.place]
        if one.host in number and port.takes(mode):
            sides = slice(None) if not port.side else int(port.side) - 1
            lanes[number[one.host], sides, field[inventory.panel[one.panel].field]] += 1
    return lanes


Where = tuple[str, PortSide]  # a field of panels, and the side of its ports if they have one


def complete_cabling(
    inventory: Inventory,
    fixed: Sequence[Fixed],
    used: Sequence[str],
    lanes: Sequence[int],
    mode: Mode,
    *,
    wanted: Mapping[str, Counter[Where]] | None = None,
    first: Collection[Lane] = (),
) -> tuple[Fixed, ...]:
    """Add the lanes that hosts lack to fixed cabling.

    Existing cabling stays unchanged. Each host in ``used`` needs the number of lanes in ``lanes``.

    Hosts that lack some get them where they are ``wanted``, or else where most others have theirs, as far as there are
    free ports, so that all are cabled alike; else where most ports are free. What is new follows what is there. Lanes
    in ``first`` are taken before others.
    """
    groups = lanes_by_field(inventory, fixed, mode)
    mine = {name: Counter[Where]() for name in used}
    for (name, field), some in groups.items():
        for one in some if name in mine else ():
            mine[name][field, inventory.panel_port[one.place].side] += 1
    lacking = {name: need - mine[name].total() for name, need in zip(used, lanes, strict=True)}
    if all(count <= 0 for count in lacking.values()):
        return tuple(fixed)
    alike = _alike(inventory, mine, used, lanes, mode) if wanted is None else Counter[Where]()
    new = _Ports(inventory, fixed, mode)
    more: list[Fixed] = []
    for name in used:
        host = inventory.host[name]
        every = (Lane(name, port.name, number) for port, number in lanes_of(host))
        open_ = sorted((lane for lane in every if lane not in new.lanes), key=lambda lane: lane not in first)
        if lacking[name] > len(open_):
            raise InfeasibleError(
                f"too few ports: host '{name}' lacks {count_noun(lacking[name], 'lane')}, and has no more"
            )
        where = alike if wanted is None else wanted[name]
        more += [Fixed(*lane, *new.take(host, mine[name], where)) for lane in open_[: max(lacking[name], 0)]]
    return (*fixed, *more)


def _alike(
    inventory: Inventory, mine: Mapping[str, Counter[Where]], used: Sequence[str], lanes: Sequence[int], mode: Mode
) -> Counter[Where]:
    """Return the usual lanes of hosts by panel group."""
    full = Counter(
        tuple(sorted(mine[name].items()))
        for name, need in zip(used, lanes, strict=True)
        if mine[name].total() >= need > 0
    )
    if full:
        return Counter(dict(full.most_common(1)[0][0]))
    try:
        fresh = plan_cabling(replace(inventory, cabling=()), used, lanes, mode) or ()
    except InfeasibleError:
        fresh = ()
    return Counter(
        (inventory.panel[one.panel].field, inventory.panel_port[one.place].side) for one in fresh if one.host == used[0]
    )


def _place_zone(zone: Zone) -> Where:
    return zone.field, zone.side


class _Ports:
    """Free panel ports, and occupied lanes."""

    def __init__(self, inventory: Inventory, fixed: Sequence[Fixed], mode: Mode) -> None:
        self.inventory = inventory
        self.lanes = {one.source for one in fixed}
        taken = {one.place for one in fixed}
        self.free = {
            zone: [key for key in ports if key not in taken] for zone, ports in usable(inventory, mode).items()
        }

    def take(self, host: Host, mine: Counter[Where], alike: Counter[Where]) -> tuple[str, str]:
        """Take the nearest free port where lanes are lacking most.

        The lack is that of ``mine`` compared with ``alike``; the new lane is counted in ``mine``.
        """
        zones = [zone for zone, ports in self.free.items() if ports and reaches(host, zone)]
        if not zones:
            raise InfeasibleError(f"too few panel ports: none is free for a lane of host '{host.name}'")
        zone = min(zones, key=lambda zone: (mine[_place_zone(zone)] - alike[_place_zone(zone)], -len(self.free[zone])))
        ports = self.free[zone]
        key = nearest_port(self.inventory, host, ports)
        ports.remove(key)
        mine[_place_zone(zone)] += 1
        return key
