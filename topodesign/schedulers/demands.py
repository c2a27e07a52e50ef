"""What a collective that copies has to bring where, block by block; and a first plan for it, over shortest paths."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topodesign.base.arguments import as_integer
from topodesign.base.errors import DisconnectedError, ParameterError, TooLargeError, TopologyError
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.timed import COLUMNS, Timed
from topodesign.plans.timed_ops import LinkTimes, reverse_timed
from topodesign.schedulers.method import Request
from topodesign.topology.topology import Topology

FAR = 2**61
"""More than any time and any sum of distances."""
MOST_CHOICES = 60_000
"""Largest product of chunks and links of what is searched."""
MOST_CUT = 8
"""Most nodes of a topology all of whose cuts are looked at."""


class Demand(NamedTuple):
    """A block, the node that has it, and those that want it."""

    block: int
    source: int
    goals: tuple[int, ...]


class Send(NamedTuple):
    """A send of one chunk of a demand over a link, both by their numbers, and when it starts and has arrived."""

    demand: int
    link: int
    start: int
    end: int


@dataclass(frozen=True)
class Setting:
    """What is to be brought where over links that take their time, chunk by chunk.

    What adds up is looked at backwards: as the dual, which copies, over the links turned round. The reverse of any plan
    of the one is a plan of the other that takes as long.

    Attributes
    ----------
    topology
        Where, as it is looked at.
    demands
        One for every chunk; those of one block follow one another.
    lasts, busy
        Ticks until a chunk has arrived that is sent over a link, and until the link is free again; of each link.
    form
        The plan without any sends, forwards; ticks are multiples of its ``grain``.
    grain
        Ticks of the plan in one tick here.
    """

    topology: Topology
    demands: tuple[Demand, ...]
    lasts: tuple[int, ...]
    busy: tuple[int, ...]
    form: Timed
    grain: int

    @classmethod
    def of(
        cls,
        topology: Topology,
        collective: Collective,
        times: LinkTimes,
        *,
        units: int = 1,
        size: Fraction = Fraction(2**20),
        overlap: bool = False,
    ) -> Setting:
        """Return the setting of a collective of one movement.

        Parameters
        ----------
        topology, collective, times
            Where, without switches; what, with its root if it has one; and how long the links of the topology take.
        units
            Chunks of a block; each is sent for itself.
        size, overlap
            As in :class:`~topodesign.plans.timed.Timed`.

        Raises
        ------
        TopologyError, DisconnectedError
            If there are switches, or some node that a chunk is for cannot be reached.
        TooLargeError
            If there are too many chunks and links.
        """
        if topology.switches:
            raise TopologyError("only topologies without switches are searched chunk by chunk; use --method forest")
        none: dict[str, Any] = {
            name: np.zeros(0, dtype=np.int32 if name in {"part", "src", "dst", "block"} else np.int64)
            for name in COLUMNS
        }
        form = Timed(
            collective,
            topology.nodes,
            units,
            times.tick,
            Fraction(size),
            overlap,
            latency=times.latency,
            per_unit=times.per_unit,
            **none,
        )
        way, latency, per_unit = topology, times.latency, times.per_unit
        if collective.reduces:
            way, order = topology.transpose(), np.lexsort((topology.src, topology.dst))
            collective, latency, per_unit = collective.dual, latency[order], per_unit[order]
        lasts = (latency + per_unit).tolist()
        busy = per_unit.tolist() if overlap else lasts
        grain = math.gcd(*lasts, *busy) or 1
        demands = tuple(one for one in demands_of(collective, way) for _ in range(units))
        if len(demands) * len(way.src) > MOST_CHOICES:
            raise TooLargeError(
                f"{len(demands)} chunks and {len(way.src)} links are too many for a search among all plans: their "
                f"product is at most {MOST_CHOICES}"
            )
        setting = cls(
            way, demands, tuple(one // grain for one in lasts), tuple(one // grain for one in busy), form, grain
        )
        apart = setting.distances
        for one in demands:
            if any(apart[one.source][goal] >= FAR for goal in one.goals):
                raise DisconnectedError("some node cannot be reached, so the collective does not run on this topology")
        return setting

    @cached_property
    def distances(self) -> list[list[int]]:
        """The least time from each node to each other, over links that nobody else uses; ``FAR`` if there is no way."""
        nodes = self.topology.nodes
        return [_shortest(nodes, self.ways, self.lasts, node) for node in range(nodes)]

    @cached_property
    def ways(self) -> list[list[tuple[int, int]]]:
        """For each node its links, by their numbers, and where they go; self-loops carry nothing."""
        return _ways(self.topology)

    def plan(self, sends: list[Send]) -> Timed:
        """Return sends as the plan that was asked for, forwards."""
        unit = [0] * len(self.demands)
        for number in range(1, len(unit)):
            same = self.demands[number].block == self.demands[number - 1].block
            unit[number] = unit[number - 1] + 1 if same else 0
        link = np.array([one.link for one in sends], dtype=np.int64)
        demand = np.array([one.demand for one in sends], dtype=np.int64)
        lo = np.array(unit, dtype=np.int64)[demand]
        block = np.array([one.block for one in self.demands], dtype=np.int32)[demand]
        found = self._here().having(
            start=np.array([one.start * self.grain for one in sends], dtype=np.int64),
            end=np.array([one.end * self.grain for one in sends], dtype=np.int64),
            part=np.zeros(len(sends), dtype=np.int32),
            src=self.topology.src[link].astype(np.int32),
            dst=self.topology.dst[link].astype(np.int32),
            block=block,
            lo=lo,
            hi=lo + 1,
        )
        return reverse_timed(self.topology, found) if self.form.collective.reduces else found

    def sends(self, timed: Timed) -> list[Send] | None:
        """Return the sends of a plan for the same; None if it sends several chunks at once, or at other times."""
        if timed.units != self.form.units or np.any(timed.hi - timed.lo != 1):
            return None
        here = reverse_timed(self.place, timed) if self.form.collective.reduces else timed
        first: dict[int, int] = {}
        for number, one in enumerate(self.demands):
            first.setdefault(one.block, number)
        link = self.topology.link_index(here.src, here.dst)
        unit = timed.tick / (self.form.tick * self.grain)
        starts, ends = ([time * unit for time in column.tolist()] for column in (here.start, here.end))
        if any(time.denominator > 1 for time in starts) or np.any(link < 0):
            return None
        return [
            Send(first[block] + lo, at, int(start), math.ceil(end))
            for block, lo, at, start, end in zip(
                here.block.tolist(), here.lo.tolist(), link.tolist(), starts, ends, strict=True
            )
        ]

    @cached_property
    def place(self) -> Topology:
        """Where it is, forwards."""
        return self.topology.transpose() if self.form.collective.reduces else self.topology

    def _here(self) -> Timed:
        """Return the plan without sends as it is looked at."""
        if not self.form.collective.reduces:
            return self.form
        return reverse_timed(self.place, self.form)


def asked_of(request: Request) -> tuple[Topology | Fabric, Topology, Collective]:
    """Return where a request is for, the links there, and the collective with the root that it has there."""
    where = request.where
    topology = where.topology if isinstance(where, Fabric) else where
    if request.grouped:
        raise ParameterError(
            "among some of the nodes only rounds are made this way; leave out what says how long links take"
        )
    if topology.switches:
        raise ParameterError("searches chunk by chunk are for places without switches; use --method tacos or forest")
    collective, root = request.collective, request.root
    if root is None or not collective.rooted:
        return where, topology, collective
    if isinstance(where, Fabric):
        return where, topology, collective.at(where.number(str(request.root_name)))
    # The nodes of a topology are called by their numbers; of one that is not regular there is no fabric to ask.
    number = int(root) if isinstance(root, str) and root.isdecimal() else root
    return where, topology, collective.at(as_integer("root", number, 0, topology.nodes - 1))


def demands_of(collective: Collective, topology: Topology) -> tuple[Demand, ...]:
    """Return the demands of a collective of one movement, which copies; blocks that nobody else wants are left out."""
    (movement,) = collective.movements
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    source, goal = collective.places(movement, blocks, topology.nodes)
    everyone = members.tolist()
    found = []
    for block, start, end in zip(blocks.tolist(), source.tolist(), goal.tolist(), strict=True):
        goals = tuple(node for node in (everyone if end == EVERYONE else [end]) if node != start)
        if goals:
            found.append(Demand(block, start, goals))
    return tuple(found)


def cuts_of(nodes: int) -> Iterator[frozenset[int]]:
    """Yield sets of nodes whose cuts are worth a look: all of few nodes; else those of one node, or of all but one."""
    sizes = range(1, nodes) if nodes <= MOST_CUT else (1, nodes - 1)
    for size in sizes:
        yield from map(frozenset, itertools.combinations(range(nodes), size))


def hops(topology: Topology) -> list[list[int]]:
    """Return the number of links on the way from each node to each other; ``FAR`` if there is none."""
    return [
        _shortest(topology.nodes, _ways(topology), (1,) * len(topology.src), node) for node in range(topology.nodes)
    ]


def complete(setting: Setting, held: list[dict[int, int]] | None = None, free: list[int] | None = None) -> list[Send]:
    """Return sends that bring whatever is still wanted, each over the way that is the quickest when it is chosen.

    Parameters
    ----------
    setting
        Demands and links.
    held
        For each demand when which node has it; the sources from 0 on, if None.
    free
        When each link is free; from 0 on, if None.

    Raises
    ------
    DisconnectedError
        If a node cannot be reached.

    References
    ----------
    TACOS, section V-B: the recovery of a search that is ended early.
    """
    held = [{one.source: 0} for one in setting.demands] if held is None else [dict(one) for one in held]
    free = [0] * len(setting.lasts) if free is None else list(free)
    apart = setting.distances
    # The nearest first, so that what arrives early can be sent on; who has far to go is then not far from a holder.
    lacking = sorted(
        (apart[one.source][goal], number, goal)
        for number, one in enumerate(setting.demands)
        for goal in one.goals
        if goal not in held[number]
    )
    sends = []
    for _, number, goal in lacking:
        for link, node in _quickest(setting, held[number], free, goal):
            start = max(held[number][int(setting.topology.src[link])], free[link])
            free[link] = start + setting.busy[link]
            held[number][node] = start + setting.lasts[link]
            sends.append(Send(number, link, start, held[number][node]))
    return sends


def _quickest(setting: Setting, held: dict[int, int], free: list[int], goal: int) -> list[tuple[int, int]]:
    """Return the links, and where each goes, of the way on which a chunk gets to its goal first."""
    best = dict(held)
    before: dict[int, tuple[int, int]] = {}
    heap = [(time, node) for node, time in held.items()]
    heapq.heapify(heap)
    while heap:
        time, node = heapq.heappop(heap)
        if time > best[node]:
            continue
        if node == goal:
            break
        for link, other in setting.ways[node]:
            there = max(time, free[link]) + setting.lasts[link]
            if there < best.get(other, FAR):
                best[other] = there
                before[other] = link, node
                heapq.heappush(heap, (there, other))
    way = []
    node = goal
    while node in before:
        link, earlier = before[node]
        way.append((link, node))
        node = earlier
    if node not in held:
        raise DisconnectedError(f"node {goal} cannot be reached, so the collective does not run on this topology")
    return way[::-1]


def lean(setting: Setting, sends: list[Send]) -> list[Send]:
    """Return what is needed of sends, as early as the order in which they start allows.

    Of the deliveries of a chunk to a node the first counts, and none that nobody wants or sends on.
    """
    src, dst = setting.topology.src.tolist(), setting.topology.dst.tolist()
    by: list[dict[int, Send]] = [{} for _ in setting.demands]
    for one in sorted(sends, key=lambda send: (send.end, send.link)):
        if dst[one.link] != setting.demands[one.demand].source:
            by[one.demand].setdefault(dst[one.link], one)
    needed = set()
    for demand, brought in zip(setting.demands, by, strict=True):
        for goal in demand.goals:
            node = goal
            while node != demand.source and node in brought and brought[node] not in needed:
                needed.add(brought[node])
                node = src[brought[node].link]
    held: list[dict[int, int]] = [{one.source: 0} for one in setting.demands]
    free = [0] * len(src)
    early = []
    for one in sorted(needed, key=lambda send: (send.start, send.link)):
        start = max(held[one.demand][src[one.link]], free[one.link])
        free[one.link] = start + setting.busy[one.link]
        end = held[one.demand][dst[one.link]] = start + setting.lasts[one.link]
        early.append(Send(one.demand, one.link, start, end))
    return early


def _ways(topology: Topology) -> list[list[tuple[int, int]]]:
    found: list[list[tuple[int, int]]] = [[] for _ in range(topology.nodes)]
    for link, (u, v, _) in enumerate(topology.links()):
        if u != v:
            found[u].append((link, v))
    return found


def _shortest(nodes: int, steps: list[list[tuple[int, int]]], lasts: tuple[int, ...], source: int) -> list[int]:
    best = [FAR] * nodes
    best[source] = 0
    heap = [(0, source)]
    while heap:
        time, node = heapq.heappop(heap)
        if time > best[node]:
            continue
        for link, other in steps[node]:
            if time + lasts[link] < best[other]:
                best[other] = time + lasts[link]
                heapq.heappush(heap, (best[other], other))
    return best
