"""Real times of clock flows, as early as data and links allow.

The plan's times say what waits for what, no more (:mod:`topodesign.plans.time.clock`). A right plan whose sends start
as early as they can and take no longer than they must ends when it says; any other right plan ends earlier. Random
delays show what becomes of it where links are not as regular as planned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.compiled import LARGEST
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError, ScheduleError, TooLargeError
from topodesign.base.units import format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.plans.flow import MAX_TICKS, Column, Flow
from topodesign.plans.link_times import LinkTimes, common_ticks, flow_in_ticks, link_times
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import find_links, prune
from topodesign.plans.time.clock import find_cells, find_twice, order_uses, run_clock
from topodesign.plans.time.clock_kernels import Spans, Uses
from topodesign.plans.time.conditions import (
    SHOWN,
    USE_KEYS,
    Busy,
    Conditions,
    Moments,
    Run,
    TimingModel,
    check_busy,
    links_of,
)
from topodesign.plans.time.losses import find_loss
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import IntArray, Topology

GRAIN = 1024  # A random delay is a multiple of the longest one over this


@dataclass(frozen=True, slots=True)
class Flight:
    """One send as it happens."""

    send: int  # its number in the plan
    # src, dst: over which link
    src: int
    dst: int
    size: Fraction  # bytes
    # start, end: seconds from the start of the collective
    start: Fraction
    end: Fraction

    def describe(self, name: Callable[[int], str]) -> str:
        """Return one line."""
        ends = f"{name(self.src)}->{name(self.dst)}"
        return f"{ends}, {format_size(self.size)}, {format_time(self.start)} to {format_time(self.end)}"


@dataclass(frozen=True, eq=False)
class TimedSimulation(Run):
    """When timed sends end, and why then."""

    planned: Fraction  # the same as ``time`` as the plan says
    tick: Fraction  # seconds of a tick of ``start`` and ``end``
    # start, end: ticks at which every send of the plan starts, and its data have arrived, shape ``(sends,)``: int64,
    # or integers of any size; 0 of sends that failed links prevent
    start: NDArray[Any]
    end: NDArray[Any]
    # sends from time 0 to ``time``, each of which starts when the one before ends or leaves its link
    critical: tuple[Flight, ...]

    times_of_plan: ClassVar = True
    KEYS = (key("planned_s=float(planned)", "What the plan says."), *USE_KEYS)

    @property
    def sends(self) -> tuple[Sequence[int], Sequence[int], Fraction]:
        """When every send starts and ends, in ticks, and their seconds."""
        return self.start.tolist(), self.end.tolist(), self.tick

    def describe(self, name: Callable[[int], str]) -> str:
        """Return the same with other names of nodes."""
        lines = [f"timed sends: {format_time(self.time)}, planned {format_time(self.planned)}"]
        lines += self.use()
        lines.append("critical path:")
        lines += [f"  {flight.describe(name)}" for flight in self.critical[:SHOWN]]
        if len(self.critical) > SHOWN:
            lines.append(f"  ... and {len(self.critical) - SHOWN} more")
        return "\n".join(lines + ([self.loss.describe(name)] if self.loss else []))


def run_ticks(plan: Plan, flows: Sequence[Flow], now: Conditions) -> TimedSimulation:
    """Time the timed sends of a plan under some conditions."""
    if now.chunks is not None or now.mode != "lock-step":
        raise ParameterError("timed sends say when they start; omit chunks and mode")
    if now.failed and len(flows) > 1:
        raise ParameterError("what failures do to several collectives at once is not simulated; take one at a time")
    topology, tick, opens = plan.topology, flows[0].timing.tick, None
    if now.ready:
        if max(now.ready) >= MAX_TICKS * tick:
            raise ParameterError("a node is ready too late for the ticks of the plan")
        at = np.array([math.ceil(time / tick) for time in now.ready], dtype=np.int64)
        opens = np.maximum(at[topology.src], at[topology.dst])
    links, latency = links_of(plan, now), now.latency
    if latency is not None and latency.alpha is not None:  # links out of switches take what passing these takes
        ends = zip(topology.src.tolist(), topology.dst.tolist(), strict=True)
        alpha = {(u, v): latency.hop if u in topology.switches else latency.alpha for u, v in ends if u != v}
        links = LinkTable(alpha, {}) if links is None else LinkTable({**alpha, **links.alpha}, links.bandwidth)
    gap = None if latency is None else latency.gap
    asked: dict[str, Any] = {"size": now.size, "links": links, "gap": gap, "opens": opens}
    return time_ticks(flows, **asked, jitter=now.jitter, seed=now.seed, failed=now.failed)


def time_rounds(
    topology: Topology,
    rounds: Flow,
    *,
    size: Fraction,
    alpha: Fraction,
    bandwidth: Fraction,
    links: LinkTable | None = None,
    overlap: bool = False,
) -> Flow:
    """Return rounds with exact earliest starts and ends.

    A link keeps the order of the steps. With ``overlap`` it is free while the latency of what it has transmitted is
    running. Where a partial sum would be sent twice by a node, sends are omitted by
    :func:`~topodesign.plans.step_ops.prune`: what arrives early could otherwise go with the wrong one. Every row is
    one send, with a latency of its own; sends of a step over one link follow one another as they come.
    """
    adding = rounds.some(rounds.step <= rounds.reduce_steps)
    rounds = prune(rounds) if find_twice(adding) >= 0 else rounds
    link = find_links(topology, rounds)
    given: dict[str, Any] = {"size": size, "alpha": alpha, "bandwidth": bandwidth, "links": links}
    times = link_times(topology, rounds.collective, rounds.units, **given)
    order = np.lexsort((np.arange(len(rounds)), link, rounds.step))
    rounds, link = rounds.some(order), link[order]
    # As ticks, steps with so much room that sends of one over one link start one after the other.
    place = rounds.step * np.int64(len(topology.src)) + link
    turn = np.arange(len(rounds)) - np.searchsorted(place, place)
    room = int(turn.max(initial=0)) + 1
    start, end = (rounds.step - 1) * np.int64(room) + turn, rounds.step * np.int64(room)
    columns = (start, end, rounds.src, rounds.dst, rounds.block, rounds.lo, rounds.hi)
    data = rounds.units, Fraction(size)
    flow = flow_in_ticks(topology, rounds.collective, data, times, columns, part=rounds.part, overlap=overlap)
    while True:  # until of several deliveries the first in the plan is the first indeed
        run = time_ticks([flow])  # in the same ticks
        if int(run.end.max(initial=0)) >= MAX_TICKS:
            raise TooLargeError("the last send ends later than 64 bits of ticks can count; use rounder numbers")
        if np.array_equal(run.end, flow.end):
            return flow
        flow = flow.having(start=run.start.astype(np.int64), end=run.end.astype(np.int64))


class _Table(NamedTuple):
    """The link uses of all flows as columns."""

    flow: IntArray  # which flow it is of; empty where there is one
    src: Column
    dst: Column
    width: Column  # units
    start: IntArray
    end: IntArray
    depth: IntArray  # uses that it goes on with; empty where none does
    alive: NDArray[np.bool_] | None  # whether it happens; None if all do
    uses: Uses
    cells: int


def time_ticks(
    flows: Sequence[Flow],
    *,
    size: Fraction | None = None,
    links: LinkTable | None = None,
    gap: Fraction | None = None,
    jitter: Fraction = Fraction(0),
    seed: int = 0,
    opens: IntArray | None = None,
    failed: tuple[tuple[int, int], ...] = (),
) -> TimedSimulation:
    """Run clock flows as early as data, links and starts allow.

    Parameters
    ----------
    flows
        Of a plan that the verifier accepts: the sends of every collective.
    size
        Other bytes of the data of all flows, of which each has the share that it has in the plan; the sends and their
        order are the same.
    links
        Other latencies and bandwidths of single links than those of the plan.
    gap
        Seconds that a link out of a node takes between two sends, latencies running on meanwhile, in place of what the
        plan says of when links are free (see :mod:`topodesign.base.latency`).
    jitter, seed
        Every send takes longer by a random time from 0 to so many seconds, which its data arrive later.
    opens
        Ticks of the plan from when on each link may be used; from the start if None.
    failed
        Links that carry nothing, of one collective.
    """
    topology, clock = flows[0].topology, flows[0].timing
    if jitter < 0 or (size is not None and size <= 0):
        raise ParameterError("a jitter must not be negative, and a size must be above zero")
    whole = sum((one.timing.size for one in flows), Fraction(0))
    loss, alive = find_loss(flows[0], failed) if failed else (None, None)
    table = _list_uses(flows, alive)
    uses, link, tick = table.uses, table.uses.link, clock.tick
    late = opens is not None or any(one.timing.begin for one in flows)  # some links or flows are not there at once
    scale = Fraction(1) if size is None else size / whole
    times, per_unit = _link_times(flows, scale, links, (jitter / GRAIN, gap or Fraction(0), *([tick] if late else [])))
    transmits = per_unit[link if len(flows) == 1 else table.flow * len(topology.src) + link] * table.width
    holds, latency = -times.latency if clock.overlap or gap is not None else np.zeros_like(times.latency), times.latency
    if gap:
        holds = holds + np.where(np.isin(topology.src, sorted(topology.switches)), 0, int(gap / times.tick))
    least = np.zeros(0, dtype=np.int64)
    if late:
        begin = np.array([one.timing.begin for one in flows], dtype=np.int64)
        least = begin[table.flow] if len(table.flow) else np.full(len(link), begin[0])
        least = least if opens is None else np.maximum(least, opens[link])
    order = order_uses(uses, table.start, table.end, table.alive, depth=table.depth)
    delay, grain = np.zeros(0, dtype=np.int64), int(jitter / GRAIN / times.tick)
    if jitter:
        delay = np.random.default_rng(seed).integers(0, GRAIN + 1, len(link))
        further = np.ones(len(order.rows), dtype=np.bool_)
        further[order.bounds[:-1] if len(order.bounds) else slice(None)] = False
        delay[order.rows[further]] = 0  # a message has one
    earliest = int(tick / times.tick)
    # An end is at most all times after one another: beyond 64 bits Python counts.
    most = float(np.sum(transmits, dtype=float)) + len(link) * (
        float(latency.max(initial=0)) + float(holds.max(initial=0))
    )
    most += float(delay.sum()) * grain + float(least.max(initial=0)) * earliest
    kind: Any = np.int64 if most < LARGEST else object
    takes, latency, holds, least = (one.astype(kind, copy=False) for one in (transmits, latency, holds, least))
    takes = takes + latency[link]
    if jitter:
        takes += delay.astype(kind) * grain
    found = run_clock(table.cells, uses, order, Spans(takes, least * earliest, latency, holds))
    last = found.end.max(initial=0)
    carried = np.bincount(link[order.rows], weights=transmits[order.rows], minlength=len(topology.src))
    path = [int(np.argmax(found.end))] if len(link) else []
    while path and found.cause[path[-1]] >= 0:
        path.append(int(found.cause[path[-1]]))
    flights = []
    for row in reversed(path):
        one = flows[table.flow[row] if len(table.flow) else 0]
        data = int(table.width[row]) * one.timing.size * scale / one.whole_units
        ends = int(found.start[row]) * times.tick, int(found.end[row]) * times.tick
        flights.append(Flight(row, int(table.src[row]), int(table.dst[row]), data, *ends))
    return TimedSimulation(
        int(last) * times.tick,
        carried / float(last or 1),
        loss,
        max(int(one.end.max(initial=0)) * tick for one in flows),
        times.tick,
        found.start,
        found.end,
        tuple(flights),
    )


def _list_uses(flows: Sequence[Flow], alive: NDArray[np.bool_] | None) -> _Table:
    """Return the link uses of flows whose sends happen."""
    parts, base, cells = [], 0, 0
    for number, flow in enumerate(flows):
        part = _uses_of(flow, alive)
        bad = np.flatnonzero(part.uses.link < 0)
        if len(bad):
            ends = f"{part.src[bad[0]]}->{part.dst[bad[0]]}"
            raise ScheduleError(f"{flow!r} has sends over no link of {flow.topology!r}, such as {ends}")
        if len(flows) > 1:  # uses and cells of flows are numbered one after the other
            uses = part.uses
            passed = uses.passed if len(uses.passed) else np.full(len(part.src), -1, dtype=np.int32)
            moved = ((passed, base), (uses.sent, cells), (uses.received, cells))
            passed, sent, received = (np.where(one < 0, one, one + np.int32(more)) for one, more in moved)
            uses = uses._replace(passed=passed, sent=sent, received=received)
            depth = part.depth if len(part.depth) else np.zeros(len(part.src), dtype=np.int64)
            part = part._replace(flow=np.full(len(part.src), number), uses=uses, depth=depth)
        parts.append(part)
        base, cells = base + len(part.src), cells + part.cells
    if len(parts) == 1:
        return parts[0]
    uses = Uses(*map(np.concatenate, zip(*(part.uses for part in parts), strict=True)))
    columns = map(np.concatenate, zip(*(part[:7] for part in parts), strict=True))
    return _Table(*columns, None, uses, cells)  # type: ignore[call-arg, arg-type]


def _uses_of(flow: Flow, alive: NDArray[np.bool_] | None) -> _Table:
    """Return the uses of links of one flow."""
    cells = find_cells(flow)
    send, link = flow.find_links()
    width = (flow.hi - flow.lo)[flow.piece]
    routes = flow.routes
    wire, nothing, none = link.astype(np.int32), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    if routes is None or routes.start is None or routes.end is None:
        uses = Uses(wire, none, cells.sent, cells.received, cells.count, cells.takes)
        start, end = flow.start.astype(np.int64, copy=False), flow.end.astype(np.int64, copy=False)
        return _Table(nothing, flow.src, flow.dst, width, start, end, nothing, alive, uses, cells.number)
    _, src, dst = flow.hops()
    use = flow.uses
    number = int(use.max(initial=-1)) + 1
    hops = np.diff(routes.hop_start) - 1
    last = np.cumsum(hops) - 1
    first = last - hops + 1

    def spread(
        at: IntArray, values: NDArray[Any], fill: int = 0, kind: type[np.integer[Any]] = np.int64
    ) -> NDArray[Any]:
        """Return a column of uses with some values."""
        column = np.full(number, fill, dtype=kind)
        column[at] = values
        return column

    inner = np.ones(len(link), dtype=np.bool_)
    inner[first] = False
    depth = np.arange(len(link)) - np.repeat(first, hops)
    of = routes.send
    uses = Uses(
        spread(use, link, kind=np.int32),
        spread(use[inner], use[np.flatnonzero(inner) - 1], -1, np.int32),
        spread(use[first], cells.sent[of], -1, np.int32),
        spread(use[last], cells.received[of], -1, np.int32),
        spread(use, cells.count[send], kind=np.int32),
        spread(use, cells.takes[send], kind=np.int8),
    )
    goes = None
    if alive is not None:
        goes = np.zeros(number, dtype=np.bool_)
        goes[use[alive[send]]] = True
    values = (src, dst, width[send], routes.start, routes.end, depth)
    columns = [spread(use, one) for one in values]
    return _Table(nothing, *columns, goes, uses, cells.number)  # type: ignore[call-arg, arg-type]


def _link_times(
    flows: Sequence[Flow], scale: Fraction, links: LinkTable | None, grains: Sequence[Fraction]
) -> tuple[LinkTimes, IntArray]:
    """Return latencies and unit times of links, by condition.

    Grains are multiples of their tick, too.
    """
    topology, clock = flows[0].topology, flows[0].timing
    table = LinkTable({}, {}) if links is None else links.on(topology)
    own = {pair: int(topology.link_index(*pair)) for pair in {*table.alpha, *table.bandwidth}}
    values, at = np.unique(clock.latency, return_inverse=True)
    latency, of_latency = [value * clock.tick for value in values.tolist()], at
    for pair, value in table.alpha.items():
        of_latency[own[pair]] = len(latency)
        latency.append(value)
    unit, of_unit = list[Fraction](), list[IntArray]()
    for flow in flows:
        values, at = np.unique(flow.timing.per_unit, return_inverse=True)
        at = at + len(unit)
        unit += [value * clock.tick * scale for value in values.tolist()]
        bits = 8 * flow.timing.size * scale / flow.whole_units
        for pair, rate in table.bandwidth.items():
            at[own[pair]] = len(unit)
            unit.append(bits / rate)
        of_unit.append(at)
    per_unit = np.concatenate(of_unit)
    used, of_latency = np.unique(of_latency, return_inverse=True)
    latency = [latency[one] for one in used.tolist()]
    used, per_unit = np.unique(per_unit, return_inverse=True)
    units = max(flow.units for flow in flows)
    found = common_ticks(latency, [unit[one] for one in used.tolist()], units, tuple(grains))
    return found._replace(latency=found.latency[of_latency]), found.per_unit[per_unit]


def _claim(plan: Plan) -> dict[str, Fraction]:
    each = {f"time_{number}": one.time for number, one in enumerate(plan.flows)} if plan.collective.several else {}
    return {"time": max(one.time for one in plan.flows), **each}


def _list_busy(plan: Plan, *_: Fraction) -> tuple[list[Busy], str]:
    """Return when links are busy with the sends of each collective."""
    streams = [one.over_links() for one in plan.flows]
    check_busy(sum(map(len, streams)), "sends")
    busy = []
    for number, one in enumerate(streams):
        name = f"{number}: {one.collective}" if plan.collective.several else "send"
        link = plan.topology.link_index(one.src, one.dst).tolist()
        start, end = ([int(tick) * one.timing.tick for tick in column] for column in (one.start, one.end))
        busy.append(Busy(name, start, end, link, [f"block {block}" for block in one.of_sends(one.block).tolist()]))
    return busy, "every bar is a send with its latency"


def _list_moments(plan: Plan) -> Moments:
    """Return the sends between one event and the next."""
    flow = plan.flow.over_links()
    instants = np.unique(np.concatenate((flow.start, flow.end)))
    times = [format_time(tick * flow.timing.tick) for tick in instants.tolist()]
    spans = tuple(f"{start} to {end}" for start, end in pairwise(times))
    return Moments(flow, instants, spans, f"From one event to the next; {count_noun(len(flow), 'send')} in all.")


CLOCK = TimingModel(_claim, run_ticks, _list_busy, _list_moments)
"""Timed sends, of one collective or several at the same time."""
