"""The fastest mixture of trees by another program: Steiner trees by dynamic programming, priced by a linear program.

Every way of a collective is a mixture of trees, and data branch (or are added up) at some vertices only. The cheapest
tree at given prices of the links is found over all sets of its goals (Dreyfus and Wagner 1971), and columns are added
to a linear program in floats until its prices prove that none is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog

from topodesign.fabrics.fabric import Fabric

Able = frozenset[int]
Priced = tuple[float, np.ndarray[Any, Any]]
"""What a tree costs, and how often it uses each link."""

_How = dict[tuple[int, int], tuple[tuple[int, ...], tuple[tuple[int, int], ...]]]
"""By goals and vertex: the links that the cheapest tree from there begins with, and what is left to do where."""

_NEAR = 1e-9


@dataclass(frozen=True)
class Net:
    """Links with limits on sets of them, in units of the fabric's."""

    vertices: int
    links: tuple[tuple[int, int], ...]
    limits: tuple[tuple[tuple[int, ...], float], ...]

    @classmethod
    def of(cls, fabric: Fabric) -> Net:
        """Return the links of a fabric, with what they share."""
        links = list(fabric.topology.links())
        place = {(fabric.names[u], fabric.names[v]): at for at, (u, v, _) in enumerate(links)}
        single = [((at,), float(capacity)) for at, (_, _, capacity) in enumerate(links)]
        shared = [
            (tuple(place[ends] for ends in limit.links), float(limit.bandwidth / fabric.unit))
            for limit in fabric.shared
        ]
        return cls(len(fabric.names), tuple((u, v) for u, v, _ in links), (*single, *shared))


@dataclass
class Need:
    """Data of some amount that go one of several ways, of which the cheapest at any prices can be found."""

    amount: float
    cheapest: Callable[[np.ndarray[Any, Any]], Priced]
    columns: list[np.ndarray[Any, Any]] = field(default_factory=list)


def least_time(net: Net, needs: Sequence[Need]) -> float:
    """Return the least time in which all limits carry what is needed."""
    value, _ = _solved(net, needs, None, None)
    return value


