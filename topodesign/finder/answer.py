"""What answers to all questions have, whatever the source of their topologies."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from topodesign.base.claims import Among
from topodesign.base.records import Result
from topodesign.pricing.mix import Mix
from topodesign.pricing.workload import Workload

if TYPE_CHECKING:
    from topodesign.finder.candidate import Entry
    from topodesign.finder.question import Question
    from topodesign.finder.runners_up import RunnersUp, RunnerUp


class Answer(Result):
    """The answer for one size: the topologies worth wiring, those that a plant carries, or those near a wiring."""

    question: Question
    runners_up: RunnersUp | None  # what comes next to the fastest, where that was asked for

    @property
    def nodes(self) -> int:
        """Nodes N."""
        return self.question.nodes

    @property
    def degree(self) -> int:
        """Ports d out of, and into, a node."""
        return self.question.degree

    @property
    def workload(self) -> Workload:
        """What times are for: latency, sizes and bandwidth."""
        return self.question.objective.work

    @property
    def questions(self) -> tuple[Mix, ...]:
        """What the topologies are ranked for: each size, or a training step."""
        return self.question.objective.columns

    @property
    def next_best(self) -> tuple[RunnerUp, ...]:
        """With --runners-up: what comes next to the fastest."""
        return () if self.runners_up is None else self.runners_up.entries

    @property
    def among(self) -> Among:
        """What the fastest is the fastest of."""
        return Among.FOUND

    @property
    @abstractmethod
    def fastest(self) -> Entry:
        """The fastest for the first question."""
