"""Wiring of a topology, and placement of its hosts.

The cords of a patch field run between the panels that the hosts are cabled to, so that neighbours in the topology had
better be neighbours in the room: a quadratic assignment problem (Koopmans and Beckmann 1957). Small ones start from
what a solver guesses, and all are improved by exchanging two hosts as long as that helps. Where all hosts of a
field share a panel, every order needs the same fibre.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.units import Quantity, as_bandwidth, as_time
from topodesign.base.wording import count_noun
from topodesign.fabrics.boxes import BoxSpec
from topodesign.fabrics.places import as_topology
from topodesign.fabrics.presets import as_boxed
from topodesign.solve.whole import guess_places
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import MODES, Fixed, Host, Mode, interface_name, lanes_of
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.inventory.inventory import FIXED, PATCH, CableType, Inventory, length, racks_without_place
from topodesign.wiring.plan.cabling import lanes_by_field, nearest_port, plan_cabling, reaches
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.joint import in_order_of_need
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import SECONDS, check_hosts_there, check_speed, connects_of, make_plan
from topodesign.wiring.plan.proof import check_plan


def plan_wiring(
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
    """Plan the patches that create a topology.

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
    >>> plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4))
    >>> plan
    <WiringPlan: circulant(12,2,3), 12 nodes, duplex: 24 cross-connects>
    >>> print(plan)
    circulant(12,2,3): 12 nodes, duplex, 24 cross-connects, checked
    panel P0: 48 ports, 48 cabled, 48 patched
    bill of materials:
          48 x LC duplex fixed cable, 1 m
          24 x LC duplex patch cord, 1 m
      72 m of cable in all
    """
    if place and hosts is not None:
        raise ParameterError("place cannot be combined with hosts; remove one")
    seed = as_integer("seed", seed, 0)
    seconds = float(as_time(time_limit))
    if mode is not None:
        mode = as_choice("mode", mode, MODES)
    rate = None if speed is None else as_bandwidth(speed)
    boxed, room = as_boxed(topology), as_inventory(inventory)
    if boxed is not None:
        if place:
            raise ParameterError(
                "--place cannot be combined with boxes, whose hosts are taken in order; "
                "remove it, or specify which host is which box"
            )
        return wire_boxes(boxed, room, mode=mode, hosts=hosts, speed=rate, idle=idle)
    wanted = as_topology(topology)
    if place:
        return place_hosts(wanted, room, mode=mode, speed=rate, idle=idle, seed=seed, seconds=seconds)
    return make_plan(wanted, room, mode=mode, hosts=hosts, speed=rate, idle=idle, seed=seed, seconds=seconds)


def wire_boxes(
    boxed: BoxSpec,
    inventory: Inventory,
    *,
    mode: Mode | None = None,
    hosts: Sequence[str] | None = None,
    speed: Fraction | None = None,
    idle: bool = False,
) -> WiringPlan:
    """Return the checked plan of a graph of boxes.

    Which NIC has which cable is settled by the spec: port p of NIC i, split into s ports, is lane ``i s + p`` of its
    host, from 0, in the order of the host's ports. So nothing is left to choose but panel ports.
    Parameters are those of :func:`plan_wiring`; without a speed lanes are as
    fast as ports of NICs, where the inventory has several speeds.
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
        raise InfeasibleError("the two directions of a NIC go to different boxes here; use --simplex")
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
                    f"a cable goes from {_name_end(one[0])} to {_name_end(other[0])}, which are cabled to panels of "
                    f"the fields '{one[1]}' and '{other[1]}'; cable them to one, or exchange NICs of these boxes"
                )
            patches.append((one[0], other[0]))
    plan = WiringPlan(inventory, graph, names, mode, connects_of(inventory, mode, patches), tuple(fixed))
    check_plan(plan)
    return plan


