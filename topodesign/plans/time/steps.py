"""Time of steps: rounds, also over routes, in the alpha-beta model.

All that a link carries in a step is one message. It takes ``alpha + bits / bandwidth`` of its link. Two modes:

lock-step
    A step starts when every message of the step before has arrived, and every step takes at least alpha. This is how
    the papers count, and with equal links it is exactly :meth:`topodesign.base.cost.Cost.runtime`.
asynchronous
    A message starts when its link is free of the messages of earlier steps and its data is there, as
    :mod:`topodesign.plans.time.clock` says. It never ends later than in lock-step.

Over routes a step takes, beside alpha, ``hop`` for each link of its longest route: nodes that a message passes count as
switches do in :mod:`topodesign.base.latency`.

Times are exact. They are integers over a common denominator where these fit into 64 bits, else fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import stable_order
from topodesign.base.compiled import LARGEST
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError, ScheduleError, TooLargeError
from topodesign.base.latency import USUAL
from topodesign.base.units import format_size, format_time
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.flow import Flow
from topodesign.plans.measure import Loads, find_step_loads
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import unfold
from topodesign.plans.time.clock import find_cells, run_clock
from topodesign.plans.time.clock_kernels import ADDS, Order, Spans, Uses
from topodesign.plans.time.conditions import SHOWN, USE_KEYS, Conditions, Run, links_of
from topodesign.plans.time.losses import Link, find_link, find_loss
from topodesign.plans.time.options import MODES, Mode
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import IntArray

_FEW_NODES = 2**13
"""Up to this many nodes a plan that has too few sends to be right is timed all the same."""


@dataclass(frozen=True, slots=True)
class Message:
    """All that one link carries in one step."""

    # step, src, dst: when, by number, and over which link
    step: int
    src: int
    dst: int
    size: Fraction  # bytes
    # start, end: seconds from the start of the collective
    start: Fraction
    end: Fraction

    def __str__(self) -> str:
        return self.describe(str)

    def describe(self, name: Callable[[int], str]) -> str:
        """Return the same with other names of nodes."""
        return (
            f"step {self.step}: {name(self.src)}->{name(self.dst)}, {format_size(self.size)}, "
            f"{format_time(self.start)} to {format_time(self.end)}"
        )


@dataclass(frozen=True, eq=False)
class SimulationResult(Run):
    """The end of a schedule and its cause, step by step."""

    mode: Mode  # one of ``lock-step``, ``asynchronous``
    # for every step that sends something, seconds until its last message has arrived
    step_ends: Mapping[int, Fraction]
    # units of a shard that each link of the topology carries (int64, in the topology's order)
    link_units: NDArray[np.int64]
    # messages that end one after the other: in lock-step the slowest of every step, else a chain from time 0 to
    # ``time`` in which each starts when the one before ends
    critical: tuple[Message, ...]

    KEYS = (
        key("step_ends_s=float(step_ends)", "When each step ends, in seconds."),
        *USE_KEYS,
        key(
            "loss",
            "What links that are down prevent; null if nothing.",
            kind="str | None",
            value=lambda run: None if run.loss is None else str(run.loss),
        ),
    )

    def describe(self, name: Callable[[int], str]) -> str:
        """Return time, link use and critical messages, with names."""
        lines = [f"{self.mode}: {format_time(self.time)}", *self.use()]
        lines.append("slowest of each step:" if self.mode == "lock-step" else "critical path:")
        lines += [f"  {message.describe(name)}" for message in self.critical[:SHOWN]]
        if len(self.critical) > SHOWN:
            lines.append(f"  ... and {len(self.critical) - SHOWN} more")
        return "\n".join(lines + ([self.loss.describe(name)] if self.loss else []))


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
        """Return time and link use, without names."""
        _ = name
        lines = [f"lock-step, messages pass through: {format_time(self.time)}", *self.use()]
        for step, (end, links) in enumerate(zip(self.step_ends[:SHOWN], self.longest[:SHOWN], strict=True), start=1):
            lines.append(f"  step {step}: until {format_time(end)}, longest route {links} links")
        if len(self.step_ends) > SHOWN:
            lines.append(f"  ... and {len(self.step_ends) - SHOWN} more")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Pace:
    """Link speeds: kind k takes ``alpha[k] + units * unit[k]`` seconds."""

    kind: IntArray
    alpha: list[Fraction]
    unit: list[Fraction]

    def count(self, most_units: int, steps: int) -> tuple[NDArray[Any], NDArray[Any], int]:
        """Return times of kinds in ticks, or fractions if too many."""
        rate = 1
        for value in (*self.alpha, *self.unit):
            rate = math.lcm(rate, value.denominator)
            if rate >= LARGEST:
                break
        most = max(self.alpha) + max(self.unit) * most_units
        if rate < LARGEST and rate * most * (steps + 1) < LARGEST:
            alpha, unit = ([int(one * rate) for one in values] for values in (self.alpha, self.unit))
            return np.array(alpha, dtype=np.int64), np.array(unit, dtype=np.int64), rate
        exact = np.empty((2, len(self.alpha)), dtype=object)
        exact[:] = [self.alpha, self.unit]
        return exact[0], exact[1], 1


def find_pace(flow: Flow, unit_bits: Fraction, alpha: Fraction, bandwidth: Fraction, table: LinkTable) -> _Pace:
    """Return the pace of links, with a kind per unequal link.

    ``unit_bits`` is what a unit has of bits, ``bandwidth`` that of all links of a node.
    """
    topology = flow.topology
    capacities, kind = np.unique(topology.capacity, return_inverse=True)
    rates = [bandwidth / max(1, topology.degree) * c for c in capacities.tolist()] or [bandwidth]
    alphas = [alpha] * len(rates)
    for pair in sorted({*table.alpha, *table.bandwidth}):
        index = find_link(topology, pair)
        own = Fraction(table.alpha.get(pair, alpha)), Fraction(table.bandwidth.get(pair, rates[kind[index]]))
        if own[0] < 0 or own[1] <= 0:
            raise ParameterError(f"link {pair[0]}->{pair[1]} requires an alpha from 0 and a bandwidth above 0")
        kind[index] = len(rates)
        alphas.append(own[0])
        rates.append(own[1])
    return _Pace(kind, alphas, [unit_bits / rate for rate in rates])


def run_steps(plan: Plan, flow: Flow, now: Conditions) -> SimulationResult | RoutedRun:
    """Time a plan in steps under some conditions."""
    if flow.routes is not None:
        if now.chunks is not None:
            raise ParameterError("chunks are of trees and paths; routed rounds have none")
        if now.failed or now.links is not None or now.mode != "lock-step":
            raise ParameterError("routed rounds are timed in lock-step, with links that are alike and work")
    elif now.chunks is not None:
        raise ParameterError("chunks are of trees and paths; rounds have none")
    own = 8 * plan.fabric.unit * max(1, plan.topology.degree)
    bandwidth, latency = own if now.bandwidth is None else now.bandwidth, now.latency or USUAL
    if flow.routes is None:
        table = links_of(plan, now)
        asked: dict[str, Any] = {"alpha": latency.alpha or Fraction(0), "size": now.size, "bandwidth": bandwidth}
        if flow.fold is not None and (now.mode != "lock-step" or now.failed or table or not flow.fold.is_free):
            flow = unfold(plan.flow)
        return time_steps(flow, **asked, mode=now.mode, table=table, failed=now.failed)
    far = np.zeros(flow.steps, dtype=np.int64)
    np.maximum.at(far, flow.start[flow.routes.send], np.diff(flow.routes.hop_start) - 1)
    run = time_steps(flow, alpha=Fraction(0), size=now.size, bandwidth=bandwidth)
    ends, time = [], Fraction(0)
    before = Fraction(0)
    for step, links in enumerate(far.tolist(), 1):
        end = run.step_ends.get(step, before)
        time += latency.of_step(1, links) + end - before
        ends.append(time)
        before = end
    return RoutedRun(time, run.utilisation * float(run.time) / float(time or 1), None, tuple(ends), tuple(far.tolist()))


def time_steps(
    flow: Flow,
    *,
    alpha: Fraction,
    size: Fraction,
    bandwidth: Fraction,
    mode: Mode = "lock-step",
    table: LinkTable | None = None,
    failed: tuple[Link, ...] = (),
) -> SimulationResult:
    """Time a flow in steps.

    Latency of a message in seconds, bytes of the whole data M, and the egress bandwidth B of a node in bits per second;
    a link has B/d for every unit of its capacity, or what the table says, of all parallel links together. A folded flow
    has lock-step alone, no failures, and links of an orbit that are alike.

    Efficient Direct-Connect Topologies, section 2.1 (the alpha-beta model and the definition of T_B).
    """
    if mode not in MODES:
        raise ParameterError(f"unknown mode {mode!r}; use {' or '.join(MODES)}")
    if alpha < 0 or size <= 0 or bandwidth <= 0:
        raise ParameterError("alpha must not be negative, size and bandwidth must be above zero")
    topology, loss = flow.topology, None
    unit_bits = 8 * size / flow.whole_units
    pace = find_pace(flow, unit_bits, alpha, bandwidth, LinkTable({}, {}) if table is None else table)
    if failed or mode != "lock-step":
        _check_enough(flow)
    if failed:
        loss, happens = find_loss(flow, failed)
        flow = flow.some(happens)
    loads = find_step_loads(flow)
    if loads.units.dtype == object:
        raise TooLargeError(f"{flow.units} units per shard are too many for {len(flow)} sends; use fewer units")
    own_alpha, own_unit, rate = pace.count(int(loads.units.max(initial=0)), len(loads.steps()))
    kind = pace.kind[loads.link]
    duration = own_alpha[kind] + own_unit[kind] * loads.units
    if mode == "lock-step":
        start, path = _lock_step(loads, duration)
        spare = alpha
    else:
        start, path = _asynchronous(flow, pace.kind, own_alpha, own_unit)
        spare = Fraction(0)
    end = start + duration
    steps = loads.steps()
    idle = {step: spare * (step - count) for count, (step, _, _) in enumerate(steps, 1)}
    ends = {step: _seconds(end[a:b].max(), rate) + idle[step] for step, a, b in steps}
    time = max(ends.values(), default=Fraction(0)) + spare * (flow.steps - max(ends, default=0))
    link_units = np.zeros(len(topology.src), dtype=np.int64)
    np.add.at(link_units, loads.link, loads.units)
    if flow.fold is not None:
        link_units = link_units[flow.fold.link_orbits(topology)]
    busy = link_units * np.array([float(one) for one in pace.unit])[pace.kind]
    critical = tuple(
        Message(
            step=int(loads.step[m]),
            src=int(topology.src[loads.link[m]]),
            dst=int(topology.dst[loads.link[m]]),
            size=int(loads.units[m]) * unit_bits / 8,
            start=_seconds(start[m], rate) + idle[int(loads.step[m])],
            end=_seconds(end[m], rate) + idle[int(loads.step[m])],
        )
        for m in path
    )
    return SimulationResult(time, busy / float(time or 1), loss, mode, ends, link_units, critical)


def _seconds(ticks: Any, rate: int) -> Fraction:
    return Fraction(ticks if isinstance(ticks, Fraction) else int(ticks)) / rate


def _check_enough(flow: Flow) -> None:
    """Raise if a flow has far too few sends for its nodes."""
    nodes, least = flow.topology.nodes, 0
    if nodes <= _FEW_NODES:
        return
    for movement in flow.movements:
        source, goal = flow.collective.places(movement, flow.blocks, nodes)
        every = (source == EVERYONE) | (goal == EVERYONE) if not movement.adds else np.ones(len(goal), dtype=np.bool_)
        least += int(every.sum()) + int((source != goal)[~every].sum())
    if len(flow) < least:
        raise ScheduleError(f"{len(flow)} sends are far too few for a collective on {nodes} nodes")


def _lock_step(loads: Loads, duration: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
    """Return the start and slowest message of every step."""
    start = np.zeros_like(duration)
    path: list[int] = []
    now = duration.dtype.type(0) if duration.dtype != object else Fraction(0)
    for _, a, b in loads.steps():
        start[a:b] = now
        path.append(a + int(np.argmax(duration[a:b])))
        now += duration[path[-1]]
    return start, path


def _asynchronous(
    flow: Flow, kind: IntArray, alpha: NDArray[Any], unit: NDArray[Any]
) -> tuple[NDArray[Any], list[int]]:
    """Return the starts, and a gapless chain that ends last."""
    if not len(flow):
        return np.zeros(0, dtype=alpha.dtype), []
    _, link = flow.find_links()
    key = flow.start.astype(np.int64) * len(flow.topology.src) + link
    rows = stable_order(key)
    cells, own = find_cells(flow), kind[link[rows]]
    sent, received, count = (column[rows] for column in (cells.sent, cells.received, cells.count))
    nothing = np.zeros(0, dtype=np.int32)
    uses = Uses(link[rows].astype(np.int32), nothing, sent, received, count, cells.takes[rows])
    share = (flow.share_of(flow.block) * (flow.hi - flow.lo))[flow.piece[rows]]
    start, end = flow.start[rows].astype(np.int64), flow.end[rows].astype(np.int64)
    first = np.flatnonzero(np.diff(key[rows], prepend=-1))
    sums = np.flatnonzero(uses.takes == ADDS)  # by their ends, as rows are
    columns = np.arange(len(rows)), np.append(first, len(rows)), sums, rows
    order = Order(start, end, *(column.astype(np.int32) for column in columns))
    free = np.zeros(len(kind), dtype=alpha.dtype)
    spans = Spans(alpha[own] + unit[own] * share, free[:0], alpha[kind], free)
    found = run_clock(cells.number, uses, order, spans)
    path = [int(np.argmax(found.end))]
    while found.cause[path[-1]] >= 0:
        path.append(int(found.cause[path[-1]]))
    return found.start[first], (np.searchsorted(first, path[::-1], side="right") - 1).tolist()
