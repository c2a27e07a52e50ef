"""Throughput over trees, its bottleneck and tree counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.cost import Rate
from topodesign.base.declared import Declared, key
from topodesign.base.latency import USUAL, Latency
from topodesign.base.units import format_rate
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.wording import links_in_words, names_in_words
from topodesign.optima.fluid.problem import not_priced, solve_fluid
from topodesign.optima.forest.allreduce import allreduce_optimum, compute_composed_rate, not_looked_for
from topodesign.optima.forest.bottleneck import TreeRate, narrowest, optimum, sensitivity
from topodesign.optima.forest.schedule import tree_schedule
from topodesign.optima.forest.tree_counts import smallest_trees
from topodesign.optima.question import Pass, Question
from topodesign.optima.solution import Solution, Upgrade, Useful, describe_side
from topodesign.plans.chunk_ops import find_height, find_inverse_rate, unfold_pieces
from topodesign.plans.flow import Flow
from topodesign.plans.measure import flow_claim
from topodesign.plans.time.chunks import OwnLinks, simulate_chunks
from topodesign.solve.maxflow import worst_ratio

MAX_SMALL = 8  # largest number of trees per root that trade-offs try besides the best


@dataclass(frozen=True)
class TreeSolution(Solution):
    """The throughput over trees; an allreduce is in two phases."""

    # algorithmic bandwidth that none of its kind exceeds, with switches that only forward (an allreduce that is a
    # reduce-scatter and then an allgather); the same, unless switches have unequal bandwidth in and out, where
    # the proof may miss it by a hair
    forward_bound: Fraction
    trees: int  # trees per root that surely reach it (Proposition 3); the larger number of the halves of an allreduce
    # vertices on the sending side of a bottleneck: of the slower half of an allreduce, the allgather if equal.
    # Empty where no cut alone proves the bound, as may be at switches with unequal bandwidth in and out.
    side: frozenset[int]
    # nodes whose shards have to cross the cut: those inside it if shards are sent out, as in an allgather; those
    # outside if partial results are, as in a reduce-scatter
    owners: tuple[int, ...]
    full: tuple[int, ...]  # places, in ``fabric.links()``, of the links out of it, or else those with a price

    METHOD = "forest"

    def find_cut(self) -> frozenset[int]:
        """Return the bottleneck, which the throughput comes with."""
        return self.side

    @property
    def priced(self) -> tuple[int, ...]:
        """Places of the links that bind."""
        return self.full

    @cached_property
    def bound(self) -> Fraction:
        """The upper bound for any abilities and any allreduce."""
        if self.question.composed or self._capable:
            return bound_by_cuts(self.question)
        return self.forward_bound

    @property
    def among(self) -> Scope:
        """The schedules that the bound is about."""
        return Scope.over_trees(capable=self._capable)

    @property
    def _capable(self) -> bool:
        return bool(self.fabric.multicast | self.fabric.aggregation)

    @property
    def missed(self) -> str:
        """Why the bound may not be reached."""
        if self.question.composed:
            return "by cuts alone: an allreduce of another kind was not asked for"
        return "trees through switches that copy or add are not looked for here: --algorithm fluid does"

    @property
    def in_turn(self) -> Claim:
        """The claim of an allreduce among two-phase ones."""
        return Claim.to_bound(Of.RATE, self.bandwidth, Scope.IN_TURN, self.forward_bound)

    @cached_property
    def smallest(self) -> int:
        """The fewest trees per root for the optimum, in both phases."""
        return smallest_number_of_trees(self.question)

    @property
    def bottleneck(self) -> str:
        """The binding links and their load, from the smaller side.

        Nodes whose names begin alike, up to a ``/``, ``.``, ``:``, ``_`` or ``-``, are a group, called by that
        beginning. Where no cut alone is the reason, switches are that have more bandwidth in than out, or the reverse.
        """
        fabric = self.fabric
        if self.cut:
            said, out, side = describe_side(fabric, self.cut, self.links)
            own, number = set(self.owners) <= set(side), len(self.owners)
            owners = f"its {number} nodes" if own else f"the {number} other nodes"
            whose = owners if number > 1 else names_in_words(fabric, self.owners)
            sums = "its share of the sums for" if out else "the others' share of the sums for"
            return f"{said} {'the data of' if own is out else sums} {whose}"
        unequal = fabric.unequal(sorted(fabric.topology.switches))
        others = f" (and {len(unequal) - 1} more are unequal)" if len(unequal) > 1 else ""
        reason = f"{fabric.imbalance(unequal[0])}{others}, and a switch has to pass on what it gets"
        if self.bandwidth < self.forward_bound:
            return f"{reason}, which leaves {format_rate(self.forward_bound)} or less"
        links = self.links
        if len(links) == 1:
            return f"{reason}; so {links_in_words(links)} binds"
        total = format_rate(sum((link.bandwidth for link in links), Fraction(0)))
        return f"{reason}; so {links_in_words(links)}, {total} in all, bind"

    def solve_again(self, question: Question) -> TreeSolution:
        """Solve another question in the same way."""
        return solve_trees(question)

    def find_upgrades(self) -> list[Upgrade]:
        """Return the gain and useful range of each link class."""
        fabric, passes = self.fabric, self.question.passes
        kinds = sorted(set(fabric.classes))
        members = [np.array([word == kind for word in fabric.classes]) for kind in kinds]
        gains = [sensitivity(p.topology, [those[p.order] for those in members], weights=p.weights) for p in passes]
        whole = sum(passes[0].weights) * fabric.unit
        rows = []
        for kind, *halves in zip(kinds, *gains, strict=True):
            doubled = whole / sum(half.doubled for half in halves)
            factors = [half.useful_factor for half in halves if half.useful_factor is not None]
            useful = Useful(None, None)
            if len(factors) == len(halves):
                useful = Useful(max(factors), whole / sum(half.limit for half in halves))
            rows.append(Upgrade(kind, doubled, doubled / self.bandwidth - 1, useful))
        return rows


def solve_trees(question: Question) -> TreeSolution:
    """Compute the best throughput over trees (ForestColl, section 4).

    Raises ParameterError for a collective that trees do not do, and InfeasibleError, with names, if some node cannot be
    reached.
    """
    question = question.for_trees()
    fabric, passes = question.fabric, question.passes
    optima = [optimum(one.topology, weights=one.weights, names=fabric.names) for one in passes]
    whole = sum(passes[0].weights) * fabric.unit
    slow = max(range(len(passes)), key=lambda row: (optima[row].inverse_rate, row))
    binding = tuple(sorted(passes[slow].order[list(optima[slow].binding)].tolist()))
    cut, owners = _sending_side(fabric, passes[slow], optima[slow], binding)
    return TreeSolution(
        question,
        whole / sum(best.inverse_rate for best in optima),
        forward_bound=whole / sum(best.bound for best in optima),
        trees=max(best.trees for best in optima),
        side=cut,
        owners=owners,
        full=binding,
    )


def _sending_side(
    fabric: Fabric, phase: Pass, best: TreeRate, binding: tuple[int, ...]
) -> tuple[frozenset[int], tuple[int, ...]]:
    """Return the cut's sending side and its shards' nodes."""
    side = frozenset(range(len(fabric.names))) - best.cut if phase.reduces else best.cut
    if binding != tuple(at for at, (u, v, _) in enumerate(fabric.topology.links()) if u in side and v not in side):
        return frozenset(), ()
    return side, tuple(node for node, w in zip(fabric.compute, phase.weights, strict=True) if w and node in best.cut)


def bound_by_cuts(question: Question) -> Fraction:
    """Return the throughput bound of the narrowest cut.

    Of an allreduce the whole data have to cross every cut between nodes, both ways.
    """
    fabric = question.fabric
    if question.composed:
        return narrowest(fabric.topology) * fabric.unit
    topology, weights, *_ = question.passes[0]
    sizes = np.array(weights, dtype=np.int64)
    return int(sizes.sum()) * fabric.unit / worst_ratio(topology, topology.capacity, sizes)


# -- an allreduce of any kind -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InTurn(Declared):
    """The throughput of an allreduce in two phases."""

    inverse_rate: Fraction
    rate: Rate

    KEYS = (key("inv_x_star=inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."), "*rate")


@dataclass(frozen=True)
class BestAllreduce(Declared):
    """The best allreduce of any kind, through capable switches."""

    bandwidth: Fraction  # algorithmic bandwidth that can be reached
    bound: Fraction  # bytes per second that none exceeds of those in ``among``
    composed: Fraction  # that of a reduce-scatter followed by an allgather
    in_network: bool = False  # whether switches copy and add in it (--algorithm in-network)
    among: Scope = Scope.TREES  # the schedules that the bound is about
    missed: str = ""  # what was not looked for
    nodes: int = 0  # nodes that compute

    KEYS = (
        "*rate",
        key("bound", "Bytes per second that nothing beats."),
        key("proven", "Whether the bound is reached."),
        key("proof_covers=str(among)", "What the bound holds for.", kind=str),
        key("composed=in_turn", "A reduce-scatter and then an allgather."),
        key("composed_is_best", "Whether nothing beats that."),
        "in_network",
        key("in_words=describe", "The same in words."),
    )

    @property
    def rate(self) -> Rate:
        """Its bandwidth."""
        return Rate(self.bandwidth)

    @property
    def in_turn(self) -> InTurn:
        """The throughput of a reduce-scatter followed by an allgather."""
        return InTurn(self.nodes / self.composed, Rate(self.composed))

    @property
    def claim(self) -> Claim:
        """The claim of the bandwidth that can be reached."""
        return Claim.to_bound(Of.RATE, self.bandwidth, self.among, self.bound, missed=self.missed)

    @property
    def composed_claim(self) -> Claim:
        """The claim of a two-phase allreduce among all."""
        return Claim.to_bound(Of.RATE, self.composed, self.among, self.bound, missed=self.missed)

    @property
    def proven(self) -> bool:
        """Whether it is proven that nothing exceeds what can be reached."""
        return self.bandwidth == self.bound

    @property
    def composed_is_best(self) -> bool:
        """Whether a two-phase allreduce is proven optimal."""
        return self.composed == self.bound

    def describe(self) -> str:
        """Return whether an allreduce of another kind is faster, in words."""
        if self.bandwidth == self.composed:
            return f"a reduce-scatter and then an allgather: {self.composed_claim}"
        kind = "in which switches copy and add (--algorithm in-network)" if self.in_network else "of another kind"
        return f"an allreduce {kind} reaches {format_rate(self.bandwidth)}: {self.claim}"


def best_allreduce(fabric: Fabric) -> BestAllreduce:
    """Return the best allreduce of any kind, or its bound.

    ForestColl, appendix F.

    Where switches copy or add it is the fluid one (:mod:`topodesign.optima.fluid`), which counts what is alike once.
    """
    nodes = len(fabric.compute)
    if not fabric.multicast | fabric.aggregation:
        found = allreduce_optimum(fabric.topology)
        bandwidth, bound, composed = (rate * fabric.unit for rate in (found.throughput, found.bound, found.composed))
        return BestAllreduce(bandwidth, bound, composed, missed=not_looked_for(fabric.topology), nodes=nodes)
    composed, among = compute_composed_rate(fabric.topology) * fabric.unit, Scope.CAPABLE_TREES
    if missed := not_priced(fabric):
        most = narrowest(fabric.topology) * fabric.unit
        return BestAllreduce(composed, most, composed, among=among, missed=missed, nodes=nodes)
    best = solve_fluid(Question(fabric, ALLREDUCE))
    plain = composed
    if best.bandwidth > composed:
        bare = replace(fabric, multicast=frozenset(), aggregation=frozenset(), memory=frozenset())
        plain = solve_fluid(Question(bare, ALLREDUCE)).bandwidth
    return BestAllreduce(best.bandwidth, best.bound, composed, best.bandwidth > plain, among, nodes=nodes)


# -- numbers of trees -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeChoice(Declared):
    """A number of trees per root with throughput, height, times."""

    trees: int  # trees per root
    bandwidth: Fraction  # as of :class:`TreeSolution`, and so is inverse_rate
    inverse_rate: Fraction  # seconds that a byte of a shard takes at best: 1/x*
    height: int  # links of the longest way in a tree; of an allreduce those of both halves
    times: tuple[Fraction, ...] = ()  # seconds for each --size, with latency, in as many chunks as are best

    KEYS = "k=trees inv_x_star=inverse_rate *rate height times_s=float(times)"
    SHARED = "trees"

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.bandwidth)


def smallest_number_of_trees(question: Question) -> int:
    """Return the fewest trees per root for the optimum."""
    return max(smallest_trees(one.topology, weights=one.weights) for one in question.passes)


def limit_trees(
    question: Question, trees: Iterable[int], *, latency: Latency = USUAL, sizes: Sequence[Fraction] = ()
) -> list[TreeChoice]:
    """Return the best throughput for numbers of trees per root.

    ForestColl, section 5.5.

    A number is per unit of shard size, too, where those differ. Every row is that of a schedule that was made; an
    allreduce is a reduce-scatter and then an allgather. Times are those of messages of these sizes and this latency.
    """
    schedules = [(k, _with_trees(question, k)) for k in trees]
    return [_measure_trees(question.fabric, k, schedule, latency, sizes) for k, schedule in schedules]


def trade_off_trees(
    question: Question, *, latency: Latency = USUAL, sizes: Sequence[Fraction] = ()
) -> list[TreeChoice]:
    """Return the useful numbers of trees per root, fastest first.

    They are those that no other beats in both throughput and height; of equals the smallest.
    """
    best = smallest_number_of_trees(question)
    rows = [(k, _with_trees(question, k)) for k in sorted({*range(1, min(best, MAX_SMALL + 1)), best})]
    rows.sort(key=lambda row: (find_inverse_rate(row[1]), find_height(row[1]), row[0]))
    heights = [find_height(schedule) for _, schedule in rows]
    paying = [row for at, row in enumerate(rows) if heights[at] < min(heights[:at], default=heights[at] + 1)]
    return [_measure_trees(question.fabric, k, schedule, latency, sizes) for k, schedule in paying]


def _with_trees(question: Question, k: int) -> Flow:
    fabric = question.fabric
    return unfold_pieces(tree_schedule(fabric.topology, question.collective, k, question.shards, fabric.names))


def _measure_trees(fabric: Fabric, k: int, schedule: Flow, latency: Latency, sizes: Sequence[Fraction]) -> TreeChoice:
    own = OwnLinks.late(fabric.link_latencies()) if latency.alpha is None else None
    flow = replace(schedule, place=fabric)
    reached = flow_claim(flow)
    times = tuple(
        simulate_chunks(flow, latency=latency, size=size, unit=8 * fabric.unit, own=own).time for size in sizes
    )
    return TreeChoice(k, reached["algorithmic_bandwidth"], reached["inv_x_star"], int(reached["height"]), times)
