"""The protocol of a kind of movement: every question about a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Generic, Literal, TypeVar, cast

import numpy as np

from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.plans.flow import Flow
from topodesign.plans.group_ops import apart
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.movement import Movement
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.plans.transfers import Transfers, transfers_of_rounds
from topodesign.plans.unroll import ranks_of
from topodesign.topology.topology import IntArray, Topology

Moved = TypeVar("Moved", bound=Movement)


class Kind(ABC, Generic[Moved]):
    """What the kind of a plan says of it.

    A subclass says what it is in the class attributes, and answers at least ``in_rounds``; from the
    rounds come what the verifier replays, measures, time, transfers and programs, where a kind has none of its own.
    """

    movement: ClassVar[type[Movement]]
    """The class of its values: their columns and file, see :mod:`topodesign.plans.movement`."""
    words: ClassVar[str]
    """What its sends are called in sentences, such as ``timed sends``."""
    pace: ClassVar[Literal["steps", "pipelines", "times"]]
    """What its time is made of: steps one after the other; chunks that follow one another, each tree or path with a
    share of its links for itself, so that limits that links share can be kept; or times that the plan says itself."""
    program: ClassVar[Literal["rounds", "trees", "stages"]] = "rounds"
    """As what compilers of programs take it."""
    title: ClassVar[tuple[str, ...]] = ()
    """What the names of programs say of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.moved = cast("Moved", plan.movement)

    @abstractmethod
    def in_rounds(self, parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Return the sends between nodes in steps, and their graph.

        ``parts`` are chunks of what each pipeline carries. What is wrong with the plan stays wrong.
        """

    def measures(self) -> Mapping[str, Fraction]:
        """Return the cost from the columns, by the names of a claim."""
        return cost_claim(cost_of(*self.in_rounds()))

    def on_ranks(self, parts: int = 1) -> tuple[Topology, Rounds]:
        """Return ``in_rounds`` with nodes numbered as ranks."""
        return ranks_of(*self.in_rounds(parts))

    @property
    def adds_up(self) -> bool:
        """Whether ranks add for themselves, which only ``transfers`` shows."""
        return False

    def transfers(self, parts: int = 1) -> tuple[Transfers, ...]:
        """Return what ranks send, by its collectives; for compilers and ``run``."""
        self.check_parts(parts)
        return (transfers_of_rounds(self.in_rounds(parts)[1], self.plan.topology.switches),)

    def check_parts(self, parts: int) -> None:
        """Raise ScheduleError if it has no pipelines that could be cut."""
        if parts != 1 and self.pace != "pipelines":
            raise ScheduleError(
                f"parts that follow one another are of trees and paths, not of {self.plan.kind}; omit them"
            )

    @property
    def streams(self) -> tuple[Flow, ...]:
        """Its clock flows by collective; none for other paces."""
        return ()

    @property
    def amounts(self) -> tuple[int, ...] | None:
        """Pieces of every block, where these differ in size."""
        return None

    def padded(self) -> tuple[Topology, Rounds]:
        """Return ``on_ranks`` with blocks padded to the largest."""
        return self.on_ranks()

    @property
    def changes(self) -> tuple[int, ...]:
        """The steps after each of which circuits change; none if links stay."""
        return ()

    @property
    def relays(self) -> IntArray:
        """The switches that add or copy, ascending."""
        return np.zeros(0, dtype=np.int64)

    @property
    def size(self) -> Fraction | None:
        """Bytes of the data that its own times are for."""
        return sum((one.timing.size for one in self.streams), Fraction(0)) or None

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return the vertices behind each send of ``in_rounds`` without a link."""
        return {}

    def image(self, order: IntArray) -> Plan:
        """Return the plan with node v called ``order[v]``."""
        raise InfeasibleError(f"a plan in {self.plan.kind} has no image under {len(order)} names")

    def alone(self, place: Topology, rounds: Rounds, members: Sequence[int]) -> Plan:  # noqa: ARG002
        """Return the plan of members alone, renumbered from 0."""
        return Plan(place, rounds, cost_claim(cost_of(place, rounds)), generator=self.plan.generator)

    def apart(self) -> Iterator[Plan]:
        """Yield the plan of each group, with the switches it uses."""
        if self.pace == "pipelines" or (self.pace == "times" and self.plan.topology.switches):
            raise InfeasibleError(
                f"only rounds, trees and timed sends without switches are compiled in groups, not {self.plan.kind}"
            )
        for one, (place, rounds) in zip(self.plan.collective.single, apart(*self.in_rounds()), strict=True):
            yield self.alone(place, rounds, one.group or ())

    def then(self, other: Plan) -> Movement:
        """Return the allreduce of this reduce-scatter and an allgather after it."""
        self.like(other)
        raise InfeasibleError(f"plans in {self.plan.kind} are not put after one another")

    def like(self, other: Plan) -> Moved:
        """Return the movement of a plan of the same kind, to follow this."""
        if other.kind != self.plan.kind:
            raise InfeasibleError(f"plans in {self.plan.kind} and {other.kind} are not put after one another")
        return cast("Moved", other.movement)
