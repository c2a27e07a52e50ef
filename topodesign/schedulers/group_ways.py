"""Costs of simple algorithms for collectives in groups.

Ways are *direct*, each member to each other, and a *ring* through the members; of groups in a topology the best *inner
trees*, of a group of all its nodes its known schedules, and of all nodes of a fabric the *trees* of ForestColl in
pipelines of some numbers of chunks. All groups run at once; what they send directly or in rings is routed over all
links so that the fullest is as empty as can be. A step takes the latency of the farthest two who send in it. These are
prices of flows; a plan needs whole chunks and may take longer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.base.latency import Latency
from topodesign.collectives import as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place
from topodesign.optima.flows import traffic_on
from topodesign.optima.forest.schedule import forest_schedule
from topodesign.optima.group_price import in_turn_of
from topodesign.plans.time.chunks import simulate_chunks
from topodesign.schedulers.price import price_all_to_all, price_plans
from topodesign.solve.flows.program import TrafficTime
from topodesign.topology.topology import IntArray, Topology

_MAX_OF_TREES = 64  # nodes of a fabric whose trees are packed in a second or so
_CHUNKS = 6  # numbers of chunks of a pipeline that are looked at: 1, 4, 16 and so on
_MAX_INSIDE = 32  # members of a group up to which trees inside it are looked for
_HALVES = {"allreduce": 2, "allgather": 1, "reduce-scatter": 1, "exchange": 2}


@dataclass(frozen=True)
class Way:
    """Algorithm for a collective, with a lazy rate.

    * ``latency``: seconds, whatever the size.
    * ``least_rate``: seconds for each byte of M that it does not go below.
    * ``find_rate``: returns those that it takes.
    """

    name: str
    latency: Fraction
    least_rate: Fraction
    find_rate: Callable[[], Fraction] = field(repr=False, compare=False)

    @classmethod
    def of_rate(cls, name: str, latency: Fraction, rate: Fraction) -> Way:
        """Return an algorithm with a known rate."""
        return cls(name, latency, rate, lambda: rate)

    @cached_property
    def rate(self) -> Fraction:
        """Seconds per byte of M."""
        return self.find_rate()

    def seconds(self, size: Fraction) -> Fraction:
        """Return the seconds for ``size`` bytes."""
        return self.latency + self.rate * size

    def least_seconds(self, size: Fraction) -> Fraction:
        """Return a lower bound in seconds for ``size`` bytes."""
        return self.latency + self.least_rate * size


@dataclass(frozen=True, slots=True)
class Ways:
    """Algorithms for a collective, with a lower bound."""

    each: tuple[Way, ...]
    least: Way  # a latency and seconds for each byte that are both undercut by nothing

    def best(self, size: Fraction) -> Way:
        """Return the fastest for a size, the first of ties."""
        ahead: tuple[Fraction, int] | None = None
        for place in sorted(range(len(self.each)), key=lambda place: self.each[place].least_seconds(size)):
            if ahead is not None and self.each[place].least_seconds(size) > ahead[0]:
                break
            own = self.each[place].seconds(size), place
            ahead = own if ahead is None else min(ahead, own)
        if ahead is None:
            raise ParameterError("there is no way to do a collective")
        return self.each[ahead[1]]

    def least_seconds(self, size: Fraction) -> Fraction:
        """Return a lower bound in seconds, computing no rates."""
        return min(way.least_seconds(size) for way in self.each)

    def bound(self, size: Fraction) -> Fraction:
        """Return a lower bound in seconds on any algorithm."""
        return max(self.least.latency, self.least.rate * size)


@dataclass(frozen=True, eq=False)
class Wires:
    """Network with cached results about its links."""

    place: Topology | Fabric  # a fabric, or a topology whose nodes have the bandwidth of ``fabric``
    fabric: Fabric  # the same as a fabric
    latency: Latency  # what messages take beside their bytes
    routed: dict[tuple[str, tuple[tuple[int, ...], ...]], TrafficTime] = field(default_factory=dict)
    trees: dict[str, list[Way]] = field(default_factory=dict)

    @classmethod
    def of(cls, place: PlaceLike, latency: Latency, bandwidth: Fraction) -> Wires:
        """Return the network that a value names.

        ``bandwidth`` in bits per second per node is for networks without bandwidths of their own.
        """
        found = as_place(place)
        fabric = as_fabric(found, None if isinstance(found, Fabric) else bandwidth)
        fabric.check_unshared("a training step")
        return cls(found, fabric, latency)

    @cached_property
    def apart(self) -> IntArray:
        """Distances: messages times ``nodes + 1`` plus switches, minimum messages."""
        from scipy.sparse import csr_array  # noqa: PLC0415  heavy
        from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

        links = self.fabric.topology
        weight = np.full(links.nodes, links.nodes + 1)
        weight[list(links.switches)] = 1
        real = links.src != links.dst
        entries = weight[links.src[real]].astype(np.float64), (links.src[real], links.dst[real])
        distance = dijkstra(csr_array(entries, shape=(links.nodes, links.nodes)))
        return np.where(np.isinf(distance), -1, distance).astype(np.int64)

    def step(self, pairs: Sequence[tuple[int, int]], starts: int = 1) -> Fraction:
        """Return the latency of a step, by the farthest sending pair."""
        for u, v in pairs:
            if self.apart[u, v] < 0:
                names = self.fabric.names
                raise InfeasibleError(f"{names[v]} cannot be reached from {names[u]}")
        messages, switches = max(divmod(int(self.apart[u, v]), self.fabric.topology.nodes + 1) for u, v in pairs)
        once = self.latency.of_step(1, 0) * messages + switches * self.latency.hop
        return once + (max(starts, 1) - 1) * self.latency.gap

    def starts(self, node: int, messages: int) -> int:
        """Return the messages that one port of a node starts."""
        links = self.fabric.topology
        out = links.dst[links.src == node]
        return -(-messages // len(out)) if set(out.tolist()) & links.switches else 1

    def flow(self, kind: str, groups: tuple[tuple[int, ...], ...]) -> TrafficTime:
        """Return the routing of a pattern, one unit per pair."""
        if (kind, groups) not in self.routed:
            demand = np.zeros((self.fabric.topology.nodes,) * 2, dtype=np.int64)
            for pairs in (_pairs(kind, group) for group in groups):
                source, goal = np.array(pairs, dtype=np.int64).T
                np.add.at(demand, (source, goal), 1)
            self.routed[kind, groups] = traffic_on(self.fabric, demand)
        return self.routed[kind, groups]

    def load(self, kind: str, groups: tuple[tuple[int, ...], ...]) -> Fraction:
        """Return the seconds for one byte of each pair."""
        return self.flow(kind, groups).time / self.fabric.unit

    def least_load(self, kind: str, groups: tuple[tuple[int, ...], ...]) -> Fraction:
        """Return a lower bound on :meth:`load`; 0 with switches."""
        links = self.fabric.topology
        if links.switches:
            return Fraction(0)
        far = sum(int(self.apart[u, v]) // (links.nodes + 1) for group in groups for u, v in _pairs(kind, group))
        return Fraction(far, int(links.capacity[links.src != links.dst].sum())) / self.fabric.unit


def _pairs(kind: str, group: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the (source, destination) pairs of a pattern in a group."""
    if kind == "exchange":
        return [(group[0], group[-1]), (group[-1], group[0])]
    if kind == "send":  # forwards and backwards at once
        return [pair for u, v in itertools.pairwise(group) for pair in ((u, v), (v, u))]
    if kind == "ring":
        return [pair for u, v in zip(group, (*group[1:], group[0]), strict=True) for pair in ((u, v), (v, u))]
    return [(u, v) for u in group for v in group if u != v]


