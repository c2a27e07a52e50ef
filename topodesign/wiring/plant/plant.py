"""Installation: lanes of hosts at panel groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.claims import PROVEN_NONE
from topodesign.base.errors import InfeasibleError
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.inventory.devices import Fixed, Mode, Zone
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cabling import assign_lanes, lanes_by_field, plan_cabling, reaches, spread_lanes, usable
from topodesign.wiring.plan.decompose import two_sides, unit_edges, without_loops
from topodesign.wiring.plan.joint import Choice
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import lanes_needed, plan_of


@dataclass(frozen=True)
class Plant:
    """Hosts with lanes at panel groups.

    * ``fixed``: the fixed cabling: that of the inventory, or one that spreads the lanes over what hosts reach.
    """

    inventory: Inventory  # what there is, with lanes of one speed
    hosts: tuple[str, ...]  # those that are nodes, node by node
    fixed: tuple[Fixed, ...]
    mode: Mode  # whether the two fibres of a lane are patched apart
    lanes: IntArray  # lanes that each node may use at each field, shape ``(nodes, fields)``
    degree: int  # d, lanes of the node that has most
    whole: bool  # whether these are all hosts with all of their lanes

    @property
    def nodes(self) -> int:
        """Number of nodes N."""
        return len(self.hosts)

    @property
    def duplex(self) -> bool:
        """Whether a link and its reverse are patched together."""
        return self.mode == "duplex"

    @cached_property
    def classes(self) -> tuple[IntArray, ...]:
        """Nodes grouped by equal lanes at every panel group."""
        _, first, kind = np.unique(self.lanes, axis=0, return_index=True, return_inverse=True)
        return tuple(np.flatnonzero(kind.ravel() == one) for one in np.argsort(first, kind="stable"))


@dataclass(frozen=True)
class PlantTopology:
    """Topology made for an installation."""

    topology: Topology  # with a self-loop for every lane that stays dark
    src: IntArray  # where its links begin, of opposite ones one, without self-loops
    dst: IntArray  # where they end
    part: IntArray  # the field that each is on
    order: IntArray  # the node of the plant that each node of the topology is


def make_topology(plant: Plant, src: IntArray, dst: IntArray, part: IntArray) -> PlantTopology:
    """Build a topology from links, with self-loops for spare ports.

    Each node has d ports.
    """
    nodes, everyone = plant.nodes, np.arange(plant.nodes)
    ends = (np.concatenate((src, dst)), np.concatenate((dst, src))) if plant.duplex else (src, dst)
    used = np.maximum(*(np.bincount(side, minlength=nodes) for side in ends))
    loops = np.repeat(everyone, plant.degree - used)
    topology = Topology.from_arrays(nodes, np.concatenate((ends[0], loops)), np.concatenate((ends[1], loops)))
    heads = np.repeat(topology.dst, topology.capacity)
    spec = Spec("successors", (plant.degree, *heads.tolist()))
    return PlantTopology(
        replace(topology, spec=spec if len(str(spec)) <= LONGEST_SPEC else None), src, dst, part, everyone
    )


def plan_made(plant: Plant, made: PlantTopology) -> WiringPlan:
    """Return the checked plan of a made topology."""
    names = tuple(plant.hosts[node] for node in made.order.tolist())
    return plan_of(
        made.topology, plant.inventory, plant.mode, Choice(names, plant.fixed, made.src, made.dst, made.part)
    )


def plant_of(inventory: Inventory, nodes: int | None, degree: int | None, mode: Mode) -> Plant:
    """Return the installation of an inventory.

    Without ``nodes``, all hosts are nodes; without ``degree``, all lanes count.

    Lanes have the fastest speed. Hosts with most lanes are the nodes, the first ones of the inventory. Cabling that is
    to be planned is alike for all hosts where that can be, else each has as many lanes as there is room for at those
    fields that most hosts reach, and the rest at its own.
    """
    room = inventory.at_speed(inventory.speeds[0]) if len(inventory.speeds) > 1 else inventory
    if not room.speeds:
        raise InfeasibleError("no host has a lane")
    if nodes is not None and nodes > len(room.hosts):
        raise InfeasibleError(f"{nodes} nodes do not fit on {len(room.hosts)} hosts")
    if room.cabling:
        groups = lanes_by_field(room, room.cabling, mode)
        have = {name: sum(len(groups.get((name, field), ())) for field in room.fields) for name in room.host}
        hosts = _with_most(have, nodes)
        fixed = room.cabling
    else:
        hosts = _with_most({host.name: host.lanes for host in room.hosts}, nodes)
        most = min(room.host[name].lanes for name in hosts)
        fixed = _cabling(room, hosts, most if degree is None else min(degree, most), mode)
        groups = lanes_by_field(room, fixed, mode)
    lanes = np.array([[len(groups.get((name, field), ())) for field in room.fields] for name in hosts], dtype=np.int64)
    cabled = int(lanes.sum())
    if degree is not None:
        widest = int(lanes.sum(axis=1).max(initial=0))
        if degree > widest:
            raise InfeasibleError(f"no host has {degree} lanes for as many links; the most is {widest}")
        lanes = _thin_lanes(lanes, degree)
    there = lanes.any(axis=0)
    if not there.any():
        raise InfeasibleError(f"no lane is cabled to a panel port that a {mode} plan can use")
    whole = cabled == lanes.sum() and len(hosts) == len(room.hosts)
    return Plant(room, hosts, tuple(fixed), mode, lanes, int(lanes.sum(axis=1).max()), whole)


def _with_most(have: dict[str, int], nodes: int | None) -> tuple[str, ...]:
    """Return the hosts with most lanes, in inventory order."""
    if nodes is None:
        return tuple(have)
    chosen = set(sorted(have, key=lambda name: -have[name])[:nodes])
    return tuple(name for name in have if name in chosen)


def _thin_lanes(lanes: IntArray, degree: int) -> IntArray:
    """Return lanes reduced to a degree limit."""
    lanes = lanes.copy()
    while len(over := np.flatnonzero(lanes.sum(axis=1) > degree)):
        last = lanes.shape[1] - 1 - np.argmax(lanes[over, ::-1], axis=1)
        lanes[over, last] -= 1
    return lanes


def _cabling(room: Inventory, hosts: Sequence[str], most: int, mode: Mode) -> tuple[Fixed, ...]:
    """Plan cabling with the wanted lanes, or as many as fit."""
    try:
        alike = plan_cabling(room, hosts, [most] * len(hosts), mode)
    except InfeasibleError:
        alike = None
    if alike is not None:
        return alike
    ports = {zone: len(some) for zone, some in usable(room, mode).items()}
    near = {zone: sum(reaches(room.host[name], zone) for name in hosts) for zone in ports}
    wide = {field: sum(near[zone] for zone in ports if zone.field == field) for field in room.fields}
    zones: dict[str, list[Zone]] = {}
    for name in hosts:
        mine = [zone for zone in ports if near[zone] and reaches(room.host[name], zone)]
        left, chosen = most, list[Zone]()
        for width in sorted({wide[zone.field] for zone in mine}, reverse=True):
            share = {zone: ports[zone] // near[zone] for zone in mine if wide[zone.field] == width}
            taken = spread_lanes(min(left, sum(share.values())), share, mode) or []
            chosen += taken
            left -= len(taken)
        zones[name] = chosen
    return tuple(assign_lanes(room, zones, mode))


def explain_no_plan(topology: Topology, plant: Plant, exchange: Callable[[], Fraction | None]) -> str | None:
    """Return why a topology has no plan, or None.

    None if no count proves it.

    * *Degree*: a node has more links than any host has lanes.
    * *Edge colours*: with one lane a host at each of k fields, a duplex topology needs a proper colouring of its edges
      by k colours. Of n nodes no field joins more than floor(n/2) pairs, and two colours have no odd cycle (König).
    * *Pods*: hosts that share fields which others do not reach have so many lanes that lead beyond. If all-to-all is
      known to take y, a flow puts y*N/d on a link at most, and the m(N-m) shards that leave m nodes need m(N-m)*d/(y*N)
      links, whichever nodes these are.

    ``exchange`` returns the bandwidth factor of a known way to do all-to-all, or None.
    """
    needed = np.sort(lanes_needed(topology))[::-1]
    have = np.sort(plant.lanes.sum(axis=1))[::-1]
    if len(needed) > len(have):
        return f"{len(needed)} nodes do not fit on {len(have)} hosts"
    short = np.flatnonzero(needed > have[: len(needed)])
    if len(short):
        most = int(needed[short[0]])
        there = f"{np.sum(needed >= most)} nodes have {most} or more links, {np.sum(have >= most)} hosts so many lanes"
        return f"degree: {there} ({PROVEN_NONE})"
    if plant.duplex and not topology.is_duplex:
        return "some links have no reverse, and these panels join both ways together"
    reason = _colours(topology, plant) or _pods(topology, plant, exchange)
    return None if reason is None else f"{reason} ({PROVEN_NONE})"


def _colours(topology: Topology, plant: Plant) -> str | None:
    """Return why one lane per panel group is too few."""
    if not plant.duplex or plant.inventory.two_sided:  # where Euler tours turn links, so that matchings are no limit
        return None
    pairs = len(unit_edges(topology)[0])
    fields = int(np.count_nonzero(plant.lanes.any(axis=0)))
    most = int((plant.lanes.sum(axis=0) // 2).sum())
    if pairs > most:
        return f"edge colours: {fields} fields join {most} pairs of lanes, the topology has {pairs}"
    if fields <= 2 and plant.lanes.max() == 1 and two_sides(without_loops(topology)) is None:
        return f"edge colours: the topology has an odd cycle, and {fields} matchings have none"
    return None


def _pods(topology: Topology, plant: Plant, exchange: Callable[[], Fraction | None]) -> str | None:
    """Return why too few lanes leave a pod."""
    users = np.unique(plant.lanes.T > 0, axis=0)
    pods = [some for some in users if 0 < some.sum() < plant.nodes]
    if not pods or topology.nodes < plant.nodes:
        return None
    factor = exchange()
    if factor is None:
        return None
    for pod in pods:
        beyond = [field for field, there in enumerate(plant.lanes.T > 0) if np.any(there & ~pod)]
        lanes, size = int(plant.lanes[pod][:, beyond].sum()), int(pod.sum())
        least = size * (topology.nodes - size) * topology.degree / (factor * topology.nodes)
        if lanes < least:
            words = f"pods: {lanes} lanes lead out of {size} hosts, and any {size} nodes"
            return f"{words} have {-(-least // 1)} links or more to the others"
    return None
