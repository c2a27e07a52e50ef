"""The simulator: how long a schedule takes in the alpha-beta model, what it waits for, and what failed links do to it.

All that a link carries in a step is one message. It takes ``alpha + bits / bandwidth`` of its link. Two modes:

lock-step
    A step starts when every message of the step before has arrived, and every step takes at least alpha. This is how
    the papers count, and with equal links it is exactly :meth:`topodesign.base.cost.Cost.runtime`.
asynchronous
    A message starts when its link is free of the messages of earlier steps and its data is there: in a gather what the
    first delivery (by step) of each unit brought to the sender, in a reduction every contribution that an earlier step
    brings to the sender's partial sums. It never ends later than in lock-step.

Times are exact. They are integers over a common denominator where these fit into 64 bits, else fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import distinct
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError, ScheduleError, TooLargeError
from topodesign.base.latency import USUAL
from topodesign.base.units import format_size, format_time
from topodesign.plans.plan import Plan
from topodesign.plans.replay.rounds import FEW_NODES, fewest_sends, find_links
from topodesign.plans.rounds import Rounds
from topodesign.plans.timing.conditions import SHOWN, USE_KEYS, Conditions, Link, Loss, Run, links_of
from topodesign.plans.timing.options import MODES, Mode
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

_MOST_TICKS = 2**62


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
    """When a schedule ends and why then: in lock-step when the last step does."""

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
        """Return the time, the use of links and the critical messages, with these names of nodes."""
        lines = [f"{self.mode}: {format_time(self.time)}", *self.use()]
        lines.append("slowest of each step:" if self.mode == "lock-step" else "critical path:")
        lines += [f"  {message.describe(name)}" for message in self.critical[:SHOWN]]
        if len(self.critical) > SHOWN:
            lines.append(f"  ... and {len(self.critical) - SHOWN} more")
        return "\n".join(lines + ([self.loss.describe(name)] if self.loss else []))


@dataclass(frozen=True, eq=False)
class _Messages:
    """Messages sorted by step, then link; ``of_row`` is the message of each row of the schedule."""

    step: NDArray[np.int64]
    link: NDArray[np.int64]
    units: NDArray[np.int64]
    of_row: NDArray[np.int32]

    def steps(self) -> list[tuple[int, int, int]]:
        """Return the steps with their messages, as (step, first, last + 1)."""
        if not len(self.step):
            return []
        begin = np.flatnonzero(np.concatenate(([True], self.step[1:] != self.step[:-1]))).tolist()
        return list(zip(self.step[begin].tolist(), begin, [*begin[1:], len(self.step)], strict=True))


@dataclass(frozen=True, eq=False)
class _Pace:
    """How fast links are: for link l of kind k = kind[l], a message takes ``alpha[k] + units * unit[k]`` seconds."""

    kind: NDArray[np.int64]
    alpha: list[Fraction]
    unit: list[Fraction]

    def durations(self, messages: _Messages) -> tuple[NDArray[Any], int]:
        """Return how long messages take: int64 ticks and the ticks per second, or Fractions of seconds and 1."""
        kind = self.kind[messages.link]
        rate = 1
        for value in (*self.alpha, *self.unit):
            rate = math.lcm(rate, value.denominator)
            if rate >= _MOST_TICKS:
                break
        most = max(self.alpha) + max(self.unit) * int(messages.units.max(initial=0))
        if rate * most * (len(messages.steps()) + 1) < _MOST_TICKS and rate < _MOST_TICKS:
            alpha = np.array([int(a * rate) for a in self.alpha], dtype=np.int64)
            unit = np.array([int(u * rate) for u in self.unit], dtype=np.int64)
            return alpha[kind] + unit[kind] * messages.units, rate
        exact = np.empty(len(kind), dtype=object)
        exact[:] = [
            self.alpha[k] + units * self.unit[k]
            for k, units in zip(kind.tolist(), messages.units.tolist(), strict=True)
        ]
        return exact, 1


def run_rounds(
    plan: Plan, rounds: Rounds, now: Conditions, orbits: NDArray[np.int64] | None = None
) -> SimulationResult:
    """Time what a plan is in rounds; with ``orbits`` those of links that stand for others (see simulate_rounds)."""
    if now.chunks is not None:
        raise ParameterError("chunks are of trees and paths; rounds have none")
    table = links_of(plan, now) or LinkTable({}, {})
    own = 8 * plan.fabric.unit * max(1, plan.topology.degree)
    return simulate_rounds(
        plan.topology,
        rounds,
        alpha=(now.latency or USUAL).alpha or Fraction(0),
        size=now.size,
        bandwidth=own if now.bandwidth is None else now.bandwidth,
        mode=now.mode,
        link_alpha=table.alpha,
        link_bandwidth=table.bandwidth,
        failed_links=now.failed,
        orbits=orbits,
    )


def simulate_rounds(
    topology: Topology,
    schedule: Rounds,
    *,
    alpha: Fraction,
    size: Fraction,
    bandwidth: Fraction,
    mode: Mode = "lock-step",
    link_alpha: Mapping[Link, Fraction] | None = None,
    link_bandwidth: Mapping[Link, Fraction] | None = None,
    failed_links: Iterable[Link] = (),
    orbits: NDArray[np.int64] | None = None,
) -> SimulationResult:
    """Time a schedule.

    Latency of a message in seconds, bytes of the whole data M of which each of N nodes owns M/N, and the egress
    bandwidth B of a node in bits per second; a link has B/d for every unit of its capacity, or what ``link_alpha``
    and ``link_bandwidth`` say, of all parallel links together. With ``orbits``, for every link the first that carries
    the same, the schedule has rows for those alone.

    Efficient Direct-Connect Topologies, section 2.1 (the alpha-beta model and the definition of T_B).
    """
    if mode not in MODES:
        raise ParameterError(f"unknown mode {mode!r}; use {' or '.join(MODES)}")
    if alpha < 0 or size <= 0 or bandwidth <= 0:
        raise ParameterError("alpha must not be negative, size and bandwidth must be above zero")
    link = find_links(topology, schedule)
    _check(topology, schedule, link, whole=orbits is None)
    members = schedule.collective.members(topology.nodes, topology.switches)
    unit_bits = 8 * Fraction(size) / (schedule.collective.shards(len(members)) * schedule.units)
    pace = _pace(
        topology,
        alpha=Fraction(alpha),
        bandwidth=Fraction(bandwidth),
        unit_bits=unit_bits,
        link_alpha=link_alpha or {},
        link_bandwidth=link_bandwidth or {},
    )
    failed = sorted({pair: _index(topology, pair) for pair in failed_links}.items())
    loss = None
    if failed:
        down = np.isin(link, [index for _, index in failed])
        loss, happens = _lose(topology, schedule, tuple(pair for pair, _ in failed), down)
        schedule, link = schedule.rows(happens), link[happens]
    messages = _group(schedule, link)
    duration, rate = pace.durations(messages)
    if mode == "lock-step":
        start, path = _lock_step(messages, duration)
        spare = Fraction(alpha)
    else:
        start, path = _asynchronous(topology, schedule, messages, duration)
        spare = Fraction(0)
    end = start + duration
    ends = {
        step: _seconds(end[a:b].max(), rate) + spare * (step - count)
        for count, (step, a, b) in enumerate(messages.steps(), 1)
    }
    idle = {step: spare * (step - count) for count, step in enumerate(ends, 1)}
    time = max(ends.values(), default=Fraction(0)) + spare * (schedule.steps - max(ends, default=0))
    link_units = np.zeros(len(topology.src), dtype=np.int64)
    np.add.at(link_units, messages.link, messages.units)
    if orbits is not None:
        link_units = link_units[orbits]
    busy = link_units * np.array([float(pace.unit[k]) for k in pace.kind.tolist()])
    critical = tuple(
        Message(
            step=int(messages.step[m]),
            src=int(topology.src[messages.link[m]]),
            dst=int(topology.dst[messages.link[m]]),
            size=int(messages.units[m]) * unit_bits / 8,
            start=_seconds(start[m], rate) + idle[int(messages.step[m])],
            end=_seconds(end[m], rate) + idle[int(messages.step[m])],
        )
        for m in path
    )
    return SimulationResult(time, busy / float(time or 1), loss, mode, ends, link_units, critical)


def _seconds(ticks: Any, rate: int) -> Fraction:
    return Fraction(ticks if isinstance(ticks, Fraction) else int(ticks)) / rate


def _check(topology: Topology, schedule: Rounds, link: NDArray[np.int64], *, whole: bool) -> None:
    """Raise unless every row has a link and the schedule is of a size that can be simulated."""
    if np.any(link < 0):
        row = int(np.flatnonzero(link < 0)[0])
        raise ScheduleError(f"row {row} sends over {schedule.src[row]}->{schedule.dst[row]}, which is no link")
    members = schedule.collective.members(topology.nodes, topology.switches)
    share, _ = schedule.collective.shares(schedule.block, schedule.nodes, len(members))
    if schedule.units * int(share.max(initial=1)) * max(1, len(schedule)) >= 2**63:
        raise TooLargeError(f"{schedule.units} units per shard are too many for {len(schedule)} sends; use fewer units")
    if (
        whole
        and schedule.nodes > FEW_NODES
        and len(schedule) < fewest_sends(schedule.collective, members, schedule.nodes)
    ):
        raise ScheduleError(f"{len(schedule)} sends are far too few for a collective on {schedule.nodes} nodes")


def _index(topology: Topology, pair: Link) -> int:
    """Return the index of a link."""
    u, v = pair
    if 0 <= u < topology.nodes and u != v:
        found = np.flatnonzero(topology.neighbours(u) == v)
        if len(found):
            return int(topology.indptr[u] + found[0])
    raise ParameterError(f"the topology has no link {u}->{v}")


def _pace(
    topology: Topology,
    *,
    alpha: Fraction,
    bandwidth: Fraction,
    unit_bits: Fraction,
    link_alpha: Mapping[Link, Fraction],
    link_bandwidth: Mapping[Link, Fraction],
) -> _Pace:
    """Return how fast links are: by capacity, and one kind more for every link that has values of its own."""
    capacities, kind = np.unique(topology.capacity, return_inverse=True)
    rates = [bandwidth / max(1, topology.degree) * c for c in capacities.tolist()] or [bandwidth]
    alphas = [alpha] * len(rates)
    for pair in sorted({*link_alpha, *link_bandwidth}):
        index = _index(topology, pair)
        own = Fraction(link_alpha.get(pair, alpha)), Fraction(link_bandwidth.get(pair, rates[kind[index]]))
        if own[0] < 0 or own[1] <= 0:
            raise ParameterError(f"link {pair[0]}->{pair[1]} needs an alpha from 0 and a bandwidth above 0")
        kind[index] = len(rates)
        alphas.append(own[0])
        rates.append(own[1])
    return _Pace(kind, alphas, [unit_bits / rate for rate in rates])


def _group(schedule: Rounds, link: NDArray[np.int64]) -> _Messages:
    """Put together what a link carries in a step; units count as parts of the smallest blocks."""
    links = int(link.max(initial=0)) + 1
    key, of_row = np.unique(schedule.step.astype(np.int64) * links + link, return_inverse=True)
    units = np.zeros(len(key), dtype=np.int64)
    share, _ = schedule.collective.shares(schedule.block, schedule.nodes, 0)
    np.add.at(units, of_row, (schedule.hi - schedule.lo) * share)
    return _Messages(key // links, key % links, units, of_row.astype(np.int32))


def _lock_step(messages: _Messages, duration: NDArray[Any]) -> tuple[NDArray[Any], list[int]]:
    """Return the starts (idle steps left out) and the slowest message of every step."""
    start = np.zeros_like(duration)
    path: list[int] = []
    now = duration.dtype.type(0) if duration.dtype != object else Fraction(0)
    for _, a, b in messages.steps():
        start[a:b] = now
        path.append(a + int(np.argmax(duration[a:b])))
        now += duration[path[-1]]
    return start, path


def _asynchronous(
    topology: Topology, schedule: Rounds, messages: _Messages, duration: NDArray[Any]
) -> tuple[NDArray[Any], list[int]]:
    """Return the starts, and a chain of messages without a gap that ends last."""
    if not len(duration):
        return duration, []
    from topodesign.plans.replay import replay  # noqa: PLC0415  loads the compiler

    blocks = replay.blocks_of(schedule.collective, schedule.nodes, topology.switches)
    order, rows = replay.sort_rows(schedule, blocks)
    keys = distinct(replay.dependencies(rows, blocks, messages.of_row[order]))
    consumer, producer = keys >> 32, keys & (2**32 - 1)
    bounds = np.searchsorted(consumer, np.arange(len(duration) + 1))
    start = np.zeros_like(duration)
    end = np.zeros_like(duration)
    before = np.full(len(duration), -1, dtype=np.int64)
    latest = np.full(int(messages.link.max()) + 1, -1, dtype=np.int64)
    for _, a, b in messages.steps():
        before[a:b] = latest[messages.link[a:b]]
        latest[messages.link[a:b]] = np.arange(a, b)
        ready = np.where(before[a:b] >= 0, end[before[a:b]], 0)
        these = slice(bounds[a], bounds[b])
        np.maximum.at(ready, consumer[these] - a, end[producer[these]])
        start[a:b] = ready
        end[a:b] = ready + duration[a:b]
    path = [int(np.argmax(end))]
    while start[path[-1]] > 0:
        message = path[-1]
        awaited = [int(before[message]), *producer[bounds[message] : bounds[message + 1]].tolist()]
        path.append(next(m for m in awaited if m >= 0 and end[m] == start[message]))
    return start, path[::-1]


def _lose(
    topology: Topology, schedule: Rounds, failed: tuple[Link, ...], down: NDArray[np.bool_]
) -> tuple[Loss, NDArray[np.bool_]]:
    """Return what cannot happen without some rows, and for every row whether it happens."""
    from topodesign.plans.replay import replay  # noqa: PLC0415  loads the compiler

    blocks = replay.blocks_of(schedule.collective, schedule.nodes, topology.switches)
    order, rows = replay.sort_rows(schedule, blocks)
    alive = ~down[order]
    lost = replay.table_of(blocks, np.bool_)
    replay.survive(rows, blocks, alive, lost)
    happens = np.empty(len(order), dtype=np.bool_)
    happens[order] = alive
    pairs = replay.pairs_in(lost, blocks)
    pairs[:, 0] = blocks.number[pairs[:, 0]]
    return Loss(failed, np.flatnonzero(~happens), pairs, not schedule.collective.copies), happens
