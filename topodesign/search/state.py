"""The state of a grid being improved: rows, expansions, deferred plans.

What is found at a size is expanded at once: line graphs, copies with more links, unions with the transpose. Where it
could gain, its deferred schedules are found at once, too: these come near the optimal bandwidth on most topologies, so
that what is left to search for is fewer steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from topodesign.base.cost import Basis, Cost, lower_bound
from topodesign.base.errors import TooLargeError, TopologyError
from topodesign.base.spec import LONGEST_SPEC, Spec, parse
from topodesign.catalog.files import write_rows
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.quality import least_runtime, runtime
from topodesign.catalog.records import record_bounds
from topodesign.catalog.rows import VERSION, Row, select_frontier, worth_keeping
from topodesign.pricing.deferral import explain_no_deferral
from topodesign.pricing.evaluation import cheaper, price_both, price_both_deferred
from topodesign.search.candidate import candidate_of, orient, row_of
from topodesign.search.finder import Finder
from topodesign.search.target import Target
from topodesign.topology.library import build

WORTHWHILE = 0.002  # by how much a ratio could get lower that is worth a deferred schedule
_NEAR = Fraction(1, 128)
"""What is as little above the optimal bandwidth is not searched for again: deferred schedules come as near."""
LEFT = Fraction(1, 4)  # of what y is above the bound, what a deferred schedule is likely to leave
_UNLIKELY = 1 / 16
"""What is worth a try that it gains if y fell to the bound, where by what is likely it would not gain anything."""
_DEFERRED_SINCE = 5  # version of the catalog from which on deferred schedules are those of today
_AGAIN = 1 / 8
"""What a deferred schedule gains, on average, for a row that has an older one, of what it would for others."""
_IN_VAIN = "genkautz("
"""Topologies that waste ports, so that deferred schedules do not help enough; others of their kind are searched."""
_PER_CHARACTER = 1e-6  # by how much a ratio has to get lower for each character of a spec that exchanges make long


class SearchState:
    """Rows by size, and what follows from them.

    * ``nodes``, ``degrees``: the grid.
    * ``source``: catalog that other sizes are composed of.
    * ``rows``: by number of nodes and degree.
    * ``deferred``: topologies, either way round, whose deferred schedules were looked for.
    * ``receivers``: of a topology, from below, about how many nodes deferred schedules differ for, ever more closely.
    """

    def __init__(self, nodes: Iterable[int], rows: Mapping[int, Sequence[Row]], source: Catalog | None = None) -> None:
        self.nodes, self.degrees, self.source = frozenset(nodes), list(rows), source or Catalog()
        self.rows: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for degree, several in rows.items():
            for row in several:
                self.rows[row.nodes, degree].append(row)
        self.deferred = {row.either_way for several in rows.values() for row in several if _is_up_to_date(row)}
        self.receivers: dict[str, list[int]] = defaultdict(list)
        self._ratios: dict[Target, float] = {}
        self._fastest: dict[Target, Row | None] = {}
        self._means: dict[Target, list[Cost]] = {}
        self._new: dict[tuple[int, int, int, Fraction], Row] = {}
        self._touched: set[tuple[int, int]] = set()

    @property
    def new(self) -> list[Row]:
        """The new rows that nothing better has replaced."""
        return [row for row in self._new.values() if row in self.rows[row.nodes, row.degree]]

    def has(self, target: Target) -> bool:
        """Whether the grid has a size."""
        return target.nodes in self.nodes and target.degree in self.degrees

    def front(self, target: Target) -> list[Row]:
        """Return the rows of a size that no other dominates."""
        return select_frontier(self.rows[target.size], duplex=target.duplex)

    def means(self, target: Target) -> list[Cost]:
        """Return what half an allreduce takes on each row of :meth:`front`."""
        if target not in self._means:
            self._means[target] = [row.mean for row in self.front(target)]
        return self._means[target]

    def fastest(self, target: Target) -> Row | None:
        """Return the row with the fastest allreduce of a size, or None."""
        if target not in self._fastest:
            self._fastest[target] = min(self.front(target), key=lambda row: runtime(row.mean), default=None)
        return self._fastest[target]

    def ratio(self, target: Target) -> float:
        """Return the fastest allreduce over the bound; 2 if there is none."""
        if target not in self._ratios:
            bound = least_runtime(*target.size, duplex=target.duplex)
            fastest = self.fastest(target)
            self._ratios[target] = 2.0 if fastest is None else float(runtime(fastest.mean) / bound)
        return self._ratios[target]

    def fewer(self, target: Target) -> int | None:
        """Return the fastest topology's steps less one, if records permit."""
        fastest = self.fastest(target)
        least = record_bounds(*target.size, duplex=target.duplex)[-1].steps
        return None if fastest is None or fastest.cost.steps <= least else fastest.cost.steps - 1

    def beside(self, target: Target, reach: int) -> list[Row]:
        """Return the undominated topologies of sizes a few nodes away."""
        shifts = [shift for shift in range(-reach, reach + 1) if shift]
        return [row for shift in shifts for row in self.front(replace(target, nodes=target.nodes + shift))]

    def known(self, target: Target) -> list[Cost]:
        """Return costs that need not be found again.

        Next to the optimal bandwidth only fewer steps are better.
        """
        optimum = lower_bound(*target.size, duplex=target.duplex).bandwidth
        costs = [row.cost for row in self.front(target)]
        return [Cost(one.steps, optimum) if one.bandwidth <= optimum * (1 + _NEAR) else one for one in costs]

    def hope(self, target: Target, among: Sequence[Row] | None = None) -> tuple[float, Row | None]:
        """Return the likely gain of deferral per work, and its row, or None."""
        optimum = lower_bound(*target.size, duplex=target.duplex).bandwidth
        bound = least_runtime(*target.size, duplex=target.duplex)
        hope: tuple[float, Row | None] = 0.0, None
        for row in self.rows[target.size] if among is None else among:
            if (
                _is_up_to_date(row)
                or (target.duplex and not row.duplex)
                or row.either_way in self.deferred
                or row.either_way.startswith(_IN_VAIN)
            ):
                continue
            most, likely = (
                self.ratio(target) - float(runtime(Cost(row.cost.steps, bandwidth)) / bound)
                for bandwidth in (optimum, optimum + (row.mean.bandwidth - optimum) * LEFT)
            )
            receivers = max(self.receivers[row.either_way], default=1)
            work = receivers * row.nodes * row.degree * row.cost.steps * (1 if row.duplex else 2)
            worth = max(likely, most * _UNLIKELY) / work * (_AGAIN if row.deferred else 1)
            if most >= WORTHWHILE and worth > hope[0]:
                hope = worth, row
        return hope

    def defer(self, row: Row) -> float:
        """Defer a row, keep the cost if best, and return the gain."""
        self.deferred.add(row.either_way)
        try:
            found = make_deferred_row(row, *price_both_deferred(row.build()))
        except (TooLargeError, TopologyError):  # for which there are none
            return 0.0
        if found is None:
            several = self.rows[row.nodes, row.degree]
            several[:] = [replace(one, version=VERSION) if one is row and one.deferred else one for one in several]
            self._forget(Target(row.nodes, row.degree, row.duplex))
            return 0.0
        sizes = [Target(row.nodes, row.degree, duplex) for duplex in {False, row.duplex}]
        before = sum(map(self.ratio, sizes))
        self.put(sizes[0], [found])
        if found in self.rows[row.nodes, row.degree]:
            self._new[row.nodes, row.degree, found.cost.steps, found.cost.bandwidth] = found
        return before - sum(map(self.ratio, sizes))

    def keep(self, target: Target, specs: Iterable[Spec], *, most: int | None = None) -> float:
        """Add topologies of a size and their expansions; return the gain.

        Deferred schedules that take more than ``most`` steps times links times nodes to find are left for later.
        """
        several = list(specs)
        gain, waiting = 0.0, [(target, several)] if several else []
        while waiting:
            here, several = waiting.pop()
            before = self.ratio(here), {row.spec for row in self.rows[here.size]}
            self.offer(here, several)
            if here.duplex:
                other = Target(here.nodes, here.degree, duplex=False)
                gain += self.ratio(other)
                self.offer(other, several)
                gain -= self.ratio(other)
            gain += before[0] - self.ratio(here)
            fresh = [row for row in self.rows[here.size] if row.spec not in before[1] and not row.deferred]
            few = [row for row in fresh if most is None or row.cost.steps * row.degree * row.nodes**2 <= most]
            while (row := self.hope(here, few)[1]) is not None:
                gain += self.defer(row)
            for row in fresh:
                if row.duplex or not here.duplex:
                    self._new[row.nodes, row.degree, row.cost.steps, row.cost.bandwidth] = row
                    waiting += [(place, [spec]) for place, spec in expansions(row) if self.has(place)]
        return gain

    def keep_composed(self, target: Target, specs: Iterable[Spec]) -> float:
        """Add expansions of a size, priced and deferred; return the gain."""
        before, known = self.ratio(target), {row.spec for row in self.rows[target.size]}
        fresh = [row for spec in specs if (row := by_spff(target, spec)).spec not in known]
        self.put(target, fresh)
        fresh = [row for row in fresh if row in self.rows[target.size]]
        while (waiting := self.hope(target, fresh)[1]) is not None:
            self.defer(waiting)
        for row in fresh:
            self._new[row.nodes, row.degree, row.cost.steps, row.cost.bandwidth] = row
        return before - self.ratio(target)

    def keep_deferred(self, target: Target, spec: Spec) -> float:
        """Add a topology with deferral and its line graphs; return the gain."""
        row = by_spff(target, spec)
        self.deferred.add(row.either_way)
        topology = row.build()
        found = (
            row
            if explain_no_deferral(topology, row.cost.steps)
            else make_deferred_row(row, *price_both_deferred(topology)) or row
        )
        bound = least_runtime(*target.size, duplex=target.duplex)
        gain = self.ratio(target) - float(runtime(found.mean) / bound)
        if gain < len(found.spec) * _PER_CHARACTER:
            return 0.0
        self.put(target, [found])
        self._new[row.nodes, row.degree, found.cost.steps, found.cost.bandwidth] = found
        place, line = next(expansions(found))
        if self.has(place) and len(str(line)) <= LONGEST_SPEC:
            gain += self.keep_deferred(place, line)
        return gain

    def offer(self, target: Target, specs: Sequence[Spec]) -> None:
        """Price topologies from their links and add undominated ones."""
        rows = self.rows[target.size]
        candidates = [candidate_of(row) for row in rows if not row.deferred and (row.duplex or not target.duplex)]
        finder = Finder(known={target: candidates})
        finder.offer(target, specs)
        known = {row.spec for row in rows}
        fresh = [one for one in finder.frontier(*target.size, duplex=target.duplex) if str(one.spec) not in known]
        if fresh:
            self.put(target, [row_of(target.size, one) for one in fresh])

    def put(self, target: Target, fresh: Iterable[Row]) -> None:
        """Keep rows of a size where nothing dominates them."""
        self.rows[target.size] = worth_keeping([*self.rows[target.size], *fresh])
        self._forget(target)

    def take_changed(self) -> dict[tuple[int, int], list[Row]]:
        """Return rows of sizes changed since the last call."""
        found = {size: self.rows[size] for size in sorted(self._touched)}
        self._touched.clear()
        return found

    def merge(self, size: tuple[int, int], rows: Sequence[Row]) -> float:
        """Merge rows of another search if better or newer; return the gain."""
        wirings = [Target(*size, duplex) for duplex in (False, True)] if size[1] > 2 else [Target(*size, duplex=False)]
        before, mine = sum(map(self.ratio, wirings)), {(row.key, row.duplex): row for row in self.rows[size]}
        theirs = {(row.key, row.duplex): row for row in rows}
        newer = {key: row for key, row in theirs.items() if key not in mine or row.version > mine[key].version}
        fresh = [row for key, row in newer.items() if key not in mine]
        self.rows[size] = []
        self.put(wirings[0], (mine | newer).values())
        self.deferred |= {row.either_way for row in rows if _is_up_to_date(row)}
        for row in fresh:
            self._new[row.nodes, row.degree, row.cost.steps, row.cost.bandwidth] = row
        return before - sum(map(self.ratio, wirings))

    def add(self, rows: Sequence[Row]) -> None:
        """Add undominated rows of one size, marked as new."""
        self.put(Target(rows[0].nodes, rows[0].degree, duplex=False), rows)
        for row in rows:
            if row in self.rows[row.nodes, row.degree]:
                self._new[row.nodes, row.degree, row.cost.steps, row.cost.bandwidth] = row

    def save(self, directory: Path) -> list[Path]:
        """Write the files."""
        return [
            write_rows(directory, degree, (row for key in self.rows if key[1] == degree for row in self.rows[key]))
            for degree in self.degrees
        ]

    def _forget(self, target: Target) -> None:
        """Forget cached values of a size whose rows have changed."""
        self._touched.add(target.size)
        for wiring in (True, False):
            self._ratios.pop(replace(target, duplex=wiring), None)
            self._fastest.pop(replace(target, duplex=wiring), None)
            self._means.pop(replace(target, duplex=wiring), None)


