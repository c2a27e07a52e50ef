"""One topology looked at from all sides: price, bounds, diameter, girth, distances."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from topodesign.base.cost import Cost, lower_bound
from topodesign.pricing.baselines import Workload
from topodesign.pricing.closed_form import distances, price
from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class Evaluation:
    """What is known of a topology.

    Attributes
    ----------
    topology
        The topology.
    cost
        Price of its best SPFF reduce-scatter; ``cost.steps`` is the diameter.
    allgather
        Price of its best SPFF allgather: that of a reduce-scatter on the transpose.
    bound
        Lower bound for its nodes and degree (with the duplex Moore bound if it is duplex).
    girth
        Length of the shortest directed cycle (self-loops left out; 2 if some link has its reverse), or None.
    distance_profile
        Number of nodes at distance 1, 2, ... from node 0.
    sources
        Number of nodes that were looked at for the price.
    """

    topology: Topology
    cost: Cost
    allgather: Cost
    bound: Cost
    girth: int | None
    distance_profile: tuple[int, ...]
    sources: int

    def allreduce(self, work: Workload) -> tuple[Fraction, ...]:
        """Return the seconds of a reduce-scatter and an allgather after it, for each size of the workload."""
        return work.allreduce(self.cost, self.allgather)


def evaluate(topology: Topology, *, all_sources: bool = False) -> Evaluation:
    """Price a topology and set it against the bounds.

    Parameters
    ----------
    topology
        Strongly connected, without switches, with at least two nodes.
    all_sources
        As for :func:`topodesign.pricing.closed_form.price`.

    Raises
    ------
    DisconnectedError, TopologyError
        As :func:`topodesign.pricing.closed_form.price` does.
    """
    cost = price(topology, all_sources=all_sources)
    representatives = None if all_sources else topology.representatives
    sources = representatives or tuple(range(topology.nodes))
    return Evaluation(
        topology,
        cost,
        cost if topology.is_duplex else price(topology.transpose(), all_sources=all_sources),
        lower_bound(topology.nodes, topology.degree, duplex=topology.is_duplex),
        _girth(topology, topology.representatives or range(topology.nodes)),
        tuple(np.bincount(distances(topology, 0))[1:].tolist()),
        len(sources),
    )


def _girth(topology: Topology, nodes: tuple[int, ...] | range) -> int | None:
    shortest = None
    for node in nodes:
        distance = distances(topology, node)
        last = topology.src[(topology.dst == node) & (topology.src != node)]
        if len(last):
            length = int(distance[last].min()) + 1
            shortest = length if shortest is None else min(shortest, length)
        if shortest == 2:
            break
    return shortest
