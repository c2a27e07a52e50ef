"""The verifier of several collectives at the same time: each is replayed alone, and then the links that they share.

What one stream delivers is of no use to another, so that causality and what everybody must have in the end are matters
of each stream alone: :mod:`topodesign.plans.replay.timed` looks at these. What streams owe one another is that none is
before its beginning, and that no two have one link at the same time, whichever stream they are of.
"""

from __future__ import annotations

import numpy as np

from topodesign.base.units import format_size, format_time
from topodesign.plans.plan import Plan
from topodesign.plans.replay.found import SHOWN, Found, listed, wasteful
from topodesign.plans.replay.timed import TimedReport, too_quick, verify_timed
from topodesign.plans.together import Together
from topodesign.topology.topology import Topology


def verify_together(topology: Topology, plan: Together) -> tuple[tuple[TimedReport, ...], tuple[str, ...]]:
    """Return what is found in each stream alone, and what is wrong, that of streams with their numbers."""
    reports = tuple(verify_timed(topology, one) for one in plan.streams)
    problems = [f"stream {number}: {problem}" for number, one in enumerate(reports) for problem in one.problems]
    for number, (one, begin) in enumerate(zip(plan.streams, plan.begins, strict=True)):
        early = int(np.count_nonzero(one.start < begin))
        if early:
            problems.append(f"stream {number}: {early} of its sends start before it begins, at tick {begin}")
    return reports, (*problems, *_shared(topology, plan))


def replayed_together(plan: Plan, moved: Together) -> Found:
    """Replay the streams of a plan."""
    reports, problems = verify_together(plan.topology, moved)
    pairs = list(zip(moved.streams, moved.begins, reports, strict=True))
    details = [
        {"collective": one.collective.name, "size_bytes": str(one.size), "begin": str(begin * one.tick)}
        | {"time": str(found.time), "redundant": found.redundant, "refilled": found.refilled}
        for one, begin, found in pairs
    ]
    each = ", ".join(
        f"{one.collective} of {format_size(one.size)} by {format_time(found.time)}" for one, _, found in pairs
    )
    return Found(
        problems or tuple(problem for one in moved.streams for problem in too_quick(plan, one)),
        {"time": moved.time} | {f"time_{number}": one.time for number, one in enumerate(reports)},
        {"time": str(moved.time), "streams": details},
        f"{len(moved)} sends in {format_time(moved.time)}: {each}",
        wasteful(sum(one.redundant for one in reports), sum(one.refilled for one in reports)),
    )


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
    return listed(found, len(twice), "such pairs")