def ways_of(wires: Wires, collective: str, groups: Sequence[Sequence[int]]) -> Ways:
    """Return the algorithms for a collective in concurrent equal groups.

    * ``wires``: where.
    * ``collective``: ``allreduce``, ``allgather``, ``reduce-scatter``, ``all-to-all``, ``send`` from each member to the
      next and the former at once, or ``exchange``, an allreduce of the first and the last.
    * ``groups``: nodes of each, in the order of their ranks.
    """
    those = tuple(map(tuple, groups))
    many = len(those[0])
    kind = collective if collective in {"send", "exchange"} else "direct"
    far = [pair for group in those for pair in _pairs(kind, group)]
    halves = _HALVES.get(collective, 1)
    messages = many - 1 if kind == "direct" else 1
    starts = max(wires.starts(group[0], messages) for group in those)
    part = Fraction(1) if kind == "send" else Fraction(1, 2 if kind == "exchange" else many)
    least = wires.step(far)
    floor = Fraction(0)
    if collective not in {"all-to-all", "send"}:
        ends = [(group[0], group[-1]) if kind == "exchange" else group for group in those]
        floor = _floor(wires.fabric, halves, ends)

    def routed(name: str, latency: Fraction, share: Fraction, kind: str, members: tuple[tuple[int, ...], ...]) -> Way:
        """Return an algorithm that routes data between pairs."""
        low = max(floor, share * wires.least_load(kind, members))
        return Way(name, latency, low, lambda: share * wires.load(kind, members))

    each = [routed(kind, halves * wires.step(far, starts), halves * part, kind, those)]
    if kind == "direct" and many == len(wires.fabric.compute):
        each += _list_known(wires, collective, least)
    if kind == "direct" and collective != "all-to-all" and many > 2:
        rings = tuple(_in_ring(wires, group) for group in those)
        step = wires.step([pair for group in rings for pair in _pairs("ring", group)])
        share = halves * Fraction(many - 1, 2 * many)
        each.append(routed("ring", halves * (many - 1) * step, share, "ring", rings))
        each += _inner_trees(wires, collective, those)
    if floor:
        return Ways(tuple(each), Way.of_rate("", least, floor))
    low = part * wires.least_load(kind, those)
    return Ways(tuple(each), Way("", least, low, lambda: wires.flow(kind, those).bound / wires.fabric.unit * part))


