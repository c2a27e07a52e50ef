"""Improvement of a catalog by searches and expansions.

Searches go where they gain most a second.

A turn is a short search of one kind at one size. Kinds of turns differ by degree, cabling, scale of N and what is
searched: quotients with some number of orbits, neighbours, or links exchanged one by one. What a kind has gained
(the sum over all sizes of runtimes of the best allreduce over the bound) for the time it took decides which comes next,
and of its sizes the one that is farthest from what such a search could find and was tried least.

What operations on rows give of other sizes comes in at the end, where that is better than what is there.

One kind of turn searches nothing: it finds the deferred schedules of a row that would then be the best of its size,
also where the row has some that an older version has found.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Unpack

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.declared import key, row_of
from topodesign.base.entry_points import load_members
from topodesign.base.errors import ParameterError
from topodesign.base.options import read, takes
from topodesign.base.progress import Share
from topodesign.base.records import Result
from topodesign.base.units import Quantity, as_time
from topodesign.base.wording import count_noun
from topodesign.base.work_options import ImproveOptions
from topodesign.catalog.all_to_all_rows import OBJECTIVES, Exchange
from topodesign.catalog.files import degrees_of_grid, get_stored_path, make_directory, read_rows
from topodesign.catalog.lookup import Catalog, as_catalog
from topodesign.catalog.rows import Row
from topodesign.catalog.sizes import sizes_among
from topodesign.search.all_to_all import low_distances
from topodesign.search.all_to_all_state import ExchangeState
from topodesign.search.closure import close, close_exchange
from topodesign.search.improve_jobs import StrategyEffort, search_in_jobs
from topodesign.search.state import SearchState
from topodesign.search.strategies import NAMES
from topodesign.search.strategies.deferral import DeferralQueue
from topodesign.search.strategies.strategy import Draw, S, Strategy
from topodesign.search.target import Target

STRATEGIES = tuple(sorted(load_members("topodesign.search.strategies", Strategy), key=lambda one: one.rank))
"""All strategies, in the order in which those are tried that have found nothing yet."""
DEFERRAL = "deferral"  # the one that searches nothing

_HOPED, _HOPED_SECONDS = 0.03, 0.3  # what a kind counts as having gained, in which time, before its first turn
_LEAST_SECONDS = 0.01
"""What a turn counts as having taken at least, so that one that finds nothing to do is not taken for ever."""
_SAVE = 60.0  # seconds between writing the files
_ALL = slice(None)  # of the sizes
_CLOSING = 0.25  # of the time, what expansions of rows that have to be built may take beside it


_WORTH_JOBS = 30.0  # seconds of a search from which on several processes start


@dataclass(frozen=True)
class _Kind:
    """What searches have in common that are likely to gain alike."""

    degree: int
    duplex: bool
    scale: int  # half the bits of N
    strategy: Strategy[Any] | None  # None for deferral
    orbits: int = 0  # half the bits of the number of orbits


_DEFERRALS = _Kind(0, duplex=False, scale=0, strategy=None)
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
    """What a run has made better."""

    turns: int  # searches
    rows: tuple[Row, ...]  # rows that are new
    gain: float
    """By how much the sum over all sizes of what the best takes over the bound is lower: for an allreduce of 1 MiB, or
    in the bandwidth factor of all-to-all."""
    files: tuple[Path, ...]  # what was written
    kept: tuple[Exchange, ...] = ()  # what is new of what is kept for all-to-all alone
    strategies: tuple[StrategyEffort, ...] = ()  # what each took and gained, those that gained most first

    def heading(self) -> str:
        """Return the counts, and the time and gain of each kind of search."""
        new = len(self.rows) + len(self.kept)
        head = f"{count_noun(self.turns, 'search', 'searches')}: {count_noun(new, 'new row')}; "
        head += f"sum of ratios to the bound {-self.gain:+.3f}"
        each = [f"  {one.name}: {one.searches} in {one.seconds:.1f} s, gain {one.gain:.3f}" for one in self.strategies]
        return "\n".join([head, *each])

    KEYS = (
        "turns",
        key(
            "gain",
            "By how much the ratios of the best to the bound are lower over all sizes, for an allreduce of 1 MiB or "
            "for the bandwidth factor of all-to-all.",
        ),
        "strategies rows kept",
        key("files", "The files that were written.", kind=tuple[str, ...]),
    )

    def to_records(self) -> list[dict[str, Any]]:
        """Return the new rows, flat."""
        if self.kept:
            return list(map(row_of, self.kept))
        shown = ("nodes", "degree", "steps", "bandwidth", "duplex", "spec")
        return [{name: row[name] for name in shown} for one in self.rows for row in one.to_records()]


@takes(ImproveOptions)
def improve_catalog(
    directory: str | Path,
    nodes: range,
    degrees: Sequence[int],
    *,
    time_limit: Quantity = "60s",
    catalog: Catalog | str | Path | None = None,
    duplex: bool | None = None,
    only: str | None = None,
    objective: str = "allreduce",
    progress: Callable[[float], None] | None = None,
    **options: Unpack[ImproveOptions],
) -> Improvement:
    """Search better topologies of a grid for some time; write the files.

    Parameters
    ----------
    directory
        Where the files go; made if it is not there. A degree that has a file there already goes on from it.
    nodes, degrees
        The grid: sizes that are searched, and that expansions of what is found may have. Beyond 2048 nodes these are
        multiples of 64 to 16384 and powers of two to 65536, and a single size whatever it is.
    time_limit
        How long to search, such as ``"10min"``. What is found depends on the machine; that no size gets worse does not.
    catalog
        What to start from, or its directory; the shipped one by default.
    duplex
        Only duplex topologies, or only others; both by default.
    only
        Only turns of one kind: ``composition`` (rows expanded, and what a short search finds, beyond 2048 nodes),
        ``quotients``, ``neighbours``, ``lifts`` (of one step less than is known,
        or as many with a smaller bandwidth factor by deferred schedules), ``near-lines`` (line graphs with nodes taken
        out, for simplex sizes that the degree does not divide), ``congruential`` (linear congruential digraphs, which
        have few steps and, by deferred schedules, a small bandwidth factor), ``order-degree`` (cables of duplex
        topologies exchanged for few steps and low distances), ``cycles`` (duplex topologies of one step less that a
        rotation of several cycles of nodes keeps, for any number of nodes), or ``deferral``, which searches nothing but
        finds deferred schedules of the rows that there are, where that gains most for the work first. What is found by
        the others is deferred, too.
    objective
        ``allreduce``, or ``all-to-all``: topologies of small distances, which files of their own keep where no row
        takes as little. Rows stay as they are.
    progress
        Called now and then with the share of the time that is used, a :class:`~topodesign.base.progress.Share` whose
        words are the searches a second and the new rows a minute.
    **options
        As :class:`~topodesign.base.work_options.ImproveOptions` says.

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
    said = read(ImproveOptions, options, "improve_catalog")
    seconds, seed = float(as_time(time_limit)), said["seed"]
    jobs = said["jobs"] or (1 if seconds < _WORTH_JOBS else os.cpu_count() or 1)
    directory, source = as_path(directory), as_catalog(catalog)
    degrees = degrees_of_grid(nodes, degrees)
    wirings = [True, False] if duplex is None else [duplex]
    kind = None if only is None else as_choice("only", only, NAMES)
    for_allreduce = as_choice("objective", objective, OBJECTIVES) == OBJECTIVES[0]
    if kind is not None and not for_allreduce:
        raise ParameterError("turns of one kind are for allreduce; all-to-all has only one")
    make_directory(directory)
    if not for_allreduce:
        if said["jobs"]:
            raise ParameterError("all-to-all is searched in one process; omit jobs")
        state = ExchangeState(source, degrees, frozenset(sizes_among(nodes)), directory)
        flows = _Run(directory, state, wirings, seed, strategies=[low_distances])
        flows.go(seconds, progress)
        close_exchange(state, itertools.product(sizes_among(nodes), degrees), seconds * _CLOSING)
        return flows.report(kept=tuple(state.new))
    make = _Work(directory, nodes, degrees, source.directory, wirings, seed, kind, jobs)
    run = make(None)
    run.go(seconds, progress, None if jobs == 1 else (make, jobs))
    if kind is None:
        close(run.state, seconds=seconds * _CLOSING)
    return run.report(rows=tuple(run.state.new))


