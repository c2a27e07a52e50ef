"""The best all-to-all, scatter or gather of a fabric, with its bottleneck."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.claims import Scope
from topodesign.base.errors import InfeasibleError
from topodesign.base.units import format_rate
from topodesign.base.wording import count_noun
from topodesign.collectives import ALL_TO_ALL, GATHER, SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.wording import links_in_words
from topodesign.optima.question import Question
from topodesign.optima.solution import BindingLimit, LeastCost, Solution, describe_side
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
from topodesign.topology.topology import IntArray

FLOWS = (ALL_TO_ALL, SCATTER, GATHER)  # collectives that neither copy nor add
_MAX_CUTS = 64  # that are tried for one that binds


@dataclass(frozen=True)
class FlowSolution(Solution):
    """The throughput of a pure routing collective, with its proof."""

    full: tuple[int, ...]  # places, in ``fabric.links()``, of the links whose prices prove the time
    shared: tuple[int, ...] = ()  # likewise of the limits that links share
    least: Fraction | None = None  # cost per byte of a block of the cheapest of the fastest flows, if costs were given

    METHOD = "flow"
    PIECE = "block"

    @property
    def bound(self) -> Fraction:
        """The bandwidth: prices of links prove that no flow is faster."""
        return self.bandwidth

    @property
    def among(self) -> Scope:
        """The schedules that the bound is about."""
        return Scope.FLOWS

    @property
    def least_cost(self) -> LeastCost | None:
        """The least cost at that speed, if costs were given."""
        return None if self.least is None else LeastCost(self.question.costs, self.least, self.least)

    @property
    def priced(self) -> tuple[int, ...]:
        """Places of the links that have a price in the proof."""
        return self.full

    @property
    def limits(self) -> list[BindingLimit] | None:
        """The shared limits with a price in the proof, or None."""
        every = self.fabric.shared
        return [BindingLimit(every[at].bandwidth, 1, shared=every[at].name) for at in self.shared] if every else None

    def bottleneck_rows(self) -> list[list[str]]:
        """Return a text row for each binding link or limit."""
        limits = [] if self.cut else self.limits or []
        return [*super().bottleneck_rows(), *([f"'{one.shared}'", format_rate(one.bandwidth), ""] for one in limits)]

    @property
    def plan_method(self) -> str:
        """The method of :func:`topodesign.schedule` whose plan reaches the bandwidth."""
        return "fluid"

    def crossing(self, inside: NDArray[np.bool_]) -> int:
        """Return the number of blocks that must leave a side of vertices."""
        compute = np.array(self.fabric.compute)
        sending, receiving = int(inside[compute].sum()), int((~inside[compute]).sum())
        root = self.collective.root
        if root is None:
            return sending * receiving
        if self.collective.like(GATHER):
            return 0 if inside[root] else sending
        return receiving if inside[root] else 0

    def find_cut(self) -> frozenset[int]:
        """Return a cut that binds like all priced links, if one is found."""
        topology = self.fabric.topology
        open_ = np.ones(len(topology.src), dtype=np.bool_)
        open_[list(self.full)] = False
        tail, head = topology.src[open_], topology.dst[open_]
        sides: dict[int, tuple[frozenset[int], frozenset[int]]] = {}  # what each vertex reaches, and what reaches it
        tried: set[frozenset[int]] = set()

        def around(vertex: int) -> tuple[frozenset[int], frozenset[int]]:
            if vertex not in sides:
                both = _reach(vertex, tail, head), _reach(vertex, head, tail)
                sides.update(dict.fromkeys(both[0] & both[1], both))  # those that reach each other reach the same
            return sides[vertex]

        every = frozenset(range(topology.nodes))
        time = self.inverse_rate * self.fabric.unit
        for at in self.full:
            for side in (around(int(topology.src[at]))[0], every - around(int(topology.dst[at]))[1]):
                if side not in tried:
                    inside = np.isin(np.arange(topology.nodes), list(side))
                    room = int(topology.capacity[inside[topology.src] & ~inside[topology.dst]].sum())
                    if room and Fraction(self.crossing(inside), room) == time:
                        return side
                tried.add(side)
            if len(tried) > _MAX_CUTS:
                break
        return frozenset()

    @property
    def bottleneck(self) -> str:
        """The binding links and their load, seen from the smaller side."""
        if not self.cut:
            rates = [link.bandwidth for link in self.links] + [one.bandwidth for one in self.limits or ()]
            what = [links_in_words(self.links)] if self.links else []
            what += [count_noun(len(self.shared), "shared limit")] if self.shared else []
            return (
                f"no cut alone: {' and '.join(what)}, {format_rate(sum(rates, Fraction(0)))} in all, cannot bring more "
                "blocks to where they have to go, over whatever ways"
            )
        number = self.crossing(np.isin(np.arange(len(self.fabric.names)), list(self.cut)))
        said, *_ = describe_side(self.fabric, self.cut, self.links)
        return f"{said} {f'{number} blocks' if number > 1 else 'block'}"

    def solve_again(self, question: Question) -> FlowSolution:
        """Solve another question in the same way."""
        return solve_flow(question)


def solve_flow(question: Question) -> FlowSolution:
    """Compute the throughput of a routing collective, and its least cost.

    All vertices pass data on. An even all-to-all on a topology that is alike from every node has its price from
    :mod:`topodesign.pricing`; all else is a program over classes of links and of limits that they share.
    """
    fabric, collective, costs = question.fabric, question.collective, question.costs
    topology, shards = fabric.topology, collective.shards(len(fabric.compute))
    plain = not (costs or topology.switches or fabric.shared)
    if collective.like(ALL_TO_ALL) and plain and not topology.describe_unreached():
        even = exact_where_alike(topology)
        if even is not None:
            time = even.lower * topology.nodes / topology.degree / fabric.unit
            return FlowSolution(question, shards / time, tuple(np.flatnonzero(even.link_prices > 0).tolist()))
    flow = best_flow(fabric, collective, costs)
    priced = flow.binding()
    if collective.like(GATHER):
        priced = np.sort(topology.link_index(flow.topology.dst[priced], flow.topology.src[priced]))
    least = None if flow.cost is None else flow.cost / _scale(costs)
    shared = tuple(flow.binding_limits().tolist())
    return FlowSolution(question, shards * fabric.unit / flow.time, tuple(priced.tolist()), shared, least)


def best_flow(
    fabric: Fabric, collective: Collective, costs: Mapping[str, Fraction], *, inside: bool = False
) -> DemandFlow:
    """Return the flow of least time, and of least cost among those.

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
    hint = " over its own group; --forward lets them send through other nodes" if inside else ""
    with naming_ends(fabric, hint, turned=collective.like(GATHER)):
        return demand_flow(
            topology, sources, demand, prices.tolist() if costs else None, allowed=allowed, limits=limits
        )


