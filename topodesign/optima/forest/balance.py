"""Balanced capacities at switches (ForestColl, appendix D, (b)).

What a switch gets it has to pass on, so trees use balanced capacities only, and switches can be removed from a fabric
whose capacities are balanced already. Where they are not, because a link has died in one direction or whole numbers of
trees were rounded down, some capacity has to go. Which does least harm is a linear program,

    min U   with   c <= U b on every link,  c balanced at every switch,  and for every set S of vertices that leaves
                   some compute node out,  c(links out of S) >= w(S),

whose sets are found by maximum flows as they are needed. Its capacities are balanced and measured exactly, whatever
they are; and its prices, y(S) for the sets and z(s) for the switches, prove that U is at least

    sum of y(S) w(S)  over  sum of b(u, v) max(0, g(u, v)),   g(u, v) = z(v) - z(u) + y(S) of all S that (u, v) leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve.certificate import Certificate, common_denominator
from topodesign.solve.maxflow import (
    LARGEST,
    Side,
    balance_switches,
    compute_nodes,
    crossing,
    iterate_violated_cuts,
    scale_capped,
    sum_demand,
    surplus,
    worst_ratio,
)
from topodesign.solve.program import Entries, Program
from topodesign.topology.shifts import distinct_nodes
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology

_ROUNDS = 1000
_GRID = 2**30
_SLACK = 1e-8
_TOO_FAR = "the bandwidths at switches with unequal in and out are too far apart; round them"


@dataclass(frozen=True, eq=False)
class Usable:
    """The best balanced part of capacities."""

    inverse_rate: Fraction  # 1/x that the part reaches
    # no balanced part has a smaller one; the two differ only where the solver was too inexact for a proof
    bound: Fraction
    capacity: IntArray  # the part, integers for every link in a scale of their own
    # what proves the bound where no cut does alone: max(0, g) of the links and the sum of y w, as above
    prices: tuple[Fraction, ...] = ()
    worth: Fraction = Fraction(0)


def switch_balance(topology: Topology) -> IntArray:
    """Return 1 for links into each switch, -1 for links out of it."""
    switches = np.array(sorted(topology.switches), dtype=np.int64)[:, None]
    rows: IntArray = (topology.dst == switches).astype(np.int64) - (topology.src == switches)
    return rows


def always_balanced(topology: Topology, capacity: IntArray, group: NDArray[np.bool_]) -> bool:
    """Return whether capacities are balanced and scale together."""
    return not (surplus(topology, capacity).any() or surplus(topology, np.where(group, capacity, 0)).any())


def usable_part(
    topology: Topology, capacity: IntArray, demand: IntArray, unlimited: NDArray[np.bool_] | None = None
) -> Usable:
    """Return the best balanced part of capacities for shard sizes.

    The topology's own capacities play no part; those of ``unlimited`` links are not limited.
    """
    ends = distinct_nodes(topology, demand, capacity, *(() if unlimited is None else (unlimited,)))
    ratio = worst_ratio(topology, capacity, demand, unlimited, ends=ends)
    limits = capacity if unlimited is None else np.where(unlimited, 0, capacity)
    if always_balanced(topology, capacity, limits == 0):
        return Usable(ratio, ratio, capacity)
    program = _Cuts(topology, limits, demand)
    solution = program.settle()
    bound, worth, prices = program.bound(solution)
    bound = max(bound, ratio)
    inverse, part = _part(topology, limits, demand, solution.columns[: len(limits)])
    return Usable(inverse, bound, part, prices, worth)


class _Cuts:
    """The linear program of known sets; columns are c, then U."""

    def __init__(self, topology: Topology, capacity: IntArray, demand: IntArray) -> None:
        self.topology, self.capacity, self.demand = topology, capacity, demand
        self.nodes = compute_nodes(topology)
        self.program = program = Program(unit=sum(demand.tolist()))
        self.part = program.add_columns(len(capacity))
        self.time = program.add_columns(1, cost=max(1, int(capacity.max())))
        limited = np.flatnonzero(capacity)
        rows, ones = np.arange(len(limited)), np.ones_like(limited)
        program.add_rows(
            len(limited),
            Entries(
                np.tile(rows, 2),
                np.concatenate((self.part[limited], np.repeat(self.time, len(limited)))),
                np.concatenate((ones, -capacity[limited])),
            ),
            upper=0,
        )
        balance = switch_balance(topology)
        switch, link = np.nonzero(balance)
        entries = Entries(switch, self.part[link], balance[switch, link])
        self.potential = program.add_rows(len(balance), entries, lower=0, upper=0)
        self.rows: dict[bytes, int] = {}
        for node in self.nodes.tolist():
            for side in (np.arange(topology.nodes) == node, np.arange(topology.nodes) != node):
                self._add(side)

    def settle(self) -> Certificate:
        """Solve and add sets that are violated until there are none.

        As long as integers on a grid find some, they do; then the fractions that are optimal decide.
        """
        scale = Fraction(_GRID, sum(self.demand.tolist()))
        wanted = np.array([int(scale * one) for one in self.demand.tolist()], dtype=np.int64)
        for _ in range(_ROUNDS):
            if self.program.solve() != "optimal":
                raise TooLargeError(_TOO_FAR)
            values = np.maximum(self.program.values(scale)[self.part], 0)
            if self._add_violated(values, wanted, _GRID * _SLACK + len(values)):
                continue
            solution = self.program.certificate()
            columns = solution.columns[: len(self.part)]
            common = common_denominator(columns)
            if not solution.proven or common * max(sum(columns), sum(self.demand.tolist())) >= LARGEST:
                break
            exact = np.array([int(one * common) for one in columns], dtype=np.int64)
            if not self._add_violated(exact, scale_capped(self.demand, common), 0):
                break
        return solution

    def bound(self, solution: Certificate) -> tuple[Fraction, Fraction, tuple[Fraction, ...]]:
        """Return a valid bound on 1/x from any prices, with its proof."""
        topology, capacity = self.topology, self.capacity.tolist()
        prices = [Fraction(0)] * len(capacity)
        worth = Fraction(0)
        for key, row in self.rows.items():
            if (price := solution.prices[row]) > 0:
                side = np.frombuffer(key, dtype=bool)
                worth += price * sum_demand(topology, self.demand, side)
                for link in np.flatnonzero(crossing(topology, side)).tolist():
                    prices[link] += price
        potential = [Fraction(0)] * topology.nodes
        for switch, row in zip(sorted(topology.switches), self.potential.tolist(), strict=True):
            potential[switch] = solution.prices[row]
        ends = zip(prices, topology.src.tolist(), topology.dst.tolist(), strict=True)
        prices = [max(price + potential[v] - potential[u], Fraction(0)) for price, u, v in ends]
        cost = sum(map(Fraction.__mul__, prices, map(Fraction, capacity)), Fraction(0))
        if not cost or any(price for price, limit in zip(prices, capacity, strict=True) if not limit):
            return Fraction(0), Fraction(0), ()
        return worth / cost, worth, tuple(prices)

    def _add_violated(self, capacity: IntArray, demand: IntArray, slack: float) -> int:
        """Add violated sets beyond a slack; return how many are new."""
        added = 0
        for side in iterate_violated_cuts(self.topology, capacity, demand):
            short = sum_demand(self.topology, demand, side) - int(capacity[crossing(self.topology, side)].sum())
            added += short > slack and self._add(side)
        return added

    def _add(self, side: Side) -> bool:
        """Add the row of a set; return whether it is new."""
        if side.tobytes() in self.rows:
            return False
        out = self.part[crossing(self.topology, side)]
        row = self.program.add_rows(
            1, Entries(np.zeros_like(out), out, 1), lower=sum_demand(self.topology, self.demand, side)
        )
        self.rows[side.tobytes()] = int(row[0])
        return True


def _part(
    topology: Topology, capacity: IntArray, demand: IntArray, columns: Sequence[Fraction]
) -> tuple[Fraction, IntArray]:
    """Return the 1/x of capacities, and these as integers."""
    limited = capacity > 0
    pairs = [(one, limit) for one, limit in zip(columns, capacity.tolist(), strict=True) if limit]
    fullest = max((one / limit for one, limit in pairs), default=Fraction(1)) or Fraction(1)
    units = [max(one, Fraction(0)) / fullest for one in columns]  # in units of the given capacities
    finest = Fraction(MAX_CAPACITY) / max(units)
    for scale in (Fraction(common_denominator(units)), finest):
        if scale > finest:
            continue
        rounded = np.array([round(one * scale) for one in units], dtype=np.int64)
        most = np.array([int(limit * scale) for limit in capacity.tolist()], dtype=np.int64)
        part = balance_switches(topology, np.where(limited, np.minimum(rounded, most), rounded))
        try:
            ratio = worst_ratio(topology, part, demand)
        except (InfeasibleError, TooLargeError):
            continue  # too coarse, or too fine
        filled = zip(part[limited].tolist(), capacity[limited].tolist(), strict=True)
        inverse = ratio * max((Fraction(a, b) for a, b in filled), default=Fraction(0))
        return inverse, part // np.gcd.reduce(part)
    raise TooLargeError(_TOO_FAR)
