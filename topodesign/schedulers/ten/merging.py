"""Merging: chunks of a block that follow one another over a link go as one send, which has one latency.

Many small chunks fill long ways as a pipeline does, and pay for it with a latency each. Where nobody downstream is kept
waiting, or where that is worth it, those that leave a node next to one another are one send of more units.
"""

from __future__ import annotations

import numpy as np

from topodesign.plans.timed import Timed
from topodesign.plans.timing.timed import simulate_timed, waits_of
from topodesign.topology.topology import IntArray, Topology

MOST_SENDS = 2**15  # sends above which nothing is merged: each way to merge is timed exactly
_ROUNDS = 12


def merged(topology: Topology, timed: Timed, opens: IntArray) -> Timed:
    """Return a plan that is no slower, with fewer sends or as many; links may be used from ``opens`` on.

    With switches nothing is merged, since what passes them is several sends.
    """
    if topology.switches or timed.units == 1 or len(timed) > MOST_SENDS:
        return timed
    best = timed
    for patient in (True, False):
        now = timed
        for _ in range(_ROUNDS):
            fewer = _paired(topology, now, patient=patient)
            if len(fewer) == len(now):
                break
            run = simulate_timed(topology, fewer, opens=opens)  # whose tick is that of the plan
            start, end = (np.array(column, dtype=np.int64) for column in (run.start, run.end))
            now = fewer.having(start=start, end=end)
            if (now.time, len(now)) < (best.time, len(best)):
                best = now
            if patient and now.time > best.time:
                break
    return best


def _paired(topology: Topology, timed: Timed, *, patient: bool) -> Timed:
    """Return the same with two sends in one wherever they may be; if ``patient``, only where nobody is kept waiting.

    The times of what is merged are no right ones yet; the order of all sends is.
    """
    link = topology.link_index(timed.src, timed.dst)
    order = np.lexsort((timed.start, link))
    first, second = order[:-1], order[1:]
    alike = link[first] == link[second]
    for column in (timed.part, timed.block):
        alike &= column[first] == column[second]
    alike &= (timed.hi[first] == timed.lo[second]) | (timed.lo[first] == timed.hi[second])
    consumer, producer = waits_of(topology, timed)
    ready = np.zeros(len(timed), dtype=np.int64)
    np.maximum.at(ready, consumer, timed.end[producer])
    start = np.maximum(timed.start[first], ready[second])
    units = timed.hi[first] - timed.lo[first] + timed.hi[second] - timed.lo[second]
    end = start + timed.latency[link[first]] + timed.per_unit[link[first]] * units
    alike &= (start == timed.start[first]) & (end <= timed.end[second]) if patient else start < timed.end[first]
    # Of pairs that follow one another every second one.
    places = np.flatnonzero(alike)
    rows = np.arange(len(places))
    turn = rows - np.maximum.accumulate(np.where(np.diff(places, prepend=-2) > 1, rows, 0))
    places = places[turn % 2 == 0]
    # What is added up must be there before it is sent on; a copy may come later, and so do those that wait for it.
    strict = np.array([one.adds for one in timed.collective.movements])[timed.part[consumer]] | patient
    while len(places):
        one, other = first[places], second[places]
        begin, finish = timed.start.copy(), timed.end.copy()
        begin[one] = begin[other] = start[places]
        finish[one] = finish[other] = end[places]
        late = np.where(strict, finish[producer] > begin[consumer], begin[producer] >= begin[consumer])
        wrong = np.zeros(len(timed), dtype=np.bool_)
        wrong[producer[late]] = wrong[consumer[late]] = True
        if not (wrong[one] | wrong[other]).any():
            break
        places = places[~(wrong[one] | wrong[other])]
    if not len(places):
        return timed
    low, high = timed.lo.copy(), timed.hi.copy()
    low[one], high[one] = np.minimum(low[one], low[other]), np.maximum(high[one], high[other])
    kept = np.ones(len(timed), dtype=np.bool_)
    kept[other] = False
    return timed.having(lo=low, hi=high, start=begin, end=finish).rows(np.flatnonzero(kept))
