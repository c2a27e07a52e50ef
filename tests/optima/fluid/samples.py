"""Small fabrics, and their optimum by another program: all trees and all paths, in floats."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from topodesign.fabrics.fabric import Fabric, FabricLink, Shared
from topodesign.optima.fluid.network import Network


def random_fabric(seed: int, *, relays: bool = True, limits: bool = True) -> Fabric:
    """A connected fabric of 3 or 4 nodes, up to two switches and one memory, with limits that links share."""
    rng = np.random.default_rng(seed)
    nodes = [f"n{number}" for number in range(int(rng.integers(3, 5 - relays + 1)))]
    switches = [f"s{number}" for number in range(int(rng.integers(0, 3)))]
    memory = ["m"] if relays else []
    names = [*nodes, *switches, *memory]
    pairs = {(names[int(rng.integers(at))], names[at]) for at in range(1, len(names))}
    for _ in range(int(rng.integers(1, 5))):
        a, b = rng.choice(len(names), 2, replace=False).tolist()
        if (names[b], names[a]) not in pairs:
            pairs.add((names[a], names[b]))
    links = []
    for a, b in sorted(pairs):
        rate = Fraction(int(rng.integers(1, 9)) * 10**9)
        kind = str(rng.choice(["x", "y"]))
        links += [FabricLink(a, b, rate, kind), FabricLink(b, a, rate, kind)]
    shared = []
    for number in range(int(rng.integers(0, 3)) if limits else 0):
        some = rng.choice(len(links), int(rng.integers(2, 5)), replace=False).tolist()
        rate = Fraction(int(rng.integers(2, 20)) * 10**9, int(rng.integers(1, 4)))
        shared.append(Shared(f"l{number}", rate, tuple((links[at].src, links[at].dst) for at in some)))
    return Fabric.from_links(f"random{seed}", nodes, [*switches, *memory], links, memory=memory, shared=shared)


def _trees(members: tuple[int, ...], root: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """All arborescences over some vertices."""
    others = [vertex for vertex in members if vertex != root]
    for above in itertools.product(members, repeat=len(others)):
        parent = dict(zip(others, above, strict=True))
        reached, more = {root}, True
        while more:
            new = {down for down, up in parent.items() if up in reached} - reached
            reached |= new
            more = bool(new)
        if len(reached) == len(members):
            yield tuple((up, down) for down, up in parent.items())


def _paths(network: Network, start: int, goal: int) -> Iterator[tuple[int, ...]]:
    """All simple paths through vertices that take no part, as arcs."""
    out: dict[int, list[tuple[int, int]]] = {}
    for arc, (u, v) in enumerate(zip(network.src.tolist(), network.dst.tolist(), strict=True)):
        out.setdefault(u, []).append((arc, v))
    todo: list[tuple[int, tuple[int, ...], frozenset[int]]] = [(start, (), frozenset({start}))]
    while todo:
        here, arcs, seen = todo.pop()
        for arc, after in out.get(here, []):
            if after == goal:
                yield (*arcs, arc)
            elif after not in seen and after not in network.nodes:
                todo.append((after, (*arcs, arc), seen | {after}))


def brute_force(network: Network, roots: list[int]) -> tuple[float, float]:
    """Least time, and least cost at that time, over all trees from the roots and all paths of their edges.

    Time is in units of ``1 / bounds``, and every root has one shard.
    """
    nodes, relays = network.nodes.tolist(), network.relays.tolist()
    sets = [some for many in range(len(relays) + 1) for some in itertools.combinations(relays, many)]
    trees = [(at, tree) for at, root in enumerate(roots) for some in sets for tree in _trees((*nodes, *some), root)]
    ends = [*nodes, *relays]
    pairs = {pair: at for at, pair in enumerate(itertools.permutations(ends, 2))}
    paths = [(pairs[pair], arcs) for pair in pairs for arcs in _paths(network, *pair)]
    columns = len(trees) + len(paths) + 1
    equal = np.zeros((len(roots) + len(pairs), columns))
    right = np.concatenate((np.ones(len(roots)), np.zeros(len(pairs))))
    for column, (at, tree) in enumerate(trees):
        equal[at, column] = 1
        for pair in tree:
            equal[len(roots) + pairs[pair], column] += 1
    upper = np.zeros((len(network.limits), columns))
    cost = np.zeros(columns)
    for column, (ends_at, arcs) in enumerate(paths, start=len(trees)):
        equal[len(roots) + ends_at, column] -= 1
        cost[column] = sum(int(network.cost[arc]) for arc in arcs)
        for limit, members in enumerate(network.limits):
            upper[limit, column] = len(set(members.tolist()) & set(arcs))
    upper[:, -1] = -np.array(network.bounds, dtype=float)
    time = np.zeros(columns)
    time[-1] = 1
    first = linprog(time, upper, np.zeros(len(upper)), equal, right)
    room = -upper[:, -1] * first.fun * (1 + 1e-9)
    second = linprog(cost[:-1], upper[:, :-1], room, equal[:, :-1], right)
    return float(first.fun), float(second.fun)
