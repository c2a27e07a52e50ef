"""Proof of a wiring plan: its patches create the topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from topodesign.base.errors import FileFormatError, TopologyError
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.net import PanelEnd
from topodesign.wiring.plan.plan import WiringPlan


class Circuit(NamedTuple):
    """Light path from side A to side B of two ports."""

    a: PanelEnd
    b: PanelEnd


def circuits(plan: WiringPlan) -> Iterator[Circuit]:
    """Return a plan's circuits in order; duplex connects have two."""
    return (Circuit(a.place, b.place) for connect in plan.connects for a, b in connect.ways)


def topology_of(made: Iterable[Circuit], plan: WiringPlan) -> Topology:
    """Return the links that circuits create with fixed cabling."""
    links = []
    ends, ports, node = plan.net.end, plan.inventory.panel_port, plan.node
    field = {panel.name: panel.field for panel in plan.inventory.panels}
    taken: set[tuple[PanelEnd, str]] = set()
    for circuit in made:
        for end, side in ((circuit.a, "A"), (circuit.b, "B")):
            lane = ends.get(end)
            if lane is None or lane.host not in node:
                raise FileFormatError(f"no lane of a node is cabled to port '{end[1]}' of panel '{end[0]}'")
            if (end, side) in taken:
                raise FileFormatError(f"two circuits use side {side} of port '{end[1]}' of panel '{end[0]}'")
            taken.add((end, side))
        side = ports[circuit.a].side
        if side and side == ports[circuit.b].side:
            words = f"'{circuit.a[1]}' and '{circuit.b[1]}' are both on side {side} of '{circuit.a[0]}'"
            raise FileFormatError(f"ports {words}, which joins its two sides")
        if field[circuit.a[0]] != field[circuit.b[0]]:
            raise FileFormatError(f"panels '{circuit.a[0]}' and '{circuit.b[0]}' are not in one field")
        links.append((node[ends[circuit.a].host], node[ends[circuit.b].host]))
    return Topology.from_links(len(plan.hosts), links)


def check_plan(plan: WiringPlan) -> None:
    """Check a plan against its inventory and its topology."""
    check_hosts(plan)
    inventory = replace(plan.inventory, cabling=plan.fixed)
    if len(inventory.speeds) > 1:
        raise TopologyError("a plan is for lanes of one speed")
    if not set(plan.fixed) >= set(plan.inventory.cabling):
        raise TopologyError("the plan lacks fixed cabling that the inventory has")
    _check_spare(plan)
    names = Counter(connect.cable for connect in plan.connects)
    if len(names) < len(plan.connects):
        raise TopologyError(f"there are two cables '{names.most_common(1)[0][0]}'")
    try:
        made = topology_of(circuits(plan), plan)
    except FileFormatError as error:
        raise TopologyError(str(error)) from None
    if made != without_loops(plan.topology):
        raise TopologyError("the cross-connects do not make the links of the topology")
    ends = plan.net.end
    for connect in plan.connects:
        for end in (connect.a, connect.b):
            if ends[end.place] != end:
                raise TopologyError(f"cable '{connect.cable}' says other lanes than the fixed cabling")
            if plan.mode == "simplex" and inventory.panel_port[end.place].mode == "duplex":
                raise TopologyError(f"port '{end.panel_port}' of '{end.panel}' cannot be patched one way")
        if connect.mode != plan.mode:
            raise TopologyError(f"cable '{connect.cable}' is {connect.mode} in a {plan.mode} plan")


def _check_spare(plan: WiringPlan) -> None:
    """Check the spare ports of panels in planned cabling."""
    taken = Counter(fixed.panel for fixed in plan.fixed)
    for panel in () if plan.inventory.cabling else plan.inventory.panels:
        open_ = (port for port in panel.ports if (panel.name, port.label) not in plan.inventory.leads_to)
        there = sum(not port.blocked for port in open_)
        if taken[panel.name] and there - taken[panel.name] < panel.spare:
            raise TopologyError(f"panel '{panel.name}' has fewer than {panel.spare} ports left free")


def check_hosts(plan: WiringPlan) -> None:
    """Check that a plan has one inventory host per node."""
    if len(plan.hosts) != plan.topology.nodes:
        raise TopologyError(f"there are {len(plan.hosts)} hosts for {plan.topology.nodes} nodes")
    twice = next((host for host, count in Counter(plan.hosts).items() if count > 1), None)
    if twice is not None:
        raise TopologyError(f"every node requires a host of its own; '{twice}' is there twice")
    unknown = next((host for host in plan.hosts if host not in plan.inventory.host), None)
    if unknown is not None:
        raise TopologyError(f"the host '{unknown}' of the plan is not in the inventory")
