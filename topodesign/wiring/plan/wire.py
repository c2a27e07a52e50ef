"""From a topology and an inventory to a wiring plan, from whatever names the two."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.units import Quantity, as_bandwidth, as_time
from topodesign.base.wording import counted
from topodesign.fabrics.boxes import Boxed
from topodesign.fabrics.presets import as_boxed
from topodesign.topology.library import TopologyLike, as_topology
from topodesign.wiring.inventory.devices import MODES, Fixed, Host, Mode, interface_name, lanes_of
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import lanes_by_field, plan_cabling
from topodesign.wiring.plan.joint import in_order_of_need
from topodesign.wiring.plan.placement import place_hosts
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import SECONDS, check_hosts_there, check_speed, connects_of, make_plan
from topodesign.wiring.plan.proof import check_plan


def wire(
    topology: TopologyLike,
    inventory: InventoryLike,
    *,
    mode: Mode | None = None,
    place: bool = False,
    hosts: Sequence[str] | None = None,
    speed: Quantity | None = None,
    idle: bool = False,
    seed: int = 0,
    time_limit: Quantity = SECONDS,
) -> WiringPlan:
    """Plan which patches make a topology.

    Parameters
    ----------
    topology
        A topology without switches, a spec, a path of a file of links, or a networkx graph; or a spec of boxes such as
        ``boxes(dgx_h100,complete(9))``, of which every box is a host and every port of a NIC a lane, in their order.
    inventory
        What there is to wire with, or the path of its file.
    mode
        ``simplex``: the two fibres of a lane are patched separately; ``duplex``: together; None for duplex where the
        topology is.
    place
        Choose which host is which node, to need less fibre.
    hosts
        Name of the host of each node, where that is settled; else the first hosts of the inventory, or others where
        these will not do.
    speed
        Of the lanes to use, where they have several: text such as ``25Gbps``, or bits per second; if None the fastest
        with which there is a plan.
    idle
        Cable hosts that are no nodes, too, where the cabling is planned and panels have room.
    seed
        Of all searches: the same seed gives the same plan.
    time_limit
        Time to search for a plan where the usual ways find none: text such as ``20s``, or seconds.

    Returns
    -------
    WiringPlan
        Proven to make the topology. ``print`` shows a summary, ``bill()`` is what to buy.

    Raises
    ------
    InfeasibleError
        If the inventory does not have what is needed, or no plan was found; the message says what is missing, and
        whether it is proven that there is no plan.
    ParameterError
        If the topology has switches, ``hosts`` are not different hosts of the inventory, or are given beside
        ``place``, or no lane has the speed.
    UnitError
        If the time or the speed is none.
    SpecError, FileFormatError
        If the topology or the inventory cannot be read.

    Examples
    --------
    >>> from topodesign.wiring.inventory.answers import plain_inventory
    >>> plan = wire("circulant(12,2,3)", plain_inventory(12, 4))
    >>> plan
    <WiringPlan: circulant(12,2,3), 12 nodes, duplex: 24 cross-connects>
    >>> print(plan)
    12 nodes, duplex: 24 cross-connects, checked
    panel P0: 48 ports, 48 cabled, 48 patched
    bill of materials:
          72 x LC duplex, 1 m
      72 m of cable in all
    """
    if place and hosts is not None:
        raise ParameterError("hosts are given, so they cannot be placed; leave out one of hosts and place")
    seed = as_integer("seed", seed, 0)
    seconds = float(as_time(time_limit))
    if mode is not None:
        mode = as_choice("mode", mode, MODES)
    rate = None if speed is None else as_bandwidth(speed)
    boxed, room = as_boxed(topology), as_inventory(inventory)
    if boxed is not None:
        if place:
            raise ParameterError("hosts of boxes are taken in order; leave --place out, or say which host is which box")
        return wire_boxes(boxed, room, mode=mode, hosts=hosts, speed=rate, idle=idle)
    wanted = as_topology(topology)
    if place:
        return place_hosts(wanted, room, mode=mode, speed=rate, idle=idle, seed=seed, seconds=seconds)
    return make_plan(wanted, room, mode=mode, hosts=hosts, speed=rate, idle=idle, seed=seed, seconds=seconds)


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

    Which NIC has which cable is settled by the spec: port p of NIC i, split into s ports, is lane ``i s + p`` of its
    host, from 0, in the order of the host's ports. So nothing is left to choose but panel ports.
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
