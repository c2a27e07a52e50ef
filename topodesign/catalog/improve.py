"""Making a catalog better: searches where they gain most a second, and expansions of what they find.

A turn is a short search of one kind at one size. Kinds of turns are told apart by degree, cabling, scale of N and what
is searched: quotients with some number of orbits, neighbours, or links exchanged one by one. What a kind has gained
(the sum over all sizes of runtimes of the best allreduce over the bound) for the time it took decides which comes next,
and of its sizes the one that is farthest from what is known to be possible and was tried least. What is found at a size
is expanded at once: line graphs, copies with more links, unions with the transpose.

One kind of turn searches nothing: it finds the deferred schedules of a row that would then be the best of its size,
also where the row has some that an older version has found. These come near the optimal bandwidth on most topologies,
so that what is left to search for is fewer steps. Two kinds search for these alone, whatever the bandwidth factor:
among lifts, and close to what is known of neighbouring sizes. One searches among linear congruential digraphs. One
exchanges links of what is known of a size, such that links are loaded more evenly.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from topodesign.base.arguments import as_choice, as_integer, as_path, as_several
from topodesign.base.cost import Basis, Cost, keeps_port_free, lower_bound
from topodesign.base.errors import CatalogError, ParameterError, TooLargeError, TopologyError
from topodesign.base.moore import moore_order
from topodesign.base.records import Result
from topodesign.base.spec import LONGEST_SPEC, Spec, parse
from topodesign.base.units import Quantity, as_time
from topodesign.catalog.deferral import deferred_row
from topodesign.catalog.files import read_rows, stored_file, write_rows
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.quality import runtime
from topodesign.catalog.records import record_bound
from topodesign.catalog.rows import VERSION, Row, how_found, undominated, worth_keeping
from topodesign.expand.library import build
from topodesign.pricing.deferral import count_receivers, why_not
from topodesign.pricing.evaluation import deferred_both, price_both
from topodesign.search.annealing import MOST_PORTS, anneal
from topodesign.search.congruential import search_congruential
from topodesign.search.evenness import MOST_LINKS as MOST_EVENED
from topodesign.search.evenness import search_even
from topodesign.search.finder import Candidate, Finder, transpose_spec
from topodesign.search.nearness import search_near
from topodesign.search.neighbours import REACH, search_neighbours
from topodesign.search.symmetric import MOST_LINKS, orbit_counts, search_symmetric
from topodesign.search.target import Found, Target

_QUOTIENT, _NEIGHBOURS, _ANNEALING = 3 * 10**7, 10**6, 10**6
"""Work of a turn of each kind: about a third of a second."""
_LIFTED, _LIFTED_MOST = 4 * 10**8, 4
"""Work of the first turn among lifts of so many orbits with fewer steps, and how often at most it is doubled."""
_RARE = 1.5
"""Scarcity of topologies from which on lifts are not searched; at 0.9 a quarter of all sizes have one that is found."""
_RARER = 4
"""How steeply it gets less likely before, and takes longer: seven of ten sizes have one at 0.3, two or three at 0.8."""
_EXCHANGES = 4000
"""Of links, in a search for fewer steps."""
_DRAWN, _DRAWN_FIRST, _DRAWN_WORK = 400, 16, 6 * 10**9
"""Linear congruential digraphs that are drawn in a turn, in the first turn at a size (four times as many in the next),
and how much work they may be: a few seconds."""
_PROMISING = 2
"""Of these so many are priced."""
_EVENED, _EVENED_FAR, _EVENED_MOST = 10**8, 16, 3
"""Links of a topology times exchanges that even out their loads, in the first turn at a size; times so many where the
start is a linear congruential digraph, which is uneven; and how often at most they are doubled."""
_PER_CHARACTER = 1e-6
"""By how much a ratio has to get lower for each character of a spec that exchanges make long."""
_UNEVENED = "genkautz"
"""Families whose links are not exchanged: linear congruential digraphs of the same size are better starts."""
_EVENED_REACH = Fraction(8, 3)
"""Times d^(k-1) nodes up to which linear congruential digraphs of k steps can be evened out."""
_ANNEALED = 500
"""Sizes up to this have their links exchanged one by one."""
_BASES, _BASES_FOR_STEPS = 8, 24
"""So many topologies of neighbouring sizes are started from."""
_COUNTS_BESIDE, _FEWEST_BESIDE = 4, 3
"""Numbers of orbits that fresh lifts beside a size are searched with until one is found, and the least of them: nodes
of fewer orbits look too much alike."""
_HOPED, _HOPED_SECONDS = 0.03, 0.3
"""What a kind counts as having gained, in which time, before its first turn."""
_LEAST_SECONDS = 0.01
"""What a turn counts as having taken at least, so that one that finds nothing to do is not taken for ever."""
_NEAR = Fraction(1, 128)
"""What is as little above the optimal bandwidth is not searched for again: deferred schedules come as near."""
_LEFT, _UNLIKELY = Fraction(1, 4), 1 / 16
"""Of what y is above the bound, what a deferred schedule is likely to leave; and what is worth a try that it gains if y
fell to the bound, where by that it would not gain anything."""
_AGAIN = 1 / 8
"""What a deferred schedule gains, on average, for a row that has an older one, of what it would for others."""
_COUNTS = 2
"""How often the work of a deferred schedule is estimated from below before it is looked for, ever more closely."""
_WORTHWHILE = 0.002
"""By how much a ratio could get lower that is worth a deferred schedule."""
_SAVE = 60.0
"""Seconds between writing the files."""
_IN_VAIN = "genkautz("
"""Topologies that waste ports, so that deferred schedules do not help enough; others of their kind are searched."""


class _Turn(StrEnum):
    """What a search can be."""

    QUOTIENTS = "quotients"
    LIFTS = "lifts"
    NEIGHBOURS = "neighbours"
    ANNEALING = "annealing"
    STEPS = "steps"
    CONGRUENTIAL = "congruential"
    EVENNESS = "evenness"
    DEFERRAL = "deferral"


@dataclass(frozen=True)
class _Kind:
    """What searches have in common that are likely to gain alike."""

    degree: int
    duplex: bool
    scale: int
    """Half the bits of N."""
    turn: _Turn
    orbits: int = 0
    """Half the bits of the number of orbits."""


_DEFERRALS = _Kind(0, duplex=False, scale=0, turn=_Turn.DEFERRAL)
"""Deferral of all sizes, which is of one kind: what is to be gained for the work is known before."""


@dataclass
class _Purse:
    """What a kind of searches has gained and taken."""

    searches: list[tuple[Target, int]] = field(default_factory=list)
    """What to search: sizes, with the number of orbits, 0 where there are none."""
    gain: float = _HOPED
    seconds: float = _HOPED_SECONDS
    tried: dict[tuple[Target, int], int] = field(default_factory=lambda: defaultdict(int))


@dataclass(frozen=True, repr=False)
class Improvement(Result):
    """What a run has made better.

    Attributes
    ----------
    turns
        Searches.
    rows
        Rows that are new.
    gain
        By how much the sum over all sizes of runtimes of the best allreduce of 1 MiB over the bound is lower.
    files
        What was written.
    """

    turns: int
    rows: tuple[Row, ...]
    gain: float
    files: tuple[Path, ...]

    def heading(self) -> str:
        """Return the counts."""
        return f"{self.turns} searches: {len(self.rows)} new rows, ratios to the bound lower by {self.gain:.3f} in all"

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        rows = [{**row, "bandwidth": str(row["bandwidth"])} for row in self.to_records()]
        return {"turns": self.turns, "gain": self.gain, "rows": rows, "files": [str(path) for path in self.files]}

    def to_records(self) -> list[dict[str, Any]]:
        """Return the new rows, flat."""
        return [
            {
                "nodes": row.nodes,
                "degree": row.degree,
                "steps": row.cost.steps,
                "bandwidth": row.cost.bandwidth,
                "duplex": row.duplex,
                "spec": row.spec,
            }
            for row in self.rows
        ]


def improve_catalog(
    directory: str | Path,
    nodes: range,
    degrees: Sequence[int],
    *,
    time_limit: Quantity = "60s",
    catalog: Catalog | str | Path | None = None,
    duplex: bool | None = None,
    only: str | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Improvement:
    """Search for better topologies of a grid of sizes for some time, and write the files of its degrees.

    Parameters
    ----------
    directory
        Where the files go; made if it is not there. A degree that has a file there already goes on from it.
    nodes, degrees
        The grid: sizes that are searched, and that expansions of what is found may have.
    time_limit
        How long to search, such as ``"10min"``. What is found depends on the machine; that no size gets worse does not.
    catalog
        What to start from, or its directory; the shipped one by default.
    duplex
        Only duplex topologies, or only others; both by default.
    only
        Only turns of one kind: ``quotients``, ``neighbours``, ``annealing``, ``steps`` (one step less than is known,
        whatever the bandwidth factor), ``congruential`` (linear congruential digraphs, which have few steps and, by
        deferred schedules, a small bandwidth factor), ``evenness`` (links of known ones exchange their ends, so that
        deferred schedules have a smaller bandwidth factor), or ``deferral``, which searches nothing but finds deferred
        schedules of the rows that there are, where that gains most for the work first. What is found by the others is
        deferred, too.
    seed
        Seed of all random choices.
    progress
        Called after every turn with the share of the time that is used.

    Raises
    ------
    CatalogError
        If a file is damaged, or the directory cannot be made.
    ParameterError
        If a size is too small, a time cannot be read, or there is no such kind of turn.

    Examples
    --------
    >>> from topodesign import improve_catalog
    >>> [path.name for path in improve_catalog("better", range(3, 5), [2], time_limit="1s").files]
    ['degree_02.tsv']
    """
    seconds = float(as_time(time_limit))
    directory, source = as_path(directory), as_catalog(catalog)
    if not isinstance(nodes, range) or not nodes:
        raise ParameterError(f"the sizes of a catalog are a range such as range(3, 65), not {nodes!r:.60}")
    degrees = [as_integer("a degree", degree, 1) for degree in as_several("degrees", degrees)]
    if nodes.start < 3 or min(degrees, default=0) < 2:
        raise ParameterError("a catalog is of at least 3 nodes and degree 2")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CatalogError(f"{directory}: {error.strerror or error}") from None
    rows = {
        degree: read_rows(directory if stored_file(directory, degree).exists() else source.directory, degree)
        for degree in degrees
    }
    turn = None if only is None else _Turn(as_choice("only", only, tuple(_Turn)))
    run = _Run(directory, nodes, rows, [True, False] if duplex is None else [duplex], seed, only=turn)
    run.go(seconds, progress)
    return Improvement(run.turns, tuple(run.new), run.gain, tuple(run.save()))


class _Run:
    """A run: the rows by size, and what the kinds of turns have gained."""

    def __init__(
        self,
        directory: Path,
        nodes: range,
        rows: Mapping[int, Sequence[Row]],
        wirings: Sequence[bool],
        seed: int,
        *,
        only: _Turn | None = None,
    ) -> None:
        self.directory, self.nodes, self.seed, self.only = directory, nodes, seed, only
        self.rows: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for degree, several in rows.items():
            for row in several:
                self.rows[row.nodes, degree].append(row)
        self.degrees = list(rows)
        self.turns, self.gain = 0, 0.0
        self.ratios: dict[Target, float] = {}
        self.fastest: dict[Target, Row | None] = {}
        self._new: dict[tuple[int, int, int, Fraction], Row] = {}
        self.purses: dict[_Kind, _Purse] = defaultdict(_Purse)
        self.deferred = {row.either_way for several in rows.values() for row in several if _is_up_to_date(row)}
        self.receivers: dict[str, list[int]] = defaultdict(list)
        self.waiting: list[tuple[float, Target]] = []
        for degree in self.degrees:
            for n in nodes:
                for wiring in wirings:
                    self._plan(Target(n, degree, wiring))
        if self.waiting:
            self.purses[_DEFERRALS] = _Purse()

    @property
    def new(self) -> list[Row]:
        """Rows that were found and that nothing better has taken the place of."""
        return [row for row in self._new.values() if row in self.rows[row.nodes, row.degree]]

    def go(self, seconds: float, progress: Callable[[float], None] | None) -> None:
        """Take turns until the time is used up; what is found is kept if that is interrupted."""
        start = saved = time.monotonic()
        try:
            while (now := time.monotonic()) - start < seconds and self._turn():
                if now - saved > _SAVE:
                    self.save()
                    saved = now
                if progress is not None:
                    progress((now - start) / seconds)
        except KeyboardInterrupt:
            self.save()
            raise

    def save(self) -> list[Path]:
        """Write the files."""
        return [
            write_rows(self.directory, degree, (row for key in self.rows if key[1] == degree for row in self.rows[key]))
            for degree in self.degrees
        ]

    def _plan(self, target: Target) -> None:
        nodes, degree = target.nodes, target.degree
        if target.duplex and degree < 3:
            return
        if self.only in {None, _Turn.DEFERRAL}:
            self._wait(target)
        one_free = keeps_port_free(nodes, degree, duplex=target.duplex)  # then all nodes do not look alike
        turns: list[tuple[_Turn, int]] = []
        if degree <= MOST_LINKS and not one_free:
            counts = [1, *orbit_counts(nodes, degree)]
            turns += itertools.product((_Turn.QUOTIENTS, _Turn.LIFTS), counts)
        if degree <= MOST_PORTS or one_free:
            turns.append((_Turn.NEIGHBOURS, 0))
        if degree <= MOST_PORTS and nodes <= _ANNEALED:
            turns.append((_Turn.ANNEALING, 0))
        if nodes > 2 * degree:
            turns.append((_Turn.STEPS, 0))
            if not target.duplex:
                turns.append((_Turn.CONGRUENTIAL, 0))
            if not target.duplex and degree <= MOST_EVENED:
                turns.append((_Turn.EVENNESS, 0))
        for turn, orbits in turns:
            if self.only in {None, turn}:
                kind = _Kind(degree, target.duplex, nodes.bit_length() // 2, turn, orbits.bit_length() // 2)
                self.purses[kind].searches.append((target, orbits))

    def _front(self, target: Target) -> list[Row]:
        return undominated(self.rows[target.nodes, target.degree], duplex=target.duplex)

    def _ratio(self, target: Target) -> float:
        """Return the runtime of the best allreduce over the bound; 2 where there is none."""
        if target not in self.ratios:
            bound = runtime(lower_bound(target.nodes, target.degree, duplex=target.duplex))
            fastest = self._fastest(target)
            self.ratios[target] = 2.0 if fastest is None else float(runtime(fastest.mean) / bound)
        return self.ratios[target]

    def _left(self, target: Target, turn: _Turn) -> float:
        """Return by how much the ratio is above what is known to be possible, or what such a search could find."""
        if turn in {_Turn.CONGRUENTIAL, _Turn.EVENNESS, _Turn.LIFTS}:
            steps = self._steps_of(turn, target)
            if steps is None:
                return 0.0
            left = self._ratio(target) - _possible_in(target, steps) - _WORTHWHILE
            if turn == _Turn.LIFTS:
                left *= max(0.0, 1 - _scarcity(target, steps) / _RARE) ** _RARER
            return left
        left = self._ratio(target) - _possible(target)
        if turn == _Turn.STEPS:
            fewer = self._fewer(target)
            return 0.0 if fewer is None else left / (1 + _scarcity(target, fewer))
        return left

    def _steps_of(self, turn: _Turn, target: Target) -> int | None:
        """Return how many steps such a search aims at, None if there is nothing to start from."""
        if turn == _Turn.CONGRUENTIAL:
            return _digits(target)
        if turn == _Turn.LIFTS:
            return self._steps_of_lifts(target)
        start = self._uneven(target)
        return None if start is None else start.cost.steps

    def _steps_of_lifts(self, target: Target) -> int | None:
        """Return how many steps lifts should have: one less than the fastest topology if not too scarce, else as many.

        With as many their deferred schedules cost less than those of topologies without symmetry.
        """
        fastest, fewer = self._fastest(target), self._fewer(target)
        if fewer is not None and _scarcity(target, fewer) < _RARE:
            return fewer
        return None if fastest is None else fastest.cost.steps

    def _fewer(self, target: Target) -> int | None:
        """Return one step less than the fastest topology of a size has, if the records leave room for that."""
        fastest = self._fastest(target)
        least = record_bound(*_size(target), duplex=target.duplex).steps
        return None if fastest is None or fastest.cost.steps <= least else fastest.cost.steps - 1

    def _fastest(self, target: Target) -> Row | None:
        if target not in self.fastest:
            self.fastest[target] = min(self._front(target), key=lambda row: runtime(row.mean), default=None)
        return self.fastest[target]

    def _turn(self) -> bool:
        """Search once, where that is worth most; False if there is nothing left to search."""
        while self.purses:
            kind = max(self.purses, key=lambda one: self.purses[one].gain / self.purses[one].seconds)
            purse = self.purses[kind]
            if kind == _DEFERRALS:
                if (row := self._next()) is not None:
                    self._take(purse, lambda: self._defer(row))
                    return True
                del self.purses[kind]
                continue
            worth = {one: self._left(one[0], kind.turn) / (1 + purse.tried[one]) for one in purse.searches}
            purse.searches = [one for one in purse.searches if worth[one] > 0]
            if purse.searches:
                break
            del self.purses[kind]
        else:
            return False
        chosen = max(purse.searches, key=worth.__getitem__)
        number = purse.tried[chosen]
        purse.tried[chosen] += 1
        target, orbits = chosen

        self._take(purse, lambda: self._search(kind.turn, target, orbits, number))
        return True

    def _take(self, purse: _Purse, turn: Callable[[], float]) -> None:
        """Take a turn and note what it gains in which time."""
        self.turns += 1
        began = time.process_time()
        gain = turn()
        purse.seconds += max(_LEAST_SECONDS, time.process_time() - began)
        purse.gain += gain
        self.gain += gain

    def _hope(self, target: Target, among: Sequence[Row] | None = None) -> tuple[float, Row | None]:
        """Return what a deferred schedule is likely to gain for its work, and of which row; none if too little."""
        bound = lower_bound(*_size(target), duplex=target.duplex)
        hope: tuple[float, Row | None] = 0.0, None
        for row in self.rows[_size(target)] if among is None else among:
            if (
                _is_up_to_date(row)
                or (target.duplex and not row.duplex)
                or row.either_way in self.deferred
                or row.either_way.startswith(_IN_VAIN)
            ):
                continue
            most, likely = (
                self._ratio(target) - float(runtime(Cost(row.cost.steps, bandwidth)) / runtime(bound))
                for bandwidth in (bound.bandwidth, bound.bandwidth + (row.mean.bandwidth - bound.bandwidth) * _LEFT)
            )
            receivers = max(self.receivers[row.either_way], default=1)
            work = receivers * row.nodes * row.degree * row.cost.steps * (1 if row.duplex else 2)
            worth = max(likely, most * _UNLIKELY) / work * (_AGAIN if row.deferred else 1)
            if most >= _WORTHWHILE and worth > hope[0]:
                hope = worth, row
        return hope

    def _wait(self, target: Target) -> None:
        worth, row = self._hope(target)
        if row is not None:
            heapq.heappush(self.waiting, (-worth, target))

    def _next(self) -> Row | None:
        """Return the row whose deferred schedule could gain most for its work; None if there is none left."""
        while self.waiting:
            before, target = heapq.heappop(self.waiting)
            worth, row = self._hope(target)
            if row is not None and len(counts := self.receivers[row.either_way]) < _COUNTS:
                topology = row.build()
                counts.append(
                    count_receivers(topology) if counts else len(topology.representatives or range(row.nodes))
                )
                worth, row = self._hope(target)
            if row is not None and worth >= -before:
                heapq.heappush(self.waiting, (before, target))  # its other rows may be worth it, too
                return row
            if row is not None:
                heapq.heappush(self.waiting, (-worth, target))
        return None

    def _defer(self, row: Row) -> float:
        """Find the deferred schedules of a row, and keep what they cost where that is best; return what is gained."""
        self.deferred.add(row.either_way)
        try:
            found = deferred_row(row, *deferred_both(row.build()))
        except (TooLargeError, TopologyError):  # for which there are none
            return 0.0
        if found is None:
            several = self.rows[row.nodes, row.degree]
            several[:] = [replace(one, version=VERSION) if one is row and one.deferred else one for one in several]
            self._forget(Target(row.nodes, row.degree, row.duplex))
            return 0.0
        sizes = [Target(row.nodes, row.degree, duplex) for duplex in {False, row.duplex}]
        before = sum(map(self._ratio, sizes))
        self._put(sizes[0], [found])
        if found in self.rows[row.nodes, row.degree]:
            self._new[row.nodes, row.degree, row.cost.steps, found.cost.bandwidth] = found
        return before - sum(map(self._ratio, sizes))

    def _search(self, turn: _Turn, target: Target, orbits: int, number: int) -> float:
        """Take a turn at a size, where some were taken before; return what is gained."""
        seed = self.seed + number
        if turn == _Turn.CONGRUENTIAL:
            return self._congruential(target, number, seed)
        if turn == _Turn.EVENNESS:
            return self._evened(target, number, seed)
        if turn == _Turn.STEPS:
            return self._fewer_steps(target, seed)
        if turn == _Turn.LIFTS:
            return self._lifted(target, orbits, number, seed)
        if turn == _Turn.QUOTIENTS:
            found = search_symmetric(target, _QUOTIENT, orbits=[orbits], seed=seed, known=self._known(target))
        elif turn == _Turn.NEIGHBOURS:
            bases = [row.build() for row in self._near(target)]
            found = search_neighbours(target, bases, _NEIGHBOURS, seed=seed, known=self._known(target))
        else:
            found = self._annealed(target, seed)
        return self._keep(target, [one.spec for one in found])

    def _lifted(self, target: Target, orbits: int, number: int, seed: int) -> float:
        """Search for a lift with few steps, whatever its bandwidth factor; return what it and its schedules gain."""
        steps, fewer = self._steps_of_lifts(target), self._fewer(target)
        work = _LIFTED << min(number, _LIFTED_MOST)
        found = search_symmetric(target, work, orbits=[orbits], seed=seed, steps=steps)
        if steps == fewer:
            return self._keep(target, [one.spec for one in found])
        return sum(self._keep_deferred(target, one.spec) for one in found)

    def _annealed(self, target: Target, seed: int) -> list[Found]:
        start = self._fastest(target)
        if start is None:
            return []
        steps = lower_bound(target.nodes, target.degree, duplex=target.duplex).steps + seed % 2
        known = self._known(target)
        return anneal(start.build(), _ANNEALING, duplex=target.duplex, steps=steps, seed=seed, known=known)

    def _fewer_steps(self, target: Target, seed: int) -> float:
        """Search for one step less than the fastest topology of a size, close to ones with as few; return the gain.

        There may be some with as few already that are slower, as generalized Kautz digraphs often are.
        """
        fastest, steps = self._fastest(target), self._fewer(target)
        if fastest is None or steps is None:
            return 0.0
        several = {row.spec: row for row in self._beside(target) if row.cost.steps <= steps}
        near = sorted(several.values(), key=lambda row: (runtime(row.mean), abs(row.nodes - target.nodes), row.spec))
        specs = [*_lifts_beside(target, steps, seed), *(row.spec for row in [*near[:_BASES_FOR_STEPS], fastest])]
        found = search_near(target, steps, map(build, specs), _EXCHANGES, seed=seed)
        if found is None:
            return 0.0
        if target.duplex:
            return self._keep(target, [found])
        exchanges = _EVENED // (target.nodes * target.degree)
        even = search_even(build(str(found)), steps, exchanges, seed=seed) if target.degree <= MOST_EVENED else None
        return self._keep_deferred(target, even or found)

    def _congruential(self, target: Target, turn: int, seed: int) -> float:
        """Search for linear congruential digraphs, and keep what is best of their schedules; return what is gained."""
        most = max(_PROMISING, _DRAWN_WORK // (target.nodes**2 * target.degree))
        tries = min(_DRAWN, _DRAWN_FIRST * 4**turn, most)
        gain = 0.0
        for steps in (_digits(target), _digits(target) + 1):  # not all sizes have any of so few steps that is even
            least = _possible_in(target, steps) + _WORTHWHILE
            if self._ratio(target) <= least:
                continue
            specs = search_congruential(target, steps, tries, seed=seed, most=_PROMISING)
            gain += self._keep(target, specs)
            for spec in specs:
                row = _by_spff(target, spec)
                if self._ratio(target) > least and row.either_way not in self.deferred:
                    gain += self._defer(row)
                if self._ratio(target) > least and steps == _digits(target) and _can_be_evened(target):
                    exchanges = _EVENED * _EVENED_FAR // (target.nodes * target.degree)
                    even = search_even(row.build(), steps, exchanges, seed=seed)
                    gain += 0.0 if even is None else self._keep_deferred(target, even)
        return gain

    def _evened(self, target: Target, turn: int, seed: int) -> float:
        """Even out the loads of links of the best that is known of a size; return what is gained."""
        start = self._uneven(target)
        if start is None:
            return 0.0
        exchanges = (_EVENED << min(turn, _EVENED_MOST)) // (target.nodes * target.degree)
        spec = search_even(start.build(), start.cost.steps, exchanges, seed=seed)
        return 0.0 if spec is None else self._keep_deferred(target, spec)

    def _uneven(self, target: Target) -> Row | None:
        """Return the fastest row of a size, unless it is of a family of which others of its kind are better starts."""
        best = self._fastest(target)
        return None if best is None or best.spec.startswith(_UNEVENED) else best

    def _keep_deferred(self, target: Target, spec: Spec) -> float:
        """Keep a topology with its deferred schedules, and its line graphs, if that gains enough; return the gain."""
        row = _by_spff(target, spec)
        self.deferred.add(row.either_way)
        topology = row.build()
        found = row if why_not(topology, row.cost.steps) else deferred_row(row, *deferred_both(topology)) or row
        bound = runtime(lower_bound(*_size(target), duplex=target.duplex))
        gain = self._ratio(target) - float(runtime(found.mean) / bound)
        if gain < len(found.spec) * _PER_CHARACTER:
            return 0.0
        self._put(target, [found])
        self._new[row.nodes, row.degree, row.cost.steps, found.cost.bandwidth] = found
        place, line = next(_expansions(found))
        if self._has(place) and len(str(line)) <= LONGEST_SPEC:
            gain += self._keep_deferred(place, line)
        return gain

    def _known(self, target: Target) -> list[Cost]:
        """Return costs that need not be found again; next to the optimal bandwidth only fewer steps are better."""
        optimum = lower_bound(*_size(target), duplex=target.duplex).bandwidth
        costs = [row.cost for row in self._front(target)]
        return [Cost(one.steps, optimum) if one.bandwidth <= optimum * (1 + _NEAR) else one for one in costs]

    def _near(self, target: Target) -> list[Row]:
        """Return the fastest topologies of neighbouring sizes, line graphs first: most of their nodes are near."""
        near = self._beside(target)
        near.sort(key=lambda row: (not row.spec.startswith("line("), runtime(row.mean), row.spec))
        return near[:_BASES]

    def _beside(self, target: Target) -> list[Row]:
        """Return the undominated topologies of neighbouring sizes."""
        shifts = [shift for shift in range(-REACH, REACH + 1) if shift]
        return [row for shift in shifts for row in self._front(replace(target, nodes=target.nodes + shift))]

    def _keep(self, target: Target, specs: Iterable[Spec]) -> float:
        """Put topologies of a size, and what they expand to, in their places; return what that gains."""
        several = list(specs)
        gain, waiting = 0.0, [(target, several)] if several else []
        while waiting:
            size, several = waiting.pop()
            before = self._ratio(size), {row.spec for row in self.rows[_size(size)]}
            self._offer(size, several)
            if size.duplex:
                other = Target(size.nodes, size.degree, duplex=False)
                gain += self._ratio(other)
                self._offer(other, several)
                gain -= self._ratio(other)
            gain += before[0] - self._ratio(size)
            fresh = [row for row in self.rows[_size(size)] if row.spec not in before[1] and not row.deferred]
            while (row := self._hope(size, fresh)[1]) is not None:
                gain += self._defer(row)
            for row in fresh:
                if row.duplex or not size.duplex:
                    self._new[row.nodes, row.degree, row.cost.steps, row.cost.bandwidth] = row
                    waiting += [(place, [spec]) for place, spec in _expansions(row) if self._has(place)]
        return gain

    def _has(self, target: Target) -> bool:
        return target.nodes in self.nodes and target.degree in self.degrees

    def _offer(self, target: Target, specs: Sequence[Spec]) -> None:
        """Price topologies from their links, and keep those that no row dominates."""
        rows = self.rows[target.nodes, target.degree]
        candidates = [
            Candidate(parse(row.spec), row.cost, row.allgather, row.duplex, row.basis)
            for row in rows
            if not row.deferred and (row.duplex or not target.duplex)
        ]
        finder = Finder(known={target: candidates})
        finder.offer(target, specs)
        known = {row.spec for row in rows}
        fresh = [
            _row(target, one)
            for one in finder.frontier(*_size(target), duplex=target.duplex)
            if str(one.spec) not in known
        ]
        if not fresh:
            return
        self._put(target, fresh)

    def _put(self, target: Target, fresh: Iterable[Row]) -> None:
        """Keep rows of a size where nothing dominates them."""
        self.rows[_size(target)] = worth_keeping([*self.rows[_size(target)], *fresh])
        self._forget(target)

    def _forget(self, target: Target) -> None:
        """Forget what was computed from the rows of a size."""
        for wiring in (True, False):
            self.ratios.pop(replace(target, duplex=wiring), None)
            self.fastest.pop(replace(target, duplex=wiring), None)


def _scarcity(target: Target, steps: int) -> float:
    """Return how many nodes a random topology leaves out within some steps, over what can be chosen to reach them.

    It leaves out a share exp(-M/N), M being Moore's order; d ln N is the logarithm of the ways to link one node. Where
    the first is above the second, there is in general no topology that leaves out none, but for exact structure.
    """
    nodes, degree = _size(target)
    share = math.exp(-moore_order(degree, steps, duplex=target.duplex) / nodes)
    return nodes * share / (degree * math.log(nodes))


def _lifts_beside(target: Target, steps: int, seed: int) -> list[str]:
    """Return fresh lifts with a node more, or two, and so few steps; other seeds make others.

    A node less often makes no pair of nodes too far apart, or few; which one it is matters little in one lift, where
    many look alike, but lifts differ.
    """
    alike = target.duplex and target.degree % 2 == 1 and target.nodes % 2 == 0
    beside = replace(target, nodes=target.nodes + (2 if alike else 1))
    counts = [count for count in orbit_counts(*_size(beside)) if count >= _FEWEST_BESIDE]
    for count in np.random.default_rng(seed).permutation(counts).tolist()[:_COUNTS_BESIDE]:
        if found := search_symmetric(beside, _LIFTED, orbits=[count], seed=seed, steps=steps):
            return [str(one.spec) for one in found]
    return []


@functools.cache
def _possible(target: Target) -> float:
    """Return the ratio to the bound with as few steps as are known to be possible and optimal bandwidth."""
    record, bound = (find(*_size(target), duplex=target.duplex) for find in (record_bound, lower_bound))
    return float(runtime(record) / runtime(bound))


def _digits(target: Target) -> int:
    """Return k of the smallest power d^k that is at least N: the steps of a linear congruential digraph."""
    steps, reach = 1, target.degree
    while reach < target.nodes:
        steps, reach = steps + 1, reach * target.degree
    return steps


def _can_be_evened(target: Target) -> bool:
    """Whether linear congruential digraphs of a size have enough walks for links to be exchanged."""
    return bool(target.nodes <= _EVENED_REACH * target.degree ** (_digits(target) - 1))


@functools.cache
def _possible_in(target: Target, steps: int) -> float:
    """Return the ratio to the bound of a topology of so many steps with optimal bandwidth."""
    bound = lower_bound(*_size(target), duplex=target.duplex)
    return float(runtime(Cost(steps, bound.bandwidth)) / runtime(bound))


def _by_spff(target: Target, spec: Spec) -> Row:
    """Return the row of a topology with the prices of SPFF."""
    there, back = price_both(build(str(spec)))
    spec, cost, allgather = (
        (transpose_spec(spec), back, there) if back.bandwidth > there.bandwidth else (spec, there, back)
    )
    return Row(*_size(target), cost, allgather, target.duplex, how_found(spec), Basis.LINKS, VERSION, str(spec))


def _size(target: Target) -> tuple[int, int]:
    return target.nodes, target.degree


def _is_up_to_date(row: Row) -> bool:
    """Whether a row is deferred, by the schedules of today."""
    return row.deferred and row.version == VERSION


def _row(target: Target, one: Candidate) -> Row:
    found = how_found(one.spec)
    return Row(*_size(target), one.cost, one.allgather, one.duplex, found, one.basis, VERSION, str(one.spec))


def _expansions(row: Row) -> Iterator[tuple[Target, Spec]]:
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
