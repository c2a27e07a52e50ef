"""Time of phases, in lock-step: circuits take a delay to change.

A step starts when all messages of the step before have arrived; a message then waits for its circuit. Where all ports
are dark at a change, every circuit of a phase is there ``delay`` seconds after the last step of the phase before. Where
only ports that move are dark, a circuit that stays is there at once, and a new one ``delay`` seconds after the last
message over the old circuits of its two ports; circuits of ports that had none before are in place from the start. So
ports move while others send, and two planes in turn take the longer of delay and sending.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.base.latency import USUAL
from topodesign.base.units import format_size, format_time
from topodesign.plans.flow import Circuits, Flow
from topodesign.plans.measure import find_step_loads, flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rounds
from topodesign.plans.time.conditions import Busy, Conditions, Moments, Run, TimingModel, check_busy
from topodesign.plans.time.steps import Message, SimulationResult, run_steps

Circuit = tuple[int, int, int, int]  # node, its port, other node, its port
Port = tuple[int, int, bool]  # node, port, and whether it is its receiver


class _Switching:
    """When circuits are there; goes from phase to phase."""

    def __init__(self, circuits: Circuits) -> None:
        self.circuits = circuits
        self.holds: dict[Port, Circuit] = {}
        self.ready: dict[Circuit, Fraction] = {}
        self.free: dict[Port, Fraction] = {}
        self.pairs: dict[tuple[int, int], list[Circuit]] = {}

    def ports(self, circuit: Circuit) -> tuple[Port, ...]:
        """Return the ports that a circuit moves, both ways if duplex."""
        a, p, b, q = circuit
        own = ((a, p, False), (b, q, True))
        return (*own, (a, p, True), (b, q, False)) if self.circuits.duplex else own

    def change(self, number: int, now: Fraction) -> None:
        """Set the circuits of a phase that begins now."""
        own = self.circuits
        rows = np.stack((own.src, own.src_port, own.dst, own.dst_port), axis=1)[own.phase == number]
        circuits: list[Circuit] = [(a, p, b, q) for a, p, b, q in rows.tolist()]
        delay, late = self.circuits.delay, now + (self.circuits.delay if number else 0)
        self.pairs = {}
        new = [one for one in circuits if self.holds.get((one[0], one[1], False)) != one]
        new = [*new, *(one for one in circuits if one not in new and self.holds.get((one[2], one[3], True)) != one)]
        begins = {one: [self.free[port] for port in self.ports(one) if port in self.free] for one in new}
        for one in circuits:
            if not self.circuits.moving:
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


def run_circuits(plan: Plan, flow: Flow, now: Conditions) -> SimulationResult:
    """Time a flow in steps whose circuits change."""
    other = now.mode != "lock-step" or now.links is not None or now.failed or now.chunks is not None
    if flow.circuits is None or other:
        raise ParameterError("phases are timed in lock-step, all links alike: omit mode, links and chunks")
    second = (8 * plan.fabric.unit if now.bandwidth is None else now.bandwidth / flow.circuits.ports) / 8
    unit = now.size / flow.whole_units
    alpha = (now.latency or USUAL).alpha or Fraction(0)
    switching, time = _Switching(flow.circuits), Fraction(0)
    ends: dict[int, Fraction] = {}
    critical: list[Message] = []
    topology, loads = flow.topology, find_step_loads(flow)
    rows = {step: slice(a, b) for step, a, b in loads.steps()}
    begins = {int(instant) + 1: number for number, instant in enumerate(flow.circuits.begin)}
    busy = np.zeros(len(topology.src))
    for step in range(1, flow.steps + 1):
        if step in begins:
            switching.change(begins[step], time)
        last: Message | None = None
        start, some = time, rows.get(step, slice(0))
        for link, units in zip(loads.link[some].tolist(), loads.units[some].tolist(), strict=True):
            src, dst = int(topology.src[link]), int(topology.dst[link])
            if (src, dst) not in switching.pairs:
                raise ScheduleError(f"step {step} sends over {src}->{dst}, which is not a circuit of its phase")
            lanes = switching.pairs[src, dst]
            begin = max(start, *(switching.ready[one] for one in lanes))
            end = begin + alpha + units * unit / (second * len(lanes))
            switching.use((src, dst), end)
            busy[link] += float(end - begin - alpha)
            if last is None or end > last.end:
                last = Message(step, src, dst, units * unit, begin, end)
        time = start + alpha if last is None else last.end
        ends[step] = time
        critical += [] if last is None else [last]
    link_units = np.zeros(len(topology.src), dtype=np.int64)
    np.add.at(link_units, loads.link, loads.units)
    return SimulationResult(time, busy / float(time or 1), None, "lock-step", ends, link_units, tuple(critical))


def _run(plan: Plan, flows: Sequence[Flow], now: Conditions) -> Run:
    """Time a plan in steps, whose circuits may change."""
    return run_steps(plan, flows[0], now) if flows[0].circuits is None else run_circuits(plan, flows[0], now)


def _list_busy(plan: Plan, size: Fraction, alpha: Fraction, bandwidth: Fraction) -> tuple[list[Busy], str]:
    """Return when links are busy in each step in lock-step."""
    flow = list_rounds(plan)
    loads = find_step_loads(flow)
    check_busy(len(loads.step), "messages")
    unit = size * 8 / flow.whole_units * flow.topology.degree / bandwidth  # seconds for a unit over a link
    columns = zip(loads.units.tolist(), loads.capacity.tolist(), strict=True)
    took, busy, now, done = [alpha + units * unit / ports for units, ports in columns], list[Busy](), Fraction(0), 0
    for step, first, last in loads.steps():
        now += alpha * (step - 1 - done)  # of steps that send nothing
        own, links = took[first:last], loads.link[first:last].tolist()
        texts = [f"step {step}, {format_time(time)}" for time in own]
        busy.append(Busy(f"step {step}", [now] * len(own), [now + time for time in own], links, texts))
        now, done = now + max(own), step
    now += alpha * (flow.steps - done)
    return busy, f"in lock-step: {format_size(size)} in {format_time(now)}, alpha {format_time(alpha)}"


def list_step_moments(plan: Plan, note: str = "All sends of a step are at the same time.") -> Moments:
    """Return the sends of a plan step by step."""
    flow = list_rounds(plan)
    adds = flow.reduce_steps
    does = ("; adding up", "; handing out") if 0 < adds < flow.steps else ("", "")
    names = tuple(f"Step {step} of {flow.steps}{does[step > adds]}" for step in range(1, flow.steps + 1))
    return Moments(flow, np.arange(flow.steps + 1), names, note)


STEPS = TimingModel(lambda plan: flow_claim(plan.flow), _run, _list_busy, list_step_moments)
"""Rounds in lock-step, also over routes and circuits."""
