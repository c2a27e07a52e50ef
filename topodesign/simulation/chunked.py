"""What simulators of pipelined data share: trees and paths whose data follow one another in C chunks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.base.units import format_bandwidth, format_size, format_time
from topodesign.simulation.rounds import Loss


class Chunked(Protocol):
    """What a simulator of chunks has found out; see :class:`~topodesign.simulation.trees.TreeSimulation`."""

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


def check_chunks(alpha: Fraction, size: Fraction, unit: Fraction, chunks: int | None, what: str) -> None:
    """Check the numbers that chunks are timed with.

    Raises
    ------
    ParameterError
        If one is out of range; ``what`` says whose chunks they are.
    """
    if alpha < 0 or size <= 0 or unit <= 0:
        raise ParameterError("alpha must not be negative, size and bandwidth must be above zero")
    if chunks is not None and chunks < 1:
        raise ParameterError(f"{what} has at least 1 chunk, not {chunks}")


def best_chunks(waiting: Fraction, alpha: Fraction, smallest: Fraction) -> int:
    """Return the number of chunks C, at least a byte each, for which C * alpha + waiting / C is smallest.

    Parameters
    ----------
    waiting
        The sum of (h - 1) B over phases of height h that take B by bandwidth alone.
    alpha
        Latency of a chunk, in all phases together.
    smallest
        Bytes of the least data that are cut.
    """
    if waiting <= 0:
        return 1
    most = max(1, int(smallest))
    near = most if alpha == 0 else math.isqrt(int(waiting / alpha))
    candidates = {max(1, min(most, near + more)) for more in (0, 1)}
    return min(sorted(candidates), key=lambda c: c * alpha + waiting / c)


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
        lines.append(f"algorithmic bandwidth {rate} ({float(run.size / run.time) / 1e9:.6g} GB/s)")
    if len(run.utilisation):
        mean, least, most = (f(run.utilisation) for f in (np.mean, np.min, np.max))
        lines.append(f"links transmit {mean:.1%} of the time on average, {least:.1%} to {most:.1%}")
    lines += [f"longest way: {' -> '.join(map(name, way))}" for way in ways]
    return "\n".join(lines + ([run.loss.describe(name)] if run.loss else []))
