"""Networks in ticks: link times and opening times per chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import ranges, seal_array
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.base.units import format_time
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.plans.flow import MAX_TICKS, Flow
from topodesign.plans.link_times import LinkTimes, common_ticks, flow_in_ticks
from topodesign.schedulers.method import Request
from topodesign.schedulers.time_expanded.event_kernels import Web
from topodesign.topology.topology import IntArray, Topology

_GRAINS = 1024  # parts of a step to which times are rounded up that have no common tick
_SIDE_BY_SIDE = 16  # ways to a switch that are kept


class Routes(NamedTuple):
    """Node-to-node links composed of links of a switched topology.

    A chunk that starts over a route at time 0 is on its links from ``offset`` on: it passes switches as it arrives.
    """

    topology: Topology  # that of the links
    start: IntArray  # where the links of every route begin in ``link``, and one more
    link: IntArray  # which they are, in their order
    offset: IntArray  # of each of them: ticks until a chunk is on it
    takes: IntArray  # until it has passed it
    busy: IntArray  # how long it is not free


@dataclass(frozen=True, eq=False)
class Network:
    """Links with whole ticks for a chunk of one unit."""

    topology: Topology  # nodes and links
    tick: Fraction  # seconds of a tick
    latency: IntArray  # exact ticks of every link, int64 of shape ``(links,)``; those of wires where there are routes
    per_unit: IntArray  # and of one unit
    takes: IntArray  # ticks until a chunk has arrived: as exact, or rounded up to steps
    busy: IntArray  # and until the link is free for the next one
    opens: IntArray  # when each link may be used first: both its ends are ready then
    overlap: bool  # whether a link is free as soon as it has transmitted
    routes: Routes | None = None  # what links are made of that lead from node to node through switches

    @property
    def wires(self) -> Topology:
        """Topology of the underlying links."""
        return self.topology if self.routes is None else self.routes.topology

    @cached_property
    def turned(self) -> Network:
        """Network with its links reversed."""
        wires = np.lexsort((self.wires.src, self.wires.dst))
        links = np.lexsort((self.topology.src, self.topology.dst))
        routes = None if self.routes is None else _reverse_routes(self.routes, self.takes, links, wires)
        exact = {"latency": self.latency[wires], "per_unit": self.per_unit[wires]}
        taken = {"takes": self.takes[links], "busy": self.busy[links], "opens": self.opens[links]}
        return self.replace(topology=self.topology.transpose(), routes=routes, **exact, **taken)

    def replace(self, **changes: Any) -> Network:
        """Return the network with other fields, whose arrays are sealed."""
        sealed_ones: dict[str, Any] = {
            name: seal_array(one) if isinstance(one, np.ndarray) else one for name, one in changes.items()
        }
        return replace(self, **sealed_ones)

    def open_after(self, free: IntArray) -> Network:
        """Return the network with links that open after their wires."""
        web = self.web
        opens = self.opens.copy()
        np.maximum.at(opens, np.repeat(np.arange(len(opens)), np.diff(web.port_start)), free[web.port] - web.offset)
        return self.replace(opens=opens)

    def carrying(self, chunks: int) -> Network:
        """Return the network for parts of ``chunks`` chunks each.

        Each part is sent as one. The network must have no switches and no steps.
        """
        if chunks == 1:
            return self
        per_unit = self.per_unit * chunks
        takes = self.latency + per_unit
        return self.replace(per_unit=per_unit, takes=takes, busy=per_unit if self.overlap else takes.copy())

    @property
    def merging(self) -> Network:
        """Network with links busy for transmission alone, without latency.

        It applies if one send may contain any number of chunks.
        """
        routes = self.routes
        busy = self.per_unit
        if routes is not None:
            routes = routes._replace(busy=self.per_unit[routes.link])
            busy = np.zeros(len(self.busy), dtype=np.int64)
            np.maximum.at(busy, np.repeat(np.arange(len(busy)), np.diff(routes.start)), routes.busy)
        return self.replace(busy=busy, routes=routes, overlap=True)

    @cached_property
    def web(self) -> Web:
        """Links in the form for kernels, without self-loops."""
        topology = self.topology
        links, nodes = np.arange(len(topology.src)), np.arange(topology.nodes + 1)
        real = np.flatnonzero(topology.src != topology.dst)
        into = real[np.lexsort((self.takes[real], topology.dst[real]))]
        if self.routes is None:
            ports = np.arange(len(links) + 1), links, np.zeros_like(links), self.busy.copy()  # one form for kernels
        else:
            ports = self.routes.start, self.routes.link, self.routes.offset, self.routes.busy
        return Web(
            topology.src,
            topology.dst,
            self.takes,
            self.busy,
            self.opens,
            np.searchsorted(topology.src[real], nodes),
            real,
            np.searchsorted(topology.dst[into], nodes),
            into,
            *ports,
        )


class Chunks(NamedTuple):
    """Chunks to move, with their sources and goals."""

    number: int  # of chunks: the units of all blocks, one after the other
    at: IntArray  # the node where each chunk is first
    since: IntArray  # from which tick on
    goal: IntArray  # the one node that needs each chunk, ``EVERYONE`` if all members do
    members: IntArray  # nodes that take part
    team: IntArray  # the group of every node, -1 of those that take no part; all members of a chunk's group may need it


class Sends(NamedTuple):
    """Sends of chunks: link, chunk and arrival of each."""

    link: IntArray
    chunk: IntArray
    end: IntArray

    @property
    def time(self) -> int:
        """Ticks until everything has arrived."""
        return int(self.end.max(initial=0))

    def rows(self, chosen: IntArray) -> Sends:
        """Return chosen sends in a given order."""
        return Sends(*(column[chosen] for column in self))

    def in_order(self) -> Sends:
        """Return the sends in order of arrival."""
        return self.rows(np.argsort(self.end, kind="stable"))


def network_of(
    topology: Topology,
    times: LinkTimes,
    *,
    step: Fraction | None = None,
    ready: tuple[Fraction, ...] = (),
    overlap: bool = False,
) -> Network:
    """Return the network of a topology with node ready times.

    A node neither sends nor receives before its ready time.

    With a ``step`` what links take is rounded up to whole steps of the time-expanded network (TACOS, section IV-C).
    """
    others = ready if step is None else (step, *ready)
    exact = times
    if any((one / times.tick).denominator > 1 for one in others):
        latency, per_unit = ([ticks * times.tick for ticks in one.tolist()] for one in (times.latency, times.per_unit))
        exact = common_ticks(latency, per_unit, 1, others)
    busy = exact.per_unit if overlap else exact.latency + exact.per_unit
    takes = exact.latency + exact.per_unit
    if step is not None:
        grain = int(step / exact.tick)
        takes = -(-takes // grain) * grain
        busy = -(-(takes - exact.latency) // grain) * grain if overlap else takes
    opens = np.zeros(len(topology.src), dtype=np.int64)
    if any(ready):
        if max(ready) / exact.tick >= MAX_TICKS:
            raise TooLargeError("a node is ready too late for its ticks to be counted; use rounder numbers")
        at = np.array([int(time / exact.tick) for time in ready], dtype=np.int64)
        opens = np.maximum(at[topology.src], at[topology.dst])
    return Network(
        topology,
        exact.tick,
        exact.latency,
        exact.per_unit,
        seal_array(takes),
        seal_array(busy.copy()),
        seal_array(opens),
        overlap,
    )


def grain_of(request: Request) -> Fraction | None:
    """Return the rounding grain of too fine link times.

    It is a small part of a step, or None without steps.
    """
    return None if request.tick is None else request.tick / _GRAINS


def rounding(request: Request, more: Fraction) -> list[str]:
    """Return notes on times that are rounded up."""
    if request.tick is None:
        return []
    notes = [f"times of links are rounded up to steps of {format_time(request.tick)}"]
    if more:
        own = "the links' own times have no common tick"
        notes.append(f"{own}: latencies and units take up to {format_time(more)} more")
    return notes


def slower(network: Network, factor: NDArray[np.float64]) -> Network:
    """Return the network with links slowed by at least a factor.

    Times are rounded up to whole ticks. The result is for rough plans.
    """
    more = np.ceil(network.takes * (factor - 1.0)).astype(np.int64)
    return network.replace(takes=network.takes + more, busy=network.busy + more)


def through_switches(network: Network) -> Network:
    """Return a nodes-only network with routes through switches.

    A switch passes on what arrives as it arrives, to one port, and every port of it has one chunk at a time.
    """
    wires = network.topology
    pairs, ways = _pairs_and_ways(wires, network.per_unit)
    if not pairs:
        raise InfeasibleError("no node has a link or a way through switches to another")
    start = np.cumsum([0, *map(len, ways)])
    link, route = np.concatenate(ways), np.repeat(np.arange(len(ways)), np.diff(start))
    offset = np.zeros(len(link), dtype=np.int64)
    whole = np.zeros(len(ways), dtype=np.int64)
    for at, way in enumerate(ways):
        head = tail = 0  # when the beginning and the end of a chunk are there
        for place, one in enumerate(way, int(start[at])):
            takes, latency = int(network.takes[one]), int(network.latency[one])
            tail = max(head + takes, tail + latency) if place > start[at] else takes
            offset[place] = tail - takes
            head = int(offset[place]) + latency
        whole[at] = tail
    ends = np.array(pairs, dtype=np.int64)
    topology = Topology.from_arrays(wires.nodes, ends[:, 0], ends[:, 1], switches=wires.switches)
    routes = Routes(wires, start, link, offset, network.takes[link], network.busy[link])
    opens = np.zeros(len(ways), dtype=np.int64)
    # Not every link need be open when a chunk starts, only when it gets there.
    np.maximum.at(opens, route, network.opens[link] - offset)
    slowest = np.zeros(len(ways), dtype=np.int64)
    np.maximum.at(slowest, route, routes.busy)
    return network.replace(topology=topology, takes=whole, busy=slowest, opens=opens, routes=routes)


def _pairs_and_ways(topology: Topology, per_unit: IntArray) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """Return node pairs connected directly or by switches, with routes.

    It is a link, if there is one, and else a way with the fewest links; of those one whose slowest link is as quick as
    can be, and of those again one or another, so that switches side by side have about as many.
    """
    switch = np.zeros(topology.nodes, dtype=np.bool_)
    switch[list(topology.switches)] = True
    out: list[list[tuple[int, int, int]]] = [[] for _ in range(topology.nodes)]
    for link, (u, v, _) in enumerate(topology.links()):
        if u != v:
            out[u].append((v, link, int(per_unit[link])))
    pairs: list[tuple[int, int]] = []
    ways: list[list[int]] = []
    for source in range(topology.nodes):
        if switch[source]:
            continue
        found: dict[int, list[int]] = {}
        layer: dict[int, list[tuple[int, list[int]]]] = {source: [(0, [])]}
        met = {source}
        while layer:
            after: dict[int, list[tuple[int, list[int]]]] = {}
            for node, choices in layer.items():
                for other, link, slow in out[node]:
                    if other not in met:
                        after.setdefault(other, []).extend((max(worst, slow), [*way, link]) for worst, way in choices)
            layer = {}
            for other, choices in after.items():
                met.add(other)
                least = min(worst for worst, _ in choices)
                best = [choice for choice in choices if choice[0] == least]
                if switch[other]:
                    layer[other] = best[:_SIDE_BY_SIDE]
                else:
                    found[other] = best[(source + other) % len(best)][1]
        for other in sorted(found):
            pairs.append((source, other))
            ways.append(found[other])
    return pairs, ways


def within_teams(network: Network, team: IntArray) -> Network:
    """Return a network with only the links inside groups.

    ``team`` is the group of every node.
    """
    topology = network.topology
    kept = np.flatnonzero(
        (team[topology.src] == team[topology.dst]) & (team[topology.src] >= 0) & (topology.src != topology.dst)
    )
    web = network.web
    count = np.diff(web.port_start)[kept]
    _, at = ranges(web.port_start[kept], count)
    wire, long = (
        (at, network.takes[at]) if network.routes is None else (network.routes.link[at], network.routes.takes[at])
    )
    routes = Routes(network.wires, np.concatenate(([0], np.cumsum(count))), wire, web.offset[at], long, web.hold[at])
    part = Topology.from_arrays(topology.nodes, topology.src[kept], topology.dst[kept], switches=topology.switches)
    taken = {"takes": network.takes[kept], "busy": network.busy[kept], "opens": network.opens[kept]}
    return network.replace(topology=part, routes=routes, **taken)


def _reverse_routes(routes: Routes, takes: IntArray, links: IntArray, wires: IntArray) -> Routes:
    """Return reversed routes, renumbered for the reversed links and wires."""
    count = np.diff(routes.start)[links]
    start = np.concatenate(([0], np.cumsum(count)))
    of, step = ranges(0, count)
    route = links[of]
    at = routes.start[route + 1] - 1 - step  # the last link of a route comes first
    place = np.empty(len(wires), dtype=np.int64)
    place[wires] = np.arange(len(wires))
    offset = takes[route] - routes.offset[at] - routes.takes[at]
    return Routes(routes.topology.transpose(), start, place[routes.link[at]], offset, routes.takes[at], routes.busy[at])


def chunks_of(network: Network, collective: Collective, units: int) -> Chunks:
    """Return the chunks of a copying collective of one movement.

    They are equal parts of its blocks.
    """
    topology = network.topology
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    source, goal = collective.places(collective.movements[0], blocks, topology.nodes)
    number, team = len(blocks) * units, collective.teams(topology.nodes, topology.switches)
    since = np.zeros(number, dtype=np.int64)
    return Chunks(number, np.repeat(source, units), since, np.repeat(goal, units), members, team)


def make_timed(network: Network, collective: Collective, units: int, size: Fraction, sends: Sends) -> Flow:
    """Return the sends of a one-movement collective as timed sends."""
    topology = network.topology
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    link, chunk, start, end = sends.link, sends.chunk, sends.end - network.takes[sends.link], sends.end.copy()
    if network.routes is not None:
        routes = network.routes
        of, at = ranges(routes.start[sends.link], np.diff(routes.start)[sends.link])
        link, chunk, start = routes.link[at], chunk[of], start[of] + routes.offset[at]
        end = start + routes.takes[at]
    ends = network.wires.src[link], network.wires.dst[link]
    return of_one_unit(network, collective, (units, size), (start, end, *ends, blocks[chunk // units], chunk % units))


def of_one_unit(
    network: Network, collective: Collective, data: tuple[int, Fraction], columns: tuple[NDArray[Any], ...]
) -> Flow:
    """Return sends of one unit as a flow in ticks.

    The columns are starts, ends, sources, destinations, blocks and units. ``data`` is the number of units and the
    bytes.
    """
    times = LinkTimes(network.tick, network.latency, network.per_unit)
    columns = (*columns, columns[-1] + 1)
    return flow_in_ticks(network.wires, collective, data, times, columns, overlap=network.overlap)


def in_chunks(timed: Flow, chunks: int, per_unit: IntArray) -> Flow:
    """Return sends of parts as sends of their chunks.

    Each part has ``chunks`` chunks, and a chunk takes ``per_unit`` ticks on every link.
    """
    columns = {name: getattr(timed, name) * chunks for name in ("lo", "hi")}
    clock = timed.timing._replace(per_unit=per_unit)
    return timed.having(units=timed.units * chunks, clock=clock, **columns)


def check_ticks(network: Network, sends: int) -> None:
    """Raise TooLargeError if the ticks could exceed 64 bits.

    The limit is checked for ``sends`` sends in sequence.
    """
    longest = int(network.takes.max(initial=0)) + int(network.opens.max(initial=0))
    if longest * max(1, sends) >= MAX_TICKS:
        raise TooLargeError("the times of the links have too short a common tick to count; use rounder numbers")


def list_missing(chunks: Chunks) -> tuple[IntArray, IntArray]:
    """Return all missing pairs of node and needed chunk."""
    every = np.flatnonzero(chunks.goal == EVERYONE)
    one = np.flatnonzero((chunks.goal != EVERYONE) & (chunks.goal != chunks.at))
    node = np.repeat(chunks.members, len(every))
    chunk = np.tile(every, len(chunks.members))
    other = (chunks.at[chunk] != node) & (chunks.team[chunks.at[chunk]] == chunks.team[node])
    return np.concatenate((node[other], chunks.goal[one])), np.concatenate((chunk[other], one))


def first_state(seed: int) -> NDArray[np.uint64]:
    """Return the random state of a seed."""
    return np.array([2 * seed + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
