"""Failure effects, and repairs with spare lanes or idle fibres."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.errors import DisconnectedError, InfeasibleError, ParameterError
from topodesign.base.units import format_factor
from topodesign.pricing.closed_form import price
from topodesign.topology.automorphisms import Links
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.patches import Change, Pair, make_topology
from topodesign.wiring.change.strength import Strength, find_linked, strength
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.net import Lead
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan

FailureKind = Literal["host", "port", "panel port", "cable"]
KINDS: tuple[FailureKind, ...] = ("host", "port", "panel port", "cable")


@dataclass(frozen=True)
class Failure(Declared):
    """Failed host, port, panel port or cable."""

    kind: FailureKind  # what it is: a host, a port of a host with all its lanes, a port of a panel, or a cable
    device: str  # the host or the panel; empty of a cable
    name: str  # the port, or the cable; empty of a host

    KEYS = "kind device name"
    SHARED = "failure"

    def __str__(self) -> str:
        return " ".join(word for word in (self.kind, self.device, self.name) if word)


@dataclass(frozen=True)
class State(Declared):
    """Fabric state: links, hosts, schedule cost and optional strength.

    ``cost``: steps of the re-made SPFF schedule and the bandwidth factor of the dearer collective, for the bandwidth
    that a node had before; None if some host cannot reach some other.
    """

    topology: Topology | None  # links between the hosts that are left; None if there are fewer than two
    hosts: tuple[str, ...]  # those that still have links in and out
    cost: Cost | None
    strength: Strength | None = None  # what links are left; null where --no-throughput omits it

    KEYS = (
        key("hosts=len(hosts)", "Hosts that take part."),
        key("steps=cost.steps", "Communication steps; null where the rest does not hang together."),
        key("bandwidth=cost.bandwidth", "Bandwidth factor, in parts of what a host had before; null as above."),
        "figures=strength",
    )
    SHARED = "rest"

    def __str__(self) -> str:
        words = [f"{len(self.hosts)} hosts"]
        if self.cost is None:
            words.append("not connected")
        else:
            words.append(f"{self.cost.steps} steps, {format_factor(self.cost.bandwidth)}")
            words += [str(self.strength)] if self.strength is not None else []
        return ", ".join(words)

    def with_strength(self, speed: Fraction) -> State:
        """Return the state with connectivity and best throughput.

        Throughput is the best of any schedule, for links of the given speed.
        """
        none = Strength(0, 0, None, None)
        return replace(self, strength=none if self.topology is None else strength(self.topology, speed))


def failures_of(lead: Lead) -> dict[FailureKind, list[tuple[str, str]]]:
    """Return the failures that break a lead, by kind.

    Each is a pair of device and name.
    """
    return {
        "host": [(lead.end.host, "")],
        "port": [lead.end.socket],
        "panel port": [*lead.places],
        "cable": [("", name) for wire in lead.wires for name in (wire.name, wire.breakout) if name is not None],
    }


def losses(plan: WiringPlan, kinds: Sequence[FailureKind] = KINDS) -> dict[Failure, list[CrossConnect]]:
    """Return the patches lost to every single failure, by kind.

    Failures that lose no patch are omitted. Within a kind, the order is that of the patches.
    """
    lost: dict[Failure, list[CrossConnect]] = {}
    for kind in kinds:
        for connect, path in zip(plan.connects, plan.net.paths, strict=True):
            for lead in (path.sender, path.receiver):
                for device, name in failures_of(lead)[kind] if kind != "cable" else [("", connect.cable)]:
                    some = lost.setdefault(Failure(kind, device, name), [])
                    if connect not in some[-1:]:
                        some.append(connect)
    return lost


def split_lost(plan: WiringPlan, failure: Failure) -> tuple[list[CrossConnect], list[CrossConnect]]:
    """Return the patches lost to a failure, and the others."""
    known = {
        "host": failure.device in plan.node,
        "port": (failure.device, failure.name) in plan.inventory.port,
        "panel port": (failure.device, failure.name) in plan.inventory.panel_port,
        "cable": any(failure.name in {wire.name, wire.breakout} for wire in plan.net.wires),
    }
    if not known[failure.kind]:
        raise ParameterError(f"the plan has no {failure}")
    dead = dead_ends(plan, failure)
    found: tuple[list[CrossConnect], list[CrossConnect]] = ([], [])
    for connect in plan.connects:
        lost = failure == Failure("cable", "", connect.cable) or not dead.isdisjoint((connect.a, connect.b))
        found[0 if lost else 1].append(connect)
    return found


def dead_ends(plan: WiringPlan, failure: Failure) -> frozenset[End]:
    """Return the lanes whose lead a failure breaks."""
    what = failure.device, failure.name
    return frozenset(lead.end for lead in plan.net.leads.values() if what in failures_of(lead)[failure.kind])


def state_of(plan: WiringPlan, connects: Iterable[CrossConnect]) -> State:
    """Return the fabric state for the given patches."""
    topology, nodes = find_linked_part(make_topology(plan.hosts, connects))
    hosts = tuple(plan.hosts[node] for node in nodes.tolist())
    if topology is None:
        return State(None, hosts, None)
    return State(topology, hosts, dearer(topology, without_loops(plan.topology).degree))


def find_linked_part(topology: Topology) -> tuple[Topology | None, IntArray]:
    """Return the subtopology of nodes with links in and out.

    Only links within the subset count. The second value lists its nodes. The subtopology is None with fewer than two
    nodes.
    """
    linked = find_linked(topology.src, topology.dst, np.ones(topology.nodes, dtype=np.bool_))
    inside = linked[topology.src] & linked[topology.dst]
    nodes = np.flatnonzero(linked)
    if len(nodes) < 2:
        return None, nodes
    number = np.cumsum(linked) - 1
    src, dst = number[topology.src[inside]], number[topology.dst[inside]]
    return Topology.from_arrays(len(nodes), src, dst, topology.capacity[inside]), nodes


def dearer(topology: Topology, degree: int) -> Cost | None:
    """Return the more expensive collective's cost, or None if disconnected.

    Nodes have the bandwidth of ``degree`` links.
    """
    ways = (topology,) if topology.is_duplex else (topology, topology.transpose())
    try:
        costs = [price(way) for way in ways]
    except DisconnectedError:
        return None
    return Cost(costs[0].steps, max(cost.bandwidth for cost in costs) * Fraction(degree, topology.degree))


def order_key(hosts: int, cost: Cost | None, patches: int) -> tuple[bool, int, int, Fraction, int]:
    """Return a sort key, better first.

    The order is: connected, more hosts, fewer steps, lower bandwidth factor, fewer patches.
    """
    if cost is None:
        return True, -hosts, 0, Fraction(0), patches
    return False, -hosts, cost.steps, cost.bandwidth, patches


def links_of(plan: WiringPlan, connects: Iterable[CrossConnect]) -> Links:
    """Return the links that patches create."""
    return tuple((plan.node[a.host], plan.node[b.host]) for connect in connects for a, b in connect.ways)


_Pairs = tuple[tuple[End, End], ...]
_LEAST_TRIED, _MAX_TRIED = 10, 720
_WORK = 2**29  # links times nodes of the ways to join fibres that are tried, beside the first ``_LEAST_TRIED``


@dataclass(frozen=True)
class Repair(Declared):
    """Repair of a failure, with the fabric state after it."""

    change: Change  # the patches to move, from the plan without what is dead
    state: State  # what is then
    restored: bool  # whether that is the topology as it was

    KEYS = (
        key("restored", "Whether all is as before."),
        key("moves=change.moves", "Ends of patches to be plugged elsewhere."),
        key("words=change.instructions", "What to do."),
        "after=state",
    )


def best_repair(plan: WiringPlan, failure: Failure, *, seed: int = 0) -> Repair | None:
    """Return the best repair, or None if no idle fibre helps.

    If spare lanes allow the topology as it was, that. Else the fibres that the failure left idle are joined to each
    other: all ways if there are few, else some drawn by the seed, and the best by steps and then bandwidth is taken.
    """
    lost, left = split_lost(plan, failure)
    best = state_of(plan, left)
    broken = _rest(plan, failure, left, best.hosts)
    if failure.kind != "host":
        try:
            change = fewest_moves(broken, plan.topology, hosts=plan.hosts, seed=seed)
        except InfeasibleError:
            pass  # too few lanes are left
        else:
            return Repair(change, state_of(plan, plan.connects), restored=True)
    chosen: _Pairs = ()
    tried: set[tuple[Pair, ...]] = set()
    for pairs in _joins(plan, failure, lost, seed):
        links = tuple(sorted((a.host, b.host) for a, b in pairs))
        if links in tried:
            continue
        tried.add(links)
        trial = [*left, *_patches(plan, pairs)]
        state = state_of(plan, trial)
        if _order(state, pairs) < _order(best, chosen):
            best, chosen = state, pairs
    if not chosen or best.topology is None:
        return None
    after = replace(_rest(plan, failure, [*left, *_patches(plan, chosen)], best.hosts), topology=best.topology)
    check_plan(after)
    names = {connect.cable for connect in left}
    made = tuple(connect for connect in after.connects if connect.cable not in names)
    return Repair(Change(broken, after, (), made, at_least=0), best, restored=False)


def _order(state: State, pairs: _Pairs) -> tuple[object, ...]:
    return order_key(len(state.hosts), state.cost, len(pairs))


def _rest(plan: WiringPlan, failure: Failure, connects: list[CrossConnect], hosts: tuple[str, ...]) -> WiringPlan:
    """Return the plan of working parts for ``hosts``, without topology."""
    kept = tuple(connect for connect in connects if {connect.a.host, connect.b.host} <= {*hosts})
    dead = dead_ends(plan, failure)
    fixed = tuple(one for one in plan.fixed if one not in dead)
    inventory = replace(plan.inventory, cabling=fixed if plan.inventory.cabling else ())
    return WiringPlan(inventory, Topology.from_links(max(len(hosts), 1), []), hosts, plan.mode, kept, fixed)


def _patches(plan: WiringPlan, pairs: _Pairs) -> Iterator[CrossConnect]:
    """Yield patches between ends, with names new to the plan."""
    used = {connect.cable for connect in plan.connects}
    names = (name for name in map("R{}".format, itertools.count(1)) if name not in used)
    for (a, b), name in zip(pairs, names, strict=False):
        yield CrossConnect(name, plan.mode, a, b)


def _joins(plan: WiringPlan, failure: Failure, lost: list[CrossConnect], seed: int) -> Iterator[_Pairs]:
    """Yield pairings of idle fibres at hosts with lost links."""
    hosts = {end.host for connect in lost for end in (connect.a, connect.b)}
    spare = [one for one in plan.spare if one.end.host in hosts]
    sending = [connect.a for connect in lost] + [one.end for one in spare if one.transmit]
    receiving = [connect.b for connect in lost] + [one.end for one in spare if one.receive]
    sided = plan.inventory.two_sided
    if plan.mode == "duplex":
        both = [*sending, *(connect.b for connect in lost)]
        sending = [end for end in both if plan.inventory.panel_port[end.place].side != "2"]
        receiving = [end for end in both if plan.inventory.panel_port[end.place].side == "2"]
    dead = dead_ends(plan, failure)
    groups: dict[str, tuple[list[End], list[End]]] = defaultdict(lambda: ([], []))
    for side, ends in enumerate((sending, receiving)):
        for end in ends:
            if end not in dead and plan.inventory.panel_port[end.place].takes(plan.mode):
                groups[plan.inventory.panel[end.panel].field][side].append(end)
    ways = [_Matchings(*group, duplex=plan.mode == "duplex" and not sided) for group in groups.values()]
    tries = min(_MAX_TRIED, _LEAST_TRIED + _WORK // (1 + plan.topology.nodes * len(plan.connects)))
    if math.prod(way.count for way in ways) <= tries:
        choices: Iterable[Iterable[_Pairs]] = itertools.product(*(way.all() for way in ways))
    else:
        rng = np.random.default_rng(seed)
        choices = ([way.draw(rng) for way in ways] for _ in range(tries))
    for choice in choices:
        yield tuple(pair for pairs in choice for pair in pairs if pair[0].host != pair[1].host)


@dataclass(frozen=True)
class _Matchings:
    """Maximum matchings of senders to receivers, or in duplex among senders."""

    senders: list[End]
    receivers: list[End]
    duplex: bool

    @property
    def count(self) -> int:
        if self.duplex:
            return math.prod(range(1, len(self.senders) + 1, 2)) * (len(self.senders) if len(self.senders) % 2 else 1)
        few, many = sorted((len(self.senders), len(self.receivers)))
        return math.perm(many, few)

    def all(self) -> Iterator[_Pairs]:
        if self.duplex:
            yield from _perfect(self.senders)
        elif len(self.senders) <= len(self.receivers):
            for order in itertools.permutations(self.receivers, len(self.senders)):
                yield tuple(zip(self.senders, order, strict=True))
        else:
            for order in itertools.permutations(self.senders, len(self.receivers)):
                yield tuple(zip(order, self.receivers, strict=True))

    def draw(self, rng: np.random.Generator) -> _Pairs:
        senders = [self.senders[row] for row in rng.permutation(len(self.senders))]
        if self.duplex:
            return tuple(zip(senders[::2], senders[1::2], strict=False))
        receivers = [self.receivers[row] for row in rng.permutation(len(self.receivers))]
        return tuple(zip(senders, receivers, strict=False))


def _perfect(ends: list[End]) -> Iterator[_Pairs]:
    """Yield the perfect matchings of ends, omitting one if odd."""
    if len(ends) < 2:
        yield ()
        return
    if len(ends) % 2:
        for skipped in range(len(ends)):
            yield from _perfect(ends[:skipped] + ends[skipped + 1 :])
        return
    for other in range(1, len(ends)):
        for rest in _perfect(ends[1:other] + ends[other + 1 :]):
            yield (ends[0], ends[other]), *rest
