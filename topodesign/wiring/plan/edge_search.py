"""Links over panels where no theorem helps: chains of moves make room for one link after the other."""

from __future__ import annotations

import random

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.topology.topology import IntArray

_MOST_TRIES = 20_000
_RESTARTS = 2
_STRAY = 0.25  # share of chains that only stir, without which the search could go round in circles


def search_split(u: IntArray, v: IntArray, lanes: IntArray, seed: int) -> IntArray:
    """Split undirected edges into parts so that no node has more edges in a part than lanes.

    Edges are put where both ends have a free lane. Where they have none in common, edges along a chain from one end
    change between two parts in turn, which frees another lane there (Kempe's chains, as in edge colouring).

    ``lanes`` has shape ``(nodes, parts)``, in sum at least the degree of each node. Returns the part of each edge; that
    none is found, an InfeasibleError, does not say that there is none.
    """
    rng = random.Random(seed)  # noqa: S311  no secret
    in_order = list(range(len(u)))  # which suits structured graphs better, and any order the others
    for order in (in_order, *(rng.sample(in_order, len(u)) for _ in range(_RESTARTS))):
        state = _Split(list(zip(u.tolist(), v.tolist(), strict=True)), lanes.tolist(), order, rng)
        for _ in range(_MOST_TRIES + 2 * len(u)):
            if not state.loose:
                return np.array(state.part, dtype=np.int64)
            state.try_one()
    raise InfeasibleError(
        "no split of the links over the panels was found; one is sure to exist if all hosts have the same number of "
        "lanes on each panel, an even one for duplex links"
    )


class _Split:
    """A split in the making; edges in no part yet are ``loose``."""

    def __init__(
        self, edges: list[tuple[int, int]], lanes: list[list[int]], order: list[int], rng: random.Random
    ) -> None:
        self.edges = edges
        self.free = lanes
        self.parts = range(len(lanes[0]))
        self.rng = rng
        self.part = [-1] * len(edges)
        self.loose = order[::-1]
        self.at: list[list[int]] = [[] for _ in lanes]
        for edge, ends in enumerate(edges):
            for end in ends:
                self.at[end].append(edge)

    def try_one(self) -> None:
        """Put the last loose edge somewhere, or make room for it, or change which edge is loose."""
        edge = self.loose[-1]
        u, v = self.edges[edge] if self.rng.random() < 0.5 else self.edges[edge][::-1]
        if self._place(edge, u, v):
            return
        have = [part for part in self.parts if self.free[u][part] > 0]
        want = [part for part in self.parts if self.free[v][part] > 0]
        target = self.rng.choice(list(self.parts) if self.rng.random() < _STRAY else want)
        source = self.rng.choice(have)
        if target != source:
            self._chain(u, source, target)
        if not self._place(edge, u, v):
            self.rng.shuffle(self.loose)

    def _place(self, edge: int, u: int, v: int) -> bool:
        """Put a loose edge, the last, into a part where both ends have a lane free."""
        both = [part for part in self.parts if self.free[u][part] > 0 and self.free[v][part] > 0]
        if not both or self.loose[-1] != edge:
            return False
        self.loose.pop()
        self._put(edge, self.rng.choice(both))
        return True

    def _chain(self, node: int, gain: int, lose: int) -> None:
        """Move an edge of a node from a part to another where it has a lane free, and so on from the other end."""
        last = -1
        for _ in self.edges:
            edges = [edge for edge in self.at[node] if self.part[edge] == lose and edge != last]
            if not edges:
                break
            last = self.rng.choice(edges)
            self._put(last, gain)
            node = sum(self.edges[last]) - node
            if self.free[node][gain] >= 0:
                return
            gain, lose = lose, gain
        if last >= 0:  # too long, or a node without lanes in the part
            self._put(last, -1)
            self.loose.append(last)

    def _put(self, edge: int, target: int) -> None:
        source, self.part[edge] = self.part[edge], target
        for end in self.edges[edge]:
            if source >= 0:
                self.free[end][source] += 1
            if target >= 0:
                self.free[end][target] -= 1
