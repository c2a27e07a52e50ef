"""The fluid program of a collective and its solution with proof."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from topodesign.base.claims import Scope
from topodesign.base.declared import Declared, key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.units import format_rate
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.optima.fluid.decomposition import Decomposition, Mixture, Progress, Source
from topodesign.optima.fluid.network import Network, network_of
from topodesign.optima.fluid.symmetry import Symmetry, find_symmetry
from topodesign.optima.forest.bottleneck import narrowest
from topodesign.optima.question import Question
from topodesign.optima.solution import BindingLimit, LeastCost, Solution
from topodesign.plans.chunk_ops import TREE_COLLECTIVES
from topodesign.topology.topology import IntArray

MAX_APART = 256  # largest number of nodes for which subproblems are solved one by one


@dataclass(frozen=True, eq=False)
class Problem:
    """A fluid program: its movement, network and symmetry."""

    fabric: Fabric  # what is asked for, the collective with its root
    collective: Collective
    network: Network  # the fabric, with costs in multiples of ``1 / cost_scale``
    symmetry: Symmetry  # automorphisms
    sources: tuple[Source, ...]  # subproblems
    cost_scale: int  # what makes costs whole
    teams: tuple[int, ...] = (1,)  # how many groups each group stands for
    sizes: tuple[int, ...] | None = None  # of the shards of the nodes; None where all are alike

    @property
    def shards(self) -> int:
        """The number of shards in the data of all nodes, or of a group."""
        return self.collective.shards(len(self.network.nodes)) if self.sizes is None else sum(self.sizes)

    def solve(
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
    """Return the error with names of vertices in place of numbers."""
    words = [f"'{fabric.names[int(word)]}'" if word.isdecimal() else word for word in str(error).split(" ")]
    return InfeasibleError(" ".join(words).replace("vertex ", ""))


def problem_of(
    fabric: Fabric,
    collective: Collective,
    *,
    costs: dict[str, Fraction] | None = None,
    mirrored: bool = True,
    sizes: tuple[int, ...] | None = None,
) -> Problem:
    """Return the fluid program of a collective on a fabric.

    ``costs`` are those of a unit of data on links of each class, nothing if they do not matter; ``mirrored`` says
    whether what automorphisms exchange is solved once; ``sizes`` are those of the shards of an allgather or a
    reduce-scatter, whose nodes are solved one by one then.
    """
    if not collective.like(*TREE_COLLECTIVES):
        known = ", ".join(map(str, TREE_COLLECTIVES))
        raise InfeasibleError(f"no fluid program of {collective} is known; there are those of {known}")
    apart = not mirrored or sizes is not None
    if apart and len(fabric.compute) > MAX_APART:
        given = "--set symmetry=no" if sizes is None else "--shards"
        raise ParameterError(f"{given} solves node by node, for {MAX_APART} nodes at most; remove it")
    root = collective.root
    scale = math.lcm(1, *(cost.denominator for cost in (costs or {}).values()))
    network = network_of(fabric, {kind: int(cost * scale) for kind, cost in (costs or {}).items()})
    symmetry = find_symmetry(network, apart=apart, fixed=() if root is None else [root], topology=fabric.topology)
    back = network.reverse()
    if collective.like(ALLREDUCE):
        sources = [
            Source(way, root, many, pair=pair, single=not way.copies[root])
            for pair, (root, many) in enumerate(symmetry.representatives(sum_places(network)))
            for way in (back, network)
        ]
    else:
        way = network if collective.like(ALLGATHER, BROADCAST) else back
        roots = symmetry.representatives(network.nodes if root is None else np.array([root]))
        own = {} if sizes is None else dict(zip(fabric.compute, sizes, strict=True))
        sources = [Source(way, root, many, amount=own.get(root, 1)) for root, many in roots if own.get(root, 1)]
    return Problem(fabric, collective, network, symmetry, tuple(sources), scale, sizes=sizes)


def not_priced(fabric: Fabric) -> str:
    """Return why allreduce trees through switches are not priced, if so."""
    many = len(problem_of(fabric, ALLREDUCE).sources) // 2
    return "" if many <= MAX_APART else f"by cuts alone: {many} nodes and switches that none is like are too many"


def sum_places(network: Network) -> IntArray:
    """Return the vertices where sums of an allreduce can complete.

    One that cannot copy sends the sum to one place. If all that copy add, too, or none of them that is no node, the
    place itself will do.
    """
    places = network.adds.copy()
    if not np.any(network.copies & ~network.adds):
        places &= network.copies
    places &= network.joined == network.joined[network.nodes[0]]
    places[network.nodes] = True
    return np.flatnonzero(places)


@dataclass(frozen=True, slots=True)
class Work(Declared):
    """How much a fluid program took."""

    subproblems: int
    rounds: int
    columns: int
    trees: int

    KEYS = (
        key("subproblems", "With --algorithm fluid: roots that are solved, one for each orbit."),
        key("rounds", "With --algorithm fluid: rounds of the master programs."),
        key("columns", "With --algorithm fluid: trees that were looked at."),
        key("trees", "With --algorithm fluid: trees in the mixture, each standing for its images."),
    )


@dataclass(frozen=True)
class FluidSolution(Solution):
    """The best steady schedule of a collective, with its proof."""

    problem: Problem
    mixture: Mixture
    gap: Fraction = Fraction(0)  # what was asked for
    mirrored: bool = True  # whether what automorphisms exchange was solved once

    METHOD = "fluid"

    @property
    def bound(self) -> Fraction:
        """Algorithmic bandwidth that no schedule of the kind exceeds."""
        return self.bandwidth * self.mixture.time / self.mixture.time_bound

    @property
    def among(self) -> Scope:
        """The schedules that the bound is about."""
        return Scope.CAPABLE_TREES if self.collective.like(ALLREDUCE) else Scope.STEADY_TREES

    @property
    def missed(self) -> str:
        """Why the bound may not be reached."""
        return f"solved to within {float(self.gap):.2%}" if self.gap else ""

    @property
    def least_cost(self) -> LeastCost | None:
        """The cost at that speed, if costs were given."""
        found, scale = self.mixture, self.problem.cost_scale
        if found.cost is None or found.cost_bound is None:
            return None
        return LeastCost(self.question.costs, found.cost / scale, found.cost_bound / scale)

    def find_cut(self) -> frozenset[int]:
        """Return nothing: no cut is looked for."""
        return frozenset()

    @cached_property
    def priced(self) -> tuple[int, ...]:
        """Places of the links that have a price in the proof."""
        prices = np.array(self.mixture.prices or [0] * len(self.problem.symmetry.bounds))
        return tuple(np.flatnonzero(prices[self.problem.symmetry.limit_of][: len(self.fabric.classes)]).tolist())

    @cached_property
    def limits(self) -> list[BindingLimit]:
        """The limits with a price, one of those that are alike."""
        every, shared, rows = self.fabric.links(), self.fabric.shared, []
        for orbit, price in enumerate(self.mixture.prices):
            if not price:
                continue
            first, *more = np.flatnonzero(self.problem.symmetry.limit_of == orbit).tolist()
            if first < len(every):
                link = every[first]
                rows.append(BindingLimit(link.bandwidth, 1 + len(more), links=(link.src, link.dst), kind=link.kind))
            else:
                limit = shared[first - len(every)]
                rows.append(BindingLimit(limit.bandwidth, 1 + len(more), shared=limit.name))
        return rows

    @property
    def bottleneck(self) -> str:
        """Which limits bind, those of a kind together."""
        if not self.mixture.prices:
            return "a cut between nodes, whatever the trees"
        many: Counter[tuple[str, Fraction]] = Counter()
        for row in self.limits:
            kind = f"{row.kind} link".strip() if row.links else f"shared limit{'s' if row.many > 1 else ''}"
            many[kind, row.bandwidth] += row.many
        words = [
            f"{count} {kind}{'s' if count > 1 and not kind.startswith('shared') else ''} of {format_rate(rate)}"
            for (kind, rate), count in many.items()
        ]
        if not self.proven:
            return f"{', '.join(words)} have a price in the bound"
        return f"{', '.join(words)} cannot carry more of what has to go over them, whatever the trees"

    def bottleneck_rows(self) -> list[list[str]]:
        """Return a row of text for each limit that binds."""
        return [
            [
                (" -> ".join(row.links) if row.links else f"'{row.shared}'")
                + (f" and {row.many - 1} alike" if row.many > 1 else "")
            ]
            for row in self.limits
        ]

    @property
    def work(self) -> Work:
        """How much it took."""
        found = self.mixture
        return Work(len(self.problem.sources), found.rounds, found.looked_at, len(found.columns))

    def solve_again(self, question: Question) -> FluidSolution:
        """Solve another question in the same way."""
        return solve_fluid(question, gap=self.gap, mirrored=self.mirrored)


def solve_fluid(
    question: Question,
    *,
    gap: Fraction = Fraction(0),
    mirrored: bool = True,
    listener: Callable[[Progress], None] | None = None,
) -> FluidSolution:
    """Compute the best steady schedule with copying and adding parts.

    With costs it is the cheapest of what is fastest. The answer may miss what is proven by ``gap``, a part of the time
    and of the cost. The listener is called after every round.
    """
    costs = question.costs
    problem = problem_of(question.fabric, question.collective, costs=costs, mirrored=mirrored, sizes=question.shards)
    mixture = problem.solve(cheapest=bool(costs), gap=gap, listener=listener)
    rate = problem.shards * problem.fabric.unit / problem.network.scale
    return FluidSolution(question, rate / mixture.time, problem, mixture, gap, mirrored)
