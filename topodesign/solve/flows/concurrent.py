"""Concurrent flow with link prices that bound its time, in integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from topodesign.base.arrays import seal_array
from topodesign.base.errors import ParameterError
from topodesign.solve.flows.kernels import shortest_tree, tree_loads
from topodesign.topology.quotient import Quotient
from topodesign.topology.topology import IntArray, Topology

Amounts = Any  # integers: int64, or Python's own (dtype object) where 64 bits are too few

_SAFE = 2**62


@dataclass(frozen=True, eq=False)
class ConcurrentFlow:
    """Concurrent flow of all sources, with proven bounds of its time.

    Times are largest loads of a link over its capacity; those of an all-to-all are also bandwidth factors. Both bounds
    are computed from the numbers here, whoever found them: the upper one from the flow, the lower one from
    prices of the links. :meth:`check` does so once more and looks at every node.

    * ``amounts``: what the sources ``quotient.sources`` send over each arc (in order of ``quotient.arcs``), all their
      destinations together, in parts of a shard: integers of shape ``(sources, arcs)``.
    * ``prices``: one integer for every orbit of arcs, none negative: a price of its capacity, which proves ``lower``.
    """

    quotient: Quotient  # the topology with the orbits that were used
    amounts: Amounts
    denominator: int  # parts of a shard
    prices: Amounts
    method: str  # what found it
    shortest: bool = False  # whether shards keep to paths of fewest links: then both bounds are for such flows alone

    @property
    def topology(self) -> Topology:
        """Topology of the flow."""
        return self.quotient.topology

    @property
    def factor(self) -> Fraction:
        """Bandwidth factor y, for a time of y * M/B.

        M is the data of a node and B the bandwidth of its links.
        """
        return self.upper

    @cached_property
    def time(self) -> Fraction:
        """Largest load of a link over its capacity."""
        loads, room = self.quotient.loads(self.amounts), self.quotient.room.tolist()
        return max(Fraction(load, capacity) for load, capacity in zip(loads, room, strict=True)) / self.denominator

    @cached_property
    def bound(self) -> Fraction:
        """Lower bound of the time, proven by the link prices."""
        return price_bound(self.quotient, self.prices, shortest=self.shortest)

    @property
    def upper(self) -> Fraction:
        """Bandwidth factor of this flow, set by its most loaded link."""
        return as_factor(self.topology, self.time)

    @property
    def lower(self) -> Fraction:
        """Lower bound of the bandwidth factor."""
        return as_factor(self.topology, self.bound)

    @property
    def exact(self) -> bool:
        """Whether the two bounds meet, which proves this flow optimal."""
        return self.bound == self.time

    @cached_property
    def scale(self) -> int:
        """Parts of a shard in :meth:`source_amounts`, a multiple of ``denominator``."""
        return self.denominator * self._symmetric[1]

    @cached_property
    def _symmetric(self) -> tuple[Amounts, int]:
        return self.quotient.symmetric(self.amounts)

    def source_amounts(self, source: int) -> Amounts:
        """Return a node's amounts over each link, in 1/``scale`` shards.

        All destinations are added up. With symmetry it is the image of what the node's representative sends, so that
        all sources together load every link of an orbit equally.
        """
        quotient, topology = self.quotient, self.topology
        if not 0 <= source < topology.nodes:
            raise ParameterError(f"sources are nodes 0 to {topology.nodes - 1}, not {source}")
        amounts = self._symmetric[0]
        every = np.zeros(len(topology.src), dtype=amounts.dtype)
        if quotient.symmetry is None:
            if source in quotient.sources:
                every[quotient.arcs] = amounts[np.searchsorted(quotient.sources, source)]
            return seal_array(every)
        home = int(quotient.symmetry.represented_by[source])
        way = quotient.symmetry.transversal(source)
        row = int(np.searchsorted(quotient.sources, home))
        every[topology.link_index(way[quotient.src], way[quotient.dst])] = amounts[row]
        return seal_array(every)

    def check(self) -> None:
        """Check flow conservation and link loads in integers.

        It covers every node for every source.
        """
        topology, quotient = self.topology, self.quotient
        total = np.zeros(len(topology.src), dtype=object)
        for source in range(topology.nodes) if quotient.demand is None else quotient.sources.tolist():
            amounts = self.source_amounts(source)
            gain = np.zeros(topology.nodes, dtype=object)
            np.add.at(gain, topology.dst, amounts)
            np.subtract.at(gain, topology.src, amounts)
            row = 0 if quotient.demand is None else int(np.searchsorted(quotient.sources, source))
            wanted = self.scale * _row(quotient.wanted, row).astype(object)
            wanted[source] = 0
            wanted[source] = -wanted.sum()
            nodes = np.arange(topology.nodes)
            # A node that wants nothing may keep some of what it could pass on.
            wrong = (gain != wanted) & ((wanted > 0) | (gain < wanted)) & (nodes != source)
            if np.any(amounts < 0) or np.any(wrong) or (quotient.demand is None and gain[source] != wanted[source]):
                raise ValueError(f"node {source} does not bring a shard to every other")
            total += amounts
        fullest = max(Fraction(load, room) for load, room in zip(total, topology.capacity.tolist(), strict=True))
        if fullest / self.scale != self.time:
            raise ValueError("the fullest link is not as full as the flow says")


def as_factor(topology: Topology, load: Fraction) -> Fraction:
    """Return the bandwidth factor of a load.

    It is y = load * d/N, with the load in shards per unit of capacity.
    """
    return load * topology.degree / topology.nodes


def price_bound(quotient: Quotient, prices: Amounts, *, shortest: bool = False) -> Fraction:
    """Return the time that link prices prove necessary (weak duality).

    All data pay the prices of the links that it crosses, at least those of a cheapest path, and a link of capacity
    c at load U takes in c * U times its price: so U is at least the sum of all distances over that of all capacities at
    their prices.

    * ``quotient``: the topology with its orbits.
    * ``prices``: integers, one for every orbit of arcs, none negative and not all zero.
    * ``shortest``: whether shards keep to paths of fewest links.
    """
    loads, far = trees(quotient, arc_lengths(quotient, prices, shortest=shortest))
    total = sum((loads.astype(object) @ np.asarray(prices)).tolist()) if shortest else sum(far)
    return Fraction(total, price_capacities(quotient.room, prices))


def price_capacities(room: IntArray, prices: Amounts) -> int:
    """Return the cost of all capacities."""
    return sum(map(int.__mul__, room.tolist(), [int(price) for price in prices]))


def arc_lengths(quotient: Quotient, prices: Amounts, *, shortest: bool = False) -> Amounts:
    """Return the length of every arc from the prices.

    For shortest paths alone, the number of links outweighs all prices.
    """
    lengths = np.asarray(prices)[quotient.kind]
    return lengths.astype(object) + quotient.topology.nodes * int(lengths.max()) if shortest else lengths


def trees(quotient: Quotient, lengths: Amounts) -> tuple[Amounts, list[int]]:
    """Return loads and weighted distances of shortest-path trees from all sources.

    * ``quotient``: the topology with its orbits.
    * ``lengths``: integers of any size, one for every arc, none negative.

    Returns: what every orbit of arcs carries, shape ``(sources, orbits)``; and the sum of all distances from each
    source, each times what goes there.
    """
    nodes, many = quotient.topology.nodes, len(quotient.sources)
    loads = np.zeros((many, len(quotient.room)), dtype=np.int64)
    if int(lengths.max()) * nodes * quotient.most < _SAFE:
        far = np.zeros(many, dtype=np.int64)
        tree_loads(*quotient.graph, lengths.astype(np.int64), loads, far)
        return loads, [weight * total for weight, total in zip(quotient.weight.tolist(), far.tolist(), strict=True)]
    sums = []
    for row, (source, weight) in enumerate(zip(quotient.sources.tolist(), quotient.weight.tolist(), strict=True)):
        distance, via, order = tree(quotient, source, lengths)
        sums.append(weight * int((distance * _row(quotient.wanted, row)).sum()))
        np.add.at(loads[row], quotient.kind, weight * sum_tree(quotient, row, via, order))
    return loads, sums


def tree(quotient: Quotient, source: int, lengths: Amounts) -> tuple[Amounts, IntArray, IntArray]:
    """Return a shortest-path tree: distances, arcs and node order.

    There is one arc into every node, and nodes are listed nearest first.
    """
    nodes = quotient.topology.nodes
    whole = int(lengths.max()) * nodes * nodes < _SAFE
    length = lengths.astype(np.int64 if whole else object)
    search = shortest_tree if whole else shortest_tree.plain
    distance, via, order = np.empty(nodes, length.dtype), np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    search(source, quotient.indptr, quotient.dst, length, distance, via, order)
    return distance, via, order


def sum_tree(quotient: Quotient, row: int, via: IntArray, order: IntArray) -> IntArray:
    """Return the amounts of a source's tree on every arc.

    ``row`` is the position of the source among the sources.
    """
    src, arc_to = quotient.src.tolist(), via.tolist()
    behind: list[int] = _row(quotient.wanted, row).tolist()
    amounts = np.zeros(len(quotient.arcs), dtype=np.int64)
    for node in order[order >= 0][:0:-1].tolist():
        behind[src[arc_to[node]]] += behind[node]
        amounts[arc_to[node]] = behind[node]
    return amounts


def _row(demand: IntArray, row: int) -> IntArray:
    chosen: IntArray = demand[row if len(demand) > 1 else 0]
    return chosen
