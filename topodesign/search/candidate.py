"""Topologies with prices, as searches pass them on, and their specs."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction

from topodesign.base.cost import Basis, Cost, moore_bound
from topodesign.base.dominance import find_unbeaten
from topodesign.base.spec import Spec, parse
from topodesign.catalog.rows import VERSION, Row, describe_origin
from topodesign.graphs.expansions.expansion import Base
from topodesign.search.target import Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

LARGEST_PRICED = 4096  # topologies of up to this many nodes are always rebuilt and priced from their links


@dataclass(frozen=True)
class Candidate:
    """A topology with its price, built when needed.

    * ``cost``: holds for reduce-scatter and allgather: the price of its SPFF reduce-scatter, and its allgather costs no
      more (or the claimed cost, if ``basis`` is a closed form).
    * ``topology``: what the spec builds, where it is at hand.
    """

    spec: Spec  # the text that rebuilds it
    cost: Cost
    allgather: Cost  # price of its allgather, at most ``cost``
    duplex: bool  # whether every link has its reverse
    basis: Basis  # what the cost rests on: the links, a theorem or a bound
    topology: Topology | None = field(default=None, repr=False, compare=False)

    @functools.cached_property
    def mean(self) -> Cost:
        """The mean of reduce-scatter and allgather.

        An allreduce takes twice the mean; frontiers are of means.
        """
        return self.cost.average_with(self.allgather)

    @functools.cached_property
    def base(self) -> Base:
        """The topology with its cost, as expansions take it."""
        return Base(self.topology if self.topology is not None else _rebuild(self.spec), self.cost)

    @functools.cached_property
    def looks(self) -> Hashable:
        """The properties that expansion costs depend on.

        Candidates that differ in them are different topologies.
        """
        return self.cost, self.allgather, self.duplex, len(self.base.topology.src), frozenset(self.base.returns)

    @functools.cached_property
    def rank(self) -> tuple[int, Fraction, Fraction, bool, int, str]:
        """Sort key: latency, bandwidth, duplex first, plainest spec."""
        text, mean = str(self.spec), self.mean
        plainness = text.count("(") * 100 + len(text)
        return mean.steps, mean.bandwidth, self.cost.bandwidth, not self.duplex, plainness, text


def candidate_of(row: Row) -> Candidate:
    """Return a row of the catalog as the finder takes topologies."""
    return Candidate(parse(row.spec), row.cost, row.allgather, row.duplex, row.basis)


def row_of(size: tuple[int, int], one: Candidate) -> Row:
    """Return a candidate as a catalog row of a size."""
    found = describe_origin(one.spec)
    return Row(*size, one.cost, one.allgather, one.duplex, found, one.basis, VERSION, str(one.spec))


@functools.lru_cache(maxsize=256)
def _rebuild(spec: Spec) -> Topology:
    return build(spec)


def is_dominated(front: list[Candidate], cost: Cost) -> bool:
    """Return whether a frontier is at least as good in steps and bandwidth."""
    return any(other.mean.dominates(cost) for other in front)


def precedence(cost: Cost) -> tuple[int, Fraction]:
    """Return what costs are put in order by: steps, then bandwidth."""
    return cost.steps, cost.bandwidth


def orient(spec: Spec, both: tuple[Cost, Cost], duplex: bool, basis: Basis = Basis.LINKS) -> Candidate:
    """Return a topology, or its transpose if the allgather is dearer.

    The price of the dearer collective holds for both.

    * ``both``: prices of its reduce-scatter and its allgather.
    """
    there, back = both
    if back.bandwidth > there.bandwidth:
        spec, there, back = transpose_spec(spec), back, there
    return Candidate(spec, there, back, duplex, basis)


def insert(front: list[Candidate], candidate: Candidate) -> bool:
    """Add a candidate to a frontier and drop dominated ones; return whether."""
    front[:] = find_unbeaten([*front, candidate], lambda one: precedence(one.mean), lambda one: one.rank)
    return any(one is candidate for one in front)


def optimal(candidate: Candidate) -> bool:
    """Whether its bandwidth is what no topology of its size beats."""
    nodes = candidate.base.nodes
    return candidate.cost.bandwidth == Fraction(nodes - 1, nodes)


def least_steps(target: Target) -> int:
    """Return the steps that no topology of the target does without."""
    return moore_bound(target.nodes, target.degree, duplex=target.duplex)


def line_spec(base: Spec) -> Spec:
    """Return the spec of a line graph, with the total order as one number."""
    if base.name == "line":
        inner, *times = base.args
        return Spec("line", (inner, (times[0] if times else 1) + 1))  # type: ignore[operator]
    return Spec("line", (base,))


def transpose_spec(spec: Spec) -> Spec:
    """Return the spec of the transpose; the base of a transpose."""
    inner = spec.args[0] if spec.name == "transpose" else None
    return inner if isinstance(inner, Spec) else Spec("transpose", (spec,))


def product_spec(left: Spec, right: Spec) -> Spec:
    """Return the flattest spec of a product; a power of equal factors."""
    factors = [*_product_factors(left), *_product_factors(right)]
    if all(factor == factors[0] for factor in factors):
        return Spec("power", (factors[0], len(factors)))
    return Spec("product", tuple(factors))


def _product_factors(spec: Spec) -> list[Spec]:
    if spec.name == "product":
        return [factor for factor in spec.args if isinstance(factor, Spec)]
    if spec.name == "power":
        base, times = spec.args
        return [base] * times if isinstance(base, Spec) and isinstance(times, int) else [spec]
    return [spec]


def worth(front: list[Candidate], target: Target, steps: int) -> bool:
    """Return whether the steps could be on the frontier at optimal bandwidth."""
    optimum = Fraction(target.nodes - 1, target.nodes)
    return not any(c.cost.steps <= steps and c.cost.bandwidth == optimum for c in front)
