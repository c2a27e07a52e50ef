"""The timeline of a plan: when each link is busy with what."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time, format_size, format_time
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rounds
from topodesign.plans.step_ops import find_links
from topodesign.report.charts.chart import Chart, Series
from topodesign.topology.topology import IntArray, Topology

MAX_LANES = 256
MAX_SPANS = 20_000


def timeline_chart(
    plan: Plan, *, size: Quantity = "1MiB", alpha: Quantity = "10us", bandwidth: Quantity = "100Gbps"
) -> Chart:
    """Return the timeline of a plan: a lane per link, a bar per send.

    * ``plan``: in rounds, which are shown in lock-step, or in timed sends, which say their own times.
    * ``size``, ``alpha``, ``bandwidth``: for rounds: bytes of the whole data, latency of a step, and bandwidth of a
      node over all its links.
    """
    topology = plan.topology
    if len(topology.src) > MAX_LANES:
        raise TooLargeError(f"{len(topology.src)} links are too many lanes to tell apart; at most {MAX_LANES}")
    spans: tuple[Series, ...]
    if plan.model == "clock":
        spans, note = _make_series(plan, plan.flows), "every bar is a send with its latency"
    elif plan.model == "steps":
        moved, latency = list_rounds(plan)[1], as_time(alpha, latency=True)
        spans, note = _rounds(plan, moved, as_size(size), latency, as_bandwidth(bandwidth))
    else:
        raise ParameterError("trees are pipelined chunk by chunk; the timeline is for rounds and timed sends")
    names = plan.fabric.names
    return Chart(
        "timeline",
        f"{plan.collective} on {plan.spec or 'a topology'}: when each link is busy",
        "seconds",
        "link",
        spans,
        lanes=tuple(f"{names[u]}>{names[v]}" for u, v in zip(topology.src, topology.dst, strict=True)),
        note=note,
    )


def _make_series(plan: Plan, streams: tuple[Flow, ...]) -> tuple[Series, ...]:
    streams = tuple(one.over_links() for one in streams)
    sends = sum(map(len, streams))
    if sends > MAX_SPANS:
        raise TooLargeError(f"{sends} sends are too many to draw; at most {MAX_SPANS}")
    series = []
    for number, one in enumerate(streams):
        name = f"{number}: {one.collective}" if plan.collective.several else "send"
        link = plan.topology.link_index(one.src, one.dst)
        start, end = ([int(tick) * one.timing.tick for tick in column] for column in (one.start, one.end))
        texts = [f"block {block}" for block in one.of_sends(one.block).tolist()]
        series.append(Series(name, start, link.tolist(), "spans", until=end, texts=texts))
    return tuple(series)


def _rounds(
    plan: Plan, moved: Flow, size: Fraction, alpha: Fraction, bandwidth: Fraction
) -> tuple[tuple[Series, ...], str]:
    topology = plan.topology
    load = step_loads(topology, moved)
    if np.count_nonzero(load) > MAX_SPANS:
        raise TooLargeError(f"{np.count_nonzero(load)} messages are too many to draw; at most {MAX_SPANS}")
    shards = moved.collective.shards(len(moved.collective.members(topology.nodes, topology.switches)))
    unit = size * 8 / shards / moved.units * topology.degree / bandwidth  # seconds for a unit over a link
    now, series = Fraction(0), []
    for step, row in enumerate(load):
        busy = np.flatnonzero(row)
        took = [alpha + int(row[link]) * unit / int(topology.capacity[link]) for link in busy]
        if len(busy):
            texts = [f"step {step + 1}, {format_time(time)}" for time in took]
            ends = [now + time for time in took]
            series.append(
                Series(f"step {step + 1}", [now] * len(busy), busy.tolist(), "spans", until=ends, texts=texts)
            )
        now += max([alpha, *took])
    words = f"in lock-step: {format_size(size)} in {format_time(now)}, alpha {format_time(alpha)}"
    return tuple(series), words


def link_use_chart(plan: Plan) -> Chart:
    """Return the load per step of the fullest link, and the mean of links.

    * ``plan``: in rounds.
    """
    if plan.model != "steps":
        raise ParameterError(f"link use by step is for plans in rounds, not in {plan.kind}; plot its timeline")
    topology, moved = list_rounds(plan)
    load = step_loads(topology, moved)
    real = topology.src != topology.dst
    steps = list(range(1, moved.steps + 1))
    fullest, mean = [], []
    for row in load:
        fullest.append(max(map(Fraction, row[real].tolist(), topology.capacity[real].tolist())) / moved.units)
        mean.append(Fraction(int(row[real].sum()), int(topology.capacity[real].sum()) * moved.units))
    share = float(sum(mean, Fraction(0)) / sum(fullest, Fraction(0))) if any(fullest) else 1.0
    return Chart(
        "use",
        f"{plan.heading()}: what links carry",
        "step",
        "blocks per unit of capacity",
        (Series("fullest link", steps, fullest, "bars"), Series("mean of all links", steps, mean, "points", "other")),
        note=f"links are {share:.1%} as full as the fullest one",
    )


def step_loads(topology: Topology, rounds: Flow) -> IntArray:
    """Return the units on every link at every step, shape ``(steps, links)``."""
    load = np.zeros((rounds.steps, len(topology.src)), dtype=np.int64)
    np.add.at(load, (rounds.step - 1, find_links(topology, rounds)), rounds.hi - rounds.lo)
    return load
