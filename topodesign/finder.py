"""The finder: every base graph and every nesting of expansions that reaches exactly (N, d), priced.

The frontier of (N, d) is computed from those of smaller sizes, each once: a line graph comes from (N/d, d), a degree
expansion from (N/n, d/n), a product from (N1, d1) and (N/N1, d - d1), a bidirectional union from (N, d/2). What a line
graph adds to the bandwidth factor depends on the base: at most 1/N and at least nothing. So for every size a few
candidates that are within 1/N of the frontier are kept beside it as bases, and only worse ones are dropped.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from topodesign.cost import Cost, moore_bound
from topodesign.errors import DisconnectedError, ParameterError, SpecError
from topodesign.expand import bidirect, line, parallel, product, transpose
from topodesign.expand import degree as degree_expansion
from topodesign.expand.expansion import Base, Basis, Claim, Expansion
from topodesign.graphs import FAMILIES
from topodesign.library import build
from topodesign.search import Found, Target
from topodesign.solve.spff import price, price_at_least
from topodesign.spec import Spec
from topodesign.topology import Topology

LARGEST_PRICED = 4096
"""Topologies of up to this many nodes are always rebuilt and priced from their links."""

Source = Literal["links", "closed form", "closed form, at most"]
Build = Callable[[], Topology]

_SAMPLE = 8
_MOST_WORK = 2**28
"""Links times sources that are priced even of larger topologies; about a second."""
_LARGEST_SPARED, _MOST_SPARE = 64, 8
"""Sizes up to the first number, which all larger ones build on, keep up to the second number of spare candidates."""
_SMALL_PRODUCT = 256
"""Products of factors that are not both bandwidth-optimal have no closed form and are tried up to this many nodes."""
_RULING = frozenset({parallel, product})
"""Expansions whose closed form is cheap and can rule a candidate out before it is built."""


@dataclass(frozen=True)
class Candidate:
    """A topology with its price.

    Attributes
    ----------
    spec
        The text that rebuilds it.
    base
        The topology with its cost, which holds for reduce-scatter and allgather: the price of its SPFF reduce-scatter,
        and its allgather costs no more (or the claimed cost, if ``source`` is a closed form).
    source
        ``links`` if rebuilt and priced from its links, ``closed form`` if a theorem gives this very cost,
        ``closed form, at most`` if it gives an upper bound.
    allgather
        Price of its allgather, at most ``cost``.
    """

    spec: Spec
    base: Base = field(repr=False)
    source: Source
    allgather: Cost

    @property
    def cost(self) -> Cost:
        """Steps and bandwidth factor."""
        return self.base.cost

    @property
    def duplex(self) -> bool:
        """Whether every link has its reverse."""
        return self.base.topology.is_duplex

    @functools.cached_property
    def rank(self) -> tuple[int, Fraction, bool, int, str]:
        """Sort key: cheapest latency first, then bandwidth; among equals duplex first, then the plainest spec."""
        text = str(self.spec)
        return self.cost.steps, self.cost.bandwidth, not self.duplex, text.count("(") * 100 + len(text), text


@dataclass(frozen=True)
class _Expanded:
    """An expansion of candidates that is not built yet."""

    entry: Expansion
    spec: Spec
    args: tuple[Candidate | int, ...]

    def build(self) -> Topology:
        """Expand the topologies at hand, which is what building the spec does from the start."""
        return self.entry(*(arg.base.topology if isinstance(arg, Candidate) else arg for arg in self.args))

    def claim(self, nodes: int) -> Claim | None:
        """Return the closed form where it is needed (too large to price) or can spare building the expansion."""
        if self.entry not in _RULING and nodes <= LARGEST_PRICED:
            return None
        return self.entry.claim(*(arg.base if isinstance(arg, Candidate) else arg for arg in self.args))


@dataclass
class _Shelf:
    """What is kept of one size.

    Attributes
    ----------
    target
        The size.
    front
        The frontier.
    spare
        Candidates that are dominated by less than 1/N, the best few: as bases they may overtake.
    """

    target: Target
    front: list[Candidate] = field(default_factory=list)
    spare: list[Candidate] = field(default_factory=list)

    @property
    def slack(self) -> Fraction:
        """By how much a candidate may be dominated and still be kept."""
        return Fraction(1, self.target.nodes) if self.target.nodes <= _LARGEST_SPARED else Fraction(0)

    def useless(self, least: Cost) -> bool:
        """Whether nothing with at least this cost is worth keeping."""
        slack = self.slack
        for other in self.front:
            gap = least.bandwidth - other.cost.bandwidth
            if other.cost.steps <= least.steps and gap >= slack and (gap > 0 or other.cost.steps < least.steps):
                return True
        full = len(self.spare) == _MOST_SPARE and _dominated(self.front, least)
        return full and _key(self.spare[-1].cost) < _key(least)

    def put(self, candidate: Candidate) -> None:
        """Keep a candidate on the frontier or beside it, or not at all."""
        before = list(self.front)
        insert(self.front, candidate)
        kept = {id(one) for one in self.front}
        dropped = [one for one in (*before, candidate) if id(one) not in kept]
        spare = [one for one in (*self.spare, *dropped) if self.slack and not self.useless(one.cost)]
        spare.sort(key=lambda one: (_key(one.cost), one.duplex, one.rank))  # the frontier prefers duplex ones
        self.spare = spare[:_MOST_SPARE]


class Finder:
    """Frontiers by size, each computed once.

    Parameters
    ----------
    found
        Digraphs that a search came upon, by size; they are rebuilt and priced like all others.
    """

    def __init__(self, found: Mapping[Target, Iterable[Found]] | None = None) -> None:
        self._found = {target: list(rows) for target, rows in (found or {}).items()}
        self._shelves: dict[Target, _Shelf] = {}

    def frontier(self, nodes: int, degree: int, *, duplex: bool = False) -> list[Candidate]:
        """Return the undominated candidates with exactly this size, steps ascending and bandwidth descending.

        Parameters
        ----------
        nodes, degree
            N and d.
        duplex
            Only topologies whose every link has its reverse.
        """
        return self._shelf(Target(nodes, degree, duplex)).front

    def _shelf(self, target: Target) -> _Shelf:
        if target not in self._shelves:
            shelf = _Shelf(target)
            for spec in self._plain(target):
                _offer(shelf, spec, functools.partial(build, spec))
            for expanded in self._expanded(target, shelf.front):
                _offer(shelf, expanded.spec, expanded.build, expanded.claim(target.nodes))
            self._shelves[target] = shelf
        return self._shelves[target]

    def _plain(self, target: Target) -> Iterator[Spec]:
        for family in FAMILIES:
            for args in family.find(target.nodes, target.degree):
                yield Spec(family.name, tuple(args))
        for duplex in {True, target.duplex}:
            for found in self._found.get(Target(target.nodes, target.degree, duplex), ()):
                yield found.spec

    def _expanded(self, target: Target, front: list[Candidate]) -> Iterator[_Expanded]:
        nodes, degree, duplex = target.nodes, target.degree, target.duplex
        if not duplex and degree > 1 and nodes % degree == 0:
            for base in self._bases(nodes // degree, degree, duplex=False, spare=True):
                yield _Expanded(line, _line_spec(base.spec), (base,))
        for n in (n for n in range(2, degree + 1) if degree % n == 0):
            if nodes % n == 0:
                for base in self._bases(nodes // n, degree // n, duplex=duplex, spare=True):
                    yield _Expanded(degree_expansion, Spec("degree", (base.spec, n)), (base, n))
            if degree >= nodes:
                for base in self._bases(nodes, degree // n, duplex=duplex):
                    yield _Expanded(parallel, Spec("parallel", (base.spec, n)), (base, n))
        for base in self._bases(nodes, degree // 2, duplex=False, spare=True) if degree % 2 == 0 else ():
            if not base.duplex:
                yield _Expanded(bidirect, Spec("bidirect", (base.spec,)), (base,))
        for left, right in self._factors(target, front):
            yield _Expanded(product, _product_spec(left.spec, right.spec), (left, right))

    def _factors(self, target: Target, front: list[Candidate]) -> Iterator[tuple[Candidate, Candidate]]:
        """Yield pairs of factors while their steps could still be fewer than the best optimal candidate's."""
        splits = sorted(
            (
                _moore(first, share, target.duplex)
                + _moore(target.nodes // first, target.degree - share, target.duplex),
                first,
                share,
            )
            for first in range(2, math.isqrt(target.nodes) + 1)
            if target.nodes % first == 0
            for share in range(1, target.degree)
        )
        for fewest, first, share in splits:
            if _worth(front, target, fewest):
                for left in self._bases(first, share, duplex=target.duplex):
                    for right in self._bases(target.nodes // first, target.degree - share, duplex=target.duplex):
                        promising = target.nodes <= _SMALL_PRODUCT or (_optimal(left) and _optimal(right))
                        if promising and _worth(front, target, left.cost.steps + right.cost.steps):
                            yield left, right

    def _bases(self, nodes: int, degree: int, *, duplex: bool, spare: bool = False) -> list[Candidate]:
        if nodes < 2 or degree < 1 or (duplex and nodes * degree % 2):
            return []
        shelf = self._shelf(Target(nodes, degree, duplex))
        return shelf.front + shelf.spare if spare else shelf.front


def _offer(shelf: _Shelf, spec: Spec, construct: Build, claim: Claim | None = None) -> None:
    """Build and price a spec and keep it, unless a theorem or a few of its nodes rule it out."""
    exact = claim is not None and claim.basis is Basis.EXACT
    if claim is not None and exact and _dominated(shelf.front, claim.cost):
        return
    target = shelf.target
    try:
        topology = construct()
        if (topology.nodes, topology.degree) != (target.nodes, target.degree):
            return
        if target.duplex and not topology.is_duplex:
            return
        if _can_be_priced(topology):
            least = price_at_least(topology, _SAMPLE)
            if not shelf.useless(least):
                few = len(topology.representatives or range(topology.nodes)) <= _SAMPLE  # then all were looked at
                there = least if few else price(topology)
                if few or not shelf.useless(there):
                    shelf.put(_dearer_way(spec, topology, there))
        elif claim is not None and claim.basis is not Basis.SCHEDULE:
            source: Source = "closed form" if exact else "closed form, at most"
            shelf.put(Candidate(spec, Base(topology, claim.cost), source, claim.cost))
    except (ParameterError, SpecError, DisconnectedError):
        return  # an expansion that refuses this base, or a family member that is not connected


def _can_be_priced(topology: Topology) -> bool:
    sources = len(topology.representatives or range(topology.nodes))
    return topology.nodes <= LARGEST_PRICED or sources * len(topology.src) <= _MOST_WORK


def _dominated(front: list[Candidate], cost: Cost) -> bool:
    return any(other.cost.dominates(cost) for other in front)


def _key(cost: Cost) -> tuple[int, Fraction]:
    return cost.steps, cost.bandwidth


def _dearer_way(spec: Spec, topology: Topology, there: Cost) -> Candidate:
    """Return the topology or its transpose, whichever costs more, so that its price holds for both collectives."""
    back = there if topology.is_duplex else price(topology.transpose())
    if back.bandwidth <= there.bandwidth:
        return Candidate(spec, Base(topology, there), "links", back)
    if spec.name == "transpose" and isinstance(spec.args[0], Spec):
        return Candidate(spec.args[0], Base(build(spec.args[0]), back), "links", there)
    return Candidate(Spec("transpose", (spec,)), Base(transpose(topology), back), "links", there)


def insert(front: list[Candidate], candidate: Candidate) -> bool:
    """Put a candidate in its place on a frontier, drop what it dominates; return whether it was put there."""
    for other in front:
        if other.cost.dominates(candidate.cost) and (other.cost != candidate.cost or other.rank <= candidate.rank):
            return False
    front[:] = [other for other in front if not candidate.cost.dominates(other.cost)]
    front.append(candidate)
    front.sort(key=lambda c: c.rank)
    return True


def _worth(front: list[Candidate], target: Target, steps: int) -> bool:
    """Whether a candidate with so many steps could be on the frontier (its bandwidth is at best optimal)."""
    optimum = Fraction(target.nodes - 1, target.nodes)
    return not any(c.cost.steps <= steps and c.cost.bandwidth == optimum for c in front)


def _optimal(candidate: Candidate) -> bool:
    nodes = candidate.base.nodes
    return candidate.cost.bandwidth == Fraction(nodes - 1, nodes)


def _moore(nodes: int, degree: int, duplex: bool) -> int:
    try:
        return moore_bound(nodes, degree, duplex=duplex)
    except ParameterError:
        return 10**9


def _line_spec(base: Spec) -> Spec:
    if base.name == "line":
        inner, *times = base.args
        return Spec("line", (inner, (times[0] if times else 1) + 1))  # type: ignore[operator]
    return Spec("line", (base,))


def _product_spec(left: Spec, right: Spec) -> Spec:
    """Return the flattest spec of a product: a power where all factors are equal."""
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
