"""Edge colouring of bipartite graphs: minimum permutations per step.

A rank that sends to d others needs d permutations, and so does one that receives from d. That many do: a bipartite
graph has an edge colouring of as many colours as its largest degree (König 1916).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Edge = tuple[int, int]  # sender and receiver


def degree_of(edges: Sequence[Edge]) -> int:
    """Return the maximum degree of the edges' ends."""
    return max((max(Counter(ends).values()) for ends in zip(*edges, strict=True)), default=0)


def edge_colouring(edges: Sequence[Edge]) -> list[int]:
    """Return a proper edge colouring with degree-many colours.

    Edges are different, and take the smallest colour that is free at both ends. Where there is none, two colours are
    exchanged along the path in turn from the receiver, which frees one.

    Examples
    --------
    >>> edge_colouring([(0, 1), (0, 2), (1, 2), (2, 1)])
    [0, 1, 0, 1]
    """
    degree = degree_of(edges)
    at: tuple[dict[Edge, int], dict[Edge, int]] = ({}, {})  # by side: (node, colour) -> edge
    colour = [-1] * len(edges)

    def paint(edge: int, new: int) -> None:
        colour[edge] = new
        for side in (0, 1):
            at[side][edges[edge][side], new] = edge

    for edge, (src, dst) in enumerate(edges):
        free = [[c for c in range(degree) if (end, c) not in at[side]] for side, end in enumerate((src, dst))]
        both = sorted({*free[0]} & {*free[1]})
        if not both:
            here, there = free[0][0], free[1][0]
            path: list[int] = []
            side, node = 1, dst
            while (found := at[side].get((node, (here, there)[len(path) % 2]))) is not None:
                path.append(found)
                side = 1 - side
                node = edges[found][side]
            for one in path:
                for end in (0, 1):
                    del at[end][edges[one][end], colour[one]]
            for one in path:
                paint(one, here + there - colour[one])
        paint(edge, both[0] if both else free[0][0])
    return colour
