"""Best throughput for a number of trees per node.

ForestColl, section 5.5, D.4.

With k trees per node, each for 1/k of a shard, a link of capacity b carries floor(U b) trees in a time of U/k per unit
of shard. The least U for which the trees exist is found as the optimum is, by Newton's iteration on cuts: a cut that is
too small says by itself which U it needs.

On fabrics with one-way links, after rounding down a switch may have more capacity in than out, and trees need the
same on both sides (:mod:`topodesign.optima.forest.balance`). What has to go is chosen by an integer program over the
cuts that turned out to matter; its answer is checked exactly. U is raised until there is one, at the latest to where
nothing is rounded.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import TooLargeError
from topodesign.optima.forest.balance import switch_balance
from topodesign.optima.forest.bottleneck import TreeRate, optimum, shard_sizes, tree_capacities, with_capacity
from topodesign.solve.maxflow import (
    LARGEST,
    Side,
    crossing,
    find_violated_cut,
    scale_capped,
    settle,
    sum_demand,
    surplus,
)
from topodesign.solve.program import NO_BOUND, Entries, Program
from topodesign.topology.shifts import distinct_nodes
from topodesign.topology.topology import IntArray, Topology

_TRIES = 1000
_BRANCHES = 200  # nodes of the search tree after which an integer program counts as infeasible


@dataclass(frozen=True)
class FixedOptimum:
    """The best throughput with a given number of trees."""

    trees: int  # k, trees per root and unit of shard size
    inverse_rate: Fraction  # time per unit of shard that is reached; ``trees * tree_rate * inverse_rate == 1``
    tree_rate: Fraction  # capacity that a tree takes on each of its links
    # no k trees have a smaller ``inverse_rate`` than this. The two differ at most where capacities at switches
    # had to be balanced.
    bound: Fraction
    topology: Topology  # the number of trees that each link may carry, as much into each switch as out of it


def find_fixed_optimum(
    topology: Topology, trees: int, *, weights: Sequence[int] | None = None, best: TreeRate | None = None
) -> FixedOptimum:
    """Return the best throughput of exactly k trees per node."""
    require_at_least("trees", trees, 1)
    best = optimum(topology, weights=weights) if best is None else best
    demand = scale_capped(shard_sizes(topology, weights), trees)

    def amounts(scale: Fraction) -> tuple[IntArray, IntArray]:
        return _floors(topology, scale), demand

    def raised(_: Fraction, side: Side) -> Fraction:
        return _least_scale(topology.capacity[crossing(topology, side)].tolist(), sum_demand(topology, demand, side))

    least = settle(topology, trees * best.bound, amounts, raised, ends=distinct_nodes(topology, demand))
    safe = -(-trees // best.trees) / best.tree_rate
    scale, capacity = _find_scale(topology, demand, least, safe)
    if capacity is None:
        scale, reduced = safe, tree_capacities(best.usable, 1 / (safe * best.grain))
    else:
        reduced = with_capacity(topology, capacity)
    return FixedOptimum(trees, scale / trees, 1 / scale, least / trees, reduced)


def smallest_trees(topology: Topology, *, weights: Sequence[int] | None = None, best: TreeRate | None = None) -> int:
    """Return the fewest trees per node that reach the optimum.

    Links that bind must not lose anything by rounding, so that only multiples of a number that follows from them are
    tried. After ``_TRIES`` the answer is that of Proposition 3, which always does.
    """
    best = optimum(topology, weights=weights) if best is None else best
    sizes = shard_sizes(topology, weights)
    q = best.inverse_rate.denominator
    step = math.lcm(*(q // math.gcd(q, b) for b in topology.capacity[list(best.binding)].tolist()))
    for trees in range(step, min(best.trees, step * _TRIES + 1), step):
        if (
            _balance_capacities(topology, _floors(topology, trees * best.inverse_rate), scale_capped(sizes, trees), [])
            is not None
        ):
            return trees
    return best.trees


def _floors(topology: Topology, scale: Fraction) -> IntArray:
    p, q = scale.numerator, scale.denominator
    distinct, place = np.unique(topology.capacity, return_inverse=True)
    whole = [b * p // q for b in distinct.tolist()]
    if max(whole, default=0) >= LARGEST:
        raise TooLargeError("that many trees require more than 64 bits; fix a smaller number of trees per node")
    floors: IntArray = np.array(whole, dtype=np.int64)[place]
    return floors


def _least_scale(capacities: list[int], wanted: int) -> Fraction:
    """Return the least U with a wanted sum of floor(U b)."""
    scale = Fraction(wanted, sum(capacities))
    count = Counter(capacities)
    missing = wanted - sum(times * math.floor(scale * b) for b, times in count.items())
    steps = [(Fraction(math.floor(scale * b) + 1, b), b) for b in count]
    heapq.heapify(steps)
    while missing > 0:
        scale, b = steps[0]
        missing -= count[b]
        heapq.heapreplace(steps, (scale + Fraction(1, b), b))
    return scale


def _find_scale(
    topology: Topology, demand: IntArray, least: Fraction, safe: Fraction
) -> tuple[Fraction, IntArray | None]:
    """Return the least U in a range with balanced capacities.

    Only numbers where some capacity is whole matter. None: there is no choice, or only at ``least`` equal to ``safe``.
    """
    sides: list[Side] = []
    capacity = _balance_capacities(topology, _floors(topology, least), demand, sides)
    if capacity is not None:
        return least, capacity
    distinct = np.unique(topology.capacity).tolist()
    low, high = least, safe
    while (following := min(Fraction(math.floor(low * b) + 1, b) for b in distinct)) < high:
        middle = (low + high) / 2
        scale = max(following, *(Fraction(math.floor(middle * b), b) for b in distinct))
        chosen = _balance_capacities(topology, _floors(topology, scale), demand, sides)
        if chosen is None:
            low = scale
        else:
            high, capacity = scale, chosen
    return high, capacity


def _balance_capacities(topology: Topology, most: IntArray, demand: IntArray, sides: list[Side]) -> IntArray | None:
    """Return balanced capacities that satisfy the demand, or None.

    ``sides`` are cuts that are looked at from the start; those that turn out to be too small are added.
    """
    if find_violated_cut(topology, most, demand, ends=distinct_nodes(topology, demand, most))[1] is not None:
        return None
    if not surplus(topology, most).any():
        return most
    while (capacity := _satisfy_cuts(topology, most, demand, sides)) is not None:
        side = find_violated_cut(topology, capacity, demand)[1]
        if side is None:
            return capacity
        sides.append(side)
    return None


def _satisfy_cuts(topology: Topology, most: IntArray, demand: IntArray, sides: list[Side]) -> IntArray | None:
    """Return balanced capacities that satisfy given cuts, or None.

    The unknowns are what is removed, small numbers that floats hold well, and as little as possible.
    """
    balance = switch_balance(topology)
    rows = np.array([crossing(topology, side) for side in sides], dtype=np.int64).reshape(-1, len(most))
    spare = rows @ most - np.array([sum_demand(topology, demand, side) for side in sides], dtype=np.int64)
    excess = surplus(topology, most)
    program = Program()
    program.add_columns(len(most), cost=1, upper=most, whole=True)
    for matrix, lower, upper in ((balance, excess, excess), (rows, -NO_BOUND, spare)):
        row, column = np.nonzero(matrix)
        program.add_rows(len(matrix), Entries(row, column, matrix[row, column]), lower=lower, upper=upper)
    program.solve(nodes=_BRANCHES)
    if not program.solved:
        return None
    left_out = np.clip(program.values(), 0, most)
    if np.any(balance @ left_out != excess) or np.any(rows @ left_out > spare):
        return None
    capacity: IntArray = most - left_out
    return capacity
