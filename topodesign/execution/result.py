"""Result of a plan's run: sizes, times, rates and correctness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError
from topodesign.base.records import Table, TextResult
from topodesign.base.units import format_bandwidth, format_rate, format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.collectives import ALLREDUCE, BROADCAST, REDUCE, Collective
from topodesign.execution.workspace import TYPES, Outcome


@dataclass(frozen=True)
class Fit(Declared):
    """Latency and bandwidth that fit the model to measured times.

    The model is ``steps * alpha + y * M / B``. What is smallest is the sum of the squares of ``model / measured - 1``,
    among all latencies and bandwidths that are not negative.
    """

    alpha: Fraction  # latency of a step, in seconds
    bandwidth: Fraction  # bandwidth of all links of a node together, in bits per second
    steps: Fraction  # how often the model takes the latency
    y: Fraction  # how often it takes all data over the bandwidth
    residuals: tuple[Fraction, ...]  # ``model / measured - 1`` for every size
    command: str = ""  # what looks for topologies with them

    KEYS = (
        "alpha_s=float(alpha) bandwidth_bps=float(bandwidth) steps bandwidth=y residual_rms=mean_square "
        "residual_largest=largest command"
    )

    @property
    def mean_square(self) -> float:
        """Root mean square of model over measured, less 1."""
        return math.sqrt(sum(one * one for one in self.residuals) / len(self.residuals))

    @property
    def largest(self) -> float:
        """The one that is farthest from zero."""
        return float(max(self.residuals, key=abs))

    def options(self) -> str:
        """Return the fit as options of other commands."""
        return f"--alpha {format_time(self.alpha)} --bandwidth {format_bandwidth(_four_digits(self.bandwidth))}"

    def __str__(self) -> str:
        return (
            f"alpha {format_time(self.alpha)}, bandwidth {format_bandwidth(_four_digits(self.bandwidth))} per node; "
            f"the model is off by {self.mean_square:.1%} (root mean square), by {self.largest:+.1%} at most"
        )


def fit_model(steps: Fraction, y: Fraction, times: Sequence[tuple[int, Fraction]]) -> Fit:
    """Return the exact best fit of latency and bandwidth."""
    # With u = steps / t and v = 8 y M / t: least squares of alpha u + beta v = 1, beta seconds per bit.
    rows = [(steps / seconds, 8 * y * size / seconds) for size, seconds in times]
    uu, uv, vv = (sum((row[i] * row[j] for row in rows), Fraction(0)) for i, j in ((0, 0), (0, 1), (1, 1)))
    u, v = (sum((row[i] for row in rows), Fraction(0)) for i in (0, 1))
    candidates = [(Fraction(0), v / vv), (u / uu, Fraction(0))]
    determinant = uu * vv - uv * uv
    if determinant:
        candidates.append(((u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant))

    def error(one: tuple[Fraction, Fraction]) -> Fraction:
        return sum(((one[0] * a + one[1] * b - 1) ** 2 for a, b in rows), Fraction(0))

    # The error is convex: if its least is outside, the least inside is on an edge, which the others are.
    alpha, beta = min((one for one in candidates if min(one) >= 0), key=error)
    if not beta:
        raise InfeasibleError("times do not grow with sizes, so that no bandwidth fits; measure larger ones")
    residuals = tuple(alpha * a + beta * b - 1 for a, b in rows)
    return Fit(alpha, 1 / beta, steps, y, residuals)


def _four_digits(value: Fraction) -> Fraction:
    """Return a number rounded to four digits."""
    return Fraction(f"{float(value):.4g}")


Transport = Literal["threads", "mpi", "torch"]
TRANSPORTS: tuple[Transport, ...] = ("threads", "mpi", "torch")


@dataclass(frozen=True)
class Measured(Declared):
    """Times, rates and errors for one data size."""

    outcome: Outcome
    size: int
    factor: Fraction | None  # bus bandwidth over algorithm bandwidth

    KEYS = (
        key("time_s=float(outcome.median)", "Seconds of an iteration until the last rank was done, the median."),
        key("least_s=float(outcome.least)", "The least."),
        key("most_s=float(outcome.most)", "The most."),
        key(
            "algorithm_bandwidth_GBps",
            "All data over the time, in 10^9 bytes per second.",
            kind=float,
            value=lambda one: float(one.rate) / 10**9,
        ),
        key(
            "bus_bandwidth_GBps",
            "That times the factor; null of several collectives at the same time.",
            kind="float | None",
            value=lambda one: None if one.bus is None else float(one.bus) / 10**9,
        ),
        key("wrong_elements=outcome.wrong", "Elements that were not what they must be, of all ranks and iterations."),
        key("first_wrong=or_null(outcome.first)", "One of them in words; null if there are none.", kind="str | None"),
    )

    @property
    def rate(self) -> Fraction:
        """All data over the time, in bytes per second."""
        return self.size / max(self.outcome.median, Fraction(1, 10**9))

    @property
    def bus(self) -> Fraction | None:
        """That times the factor."""
        return None if self.factor is None else self.rate * self.factor


@dataclass(frozen=True)
class SizeRun(Declared):
    """Result for one data size."""

    asked: Fraction  # what was asked for
    size: int  # so many bytes that all blocks are equal, in whole elements
    outcome: Outcome
    factor: Fraction | None  # bus bandwidth over algorithm bandwidth

    KEYS = (
        key("size_bytes=size", "Data that was moved: so much that blocks are equal."),
        "asked_bytes=float(asked) *measured",
        key("own", "The collective of MPI, or of gloo, itself with the same data; null without one."),
    )
    ROW = (
        "size_bytes=size time_s=outcome.median least_s=outcome.least most_s=outcome.most "
        "algorithm_bandwidth=measured.rate bus_bandwidth=measured.bus wrong=outcome.wrong "
        "own_time_s?=own.outcome.median own_bus_bandwidth?=own.bus"
    )

    @property
    def measured(self) -> Measured:
        """Measurements of the plan."""
        return Measured(self.outcome, self.size, self.factor)

    @property
    def own(self) -> Measured | None:
        """The same of the collective of MPI, or of gloo, itself."""
        return None if self.outcome.own is None else Measured(self.outcome.own, self.size, self.factor)


@dataclass(frozen=True, repr=False)
class RunResult(TextResult):
    """Speed and correctness of a plan."""

    title: str  # the plan in a line
    collective: str  # what is done
    kind: str  # how data move: rounds, orbitrounds, trees, orbittrees, paths, timed, together
    spec: str | None  # what names and rebuilds the place; null for links that have no spec
    ranks: int  # threads or processes, one for every node that is no switch
    rank: int  # which of them this is, 0 for all threads
    transport: Transport  # what carried the messages
    library: str  # its name and version
    dtype: str  # type of the elements
    warmup: int  # iterations that were not timed
    iterations: int  # iterations that were
    messages: int  # from rank to rank in an iteration
    bus: Fraction | None  # bus bandwidth over algorithm bandwidth, as nccl-tests define it; else null
    runs: tuple[SizeRun, ...]  # one for every size
    fit: Fit | None  # what fits the times of several sizes best; null of one, or where nothing fits
    notes: tuple[str, ...]  # what else there is to say

    KEYS = (
        "title collective kind spec ranks",
        key("transport", kind=TRANSPORTS),
        "library",
        key("dtype", kind=tuple(TYPES)),
        "warmup iterations messages bus_factor=bus right runs fit notes",
    )
    ROWS = "runs"

    @property
    def right(self) -> bool:
        """Whether every element of every result was correct."""
        return not any(one.outcome.wrong for one in self.runs)

    @property
    def times(self) -> tuple[Fraction, ...]:
        """The median time for every size, in seconds."""
        return tuple(one.outcome.median for one in self.runs)

    @property
    def model(self) -> str | None:
        """Command that searches topologies with the fit; None without one."""
        return None if self.fit is None else self.fit.command

    def heading(self) -> str:
        """Return the plan as one line."""
        return self.title

    def table(self) -> Table:
        """Return a row for every size."""
        own = any(one.own is not None for one in self.runs)
        wrong = not self.right
        whose = "MPI" if self.transport == "mpi" else "gloo"
        beside = [f"{whose} busbw", f"time/{whose}"] if own else []
        columns = ("size", "time", "min", "max", "algbw", "busbw", *beside)
        rows = []
        for one in self.runs:
            found = one.outcome
            cells = [
                format_size(one.asked),
                *(format_time(time) for time in (found.median, found.least, found.most)),
                _rate(one.measured.rate),
                _rate(one.measured.bus),
            ]
            if own and one.own is not None:
                ratio = float(found.median / max(one.own.outcome.median, Fraction(1, 10**9)))
                cells += [_rate(one.own.bus), f"{ratio:.2f}"]
            rows.append((*cells, *([f"{found.wrong} wrong"] if wrong else [])))
        return Table("", (*columns, *(["results"] if wrong else [])), tuple(rows))

    def __str__(self) -> str:
        what = {"threads": "threads of one process", "mpi": "MPI processes", "torch": "processes of torchrun"}
        who = f"{self.ranks} {what[self.transport]}"
        times = f"{count_noun(self.iterations, 'iteration')} after {self.warmup} that are not timed"
        lines = [
            self.title,
            f"{who} ({self.library}), {self.dtype}, {times}; {count_noun(self.messages, 'message')} in each",
            self.table().text(),
            "every result was checked: right" if self.right else "every result was checked: WRONG",
        ]
        lines += [] if self.fit is None else [f"fit: {self.fit}", f"  {self.fit.command}"]
        return "\n".join([*lines, *self.notes])


def _rate(rate: Fraction | None) -> str:
    return "" if rate is None else format_rate(Fraction(f"{float(rate):.4g}"))


def bus_factor(collective: Collective, members: int) -> Fraction:
    """Return the bus bandwidth over the algorithm bandwidth.

    PERFORMANCE.md of nccl-tests: 2(n-1)/n for an allreduce, 1 for a broadcast and a reduce, and (n-1)/n for the others.
    """
    if collective.like(BROADCAST, REDUCE):
        return Fraction(1)
    return Fraction((2 if collective.like(ALLREDUCE) else 1) * (members - 1), members)
