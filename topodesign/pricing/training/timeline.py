"""The timeline of a training step, exact, from given durations.

Links carry one collective at a time, in the order in which the model asks for them, and all ranks of a stage do the
same. A layer waits for what its result needs (tensor and expert parallelism). Parameters are gathered for the next
layer while one computes, and gradients are reduced while the layers after it compute, if that may overlap. Micro
batches go through the stages in the order *one forward, one backward* (Narayanan et al., Efficient Large-Scale
Language Model Training on GPU Clusters, 2021, section 2.2.1); what a stage sends the next is under way while it goes on
with another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from topodesign.pricing.training.traffic import USES, Block, Several, Stage, StepCollective, StepMix, Use

Seconds = Callable[[StepCollective], Fraction]
"""How long a collective takes."""


@dataclass(frozen=True, slots=True)
class StepParts:
    """The parts of a step's time, which add up to it."""

    seconds: Fraction  # the step
    compute: Fraction  # computing, on the stage that is busy for longest
    waits: dict[Use, Fraction]  # waiting there for what is sent, by what for; of data parallelism what nothing hides
    bubble: Fraction  # the rest: stages that wait for others


def split_times(step: StepMix, seconds: Seconds) -> StepParts:
    """Return the parts of a step's time for given collective times."""
    whole = step_seconds(step, seconds)
    bare = replace(step, stages=tuple(map(_without_data, step.stages)))
    alone = step_seconds(bare, seconds)
    unsent = step_seconds(replace(bare, sends=None, last=()), seconds)
    each = [_busy(stage, step.micro_batches, seconds) for stage in step.stages]
    compute, waits = max(each, key=lambda one: one[0] + sum(one[1].values()))
    bubble = unsent - compute - sum(waits.values())
    waits["data"] += whole - alone
    waits["pipeline"] += alone - unsent
    return StepParts(whole, compute, waits, bubble)


def step_seconds(step: StepMix, seconds: Seconds) -> Fraction:
    """Return the seconds of a step."""
    passes = [[run(blocks, seconds, overlap=step.overlap) for blocks in _passes(stage)] for stage in step.stages]
    send = Fraction(0) if step.sends is None else seconds(step.sends)
    done = pipeline_seconds([[one[0] for one in four] for four in passes], step.micro_batches, send)
    # What is sent for data parallelism goes on after the last pass.
    ends = (end + four[3][1] - four[3][0] for end, four in zip(done, passes, strict=True))
    return max(ends) + _sum(step.last, seconds)


def _passes(stage: Stage) -> tuple[tuple[Block, ...], ...]:
    return stage.forward, stage.backward, stage.first_forward, stage.last_backward


def run(blocks: Sequence[Block], seconds: Seconds, *, overlap: bool = True) -> tuple[Fraction, Fraction]:
    """Return the end of a pass, and of all that it sends.

    * ``blocks``: in the order in which they are computed.
    * ``overlap``: whether gathers and reduces run while blocks compute; else all comes one after the other.
    """
    time = links = ready = Fraction(0)
    if blocks:
        links = ready = _sum(blocks[0].gathers, seconds)
    for number, block in enumerate(blocks):
        time = max(time, ready) + block.compute
        gathers = _sum(blocks[number + 1].gathers, seconds) if number + 1 < len(blocks) else Fraction(0)
        if gathers:
            ready = links = (links if overlap else max(links, time)) + gathers
        waits, reduces = _sum(block.waits, seconds), _sum(block.reduces, seconds)
        if waits:
            time = links = max(links, time) + waits
        if reduces:
            links = max(links, time) + reduces
            time = time if overlap else links
    return time, max(time, links)


def pipeline_seconds(stages: Sequence[Sequence[Fraction]], micro_batches: int, send: Fraction) -> list[Fraction]:
    """Return when each stage ends its last backward pass.

    One forward and one backward pass alternate.

    * ``stages``: seconds of a forward and a backward pass of each, and of the first forward and the last backward pass.
    * ``micro_batches``: how many go through.
    * ``send``: seconds from the end of a pass on one stage until the next, or the former, has what it needs.
    """
    common = math.lcm(send.denominator, *(one.denominator for four in stages for one in four))
    times = [[int(one * common) for one in four] for four in stages]
    way, depth = int(send * common), len(stages)
    orders = [_order(depth - 1 - stage, micro_batches) for stage in range(depth)]
    done: list[dict[tuple[bool, int], int]] = [{} for _ in stages]
    at, clock = [0] * depth, [0] * depth
    while any(at[stage] < len(orders[stage]) for stage in range(depth)):
        for stage in range(depth):
            while at[stage] < len(orders[stage]):
                back, number = orders[stage][at[stage]]
                before = 0
                if back and stage + 1 < depth:
                    before = done[stage + 1].get((True, number), -1)
                elif not back and stage > 0:
                    before = done[stage - 1].get((False, number), -1)
                if before < 0:
                    break
                arrives = before + way if stage != (depth - 1 if back else 0) else 0
                whole = number == (micro_batches - 1 if back else 0)
                clock[stage] = max(clock[stage], arrives) + times[stage][back + 2 * whole]
                done[stage][back, number] = clock[stage]
                at[stage] += 1
    return [Fraction(one, common) for one in clock]


def _order(ahead: int, micro_batches: int) -> list[tuple[bool, int]]:
    """Return the passes of a stage: direction and micro batch."""
    first = min(ahead, micro_batches)
    order = [(False, number) for number in range(first)]
    for number in range(micro_batches):
        order += [(False, first + number)] if first + number < micro_batches else []
        order.append((True, number))
    return order


def _busy(stage: Stage, micro_batches: int, seconds: Seconds) -> tuple[Fraction, dict[Use, Fraction]]:
    """Return a stage's compute time and waiting times by cause."""
    compute, waits = Fraction(0), dict.fromkeys(USES, Fraction(0))
    for block in (*stage.forward, *stage.backward):
        compute += block.compute * micro_batches
        for sent, many in block.waits:
            waits[sent.use] += micro_batches * many * seconds(sent)
    return compute, waits


def _without_data(stage: Stage) -> Stage:
    def bare(blocks: Sequence[Block]) -> tuple[Block, ...]:
        return tuple(Block(one.compute, one.waits) for one in blocks)

    return Stage(*map(bare, _passes(stage)))


def _sum(several: Several, seconds: Seconds) -> Fraction:
    return sum((many * seconds(sent) for sent, many in several), Fraction(0))
