"""Who sends which part of which block over which link at which step, in columns.

:class:`Rounds` go over links, the messages of :class:`Routed` over several links in one step, through nodes that do not
store them, and those of :class:`Phases` over circuits that are changed on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.plans.archive import MAX_INTEGER, read_fraction
from topodesign.plans.movement import FLAG, MAX_STEPS, Column, Field, Movement, check_cuts, check_intervals, integer
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False)
class Rounds(Movement):
    """Columns of sends: who sends what, over which link, at which step.

    Row i says: at ``step[i]``, node ``src[i]`` sends the units ``lo[i] <= unit < hi[i]`` of ``block[i]`` over the link
    to ``dst[i]``.

    Where a block is added up, as in a reduce-scatter, what is sent is the sender's partial sum, and the receiver adds
    it to its own. Elsewhere the receiver stores it. An allreduce is a reduce-scatter in the steps 1 to
    ``reduce_steps`` and an allgather in the steps after. Blocks are numbered as
    :meth:`~topodesign.collectives.collective.Collective.blocks` says: most are called by a node, their source or their
    destination.
    """

    kind: ClassVar = "rounds"
    FIELDS: ClassVar = {
        "units": integer(1, MAX_INTEGER),
        "steps": integer(0, MAX_STEPS),
        "reduce_steps": integer(0, MAX_STEPS),
    }
    TABLES: ClassVar = {
        "rows": (
            Column("step", "communication step, from 1", np.int32),
            Column("src", "node that sends", np.int32),
            Column("dst", "node that receives", np.int32),
            Column("block", "block of the data", np.int32),
            Column("lo", "first unit of it"),
            Column("hi", "the unit after the last"),
        )
    }

    collective: Collective  # what it is for, with root and group if it has them
    nodes: int  # number of nodes N, switches included
    units: int  # equal parts of a block, which ``lo`` and ``hi`` count
    steps: int  # communication steps, counted from 1
    # steps in which receivers add: none for an allgather, all for a reduce-scatter, the first of an allreduce
    reduce_steps: int
    step: NDArray[np.int32]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    block: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.units < 1 or self.steps < 0:
            raise ScheduleError("a schedule needs at least one node, one unit and a number of steps")
        self.take_over()
        check_reduce_steps(self.collective, self.steps, self.reduce_steps)
        node, blocks = (0, self.nodes - 1), self.collective.block_count(self.nodes)
        self.check_ranges(step=(1, self.steps), src=node, dst=node, block=(0, blocks - 1))
        check_intervals(self.lo, self.hi, self.units)

    def __repr__(self) -> str:
        return (
            f"<Rounds {self.collective}, {self.nodes} nodes, {self.steps} steps, "
            f"{len(self)} sends, {self.units} units per shard>"
        )

    def rows(self, chosen: NDArray[Any]) -> Self:
        """Return the same with some of the sends, by a mask or their numbers."""
        return self.having(**{name: column[chosen] for name, column in self.table().items()})


COLUMNS = Rounds.column_names()


def check_reduce_steps(collective: Collective, steps: int, reduce_steps: int) -> None:
    """Raise ScheduleError if so many steps that reduce are not what a collective of so many steps has."""
    if not 0 <= reduce_steps <= steps or not reduce_steps_fit(collective, steps, reduce_steps):
        raise ScheduleError(f"reduce_steps {reduce_steps} does not fit {collective}, {steps} steps")


def reduce_steps_fit(collective: Collective, steps: int, reduce_steps: int) -> bool:
    """Return whether a collective can add in the first so many of its steps."""
    if len(collective.movements) > 1:
        return True
    return reduce_steps == (steps if collective.reduces else 0)


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
        self.take_over()
        routes, nodes = max(0, len(self.hop_start) - 1), self.topology.nodes
        check_reduce_steps(self.collective, self.steps, self.reduce_steps)
        check_cuts(self.hop_start, self.hop, routes, "routes")
        blocks = self.collective.block_count(nodes)
        self.check_ranges(step=(1, self.steps), route=(0, routes - 1), block=(0, blocks - 1), hop=(0, nodes - 1))
        check_intervals(self.lo, self.hi, self.units)

    def __repr__(self) -> str:
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
    def factors(self) -> list[Fraction]:
        """What each step adds to the bandwidth factor y."""
        members = self.collective.members(self.topology.nodes, self.topology.switches)
        shards = self.collective.shares(self.block[:0], self.topology.nodes, len(members))[1]
        found = []
        for row in self.loads:
            pairs = set(zip(row.tolist(), self.topology.capacity.tolist(), strict=True))
            fullest = max((Fraction(load, room) for load, room in pairs), default=Fraction(0))
            found.append(Fraction(self.topology.degree, shards * self.units) * fullest)
        return found

    @property
    def claim(self) -> dict[str, Fraction]:
        """What it costs: steps, the links of the longest route of each added up, and the bandwidth factor y."""
        return {
            "steps": Fraction(self.steps),
            "hops": Fraction(sum(self.longest)),
            "bandwidth": sum(self.factors, Fraction(0)),
        }


MOST_PORTS = 2**12
_SECONDS = Field(lambda header, name: read_fraction(header, name, positive=False), str)


@dataclass(frozen=True, eq=False)
class Phases(Movement):
    """Columns of sends as :class:`Rounds` has them, and of circuits.

    Every node has so many ports. In a phase a port has at most one circuit to a port of another node and at most one
    from one; the steps of a phase use the circuits of that phase alone. Between two phases circuits change, which takes
    ``delay`` seconds: of all ports, or of those alone whose circuit is another, which then begin to move as soon as
    nothing more is to be sent over their old circuit, while the others go on.

    To Reconfigure or Not, arXiv:2602.10468; Bridge, arXiv:2605.12766, where all ports are dark; SWOT, arXiv:2510.19322,
    where some go on.
    """

    kind: ClassVar = "phases"
    FIELDS: ClassVar = {
        **Rounds.FIELDS,
        "ports": integer(1, MOST_PORTS),
        "delay": _SECONDS,
        "moving": FLAG,
        "duplex": FLAG,
    }
    TABLES: ClassVar = {
        **Rounds.TABLES,
        "phases": (Column("first_step", "step with which the phase begins"),),
        "circuits": (
            Column("phase", "phase that the circuit is of, from 0"),
            Column("circuit_src", "node that sends over it"),
            Column("src_port", "its port"),
            Column("circuit_dst", "node that receives"),
            Column("dst_port", "its port"),
        ),
    }

    collective: Collective
    nodes: int
    units: int
    steps: int
    reduce_steps: int
    ports: int  # ports of a node, d: each sends and receives at B/d
    delay: Fraction  # seconds that a change takes
    moving: bool  # whether only ports whose circuit changes are dark; else all are, at every change
    duplex: bool  # whether a port's circuits there and back lead to the same port of the same node
    step: NDArray[np.int32]
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    block: NDArray[np.int32]
    lo: NDArray[np.int64]
    hi: NDArray[np.int64]
    first_step: IntArray
    phase: IntArray
    circuit_src: IntArray
    src_port: IntArray
    circuit_dst: IntArray
    dst_port: IntArray

    def __post_init__(self) -> None:
        self.take_over()
        if self.delay < 0 or not 1 <= self.ports <= MOST_PORTS or self.steps > MAX_STEPS:
            raise ScheduleError(f"phases need a delay from 0 and 1 to {MOST_PORTS} ports")
        first = self.first_step
        if not len(first) or first[0] != 1 or np.any(np.diff(first) < 1) or first[-1] > max(1, self.steps):
            raise ScheduleError("column 'first_step' must ascend from 1 and end with a step that there is")
        node, port = (0, self.nodes - 1), (0, self.ports - 1)
        self.check_ranges(phase=(0, len(first) - 1), circuit_src=node, circuit_dst=node, src_port=port, dst_port=port)
        _ = self.rounds  # whose form is checked, too

    @classmethod
    def of(
        cls,
        rounds: Rounds,
        circuits: list[IntArray],
        first_step: IntArray,
        *,
        ports: int,
        delay: Fraction = Fraction(0),
        moving: bool = False,
        duplex: bool = False,
    ) -> Phases:
        """Return rounds over circuits: of each phase an array of rows node, its port, other node, its port."""
        number = np.repeat(np.arange(len(circuits)), [len(rows) for rows in circuits])
        table = np.concatenate(circuits).astype(np.int64)
        own = {one.name: getattr(rounds, one.name) for one in fields(Rounds)}
        names = ("circuit_src", "src_port", "circuit_dst", "dst_port")
        columns: dict[str, Any] = {name: table[:, place].copy() for place, name in enumerate(names)}
        return cls(
            **own,
            ports=ports,
            delay=delay,
            moving=moving,
            duplex=duplex,
            first_step=first_step.astype(np.int64),
            phase=number.astype(np.int64),
            **columns,
        )

    @cached_property
    def rounds(self) -> Rounds:
        """What is sent, step by step."""
        return Rounds(**{one.name: getattr(self, one.name) for one in fields(Rounds)})

    @property
    def changes(self) -> int:
        """How often circuits change: once less than there are phases."""
        return len(self.first_step) - 1

    def __repr__(self) -> str:
        return (
            f"<Phases {self.collective}, {self.nodes} nodes, {len(self.first_step)} topologies, {self.steps} steps, "
            f"{len(self)} sends>"
        )

    def phase_of(self, step: NDArray[np.integer]) -> IntArray:
        """Return the phases of steps."""
        found: IntArray = np.searchsorted(self.first_step, step, side="right") - 1
        return found

    def circuits_of(self, phase: int) -> IntArray:
        """Return the circuits of a phase, a row each: node, its port, other node, its port."""
        rows = self.phase == phase
        found: IntArray = np.stack((self.circuit_src, self.src_port, self.circuit_dst, self.dst_port), axis=1)[rows]
        return found

    def topology_of(self, phase: int) -> Topology:
        """Return the links that the circuits of a phase make."""
        rows = self.phase == phase
        return Topology.from_arrays(self.nodes, self.circuit_src[rows], self.circuit_dst[rows])

    def union(self) -> Topology:
        """Return all links that there are at some time, each as wide as it ever is."""
        every = [self.topology_of(phase) for phase in range(len(self.first_step))]
        key = np.concatenate([one.src * self.nodes + one.dst for one in every])
        width = np.concatenate([one.capacity for one in every])
        order = np.lexsort((width, key))
        last = np.append(np.diff(key[order]) > 0, True)[: len(key)]
        src, dst = np.divmod(key[order][last], self.nodes)
        return Topology.from_arrays(self.nodes, src, dst, width[order][last])

    def fits(self, topology: Topology) -> bool:
        """Return whether these are the links of its circuits, over all phases."""
        return self.nodes == topology.nodes and self.union() == topology
