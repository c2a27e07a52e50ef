"""What other choices reach: more bandwidth, fewer trees, an allreduce of another kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from topodesign.base.claims import Among, Claim, Of
from topodesign.base.cost import Rate
from topodesign.base.declared import Declared
from topodesign.base.latency import USUAL, Latency
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.fluid.fluid_optimum import fluid_optimum, not_priced
from topodesign.optima.forest.allreduce import allreduce_optimum, composed_rate, not_looked_for
from topodesign.optima.forest.bottleneck import narrowest, sensitivity
from topodesign.optima.forest.schedule import tree_schedule
from topodesign.optima.forest.tree_counts import smallest_trees
from topodesign.optima.question import Question
from topodesign.plans.measure import tree_figures
from topodesign.plans.time.chunked import OwnLinks
from topodesign.plans.time.trees import simulate_trees
from topodesign.plans.trees import Trees

MOST_SMALL = 8  # largest number of trees per root that trade-offs try besides the best


@dataclass(frozen=True)
class Upgrade:
    """What more bandwidth on one class of links would buy."""

    kind: str  # the class; "" for links that have none
    doubled: Fraction  # algorithmic bandwidth with twice the bandwidth on all of its links
    limit: Fraction | None  # the same when other links bind; None if no others ever do
    useful_factor: Fraction | None  # the least factor that reaches the limit; None with that


@dataclass(frozen=True)
class Limited(Declared):
    """What some trees per root reach."""

    trees: int  # trees per root
    bandwidth: Fraction  # as in Throughput, and so is inverse_rate
    inverse_rate: Fraction  # seconds that a byte of a shard takes at best: 1/x*
    height: int  # links of the longest way in a tree; of an allreduce those of both halves
    times: tuple[Fraction, ...] = ()  # seconds for each --size, with latency, in as many chunks as are best

    KEYS = "k=trees inv_x_star=inverse_rate *rate height times_s=float(times)"
    SHARED = "trees"

    @property
    def rate(self) -> Rate:
        """The bandwidth."""
        return Rate(self.bandwidth)


@dataclass(frozen=True)
class BestAllreduce:
    """The best allreduce that need not be a reduce-scatter and then an allgather; capable switches copy and add."""

    bandwidth: Fraction  # algorithmic bandwidth that can be reached
    bound: Fraction  # what none exceeds
    composed: Fraction  # that of a reduce-scatter followed by an allgather
    in_network: bool = False  # whether switches copy and add in what can be reached
    among: Among = Among.TREES  # what the bound is about
    missed: str = ""  # what was not looked for

    @property
    def claim(self) -> Claim:
        """What is said of the bandwidth that can be reached."""
        return Claim.to_bound(Of.RATE, self.bandwidth, self.among, self.bound, missed=self.missed)

    @property
    def composed_claim(self) -> Claim:
        """What is said of a reduce-scatter followed by an allgather, among all ways."""
        return Claim.to_bound(Of.RATE, self.composed, self.among, self.bound, missed=self.missed)

    @property
    def proven(self) -> bool:
        """Whether it is proven that nothing exceeds what can be reached."""
        return self.bandwidth == self.bound

    @property
    def composed_is_best(self) -> bool:
        """Whether it is proven that nothing beats a reduce-scatter followed by an allgather."""
        return self.composed == self.bound


def upgrades(question: Question) -> list[Upgrade]:
    """Return what more bandwidth would buy, for each class of links in the order of their names."""
    fabric, passes = question.fabric, question.passes
    kinds = sorted(set(fabric.classes))
    members = [np.array([word == kind for word in fabric.classes]) for kind in kinds]
    gains = [sensitivity(p.topology, [those[p.order] for those in members], weights=p.weights) for p in passes]
    whole = sum(passes[0].weights) * fabric.unit
    rows = []
    for kind, *halves in zip(kinds, *gains, strict=True):
        doubled = whole / sum(half.doubled for half in halves)
        factors = [half.useful_factor for half in halves if half.useful_factor is not None]
        if len(factors) < len(halves):
            rows.append(Upgrade(kind, doubled, None, None))
        else:
            rows.append(Upgrade(kind, doubled, whole / sum(half.limit for half in halves), max(factors)))
    return rows


def smallest_number_of_trees(question: Question) -> int:
    """Return the smallest number of trees per root that reaches the optimum, in both halves of an allreduce."""
    return max(smallest_trees(one.topology, weights=one.weights) for one in question.passes)


def limited(
    question: Question, trees: Iterable[int], *, latency: Latency = USUAL, sizes: Sequence[Fraction] = ()
) -> list[Limited]:
    """Return the best throughput for each of several numbers of trees per root (ForestColl, section 5.5).

    A number is per unit of shard size, too, where those differ. Every row is that of a schedule that was made; an
    allreduce is a reduce-scatter and then an allgather. Times are those of messages of these sizes and this latency.
    """
    schedules = [(k, _with_trees(question, k)) for k in trees]
    return [_measured(question.fabric, k, schedule, latency, sizes) for k, schedule in schedules]


def trade_offs(question: Question, *, latency: Latency = USUAL, sizes: Sequence[Fraction] = ()) -> list[Limited]:
    """Return which numbers of trees per root pay, of 1 to ``MOST_SMALL`` and the smallest best one, fastest first.

    They are those that no other beats in both throughput and height; of equals the smallest.
    """
    best = smallest_number_of_trees(question)
    rows = [(k, _with_trees(question, k)) for k in sorted({*range(1, min(best, MOST_SMALL + 1)), best})]
    rows.sort(key=lambda row: (row[1].inverse_rate, row[1].height, row[0]))
    heights = [schedule.height for _, schedule in rows]
    paying = [row for at, row in enumerate(rows) if heights[at] < min(heights[:at], default=heights[at] + 1)]
    return [_measured(question.fabric, k, schedule, latency, sizes) for k, schedule in paying]


def _with_trees(question: Question, k: int) -> Trees:
    fabric = question.fabric
    trees: Trees = tree_schedule(fabric.topology, question.collective, k, question.shards, fabric.names).unfold()
    return trees


def _measured(fabric: Fabric, k: int, schedule: Trees, latency: Latency, sizes: Sequence[Fraction]) -> Limited:
    reached = tree_figures(fabric, schedule)
    own = OwnLinks.late(fabric.link_latencies()) if latency.alpha is None else None
    times = tuple(
        simulate_trees(schedule, latency=latency, size=size, unit=8 * fabric.unit, own=own).time for size in sizes
    )
    return Limited(k, reached.bandwidth, reached.inverse_rate, reached.height, times)


def best_allreduce(fabric: Fabric) -> BestAllreduce:
    """Return the best allreduce of any kind (ForestColl, appendix F), or above some size only a bound.

    Where switches copy or add it is the fluid one (:mod:`topodesign.optima.fluid`), which counts what is alike once.
    """
    if not fabric.multicast | fabric.aggregation:
        found = allreduce_optimum(fabric.topology)
        bandwidth, bound, composed = (rate * fabric.unit for rate in (found.throughput, found.bound, found.composed))
        return BestAllreduce(bandwidth, bound, composed, missed=not_looked_for(fabric.topology))
    composed = composed_rate(fabric.topology) * fabric.unit
    if missed := not_priced(fabric):
        most = narrowest(fabric.topology) * fabric.unit
        return BestAllreduce(composed, most, composed, among=Among.CAPABLE_TREES, missed=missed)
    best = fluid_optimum(Question(fabric, ALLREDUCE))
    plain = composed
    if best.bandwidth > composed:
        bare = replace(fabric, multicast=frozenset(), aggregation=frozenset(), memory=frozenset())
        plain = fluid_optimum(Question(bare, ALLREDUCE)).bandwidth
    return BestAllreduce(best.bandwidth, best.bound, composed, best.bandwidth > plain, Among.CAPABLE_TREES)
