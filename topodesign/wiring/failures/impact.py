"""What a dead port, cable or host leaves of a fabric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared
from topodesign.base.errors import DisconnectedError, ParameterError
from topodesign.pricing.closed_form import price
from topodesign.topology.automorphisms import Links
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.patches import wired_topology
from topodesign.wiring.change.strength import Strength, strength
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.plan import WiringPlan

FailureKind = Literal["host", "port", "panel port", "cable"]
KINDS: tuple[FailureKind, ...] = ("host", "port", "panel port", "cable")


@dataclass(frozen=True)
class Failure(Declared):
    """Something that is dead."""

    kind: FailureKind  # what it is: a host, a port of a host with all its lanes, a port of a panel, or a patch
    device: str  # the host or the panel; empty of a cable
    name: str  # the port, or the cable; empty of a host

    KEYS = "kind device name"
    SHARED = "failure"

    def __str__(self) -> str:
        return " ".join(word for word in (self.kind, self.device, self.name) if word)


@dataclass(frozen=True)
class State:
    """What the links that are left can do.

    ``cost``: steps of the re-made SPFF schedule and the bandwidth factor of the dearer collective, for the bandwidth
    that a node had before; None if some host cannot reach some other.
    """

    topology: Topology | None  # they, between the hosts that are left; None if there are fewer than two
    hosts: tuple[str, ...]  # those that still have links in and out
    cost: Cost | None


@dataclass(frozen=True)
class Impact:
    """What a failure does."""

    failure: Failure  # what is dead
    lost: tuple[CrossConnect, ...]  # the patches that are of no use now
    state: State  # what is left


def losses(plan: WiringPlan, kinds: Sequence[FailureKind] = KINDS) -> dict[Failure, list[CrossConnect]]:
    """Return every single failure that loses a patch, with the patches lost, by kind and in the order of these."""
    lost: dict[Failure, list[CrossConnect]] = {}
    for kind in kinds:
        for connect in plan.connects:
            for end in (connect.a, connect.b) if kind != "cable" else (connect.a,):
                device, name = {
                    "host": (end.host, ""),
                    "port": end.socket,
                    "panel port": end.place,
                    "cable": ("", connect.cable),
                }[kind]
                lost.setdefault(Failure(kind, device, name), []).append(connect)
    return lost


def impact(plan: WiringPlan, failure: Failure) -> Impact:
    """Return what a failure leaves."""
    lost, left = lost_and_left(plan, failure)
    return Impact(failure, tuple(lost), state_of(plan, left))


def intact(plan: WiringPlan) -> State:
    """Return what the plan can do as it is."""
    return state_of(plan, plan.connects)


def state_strength(plan: WiringPlan, state: State) -> Strength:
    """Return connectivity and the best throughput of any schedule for a state."""
    if state.topology is None:
        return Strength(0, 0, None, None)
    return strength(state.topology, plan.speed)


def lost_and_left(plan: WiringPlan, failure: Failure) -> tuple[list[CrossConnect], list[CrossConnect]]:
    """Return the patches that are of no use after a failure, and the others."""
    known = {
        "host": failure.device in plan.node,
        "port": (failure.device, failure.name) in plan.inventory.port,
        "panel port": (failure.device, failure.name) in plan.inventory.panel_port,
        "cable": any(connect.cable == failure.name for connect in plan.connects),
    }
    if not known[failure.kind]:
        raise ParameterError(f"the plan has no {failure}")
    found: tuple[list[CrossConnect], list[CrossConnect]] = ([], [])
    for connect in plan.connects:
        dead = failure == Failure("cable", "", connect.cable) or kills(failure, connect.a) or kills(failure, connect.b)
        found[0 if dead else 1].append(connect)
    return found


def kills(failure: Failure, end: End | Fixed) -> bool:
    """Return whether a lane, or the panel port it is cabled to, is dead."""
    here = {"host": (end.host, ""), "port": end.socket, "panel port": end.place}
    return here.get(failure.kind) == (failure.device, failure.name)


def state_of(plan: WiringPlan, connects: Iterable[CrossConnect]) -> State:
    """Return what patches between the hosts of a plan can do."""
    topology, nodes = linked_part(wired_topology(plan.hosts, connects))
    hosts = tuple(plan.hosts[node] for node in nodes.tolist())
    if topology is None:
        return State(None, hosts, None)
    return State(topology, hosts, dearer(topology, without_loops(plan.topology).degree))


def linked_part(topology: Topology) -> tuple[Topology | None, IntArray]:
    """Return the links among nodes that have links in and out to others of them, and these nodes; None if below two."""
    linked = np.ones(topology.nodes, dtype=np.bool_)
    while True:
        inside = linked[topology.src] & linked[topology.dst]
        sends, hears = (np.bincount(end[inside], minlength=topology.nodes) > 0 for end in (topology.src, topology.dst))
        if np.array_equal(sends & hears, linked):
            break
        linked = sends & hears
    nodes = np.flatnonzero(linked)
    if len(nodes) < 2:
        return None, nodes
    number = np.cumsum(linked) - 1
    src, dst = number[topology.src[inside]], number[topology.dst[inside]]
    return Topology.from_arrays(len(nodes), src, dst, topology.capacity[inside]), nodes


def dearer(topology: Topology, degree: int) -> Cost | None:
    """Return the cost of the dearer collective for nodes with the bandwidth of so many links; None if there is none."""
    ways = (topology,) if topology.is_duplex else (topology, topology.transpose())
    try:
        costs = [price(way) for way in ways]
    except DisconnectedError:
        return None
    return Cost(costs[0].steps, max(cost.bandwidth for cost in costs) * Fraction(degree, topology.degree))


def order_key(hosts: int, cost: Cost | None, patches: int) -> tuple[bool, int, int, Fraction, int]:
    """Return what to compare by, the better first: all reach each other, more hosts, fewer steps, then less y."""
    if cost is None:
        return True, -hosts, 0, Fraction(0), patches
    return False, -hosts, cost.steps, cost.bandwidth, patches


def links_of(plan: WiringPlan, connects: Iterable[CrossConnect]) -> Links:
    """Return the links that patches make."""
    return tuple((plan.node[a.host], plan.node[b.host]) for connect in connects for a, b in connect.ways)
