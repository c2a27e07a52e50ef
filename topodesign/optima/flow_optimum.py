"""The best all-to-all, scatter or gather of a fabric: how fast it can be, what binds, and the least cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topodesign.base.claims import Among, Claim, Of
from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, Keys, key
from topodesign.base.errors import InfeasibleError
from topodesign.base.records import TextResult
from topodesign.base.units import format_rate, format_time
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.fabrics.wording import (
    FABRIC_KEYS,
    change_in_words,
    in_columns,
    links_in_words,
    names_in_words,
    with_switches,
)
from topodesign.pricing.all_to_all import exact_where_alike
from topodesign.solve.flows.program import (
    FEW_COLUMNS,
    DemandFlow,
    TrafficTime,
    UnreachableError,
    demand_flow,
    traffic_time,
)
from topodesign.topology.classes import Limit
from topodesign.topology.topology import IntArray, Topology

FLOWS = (ALL_TO_ALL, SCATTER, GATHER)  # collectives that neither copy nor add
_MOST_CUTS = 64  # that are tried for one that binds
_MOST_LINKS = 8  # of a bottleneck that are shown one by one


def flow_optimum(fabric: Fabric, collective: Collective, *, costs: Mapping[str, Fraction] | None = None) -> FlowOptimum:
    """Find how fast a collective can be that neither copies nor adds, and what keeps it from being faster.

    * ``fabric``: what takes part; all vertices pass data on.
    * ``collective``: one of ``FLOWS``, with its root.
    * ``costs``: of a unit of data on every class of links; the cost of the cheapest of the fastest flows is found then.
    """
    fabric.check_unshared(f"what binds the flow of the {collective}")
    flow = _fastest(fabric, collective, costs or {})
    root = None if collective.root is None else fabric.names[collective.root]
    return FlowOptimum(fabric, collective, flow, root, costs)


@dataclass(frozen=True, eq=False)
class FastestFlow:
    """The time of a flow that is as fast as any on a fabric, with what proves it."""

    time: Fraction  # largest load of a link over its capacity
    priced: IntArray  # places, in ``fabric.links()``, of the links whose prices prove it; they are full
    # how much has to leave a side, of which it says for every vertex whether it is inside; shape ``(nodes,)``
    crossing: Callable[[NDArray[np.bool_]], int]
    cost: Fraction | None = None  # the least of those as fast, if there are costs


def _fastest(fabric: Fabric, collective: Collective, costs: Mapping[str, Fraction]) -> FastestFlow:
    """Return how fast a flow can be, in the cheapest way that is exact."""
    topology = fabric.topology
    if collective.like(ALL_TO_ALL) and not costs and not topology.switches and not topology.describe_unreached():
        even = exact_where_alike(topology)
        if even is not None:
            time = even.lower * topology.nodes / topology.degree
            return FastestFlow(
                time,
                np.flatnonzero(even.link_prices > 0),
                lambda inside: int(inside.sum()) * int((~inside).sum()),
            )
    flow = best_flow(fabric, collective, costs)
    back = collective.like(GATHER)
    priced = flow.binding()
    if back:
        priced = np.sort(topology.link_index(flow.topology.dst[priced], flow.topology.src[priced]))

    def crossing(inside: NDArray[np.bool_]) -> int:
        side = ~inside if back else inside
        return int(flow.demand[side[flow.sources]][:, ~side].sum())

    return FastestFlow(flow.time, priced, crossing, flow.cost)


@dataclass(frozen=True, slots=True)
class BindingLink(Declared):
    """A link of the bottleneck."""

    src: str
    dst: str
    bandwidth: Fraction
    kind: str

    KEYS = (
        key("from=src", "A node or switch."),
        key("to=dst", "A node or switch."),
        key("bandwidth", "Bytes per second."),
        key("class=kind", "The class that the fabric gives it; nothing if none."),
    )
    SHARED = "binding_link"


@dataclass(frozen=True, slots=True)
class Doubled(Declared):
    """What more bandwidth would buy."""

    kind: str
    bandwidth: Fraction
    gain: Fraction

    KEYS: ClassVar[Keys] = (
        key("class=kind", "The class of links."),
        key("doubled=bandwidth", "Bytes per second with these links twice as fast."),
        key("doubled_gain=float(gain)", "That over what it is now, less 1."),
    )


@dataclass(frozen=True, slots=True)
class LeastCost(Declared):
    """The least cost at that speed."""

    of_classes: Mapping[str, Fraction]
    total: Fraction

    KEYS = (
        key("of_classes", "What was given."),
        key("total", "For a unit of data in a block."),
        key("total_float=float(total)", "The same, rounded."),
    )


@dataclass(frozen=True, repr=False)
class FlowOptimum(TextResult):
    """How fast a collective can be that neither copies nor adds, and what keeps it from being faster.

    * ``flow``: what is known of the flow: in units of the fabric's, a block having one.
    * ``before``: the best algorithmic bandwidth of the whole fabric, where only a part of it is left and the whole had
      one.
    """

    fabric: Fabric  # what takes part
    collective: Collective  # all-to-all, scatter or gather
    flow: FastestFlow
    root: str | None = None  # name of the node of a scatter or gather
    costs: Mapping[str, Fraction] | None = None  # of a unit of data on links of each class, if they were given
    before: Fraction | None = None

    KEYS = (
        *FABRIC_KEYS,
        key("collective=collective.name", "Whose bottleneck is told."),
        key("root", "Of a scatter or gather; null for others."),
        key("k", "A flow has no trees.", kind=type(None), value=lambda _: None),
        "inv_x_star=inverse_rate *rate",
        key("bound=bandwidth", "Bytes per second that none of what proof_covers names exceeds."),
        key("proven", "Whether the bandwidth reaches the bound.", kind=bool, value=lambda _: True),
        key("proof_covers", "What the bound holds for.", kind=str, value=lambda _: Among.FLOWS.several),
        "claims bottleneck_cut bottleneck_links bottleneck=in_words sensitivity",
        key("cost?=least_cost", "With --cost: the least cost at that speed."),
        key("before?=rate_before", "With --without: before the failure."),
    )
    ROW = "collective=collective.name algorithmic_bandwidth=bandwidth inv_x_star=inverse_rate cost?"

    @property
    def inverse_rate(self) -> Fraction:
        """Seconds that a byte of a block takes at best: 1/x*."""
        return self.flow.time / self.fabric.unit

    @property
    def bandwidth(self) -> Fraction:
        """Algorithmic bandwidth: bytes of the whole data of a node, its own block included, per second."""
        return self.collective.shards(len(self.fabric.compute)) / self.inverse_rate

    @property
    def cost(self) -> Fraction | None:
        """Cost of all data, per byte of a block: the least of all flows that are as fast."""
        scale = _scale(self.costs or {})
        return None if self.flow.cost is None else self.flow.cost / scale

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.bandwidth)

    @property
    def rate_before(self) -> Rate | None:
        """That of the whole fabric."""
        return None if self.before is None else Rate(self.before)

    @property
    def least_cost(self) -> LeastCost | None:
        """The least cost at that speed, if costs were given."""
        return None if self.cost is None else LeastCost(self.costs or {}, self.cost)

    @property
    def bottleneck_cut(self) -> list[str]:
        """Nodes and switches on the sending side of the tightest cut."""
        return [self.fabric.names[vertex] for vertex in sorted(self.cut)]

    @property
    def bottleneck_links(self) -> list[BindingLink]:
        """The links out of it."""
        return [BindingLink(*link) for link in self.links()]

    @property
    def sensitivity(self) -> list[Doubled]:
        """What more bandwidth would buy."""
        return [Doubled(kind, doubled, doubled / self.bandwidth - 1) for kind, doubled in self.upgrades.items()]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is said of the bandwidth, and of the cost: the prices of the links prove both."""
        fast = Claim.to_bound(Of.RATE, self.bandwidth, Among.FLOWS, self.bandwidth)
        if self.cost is None:
            return (fast,)
        return fast, Claim.to_bound(Of.COST, self.cost, Among.AS_FAST, self.cost)

    @cached_property
    def cut(self) -> frozenset[int]:
        """Vertices on the sending side of a cut that alone proves the optimum; empty if none was found."""
        return _cut(self.fabric.topology, self.flow)

    @cached_property
    def binding(self) -> tuple[int, ...]:
        """Places, in ``fabric.links()``, of the links that bind: those out of the cut, or else all with a price."""
        topology = self.fabric.topology
        if self.cut:
            inside = np.isin(np.arange(topology.nodes), list(self.cut))
            return tuple(np.flatnonzero(inside[topology.src] & ~inside[topology.dst]).tolist())
        return tuple(self.flow.priced.tolist())

    @cached_property
    def _links(self) -> list[FabricLink]:
        every = self.fabric.links()
        return [every[place] for place in self.binding]

    def links(self) -> list[FabricLink]:
        """Return the links that bind."""
        return self._links

    @cached_property
    def upgrades(self) -> dict[str, Fraction]:
        """Algorithmic bandwidth with twice the bandwidth on all links of a class, for each class."""
        if len(set(self.fabric.classes)) == 1 and not self.fabric.shared:  # all links: everything takes half the time
            return {self.fabric.classes[0]: 2 * self.bandwidth}
        return {
            kind: self.collective.shards(len(self.fabric.compute))
            * self.fabric.unit
            / _fastest(_doubled(self.fabric, kind), self.collective, {}).time
            for kind in dict.fromkeys(self.fabric.classes)
        }

    def in_words(self) -> str:
        """Which links bind and what has to cross them, in words, as the side with fewer nodes sees it."""
        fabric, links = self.fabric, self.links()
        if not self.cut:
            rate = sum((link.bandwidth for link in links), Fraction(0))
            return (
                f"no cut alone: {links_in_words(links)}, {format_rate(rate)} in all, cannot bring more blocks to where "
                "they have to go, over whatever ways"
            )
        number = self.flow.crossing(np.isin(np.arange(len(fabric.names)), list(self.cut)))
        said, *_ = across(fabric, self.cut, links)
        return f"{said} {f'{number} blocks' if number > 1 else 'block'}"

    def heading(self) -> str:
        """Return the throughput."""
        return f"{self.collective} on {self.fabric.name}: {format_rate(self.bandwidth)}"

    def __str__(self) -> str:
        links = self.links()
        time = format_time(self.inverse_rate * 10**9)
        lines = [
            str(self.fabric),
            "",
            f"  {self.collective}  {format_rate(self.bandwidth)}, 1/x* = {time} per GB of block",
        ]
        if self.before is not None:
            lines += ["", f"before: {format_rate(self.before)}; {change_in_words(self.bandwidth, self.before)} now"]
        lines += ["", f"bottleneck of {self.collective}", f"  {self.in_words()}"]
        shown = [[f"  {k.src} -> {k.dst}", format_rate(k.bandwidth), k.kind] for k in links[:_MOST_LINKS]]
        lines += in_columns(shown)
        lines += [f"    and {len(links) - _MOST_LINKS} more"] if len(links) > _MOST_LINKS else []
        lines += ["", "more bandwidth on all links of a class"]
        lines += in_columns(
            [
                [kind or "links of no class", f"doubled {change_in_words(doubled, self.bandwidth)}"]
                for kind, doubled in self.upgrades.items()
            ]
        )
        if self.cost is not None:
            unit = f"{float(self.cost):.12g}"
            lines += ["", f"cost at that speed: {unit} per unit of data in a block, {self.claims[-1].verdict}"]
        return "\n".join(lines)


