"""Fixed cabling: which lanes there are for which field of panels, as given or as planned."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from topodesign.base.errors import InfeasibleError
from topodesign.wiring.inventory.inventory import Fixed, Host, Inventory, Mode, Panel, lanes_of
from topodesign.wiring.inventory.lengths import distance


def usable(inventory: Inventory, mode: Mode) -> dict[str, int]:
    """Return the number of panel ports of each field that a plan of a mode can use.

    A blocked port never can be; a duplex port cannot in a simplex plan.
    """
    return {
        field: sum(1 for panel in panels for _ in _ports(panel, mode)) for field, panels in inventory.fields.items()
    }


def plan_cabling(
    inventory: Inventory, used: Sequence[str], lanes: Sequence[int], mode: Mode
) -> tuple[Fixed, ...] | None:
    """Plan fixed cabling that is alike for every host, its lanes spread evenly over the fields of panels.

    Every host of the inventory gets all of its lanes cabled if the panels have room, else only the hosts used, or as
    many lanes as are needed. Such cabling can carry any topology of that degree.

    Parameters
    ----------
    inventory
        Without cabling.
    used
        Names of the hosts that are nodes.
    lanes
        Lanes that each of them needs, at most as many as it has.
    mode
        Of the plan; in a duplex plan the lanes come in pairs where panels have room, which can always be split.

    Returns
    -------
    tuple of Fixed or None
        By host, in the order of the inventory, then by lane; None if panels have no room for cabling that is alike.

    Raises
    ------
    InfeasibleError
        If the panels have too few ports.
    """
    room = usable(inventory, mode)
    needed = dict(zip(used, lanes, strict=True))
    if sum(room.values()) < sum(lanes):
        raise InfeasibleError(_too_few(inventory, room, len(used), sum(lanes), mode))
    fields = _even(inventory, needed, room, mode)
    return None if fields is None else tuple(assign_lanes(inventory, fields, mode))


def _even(
    inventory: Inventory, needed: dict[str, int], room: dict[str, int], mode: Mode
) -> dict[str, list[str]] | None:
    """Return the fields of each host's lanes, the same for all hosts; None if there is no room for that."""
    most = max(needed.values(), default=0)
    for hosts in (inventory.hosts, tuple(inventory.host[name] for name in needed)):
        for width in range(min(host.lanes for host in hosts), most - 1, -1):
            fields = _share(width, {field: ports // len(hosts) for field, ports in room.items()}, mode)
            if fields is not None:
                return {host.name: fields for host in hosts}
    return None


def _share(width: int, most: dict[str, int], mode: Mode) -> list[str] | None:
    """Spread lanes over fields as evenly as their limits allow, in a duplex plan by twos where that is possible."""
    taken = dict.fromkeys(most, 0)
    for step in (2, 1) if mode == "duplex" else (1,):
        while width >= step:
            open_ = [field for field in most if taken[field] + step <= most[field]]
            if not open_:
                break
            taken[min(open_, key=taken.__getitem__)] += step
            width -= step
    return [field for field, count in taken.items() for _ in range(count)] if width == 0 else None


def assign_lanes(inventory: Inventory, fields: dict[str, list[str]], mode: Mode) -> Iterator[Fixed]:
    """Yield the cabling of hosts with lanes on some fields: each goes to the nearest panel of it with a port left."""
    ports = {panel.name: list(_ports(panel, mode))[::-1] for panel in inventory.panels}
    for host in inventory.hosts:
        near = {field: iter(nearest(inventory, host, field)) for field in set(fields.get(host.name, ()))}
        panel = {field: next(panels) for field, panels in near.items()}
        for (port, lane), field in zip(lanes_of(host), fields.get(host.name, ()), strict=False):
            while not ports[panel[field].name]:
                panel[field] = next(near[field])
            yield Fixed(host.name, port.name, lane, panel[field].name, ports[panel[field].name].pop())


def nearest(inventory: Inventory, host: Host, field: str) -> list[Panel]:
    """Return the panels of a field, the nearest to a host first, those at an unknown distance last."""
    panels = inventory.fields[field]
    if len(panels) == 1:
        return list(panels)
    runs = {panel.name: distance(inventory, host.name, panel.name) for panel in panels}
    return sorted(panels, key=lambda panel: (runs[panel.name] is None, runs[panel.name] or 0))


def _ports(panel: Panel, mode: Mode) -> Iterator[str]:
    for port in panel.ports:
        if not port.blocked and (mode == "duplex" or port.mode == "simplex"):
            yield port.label


def _too_few(inventory: Inventory, room: dict[str, int], hosts: int, lanes: int, mode: Mode) -> str:
    blocked = sum(port.blocked for panel in inventory.panels for port in panel.ports)
    closed = sum(len(panel.ports) for panel in inventory.panels) - blocked - sum(room.values())
    aside = [f"{blocked} are blocked"] if blocked else []
    aside += [f"{closed} are duplex, which a {mode} plan cannot use"] if closed else []
    words = f"; {' and '.join(aside)}" if aside else ""
    return f"too few panel ports: {hosts} hosts need {lanes}, there are {sum(room.values())}{words}"


def lanes_by_field(inventory: Inventory, fixed: Sequence[Fixed], mode: Mode) -> dict[tuple[str, str], list[Fixed]]:
    """Group fixed cabling by host and field; lanes at panel ports that a plan of the mode cannot use are left out."""
    groups: defaultdict[tuple[str, str], list[Fixed]] = defaultdict(list)
    for one in fixed:
        if mode == "duplex" or inventory.panel_port[one.panel, one.panel_port].mode == "simplex":
            groups[one.host, inventory.panel[one.panel].field].append(one)
    return dict(groups)
