"""Shortest paths between nodes that are not neighbours: balanced over links and steps, the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from topodesign.base.errors import DisconnectedError, TooLargeError
from topodesign.pricing.closed_form import distances
from topodesign.topology.topology import IntArray, Topology

MOST_NODES = 2048  # largest topology whose distances are kept

Path = tuple[int, ...]  # the nodes on a way, its two ends included


class Router:
    """The shortest paths of a strongly connected topology, switches included, whose nodes have names or numbers."""

    def __init__(self, topology: Topology, names: Sequence[str] | None = None) -> None:
        if topology.nodes > MOST_NODES:
            raise TooLargeError(f"baselines route among at most {MOST_NODES} nodes, this topology has {topology.nodes}")
        self.topology = topology
        self.distance: IntArray = np.stack([distances(topology, node) for node in range(topology.nodes)])
        if self.distance.min() < 0:
            source, target = np.argwhere(self.distance < 0)[0].tolist()
            called = (f"node {target}", f"node {source}") if names is None else (names[target], names[source])
            raise DisconnectedError(f"{called[0]} cannot be reached from {called[1]}")
        self._towards = self.distance.T.tolist()
        self._out: list[list[tuple[int, int]]] = [[] for _ in range(topology.nodes)]
        for link, (source, target, _) in enumerate(topology.links()):
            if source != target:
                self._out[source].append((target, link))
        common = math.lcm(*topology.capacity.tolist())
        self._share = [common // capacity for capacity in topology.capacity.tolist()]

    def paths(self, pairs: Sequence[tuple[int, int]], widths: Sequence[int], *, by_step: bool = True) -> list[Path]:
        """Return a way for every message, which has a source, a destination and its units.

        One message after the other, the longest ways first, takes the shortest path whose fullest link is the least
        full; of several the one with the least load in all, then the first. Full are links by the messages that take
        them as their hop of the same number (of one round, hop j of all in step j), or without ``by_step`` by all.
        """
        load: dict[tuple[int, int], int] = {}
        found: list[Path] = [()] * len(pairs)
        order = sorted(range(len(pairs)), key=lambda i: (-self._towards[pairs[i][1]][pairs[i][0]], pairs[i]))
        for at in order:
            (source, target), width = pairs[at], widths[at]
            found[at], links = self._best(source, target, width, load, by_step=by_step)
            for hop, link in enumerate(links):
                step = hop if by_step else 0
                load[step, link] = load.get((step, link), 0) + width * self._share[link]
        return found

    def _best(
        self, source: int, target: int, width: int, load: dict[tuple[int, int], int], *, by_step: bool
    ) -> tuple[Path, tuple[int, ...]]:
        left = self._towards[target]
        layer: dict[int, tuple[int, int, Path, tuple[int, ...]]] = {source: (0, 0, (source,), ())}
        for hop in range(left[source]):
            step = hop if by_step else 0
            following: dict[int, tuple[int, int, Path, tuple[int, ...]]] = {}
            for node, (most, total, way, links) in layer.items():
                for other, link in self._out[node]:
                    if left[other] == left[node] - 1:
                        now = load.get((step, link), 0) + width * self._share[link]
                        new = (max(most, now), total + now, (*way, other), (*links, link))
                        if other not in following or new < following[other]:
                            following[other] = new
            layer = following
        _, _, way, links = layer[target]
        return way, links