def across(fabric: Fabric, cut: frozenset[int], links: Sequence[FabricLink]) -> tuple[str, bool, list[int]]:
    """Say what links out of a cut have to do, as the side with fewer nodes sees it.

    And whether that is the sending side, and the nodes of it.
    """
    sending = [node for node in fabric.compute if node in cut]
    receiving = [node for node in fabric.compute if node not in cut]
    out = (len(sending), len(cut)) < (len(receiving), len(fabric.names) - len(cut))
    side = sending if out else receiving
    where = names_in_words(fabric, side) + with_switches(fabric, side, [k.src if out else k.dst for k in links])
    rate = format_rate(sum((link.bandwidth for link in links), Fraction(0)))
    together, has = (" together", "have") if len(links) > 1 else ("", "has")
    said = f"{links_in_words(links)} of {where}, {rate}{together}, {has} to {'send out' if out else 'bring in'}"
    return said, out, side


def best_flow(
    fabric: Fabric, collective: Collective, costs: Mapping[str, Fraction], *, inside: bool = False
) -> DemandFlow:
    """Return the flow of least time, and of those the cheapest, if there are costs.

    * ``fabric``: where; limits that links share are kept.
    * ``collective``: one of ``FLOWS``, with its root and groups. Demands are in shards
      (:meth:`~topodesign.collectives.collective.Collective.shares`). Of a gather the flow is that of the scatter on the
      links turned round.
    * ``costs``: of every class of links; nothing if they do not matter.
    * ``inside``: whether nodes of other groups, and of none, pass nothing on.
    """
    topology, nodes = fabric.topology, len(fabric.names)
    members = collective.members(nodes, topology.switches)
    blocks = collective.blocks(members, nodes)
    starts, goals = collective.places(collective.movements[0], blocks, nodes)
    share, _ = collective.shares(blocks, nodes, len(members))
    scale = _scale(costs)
    prices = np.array([int(costs.get(kind, 0) * scale) for kind in fabric.classes], dtype=np.int64)
    place = np.arange(len(topology.src))
    if collective.like(GATHER):
        starts, goals = goals, starts
        order = np.lexsort((topology.src, topology.dst))
        prices, place[order] = prices[order], place.copy()
        topology = topology.transpose()
    limits = fabric_limits(fabric, place)
    sources, row = np.unique(starts, return_inverse=True)
    demand = np.zeros((len(sources), nodes), dtype=np.int64)
    demand[row, goals] = share
    allowed = None
    if inside:
        team = collective.teams(nodes, topology.switches)
        allowed = team[sources][:, None] == team
        allowed[:, list(topology.switches)] = True
    try:
        return demand_flow(
            topology, sources, demand, prices.tolist() if costs else None, allowed=allowed, limits=limits
        )
    except UnreachableError as error:
        ends = (error.goal, error.source) if collective.like(GATHER) else (error.source, error.goal)
        source, goal = (fabric.names[end] for end in ends)
        hint = " over its own group; --others forward lets them send through other nodes" if inside else ""
        raise InfeasibleError(f"no collective exists: there is no way from {source} to {goal}{hint}") from None


