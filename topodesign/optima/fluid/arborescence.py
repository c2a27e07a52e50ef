"""The cheapest arborescence by Edmonds' algorithm, in whole numbers of any size, with the sets that prove it.

Chu and Liu (1965), Edmonds, Optimum Branchings (1967): every vertex takes its cheapest arc; circles are contracted,
each vertex's cheapest arc is taken off the prices of all into it, and the rest is solved. What is taken off, set by
set, is a packing of cuts that no arborescence can be cheaper than.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Prices = NDArray[Any]
"""Square, int64 or Python integers: the price from row to column."""


class Arborescence(NamedTuple):
    """The cheapest, and its proof."""

    parent: list[int]  # of every vertex, -1 for the root
    price: int  # of all its arcs
    # sets of vertices without the root, and the weight of each; weights add up to the price
    cuts: list[tuple[NDArray[np.int64], int]]


def cheapest_arborescence(prices: Prices, root: int) -> Arborescence:
    """Return the cheapest arborescence from the root to all; prices are not negative, the diagonal is not looked at."""
    parent, cuts = _solved(prices, root, [np.array([vertex]) for vertex in range(len(prices))])
    total = sum(int(prices[above, vertex]) for vertex, above in enumerate(parent) if above >= 0)
    return Arborescence(parent, total, cuts)


def proves(cuts: list[tuple[NDArray[np.int64], int]], prices: Prices, root: int) -> int | None:
    """Return what no arborescence is cheaper than if cuts prove it; None if they do not, being dearer than some arc."""
    left = prices.copy()
    total = 0
    for inside, weight in cuts:
        if weight < 0 or root in inside:
            return None
        outside = np.ones(len(prices), dtype=np.bool_)
        outside[inside] = False
        left[np.ix_(outside, inside)] -= weight
        total += weight
    np.fill_diagonal(left, 0)
    return total if not np.any(left < 0) else None


def _solved(
    prices: Prices, root: int, members: list[NDArray[np.int64]]
) -> tuple[list[int], list[tuple[NDArray[np.int64], int]]]:
    """Return the parents, and the cuts in terms of ``members``, the vertices that each stands for."""
    count = len(prices)
    inner = prices.copy()
    np.fill_diagonal(inner, inner.max() + 1)
    parent = inner.argmin(axis=0).tolist()
    parent[root] = -1
    least = [0 if above < 0 else inner[above, vertex] for vertex, above in enumerate(parent)]
    cuts = [(members[vertex], int(least[vertex])) for vertex in range(count) if vertex != root and least[vertex]]
    label = _circles(parent)
    if label is None:
        return parent, cuts
    inner = inner - np.array(least, dtype=inner.dtype)[None, :]
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    small = np.minimum.reduceat(np.minimum.reduceat(inner[order], starts, axis=0)[:, order], starts, axis=1)
    groups = np.split(order, starts[1:])
    joined = [np.concatenate([members[vertex] for vertex in group.tolist()]) for group in groups]
    above, deeper = _solved(small, int(label[root]), joined)
    for group, upper in enumerate(above):
        if upper < 0:
            continue
        block = inner[np.ix_(groups[upper], groups[group])]
        row, column = divmod(int(block.argmin()), block.shape[1])
        parent[int(groups[group][column])] = int(groups[upper][row])
    return parent, cuts + deeper


def _circles(parent: list[int]) -> NDArray[np.int64] | None:
    """Return a number for every vertex, those on a circle sharing one; None without circles."""
    state = [0] * len(parent)  # 0 new, otherwise the walk that came by
    label = np.arange(len(parent))
    found = False
    for start in range(len(parent)):
        vertex = start
        while vertex >= 0 and state[vertex] == 0:
            state[vertex] = start + 1
            vertex = parent[vertex]
        if vertex >= 0 and state[vertex] == start + 1:
            found = True
            around = parent[vertex]
            while around != vertex:
                label[around] = vertex
                around = parent[around]
    if not found:
        return None
    numbers: NDArray[np.int64] = np.unique(label, return_inverse=True)[1]
    return numbers
