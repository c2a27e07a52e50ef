"""What is searched for, and what a search comes upon: sizes, and digraphs of them with their prices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from topodesign.base.cost import Cost
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
class Found:
    """A digraph that search came upon, with the price that the search computed (of the dearer collective)."""

    spec: Spec
    cost: Cost


def undominated(found: Iterable[Found], known: Sequence[Cost] = ()) -> list[Found]:
    """Return those that no other and nothing known dominates, by steps; the plainest of equal ones."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda one: (one.cost.steps, one.cost.bandwidth, len(str(one.spec)), str(one.spec))):
        if not any(cost.dominates(one.cost) for cost in [*known, *(other.cost for other in kept)]):
            kept.append(one)
    return kept
