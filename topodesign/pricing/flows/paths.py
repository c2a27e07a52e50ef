"""A flow taken apart into paths."""

from __future__ import annotations

import itertools
from fractions import Fraction

from topodesign.pricing.flows.concurrent import ConcurrentFlow

Paths = list[tuple[tuple[int, ...], Fraction]]
"""Paths, each as the nodes that it goes through, with the part of a shard that takes it."""


def path_flow(flow: ConcurrentFlow, source: int) -> dict[int, Paths]:
    """Return the paths that a source's shards take to every other node.

    Cycles of the flow carry nothing to anyone and are left out, so the paths load no link more than the flow does. A
    source with m links in use has at most m paths more than destinations.

    Parameters
    ----------
    flow
        Any.
    source
        A node.

    Returns
    -------
    dict
        For every other node, ascending, the paths to it with their parts of a shard, which add up to one; no path meets
        a node twice.

    Raises
    ------
    ParameterError
        If there is no such node.
    """
    topology = flow.topology
    amounts = flow.source_amounts(source).tolist()
    into: list[dict[int, int]] = [{} for _ in range(topology.nodes)]
    for u, v, amount in zip(topology.src.tolist(), topology.dst.tolist(), amounts, strict=True):
        if amount and v != source:
            into[v][u] = amount
    found: dict[int, Paths] = {node: [] for node in range(topology.nodes) if node != source}
    for node, paths in found.items():  # in any order: taking out one destination's shard leaves a flow for the others
        left = flow.scale
        while left:
            path = _way_back(into, source, node)
            part = min(left, *(into[v][u] for u, v in itertools.pairwise(path)))
            for u, v in itertools.pairwise(path):
                _take(into, u, v, part)
            paths.append((path, Fraction(part, flow.scale)))
            left -= part
    return found


def _way_back(into: list[dict[int, int]], source: int, node: int) -> tuple[int, ...]:
    """Return a path of flow to a node; cycles that are met on the way are taken out."""
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