def _scale(costs: Mapping[str, Fraction]) -> int:
    """Return the number that makes all costs whole."""
    return math.lcm(*(cost.denominator for cost in costs.values())) if costs else 1


def _doubled(fabric: Fabric, kind: str) -> Fabric:
    topology = fabric.topology
    more = np.array([1 + (one == kind) for one in fabric.classes], dtype=np.int64)
    wider = Topology.from_arrays(
        topology.nodes, topology.src, topology.dst, topology.capacity * more, switches=topology.switches
    )
    return replace(fabric, topology=wider)


def _cut(topology: Topology, flow: FastestFlow) -> frozenset[int]:
    """Return a cut that binds as all links do, if one of those that links with a price make does; nothing if none."""
    priced = flow.priced
    open_ = np.ones(len(topology.src), dtype=np.bool_)
    open_[priced] = False
    tail, head = topology.src[open_], topology.dst[open_]
    sides: dict[int, tuple[frozenset[int], frozenset[int]]] = {}  # what each vertex reaches, and what reaches it
    tried: set[frozenset[int]] = set()

    def around(vertex: int) -> tuple[frozenset[int], frozenset[int]]:
        if vertex not in sides:
            both = _reach(vertex, tail, head), _reach(vertex, head, tail)
            sides.update(dict.fromkeys(both[0] & both[1], both))  # those that reach each other reach the same
        return sides[vertex]

    every = frozenset(range(topology.nodes))
    for at in priced.tolist():
        for side in (around(int(topology.src[at]))[0], every - around(int(topology.dst[at]))[1]):
            if side not in tried and _ratio(topology, flow, side) == flow.time:
                return side
            tried.add(side)
        if len(tried) > _MOST_CUTS:
            break
    return frozenset()


