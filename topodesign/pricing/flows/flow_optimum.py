"""The best all-to-all, scatter or gather of a fabric: how fast it can be, what binds, and the least cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

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
from topodesign.pricing.flows.classes import Limit
from topodesign.pricing.flows.demands import DemandFlow, UnreachableError, demand_flow
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
    flow = best_flow(fabric, collective, costs or {})
    root = None if collective.root is None else fabric.names[collective.root]
    return FlowOptimum(fabric, collective, flow, root, costs)


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

    * ``flow``: the flow, with its proof: in units of the fabric's, a block having one; of a gather on the links turned
      round.
    * ``before``: the best algorithmic bandwidth of the whole fabric, where only a part of it is left and the whole had
      one.
    """

    fabric: Fabric  # what takes part
    collective: Collective  # all-to-all, scatter or gather
    flow: DemandFlow
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
        side = _cut(self.flow)
        if side and self.collective.like(GATHER):
            return frozenset(range(len(self.fabric.names))) - side
        return side

    @cached_property
    def binding(self) -> tuple[int, ...]:
        """Places, in ``fabric.links()``, of the links that bind: those out of the cut, or else all with a price."""
        topology = self.fabric.topology
        if self.cut:
            inside = np.isin(np.arange(topology.nodes), list(self.cut))
            return tuple(np.flatnonzero(inside[topology.src] & ~inside[topology.dst]).tolist())
        flow, priced = self.flow.topology, self.flow.binding()
        ends = flow.src[priced], flow.dst[priced]
        return tuple(np.sort(topology.link_index(*(ends[::-1] if self.collective.like(GATHER) else ends))).tolist())

    def links(self) -> list[FabricLink]:
        """Return the links that bind."""
        every = self.fabric.links()
        return [every[place] for place in self.binding]

    @cached_property
    def upgrades(self) -> dict[str, Fraction]:
        """Algorithmic bandwidth with twice the bandwidth on all links of a class, for each class."""
        if len(set(self.fabric.classes)) == 1 and not self.fabric.shared:  # all links: everything takes half the time
            return {self.fabric.classes[0]: 2 * self.bandwidth}
        return {
            kind: self.collective.shards(len(self.fabric.compute))
            * self.fabric.unit
            / best_flow(_doubled(self.fabric, kind), self.collective, {}).time
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
        whole = frozenset(range(len(fabric.names)))
        number = _crossing(self.flow, whole - self.cut if self.collective.like(GATHER) else self.cut)
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
    limits = [
        Limit(tuple(place[list(links)].tolist()), limit.bandwidth / fabric.unit)
        for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
    ]
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


def _cut(flow: DemandFlow) -> frozenset[int]:
    """Return a cut that binds as all links do, if one of those that links with a price make does; nothing if none."""
    topology, priced = flow.topology, flow.binding()
    open_ = np.ones(len(topology.src), dtype=np.bool_)
    open_[priced] = False
    tail, head = topology.src[open_], topology.dst[open_]
    every = frozenset(range(topology.nodes))
    tried: set[frozenset[int]] = set()
    for at in priced.tolist():
        for side in (_reach(int(topology.src[at]), tail, head), every - _reach(int(topology.dst[at]), head, tail)):
            if side not in tried and _ratio(flow, side) == flow.time:
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


def _ratio(flow: DemandFlow, side: frozenset[int]) -> Fraction:
    """Return what has to leave a side over what its links carry: a bound on the time."""
    topology = flow.topology
    inside = np.isin(np.arange(topology.nodes), list(side))
    room = int(topology.capacity[inside[topology.src] & ~inside[topology.dst]].sum())
    return Fraction(_crossing(flow, side), room) if room else Fraction(0)


def _crossing(flow: DemandFlow, side: frozenset[int]) -> int:
    inside = np.isin(np.arange(flow.topology.nodes), list(side))
    return int(flow.demand[inside[flow.sources]][:, ~inside].sum())
