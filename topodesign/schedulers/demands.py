"""Demands of copying collectives, and first plans on shortest paths."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from topodesign.base.errors import DisconnectedError, ParameterError, ScheduleError, TooLargeError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, BROADCAST, GATHER, REDUCE, REDUCE_SCATTER, SCATTER, Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import join_links, reverse
from topodesign.plans.link_times import LinkTimes
from topodesign.plans.verify.plans import check_movement
from topodesign.pricing.closed_form import distances
from topodesign.schedulers.method import Request
from topodesign.schedulers.time_expanded.network import (
    Network,
    Sends,
    make_timed,
    network_of,
    through_switches,
    within_teams,
)
from topodesign.solve.discrete import Discrete
from topodesign.topology.topology import Topology

FAR = 2**61  # more than any time and any sum of distances
MAX_CHOICES = 60_000  # largest product of chunks and links of what is searched
Proof = Literal["bound", "search", "none"]
"""Why nothing is better: a bound says so; the search has gone through the rest; or that is not known."""
SECONDS = 60  # default time for a search
ONE_MOVEMENT = (ALLGATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SCATTER, GATHER, ALL_TO_ALL)
"""The collectives of one movement, which copies or, backwards, adds up."""
MAX_CUT = 8  # most nodes of a topology all of whose cuts are looked at


class Demand(NamedTuple):
    """Block, its source node and the nodes that need it."""

    block: int
    source: int
    goals: tuple[int, ...]


Port = tuple[int, int, int]  # A port, from when on after its start a chunk needs it, and for how long


class Send(NamedTuple):
    """Send of a demand's chunk over a link, with times."""

    demand: int
    link: int
    start: int
    end: int


