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
from topodesign.plans.time.conditions import USE_KEYS, Conditions, Run
from topodesign.plans.time.losses import Link, Loss


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


class Chains(NamedTuple):
    """Chains of sends that chunks go over, those that may be the last to end."""

    # sends, latency, slowest: sends on each, seconds of latency of all of its links, and of its slowest send
    sends: tuple[int, ...]
    latency: tuple[Fraction, ...]
    slowest: tuple[Fraction, ...]

    @classmethod
    def of(cls, chains: Iterable[tuple[int, Fraction, Fraction]]) -> Chains:
        """Keep the chains that none exceeds in all three."""
        every = sorted(set(chains), reverse=True)
        kept: list[tuple[int, Fraction, Fraction]] = []
        for one in every:
            if not any(one[1] <= other[1] and one[2] <= other[2] for other in kept):
                kept.append(one)
        sends, latency, slowest = zip(*kept, strict=True) if kept else ((), (), ())
        return cls(sends, latency, slowest)

    def then(self, other: Chains) -> Chains:
        """Return every chain of this followed by every one of the other."""
        return Chains.of(
            (a + b, x + y, max(s, t)) for a, x, s in zip(*self, strict=True) for b, y, t in zip(*other, strict=True)
        )

    def end(self, busy: Fraction, chunks: int) -> Fraction:
        """Return when the last chunk has arrived; every send takes its latency and ``busy / chunks`` for each.

        The first chunk goes over all sends of a chain one after the other, and each further one ends as much later as
        the slowest send takes.
        """
        each = busy / chunks
        chains = zip(*self, strict=True)
        return max((h * each + x + (chunks - 1) * (s + each) for h, x, s in chains), default=Fraction(0))


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
        busy = [(those, one.busy) for those, one in zip(chains, pipelines, strict=True)]
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
    if now.mode != "lock-step" or now.links is not None:
        raise ParameterError(f"{plan.kind} are pipelines over alike links; leave the mode and single links out")
    fabric, latency = plan.fabric, now.latency or USUAL
    unit = 8 * fabric.unit
    if now.bandwidth is not None:
        unit = now.bandwidth / max(1, int(fabric.topology.out_ports[list(fabric.compute)].max()))
    return {
        "latency": latency,
        "size": now.size,
        "unit": unit,
        "chunks": now.chunks,
        "failed_links": now.failed,
        "of_links": fabric.link_latencies() if latency.alpha is None else None,
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
    of_links: Sequence[Fraction] | None = None,
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
    pipeline = Pipeline(height, *_sends(paths, goes), busy)
    sending = paths.loads_of(goes) / topology.capacity * float(8 * block / paths.block_units / Fraction(unit))
    phase = Phase((), pipeline, block * int(paths.weight.min(initial=1)) / paths.block_units, sending)
    kinds = {} if of_links is None else _chains_of_paths(paths, goes, of_links, (pipeline.starts - 1) * latency.gap)
    chains = None if of_links is None else [Chains.of(kinds)]
    done = in_phases("over paths in", [phase], chains, latency, chunks, size=Fraction(size), loss=loss)
    if not height:
        return replace(done, time=Fraction(0), phase_ends=None, critical=(), utilisation=sending)
    ends = {Chains.of([kind]).end(busy, done.chunks): path for kind, path in kinds.items()}
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
    paths: Paths, goes: NDArray[np.bool_], latency: Sequence[Fraction], wait: Fraction
) -> dict[tuple[int, Fraction, Fraction], int]:
    """Return the sends, the latency and that of the slowest send of paths that carry data, with a path of each kind.

    Every send waits so long until the last message of the busiest port has started.
    """
    path, tail, head = paths.steps
    common = math.lcm(wait.denominator, *(one.denominator for one in latency))
    ticks = np.array([int(one * common) for one in latency], dtype=object)[paths.topology.link_index(tail, head)]
    begins = np.flatnonzero(~np.isin(tail, sorted(paths.topology.switches)))  # a send is from node to node
    sends = np.add.reduceat(ticks, begins) + int(wait * common) if len(begins) else ticks
    found: dict[tuple[int, int, int], int] = {}
    first = np.flatnonzero(np.diff(path[begins], prepend=-1)).tolist()
    for number, a, b in zip(path[begins][first].tolist(), first, [*first[1:], len(begins)], strict=True):
        if goes[number]:
            found.setdefault((b - a, sum(sends[a:b]), max(sends[a:b])), number)
    return {(h, Fraction(x, common), Fraction(s, common)): number for (h, x, s), number in found.items()}


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
