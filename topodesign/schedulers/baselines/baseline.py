"""Helpers of all baselines: time-reversed duals, claims and routed trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.cost import Cost
from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, BROADCAST, SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.build import build_paths, build_ways, lay_out
from topodesign.plans.chunk_ops import PATH_COLLECTIVES, find_loads
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.plans.measure import cost_claim, flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import prune
from topodesign.schedulers.baselines.messages import FormulaRounds, Path, Router
from topodesign.schedulers.method import Method, Request, fabric_root, plan_rounds, spec_of, tree_plan
from topodesign.topology.topology import IntArray, Topology

FORWARD = (ALLGATHER, ALL_TO_ALL, BROADCAST, SCATTER)
"""Collectives that are made as they are; the others are the duals of these, backwards in time."""

Maker = Callable[[Topology, Collective], FormulaRounds]
"""Makes the collectives that a baseline makes as they are, with their root, on a topology of nodes alone."""


def baseline(
    name: str,
    collectives: Sequence[Collective],
    rounds: Maker | None = None,
    *,
    trees: Shape | None = None,
    forward: Sequence[Collective] = FORWARD,
) -> Method:
    """Return a baseline as a scheduling method.

    It runs in rounds on topologies, and over trees or single paths on fabrics.

    What makes no rounds goes over trees everywhere, and then among some of the nodes, too.
    """
    options = {"root"} if any(one.rooted for one in collectives) else set()
    if rounds is None:
        options |= {"only", "without"}

    def make(request: Request) -> list[Plan]:
        if rounds is not None and (trees is None or isinstance(request.where, Topology)):
            return [_in_rounds(request, name, rounds, forward)]
        if len(request.fabric.compute) < 2:
            raise InfeasibleError(f"one node alone requires no {name}")
        if trees is None or request.collective.like(*PATH_COLLECTIVES):
            return [path_plan(request, name)]
        return [spanning_plan(request, name, trees)]

    movement, fabrics = "trees" if rounds is None else "rounds", trees is not None
    return Method(name, frozenset(options), tuple(collectives), make, movement=movement, fabrics=fabrics, auto=False)


def _in_rounds(request: Request, name: str, make: Maker, forward: Sequence[Collective]) -> Plan:
    """Return the plan in rounds, with the formula's cost as claim."""
    topology = request.topology
    if topology.nodes < 2:
        raise InfeasibleError(f"one node alone requires no {name}")
    collective = request.collective.at(request.root_number)
    halves = [_movement(topology, part, make, forward) for part in collective.parts]
    rounds = halves[0].rounds if len(halves) == 1 else concatenate(halves[0].rounds, halves[1].rounds)
    plan = plan_rounds(topology, rounds, name)
    costs = [half.formula for half in halves if half.formula is not None]
    if len(costs) < len(halves):
        return plan
    cost = Cost(sum(cost.steps for cost in costs), sum((cost.bandwidth for cost in costs), Fraction(0)))
    return replace(plan, claim=cost_claim(cost))


def _movement(topology: Topology, collective: Collective, make: Maker, forward: Sequence[Collective]) -> FormulaRounds:
    """Return one movement, directly or as its time-reversed dual.

    Where that adds up, a node that passes a partial sum on adds its own to it, so that nothing goes a way twice.
    """
    if collective.like(*forward):
        return make(topology, collective)
    rounds, formula = make(topology if topology.is_duplex else topology.transpose(), collective.dual)
    return FormulaRounds(reverse(prune(rounds) if collective.reduces else rounds), formula)


class Tree(NamedTuple):
    """Spanning tree of compute nodes, from or to its root."""

    root: int
    weight: int  # the equal trees it stands for
    ways: tuple[Path, ...]  # of every edge, from a node that is in the tree to one that is not, through switches

    @property
    def backwards(self) -> Tree:
        """Reversed tree."""
        return Tree(self.root, self.weight, tuple(way[::-1] for way in reversed(self.ways)))


