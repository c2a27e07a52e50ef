"""The verdict on a frontier in a sentence or two: what is the best, at which sizes, and how much is left to gain."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from topodesign.base.cost import Cost
from topodesign.base.records import shortened
from topodesign.base.units import format_excess, format_size
from topodesign.base.wording import counted
from topodesign.pricing.crossovers import rounded_size, winners

if TYPE_CHECKING:
    from topodesign.catalog.pareto import Entry


def verdict_on(entries: Sequence[Entry], bound: Cost) -> str:
    """Return the verdict on a frontier of allreduces.

    Parameters
    ----------
    entries
        Undominated topologies, steps ascending; their workload says alpha, bandwidth and the size that is told.
    bound
        What no topology can beat.
    """
    first = entries[0]
    if first.cost == bound:
        return f"{shortened(str(first.spec))} meets both bounds: nothing can beat it, at any size."
    work, size = first.workload, first.workload.sizes[0]
    wins = winners([one.cost for one in entries], work.alpha * work.bandwidth / 8)
    best = entries[max((since, place) for since, place in wins if since <= size)[1]]
    least = work.allreduce(bound)[0]
    over = best.allreduce[0] / least
    room = (
        "which meets the lower bound"
        if over == 1
        else f"{format_excess(over).removeprefix('+')} over what no topology can beat"
    )
    told = [f"{_said(entries, wins)}: at {format_size(size)} {_steps(best)}, {room}."]
    if over > 1 and best.cost.steps == bound.steps and best.cost.bandwidth > bound.bandwidth:
        told.append("It has the fewest steps possible; the rest is bandwidth.")
    elif over > 1 and best.cost.bandwidth == bound.bandwidth:
        more = counted(best.cost.steps - bound.steps, "step")
        told.append(f"It has the least bandwidth factor possible; the rest is {more} more than the bound.")
    return " ".join(told)


def _said(entries: Sequence[Entry], wins: Sequence[tuple[Fraction, int]]) -> str:
    """Return who wins where."""
    if len(wins) == 1:
        return f"{shortened(str(entries[wins[0][1]].spec))} is the fastest known at every size"
    first, *rest = wins
    words = [f"{_steps(entries[first[1]])} win up to {rounded_size(rest[0][0])}"]
    for place, (since, entry) in enumerate(rest):
        last = place == len(rest) - 1
        until = "" if last else f" to {rounded_size(rest[place + 1][0])}"
        words.append(f"{_steps(entries[entry])} from {'there on' if last else rounded_size(since) + until}")
    return ", ".join(words)


def _steps(entry: Entry) -> str:
    return counted(entry.cost.steps, "step")
