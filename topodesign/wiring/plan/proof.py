"""Proof of a wiring plan: what its patches make by the fixed cabling alone is the topology."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from topodesign.base.errors import FileFormatError, TopologyError
from topodesign.wiring.plan.circuits import circuits, topology_of
from topodesign.wiring.plan.decompose import without_loops
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
    try:
        made = topology_of(circuits(plan), plan)
    except FileFormatError as error:
        raise TopologyError(str(error)) from None
    if made != without_loops(plan.topology):
        raise TopologyError("the cross-connects do not make the links of the topology")
    for connect in plan.connects:
        for node, end in zip(connect.link, (connect.a, connect.b), strict=True):
            key = end.place
            if plan.end[key] != end or plan.hosts[node] != end.host:
                raise TopologyError(f"cable '{connect.cable}' says other lanes or nodes than the fixed cabling")
            if plan.mode == "simplex" and inventory.panel_port[key].mode == "duplex":
                raise TopologyError(f"port '{end.panel_port}' of '{end.panel}' cannot be patched one way")
        if connect.mode != plan.mode:
            raise TopologyError(f"cable '{connect.cable}' is {connect.mode} in a {plan.mode} plan")


def _check_spare(plan: WiringPlan) -> None:
    """Check that a planned cabling leaves as many ports of each panel free as it shall."""
    taken = Counter(fixed.panel for fixed in plan.fixed)
    for panel in () if plan.inventory.cabling else plan.inventory.panels:
        there = sum(
            not port.blocked and (panel.name, port.label) not in plan.inventory.leads_to for port in panel.ports
        )
        if taken[panel.name] and there - taken[panel.name] < panel.spare:
            raise TopologyError(f"panel '{panel.name}' has fewer than {panel.spare} ports left free")


def check_hosts(plan: WiringPlan) -> None:
    """Check that the hosts of a plan are different hosts of the inventory, one a node."""
    if len(plan.hosts) != plan.topology.nodes:
        raise TopologyError(f"there are {len(plan.hosts)} hosts for {plan.topology.nodes} nodes")
    twice = next((host for host, count in Counter(plan.hosts).items() if count > 1), None)
    if twice is not None:
        raise TopologyError(f"every node needs a host of its own; '{twice}' is there twice")
    unknown = next((host for host in plan.hosts if host not in plan.inventory.host), None)
    if unknown is not None:
        raise TopologyError(f"the host '{unknown}' of the plan is not in the inventory")
