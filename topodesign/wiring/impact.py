"""What a dead port, cable or host costs, and what moving patches to what is left can save."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from topodesign.cost import Cost
from topodesign.errors import DisconnectedError, InfeasibleError, ParameterError
from topodesign.solve.spff import price
from topodesign.topology import Topology
from topodesign.wiring.change import Change, Pair, rewire, usable, wired_topology
from topodesign.wiring.decompose import without_loops
from topodesign.wiring.figures import Figures, figures
from topodesign.wiring.inventory import Fixed
from topodesign.wiring.plan import CrossConnect, End, Plan
from topodesign.wiring.plan_check import check_plan

FailureKind = Literal["host", "port", "panel port", "cable"]
KINDS: tuple[FailureKind, ...] = ("host", "port", "panel port", "cable")

_Pairs = tuple[tuple[End, End], ...]
_MOST_MATCHINGS = 720
_DRAWN = 200


@dataclass(frozen=True)
class Failure:
    """Something that is dead.

    Attributes
    ----------
    kind
        What it is: a host, a port of a host with all its lanes, a port of a panel, or a patch.
    device, name
        The host or the panel and the port; of a host ``name`` is empty, of a cable ``device``.
    """

    kind: FailureKind
    device: str
    name: str

    def __str__(self) -> str:
        """Return it in words."""
        return " ".join(word for word in (self.kind, self.device, self.name) if word)


@dataclass(frozen=True)
class State:
    """What the links that are left can do.

    Attributes
    ----------
    topology
        They, between the hosts that are left; None if there are fewer than two.
    hosts
        Those that are not dead and still have links in and out.
    cost
        Steps of the re-made SPFF schedule and the bandwidth factor of the dearer collective, for the bandwidth that a
        node had before; None if some host cannot reach some other.
    """

    topology: Topology | None
    hosts: tuple[str, ...]
    cost: Cost | None


@dataclass(frozen=True)
class Repair:
    """The best way found to patch around a failure.

    Attributes
    ----------
    change
        The patches to move, from the plan without what is dead.
    state
        What can be done then.
    restored
        Whether that is the topology as it was.
    """

    change: Change
    state: State
    restored: bool


@dataclass(frozen=True)
class Impact:
    """What a failure does.

    Attributes
    ----------
    failure
        What is dead.
    lost
        The patches that are of no use now.
    state
        What is left.
    """

    failure: Failure
    lost: tuple[CrossConnect, ...]
    state: State


def failures(plan: Plan, kinds: Sequence[FailureKind] = KINDS) -> Iterator[Failure]:
    """Yield every single failure that loses a link, by kind and in the order of the plan."""
    ends = [(end, connect) for connect in plan.connects for end in (connect.a, connect.b)]
    names: dict[FailureKind, list[Failure]] = {
        "host": [Failure("host", host, "") for host in plan.hosts],
        "port": [Failure("port", end.host, end.port) for end, _ in ends],
        "panel port": [Failure("panel port", end.panel, end.panel_port) for end, _ in ends],
        "cable": [Failure("cable", "", connect.cable) for connect in plan.connects],
    }
    for kind in kinds:
        yield from dict.fromkeys(names[kind])


def impact(plan: Plan, failure: Failure) -> Impact:
    """Return what a failure leaves.

    Raises
    ------
    ParameterError
        If the plan has no such host, port or cable.
    """
    _check(plan, failure)
    lost = tuple(connect for connect in plan.connects if _hits(failure, connect))
    left = [connect for connect in plan.connects if not _hits(failure, connect)]
    return Impact(failure, lost, _state(plan, _hosts_left(plan, failure, left), left))


def intact(plan: Plan) -> State:
    """Return what the plan can do as it is."""
    return _state(plan, plan.hosts, plan.connects)


def rank(plan: Plan, kinds: Sequence[FailureKind] = KINDS) -> list[Impact]:
    """Return the impacts of all single failures, the worst first.

    They are compared by whether the hosts that are left reach each other, their number, steps, bandwidth, links lost.
    """
    return sorted(
        (impact(plan, failure) for failure in failures(plan, kinds)),
        key=lambda one: _order(one.state, len(one.lost)),
        reverse=True,
    )


def state_figures(plan: Plan, state: State) -> Figures:
    """Return connectivity and the best throughput of any schedule for a state."""
    if state.topology is None:
        return Figures(0, 0, None, None)
    return figures(state.topology, plan.inventory.hosts[0].ports[0].speed)


def best_repair(plan: Plan, failure: Failure, *, seed: int = 0) -> Repair | None:
    """Return how to patch around a failure; None if no fibres are left that would help.

    If spare lanes allow the topology as it was, that. Else the fibres that the failure left idle are joined to each
    other: all ways if there are few, else some drawn by the seed, and the best by steps and then bandwidth is taken.

    Parameters
    ----------
    plan
        The wiring before the failure.
    failure
        What is dead.
    seed
        Of the draw.

    Raises
    ------
    ParameterError
        If the plan has no such host, port or cable.
    """
    _check(plan, failure)
    lost = tuple(connect for connect in plan.connects if _hits(failure, connect))
    left = [connect for connect in plan.connects if not _hits(failure, connect)]
    broken = _rest(plan, failure, left)
    if failure.kind != "host":
        try:
            change = rewire(broken, plan.topology, hosts=plan.hosts)
        except InfeasibleError:
            pass  # too few lanes are left
        else:
            return Repair(change, intact(plan), restored=True)
    chosen: _Pairs = ()
    best = _state(plan, broken.hosts, left)
    tried: set[tuple[Pair, ...]] = set()
    for pairs in _joins(plan, failure, lost, seed):
        links = tuple(sorted((a.host, b.host) for a, b in pairs))
        if links in tried:
            continue
        tried.add(links)
        trial = [*left, *_patches(plan, pairs)]
        state = _state(plan, _hosts_left(plan, failure, trial), trial)
        if _order(state, len(pairs)) < _order(best, len(chosen)):
            best, chosen = state, pairs
    if not chosen or best.topology is None:
        return None
    after = replace(_rest(plan, failure, [*left, *_patches(plan, chosen)]), topology=best.topology)
    check_plan(after)
    names = {connect.cable for connect in left}
    made = tuple(connect for connect in after.connects if connect.cable not in names)
    return Repair(Change(broken, after, (), made, fewest=False), best, restored=False)


def _check(plan: Plan, failure: Failure) -> None:
    """Raise ParameterError if there is no such thing."""
    ports = {(host.name, port.name) for host in plan.inventory.hosts for port in host.ports}
    known = {
        "host": failure.device in plan.node,
        "port": (failure.device, failure.name) in ports,
        "panel port": (failure.device, failure.name) in plan.inventory.panel_port,
        "cable": any(connect.cable == failure.name for connect in plan.connects),
    }
    if not known[failure.kind]:
        raise ParameterError(f"the plan has no {failure}")


def _kills(failure: Failure, end: End | Fixed) -> bool:
    """Return whether a lane, or the panel port it is cabled to, is dead."""
    here = {"host": (end.host, ""), "port": (end.host, end.port), "panel port": (end.panel, end.panel_port)}
    return here.get(failure.kind) == (failure.device, failure.name)


def _hits(failure: Failure, connect: CrossConnect) -> bool:
    if failure.kind == "cable":
        return connect.cable == failure.name
    return _kills(failure, connect.a) or _kills(failure, connect.b)


def _rest(plan: Plan, failure: Failure, connects: list[CrossConnect]) -> Plan:
    """Return the plan of what is not dead, with these patches, and without a topology yet."""
    hosts = _hosts_left(plan, failure, connects)
    number = {host: node for node, host in enumerate(hosts)}
    kept = tuple(
        replace(connect, link=(number[connect.a.host], number[connect.b.host]))
        for connect in connects
        if connect.a.host in number and connect.b.host in number
    )
    fixed = tuple(one for one in plan.fixed if not _kills(failure, one))
    inventory = replace(plan.inventory, cabling=fixed if plan.inventory.cabling else ())
    return Plan(inventory, Topology.from_links(max(len(hosts), 1), []), hosts, plan.mode, kept, fixed)


def _hosts_left(plan: Plan, failure: Failure, left: Iterable[CrossConnect]) -> tuple[str, ...]:
    """Return the hosts that are not dead and not cut off: that still have links in and out."""
    hosts = tuple(host for host in plan.hosts if failure != Failure("host", host, ""))
    while True:
        topology = wired_topology(hosts, left)
        linked = np.minimum(topology.out_ports, topology.in_ports) > 0
        if linked.all():
            return hosts
        hosts = tuple(host for host, some in zip(hosts, linked.tolist(), strict=True) if some)
        if not hosts:
            return ()


def _state(plan: Plan, hosts: tuple[str, ...], connects: Iterable[CrossConnect]) -> State:
    if len(hosts) < 2:
        return State(None, hosts, None)
    topology = wired_topology(hosts, connects)
    try:
        costs = [price(way) for way in (topology, topology.transpose())]
    except DisconnectedError:
        return State(topology, hosts, None)
    scale = Fraction(without_loops(plan.topology).degree, topology.degree)
    return State(topology, hosts, Cost(costs[0].steps, max(cost.bandwidth for cost in costs) * scale))


def _order(state: State, patches: int) -> tuple[bool, int, int, Fraction, int]:
    """Return what to compare states by, the better first."""
    if state.cost is None:
        return True, -len(state.hosts), 0, Fraction(0), patches
    return False, -len(state.hosts), state.cost.steps, state.cost.bandwidth, patches


def _patches(plan: Plan, pairs: _Pairs) -> Iterator[CrossConnect]:
    """Yield patches for ends, with names that the plan does not have."""
    used = {connect.cable for connect in plan.connects}
    names = (name for name in map("R{}".format, itertools.count(1)) if name not in used)
    for (a, b), name in zip(pairs, names, strict=False):
        yield CrossConnect(name, plan.mode, (plan.node[a.host], plan.node[b.host]), a, b)


def _joins(plan: Plan, failure: Failure, lost: tuple[CrossConnect, ...], seed: int) -> Iterator[_Pairs]:
    """Yield ways to join the fibres that are idle at hosts that lost a link."""
    hosts = {end.host for connect in lost for end in (connect.a, connect.b)}
    spare = [one for one in plan.spare if one.end.host in hosts]
    sending = [connect.a for connect in lost] + [one.end for one in spare if one.transmit]
    receiving = [connect.b for connect in lost] + [one.end for one in spare if one.receive]
    if plan.mode == "duplex":
        sending, receiving = [*sending, *(connect.b for connect in lost)], []
    field = {panel.name: panel.field for panel in plan.inventory.panels}
    groups: dict[str, tuple[list[End], list[End]]] = defaultdict(lambda: ([], []))
    for side, ends in enumerate((sending, receiving)):
        for end in ends:
            if not _kills(failure, end) and usable(plan, end):
                groups[field[end.panel]][side].append(end)
    ways = [_Matchings(*group, duplex=plan.mode == "duplex") for group in groups.values()]
    if math.prod(way.count for way in ways) <= _MOST_MATCHINGS:
        choices: Iterable[Iterable[_Pairs]] = itertools.product(*(way.all() for way in ways))
    else:
        rng = np.random.default_rng(seed)
        choices = ([way.draw(rng) for way in ways] for _ in range(_DRAWN))
    for choice in choices:
        yield tuple(pair for pairs in choice for pair in pairs if pair[0].host != pair[1].host)


@dataclass(frozen=True)
class _Matchings:
    """The ways to join as many ends as can be: senders to receivers, or in a duplex plan the first among themselves."""

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
    """Yield the ways to split ends into pairs, one left over if their number is odd."""
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
