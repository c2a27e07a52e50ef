"""Multicirculant graphs: cycles of nodes that one rotation turns.

Of unequal length where the size needs it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable


@make_family(size=("the k lengths together", "d", "multicirculant(4,2,12,3,0,0,1,0,0,6,0,1,0)"))
def multicirculant(d: int, k: int, *numbers: int) -> Topology:
    """Graph of degree d on k cycles that a rotation keeps.

    Given by the k lengths, and i,j,c for each orbit of links.

    Cycle i of length n_i has the nodes (i, t), t modulo n_i, numbered cycle after cycle; the rotation takes (i, t) to
    (i, t + 1). The numbers i,j,c stand for the links both ways between (i, t) and (j, t + c) for all t: there are
    lcm(n_i, n_j), so that a node of a shorter cycle has several. Within a cycle, i = j, a c of half its length gives
    each node one link, any other c two.

    With equal lengths it is a voltage lift by a cyclic group; shorter cycles make up any number of nodes, a prime too,
    under a rotation of high order.

    References
    ----------
    Gross and Tucker, Topological Graph Theory, chapter 2, for equal lengths.
    """
    require_at_least("d", d, 1)
    require_at_least("k", k, 1)
    lengths, rest = numbers[:k], numbers[k:]
    if len(lengths) < k or len(rest) % 3:
        raise ParameterError(f"give {k} lengths and then three numbers i,j,c for each orbit of links")
    for length in lengths:
        require_at_least("every length", length, 1)
    check_buildable(sum(lengths), sum(lengths) * d)
    orbits = tuple(zip(rest[::3], rest[1::3], rest[2::3], strict=True))
    _check(d, lengths, orbits)
    starts = np.cumsum((0, *lengths))

    def rotation() -> Iterator[IntArray]:
        yield np.concatenate([np.roll(np.arange(a, b), -1) for a, b in itertools.pairwise(starts)])

    ends = [_links(lengths, starts, *orbit) for orbit in orbits]
    tails, heads = (np.concatenate(side) for side in zip(*ends, strict=True))
    symmetry = Symmetry(sum(lengths), tuple(starts[:-1].tolist()), rotation)
    return Topology.from_arrays(sum(lengths), tails, heads, symmetry=symmetry)


def _check(d: int, lengths: tuple[int, ...], orbits: tuple[tuple[int, int, int], ...]) -> None:
    """Count the links at a node of every cycle before making any."""
    links = [0] * len(lengths)
    for i, j, c in orbits:
        if not (0 <= i < len(lengths) and 0 <= j < len(lengths)):
            raise ParameterError(f"the cycles are 0 to {len(lengths) - 1}, so no links join cycles {i} and {j}")
        if i == j and c % lengths[i] == 0:
            raise ParameterError(f"{i},{j},{c} are self-loops: {c} is a multiple of the length {lengths[i]}")
        if i == j:
            links[i] += 1 if 2 * c % lengths[i] == 0 else 2
        else:
            common = math.lcm(lengths[i], lengths[j])
            links[i] += common // lengths[i]
            links[j] += common // lengths[j]
    for i, count in enumerate(links):
        if count != d:
            raise ParameterError(f"the nodes of cycle {i} have {count} links each, not {d}")


def _links(lengths: tuple[int, ...], starts: IntArray, i: int, j: int, c: int) -> tuple[IntArray, IntArray]:
    """Return tails and heads of an orbit of links, both directions."""
    turn = np.arange(math.lcm(lengths[i], lengths[j]))
    tail, head = starts[i] + turn % lengths[i], starts[j] + (turn + c) % lengths[j]
    if i == j and 2 * c % lengths[i] == 0:
        return tail, head  # the other direction is the same orbit
    return np.concatenate((tail, head)), np.concatenate((head, tail))
