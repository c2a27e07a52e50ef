"""Rings: every node passes on to the next what it has got from the one before, over as many rings as links allow."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.rounds import Rounds
from topodesign.plans.rounds_ops import Part, assemble
from topodesign.schedulers.baselines.baseline import baseline
from topodesign.schedulers.baselines.cycles import link_disjoint_cycles, shortest_tour
from topodesign.schedulers.baselines.levels import ring_orders
from topodesign.schedulers.baselines.messages import Made, formula
from topodesign.schedulers.baselines.routing import Path, Router
from topodesign.schedulers.baselines.spanning import Ranks
from topodesign.topology.topology import Topology


def ring(topology: Topology, collective: Collective) -> Made:
    """Return an allgather over R rings that share no link, each of which carries 1/R of every block.

    (N-1) alpha + (N-1)/N beta M/R, with beta the time of a byte on a link: optimal where there are as many rings as
    ports. Where there is no Hamiltonian cycle the ring is a short closed tour, both ways round if the links are duplex,
    whose messages go over shortest paths.

    Patarasuk and Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations (2009).
    """
    nodes = topology.nodes
    cycles = link_disjoint_cycles(topology)
    if cycles:
        count = len(cycles)
        cost = formula(topology, nodes - 1, Fraction(nodes - 1, nodes * count))
        walks = [list(zip(one, [*one[1:], one[0]], strict=True)) for one in cycles]
        return Made(around(topology, collective, walks), cost if topology.capacity.max() == 1 else None)
    router = Router(topology)
    tour = shortest_tour(router.distance)
    tours = [tour, (tour[0], *tour[:0:-1])] if topology.is_duplex else [tour]
    ways: list[list[Path]] = []
    for one in tours:
        pairs = list(zip(one, [*one[1:], one[0]], strict=True))
        ways.append(router.paths(pairs, [1] * len(pairs)))
    return Made(around(topology, collective, ways), None)


def around(topology: Topology, collective: Collective, walks: Sequence[Sequence[Path]]) -> Rounds:
    """Return an allgather round closed walks, each of which carries an equal part of every block.

    A walk is the ways from every node to the next one, the last one to the first. Data leave a node on the way in the
    step after they came, so that of a walk of H links it takes H steps less the shortest of its ways.
    """
    parts: list[Part] = []
    steps = 0
    for at, walk in enumerate(walks):
        hops = np.array([hop for way in walk for hop in itertools.pairwise(way)], dtype=np.int64)
        length = np.array([len(way) - 1 for way in walk], dtype=np.int64)
        begin = np.cumsum(length) - length
        count = len(hops) - np.roll(length, 1)  # all but the way that leads back to where it began
        steps = max(steps, int(count.max()))
        stop = np.repeat(np.arange(len(walk)), count)
        step = np.arange(len(stop)) - np.repeat(np.cumsum(count) - count, count)
        place = (begin[stop] + step) % len(hops)
        parts.append((step + 1, hops[place, 0], hops[place, 1], hops[begin, 0][stop], at, at + 1))
    return assemble(collective, topology.nodes, len(walks), steps, parts)


def paths(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return for every node a path along each of the rings of a fabric."""
    del root
    return [
        Ranks(node, 1, list(itertools.pairwise((*one[at:], *one[:at]))))
        for one in ring_orders(fabric)
        for at, node in enumerate(one)
    ]


METHOD = baseline("ring", (ALLGATHER, REDUCE_SCATTER, ALLREDUCE), ring, trees=paths)


def chains(fabric: Fabric, root: int | None) -> list[Ranks]:
    """Return a path from the root along every ring of the fabric, or the transpose of it.

    C chunks take (N - 2 + C)(alpha + beta M/(R C)) over R rings that share no link. Without a root, as in an allreduce,
    the first node is it.
    """
    root = fabric.compute[0] if root is None else root
    found = []
    for ring in ring_orders(fabric):
        at = ring.index(root)
        found.append(Ranks(root, 1, list(itertools.pairwise((*ring[at:], *ring[:at])))))
    return found


CHAIN = baseline("chain", (BROADCAST, REDUCE, ALLREDUCE), trees=chains)
