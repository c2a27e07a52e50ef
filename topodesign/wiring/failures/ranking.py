"""Which single failures cost most.

Failures that a symmetry of the wired topology turns into each other cost the same, so one of them is priced. Of that
one only those sources are priced again that a lost link matters to. Both are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError
from topodesign.pricing.repricing import Priced, priced
from topodesign.topology.automorphisms import Links, find_symmetry, link_classes
from topodesign.topology.topology import IntArray, Topology
from topodesign.wiring.change.patches import wired_topology
from topodesign.wiring.failures.impact import KINDS, Failure, FailureKind, dearer, linked_part, losses, order_key
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan


@dataclass(frozen=True)
class Ranked:
    """Failures of one kind that cost the same, because a symmetry turns them into each other.

    ``failures``: all of them, in the order of the patches. ``hosts``, ``cost``: as in
    :class:`topodesign.wiring.failures.impact.State`: how many hosts are left, and what they can do. ``links``: links
    lost.
    """

    failures: tuple[Failure, ...]
    hosts: int
    cost: Cost | None
    links: int


def rank(
    plan: WiringPlan, kinds: Sequence[FailureKind] = KINDS, advance: Callable[[float], None] = lambda _share: None
) -> list[Ranked]:
    """Return all single failures, the worst first.

    They are compared by whether the hosts that are left reach each other, their number, steps, bandwidth, links lost.

    Parameters
    ----------
    plan
        A wiring.
    kinds
        The failures to rank.
    advance
        Told the share that is done.
    """
    whole = wired_topology(plan.hosts, plan.connects)
    found = losses(plan, kinds)
    links = [_links(plan, lost) for lost in found.values()]
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


def _links(plan: WiringPlan, connects: list[CrossConnect]) -> Links:
    links = []
    for connect in connects:
        u, v = plan.node[connect.a.host], plan.node[connect.b.host]
        links += [(u, v)] if connect.mode == "simplex" else [(u, v), (v, u)]
    return tuple(links)


class _Pricer:
    """What is left of a topology after losses, from what is known of the whole."""

    def __init__(self, whole: Topology) -> None:
        self.whole = whole
        self.ways: tuple[Priced, ...] = ()
        colours = np.zeros(whole.nodes, dtype=np.int64)
        if dearer(whole, whole.degree) is not None:
            forth = priced(whole)
            self.ways = forth, forth if whole.is_duplex else priced(whole.transpose())
            looks = np.concatenate([_looks(way) for way in self.ways], axis=1)
            colours = np.unique(looks, axis=0, return_inverse=True)[1].reshape(-1)
        self.symmetry = find_symmetry(whole, colours)

    def without(self, lost: Links) -> tuple[int, Cost | None]:
        """Return how many nodes still have links in and out, and the cost of the dearer collective among them."""
        capacity = self.whole.capacity.copy()
        np.subtract.at(capacity, self.whole.link_index(*np.array(lost, dtype=np.int64).reshape(-1, 2).T), 1)
        kept = capacity > 0
        left = Topology.from_arrays(self.whole.nodes, self.whole.src[kept], self.whole.dst[kept], capacity[kept])
        part, nodes = linked_part(left)
        if part is None or not self.ways or len(nodes) < left.nodes:
            return len(nodes), None if part is None else dearer(part, self.whole.degree)
        ways = [(self.ways[0], left)] if left.is_duplex else zip(self.ways, (left, left.transpose()), strict=True)
        try:
            costs = [way.cost_without(rest) for way, rest in ways]
        except DisconnectedError:
            return len(nodes), None
        return len(nodes), Cost(costs[0].steps, max(cost.bandwidth for cost in costs))


def _looks(way: Priced) -> IntArray:
    """Return what a symmetry keeps of every node, a row each: its loads, and how many nodes are how far."""
    farthest = int(way.distance.max())
    layers = [np.bincount(row, minlength=farthest + 1) for row in way.distance]
    return np.concatenate((way.rank, layers), axis=1)
