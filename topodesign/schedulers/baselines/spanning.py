"""From trees of ranks to weighted trees with routes: on fabrics through switches, elsewhere through other nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.collectives import ALLREDUCE, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.measure import path_claim
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers.baselines.messages import Path, Router
from topodesign.schedulers.method import Request, fabric_root, spec_of, tree_plan
from topodesign.topology.topology import IntArray, Topology


class Tree(NamedTuple):
    """A spanning tree of the compute nodes, away from its root or towards it."""

    root: int
    weight: int  # the equal trees it stands for
    ways: tuple[Path, ...]  # of every edge, from a node that is in the tree to one that is not, through switches

    @property
    def backwards(self) -> Tree:
        """The tree of the links turned round."""
        return Tree(self.root, self.weight, tuple(way[::-1] for way in reversed(self.ways)))


class Ranks(NamedTuple):
    """A tree between ranks: edges from parents to children, the one that leads to a node before those from it."""

    root: int
    weight: int
    edges: Sequence[tuple[int, int]]


Shape = Callable[[Fabric, int | None], Sequence[Ranks]]
"""Makes the trees between the compute nodes of a fabric, by their numbers: of a root, or without one as many of all."""


def spanning_plan(request: Request, name: str, shape: Shape) -> Plan:
    """Return the plan of a collective over out-trees; in-trees are those of the transpose, backwards.

    The roots of an allreduce own shares of the data in proportion to the weights of their trees.
    """
    fabric, collective = request.fabric, request.collective.at(fabric_root(request))
    trees: dict[bool, list[Tree]] = {True: [], False: []}
    for adds in {movement.adds for movement in collective.movements}:
        topology = fabric.topology.transpose() if adds and not fabric.topology.is_duplex else fabric.topology
        ways = routed(topology, fabric, shape(fabric, collective.root))
        trees[adds] = [tree.backwards for tree in ways] if adds else ways
    made = {"method": name, "root": request.root_name}
    return tree_plan(request, assembled(fabric, collective, trees[True], trees[False]), made)


def path_plan(request: Request, name: str) -> Plan:
    """Return the plan of a scatter, gather or all-to-all in which every block goes over one shortest path."""
    fabric, collective = request.fabric, request.collective.at(fabric_root(request))
    topology = fabric.topology
    blocks = collective.blocks(collective.members(topology.nodes, topology.switches), topology.nodes)
    starts, goals = collective.places(collective.movements[0], blocks, topology.nodes)
    apart = starts != goals
    pairs = list(zip(starts[apart].tolist(), goals[apart].tolist(), strict=True))
    ways = Router(topology, fabric.names).paths(pairs, [1] * len(pairs), by_step=False)
    rows = [(block, 1, way) for block, way in zip(blocks[apart].tolist(), ways, strict=True)]
    movement = Paths.of(collective, topology, 1, rows)
    made = {"method": name, "root": request.root_name}
    return Plan(fabric, movement, path_claim(fabric, movement), spec_of(request), made)


def routed(topology: Topology, fabric: Fabric, shapes: Sequence[Ranks]) -> list[Tree]:
    """Return trees with the ways of their edges: one way for every pair of ranks, balanced over links.

    Where a way passes a compute node, this gets the data too: if it has them not yet it is joined to the tree there,
    and its own edge is left out.
    """
    widths: Counter[tuple[int, int]] = Counter()
    for shape in shapes:
        for edge in shape.edges:
            widths[edge] += shape.weight
    router = Router(topology, fabric.names)
    ways = dict(zip(widths, router.paths(list(widths), list(widths.values()), by_step=False), strict=True))
    trees = []
    for shape in shapes:
        joined = {shape.root}
        parts: list[Path] = []
        for edge in shape.edges:
            piece = [edge[0]]
            for node in ways[edge][1:]:
                piece.append(node)
                if node in topology.switches:
                    continue
                if node not in joined:
                    joined.add(node)
                    parts.append(tuple(piece))
                piece = [node]
        trees.append(Tree(shape.root, shape.weight, tuple(parts)))
    return trees


def assembled(fabric: Fabric, collective: Collective, inward: Sequence[Tree], outward: Sequence[Tree]) -> Trees:
    """Return the trees at the largest rate that the links allow; of an allreduce both phases at once if that pays."""
    topology = fabric.topology
    shares = np.zeros(topology.nodes, dtype=np.int64)
    for tree in inward or outward:
        shares[tree.root] += tree.weight
    own = shares[list(fabric.compute)]
    shard = None if collective.rooted or own.min() == own.max() else tuple((own // np.gcd.reduce(own)).tolist())
    trees = [(tree.root, tree.weight, tree.ways) for tree in (*inward, *outward)]
    made = Trees.of_ways(collective, topology, trees, reduce_trees=len(inward), shard=shard)
    least = min(rate_of(topology, load) for load in made.link_loads if load.any())
    at_once = rate_of(topology, made.link_loads.sum(axis=0))
    # One rate is for both phases. After one another they take 1/rate each, at the same time 1/at_once.
    concurrent = collective.like(ALLREDUCE) and 2 * at_once >= least
    return replace(made, rate=at_once if concurrent else least, concurrent=concurrent)


def rate_of(topology: Topology, loads: IntArray) -> Fraction:
    """Return the capacity that a unit of weight can take everywhere."""
    pairs = zip(topology.capacity.tolist(), loads.tolist(), strict=True)
    return min(Fraction(capacity, load) for capacity, load in pairs if load)
