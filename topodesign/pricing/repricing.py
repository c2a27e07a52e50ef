"""Costs of a topology after failures of links, from those before.

The loads of a node as a source depend on the links that are on shortest paths from it. So only the nodes for which a
lost link is on one have to be looked at again; of the others the largest loads are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.cost import Cost
from topodesign.pricing.closed_form import cost_of, distances, larger, largest_loads
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True)
class PricedTopology:
    """A topology with the loads of every node as a source.

    * ``rank``: the load at each distance from 1 as an index into ``loads``, shape ``(nodes, diameter)``; 0 beyond the
      farthest.
    * ``loads``: all loads that there are, ascending, as numerators and denominators; the first is 0.
    """

    topology: Topology  # it, without self-loops
    distance: NDArray[np.int32]  # from every node to every other, shape ``(nodes, nodes)``
    rank: IntArray
    loads: tuple[IntArray, IntArray]

    def cost(self) -> Cost:
        """Return what :func:`topodesign.pricing.closed_form.price` returns."""
        return cost_of(self.topology, *self._largest(self.rank))

    def cost_without(self, left: Topology) -> Cost:
        """Return the cost after losses, in the bandwidth that a node had before.

        * ``left``: the same nodes, and no link of more capacity than before.
        """
        again = self._affected(left)
        known = self._largest(self.rank[~again])
        if not again.any():
            return cost_of(self.topology, *known)
        return cost_of(self.topology, *larger(known, largest_loads(left, np.flatnonzero(again))))

    def _affected(self, left: Topology) -> NDArray[np.bool_]:
        """Return the nodes whose loads may change."""
        capacity = np.zeros(len(self.topology.src), dtype=np.int64)
        capacity[self.topology.link_index(left.src, left.dst)] = left.capacity
        affected = np.zeros(left.nodes, dtype=np.bool_)
        affected[self.topology.src[capacity < self.topology.capacity]] = True
        for link in np.flatnonzero(capacity == 0).tolist():
            u, v = self.topology.src[link], self.topology.dst[link]
            affected |= self.distance[:, u] + 1 == self.distance[:, v]
        return affected

    def _largest(self, rank: IntArray) -> tuple[IntArray, IntArray]:
        """Return the largest load at each distance that some nodes affect."""
        most = rank.max(axis=0, initial=0)
        numerator, denominator = self.loads
        return numerator[most[most > 0]], denominator[most[most > 0]]


def price_topology(topology: Topology) -> PricedTopology:
    """Price a topology from every node, and keep the loads."""
    rows = [largest_loads(topology, np.array([node])) for node in range(topology.nodes)]
    distance = np.array([distances(topology, node) for node in range(topology.nodes)], dtype=np.int32)
    # one column more than is needed, of zeros, which are the smallest load
    pairs = np.zeros((topology.nodes, int(distance.max()) + 1, 2), dtype=np.int64)
    pairs[..., 1] = 1
    for node, (numerator, denominator) in enumerate(rows):
        pairs[node, : len(numerator)] = np.stack((numerator, denominator), axis=1)
    distinct, which = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
    order = sorted(range(len(distinct)), key=lambda row: Fraction(*distinct[row].tolist()))
    rank = np.argsort(order)[which].reshape(pairs.shape[:2])
    return PricedTopology(topology, distance, rank[:, :-1], (distinct[order, 0], distinct[order, 1]))
