"""How hard the catalog's build searches: budgets of work, never of time, so that a seed always gives the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from topodesign.annealing import MOST_PORTS, anneal
from topodesign.catalog.quality import STANDARD
from topodesign.cost import Cost, lower_bound
from topodesign.finder import Candidate
from topodesign.library import build
from topodesign.neighbours import REACH, search_neighbours
from topodesign.search import Found, Target, hunt
from topodesign.topology import Topology

_SMALL, _SMALL_FIND = 40, 100_000_000
_FIND = ((4, 64_000_000), (8, 16_000_000), (64, 4_000_000))
"""Links that the search for symmetric digraphs looks at for one size at full effort: up to so many nodes, and for
larger sizes by degree, as digraphs of high degree are good already after a few tries."""

_ANNEALED = 128
_ANNEAL = 1_000_000
"""Up to so many nodes links are swapped one by one, with this budget for each number of steps, as expansions inherit
what is found."""

_NEIGHBOURS = 3_000_000
_GOOD = Fraction(106, 100)
"""Larger sizes are made from their neighbours, with this budget, if they are further from the lower bound."""
_BASES = 4


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
        work = next(links for most, links in _FIND if target.degree <= most)
        if target.nodes <= _SMALL:
            work = _SMALL_FIND
        return hunt(target, self._share(work), seed=self.seed, known=known)

    def refine(self, target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> list[Found]:
        """Search beside what is known of a size, and of those with a few nodes more or less."""
        own = candidates.get(target, ())
        bound = lower_bound(target.nodes, target.degree, duplex=target.duplex)
        if not self.percent or not own or target.degree > MOST_PORTS or any(one.cost == bound for one in own):
            return []
        known = [one.cost for one in own]
        if target.nodes <= _ANNEALED:
            return self._annealed(target, min(own, key=lambda one: one.rank), known)
        if min(map(_runtime, known)) <= _GOOD * _runtime(bound):
            return []
        work = self._share(_NEIGHBOURS)
        return search_neighbours(target, list(_bases(target, candidates)), work, seed=self.seed, known=known)

    def _annealed(self, target: Target, start: Candidate, known: Sequence[Cost]) -> list[Found]:
        bound = lower_bound(target.nodes, target.degree, duplex=target.duplex)
        optimal = min((cost.steps for cost in known if cost.bandwidth == bound.bandwidth), default=bound.steps + 3)
        found: list[Found] = []
        for steps in range(bound.steps, optimal):
            found += anneal(
                build(start.spec),
                self._share(_ANNEAL),
                duplex=target.duplex,
                steps=steps,
                seed=self.seed,
                known=[*known, *(one.cost for one in found)],
            )
        return found


def _bases(target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> Iterable[Topology]:
    """Return the fastest topologies of neighbouring sizes."""
    near = [
        one
        for shift in range(-REACH, REACH + 1)
        if shift
        for one in candidates.get(Target(target.nodes + shift, target.degree, target.duplex), ())
    ]
    near.sort(key=lambda one: (_runtime(one.cost), one.rank))
    return (build(one.spec) for one in near[:_BASES])


def _runtime(cost: Cost) -> Fraction:
    """Return what an allreduce of the smaller standard size takes."""
    return STANDARD.allreduce(cost)[0]
