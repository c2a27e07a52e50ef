"""Data that follow one another in C chunks: what simulators of trees and paths share, and that of paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared, key
from topodesign.base.errors import ParameterError
from topodesign.base.latency import USUAL, Latency
from topodesign.base.units import format_bandwidth, format_rate, format_size, format_time
from topodesign.base.wording import counted
from topodesign.plans.measure import path_time
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.time.conditions import USE_KEYS, Conditions, Run, links_of
from topodesign.plans.time.losses import Link, Loss
from topodesign.topology.topology import IntArray


@dataclass(frozen=True, slots=True)
class Pipeline(Declared):
    """What the time of data is made of that follow one another in chunks."""

    SHARED = "pipeline"
    KEYS = (
        key("height", "Sends from node to node on the longest way."),
        key("starts", "Messages that the busiest port starts in a step."),
        key("switches", "Switches that data pass at most from node to node."),
        key("bandwidth_time_s=float(busy)", "Seconds by bandwidth alone."),
    )

    height: int  # sends from node to node on the longest way
    starts: int  # messages that the busiest port starts in a step
    switches: int  # switches that data pass at most from one node to the next
    busy: Fraction  # seconds by bandwidth alone

    def end(self, latency: Latency, chunks: int) -> Fraction:
        """Return when the last of so many chunks has arrived."""
        return (self.height + chunks - 1) * (latency.of_step(self.starts, self.switches) + self.busy / chunks)


def best_chunks(pipelines: Sequence[Pipeline], latency: Latency, smallest: Fraction) -> int:
    """Return the number of chunks, at least a byte each, with which phases one after the other end first.

    A phase of height h that takes B by bandwidth alone, and L for a step beside, ends after hL + B - L plus
    C L + (h - 1) B / C, so that the best C is near the root of the sums of (h - 1) B over those of L.
    """
    waiting = sum(((one.height - 1) * one.busy for one in pipelines), Fraction(0))
    alpha = sum((latency.of_step(one.starts, one.switches) for one in pipelines), Fraction(0))
    if waiting <= 0:
        return 1
    most = max(1, int(smallest))
    near = most if alpha == 0 else math.isqrt(int(waiting / alpha))
    candidates = {max(1, min(most, near + more)) for more in (0, 1)}
    return min(sorted(candidates), key=lambda c: c * alpha + waiting / c)


Chain = tuple[Fraction, Fraction, Fraction, Fraction]
"""A chain of sends that chunks go over: its sends, each as often as its slowest link is slower than planned; the
seconds of latency of all its links; and latency and slowness of the send that chunks wait for."""


class Chains(NamedTuple):
    """Chains of sends that chunks go over, those that may be the last to end."""

    each: tuple[Chain, ...]

    @classmethod
    def of(cls, chains: Iterable[Chain]) -> Chains:
        """Keep the chains that none exceeds in all four."""
        kept: list[Chain] = []
        for one in sorted(set(chains), reverse=True):
            if not any(all(a <= b for a, b in zip(one[1:], other[1:], strict=True)) for other in kept):
                kept.append(one)
        return cls(tuple(kept))

    @classmethod
    def along(cls, sends: Fraction, latency: Fraction, slow: Iterable[tuple[Fraction, Fraction]]) -> list[Chain]:
        """Return a chain once for each send, of these latencies and slownesses, that chunks may wait for."""
        return [(sends, latency, *one) for one in slow]

    def then(self, other: Chains) -> Chains:
        """Return every chain of this followed by every one of the other."""
        pairs = [(one, two) for one in self.each for two in other.each]
        return Chains.of((one[0] + two[0], one[1] + two[1], *slow[2:]) for one, two in pairs for slow in (one, two))

    def end(self, busy: Fraction, chunks: int) -> Fraction:
        """Return when the last chunk has arrived; every send takes its latency and ``busy / chunks`` for each.

        The first chunk goes over all sends of a chain one after the other, and each further one ends as much later as
        the slowest send takes.
        """
        part = busy / chunks
        ends = (sends * part + x + (chunks - 1) * (late + slow * part) for sends, x, late, slow in self.each)
        return max(ends, default=Fraction(0))


@dataclass(frozen=True)
class OwnLinks:
    """Links with values of their own."""

    latency: tuple[Fraction, ...]  # seconds of every link of the topology
    slowness: tuple[Fraction, ...]  # of every link how often slower it is than its capacity says

    @classmethod
    def late(cls, latency: Sequence[Fraction]) -> OwnLinks:
        """Return links with latencies of their own that are as fast as their capacities say."""
        return cls(tuple(latency), (Fraction(1),) * len(latency))

    def of_routes(self, route: IntArray, link: IntArray, count: int) -> tuple[list[Fraction], list[Fraction]]:
        """Return the latency of all links of routes, and how slow the slowest is; ``route`` ascends, of each link."""
        late, slow = [Fraction(0)] * count, [Fraction(0)] * count
        for at, one in zip(route.tolist(), link.tolist(), strict=True):
            late[at] += self.latency[one]
            slow[at] = max(slow[at], self.slowness[one])
        return late, slow


def fewest_end(chains: Sequence[tuple[Chains, Fraction]], smallest: Fraction) -> int:
    """Return the number of chunks, at least a byte each, with which phases one after the other end first.

    Their end is a maximum of sums of a multiple of C, a multiple of 1 / C and a number, so that it falls and then
    rises: the first C after which it does not fall is best.
    """

    def end(count: int) -> Fraction:
        return sum((those.end(busy, count) for those, busy in chains), Fraction(0))

    low, high = 1, max(1, int(smallest))
    while low < high:
        middle = (low + high) // 2
        if end(middle + 1) < end(middle):
            low = middle + 1
        else:
            high = middle
    return low


@dataclass(frozen=True, eq=False)
class Phase:
    """Data that flow at the same time: a longest way, what their time is made of, and how they use links."""

    way: tuple[int, ...]  # vertices in the order of the data
    pipeline: Pipeline  # what the time is made of
    smallest: Fraction  # bytes of the least data that are cut into chunks
    sending: NDArray[np.float64]  # seconds in which each link transmits (float64, in the topology's order; rounded)
    planned: Fraction  # seconds by bandwidth alone over links that are as fast as their capacities say


@dataclass(frozen=True, eq=False)
class PipelineSimulation(Run):
    """When trees or paths end whose data follow one another in chunks."""

    how: str  # how the data go, as ``over paths in``
    # the same as ``time`` for every phase of trees: of an allreduce the reduce-scatter and the allgather, unless they
    # are concurrent. None of paths
    phase_ends: tuple[Fraction, ...] | None
    chunks: int  # chunks that the data of every tree or path was cut into
    optimum: Fraction  # seconds by bandwidth alone, without latency and with endless chunks
    phases: tuple[Pipeline, ...]  # what the time of every phase is made of
    smallest: Fraction  # bytes of the least data that are cut into chunks
    size: Fraction  # bytes of the whole collective
    # vertices on a longest way, in the order of the data, for every phase: of trees compute nodes, and switches that
    # add or copy; of paths all, of one that ends last
    critical: tuple[tuple[int, ...], ...]

    KEYS = (
        key("bandwidth_time_s=float(optimum)", "Seconds without latency."),
        key("algorithmic_bandwidth_GBps", "10^9 bytes per second; null where something is lost."),
        key("chunks", "Chunks that follow one another."),
        *USE_KEYS,
        key("phase_ends_s?=float(phase_ends)", "When reduction and spreading end."),
        key("phases", "What the time is made of, one after the other."),
    )

    @property
    def algorithmic_bandwidth_GBps(self) -> float | None:  # noqa: N802  as JSON calls it
        """Rate as if all data arrived."""
        lost = self.loss is not None and len(self.loss.pairs)
        return None if lost else float(self.size / self.time / 10**9)

    def describe(self, name: Callable[[int], str]) -> str:
        """Return times, use of links, the longest ways, and what is lost, with these names of vertices."""
        head = f"{format_size(self.size)} {self.how} {counted(self.chunks, 'chunk')}: {format_time(self.time)}"
        lines = [f"{head}, by bandwidth alone {format_time(self.optimum)}"]
        if self.time:
            rate = format_bandwidth(8 * self.size / self.time)
            lines.append(f"algorithmic bandwidth {rate} ({format_rate(self.size / self.time)})")
        lines += self.use()
        lines += [f"longest way: {' -> '.join(map(name, way))}" for way in self.critical if way]
        return "\n".join(lines + ([self.loss.describe(name)] if self.loss else []))


def in_phases(
    how: str,
    phases: Sequence[Phase],
    chains: Sequence[Chains] | None,
    latency: Latency,
    chunks: int | None,
    *,
    size: Fraction,
    loss: Loss | None,
) -> PipelineSimulation:
    """Return the time of phases one after the other, with these chains where links have latencies of their own.

    Where chunks are None it takes as many as are fastest.
    """
    pipelines = tuple(phase.pipeline for phase in phases)
    smallest = min((phase.smallest for phase in phases), default=Fraction(1))
    if chains is None:
        chunks = best_chunks(pipelines, latency, smallest) if chunks is None else chunks
        ends = [one.end(latency, chunks) for one in pipelines]
    else:
        busy = [(those, one.planned) for those, one in zip(chains, phases, strict=True)]
        chunks = fewest_end(busy, smallest) if chunks is None else chunks
        ends = [those.end(each, chunks) for those, each in busy]
    time = sum(ends, Fraction(0))
    return PipelineSimulation(
        time,
        sum((phase.sending for phase in phases), np.zeros(1)) / float(time or 1),
        loss,
        how,
        tuple(accumulate(ends)),
        chunks,
        sum((one.busy for one in pipelines), Fraction(0)),
        pipelines,
        smallest,
        size,
        tuple(phase.way for phase in phases),
    )


def conditions_of_pipelines(plan: Plan, now: Conditions) -> dict[str, Any]:
    """Return what simulators of pipelines take."""
    if now.mode != "lock-step":
        raise ParameterError(f"{plan.kind} are pipelines; omit the mode")
    fabric, latency, table = plan.fabric, now.latency or USUAL, links_of(plan, now)
    unit, own = 8 * fabric.unit, None
    if now.bandwidth is not None:
        unit = now.bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    if table is not None:
        switches = fabric.topology.switches
        late, slow = [], []
        for u, v, capacity in fabric.topology.links():
            usual = latency.hop if u in switches else latency.alpha or Fraction(0)
            late.append(table.alpha.get((u, v), usual))
            slow.append(capacity * unit / table.bandwidth.get((u, v), capacity * unit))
        own = OwnLinks(tuple(late), tuple(slow))
    return {
        "latency": latency,
        "size": now.size,
        "unit": unit,
        "chunks": now.chunks,
        "failed_links": now.failed,
        "own": own,
    }


def check_chunks(latency: Latency, size: Fraction, unit: Fraction, chunks: int | None, what: str) -> None:
    """Raise ParameterError if a number is out of range; ``what`` says whose chunks they are."""
    if min(latency.alpha or 0, latency.gap, latency.hop) < 0 or size <= 0 or unit <= 0:
        raise ParameterError("alpha must not be negative, nor gap and hop, size and bandwidth must be above zero")
    if chunks is not None and chunks < 1:
        raise ParameterError(f"{what} has at least 1 chunk, not {chunks}")


def run_paths(plan: Plan, paths: Paths, now: Conditions) -> PipelineSimulation:
    """Time the paths of a plan."""
    return simulate_paths(paths, **conditions_of_pipelines(plan, now), inverse_rate=path_time(plan.fabric, paths))


def simulate_paths(
    paths: Paths,
    *,
    latency: Latency,
    size: Fraction,
    unit: Fraction,
    chunks: int | None = None,
    failed_links: Iterable[Link] = (),
    own: OwnLinks | None = None,
    inverse_rate: Fraction | None = None,
) -> PipelineSimulation:
    """Time paths.

    As :func:`~topodesign.plans.time.trees.simulate_trees`; ``size`` are the data of a node, its own block
    included, and ``inverse_rate`` is that of the paths where not only links limit it.
    """
    check_chunks(latency, size, unit, chunks, "what a path carries")
    goes, loss = _lose(paths, tuple(sorted(set(failed_links))))
    topology = paths.topology
    block = Fraction(size) / paths.collective.shards(len(paths.collective.members(topology.nodes, topology.switches)))
    busy = 8 * block * (paths.inverse_rate if inverse_rate is None else inverse_rate) / Fraction(unit)
    heights = paths.heights * goes
    height = int(heights.max(initial=0))
    starts, passed = _sends(paths, goes)
    sending = paths.loads_of(goes) / topology.capacity * float(8 * block / paths.block_units / Fraction(unit))
    kinds: dict[tuple[Chain, ...], int] = {}
    slowest = Fraction(1)
    if own is not None:
        kinds, slowest = _chains_of_paths(paths, goes, own, (starts - 1) * latency.gap)
        sending = sending * np.array([float(one) for one in own.slowness])
    pipeline = Pipeline(height, starts, passed, busy * slowest)
    phase = Phase((), pipeline, block * int(paths.weight.min(initial=1)) / paths.block_units, sending, busy)
    chains = None if own is None else [Chains.of(chain for kind in kinds for chain in kind)]
    done = in_phases("over paths in", [phase], chains, latency, chunks, size=Fraction(size), loss=loss)
    if not height:
        return replace(done, time=Fraction(0), phase_ends=None, critical=(), utilisation=sending)
    ends = {Chains.of(kind).end(busy, done.chunks): path for kind, path in kinds.items()}
    longest = ends.get(done.time, int(heights.argmax()))
    way = paths.hop[paths.hop_start[longest] : paths.hop_start[longest + 1]].tolist()
    return replace(done, phase_ends=None, critical=(tuple(way),))


def _sends(paths: Paths, goes: NDArray[np.bool_]) -> tuple[int, int]:
    """Return how many messages the busiest port starts, one to each node that it sends to, and most switches of one."""
    path, tail, head = paths.steps
    begins = np.flatnonzero(~np.isin(tail, sorted(paths.topology.switches)))
    passed = np.diff(begins, append=len(tail)) - 1
    stop = head[begins + passed]
    own = goes[path[begins]]
    nodes = paths.topology.nodes
    port = tail[begins][own].astype(np.int64) * nodes + head[begins][own]
    ports = np.unique(port * nodes + stop[own]) // nodes
    return int(np.unique(ports, return_counts=True)[1].max(initial=1)), int(passed[own].max(initial=0))


def _chains_of_paths(
    paths: Paths, goes: NDArray[np.bool_], own: OwnLinks, wait: Fraction
) -> tuple[dict[tuple[Chain, ...], int], Fraction]:
    """Return the chains of paths that carry data, with a path of each kind, and how slow the slowest link of all is.

    Every send waits so long until the last message of the busiest port has started.
    """
    path, tail, head = paths.steps
    begins = ~np.isin(tail, sorted(paths.topology.switches))  # a send is from node to node
    send = np.cumsum(begins) - 1
    late, slow = own.of_routes(send, paths.topology.link_index(tail, head), int(begins.sum()))
    found: dict[tuple[Chain, ...], int] = {}
    of = path[begins]
    first = np.flatnonzero(np.diff(of, prepend=-1)).tolist()
    known: dict[tuple[tuple[Fraction, Fraction], ...], tuple[Chain, ...]] = {}
    slowest = Fraction(0)
    for number, a, b in zip(of[first].tolist(), first, [*first, len(of)][1:], strict=True):
        if goes[number]:
            sends = tuple(zip(late[a:b], slow[a:b], strict=True))
            if sends not in known:
                waits = [(one + wait, factor) for one, factor in sends]
                total = sum((one for one, _ in waits), Fraction(0)), sum((factor for _, factor in waits), Fraction(0))
                known[sends] = Chains.of(Chains.along(total[1], total[0], waits)).each
                slowest = max([slowest, *(factor for _, factor in waits)])
            found.setdefault(known[sends], number)
    return found, slowest or Fraction(1)


def _lose(paths: Paths, failed: tuple[Link, ...]) -> tuple[NDArray[np.bool_], Loss | None]:
    """Return which paths still carry data, and who never has whose block."""
    goes = np.ones(len(paths), dtype=np.bool_)
    if not failed:
        return goes, None
    path, tail, head = paths.steps
    for u, v in failed:
        if not np.any((paths.topology.src == u) & (paths.topology.dst == v)):
            raise ParameterError(f"the topology has no link {u}->{v}")
        goes[path[(tail == u) & (head == v)]] = False
    goal = paths.hop[paths.hop_start[1:] - 1]
    pairs = sorted(set(zip(paths.block[~goes].tolist(), goal[~goes].tolist(), strict=True)))
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return goes, Loss(failed, np.flatnonzero(~goes), table, reduces_only=False)
