"""The verifier of tree schedules: spanning trees, real routes, capacities kept, nothing lost; exact in all of it.

It shares no code with what makes the trees. A tree schedule is right if and only if

* every tree spans the compute nodes: in an out-tree every node but the root receives once, and in an in-tree every node
  but the root sends once, in an order in which a node has received all that it will receive before it sends;
* a switch where an out-tree branches can copy, and where an in-tree does, add; it receives once, or sends once, if it
  passes something on and else not at all; and it is a root only where phases are concurrent;
* the routes of a tree edge lead from its one end to the other over links, through switches alone, and their weights add
  up to the weight of the tree;
* no link carries more than its capacity in either phase, or in both together where they are concurrent: sum of the
  weights times the rate, in integers;
* of several groups each has trees of its own, which do that over its members with all other vertices as switches that
  only forward, and whose weights add up to the same;
* trees that a symmetry folds are those of the representatives and their images, once that is proven to be one of the
  fabric (:mod:`topodesign.plans.replay.images`): they are right if these few are, and loads add up by orbits;
* the weights of the trees of a root are, in each phase, in proportion to the root's shard; or, where switches add and
  copy in a concurrent allreduce, the same in both phases, and shards are what comes of it. An allreduce may be without
  in-trees: then the trees of every node carry all that it has, are of one weight in all, and every node adds up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from topodesign.base.declared import Declared
from topodesign.base.errors import TopologyError
from topodesign.base.units import exact_rate
from topodesign.base.wording import with_article
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.replay.found import SHOWN, Found, marked
from topodesign.plans.replay.images import Images, images_of
from topodesign.plans.trees import Trees
from topodesign.topology.topology import IntArray

_AT_ONCE = 2**18  # routes that are looked at together: what is worked out of all at a time is larger than the plan


@dataclass(frozen=True, slots=True)
class TreesReport:
    """What the verifier found."""

    collective: Collective  # what it was checked to be
    # trees, height: number of different trees, and tree edges on the longest way between a root and a node; for an
    # allreduce the highest in-tree and the highest out-tree together, of the same root where they are concurrent
    trees: int
    height: int
    # recomputed time by bandwidth alone to move shards of size one, in units of one over the unit of capacity; None
    # if there are no trees
    inverse_rate: Fraction | None
    fullest: Fraction  # largest share of its capacity that a link gives
    # what is wrong, readable, at most ``SHOWN`` examples of each kind and the number of them
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the schedule is right (and the claim, if one was made, true)."""
        return not self.problems

    @property
    def text(self) -> str:
        """What it is, without problems."""
        return f"{self.trees} trees of height {self.height}, 1/x = {self.inverse_rate}"

    def __str__(self) -> str:
        """Return the verdict and the problems, one a line."""
        return Found(self.problems, text=self.text).said(self.collective)


@dataclass(frozen=True, slots=True)
class TreesFound(Declared):
    """What trees reach."""

    trees: int  # different trees
    k: Fraction  # trees per root
    height: Fraction  # links of the longest way in a tree
    inv_x_star: Fraction  # seconds that a byte of a shard takes at best: 1/x*
    algorithmic_bandwidth: Fraction  # whole data over the time, without latency, in bytes per second

    KEYS = "trees k height inv_x_star algorithmic_bandwidth"


