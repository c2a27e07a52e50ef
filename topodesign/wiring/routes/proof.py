"""The proof that routes cannot deadlock: an order of all channels in which every way goes up.

A channel is a link in a lane. A message holds one while it waits for the next of its way; where some order of the
channels exists in which every way goes up, no messages wait for each other in a circle (Dally and Seitz, Deadlock-Free
Message Routing in Multiprocessor Interconnection Networks, 1987). This knows no engine: it takes ways as they are.
"""

from __future__ import annotations

import numpy as np

from topodesign.topology.topology import IntArray
from topodesign.wiring.routes.ways import Ways


def dependencies(ways: Ways) -> tuple[IntArray, IntArray]:
    """Return the channels that follow one another on some way; channel ``link * lanes + lane``, each pair once."""
    channel = ways.hop * ways.lanes + ways.lane
    follows = np.ones(len(channel), dtype=np.bool_)
    follows[ways.start[:-1]] = False
    after = np.flatnonzero(follows)
    channels = len(ways.topology.src) * ways.lanes
    pairs = np.unique(channel[after - 1] * channels + channel[after])
    return pairs // channels, pairs % channels


def channel_order(ways: Ways) -> IntArray | None:
    """Return the place of every channel in an order in which all ways go up, or None if there is a circle."""
    before, after = dependencies(ways)
    channels = len(ways.topology.src) * ways.lanes
    waits = np.bincount(after, minlength=channels)
    begin = np.searchsorted(before, np.arange(channels + 1))
    place = np.full(channels, -1, dtype=np.int64)
    ready, done = np.flatnonzero(waits == 0), 0
    while len(ready):
        place[ready] = np.arange(done, done + len(ready))
        done += len(ready)
        count = begin[ready + 1] - begin[ready]
        at = np.repeat(begin[ready] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        freed = after[at]
        np.subtract.at(waits, freed, 1)
        ready = np.unique(freed[waits[freed] == 0])
    return place if done == channels else None


def problems(ways: Ways, place: IntArray | None, ends: IntArray) -> list[str]:
    """Return what is wrong: a pair without a way, a way that is none, or one that does not go up in the order."""
    topology, found = ways.topology, []
    wanted = {(int(s), int(t)) for s in ends for t in ends if s != t}
    pairs = list(zip(ways.source.tolist(), ways.target.tolist(), strict=True))
    if len(pairs) != len(set(pairs)) or set(pairs) != wanted:
        found.append("not every pair has one way")
    first, last = ways.hop[ways.start[:-1]], ways.hop[ways.start[1:] - 1]
    if not (np.array_equal(topology.src[first], ways.source) and np.array_equal(topology.dst[last], ways.target)):
        found.append("a way does not go from its source to its target")
    inner = np.ones(len(ways.hop), dtype=np.bool_)
    inner[ways.start[:-1]] = False
    after = np.flatnonzero(inner)
    if np.any(topology.dst[ways.hop[after - 1]] != topology.src[ways.hop[after]]):
        found.append("a way jumps from one node to another")
    passed = topology.src[ways.hop[after]]
    if topology.switches and not np.all(np.isin(passed, list(topology.switches))):
        found.append("a way goes through a node, though there are switches")
    channel = ways.hop * ways.lanes + ways.lane
    if place is None or np.any(place[channel[after]] <= place[channel[after - 1]]):
        found.append("channels wait for each other in a circle")
    return found
