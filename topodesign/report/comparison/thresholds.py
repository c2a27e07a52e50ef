"""At which value of a latency another contender is the fastest: a ranking that turns on a parameter says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from topodesign.base.claims import turning_words
from topodesign.base.declared import Declared
from topodesign.base.units import format_time
from topodesign.pricing.workload import Workload
from topodesign.report.comparison.contender import Contender

Parameter = Literal["gap", "hop"]
_LARGEST = Fraction(1, 10**4)  # seconds up to which other values are looked at
_HALVINGS = 20  # how often the span that a value lies in is halved: to a tenth of a nanosecond


@dataclass(frozen=True, slots=True)
class Threshold(Declared):
    """A value of a latency that decides who is the fastest.

    * ``now``, ``then``: who is the fastest as it is, and on the other side.
    """

    parameter: Parameter  # which latency
    value: Fraction  # seconds, to a tenth of a nanosecond
    above: bool  # whether the other one is the fastest above it, or below
    now: str
    then: str

    KEYS = "parameter value_s=float(value) side fastest=now then"
    SHARED = "turn"

    @property
    def side(self) -> Literal["above", "below"]:
        """On which side of it the other one is the fastest."""
        return "above" if self.above else "below"

    def __str__(self) -> str:
        """Return it in a sentence."""
        return turning_words(f"{self.side} --{self.parameter} {format_time(self.value)}", self.then, self.now)


def thresholds(parameter: Parameter, contenders: Sequence[Contender], work: Workload) -> list[Threshold]:
    """Return values of a latency below and above its own, if there are any, with another contender the fastest."""

    def fastest(value: Fraction) -> str:
        latency = replace(work.latency, **{parameter: value})
        return min(contenders, key=lambda one: one.timing.time(latency, work.sizes[0], one.workload.bandwidth)).name

    own: Fraction = getattr(work, parameter)
    now = fastest(own)
    found = []
    for far in (Fraction(0), _LARGEST):
        then = fastest(far)
        if then == now:
            continue
        same, changed = own, far
        for _ in range(_HALVINGS):
            middle = (same + changed) / 2
            if (other := fastest(middle)) == now:
                same = middle
            else:
                changed, then = middle, other
        found.append(Threshold(parameter, changed, far > own, now, then))
    return found