@dataclass(frozen=True)
class _Work:
    """What each process has to search."""

    directory: Path
    nodes: range
    degrees: Sequence[int]
    source: Path
    wirings: Sequence[bool]
    seed: int
    only: str | None
    jobs: int

    def __call__(self, place: int | None) -> _Run[SearchState]:
        """Return the run of one of several processes.

        Without a place of all sizes, or of none if others search.
        """
        rows = {
            degree: read_rows(
                self.directory if get_stored_path(self.directory, degree).exists() else self.source, degree
            )
            for degree in self.degrees
        }
        state = SearchState(sizes_among(self.nodes), rows, as_catalog(self.source))
        part = _ALL if self.jobs == 1 else slice(0) if place is None else slice(place, None, self.jobs)
        return _Run(self.directory, state, self.wirings, self.seed, only=self.only, part=part)


class _Run(Generic[S]):
    """A run: known topologies, and gains by kind of turn."""

    def __init__(
        self,
        directory: Path,
        state: S,
        wirings: Sequence[bool],
        seed: int,
        *,
        strategies: Sequence[Strategy[S]] = STRATEGIES,
        only: str | None = None,
        part: slice = _ALL,
    ) -> None:
        self.directory, self.state, self.seed = directory, state, seed
        self.strategies = [one for one in strategies if only in {None, one.name}]
        self.spent: dict[str, StrategyEffort] = {}
        self.purses: dict[_Kind, _Purse] = defaultdict(_Purse)
        defers = isinstance(state, SearchState) and only in {None, DEFERRAL}
        self.waiting = DeferralQueue(state) if isinstance(state, SearchState) and defers else None
        self._start = self._saved = time.monotonic()
        every = [(degree, n) for degree in state.degrees for n in sorted(state.nodes or ())]
        for degree, n in every[part]:
            for wiring in wirings:
                self._plan(Target(n, degree, wiring))
        if self.waiting:
            self.purses[_DEFERRALS] = _Purse()

    @property
    def turns(self) -> int:
        """How many turns were taken."""
        return sum(one.searches for one in self.spent.values())

    @property
    def gain(self) -> float:
        """What they gained."""
        return sum(one.gain for one in self.spent.values())

    def go(
        self,
        seconds: float,
        progress: Callable[[float], None] | None,
        others: tuple[Callable[[int], _Run[SearchState]], int] | None = None,
    ) -> None:
        """Take turns until the time is up, or let others.

        What is found is kept if that is interrupted.
        """
        self._start = self._saved = time.monotonic()

        def told(spent: dict[str, StrategyEffort]) -> None:
            self.spent = spent
            self._tell(seconds, progress)

        try:
            if others is not None and isinstance(self.state, SearchState):
                search_in_jobs(*others, seconds, self.state, told)
            while others is None and time.monotonic() - self._start < seconds and self.turn():
                self._tell(seconds, progress)
        except KeyboardInterrupt:
            self.save()
            raise

    def _tell(self, seconds: float, progress: Callable[[float], None] | None) -> None:
        """Write the files every minute, and tell how it goes."""
        now = time.monotonic()
        if now - self._saved > _SAVE:
            self.save()
            self._saved = now
        if progress is not None:
            spent = max(1e-3, now - self._start)
            rows = 60 * len(self.state.new) / spent
            progress(Share(spent / seconds, f"{self.turns / spent:.1f} searches a second, {rows:.1f} rows a minute"))

    def save(self) -> list[Path]:
        """Write the files."""
        return self.state.save(self.directory)

    def report(self, rows: tuple[Row, ...] = (), kept: tuple[Exchange, ...] = ()) -> Improvement:
        """Write the files, and return what has become better."""
        each = tuple(sorted(self.spent.values(), key=lambda one: (-one.gain, -one.seconds)))
        return Improvement(self.turns, rows, self.gain, tuple(self.save()), kept, each)

    def _plan(self, target: Target) -> None:
        nodes, degree = target.size
        if target.duplex and degree < 3:
            return
        if self.waiting is not None:
            self.waiting.add(target)
        for strategy in self.strategies:
            for orbits in strategy.orbits(target):
                kind = _Kind(degree, target.duplex, nodes.bit_length() // 2, strategy, orbits.bit_length() // 2)
                self.purses[kind].searches.append((target, orbits))

    def turn(self) -> bool:
        """Search once where that gains most; False if nothing is left."""
        while self.purses:
            kind = max(self.purses, key=lambda one: self.purses[one].gain / self.purses[one].seconds)
            if (turn := self._next(kind)) is not None:
                self._take(kind, turn)
                return True
            del self.purses[kind]
        return False

    def _next(self, kind: _Kind) -> Callable[[], float] | None:
        """Return the next turn of a kind, or None."""
        if kind.strategy is None:
            row = None if self.waiting is None else self.waiting.next()
            return None if self.waiting is None or row is None else partial(self.waiting.state.defer, row)
        purse = self.purses[kind]
        worth = {one: kind.strategy.gap(self.state, one[0]) / (1 + purse.tried[one]) for one in purse.searches}
        purse.searches = [one for one in purse.searches if worth[one] > 0]
        if not purse.searches:
            return None
        target, orbits = chosen = max(purse.searches, key=worth.__getitem__)
        draw = Draw(orbits, number := purse.tried[chosen], self.seed + number)
        purse.tried[chosen] += 1
        return partial(kind.strategy.search, self.state, target, draw)

    def _take(self, kind: _Kind, turn: Callable[[], float]) -> None:
        """Take a turn and note what it gains in which time."""
        began, purse = time.process_time(), self.purses[kind]
        gain = turn()
        seconds = max(_LEAST_SECONDS, time.process_time() - began)
        purse.seconds += seconds
        purse.gain += gain
        name = DEFERRAL if kind.strategy is None else kind.strategy.name
        self.spent[name] = self.spent.get(name, StrategyEffort(name)) + StrategyEffort(name, 1, seconds, gain)
