"""Exact concurrent flows by column generation over shortest-path trees.

    minimise U  where every source mixes its trees, and no orbit of links carries more than U times its capacity.

Only as many rows as there are orbits of sources and links; trees are added while prices of the links make one cheaper
than those that are there (Dantzig and Wolfe). At a good price-setting the cheapest trees add up to a lower bound, so
prices are kept near to the best ones met (Wentges). In the end prices and mixture are solved exactly, and the mixture
is the flow.

Over shortest paths alone (fewest links), the same with lengths in which any link more outweighs all prices.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.base.progress import Progress
from topodesign.solve.certificate import common_denominator
from topodesign.solve.flows.concurrent import (
    Amounts,
    ConcurrentFlow,
    arc_lengths,
    price_capacities,
    sum_tree,
    tree,
    trees,
)
from topodesign.solve.flows.potentials import find_lengths
from topodesign.solve.program import Entries, Program
from topodesign.topology.quotient import Quotient
from topodesign.topology.topology import IntArray

_FINE = 2**20  # prices of links are whole multiples of the mean one over this
_LARGE = 2**20  # loads of links, above which the solver gets them in parts
_CLOSE = Fraction(1, 10**9)  # bounds that are so near are looked at exactly
_NEAR = (Fraction(7, 10), Fraction(0))  # how much of the best prices goes into those that are tried, one after another


def tree_flow(
    quotient: Quotient,
    *,
    shortest: bool = False,
    balanced: bool = False,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> ConcurrentFlow:
    """Return an optimal flow by column generation.

    * ``quotient``: sources and links; hundreds of orbits of links at most.
    * ``shortest``: over paths of fewest links only.
    * ``balanced``: begin with the trees of flows that are balanced for a while, which is faster where sources send to
      few nodes each.
    * ``seconds``: time after which the best flow and prices so far are returned.
    * ``progress``: told the proven ratio of the bounds every now and then.
    """
    return _Master(quotient, shortest, balanced).run(
        math.inf if seconds is None else time.monotonic() + seconds, progress
    )


class _Master:
    """Master program: the current mixture of trees and its proof."""

    def __init__(self, quotient: Quotient, shortest: bool, balanced: bool) -> None:
        self.quotient, self.shortest, self.balanced = quotient, shortest, balanced
        many, kinds = len(quotient.sources), len(quotient.room)
        self.room = quotient.room // np.gcd.reduce(quotient.room)
        self.scale = min(int(self.room.sum()) * _FINE, 2**56 // (quotient.topology.nodes * quotient.most))
        self.program = Program()
        self.program.add_columns(1, cost=1)
        self.program.add_rows(many, Entries((), (), ()), lower=1, upper=1)
        rows = np.arange(kinds)
        none = np.zeros(kinds, dtype=np.int64)
        far = trees(quotient, np.ones(len(quotient.arcs), dtype=np.int64))[1]
        size = np.maximum(1, self.room * (sum(far) // price_capacities(self.room, none + 1)) // _LARGE)
        self.program.add_rows(kinds, Entries(rows, none, -self.room), upper=0, size=size)
        self.owner: list[int] = []  # source of every tree
        self.lengths: list[IntArray] = []  # of which it is one
        self.met: set[tuple[int, bytes]] = set()
        self.best_prices = self._normal([1] * kinds)
        self.best = Fraction(0)

    def run(self, until: float, progress: Progress | None) -> ConcurrentFlow:
        self._add_trees(self.best_prices + 1)
        if self.balanced:
            for lengths in find_lengths(self.quotient):
                self._add_trees(lengths)
        grown = False
        while True:
            self.program.solve(grown=grown)
            grown = self.balanced
            if not self.program.solved:
                raise InfeasibleError("the solver finds no mixture of trees; ask for approximate flows, or for bounds")
            reached = Fraction(int(self.program.values(2**40)[0]), 2**40)
            late = time.monotonic() > until
            if progress is not None:
                progress(min(1.0, float(self.best / reached)))
            if not late and self.best * (1 + _CLOSE) < reached and self._improve():
                continue
            flow, better = self._settle()
            if late or not better:
                return flow

    def _improve(self) -> bool:
        """Add cheaper trees at interpolated prices; return whether any are new."""
        prices = np.maximum(0, -self.program.prices(self.scale)[len(self.quotient.sources) :])
        for near in _NEAR:
            p, q = near.numerator, near.denominator
            if self._add_trees((p * self.best_prices + (q - p) * prices) // q + 1):
                return True
        return False

    def _normal(self, prices: list[int]) -> IntArray:
        """Scale prices to about the sum of the program's prices."""
        paid = sum(price * room for price, room in zip(prices, self.room.tolist(), strict=True))
        return np.array([price * self.scale // paid for price in prices], dtype=np.int64)

    def _add_trees(self, prices: Amounts) -> bool:
        """Add the cheapest trees for prices; return whether any are new."""
        lengths = arc_lengths(self.quotient, prices, shortest=self.shortest)
        loads, far = trees(self.quotient, lengths)
        if self.shortest:
            far = (loads.astype(object) @ np.asarray(prices)).tolist()
        bound = Fraction(sum(far), price_capacities(self.room, prices))
        if bound > self.best:
            self.best, self.best_prices = bound, self._normal([int(price) for price in prices])
        new = [row for row in range(len(loads)) if (row, loads[row].tobytes()) not in self.met]
        if new:
            self.met.update((row, loads[row].tobytes()) for row in new)
            self.owner += new
            self.lengths += [lengths] * len(new)
            column, kind = np.nonzero(loads[new])
            entries = Entries(
                np.concatenate((new, len(loads) + kind)),
                np.concatenate((np.arange(len(new)), column)),
                np.concatenate((np.ones(len(new), dtype=np.int64), loads[new][column, kind])),
            )
            self.program.add_columns(len(new), entries=entries)
        return bool(new)

    def _settle(self) -> tuple[ConcurrentFlow, bool]:
        """Return the flow of the mixture, and whether it may improve."""
        many = len(self.quotient.sources)
        proof = self.program.certificate()
        shares = self._shares(proof.columns[1:], proof.proven)
        prices = [max(Fraction(0), -price) for price in proof.prices[many:]]
        common = common_denominator(prices)
        exact = np.array([int(price * common) for price in prices], dtype=object)
        better = proof.proven and bool(exact.any()) and self._add_trees(exact)
        flow = self._flow(shares, self.best_prices)
        if proof.proven and exact.any():
            proved = self._flow(shares, exact)
            flow = proved if proved.lower >= flow.lower else flow
        return flow, better and not flow.exact

    def _shares(self, columns: Sequence[Fraction], proven: bool) -> list[Fraction]:
        """Return tree shares that sum to one for each source."""
        if proven:
            return list(columns)
        sums = [Fraction(0)] * len(self.quotient.sources)
        kept = [max(Fraction(0), share) for share in columns]
        for owner, share in zip(self.owner, kept, strict=True):
            sums[owner] += share
        whole = [round(_FINE * share / sums[owner]) for owner, share in zip(self.owner, kept, strict=True)]
        left = [_FINE] * len(sums)
        for owner, units in zip(self.owner, whole, strict=True):
            left[owner] -= units
        largest = {owner: place for place, owner in sorted(enumerate(self.owner), key=lambda pair: whole[pair[0]])}
        for owner, place in largest.items():
            whole[place] += left[owner]
        return [Fraction(units, _FINE) for units in whole]

    def _flow(self, shares: Sequence[Fraction], prices: Amounts) -> ConcurrentFlow:
        quotient = self.quotient
        common = common_denominator(shares)
        small = common * quotient.most < 2**62
        amounts = np.zeros((len(quotient.sources), len(quotient.arcs)), dtype=np.int64 if small else object)
        for owner, lengths, share in zip(self.owner, self.lengths, shares, strict=False):  # later trees have no share
            if share:
                _, via, order = tree(quotient, int(quotient.sources[owner]), lengths)
                amounts[owner] += int(share * common) * sum_tree(quotient, owner, via, order).astype(amounts.dtype)
        divisor = math.gcd(common, int(np.gcd.reduce(amounts, axis=None)))
        return ConcurrentFlow(
            quotient, amounts // divisor, common // divisor, prices, "shortest-path trees", self.shortest
        )
