"""The simulator of timed sends: when they really end, each as soon as its data and its link are there.

The plan's times say what waits for what, no more: a send waits for the deliveries that have brought its data to the
sender when it starts in the plan, and a link keeps the order of its sends. A right plan whose sends start as early as
they can and take no longer than they must ends when it says; any other right plan ends earlier. Random delays show what
becomes of it where links are not as regular as planned.

Times are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct, ranges
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError, ScheduleError
from topodesign.base.units import format_size, format_time
from topodesign.plans.plan import Plan
from topodesign.plans.replay.timed import Cells, cells_of
from topodesign.plans.timed import MAX_TICKS, Timed, journeys
from topodesign.plans.timed_ops import LinkTimes, common_ticks
from topodesign.plans.timing.conditions import SHOWN, USE_KEYS, Conditions, Run, links_of
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

GRAIN = 1024  # A random delay is a multiple of the longest one over this

Ints = NDArray[np.int64]


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
    """When timed sends end, and why then. That a link fails is not simulated."""

    planned: Fraction  # the same as ``time`` as the plan says
    tick: Fraction  # seconds of a tick of ``start`` and ``end``
    # start, end: ticks at which every send of the plan starts, and its data have arrived
    start: tuple[int, ...]
    end: tuple[int, ...]
    # sends from time 0 to ``time``, each of which starts when the one before ends or leaves its link
    critical: tuple[Flight, ...]

    KEYS = (key("planned_s=float(planned)", "What the plan says."), *USE_KEYS)

    @property
    def sends(self) -> tuple[Sequence[int], Sequence[int], Fraction]:
        """When every send starts and ends, in ticks, and their seconds."""
        return self.start, self.end, self.tick

    def describe(self, name: Callable[[int], str]) -> str:
        """Return the same with other names of nodes."""
        lines = [f"timed sends: {format_time(self.time)}, planned {format_time(self.planned)}"]
        lines += self.use()
        lines.append("critical path:")
        lines += [f"  {flight.describe(name)}" for flight in self.critical[:SHOWN]]
        if len(self.critical) > SHOWN:
            lines.append(f"  ... and {len(self.critical) - SHOWN} more")
        return "\n".join(lines)


def run_timed(plan: Plan, streams: tuple[Timed, ...], begins: tuple[int, ...], now: Conditions) -> TimedSimulation:
    """Time the streams of a plan, each from its beginning on, in ticks."""
    if now.chunks is not None or now.mode != "lock-step":
        raise ParameterError("timed sends say when they start; leave chunks and mode out")
    if now.failed:
        raise ParameterError("what failures do to timed sends is not simulated; lower them to rounds first")
    topology, tick, opens = plan.topology, streams[0].tick, None
    if now.ready:
        if max(now.ready) >= MAX_TICKS * tick:
            raise ParameterError("a node is ready too late for the ticks of the plan")
        at = np.array([math.ceil(time / tick) for time in now.ready], dtype=np.int64)
        opens = np.maximum(at[topology.src], at[topology.dst])
    return simulate_streams(
        topology,
        streams,
        begins,
        size=now.size,
        links=_links_of_sends(plan, now),
        gap=None if now.latency is None else now.latency.gap,
        jitter=now.jitter,
        seed=now.seed,
        opens=opens,
    )


def _links_of_sends(plan: Plan, now: Conditions) -> LinkTable | None:
    """Return what is said of links, of which those out of switches take what passing these takes."""
    own, latency = links_of(plan, now), now.latency
    if latency is None or latency.alpha is None:
        return own
    switches = plan.topology.switches
    alpha = {(u, v): latency.hop if u in switches else latency.alpha for u, v, _ in plan.topology.links()}
    return LinkTable(alpha, {}) if own is None else LinkTable({**alpha, **own.alpha}, own.bandwidth)


def simulate_timed(topology: Topology, timed: Timed, **conditions: Any) -> TimedSimulation:
    """Run timed sends as early as their data and links allow; conditions as :func:`simulate_streams` takes them."""
    return simulate_streams(topology, (timed,), (0,), **conditions)


def simulate_streams(  # noqa: PLR0915  streams, links and journeys in one run
    topology: Topology,
    streams: tuple[Timed, ...],
    begins: tuple[int, ...],
    *,
    size: Fraction | None = None,
    links: LinkTable | None = None,
    gap: Fraction | None = None,
    jitter: Fraction = Fraction(0),
    seed: int = 0,
    opens: Ints | None = None,
) -> TimedSimulation:
    """Run timed sends of one or several collectives as early as their data, links and beginnings allow.

    * ``topology``, ``streams``, ``begins``: of a plan that the verifier accepts: the sends of every collective, and
      ticks until each begins.
    * ``size``: other bytes of the data of all streams, of which each has the share that it has in the plan; the sends
      and their order are the same.
    * ``links``: other latencies and bandwidths of single links than those of the plan.
    * ``gap``: seconds that a link out of a node takes between two sends, latencies running on meanwhile, in place of
      what the plan says of when links are free (see :mod:`topodesign.base.latency`).
    * ``jitter``: every send takes longer by a random time from 0 to so many seconds, which its data arrive later.
    * ``seed``: of these random times.
    * ``opens``: ticks of the plan from when on each link may be used; from the start if None.
    """
    whole = sum((one.size for one in streams), Fraction(0))
    fit = [one.fits(topology) for one in streams]
    own = [
        topology.link_index(one.src, one.dst) if fits else np.array([-1])
        for one, fits in zip(streams, fit, strict=True)
    ]
    for one, link in zip(streams, own, strict=True):
        if np.any(link < 0):
            raise ScheduleError(f"{one!r} has sends over no link of {topology!r}")
    if jitter < 0 or (size is not None and size <= 0):
        raise ParameterError("a jitter must not be negative, and a size must be above zero")
    tick = streams[0].tick
    late = opens is not None or any(begins)  # some links or streams are not there from the start
    grains = (jitter / GRAIN, gap or Fraction(0), *([tick] if late else []))
    scale = 1 if size is None else size / whole
    times = _times(topology, streams, scale, links, grains)
    link = np.concatenate(own)
    count = np.array([len(one) for one in streams])
    per_unit = np.concatenate(
        [each[at] for each, at in zip(times.per_unit.reshape(len(streams), -1), own, strict=True)]
    )
    transmits = per_unit * np.concatenate([one.hi - one.lo for one in streams])
    takes = transmits + times.latency[link]
    grouped = _messages(streams, own)
    if jitter:
        delay = np.random.default_rng(seed).integers(0, GRAIN + 1, len(link))
        delay[[row for one in grouped for row in one[1:]]] = 0  # a message has one
        takes = takes + delay * int(jitter / GRAIN / times.tick)
    opened = np.zeros(len(topology.src), dtype=np.int64) if opens is None else opens
    early = np.concatenate([np.maximum(begin, opened[at]) for begin, at in zip(begins, own, strict=True)])
    least = [ticks * int(tick / times.tick) for ticks in early.tolist()] if late else early.tolist()
    base = np.concatenate(([0], np.cumsum(count)))
    ways = [journeys(one, topology.switches) for one in streams]
    pairs = []
    for one, way, first in zip(streams, ways, base, strict=False):
        consumer, producer = waits_of(topology, way.whole(one))
        pairs.append((way.first[consumer] + first, way.last[producer] + first))
    waits = np.concatenate([one for one, _ in pairs]), np.concatenate([one for _, one in pairs])
    before = np.concatenate(
        [np.where(way.before >= 0, way.before + at, -1) for way, at in zip(ways, base, strict=False)]
    )
    begins_at, depth = np.concatenate([one.start for one in streams]), np.concatenate([way.depth for way in ways])
    grouped.sort(key=lambda rows: (begins_at[rows[0]], max(depth[row] for row in rows), rows[0]))
    latency = times.latency[link].tolist()
    overlaps = streams[0].overlap or gap is not None
    holds = np.where(np.isin(topology.src, sorted(topology.switches)), 0, int((gap or 0) / times.tick))
    holds -= times.latency if overlaps else 0
    runs = _Order(grouped, before.tolist(), link.tolist(), holds[link].tolist())
    start, end, cause = _run(runs, (takes.tolist(), latency, least), waits)
    last = max(end, default=0)
    carried = np.bincount(link, weights=transmits, minlength=len(topology.src))
    bytes_of = [
        one.size
        * scale
        / (one.collective.shards(len(one.collective.members(topology.nodes, topology.switches))) * one.units)
        for one in streams
    ]
    path = [end.index(last)] if end else []
    while path and cause[path[-1]] >= 0:
        path.append(cause[path[-1]])

    def flight(row: int) -> Flight:
        stream = int(np.searchsorted(base, row, "right")) - 1
        one, at = streams[stream], row - int(base[stream])
        bytes_sent = int(one.hi[at] - one.lo[at]) * bytes_of[stream]
        ends = start[row] * times.tick, end[row] * times.tick
        return Flight(row, int(one.src[at]), int(one.dst[at]), bytes_sent, *ends)

    return TimedSimulation(
        last * times.tick,
        carried / float(last or 1),
        None,
        max(one.time for one in streams),
        times.tick,
        tuple(start),
        tuple(end),
        tuple(map(flight, reversed(path))),
    )


def _times(
    topology: Topology,
    streams: tuple[Timed, ...],
    scale: Fraction | int,
    links: LinkTable | None,
    grains: tuple[Fraction, ...],
) -> LinkTimes:
    """Return the times of links under other conditions, of whose tick grains are multiples, too.

    Those of units come for one stream after the other.
    """
    table = LinkTable({}, {}) if links is None else links.on(topology)
    pairs = [(u, v) for u, v, _ in topology.links()]
    tick = streams[0].tick
    latency = [table.alpha.get(p, t * tick) for p, t in zip(pairs, streams[0].latency.tolist(), strict=True)]
    per_unit = []
    for one in streams:
        members = one.collective.members(topology.nodes, topology.switches)
        bits = 8 * one.size * scale / (one.collective.shards(len(members)) * one.units)
        per_unit += [
            bits / table.bandwidth[p] if p in table.bandwidth else t * tick * scale
            for p, t in zip(pairs, one.per_unit.tolist(), strict=True)
        ]
    return common_ticks(latency, per_unit, max(one.units for one in streams), grains)


def _messages(streams: tuple[Timed, ...], links: list[Ints]) -> list[list[int]]:
    """Return the sends of every message of all streams, numbered as one after the other."""
    found: list[list[int]] = []
    first = 0
    for one, link in zip(streams, links, strict=True):
        order, begin = one.messages(link)
        found += [part.tolist() for part in np.split(order + first, begin[1:])] if len(order) else []
        first += len(one)
    return found


class _Order(NamedTuple):
    """Messages in the order in which links take them, what each send goes on with, its link, how long it is held."""

    messages: list[list[int]]
    passed: list[int]
    links: list[int]
    holds: list[int]


def _run(
    runs: _Order, spans: tuple[list[int], list[int], list[int]], waits: tuple[Ints, Ints]
) -> tuple[list[int], list[int], list[int]]:
    """Return when sends start and end, and for each the one that it waited for last, -1 if for none.

    ``spans`` has what each takes, the latency of its link, and when it may start.
    """
    takes, latency, least = spans
    consumer, producer = waits
    order = np.argsort(consumer, kind="stable")
    bounds = np.searchsorted(consumer[order], np.arange(len(takes) + 1)).tolist()
    awaited = producer[order].tolist()
    start, end, cause = [0] * len(takes), [0] * len(takes), [-1] * len(takes)
    before: dict[int, int] = {}
    for rows in runs.messages:
        begin, why = max(least[row] for row in rows), -1
        if (other := before.get(runs.links[rows[0]], -1)) >= 0:
            free = end[other] + runs.holds[other]
            if free > begin:
                begin, why = free, other
        for row in rows:
            for other in awaited[bounds[row] : bounds[row + 1]]:
                if end[other] > begin:
                    begin, why = end[other], other
            if (other := runs.passed[row]) >= 0 and start[other] + latency[other] >= begin:
                begin, why = start[other] + latency[other], other  # what a switch passes on as it arrives
        finish = begin + sum(takes[row] for row in rows) - (len(rows) - 1) * latency[rows[0]]
        for row in rows:
            if (other := runs.passed[row]) >= 0:
                finish = max(finish, end[other] + latency[row])
        for row in rows:
            start[row], end[row], cause[row] = begin, finish, why
        before[runs.links[rows[0]]] = rows[0]
    return start, end, cause


def waits_of(topology: Topology, timed: Timed) -> tuple[Ints, Ints]:
    """Return which sends of a right plan wait for which others, as pairs in two arrays."""
    collective = timed.collective
    members = collective.members(topology.nodes, topology.switches)
    cells = cells_of(timed, np.arange(len(timed)), collective.blocks(members, topology.nodes))
    pairs = []
    part = timed.part[cells.row]
    for at, movement in enumerate(collective.movements):
        own = part == at
        if movement.adds:
            pairs.append(_sum_waits(timed, cells, own))
            continue
        source, _ = collective.places(movement, cells.piece_block, timed.nodes)
        pieces = len(source)
        at_source = source[cells.sent % pieces] == cells.sent // pieces
        pairs.append(_copy_waits(timed, cells, own, own & ~at_source))
        pairs.append(_handover(cells, own & at_source, ~own))
    consumer, producer = (np.concatenate(side) for side in zip(*pairs, strict=True))
    keys = distinct(consumer * len(timed) + producer)
    return keys // max(1, len(timed)), keys % max(1, len(timed))


def _sum_waits(timed: Timed, cells: Cells, own: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pair every delivery with the next send from its cell."""
    row = np.concatenate((cells.row[own], cells.row[own]))
    cell = np.concatenate((cells.received[own], cells.sent[own]))
    takes = np.repeat([False, True], int(own.sum()))
    order = np.lexsort((takes, np.where(takes, timed.start[row], timed.end[row]), cell))
    row, cell, takes = row[order], cell[order], takes[order]
    after = np.minimum.accumulate(np.where(takes, np.arange(len(row)), len(row))[::-1])[::-1]
    there = ~takes & (after < len(row))
    there[there] = cell[after[there]] == cell[there]
    return row[after[there]], row[there]


def _copy_waits(timed: Timed, cells: Cells, own: NDArray[np.bool_], sent: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pair the sends that do not start at the source with the first deliveries to their cells."""
    rows, received = cells.row[own], cells.received[own]
    order = np.lexsort((timed.end[rows], received))
    order = order[np.flatnonzero(np.diff(received[order], prepend=-1))]
    consumer, wanted = cells.row[sent], cells.sent[sent]
    at = np.minimum(np.searchsorted(received[order], wanted), max(0, len(order) - 1))
    if len(wanted) and (not len(order) or np.any(received[order][at] != wanted)):
        raise ScheduleError("a node sends what it never gets")
    return consumer, rows[order][at]


def _handover(cells: Cells, sent: NDArray[np.bool_], added: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pair the sends from a source with all deliveries to it that are added up there."""
    order = np.argsort(cells.received[added], kind="stable")
    there, rows = cells.received[added][order], cells.row[added][order]
    left, right = (np.searchsorted(there, cells.sent[sent], side) for side in ("left", "right"))
    of, at = ranges(left, right - left)
    return cells.row[sent][of], rows[at]
