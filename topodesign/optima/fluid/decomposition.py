"""Dantzig-Wolfe decomposition: trees as columns of a master program.

The master program has a row for every orbit of limits, which adds up what columns put on its limits, and one for every
orbit of roots, whose columns are weighted by shares of the data (chapter 5). With automorphisms a column stands for its
images in equal parts: these load all limits of an orbit alike, so nothing is lost, and one subproblem for each orbit of
roots does for all (theorem 7). Without, it is the standard kind. The first program finds the least time R, the second
the least cost among what is as fast.

Every set of prices proves a bound: no solution is faster than what the cheapest trees cost at them. In the end prices
and columns are fractions of which both are known exactly, and where they meet, that is the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from topodesign.optima.fluid.cheapest_tree import Cheapest, Tree, Ways, cheapest_tree
from topodesign.optima.fluid.network import Network
from topodesign.optima.fluid.symmetry import Images, Symmetry, sets_of_relays
from topodesign.solve.program import Entries, Program
from topodesign.topology.topology import IntArray

MAX_SETS = 4096  # sets of relays that are looked at from one root, at most
_GRID = 2**26  # weights, and prices over the largest of them, are rounded to so many parts, but in the end
_FINE = 10**15  # parts of one in which prices are looked at first
_START = 2**10  # parts of the price of the narrowest limit in which the first prices are
_FEW = 4  # sets of relays that are all looked at in every round
_ROUNDED = 1e-9  # of a sum of floats, which may miss no more of it
_NEAR = Fraction(1, 10**6)  # of the value: a bound as near as this calls for the exact prices


@dataclass(frozen=True, eq=False)
class Source:
    """A subproblem: data from a root and its equivalent roots."""

    network: Network  # as it is, or turned round
    root: int  # which one stands for all
    many: int  # how many there are
    pair: int | None = None  # sources of one number have equal shares of the data; None where each root has one shard
    amount: int = 1  # shards of each root, where they are not shared
    team: int = 0  # the group that is solved, of those that are alike
    single: bool = False  # whether the root cannot copy, so that one edge leaves it

    @property
    def point(self) -> int:
        """The root and the group, by one number."""
        return self.network.point(self.root, self.team)


@dataclass(frozen=True)
class Progress:
    """The state of the solution: rounds, columns, value and bound."""

    rounds: int
    columns: int
    value: Fraction
    bound: Fraction

    @property
    def gap(self) -> Fraction:
        """How much better an optimum could be, of the value."""
        return 1 - self.bound / self.value if self.value else Fraction(0)


@dataclass(frozen=True, eq=False)
class Column:
    """A tree of a source, with its rows and cost, images included."""

    source: int
    tree: Tree
    load: IntArray
    cost: int


@dataclass(frozen=True, eq=False)
class Mixture:
    """Columns with weights, and what is proven of them."""

    columns: tuple[Column, ...]  # trees of the sources, and how much of a shard goes over each; all above zero
    weights: tuple[Fraction, ...]
    time: Fraction  # in which all limits of the bounds carry it, and what none is faster than
    time_bound: Fraction
    # of all data, and what none that is as fast costs less than; None if costs were not asked for
    cost: Fraction | None
    cost_bound: Fraction | None
    prices: tuple[int, ...]  # one for every orbit of limits, which prove ``time_bound``, in any unit
    rounds: int  # of both programs together, and how many columns they had
    looked_at: int

    @property
    def proven(self) -> bool:
        """Whether nothing is faster, and nothing as fast is cheaper."""
        return self.time == self.time_bound and self.cost == self.cost_bound


def _column(rows: Iterable[int] | IntArray, values: Iterable[int] | IntArray) -> Entries:
    """Return the entries of one column."""
    places = np.array(list(rows), dtype=np.int64)
    return Entries(places, np.zeros_like(places), np.array(list(values), dtype=np.int64))


def _read(program: Program, columns: list[int], limits: int, exact: bool) -> tuple[list[Fraction], list[int], int]:
    """Return columns, row prices and their scale, exact if asked.

    The first so many rows are limits. Exact numbers are those of the solver's basis, if they prove each other.
    """
    certificate = program.certificate() if exact else None
    if certificate is not None and certificate.proven:
        scale = math.lcm(*(price.denominator for price in certificate.prices))
        return [certificate.columns[at] for at in columns], [int(p * scale) for p in certificate.prices], scale
    found = [Fraction(value, _GRID) for value in program.values(_GRID)[columns].tolist()]
    largest = int(np.abs(program.prices(_FINE)[:limits]).max(initial=1))
    scale = max(1, _GRID * _FINE // max(largest, 1))
    return found, program.prices(scale).tolist(), scale


class _MasterSolution(NamedTuple):
    """A solved master program: weights, value, bound and prices."""

    weights: list[Fraction]
    value: Fraction
    bound: Fraction
    prices: list[int]


Listener = Callable[[Progress], None]


@dataclass(eq=False)
class Decomposition:
    """The columns and sources of one problem."""

    sources: Sequence[Source]  # subproblems
    # automorphisms: limits are put together by orbits, or a tree has an image for each root
    symmetry: Symmetry | Images
    total: int = 1  # shards of all pairs of a group together, where shares are free
    gap: Fraction = Fraction(0)  # part of the value by which a bound may miss it
    listener: Listener | None = None  # told of every round
    floor: Fraction = Fraction(0)  # A time that nothing is faster than, where that is known
    teams: tuple[int, ...] = (1,)  # how many groups each group stands for, itself included
    most: float = math.inf  # rounds of a program after which the best found so far is good enough
    columns: list[Column] = field(default_factory=list)  # those that there are
    rounds: int = 0  # how many there have been
    _known: set[tuple[int, int, bytes]] = field(default_factory=set)  # the columns

    @cached_property
    def _choices(self) -> list[tuple[list[tuple[int, ...]], bool]]:
        """The relay sets of each source, and whether they suffice."""
        return [self._sets(source) for source in self.sources]

    @staticmethod
    def _sets(source: Source) -> tuple[list[tuple[int, ...]], bool]:
        if not len(source.network.relays):
            return [()], True
        known = source.network.relay_sets
        if source.root not in known:
            known[source.root] = sets_of_relays(source.network, source.root, MAX_SETS)
        sets = known[source.root]
        if sets is not None:
            return sets, True
        relays = [relay for relay in source.network.relays.tolist() if relay != source.root]
        return [(), tuple(relays), *((relay,) for relay in relays)], False

    def solve(self, *, cheapest: bool) -> Mixture:
        """Return the fastest mixture of trees, and the cheapest if asked.

        It begins with trees at prices of one over a limit where it has no columns.
        """
        if not self.columns:
            bounds = self.symmetry.each
            self._ask([1 + max(bounds) * _START // bound for bound in bounds], 0, [], exact=True)
        fastest = self._fastest()
        least = self._cheapest(fastest.value) if cheapest else None
        weights = (fastest if least is None else least).weights
        used = [at for at, weight in enumerate(weights) if weight]
        return Mixture(
            tuple(self.columns[at] for at in used),
            tuple(weights[at] for at in used),
            fastest.value,
            fastest.bound,
            None if least is None else least.value,
            None if least is None else least.bound,
            tuple(fastest.prices),
            self.rounds,
            len(self.columns),
        )

    def _fastest(self) -> _MasterSolution:
        """Return the weights of columns, their time, and its bound."""
        bounds = self.symmetry.bounds
        times = max(bounds)
        program = self._program([0] * len(bounds))
        program.add_columns(1, cost=1, entries=_column(range(len(bounds)), [-bound for bound in bounds]))

        def proves(prices: list[int], scale: int, cheapest: Fraction) -> Fraction:
            del scale
            total = sum(price * bound for price, bound in zip(prices, bounds, strict=True))
            return cheapest / total if total else Fraction(0)

        return self._rounds(program, times, 0, self._time, proves, self.floor)

    def _cheapest(self, time: Fraction) -> _MasterSolution:
        """Return the weights of least cost within a time, and the bound."""
        bounds = self.symmetry.bounds
        program = self._program([time.numerator * bound for bound in bounds])

        def proves(prices: list[int], scale: int, cheapest: Fraction) -> Fraction:
            total = sum(price * bound for price, bound in zip(prices, bounds, strict=True))
            return (cheapest - time * total) / scale

        def cost(weights: list[Fraction]) -> Fraction | None:
            if self._time(weights) > time:
                return None
            return sum((w * one.cost for w, one in zip(weights, self.columns, strict=False)), Fraction(0))

        return self._rounds(program, time.denominator, 1, cost, proves)

    def _rounds(  # noqa: PLR0917  what makes one master program another
        self,
        program: Program,
        times: int,
        costs: int,
        worth: Callable[[list[Fraction]], Fraction | None],
        proves: Callable[[list[int], int, Fraction], Fraction],
        floor: Fraction = Fraction(0),
    ) -> _MasterSolution:
        """Solve a master program by adding columns until they suffice.

        It has loads multiplied by ``times``, and ``costs`` (0 or 1) times the costs. ``worth`` is the value of weights
        of the columns, None if they are not allowed; ``proves`` what no solution is better than, given prices of the
        limits, their scale, and what the cheapest trees cost at them together; ``floor`` what is known of that already.
        """
        first = [self._enter(program, one, times, costs) for one in self.columns]
        best, bound, proof = None, floor, [0] * len(self.symmetry.bounds)
        exact = False

        def met() -> bool:
            return best is not None and bound >= best[1] * (1 - (self.gap or (0 if exact else _NEAR)))

        while True:
            self.rounds += 1
            if program.solve(grown=self.rounds > 1) != "optimal":
                raise RuntimeError("the master program has no solution, but each tree is one")
            found, dual, scale = _read(program, first, len(self.symmetry.bounds), exact)
            weights = self._normal(found)
            value = worth(weights)
            if value is not None and (best is None or value < best[1]):
                best = weights, value
            if floor and met() and not (exact or self.gap):
                exact = True
                continue  # no trees are asked for where the floor is met
            if floor and met():
                break
            prices = [max(0, -price) * times for price in dual[: len(self.symmetry.bounds)]]
            rows = dual[len(self.symmetry.bounds) :]
            total, added = self._ask(prices, scale * costs, rows, exact)
            if total is not None and proves(prices, scale, total) >= bound:
                bound, proof = proves(prices, scale, total), prices
            if best is not None and self.listener is not None:
                self.listener(Progress(self.rounds, len(self.columns), best[1], bound))
            first += [self._enter(program, one, times, costs) for one in self.columns[len(first) :]]
            if (exact and not added) or (met() and (exact or self.gap)) or (best and self.rounds >= self.most):
                break
            exact = exact or not added or met()
        if best is None:
            raise RuntimeError("no weights of the columns are as fast as those found before")
        weights, value = best
        return _MasterSolution(weights, value, bound, proof)

    def _program(self, room: list[int]) -> Program:
        """Return a master program without trees: limits, sources, pairs."""
        program = Program()
        program.add_rows(len(room), Entries((), (), ()), upper=room)
        pairs = self._pairs
        if not pairs:
            amounts = [source.amount for source in self.sources]
            program.add_rows(len(self.sources), Entries((), (), ()), lower=amounts, upper=amounts)
            return program
        program.add_rows(len(self.sources), Entries((), (), ()), lower=0, upper=0)
        data = [self.total * many for many in self.teams]
        program.add_rows(len(data), Entries((), (), ()), lower=data, upper=data)
        last = len(room) + len(self.sources)
        for members in pairs.values():
            rows = [len(room) + at for at in members]
            first = self.sources[members[0]]
            program.add_columns(1, entries=_column([*rows, last + first.team], [-1] * len(rows) + [first.many]))
        return program

    @property
    def _pairs(self) -> dict[int, list[int]]:
        """Sources by their pair; empty if every root has a shard."""
        pairs: dict[int, list[int]] = {}
        for at, source in enumerate(self.sources):
            if source.pair is not None:
                pairs.setdefault(source.pair, []).append(at)
        return pairs

    def _enter(self, program: Program, column: Column, times: int, costs: int) -> int:
        """Add a column to a master program and return its number."""
        loaded = np.flatnonzero(column.load)
        rows = np.append(loaded, len(column.load) + column.source)
        values = np.append(column.load[loaded] * times, 1)
        (place,) = program.add_columns(1, cost=column.cost * costs, entries=_column(rows, values))
        return int(place)

    def _normal(self, found: list[Fraction]) -> list[Fraction]:
        """Return nearby weights that give every root exactly its share."""
        found = [max(Fraction(0), weight) for weight in found]
        whole = [Fraction(0)] * len(self.sources)
        for column, weight in zip(self.columns, found, strict=False):
            whole[column.source] += weight
        share = [Fraction(source.amount) for source in self.sources]
        if self._pairs:
            full = [members for members in self._pairs.values() if all(whole[at] for at in members)]
            data = [Fraction(0)] * len(self.teams)
            for first, *_ in full:
                data[self.sources[first].team] += self.sources[first].many * whole[first]
            share = [Fraction(0)] * len(self.sources)
            for members in full:
                team = self.sources[members[0]].team
                for at in members:
                    share[at] = whole[members[0]] * self.total * self.teams[team] / data[team]
        return [
            weight * share[column.source] / whole[column.source] if weight else weight
            for column, weight in zip(self.columns, found, strict=False)
        ]

    def _time(self, weights: list[Fraction]) -> Fraction:
        """Return the exact time of the fullest row of limits."""
        used = [(column, weight) for column, weight in zip(self.columns, weights, strict=False) if weight]
        bounds = self.symmetry.bounds
        total = np.zeros(len(bounds))
        for column, weight in used:
            total += float(weight) * column.load
        total /= np.array(bounds, dtype=np.float64)
        fullest = np.flatnonzero(total >= total.max() * (1 - _ROUNDED)).tolist()
        return max(
            sum((w * int(one.load[row]) for one, w in used if one.load[row]), Fraction(0)) / bounds[row]
            for row in fullest
        )

    def _ask(self, prices: list[int], cost: int, rows: list[int], exact: bool) -> tuple[Fraction | None, bool]:
        """Add the cheapest tree of every source if new and useful.

        Given are prices of the orbits of limits, what a unit of cost counts in their scale, and what the master pays
        for the columns of each source (nothing: all are kept). Return what the cheapest trees cost together, None if
        that proves nothing since not all sets of relays were looked at, and whether there is a new column.
        """
        ways: dict[tuple[int, int], Ways] = {}
        found: list[Cheapest] = []
        complete, added = True, False
        for at, source in enumerate(self.sources):
            key = id(source.network), self.symmetry.kind(source.point, source.many)
            if key not in ways:
                each = self.symmetry.asked(source.point, source.many, prices)
                costs = (cost * source.many * one for one in source.network.cost.tolist())
                dear = [price + more for price, more in zip(each, costs, strict=True)]
                ways[key] = Ways(source.network, dear)
            cheapest, all_sets = self._subproblem(at, ways[key], rows[at] if rows else None, exact)
            complete &= all_sets
            found.append(cheapest)
            if rows and cheapest.price >= rows[at]:
                continue
            added |= self.enter(at, cheapest.tree)
        if not complete:
            return None, added
        if self._pairs:
            least: dict[int, Fraction] = {}
            for members in self._pairs.values():
                first = self.sources[members[0]]
                both = Fraction(sum(found[at].price for at in members), first.many)
                least[first.team] = min(both, least.get(first.team, both))
            return sum((self.total * self.teams[team] * price for team, price in least.items()), Fraction(0)), added
        total = sum(source.amount * one.price for source, one in zip(self.sources, found, strict=True))
        return Fraction(total), added

    def enter(self, at: int, tree: Tree) -> bool:
        """Add the columns of a tree and its images; return whether it is new."""
        source, many = self.sources[at], len(self.columns)
        cost = source.many * int((source.network.cost * tree.load).sum())
        for one in self.symmetry.turned(tree, source.point):
            load = self.symmetry.carried(source.point, source.many, one.load)
            key = at, cost, load.tobytes()
            if key not in self._known:
                self._known.add(key)
                self.columns.append(Column(at, one, load, cost))
            elif one is tree:
                break
        return len(self.columns) > many

    def _subproblem(self, at: int, ways: Ways, pays: int | None, exact: bool) -> tuple[Cheapest, bool]:
        """Return a source's cheapest tree, and whether all relays were tried."""
        source, (sets, all_sets) = self.sources[at], self._choices[at]
        if len(sets) > _FEW and not exact and pays is not None:
            cheapest = cheapest_tree(ways, source.root, sets[:_FEW], single=source.single)
            if cheapest.price < pays:
                return cheapest, False
        return cheapest_tree(ways, source.root, sets, single=source.single), all_sets
