"""Flows up to symmetry: one source and one load per orbit.

An optimal flow may be taken symmetric (average it over the group), so that the flows of the sources of one orbit are
images of each other, and the links of one orbit are equally full. Without symmetry every node and link is an orbit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import seal_array
from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.topology.symmetry import Symmetry, join_orbits
from topodesign.topology.topology import IntArray, Topology, make_disconnected_error

_MAX_IMAGES = 2**27  # nodes times nodes of an orbit for which permutations are compared


@dataclass(frozen=True, eq=False)
class Quotient:
    """Sources and links of a topology up to symmetry."""

    topology: Topology  # N nodes, no switches
    symmetry: Symmetry | None  # the automorphisms that were used, proved on the links; None if none were
    sources: IntArray  # a node of every orbit, shape ``(sources,)``
    weight: IntArray  # how many nodes each of them stands for
    arcs: IntArray  # the links that are no self-loops, as positions among the topology's
    kind: IntArray  # for every arc the number of its orbit, from 0
    room: IntArray  # for every orbit of arcs the sum of their capacities
    # what goes from each source to each node, shape ``(sources, nodes)``, or one row that is the same for all sources;
    # a shard to every node if None
    demand: IntArray | None = None

    @cached_property
    def wanted(self) -> IntArray:
        """The demand; what a source has for itself does not count."""
        return seal_array(np.ones((1, self.topology.nodes), dtype=np.int64)) if self.demand is None else self.demand

    @cached_property
    def most(self) -> int:
        """The most that any source sends, or more."""
        return int(self.wanted.sum(axis=1).max())

    @cached_property
    def src(self) -> IntArray:
        """Where the arcs start."""
        return seal_array(self.topology.src[self.arcs])

    @cached_property
    def dst(self) -> IntArray:
        """Where they end."""
        return seal_array(self.topology.dst[self.arcs])

    @cached_property
    def indptr(self) -> IntArray:
        """The first arc of every node among the arcs, shape ``(nodes + 1,)``."""
        return seal_array(np.searchsorted(self.src, np.arange(self.topology.nodes + 1)))

    @property
    def graph(self) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray, IntArray, IntArray]:
        """The arguments of kernels: sources, weights, arcs and demand."""
        return self.sources, self.weight, self.indptr, self.src, self.dst, self.kind, self.wanted

    @cached_property
    def into(self) -> tuple[IntArray, IntArray]:
        """The first arc into every node among the arcs sorted by head."""
        order = np.argsort(self.dst, kind="stable")
        return seal_array(np.searchsorted(self.dst[order], np.arange(self.topology.nodes + 1))), seal_array(order)

    def loads(self, amounts: Any) -> list[int]:
        """Return the load of every orbit of arcs, over all sources.

        From the flows of one source per orbit.

        * ``amounts``: integers, shape ``(sources, arcs)``.
        """
        total = [0] * len(self.room)
        for weight, row in zip(self.weight.tolist(), amounts, strict=True):
            for kind, amount in zip(self.kind.tolist(), row.tolist(), strict=True):
                total[kind] += weight * amount
        return total

    def symmetric(self, amounts: Any) -> tuple[Any, int]:
        """Return flows symmetric under the source's stabiliser, and their scale.

        They are averages over such automorphisms, so the loads stay as they are times the scale.
        """
        if self.symmetry is None:
            return amounts, 1
        orbits = [
            find_fixed_orbits(self.topology, self.symmetry, source)[self.arcs] for source in self.sources.tolist()
        ]
        counts = [np.bincount(orbit, minlength=len(self.topology.src)) for orbit in orbits]
        scale = int(np.lcm.reduce([np.lcm.reduce(count[count > 0]) for count in counts]))
        if scale == 1:
            return amounts, 1
        rows = []
        for row, orbit, count in zip(amounts, orbits, counts, strict=True):
            total = np.zeros(len(self.topology.src), dtype=object)
            np.add.at(total, orbit, row.astype(object))
            rows.append(total[orbit] * (scale // count[orbit].astype(object)))
        return np.array(rows, dtype=object), scale


def quotient(topology: Topology, *, symmetric: bool = True) -> Quotient:
    """Return the sources and links of a topology up to its known symmetry.

    * ``topology``: strongly connected, without switches.
    * ``symmetric``: whether to use symmetry, which is proved on the links first.
    """
    if topology.switches:
        raise TopologyError("all-to-all over shortest flows requires a direct-connect topology, without switches")
    if topology.nodes < 2:
        raise TopologyError("a collective requires at least 2 nodes")
    if topology.describe_unreached():
        raise make_disconnected_error(topology)
    arcs = np.flatnonzero(topology.src != topology.dst)
    symmetry = topology.symmetry if symmetric else None
    if symmetry is None:
        nodes, links = np.arange(topology.nodes), np.arange(len(arcs))
        weight = np.ones(topology.nodes, dtype=np.int64)
        return Quotient(topology, None, *map(seal_array, (nodes, weight, arcs, links, topology.capacity[arcs].copy())))
    symmetry.check(topology)
    sources, weight = np.unique(symmetry.represented_by, return_counts=True)
    first, kind = np.unique(symmetry.link_orbits(topology)[arcs], return_inverse=True)
    room = np.zeros(len(first), dtype=np.int64)
    np.add.at(room, kind, topology.capacity[arcs])
    return Quotient(topology, symmetry, *map(seal_array, (sources, weight, arcs, kind, room)))


def find_fixed_orbits(topology: Topology, symmetry: Symmetry, source: int) -> IntArray:
    """Return the first link of every orbit under a representative's stabiliser.

    They are generated by what becomes of a generator between two nodes when both are brought home (Schreier's lemma).
    """
    first = np.arange(len(topology.src))
    orbit = int(np.count_nonzero(symmetry.represented_by == source))
    if orbit * topology.nodes > _MAX_IMAGES:
        raise TooLargeError(f"the flows of {orbit} nodes that are images of one another are too many to compare")
    nodes, images = symmetry.images(source, np.arange(topology.nodes))
    row_of = np.zeros(topology.nodes, dtype=np.int64)
    row_of[nodes] = np.arange(orbit)
    met: set[bytes] = set()
    for generator in symmetry.generators:
        there, moved = row_of[generator[nodes]], generator[images]
        for row in np.flatnonzero(np.any(images[there] != moved, axis=1)).tolist():
            home = np.empty(topology.nodes, dtype=np.int64)
            home[images[there[row]]] = np.arange(topology.nodes)
            permutation: NDArray[np.int64] = home[moved[row]]
            if permutation.tobytes() not in met:
                met.add(permutation.tobytes())
                first = join_orbits(first, topology.link_index(permutation[topology.src], permutation[topology.dst]))
    return first
