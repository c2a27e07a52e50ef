"""Builders of flows from columns of sends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topodesign.base.arguments import as_integer
from topodesign.base.arrays import earlier, ranges
from topodesign.base.errors import ParameterError, ScheduleError, TooLargeError
from topodesign.base.wording import with_article
from topodesign.collectives import ALL_TO_ALL, ALLREDUCE, Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.archive import MAX_ROWS
from topodesign.plans.chunk_ops import (
    MAX_WEIGHT,
    PATH_COLLECTIVES,
    TREE_COLLECTIVES,
    find_parts,
    find_relays,
    find_teams,
    sort_sends,
)
from topodesign.plans.flow import Flow, Routes
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

Part = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike, ArrayLike]
"""The columns step, src, dst, block, lo, hi: integers that broadcast against each other."""

MAX_UNITS = 2**62  # units per block; twice as many still fit into 64 bits


def build_steps(
    collective: Collective,
    place: Topology | Fabric | int,
    units: int,
    steps: int,
    parts: Iterable[Part],
    *,
    reduce_steps: int | None = None,
    **more: Any,
) -> Flow:
    """Build a flow in steps from rows of sends, without empty ones.

    Where a block is added up, as in a reduce-scatter, what is sent is the sender's partial sum, and the receiver adds
    it to its own. Elsewhere the receiver stores it.

    Parameters
    ----------
    collective
        What it is for, with root and group if it has them.
    place
        Its links; of a number of nodes the links that it sends over.
    units
        Equal parts of a block, which ``lo`` and ``hi`` count.
    steps
        Communication steps, counted from 1.
    parts
        Rows of columns: at ``step``, node ``src`` sends the units ``lo <= unit < hi`` of ``block`` to ``dst``.
    reduce_steps
        Steps in which receivers add: by default all where the collective adds, else none.
    more
        Other fields of the flow: routes, fold, circuits.

    Raises
    ------
    ParameterError
        If collective, place, units or steps are none.
    ScheduleError
        If columns do not fit each other, or intervals exceed a block.
    TooLargeError
        If there are too many rows or units.

    Examples
    --------
    >>> from topodesign import Plan, build, verify
    >>> from topodesign.collectives import ALLGATHER
    >>> swap = build_steps(ALLGATHER, build("complete(2)"), 1, 1, [(1, [0, 1], [1, 0], [0, 1], 0, 1)])
    >>> verify(Plan(build("complete(2)"), swap)).ok
    True
    """
    collective = as_collective(collective)
    if isinstance(place, bool) or not isinstance(place, Topology | Fabric | int):
        raise ParameterError(f"place must be a topology, a fabric or a number of nodes, not {place!r:.60}")
    check_units(as_integer("units", units, 1))
    steps = as_integer("steps", steps, 0)
    rows: list[Any] = (
        list(parts) if isinstance(parts, Iterable) else [()]
    )  # outside: what makes them has errors of its own
    try:
        tables: list[Any] = [np.broadcast_arrays(*row) for row in rows]
    except (TypeError, ValueError):
        tables = [[]]
    if any(len(table) != 6 for table in tables):
        raise ScheduleError("parts must be columns step, src, dst, block, lo, hi that broadcast against each other")
    check_rows(sum(table[0].size for table in tables))
    columns: list[NDArray[Any]] = []
    for at in range(6):
        kind = np.int64 if at > 3 else np.int32
        pieces = [table[at].astype(kind, copy=False).ravel() for table in tables]
        columns.append(np.concatenate(pieces) if pieces else np.zeros(0, dtype=kind))
    lo, hi = columns[4:]
    if len(lo) and (lo.min() < 0 or hi.max() > units or np.any(lo > hi)):
        raise ScheduleError(f"intervals must satisfy 0 <= lo <= hi <= {units}")
    kept = lo < hi
    if not kept.all():
        columns = [column[kept] for column in columns]
    step, src, dst, block, lo, hi = columns
    own = steps if collective.reduces else 0
    adding = own if reduce_steps is None else reduce_steps
    if not 0 <= adding <= steps or (len(collective.movements) == 1 and adding != own):
        raise ScheduleError(f"reduce_steps {adding} does not fit {collective}, {steps} steps")
    part = (step > adding).astype(np.int8) * np.int8(len(collective.movements) - 1)
    if isinstance(place, int):
        ends = np.unique([src, dst], axis=1).astype(np.int64)
        place = Topology.from_arrays(place, *ends[:, np.all((ends >= 0) & (ends < place), axis=0)])
    sends = np.arange(len(step), dtype=np.int32), src, dst, step - 1, step, part
    return Flow(collective, place, "steps", units, block, lo, hi, *sends, steps=steps, **more)


def build_trees(
    place: Topology | Fabric,
    collective: Collective,
    roots: tuple[IntArray, IntArray],
    edges: tuple[IntArray, IntArray, IntArray],
    routes: Routes,
    *,
    rate: Fraction = Fraction(1),
    reduce_trees: int = 0,
    shard: Sequence[int] | None = None,
    concurrent: bool = False,
    fold: Symmetry | None = None,
) -> Flow:
    """Build a flow in chunks from weighted spanning trees.

    ForestColl, section 4: the shard of a root is cut into parts in proportion to the weights of the root's trees, and
    every part flows through its tree in a pipeline of small chunks. Data flow away from the root in an *out-tree*,
    where nodes store and pass on what they receive, and towards it in an *in-tree*, where they add it to their own. An
    allreduce without in-trees is *one-shot*: the trees of a root carry all that it has, and every node adds up.

    Parameters
    ----------
    roots
        Root and weight of every tree.
    edges
        Tree, sender and receiver of every edge. The edges of a tree come in an order in which a node has received all
        that it will receive before it sends. Where a switch is an end, it adds or copies.
    routes
        Ways of edges over the links.
    rate
        Capacity that a unit of weight takes of every link on its way.
    reduce_trees
        The first so many trees are in-trees.
    shard
        Relative shard sizes of the compute nodes in ascending order; None for equal ones.
    concurrent
        Whether both phases of an allreduce share the links at the same time.
    fold
        A symmetry, if only the trees of its representatives are given.

    Raises
    ------
    ParameterError
        If collective, place or routes are none.
    ScheduleError
        If columns, weights or shards do not fit the trees or the collective.
    TooLargeError
        If the units that the weights require do not fit into 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from topodesign import Plan, build, verify
    >>> from topodesign.collectives import ALLGATHER
    >>> two, one = np.arange(2), np.ones(2, dtype=np.int64)
    >>> routes = Routes(two, one, np.array([0, 2, 4]), np.array([0, 1, 1, 0]))
    >>> trees = build_trees(build("complete(2)"), ALLGATHER, (two, one), (two, two, 1 - two), routes)
    >>> verify(Plan(build("complete(2)"), trees)).ok
    True
    """
    collective = as_collective(collective)
    if not isinstance(place, Topology | Fabric):
        raise ParameterError(f"place must be a topology or a fabric, not {place!r:.60}")
    if not isinstance(routes, Routes):
        raise ParameterError(f"routes must be Routes, not {routes!r:.60}")
    try:
        (root, weight), (tree, src, dst) = roots, edges
    except (TypeError, ValueError):
        raise ScheduleError("trees require columns root, weight and tree, src, dst") from None
    trees = len(root)
    topology = place.topology if isinstance(place, Fabric) else place
    one_shot = collective.like(ALLREDUCE) and not reduce_trees and trees > 0
    _check_trees(collective, topology, weight, reduce_trees, shard, concurrent=concurrent, one_shot=one_shot)
    if len(routes.weight) and not 1 <= int(routes.weight.min()) <= int(routes.weight.max()) <= MAX_WEIGHT:
        raise ScheduleError(f"column 'route_weight' must hold numbers from 1 to {MAX_WEIGHT}")
    if len(tree) and (np.any(np.diff(tree) < 0) or int(tree.min()) < 0 or int(tree.max()) >= trees):
        raise ScheduleError(f"column 'tree' must ascend and hold numbers from 0 to {trees - 1}")
    phases = len(collective.movements) - 1
    late = ((np.arange(trees) >= reduce_trees) & (not one_shot)).astype(np.int64) * phases
    start, zeros = np.arange(len(tree)), np.zeros(trees, dtype=np.int64)
    sizes = _block_sizes(collective, topology, shard)
    flow = Flow(
        collective, place, "chunks", 1, root, zeros, zeros + 1, tree, src, dst, start, start + 1, late[tree],
        weight=weight, rate=rate, concurrent=concurrent, one_shot=one_shot, sizes=sizes,
        routes=routes, fold=fold,
    )  # fmt: skip
    return lay_out(flow, own_sizes=shard is None)


def build_ways(
    place: Topology | Fabric,
    collective: Collective,
    trees: Sequence[tuple[int, int, Sequence[Sequence[int]]]],
    *,
    rate: Fraction = Fraction(1),
    **more: Any,
) -> Flow:
    """Build a flow in chunks from root, weight and ways of every tree, in-trees first."""
    ways = [way for *_, own in trees for way in own]
    hop = np.array(list(chain.from_iterable(ways)), dtype=np.int64)
    start = np.cumsum([0, *map(len, ways)], dtype=np.int64)
    root, weight = (np.array([tree[at] for tree in trees], dtype=np.int64) for at in (0, 1))
    tree = np.repeat(np.arange(len(trees)), [len(own) for *_, own in trees])
    routes = Routes(np.arange(len(ways)), weight[tree], start, hop)
    edges = tree, hop[start[:-1]], hop[start[1:] - 1]
    return build_trees(place, collective, (root, weight), edges, routes, rate=rate, **more)


def build_paths(
    place: Topology | Fabric,
    collective: Collective,
    units: int,
    rows: Sequence[tuple[int, int, Sequence[int]]],
    amounts: Sequence[int] | None = None,
) -> Flow:
    """Return paths as a flow with a piece per path.

    Parameters
    ----------
    units
        Equal parts of a block, or of a piece if blocks have several.
    rows
        Block, units of it and vertices of every path. The units of a block are given to its paths in their order.
    amounts
        Pieces of every block of an all-to-all of all nodes, by number; None if all are alike.
    """
    topology = place.topology if isinstance(place, Fabric) else place
    members = collective.members(topology.nodes, topology.switches)
    if not collective.like(*PATH_COLLECTIVES):
        raise ScheduleError(f"paths are for {', '.join(map(str, PATH_COLLECTIVES))}, not for {collective}")
    sizes = None
    if amounts is not None:
        fits = collective.like(ALL_TO_ALL) and collective.groups is None and len(amounts) == len(members) ** 2
        if not fits or min(amounts) < 0 or not 0 < sum(amounts) < 2**62:
            most = len(members) ** 2
            raise ScheduleError(f"amounts are {most} numbers for an all-to-all of all, not negative, not all 0")
        sizes = np.zeros(collective.block_count(topology.nodes), dtype=np.int64)
        sizes[collective.blocks(members, topology.nodes)] = amounts
    if not 1 <= units <= MAX_WEIGHT or not all(1 <= weight <= MAX_WEIGHT for _, weight, _ in rows):
        raise ScheduleError(f"a block and a path have from 1 to {MAX_WEIGHT} units")
    if not all(len(way) > 1 for *_, way in rows):
        raise ScheduleError("paths have at least two vertices")
    block, width = (np.array([row[at] for row in rows], dtype=np.int64) for at in (0, 1))
    hop = np.fromiter((vertex for *_, way in rows for vertex in way), dtype=np.int64)
    owner = np.repeat(np.arange(len(rows)), [len(way) for *_, way in rows])
    stops = np.ones(topology.nodes, dtype=np.bool_)
    stops[list(topology.switches)] = False
    ends = np.diff(owner, prepend=-1) | np.diff(owner, append=-1)
    at = np.flatnonzero(stops[hop] | (ends != 0))
    same = owner[at][1:] == owner[at][:-1]
    first, last = at[:-1][same], at[1:][same]
    piece, length = owner[first], last - first + 1
    start = np.arange(len(piece)) - np.searchsorted(piece, piece)
    lo, weight = earlier(block, width), width * collective.shares(block, topology.nodes, len(members))[0]
    cuts, hops = np.concatenate(([0], np.cumsum(length))), hop[ranges(first, length)[1]]
    sends = piece, hop[first], hop[last], start, start + 1, np.zeros(len(piece), dtype=np.int8)
    routes = Routes(np.arange(len(piece)), weight[piece], cuts, hops)
    pieces = block, lo, lo + width
    return Flow(collective, place, "chunks", units, *pieces, *sends, weight=weight, sizes=sizes, routes=routes)


def fold_of(generators: NDArray[np.int32]) -> Symmetry:
    """Return the symmetry of permutations, by first nodes of orbits."""
    nodes = generators.shape[1]
    chosen = np.unique(Symmetry(nodes, (), partial(tuple, generators)).orbit_of)
    return Symmetry(nodes, tuple(chosen.tolist()), partial(tuple, generators))


def _check_trees(
    collective: Collective,
    topology: Topology,
    weight: IntArray,
    reduce_trees: int,
    shard: Sequence[int] | None,
    *,
    concurrent: bool,
    one_shot: bool,
) -> None:
    """Raise ScheduleError unless trees suit their collective and shards."""
    if not collective.like(*TREE_COLLECTIVES):
        known = ", ".join(map(str, TREE_COLLECTIVES))
        raise ScheduleError(f"spanning trees are for {known}, not for {collective}")
    if collective.rooted and collective.root is None and collective.roots is None:
        raise ScheduleError(f"the trees of {with_article(collective)} require its root")
    trees = len(weight)
    fits = len(collective.movements) > 1 or reduce_trees == (trees if collective.reduces else 0)
    if not 0 <= reduce_trees <= trees or not fits:
        raise ScheduleError(f"{reduce_trees} of {trees} trees reducing does not fit {collective}")
    if one_shot and (concurrent or len(set(shard or ())) > 1):
        raise ScheduleError("an allreduce without in-trees has one phase, and all nodes with as much data each")
    if concurrent and not collective.like(ALLREDUCE):
        raise ScheduleError(f"only an allreduce has phases that can be concurrent, {collective} has one")
    if concurrent and 2 * int(weight[:reduce_trees].sum()) != int(weight.sum()):
        raise ScheduleError("the in-trees and the out-trees of a concurrent allreduce must have the same weight")
    compute = topology.nodes - len(topology.switches)
    if shard is not None and (len(shard) != compute or min(shard) < 0 or max(shard) < 1):
        raise ScheduleError(f"shard must hold {compute} sizes, not negative and not all zero")
    if trees and not 1 <= int(weight.min()) <= int(weight.max()) <= MAX_WEIGHT:
        raise ScheduleError(f"column 'weight' must hold numbers from 1 to {MAX_WEIGHT}")


def _block_sizes(collective: Collective, topology: Topology, shard: Sequence[int] | None) -> IntArray | None:
    """Return the sizes of blocks where shards differ, or None."""
    if shard is None or (len(set(shard)) == 1 and collective.group is None):
        return None
    sizes = np.zeros(topology.nodes, dtype=np.int64)
    sizes[np.setdiff1d(np.arange(topology.nodes), list(topology.switches))] = shard
    if collective.group is not None:
        sizes[np.setdiff1d(np.arange(len(sizes)), collective.members(topology.nodes, topology.switches))] = 0
    return sizes


def lay_out(flow: Flow, *, own_sizes: bool = True) -> Flow:
    """Return trees whose pieces share the blocks in proportion to their weights.

    The units of a block are given to the trees of its root in their order: a unit of weight stands for as many units as
    there are in the data of all over the weight of all trees of its phase. So the trees of a root with more than its
    share go beyond its block. Blocks of a concurrent allreduce through switches that add for all are as large as the
    trees of a root carry, if ``own_sizes`` and no sizes are given.
    """
    flow, topology, collective = sort_sends(flow), flow.topology, flow.collective
    weight, root, phase = np.asarray(flow.weight, dtype=np.int64), flow.block, find_parts(flow)
    if flow.one_shot:
        phase = np.ones_like(phase)
    sizes, team = None if flow.free else flow.sizes, find_teams(flow)
    free = own_sizes and sizes is None and flow.concurrent and len(find_relays(flow)) > 0
    if free:
        sizes = np.zeros(topology.nodes, dtype=np.int64)
        np.add.at(sizes, root[phase == 0], weight[phase == 0])
    times = np.ones(len(root), dtype=np.int64)
    if flow.fold is not None:
        known = flow.fold.represented_by
        times = np.bincount(known[known >= 0], minlength=topology.nodes)[root]
    weights = np.zeros((2, len(collective.single)), dtype=np.int64)
    np.add.at(weights, (phase, team), weight * times)
    whole = np.ones(len(collective.single), dtype=np.int64)  # units of size one that the data of every group are
    if not collective.rooted:
        owner = flow.team.copy()
        owner[root] = team
        own = np.ones(topology.nodes, dtype=np.int64) if sizes is None else sizes
        member = owner >= 0
        if sizes is None:
            member[list(topology.switches)] = False
        np.add.at(whole, owner[member], own[member])
        whole -= 1
    wholes: list[int] = whole.tolist()
    cuts = {
        many // math.gcd(many, parts)
        for row in weights.tolist()
        for many, parts in zip(row, wholes, strict=True)
        if many and parts
    }
    units = math.lcm(*cuts)
    if units * max(wholes) * 2 >= MAX_UNITS:
        raise TooLargeError("the weights of trees have so few divisors in common that units do not fit into 64 bits")
    scale = np.zeros_like(weights)
    for at, each in enumerate(weights.tolist()):
        scale[at] = [units * parts // many if many else 0 for many, parts in zip(each, wholes, strict=True)]
    width = np.maximum(weight * scale[phase, team], 1)
    lo = earlier(root + phase * topology.nodes, width)
    first = np.searchsorted(flow.piece, np.arange(len(root) + 1))
    turn = np.arange(len(flow)) - first[flow.piece]
    start = turn + flow.part * (int(turn.max(initial=0)) + 1)
    return replace(flow, units=units, lo=lo, hi=lo + width, start=start, end=start + 1, sizes=sizes, free=free)


def check_units(units: int) -> None:
    """Raise TooLargeError if units per block exceed 64-bit columns."""
    if units >= MAX_UNITS:
        raise TooLargeError(f"{units} units per shard are too many (at most {MAX_UNITS - 1}); use coarser splits")


def check_rows(rows: int) -> None:
    """Raise TooLargeError if rows would exceed memory; call it first."""
    if rows > MAX_ROWS:
        raise TooLargeError(f"a schedule of {rows} rows is too large (at most {MAX_ROWS})")


def blocks_named(
    collective: Collective, block: NDArray[Any], names: NDArray[Any], count: int | None = None
) -> NDArray[Any]:
    """Return the numbers of blocks of renamed nodes."""
    source, destination = np.divmod(block, len(names)) if collective.pairwise else (0, block)
    named: NDArray[Any] = names[destination]
    if collective.pairwise:
        named = names[source] * names.dtype.type(len(names) if count is None else count) + named
    return named


def renamed(collective: Collective, names: Sequence[int]) -> Collective:
    """Return a collective with root and groups renamed."""
    root, group, groups, roots = collective.root, collective.group, collective.groups, collective.roots
    if groups is not None:
        others = None if roots is None else [names[one] for one in roots]
        return collective.within([[names[node] for node in part] for part in groups], others)
    bare = replace(collective, root=None if root is None else names[root])
    return bare.among(None if group is None else [names[node] for node in group])
