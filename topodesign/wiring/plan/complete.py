"""Fixed cabling that is there in part: it is kept, and hosts that have too few lanes get more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from topodesign.base.errors import InfeasibleError
from topodesign.wiring.inventory.devices import Fixed, Host, Mode, PortSide, Zone, lanes_of
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import lanes_by_field, nearest, plan_cabling, reaches, usable

_Where = tuple[str, PortSide]  # a field of panels, and the side of its ports if they have one


def completed(
    inventory: Inventory, fixed: Sequence[Fixed], used: Sequence[str], lanes: Sequence[int], mode: Mode
) -> tuple[Fixed, ...]:
    """Return fixed cabling with as many ``lanes`` of the hosts in ``used`` as they need, nothing of it changed.

    Hosts that lack some get them where most others have theirs, as far as there are free ports, so that all are cabled
    alike; else where most ports are free. What is new follows what is there.
    """
    groups = lanes_by_field(inventory, fixed, mode)
    mine = {name: Counter[_Where]() for name in used}
    for (name, field), some in groups.items():
        for one in some if name in mine else ():
            mine[name][field, inventory.panel_port[one.place].side] += 1
    lacking = {name: need - mine[name].total() for name, need in zip(used, lanes, strict=True)}
    if all(count <= 0 for count in lacking.values()):
        return tuple(fixed)
    alike = _alike(inventory, mine, used, lanes, mode)
    new = _Ports(inventory, fixed, mode)
    more: list[Fixed] = []
    for name in used:
        host = inventory.host[name]
        open_ = iter([place for place in lanes_of(host) if (name, place[0].name, place[1]) not in new.lanes])
        for _ in range(lacking[name]):
            port, lane = next(open_, (None, 0))
            if port is None:
                raise InfeasibleError(f"too few ports: host '{name}' lacks {lacking[name]} lane(s), and has no more")
            more.append(Fixed(name, port.name, lane, *new.take(host, mine[name], alike)))
    return (*fixed, *more)


def _alike(
    inventory: Inventory, mine: Mapping[str, Counter[_Where]], used: Sequence[str], lanes: Sequence[int], mode: Mode
) -> Counter[_Where]:
    """Return how many lanes hosts have on each field: as most of those that have enough, or as if none had any yet."""
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


def _where(zone: Zone) -> _Where:
    return zone.field, zone.side


class _Ports:
    """Panel ports that are free, and lanes that are not."""

    def __init__(self, inventory: Inventory, fixed: Sequence[Fixed], mode: Mode) -> None:
        self.inventory = inventory
        self.lanes = {one.source for one in fixed}
        taken = {one.place for one in fixed}
        self.free = {
            zone: [key for key in ports if key not in taken] for zone, ports in usable(inventory, mode).items()
        }

    def take(self, host: Host, mine: Counter[_Where], alike: Counter[_Where]) -> tuple[str, str]:
        """Take the nearest free port of a field where a host lacks lanes most, and count it there."""
        zones = [zone for zone, ports in self.free.items() if ports and reaches(host, zone)]
        if not zones:
            raise InfeasibleError(f"too few panel ports: none is free for a lane of host '{host.name}'")
        zone = min(zones, key=lambda zone: (mine[_where(zone)] - alike[_where(zone)], -len(self.free[zone])))
        ports = self.free[zone]
        panel = nearest(self.inventory, host, (self.inventory.plugged_at(*key)[0] for key in ports))[0]
        key = next(key for key in ports if self.inventory.plugged_at(*key)[0] == panel)
        ports.remove(key)
        mine[_where(zone)] += 1
        return key
