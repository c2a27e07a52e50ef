"""From a topology and an inventory to a wiring plan, from whatever names the two."""

from __future__ import annotations

from collections.abc import Sequence

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import ParameterError
from topodesign.base.units import Quantity, as_bandwidth, as_time
from topodesign.fabrics.presets import as_boxed
from topodesign.topology.library import TopologyLike, as_topology
from topodesign.wiring.inventory.devices import MODES, Mode
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.plan.boxes import wire_boxes
from topodesign.wiring.plan.placement import place_hosts
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import SECONDS, make_plan


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
