"""Phases: rounds over circuits that are changed on the way, in columns: who sends what when, and which circuits are up.

Every node has so many ports. In a phase a port has at most one circuit to a port of another node and at most one from
one; the steps of a phase use the circuits of that phase alone. Between two phases circuits change, which takes
``delay`` seconds: of all ports, or of those alone whose circuit is another, which then begin to move as soon as nothing
more is to be sent over their old circuit, while the others go on.

To Reconfigure or Not, arXiv:2602.10468; Bridge, arXiv:2605.12766, where all ports are dark; SWOT, arXiv:2510.19322,
where some go on.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ScheduleError
from topodesign.collectives import Collective
from topodesign.plans.archive import read_fraction
from topodesign.plans.movement import FLAG, MAX_STEPS, Column, Field, Movement, integer
from topodesign.plans.rounds import Rounds
from topodesign.topology.topology import IntArray, Topology

MOST_PORTS = 2**12
_SECONDS = Field(lambda header, name: read_fraction(header, name, positive=False), str)


@dataclass(frozen=True, eq=False)
class Phases(Movement):
    """Columns of sends as :class:`~topodesign.plans.rounds.Rounds` has them, and of circuits."""

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
        """Check the form (not the meaning: that is the verifier's) and take the columns over."""
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
        """Return a short description."""
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
