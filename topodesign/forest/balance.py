"""Capacities that are balanced: as much into every switch as out of it (ForestColl, appendix D, assumption (b)).

What a switch gets it has to pass on, so trees use balanced capacities only, and switches can be removed from a fabric
whose capacities are balanced already. Where they are not, because a link has died in one direction or whole numbers of
trees were rounded down, some capacity has to go. Which does least harm is a linear program,

    min U   with   c <= U b on every link,  c balanced at every switch,  and for every set S of vertices that leaves
                   some compute node out,  c(links out of S) >= w(S),

whose sets are found by maximum flows as they are needed. A solver of floats suggests an answer and none of it is
believed: its capacities are rounded, balanced and measured exactly; and its prices, y(S) for the sets and z(s) for the
switches, prove that U is at least

    sum of y(S) w(S)  over  sum of b(u, v) max(0, g(u, v)),   g(u, v) = z(v) - z(u) + y(S) of all S that (u, v) leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.solve.maxflow import (
    Side,
    balanced_part,
    compute_nodes,
    crossing,
    scaled,
    surplus,
    violated_cuts,
    worst_ratio,
)
from topodesign.topology.topology import MAX_CAPACITY, IntArray, Topology

_ROUNDS = 300
_GRID = 2**30
_SLACK = 1e-8
_DENOMINATORS = (12, 60, 1000, 10**5)  # tried for the numbers of the solver


@dataclass(frozen=True, eq=False)
class Usable:
    """The balanced part of capacities that keeps as much throughput as any.

    Attributes
    ----------
    inverse_rate
        1/x that the part reaches.
    bound
        No balanced part has a smaller one; the two differ only where the solver was too inexact for a proof.
    capacity
        The part, integers for every link in a scale of their own.
    prices, worth
        What proves the bound where no cut does alone: max(0, g) of the links and the sum of y w, as above.
    """

    inverse_rate: Fraction
    bound: Fraction
    capacity: IntArray
    prices: tuple[Fraction, ...] = ()
    worth: Fraction = Fraction(0)


@dataclass(frozen=True, eq=False)
class _Solution:
    """What the solver says, in floats: capacity of the links, price of the sets, price of the switches."""

    capacity: NDArray[np.float64]
    sides: NDArray[np.float64]
    switches: NDArray[np.float64]


def switch_balance(topology: Topology) -> IntArray:
    """Return for each switch, ascending, and link 1 if the link leads into it, -1 if out of it."""
    switches = np.array(sorted(topology.switches), dtype=np.int64)[:, None]
    rows: IntArray = (topology.dst == switches).astype(np.int64) - (topology.src == switches)
    return rows


def always_balanced(topology: Topology, capacity: IntArray, group: NDArray[np.bool_]) -> bool:
    """Whether the capacities are balanced at all switches, and stay so when those of a group grow together."""
    return not (surplus(topology, capacity).any() or surplus(topology, np.where(group, capacity, 0)).any())


def usable_part(
    topology: Topology, capacity: IntArray, demand: IntArray, unlimited: NDArray[np.bool_] | None = None
) -> Usable:
    """Return the balanced part of capacities with the best throughput.

    Parameters
    ----------
    topology
        Compute nodes and switches; its own capacities play no part.
    capacity, demand
        Of every link, positive, and the shard size of every compute node, all of which the shards can reach.
    unlimited
        Links whose capacity is not limited.
    """
    ratio = worst_ratio(topology, capacity, demand, unlimited)
    limits = capacity if unlimited is None else np.where(unlimited, 0, capacity)
    if always_balanced(topology, capacity, limits == 0):
        return Usable(ratio, ratio, capacity)
    sides: dict[bytes, Side] = {}
    for node in compute_nodes(topology).tolist():
        for side in (np.arange(topology.nodes) == node, np.arange(topology.nodes) != node):
            sides[side.tobytes()] = side
    for _ in range(_ROUNDS):
        solution = _linear_program(topology, limits, demand, list(sides.values()))
        more = {side.tobytes(): side for side in _short(topology, solution.capacity, demand)}
        if not more.keys() - sides.keys():
            break
        sides |= more
    bound, worth, prices = _bound(topology, limits, demand, list(sides.values()), solution)
    bound = max(bound, ratio)
    inverse, part = _part(topology, limits, demand, solution, bound)
    return Usable(inverse, bound, part, prices, worth)


def _linear_program(topology: Topology, capacity: IntArray, demand: IntArray, sides: list[Side]) -> _Solution:
    """Solve with these sets, with shards of one in all and capacities up to one; a capacity of 0 is no limit."""
    from scipy.optimize import linprog  # noqa: PLC0415  heavy
    from scipy.sparse import csr_array, diags_array, hstack, vstack  # noqa: PLC0415

    total, links = float(sum(demand.tolist())), len(capacity)
    out = csr_array(np.array([crossing(topology, side) for side in sides], dtype=float))
    wanted = np.array([float(sum(demand[side[compute_nodes(topology)]].tolist())) for side in sides])
    limited = np.flatnonzero(capacity)
    upper = hstack((diags_array(np.ones(links)), csr_array(-capacity[:, None] / max(1, int(capacity.max()))))).tocsr()
    result = linprog(
        np.r_[np.zeros(links), 1.0],
        A_ub=vstack((hstack((-out, csr_array((len(sides), 1)))), upper[limited])).tocsr(),
        b_ub=np.r_[-wanted / total, np.zeros(len(limited))],
        A_eq=np.hstack((switch_balance(topology), np.zeros((len(topology.switches), 1)))),
        b_eq=np.zeros(len(topology.switches)),
        bounds=(0, None),
        method="highs-ds",
    )
    if result.status != 0:
        raise TooLargeError("the bandwidths at switches with unequal in and out are too far apart; round them")
    return _Solution(
        np.maximum(result.x[:links], 0) * total,
        np.maximum(-result.ineqlin.marginals[: len(sides)], 0),
        result.eqlin.marginals,
    )


def _short(topology: Topology, capacity: NDArray[np.float64], demand: IntArray) -> list[Side]:
    """Return sets that clearly let out less than they have to, one for each node that goes short."""
    unit = _GRID / float(sum(demand.tolist()))
    whole, wanted = (capacity * unit).astype(np.int64), (demand * unit).astype(np.int64)
    nodes, slack = compute_nodes(topology), _GRID * _SLACK + len(capacity)
    short = violated_cuts(topology, whole, wanted)
    return [side for side in short if wanted[side[nodes]].sum() - whole[crossing(topology, side)].sum() > slack]


def _bound(
    topology: Topology, capacity: IntArray, demand: IntArray, sides: list[Side], solution: _Solution
) -> tuple[Fraction, Fraction, tuple[Fraction, ...]]:
    """Return the best bound on 1/x that prices of the solver prove exactly, and what proves it."""
    nodes, switches = compute_nodes(topology), sorted(topology.switches)
    unit = max(solution.sides.max(), np.abs(solution.switches).max(initial=0.0)) or 1.0
    found = []
    for most in _DENOMINATORS:
        prices = [Fraction(0)] * len(capacity)
        worth = Fraction(0)
        for side, price in zip(sides, solution.sides.tolist(), strict=True):
            rounded = Fraction(price / unit).limit_denominator(most)
            if rounded:
                worth += rounded * sum(demand[side[nodes]].tolist())
                for link in np.flatnonzero(crossing(topology, side)).tolist():
                    prices[link] += rounded
        potential = dict.fromkeys(range(topology.nodes), Fraction(0))
        for switch, price in zip(switches, solution.switches.tolist(), strict=True):
            potential[switch] = Fraction(price / unit).limit_denominator(most)
        ends = zip(prices, topology.src.tolist(), topology.dst.tolist(), strict=True)
        prices = [max(price + potential[v] - potential[u], Fraction(0)) for price, u, v in ends]
        cost = sum(map(Fraction.__mul__, prices, map(Fraction, capacity.tolist())), Fraction(0))
        if cost and not any(price for price, limit in zip(prices, capacity.tolist(), strict=True) if not limit):
            found.append((worth / cost, worth, tuple(prices)))
    return max(found, key=lambda one: one[0], default=(Fraction(0), Fraction(0), ()))


def _part(
    topology: Topology, capacity: IntArray, demand: IntArray, solution: _Solution, bound: Fraction
) -> tuple[Fraction, IntArray]:
    """Return the least 1/x that rounded capacities of the solver reach exactly, and these capacities."""
    limited = capacity > 0
    fullest = float((solution.capacity[limited] / capacity[limited]).max(initial=0.0)) or 1.0
    units = solution.capacity / fullest  # in units of the given capacities
    entries = [Fraction(value) for value in units.tolist()]
    wholes = [math.lcm(*(entry.limit_denominator(most).denominator for entry in entries)) for most in _DENOMINATORS]
    finest = max(1, int(MAX_CAPACITY / units.max()))
    best: tuple[Fraction, IntArray] | None = None
    for scale in (*(whole for whole in wholes if whole < finest), finest):
        rounded = np.rint(units * scale).astype(np.int64)
        part = balanced_part(topology, np.where(limited, np.minimum(rounded, scaled(capacity, scale)), rounded))
        try:
            ratio = worst_ratio(topology, part, demand)
        except (InfeasibleError, TooLargeError):
            continue  # too coarse, or too fine
        pairs = zip(part[limited].tolist(), capacity[limited].tolist(), strict=True)
        inverse = ratio * max((Fraction(a, b) for a, b in pairs), default=Fraction(0))
        if best is None or inverse < best[0]:
            best = inverse, part
        if inverse == bound:
            break
    if best is None:
        raise TooLargeError("the bandwidths at switches with unequal in and out are too far apart; round them")
    return best[0], best[1] // np.gcd.reduce(best[1])