def _end(
    host: Host, lane: int, there: Mapping[tuple[str, str, int], tuple[Fixed, str]], boxed: BoxSpec, mode: Mode
) -> tuple[Fixed, str]:
    """Return the panel port and group behind a lane."""
    ways = list(lanes_of(host))
    if lane >= len(ways):
        words = f"NIC {lane // boxed.split} of {boxed.box.name}"
        raise InfeasibleError(f"host '{host.name}' has {count_noun(len(ways), 'lane')}, and {words} is lane {lane + 1}")
    port, number = ways[lane]
    found = there.get((host.name, port.name, number))
    if found is None:
        at = interface_name(port.name, number, port.lanes)
        raise InfeasibleError(f"'{at}' of host '{host.name}' is cabled to no panel port that a {mode} plan can use")
    return found


def _name_end(end: Fixed) -> str:
    return f"'{end.port}' of '{end.host}'"


_SMALL = 256  # hosts up to which the solver's guess is quick
_RANDOM_STARTS = 3
_MAX_SWEEPS = 50
_MOMENT = 1.0  # seconds to search for a plan in another order of hosts
_FAR = 10**9  # millimetres; for what no cable reaches


def place_hosts(
    topology: Topology,
    inventory: Inventory,
    *,
    mode: Mode | None = None,
    speed: Fraction | None = None,
    idle: bool = False,
    seed: int = 0,
    seconds: float = SECONDS,
) -> WiringPlan:
    """Plan a wiring with little fibre by choosing the hosts.

    It never needs more metres of cable than in the order of the inventory.
    """
    plain = make_plan(topology, inventory, mode=mode, speed=speed, idle=idle, seed=seed, seconds=seconds)
    inventory = plain.inventory
    best, least = plain, plain.bill().metres
    if least is None:
        lacking = "".join(f"; no coordinates of rack {rack}" for rack in racks_without_place(inventory)[:1])
        raise InfeasibleError(f"hosts cannot be placed: the length of some cables is unknown{lacking}")
    problem = _problem(plain)
    everyone = {fixed.host for fixed in plain.fixed} == inventory.host.keys()
    cabled = replace(inventory, cabling=plain.fixed) if everyone else inventory  # then it is the same for all orders
    rng = np.random.default_rng(seed)
    for spots in _starts(problem, rng) if problem.depends_on_order else ():
        _exchange(problem, spots, rng)
        names = tuple(inventory.hosts[spot].name for spot in spots[: topology.nodes])
        try:
            found = make_plan(topology, cabled, mode=plain.mode, hosts=names, idle=idle, seed=seed, seconds=_MOMENT)
            found = replace(found, inventory=inventory)
            needed = found.bill().metres
        except InfeasibleError:  # other hosts may have too few lanes, or stand too far away
            continue
        if needed is not None and needed < least:
            best, least = found, needed
    return best


@dataclass(frozen=True)
class _Problem:
    """Placement of nodes on spots with minimum cord length.

    It only proposes orders, whose bills are then compared exactly; so it counts in whole millimetres.

    ``cords``: number of cords between two nodes: a symmetric sparse matrix, with rows without any for spots left empty.
    ``between``: millimetres of a cord between two spots (hosts), a symmetric matrix. ``at``: millimetres of the fixed
    cables of a spot that are only bought if it is taken, as a node in each row: zeros for nodes that are none.
    """

    cords: Any
    between: IntArray
    at: IntArray

    @property
    def depends_on_order(self) -> bool:
        """Whether another order can need less cable."""
        return len(np.unique(self.between)) > 1 or len(np.unique(self.at)) > 1


