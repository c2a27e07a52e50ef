"""Circuits: which side A of a panel port light goes into and which side B it comes out of, and the links that makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from topodesign.base.errors import FileFormatError
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.plan import WiringPlan

PanelEnd = tuple[str, str]  # A panel and the label of a port


class Circuit(NamedTuple):
    """Light goes from side A of the port ``a`` to side B of the port ``b``."""

    a: PanelEnd
    b: PanelEnd


def circuits(plan: WiringPlan) -> Iterator[Circuit]:
    """Yield the circuits of a plan in its order; a duplex cross-connect is two."""
    for connect in plan.connects:
        a, b = connect.a.place, connect.b.place
        yield Circuit(a, b)
        if connect.mode == "duplex":
            yield Circuit(b, a)


def topology_of(made: Iterable[Circuit], plan: WiringPlan) -> Topology:
    """Return the links that circuits make with the fixed cabling and the hosts of a plan."""
    links = []
    panels = plan.inventory.panel
    taken: set[tuple[PanelEnd, str]] = set()
    for circuit in made:
        for end, side in ((circuit.a, "A"), (circuit.b, "B")):
            lane = plan.end.get(end)
            if lane is None or lane.host not in plan.node:
                raise FileFormatError(f"no lane of a node is cabled to port '{end[1]}' of panel '{end[0]}'")
            if (end, side) in taken:
                raise FileFormatError(f"two circuits use side {side} of port '{end[1]}' of panel '{end[0]}'")
            taken.add((end, side))
        sides = {plan.inventory.panel_port[end].side for end in circuit}
        if sides in ({"1"}, {"2"}):
            words = f"'{circuit.a[1]}' and '{circuit.b[1]}' are both on side {sides.pop()} of '{circuit.a[0]}'"
            raise FileFormatError(f"ports {words}, which joins its two sides")
        if panels[circuit.a[0]].field != panels[circuit.b[0]].field:
            raise FileFormatError(f"panels '{circuit.a[0]}' and '{circuit.b[0]}' are not in one field")
        links.append((plan.node[plan.end[circuit.a].host], plan.node[plan.end[circuit.b].host]))
    return Topology.from_links(len(plan.hosts), links)


def topology_as_cabled(
    made: Iterable[Circuit], fixed: Iterable[Fixed], led: Mapping[PanelEnd, PanelEnd], plan: WiringPlan
) -> Topology:
    """Return the links that circuits make with the fixed cabling of a file, and the trunks that lead its ends on."""
    behind = tuple(Fixed(one.host, one.port, one.lane, *led.get(one.place, one.place)) for one in fixed)
    Inventory(plan.inventory.hosts, plan.inventory.panels, behind)
    return topology_of(made, replace(plan, fixed=behind, connects=()))
