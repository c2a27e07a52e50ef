"""Patches around a failure: what moving fibres to spare lanes, or joining those that went idle, can save."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.patches import Change, Pair, usable
from topodesign.wiring.failures.impact import Failure, State, intact, kills, lost_and_left, order_key, state_of
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan

_Pairs = tuple[tuple[End, End], ...]
_LEAST_TRIED, _MOST_TRIED = 10, 720
_WORK = 2**29  # links times nodes of the ways to join fibres that are tried, beside the first ``_LEAST_TRIED``


@dataclass(frozen=True)
class Repair:
    """The best way found to patch around a failure."""

    change: Change  # the patches to move, from the plan without what is dead
    state: State  # what can be done then
    restored: bool  # whether that is the topology as it was


def best_repair(plan: WiringPlan, failure: Failure, *, seed: int = 0) -> Repair | None:
    """Return how to patch around a failure; None if no fibres are left that would help.

    If spare lanes allow the topology as it was, that. Else the fibres that the failure left idle are joined to each
    other: all ways if there are few, else some drawn by the seed, and the best by steps and then bandwidth is taken.
    """
    lost, left = lost_and_left(plan, failure)
    best = state_of(plan, left)
    broken = _rest(plan, failure, left, best.hosts)
    if failure.kind != "host":
        try:
            change = fewest_moves(broken, plan.topology, hosts=plan.hosts, seed=seed)
        except InfeasibleError:
            pass  # too few lanes are left
        else:
            return Repair(change, intact(plan), restored=True)
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
    """Return the plan of what is not dead, with these hosts and their patches, and without a topology yet."""
    number = {host: node for node, host in enumerate(hosts)}
    kept = tuple(
        replace(connect, link=(number[connect.a.host], number[connect.b.host]))
        for connect in connects
        if connect.a.host in number and connect.b.host in number
    )
    fixed = tuple(one for one in plan.fixed if not kills(failure, one))
    inventory = replace(plan.inventory, cabling=fixed if plan.inventory.cabling else ())
    return WiringPlan(inventory, Topology.from_links(max(len(hosts), 1), []), hosts, plan.mode, kept, fixed)


def _patches(plan: WiringPlan, pairs: _Pairs) -> Iterator[CrossConnect]:
    """Yield patches for ends, with names that the plan does not have."""
    used = {connect.cable for connect in plan.connects}
    names = (name for name in map("R{}".format, itertools.count(1)) if name not in used)
    for (a, b), name in zip(pairs, names, strict=False):
        yield CrossConnect(name, plan.mode, (plan.node[a.host], plan.node[b.host]), a, b)


def _joins(plan: WiringPlan, failure: Failure, lost: list[CrossConnect], seed: int) -> Iterator[_Pairs]:
    """Yield ways to join the fibres that are idle at hosts that lost a link."""
    hosts = {end.host for connect in lost for end in (connect.a, connect.b)}
    spare = [one for one in plan.spare if one.end.host in hosts]
    sending = [connect.a for connect in lost] + [one.end for one in spare if one.transmit]
    receiving = [connect.b for connect in lost] + [one.end for one in spare if one.receive]
    sided = plan.inventory.two_sided
    if plan.mode == "duplex":
        both = [*sending, *(connect.b for connect in lost)]
        sending = [end for end in both if plan.inventory.panel_port[end.place].side != "2"]
        receiving = [end for end in both if plan.inventory.panel_port[end.place].side == "2"]
    groups: dict[str, tuple[list[End], list[End]]] = defaultdict(lambda: ([], []))
    for side, ends in enumerate((sending, receiving)):
        for end in ends:
            if not kills(failure, end) and usable(plan, end):
                groups[plan.inventory.panel[end.panel].field][side].append(end)
    ways = [_Matchings(*group, duplex=plan.mode == "duplex" and not sided) for group in groups.values()]
    tries = min(_MOST_TRIED, _LEAST_TRIED + _WORK // (1 + plan.topology.nodes * len(plan.connects)))
    if math.prod(way.count for way in ways) <= tries:
        choices: Iterable[Iterable[_Pairs]] = itertools.product(*(way.all() for way in ways))
    else:
        rng = np.random.default_rng(seed)
        choices = ([way.draw(rng) for way in ways] for _ in range(tries))
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
