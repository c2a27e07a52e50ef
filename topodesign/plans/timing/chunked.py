"""What simulators of pipelined data share: trees and paths whose data follow one another in C chunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.base.latency import Latency
from topodesign.base.units import format_bandwidth, format_rate, format_size, format_time
from topodesign.plans.timing.rounds import Loss


class Chunked(Protocol):
    """What a simulator of chunks has found out; see :class:`~topodesign.plans.timing.trees.TreeSimulation`."""

    @property
    def time(self) -> Fraction:
        """Seconds until the last chunk has arrived."""

    @property
    def chunks(self) -> int:
        """Chunks that data was cut into."""

    @property
    def optimum(self) -> Fraction:
        """Seconds by bandwidth alone."""

    @property
    def size(self) -> Fraction:
        """Bytes of the whole data."""

    @property
    def utilisation(self) -> NDArray[np.float64]:
        """Share of the time in which each link transmits bits."""

    @property
    def loss(self) -> Loss | None:
        """What failed links prevent."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What the time of data is made of that follow one another in chunks.

    Attributes
    ----------
    height
        Sends from node to node on the longest way.
    starts
        Messages that the busiest port starts in a step.
    switches
        Switches that data pass at most from one node to the next.
    busy
        Seconds by bandwidth alone.
    """

    height: int
    starts: int
    switches: int
    busy: Fraction

    def end(self, latency: Latency, chunks: int) -> Fraction:
        """Return when the last of so many chunks has arrived."""
        return (self.height + chunks - 1) * (latency.of_step(self.starts, self.switches) + self.busy / chunks)

    def record(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "height": self.height,
            "starts": self.starts,
            "switches": self.switches,
            "bandwidth_time_s": float(self.busy),
        }


def check_chunks(latency: Latency, size: Fraction, unit: Fraction, chunks: int | None, what: str) -> None:
    """Check the numbers that chunks are timed with.

    Raises
    ------
    ParameterError
        If one is out of range; ``what`` says whose chunks they are.
    """
    if min(latency.alpha or 0, latency.gap, latency.hop) < 0 or size <= 0 or unit <= 0:
        raise ParameterError("alpha must not be negative, nor gap and hop, size and bandwidth must be above zero")
    if chunks is not None and chunks < 1:
        raise ParameterError(f"{what} has at least 1 chunk, not {chunks}")


def best_chunks(pipelines: Sequence[Pipeline], latency: Latency, smallest: Fraction) -> int:
    """Return the number of chunks, at least a byte each, with which phases one after the other end first.

    A phase of height h that takes B by bandwidth alone, and L for a step beside, ends after hL + B - L plus
    C L + (h - 1) B / C, so that the best C is near the root of the sums of (h - 1) B over those of L.

    Parameters
    ----------
    pipelines
        One for each phase.
    latency
        What a step takes beside its bytes.
    smallest
        Bytes of the least data that are cut.
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
    """Chains of sends that chunks go over, those that may be the last to end.

    Attributes
    ----------
    sends, latency, slowest
        Sends on each, seconds of latency of all of its links, and of its slowest send.
    """

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


def chunked_record(run: Chunked) -> dict[str, Any]:
    """Return what there is to say beside the time, as JSON holds it; rates as if all data arrived."""
    lost = run.loss is not None and len(run.loss.pairs)
    return {
        "bandwidth_time_s": float(run.optimum),
        "algorithmic_bandwidth_GBps": None if lost else float(run.size / run.time / 10**9),
        "chunks": run.chunks,
        "utilisation_mean": float(run.utilisation.mean()),
        "utilisation_max": float(run.utilisation.max()),
        "utilisation_min": float(run.utilisation.min()),
    }


def in_chunks(run: Chunked) -> str:
    """Return the number of chunks in words."""
    return "1 chunk" if run.chunks == 1 else f"{run.chunks} chunks"


def described(run: Chunked, how: str, ways: Iterable[Iterable[int]], name: Callable[[int], str]) -> str:
    """Return times, use of links, the longest ways, and what is lost.

    Parameters
    ----------
    run
        What was simulated.
    how
        How the data goes, as ``over paths in 3 chunks``.
    ways
        Vertices on the longest ways.
    name
        What vertices are called.
    """
    head = f"{format_size(run.size)} {how}: {format_time(run.time)}"
    lines = [f"{head}, by bandwidth alone {format_time(run.optimum)}"]
    if run.time:
        rate = format_bandwidth(8 * run.size / run.time)
        lines.append(f"algorithmic bandwidth {rate} ({format_rate(run.size / run.time)})")
    if len(run.utilisation):
        mean, least, most = (f(run.utilisation) for f in (np.mean, np.min, np.max))
        lines.append(f"links transmit {mean:.1%} of the time on average, {least:.1%} to {most:.1%}")
    lines += [f"longest way: {' -> '.join(map(name, way))}" for way in ways]
    return "\n".join(lines + ([run.loss.describe(name)] if run.loss else []))