class Ranks(NamedTuple):
    """Tree of ranks with parent-to-child edges, in top-down order."""

    root: int
    weight: int
    edges: Sequence[tuple[int, int]]


Shape = Callable[[Fabric, int | None], Sequence[Ranks]]
"""Makes the trees between the compute nodes of a fabric, by their numbers: of a root, or without one as many of all."""


def spanning_plan(request: Request, name: str, shape: Shape) -> Plan:
    """Return the plan of a collective over spanning trees.

    In-trees are the time-reversed out-trees of the transpose.

    The roots of an allreduce own shares of the data in proportion to the weights of their trees.
    """
    fabric, collective = request.fabric, request.collective.at(fabric_root(request))
    trees: dict[bool, list[Tree]] = {True: [], False: []}
    for adds in {movement.adds for movement in collective.movements}:
        topology = fabric.topology.transpose() if adds and not fabric.topology.is_duplex else fabric.topology
        ways = route_trees(topology, fabric, shape(fabric, collective.root))
        trees[adds] = [tree.backwards for tree in ways] if adds else ways
    made = {"method": name, "root": request.root_name}
    return tree_plan(request, assemble_trees(fabric, collective, trees[True], trees[False]), made)


def path_plan(request: Request, name: str) -> Plan:
    """Return a plan with one shortest path per block.

    The collective is a scatter, gather or all-to-all.
    """
    fabric, collective = request.fabric, request.collective.at(fabric_root(request))
    topology = fabric.topology
    blocks = collective.blocks(collective.members(topology.nodes, topology.switches), topology.nodes)
    starts, goals = collective.places(collective.movements[0], blocks, topology.nodes)
    apart = starts != goals
    pairs = list(zip(starts[apart].tolist(), goals[apart].tolist(), strict=True))
    ways = Router(topology, fabric.names).paths(pairs, [1] * len(pairs), by_step=False)
    rows = [(block, 1, way) for block, way in zip(blocks[apart].tolist(), ways, strict=True)]
    movement = build_paths(fabric, collective, 1, rows)
    made = {"method": name, "root": request.root_name}
    return Plan(fabric, movement, flow_claim(movement), spec_of(request), made)


def route_trees(topology: Topology, fabric: Fabric, shapes: Sequence[Ranks]) -> list[Tree]:
    """Return trees with their edges routed, balanced over the links.

    Each pair of ranks has one route.

    Where a way passes a compute node, this gets the data too: if it has them not yet it is joined to the tree there,
    and its own edge is omitted.
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


def assemble_trees(fabric: Fabric, collective: Collective, inward: Sequence[Tree], outward: Sequence[Tree]) -> Flow:
    """Return the trees at the maximum rate that the links allow.

    The two phases of an allreduce run concurrently if that is no slower.
    """
    topology = fabric.topology
    shares = np.zeros(topology.nodes, dtype=np.int64)
    for tree in inward or outward:
        shares[tree.root] += tree.weight
    own = shares[list(fabric.compute)]
    shard = None if collective.rooted or own.min() == own.max() else tuple((own // np.gcd.reduce(own)).tolist())
    trees = [(tree.root, tree.weight, tree.ways) for tree in (*inward, *outward)]
    made = build_ways(topology, collective, trees, reduce_trees=len(inward), shard=shard)
    loads = find_loads(made)
    least = min(rate_of(topology, load) for load in loads if load.any())
    at_once = rate_of(topology, loads.sum(axis=0))
    # One rate is for both phases. After one another they take 1/rate each, at the same time 1/at_once.
    concurrent = collective.like(ALLREDUCE) and 2 * at_once >= least
    return lay_out(replace(made, rate=at_once if concurrent else least, concurrent=concurrent))


def rate_of(topology: Topology, loads: IntArray) -> Fraction:
    """Return the capacity that a unit of weight can use everywhere."""
    pairs = zip(topology.capacity.tolist(), loads.tolist(), strict=True)
    return min(Fraction(capacity, load) for capacity, load in pairs if load)
