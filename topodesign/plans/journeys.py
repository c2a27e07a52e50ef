"""Timed sends through switches: which sends are one journey from node to node.

A switch has no data of its own: it passes on what arrives, as it arrives. A send from a switch goes on with the send to
it that brought the same units, the earlier first; it starts no earlier than their beginning is there, a latency after
the other has started, and ends no earlier than a latency after their end is there. Where more sends leave than have
arrived, as a switch copies, all that are left go on with the last. All sends from a node over switches to the next node
are one journey, and what counts as sent and delivered are journeys.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.plans.timed import Timed
from topodesign.topology.topology import IntArray


class Journeys(NamedTuple):
    """Which sends are one journey."""

    before: IntArray  # the send that each one goes on with, -1 if it comes from a node
    depth: IntArray  # how many there are before each
    # first, last: of every journey its first and its last send
    first: IntArray
    last: IntArray
    lost: IntArray  # sends to a switch that none goes on with, and from one that go on with none
    copied: IntArray  # sends from a switch that go on with what another one has gone on with before

    def kept(self, which: NDArray[np.bool_]) -> Journeys:
        """Return some of the journeys."""
        return self if which.all() else self._replace(first=self.first[which], last=self.last[which])

    def whole(self, timed: Timed) -> Timed:
        """Return journeys as sends from node to node."""
        if len(self.last) == len(timed):
            return timed
        own = timed.rows(self.last)
        return own.having(src=timed.src[self.first].copy(), start=timed.start[self.first].copy())


def journeys(timed: Timed, switches: Collection[int]) -> Journeys:
    """Return the journeys of timed sends; where there are no switches each send is one."""
    rows = np.arange(len(timed))
    before, depth, nothing = np.full(len(timed), -1), np.zeros(len(timed), dtype=np.int64), rows[:0]
    if not switches:
        return Journeys(before, depth, rows, rows, nothing, nothing)
    switch = np.zeros(timed.nodes, dtype=np.bool_)
    switch[list(switches)] = True
    into, out = np.flatnonzero(switch[timed.dst]), np.flatnonzero(switch[timed.src])
    arriving = _in_turn(timed, into, timed.dst[into])
    leaving = _in_turn(timed, out, timed.src[out])
    _, number = np.unique(np.concatenate((arriving, leaving))[:, :-1], axis=0, return_inverse=True)
    came, went = number[: len(into)], number[len(into) :]
    many = np.bincount(came, minlength=int(number.max(initial=-1)) + 1)
    begin = np.cumsum(many) - many
    place = into[np.lexsort((arriving[:, -1], came))]
    turn, found = leaving[:, -1], many[went] > 0
    before[out[found]] = place[(begin[went] + np.minimum(turn, many[went] - 1))[found]]
    passed = np.zeros(len(timed), dtype=np.bool_)
    passed[before[before >= 0]] = True
    lost = np.concatenate((out[before[out] < 0], into[~passed[into]]))
    first = np.where(before >= 0, before, rows)
    depth[before >= 0] = 1
    for _ in range(len(switches)):  # no journey meets a switch twice and leaves time to do so
        further = before[first] >= 0
        if not further.any():
            break
        depth += further
        first = np.where(further, before[first], first)
    last = np.flatnonzero(~switch[timed.dst] & ~switch[timed.src[first]])
    return Journeys(before, depth, first[last], last, np.sort(lost), np.sort(out[found & (turn >= many[went])]))


def _in_turn(timed: Timed, rows: IntArray, switch: NDArray[np.int32]) -> IntArray:
    """Return for sends at a switch what they carry there, and how many of the same come before."""
    what = np.stack((switch, timed.part[rows], timed.block[rows], timed.lo[rows], timed.hi[rows])).astype(np.int64)
    order = np.lexsort((timed.start[rows], *what[::-1]))
    same = np.append(False, np.all(what[:, order[1:]] == what[:, order[:-1]], axis=0)) if len(rows) else order > 0
    begin = np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))
    turn = np.empty(len(rows), dtype=np.int64)
    turn[order] = np.arange(len(rows)) - begin
    return np.column_stack((what.T, turn))