def _reach(start: int, tail: IntArray, head: IntArray) -> frozenset[int]:
    """Return the vertices to which there is a way."""
    reached = np.zeros(max(start, int(tail.max(initial=0)), int(head.max(initial=0))) + 1, dtype=np.bool_)
    reached[start] = True
    while np.any(new := reached[tail] & ~reached[head]):
        reached[head[new]] = True
    return frozenset(np.flatnonzero(reached).tolist())


def _ratio(topology: Topology, flow: FastestFlow, side: frozenset[int]) -> Fraction:
    """Return what has to leave a side over what its links carry: a bound on the time."""
    inside = np.isin(np.arange(topology.nodes), list(side))
    room = int(topology.capacity[inside[topology.src] & ~inside[topology.dst]].sum())
    return Fraction(flow.crossing(inside), room) if room else Fraction(0)


def fabric_limits(fabric: Fabric, place: IntArray | None = None) -> list[Limit]:
    """Return the limits that links share in units of capacity; links have their own numbers, or those of ``place``."""
    every = np.arange(len(fabric.topology.src)) if place is None else place
    return [
        Limit(tuple(every[list(links)].tolist()), limit.bandwidth / fabric.unit)
        for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
    ]


def traffic_on(fabric: Fabric, demand: IntArray, *, most: int = FEW_COLUMNS) -> TrafficTime:
    """Return what :func:`traffic_time` does on a fabric; the error names what cannot be reached."""
    try:
        return traffic_time(fabric.topology, demand, limits=fabric_limits(fabric), most=most)
    except UnreachableError as error:
        names = fabric.names
        raise InfeasibleError(f"{names[error.goal]} cannot be reached from {names[error.source]}") from None
