"""Stages: flows in chunks that follow one another.

A stage is trees of groups. In a *reduce-scatter* each member of a group gets its part of what the group has, added up;
in a *one-shot* all members send all they have and each adds up what it gets; in an *allgather* parts come together
again. So a box adds up inside, sends one sum to every other box, and spreads what comes of it: what one root for each
part of the data, as trees of one collective have, cannot say.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER
from topodesign.plans.flow import Flow

Part = tuple[Fraction, Fraction]
"""From where to where of the whole data, as shares of it."""


def list_parts(stages: Sequence[Flow]) -> tuple[dict[int, Part], ...]:
    """Return the data of every node before each stage, and after the last.

    Members of a group that has different parts before a reduce-scatter or one-shot, or parts that do not follow one
    another before an allgather, raise ScheduleError.
    """
    now: dict[int, Part] = dict.fromkeys(stages[0].members.tolist(), (Fraction(0), Fraction(1)))
    found = [now]
    for number, stage in enumerate(stages):
        after, one = dict(now), stage.collective
        groups = [part.group or tuple(now) for part in one.single]
        if len(set(map(len, groups))) > 1:
            raise ScheduleError(f"stage {number}: groups differ in size")
        for group in groups:
            some = [now[node] for node in group]
            lo, hi = some[0][0], some[-1][1]
            if one.like(ALLGATHER):
                right = all(a[1] == b[0] for a, b in pairwise(some))
                right &= len({b - a for a, b in some}) == 1
            else:
                right = len(set(some)) == 1
            if not right:
                raise ScheduleError(f"stage {number}: nodes of a group have parts of the data that do not fit")
            share = (hi - lo) / len(group)
            for at, node in enumerate(group):
                cut = lo + at * share, lo + (at + 1) * share
                after[node] = cut if one.like(REDUCE_SCATTER) else (lo, hi)
        now = after
        found.append(now)
    return tuple(found)


def list_shares(stages: Sequence[Flow]) -> list[Fraction]:
    """Return each stage's share of the data in a group, where it is larger."""
    parts = list_parts(stages)
    pairs = [next(iter(parts[at + one.collective.like(ALLGATHER)].values())) for at, one in enumerate(stages)]
    return [hi - lo for lo, hi in pairs]
