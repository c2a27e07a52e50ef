"""The verdict on a frontier in a sentence or two: what is the best, at which sizes, and how much is left to gain."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from topodesign.base.cost import Cost
from topodesign.base.records import shortened
from topodesign.base.units import format_excess, format_size, rounded_size
from topodesign.base.wording import counted
from topodesign.pricing.crossovers import winners
from topodesign.pricing.workload import Workload

Offer = tuple[str, Cost]
"""A topology's spec and what its reduce-scatter and allgather cost."""


def verdict_on(offers: Sequence[Offer], bounds: Sequence[Cost], work: Workload) -> str:
    """Return the verdict on a frontier of allreduces.

    Parameters
    ----------
    offers
        Undominated topologies, steps ascending.
    bounds
        What no topology can beat: see :func:`topodesign.base.cost.lower_bounds`.
    work
        Latency, bandwidth, and the size of data (the first of several) that is told.
    """
    costs = [cost for _, cost in offers]
    if all(bound in costs for bound in bounds):
        if len(bounds) == 1:
            return f"{shortened(offers[0][0])} meets both bounds: nothing can beat it, at any size."
        return f"{_said(offers, winners(costs, work.alpha * work.bandwidth / 8))}: nothing can beat that."
    size = work.sizes[0]
    wins = winners(costs, work.alpha * work.bandwidth / 8)
    best = costs[max((since, place) for since, place in wins if since <= size)[1]]
    over = work.allreduce(best)[0] / work.fastest(bounds)[0]
    fewest, least = bounds[0], bounds[-1]
    percent = format_excess(over).removeprefix("+")
    room = "which meets the lower bound" if over == 1 else f"{percent} over what no topology can beat"
    told = [f"{_said(offers, wins)}: at {format_size(size)} {_steps(best)}, {room}."]
    if over > 1 and best.steps == fewest.steps and best.bandwidth > fewest.bandwidth:
        told.append("It has the fewest steps possible; the rest is bandwidth.")
    elif over > 1 and best.bandwidth == least.bandwidth:
        more = counted(best.steps - least.steps, "step")
        told.append(f"It has the least bandwidth factor possible; the rest is {more} more than the bound.")
    return " ".join(told)


def _said(offers: Sequence[Offer], wins: Sequence[tuple[Fraction, int]]) -> str:
    """Return who wins where."""
    if len(wins) == 1:
        return f"{shortened(offers[wins[0][1]][0])} is the fastest known at every size"
    first, *rest = wins
    steps = offers[first[1]][1].steps
    words = [f"{counted(steps, 'step')} {'wins' if steps == 1 else 'win'} up to {rounded_size(rest[0][0])}"]
    for place, (since, best) in enumerate(rest):
        last = place == len(rest) - 1
        until = "" if last else f" to {rounded_size(rest[place + 1][0])}"
        words.append(f"{_steps(offers[best][1])} from {'there on' if last else rounded_size(since) + until}")
    return ", ".join(words)


def _steps(cost: Cost) -> str:
    return counted(cost.steps, "step")
