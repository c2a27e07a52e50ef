"""Lower bounds of collectives over reconfigurable circuits.

Words of hops. With P topologies one after the other, what a node sends over h hops takes a word of h ports whose
phases never go back. There are at most C(P+h-1, h) * d^h of these, so no more nodes are h hops away, and an all-to-all
has y >= the sum over the nearest N-1 of h, over N. Over duplex circuits going back at once, in the same phase, leads
where the block was: in a phase the first hop has d ports, each further one d-1.

Steps. In the s steps of a phase what a node has reaches at most f(s) = 1 + d + ... + d^s times as many nodes (duplex:
1 + d + d(d-1) + ...), so the product of all f(s) is at least N.

Odd ports. Where ports of all nodes are odd, in every phase of duplex circuits a node has one less. Over P topologies
one node lacks a port in at least a part 1/m of the time, m = min(P, N), so that y >= (N-1)/N * m d / (m d - 1); and a
node that lacks a port in the first phase reaches fewer.

Groups. All of that counts nodes that a block may pass, of whichever group, and so holds for groups that run at once,
of N nodes each or of several sizes, whose ports together carry what all of them send.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb

from topodesign.collectives import Collective

_SEARCHED = {(6, 1, 2): Fraction(9, 6), (6, 2, 1): Fraction(25, 18), (7, 2, 1): Fraction(11, 7)}
"""By nodes, ports and topologies the y of an all-to-all that no two permutations of the nodes beat: all were searched,
those with fewest hops by a flow (tests do it again). Words of hops say less there; with 6 nodes and two topologies 8/6.
"""


@dataclass(frozen=True, slots=True)
class Room:
    """Concurrent groups of equal size that run a collective."""

    nodes: int  # of a group
    degree: int  # ports of each
    duplex: bool  # whether circuits lead back
    groups: int = 1  # how many
    idle: int = 0  # nodes that are in none; all may pass blocks on

    @property
    def every(self) -> int:
        """Number of all nodes."""
        return self.nodes * self.groups + self.idle

    @property
    def odd(self) -> bool:
        """Whether an odd number of duplex ports leaves one unused."""
        return self.duplex and self.every * self.degree % 2 == 1

    @property
    def share(self) -> Fraction:
        """Member ports divided by concurrently usable ports."""
        return Fraction(self.nodes * self.groups * self.degree, self.every * self.degree - self.odd)

    def bound_received(self, topologies: int) -> Fraction:
        """Return the minimum y for every node to receive its data.

        If ports are odd, some node lacks a port for at least 1/m of the time, with m = min(topologies, nodes).
        """
        lacks = min(topologies, self.every) * self.degree if self.odd and not self.idle else 0
        return Fraction(self.nodes - 1, self.nodes) * (Fraction(lacks, lacks - 1) if lacks > 1 else 1)


@dataclass(frozen=True, slots=True)
class Least:
    """Lower bound of a collective for a number of topologies."""

    topologies: int
    steps: int
    factor: Fraction  # y


def words(topologies: int, hops: int, degree: int, *, duplex: bool) -> int:
    """Return the maximum number of hop words without immediate return."""
    if not duplex:
        return comb(topologies + hops - 1, hops) * int(degree**hops)
    return sum(
        comb(topologies, used) * comb(hops - 1, used - 1) * degree**used * (degree - 1) ** (hops - used)
        for used in range(1, min(topologies, hops) + 1)
    )


@cache
def least_hops(nodes: int, degree: int, topologies: int, *, duplex: bool) -> tuple[int, int] | None:
    """Return the minimum sum of hops and the largest distance.

    The result is None if not all nodes can be reached.
    """
    left, hops, total = nodes - 1, 0, 0
    while left:
        hops += 1
        more = min(left, words(topologies, hops, degree, duplex=duplex))
        if not more:
            return None
        total, left = total + hops * more, left - more
    return total, hops


@cache
def least_steps(nodes: int, degree: int, topologies: int, *, duplex: bool, odd: bool = False) -> int | None:
    """Return the minimum steps to reach all nodes, or None.

    Where ports of all nodes are ``odd`` some node has one less in the first topology. With one topology no digraph of
    more than one step and port has room for nobody else (Bridges and Toueg, 1980).
    """
    best = _count_reached(nodes, degree, topologies, duplex=duplex, odd=odd)
    steps = len(best) - 1
    if best[-1] < nodes:
        return None
    return steps + (topologies == 1 and not duplex and min(degree, steps) > 1 and best[-1] == nodes)


@cache
def _count_reached(nodes: int, degree: int, topologies: int, *, duplex: bool, odd: bool) -> list[int]:
    """Return the maximum nodes reached after 0, 1, ... steps."""
    if not topologies:
        return [1, *[1] * nodes]
    growth, more = [1], degree - (odd and topologies == 1)
    while len(growth) <= nodes and growth[-1] < nodes:
        growth.append(growth[-1] + more)
        more *= degree - 1 if duplex else degree
    before = _count_reached(nodes, degree, topologies - 1, duplex=duplex, odd=odd)
    best = list[int]()
    for steps in range(len(before)):
        best.append(max(before[steps - t] * growth[t] for t in range(min(steps + 1, len(growth)))))
        if best[-1] >= nodes:
            break
    return best


@cache
def least(room: Room, topologies: int, collective: Collective) -> Least | None:
    """Return the lower bound of a collective for ``topologies``, or None."""
    nodes, degree = room.nodes, room.degree
    hops = least_hops(nodes, degree, topologies, duplex=room.duplex)
    steps = least_steps(nodes, degree, topologies, duplex=room.duplex, odd=room.odd and not room.idle)
    if hops is None or steps is None:
        return None
    factor = max(room.bound_received(topologies), _bound_carried(room, topologies, collective, hops[0]))
    if not collective.pairwise:
        return Least(topologies, max(steps, topologies), factor)
    if room.groups == 1 and not room.idle:
        factor = max(factor, _SEARCHED.get((nodes, degree, topologies), Fraction(0)))
    return Least(topologies, max(steps, hops[1], topologies), factor)


def _bound_carried(room: Room, topologies: int, collective: Collective, hops: int) -> Fraction:
    """Return the minimum y for the ports to carry all data."""
    nodes = room.nodes
    total = Fraction(hops if collective.pairwise else nodes - 1)
    if collective.pairwise and room.odd and room.groups == 1 and not room.idle:
        total = max(total, 2 * (nodes - 1) - Fraction(topologies * (nodes * room.degree - 1), nodes))
    return total / nodes * room.share


def least_of(rooms: Sequence[Room], topologies: int, collective: Collective) -> Least | None:
    """Return the lower bound for concurrent groups of several sizes.

    It is the maximum over the groups and over the ports for all their data; None if the collective cannot be done.
    """
    found, carried = [], Fraction(0)
    for room in rooms:
        one = least(room, topologies, collective)
        hops = least_hops(room.nodes, room.degree, topologies, duplex=room.duplex)
        if one is None or hops is None:
            return None
        found.append(one)
        carried += _bound_carried(room, topologies, collective, hops[0])
    return Least(topologies, max(one.steps for one in found), max(carried, *(one.factor for one in found)))


@dataclass(frozen=True, slots=True)
class Work:
    """Latency, transfer time and delay for timing, all exact."""

    alpha: Fraction  # seconds of a step
    second: Fraction  # M/B: seconds in which a node sends as much as its whole data over all ports
    delay: Fraction  # seconds of a change

    def time(self, steps: int, factor: Fraction, changes: int) -> Fraction:
        """Return the time in seconds, all ports dark during changes."""
        return steps * self.alpha + factor * self.second + changes * self.delay


def bound_times(rooms: Sequence[Room], collective: Collective, work: Work) -> list[Fraction | None]:
    """Return the minimum time for 1, 2, ... topologies.

    The list ends where more topologies cannot help. An entry is None if the collective cannot be done.

    An allreduce is a reduce-scatter and an allgather, which take the same backwards in time, and share the topology in
    the middle: with P in each half 2P - 1, whose least is that of halves with P.
    """
    halves = len(collective.parts)
    found: list[Fraction | None] = []
    most = max(room.every if room.odd else -(-(room.nodes - 1) // room.degree) for room in rooms)
    for topologies in range(1, max(1, most) + 1):
        one = least_of(rooms, topologies, collective)
        time = None if one is None else halves * work.time(one.steps, one.factor, topologies - 1)
        found.append(time)
    return found


def bound(rooms: Sequence[Room], collective: Collective, work: Work, *, moving: bool) -> tuple[Fraction, int | None]:
    """Return the lower bound of the time and its topologies.

    The second value is the number of topologies that might reach the bound, or None if unknown. ``rooms`` has one
    entry per group size.

    Where only ports that move are dark, changes may take place while others send: one topology takes what it
    takes, and any other plan at least a change and a step, and what steps and data take with as many as one likes.
    """
    times = bound_times(rooms, collective, work)
    known = [(time, number) for number, time in enumerate(times, 1) if time is not None]
    if not moving:
        return min(known)
    halves = len(collective.parts)
    many = [
        (one.steps, one.factor)
        for number in range(1, len(times) + 1)
        if (one := least_of(rooms, number, collective)) is not None
    ]
    free = halves * (min(s for s, _ in many) * work.alpha + min(y for _, y in many) * work.second)
    changed = max(free, work.delay + work.alpha)
    alone = times[0]
    return (changed, None) if alone is None or changed < alone else (alone, 1)
