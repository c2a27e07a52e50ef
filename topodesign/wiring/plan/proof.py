"""Proof of a wiring plan: its patches create the topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from topodesign.base.errors import TopologyError
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.net import PanelEnd
from topodesign.wiring.plan.plan import WiringPlan


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
    if Topology.from_links(len(plan.hosts), list(_prove_links(plan))) != without_loops(plan.topology):
        raise TopologyError("the cross-connects do not make the links of the topology")


def _prove_links(plan: WiringPlan) -> Iterator[tuple[int, int]]:
    """Yield the links that cross-connects create with the fixed cabling, after checking each."""
    ends, ports, node = plan.net.end, plan.inventory.panel_port, plan.node
    field = {panel.name: panel.field for panel in plan.inventory.panels}
    taken: set[tuple[PanelEnd, str]] = set()
    for connect in plan.connects:
        if connect.mode != plan.mode:
            raise TopologyError(f"cable '{connect.cable}' is {connect.mode} in a {plan.mode} plan")
        for end in (connect.a, connect.b):
            if end.host not in node or end.place not in ends:
                raise TopologyError(f"no lane of a node is cabled to port '{end.panel_port}' of panel '{end.panel}'")
            if ends[end.place] != end:
                raise TopologyError(f"cable '{connect.cable}' says other lanes than the fixed cabling")
            if not ports[end.place].takes(plan.mode):
                raise TopologyError(f"port '{end.panel_port}' of '{end.panel}' cannot be patched one way")
        for a, b in connect.ways:
            for end, side in ((a, "A"), (b, "B")):
                if (end.place, side) in taken:
                    words = f"use side {side} of port '{end.panel_port}' of panel '{end.panel}'"
                    raise TopologyError(f"two circuits {words}")
                taken.add((end.place, side))
            side = ports[a.place].side
            if side and side == ports[b.place].side:
                words = f"'{a.panel_port}' and '{b.panel_port}' are both on side {side} of '{a.panel}'"
                raise TopologyError(f"ports {words}, which joins its two sides")
            if field[a.panel] != field[b.panel]:
                raise TopologyError(f"panels '{a.panel}' and '{b.panel}' are not in one field")
            yield node[a.host], node[b.host]


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
        raise TopologyError(f"every node requires a host of its own; '{twice}' appears twice")
    unknown = next((host for host in plan.hosts if host not in plan.inventory.host), None)
    if unknown is not None:
        raise TopologyError(f"the host '{unknown}' of the plan is not in the inventory")
