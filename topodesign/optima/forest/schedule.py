"""Tree schedules: optimum, switch removal and packing.

ForestColl, sections 5 and 6.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from topodesign.base.arrays import earlier, ranges
from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError, TopologyError
from topodesign.collectives import ALLGATHER, Collective, as_collective
from topodesign.optima.forest.allreduce import MAX_NODES, AllreduceOptimum, Phase, allreduce_optimum, not_looked_for
from topodesign.optima.forest.bottleneck import optimum, shard_sizes
from topodesign.optima.forest.box_trees import build_box_trees
from topodesign.optima.forest.low_trees import build_shifted_trees
from topodesign.optima.forest.packing import pack_trees
from topodesign.optima.forest.switch_removal import Pieces, Split, join_pieces, remove_switches
from topodesign.optima.forest.tree_counts import find_fixed_optimum, smallest_trees
from topodesign.plans.build import build_trees
from topodesign.plans.chunk_ops import MAX_WEIGHT, TREE_COLLECTIVES, count_pieces, too_many_rows, unfold_pieces
from topodesign.plans.flow import Flow, Routes, has_same_fold
from topodesign.plans.flow_ops import concatenate, reverse
from topodesign.solve.maxflow import compute_nodes, find_violated_cut, scale_capped
from topodesign.topology.shifts import find_shifts
from topodesign.topology.topology import IntArray, Topology

MAX_EDGES = 2**20  # edges of trees up to which those that a symmetry could fold are written out
_TRIES = 100


def forest_schedule(
    topology: Topology,
    collective: Collective | str,
    *,
    k: int | None = None,
    root: int | None = None,
    shard: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> Flow:
    """Make a schedule over spanning trees, optimal unless ``k`` is given.

    Parameters
    ----------
    topology
        Compute nodes and switches; of one with more capacity in than out, or the reverse, only a part is of use.
    collective
        Reduce-scatter and reduce are allgather and broadcast on the transpose, run backwards. An allreduce is that of
        :func:`allreduce_schedule`; with ``k`` or ``shard`` it is a reduce-scatter and then an allgather.
    k
        Number of trees per root (per unit of shard size); the smallest that reaches the optimum if None.
    root
        The root of a broadcast or reduce, a compute node; None if the collective says it.
    shard
        Relative shard sizes of the compute nodes in ascending order; equal if None, but for an allreduce as it is
        fastest.
    names
        What messages call the vertices; their numbers if None.

    Raises
    ------
    ParameterError
        If ``k`` is below one, the root or the shards do not fit the collective or the topology.
    TopologyError
        If there are fewer than two compute nodes.
    InfeasibleError
        If some compute node cannot be reached from another.
    TooLargeError
        If the capacities and shards need more than 64 bits, or the plan more rows or memory than there may be.

    Examples
    --------
    >>> from topodesign import build_fabric, forest_schedule
    >>> trees = forest_schedule(build_fabric("dgx_a100(1)").topology, "allgather")
    >>> trees.collective, len(trees.block)
    (<allgather>, 8)
    """
    kind = spanning(as_collective(collective), root)
    if kind.rooted and shard is not None:
        raise ParameterError(f"{kind} has one shard, without a size")
    if kind.rooted and kind.root not in compute_nodes(topology):
        raise ParameterError(f"{kind} requires a compute node as its root, not {kind.root}")
    nodes = topology.nodes - len(topology.switches)
    if nodes > MAX_NODES and not kind.rooted:
        _check_size(topology, nodes if shard is None else sum(map(bool, shard)), len(kind.movements))
    return unfold_pieces(tree_schedule(topology, kind, k, None if shard is None else tuple(shard), names))


def tree_schedule(
    topology: Topology,
    collective: Collective,
    k: int | None,
    shard: tuple[int, ...] | None,
    names: Sequence[str] | None = None,
) -> Flow:
    """Return :func:`forest_schedule` of a rooted collective."""
    if not collective.reduces:
        return out_trees(topology, collective, k, shard, names)
    if not collective.copies:
        return reverse(out_trees(topology.transpose(), collective.dual, k, shard, names), topology)
    if k is None and shard is None:
        return allreduce_schedule(topology, names=names)[0]
    return _in_turn(topology, k, shard, names)


def allreduce_schedule(topology: Topology, *, names: Sequence[str] | None = None) -> tuple[Flow, str]:
    """Return the fastest allreduce by trees, with its quality.

    It is concurrent where that is faster than a reduce-scatter and then an allgather (ForestColl, appendix F). The
    roots then own different shares of the data.
    """
    nodes = topology.nodes - len(topology.switches)
    if nodes > MAX_NODES and find_shifts(topology) is None:  # of fewer some may be no roots
        _check_size(topology, nodes, 2)
    optimum(topology, names=names)  # says by name what cannot be reached
    best = allreduce_optimum(topology)
    plain = "a reduce-scatter and then an allgather"

    def claim(reached: Fraction, missed: str) -> Claim:
        return Claim.to_bound(Of.RATE, reached, Scope.TREES, best.bound, missed=missed)

    missed = not_looked_for(topology)
    if best.throughput == best.composed:
        return _in_turn(topology, None, None, names), f"{plain}; {claim(best.composed, missed)}"
    gain = f"{float(best.throughput / best.composed - 1):.1%}"
    try:
        trees = _concurrent(topology, best)
    except TooLargeError:
        missed = f"doing both at the same time would be {gain} faster, but needs too many trees"
        return _in_turn(topology, None, None, names), f"{plain}; {claim(best.composed, missed)}"
    words = f"reduced and broadcast at the same time, {gain} faster than {plain}"
    return trees, f"{words}; {claim(best.throughput, missed)}"


def _check_size(topology: Topology, roots: int, phases: int) -> None:
    """Refuse trees beyond plan or memory limits, before the work.

    Trees are counted as one per root, and every edge as one route of two vertices, or of three between sets of nodes
    that only switches join: there are no fewer.
    """
    nodes = compute_nodes(topology)
    trees = phases * roots
    if too_many_rows(3 * trees * (len(nodes) - 1)) is None:
        return
    from scipy.sparse import coo_array  # noqa: PLC0415  heavy
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    direct = np.isin(topology.src, nodes) & np.isin(topology.dst, nodes)
    links = (np.ones(int(direct.sum())), (topology.src[direct], topology.dst[direct]))
    parts = connected_components(coo_array(links, shape=(topology.nodes,) * 2), directed=False)[0]
    rows = trees * (2 * (len(nodes) - 1) + parts - len(topology.switches) - 1)
    if why := too_many_rows(rows):
        raise TooLargeError(
            f"trees of {roots} roots over {len(nodes)} nodes have {rows} rows or more, and {why}; schedule fewer "
            "nodes, or ask topodesign evaluate for the rate alone"
        )


def spanning(collective: Collective, root: int | None = None) -> Collective:
    """Return a collective that spanning trees can do, with its root."""
    if not collective.like(*TREE_COLLECTIVES):
        raise InfeasibleError(
            f"no schedule of {collective} is made of spanning trees; they do {', '.join(map(str, TREE_COLLECTIVES))}"
        )
    return collective if root is None else collective.at(root)


def out_trees(
    topology: Topology,
    collective: Collective,
    k: int | None,
    shard: tuple[int, ...] | None,
    names: Sequence[str] | None = None,
    *,
    phases: int = 1,
) -> Flow:
    """Return an allgather or broadcast, folded if large."""
    sizes = shard
    if collective.rooted:
        sizes = tuple((compute_nodes(topology) == collective.root).astype(int).tolist())
    roots = int(np.count_nonzero(shard_sizes(topology, sizes)))
    if find_shifts(topology) is None:
        _check_size(topology, roots, phases)
    best = optimum(topology, weights=sizes, names=names)
    k = smallest_trees(topology, weights=sizes, best=best) if k is None else k
    fixed = find_fixed_optimum(topology, k, weights=sizes, best=best)
    demand = scale_capped(shard_sizes(topology, sizes), k)
    low = build_shifted_trees(topology, collective, fixed, demand, shard)
    if low is not None:
        return _fold_trees(low, phases)
    boxed = build_box_trees(topology, collective, fixed, demand, shard)
    if boxed is not None:
        trees = _fold_trees(boxed, phases)
    else:
        _check_size(topology, roots, phases)
        split = remove_switches(fixed.topology, demand.tolist())
        trees = pack_forest(topology, collective, split, demand.tolist(), rate=fixed.tree_rate, shard=shard)
    low = build_shifted_trees(topology, collective, fixed, demand, shard, higher=trees)
    return trees if low is None else _fold_trees(low, phases)


def _fold_trees(trees: Flow, phases: int) -> Flow:
    """Return trees one by one, or folded by a symmetry if many."""
    few = phases * len(trees) * count_pieces(trees) <= MAX_EDGES * max(1, len(trees.block))
    if trees.fold is None or few:
        return unfold_pieces(trees)
    with contextlib.suppress(TopologyError):
        trees.fold.check(trees.topology)
        if trees.fold.free_order(trees.members) is not None:
            return trees
    return unfold_pieces(trees)


def pack_forest(
    topology: Topology,
    collective: Collective,
    split: Split,
    numbers: Sequence[int],
    *,
    rate: Fraction,
    shard: tuple[int, ...] | None,
) -> Flow:
    """Return so many out-trees per compute node, packed into logical links."""
    packing = pack_trees(split.topology, [(node, number) for node, number in enumerate(numbers) if number])
    nodes = np.array(split.nodes)
    trees = len(packing.root)
    tree = np.repeat(np.arange(trees), len(nodes) - 1)
    dst = packing.order[:, 1:].ravel()
    src = packing.parent[tree, dst]
    edge, weight, route = _route_edges(split, src, dst, packing.weight[tree])
    length = np.diff(split.hop_start)[route]
    _, place = ranges(split.hop_start[route], length)
    routes = Routes(edge, weight, np.concatenate(([0], np.cumsum(length))), split.hop[place])
    roots, edges = (nodes[packing.root], packing.weight), (tree, nodes[src], nodes[dst])
    return build_trees(topology, collective, roots, edges, routes, rate=rate, shard=shard)


def _route_edges(split: Split, src: IntArray, dst: IntArray, weight: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Assign routes of logical links to tree edges.

    All links are laid end to end, each as long as its capacity. Routes tile them; the tree edges of a link lie at its
    beginning, and take the routes that they lie on.
    """
    logical = split.topology
    link = logical.link_index(src, dst)
    start = earlier(link, weight) + (np.cumsum(logical.capacity) - logical.capacity)[link]
    route_end = np.cumsum(split.route_amount)
    first = np.searchsorted(route_end, start, side="right")
    count = np.searchsorted(route_end, start + weight, side="left") - first + 1
    edge, route = ranges(first, count)
    begin = np.maximum(start[edge], route_end[route] - split.route_amount[route])
    return edge, np.minimum((start + weight)[edge], route_end[route]) - begin, route


