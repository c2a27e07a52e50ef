"""The cheapest links to widen all cuts, by an integer program.

A collective over trees is as fast as its narrowest cut allows (:mod:`topodesign.optima.forest.bottleneck`), so what has
to be bought is a covering problem: of every set S of vertices that excludes a compute node,

    min sum of cost(i) z(i)   with   sum of step(i) z(i) over items on links out of S  >=  what S lacks,   z whole.

Cuts are found by maximum flows as they are needed. Where links share limits a *wall* is more than a cut: any prices of
links and limits, at which all trees together cost so much at least (:mod:`topodesign.optima.fluid`). Every row is
divided by what its steps have in common and rounded up. Branch and bound does the rest: a branch is left only where
prices, in whole numbers, prove that nothing in it is cheaper than what is known, and what is known has been checked by
maximum flows or exact prices. So no float decides.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve.maxflow import Side, crossing, iterate_violated_cuts, scale_capped, sum_demand
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray, Topology

_BRANCHES = 3000  # branches that are looked at before the search ends without a proof
_GRID = 2**10
_SCALES = (1, 2**8, 2**20)
_ROUNDS = 500
_TOO_SLOW = "links that are not for sale are too slow for that"


@dataclass(frozen=True)
class Item:
    """A purchase: more capacity on links, any number of times."""

    links: tuple[int, ...]  # their places
    step: tuple[int, ...]  # more capacity on each of them
    cost: int  # A whole number, positive


@dataclass(frozen=True)
class Cover:
    """What to buy."""

    cost: int  # of all together
    times: tuple[int, ...]  # how often every item is bought
    bound: int  # nothing that is enough costs less


class Wall(NamedTuple):
    """A bound on time: link prices, limits and the demand."""

    price: IntArray
    limits: Fraction
    worth: Fraction


Walls = Callable[[IntArray, Fraction, int], list[Wall]]
"""Finds walls that are too narrow at capacities, times a whole number, for an inverse rate."""


class Covering:
    """Capacities, demands and items, with walls found so far.

    They are cuts, if ``find`` finds no others.
    """

    def __init__(
        self,
        topology: Topology,
        capacity: IntArray,
        demand: IntArray,
        items: Sequence[Item],
        find: Walls | None = None,
    ) -> None:
        self.topology, self.capacity, self.demand, self.items = topology, capacity, demand, tuple(items)
        self._find, self.passes = (self._cuts, 1) if find is None else (find, len(demand))
        self.walls: dict[bytes, Wall] = {}
        self.common = math.gcd(*(item.cost for item in items)) if items else 1

    def capacities(self, times: Sequence[int], parts: int = 1) -> IntArray:
        """Return the capacities after purchases, in integer parts."""
        more = self.capacity * parts
        for item, number in zip(self.items, times, strict=True):
            for link, step in zip(item.links, item.step, strict=True):
                more[link] += step * number
        return more

    def cheapest(self, inverse_rate: Fraction, below: int | None = None) -> Cover | None:
        """Return the cheapest purchase to a rate, or None."""
        return _Search(self, inverse_rate, below).run()

    def short(self, times: Sequence[int], inverse_rate: Fraction, parts: int = 1) -> list[Wall]:
        """Return the walls that remain too narrow, new and known.

        Those that are new are remembered.
        """
        found = self._find(self.capacities(times, parts), inverse_rate, parts)
        for wall in found:
            self.walls.setdefault(wall.price.tobytes(), wall)
        return found

    def _cuts(self, capacity: IntArray, inverse_rate: Fraction, parts: int) -> list[Wall]:
        """Return cuts that are too narrow, with unit prices."""
        room, wanted = (
            scale_capped(capacity, inverse_rate.numerator),
            scale_capped(self.demand, inverse_rate.denominator * parts),
        )
        return [
            Wall(crossing(self.topology, side).astype(np.int64), Fraction(0), self._leaving(side))
            for side in iterate_violated_cuts(self.topology, room, wanted)
        ]

    def _leaving(self, side: Side) -> Fraction:
        return Fraction(sum_demand(self.topology, self.demand, side))


_Ends = tuple[tuple[int, int], ...]  # least and largest numbers of the items


class _Search:
    """Branch and bound for one rate."""

    def __init__(self, covering: Covering, inverse_rate: Fraction, below: int | None) -> None:
        self.covering, self.rate = covering, inverse_rate
        self.best: tuple[int, ...] | None = None
        wanted = covering.passes * sum(covering.demand.tolist()) / inverse_rate
        self.most = [math.ceil(wanted / min(item.step)) for item in covering.items]
        least = sum(item.cost * most for item, most in zip(covering.items, self.most, strict=True))
        self.cost = least + 1 if below is None else below  # of the best, or what it has to be cheaper than
        self.program = Program()
        count = len(covering.items)
        costs = np.array([item.cost for item in covering.items], dtype=np.int64)
        self.times = self.program.add_columns(count, cost=costs, upper=np.array(self.most, dtype=np.int64))
        self.lack = self.program.add_columns(1, cost=least + 1, upper=1)  # keeps every branch feasible
        self.known: set[bytes] = set()

    def run(self) -> Cover | None:
        """Search until nothing cheaper is left, or for some branches."""
        covering = self.covering
        if not covering.short([0] * len(covering.items), self.rate):
            return Cover(0, (0,) * len(covering.items), 0)
        if covering.passes > 1 and covering.short(self.most, self.rate):
            raise InfeasibleError(f"{_TOO_SLOW}, or limits that links share")
        self._add()
        if self._settle() is not None:
            whole = [min(math.ceil(value / _GRID), most) for value, most in zip(self._values(), self.most, strict=True)]
            self._offer(self._thin(whole))
        number = itertools.count()
        waiting = [(0, next(number), tuple((0, most) for most in self.most))]
        for _ in range(_BRANCHES):
            if not waiting or waiting[0][0] >= self.cost:
                break
            known, _, ends = heapq.heappop(waiting)
            low, high = np.array(ends, dtype=np.int64).T
            self.program.change_columns(self.times, lower=low, upper=high)
            bound = self._settle()
            for part in () if bound is None else self._parts(ends):
                heapq.heappush(waiting, (max(known, bound or 0), next(number), part))
        left = min((bound for bound, _, _ in waiting), default=self.cost)
        if self.best is not None:
            return Cover(self.cost, self.best, min(left, self.cost))
        if left < self.cost:
            raise TooLargeError("the cheapest purchase was not found; sell fewer classes of links, or larger steps")
        return None

    def _settle(self) -> int | None:
        """Solve and add cuts until the relaxation holds; return its bound."""
        for _ in range(_ROUNDS):
            self.program.solve()
            bound = self._bound()
            if bound >= self.cost:
                return None
            values = self._values()
            whole = [round(value / _GRID) for value in values]
            near = all(abs(value - _GRID * one) <= 1 for value, one in zip(values, whole, strict=True))
            if near and self.program.solved and not self.program.values(_GRID)[self.lack[0]] > 0:
                if not self.covering.short(whole, self.rate):
                    self._offer(whole)
                    return None if bound >= self.cost else bound
            else:
                self.covering.short(values, self.rate, _GRID)
            if not self._add():
                return bound
        return bound

    def _bound(self) -> int:
        """Return what nothing in this branch costs less than."""
        bound = self.program.bound(_SCALES) if self.program.solved else None
        common = self.covering.common
        return 0 if bound is None else max(0, math.ceil(bound / common) * common)

    def _values(self) -> list[int]:
        return np.clip(self.program.values(_GRID)[self.times], 0, None).tolist() if self.program.solved else self.most

    def _add(self) -> int:
        """Add rows of new walls; return how many."""
        covering, added = self.covering, 0
        for key, wall in covering.walls.items():
            if key in self.known:
                continue
            self.known.add(key)
            price = wall.price.tolist()
            room = sum(map(int.__mul__, price, covering.capacity.tolist()))
            need = math.ceil(wall.worth / self.rate - wall.limits) - room
            steps = {
                at: sum(step * price[link] for link, step in zip(item.links, item.step, strict=True))
                for at, item in enumerate(covering.items)
            }
            steps = {at: min(step, need) for at, step in steps.items() if step}
            if need <= 0:
                continue
            if not steps:
                raise InfeasibleError(_TOO_SLOW)
            common = math.gcd(*steps.values())
            columns, whole = np.append(self.times[list(steps)], self.lack), -(-need // common)
            values = np.append(np.array(list(steps.values()), dtype=np.int64) // common, whole)
            self.program.add_rows(1, Entries(np.zeros_like(columns), columns, values), lower=whole)
            added += 1
        return added

    def _parts(self, ends: _Ends) -> tuple[_Ends, ...]:
        """Return the two parts of a branch; one if it is settled."""
        values = self._values()
        divisible = [at for at, (low, high) in enumerate(ends) if low < high]
        if not divisible:
            return ()
        at = max(divisible, key=lambda one: (min(values[one] % _GRID, -values[one] % _GRID), -one))
        low, high = ends[at]
        middle = min(max(values[at] // _GRID, low), high - 1)
        return (*ends[:at], (low, middle), *ends[at + 1 :]), (*ends[:at], (middle + 1, high), *ends[at + 1 :])

    def _thin(self, times: list[int]) -> list[int]:
        """Return sufficient purchases with fewer of the dearest items."""
        if self.covering.short(times, self.rate):
            times = list(self.most)
        order = sorted(range(len(times)), key=lambda at: (-self.covering.items[at].cost, at))
        for at in order:
            low, high = 0, times[at]
            while low < high:  # the least number that is enough
                middle = (low + high) // 2
                if self.covering.short([*times[:at], middle, *times[at + 1 :]], self.rate):
                    low = middle + 1
                else:
                    high = middle
            times[at] = high
        return times

    def _offer(self, times: Sequence[int]) -> None:
        """Keep a sufficient purchase if it is the cheapest yet."""
        cost = sum(item.cost * number for item, number in zip(self.covering.items, times, strict=True))
        if cost < self.cost:
            self.cost, self.best = cost, tuple(times)
