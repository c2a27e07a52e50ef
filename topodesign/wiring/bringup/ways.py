"""How hosts reach those that they share no cable with, and an order of all along a ring of cables."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from topodesign.runtime.connections import Pair
from topodesign.schedulers.baselines.cycles import link_disjoint_cycles
from topodesign.topology.topology import Topology

LARGEST_RING = 128  # hosts among which a ring is looked for; it takes a second for these


def next_hosts(neighbours: Sequence[Sequence[int]], goals: Iterable[int]) -> list[int]:
    """Return where each node sends what is for a goal: the neighbour on a shortest way; -1 at the goals and without.

    Several neighbours that are as near are taken in turn by the number of the goal, so that they share the load.
    """
    distance = [-1] * len(neighbours)
    goals = list(goals)
    for goal in goals:
        distance[goal] = 0
    queue = deque(goals)
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if distance[other] < 0:
                distance[other] = distance[node] + 1
                queue.append(other)
    found = []
    for node, some in enumerate(neighbours):
        nearer = [other for other in some if distance[other] == distance[node] - 1 >= 0]
        found.append(nearer[goals[0] % len(nearer)] if nearer else -1)
    return found


def ring_of(neighbours: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Return all nodes in an order in which each is a neighbour of the next, and the last of the first.

    None where none is found, which on small topologies is only where there is none.
    """
    nodes = len(neighbours)
    if nodes == 1:
        return (0,)
    if nodes > LARGEST_RING or any(not some for some in neighbours):
        return None
    links = [(u, v) for u, some in enumerate(neighbours) for v in some]
    return next(iter(link_disjoint_cycles(Topology.from_links(nodes, links))), None)


def apart(neighbours: Sequence[Sequence[int]], order: Sequence[int], pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs of nodes that are no neighbours, of pairs of ranks that are numbered in an order."""
    near = [set(some) for some in neighbours]
    found = ((order[a], order[b]) for a, b in pairs)
    return [(u, v) for u, v in found if u != v and v not in near[u]]
