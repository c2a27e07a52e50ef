"""Spread-out: all messages of direct sending, but one after another over each link, first come, first served.

Node i sends to i + 1, i + 2 and so on, so that not all send to the same node at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from topodesign.collectives import ALL_TO_ALL, ALLGATHER, BROADCAST, COLLECTIVES, GATHER, Collective
from topodesign.plans.plan import Plan
from topodesign.schedulers.baselines.messages import Made, deliveries, formula, plans, queued
from topodesign.schedulers.baselines.routing import Path, Router
from topodesign.schedulers.method import Method, Request
from topodesign.topology.topology import Topology


def spread_out(
    topology: Topology,
    collective: Collective,
    ways: Mapping[tuple[int, int], Path] | None = None,
    *,
    by_rank: bool = False,
) -> Made:
    """Return messages that stand in line at every link; on a complete graph one step, alpha + beta M/N.

    Parameters
    ----------
    topology, collective
        Where and what for.
    ways
        The way of every message, by its ends; shortest paths with balanced loads if None.
    by_rank
        Whether messages begin in the order of the numbers of their nodes instead, which is what TACOS calls direct
        (section III-B, with XY routing on a mesh).
    """
    src, dst, block = (column.tolist() for column in deliveries(collective, topology.nodes))
    pairs = list(zip(src, dst, strict=True))

    def place(at: int) -> tuple[int, int]:
        return (src[at], dst[at]) if by_rank else ((dst[at] - src[at]) % topology.nodes, src[at])

    if ways is None:
        ways = dict(zip(pairs, Router(topology).paths(pairs, [1] * len(pairs)), strict=True))
    letters = [(ways[pairs[at]], block[at]) for at in sorted(range(len(pairs)), key=place)]
    rounds = queued(topology, collective, letters)
    alone = rounds.steps == 1 and topology.capacity.max() == 1
    volume = Fraction(1, collective.shards(topology.nodes))
    return Made(rounds, formula(topology, 1, volume) if alone else None)


def _make(request: Request) -> list[Plan]:
    return plans(request, "spread-out", spread_out, (ALLGATHER, ALL_TO_ALL, BROADCAST, GATHER))


METHOD = Method("spread-out", frozenset({"root"}), tuple(COLLECTIVES.values()), _make, auto=False)
