"""All small regular digraphs that could have a better all-to-all than a known one, each priced exactly.

Those whose distances add up to too much are left out branch by branch, and those whose links cannot carry it by
weights that prove it (:mod:`~topodesign.search.enumeration_kernels`). What is left is priced by an exact flow, one of
each kind. If the end is reached, nothing better is left anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import Ints
from topodesign.search.enumeration_kernels import next_digraphs
from topodesign.topology.isomorphism import isomorphism
from topodesign.topology.topology import Topology

_AT_ONCE = 256  # digraphs that are found before they are priced
_WALKS = 5  # lengths of walks that are counted to tell digraphs apart
_BUDGET = 20_000  # rows that are tried before the clock is looked at


class Enumeration:
    """All digraphs without loops and parallel links that have so many links out of and into each node.

    * ``nodes``, ``degree``: N, up to 16, and d.
    * ``duplex``: whether every link has its reverse.
    """

    def __init__(self, nodes: int, degree: int, *, duplex: bool) -> None:
        self.nodes, self.degree, self.duplex = nodes, degree, duplex
        self.finished = False
        self._rows, self._into, self._together = (np.zeros(nodes, dtype=np.int64) for _ in range(3))
        self._met = np.zeros(nodes + 1, dtype=np.int64)
        self._met[0] = 1
        self._space = np.zeros((4, nodes * nodes), dtype=np.int64)
        self._known: dict[tuple[int, ...], list[Topology]] = {}

    def undercutting(
        self, best: Fraction, price: Callable[[Topology], Fraction], going: Callable[[], bool]
    ) -> Iterator[tuple[Fraction, Topology]]:
        """Yield digraphs with a smaller bandwidth factor than all before; ``finished`` says whether these were all.

        * ``best``: what is to be undercut.
        * ``price``: the bandwidth factor of all-to-all, exactly.
        * ``going``: whether there is time left.
        """
        while not self.finished and going():
            most = math.ceil(best * self.nodes**2) - 1  # y is at least the sum of distances over N^2
            for topology in self.some(most, best):
                if not going():
                    self.finished = False
                    return
                found = price(topology)
                if found < best:
                    best = found
                    yield found, topology

    def some(self, most: int, below: Fraction | None = None) -> list[Topology]:
        """Go on for a while, and return what is found, one of each kind.

        * ``most``: largest sum of all distances.
        * ``below``: all-to-all may have a smaller bandwidth factor than this, as far as is known; None for all.
        """
        above, under = (0, 1) if below is None else (below.numerator, below.denominator)
        found = np.zeros((_AT_ONCE, self.nodes), dtype=np.int64)
        number, over = next_digraphs(
            self.nodes,
            self.degree,
            int(self.duplex),
            np.array([most, above, under], dtype=np.int64),
            self._rows,
            self._met,
            self._into,
            self._together,
            self._space,
            found,
            _BUDGET,
        )
        self.finished = bool(over)
        return [topology for rows in found[:number] if (topology := self._new(rows)) is not None]

    def _new(self, rows: Ints) -> Topology | None:
        """Return the digraph, if none of its kind has been found before."""
        links = rows[:, None] >> np.arange(self.nodes) & 1
        src, dst = np.nonzero(links)
        topology = Topology.from_arrays(self.nodes, src, dst)
        alike = self._known.setdefault(_profile(links), [])
        if any(isomorphism(one, topology).place is not None for one in alike):
            return None
        alike.append(topology)
        return topology


def _profile(links: NDArray[np.int64]) -> tuple[int, ...]:
    """Return numbers that are the same for all numberings of the nodes: walks from each to each, there and back."""
    walks = [links]
    for _ in range(_WALKS - 1):
        walks.append(walks[-1] @ links)
    pairs = np.stack([*walks, *(one.T for one in walks)], axis=2).tolist()
    return tuple(sorted(hash(tuple(sorted(map(tuple, row)))) for row in pairs))  # of whole numbers: hashes are the same
