"""Topologies of any size from catalog rows, searches and formulas.

Rows expanded, digraphs of a short search, and generalized Kautz digraphs.

What is offered is priced by theorems first, which need nothing built. What is left on the frontier is then built and
priced from its links, one source for each orbit, as far as a budget of work goes. All budgets are of work, none of
time, so that the answer depends on the question and the catalog alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from topodesign.base.cost import Basis, Cost, commuting_bound, keeps_port_free
from topodesign.base.errors import DisconnectedError, ParameterError, SpecError, TopologyError
from topodesign.base.progress import Progress, iterate_with_progress, part, tell
from topodesign.base.spec import Spec, parse
from topodesign.catalog.files import read_rows
from topodesign.catalog.idle import with_idle_ports
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.quality import runtime
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import MAX_NODES, covers
from topodesign.graphs import FAMILIES
from topodesign.graphs.expansions.expansion import Base
from topodesign.graphs.expansions.line import line
from topodesign.graphs.genkautz import orbits
from topodesign.pricing.closed_form import distances, price_unless
from topodesign.pricing.evaluation import price_both
from topodesign.pricing.windows import genkautz_at_most
from topodesign.search.beyond import cyclic_covers, few_away, is_poor, remove_node, search_beyond, with_digits
from topodesign.search.candidate import (
    Candidate,
    candidate_of,
    insert,
    least_steps,
    line_spec,
    orient,
    product_spec,
)
from topodesign.search.finder import is_possible
from topodesign.search.target import FoundDigraph, Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_MAX_BUILT = 2**23  # links of topologies that are built and priced
_MAX_REBUILT = 2**20  # links of those that are, where a theorem gives the price as exactly
_MAX_WORK = 2**29  # links times sources that one topology is priced with: a second or two
_MAX_CHECKED = 2**23  # links times generators of automorphisms that are looked up: about a second
_MAX_RETURNS = 2**26
"""Links times sources of bases of line graphs that are looked at for how soon walks come back: about a second."""
_MAX_FAMILY = 2**21  # links of members of families that are built to see how symmetric they are
_PER_FAMILY = 2
_COMMUTING = {"biring", "circulant", "dicirculant", "torus", "twistedtorus", "uniring"}  # links lead on in any order
_TRIED = 4  # candidates of a kind without a closed form that are built
_MAX_RING = 8  # nodes of one-way rings that are factors


def compose_frontier(
    target: Target, catalog: Catalog, *, seed: int = 0, seconds: float | None = None, progress: Progress | None = None
) -> list[Candidate]:
    """Return the frontier of a size beyond the catalog."""
    composer = _Composer(catalog, target.duplex)
    shelf = _Shelf(target)
    for candidate in composer.by_theorem(target):
        shelf.put(candidate)
    for cover, least in cyclic_covers(target):
        shelf.price(cover, least)
    searched = search_beyond(target, shelf.front, composer.costs, (seed, seconds), part(progress, 0, 0.6))
    for candidate in _expand_searched(target, searched):
        shelf.put(candidate)
    unpriced = [
        *composer.without_theorem(target),
        *((one.spec, one.cost.steps, None) for one in searched.get(target, ())),
    ]
    for spec, steps, base in iterate_with_progress(unpriced, part(progress, 0.6, 0.8)):
        shelf.price(spec, steps, base)
    made = with_digits(target, catalog, min((runtime(one.mean) for one in shelf.front), default=None))
    if made is not None and made.spec is not None:
        shelf.put_priced(made.spec, made)
    beside = () if seconds == 0 else few_away(target, shelf.front, composer.by_theorem, seed)
    for spec, topology in beside:
        shelf.put_priced(spec, topology)
    if seconds != 0 and keeps_port_free(*target.size, duplex=target.duplex):  # which no size with a node more does
        more = compose_frontier(replace(target, nodes=target.nodes + 1), catalog, seed=seed, seconds=seconds)
        for spec, topology in remove_node(target, min(more, key=lambda one: runtime(one.mean)), seed) if more else ():
            shelf.put_priced(spec, topology)
    if keeps_port_free(*target.size, duplex=target.duplex) and is_poor(target, shelf.front):
        for one in compose_frontier(replace(target, degree=target.degree - 1), catalog, seed=seed, seconds=seconds):
            shelf.price(with_idle_ports(one.spec))
    shelf.settle(part(progress, 0.8, 1))
    return shelf.front


class _Shelf:
    """The frontier of a size as it grows."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.front: list[Candidate] = []

    def put(self, candidate: Candidate) -> None:
        """Keep a candidate that nothing dominates."""
        insert(self.front, candidate)

    def price(self, spec: Spec, steps: int = 0, base: Candidate | None = None) -> None:
        """Build, price and keep a topology without a closed form.

        If it has few orbits.

        Not if something is better than what so many steps, or those that one node needs, allow, or the bandwidth factor
        of a base that has no larger one.
        """
        if self._rules_out(steps):
            return
        exact = base and _exact(base)
        least = exact.mean.bandwidth if exact and exact.basis is not Basis.BOUND else Fraction(0)
        if self._rules_out(steps, least):
            return
        topology = _build(spec, self.target)
        try:
            if topology is not None and not self._rules_out(int(distances(topology, 0).max()), least):
                self.put_priced(spec, topology)
        except (ParameterError, DisconnectedError):
            return  # a member that is not connected

    def put_priced(self, spec: Spec, topology: Topology) -> None:
        """Price a topology from its links and keep it unless dominated.

        Some of its nodes may show that it is.
        """
        costs = price_unless(topology, lambda mean: self._rules_out(mean.steps, mean.bandwidth))
        if costs is not None:
            self.put(_orient(spec, topology, costs))

    def _rules_out(self, steps: int, bandwidth: Fraction = Fraction(0)) -> bool:
        least = Cost(steps, max(bandwidth, Fraction(self.target.nodes - 1, self.target.nodes)))
        return any(one.mean.dominates(least) and one.mean != least for one in self.front)

    def settle(self, progress: Progress | None) -> None:
        """Price from links, or prove exact, the closed forms on the frontier."""
        known: set[str] = set()
        while waiting := [one for one in self.front if one.basis is not Basis.LINKS and str(one.spec) not in known]:
            claimed = waiting[0]
            known.add(str(claimed.spec))
            tell(progress, 1 - len(waiting) / (len(known) + len(waiting)))
            many = self.target.nodes * self.target.degree > _MAX_REBUILT
            settled = _exact(claimed) if many else claimed
            if settled.basis is not Basis.THEOREM or not many:
                settled = _from_links(claimed.spec, self.target) or _exact(claimed)
            if settled.cost.steps > claimed.cost.steps or settled.cost.bandwidth > claimed.cost.bandwidth:
                raise TopologyError(f"{claimed.spec} costs {settled.cost}, where a theorem says {claimed.cost}")
            if settled.basis is Basis.BOUND:
                continue
            known.add(str(settled.spec))
            self.front.remove(claimed)
            self.put(settled)