def least_cost(net: Net, needs: Sequence[Need], cost: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the least time, and the least cost of what takes no longer."""
    time, _ = _solved(net, needs, None, None)
    value, _ = _solved(net, needs, time * (1 + 1e-10), cost)
    return time, value


def _solved(
    net: Net, needs: Sequence[Need], time: float | None, cost: np.ndarray[Any, Any] | None
) -> tuple[float, float]:
    uses = np.zeros((len(net.limits), len(net.links)))
    for row, (members, _) in enumerate(net.limits):
        uses[row, list(members)] = 1
    bound = np.array([limit for _, limit in net.limits])
    for need in needs:
        need.columns.append(need.cheapest(uses.T @ (1 / bound))[1])
    for _ in range(500):
        every = [(at, load) for at, need in enumerate(needs) for load in need.columns]
        upper = np.array([uses @ load for _, load in every]).T
        equal = np.array([[float(at == row) for at, _ in every] for row in range(len(needs))])
        if time is None:
            upper = np.hstack((upper, -bound[:, None]))
            equal = np.hstack((equal, np.zeros((len(needs), 1))))
            objective, room = np.append(np.zeros(len(every)), 1), np.zeros(len(bound))
        else:
            assert cost is not None
            objective, room = np.array([cost @ load for _, load in every]), bound * time
        found = linprog(objective, upper, room, equal, [need.amount for need in needs], method="highs")
        assert found.status == 0, found.message
        prices = np.maximum(-found.ineqlin.marginals, 0)
        added = False
        for at, need in enumerate(needs):
            each = uses.T @ prices + (0 if cost is None else cost)
            price, load = need.cheapest(each)
            if price < found.eqlin.marginals[at] - _NEAR * max(1.0, abs(found.eqlin.marginals[at])):
                need.columns.append(load)
                added = True
        if not added:
            return float(found.fun), 0.0
    raise AssertionError("too many rounds")


# -- what is needed ----------------------------------------------------------------------------------------------------


def out_of(  # noqa: PLR0917  all that a tree depends on
    net: Net, root: int, goals: Iterable[int], copies: Able, amount: float = 1, inside: Able | None = None
) -> Need:
    """Return what a root sends to all goals, copied at some vertices, over some vertices alone if these are given."""
    goals = sorted(goals)
    return Need(amount, lambda prices: _cheapest(net.links, _within(net, prices, inside), net, goals, copies)[root])


def into(  # noqa: PLR0917  as above
    net: Net, root: int, starts: Iterable[int], adds: Able, amount: float = 1, inside: Able | None = None
) -> Need:
    """Return the same backwards, added up on the way."""
    back = tuple((v, u) for u, v in net.links)
    starts = sorted(starts)
    return Need(amount, lambda prices: _cheapest(back, _within(net, prices, inside), net, starts, adds)[root])


def through(  # noqa: PLR0917  all that matters of a sum that is sent out again
    net: Net,
    nodes: Iterable[int],
    copies: Able,
    adds: Able,
    places: Able,
    amount: float = 1,
    inside: Able | None = None,
) -> Need:
    """Return what all nodes add up at any of some places and send out from there to all."""
    back = tuple((v, u) for u, v in net.links)
    nodes = sorted(nodes)

    def cheapest(prices: np.ndarray[Any, Any]) -> Priced:
        each = _within(net, prices, inside)
        there, out = (_cheapest(links, each, net, nodes, able) for links, able in ((back, adds), (net.links, copies)))
        pairs = [(there[at][0] + out[at][0], at) for at in sorted(places)]
        price, at = min(pairs)
        return price, there[at][1] + out[at][1]

    return Need(amount, cheapest)


def _within(net: Net, prices: np.ndarray[Any, Any], inside: Able | None) -> np.ndarray[Any, Any]:
    if inside is None:
        return prices
    return np.array(
        [
            price if u in inside and v in inside else np.inf
            for price, (u, v) in zip(prices.tolist(), net.links, strict=True)
        ]
    )


def _cheapest(
    links: Sequence[tuple[int, int]], prices: np.ndarray[Any, Any], net: Net, goals: Sequence[int], able: Able
) -> list[Priced]:
    """Return for every vertex the cheapest tree from there to all goals that branches at vertices that are able to."""
    full = 2 ** len(goals)
    cost = np.full((full, net.vertices), np.inf)
    how: _How = {}
    nothing = np.zeros(len(links))
    cost[0] = 0
    for mask in range(1, full):
        row = cost[mask]
        for at, goal in enumerate(goals):
            if mask >> at & 1 and (goal in able or mask == 1 << at):
                row[goal], how[mask, goal] = cost[mask ^ 1 << at, goal], ((), ((mask ^ 1 << at, goal),))
        part = (mask - 1) & mask
        while part > mask ^ part:
            both = cost[part] + cost[mask ^ part]
            for vertex in able:
                if both[vertex] < row[vertex] - 1e-13:
                    row[vertex], how[mask, vertex] = both[vertex], ((), ((part, vertex), (mask ^ part, vertex)))
            part = (part - 1) & mask
        todo = True
        while todo:
            todo = False
            for at, (u, v) in enumerate(links):
                if row[v] + prices[at] < row[u] - 1e-13:
                    row[u], how[mask, u] = row[v] + prices[at], ((at,), ((mask, v),))
                    todo = True
    return [
        (float(cost[-1, root]), _load(how, full - 1, root, len(links)) if np.isfinite(cost[-1, root]) else nothing)
        for root in range(net.vertices)
    ]


def _load(how: _How, mask: int, root: int, links: int) -> np.ndarray[Any, Any]:
    """Return how often a tree that was found uses each link."""
    load = np.zeros(links)
    todo = [(mask, root)]
    while todo:
        at = todo.pop()
        if at[0]:
            used, parts = how[at]
            load[list(used)] += 1
            todo.extend(parts)
    return load
