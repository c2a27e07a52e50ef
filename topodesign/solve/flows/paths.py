"""Decomposition of a flow into paths."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from fractions import Fraction

from topodesign.solve.flows.concurrent import ConcurrentFlow
from topodesign.topology.topology import Topology

Paths = list[tuple[tuple[int, ...], Fraction]]
"""Paths, each as the nodes that it goes through, with the part of a shard that takes it."""


def path_flow(flow: ConcurrentFlow, source: int) -> dict[int, Paths]:
    """Return the paths of a source's shards to every other node.

    Cycles of the flow carry nothing to any node and are omitted, so the paths load no link more than the flow does. A
    source with m links in use has at most m paths more than destinations.

    * ``flow``: any.
    * ``source``: a node.

    Returns: for every other node, ascending, the paths to it with their parts of a shard, which add up to one; no path
    meets a node twice.
    """
    wanted = {node: flow.scale for node in range(flow.topology.nodes) if node != source}
    found = decompose_flow(flow.topology, source, flow.source_amounts(source).tolist(), wanted)
    return {node: [(path, Fraction(part, flow.scale)) for path, part in paths] for node, paths in found.items()}


def decompose_flow(
    topology: Topology, source: int, amounts: Sequence[int], wanted: Mapping[int, int]
) -> dict[int, list[tuple[tuple[int, ...], int]]]:
    """Decompose a flow from a source into paths to each node.

    Each path has its amount.

    * ``topology``: links, switches included.
    * ``source``: a node.
    * ``amounts``: what it sends over each link: a flow that brings as much as is wanted.
    * ``wanted``: how much to every destination.
    """
    into: list[dict[int, int]] = [{} for _ in range(topology.nodes)]
    for u, v, amount in zip(topology.src.tolist(), topology.dst.tolist(), amounts, strict=True):
        if amount and v != source:
            into[v][u] = amount
    found: dict[int, list[tuple[tuple[int, ...], int]]] = {node: [] for node in wanted}
    for node, paths in found.items():  # in any order: taking out one destination's data leaves a flow for the others
        left = wanted[node]
        while left:
            path = _way_back(into, source, node)
            part = min(left, *(into[v][u] for u, v in itertools.pairwise(path)))
            for u, v in itertools.pairwise(path):
                _take(into, u, v, part)
            paths.append((path, part))
            left -= part
    return found


def _way_back(into: list[dict[int, int]], source: int, node: int) -> tuple[int, ...]:
    """Return a path of flow to a node, removing cycles."""
    path, place = [node], {node: 0}
    while path[-1] != source:
        before = max(into[path[-1]], key=into[path[-1]].__getitem__)  # the fullest, so that paths are few
        if before in place:
            cycle = [before, *reversed(path[place[before] :])]  # from the node before, forwards, round to it again
            part = min(into[v][u] for u, v in itertools.pairwise(cycle))
            for u, v in itertools.pairwise(cycle):
                _take(into, u, v, part)
            for left in path[place[before] + 1 :]:
                del place[left]
            del path[place[before] + 1 :]
            continue
        place[before] = len(path)
        path.append(before)
    return tuple(reversed(path))


def _take(into: list[dict[int, int]], u: int, v: int, part: int) -> None:
    into[v][u] -= part
    if not into[v][u]:
        del into[v][u]
