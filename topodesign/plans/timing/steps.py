"""The simulator of phases and of routed rounds, in lock-step; circuits of phases take a delay to change.

A step starts when all messages of the step before have arrived; a message then waits for its circuit. Where all ports
are dark at a change, every circuit of a phase is there ``delay`` seconds after the last step of the phase before. Where
only ports that move are dark, a circuit that stays is there at once, and a new one ``delay`` seconds after the last
message over the old circuits of its two ports; circuits of ports that had none before are in place from the start. So
ports move while others send, and two planes in turn take the longer of delay and sending.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import key
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.base.latency import USUAL
from topodesign.base.units import format_time
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Phases, Routed
from topodesign.plans.timing.conditions import SHOWN, USE_KEYS, Conditions, Run
from topodesign.plans.timing.rounds import Message, SimulationResult

Circuit = tuple[int, int, int, int]  # node, its port, other node, its port
Port = tuple[int, int, bool]  # node, port, and whether it is its receiver


class _Circuits:
    """When circuits are there; goes from phase to phase."""

    def __init__(self, phases: Phases) -> None:
        self.phases = phases
        self.holds: dict[Port, Circuit] = {}
        self.ready: dict[Circuit, Fraction] = {}
        self.free: dict[Port, Fraction] = {}
        self.pairs: dict[tuple[int, int], list[Circuit]] = {}

    def ports(self, circuit: Circuit) -> tuple[Port, ...]:
        """Return the ports that have to move for a circuit: of a duplex one both directions of both."""
        a, p, b, q = circuit
        own = ((a, p, False), (b, q, True))
        return (*own, (a, p, True), (b, q, False)) if self.phases.duplex else own

    def change(self, number: int, now: Fraction) -> None:
        """Set the circuits of a phase that begins now."""
        circuits: list[Circuit] = [(a, p, b, q) for a, p, b, q in self.phases.circuits_of(number).tolist()]
        delay, late = self.phases.delay, now + (self.phases.delay if number else 0)
        self.pairs = {}
        new = [one for one in circuits if self.holds.get((one[0], one[1], False)) != one]
        new = [*new, *(one for one in circuits if one not in new and self.holds.get((one[2], one[3], True)) != one)]
        begins = {one: [self.free[port] for port in self.ports(one) if port in self.free] for one in new}
        for one in circuits:
            if not self.phases.moving:
                self.ready[one] = late
            elif one in begins:
                self.ready[one] = max(begins[one]) + delay if begins[one] else Fraction(0)
            self.holds[one[0], one[1], False] = self.holds[one[2], one[3], True] = one
            for port in self.ports(one):
                self.free.setdefault(port, Fraction(0))
            self.pairs.setdefault((one[0], one[2]), []).append(one)

    def use(self, pair: tuple[int, int], end: Fraction) -> None:
        """Note that something arrived over the circuits of a link."""
        for one in self.pairs[pair]:
            for port in self.ports(one):
                self.free[port] = max(self.free[port], end)


def run_phases(plan: Plan, phases: Phases, now: Conditions) -> SimulationResult:
    """Time a plan of phases."""
    if now.mode != "lock-step" or now.links is not None or now.failed or now.chunks is not None:
        raise ParameterError("phases are timed in lock-step, all links alike: leave mode, links and chunks out")
    members = phases.collective.members(phases.nodes)
    shards = phases.collective.shards(len(members))
    second = (8 * plan.fabric.unit if now.bandwidth is None else now.bandwidth / phases.ports) / 8
    unit = now.size / (shards * phases.units)
    alpha = (now.latency or USUAL).alpha or Fraction(0)
    circuits, time = _Circuits(phases), Fraction(0)
    ends: dict[int, Fraction] = {}
    critical: list[Message] = []
    link_units = np.zeros(len(plan.topology.src), dtype=np.int64)
    loads, at = _loads(phases), 0
    busy = np.zeros(len(link_units))
    for step in range(1, phases.steps + 1):
        while at < len(phases.first_step) and phases.first_step[at] == step:
            circuits.change(at, time)
            at += 1
        last: Message | None = None
        start = time
        for src, dst, units in loads.get(step, ()):
            if (src, dst) not in circuits.pairs:
                raise ScheduleError(f"step {step} sends over {src}->{dst}, which is no circuit of its phase")
            lanes = circuits.pairs[src, dst]
            begin = max(start, *(circuits.ready[one] for one in lanes))
            end = begin + alpha + units * unit / (second * len(lanes))
            circuits.use((src, dst), end)
            link = int(plan.topology.link_index(src, dst))
            link_units[link] += units
            busy[link] += float(end - begin - alpha)
            if last is None or end > last.end:
                last = Message(step, src, dst, units * unit, begin, end)
        time = start + alpha if last is None else last.end
        ends[step] = time
        critical += [] if last is None else [last]
    return SimulationResult(time, busy / float(time or 1), None, "lock-step", ends, link_units, tuple(critical))


def _loads(phases: Phases) -> dict[int, list[tuple[int, int, int]]]:
    """Return for every step its links with the units that they carry, in parts of the smallest blocks."""
    share, _ = phases.collective.shares(phases.block, phases.nodes, 0)
    key = (phases.step.astype(np.int64) * phases.nodes + phases.src) * phases.nodes + phases.dst
    every, place = np.unique(key, return_inverse=True)
    units = np.zeros(len(every), dtype=np.int64)
    np.add.at(units, place, (phases.hi - phases.lo) * share)
    found: dict[int, list[tuple[int, int, int]]] = {}
    step, ends = np.divmod(every, phases.nodes**2)
    columns = (step, *np.divmod(ends, phases.nodes), units)
    for at, src, dst, count in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(at, []).append((src, dst, count))
    return found


@dataclass(frozen=True, eq=False)
class RoutedRun(Run):
    """When routed rounds end."""

    step_ends: tuple[Fraction, ...]  # seconds until each step is over
    longest: tuple[int, ...]  # links of the longest route of each step

    KEYS = (
        key("step_ends_s=float(step_ends)", "When each step ends, in seconds, in their order."),
        key("longest_routes=longest", "Links of the longest route of each step."),
        *USE_KEYS,
    )

    def describe(self, name: Callable[[int], str]) -> str:
        """Return the time and the use of links; no node is named."""
        _ = name
        lines = [f"lock-step, messages pass through: {format_time(self.time)}", *self.use()]
        for step, (end, links) in enumerate(zip(self.step_ends[:SHOWN], self.longest[:SHOWN], strict=True), start=1):
            lines.append(f"  step {step}: until {format_time(end)}, longest route {links} links")
        if len(self.step_ends) > SHOWN:
            lines.append(f"  ... and {len(self.step_ends) - SHOWN} more")
        return "\n".join(lines)


def run_routed(plan: Plan, moved: Routed, now: Conditions) -> RoutedRun:
    """Time routed rounds in lock-step.

    A step takes alpha, ``hop`` for each link of its longest route, and what its fullest link carries over the rate of
    that. Nodes that a message passes count as switches do in :mod:`topodesign.base.latency`.
    """
    if now.chunks is not None:
        raise ParameterError("chunks are of trees and paths; routed rounds have none")
    if now.failed or now.links is not None or now.mode != "lock-step":
        raise ParameterError("routed rounds are timed in lock-step, with links that are alike and work")
    latency = now.latency or USUAL
    topology = plan.topology
    own = 8 * plan.fabric.unit * max(1, topology.degree)
    members = moved.collective.members(topology.nodes, topology.switches)
    _, shards = moved.collective.shares(moved.block[:0], topology.nodes, len(members))
    unit = 8 * now.size / (shards * moved.units) * topology.degree / (own if now.bandwidth is None else now.bandwidth)
    ends, time = [], Fraction(0)
    for row, far in zip(moved.loads, moved.longest, strict=True):
        fullest = max((Fraction(int(load), int(room)) for load, room in zip(row, topology.capacity, strict=True)))
        time += latency.of_step(1, far) + fullest * unit
        ends.append(time)
    busy = moved.loads.sum(axis=0) / topology.capacity * float(unit)
    return RoutedRun(time, np.asarray(busy / float(time or 1)), None, tuple(ends), tuple(moved.longest))
