"""The ways of all pairs: the links that a message goes over one after another, and its lane on each."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.errors import DisconnectedError, TooLargeError
from topodesign.topology.topology import IntArray, Topology

MOST_HOPS = 20_000_000  # hops of all ways together


@dataclass(frozen=True, eq=False)
class Ways:
    """For every ordered pair of ends one way through the network.

    Way i goes from ``source[i]`` to ``target[i]`` over the links ``hop[start[i]:start[i + 1]]`` of the topology, in the
    lane ``lane[...]`` of each.

    * ``source``, ``target``: ends of the ways, sorted.
    * ``start``, ``hop``, ``lane``: links and lanes, one way after another.
    """

    topology: Topology  # the links
    source: IntArray
    target: IntArray
    start: IntArray
    hop: IntArray
    lane: IntArray

    @property
    def lanes(self) -> int:
        """How many lanes are in use."""
        return int(self.lane.max(initial=0)) + 1

    @cached_property
    def lengths(self) -> IntArray:
        """Links of every way."""
        return np.diff(self.start)

    @cached_property
    def follows(self) -> IntArray:
        """The places of hops that follow another of their way."""
        inner = np.ones(len(self.hop), dtype=np.bool_)
        inner[self.start[:-1]] = False
        return np.flatnonzero(inner)

    @property
    def keeps_lane(self) -> bool:
        """Whether every way stays in one lane."""
        return not np.any(self.lane[self.follows] != self.lane[self.follows - 1])

    def loads(self, weight: IntArray) -> IntArray:
        """Return what every link carries; ``weight`` has a row of integers for each source."""
        loads = np.zeros(len(self.topology.src), dtype=np.int64)
        np.add.at(loads, self.hop, np.repeat(weight[self.source, self.target], self.lengths))
        return loads

    def fullest(self, weight: IntArray) -> Fraction:
        """Return the largest load of a link over its capacity."""
        loads, capacity = self.loads(weight), self.topology.capacity
        pairs = {(int(load), int(room)) for load, room in zip(loads, capacity, strict=True)}
        return max((Fraction(load, room) for load, room in pairs), default=Fraction(0))

    def mean_hops(self, weight: IntArray) -> Fraction:
        """Return the links that a unit of traffic goes over on average."""
        some = weight[self.source, self.target]
        return Fraction(int((some * self.lengths).sum()), max(1, int(some.sum())))

    @cached_property
    def tables(self) -> IntArray | None:
        """The link out of every vertex to every target, a row for each vertex, -1 where no way goes.

        None if two ways to a target leave a vertex over different links, so that no table of targets has them.
        """
        nodes = self.topology.nodes
        key = self.topology.src[self.hop] * nodes + np.repeat(self.target, self.lengths)
        low, high = np.full(nodes * nodes, len(self.topology.src)), np.full(nodes * nodes, -1)
        np.minimum.at(low, key, self.hop)
        np.maximum.at(high, key, self.hop)
        if np.any((high >= 0) & (low != high)):
            return None
        table: IntArray = high.reshape(nodes, nodes)
        return table

    def in_lanes(self, lane: IntArray) -> Ways:
        """Return the same with other lanes."""
        return Ways(self.topology, self.source, self.target, self.start, self.hop, lane)

    def joined(self, between: IntArray) -> Ways:
        """Return ways by way of a node each: those to it, and those from it on in as many lanes more."""
        nodes = self.topology.nodes
        number = np.full(nodes * nodes, -1)
        number[self.source * nodes + self.target] = np.arange(len(self.source))
        halves = [number[self.source * nodes + between], number[between * nodes + self.target]]
        every = np.stack(halves, axis=1).ravel()
        upper = np.tile([0, self.lanes], len(self.source))[every >= 0]
        kept = every[every >= 0]
        length = self.lengths[kept]
        at = np.repeat(self.start[kept] - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
        size = np.where(every >= 0, self.lengths[every], 0).reshape(-1, 2).sum(axis=1)
        start = np.concatenate(([0], np.cumsum(size)))
        lane = self.lane[at] + np.repeat(upper, length)
        return Ways(self.topology, self.source, self.target, start, self.hop[at], lane)


def pairs_of(ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return all ordered pairs of ends, sorted."""
    source, target = (one.ravel() for one in np.meshgrid(ends, ends, indexing="ij"))
    apart = source != target
    return source[apart], target[apart]


def ways_of(topology: Topology, ends: IntArray, steps: IntArray, lane: IntArray) -> Ways:
    """Return the ways that tables say: for each target a row with the link out of every vertex, and one of lanes."""
    source, target = pairs_of(ends)
    way, now = np.arange(len(source)), source
    found: list[tuple[IntArray, IntArray]] = []
    hops = 0
    while len(way):
        link = steps[target[way], now]
        if np.any(link < 0) or len(found) > topology.nodes:
            at = int(np.flatnonzero(link < 0)[0]) if np.any(link < 0) else 0
            raise DisconnectedError(f"node {target[way[at]]} cannot be reached from node {source[way[at]]}")
        found.append((way, link))
        hops += len(way)
        if hops > MOST_HOPS:
            raise TooLargeError(f"the ways of all pairs have more than {MOST_HOPS} hops; take fewer nodes")
        now = topology.dst[link]
        left = now != target[way]
        way, now = way[left], now[left]
    owner = np.concatenate([one for one, _ in found]) if found else np.zeros(0, dtype=np.int64)
    link = np.concatenate([one for _, one in found]) if found else np.zeros(0, dtype=np.int64)
    order = np.argsort(owner, kind="stable")
    owner = owner[order]
    start = np.searchsorted(owner, np.arange(len(source) + 1))
    return Ways(topology, source, target, start, link[order], lane[target[owner], source[owner]])


def dependencies(ways: Ways) -> tuple[IntArray, IntArray]:
    """Return the channels that follow one another on some way; channel ``link * lanes + lane``, each pair once."""
    channel, after = ways.hop * ways.lanes + ways.lane, ways.follows
    channels = len(ways.topology.src) * ways.lanes
    pairs = np.unique(channel[after - 1] * channels + channel[after])
    return pairs // channels, pairs % channels


def channel_order(ways: Ways) -> IntArray | None:
    """Return the place of every channel in an order in which all ways go up, or None if there is a circle.

    A message holds a channel, a link in a lane, while it waits for the next of its way; with such an order no messages
    wait for each other in a circle (Dally and Seitz 1987). This and what follows know no engine: they take ways as
    they are.
    """
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
    after = ways.follows
    if np.any(topology.dst[ways.hop[after - 1]] != topology.src[ways.hop[after]]):
        found.append("a way jumps from one node to another")
    passed = topology.src[ways.hop[after]]
    if topology.switches and not np.all(np.isin(passed, list(topology.switches))):
        found.append("a way goes through a node, though there are switches")
    channel = ways.hop * ways.lanes + ways.lane
    if place is None or np.any(place[channel[after]] <= place[channel[after - 1]]):
        found.append("channels wait for each other in a circle")
    return found
