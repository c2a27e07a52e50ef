"""The fit is the least of the squares, and finds what made the times."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from topodesign.base.errors import InfeasibleError
from topodesign.base.units import parse_bandwidth, parse_time
from topodesign.execution.result import fit_model

SIZES = [2**10, 2**14, 2**18, 2**22]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 10**12), st.integers(1, 30), st.fractions(Fraction(1, 9), 4))
def test_what_made_the_times_is_found(nanoseconds: int, rate: int, steps: int, y: Fraction) -> None:
    alpha, bandwidth = Fraction(nanoseconds, 10**9), Fraction(rate)
    times = [(size, steps * alpha + y * 8 * size / bandwidth) for size in SIZES]
    fit = fit_model(Fraction(steps), y, times)
    assert (fit.alpha, fit.bandwidth) == (alpha, bandwidth)
    assert not any(fit.residuals)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 10**9), min_size=4, max_size=4), st.integers(1, 9), st.fractions(Fraction(1, 9), 4))
def test_nothing_near_is_closer(nanoseconds: list[int], steps: int, y: Fraction) -> None:
    times = [(size, Fraction(time, 10**9)) for size, time in zip(SIZES, nanoseconds, strict=True)]

    def error(alpha: Fraction, beta: Fraction) -> Fraction:
        return sum((((steps * alpha + y * 8 * size * beta) / time - 1) ** 2 for size, time in times), Fraction(0))

    try:
        fit = fit_model(Fraction(steps), y, times)
        alpha, beta = fit.alpha, 1 / fit.bandwidth
        assert error(alpha, beta) == sum(one * one for one in fit.residuals)
    except InfeasibleError:  # then none is best: the latency is that of alpha alone
        alpha = sum((steps / time for _, time in times), Fraction(0))
        alpha /= sum(((steps / time) ** 2 for _, time in times), Fraction(0))
        beta = Fraction(0)
    assert alpha >= 0
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            near, slope = alpha + a * Fraction(1, 10**9), beta * (1 + b * Fraction(1, 1000))
            slope += b * Fraction(1, 10**18) if not beta else 0
            assert min(near, slope) < 0 or error(near, slope) >= error(alpha, beta)


def test_other_commands_take_it() -> None:
    fit = fit_model(Fraction(4), Fraction(11, 6), [(2**10, Fraction(1, 10**4)), (2**20, Fraction(1, 10**2))])
    _, alpha, _, bandwidth = fit.options().split()
    assert abs(parse_time(alpha) / fit.alpha - 1) < Fraction(1, 1000)
    assert abs(parse_bandwidth(bandwidth) / fit.bandwidth - 1) < Fraction(1, 1000)
    assert "off by 0.0%" in str(fit)