def _in_turn(topology: Topology, k: int | None, sizes: tuple[int, ...] | None, names: Sequence[str] | None) -> Flow:
    """Return a reduce-scatter and then an allgather."""
    out = out_trees(topology, ALLGATHER, k, sizes, names, phases=2)
    back = out if topology.is_duplex else out_trees(topology.transpose(), ALLGATHER, k, sizes, names, phases=2)
    back = reverse(back, topology)
    if out.fold is not None and has_same_fold(out.fold, back.fold):
        return concatenate(back, out)
    return concatenate(unfold_pieces(back), unfold_pieces(out))


def _concurrent(topology: Topology, best: AllreduceOptimum) -> Flow:
    """Return the allreduce whose in- and out-trees share links.

    If trees are so thin that shares and traffic are whole numbers of them, nothing is lost; often thicker ones, with
    the traffic rounded down, do as well.
    """
    nodes = compute_nodes(topology)
    shares = [share * best.throughput for share in best.roots]
    thickest = _common_part(shares)
    most = int(thickest / _common_part([*shares, *(a for paths in best.traffic.values() for a in paths.values())]))
    for times in (*range(1, min(most, _TRIES)), most):
        rate = thickest / times
        if best.throughput / rate > MAX_WEIGHT:
            raise TooLargeError(f"{best.throughput / rate} trees are too many")
        numbers = np.array([int(share / rate) for share in shares])
        back, out = (_split(nodes, best, phase, rate) for phase in ("reduction", "broadcast"))
        if all(find_violated_cut(split.topology, split.topology.capacity, numbers)[1] is None for split in (back, out)):
            break
    shard = tuple((numbers // np.gcd.reduce(numbers)).tolist())
    in_trees = pack_forest(topology.transpose(), ALLGATHER, back, numbers.tolist(), rate=rate, shard=shard)
    out_trees = pack_forest(topology, ALLGATHER, out, numbers.tolist(), rate=rate, shard=shard)
    return concatenate(reverse(in_trees, topology), out_trees, concurrent=True)


def _common_part(amounts: Iterable[Fraction]) -> Fraction:
    """Return the largest number that all amounts are multiples of."""
    amounts = list(amounts)
    common = math.lcm(*(amount.denominator for amount in amounts))
    return Fraction(math.gcd(*(int(amount * common) for amount in amounts)), common)


def _split(nodes: IntArray, best: AllreduceOptimum, phase: Phase, rate: Fraction) -> Split:
    """Return the whole trees that a phase's traffic has room for."""
    pieces: dict[tuple[int, int], Pieces] = {}
    whole = best.throughput / rate  # no link is in more trees
    for path, traffic in best.traffic[phase].items():
        way = path if phase == "broadcast" else path[::-1]
        carried = pieces.setdefault((way[0], way[-1]), [])
        amount = int(min(traffic / rate, whole - sum(amount for amount, _ in carried)))
        if amount:
            carried.append((amount, way))
    return join_pieces(nodes, pieces)
