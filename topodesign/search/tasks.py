"""The sizes of a catalog in order of dependency, and the work for each.

Sizes are taken in chunks, 2^(c-1) < N <= 2^c. A size is worked on in two stages. The first needs the sizes that it can
be expanded from: they have at most N/2 nodes, or fewer ports. The second looks at neighbouring sizes, so it comes when
the whole chunk has been through the first. What comes out depends on the size alone and not on what else is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from topodesign.base.cost import Cost, keeps_port_free, lower_bound
from topodesign.catalog.quality import runtime
from topodesign.catalog.rows import Row
from topodesign.search.candidate import Candidate, candidate_of, row_of
from topodesign.search.finder import Finder, base_targets
from topodesign.search.neighbours import REACH, search_neighbours
from topodesign.search.symmetric import search_symmetric
from topodesign.search.target import FoundDigraph, Target

_SMALL, _SMALL_WORK = 40, 10**8
"""The smallest sizes, which are in all others, and the links that are looked at for one of them; a second."""
_WORK = 2**27  # the same for larger ones, over their ports: wide digraphs are good after a few tries
_NEAR_WORK, _TRIES, _BASES = 6 * 10**7, 4, 8
"""Words that are looked at to make a size from close ones, how often that is tried, and topologies to start from."""
_GOOD = Fraction(106, 100)  # times the bound; what is as near is not tried again


@dataclass(frozen=True)
class Effort:
    """The seed and budget of a build.

    The budget is of work, never of time, so that a seed always gives the same.

    Attributes
    ----------
    seed
        Seed of all searches.
    percent
        100 builds a whole catalog; 0 does not search at all, but takes known families and their expansions only.
    """

    seed: int = 0
    percent: int = 100

    def find(self, target: Target, known: Sequence[Cost]) -> list[FoundDigraph]:
        """Search for symmetric digraphs of a size that beat what is known."""
        work = _SMALL_WORK if target.nodes <= _SMALL else _WORK // target.degree
        return search_symmetric(target, work * self.percent // 100, seed=self.seed, known=known)

    def refine(self, target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> list[FoundDigraph]:
        """Search near the topologies of close sizes.

        The search is repeated while its results are far from the bound.
        """
        own = candidates.get(target, ())
        bound = lower_bound(*target.size, duplex=target.duplex)
        if not self.percent or not (own or keeps_port_free(*target.size, duplex=target.duplex)):
            return []
        shifts = [shift for shift in range(-REACH, REACH + 1) if shift]
        near = [
            one
            for shift in shifts
            for one in candidates.get(Target(target.nodes + shift, target.degree, target.duplex), ())
        ]
        near.sort(key=lambda one: (one.spec.name != "line", runtime(one.cost), one.rank))
        known, found = [one.cost for one in own], list[FoundDigraph]()
        for seed in range(self.seed, self.seed + _TRIES):
            if known and min(map(runtime, known)) <= _GOOD * runtime(bound):
                break
            bases = [one.base.topology for one in near[:_BASES]]
            found += search_neighbours(target, bases, _NEAR_WORK * self.percent // 100, seed=seed, known=known)
            known = [*(one.cost for one in own), *(one.cost for one in found)]
        return found


class Stage(IntEnum):
    """What is done with a size."""

    FIND = 0
    """Known families, expansions of smaller sizes, and a search for symmetric digraphs."""
    REFINE = 1
    """Nodes taken out of or put into neighbouring sizes, and links swapped."""


@dataclass(frozen=True, order=True)
class Task:
    """One stage of one size."""

    nodes: int
    degree: int
    stage: Stage

    @property
    def chunk(self) -> int:
        """Number of the chunk of sizes it belongs to."""
        return (self.nodes - 1).bit_length()

    @property
    def wave(self) -> tuple[int, int, int, Stage]:
        """The wave of the task; tasks of one wave are independent.

        Degrees of which each is twice the one before come together, and powers of two first.
        """
        odd = self.degree // (self.degree & -self.degree)
        return self.chunk, odd, self.degree, self.stage

    @property
    def targets(self) -> list[Target]:
        """The size for duplex cabling and for any."""
        return [Target(self.nodes, self.degree, duplex) for duplex in (True, False)]


def needs(task: Task) -> list[Task]:
    """Return the tasks whose results a task starts from."""
    if task.stage is Stage.FIND:
        # what the duplex ones rest on the others do too
        sizes = [(base.nodes, base.degree) for base in base_targets(task.targets[-1])]
        return [Task(*size, Stage.REFINE) for size in dict.fromkeys(sizes) if is_size(*size)]
    near = [task.nodes + shift for shift in range(-REACH, REACH + 1)]
    rows = [Task(nodes, task.degree, Stage.FIND) for nodes in near if is_size(nodes, task.degree)]
    return [
        Task(row.nodes, row.degree, Stage.REFINE) if row.chunk < task.chunk else row
        for row in rows
        if row.chunk <= task.chunk
    ]


def is_size(nodes: int, degree: int) -> bool:
    """Whether a size is worked out on its own; smaller ones take no time."""
    return nodes >= 3 and degree >= 2


def waves(sizes: Iterable[tuple[int, int]]) -> list[list[Task]]:
    """Return all tasks of some sizes (N, d), with dependencies, by wave."""
    pending = [Task(*size, Stage.REFINE) for size in sizes]
    tasks = set(pending)
    while pending:
        for task in needs(pending.pop()):
            if task not in tasks:
                tasks.add(task)
                pending.append(task)
    found: dict[tuple[int, int, int, Stage], list[Task]] = {}
    for task in sorted(tasks):
        found.setdefault(task.wave, []).append(task)
    return [found[wave] for wave in sorted(found)]


def run_task(task: Task, known: Sequence[Row], effort: Effort) -> list[Row]:
    """Return the rows to keep of a size: frontiers, and what may overtake."""
    candidates = _by_target(known)
    if task.stage is Stage.FIND:
        own = set(task.targets)

        def search(target: Target, costs: Sequence[Cost]) -> Iterable[FoundDigraph]:
            return effort.find(target, costs) if target in own else ()

        finder = Finder(known=candidates, search=search)
    else:
        finder = Finder(known={target: candidates.get(target, []) for target in task.targets})
        for target in task.targets:
            finder.offer(target, [found.spec for found in effort.refine(target, candidates)])
    kept = [candidate for target in task.targets for candidate in finder.list_kept(target)]
    rows = {row_of((task.nodes, task.degree), one): None for one in sorted(kept, key=lambda one: one.rank)}
    return sorted(rows, key=lambda row: row.key)  # the plainest first of those with one price


def _by_target(rows: Iterable[Row]) -> dict[Target, list[Candidate]]:
    """Return candidates by size; duplex ones under both cablings."""
    found: dict[Target, list[Candidate]] = {}
    for row in rows:
        candidate = candidate_of(row)
        for duplex in (True, False):
            shelf = found.setdefault(Target(row.nodes, row.degree, duplex), [])
            if row.duplex or not duplex:
                shelf.append(candidate)
    return found
