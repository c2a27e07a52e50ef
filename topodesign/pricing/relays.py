"""Relays of shards in deferred schedules, chosen for even link loads.

When a node takes a shard that it may have to forward is chosen with a price on each link in each of the last steps,
which carry most: the fuller the link, the dearer a shard more on it. Shard after shard is looked at again, a few times
over, while prices become steeper. Some nodes cannot use all links alike in all these steps, so several ways are tried
to share what is to come between them. Two steps are enough where there are nearly as many nodes as so many steps can
reach; where there are fewer, few come in the last step, and it takes three to carry most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from topodesign.base.progress import Progress, in_pieces, part
from topodesign.pricing.deferral_kernels import CLASSES
from topodesign.pricing.relay_kernels import balance_relays
from topodesign.topology.topology import IntArray

_Shares = tuple[Fraction, ...]
_SHARES: dict[int, tuple[_Shares, ...]] = {
    2: tuple((first, 1 - first) for first in (Fraction(3, 8), Fraction(1, 4), Fraction(1, 6))),
    3: ((Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)),),
}
"""Of what comes in so many last steps, what is to come in each of them."""
_STEEPNESS = (32, 64, 128)
"""By how many powers of two a shard more costs more on a link that carries all instead of nothing, round by round."""
_LN2 = Fraction(7, 10)
_TOP_BITS, _BEYOND_BITS = 48, 42
_WORK_PER_PIECE = 2**21  # links times shards that take about as long as a piece should
_ENDS = CLASSES - 1


@dataclass(frozen=True)
class UnitLinks:
    """Unit links of a topology without self-loops.

    * ``first``, ``other``: where the links into each node begin, and which nodes they come from, ascending.
    * ``out_first``, ``out_other``: where the links out of each node begin, and which nodes they lead to, ascending.
    """

    first: IntArray
    other: IntArray
    out_first: IntArray
    out_other: IntArray

    @cached_property
    def entrance(self) -> IntArray:
        """The position among links into nodes of each link out of a node."""
        place = np.empty(len(self.other), np.int64)
        source = np.repeat(np.arange(len(self.out_first) - 1), np.diff(self.out_first))
        place[np.lexsort((source, self.out_other))] = np.arange(len(place))
        return place


def iterate_balanced_relays(
    code: NDArray[np.int16], links: UnitLinks, steps: int, last: int, room: int, *, progress: Progress | None = None
) -> Iterator[NDArray[np.int16]]:
    """Yield relays of the last steps, for several splits between steps.

    Each comes three times: as planned, but for the last step, where what may come then is the least urgent if it was to
    come earlier at some time, or as urgent as it ever was; and with those alone bound to a step that others wait for.

    * ``code``: shape ``(N, N)``, as the kernels have it, for each shard and node.
    * ``links``: of the topology.
    * ``steps``: how many there are.
    * ``last``: in how many of them shards are shared out, two or three and no more than there are.
    * ``room``: what a link should carry in these.
    * ``progress``: called with the share of all this that is done.
    """
    rounds = 1 + len(_STEEPNESS)
    plan = _Plan(code, links, steps, last)
    for number, shares in enumerate(_SHARES[last]):
        goals = [round(share * room) for share in shares[:-1]]
        goals.append(room - sum(goals))
        for turn, steepness in enumerate((_STEEPNESS[0], *_STEEPNESS)):
            prices = np.stack([_prices(len(code) + 1, goal, steepness, room) for goal in goals])
            done = (number * rounds + turn) / (len(_SHARES[last]) * rounds)
            ahead = part(progress, done, done + 1 / (len(_SHARES[last]) * rounds))
            plan.once_more(prices, new=turn == 0, progress=ahead)
        yield from plan.codes()


class _Plan:
    """The step and link at which each node takes each shard.

    * ``code``: how far each shard has to go to each node, and who must forward it as soon as it is there.
    * ``links``, ``steps``, ``last``: as above.
    """

    def __init__(self, code: NDArray[np.int16], links: UnitLinks, steps: int, last: int) -> None:
        self._code, self._links = code, links
        self._steps, self._start, self._order = steps, steps - last + 1, _order(len(code))
        far, forwards = code // CLASSES, code % CLASSES == 0
        self._ahead = far >= self._start
        self._time = np.where(self._ahead & ~forwards, np.int16(steps), far)
        self._link = np.zeros(code.shape, np.uint8)
        self._late = np.where(self._ahead & forwards, code + _ENDS, code)
        self._later = self._late.copy()  # as urgent as what is never forwarded, if it was once planned to be
        self._carried = np.zeros((last, len(links.other)), np.int64)

    def once_more(self, prices: IntArray, *, new: bool, progress: Progress | None) -> None:
        """Reassign all shards by prices of links and last steps."""
        if new:
            self._carried[:] = 0
        links = self._links
        ends = (links.first, links.other, links.out_first, links.out_other, links.entrance)
        cost = np.take_along_axis(prices, self._carried, axis=1)

        def some(_worker: int, begin: int, end: int) -> None:
            shards, loads = self._order[begin:end], (self._carried, cost, prices)
            balance_relays(self._code, self._time, self._link, *ends, self._start, shards, *loads, new)

        in_pieces(len(self._code), some, first=max(1, _WORK_PER_PIECE // len(links.other)), progress=progress)
        early = self._planned
        self._later[early] = self._code[early] // CLASSES * CLASSES + _ENDS

    @property
    def _planned(self) -> NDArray[np.bool_]:
        """Return which nodes must have which shard before the last step."""
        planned: NDArray[np.bool_] = self._ahead & (self._time < self._steps)
        return planned

    def codes(self) -> Iterator[NDArray[np.int16]]:
        """Yield who must have which shard when, three times, as above."""
        planned, relays = self._planned, np.zeros(self._code.shape, bool)
        for node, first in enumerate(self._links.first[:-1].tolist()):
            shards = np.flatnonzero(self._ahead[:, node])
            relays[shards, self._links.other[first + self._link[shards, node].astype(np.int64)]] = True
        for bound, free in ((planned, self._later), (planned, self._late), (planned & relays, self._late)):
            yield np.where(bound, self._time * CLASSES, free).astype(np.int16)


def _order(nodes: int) -> IntArray:
    """Return an order of nodes that keeps close numbers far apart."""
    stride = max(1, nodes * 618 // 1000)
    while gcd(stride, nodes) > 1:
        stride += 1
    return np.arange(nodes) * stride % nodes


def _prices(count: int, goal: int, steepness: int, room: int) -> IntArray:
    """Return rising integer prices, equal on all machines."""
    rate = _LN2 * steepness / room
    price, top = 2**_TOP_BITS, goal + room // 3
    prices = np.empty(max(count, top + 1), np.int64)
    prices[top:] = price + np.arange(len(prices) - top) * 2**_BEYOND_BITS
    for carried in range(top - 1, -1, -1):
        price -= price * rate.numerator // (rate.denominator + rate.numerator)
        prices[carried] = price
    return prices[:count]
