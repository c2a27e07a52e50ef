"""Tables of weighted spanning trees with routes through switches.

ForestColl, section 4: a collective runs over weighted spanning trees of the compute nodes. The shard of a root is cut
into parts in proportion to the weights of the root's trees, and every part flows through its tree in a pipeline of
small chunks, so that the time for large sizes is set by the fullest link alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import earlier
from topodesign.base.errors import InfeasibleError, ScheduleError, TooLargeError
from topodesign.base.wording import with_article
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_ROWS
from topodesign.plans.chunk_ops import (
    MAX_WEIGHT,
    find_height,
    find_parts,
    find_unit_time,
    routes_of,
    sort_sends,
    unfold_pieces,
)
from topodesign.plans.flow import Flow, Routes
from topodesign.plans.movement import FLAG, FRACTION, INTEGERS_OR_NONE, Column, Movement, check_cuts, integer
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

TREE_COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, BROADCAST, REDUCE)
"""Those that spanning trees can do: everything goes from one node to all, or from all to one; an allreduce in turn."""
_LARGEST = 2**62  # units; twice as many still fit into 64 bits


@dataclass(frozen=True, eq=False)
class Trees(Movement):
    """Weighted spanning trees with the physical routes of their edges.

    Data flow along tree edge ``e`` from compute node ``src[e]`` to ``dst[e]``: away from the root in an *out-tree*,
    where nodes store and pass on what they receive, and towards it in an *in-tree*, where they add it to their own.
    The edges of a tree come in an order in which a node has received all that it will receive before it sends. A tree
    of weight w stands for w equal trees that carry different data.

    A switch that is an end of tree edges is a *relay*: it sends on what it receives in an out-tree, to several, and the
    sum of what it receives in an in-tree, as its fabric must say that it can. In a concurrent allreduce it may be a
    root.

    Of several groups at once each has trees of its own, over its members, and passes other nodes as it passes switches
    that only forward: :meth:`alone` is what one does. The data of all take the same time: trees of all groups add up to
    the same weight.

    An allreduce without in-trees is *one-shot*: the trees of a root carry all the data that it has, and every node adds
    up what it gets of all. It takes half as many steps, and N times the data.

    All arrays are read-only int64.
    """

    kind: ClassVar = "trees"
    FIELDS: ClassVar = {
        "rate": FRACTION,
        "reduce_trees": integer(0, MAX_ROWS),
        "shard": INTEGERS_OR_NONE,
        "concurrent": FLAG,
    }
    TABLES: ClassVar = {
        "trees": (Column("root", "where a tree starts or ends"), Column("weight", "equal trees that it stands for")),
        "edges": (
            Column("tree", "tree of an edge, ascending"),
            Column("src", "compute node or relay that sends"),
            Column("dst", "compute node or relay that receives"),
        ),
        "routes": (
            Column("route_edge", "edge of a route, ascending"),
            Column("route_weight", "weight of the tree that goes over it"),
        ),
        "hop_start": (Column("hop_start", "where the vertices of a route begin, and the end of the last"),),
        "hops": (Column("hop", "vertices of routes"),),
    }

    collective: Collective  # one of ``TREE_COLLECTIVES``, with its root if it has one
    topology: Topology  # the physical fabric, switches included
    # capacity that a unit of weight takes: a tree of weight w takes ``w * rate`` of every link it goes over
    rate: Fraction
    root: IntArray
    weight: IntArray
    tree: IntArray
    src: IntArray
    dst: IntArray
    route_edge: IntArray
    route_weight: IntArray
    hop_start: IntArray
    hop: IntArray
    # the first so many trees are in-trees, the rest out-trees. In an allreduce the in-trees run first, then the others,
    # and links are shared among the trees of each phase alone
    reduce_trees: int
    # relative shard sizes of the compute nodes in ascending order, or None where they are equal; None of broadcast
    # and reduce
    shard: tuple[int, ...] | None = None
    # whether the phases of an allreduce run at the same time: a root sends every chunk out as soon as it is complete
    # there, and links are shared among the trees of both phases, whose weights add up to the same
    concurrent: bool = False
    # a symmetry, if only the trees of its representatives have rows: those of node v are those of its representative
    # with every node x called p(x), where p takes the representative to v
    fold: Symmetry | None = None

    def __post_init__(self) -> None:
        self.take_over()
        if not self.collective.like(*TREE_COLLECTIVES):
            known = ", ".join(map(str, TREE_COLLECTIVES))
            raise ScheduleError(f"spanning trees are for {known}, not for {self.collective}")
        if self.collective.rooted and self.collective.root is None and self.collective.roots is None:
            raise ScheduleError(f"the trees of {with_article(self.collective)} require its root")
        if self.rate <= 0:
            raise ScheduleError(f"the rate of a tree must be positive, not {self.rate}")
        trees, edges = len(self.root), len(self.tree)
        single = len(self.collective.movements) == 1
        fits = not single or self.reduce_trees == (trees if self.collective.reduces else 0)
        if not 0 <= self.reduce_trees <= trees or not fits:
            raise ScheduleError(f"{self.reduce_trees} of {trees} trees reducing does not fit {self.collective}")
        if self.one_shot and (self.concurrent or len(set(self.shard or ())) > 1):
            raise ScheduleError("an allreduce without in-trees has one phase, and all nodes with as much data each")
        if self.concurrent and not self.collective.like(ALLREDUCE):
            raise ScheduleError(f"only an allreduce has phases that can be concurrent, {self.collective} has one")
        if self.concurrent and 2 * int(self.weight[: self.reduce_trees].sum()) != int(self.weight.sum()):
            raise ScheduleError("the in-trees and the out-trees of a concurrent allreduce must have the same weight")
        compute = self.topology.nodes - len(self.topology.switches)
        if self.shard is not None and (len(self.shard) != compute or min(self.shard) < 0 or max(self.shard) < 1):
            raise ScheduleError(f"shard must hold {compute} sizes, not negative and not all zero")
        node, weight = (0, self.topology.nodes - 1), (1, MAX_WEIGHT)
        self.check_ranges(root=node, src=node, dst=node, hop=node, weight=weight, route_weight=weight)
        self.check_ranges(tree=(0, trees - 1), route_edge=(0, edges - 1))
        if np.any(np.diff(self.tree) < 0) or np.any(np.diff(self.route_edge) < 0):
            raise ScheduleError("columns 'tree' and 'route_edge' must ascend")
        check_cuts(self.hop_start, self.hop, len(self.route_edge), "routes")

    @classmethod
    def of_ways(
        cls,
        collective: Collective,
        topology: Topology,
        trees: Sequence[tuple[int, int, Sequence[Sequence[int]]]],
        *,
        rate: Fraction = Fraction(1),
        **more: Any,
    ) -> Trees:
        """Return trees of root, weight and single ways, in-trees first."""
        ways = [way for *_, own in trees for way in own]
        hop = np.array(list(chain.from_iterable(ways)), dtype=np.int64)
        start = np.cumsum([0, *map(len, ways)], dtype=np.int64)
        root, weight = (np.array([tree[at] for tree in trees], dtype=np.int64) for at in (0, 1))
        tree = np.repeat(np.arange(len(trees)), [len(own) for *_, own in trees])
        edges = tree, hop[start[:-1]], hop[start[1:] - 1]
        routes = np.arange(len(ways)), weight[tree], start, hop
        return cls(collective, topology, rate, root, weight, *edges, *routes, **more)

    def __repr__(self) -> str:
        return f"<Trees {self.collective}, {len(self)} trees, height {self.height}, rate {self.rate}>"

    @property
    def sends(self) -> int:
        """Number of trees, those too that a symmetry stands for."""
        if self.fold is None:
            return len(self)
        known = self.fold.represented_by
        return sum(np.bincount(self.root, minlength=self.topology.nodes)[known[known >= 0]].tolist())

    def unfold(self) -> Trees:
        """Return all trees, in-trees reversed, then out-trees."""
        if self.fold is None:
            return self
        return trees_of_flow(unfold_pieces(self.flow))

    @property
    def one_shot(self) -> bool:
        """Whether nodes of an allreduce send all data at once."""
        return self.collective.like(ALLREDUCE) and not self.reduce_trees and len(self) > 0

    @cached_property
    def compute_nodes(self) -> IntArray:
        """The nodes that take part, ascending."""
        return self.collective.members(self.topology.nodes, self.topology.switches)

    @cached_property
    def team(self) -> IntArray:
        """The group of every tree, by its root or a member."""
        of_node = self.collective.teams(self.topology.nodes, self.topology.switches)
        found = np.full(len(self), -1, dtype=np.int64)
        np.maximum.at(found, self.tree, np.maximum(of_node[self.src], of_node[self.dst]))
        return np.where(of_node[self.root] >= 0, of_node[self.root], np.maximum(found, 0))

    @property
    def groups(self) -> int:
        """How many groups have trees: all of more than one node."""
        return max(1, sum(len(one) > 1 for one in self.collective.groups or ()))

    @property
    def shards(self) -> Fraction:
        """Unit shards in the data of a group, or of all nodes."""
        if self.shard is not None:
            return Fraction(sum(self.shard), self.groups)
        return Fraction(self.collective.shards(len(self.compute_nodes)))

    @cached_property
    def relays(self) -> IntArray:
        """The switches that add or copy in trees, ascending."""
        ends = np.concatenate((self.root, self.src, self.dst))
        return np.intersect1d(ends, np.array(sorted(self.topology.switches), dtype=np.int64))

    @cached_property
    def flow(self) -> Flow:
        """The trees as a flow on their topology."""
        return flow_of_trees(self.topology, self)

    @property
    def height(self) -> int:
        """Greatest height; for allreduce in-tree plus out-tree."""
        return find_height(self.flow)

    @property
    def inverse_rate(self) -> Fraction:
        """Time by bandwidth for unit shards, per unit of capacity.

        That is 1/x of the paper: N shards of M/N bytes take ``M/N * inverse_rate / unit`` seconds, where ``unit`` is
        the bytes per second of a link of capacity one. Broadcast and reduce have one shard, of M bytes.
        """
        return self.shards * find_unit_time(self.flow)

    def reverse(self) -> Trees:
        """Return the schedule reversed in time, on the transpose.

        Out-trees become in-trees: allgather and reduce-scatter change places, so do broadcast and reduce.
        """
        length = np.diff(self.hop_start)[::-1]
        return self.having(
            collective=self.collective.dual,
            topology=self.topology if self.topology.is_duplex else self.topology.transpose(),
            root=self.root[::-1].copy(),
            weight=self.weight[::-1].copy(),
            tree=len(self) - 1 - self.tree[::-1],
            src=self.dst[::-1].copy(),
            dst=self.src[::-1].copy(),
            route_edge=len(self.tree) - 1 - self.route_edge[::-1],
            route_weight=self.route_weight[::-1].copy(),
            hop_start=np.concatenate(([0], np.cumsum(length))).astype(np.int64),
            hop=self.hop[::-1].copy(),
            reduce_trees=len(self) - self.reduce_trees,
        )

    def some(self, chosen: NDArray[np.bool_], edges: NDArray[np.bool_] | None = None, **changes: Any) -> Trees:
        """Return some trees, with some edges and other fields."""
        edges = chosen[self.tree] if edges is None else edges
        routes = edges[self.route_edge]
        length = np.diff(self.hop_start)
        return self.having(
            root=self.root[chosen],
            weight=self.weight[chosen],
            tree=(np.cumsum(chosen) - 1)[self.tree[edges]],
            src=self.src[edges],
            dst=self.dst[edges],
            route_edge=(np.cumsum(edges) - 1)[self.route_edge[routes]],
            route_weight=self.route_weight[routes],
            hop_start=np.concatenate(([0], np.cumsum(length[routes]))),
            hop=self.hop[np.repeat(routes, length)],
            **{"reduce_trees": int(np.count_nonzero(chosen[: self.reduce_trees])), **changes},
        )

    def alone(self) -> Iterator[Trees]:
        """Yield each group's trees, others as switches."""
        if self.collective.group is None and not self.collective.several:
            yield self
            return
        sizes = None if self.shard is None else dict(zip(self.owners, self.shard, strict=True))
        ends = np.concatenate((self.root, self.src, self.dst))
        free = self.concurrent and sizes is None and bool(np.isin(ends, list(self.topology.switches)).any())
        for number, one in enumerate(self.collective.single):
            members = one.members(self.topology.nodes, self.topology.switches).tolist()
            some = self.some(
                self.team == number,
                collective=replace(one, group=None),
                topology=passing(self.topology, members),
                shard=None,
            )
            if free and set(members).issuperset(np.concatenate((some.root, some.src, some.dst)).tolist()):
                # Where a switch adds for another group, a share is what a root's trees carry here, too.
                weights = np.zeros(self.topology.nodes, dtype=np.int64)
                np.add.at(weights, some.root[: some.reduce_trees], some.weight[: some.reduce_trees])
                own = tuple(map(int, weights[members].tolist()))
            else:
                own = () if sizes is None else tuple(sizes[node] for node in members)
            yield some.having(shard=own if any(own) else None)

    @property
    def owners(self) -> list[int]:
        """The nodes that ``shard`` has sizes of."""
        return [node for node in range(self.topology.nodes) if node not in self.topology.switches]


