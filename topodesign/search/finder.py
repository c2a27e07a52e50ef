"""The finder of families: base graphs and nested expansions of (N, d).

The frontier of (N, d) is computed from those of smaller sizes, each once: a line graph comes from (N/d, d), a degree
expansion from (N/n, d/n), a product from (N1, d1) and (N/N1, d - d1), a bidirectional union from (N, d/2). What a line
graph adds to the bandwidth factor depends on the base: at most 1/N and at least nothing. So for every size a few
candidates that are within 1/N of the frontier are kept beside it as bases, and only worse ones are dropped.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from topodesign.base.cost import Basis, Cost, keeps_port_free, lower_bound
from topodesign.base.errors import DisconnectedError, ParameterError, SpecError
from topodesign.base.spec import Spec
from topodesign.graphs import FAMILIES
from topodesign.graphs.expansions.bidirect import bidirect
from topodesign.graphs.expansions.degree import degree as degree_expansion
from topodesign.graphs.expansions.expansion import Claim, Expansion
from topodesign.graphs.expansions.line import line
from topodesign.graphs.expansions.parallel import parallel
from topodesign.graphs.expansions.product import product
from topodesign.graphs.expansions.spare import spare
from topodesign.pricing.closed_form import price, price_at_least
from topodesign.search.candidate import (
    LARGEST_PRICED,
    Candidate,
    insert,
    is_dominated,
    least_steps,
    line_spec,
    optimal,
    orient,
    precedence,
    product_spec,
    worth,
)
from topodesign.search.target import FoundDigraph, Target
from topodesign.topology.family import Family
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

Search = Callable[[Target, Sequence[Cost]], Iterable[FoundDigraph]]

_SAMPLE = 8
_MAX_WORK = 2**28  # links times sources that are priced even of larger topologies; about a second
_LARGEST_SPARED, _MAX_SPARE = 64, 8
"""Sizes up to the first number, which all larger ones build on, keep up to the second number of spare candidates."""
_SMALL_PRODUCT = 256
"""Products of factors that are not both bandwidth-optimal have no closed form and are tried up to this many nodes."""
_RULING = frozenset({parallel, product})
"""Expansions whose closed form is cheap and can rule a candidate out before it is built."""


@dataclass(frozen=True)
class _Plain:
    """A spec that is not built yet."""

    spec: Spec

    def build(self) -> Topology:
        """Build the spec."""
        return build(self.spec)

    def claim(self, _nodes: int) -> None:
        """Return None: no theorem gives its cost."""


@dataclass(frozen=True)
class _Expansion:
    """An expansion of candidates that is not built yet."""

    entry: Expansion
    spec: Spec
    args: tuple[Candidate | int, ...]

    def build(self) -> Topology:
        """Expand given topologies, as building the spec would."""
        return self.entry(*(arg.base.topology if isinstance(arg, Candidate) else arg for arg in self.args))

    def claim(self, nodes: int) -> Claim | None:
        """Return the closed form where it is needed or saves building.

        Needed if the topology is too large to price.
        """
        if self.entry not in _RULING and nodes <= LARGEST_PRICED:
            return None
        return self.entry.claim(*(arg.base if isinstance(arg, Candidate) else arg for arg in self.args))


@dataclass
class _Shelf:
    """What is kept of one size.

    * ``spare``: candidates that are dominated by less than 1/N, the best few: as bases they may overtake.
    """

    target: Target  # the size
    front: list[Candidate] = field(default_factory=list)  # the frontier
    spare: list[Candidate] = field(default_factory=list)

    @functools.cached_property
    def bound(self) -> Cost | None:
        """The lower bound of this size, if there is one."""
        try:
            return lower_bound(self.target.nodes, self.target.degree, duplex=self.target.duplex)
        except ParameterError:
            return None

    @property
    def slack(self) -> Fraction:
        """The tolerated dominance of kept candidates."""
        return Fraction(1, self.target.nodes) if self.target.nodes <= _LARGEST_SPARED else Fraction(0)

    @property
    def finished(self) -> bool:
        """Whether nothing better can exist, nor anything worth keeping beside it."""
        return not self.slack and bool(self.front) and self.front[0].cost == self.bound

    def least(self, cost: Cost) -> Cost:
        """Return the least mean of a topology from one collective's cost."""
        optimum = cost if self.target.duplex else Cost(cost.steps, 1 - Fraction(1, self.target.nodes))
        return cost.average_with(optimum)

    def useless(self, least: Cost) -> bool:
        """Whether nothing with at least this mean cost is worth keeping."""
        slack = self.slack
        for other in self.front:
            gap = least.bandwidth - other.mean.bandwidth
            if other.mean.steps <= least.steps and gap >= slack and (gap > 0 or other.mean.steps < least.steps):
                return True
        full = len(self.spare) == _MAX_SPARE and is_dominated(self.front, least)
        return full and precedence(self.spare[-1].mean) < precedence(least)

    def put(self, candidate: Candidate) -> None:
        """Keep a candidate on or beside the frontier, or not at all."""
        before = list(self.front)
        insert(self.front, candidate)
        if not self.slack:
            return
        kept = {id(one) for one in self.front}
        dropped = [one for one in (*before, candidate) if id(one) not in kept]
        spare = [one for one in (*self.spare, *dropped) if not self.useless(one.mean)]
        spare.sort(key=lambda one: (precedence(one.mean), one.duplex, one.rank))  # the frontier prefers duplex ones
        different = {one.looks: one for one in reversed((*self.front, *spare))}
        self.spare = [one for one in spare if different[one.looks] is one][:_MAX_SPARE]