class _Composer:
    """What theorems give, by size."""

    def __init__(self, catalog: Catalog, duplex: bool) -> None:
        self._catalog = catalog
        self._rows: dict[tuple[int, int], list[Row]] = {}
        self._optimal: dict[Target, tuple[int, Spec] | None] = {}
        self._single: dict[Target, list[tuple[int, str]]] = {}
        self.duplex = duplex

    def rows(self, nodes: int, degree: int) -> list[Row]:
        """Return the catalog's rows of a size by SPFF, which theorems cover."""
        if not covers(nodes, degree) or degree not in self._degrees:
            return []
        if (nodes, degree) not in self._rows:
            rows = read_rows(self._catalog.directory, degree, nodes, nodes)
            self._rows[nodes, degree] = [row for row in rows if not row.deferred]
        return self._rows[nodes, degree]

    @cached_property
    def _degrees(self) -> list[int]:
        return self._catalog.degrees

    def by_theorem(self, target: Target) -> Iterator[Candidate]:
        """Yield candidates with a price or bound that needs no building."""
        nodes, degree = target.nodes, target.degree
        yield from (candidate_of(row) for row in self.rows(nodes, degree) if row.duplex or not target.duplex)
        if not target.duplex:
            yield from self._lines(nodes, degree)
            yield from _kautz(nodes, degree)
        best = self.optimal(target)
        if best is not None and best[1].name in {"product", "power"} and _simple(best[1]):
            cost = Cost(best[0], Fraction(nodes - 1, nodes))
            yield Candidate(best[1], cost, cost, target.duplex or _is_duplex(best[1]), Basis.THEOREM)

    def costs(self, target: Target) -> list[Cost]:
        """Return the frontier by theorems."""
        return [one.cost for one in _frontier(self.by_theorem(target))]

    def _lines(self, nodes: int, degree: int) -> Iterator[Candidate]:
        for times in itertools.count(1):
            fewer, rest = divmod(nodes, degree**times)
            if degree < 2 or rest or fewer < 2:
                return
            for row in self.rows(fewer, degree):
                yield make_line_graph(candidate_of(row), fewer, degree, times)

    def without_theorem(self, target: Target) -> Iterator[tuple[Spec, int, Candidate | None]]:
        """Yield candidates to build, with least steps and a base.

        No copies beat the base.

        These are the best few of each kind, which sizes and symmetry tell.
        """
        nodes, degree = target.nodes, target.degree
        if nodes * degree > _MAX_BUILT:
            return
        for copies in (n for n in range(2, degree) if degree % n == 0 and nodes % n == 0):
            smaller = Target(nodes // copies, degree // copies, target.duplex)
            bases = sorted(self.by_theorem(smaller), key=lambda one: one.rank)
            for base in _frontier(bases)[:_TRIED]:
                # Ways between copies are ways between what they are copies of, whose sets of links are as full; and of
                # line graphs the steps are known.
                known = base.basis is not Basis.BOUND or base.spec.name == "line"
                yield Spec("degree", (base.spec, copies)), base.cost.steps if known else least_steps(smaller), base
        if target.duplex and degree % 2 == 0:
            bases = sorted(self.by_theorem(replace(target, degree=degree // 2, duplex=False)), key=lambda one: one.rank)
            for base in _frontier(bases)[:_TRIED]:
                yield Spec("bidirect", (base.spec,)), 0, None
        if nodes * degree <= _MAX_FAMILY:
            for family in FAMILIES:
                if family.name not in {"genkautz", "genkautzjoined"}:
                    least = commuting_bound(nodes, degree) if family.name in _COMMUTING else 0
                    for args in itertools.islice(family.find(nodes, degree), _PER_FAMILY):
                        yield Spec(family.name, tuple(args)), least, None

    def optimal(self, target: Target) -> tuple[int, Spec] | None:
        """Return a product of bandwidth-optimal factors with the fewest steps.

        Or the one factor.
        """
        if target not in self._optimal:
            self._optimal[target] = None  # none of its own factors
            self._optimal[target] = min(
                self._choices(target), key=lambda one: (one[0], len(str(one[1])), str(one[1])), default=None
            )
        return self._optimal[target]

    def _choices(self, target: Target) -> Iterator[tuple[int, Spec]]:
        nodes, degree, duplex = target.nodes, target.degree, target.duplex
        best: int | None = None
        for steps, text in self._factors(target):
            best = steps if best is None else min(best, steps)
            yield steps, parse(text)
        if nodes <= MAX_NODES and best is not None:
            return  # the catalog knows products of its sizes
        for first in (n for n in range(2, min(nodes // 2, MAX_NODES) + 1) if nodes % n == 0):
            for share in range(1, degree):
                one, other = Target(first, share, duplex), Target(nodes // first, degree - share, duplex)
                if not all(side.degree < side.nodes and is_possible(side) for side in (one, other)):
                    continue
                if best is not None and least_steps(one) + least_steps(other) >= best:
                    continue
                left = min(self._factors(one), key=lambda pair: (pair[0], len(pair[1])), default=None)
                if left is None or (best is not None and left[0] + least_steps(other) >= best):
                    continue
                right = self.optimal(other)
                if right is not None and (best is None or left[0] + right[0] < best):
                    best = left[0] + right[0]
                    yield best, product_spec(parse(left[1]), right[1])

    def _factors(self, target: Target) -> list[tuple[int, str]]:
        """Return single bandwidth-optimal topologies as texts."""
        if target not in self._single:
            self._single[target] = list(self._singles(target))
        return self._single[target]

    def _singles(self, target: Target) -> Iterator[tuple[int, str]]:
        nodes, degree = target.nodes, target.degree
        if degree == nodes - 1:
            yield 1, f"complete({nodes})"
        elif degree == 1 and nodes <= _MAX_RING and not target.duplex:
            yield nodes - 1, f"uniring(1,{nodes})"
        for row in self.rows(nodes, degree):
            if row.cost.bandwidth == Fraction(nodes - 1, nodes) and (row.duplex or not target.duplex):
                yield row.cost.steps, row.spec


def make_line_graph(base: Candidate, nodes: int, degree: int, times: int) -> Candidate:
    """Return a line graph of a given size with an upper bound of its price.

    See ``expand/line.py``.
    """
    added = sum((Fraction(1, nodes * degree**i) for i in range(times)), Fraction(0))
    spec = base.spec
    for _ in range(times):
        spec = line_spec(spec)
    there, back = (Cost(one.steps + times, one.bandwidth + added) for one in (base.cost, base.allgather))
    return Candidate(spec, there, back, False, Basis.BOUND)


def _kautz(nodes: int, degree: int) -> Iterator[Candidate]:
    """Yield the generalized Kautz digraph, or its transpose if dearer."""
    if (known := genkautz_at_most(degree, nodes)) is not None:
        yield orient(Spec("genkautz", (degree, nodes)), known, False, Basis.BOUND)


def _frontier(candidates: Iterable[Candidate]) -> list[Candidate]:
    front: list[Candidate] = []
    for candidate in candidates:
        insert(front, candidate)
    return front


def _factor_topologies(spec: Spec) -> Iterator[Topology]:
    for argument in spec.args:
        if isinstance(argument, Spec):
            yield build(argument)


def _simple(spec: Spec) -> bool:
    """Return whether all factors lack self-loops and parallel links."""
    return all(Base(one, Cost(0, Fraction(0))).simple for one in _factor_topologies(spec))


def _is_duplex(spec: Spec) -> bool:
    return all(one.is_duplex for one in _factor_topologies(spec))


def _expand_searched(target: Target, searched: dict[Target, list[FoundDigraph]]) -> Iterator[Candidate]:
    """Yield line graphs of what was found of smaller sizes."""
    for size, found in searched.items():
        times, nodes = 0, size.nodes
        while nodes < target.nodes:
            times, nodes = times + 1, nodes * target.degree
        for one in found if times else ():
            base = _from_links(one.spec, size)
            if base is not None:
                yield make_line_graph(base, size.nodes, size.degree, times)


def _has_many_orbits(spec: Spec, links: int) -> bool:
    """Return whether the spec implies too many orbits."""
    inner: Spec | int = spec
    while isinstance(inner, Spec) and inner.name in {"degree", "bidirect", "cover", "transpose"}:
        inner = inner.args[0]
    if not isinstance(inner, Spec) or inner.name != "genkautz":
        return False
    return orbits(*(one for one in inner.args if isinstance(one, int))) * links > _MAX_WORK


def _build(spec: Spec, target: Target) -> Topology | None:
    """Build a topology; None if too large, of many orbits or another size."""
    links = target.nodes * target.degree
    if links > _MAX_BUILT or _has_many_orbits(spec, links):
        return None
    try:
        topology = build(spec)
        return topology if _can_be_priced(topology, target) else None
    except (ParameterError, SpecError, DisconnectedError):
        return None  # a family or an expansion that refuses this after all


def _from_links(spec: Spec, target: Target) -> Candidate | None:
    """Price a topology from its links, or return None."""
    topology = _build(spec, target)
    try:
        return None if topology is None else _orient(spec, topology, price_both(topology))
    except (ParameterError, DisconnectedError):
        return None  # a member that is not connected


def _orient(spec: Spec, topology: Topology, both: tuple[Cost, Cost]) -> Candidate:
    """Return a topology priced from its links, or its dearer transpose."""
    return orient(spec, both, topology.is_duplex, Basis.LINKS if _proven(topology) else Basis.ORBITS)


def _can_be_priced(topology: Topology, target: Target) -> bool:
    """Return whether a topology has the size, and few enough orbits."""
    fits = (topology.nodes, topology.degree) == (target.nodes, target.degree)
    return fits and work_to_price(topology) <= _MAX_WORK and (topology.is_duplex or not target.duplex)


def work_to_price(topology: Topology) -> int:
    """Return links times sources to price, one source per orbit."""
    sources = topology.nodes if topology.representatives is None else len(topology.representatives)
    return sources * len(topology.src)


def _proven(topology: Topology) -> bool:
    """Return whether the orbits are proven, where that is affordable."""
    symmetry = topology.symmetry
    if symmetry is None or len(symmetry.representatives) == topology.nodes:
        return True
    if len(topology.src) > _MAX_CHECKED // 2 or len(topology.src) * len(symmetry.generators) > _MAX_CHECKED:
        return False
    symmetry.check(topology)
    return True


def _exact(claimed: Candidate) -> Candidate:
    """Return the candidate with its price exact if a theorem proves it."""
    spec = claimed.spec
    if claimed.basis is not Basis.BOUND or spec.name != "line" or not isinstance(spec.args[0], Spec):
        return claimed
    times = spec.args[1] if len(spec.args) > 1 and isinstance(spec.args[1], int) else 1
    topology = build(spec.args[0])
    if work_to_price(topology) > _MAX_RETURNS:
        return claimed
    both = (Base(one, claimed.cost) for one in (topology, topology.transpose()))
    claims = (line.claim(base, times) for base in both)
    exact = all(claim is not None and claim.basis is Basis.THEOREM for claim in claims)
    return replace(claimed, basis=Basis.THEOREM) if exact else claimed
