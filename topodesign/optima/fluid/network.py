"""The network of a fluid program: arcs, costs, limits, abilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topodesign.fabrics.fabric import Fabric
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, eq=False)
class Network:
    """Arcs of data from roots, and limits on sets of arcs."""

    vertices: int  # how many there are, numbered as in the fabric
    src: IntArray  # one for each arc, in the order of the fabric's links: its ends, and what a unit of data costs on it
    dst: IntArray
    cost: IntArray
    # for every limit the arcs that share it, ascending: each arc by itself first, in their order, then the sets
    limits: tuple[IntArray, ...]
    bounds: tuple[int, ...]  # whole number for every limit: capacity in ``1 / scale`` of a unit of the fabric's
    scale: int  # what makes the bounds whole
    copies: NDArray[np.bool_]  # whether a vertex can send one input to several outputs, or several inputs to one output
    adds: NDArray[np.bool_]
    nodes: IntArray  # the vertices that take part, ascending: each of them can copy and add
    closed: frozenset[int] = frozenset()  # vertices that no path goes through
    teams: tuple[tuple[int, ...], ...] = ()  # sets of vertices that are groups, which automorphisms may exchange

    def reverse(self) -> Network:
        """Return the reversed network, with adding in place of copying.

        What flows out from a root there stands for what is added up on its way to it here (section 3.2).
        """
        return replace(self, src=self.dst, dst=self.src, copies=self.adds, adds=self.copies)

    def point(self, vertex: int, team: int) -> int:
        """Return the number of a vertex in a group, or of the vertex."""
        return vertex * max(1, len(self.teams)) + team

    def images(self, points: IntArray, order: IntArray) -> IntArray:
        """Return the images of points under an automorphism."""
        vertex, team = np.divmod(points, max(1, len(self.teams)))
        return order[vertex] * max(1, len(self.teams)) + (self.team_of[order[self._first[team]]] if self.teams else 0)

    @cached_property
    def team_of(self) -> IntArray:
        """The group of every vertex, -1 for none."""
        number = np.full(self.vertices, -1, dtype=np.int64)
        for at, team in enumerate(self.teams):
            number[list(team)] = at
        return number

    @cached_property
    def _first(self) -> IntArray:
        """A vertex of every group."""
        return np.array([team[0] for team in self.teams], dtype=np.int64)

    @property
    def relays(self) -> IntArray:
        """Optional vertices that copy without taking part, such as memory."""
        takes_part = np.zeros(self.vertices, dtype=np.bool_)
        takes_part[self.nodes] = True
        return np.flatnonzero(self.copies & ~takes_part)

    @cached_property
    def _by_ends(self) -> tuple[IntArray, IntArray]:
        """The arcs in order of a number for their ends, and the numbers."""
        keys = self.src * self.vertices + self.dst
        order = np.argsort(keys, kind="stable")
        return order, keys[order]

    def arcs_between(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return the arcs between vertices, -1 where there is none."""
        order, keys = self._by_ends
        wanted = src * self.vertices + dst
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, order[place], -1)

    @cached_property
    def joined(self) -> IntArray:
        """A component number per vertex, for data both ways."""
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

        open_ = ~np.isin(self.src, list(self.closed)) & ~np.isin(self.dst, list(self.closed))
        arcs = self.src[open_], self.dst[open_]
        graph = csr_array((np.ones(len(arcs[0])), arcs), shape=(self.vertices, self.vertices))
        number: IntArray = connected_components(graph, directed=True, connection="strong")[1]
        return number

    @cached_property
    def relay_sets(self) -> dict[int, list[tuple[int, ...]] | None]:
        """The relevant relay sets of a root, where they were found."""
        return {}

    @cached_property
    def _of_limits(self) -> tuple[IntArray, IntArray]:
        """The arcs of all limits, concatenated, and their starts."""
        sizes = np.array([len(arcs) for arcs in self.limits])
        return np.concatenate(self.limits), np.cumsum(sizes) - sizes

    def on_limits(self, load: IntArray) -> IntArray:
        """Return what each limit carries of a load of the arcs."""
        arcs, begin = self._of_limits
        return np.add.reduceat(load[arcs], begin)

    def arc_prices(self, prices: list[int]) -> list[int]:
        """Return for every arc the sum of its limits' prices."""
        total = [0] * len(self.src)
        for arcs, price in zip(self.limits, prices, strict=True):
            if price:
                for arc in arcs.tolist():
                    total[arc] += price
        return total


def network_of(fabric: Fabric, costs: Mapping[str, int] | None = None) -> Network:
    """Return the network of a fabric with integer costs by link class."""
    topology = fabric.topology
    rates = [limit.bandwidth / fabric.unit for limit in fabric.shared]
    scale = math.lcm(1, *(rate.denominator for rate in rates))
    single = [np.array([arc], dtype=np.int64) for arc in range(len(topology.src))]
    several = [np.array(arcs, dtype=np.int64) for arcs in fabric.shared_links]
    copies, adds = (np.isin(np.arange(topology.nodes), sorted(able)) for able in (fabric.copies, fabric.adds))
    return Network(
        topology.nodes,
        topology.src,
        topology.dst,
        np.array([(costs or {}).get(kind, 0) for kind in fabric.classes], dtype=np.int64),
        (*single, *several),
        (*(scale * capacity for capacity in topology.capacity.tolist()), *(int(rate * scale) for rate in rates)),
        scale,
        copies,
        adds,
        np.array(fabric.compute, dtype=np.int64),
    )