def flow_of_trees(place: Topology | Fabric, trees: Trees) -> Flow:
    """Return trees as a chunk flow, a piece per tree.

    The units of a block are given to the trees of its root in their order, in proportion to their weights: a unit of
    weight stands for as many units as there are in the data of all over the weight of all trees of its phase. So the
    trees of a root with more than its share go beyond its block.
    """
    collective, topology = trees.collective, trees.topology
    phase = (np.arange(len(trees)) >= trees.reduce_trees).astype(np.int64)
    sizes = _sizes_of(trees)
    team = trees.team
    times = np.ones(len(trees), dtype=np.int64)
    if trees.fold is not None:
        known = trees.fold.represented_by
        times = np.bincount(known[known >= 0], minlength=topology.nodes)[trees.root]
    groups = collective.single
    weights = np.zeros((2, len(groups)), dtype=np.int64)
    np.add.at(weights, (phase, team), trees.weight * times)
    whole = np.ones(len(groups), dtype=np.int64)  # units of size one that the data of every group are
    if not collective.rooted:
        owner = collective.teams(topology.nodes, topology.switches)
        owner[trees.root] = team
        own = np.ones(topology.nodes, dtype=np.int64) if sizes is None else sizes
        member = owner >= 0
        if sizes is None:
            member[list(topology.switches)] = False
        np.add.at(whole, owner[member], own[member])
        whole -= 1
    wholes: list[int] = whole.tolist()
    cuts = {
        weight // math.gcd(weight, parts)
        for row in weights.tolist()
        for weight, parts in zip(row, wholes, strict=True)
        if weight and parts
    }
    units = math.lcm(*cuts)
    if units * max(wholes) * 2 >= _LARGEST:
        raise TooLargeError("the weights of trees have so few divisors in common that units do not fit into 64 bits")
    scale = np.zeros_like(weights)
    for at, each in enumerate(weights.tolist()):
        pairs = zip(each, wholes, strict=True)
        scale[at] = [units * parts // weight if weight else 0 for weight, parts in pairs]
    width = np.maximum(trees.weight * scale[phase, team], 1)
    lo = earlier(trees.root + phase * topology.nodes, width)
    first = np.searchsorted(trees.tree, np.arange(len(trees) + 1))
    turn = np.arange(len(trees.tree)) - first[trees.tree]
    out = phase[trees.tree]
    late = (int(turn.max(initial=0)) + 1) * (0 if trees.one_shot else 1)
    start = turn + out * late
    return Flow(
        collective,
        place,
        "chunks",
        units,
        trees.root,
        lo,
        lo + width,
        trees.tree,
        trees.src,
        trees.dst,
        start,
        start + 1,
        out * (0 if trees.one_shot else len(collective.movements) - 1),
        weight=trees.weight,
        rate=trees.rate,
        concurrent=trees.concurrent,
        one_shot=trees.one_shot,
        sizes=sizes,
        free=sizes is not None and trees.shard is None,
        routes=Routes(trees.route_edge, trees.route_weight, trees.hop_start, trees.hop),
        fold=trees.fold,
    )


def _sizes_of(trees: Trees) -> IntArray | None:
    """Return the sizes of unequal blocks, or None."""
    sizes = np.zeros(trees.topology.nodes, dtype=np.int64)
    if trees.shard is not None:
        if len(set(trees.shard)) == 1 and trees.collective.group is None:
            return None
        sizes[trees.owners] = trees.shard
        if trees.collective.group is not None:
            sizes[np.setdiff1d(np.arange(len(sizes)), trees.compute_nodes)] = 0
        return sizes
    if trees.concurrent and len(trees.relays):  # a share is then what the trees of a root carry
        inward = slice(trees.reduce_trees)
        np.add.at(sizes, trees.root[inward], trees.weight[inward])
        return sizes
    return None


def fold_of(generators: NDArray[np.int32]) -> Symmetry:
    """Return the symmetry of permutations, by first nodes of orbits."""
    nodes = generators.shape[1]
    chosen = np.unique(Symmetry(nodes, (), partial(tuple, generators)).orbit_of)
    return Symmetry(nodes, tuple(chosen.tolist()), partial(tuple, generators))


def trees_of_flow(flow: Flow) -> Trees:
    """Return the trees of a chunk flow; InfeasibleError if none."""
    rate = flow.rate
    if flow.model != "chunks" or rate is None:
        raise InfeasibleError(f"a plan in {flow.kind} has no trees")
    flow = sort_sends(flow)
    routes, computes = routes_of(flow), np.ones(flow.nodes, dtype=np.bool_)
    computes[list(flow.topology.switches)] = False
    adds = np.array([one.adds for one in flow.movements])[find_parts(flow)]
    columns = {"root": flow.block, "weight": flow.weight, "tree": flow.piece, "src": flow.src, "dst": flow.dst}
    ways = {"route_edge": routes.send, "route_weight": routes.weight, "hop_start": routes.hop_start, "hop": routes.hop}
    wide: dict[str, Any] = {name: np.array(column, dtype=np.int64) for name, column in (columns | ways).items()}
    return Trees(
        flow.collective,
        flow.topology,
        rate,
        **wide,
        reduce_trees=int(np.count_nonzero(adds)),
        shard=None if flow.sizes is None or flow.free else tuple(flow.sizes[computes].tolist()),
        concurrent=flow.concurrent,
        fold=flow.fold,
    )


def passing(topology: Topology, members: Collection[int]) -> Topology:
    """Return the links with all non-members as switches."""
    others = set(range(topology.nodes)).difference(members)
    if others == topology.switches:
        return topology
    kept = topology.src != topology.dst
    columns = (topology.src[kept], topology.dst[kept], topology.capacity[kept])
    return Topology.from_arrays(topology.nodes, *columns, switches=others)
