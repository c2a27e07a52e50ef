"""The kind whose messages pass through nodes: routed rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from topodesign.plans.kinds.kind import Kind
from topodesign.plans.movement import Movement
from topodesign.plans.plan import Plan
from topodesign.plans.replay.found import Found
from topodesign.plans.replay.routed import replayed_routed
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import allreduce, relabel
from topodesign.plans.routed import Routed
from topodesign.plans.timing.conditions import Conditions, Run
from topodesign.plans.timing.routed import run_routed
from topodesign.topology.topology import IntArray, Topology


class OfRouted(Kind[Routed]):
    """Rounds whose messages go over routes."""

    movement, words, pace, title = Routed, "routed rounds", "steps", ("routed",)

    def replayed(self) -> Found:
        """Return what a check of routes, data and loads finds."""
        return replayed_routed(self.plan.topology, self.moved)

    def in_rounds(self, _parts: int = 1, /) -> tuple[Topology, Rounds]:
        """Return what goes from end to end of routes, and the graph of these."""
        return self.moved.joined, self.moved.rounds

    def measures(self) -> Mapping[str, Fraction]:
        """Return steps, links of the longest routes, and the bandwidth factor."""
        return self.moved.claim

    def timed(self, now: Conditions) -> Run:
        """Return how long the steps take."""
        return run_routed(self.plan, self.moved, now)

    def ways(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return a route between two ends."""
        hops = self.moved.hop.tolist()
        found: dict[tuple[int, int], tuple[int, ...]] = {}
        for start, end in pairwise(self.moved.hop_start.tolist()):
            found.setdefault((hops[start], hops[end - 1]), tuple(hops[start:end]))
        return found

    def image(self, order: IntArray) -> Plan:
        """Return the plan with node v called ``order[v]``."""
        moved = self.moved
        block = relabel(moved.rounds, order).block.astype(moved.block.dtype)
        return replace(self.plan, movement=moved.having(block=block, hop=order[moved.hop].astype(moved.hop.dtype)))

    def then(self, other: Plan) -> Movement:
        """Return the allreduce of this reduce-scatter and an allgather after it."""
        return after(self.moved, self.like(other))


def after(first: Routed, second: Routed) -> Routed:
    """Return the allreduce of a reduce-scatter and an allgather."""
    both = allreduce(first.rounds, second.rounds)  # checks that they fit, and says what both are
    return first.having(
        collective=both.collective,
        units=both.units,
        steps=both.steps,
        reduce_steps=both.reduce_steps,
        step=both.step.astype(np.int64),
        route=np.concatenate((first.route, second.route + len(first.lengths))),
        block=both.block.astype(np.int64),
        lo=both.lo.copy(),
        hi=both.hi.copy(),
        hop_start=np.concatenate((first.hop_start, second.hop_start[1:] + len(first.hop))),
        hop=np.concatenate((first.hop, second.hop)),
    )
