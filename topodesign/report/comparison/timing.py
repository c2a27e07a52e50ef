"""Timing model of a collective, for any latency and size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from topodesign.base.declared import Declared, key
from topodesign.base.latency import Latency
from topodesign.plans.time.chunks import Pipeline, PipelineSimulation, best_chunks
from topodesign.pricing.workload import Workload

GAPS_AND_HOPS = "g,h"  # title of the column that shows both, as formulas below tables call them


class Phase(NamedTuple):
    """Phase of a collective: steps or height, messages, switches and data."""

    steps: int  # communication steps, or height of trees
    starts: int  # messages that the busiest port starts in a step
    switches: int  # switches that data pass at most from node to node, or links of messages that pass through nodes
    factor: Fraction  # bandwidth factor y


@dataclass(frozen=True, slots=True)
class Timing(Declared):
    """Phases in sequence, in rounds or as pipelines of chunks."""

    phases: tuple[Phase, ...]  # one or several
    smallest: Fraction | None = None  # of pipelines the least share of the data that is cut into chunks; None of rounds
    halves: int = 2  # what steps and y are the mean of: both halves of an allreduce, or the one of other collectives

    KEYS = (
        "pipelined",
        key(
            "phases=len(phases)",
            "Pipelines one after the other: 2 of an allreduce in halves, 1 of one at once; 0 of timed sends. Steps, "
            "where messages pass through nodes.",
        ),
        "gaps hops",
    )

    @classmethod
    def of_run(cls, run: PipelineSimulation, bandwidth: Fraction, halves: int = 2) -> Timing:
        """Return the timing of a simulated plan, for a bandwidth in bits/s."""
        factor = bandwidth / (8 * run.size)  # of seconds by bandwidth alone
        phases = tuple(Phase(one.height, one.starts, one.switches, one.busy * factor) for one in run.phases)
        return cls(phases, run.smallest / run.size, halves)

    @property
    def pipelined(self) -> bool:
        """Whether data are pipelined in chunks."""
        return self.smallest is not None

    @property
    def at_once(self) -> bool:
        """Whether both phases of an allreduce share one pipeline."""
        return self.pipelined and len(self.phases) < self.halves

    @property
    def steps(self) -> Fraction | None:
        """Steps, per phase of an allreduce; None for timed schedules."""
        return Fraction(sum(one.steps for one in self.phases), self.halves) if self.phases else None

    @property
    def bandwidth(self) -> Fraction | None:
        """Bandwidth factor, per phase of an allreduce; None for timed schedules."""
        return sum((one.factor for one in self.phases), Fraction(0)) / self.halves if self.phases else None

    @property
    def gaps(self) -> int:
        """Additional messages per step at the busiest port."""
        return max((one.starts for one in self.phases), default=1) - 1

    @property
    def hops(self) -> int:
        """Maximum number of switches between nodes."""
        return max((one.switches for one in self.phases), default=0)

    def time(self, latency: Latency, size: Fraction, bandwidth: Fraction) -> Fraction:
        """Return the seconds of a collective, with the fastest number of chunks."""
        pipelines = self._pipelines(size, bandwidth)
        if self.smallest is None:
            steps = (one.height * latency.of_step(one.starts, one.switches) + one.busy for one in pipelines)
            return sum(steps, Fraction(0))
        chunks = _best_chunks(pipelines, latency, self.smallest * size)
        return sum((one.end(latency, chunks) for one in pipelines), Fraction(0))

    def times(self, work: Workload) -> tuple[Fraction, ...]:
        """Return the seconds for each size of a workload."""
        return tuple(self.time(work.latency, size, work.bandwidth) for size in work.sizes)

    def chunks(self, work: Workload) -> tuple[int, ...]:
        """Return the fastest number of chunks for each size; 1 for rounds."""
        if self.smallest is None:
            return (1,) * len(work.sizes)
        sized = ((self._pipelines(size, work.bandwidth), self.smallest * size) for size in work.sizes)
        return tuple(_best_chunks(pipelines, work.latency, smallest) for pipelines, smallest in sized)

    def _pipelines(self, size: Fraction, bandwidth: Fraction) -> tuple[Pipeline, ...]:
        scale = 8 * size / bandwidth
        return tuple(Pipeline(one.steps, one.starts, one.switches, one.factor * scale) for one in self.phases)


def _best_chunks(pipelines: tuple[Pipeline, ...], latency: Latency, smallest: Fraction) -> int:
    return best_chunks([(one.chain(latency), one.busy) for one in pipelines], smallest)


def gaps_and_hops(timing: Timing) -> str:
    """Format the gaps and hops per step; empty for plans without phases."""
    return f"{timing.gaps},{timing.hops}" if timing.phases else ""


def step_words(*, switched: bool) -> str:
    """Return the formula of the latency of a step."""
    return "alpha + g gap + h hop" if switched else "alpha"
