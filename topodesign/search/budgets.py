"""Work budgets of the catalog's build.

Of work, never of time, so that a seed always gives the same.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from topodesign.base.cost import Cost, keeps_port_free, lower_bound
from topodesign.base.spec import Spec
from topodesign.catalog.quality import runtime
from topodesign.search.annealing import anneal
from topodesign.search.candidate import Candidate
from topodesign.search.links import MOST_PORTS
from topodesign.search.neighbours import REACH, search_neighbours
from topodesign.search.symmetric import search_symmetric
from topodesign.search.target import Found, Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_FILE = Path(__file__).with_suffix(".toml")


@functools.cache
def budgets() -> dict[str, Any]:
    """Return the tables of budgets, with the purpose of each number."""
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


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
        return search_symmetric(target, self._share(_find_work(target)), seed=self.seed, known=known)

    def refine(self, target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> list[Found]:
        """Search near the topologies of a size and of close sizes."""
        own = candidates.get(target, ())
        bound = lower_bound(target.nodes, target.degree, duplex=target.duplex)
        one_free = keeps_port_free(target.nodes, target.degree, duplex=target.duplex)
        if not self.percent or any(one.cost == bound for one in own):
            return []
        if not one_free and (not own or target.degree > MOST_PORTS):
            return []
        known = [one.cost for one in own]
        found: list[Found] = []
        for seed, (limit, most) in enumerate(_tries(target), start=self.seed):
            costs = [*known, *(one.cost for one in found)]
            work = self._share(most)
            if work and (not costs or min(map(runtime, costs)) > limit * runtime(bound)):
                found += search_neighbours(target, list(_bases(target, candidates)), work, seed=seed, known=costs)
        if target.nodes <= budgets()["annealing"]["nodes"] and (own or found):
            options: list[Candidate | Found] = [*sorted(own, key=lambda one: one.rank), *found]
            start = min(options, key=lambda one: runtime(one.cost)).spec  # of equals the first
            found += self._anneal(target, start, [*known, *(one.cost for one in found)])
        return found

    def _anneal(self, target: Target, start: Spec, known: Sequence[Cost]) -> list[Found]:
        bound = lower_bound(target.nodes, target.degree, duplex=target.duplex)
        optimal = min((cost.steps for cost in known if cost.bandwidth == bound.bandwidth), default=bound.steps + 3)
        found: list[Found] = []
        for steps in range(bound.steps, optimal):
            found += anneal(
                build(start),
                self._share(budgets()["annealing"]["work"]),
                duplex=target.duplex,
                steps=steps,
                seed=self.seed,
                known=[*known, *(one.cost for one in found)],
            )
        return found


def _find_work(target: Target) -> int:
    table = budgets()["symmetric"]
    if target.nodes <= table["small_nodes"]:
        return int(table["small"])
    own = table["by_degree"].get(str(target.degree))
    return int(own or next(one["work"] for one in table["others"] if target.degree <= one["degree"]))


def _tries(target: Target) -> list[tuple[Fraction, int]]:
    """Return for each try the gap that it needs, and its budget."""
    degree, table, when, last = (
        str(target.degree),
        budgets()["neighbours"],
        budgets()["neighbours"]["when"],
        budgets()["last"],
    )
    shares = table["by_degree"].get(degree, table["others"])
    work = next((one["work"] for one in shares if target.nodes <= one["nodes"]), 0)
    final = last["by_degree"].get(degree, last["others"])
    limit, final_work = Fraction(final["ratio"]), final["work"]
    good, far = Fraction(when["good"]), Fraction(when["far"])
    if target.duplex:
        limit, work, final_work = max(limit, far), work // 2, final_work // 2
    first = good if degree in table["by_degree"] or target.nodes <= when["always_nodes"] else far
    again = [] if target.degree == 2 else [(far, work)] * (when["tries"] - 1)
    return [(first, work), *again, (limit, final_work)]


def _bases(target: Target, candidates: Mapping[Target, Sequence[Candidate]]) -> Iterable[Topology]:
    """Return the fastest topologies of close sizes, line graphs first."""
    near = [
        one
        for shift in range(-REACH, REACH + 1)
        if shift
        for one in candidates.get(Target(target.nodes + shift, target.degree, target.duplex), ())
    ]
    near.sort(key=lambda one: (one.spec.name != "line", runtime(one.cost), one.rank))
    return (
        one.base.topology for one in near[: budgets()["neighbours"]["bases"]]
    )  # which are at hand when a size is tried again
