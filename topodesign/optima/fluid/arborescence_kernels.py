"""Compiled loops of the cheapest arborescence: growth and contraction.

Every set of vertices that the path comes to (one vertex, or a circle that was contracted) takes its cheapest arc in,
whose price all its arcs in give up. What they give up, set by set, is a packing of cuts that no arborescence is cheaper
than. Numbers are 64-bit, or in plain Python of any size.

Gabow, Galil, Spencer, Tarjan, Efficient Algorithms for Finding Minimum Spanning Trees in Undirected and Directed Graphs
(1986), for dense graphs: a number of steps that is quadratic in the vertices.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from topodesign.base.compiled import Ints, tier_kernel

Prices = NDArray[Any]  # square: the price from row to column


def _work(prices: Prices, *_: object) -> int:
    return 4 * len(prices) ** 2


@tier_kernel(_work)
def grow(prices: Prices, root: int, room: tuple[Prices, Prices], parent: Ints, up: Ints, weight: Prices) -> None:
    """Find the cheapest arborescence from a root to all.

    ``room`` is for prices into sets, and for the vertices of these where they arrive. Filled are the ``parent`` of each
    vertex (-1 at first), and for sets, those of one vertex first and then circles, in which circle they are (``up``, -1
    at first) and the ``weight`` of the cut around them.
    """
    low, head = room
    count = len(prices)
    above, into, slot, place = up.copy(), up.copy(), up.copy(), up.copy()
    holds = parent.copy()  # the set on the path that a vertex is in; count * 2 once the root reaches it
    path = up.copy()
    for vertex in range(count):
        slot[vertex] = vertex
        for other in range(count):
            low[vertex, other], head[vertex, other] = prices[other, vertex], vertex
    done, sets = 2 * count, count
    holds[root] = done
    for start in range(count):
        if holds[start] == done:
            continue
        path[0], length, holds[start], place[start] = start, 1, start, 0
        while True:
            top = path[length - 1]
            row, best = slot[top], -1
            for other in range(count):
                if holds[other] != top and (best < 0 or low[row, other] < low[row, best]):
                    best = other
            weight[top], above[top], into[top] = low[row, best], best, head[row, best]
            if holds[best] == done:
                break
            if holds[best] < 0:
                holds[best] = path[length] = best
                place[best] = length
                length += 1
                continue
            last = place[holds[best]]
            for at in range(last, length):
                member = path[at]
                up[member], less = sets, weight[member]
                mine = slot[member]
                for other in range(count):
                    price = low[mine, other] - less
                    if at == last or price < low[slot[path[last]], other]:
                        low[slot[path[last]], other], head[slot[path[last]], other] = price, head[mine, other]
            for vertex in range(count):
                if holds[vertex] >= 0 and holds[vertex] != done and up[holds[vertex]] == sets:
                    holds[vertex] = sets
            slot[sets], place[sets] = slot[path[last]], last
            path[last], length = sets, last + 1
            sets += 1
        for vertex in range(count):
            if holds[vertex] >= 0:
                holds[vertex] = done
    for one in range(sets - 1, -1, -1):
        if above[one] >= 0:
            parent[into[one]] = above[one]
            inner = into[one]
            while inner != one:  # who is entered from outside needs no arc of its own
                above[inner] = -1
                inner = up[inner]


@tier_kernel(_work)
def cuts_hold(prices: Prices, root: int, up: Ints, weight: Prices, room: Prices) -> bool:
    """Return whether the cuts of :func:`grow` prove its price.

    ``room`` is for a number for each set.
    """
    count = len(prices)
    if up[root] >= 0 or weight[root] != 0:
        return False
    for one in range(len(up)):
        if weight[one] < 0 or (up[one] >= 0 and up[one] <= one):
            return False
    for vertex in range(count):
        if vertex == root:
            continue
        for one in range(len(up)):
            room[one] = -1
        total, inner = room[vertex] + 1, vertex
        while inner >= 0:
            room[inner] = total
            total = total + weight[inner]
            inner = up[inner]
        for one in range(len(up) - 1, -1, -1):
            if room[one] < 0:
                room[one] = total if up[one] < 0 else room[up[one]]
        for other in range(count):
            if other != vertex and prices[other, vertex] < room[other]:
                return False
    return True
