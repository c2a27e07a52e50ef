"""The simulator of routed rounds, in lock-step.

A step takes alpha, ``hop`` for each link of its longest route, and what its fullest link carries over the rate of that.
Nodes that a message passes count as switches do in :mod:`topodesign.base.latency`, the router of its sender among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.base.latency import USUAL
from topodesign.base.units import format_time
from topodesign.plans.plan import Plan
from topodesign.plans.routed import Routed
from topodesign.plans.timing.conditions import SHOWN, USE_KEYS, Conditions, Run


@dataclass(frozen=True, eq=False)
class RoutedRun(Run):
    """When routed rounds end."""

    step_ends: tuple[Fraction, ...]  # seconds until each step is over
    longest: tuple[int, ...]  # links of the longest route of each step

    KEYS = (
        key("step_ends_s=float(step_ends)", "When each step ends, in seconds, in their order."),
        key("longest_routes=longest", "Links of the longest route of each step."),
        *USE_KEYS,
    )

    def describe(self, name: Callable[[int], str]) -> str:
        """Return the time and the use of links; no node is named."""
        _ = name
        lines = [f"lock-step, messages pass through: {format_time(self.time)}", *self.use()]
        for step, (end, links) in enumerate(zip(self.step_ends[:SHOWN], self.longest[:SHOWN], strict=True), start=1):
            lines.append(f"  step {step}: until {format_time(end)}, longest route {links} links")
        if len(self.step_ends) > SHOWN:
            lines.append(f"  ... and {len(self.step_ends) - SHOWN} more")
        return "\n".join(lines)


def run_routed(plan: Plan, moved: Routed, now: Conditions) -> RoutedRun:
    """Time routed rounds."""
    if now.chunks is not None:
        raise ParameterError("chunks are of trees and paths; routed rounds have none")
    if now.failed or now.links is not None or now.mode != "lock-step":
        raise ParameterError("routed rounds are timed in lock-step, with links that are alike and work")
    latency = now.latency or USUAL
    topology = plan.topology
    own = 8 * plan.fabric.unit * max(1, topology.degree)
    members = moved.collective.members(topology.nodes, topology.switches)
    _, shards = moved.collective.shares(moved.block[:0], topology.nodes, len(members))
    unit = 8 * now.size / (shards * moved.units) * topology.degree / (own if now.bandwidth is None else now.bandwidth)
    ends, time = [], Fraction(0)
    for row, far in zip(moved.loads, moved.longest, strict=True):
        fullest = max((Fraction(int(load), int(room)) for load, room in zip(row, topology.capacity, strict=True)))
        time += latency.of_step(1, far) + fullest * unit
        ends.append(time)
    busy = moved.loads.sum(axis=0) / topology.capacity * float(unit)
    return RoutedRun(time, np.asarray(busy / float(time or 1)), None, tuple(ends), tuple(moved.longest))