@dataclass(frozen=True)
class Setting:
    """Demands of a collective, in chunks, over links with given times.

    What adds up is looked at backwards: as the dual, which copies, over the links turned round. The reverse of any plan
    of the one is a plan of the other that takes as long. Nodes that are late begin late there, and end early here.
    """

    network: Network  # where, as it is looked at; links are from node to node, through switches in one go
    collective: Collective  # what, as it is looked at
    units: int  # chunks of a block
    size: Fraction  # bytes of the whole data
    backwards: bool  # whether it is looked at backwards
    demands: tuple[Demand, ...]  # one for every chunk; those of one block follow one another
    chunks: tuple[int, ...]  # for each of them which of all chunks of the collective it is
    lasts: tuple[int, ...]  # of each link the ticks until a chunk has arrived
    busy: tuple[int, ...]  # and until the link is free again
    ports: tuple[tuple[Port, ...], ...]  # the ports that a chunk on it needs
    opens: tuple[int, ...]  # ticks from the start on in which it cannot be used
    shuts: tuple[int, ...]  # and before the end
    grain: int  # ticks of the network in one tick here

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
        ready: tuple[Fraction, ...] = (),
    ) -> Setting:
        """Return the setting of a one-movement collective, with chunks sent separately.

        ``ready`` are seconds from the start until each node is ready; none sends or receives before.
        """
        network = network_of(topology, times, ready=ready, overlap=overlap)
        network = through_switches(network) if topology.switches else network
        if collective.groups is not None:
            network = within_teams(network, collective.teams(topology.nodes, topology.switches))
        backwards = collective.reduces
        opens, shuts = network.opens, np.zeros_like(network.opens)
        if backwards:
            network, collective = network.turned, collective.dual
            opens, shuts = shuts, network.opens
            network = replace(network, opens=opens)
        links, web = network.topology, network.web
        demands, chunks = _demands_and_chunks(collective, links, units)
        if len(demands) * len(links.src) > MAX_CHOICES:
            raise TooLargeError(
                f"{len(demands)} chunks and {len(links.src)} links are too many for a search among all plans: their "
                f"product is at most {MAX_CHOICES}"
            )
        ticks = (network.takes, network.busy, web.offset, web.hold, opens, shuts)
        grain = math.gcd(*(int(value) for column in ticks for value in column)) or 1
        takes, busy, offset, hold, late, early = ([int(value) // grain for value in column] for column in ticks)
        ports = tuple(
            tuple((int(web.port[at]), offset[at], hold[at]) for at in range(begin, end))
            for begin, end in itertools.pairwise(web.port_start.tolist())
        )
        columns = (tuple(takes), tuple(busy), ports, tuple(late), tuple(early))
        setting = cls(network, collective, units, Fraction(size), backwards, demands, chunks, *columns, grain)
        for one in demands:
            if any(setting.heads[one.source][goal] >= FAR for goal in one.goals):
                raise DisconnectedError("some node cannot be reached, so the collective does not run on this topology")
        return setting

    @property
    def topology(self) -> Topology:
        """Links in search direction, reversed for reductions."""
        return self.network.topology

    @property
    def tick(self) -> Fraction:
        """Duration of a tick in seconds."""
        return self.network.tick * self.grain

    @cached_property
    def heads(self) -> list[list[int]]:
        """Earliest arrival from each node at each; ``FAR`` if unreachable."""
        return [_shortest(self.ways, self.lasts, self.opens, node) for node in range(self.topology.nodes)]

    @cached_property
    def tails(self) -> list[list[int]]:
        """Lead time before the end, by node and goal, or ``FAR``."""
        nodes = self.topology.nodes
        back: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
        for node, ways in enumerate(self.ways):
            for link, other in ways:
                back[other].append((link, node))
        into = [_shortest(back, self.lasts, self.shuts, goal) for goal in range(nodes)]
        return [[into[goal][node] for goal in range(nodes)] for node in range(nodes)]

    @cached_property
    def src(self) -> list[int]:
        """Source node of each link."""
        return self.topology.src.tolist()  # type: ignore[no-any-return]

    @cached_property
    def dst(self) -> list[int]:
        """Destination node of each link."""
        return self.topology.dst.tolist()  # type: ignore[no-any-return]

    def at_first(self) -> list[dict[int, int]]:
        """Return the initial holder of each demand, its source."""
        return [{one.source: 0} for one in self.demands]

    def tail(self, node: int, one: Demand) -> int:
        """Return the lead time for a useful chunk at a node."""
        return min(self.tails[node][goal] for goal in one.goals)

    @cached_property
    def ways(self) -> list[list[tuple[int, int]]]:
        """Outgoing links of each node with their ends, without self-loops."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(self.topology.nodes)]
        for link, (u, v, _) in enumerate(self.topology.links()):
            if u != v:
                found[u].append((link, v))
        return found

    def earliest(self, link: int, since: int, free: Mapping[int, int]) -> int:
        """Return the earliest start on a link after an arrival."""
        return max(since, self.opens[link], *(free.get(port, 0) - offset for port, offset, _ in self.ports[link]))

    def occupy(self, link: int, start: int, free: dict[int, int]) -> int:
        """Occupy the ports of a link and return the arrival time."""
        for port, offset, hold in self.ports[link]:
            free[port] = start + offset + hold
        return start + self.lasts[link]

    def ending(self, sends: list[Send]) -> int:
        """Return the finish time of all sends."""
        return max((one.end + self.shuts[one.link] for one in sends), default=0)

    def plan(self, sends: list[Send]) -> Flow:
        """Return sends as a forward plan of the requested collective."""
        rows = [(one.link, self.chunks[one.demand], one.end * self.grain) for one in sends]
        columns = Sends(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)
        found = make_timed(self.network, self.collective, self.units, self.size, columns)
        if not self.backwards:
            return found
        late = self.ending(sends) * self.grain - int(found.end.max(initial=0))
        found = reverse(found)
        return found.having(start=found.start + late, end=found.end + late) if late else found

    def sends(self, timed: Flow) -> list[Send] | None:
        """Return the sends of a plan, or None if not expressible.

        None if it sends several chunks at once or at other times, such as one in which partial sums overtake each
        other in a switch, and one stops there for the other.
        """
        if timed.units != self.units or np.any(timed.hi - timed.lo != 1):
            return None
        # Forwards, as the verifier joins them: backwards sums that overtake each other in a switch would be mixed up.
        joined = join_links(timed)
        here = joined.some(np.arange(len(joined)))
        here = reverse(here) if self.backwards else here
        first: dict[int, int] = {}
        for number, one in enumerate(self.demands):
            first.setdefault(one.block, number)
        link = self.topology.link_index(here.src, here.dst)
        unit = timed.timing.tick / self.tick
        starts, ends = ([time * unit for time in column.tolist()] for column in (here.start, here.end))
        if any(time.denominator > 1 for time in starts) or np.any(link < 0):
            return None
        if any(end - start > self.lasts[at] for start, end, at in zip(starts, ends, link.tolist(), strict=True)):
            return None
        return [
            Send(first[block] + lo, at, int(start), math.ceil(end))
            for block, lo, at, start, end in zip(
                here.block.tolist(), here.lo.tolist(), link.tolist(), starts, ends, strict=True
            )
        ]

    def gap(self, link: int, then: int) -> int | None:
        """Return the delay that keeps a chunk behind its copy.

        What a switch passes on it passes on in turn, so a plan does not say which of a block is which where one
        overtakes another. None if neither overtakes the other, whenever they start.
        """
        grain, other = self.grain, self._bends[then]
        apart = [
            (into - other[switch][0], out - other[switch][1])
            for switch, (into, out) in self._bends[link].items()
            if switch in other
        ]
        most = [max(pair) for pair in apart if pair[0] != pair[1]]
        return max(most) // grain + 1 if most else None

    @cached_property
    def _bends(self) -> list[dict[int, tuple[int, int]]]:
        """Arrival and departure offsets at the switches of each link.

        In ticks of the network, by the starts of sends forwards, which are the ends backwards: they count for turns.
        """
        routes = self.network.routes
        if routes is None:
            return [{} for _ in self.lasts]
        dst = routes.topology.dst
        ends = (routes.offset + routes.takes if self.backwards else routes.offset).tolist()
        return [
            {int(dst[routes.link[at]]): (ends[at], ends[at + 1]) for at in range(begin, end - 1)}
            for begin, end in itertools.pairwise(routes.start.tolist())
        ]

    @cached_property
    def place(self) -> Topology:
        """Network in the forward direction, with all links of switches."""
        return self.network.wires.transpose() if self.backwards else self.network.wires


class NumberedDemand(NamedTuple):
    """Network (unwound if requested), links and collective of a request."""

    where: Topology | Fabric
    topology: Topology
    collective: Collective


def collect_demand(request: Request, *, forwarding: bool = False) -> NumberedDemand:
    """Return the network, links and numbered collective of a request.

    With ``forwarding`` the nodes of other groups may pass on what groups send.
    """
    where, collective = request.unwound, request.collective
    topology = where.topology if isinstance(where, Fabric) else where
    if request.group not in {"", ()}:
        if request.without or request.unwind is not None:
            raise ParameterError(
                "--group cannot be combined with --fail or --set unwind=: groups are of all nodes and switches"
            )
        if request.others == "forward" and not forwarding:
            raise ParameterError(
                "--forward cannot be combined with --group: groups send over links of their own; remove one"
            )
        if len(set(map(len, request.among.groups or ()))) > 1:
            raise ParameterError("groups of different sizes have blocks of different sizes; use --traffic for each")
        return NumberedDemand(where, topology, request.among)
    if request.root is None or not collective.rooted:
        return NumberedDemand(where, topology, collective)
    # The nodes of a topology are called by their numbers; of one that is not regular there is no fabric to ask.
    root = where.number(str(request.root_name)) if isinstance(where, Fabric) else request.root_number
    return NumberedDemand(where, topology, collective.at(root))


def setting_of(request: Request) -> tuple[Topology | Fabric, Setting]:
    """Return the network and the setting of a request."""
    where, topology, collective = collect_demand(request)
    units, ready = request.chunks or 1, request.ready_unwound
    return where, Setting.of(
        topology,
        collective,
        request.link_times(where, collective, units),
        units=units,
        size=request.size,
        overlap=request.overlap,
        ready=ready if any(ready) else (),
    )


def demands_of(collective: Collective, topology: Topology) -> tuple[Demand, ...]:
    """Return a copying collective's demands, without blocks no other node wants."""
    return _demands_and_chunks(collective, topology, 1)[0]


def _demands_and_chunks(
    collective: Collective, topology: Topology, units: int
) -> tuple[tuple[Demand, ...], tuple[int, ...]]:
    """Return one demand per chunk, and the chunk numbers."""
    (movement,) = collective.movements
    members = collective.members(topology.nodes, topology.switches)
    blocks = collective.blocks(members, topology.nodes)
    source, goal = collective.places(movement, blocks, topology.nodes)
    team = collective.teams(topology.nodes, topology.switches)
    demands: list[Demand] = []
    chunks: list[int] = []
    for place, (block, start, end) in enumerate(zip(blocks.tolist(), source.tolist(), goal.tolist(), strict=True)):
        everyone = members[team[members] == team[start]].tolist()
        goals = tuple(node for node in (everyone if end == EVERYONE else [end]) if node != start)
        if goals:
            demands += [Demand(block, start, goals)] * units
            chunks += range(place * units, (place + 1) * units)
    return tuple(demands), tuple(chunks)


def cuts_of(nodes: Collection[int]) -> Iterator[frozenset[int]]:
    """Yield candidate cuts: all of few nodes, otherwise single nodes."""
    sizes = range(1, len(nodes)) if len(nodes) <= MAX_CUT else (1, len(nodes) - 1)
    for size in sizes:
        yield from map(frozenset, itertools.combinations(nodes, size))


def cross_cuts(program: Discrete, one: Demand, nodes: Collection[int], sends: list[tuple[int, int, int]]) -> None:
    """Require a send across each cut between source and goal.

    It follows from other rows, but not for the solver's relaxation.
    """
    for cut in cuts_of(nodes):
        if one.source in cut and not cut.issuperset(one.goals):
            program.require_any(flag for u, v, flag in sends if u in cut and v not in cut)


def hops(topology: Topology) -> list[list[int]]:
    """Return link distances between all nodes; ``FAR`` if unreachable."""
    found = (distances(topology, node) for node in range(topology.nodes))
    return [[FAR if hops < 0 else hops for hops in row.tolist()] for row in found]


def complete(setting: Setting, *, crowded: bool = True) -> list[Send]:
    """Return sends that meet all demands over currently fastest paths.

    If not ``crowded``, as if every chunk had all links for itself: the sends are then no plan before
    :func:`order_sends` has given them times.
    """
    held, free, apart = setting.at_first(), dict[int, int](), setting.heads
    # The nearest first, so that what arrives early can be sent on; who has far to go is then not far from a holder.
    lacking = sorted(
        (apart[one.source][goal], number, goal) for number, one in enumerate(setting.demands) for goal in one.goals
    )
    sends = []
    for _, number, goal in lacking:
        for link, node in _quickest(setting, held[number], free, goal):
            start = setting.earliest(link, held[number][setting.src[link]], free)
            held[number][node] = setting.occupy(link, start, free if crowded else {})
            sends.append(Send(number, link, start, held[number][node]))
    return sends


def order_sends(setting: Setting, sends: list[Send]) -> list[Send]:
    """Return sends in start order, at times of free links."""
    held, free, done = setting.at_first(), dict[int, int](), []
    for one in sorted(sends, key=lambda send: (send.start, send.link)):
        start = setting.earliest(one.link, held[one.demand][setting.src[one.link]], free)
        end = held[one.demand][setting.dst[one.link]] = setting.occupy(one.link, start, free)
        done.append(Send(one.demand, one.link, start, end))
    return done


def _quickest(setting: Setting, held: dict[int, int], free: dict[int, int], goal: int) -> list[tuple[int, int]]:
    """Return the links of the fastest path to a goal."""
    _, before = _earliest(
        setting.ways, held, lambda link, time: setting.earliest(link, time, free) + setting.lasts[link], goal
    )
    way, node = [], goal
    while node in before:
        link, earlier = before[node]
        way.append((link, node))
        node = earlier
    if node not in held:
        raise DisconnectedError(f"node {goal} cannot be reached, so the collective does not run on this topology")
    return way[::-1]


def write_flow(setting: Setting, sends: list[Send]) -> Flow:
    """Return sends from node to node, over switches or not, that the verifier accepts."""
    timed = join_links(setting.plan(sends))
    report = check_movement(setting.place, timed)
    if not report.ok:
        raise ScheduleError(
            f"the solver's answer is not a plan, which is its fault or ours:\n{report.format(timed.collective)}"
        )
    return timed


def lean(setting: Setting, sends: list[Send]) -> list[Send]:
    """Return the needed sends as early as their order allows.

    Of the deliveries of a chunk to a node the first counts, and none that nobody wants or sends on. Where a port is not
    used in the order in which sends start, that order can take longer; they are left as they are then. In what is
    returned no chunk overtakes the same one in a switch (:meth:`Setting.gap`).
    """
    src, dst = setting.src, setting.dst
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
    held = setting.at_first()
    under: list[list[Send]] = [[] for _ in setting.demands]
    free: dict[int, int] = {}
    early = []
    for one in sorted(needed, key=lambda send: (send.start, send.link)):
        gaps = ((other.start, setting.gap(other.link, one.link)) for other in under[one.demand])
        since = max([held[one.demand][src[one.link]], *(start + gap for start, gap in gaps if gap is not None)])
        start = setting.earliest(one.link, since, free)
        end = held[one.demand][dst[one.link]] = setting.occupy(one.link, start, free)
        early.append(Send(one.demand, one.link, start, end))
        under[one.demand].append(early[-1])
    as_was = sorted(needed)
    slower = setting.ending(early) > setting.ending(as_was)
    return as_was if slower and not _overtaking(setting, as_was) else early


def quick_sends(setting: Setting, known: list[Send] | None = None) -> list[Send]:
    """Return needed sends over quickest paths, or the known ones if these are faster."""
    tried = [complete(setting)] if known is None else [complete(setting), known]
    return min((lean(setting, one) for one in tried), key=setting.ending)


def _overtaking(setting: Setting, sends: list[Send]) -> bool:
    """Return whether partial sums of a block overtake in a switch."""
    for one, other in itertools.combinations(sends, 2):
        if one.demand == other.demand:
            gap, back = setting.gap(one.link, other.link), setting.gap(other.link, one.link)
            later = other.start - one.start
            if gap is not None and back is not None and -back < later < gap:
                return True
    return False


def _earliest(
    ways: list[list[tuple[int, int]]],
    since: Mapping[int, int],
    arrival: Callable[[int, int], int],
    goal: int | None = None,
) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """Return the earliest arrivals at nodes or a goal.

    ``arrival`` says when it is over a link that it takes from a time on. The link and the node that it comes from are
    returned, too.
    """
    best, before = dict(since), dict[int, tuple[int, int]]()
    heap = [(time, node) for node, time in since.items()]
    heapq.heapify(heap)
    while heap:
        time, node = heapq.heappop(heap)
        if time > best[node]:
            continue
        if node == goal:
            break
        for link, other in ways[node]:
            there = arrival(link, time)
            if there < best.get(other, FAR):
                best[other] = there
                before[other] = link, node
                heapq.heappush(heap, (there, other))
    return best, before


def _shortest(
    ways: list[list[tuple[int, int]]], lasts: tuple[int, ...], opens: tuple[int, ...], source: int
) -> list[int]:
    """Return the earliest arrival at each node from a source."""
    best, _ = _earliest(ways, {source: 0}, lambda link, time: max(time, opens[link]) + lasts[link])
    return [best.get(node, FAR) for node in range(len(ways))]
