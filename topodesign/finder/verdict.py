"""Verdict on a frontier: best topology, sizes, and remaining gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from topodesign.base.claims import Claim, Of, Proof, Scope, fastest_of
from topodesign.base.cost import Cost, bound_in
from topodesign.base.records import shorten_text
from topodesign.base.units import format_excess, format_size, format_size_rounded
from topodesign.base.wording import count_noun
from topodesign.pricing.workload import Workload, winners

Offer = tuple[str, Cost]  # A topology's spec and what its reduce-scatter and allgather cost, their mean

IN_HALVES = "as a reduce-scatter and an allgather after it"  # what the bounds of an allreduce are of


def claims_on(costs: Sequence[Cost], bounds: Sequence[Cost], *, duplex: bool) -> Iterator[Claim]:
    """Yield the proven claims on steps and bandwidth of a frontier."""
    among = Scope.DUPLEX if duplex else Scope.TOPOLOGIES
    if costs[0].steps == bounds[0].steps:
        yield Claim(Of.STEPS, costs[0].steps, among, Proof.BOUND, bounds[0].steps)
    for cost in costs:
        bound = bound_in(cost.steps, bounds)
        if cost.bandwidth == bound.bandwidth:
            by = "" if bound == bounds[-1] else f"in {count_noun(cost.steps, 'step')}"
            yield Claim(Of.FACTOR, cost.bandwidth, among, Proof.BOUND, bound.bandwidth, by)


def verdict_on(offers: Sequence[Offer], bounds: Sequence[Cost], work: Workload, among: Scope, *, duplex: bool) -> str:
    """Return the verdict on an allreduce frontier."""
    costs = [cost for _, cost in offers]
    if all(bound in costs for bound in bounds):
        time = work.fastest(bounds)[0]
        scope = Scope.DUPLEX if duplex else Scope.TOPOLOGIES
        claim = Claim(Of.TIME, time, scope, Proof.BOUND, time, f"at any size, {IN_HALVES}")
        if len(bounds) == 1:
            return f"{shorten_text(offers[0][0])} meets both bounds; {claim}."
        return f"{_describe_ranges(offers, winners(costs, work.alpha * work.bandwidth / 8), among)}; {claim}."
    size = work.sizes[0]
    wins = winners(costs, work.alpha * work.bandwidth / 8)
    best = costs[max((since, place) for since, place in wins if since <= size)[1]]
    over = work.allreduce(best)[0] / work.fastest(bounds)[0]
    fewest, least = bounds[0], bounds[-1]
    percent = format_excess(over).removeprefix("+")
    room = "which meets the lower bound" if over == 1 else f"{percent} over the lower bound"
    told = [f"{_describe_ranges(offers, wins, among)}: at {format_size(size)} {_steps(best)}, {room}."]
    claims = {claim.of: claim for claim in claims_on([best], bounds, duplex=duplex)}
    if over > 1 and best.steps == fewest.steps and best.bandwidth > fewest.bandwidth:
        told.append(f"Steps: {claims[Of.STEPS].verdict}; the gap is bandwidth.")
    elif over > 1 and best.bandwidth == least.bandwidth:
        more = count_noun(best.steps - least.steps, "step")
        told.append(f"BW factor: {claims[Of.FACTOR].verdict}; the gap is {more} more than the bound.")
    return " ".join(told)


def _describe_ranges(offers: Sequence[Offer], wins: Sequence[tuple[Fraction, int]], among: Scope) -> str:
    """Describe the best topology for each range of sizes."""
    if len(wins) == 1:
        return f"{shorten_text(offers[wins[0][1]][0])} is {fastest_of(among)} at every size"
    first, *rest = wins
    steps = offers[first[1]][1].steps
    words = [f"{count_noun(steps, 'step')} {'wins' if steps == 1 else 'win'} up to {format_size_rounded(rest[0][0])}"]
    for place, (since, best) in enumerate(rest):
        last = place == len(rest) - 1
        until = "" if last else f" to {format_size_rounded(rest[place + 1][0])}"
        words.append(f"{_steps(offers[best][1])} from {'there on' if last else format_size_rounded(since) + until}")
    return ", ".join(words)


def _steps(cost: Cost) -> str:
    return count_noun(cost.steps, "step")
