"""Random tree schedules on random switched fabrics, made without the package's own way of making them."""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from tests.samples.tree_tables import Trees
from topodesign.collectives import as_collective
from topodesign.plans.chunk_ops import find_loads
from topodesign.topology.topology import Topology

TreeCollective = str
ROOTED = ("broadcast", "reduce")
TREE_COLLECTIVES: tuple[TreeCollective, ...] = ("allgather", "reduce-scatter", "allreduce", *ROOTED)


def fabric(nodes: int, switches: int, rng: random.Random) -> Topology:
    """Compute nodes and switches under random numbers; duplex links that join everything through switches."""
    numbers = list(range(nodes + switches))
    rng.shuffle(numbers)
    compute, forwards = numbers[:nodes], numbers[nodes:]
    pairs = list(itertools.pairwise(forwards))
    for node in compute:
        pairs += [(node, switch) for switch in rng.sample(forwards, rng.randint(1, min(2, switches)))]
    pairs += [tuple(rng.sample(compute, 2)) for _ in range(rng.randrange(nodes)) if nodes > 1]  # type: ignore[misc]
    links = []
    for a, b in set(pairs) - {(b, a) for a, b in pairs if a < b}:
        capacity = rng.randint(1, 5)
        links += [(a, b, capacity), (b, a, capacity)]
    return Topology.from_arrays(
        nodes + switches, *(np.array(column) for column in zip(*links, strict=True)), switches=forwards
    )


def _route(topology: Topology, src: int, dst: int, rng: random.Random) -> list[int] | None:
    """A shortest way through switches alone, random among them by the order of the neighbours."""
    before, queue = {src: src}, deque([src])
    while queue:
        at = queue.popleft()
        neighbours = topology.neighbours(at).tolist()
        rng.shuffle(neighbours)
        for to in neighbours:
            if to not in before and (to == dst or to in topology.switches):
                before[to] = at
                queue.append(to)
    if dst not in before:
        return None
    path = [dst]
    while path[-1] != src:
        path.append(before[path[-1]])
    return path[::-1]


def tree_schedule(
    topology: Topology,
    collective: TreeCollective,
    rng: random.Random,
    *,
    per_root: int = 3,
    shard: tuple[int, ...] | None = None,
    concurrent: bool = False,
) -> Trees:
    """Random spanning trees with random weights and routes; the rate is what the fullest link allows."""
    compute = [v for v in range(topology.nodes) if v not in topology.switches]
    roots = [rng.choice(compute)] if collective in {"broadcast", "reduce"} else compute
    phases = {"allreduce": (True, False), "reduce-scatter": (True,), "reduce": (True,)}.get(collective, (False,))
    root: list[int] = []
    weight: list[int] = []
    edges: list[tuple[int, int, int]] = []
    routes: list[tuple[int, int, list[int] | None]] = []
    in_trees = 0
    for reduces in phases:
        for at, one in enumerate(roots):
            total = per_root * (1 if shard is None else shard[at])
            while total:
                part = rng.randint(1, total)
                total -= part
                tree = len(root)
                root.append(one)
                weight.append(part)
                grown = []
                inside, outside = [one], [v for v in compute if v != one]
                rng.shuffle(outside)
                while outside:
                    parent, child = rng.choice(inside[-3:]), outside.pop()
                    inside.append(child)
                    grown.append((child, parent) if reduces else (parent, child))
                for src, dst in reversed(grown) if reduces else grown:
                    halves = [part] if part == 1 else [part // 2, part - part // 2]
                    routes += [(len(edges), half, _route(topology, src, dst, rng)) for half in halves]
                    edges.append((tree, src, dst))
        in_trees = len(root) if reduces else in_trees
    starts = np.cumsum([0, *(len(way or ()) for _, _, way in routes)])
    columns = {
        "root": root,
        "weight": weight,
        "tree": [edge[0] for edge in edges],
        "src": [edge[1] for edge in edges],
        "dst": [edge[2] for edge in edges],
        "route_edge": [route[0] for route in routes],
        "route_weight": [route[1] for route in routes],
        "hop_start": starts,
        "hop": [vertex for *_, way in routes for vertex in way or ()],
    }
    arrays: dict[str, Any] = {name: np.array(column, dtype=np.int64) for name, column in columns.items()}
    kind = as_collective(collective)
    kind = kind.at(roots[0]) if kind.rooted else kind
    made = Trees(kind, topology, Fraction(1), **arrays, reduce_trees=in_trees, shard=shard, concurrent=concurrent)
    loads = (find_loads(made.flow).sum(axis=0) if concurrent else find_loads(made.flow).max(axis=0)).tolist()
    fullest = max(map(Fraction, loads, topology.capacity.tolist()), default=Fraction(0))
    return replace(made, rate=1 / fullest) if fullest else made
