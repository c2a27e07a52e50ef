"""Worst failures of one and of two cables, with new schedules.

All-to-alls of more than 32 nodes have the price of a flow over these, which is within 5% of its bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from topodesign.base.errors import DisconnectedError, InfeasibleError
from topodesign.base.progress import Progress, iterate_with_progress, part
from topodesign.fabrics.boxes import BoxSpec, Wiring
from topodesign.fabrics.groups import Placement
from topodesign.pricing.closed_form import price
from topodesign.report.design.boxed import in_any_order
from topodesign.report.design.measure import measure_boxes, measure_step
from topodesign.report.design.parts import Loss, Offer
from topodesign.report.design.request import Request
from topodesign.topology.automorphisms import find_symmetry, link_classes
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.plan import WiringPlan

_ALL_PAIRS = 100  # pairs up to which all are scheduled anew
_LARGE, _LARGE_BOXES = 256, 8  # nodes, and boxes with a narrow inside, above which fewer are looked at
_ONES, _PRICED, _SCHEDULED = (12, 4), (48, 8), (2, 1)
"""Single failures that are scheduled, pairs that are priced, and the dearest of them that are scheduled: of few nodes,
and of many or with a model."""

_Item = TypeVar("_Item")


class _Cable(NamedTuple):
    """Cable with its links and, if NICs matter, its wiring numbers."""

    links: tuple[tuple[int, int], ...]
    numbers: tuple[int, ...] = ()


def failures_of(offer: Offer, request: Request, wiring: WiringPlan, progress: Progress | None) -> tuple[Loss, ...]:
    """Return the worst failures found of one cable and of two.

    Nothing of boxes of whose inside it stays open what it carries then.
    """
    layout = None if offer.step is None else offer.step.placement
    narrow = offer.boxed is not None and not in_any_order(offer.topology, request)
    whole = (_Narrow if narrow else _CabledTopology)(offer.topology, request, wiring, layout, offer.boxed)
    large = offer.step is not None or offer.topology.nodes > (_LARGE_BOXES if narrow else _LARGE)
    try:
        return tuple(_losses(whole, progress, large=large))
    except InfeasibleError:
        return ()


def _losses(whole: _CabledTopology, progress: Progress | None, *, large: bool) -> Iterator[Loss]:
    unlike = [cable for (cable,) in whole.unlike([(cable,) for cable in whole.cables])]
    ones = [(cable,) for cable in _pick_spread(unlike, _ONES[large])]
    yield whole.worst(ones, len(whole.cables), whole=len(ones) == len(unlike), progress=part(progress, 0, 0.5))
    count = len(whole.cables)
    if count < 2:
        return
    pairs = []
    for first in unlike:
        place = whole.cables.index(first)  # others beside it are alike, and may fail with it
        pairs += [(first, other) for other in (*whole.cables[:place], *whole.cables[place + 1 :])]
    if len(pairs) <= _ALL_PAIRS and not large:
        more = part(progress, 0.5, 1)
        yield whole.worst(whole.unlike(pairs), count * (count - 1) // 2, whole=True, progress=more)
        return
    near = [two for two in pairs if set(two[0].links[0]) & set(two[1].links[0])]
    looked = [*_pick_spread(near, _PRICED[large] // 2), *_pick_spread(pairs, _PRICED[large] // 2)]
    prices = [whole.price_without(two) for two in iterate_with_progress(looked, part(progress, 0.5, 0.8))]
    order = sorted(range(len(looked)), key=lambda place: prices[place], reverse=True)
    dear = [looked[place] for place in order[: _SCHEDULED[large]]]
    yield whole.worst(dear, len(looked), whole=False, progress=part(progress, 0.8, 1))


def _pick_spread(items: Sequence[_Item], count: int) -> list[_Item]:
    """Return up to ``count`` items, evenly spaced from the first."""
    return list(items) if len(items) <= count else [items[place * len(items) // count] for place in range(count)]


class _CabledTopology:
    """Topology whose cables may fail."""

    def __init__(
        self, topology: Topology, request: Request, wiring: WiringPlan, layout: Placement | None, boxed: BoxSpec | None
    ) -> None:
        self.topology, self.request, self.wiring, self.layout, self.boxed = topology, request, wiring, layout, boxed
        self.duplex = wiring.mode == "duplex"

    @cached_property
    def cables(self) -> list[_Cable]:
        """All cables of the topology."""
        whole, found = self.topology, list[_Cable]()
        for u, v, many in zip(whole.src.tolist(), whole.dst.tolist(), whole.capacity.tolist(), strict=True):
            if u != v and not (self.duplex and u > v):
                found += [_Cable(((u, v), (v, u)) if self.duplex else ((u, v),))] * many
        return found

    def unlike(self, many: Sequence[Sequence[_Cable]]) -> Sequence[Sequence[_Cable]]:
        """Return one of each set of cables equivalent by known symmetry."""
        numbers = link_classes(self._symmetry, [tuple(link for cable in some for link in cable.links) for some in many])
        first = dict(zip(reversed(numbers), reversed(many), strict=True))
        return [first[number] for number in dict.fromkeys(numbers)]

    @cached_property
    def _symmetry(self) -> Symmetry:
        return find_symmetry(self.topology)

    def left(self, failed: Sequence[_Cable]) -> Topology:
        """Return the remaining links after some cables fail."""
        whole, capacity = self.topology, self.topology.capacity.copy()
        gone = np.array([link for cable in failed for link in cable.links], dtype=np.int64)
        np.subtract.at(capacity, whole.link_index(*gone.T), 1)
        kept = capacity > 0
        return Topology.from_arrays(whole.nodes, whole.src[kept], whole.dst[kept], capacity[kept])

    def price_without(self, failed: Sequence[_Cable]) -> tuple[bool, Fraction]:
        """Estimate the time of reduce-scatter and allgather without some cables.

        The first item is whether nodes are disconnected; the second is in seconds.
        """
        left = self.left(failed)
        try:
            costs = [price(left), *([] if left.is_duplex else [price(left.transpose())])]
        except DisconnectedError:
            return True, Fraction(0)
        work = self.request.work
        rate = work.bandwidth * left.degree / self.request.degree
        return False, sum((one.runtime(work.alpha, work.sizes[0], rate) for one in costs), Fraction(0))

    def worst(
        self, many: Sequence[Sequence[_Cable]], looked_at: int, *, whole: bool, progress: Progress | None
    ) -> Loss:
        """Return the failure with the longest step."""
        times = [(self._seconds(failed), place) for place, failed in enumerate(iterate_with_progress(many, progress))]
        seconds, place = max(times, key=lambda one: (one[0] is None, one[0] or Fraction(0), -one[1]))
        failed, hosts = many[place], self.wiring.hosts
        sign = "-" if self.duplex else ">"
        links = tuple(f"{hosts[u]} {sign} {hosts[v]}" for ((u, v), *_), _ in failed)
        return Loss(self._names(failed), links, seconds, looked_at, whole)

    def _names(self, failed: Sequence[_Cable]) -> tuple[str, ...]:
        """Return cable names; empty if a link has no cable in the plan."""
        names: dict[tuple[int, int], list[str]] = {}
        for connect in self.wiring.connects:
            u, v = self.wiring.link_of(connect)
            names.setdefault((min(u, v), max(u, v)) if self.duplex else (u, v), []).append(connect.cable)
        found = [names[cable.links[0]].pop() for cable in failed if names.get(cable.links[0])]
        return tuple(found) if len(found) == len(failed) else ()

    def _seconds(self, failed: Sequence[_Cable]) -> Fraction | None:
        try:
            return measure_step(self.left(failed), self.request, placement=self.layout).seconds
        except (DisconnectedError, InfeasibleError):
            return None


class _Narrow(_CabledTopology):
    """Boxes in which NICs matter, so that no cables are equivalent."""

    @cached_property
    def cables(self) -> list[_Cable]:
        """All cables, with both directions if the wiring is duplex."""
        ends = self.boxed.wiring if self.boxed else Wiring(*[()] * 6)
        there = list(zip(ends.box, ends.nic, ends.part, ends.to, ends.at, ends.at_part, strict=True))
        place = {end: number for number, end in enumerate(there)}
        found = []
        for number, (u, *out, v, at, at_part) in enumerate(there):
            if not self.duplex:
                found.append(_Cable(((u, v),), (number,)))
            elif u < v:
                found.append(_Cable(((u, v), (v, u)), (number, place[v, at, at_part, u, *out])))
        return found

    def unlike(self, many: Sequence[Sequence[_Cable]]) -> Sequence[Sequence[_Cable]]:
        """Return all sets of cables."""
        return many

    def _names(self, failed: Sequence[_Cable]) -> tuple[str, ...]:
        """Return cable names; empty if several cables connect the same boxes."""
        same = Counter(cable.links for cable in self.cables)
        return () if any(same[cable.links] > 1 for cable in failed) else super()._names(failed)

    def _seconds(self, failed: Sequence[_Cable]) -> Fraction | None:
        if self.boxed is None or self.price_without(failed)[0]:
            return None
        gone = {number for cable in failed for number in cable.numbers}
        return measure_boxes(self.boxed, self.request, placement=self.layout, without=gone).seconds
