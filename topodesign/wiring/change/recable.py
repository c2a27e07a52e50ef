"""Fixed cabling that is moved, where no plan keeps it as it is: the last resort.

A plan is made as if nothing were cabled. How many lanes of a host end at each field of panels (and side) is taken from
it; cables that end where lanes are wanted stay, the others move to ports of fields that lack them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import usable
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan

Spot = tuple[str, str]  # a field, and the side of its ports if they have one


def recabled(
    room: Inventory, fixed: Sequence[Fixed], wanted: Topology, plan: WiringPlan, *, seed: int
) -> tuple[WiringPlan, tuple[Fixed, ...]]:
    """Return a plan of a topology as if nothing were cabled, and fixed cabling for it with what can stay of another.

    Raises
    ------
    InfeasibleError
        If the room does not carry the topology however it is cabled, or says itself how it is.
    """
    if room.cabling:
        raise InfeasibleError("the inventory says how its lanes are cabled, so that none is moved")
    fresh = make_plan(wanted, room, mode=plan.mode, seed=seed)

    def spot(one: Fixed) -> Spot:
        return room.panel[one.panel].field, room.panel_port[one.place].side

    lacking: defaultdict[str, Counter[Spot]] = defaultdict(Counter)
    for one in fresh.fixed:
        lacking[one.host][spot(one)] += 1
    kept, idle = _taken(fixed, spot, lacking)
    lanes, ports = {one.source for one in kept}, {one.place for one in kept}
    free = {place for some in usable(room, plan.mode).values() for place in some} - ports
    # first the ports that the fresh plan has for a host, then any that its pod reaches
    spare = defaultdict(list)
    for one in [*idle, *fresh.fixed]:
        spare[one.host].append((one.port, one.lane))
    alike, _ = _taken([one for one in fresh.fixed if one.place not in ports], spot, lacking)
    moved = [(one.host, one.place) for one in alike]
    free -= {one.place for one in alike}
    for host, spots in lacking.items():
        for where in spots.elements():
            place = next((key for key in sorted(free) if _is_at(room, key, where, host)), None)
            if place is None:
                raise InfeasibleError(f"no free panel port is left for a lane of host '{host}', even if cables move")
            free.discard(place)
            moved.append((host, place))
    for host, place in moved:
        port, lane = next(each for each in spare[host] if (host, *each) not in lanes)
        kept.append(Fixed(host, port, lane, *place))
        lanes.add(kept[-1].source)
    return replace(fresh, inventory=room), tuple(kept)


def _taken(
    fixed: Sequence[Fixed], spot: Callable[[Fixed], Spot], lacking: Mapping[str, Counter[Spot]]
) -> tuple[list[Fixed], list[Fixed]]:
    """Return the cables that hosts lack, counting them off, and the others."""
    taken, others = list[Fixed](), list[Fixed]()
    for one in fixed:
        wanted = lacking.get(one.host, Counter())
        (taken if wanted[spot(one)] > 0 else others).append(one)
        wanted[spot(one)] -= wanted[spot(one)] > 0
    return taken, others


def _is_at(room: Inventory, place: tuple[str, str], where: Spot, host: str) -> bool:
    """Return whether a panel port is of a field and side, and within reach of a host."""
    pods = room.pods_of(*place)
    at = room.panel[place[0]].field, room.panel_port[place].side
    return at == where and (not pods or room.host[host].pod in pods)
