"""What the worst failure of one cable, and of two, cost a step: schedules are made anew for what is left."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np

from topodesign.base.errors import DisconnectedError, InfeasibleError
from topodesign.base.progress import Progress
from topodesign.fabrics.groups import Placement
from topodesign.pricing.closed_form import price
from topodesign.report.design.boxed import in_any_order
from topodesign.report.design.measure import measured
from topodesign.report.design.parts import Loss, Offer
from topodesign.report.design.request import Request
from topodesign.topology.automorphisms import find_symmetry, link_classes
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.plan import WiringPlan

_ALL_PAIRS = 100  # pairs up to which all are scheduled anew
_LARGE = 256  # nodes above which fewer are looked at
_ONES, _PRICED, _SCHEDULED = (12, 4), (48, 8), (2, 1)
"""Single failures that are scheduled, pairs that are priced, and the dearest of them that are scheduled: of few nodes,
and of many or with a model."""

_Cable = tuple[tuple[int, int], ...]  # the links that a cable makes
_Item = TypeVar("_Item")


def failures_of(offer: Offer, request: Request, wiring: WiringPlan, progress: Progress | None) -> tuple[Loss, ...]:
    """Return the worst single failure of a cable and the worst two, as far as they were looked at.

    Nothing where it matters which NIC of a box has which cable, as others would be better then.
    """
    if not in_any_order(offer.topology, request):
        return ()
    whole = _Whole(offer.topology, request, wiring, None if offer.step is None else offer.step.placement)
    unlike, large = whole.unlike, offer.topology.nodes > _LARGE or offer.step is not None
    ones = [(cable,) for cable in _spread(unlike, _ONES[large])]
    one = whole.worst(ones, len(whole.cables), whole=len(ones) == len(unlike))
    if progress is not None:
        progress(0.4)
    count = len(whole.cables)
    if count < 2:
        return (one,)
    pairs = []
    for first in unlike:
        place = whole.cables.index(first)  # others beside it are alike, and may fail with it
        pairs += [(first, other) for other in (*whole.cables[:place], *whole.cables[place + 1 :])]
    if len(pairs) <= _ALL_PAIRS and not large:
        return one, whole.worst(pairs, count * (count - 1) // 2, whole=True)
    near = [two for two in pairs if set(two[0][0]) & set(two[1][0])]
    looked = [*_spread(near, _PRICED[large] // 2), *_spread(pairs, _PRICED[large] // 2)]
    dear = sorted(looked, key=whole.price_without, reverse=True)[: _SCHEDULED[large]]
    return one, whole.worst(dear, len(looked), whole=False)


def _spread(items: Sequence[_Item], count: int) -> list[_Item]:
    """Return so many of some items, evenly from the first on."""
    return list(items) if len(items) <= count else [items[place * len(items) // count] for place in range(count)]


class _Whole:
    """A topology whose cables may fail."""

    def __init__(
        self, topology: Topology, request: Request, wiring: WiringPlan, layout: Placement | None = None
    ) -> None:
        self.topology, self.request, self.wiring, self.layout = topology, request, wiring, layout
        self.duplex = wiring.mode == "duplex"
        links = zip(topology.src.tolist(), topology.dst.tolist(), topology.capacity.tolist(), strict=True)
        self.cables: list[_Cable] = []
        for u, v, many in links:
            if u != v and not (self.duplex and u > v):
                self.cables += [((u, v), (v, u)) if self.duplex else ((u, v),)] * many

    @cached_property
    def unlike(self) -> list[_Cable]:
        """Cables of which no symmetry that is known turns one into another."""
        symmetry = find_symmetry(self.topology, np.zeros(self.topology.nodes, dtype=np.int64))
        return list(dict(zip(link_classes(symmetry, self.cables), self.cables, strict=True)).values())

    def left(self, failed: Sequence[_Cable]) -> Topology:
        """Return the links without those of some cables."""
        whole, capacity = self.topology, self.topology.capacity.copy()
        gone = np.array([link for cable in failed for link in cable], dtype=np.int64)
        np.subtract.at(capacity, whole.link_index(*gone.T), 1)
        kept = capacity > 0
        return Topology.from_arrays(whole.nodes, whole.src[kept], whole.dst[kept], capacity[kept])

    def price_without(self, failed: Sequence[_Cable]) -> tuple[bool, Fraction]:
        """Return what reduce-scatter and allgather cost without some cables, by which the worst is guessed."""
        left = self.left(failed)
        try:
            costs = [price(left), *([] if left.is_duplex else [price(left.transpose())])]
        except DisconnectedError:
            return True, Fraction(0)
        work = self.request.work
        rate = work.bandwidth * left.degree / self.request.degree
        return False, sum((one.runtime(work.alpha, work.sizes[0], rate) for one in costs), Fraction(0))

    def worst(self, many: Sequence[Sequence[_Cable]], looked_at: int, *, whole: bool) -> Loss:
        """Return the failure after which a step takes most."""
        times = [(self._seconds(failed), place) for place, failed in enumerate(many)]
        seconds, place = max(times, key=lambda one: (one[0] is None, one[0] or Fraction(0), -one[1]))
        failed, hosts = many[place], self.wiring.hosts
        sign = "-" if self.duplex else ">"
        links = tuple(f"{hosts[u]} {sign} {hosts[v]}" for (u, v), *_ in failed)
        return Loss(self._names(failed), links, seconds, looked_at, whole)

    def _names(self, failed: Sequence[_Cable]) -> tuple[str, ...]:
        """Return the names of cables; none of links that are no cables of the plan."""
        names: dict[tuple[int, int], list[str]] = {}
        for connect in self.wiring.connects:
            u, v = connect.link
            names.setdefault((min(u, v), max(u, v)) if self.duplex else (u, v), []).append(connect.cable)
        found = [names[cable[0]].pop() for cable in failed if names.get(cable[0])]
        return tuple(found) if len(found) == len(failed) else ()

    def _seconds(self, failed: Sequence[_Cable]) -> Fraction | None:
        try:
            return measured(self.left(failed), self.request, placement=self.layout).seconds
        except (DisconnectedError, InfeasibleError):
            return None
