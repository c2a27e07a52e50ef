"""When sends are made and links busy, of plans that say it or run in lock-step."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.base.units import format_size, format_time
from topodesign.base.wording import count_noun
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rounds
from topodesign.plans.step_ops import find_links
from topodesign.topology.topology import IntArray, Topology

MAX_BUSY = 20_000  # times of links that are listed


class Busy(NamedTuple):
    """When links are busy in a step, or with the sends of a collective."""

    name: str
    start: list[Fraction]  # seconds
    end: list[Fraction]
    link: list[int]
    texts: list[str]  # what each is busy with


def list_busy(plan: Plan, size: Fraction, alpha: Fraction, bandwidth: Fraction) -> tuple[list[Busy], str]:
    """Return when links are busy, and what the times mean.

    Sends by the clock say it themselves. Steps run in lock-step, with ``size`` bytes of data, latency ``alpha`` and
    ``bandwidth`` in bits/s of a node over all its links. Pipelines of chunks have no such times.
    """
    if plan.model == "chunks":
        raise ParameterError("trees are pipelined chunk by chunk; the timeline is for rounds and timed sends")
    if plan.model == "steps":
        return _list_steps(plan, size, alpha, bandwidth)
    streams = [one.over_links() for one in plan.flows]
    _check_count(sum(map(len, streams)), "sends")
    busy = []
    for number, one in enumerate(streams):
        name = f"{number}: {one.collective}" if plan.collective.several else "send"
        link = plan.topology.link_index(one.src, one.dst).tolist()
        start, end = ([int(tick) * one.timing.tick for tick in column] for column in (one.start, one.end))
        busy.append(Busy(name, start, end, link, [f"block {block}" for block in one.of_sends(one.block).tolist()]))
    return busy, "every bar is a send with its latency"


def _list_steps(plan: Plan, size: Fraction, alpha: Fraction, bandwidth: Fraction) -> tuple[list[Busy], str]:
    """Return when links are busy in each step in lock-step."""
    topology, moved = plan.topology, list_rounds(plan)[1]
    load = _load(topology, moved)
    _check_count(int(np.count_nonzero(load)), "messages")
    shards = moved.collective.shards(len(moved.collective.members(topology.nodes, topology.switches)))
    unit = size * 8 / shards / moved.units * topology.degree / bandwidth  # seconds for a unit over a link
    now, busy = Fraction(0), []
    for step, row in enumerate(load):
        links = np.flatnonzero(row).tolist()
        took = [alpha + int(row[link]) * unit / int(topology.capacity[link]) for link in links]
        if links:
            texts = [f"step {step + 1}, {format_time(time)}" for time in took]
            busy.append(Busy(f"step {step + 1}", [now] * len(links), [now + time for time in took], links, texts))
        now += max([alpha, *took])
    return busy, f"in lock-step: {format_size(size)} in {format_time(now)}, alpha {format_time(alpha)}"


def load_steps(plan: Plan) -> tuple[Topology, Flow, IntArray]:
    """Return links, sends, and the units on every link at every step."""
    if plan.model != "steps":
        raise ParameterError(f"link use by step is for plans in rounds, not in {plan.kind}; plot its timeline")
    topology, moved = list_rounds(plan)
    return topology, moved, _load(topology, moved)


def _load(topology: Topology, moved: Flow) -> IntArray:
    """Return the units on every link at every step."""
    load = np.zeros((moved.steps, len(topology.src)), dtype=np.int64)
    np.add.at(load, (moved.step - 1, find_links(topology, moved)), moved.hi - moved.lo)
    return load


class Moments(NamedTuple):
    """Sends between two instants each."""

    flow: Flow
    instants: IntArray  # ascending
    names: tuple[str, ...]  # what to call the time after each instant but the last
    note: str  # what the sends stand for


def list_moments(plan: Plan) -> Moments:
    """Return the sends of a plan one after the other; of pipelines those of the first chunks."""
    if plan.model == "clock":
        flow = plan.flow.over_links()
        instants = np.unique(np.concatenate((flow.start, flow.end)))
        times = [format_time(tick * flow.timing.tick) for tick in instants.tolist()]
        spans = tuple(f"{start} to {end}" for start, end in pairwise(times))
        return Moments(flow, instants, spans, f"From one event to the next; {count_noun(len(flow), 'send')} in all.")
    flow = list_rounds(plan)[1]
    adds, note = flow.reduce_steps, "All sends of a step are at the same time."
    if plan.model == "chunks":
        note = (
            f"Of all {plan.words} the first chunk is shown; all others follow a step behind the one before, so that "
            "links are busy all the time."
        )
    does = ("; adding up", "; handing out") if 0 < adds < flow.steps else ("", "")
    names = tuple(f"Step {step} of {flow.steps}{does[step > adds]}" for step in range(1, flow.steps + 1))
    return Moments(flow, np.arange(flow.steps + 1), names, note)


def _check_count(many: int, what: str) -> None:
    """Raise TooLargeError if times of links are too many to list."""
    if many > MAX_BUSY:
        raise TooLargeError(f"{many} {what} are too many to draw; at most {MAX_BUSY}")
