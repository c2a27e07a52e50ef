"""Ways from node to node through switches, each of which a chunk takes in one go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from topodesign.topology.topology import IntArray, Topology


class Routes(NamedTuple):
    """Links from node to node, made of links of a topology with switches.

    A chunk that starts over a route at time 0 is on its links from ``offset`` on: it passes switches as it arrives.
    """

    topology: Topology  # that of the links
    start: IntArray  # where the links of every route begin in ``link``, and one more
    link: IntArray  # which they are, in their order
    offset: IntArray  # of each of them: ticks until a chunk is on it
    takes: IntArray  # until it has passed it
    busy: IntArray  # how long it is not free


def pairs_and_ways(topology: Topology, per_unit: IntArray) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """Return all pairs of nodes with a link or a way through switches alone, and the links of one way each.

    It is a link, if there is one, and else a way with the fewest links; of those one whose slowest link is as quick as
    can be, and of those again one or another, so that switches side by side have about as many.
    """
    switch = np.zeros(topology.nodes, dtype=np.bool_)
    switch[list(topology.switches)] = True
    out: list[list[tuple[int, int, int]]] = [[] for _ in range(topology.nodes)]
    for link, (u, v, _) in enumerate(topology.links()):
        if u != v:
            out[u].append((v, link, int(per_unit[link])))
    pairs: list[tuple[int, int]] = []
    ways: list[list[int]] = []
    for source in range(topology.nodes):
        if switch[source]:
            continue
        found: dict[int, list[int]] = {}
        layer: dict[int, list[tuple[int, list[int]]]] = {source: [(0, [])]}
        met = {source}
        while layer:
            after: dict[int, list[tuple[int, list[int]]]] = {}
            for node, choices in layer.items():
                for other, link, slow in out[node]:
                    if other not in met:
                        after.setdefault(other, []).extend((max(worst, slow), [*way, link]) for worst, way in choices)
            layer = {}
            for other, choices in after.items():
                met.add(other)
                least = min(worst for worst, _ in choices)
                best = [choice for choice in choices if choice[0] == least]
                if switch[other]:
                    layer[other] = best[:_SIDE_BY_SIDE]
                else:
                    found[other] = best[(source + other) % len(best)][1]
        for other in sorted(found):
            pairs.append((source, other))
            ways.append(found[other])
    return pairs, ways


_SIDE_BY_SIDE = 16
"""Ways to a switch that are kept."""
