"""De Bruijn digraphs, and their repair without self-loops and 2-cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from topodesign.base.arguments import require_at_least
from topodesign.base.errors import ParameterError
from topodesign.graphs.sizes import power, swap_and_turn
from topodesign.topology.family import make_family
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology, check_buildable

Link = tuple[int, int]

# (d, n) -> the smallest diameter that any valid cycle gives; for (4, 2) the smallest found.
_MODIFIED = {(2, 3): 3, (2, 4): 4, (3, 2): 3, (4, 2): 3}


def _find(nodes: int, degree: int) -> Iterable[tuple[int, ...]]:
    size, n = degree, 1
    while degree >= 2 and size < nodes:
        size, n = size * degree, n + 1
    if n >= 2 and size == nodes:
        yield degree, n


@make_family(_find, size=("d**n", "d", "debruijn(2,4)"))
def debruijn(d: int, n: int) -> Topology:
    """De Bruijn digraph: links from x to dx + a (mod d^n).

    For a = 0..d-1; degree d, diameter n.

    The d nodes whose words repeat one letter have a self-loop, which wastes a port. The letters may be permuted, so
    those words represent all in which no letter comes before all smaller ones have.

    References
    ----------
    Efficient Direct-Connect Topologies, Table 7 and appendix G.
    """
    require_at_least("d", d, 2)
    require_at_least("n", n, 1)
    nodes = power(d, n)
    check_buildable(nodes, nodes * d)
    source = np.repeat(np.arange(nodes), d)
    target = (d * source + np.tile(np.arange(d), nodes)) % nodes
    symmetry = Symmetry(nodes, _growing_words(d, n), lambda: _renamings(d, n))
    return Topology.from_arrays(nodes, source, target, symmetry=symmetry)


def _renamings(d: int, n: int) -> Iterator[IntArray]:
    """Yield images of words under a swap of two letters and a rotation of all."""
    place = d ** np.arange(n)
    letters = np.arange(d**n)[:, None] // place % d
    for renamed in swap_and_turn(d):
        yield renamed[letters] @ place


def _growing_words(d: int, n: int) -> tuple[int, ...]:
    """Return words of n letters in which new letters come in ascending order."""
    words = [(0, 1)]  # with how many letters occur
    for _ in range(n - 1):
        words = [(word * d + a, max(used, a + 1)) for word, used in words for a in range(min(used + 1, d))]
    return tuple(word for word, _ in words)


@make_family(lambda n, d: ((e, k) for e, k in _MODIFIED if e == d and e**k == n), size=("d**n", "d", "dbjmod(2,4)"))
def dbjmod(d: int, n: int) -> Topology:
    """De Bruijn digraph without self-loops and 2-cycles at the same degree.

    Modified from (2,3), (2,4), (3,2) or (4,2).

    The links of all self-loops and 2-cycles are removed and their d^2 nodes joined into one directed cycle, none of
    whose links, nor its reverse, is among those that stay. Of all such cycles from node 0 on it is the
    lexicographically first that gives the smallest diameter: 3, 4, 3 and 3. Bandwidth-optimal schedules, which are not
    SPFF, take 4, 5, 3 and 3 steps.

    References
    ----------
    Efficient Direct-Connect Topologies, appendix G and Table 7.
    """
    if (d, n) not in _MODIFIED:
        raise ParameterError(f"dbjmod({d},{n}) is not defined; choose from dbjmod(2,3), (2,4), (3,2) and (4,2)")
    plain = debruijn.function(d, n)
    links = {(u, v) for u, v, _ in plain.links()}
    kept = {(u, v) for u, v in links if (v, u) not in links}
    for cycle in _cycles(sorted({u for u, _ in links - kept}), kept):
        topology = Topology.from_links(plain.nodes, [*kept, *cycle])
        if _diameter(topology) == _MODIFIED[d, n]:
            return topology
    raise ParameterError(f"dbjmod({d},{n}) has no valid cycle")  # pragma: no cover  all four have


def _cycles(nodes: list[int], kept: set[Link]) -> Iterator[list[Link]]:
    """Yield Hamiltonian cycles that avoid the kept links and their reverses."""
    path = [nodes[0]]

    def free(u: int, v: int) -> bool:
        return (u, v) not in kept and (v, u) not in kept

    def extend() -> Iterator[list[Link]]:
        if len(path) == len(nodes) and free(path[-1], path[0]):
            yield list(zip(path, path[1:] + path[:1], strict=True))
        for node in nodes:
            if node not in path and free(path[-1], node):
                path.append(node)
                yield from extend()
                path.pop()

    return extend()


def _diameter(topology: Topology) -> int:
    """Return the diameter of a strongly connected topology."""
    step = np.eye(topology.nodes, dtype=bool)
    step[topology.src, topology.dst] = True
    within, diameter = step, 1
    while not within.all():
        within = within @ step
        diameter += 1
    return diameter
