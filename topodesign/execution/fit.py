"""Latency and bandwidth from times: the least squares of the model, in exact numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.declared import Declared
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_bandwidth, format_time


@dataclass(frozen=True)
class Fit(Declared):
    """The latency and the bandwidth with which the model comes closest to times that were measured.

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
        """Return what other commands take it as."""
        return f"--alpha {format_time(self.alpha)} --bandwidth {format_bandwidth(_four_digits(self.bandwidth))}"

    def __str__(self) -> str:
        """Return both values, and how well they fit."""
        return (
            f"alpha {format_time(self.alpha)}, bandwidth {format_bandwidth(_four_digits(self.bandwidth))} per node; "
            f"the model is off by {self.mean_square:.1%} (root mean square), by {self.largest:+.1%} at most"
        )


def fitted_model(steps: Fraction, y: Fraction, times: Sequence[tuple[int, Fraction]]) -> Fit:
    """Return the latency and bandwidth that fit best; exact, so that nothing has to be certified."""
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