def replayed_trees(fabric: Fabric, trees: Trees | OrbitTrees) -> Found:
    """Replay the trees of a plan, with what switches of its fabric can do and limits that links share."""
    report = verify_trees(trees, names=fabric.names, multicast=fabric.multicast, aggregation=fabric.aggregation)
    if not report.ok or report.inverse_rate is None:
        return Found(report.problems or ("it has no trees",))
    own, images = trees.own, images_of(trees)
    problems = overloaded(fabric, images.loads(loads_of(own)), own.rate) if fabric.shared else ()
    if problems:
        return Found(problems)
    owners, shards = own.collective.shards(len(own.compute_nodes)), own.shards
    halves = np.split(own.weight, [own.reduce_trees])
    weights = [images.times * int(half.sum()) // own.groups for half in halves]
    bandwidth = shards * fabric.unit / report.inverse_rate
    figures = {
        "k": Fraction(max(weights), shards),
        "height": Fraction(report.height),
        "inv_x_star": owners / bandwidth,
        "algorithmic_bandwidth": bandwidth,
    }
    return Found((), figures, TreesFound(report.trees, **figures), report.text)


def overloaded(fabric: Fabric, loads: IntArray, rate: Fraction) -> tuple[str, ...]:
    """Say which limits that links share are exceeded by the weights on links in some phase."""
    problems = []
    for limit, links in zip(fabric.shared, fabric.shared_links, strict=True):
        most = max(sum(phase[list(links)].tolist()) for phase in loads) * rate * fabric.unit
        if most > limit.bandwidth:
            problems.append(
                f"the links of the shared limit '{limit.name}' carry {exact_rate(most)} together, more than its "
                f"{exact_rate(limit.bandwidth)}"
            )
    return tuple(problems[:SHOWN])


def verify_trees(
    trees: Trees | OrbitTrees,
    claim: Fraction | None = None,
    names: Sequence[str] | None = None,
    *,
    multicast: frozenset[int] = frozenset(),
    aggregation: frozenset[int] = frozenset(),
) -> TreesReport:
    """Check every tree, route, capacity and share, and recompute the rate.

    ``multicast`` and ``aggregation`` are the switches that can copy, and that can add; another ``inverse_rate``
    than the one that is claimed is a problem.
    """
    schedule = trees.own
    try:
        images = images_of(trees)
    except TopologyError as error:
        wrong = f"the symmetry is none of the topology: {error}"
        return TreesReport(schedule.collective, 0, 0, None, Fraction(0), (wrong,))
    called = [str(vertex) for vertex in range(schedule.topology.nodes)] if names is None else names
    able = np.zeros((2, schedule.topology.nodes), dtype=np.bool_)  # to add, to copy
    able[0, list(aggregation)] = able[1, list(multicast)] = True
    problems: list[str] = []
    heights, taken, weights = [0], list[Fraction | None](), set[tuple[int, ...]]()
    groups = list(schedule.alone())
    for number, one in enumerate(groups):
        compute = np.ones(one.topology.nodes, dtype=np.bool_)
        compute[list(one.topology.switches)] = False
        found = list(_tree_problems(one, compute, able | compute, called))
        heights.append(0 if found else _height(one, compute))
        found += _route_problems(one, compute, called)
        found += _share_problems(one, images, compute, called)
        problems += [f"group {number}: {problem}" for problem in found] if len(groups) > 1 else found
        if compute.sum() > 1:
            weights.add(tuple(int(half.sum()) for half in np.split(one.weight, [one.reduce_trees])))
            inverse = _inverse_rate(one, int(compute.sum()))
            taken.append(None if inverse is None else inverse / one.shards / images.times)
    if sum(map(len, groups)) != len(schedule):
        problems.append("some trees are of no group")
    if len(weights) > 1:
        problems.append("the trees of one group have another weight in all than those of another")
    loads = images.loads(loads_of(schedule))
    problems += _capacity_problems(schedule, loads, called)
    inverse = None if None in taken else max(filter(None, taken), default=None)
    inverse = None if inverse is None else inverse * schedule.shards
    if claim is not None and claim != inverse:
        problems.append(f"the claimed 1/x is {claim}, but the trees have {inverse}")
    full = [Fraction(max(load), int(c)) for load, c in zip(loads.T.tolist(), schedule.topology.capacity, strict=True)]
    return TreesReport(
        collective=schedule.collective,
        trees=len(schedule) * images.times,
        height=max(heights),
        inverse_rate=inverse,
        fullest=max(full, default=Fraction(0)) * schedule.rate,
        problems=tuple(problems),
    )


def _oriented(schedule: Trees) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
    """Return for each tree edge whether its tree is an out-tree, and its end near the root and the far one."""
    out = schedule.tree >= schedule.reduce_trees
    near, far = np.where(out, schedule.src, schedule.dst), np.where(out, schedule.dst, schedule.src)
    return out, near, far


def _tree_problems(
    schedule: Trees, compute: NDArray[np.bool_], able: NDArray[np.bool_], called: Sequence[str]
) -> Iterator[str]:
    """Yield what keeps a tree from spanning the compute nodes in the right direction and order."""
    nodes, tree, root = schedule.topology.nodes, schedule.tree, schedule.root
    phase = (np.arange(len(root)) >= schedule.reduce_trees).astype(np.int64)
    owned = compute[root] | schedule.concurrent
    yield from marked(
        ~owned, lambda t: f"tree {t}: its root {called[root[t]]} is a switch, which owns no data", "such roots"
    )

    def edge(row: int) -> str:
        ends = f"{called[schedule.src[row]]} -> {called[schedule.dst[row]]}"
        return f"tree {tree[row]} of root {called[root[tree[row]]]}: edge {ends}"

    out, near, far = _oriented(schedule)
    ends = tree * nodes + near
    branches = np.bincount(ends, minlength=len(root) * nodes)[ends] > 1

    def end(row: int) -> str:
        power = "copy" if out[row] else "add"
        return f"{edge(row)} is one of several at a switch, of which nothing says that it can {power}"

    yield from marked(branches & ~able[phase[tree], near], end, "such edges")
    wanted = np.tile(compute.astype(np.int64), (len(root), 1))
    wanted[tree, near] = 1  # a switch is in a tree if it passes something on
    wanted[np.arange(len(root)), root] = 0
    found = np.bincount(tree * nodes + far, minlength=wanted.size)
    different = found != wanted.ravel()

    def node(at: int) -> str:
        which, vertex = divmod(at, nodes)
        verb = "receives" if which >= schedule.reduce_trees else "sends"
        times = f"{found[at]} times instead of {wanted.flat[at]}"
        return f"tree {which} of root {called[root[which]]}: node {called[vertex]} {verb} {times}"

    yield from marked(different, node, "such nodes")
    place = np.full(wanted.size, -1, dtype=np.int64)  # row with which a node joins its tree
    place[tree * nodes + far] = np.arange(len(tree))
    place[np.arange(len(root)) * nodes + root] = -1
    joined = place[tree * nodes + near]
    early = np.where(out, joined >= np.arange(len(tree)), joined <= np.arange(len(tree)))
    early &= near != root[tree]
    yield from marked(early, lambda row: f"{edge(row)} sends what has not all been received by then", "such edges")


def _route_problems(schedule: Trees, compute: NDArray[np.bool_], called: Sequence[str]) -> Iterator[str]:
    """Yield edges whose routes do not carry their weight, and routes that go wrong."""
    wanted = schedule.weight[schedule.tree]
    carried = np.zeros(len(schedule.tree), dtype=np.int64)
    np.add.at(carried, schedule.route_edge, schedule.route_weight)

    def edge(row: int) -> str:
        ends = f"{called[schedule.src[row]]} -> {called[schedule.dst[row]]}"
        return f"tree {schedule.tree[row]}, edge {ends}"

    yield from marked(
        carried != wanted,
        lambda row: f"{edge(row)}: its routes carry {carried[row]}, the tree has weight {wanted[row]}",
        "such edges",
    )
    first, last = schedule.hop[schedule.hop_start[:-1]], schedule.hop[schedule.hop_start[1:] - 1]
    astray = (first != schedule.src[schedule.route_edge]) | (last != schedule.dst[schedule.route_edge])

    def route(at: int) -> str:
        hops = schedule.hop[schedule.hop_start[at] : schedule.hop_start[at + 1]].tolist()
        return f"{edge(int(schedule.route_edge[at]))}: route {' -> '.join(called[hop] for hop in hops)}"

    yield from marked(astray, lambda at: f"{route(at)} does not lead from one end to the other", "such routes")
    inner = np.ones(len(schedule.hop), dtype=np.bool_)
    inner[schedule.hop_start[:-1]] = inner[schedule.hop_start[1:] - 1] = False
    relayed = np.zeros(len(schedule.route_edge), dtype=np.bool_)
    passed = np.flatnonzero(inner & compute[schedule.hop])
    relayed[np.searchsorted(schedule.hop_start, passed, side="right") - 1] = True
    yield from marked(relayed, lambda at: f"{route(at)} passes through a compute node", "such routes")
    broken = np.zeros(len(schedule.route_edge), dtype=np.bool_)
    for at_route, link in _links(schedule):
        broken[at_route[link < 0]] = True
    yield from marked(broken, lambda at: f"{route(at)} goes where there is no link", "such routes")


def _links(schedule: Trees) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield for each hop its route and its link in the topology, -1 where there is none; of some routes at a time."""
    topology, starts = schedule.topology, schedule.hop_start
    keys = np.append(topology.src * topology.nodes + topology.dst, -1)
    for first in range(0, len(schedule.route_edge), _AT_ONCE):
        cuts = starts[first : first + _AT_ONCE + 1]
        hop = schedule.hop[cuts[0] : cuts[-1]]
        route = np.repeat(np.arange(first, first + len(cuts) - 1), np.diff(cuts))
        within = route[1:] == route[:-1]
        wanted = hop[:-1][within] * topology.nodes + hop[1:][within]
        link = np.searchsorted(keys[:-1], wanted)
        yield route[:-1][within], np.where(keys[link] == wanted, link, -1)


def loads_of(schedule: Trees) -> IntArray:
    """Return the weight on each link that it carries at the same time: of in-trees, of out-trees, or of all together.

    A sum fits into 64 bits: weights are below 2^31, and more than 2^32 hops do not fit into memory.
    """
    loads = np.zeros((2, len(schedule.topology.src)), dtype=np.int64)
    for at, found in _links(schedule):
        route, link = at[found >= 0], found[found >= 0]
        phase = (schedule.tree[schedule.route_edge[route]] >= schedule.reduce_trees).astype(np.int64)
        np.add.at(loads, (phase, link), schedule.route_weight[route])
    return loads.sum(axis=0, keepdims=True) if schedule.concurrent else loads


def _capacity_problems(schedule: Trees, loads: IntArray, called: Sequence[str]) -> Iterator[str]:
    topology, rate = schedule.topology, schedule.rate
    kinds = ("in-trees and out-trees together",) if schedule.concurrent else ("in-trees", "out-trees")
    for trees, phase in zip(kinds, loads, strict=True):
        pairs = zip(phase.tolist(), topology.capacity.tolist(), strict=True)
        over = np.array([load * rate.numerator > capacity * rate.denominator for load, capacity in pairs], np.bool_)

        def words(link: int, trees: str = trees, phase: IntArray = phase) -> str:
            taken = int(phase[link]) * rate
            ends = f"{called[topology.src[link]]} -> {called[topology.dst[link]]}"
            return f"link {ends} of capacity {topology.capacity[link]} carries {taken} of the {trees}"

        yield from marked(over, words, "overloaded links")


def _share_problems(
    schedule: Trees, images: Images, compute: NDArray[np.bool_], called: Sequence[str]
) -> Iterator[str]:
    """Yield roots whose trees do not carry, in one of the phases, their share of the data."""
    totals = np.zeros((2, len(compute)), dtype=np.int64)
    phase = (np.arange(len(schedule)) >= schedule.reduce_trees).astype(np.int64)
    np.add.at(totals, (phase, schedule.root), schedule.weight)
    totals = images.totals(totals)
    used = [0 if one.adds else 1 for one in schedule.collective.movements]
    if len(used) > 1 and not schedule.reduce_trees:
        used = [1]
    if schedule.collective.rooted:
        roots = np.flatnonzero(totals[used[0]]).tolist()
        if len(roots) != 1:
            yield f"{with_article(schedule.collective)} has one root, but the trees have {len(roots)}"
        elif roots[0] != schedule.collective.root:
            root = called[schedule.collective.root or 0]
            yield f"the root of the {schedule.collective} is {root}, but that of the trees is {called[roots[0]]}"
        return
    ends = np.concatenate((schedule.root, schedule.src, schedule.dst))
    if schedule.concurrent and schedule.shard is None and not compute[ends].all():

        def differs(node: int) -> str:
            inward, outward = totals[:, node].tolist()
            return f"the in-trees of root {called[node]} have weight {inward}, but its out-trees {outward}"

        yield from marked(totals[0] != totals[1], differs, "such roots")
        return
    share = np.zeros(len(compute), dtype=object)
    share[compute] = 1 if schedule.shard is None else schedule.shard
    for at in used:
        whole, parts = int(totals[at].sum()), share.sum()
        uneven = totals[at].astype(object) * parts != share * whole

        def words(node: int, at: int = at) -> str:
            kind = "in-trees" if at == 0 else "out-trees"
            return (
                f"the {kind} of root {called[node]} have weight {totals[at, node]}, which is not the share of its shard"
            )

        if whole == 0 and int(compute.sum()) > 1:
            yield f"there are no {'in-trees' if at == 0 else 'out-trees'}"
        yield from marked(uneven.astype(np.bool_), words, "such roots")


def _inverse_rate(schedule: Trees, nodes: int) -> Fraction | None:
    """Return the sum over phases of shards / (weight of all trees * rate), of the slower one if they are concurrent.

    None without trees.
    """
    weights = [int(w.sum()) for w in np.split(schedule.weight, [schedule.reduce_trees])]
    used = [weight for weight in weights if weight]
    shards = schedule.collective.shards(nodes) if schedule.shard is None else sum(schedule.shard)
    if len(schedule.collective.movements) > 1 and not schedule.reduce_trees:
        shards *= nodes
    times = [shards / (weight * schedule.rate) for weight in used]
    if not times:
        return None
    return max(times) if schedule.concurrent else sum(times, Fraction(0))


def _height(schedule: Trees, compute: NDArray[np.bool_]) -> int:
    """Return the height of the highest in-tree plus that of the highest out-tree, of trees that are right.

    What a switch sends on counts with what it has received. Where they are concurrent it is the largest such sum of one
    root.
    """
    _, near, far = _oriented(schedule)
    nodes = schedule.topology.nodes
    above = np.arange(len(schedule) * nodes)
    above[schedule.tree * nodes + far] = schedule.tree * nodes + near
    steps = np.zeros(len(above), dtype=np.int64)
    steps[schedule.tree * nodes + far] = compute[schedule.src]
    while not np.array_equal(further := above[above], above):  # twice as far up, until all are at roots
        steps += steps[above]
        above = further
    depth = steps.reshape(len(schedule), nodes)
    heights = depth.max(axis=1, initial=0)
    roots = sorted(set(schedule.root.tolist())) if schedule.concurrent else []
    groups = [schedule.root == root for root in roots] or [np.ones(len(heights), dtype=np.bool_)]
    inward = np.arange(len(heights)) < schedule.reduce_trees
    return max(sum(int(heights[group & phase].max(initial=0)) for phase in (inward, ~inward)) for group in groups)