class Finder:
    """Frontiers by size, each computed once.

    * ``found``: digraphs that a search came upon, by size; they are rebuilt and priced like all others.
    * ``known``: what is already known of some sizes: every candidate worth keeping, which is not looked for again.
    * ``search``: called for every size with the costs that symmetric families and expansions reach, for digraphs
      beyond.
    * ``families``: graph families to choose from.
    """

    def __init__(
        self,
        found: Mapping[Target, Iterable[FoundDigraph]] | None = None,
        *,
        known: Mapping[Target, Sequence[Candidate]] | None = None,
        search: Search | None = None,
        families: Sequence[Family] = FAMILIES,
    ) -> None:
        self._found = {target: list(rows) for target, rows in (found or {}).items()}
        self._search = search
        self._families = families
        self._shelves: dict[Target, _Shelf] = {}
        for target, candidates in (known or {}).items():
            front: list[Candidate] = []
            for candidate in candidates:
                insert(front, candidate)
            kept = {id(candidate) for candidate in front}
            spare = [candidate for candidate in candidates if id(candidate) not in kept]
            self._shelves[target] = _Shelf(target, front, spare)

    def frontier(self, nodes: int, degree: int, *, duplex: bool = False) -> list[Candidate]:
        """Return the undominated candidates of this size.

        Steps ascending, mean bandwidth descending.

        * ``nodes``, ``degree``: N and d.
        * ``duplex``: only topologies whose every link has its reverse.
        """
        return self._shelf(Target(nodes, degree, duplex)).front

    def list_kept(self, target: Target) -> list[Candidate]:
        """Return all kept candidates of a size.

        Its frontier, and beside it what may overtake when it is expanded.
        """
        shelf = self._shelf(target)
        return shelf.front + shelf.spare

    def offer(self, target: Target, specs: Iterable[Spec]) -> None:
        """Price more topologies of a size and keep them if useful."""
        shelf = self._shelf(target)
        for option, topology in [*_offer_symmetric(shelf, (_Plain(spec) for spec in specs))]:
            _offer(shelf, option, topology)

    def _shelf(self, target: Target) -> _Shelf:
        if target not in self._shelves:
            shelf = _Shelf(target)
            for candidate in self._list_duplex(target):
                shelf.put(candidate)
            later = [
                *_offer_symmetric(shelf, self._plain(target)),
                *_offer_symmetric(shelf, self._expand(target, shelf)),
            ]
            if self._search is not None and not shelf.finished:
                wanted = self._search(target, [candidate.cost for candidate in shelf.front])
                later = [*_offer_symmetric(shelf, (_Plain(found.spec) for found in wanted)), *later]
            for option, topology in later:
                _offer(shelf, option, topology)
            self._shelves[target] = shelf
            self.offer(target, _overtaking(target))
        return self._shelves[target]

    def _list_duplex(self, target: Target) -> list[Candidate]:
        """Return the known duplex candidates of the same size."""
        duplex = self._shelves.get(Target(target.nodes, target.degree, duplex=True))
        return [] if duplex is None else duplex.front + duplex.spare

    def _plain(self, target: Target) -> Iterator[_Plain]:
        for family in self._families:
            for args in family.find(target.nodes, target.degree):
                yield _Plain(Spec(family.name, tuple(args)))
        for duplex in {True, target.duplex}:
            for found in self._found.get(Target(target.nodes, target.degree, duplex), ()):
                yield _Plain(found.spec)

    def _expand(self, target: Target, shelf: _Shelf) -> Iterator[_Expansion]:
        nodes, degree, duplex = target.nodes, target.degree, target.duplex
        if not duplex and degree > 1 and nodes % degree == 0:
            for base in self._bases(nodes // degree, degree, duplex=False, spare=True):
                if base.spec.name == "genkautz":
                    continue  # its line graph is the larger genkautz
                yield _Expansion(line, line_spec(base.spec), (base,))
        for n in (n for n in range(2, degree + 1) if degree % n == 0):
            if nodes % n == 0:
                for base in self._bases(nodes // n, degree // n, duplex=duplex, spare=True):
                    yield _Expansion(degree_expansion, Spec("degree", (base.spec, n)), (base, n))
            if degree >= nodes:
                for base in self._bases(nodes, degree // n, duplex=duplex):
                    yield _Expansion(parallel, Spec("parallel", (base.spec, n)), (base, n))
        yield from self._with_port_free(target)
        for left, right in self._factors(target, shelf.front):
            yield _Expansion(product, product_spec(left.spec, right.spec), (left, right))
        for base in self._bases(nodes, degree // 2, duplex=False, spare=True) if degree % 2 == 0 else ():
            if not base.duplex and not shelf.finished:
                yield _Expansion(bidirect, Spec("bidirect", (base.spec,)), (base,))

    def _with_port_free(self, target: Target) -> Iterator[_Expansion]:
        """Yield topologies of one port less, where a port stays free anyway."""
        nodes, degree = target.size
        if degree >= nodes and keeps_port_free(nodes, degree, duplex=target.duplex):
            for base in self._bases(nodes, degree - 1, duplex=True):
                yield _Expansion(spare, Spec("spare", (base.spec, 1)), (base, 1))

    def _factors(self, target: Target, front: list[Candidate]) -> Iterator[tuple[Candidate, Candidate]]:
        """Yield pairs of factors that could have fewer steps than the best optimum."""
        for fewest, one, other in _splits(target):
            if not worth(front, target, fewest):
                return
            for left in self._shelf(one).front:
                for right in self._shelf(other).front:
                    promising = target.nodes <= _SMALL_PRODUCT or (optimal(left) and optimal(right))
                    if promising and worth(front, target, left.cost.steps + right.cost.steps):
                        yield left, right

    def _bases(self, nodes: int, degree: int, *, duplex: bool, spare: bool = False) -> list[Candidate]:
        target = Target(nodes, degree, duplex)
        if not is_possible(target):
            return []
        shelf = self._shelf(target)
        return shelf.front + shelf.spare if spare else shelf.front


def _overtaking(target: Target) -> Iterator[Spec]:
    """Yield expansions on a frontier whose bases are dominated.

    By more than is kept.

    A ring has more steps than all others, but the line graphs of one lose no bandwidth. A generalized Kautz digraph has
    a larger bandwidth factor than others, but its union with its transpose balances that.
    """
    nodes, degree = target.nodes, target.degree
    if not target.duplex:
        yield from _ring_lines(nodes, degree)
    if degree > 2 and degree % 2 == 0:
        for base in (Spec("genkautz", (degree // 2, nodes)), *_ring_lines(nodes, degree // 2)):
            yield Spec("bidirect", (base,))


def _ring_lines(nodes: int, degree: int) -> Iterator[Spec]:
    """Yield line graphs of rings with parallel links, of a size."""
    if degree > 1 and nodes % degree == 0 and nodes > degree:
        fewer = nodes // degree
        for base in (Spec("uniring", (degree, fewer)), *_ring_lines(fewer, degree)):
            yield line_spec(base)


def base_targets(target: Target) -> list[Target]:
    """Return the base sizes that :class:`Finder` expands to a size."""
    nodes, degree, duplex = target.nodes, target.degree, target.duplex
    sizes = [size for pair in _factor_sizes(target) for size in pair]
    if not duplex and degree > 1 and nodes % degree == 0:
        sizes.append(Target(nodes // degree, degree, duplex=False))
    for n in (n for n in range(2, degree + 1) if degree % n == 0):
        if nodes % n == 0:
            sizes.append(Target(nodes // n, degree // n, duplex))
        if degree >= nodes:
            sizes.append(Target(nodes, degree // n, duplex))
    if degree % 2 == 0:
        sizes.append(Target(nodes, degree // 2, duplex=False))
    return [size for size in dict.fromkeys(sizes) if is_possible(size)]


def _splits(target: Target) -> list[tuple[int, Target, Target]]:
    """Return the factor sizes of products with fewest possible steps, ascending."""
    rows = [(least_steps(one) + least_steps(other), one, other) for one, other in _factor_sizes(target)]
    return sorted(rows, key=lambda row: row[0])


def _factor_sizes(target: Target) -> list[tuple[Target, Target]]:
    nodes, degree, duplex = target.nodes, target.degree, target.duplex
    return [
        (Target(first, share, duplex), Target(nodes // first, degree - share, duplex))
        for first in range(2, math.isqrt(nodes) + 1)
        if nodes % first == 0
        for share in range(1, degree)
        if is_possible(Target(first, share, duplex)) and is_possible(Target(nodes // first, degree - share, duplex))
    ]


def is_possible(target: Target) -> bool:
    """Whether there can be a topology of this size."""
    if target.nodes < 2 or target.degree < 1:
        return False
    return not target.duplex or (target.nodes * target.degree % 2 == 0 and (target.degree > 1 or target.nodes == 2))


def _sources(topology: Topology) -> Sequence[int]:
    """Return the source nodes needed to price a topology."""
    return topology.representatives or range(topology.nodes)


def _offer_symmetric(
    shelf: _Shelf, options: Iterable[_Plain | _Expansion]
) -> Iterator[tuple[_Plain | _Expansion, Topology]]:
    """Keep useful symmetric topologies; yield the others."""
    for option in options:
        if not shelf.finished and not _is_ruled_out(shelf, option) and (topology := _fitting(shelf.target, option)):
            if len(_sources(topology)) > _SAMPLE:
                yield option, topology
            else:
                _offer(shelf, option, topology)


def _is_ruled_out(shelf: _Shelf, option: _Plain | _Expansion) -> bool:
    """Return whether a theorem proves that something better is kept."""
    claim = option.claim(shelf.target.nodes)
    return claim is not None and claim.basis is Basis.THEOREM and is_dominated(shelf.front, shelf.least(claim.cost))


def _fitting(target: Target, option: _Plain | _Expansion) -> Topology | None:
    """Build a topology, unless it is refused or has another size."""
    try:
        topology = option.build()
    except (ParameterError, SpecError):
        return None  # an expansion or a family that refuses this after all
    if (topology.nodes, topology.degree) != (target.nodes, target.degree):
        return None
    return topology if topology.is_duplex or not target.duplex else None


def _offer(shelf: _Shelf, option: _Plain | _Expansion, topology: Topology) -> None:
    """Price a topology and keep it, unless some of its nodes rule it out."""
    if shelf.finished or any(kept.spec == option.spec for kept in (*shelf.front, *shelf.spare)):
        return
    if topology.nodes <= LARGEST_PRICED or len(_sources(topology)) * len(topology.src) <= _MAX_WORK:
        with contextlib.suppress(DisconnectedError):  # a family member that is not connected
            cost = _price_unless(lambda least: shelf.useless(shelf.least(least)), topology)
            if cost is not None:
                back = cost if topology.is_duplex else price(topology.transpose())
                shelf.put(orient(option.spec, (cost, back), topology.is_duplex))
        return
    claim = option.claim(shelf.target.nodes)
    if claim is not None and claim.basis is not Basis.SCHEDULE:
        shelf.put(Candidate(option.spec, claim.cost, claim.cost, topology.is_duplex, claim.basis, topology))


def _price_unless(useless: Callable[[Cost], bool], topology: Topology) -> Cost | None:
    """Return the price, or None if it is of no use."""
    sources = len(_sources(topology))
    some = _SAMPLE
    while some < sources:
        if useless(price_at_least(topology, some)):
            return None
        some *= _SAMPLE
    cost = price(topology)
    return None if useless(cost) else cost
