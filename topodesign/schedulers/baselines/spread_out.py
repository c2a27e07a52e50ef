"""Spread-out: all messages of direct sending, but one after another over each link, first come, first served.

Node i sends to i + 1, i + 2 and so on, so that not all send to the same node at once.
"""

from __future__ import annotations

from fractions import Fraction

from topodesign.collectives import ALL_TO_ALL, ALLGATHER, BROADCAST, COLLECTIVES, GATHER, Collective
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.messages import Made, deliveries, formula, queued
from topodesign.schedulers.baselines.routing import Router
from topodesign.topology.topology import Topology


def spread_out(topology: Topology, collective: Collective) -> Made:
    """Return messages that stand in line at every link; on a complete graph one step, alpha + beta M/N."""
    src, dst, block = (column.tolist() for column in deliveries(collective, topology.nodes))
    pairs = list(zip(src, dst, strict=True))
    ways = dict(zip(pairs, Router(topology).paths(pairs, [1] * len(pairs)), strict=True))
    order = sorted(range(len(pairs)), key=lambda at: ((dst[at] - src[at]) % topology.nodes, src[at]))
    rounds = queued(topology, collective, [(ways[pairs[at]], block[at]) for at in order])
    alone = rounds.steps == 1 and topology.capacity.max() == 1
    volume = Fraction(1, collective.shards(topology.nodes))
    return Made(rounds, formula(topology, 1, volume) if alone else None)


FORWARD = (ALLGATHER, ALL_TO_ALL, BROADCAST, GATHER)
METHOD = baseline("spread-out", tuple(COLLECTIVES.values()), spread_out, forward=FORWARD)
