"""Paths: which part of which block goes over which vertices, all at the same time in pipelines.

What is neither copied nor added up needs no tree: every part of a block has a path of its own from the source to the
destination, over nodes and switches. All parts flow at once, each cut into small chunks, so that the time for large
sizes is set by the fullest link alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.plans.movement import INTEGERS_OR_NONE, Column, Movement, check_cuts, integer
from topodesign.topology.topology import IntArray, Topology

PATH_COLLECTIVES = (SCATTER, GATHER, ALL_TO_ALL)
"""Those that paths can do: every block goes from one node to one."""
MAX_WEIGHT = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Paths(Movement):
    """Weighted paths of the blocks of a collective.

    Path i takes ``weight[i]`` units of ``block[i]`` over the vertices ``hop[hop_start[i]:hop_start[i + 1]]``: the
    block's source, others, its destination. Nodes on the way store what they receive and pass it on; switches pass it
    on as it comes. The units of a block are given to its paths in their order, the first ones to the first.

    All arrays are read-only int64.
    """

    kind: ClassVar = "paths"
    FIELDS: ClassVar = {"units": integer(1, MAX_WEIGHT), "amounts": INTEGERS_OR_NONE}
    TABLES: ClassVar = {
        "paths": (Column("block", "block of the data"), Column("weight", "units of it that take this path")),
        "hop_start": (Column("hop_start", "where the vertices of a path begin, and the end of the last"),),
        "hops": (Column("hop", "vertices of paths"),),
    }

    collective: Collective  # one of ``PATH_COLLECTIVES``, with its root and group if it has them
    topology: Topology  # links with capacities, switches included
    units: int  # equal parts of a block, or of a piece where blocks have several
    block: IntArray
    weight: IntArray
    hop_start: IntArray
    hop: IntArray
    # pieces of every block of an all-to-all by number, None where all are alike; data of a node are then counted as
    # if all blocks to others had the mean
    amounts: tuple[int, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.take_over()
        if not self.collective.like(*PATH_COLLECTIVES):
            known = ", ".join(map(str, PATH_COLLECTIVES))
            raise ScheduleError(f"paths are for {known}, not for {self.collective}")
        if not 1 <= self.units <= MAX_WEIGHT:
            raise ScheduleError(f"a block has from 1 to {MAX_WEIGHT} units, not {self.units}")
        nodes = self.topology.nodes
        members = nodes - len(self.topology.switches)
        if self.amounts is not None and (
            not self.collective.like(ALL_TO_ALL)
            or self.collective.groups is not None
            or len(self.amounts) != members**2
            or min(self.amounts) < 0
            or not 0 < sum(self.amounts) < 2**62
        ):
            raise ScheduleError(f"amounts are {members**2} numbers for an all-to-all of all, not negative, not all 0")
        blocks = self.collective.block_count(nodes)
        self.check_ranges(block=(0, blocks - 1), weight=(1, MAX_WEIGHT), hop=(0, nodes - 1))
        check_cuts(self.hop_start, self.hop, len(self.block), "paths")

    @classmethod
    def of(
        cls,
        collective: Collective,
        topology: Topology,
        units: int,
        rows: Sequence[tuple[int, int, Sequence[int]]],
        amounts: tuple[int, ...] | None = None,
    ) -> Paths:
        """Return paths of block, weight and vertices."""
        block, weight = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1))
        start = np.cumsum([0, *(len(way) for *_, way in rows)], dtype=np.int64)
        hop = np.array([vertex for *_, way in rows for vertex in way], dtype=np.int64)
        return cls(collective, topology, units, block, weight, start, hop, amounts=amounts)

    def __repr__(self) -> str:
        return f"<Paths {self.collective}, {len(self)} paths, height {self.height}, {self.units} units per block>"

    @cached_property
    def path_of(self) -> IntArray:
        """The path of every entry of ``hop``."""
        return np.repeat(np.arange(len(self)), np.diff(self.hop_start))

    @cached_property
    def heights(self) -> IntArray:
        """Sends of every path: those of its source and of every node on its way, shape ``(P,)``."""
        computes = np.ones(self.topology.nodes, dtype=np.int64)
        computes[list(self.topology.switches)] = 0
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        heights: IntArray = np.add.reduceat(computes[self.hop], self.hop_start[:-1]) - 1
        return heights

    @property
    def height(self) -> int:
        """Sends of the path that has the most of them."""
        return int(self.heights.max(initial=0))

    @cached_property
    def loads(self) -> IntArray:
        """Units that every link of the topology carries, shape ``(links,)``.

        Where blocks differ in size, as in groups of different numbers of members, they are those of the smallest, as
        :meth:`~topodesign.collectives.collective.Collective.shares` counts.
        """
        loads = self.loads_of(np.ones(len(self), dtype=np.bool_))
        loads.setflags(write=False)
        return loads

    def loads_of(self, some: NDArray[np.bool_]) -> IntArray:
        """Return the same of some of the paths, shape ``(links,)``."""
        path, tail, head = self.steps
        members = self.collective.members(self.topology.nodes, self.topology.switches)
        share, _ = self.collective.shares(self.block, self.topology.nodes, len(members))
        link = self.topology.link_index(tail, head)
        missing = np.flatnonzero(link < 0)
        if len(missing):
            source, target = tail[missing[0]], head[missing[0]]
            raise ScheduleError(f"a path goes from {source} to {target}, where there is no link")
        loads = np.zeros(len(self.topology.src), dtype=np.int64)
        np.add.at(loads, link[some[path]], (self.weight * share)[path[some[path]]])
        return loads

    @property
    def steps(self) -> tuple[IntArray, IntArray, IntArray]:
        """Of every link of every path: which path it is of, and its two ends."""
        first = np.flatnonzero(np.diff(self.path_of, append=-1) == 0)
        return self.path_of[first], self.hop[first], self.hop[first + 1]

    @property
    def inverse_rate(self) -> Fraction:
        """Time by bandwidth alone for blocks of size one, in units of one over the unit of capacity.

        That is 1/x: blocks of M/N bytes, N the number of shards, take ``M/N * inverse_rate / unit`` seconds, where
        ``unit`` is the bytes per second of a link of capacity one.
        """
        pairs = zip(self.loads.tolist(), self.topology.capacity.tolist(), strict=True)
        return max((Fraction(load, room) for load, room in pairs), default=Fraction(0)) / self.block_units

    @property
    def block_units(self) -> Fraction:
        """The units of a block; of one that has the mean of those to other nodes where they differ."""
        if self.amounts is None:
            return Fraction(self.units)
        members = self.topology.nodes - len(self.topology.switches)
        return Fraction(self.units * sum(self.amounts), members * (members - 1))

    def header(self) -> dict[str, Any]:
        """Return what a file says of it beside columns; amounts only where they differ, so that others are as ever."""
        said = super().header()
        return said if self.amounts is not None else {name: one for name, one in said.items() if name != "amounts"}