def _problem(plan: WiringPlan) -> _Problem:
    from scipy.sparse import csr_array  # noqa: PLC0415  heavy

    inventory, topology = plan.inventory, without_loops(plan.topology)
    spots = len(inventory.hosts)
    cords = csr_array((topology.capacity, (topology.src, topology.dst)), shape=(spots, spots))
    cords = cords if plan.mode == "duplex" else cords + cords.T
    groups = lanes_by_field(inventory, plan.fixed, plan.mode)
    between = np.zeros((spots, spots), dtype=np.int64)
    homes = []
    for field in dict.fromkeys(zone.field for zone in inventory.zones):
        panels = inventory.fields[field]
        home = [_home(inventory, host, field, groups) for host in inventory.hosts]
        homes.append([inventory.near_panel(key) for key in home])
        number = {panel.name: row for row, panel in enumerate(panels)}
        at_panel = np.array([number[panel] for panel, _ in home])
        lanes = max((len(group) for (_, name), group in groups.items() if name == field), default=0)
        if panels[0].kind != "ocs":
            kind = PATCH[plan.mode]
            table = np.array([[_millimetres(inventory, a.name, b.name, kind) for b in panels] for a in panels])
            between += lanes * table[at_panel][:, at_panel]
    at = np.zeros((spots, spots), dtype=np.int64)
    if not inventory.cabling and {fixed.host for fixed in plan.fixed} != inventory.host.keys():
        at[: topology.nodes] = [
            _measure_fixed(inventory, host, [home[row] for home in homes]) for row, host in enumerate(inventory.hosts)
        ]
    return _Problem(cords, between, at)


def _measure_fixed(inventory: Inventory, host: Host, panels: list[str]) -> int:
    """Return a host's fixed cable millimetres, reaching all its panels."""
    kinds = [FIXED[port.connector] for port in host.ports]
    return sum(max(_millimetres(inventory, host.name, panel, kind) for panel in panels) for kind in kinds)


def _home(inventory: Inventory, host: Host, field: str, groups: dict[tuple[str, str], list[Fixed]]) -> tuple[str, str]:
    """Return a host's port in a panel group, or nearest."""
    lanes = groups.get((host.name, field))
    if lanes:
        return lanes[0].place
    ports = [
        key for zone, some in inventory.zones.items() if zone.field == field and reaches(host, zone) for key in some
    ]
    ports = ports or [key for zone, some in inventory.zones.items() if zone.field == field for key in some]
    return nearest_port(inventory, host, ports)


def _millimetres(inventory: Inventory, a: str, b: str, kind: CableType) -> int:
    try:
        metres = length(inventory, a, b, kind)
    except InfeasibleError:
        metres = None
    return _FAR if metres is None else min(round(metres * 1000), _FAR)


def _starts(problem: _Problem, rng: np.random.Generator) -> Iterator[IntArray]:
    """Yield initial orders: identity, bandwidth-reduced, solver guess and random."""
    from scipy.sparse.csgraph import reverse_cuthill_mckee  # noqa: PLC0415  heavy

    spots = len(problem.between)
    yield np.arange(spots)
    yield np.argsort(reverse_cuthill_mckee(problem.cords, symmetric_mode=True)).astype(np.int64)
    if spots <= _SMALL:
        yield guess_places(problem.cords.toarray(), problem.between, rng)
    for _ in range(_RANDOM_STARTS):
        yield rng.permutation(spots)


def _exchange(problem: _Problem, spots: IntArray, rng: np.random.Generator) -> None:
    """Exchange the spots of nodes in place while that helps."""
    cords, between = problem.cords, problem.between
    # cost of each node at each spot, the others staying where they are
    cost = cords @ between[spots] + problem.at
    own = np.diag(between)
    everyone = np.arange(len(spots))
    for _ in range(_MAX_SWEEPS):
        better = False
        for i in rng.permutation(len(spots)):
            a = spots[i]
            gain = cost[i, spots] - cost[i, a] + cost[:, a] - cost[everyone, spots]
            near, count = _row(cords, i)
            b = spots[near]
            gain[near] += count * (2 * between[a, b] - own[a] - own[b])  # the cords between the two stay as they are
            j = int(np.argmin(gain))
            if gain[j] < 0:
                better = True
                for node, old, new in ((i, a, spots[j]), (j, spots[j], a)):
                    near, count = _row(cords, node)
                    cost[near] += np.outer(count, between[new] - between[old])
                spots[i], spots[j] = spots[j], a
        if not better:
            return


def _row(cords: Any, node: int) -> tuple[IntArray, IntArray]:
    """Return a node's neighbours and cords to each."""
    begin, end = cords.indptr[node], cords.indptr[node + 1]
    return cords.indices[begin:end], cords.data[begin:end]
