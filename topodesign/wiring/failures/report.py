"""Costs and repairs of one or all failures, worst first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topodesign.base.arguments import as_choice, as_integer, as_seed
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.errors import DisconnectedError, ParameterError
from topodesign.base.records import Result
from topodesign.pricing.repricing import PricedTopology, price_topology
from topodesign.topology.automorphisms import Links, find_symmetry, link_classes
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.patches import make_topology
from topodesign.wiring.change.strength import is_told
from topodesign.wiring.failures.impact import (
    KINDS,
    Failure,
    FailureKind,
    Repair,
    State,
    best_repair,
    dearer,
    find_linked_part,
    links_of,
    losses,
    order_key,
    split_lost,
    state_of,
)
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.files import WiringLike, as_wiring
from topodesign.wiring.plan.plan import WiringPlan


@dataclass(frozen=True)
class Consequence(Declared):
    """Effects of failures that are equivalent by symmetry."""

    alike: tuple[Failure, ...]  # the failures; not empty
    lost: tuple[CrossConnect, ...]  # patches that are of no use now
    cut_off: tuple[str, ...]  # hosts that work and have no links in or none out
    left: State  # what is left can do
    repair: Repair | None  # the best way found to patch around it; None if no idle fibre helps

    KEYS = (
        key("failure=first", "What is dead."),
        key(
            "alike", "Others that a symmetry makes the same.", kind=tuple[Failure, ...], value=lambda one: one.alike[1:]
        ),
        key(
            "cables",
            "Patches that go dark.",
            kind=tuple[str, ...],
            value=lambda one: [connect.cable for connect in one.lost],
        ),
        key("after=left", "What is left."),
        key("repair", "A way round it; null if there is none."),
    )
    ROW = (
        key("failure", kind=str, value=lambda one: str(one.first)),
        "kind=first.kind alike=len(alike) patches_lost=len(lost) hosts=len(left.hosts)",
        "steps=left.cost.steps bandwidth=left.cost.bandwidth",
        "moves=repair.change.moves restored=repair.restored",
        "repaired_steps=repair.state.cost.steps repaired_bandwidth=repair.state.cost.bandwidth",
    )

    @property
    def first(self) -> Failure:
        """Failure that represents the equivalent ones."""
        return self.alike[0]

    def __str__(self) -> str:
        more = f" (and {len(self.alike) - 1} alike)" if len(self.alike) > 1 else ""
        links = sum(len(connect.ways) for connect in self.lost)
        lines = [f"{self.alike[0]}{more}: {links} link{'' if links == 1 else 's'} lost", f"  left: {self.left}"]
        lines += [f"  cut off: {' '.join(self.cut_off)}"] if self.cut_off else []
        if self.repair is None:
            return "\n".join([*lines, "  no idle fibre that is left helps"])
        lines.append(f"  repaired: {'as it was' if self.repair.restored else self.repair.state}")
        return "\n".join([*lines, *(f"    {line}" for line in self.repair.change.instructions())])


@dataclass(frozen=True, repr=False)
class FailureReport(Result):
    """Costs and repairs of failures.

    * ``alike``: all failures looked at by kind, those that cost the same together, the worst first.
    """

    before: State  # what the wiring can do as it is
    alike: Mapping[FailureKind, tuple[tuple[Failure, ...], ...]]
    worst: Mapping[FailureKind, tuple[Consequence, ...]]  # what the first of each kind do
    ranked: bool  # whether all single failures were ranked, and not one asked for

    KEYS = (key("failures", "Failures that were looked at."), "before impacts")
    ROWS = "impacts"

    @property
    def impacts(self) -> tuple[Consequence, ...]:
        """Consequences of failures, the worst of each kind first."""
        return tuple(one for group in self.worst.values() for one in group)

    @property
    def failures(self) -> int:
        """Number of failures examined."""
        return sum(len(group) for groups in self.alike.values() for group in groups)

    def heading(self) -> str:
        """Return the number of ranked failures, or the single failure."""
        if self.ranked:
            return f"{self.failures} single failures"
        return str(next(group[0][0] for group in self.alike.values()))

    def __str__(self) -> str:
        lines = [f"without failures: {self.before}"]
        for kind, groups in self.alike.items():
            if self.ranked:
                most = len(self.worst[kind])
                shown = f"{len(groups)} that differ, {'all' if len(groups) <= most else f'the worst {most}'} shown"
                shown = shown if len(groups) != 1 else "all cost the same"
                lines += ["", f"{sum(map(len, groups))} single failures of a {kind}; {shown}:"]
            for one in self.worst[kind]:
                lines += ["", str(one)]
        return "\n".join(lines)


def failure_impact(
    plan: WiringLike,
    failure: Failure | None = None,
    *,
    host: str | None = None,
    port: str | None = None,
    cable: str | None = None,
    kinds: FailureKind | Sequence[FailureKind] = KINDS,
    top: int = 3,
    throughput: bool | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> FailureReport:
    """Assess a failure and its repair, or rank all single failures.

    Steps and bandwidth factor are those of the schedule made anew for what is left (SPFF), in parts of the bandwidth
    that a host had before.

    Parameters
    ----------
    plan
        A plan, or the path of its file.
    failure, host, port, cable
        What is dead, at most one of them: a failure, the name of a host, ``HOST:PORT`` or ``PANEL:PORT``, or the name
        of a patch, a fixed cable, a leg of one or a trunk.
    kinds
        What to rank if nothing is given as dead: ``host``, ``port``, ``panel port``, ``cable``.
    top
        How many of each kind to look at closely.
    throughput
        Find connectivity and the best throughput too, which takes long on large fabrics; None for up to 4096
        nodes.
    seed
        Of the search for repairs.
    progress
        Told the share that is ranked.

    Raises
    ------
    ParameterError
        If several things are given as dead, or the plan does not have the one that is.
    FileFormatError
        If the plan cannot be read.

    Examples
    --------
    >>> from topodesign import plain_inventory, plan_wiring
    >>> plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4))
    >>> found = failure_impact(plan, cable="C01", throughput=False)
    >>> print(found.before)
    12 hosts, 2 steps, BW factor 11/12 (0.9167)
    >>> found.worst["cable"][0].repair.restored
    True
    """
    wiring, seed, top = as_wiring(plan), as_seed(seed), as_integer("top", top, 1)
    kinds = [as_choice("kind", kind, KINDS) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if failure is not None and (not isinstance(failure, Failure) or (host, port, cable) != (None, None, None)):
        raise ParameterError("expected one failure: a Failure, or the name of a host, a port or a cable")
    given = failure if failure is not None else failure_of(wiring, host=host, port=port, cable=cable)
    groups: dict[FailureKind, list[tuple[Failure, ...]]]
    if given is None:
        groups = {kind: [] for kind in kinds}
        for one in rank(wiring, list(groups), progress or (lambda _share: None)):
            groups[one.failures[0].kind].append(one.failures)
    else:
        groups = {given.kind: [(given,)]}
    told = is_told(throughput, len(wiring.hosts))
    before = state_of(wiring, wiring.connects)
    worst = {
        kind: tuple(_consequence(wiring, alike, told, seed) for alike in group[:top]) for kind, group in groups.items()
    }
    all_alike = {kind: tuple(group) for kind, group in groups.items()}
    before = before.with_strength(wiring.speed) if told else before
    return FailureReport(before, all_alike, worst, ranked=given is None)


def failure_named(plan: WiringPlan, name: str) -> Failure:
    """Return the failure of a host, port or cable name.

    Ports are named ``HOST:PORT`` or ``PANEL:PORT``.
    """
    if name in plan.inventory.host:
        return Failure("host", name, "")
    return _port_failure(plan, name) or Failure("cable", "", name)


def failure_of(
    plan: WiringPlan, *, host: str | None = None, port: str | None = None, cable: str | None = None
) -> Failure | None:
    """Return the failure of a given host, port or cable.

    None if all names are None.
    """
    names = [name for name in (host, port, cable) if name is not None]
    if len(names) > 1 or not all(isinstance(name, str) for name in names):
        raise ParameterError("expected one of host, port and cable, by name")
    if host is not None:
        return Failure("host", host, "")
    if cable is not None:
        return Failure("cable", "", cable)
    found = None if port is None else _port_failure(plan, port)
    if port is not None and found is None:
        raise ParameterError(f"port {port[:80]}: write HOST:PORT or PANEL:PORT, with names of the inventory")
    return found


def _port_failure(plan: WiringPlan, port: str) -> Failure | None:
    """Return the failure of a port, or None if unknown."""
    for index, character in enumerate(port):  # names may have colons themselves
        device, name = port[:index], port[index + 1 :]
        if character == ":" and device in plan.inventory.host:
            return Failure("port", device, name)
        if character == ":" and device in plan.inventory.panel:
            return Failure("panel port", device, name)
    return None


def _consequence(plan: WiringPlan, alike: tuple[Failure, ...], told: bool, seed: int) -> Consequence:
    failure = alike[0]
    lost, kept = split_lost(plan, failure)
    left, repair = state_of(plan, kept), best_repair(plan, failure, seed=seed)
    cut_off = tuple(host for host in plan.hosts if host not in left.hosts and host != failure.device)
    if told:
        left = left.with_strength(plan.speed)
        repair = None if repair is None else replace(repair, state=repair.state.with_strength(plan.speed))
    return Consequence(alike, tuple(lost), cut_off, left, repair)


@dataclass(frozen=True)
class Ranked:
    """Failures of one kind and cost, equivalent by symmetry."""

    failures: tuple[Failure, ...]  # all of them, in the order of the patches
    hosts: int  # how many are left
    cost: Cost | None  # what they can do, as of a :class:`~topodesign.wiring.failures.impact.State`
    links: int  # links lost


def rank(
    plan: WiringPlan, kinds: Sequence[FailureKind] = KINDS, advance: Callable[[float], None] = lambda _share: None
) -> list[Ranked]:
    """Rank all single failures, worst first.

    The order is by connectivity of the remaining hosts, their number, and the cost.

    Failures that a symmetry of the wired topology turns into each other cost the same, so one of them is priced. Of
    that one only those sources are priced again that a lost link matters to. Both are exact.
    """
    whole = make_topology(plan.hosts, plan.connects)
    found = losses(plan, kinds)
    links = [links_of(plan, lost) for lost in found.values()]
    pricer = _Pricer(whole)
    numbers = link_classes(pricer.symmetry, links)
    alike: dict[tuple[FailureKind, int], list[Failure]] = {}
    example = {}
    for failure, number, lost in zip(found, numbers, links, strict=True):
        alike.setdefault((failure.kind, number), []).append(failure)
        example[number] = lost
    costs: dict[int, tuple[int, Cost | None]] = {}
    for number, lost in example.items():
        advance(len(costs) / len(example))
        costs[number] = pricer.without(lost)
    ranked = [Ranked(tuple(group), *costs[number], len(example[number])) for (_, number), group in alike.items()]
    return sorted(ranked, key=lambda one: order_key(one.hosts, one.cost, one.links), reverse=True)


class _Pricer:
    """Cost calculator for link losses, using known costs."""

    def __init__(self, whole: Topology) -> None:
        self.whole = whole
        self.ways: tuple[PricedTopology, ...] = ()
        colours = np.zeros(whole.nodes, dtype=np.int64)
        if dearer(whole, whole.degree) is not None:
            forth = price_topology(whole)
            self.ways = forth, forth if whole.is_duplex else price_topology(whole.transpose())
            looks = np.concatenate([_looks(way) for way in self.ways], axis=1)
            colours = np.unique(looks, axis=0, return_inverse=True)[1].reshape(-1)
        self.symmetry = find_symmetry(whole, colours)

    def without(self, lost: Links) -> tuple[int, Cost | None]:
        """Return the linked node count and the cost after losses."""
        capacity = self.whole.capacity.copy()
        np.subtract.at(capacity, self.whole.link_index(*np.array(lost, dtype=np.int64).reshape(-1, 2).T), 1)
        kept = capacity > 0
        left = Topology.from_arrays(self.whole.nodes, self.whole.src[kept], self.whole.dst[kept], capacity[kept])
        part, nodes = find_linked_part(left)
        if part is None or not self.ways or len(nodes) < left.nodes:
            return len(nodes), None if part is None else dearer(part, self.whole.degree)
        ways = [(self.ways[0], left)] if left.is_duplex else zip(self.ways, (left, left.transpose()), strict=True)
        try:
            costs = [way.cost_without(rest) for way, rest in ways]
        except DisconnectedError:
            return len(nodes), None
        return len(nodes), Cost(costs[0].steps, max(cost.bandwidth for cost in costs))


def _looks(way: PricedTopology) -> IntArray:
    """Return symmetry invariants of nodes (rows): loads, distance counts."""
    farthest = int(way.distance.max())
    layers = [np.bincount(row, minlength=farthest + 1) for row in way.distance]
    return np.concatenate((way.rank, layers), axis=1)