def time_built_in(
    wires: Wires,
    collective: str,
    groups: Sequence[Sequence[int]],
    size: Fraction,
    joined: Collection[tuple[int, int]],
) -> Fraction | None:
    """Return the seconds of a collective library's built-in algorithm.

    It adds up and copies round rings in the order of the ranks, both ways, and sends an all-to-all straight from each
    to each. It relays nothing: None where two of those ranks are not ``joined``, or it has no such algorithm.
    """
    those = tuple(map(tuple, groups))
    kind = "direct" if collective == "all-to-all" else "ring"
    pairs = [pair for group in those for pair in _pairs(kind, group)]
    number = {node: rank for rank, node in enumerate(wires.fabric.compute)}
    if collective not in {*_HALVES, "all-to-all"} or any((number[u], number[v]) not in joined for u, v in pairs):
        return None
    many = len(those[0])
    if kind == "ring":
        rounds = _HALVES[collective] * (many - 1)
        return rounds * (wires.step(pairs) + size * wires.load(kind, those) / (2 * many))
    starts = max(wires.starts(group[0], many - 1) for group in those)
    return wires.step(pairs, starts) + size * wires.load(kind, those) / many


def _list_known(wires: Wires, collective: str, least: Fraction) -> list[Way]:
    """Return the known schedules of an all-node collective."""
    place = wires.place
    if not isinstance(place, Topology):
        few = collective != "all-to-all" and len(wires.fabric.compute) <= _MAX_OF_TREES
        return _trees(wires, collective) if few else []
    a_byte = 1 / (wires.fabric.unit * place.degree)  # seconds of M/B, for y = 1
    alpha = wires.latency.of_step(1, 0)
    if collective == "all-to-all":
        found = price_all_to_all(place)
        return [] if found.upper is None else [Way.of_rate("best flow", least, found.upper * a_byte)]
    ways = []
    there, back = price_plans(place).plans
    for plans in itertools.product(*{"reduce-scatter": (there,), "allgather": (back,)}.get(collective, (there, back))):
        steps = sum(one.cost.steps for one in plans)
        factor = sum((one.cost.bandwidth for one in plans), Fraction(0))
        methods = dict.fromkeys(one.method for one in plans)
        ways.append(Way.of_rate(", ".join(methods), steps * alpha, factor * a_byte))
    return ways


def _trees(wires: Wires, collective: str) -> list[Way]:
    """Return tree algorithms of a fabric in fixed chunk counts."""
    if collective not in wires.trees:
        schedule = forest_schedule(wires.fabric.topology, collective, names=wires.fabric.names)
        flow, ways = replace(schedule, place=wires.fabric), list[Way]()
        for chunks in (4**at for at in range(_CHUNKS)):
            given = {"latency": wires.latency, "unit": 8 * wires.fabric.unit, "chunks": chunks}
            once, twice = (simulate_chunks(flow, size=Fraction(size), **given).time for size in (1, 2))
            ways.append(Way.of_rate("trees", 2 * once - twice, twice - once))
        wires.trees[collective] = ways
    return wires.trees[collective]


def _inner_trees(wires: Wires, collective: str, groups: tuple[tuple[int, ...], ...]) -> list[Way]:
    """Return the best trees on links inside each group."""
    place, many = wires.place, len(groups[0])
    if not isinstance(place, Topology) or place.switches or not many <= _MAX_INSIDE or many == place.nodes:
        return []
    try:
        factor = in_turn_of(place, as_collective(collective).within(groups, None), "vanish")
    except (InfeasibleError, TooLargeError):
        return []
    latency = _HALVES[collective] * (many - 1) * wires.latency.of_step(1, 0)
    return [Way.of_rate("inner trees", latency, factor / (wires.fabric.unit * place.degree))]


def _in_ring(wires: Wires, group: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shorter ring: in order, or by nearest neighbour."""
    rest, order = list(group[1:]), [group[0]]
    while rest:
        near = min(rest, key=lambda node: int(wires.apart[order[-1], node]))
        rest.remove(near)
        order.append(near)
    return min(group, tuple(order), key=lambda one: sum(int(wires.apart[u, v]) for u, v in _pairs("ring", one)))


def _floor(fabric: Fabric, halves: int, groups: Sequence[Sequence[int]]) -> Fraction:
    """Return a lower bound in seconds per byte received.

    Each member of an allgather or reduce-scatter receives all but its own part, in the mean over the members. In an
    allreduce they receive twice as much (Patarasuk and Yuan, Bandwidth Optimal All-reduce Algorithms, 2009), unless
    switches add and copy: then all of it, once.
    """
    links = fabric.topology
    into = np.zeros(links.nodes, dtype=np.int64)
    real = links.src != links.dst
    np.add.at(into, links.dst[real], links.capacity[real])
    most = Fraction(0)
    for group in groups:
        many = len(group)
        shares = Fraction(halves * (many - 1)) if not fabric.aggregation or halves == 1 else Fraction(many)
        most = max(most, shares / int(into[list(group)].sum()))
    return most / fabric.unit
