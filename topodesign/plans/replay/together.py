"""The verifier of several collectives at the same time: each is replayed alone, and then the links that they share.

What one stream delivers is of no use to another, so that causality and what everybody must have in the end are matters
of each stream alone: :mod:`topodesign.plans.replay.timed` looks at these. What streams owe one another is that none is
before its beginning, and that no two have one link at the same time, whichever stream they are of.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.units import format_time
from topodesign.plans.replay.rounds import wasteful
from topodesign.plans.replay.timed import SHOWN, TimedReport, verify_timed
from topodesign.plans.together import Together
from topodesign.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class TogetherReport:
    """What the verifier found.

    Attributes
    ----------
    streams
        What it found in each stream alone.
    problems
        What is wrong, readable, that of streams with their numbers.
    time
        Seconds until the last data of all have arrived.
    """

    streams: tuple[TimedReport, ...]
    problems: tuple[str, ...]
    time: Fraction

    @property
    def ok(self) -> bool:
        """Whether the plan is right."""
        return not self.problems

    @property
    def notes(self) -> tuple[str, ...]:
        """What is right but wasteful."""
        return wasteful(sum(one.redundant for one in self.streams), sum(one.refilled for one in self.streams))

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        lines = [f"{len(self.streams)} streams: {'ok' if self.ok else 'WRONG'}, {format_time(self.time)}"]
        return "\n".join(lines + [f"  {problem}" for problem in self.problems])


def verify_together(topology: Topology, plan: Together) -> TogetherReport:
    """Check every stream, when it begins, and that links are shared as links can be.

    Raises
    ------
    ScheduleError, TooLargeError
        As :func:`~topodesign.plans.replay.timed.verify_timed`.
    """
    reports = tuple(verify_timed(topology, one) for one in plan.streams)
    problems = [f"stream {number}: {problem}" for number, one in enumerate(reports) for problem in one.problems]
    for number, (one, begin) in enumerate(zip(plan.streams, plan.begins, strict=True)):
        early = int(np.count_nonzero(one.start < begin))
        if early:
            problems.append(f"stream {number}: {early} of its sends start before it begins, at tick {begin}")
    return TogetherReport(reports, (*problems, *_shared(topology, plan)), plan.time)


def _shared(topology: Topology, plan: Together) -> list[str]:
    """Return which sends of two streams have one link at the same time."""
    src, dst = (np.concatenate([getattr(one, name) for one in plan.streams]) for name in ("src", "dst"))
    link = topology.link_index(src, dst)
    busy, at = np.empty(len(link), dtype=np.int64), 0
    for one in plan.streams:
        busy[at : at + len(one)] = one.busy_until(link[at : at + len(one)])
        at += len(one)
    start = np.concatenate([one.start for one in plan.streams])
    rows = np.flatnonzero(link >= 0)
    rows = rows[np.lexsort((start[rows], link[rows]))]
    # A conflict that a third send hides is one of that with either: neighbours are enough to find whether there is one.
    before, after = rows[:-1], rows[1:]
    twice = np.flatnonzero(
        (link[before] == link[after]) & (start[after] < busy[before]) & (plan.stream[before] != plan.stream[after])
    )
    found = [
        f"streams {plan.stream[before[at]]} and {plan.stream[after[at]]} both have the link "
        f"{src[after[at]]}->{dst[after[at]]} at tick {start[after[at]]}"
        for at in twice[:SHOWN].tolist()
    ]
    return found + ([f"... and {len(twice) - SHOWN} more such pairs"] if len(twice) > SHOWN else [])
