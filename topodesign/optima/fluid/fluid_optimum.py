"""The optimum of a fluid program on a fabric: time, cost, what binds, and whether it is proven."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.claims import Among, Claim, Of
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import TextResult
from topodesign.base.units import format_rate, format_time
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, BROADCAST, GATHER, SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.wording import FABRIC_KEYS, RATE_KEYS, change_in_words
from topodesign.optima.fluid.decomposition import Decomposition, Mixture, Progress, Source
from topodesign.optima.fluid.network import Network, network_of
from topodesign.optima.fluid.symmetry import Symmetry, find_symmetry
from topodesign.optima.forest.bottleneck import narrowest
from topodesign.optima.question import Question
from topodesign.plans.paths import PATH_COLLECTIVES
from topodesign.plans.trees import TREE_COLLECTIVES
from topodesign.topology.topology import IntArray

MOST_APART = 256  # largest number of nodes for which subproblems are solved one by one
_SHOWN = 8  # limits that bind, told one by one


@dataclass(frozen=True, eq=False)
class Problem:
    """A fluid program: what moves on which network, and what is alike in it."""

    fabric: Fabric  # what is asked for, the collective with its root
    collective: Collective
    network: Network  # the fabric, with costs in multiples of ``1 / cost_scale``
    symmetry: Symmetry  # automorphisms
    sources: tuple[Source, ...]  # subproblems
    cost_scale: int  # what makes costs whole
    teams: tuple[int, ...] = (1,)  # how many groups each group stands for

    @property
    def shards(self) -> int:
        """Shards that the data of all nodes, or of a group, are."""
        return self.collective.shards(len(self.network.nodes))

    def solved(
        self, *, cheapest: bool, gap: Fraction = Fraction(0), listener: Callable[[Progress], None] | None = None
    ) -> Mixture:
        """Return the best mixture of trees."""
        try:
            found = Decomposition(self.sources, self.symmetry, self.shards, gap, listener, teams=self.teams).solve(
                cheapest=cheapest
            )
        except InfeasibleError as error:
            raise with_names(error, self.fabric) from None
        if found.time == found.time_bound or not self.collective.like(ALLREDUCE) or self.network.teams:
            return found
        least = self.shards / (narrowest(self.fabric.topology) * self.network.scale)  # whatever the trees
        return found if least <= found.time_bound else replace(found, time_bound=least, prices=())


def with_names(error: InfeasibleError, fabric: Fabric) -> InfeasibleError:
    """Return what is said of vertices by number with their names."""
    words = [f"'{fabric.names[int(word)]}'" if word.isdecimal() else word for word in str(error).split(" ")]
    return InfeasibleError(" ".join(words).replace("vertex ", ""))


def problem_of(
    fabric: Fabric, collective: Collective, *, costs: dict[str, Fraction] | None = None, mirrored: bool = True
) -> Problem:
    """Return the fluid program of a collective on a fabric, whose memory, capable switches and shared limits count.

    ``costs`` are those of a unit of data on links of each class, nothing if they do not matter; ``mirrored`` says
    whether what automorphisms exchange is solved once.
    """
    if not collective.like(*TREE_COLLECTIVES, *PATH_COLLECTIVES):
        known = ", ".join(map(str, (*TREE_COLLECTIVES, *PATH_COLLECTIVES)))
        raise InfeasibleError(f"no fluid program of {collective} is known; there are those of {known}")
    if not mirrored and len(fabric.compute) > MOST_APART:
        raise ParameterError(f"node by node it is solved for {MOST_APART} nodes at most; leave --standard out")
    root = collective.root
    scale = math.lcm(1, *(cost.denominator for cost in (costs or {}).values()))
    network = network_of(fabric, {kind: int(cost * scale) for kind, cost in (costs or {}).items()})
    symmetry = find_symmetry(network, apart=not mirrored, fixed=() if root is None else [root], names=fabric.names)
    back = network.turned()
    if collective.like(ALLREDUCE):
        sources = [
            Source(way, root, many, pair=pair, single=not way.copies[root])
            for pair, (root, many) in enumerate(symmetry.representatives(sum_places(network)))
            for way in (back, network)
        ]
    else:
        way = network if collective.like(ALLGATHER, BROADCAST, SCATTER, ALL_TO_ALL) else back
        roots = symmetry.representatives(network.nodes if root is None else np.array([root]))
        paths = collective.like(SCATTER, GATHER, ALL_TO_ALL)
        sources = [Source(way, root, many, paths=paths) for root, many in roots]
    return Problem(fabric, collective, network, symmetry, tuple(sources), scale)


def not_priced(fabric: Fabric) -> str:
    """Say why trees of an allreduce through capable switches are not looked for on a fabric; nothing if they are."""
    many = len(problem_of(fabric, ALLREDUCE).sources) // 2
    return "" if many <= MOST_APART else f"by cuts alone: {many} nodes and switches that none is like are too many"


def sum_places(network: Network) -> IntArray:
    """Return where sums of an allreduce may be complete: nodes, and switches that add, within reach of all nodes.

    One that cannot copy sends the sum to one place. If all that copy add, too, or none of them that is no node, the
    place itself will do.
    """
    places = network.adds.copy()
    if not np.any(network.copies & ~network.adds):
        places &= network.copies
    places &= network.joined == network.joined[network.nodes[0]]
    places[network.nodes] = True
    return np.flatnonzero(places)


def fluid_optimum(
    question: Question,
    *,
    gap: Fraction = Fraction(0),
    mirrored: bool = True,
    listener: Callable[[Progress], None] | None = None,
) -> FluidOptimum:
    """Find the best steady schedule of a collective where parts copy, add, store or only forward.

    With costs it is the cheapest of what is fastest. The answer may miss what is proven by ``gap``, a part of the time
    and of the cost. The listener is told of every round.
    """
    costs = question.costs
    problem = problem_of(question.fabric, question.collective, costs=costs, mirrored=mirrored)
    mixture = problem.solved(cheapest=bool(costs), gap=gap, listener=listener)
    return FluidOptimum(problem, mixture, question.root, costs, gap)


@dataclass(frozen=True)
class Limit(Declared):
    """A limit with a price, and how many are alike."""

    bandwidth: Fraction
    many: int
    links: tuple[str, str] | None = None  # of a link
    kind: str | None = None
    shared: str | None = None  # the name of one that links share

    KEYS = (
        key("links?", "Ends of one of the links."),
        key("class?=kind", "Its class."),
        key("shared?", "The name of one of the limits that links share."),
        key("bandwidth", "Bytes per second of one."),
        key("many", "How many are alike."),
    )


@dataclass(frozen=True)
class LeastCost(Declared):
    """The least cost of all data at the best speed."""

    of_classes: dict[str, Fraction]
    total: Fraction
    bound: Fraction | None

    KEYS = (
        key("of_classes", "What was given."),
        key("total", "For a unit of data in a shard."),
        key("total_float=float(total)", "The same, rounded."),
        key("bound", "What none that is as fast costs less than.", kind=Fraction),
    )


@dataclass(frozen=True)
class Earlier(Declared):
    """The throughput of the whole, before some of it failed."""

    bandwidth: Fraction

    KEYS = RATE_KEYS


@dataclass(frozen=True, repr=False)
class FluidOptimum(TextResult):
    """The best steady schedule of a collective on a fabric with all that its parts can do, and its proof."""

    problem: Problem
    mixture: Mixture
    root: str | None = None  # name of the node of a collective that has one; None for others
    costs: dict[str, Fraction] | None = None  # of a unit of data on links of each class, if they were given
    gap: Fraction = Fraction(0)  # what was asked for
    before: Fraction | None = None  # algorithmic bandwidth of the whole, where only a part is left and the whole has it

    KEYS = (
        *FABRIC_KEYS,
        key("collective=collective.name", "Whose bottleneck is told."),
        "root",
        key("method", "What was asked.", kind=("fluid",), value=lambda _: "fluid"),
        key("k", "Trees are a mixture.", kind=type(None), value=lambda _: None),
        key("inv_x_star=inverse_rate", "Seconds that a byte of a shard takes at best: 1/x*."),
        *RATE_KEYS,
        key("bound", "Bytes per second that no schedule of the kind exceeds."),
        key("proven"),
        "proof_covers",
        key("claims", "What it is said to be the best of, and by which proof."),
        key("bottleneck=in_words", "What binds, in words."),
        key("bottleneck_limits=binding", "Limits that bind."),
        key("subproblems=len(problem.sources)", "Roots that are solved, one for each orbit."),
        key("rounds=mixture.rounds", "Of the master programs."),
        key("columns=mixture.looked_at", "Trees that were looked at."),
        key("trees=len(mixture.columns)", "Trees in the mixture, each standing for its images."),
        key("cost?=price", "With --cost: the least cost at that speed."),
        key("before?=earlier", "With --without: before the failure."),
    )
    ROW = "collective=collective.name algorithmic_bandwidth=bandwidth inv_x_star=inverse_rate bound cost?"

    @property
    def fabric(self) -> Fabric:
        """What takes part."""
        return self.problem.fabric

    @property
    def collective(self) -> Collective:
        """What it is for, with its root."""
        return self.problem.collective

    @property
    def _scale(self) -> Fraction:
        return self.problem.network.scale / self.fabric.unit

    @property
    def inverse_rate(self) -> Fraction:
        """1/x: seconds per byte of a shard (of a block, where every pair has its own)."""
        return self.mixture.time * self._scale

    @property
    def _data(self) -> int:
        return self.collective.shards(len(self.fabric.compute))

    @property
    def bandwidth(self) -> Fraction:
        """Algorithmic bandwidth: bytes of the whole data of a node per second."""
        return self._data / self.inverse_rate

    @property
    def bound(self) -> Fraction:
        """Algorithmic bandwidth that no schedule of the kind exceeds."""
        return self._data / (self.mixture.time_bound * self._scale)

    @property
    def cost(self) -> Fraction | None:
        """Cost of all data, per byte of a shard; the least of all that are as fast, if it is proven."""
        return None if self.mixture.cost is None else self.mixture.cost / self.problem.cost_scale

    @property
    def cost_bound(self) -> Fraction | None:
        """What none that is as fast costs less than."""
        return None if self.mixture.cost_bound is None else self.mixture.cost_bound / self.problem.cost_scale

    @property
    def proven(self) -> bool:
        """Whether nothing of the kind is faster, and nothing as fast is cheaper."""
        return self.mixture.proven

    @property
    def proof_covers(self) -> str:
        """Which schedules the bound is about."""
        return self._among.several

    @property
    def _among(self) -> Among:
        if self.collective.like(ALLREDUCE):
            return Among.CAPABLE_TREES
        return Among.FLOWS if self.problem.sources[0].paths else Among.STEADY_TREES

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What is said of the bandwidth, and of the cost if it was asked for."""
        why = f"solved to within {float(self.gap):.2%}" if self.gap else ""
        fast = Claim.to_bound(Of.RATE, self.bandwidth, self._among, self.bound, missed=why)
        if self.cost is None:
            return (fast,)
        return fast, Claim.to_bound(Of.COST, self.cost, Among.AS_FAST, self.cost_bound or 0, missed=why)

    @property
    def price(self) -> LeastCost | None:
        """The cost at that speed, if it was asked for."""
        return None if self.cost is None else LeastCost(self.costs or {}, self.cost, self.cost_bound)

    @property
    def earlier(self) -> Earlier | None:
        """The throughput of the whole, as documents tell it."""
        return None if self.before is None else Earlier(self.before)

    @cached_property
    def binding(self) -> list[Limit]:
        """The limits with a price, one of those that are alike."""
        every, shared, rows = self.fabric.links(), self.fabric.shared, []
        for orbit, price in enumerate(self.mixture.prices):
            if not price:
                continue
            first, *more = np.flatnonzero(self.problem.symmetry.limit_of == orbit).tolist()
            if first < len(every):
                link = every[first]
                rows.append(Limit(link.bandwidth, 1 + len(more), links=(link.src, link.dst), kind=link.kind))
            else:
                limit = shared[first - len(every)]
                rows.append(Limit(limit.bandwidth, 1 + len(more), shared=limit.name))
        return rows

    def in_words(self) -> str:
        """Say which limits bind, those of a kind together."""
        if not self.mixture.prices:
            return "a cut between nodes, whatever the trees"
        many: Counter[tuple[str, Fraction]] = Counter()
        for row in self.binding:
            kind = f"{row.kind} link".strip() if row.links else f"shared limit{'s' if row.many > 1 else ''}"
            many[kind, row.bandwidth] += row.many
        words = [
            f"{count} {kind}{'s' if count > 1 and not kind.startswith('shared') else ''} of {format_rate(rate)}"
            for (kind, rate), count in many.items()
        ]
        if not self.claims[0].proven:
            return f"{', '.join(words)} have a price in the bound"
        return f"{', '.join(words)} cannot carry more of what has to go over them, whatever the trees"

    def heading(self) -> str:
        """Return the throughput."""
        return f"{self.collective} on {self.fabric.name}: {format_rate(self.bandwidth)}"

    def __str__(self) -> str:
        time = format_time(self.inverse_rate * 10**9)
        piece = "block" if self.problem.sources[0].paths else "shard"
        lines = [
            str(self.fabric),
            "",
            f"  {self.collective}  {format_rate(self.bandwidth)}, 1/x = {time} per GB of {piece}",
        ]
        lines += ["", str(self.claims[0])]
        if self.before is not None:
            lines += ["", f"before: {format_rate(self.before)}; {change_in_words(self.bandwidth, self.before)} now"]
        lines += ["", f"bottleneck of {self.collective}", f"  {self.in_words()}"]
        for row in self.binding[:_SHOWN]:
            name = " -> ".join(row.links) if row.links else f"'{row.shared}'"
            alike_ones = f" and {row.many - 1} alike" if row.many > 1 else ""
            lines.append(f"    {name}{alike_ones}")
        lines += [f"    and {len(self.binding) - _SHOWN} more"] if len(self.binding) > _SHOWN else []
        if self.cost is not None:
            verdict = self.claims[-1].verdict
            lines += ["", f"cost at that speed: {float(self.cost):.12g} per unit of data in a {piece}, {verdict}"]
        return "\n".join(lines)
