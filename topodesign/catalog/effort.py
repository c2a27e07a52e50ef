"""How hard the catalog's build searches: budgets of work, never of time, so that a seed always gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from topodesign.base.cost import Cost, lower_bound
from topodesign.base.spec import Spec
from topodesign.catalog.quality import STANDARD
from topodesign.expand.library import build
from topodesign.search.annealing import MOST_PORTS, anneal
from topodesign.search.cayley import Found, Target, hunt
from topodesign.search.finder import Candidate
from topodesign.search.neighbours import REACH, search_neighbours
from topodesign.topology.topology import Topology

_SMALL, _SMALL_FIND = 40, 100_000_000
_FIND = {2: 32_000_000, 4: 64_000_000, 8: 16_000_000, 16: 4_000_000}
_FIND_OTHER = {6: 8_000_000, 64: 2_000_000}
"""Links that the search for symmetric digraphs looks at for one size: the smallest sizes are in all others, and
digraphs of high degree are good after a few tries. Degrees that hardware seldom has get less, by degree at most."""

_ANNEALED = 128
_ANNEAL = 1_000_000
"""Up to so many nodes links are swapped one by one, with this budget for each number of steps, as expansions inherit
what is found."""

_NEIGHBOURS = {
    2: ((600, 1_000_000), (2048, 3_000_000)),
    4: ((340, 2_000_000), (600, 3_000_000), (2048, 6_000_000)),
    8: ((1024, 600_000), (2048, 1_000_000)),
}
_NEIGHBOURS_OTHER = ((128, 600_000), (2048, 300_000))
"""Sizes that are further from the bound than ``_GOOD`` are made from their neighbours, with this budget by degree and
nodes at most; duplex ones with half of it."""
_GOOD, _FAR = Fraction(106, 100), Fraction(120, 100)
_OFTEN, _TRIES = 600, 4
"""Larger sizes of degrees without a budget of their own come into it only if they are further from the bound than
``_FAR``. What is so far after that is tried again with other random choices, so many times in all; degree 2 is not, as
most of its sizes are."""
_LAST = {2: (Fraction(125, 100), 12_000_000), 3: (_FAR, 4_000_000), 4: (Fraction(112, 100), 24_000_000)}
_LAST_OTHER = (_FAR, 2_000_000)
"""What is then still further than the first number, for duplex ones ``_FAR`` at least, gets this budget once."""
_BASES = 8


@dataclass(frozen=True)
class Effort:
    """Budgets.

    Attributes
    ----------
    seed
        Seed of all searches.
    percent
        100 builds the shipped catalog; 0 does not search at all, but takes known families and their expansions only.
    """

    seed: int = 0
    percent: int = 100

    def _share(self, work: int) -> int:
        return work * self.percent // 100

    def find(self, target: Target, known: Sequence[Cost]) -> list[Found]:
        """Search for symmetric digraphs of a size that beat what is known."""
        return hunt(target, self._share(_find_work(target)), seed=self.seed, known=known)

    def refine(self, target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> list[Found]:
        """Search beside what is known of a size, and of those with a few nodes more or less."""
        own = candidates.get(target, ())
        bound = lower_bound(target.nodes, target.degree, duplex=target.duplex)
        if not self.percent or not own or target.degree > MOST_PORTS or any(one.cost == bound for one in own):
            return []
        known = [one.cost for one in own]
        found: list[Found] = []
        for seed, (limit, most) in enumerate(_tries(target), start=self.seed):
            costs = [*known, *(one.cost for one in found)]
            work = self._share(most)
            if work and min(map(_runtime, costs)) > limit * _runtime(bound):
                found += search_neighbours(target, list(_bases(target, candidates)), work, seed=seed, known=costs)
        if target.nodes <= _ANNEALED:
            options: list[Candidate | Found] = [*sorted(own, key=lambda one: one.rank), *found]
            start = min(options, key=lambda one: _runtime(one.cost)).spec  # of equals the first
            found += self._annealed(target, start, [*known, *(one.cost for one in found)])
        return found

    def _annealed(self, target: Target, start: Spec, known: Sequence[Cost]) -> list[Found]:
        bound = lower_bound(target.nodes, target.degree, duplex=target.duplex)
        optimal = min((cost.steps for cost in known if cost.bandwidth == bound.bandwidth), default=bound.steps + 3)
        found: list[Found] = []
        for steps in range(bound.steps, optimal):
            found += anneal(
                build(start),
                self._share(_ANNEAL),
                duplex=target.duplex,
                steps=steps,
                seed=self.seed,
                known=[*known, *(one.cost for one in found)],
            )
        return found


def _find_work(target: Target) -> int:
    if target.nodes <= _SMALL:
        return _SMALL_FIND
    return _FIND.get(target.degree) or next(work for most, work in _FIND_OTHER.items() if target.degree <= most)


def _tries(target: Target) -> list[tuple[Fraction, int]]:
    """Return for every try how far from the bound a size has to be for it, and its budget."""
    budgets = _NEIGHBOURS.get(target.degree, _NEIGHBOURS_OTHER)
    work = next((work for most, work in budgets if target.nodes <= most), 0)
    limit, last = _LAST.get(target.degree, _LAST_OTHER)
    if target.duplex:
        limit, work, last = max(limit, _FAR), work // 2, last // 2
    first = _GOOD if target.degree in _NEIGHBOURS or target.nodes <= _OFTEN else _FAR
    again = [] if target.degree == 2 else [(_FAR, work)] * (_TRIES - 1)
    return [(first, work), *again, (limit, last)]


def _bases(target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> Iterable[Topology]:
    """Return the fastest topologies of neighbouring sizes, line graphs first: most of their nodes are near."""
    near = [
        one
        for shift in range(-REACH, REACH + 1)
        if shift
        for one in candidates.get(Target(target.nodes + shift, target.degree, target.duplex), ())
    ]
    near.sort(key=lambda one: (one.spec.name != "line", _runtime(one.cost), one.rank))
    return (one.base.topology for one in near[:_BASES])  # which are at hand when a size is tried again


def _runtime(cost: Cost) -> Fraction:
    """Return what an allreduce of the smaller standard size takes."""
    return STANDARD.allreduce(cost)[0]
