"""From trees of ranks to weighted trees with routes: on fabrics through switches, elsewhere through other nodes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.places import named_preset
from topodesign.optima.forest.throughput import compute_node
from topodesign.plans.measure import tree_figures
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.trees import Trees
from topodesign.schedulers.baselines.routing import Path, Router
from topodesign.schedulers.method import Request
from topodesign.topology.topology import Topology


class Tree(NamedTuple):
    """A spanning tree of the compute nodes, away from its root.

    Attributes
    ----------
    root, weight
        Where it begins, and the equal trees it stands for.
    ways
        The way of every edge, from a node that is in the tree to one that is not, through switches.
    """

    root: int
    weight: int
    ways: tuple[Path, ...]

    def links(self) -> Iterable[tuple[int, int]]:
        """Return all links it goes over."""
        return (hop for way in self.ways for hop in itertools.pairwise(way))


class Ranks(NamedTuple):
    """A tree between ranks: edges from parents to children, the one that leads to a node before those from it."""

    root: int
    weight: int
    edges: Sequence[tuple[int, int]]


Shape = Callable[[Fabric, int | None], Sequence[Ranks]]
"""Makes the trees between the compute nodes of a fabric, by their numbers: of a root, or without one as many of all."""


def tree_plans(request: Request, name: str, shape: Shape) -> list[Plan]:
    """Return the plan of a collective over trees.

    Parameters
    ----------
    request
        For a collective that trees can do; the root is looked up in the fabric.
    name
        What the method is called.
    shape
        Makes the out-trees; in-trees are those of the transpose, backwards. The roots of an allreduce own shares of the
        data in proportion to the weights of their trees.

    Raises
    ------
    InfeasibleError
        If there are fewer than two compute nodes.
    """
    fabric, collective = request.fabric, request.collective
    if len(fabric.compute) < 2:
        raise InfeasibleError(f"one node alone needs no {name}")
    if request.root_name is not None:
        collective = collective.at(compute_node(fabric, request.root_name))
    trees: dict[bool, list[Tree]] = {True: [], False: []}
    for adds in {movement.adds for movement in collective.movements}:
        topology = fabric.topology.transpose() if adds and not fabric.topology.is_duplex else fabric.topology
        ways = routed(topology, fabric, shape(fabric, collective.root))
        trees[adds] = [_backwards(tree) for tree in ways] if adds else ways
    plan = _assembled(fabric, collective, trees[True], trees[False])
    spec = None if request.only or request.without else named_preset(request.place)
    made = {"method": name, "root": request.root_name}
    return [Plan(fabric, plan, tree_figures(fabric, plan).claim(), spec, made)]


def path_plans(request: Request, name: str) -> list[Plan]:
    """Return the plan of a scatter, gather or all-to-all in which every block goes over one shortest path.

    Raises
    ------
    InfeasibleError
        If there are fewer than two compute nodes.
    """
    fabric, collective = request.fabric, request.collective
    if len(fabric.compute) < 2:
        raise InfeasibleError(f"one node alone needs no {name}")
    root = None if request.root_name is None else compute_node(fabric, request.root_name)
    collective = collective.at(root)
    starts, ends = (fabric.compute if one == "each" else (root or 0,) for one in _ends(collective))
    pairs = [(source, target) for source in starts for target in ends if source != target]
    ways = Router(fabric.topology, fabric.names).paths(pairs, [1] * len(pairs), by_step=False)
    nodes = fabric.topology.nodes
    blocks = [
        source * nodes + target if collective.pairwise else source if source != root else target
        for source, target in pairs
    ]
    movement = Paths(
        collective,
        fabric.topology,
        1,
        np.array(blocks, dtype=np.int64),
        np.ones(len(pairs), dtype=np.int64),
        np.cumsum([0, *map(len, ways)], dtype=np.int64),
        np.array([vertex for way in ways for vertex in way], dtype=np.int64),
    )
    claim = {
        "height": Fraction(movement.height),
        "inv_x_star": movement.inverse_rate / fabric.unit,
        "algorithmic_bandwidth": collective.shards(len(fabric.compute)) * fabric.unit / movement.inverse_rate,
    }
    spec = None if request.only or request.without else named_preset(request.place)
    return [Plan(fabric, movement, claim, spec, {"method": name, "root": request.root_name})]


def _ends(collective: Collective) -> tuple[str, str]:
    """Return where blocks start and end."""
    (movement,) = collective.movements
    return movement.source, movement.destination


def routed(topology: Topology, fabric: Fabric, shapes: Sequence[Ranks]) -> list[Tree]:
    """Return trees with the ways of their edges: one way for every pair of ranks, balanced over links.

    Where a way passes a compute node, this gets the data too: if it has them not yet it is joined to the tree there,
    and its own edge is left out.
    """
    widths: dict[tuple[int, int], int] = {}
    for shape in shapes:
        for edge in shape.edges:
            widths[edge] = widths.get(edge, 0) + shape.weight
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


def _backwards(tree: Tree) -> Tree:
    return Tree(tree.root, tree.weight, tuple(way[::-1] for way in reversed(tree.ways)))


def _assembled(fabric: Fabric, collective: Collective, inward: Sequence[Tree], outward: Sequence[Tree]) -> Trees:
    """Return the trees at the largest rate that the links allow; of an allreduce both phases at once if that pays."""
    topology = fabric.topology
    shares = np.zeros(topology.nodes, dtype=np.int64)
    for tree in inward or outward:
        shares[tree.root] += tree.weight
    own = shares[list(fabric.compute)]
    shard = None if collective.rooted or own.min() == own.max() else tuple((own // np.gcd.reduce(own)).tolist())
    loads = [_loads(topology, trees) for trees in (inward, outward)]
    rates = [_rate(topology, load) for load, trees in zip(loads, (inward, outward), strict=True) if trees]
    together = _rate(topology, loads[0] + loads[1])
    # One rate is for both phases. After one another they take 1/rate each, at the same time 1/together.
    concurrent = collective.like(ALLREDUCE) and 2 * together >= min(rates)
    trees = [*inward, *outward]
    edges = [(at, way) for at, tree in enumerate(trees) for way in tree.ways]
    ends = np.array([(at, way[0], way[-1]) for at, way in edges], dtype=np.int64).T.copy()
    weight = np.array([tree.weight for tree in trees], dtype=np.int64)
    return Trees(
        collective=collective,
        topology=topology,
        rate=together if concurrent else min(rates),
        root=np.array([tree.root for tree in trees], dtype=np.int64),
        weight=weight,
        tree=ends[0].copy(),
        src=ends[1].copy(),
        dst=ends[2].copy(),
        route_edge=np.arange(len(edges), dtype=np.int64),
        route_weight=weight[ends[0]],
        hop_start=np.cumsum([0, *(len(way) for _, way in edges)], dtype=np.int64),
        hop=np.array([node for _, way in edges for node in way], dtype=np.int64),
        reduce_trees=len(inward),
        shard=shard,
        concurrent=concurrent,
    )


def _loads(topology: Topology, trees: Sequence[Tree]) -> np.ndarray:
    """Return the weight that every link carries."""
    loads = np.zeros(len(topology.src), dtype=np.int64)
    for tree in trees:
        hops = np.array(list(tree.links()), dtype=np.int64).reshape(-1, 2)
        np.add.at(loads, topology.link_index(hops[:, 0], hops[:, 1]), tree.weight)
    return loads


def _rate(topology: Topology, loads: np.ndarray) -> Fraction:
    """Return the capacity that a unit of weight can take everywhere."""
    pairs = zip(topology.capacity.tolist(), loads.tolist(), strict=True)
    return min(Fraction(capacity, load) for capacity, load in pairs if load)