@contextlib.contextmanager
def naming_ends(fabric: Fabric, hint: str = "", *, turned: bool = False) -> Iterator[None]:
    """Name the ends of a flow that has no way; ``turned``: it was looked for backwards."""
    try:
        yield
    except UnreachableError as error:
        ends = (error.goal, error.source) if turned else (error.source, error.goal)
        source, goal = (fabric.names[end] for end in ends)
        raise InfeasibleError(f"no collective exists: there is no way from {source} to {goal}{hint}") from None


def _scale(costs: Mapping[str, Fraction]) -> int:
    """Return the number that makes all costs whole."""
    return math.lcm(*(cost.denominator for cost in costs.values())) if costs else 1


def _reach(start: int, tail: IntArray, head: IntArray) -> frozenset[int]:
    """Return the vertices to which there is a way."""
    reached = np.zeros(max(start, int(tail.max(initial=0)), int(head.max(initial=0))) + 1, dtype=np.bool_)
    reached[start] = True
    while np.any(new := reached[tail] & ~reached[head]):
        reached[head[new]] = True
    return frozenset(np.flatnonzero(reached).tolist())


def fabric_limits(fabric: Fabric, place: IntArray | None = None) -> list[Limit]:
    """Return shared limits in units of capacity, by link numbers."""
    every = np.arange(len(fabric.topology.src)) if place is None else place
    return [
        Limit(tuple(every[list(links)].tolist()), limit.bandwidth / fabric.unit)
        for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
    ]


def traffic_on(fabric: Fabric, demand: IntArray, *, most: int = FEW_COLUMNS) -> TrafficTime:
    """Return :func:`traffic_time` on a fabric, with named errors."""
    with naming_ends(fabric):
        return traffic_time(fabric.topology, demand, limits=fabric_limits(fabric), most=most)
