"""What the time of a collective is made of: numbers to compute it again from, for any latencies and size."""

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
    """A part of an allreduce: its steps or height, and what a step has of messages, switches and data."""

    steps: int  # communication steps, or height of trees
    starts: int  # messages that the busiest port starts in a step
    switches: int  # switches that data pass at most from node to node, or links of messages that pass through nodes
    factor: Fraction  # bandwidth factor y


@dataclass(frozen=True, slots=True)
class Timing(Declared):
    """Phases one after the other, in rounds or as pipelines of chunks."""

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
        """Return what the time of a simulated plan is made of, with y for so many bits per second of a node."""
        factor = bandwidth / (8 * run.size)  # of seconds by bandwidth alone
        phases = tuple(Phase(one.height, one.starts, one.switches, one.busy * factor) for one in run.phases)
        return cls(phases, run.smallest / run.size, halves)

    @property
    def pipelined(self) -> bool:
        """Whether data follow one another in chunks."""
        return self.smallest is not None

    @property
    def at_once(self) -> bool:
        """Whether both halves of the allreduce are one pipeline."""
        return self.pipelined and len(self.phases) < self.halves

    @property
    def steps(self) -> Fraction | None:
        """Steps, of half an allreduce; None of timed sends."""
        return Fraction(sum(one.steps for one in self.phases), self.halves) if self.phases else None

    @property
    def bandwidth(self) -> Fraction | None:
        """Bandwidth factor, of half an allreduce; None of timed sends."""
        return sum((one.factor for one in self.phases), Fraction(0)) / self.halves if self.phases else None

    @property
    def gaps(self) -> int:
        """Messages that follow another at the busiest port, in a step."""
        return max((one.starts for one in self.phases), default=1) - 1

    @property
    def hops(self) -> int:
        """Switches that data pass at most from node to node."""
        return max((one.switches for one in self.phases), default=0)

    def time(self, latency: Latency, size: Fraction, bandwidth: Fraction) -> Fraction:
        """Return seconds of an allreduce, of pipelines with the number of chunks that is fastest."""
        pipelines = self._pipelines(size, bandwidth)
        if self.smallest is None:
            steps = (one.height * latency.of_step(one.starts, one.switches) + one.busy for one in pipelines)
            return sum(steps, Fraction(0))
        chunks = _best_chunks(pipelines, latency, self.smallest * size)
        return sum((one.end(latency, chunks) for one in pipelines), Fraction(0))

    def times(self, work: Workload) -> tuple[Fraction, ...]:
        """Return seconds for each size of a workload."""
        return tuple(self.time(work.latency, size, work.bandwidth) for size in work.sizes)

    def chunks(self, work: Workload) -> tuple[int, ...]:
        """Return the fastest number of chunks for each size of a workload; 1 of rounds."""
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
    """Return the gaps and hops of a step as a table shows them; nothing of timed sends and other plans without."""
    return f"{timing.gaps},{timing.hops}" if timing.phases else ""


def step_words(*, switched: bool) -> str:
    """Return in words what a step takes beside its bytes."""
    return "alpha + g gap + h hop" if switched else "alpha"
