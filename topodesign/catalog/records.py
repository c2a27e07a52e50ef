"""The degree/diameter records, beside Moore's bound.

A graph of the record order for degree d and diameter k says that k steps are possible at its own size and suggests it
for smaller ones; nothing is proved of sizes above it. So the steps here are a yardstick and no lower bound.

References
----------
Combinatorics Wiki, The Degree/Diameter Problem, tables for general digraphs and for graphs, June 2024. Orders above
2048 are omitted.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left

from topodesign.base.cost import Cost, least_steps, lower_bounds

GRAPHS: dict[int, tuple[int, ...]] = {
    3: (10, 20, 38, 70, 132, 196, 360, 600, 1250),
    4: (15, 41, 98, 364, 740, 1320),
    5: (24, 72, 212, 624),
    6: (32, 111, 390, 1404),
    7: (50, 168, 672),
    8: (57, 253, 1100),
    9: (74, 585, 1640),
    10: (91, 650),
    11: (104, 715),
    12: (133, 786),
    13: (162, 856),
    14: (183, 916),
    15: (187, 1215),
    16: (200, 1600),
}
"""For each degree the largest orders known of graphs with diameter 2, 3, ..."""
_ALEGRE = (3, 6, 12, 25)
"""The same for digraphs of degree 2 and diameter 1, 2, 3, 4; then twice the one before, by line graphs."""


def record_steps(nodes: int, degree: int, *, duplex: bool = False) -> int:
    """Return the smallest diameter known for at least a number of nodes.

    * ``nodes``: N.
    * ``degree``: ports of a node.
    * ``duplex``: graphs, where every link has its reverse, instead of digraphs.

    Returns: that diameter; one more than the largest in the table where that ends, as it does at 2048 nodes; the bound
    of :func:`topodesign.least_steps` where the degree has no table, or no graph of a size is regular. Degrees are two
    or more.
    """
    return get_record(nodes, degree, least_steps(nodes, degree, duplex=duplex).steps, duplex=duplex)


def get_record(nodes: int, degree: int, least: int, *, duplex: bool) -> int:
    """Return :func:`record_steps`, given the fewest steps that a topology can have."""
    if nodes <= degree + 1 or (duplex and degree not in GRAPHS):
        return least
    if duplex:
        return max(least, 2 + bisect_left(GRAPHS[degree], nodes))
    if nodes > _largest_digraph(degree, least):
        least = next(steps for steps in itertools.count(least + 1) if nodes <= _largest_digraph(degree, steps))
    return least


def record_bounds(nodes: int, degree: int, *, duplex: bool = False) -> tuple[Cost, ...]:
    """Return the bounds of topologies with :func:`record_steps` steps."""
    bounds = lower_bounds(nodes, degree, duplex=duplex)
    steps = get_record(nodes, degree, bounds[0].steps, duplex=duplex)
    return bounds if steps == bounds[0].steps else (Cost(steps, bounds[-1].bandwidth),)


def record_orders(degree: int, last: int, *, duplex: bool = False) -> list[tuple[int, int]]:
    """Return (N, k) of the record orders up to ``last``, for diameters k >= 2."""
    if duplex:
        return [(order, k) for k, order in enumerate(GRAPHS.get(degree, ()), 2) if order <= last]
    steps = itertools.takewhile(lambda k: _largest_digraph(degree, k) <= last, itertools.count(2))
    return [(_largest_digraph(degree, k), k) for k in steps]


def _largest_digraph(degree: int, steps: int) -> int:
    """Return the largest order known: Kautz's, at degree 2 from Alegre's."""
    if degree != 2:
        return int(degree**steps + degree ** (steps - 1))
    return _ALEGRE[steps - 1] if steps <= len(_ALEGRE) else _ALEGRE[-1] << (steps - len(_ALEGRE))