def by_spff(target: Target, spec: Spec) -> Row:
    """Return the row of a topology with the prices of SPFF."""
    topology = build(str(spec))
    return row_of(target.size, orient(spec, price_both(topology), topology.is_duplex))


def _is_up_to_date(row: Row) -> bool:
    """Whether a row is deferred, by the schedules of today."""
    return row.deferred and row.version >= _DEFERRED_SINCE


def expansions(row: Row) -> Iterator[tuple[Target, Spec]]:
    """Yield what a topology expands to by itself, with its size."""
    spec, nodes, degree = parse(row.spec), row.nodes, row.degree
    if spec.name == "line":
        inner, *times = spec.args
        line = Spec("line", (inner, (int(str(times[0])) if times else 1) + 1))
    else:
        line = Spec("line", (spec,))
    yield Target(nodes * degree, degree, duplex=False), line
    for n in (2, 3, 4):
        yield Target(nodes * n, degree * n, row.duplex), Spec("degree", (spec, n))
    if not row.duplex:
        yield Target(nodes, 2 * degree, duplex=True), Spec("bidirect", (spec,))


def make_deferred_row(row: Row, there: Cost, back: Cost) -> Row | None:
    """Return a row with deferral, or None if it gains in neither collective."""
    both = cheaper(row.cost, there), cheaper(row.allgather, back)
    if both == (row.cost, row.allgather) or both[0].steps != both[1].steps:
        return None
    deferred = row_of((row.nodes, row.degree), orient(parse(row.spec), both, row.duplex, Basis.DEFERRED))
    return replace(deferred, found=row.found)
