"""What messages take: alpha for one message of a port, a gap for each more, a hop for each switch."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from topodesign.base.latency import ALPHA, GAP, HOP, USUAL, Latency

times = st.fractions(0, 1)


@given(times, times, times, st.integers(1, 9), st.integers(0, 9))
def test_a_step_is_the_sum_of_its_parts(
    alpha: Fraction, gap: Fraction, hop: Fraction, starts: int, switches: int
) -> None:
    found = Latency(alpha, gap, hop)
    assert found.of_step(1, 0) == alpha
    assert found.of_step(starts + 1, switches) - found.of_step(starts, switches) == gap
    assert found.of_step(starts, switches + 1) - found.of_step(starts, switches) == hop
    assert found.of_step(0, switches) == found.of_step(1, switches)
    assert list(found.record().values()) == [float(one) for one in (alpha, gap, hop)]


def test_what_is_for_all_that_says_nothing_else() -> None:
    assert Latency(ALPHA, GAP, HOP) == USUAL
    assert Latency(None).record()["alpha_s"] is None
