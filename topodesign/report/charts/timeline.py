"""The timeline of a plan: when each link is busy with what."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.base.units import Quantity, as_bandwidth, as_size, as_time
from topodesign.plans.plan import Plan
from topodesign.plans.time.models import list_busy, load_steps
from topodesign.report.charts.chart import Chart, Series

MAX_LANES = 256


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
    busy, note = list_busy(plan, as_size(size), as_time(alpha, latency=True), as_bandwidth(bandwidth))
    spans = tuple(Series(one.name, one.start, one.link, "spans", until=one.end, texts=one.texts) for one in busy)
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


def link_use_chart(plan: Plan) -> Chart:
    """Return the load per step of the fullest link, and the mean of links.

    * ``plan``: in rounds.
    """
    flow, loads = load_steps(plan)
    topology = flow.topology
    steps, ports = list(range(1, flow.steps + 1)), int(topology.capacity[topology.src != topology.dst].sum())
    worst = loads.fullest()
    fullest = [worst.get(step, Fraction(0)) / flow.units for step in steps]
    carried = np.zeros(flow.steps + 1, dtype=np.int64)
    np.add.at(carried, loads.step, loads.units)
    mean = [Fraction(units, ports * flow.units) for units in carried[1:].tolist()]
    share = float(sum(mean, Fraction(0)) / sum(fullest, Fraction(0))) if any(fullest) else 1.0
    return Chart(
        "use",
        f"{plan.heading()}: what links carry",
        "step",
        "blocks per unit of capacity",
        (Series("fullest link", steps, fullest, "bars"), Series("mean of all links", steps, mean, "points", "other")),
        note=f"links are {share:.1%} as full as the fullest one",
    )
