"""Targets of searches: sizes, and found digraphs with prices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from topodesign.base.cost import Cost, lower_bound
from topodesign.base.dominance import find_unbeaten
from topodesign.base.moore import moore_order
from topodesign.base.spec import Spec


@dataclass(frozen=True, order=True)
class Target:
    """A size to search at.

    * ``nodes``, ``degree``: the exact size.
    """

    nodes: int
    degree: int
    duplex: bool  # only digraphs whose every link has its reverse

    @property
    def size(self) -> tuple[int, int]:
        """Number of nodes and degree."""
        return self.nodes, self.degree


@dataclass(frozen=True)
class FoundDigraph:
    """A found digraph, with the price of its dearer collective."""

    spec: Spec
    cost: Cost


def select_frontier(found: Iterable[FoundDigraph], known: Sequence[Cost] = ()) -> list[FoundDigraph]:
    """Return the undominated finds by steps; the plainest of equal ones."""
    best = find_unbeaten(
        found, lambda one: (one.cost.steps, one.cost.bandwidth), lambda one: (len(str(one.spec)), str(one.spec))
    )
    return [one for one in best if not any(cost.dominates(one.cost) for cost in known)]


def scarcity(target: Target, steps: int) -> float:
    """Return the nodes that a random topology misses, over the choices.

    It misses a share exp(-M/N), M being Moore's order; d ln N is the logarithm of the ways to link one node. Where
    the first is above the second, there is in general no topology that misses none, but for exact structure.
    """
    share = math.exp(-moore_order(target.degree, steps, duplex=target.duplex) / target.nodes)
    return target.nodes * share / (target.degree * math.log(target.nodes))


def steps_of_most(target: Target, most: float) -> int:
    """Return the fewest steps that are no scarcer than that."""
    least = lower_bound(*target.size, duplex=target.duplex).steps
    return next(steps for steps in itertools.count(least) if scarcity(target, steps) <= most)
