"""Who forwards which shard in a deferred schedule, chosen for all shards together so that all links are evenly full.

What a node must forward of one shard is chosen with a price on each link in each of the last two steps, which carry
most: the fuller the link, the dearer a shard more on it. Shard after shard is looked at again, a few times over, while
prices become steeper. Some nodes cannot use all links alike in both steps, so several ways are tried to share what is
to come between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

import numpy as np
from numpy.typing import NDArray

from topodesign.base.pieces import Progress, in_pieces, part
from topodesign.pricing.relay_kernels import balance_relays
from topodesign.topology.topology import IntArray

_SHARES = (Fraction(3, 8), Fraction(1, 4), Fraction(1, 6))
"""Of what comes in the last two steps, what is to come in the first of them."""
_STEEPNESS = (32, 64, 128)
"""By how many powers of two a shard more costs more on a link that carries all instead of nothing, round by round."""
_LN2 = Fraction(7, 10)
_TOP_BITS, _BEYOND_BITS = 48, 42
_WORK_PER_PIECE = 2**21
"""Links times shards that take about as long as a piece should."""


@dataclass(frozen=True)
class UnitLinks:
    """Links of a topology, one for each unit of capacity and no self-loop.

    Attributes
    ----------
    first, other
        Where the links into each node begin, and which nodes they come from, ascending.
    out_first, out_other
        Where the links out of each node begin, and which nodes they lead to, ascending.
    """

    first: IntArray
    other: IntArray
    out_first: IntArray
    out_other: IntArray

    @cached_property
    def entrance(self) -> IntArray:
        """For each link out of a node its place among the links into nodes."""
        place = np.empty(len(self.other), np.int64)
        source = np.repeat(np.arange(len(self.out_first) - 1), np.diff(self.out_first))
        place[np.lexsort((source, self.out_other))] = np.arange(len(place))
        return place


def balanced_relays(
    code: NDArray[np.int16], links: UnitLinks, steps: int, room: int, progress: Progress | None = None
) -> Iterator[NDArray[np.int16]]:
    """Yield who must have which shard one step before the last, for several ways to share shards between both steps.

    Parameters
    ----------
    code
        Shape ``(N, N)``, as the kernels have it, for each shard and node.
    links
        Of the topology.
    steps
        How many there are, at least two.
    room
        What a link should carry in the last two steps.
    progress
        Called with the share of all this that is done.
    """
    rounds = 1 + len(_STEEPNESS)
    for number, share in enumerate(_SHARES):
        balance = _Balance(code.copy(), links, steps)
        goals = round(share * room), room - round(share * room)
        for turn, steepness in enumerate((_STEEPNESS[0], *_STEEPNESS)):
            prices = [_prices(len(code) + 1, goal, steepness, room) for goal in goals]
            done = (number * rounds + turn) / (len(_SHARES) * rounds)
            ahead = part(progress, done, done + 1 / (len(_SHARES) * rounds))
            balance.once_more(prices[0], prices[1], new=turn == 0, progress=ahead)
        code = balance.code
        yield code


class _Balance:
    """Who takes which shard in the last two steps, and over which link.

    Parameters
    ----------
    code
        Who must have which shard one step before the last; changed in place.
    links, steps
        As above.
    """

    def __init__(self, code: NDArray[np.int16], links: UnitLinks, steps: int) -> None:
        self.code = code
        self._links = (links.first, links.other, links.out_first, links.out_other, links.entrance)
        self._steps, self._order = steps, _order(len(code))
        self._link = np.empty(code.shape, np.uint8)
        self._carried = np.zeros((2, len(links.other)), np.int64)

    def once_more(self, cheap: IntArray, dear: IntArray, *, new: bool, progress: Progress | None) -> None:
        """Look at all shards with prices of one more shard on a link, in the last step but one and in the last."""
        soon, last = self._carried
        soon_cost, last_cost = cheap[soon], dear[last]

        def some(_worker: int, begin: int, end: int) -> None:
            shards, loads = self._order[begin:end], (soon, last, soon_cost, last_cost)
            balance_relays(self.code, *self._links, self._steps, shards, self._link, *loads, cheap, dear, new)

        in_pieces(len(self.code), some, first=max(1, _WORK_PER_PIECE // len(self._links[1])), progress=progress)


def _order(nodes: int) -> IntArray:
    """Return all nodes in an order in which neighbours in number are far from each other."""
    stride = max(1, nodes * 618 // 1000)
    while gcd(stride, nodes) > 1:
        stride += 1
    return np.arange(nodes) * stride % nodes


def _prices(count: int, goal: int, steepness: int, room: int) -> IntArray:
    """Return rising integers, the same on all machines: powers up to somewhat above the goal, then a line."""
    rate = _LN2 * steepness / room
    price, top = 2**_TOP_BITS, goal + room // 3
    prices = np.empty(max(count, top + 1), np.int64)
    prices[top:] = price + np.arange(len(prices) - top) * 2**_BEYOND_BITS
    for carried in range(top - 1, -1, -1):
        price -= price * rate.numerator // (rate.denominator + rate.numerator)
        prices[carried] = price
    return prices[:count]
