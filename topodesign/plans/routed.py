"""Routed rounds: messages that go over several links in one step, through nodes that do not store them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.plans.movement import Column, Movement, check_cuts, check_intervals
from topodesign.plans.rounds import Rounds, check_reduce_steps
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Routed(Movement):
    """Columns of sends, each over a route.

    Row i says: at ``step[i]`` the first node of route ``route[i]`` sends the units ``lo[i] <= unit < hi[i]`` of
    ``block[i]`` over the links of the route to its last node; nodes between pass them on without storing them, in the
    same step. All else is as in :class:`~topodesign.plans.rounds.Rounds`: with a link for every route it is one.
    """

    kind: ClassVar = "routed"
    FIELDS: ClassVar = Rounds.FIELDS
    TABLES: ClassVar = {
        "rows": (
            Column("step", "communication step, from 1"),
            Column("route", "the route that it takes"),
            Column("block", "block of the data"),
            Column("lo", "first unit of it"),
            Column("hi", "the unit after the last"),
        ),
        "hop_start": (Column("hop_start", "where the vertices of a route begin, and the end of the last"),),
        "hops": (Column("hop", "vertices of routes"),),
    }

    collective: Collective
    topology: Topology  # the links
    units: int
    steps: int
    reduce_steps: int
    step: IntArray
    route: IntArray
    block: IntArray
    lo: IntArray
    hi: IntArray
    hop_start: IntArray
    hop: IntArray

    def __post_init__(self) -> None:
        """Check the form (not the meaning: that is the verifier's) and take the columns over."""
        self.take_over()
        routes, nodes = max(0, len(self.hop_start) - 1), self.topology.nodes
        check_reduce_steps(self.collective, self.steps, self.reduce_steps)
        check_cuts(self.hop_start, self.hop, routes, "routes")
        blocks = self.collective.block_count(nodes)
        self.check_ranges(step=(1, self.steps), route=(0, routes - 1), block=(0, blocks - 1), hop=(0, nodes - 1))
        check_intervals(self.lo, self.hi, self.units)

    def __repr__(self) -> str:
        """Return a short description."""
        return f"<Routed {self.collective}, {self.topology.nodes} nodes, {self.steps} steps, {len(self)} sends>"

    @cached_property
    def lengths(self) -> IntArray:
        """Links of every route."""
        return np.diff(self.hop_start) - 1

    @cached_property
    def rounds(self) -> Rounds:
        """The same without the links: who sends what to whom."""
        src, dst = self.hop[self.hop_start[:-1]], self.hop[self.hop_start[1:] - 1]
        columns = (self.step, src[self.route], dst[self.route], self.block)
        step, source, target, block = (one.astype(np.int32) for one in columns)
        head = self.collective, self.topology.nodes, self.units, self.steps, self.reduce_steps
        return Rounds(*head, step, source, target, block, self.lo, self.hi)

    @cached_property
    def joined(self) -> Topology:
        """The graph whose links are the ends of all routes."""
        ends = np.unique(self.rounds.src.astype(np.int64) * self.topology.nodes + self.rounds.dst)
        return Topology.from_arrays(
            self.topology.nodes, *np.divmod(ends, self.topology.nodes), switches=self.topology.switches
        )

    @cached_property
    def loads(self) -> IntArray:
        """Units that every link carries in every step, a row for each step."""
        found = np.zeros((self.steps, len(self.topology.src)), dtype=np.int64)
        members = self.collective.members(self.topology.nodes, self.topology.switches)
        share, _ = self.collective.shares(self.block, self.topology.nodes, len(members))
        per_route = np.zeros((self.steps, len(self.lengths)), dtype=np.int64)
        np.add.at(per_route, (self.step - 1, self.route), (self.hi - self.lo) * share)
        inner = np.ones(len(self.hop), dtype=np.bool_)
        inner[self.hop_start[1:] - 1] = False
        at = np.flatnonzero(inner)
        link = self.topology.link_index(self.hop[at], self.hop[at + 1])
        if len(link) and int(link.min()) < 0:
            bad = at[int(np.argmin(link))]
            raise ScheduleError(f"a route goes from {self.hop[bad]} to {self.hop[bad + 1]}, where there is no link")
        owner = np.repeat(np.arange(len(self.lengths)), self.lengths)
        for row, carried in zip(found, per_route, strict=True):
            np.add.at(row, link, carried[owner])
        found.setflags(write=False)
        return found

    @property
    def longest(self) -> list[int]:
        """Links of the longest route of each step."""
        far = np.zeros(self.steps, dtype=np.int64)
        np.maximum.at(far, self.step - 1, self.lengths[self.route])
        found: list[int] = far.tolist()
        return found

    @property
    def claim(self) -> dict[str, Fraction]:
        """What it costs: steps, the links of the longest route of each added up, and the bandwidth factor y."""
        members = self.collective.members(self.topology.nodes, self.topology.switches)
        shards = self.collective.shares(self.block[:0], self.topology.nodes, len(members))[1]
        total = Fraction(0)
        for row in self.loads:
            pairs = set(zip(row.tolist(), self.topology.capacity.tolist(), strict=True))
            total += max((Fraction(load, room) for load, room in pairs), default=Fraction(0))
        return {
            "steps": Fraction(self.steps),
            "hops": Fraction(sum(self.longest)),
            "bandwidth": Fraction(self.topology.degree, shards * self.units) * total,
        }
