"""Common base of the answers to topology questions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from topodesign.base.claims import Scope
from topodesign.base.records import Result
from topodesign.pricing.mix import Mix
from topodesign.pricing.workload import Workload

if TYPE_CHECKING:
    from topodesign.finder.candidate import Entry
    from topodesign.finder.question import Question
    from topodesign.finder.runners_up import RunnersUp, RunnerUp


class Answer(Result):
    """Answer for one size: topologies worth wiring, supported, or near a wiring."""

    question: Question
    runners_up: RunnersUp | None  # what comes next to the fastest, where that was asked for

    @property
    def nodes(self) -> int:
        """Nodes N."""
        return self.question.nodes

    @property
    def degree(self) -> int:
        """Ports d per node, in each direction."""
        return self.question.degree

    @property
    def workload(self) -> Workload:
        """Latency, sizes and bandwidth for times."""
        return self.question.objective.work

    @property
    def questions(self) -> tuple[Mix, ...]:
        """Ranking criteria: each size, or a training step."""
        return self.question.objective.columns

    @property
    def next_best(self) -> tuple[RunnerUp, ...]:
        """With --top: the next best topologies."""
        return () if self.runners_up is None else self.runners_up.entries

    @property
    def among(self) -> Scope:
        """Scope in which the fastest topology is the best."""
        return Scope.FOUND

    @property
    @abstractmethod
    def fastest(self) -> Entry:
        """Fastest topology for the first question."""
