"""What no collective over circuits that change beats: steps and y for every number of topologies, and the time.

Words of hops. With P topologies one after the other, what a node sends over h hops takes a word of h ports whose
phases never go back. There are at most C(P+h-1, h) * d^h of these, so no more nodes are h hops away, and an all-to-all
has y >= the sum over the nearest N-1 of h, over N. Over duplex circuits going back at once, in the same phase, leads
where the block was: in a phase the first hop has d ports, each further one d-1.

Steps. In the s steps of a phase what a node has reaches at most f(s) = 1 + d + ... + d^s times as many nodes (duplex:
1 + d + d(d-1) + ...), so the product of all f(s) is at least N.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb

from topodesign.collectives import Collective

_SEARCHED = {
    (6, 1, 2): Fraction(9, 6),
    (6, 2, 1): Fraction(25, 18),
    (7, 2, 1): Fraction(11, 7),
}
"""By nodes, ports and topologies the y of an all-to-all that no two permutations of the nodes beat: all were searched,
those with fewest hops by a flow (tests do it again). Words of hops say less there; with 6 nodes and two topologies 8/6.
"""


@dataclass(frozen=True, slots=True)
class Least:
    """What a collective takes at least with so many topologies."""

    topologies: int
    steps: int
    factor: Fraction  # y


def words(topologies: int, hops: int, degree: int, *, duplex: bool) -> int:
    """Return how many words of so many hops there are at most that do not go back at once."""
    if not duplex:
        return comb(topologies + hops - 1, hops) * int(degree**hops)
    return sum(
        comb(topologies, used) * comb(hops - 1, used - 1) * degree**used * (degree - 1) ** (hops - used)
        for used in range(1, min(topologies, hops) + 1)
    )


@cache
def least_hops(nodes: int, degree: int, topologies: int, *, duplex: bool) -> tuple[int, int] | None:
    """Return the least sum of hops to all others, and the hops to the farthest; None if they cannot all be reached."""
    left, hops, total = nodes - 1, 0, 0
    while left:
        hops += 1
        more = min(left, words(topologies, hops, degree, duplex=duplex))
        if not more:
            return None
        total, left = total + hops * more, left - more
    return total, hops


@cache
def least_steps(nodes: int, degree: int, topologies: int, *, duplex: bool) -> int | None:
    """Return the fewest steps after which so many topologies can have reached all; None if never."""

    def growth(steps: int) -> int:
        onward = degree - 1 if duplex else degree
        return 1 + degree * sum(int(onward**i) for i in range(steps))

    best = [1, *[0] * nodes]  # nodes reached in so many steps, over the phases so far
    for _ in range(topologies):
        best = [max(best[s - t] * growth(t) for t in range(s + 1)) for s in range(nodes + 1)]
    return next((steps for steps, reached in enumerate(best) if reached >= nodes), None)


@cache
def least(nodes: int, degree: int, topologies: int, collective: Collective, *, duplex: bool) -> Least | None:
    """Return what a collective takes at least with so many topologies; None if it cannot be done."""
    hops = least_hops(nodes, degree, topologies, duplex=duplex)
    steps = least_steps(nodes, degree, topologies, duplex=duplex)
    if hops is None or steps is None:
        return None
    factor = Fraction(hops[0] if collective.pairwise else nodes - 1, nodes)
    if duplex and nodes * degree % 2:  # a port is left over in every phase
        factor *= Fraction(nodes * degree, nodes * degree - 1)
    if collective.pairwise:
        searched = _SEARCHED.get((nodes, degree, topologies), Fraction(0))
        return Least(topologies, max(steps, hops[1], topologies), max(searched, factor))
    return Least(topologies, max(steps, topologies), factor)


@dataclass(frozen=True, slots=True)
class Work:
    """What a collective is timed for, all exact."""

    alpha: Fraction  # seconds of a step
    second: Fraction  # M/B: seconds in which a node sends as much as its whole data over all ports
    delay: Fraction  # seconds of a change

    def time(self, steps: int, factor: Fraction, changes: int) -> Fraction:
        """Return the seconds of a plan whose ports are all dark at changes."""
        return steps * self.alpha + factor * self.second + changes * self.delay


def all_least(nodes: int, degree: int, collective: Collective, work: Work, *, duplex: bool) -> list[Fraction | None]:
    """Return the least time with 1, 2, ... topologies, until more cannot help; None where it cannot be done.

    An allreduce is a reduce-scatter and an allgather, which take the same backwards in time, and share the topology in
    the middle: with P in each half 2P - 1, whose least is that of halves with P.
    """
    halves = len(collective.parts)
    found: list[Fraction | None] = []
    for topologies in range(1, max(1, -(-(nodes - 1) // degree)) + 1):
        one = least(nodes, degree, topologies, collective, duplex=duplex)
        time = None if one is None else halves * work.time(one.steps, one.factor, topologies - 1)
        found.append(time)
    return found


def bound(
    nodes: int, degree: int, collective: Collective, work: Work, *, duplex: bool, moving: bool
) -> tuple[Fraction, int | None]:
    """Return the time that no plan beats, and with how many topologies it might be met.

    Where only ports that move are dark, changes may take place while others send: one topology takes what it
    takes, and any other plan at least a change and a step, and what steps and data take with as many as one likes.
    """
    times = all_least(nodes, degree, collective, work, duplex=duplex)
    known = [(time, number) for number, time in enumerate(times, 1) if time is not None]
    if not moving:
        return min(known)
    halves = len(collective.parts)
    many = [
        (one.steps, one.factor)
        for number in range(1, len(times) + 1)
        if (one := least(nodes, degree, number, collective, duplex=duplex)) is not None
    ]
    free = halves * (min(s for s, _ in many) * work.alpha + min(y for _, y in many) * work.second)
    changed = max(free, work.delay + work.alpha)
    alone = times[0]
    return (changed, None) if alone is None or changed < alone else (alone, 1)
