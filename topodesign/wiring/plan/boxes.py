"""Wiring of boxes of accelerators: every box a host, every port of a NIC a lane, and nothing inside to be cabled.

Which NIC has which cable is settled by the spec of the boxes (:mod:`topodesign.fabrics.boxes`), so that nothing is left
to choose but panel ports: port p of NIC i, split into s ports, is lane ``i s + p`` of its host, from 0, in the order of
the host's ports. So a port of the inventory is a NIC, if it has as many lanes as a NIC has ports.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.base.wording import counted
from topodesign.fabrics.boxes import Boxed
from topodesign.wiring.inventory.devices import Fixed, Host, Mode, interface_name, lanes_of
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import lanes_by_field, plan_cabling
from topodesign.wiring.plan.joint import in_order_of_need
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import check_hosts_there, check_speed, connects_of
from topodesign.wiring.plan.proof import check_plan


def wire_boxes(
    boxed: Boxed,
    inventory: Inventory,
    *,
    mode: Mode | None = None,
    hosts: Sequence[str] | None = None,
    speed: Fraction | None = None,
    idle: bool = False,
) -> WiringPlan:
    """Return the plan, checked, whose topology is the graph of boxes.

    Parameters are those of :func:`~topodesign.wiring.plan.wire.wire`; without a speed lanes are as fast as ports of
    NICs, where the inventory has several speeds.
    """
    graph, wiring, box, split = boxed.graph, boxed.wiring, boxed.box, boxed.split
    if inventory.two_sided:
        raise InfeasibleError("boxes are not wired over switches with two sides; plan the graph of boxes alone")
    check_hosts_there(graph, inventory, hosts)
    if speed is None and len(inventory.speeds) > 1:
        speed = 8 * box.nics[wiring.nic[0]][1] / split
    if speed is not None:
        check_speed(inventory, speed)
        inventory = inventory.at_speed(speed)
    sends = zip(wiring.box, wiring.nic, wiring.part, strict=True)
    hears = zip(wiring.to, wiring.at, wiring.at_part, strict=True)
    ends = [tuple((at, nic * split + part) for at, nic, part in both) for both in zip(sends, hears, strict=True)]
    paired = {(b, a) for a, b in ends} == set(ends)
    if mode == "duplex" and not paired:
        raise InfeasibleError("the two directions of a NIC go to different boxes here; take --mode simplex")
    mode = mode or ("duplex" if paired else "simplex")
    needed = np.zeros(graph.nodes, dtype=np.int64)
    for at, lane in itertools.chain.from_iterable(ends):
        needed[at] = max(needed[at], lane + 1)
    names = tuple(hosts or in_order_of_need(needed, {host.name: host.lanes for host in inventory.hosts}))
    fixed = inventory.cabling or plan_cabling(inventory, names, needed.tolist(), mode, idle=idle)
    if fixed is None:
        raise InfeasibleError("panels have no room for cabling that is alike for all boxes; say how hosts are cabled")
    groups = lanes_by_field(inventory, fixed, mode)
    there = {(one.host, one.port, one.lane): (one, field) for (_, field), some in groups.items() for one in some}
    patches = []
    for a, b in ends:
        if mode == "simplex" or a < b:
            one, other = (_end(inventory.host[names[at]], lane, there, boxed, mode) for at, lane in (a, b))
            if one[1] != other[1]:
                raise InfeasibleError(
                    f"a cable goes from {_called(one[0])} to {_called(other[0])}, which are cabled to panels of the "
                    f"fields '{one[1]}' and '{other[1]}'; cable them to one, or exchange NICs of these boxes"
                )
            patches.append((a[0], b[0], one[0], other[0]))
    plan = WiringPlan(inventory, graph, names, mode, connects_of(inventory, mode, patches), tuple(fixed))
    check_plan(plan)
    return plan


def _end(
    host: Host, lane: int, there: Mapping[tuple[str, str, int], tuple[Fixed, str]], boxed: Boxed, mode: Mode
) -> tuple[Fixed, str]:
    """Return the panel port behind a lane of a host, and its field."""
    ways = list(lanes_of(host))
    if lane >= len(ways):
        words = f"NIC {lane // boxed.split} of {boxed.box.name}"
        raise InfeasibleError(f"host '{host.name}' has {counted(len(ways), 'lane')}, and {words} is lane {lane + 1}")
    port, number = ways[lane]
    found = there.get((host.name, port.name, number))
    if found is None:
        at = interface_name(port.name, number, port.lanes)
        raise InfeasibleError(f"'{at}' of host '{host.name}' is cabled to no panel port that a {mode} plan can use")
    return found


def _called(end: Fixed) -> str:
    return f"'{end.port}' of '{end.host}'"
