"""The simulator of tree schedules: how long a collective takes that flows through trees in chunks.

Every tree has its share of every link on its way, weight times rate, for itself; the verifier has checked that these
shares fit. Its data is cut into C chunks that follow one another. A chunk takes ``L + bits / share`` over a tree edge,
where L is what :mod:`topodesign.base.latency` says of a step: of the port that starts most messages, one to each node
that it sends to, and of the edge through most switches. So a tree of height h is done after ``(h + C - 1) * (L + B /
C)``, with B the time by bandwidth alone, the same for all trees. What a switch sends that adds or copies counts with
what it receives. Times are exact.

Where links have latencies or bandwidths of their own, a chunk takes over a tree edge the latency of its slowest route
and ``bits / share`` as often as the slowest link of its routes is slower than its capacity says.

The two phases of an allreduce follow one another. Concurrent phases count as one: chunk c of every tree of a root is of
the same part c of the shard, which goes up the in-trees and then down the out-trees. A one-shot allreduce has one
phase, in which every node sends all of its data. Several groups are done when the last of them is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from topodesign.base.errors import ParameterError
from topodesign.base.latency import Latency
from topodesign.plans.orbit_trees import OrbitTrees
from topodesign.plans.paths import Paths
from topodesign.plans.plan import Plan
from topodesign.plans.stages import Stages
from topodesign.plans.time.chunked import (
    Chain,
    Chains,
    OwnLinks,
    Phase,
    Pipeline,
    PipelineSimulation,
    check_chunks,
    conditions_of_pipelines,
    in_phases,
    run_paths,
)
from topodesign.plans.time.conditions import Conditions
from topodesign.plans.time.losses import Link, Loss
from topodesign.plans.trees import Trees
from topodesign.topology.symmetry import map_to_representatives


def run_trees(plan: Plan, trees: Trees | OrbitTrees, now: Conditions) -> PipelineSimulation:
    """Time the trees of a plan."""
    return simulate_trees(trees, **conditions_of_pipelines(plan, now))


def simulate_trees(
    trees: Trees | OrbitTrees,
    *,
    latency: Latency,
    size: Fraction,
    unit: Fraction,
    chunks: int | None = None,
    failed_links: Iterable[Link] = (),
    own: OwnLinks | None = None,
) -> PipelineSimulation:
    """Time a tree schedule.

    ``unit`` is the bandwidth of one unit of capacity in bits per second. None for chunks takes as many as are
    fastest, of at least a byte each. With latencies of links a chunk takes over a tree edge that of all links of
    its slowest route.
    """
    check_chunks(latency, size, unit, chunks, "the data of a tree")
    failed = tuple(sorted(set(failed_links)))
    folded = None if failed or trees.folded is None or not _alike(trees.folded, own) else trees.folded
    schedule: Trees = trees.unfold() if folded is None else folded.own
    happens, loss = _lose(schedule, failed)
    groups = []
    for number, one in enumerate(schedule.alone()):
        goes = happens[schedule.team[schedule.tree] == number]
        starts = _starts(one, goes, folded)
        unlike = None if own is None else (own, _edges(one, own))
        phases = _phases(one, goes, Fraction(size), Fraction(unit), (starts, folded), unlike=unlike)
        chains = None if unlike is None else _chains(one, goes, unlike[1], (starts - 1) * latency.gap)
        groups.append(in_phases("in trees of", phases, chains, latency, chunks, size=Fraction(size), loss=loss))
    last = max(groups, key=lambda one: one.time)
    busy = [np.zeros(len(schedule.topology.src)), *(one.utilisation * float(one.time) for one in groups if one.phases)]
    return replace(last, utilisation=np.sum(busy, axis=0) / float(last.time or 1))


def _alike(folded: OrbitTrees, own: OwnLinks | None) -> bool:
    """Whether all links of an orbit are alike, so that images take as long as what they are of."""
    if own is None:
        return True
    links = list(zip(own.latency, own.slowness, strict=True))
    return all(links[at] == one for at, one in zip(folded.link_orbits.tolist(), links, strict=True))


def _edges(schedule: Trees, own: OwnLinks) -> list[tuple[Fraction, Fraction]]:
    """Return of every tree edge the latency and the slowness of its slowest routes."""
    route, link = schedule.hop_links()
    late, slow = own.of_routes(route, link, len(schedule.route_edge))
    found = [(Fraction(0), Fraction(0))] * len(schedule.tree)
    for edge, x, f in zip(schedule.route_edge.tolist(), late, slow, strict=True):
        found[edge] = max(found[edge][0], x), max(found[edge][1], f)
    return found


def _phases(
    schedule: Trees,
    happens: NDArray[np.bool_],
    size: Fraction,
    unit: Fraction,
    whole: tuple[int, OrbitTrees | None],
    *,
    unlike: tuple[OwnLinks, Sequence[tuple[Fraction, Fraction]]] | None,
) -> list[Phase]:
    """Return what each phase does; ``whole`` are the messages of the busiest port, and what trees are folded in.

    ``unlike`` are values of links and of edges where these are not alike.
    """
    starts, folded = whole
    inward = np.arange(len(schedule)) < schedule.reduce_trees
    phases = []
    switches, images = _switches(schedule, happens), Fraction(1) if folded is None else folded.images
    for trees in [inward | ~inward] if schedule.concurrent else [inward, ~inward]:
        edges, weight = happens & trees[schedule.tree], schedule.weight[trees]
        if edges.any():
            times = 2 if schedule.concurrent else len(schedule.compute_nodes) if schedule.one_shot else 1
            per_weight = size * times / (int(weight.sum()) * images)
            carried = _link_loads(schedule, edges)
            carried = carried if folded is None else folded.spread(carried)
            load = carried * float(schedule.rate) / schedule.topology.capacity
            busy = 8 * per_weight / (schedule.rate * unit)
            way = _longest(schedule, edges)
            height = sum(node not in schedule.topology.switches for node in way[:-1])
            sending, slowest = load * float(busy), Fraction(1)
            if unlike is not None:
                sending = sending * np.array([float(one) for one in unlike[0].slowness])
                slowest = max(unlike[1][edge][1] for edge in np.flatnonzero(edges).tolist())
            pipeline = Pipeline(height, starts, switches, busy * slowest)
            phases.append(Phase(way, pipeline, per_weight * int(weight.min()), sending, busy))
    return phases


def _starts(schedule: Trees, happens: NDArray[np.bool_], folded: OrbitTrees | None) -> int:
    """Return how many messages the busiest port of a node starts at most: one to each node or switch that takes it.

    Of two phases one after the other the larger number counts for both, so that a step takes as long in both.
    """
    inward = schedule.tree < schedule.reduce_trees
    halves = [inward | ~inward] if schedule.concurrent else [inward, ~inward]
    return max(_starts_at_once(schedule, happens & half, folded) for half in halves)


def _starts_at_once(schedule: Trees, happens: NDArray[np.bool_], folded: OrbitTrees | None) -> int:
    own = happens & ~np.isin(schedule.src, sorted(schedule.topology.switches))
    route = np.flatnonzero(own[schedule.route_edge])
    edge, first = schedule.route_edge[route], schedule.hop_start[:-1][route]
    nodes = schedule.topology.nodes
    src, through, dst = schedule.src[edge], schedule.hop[first + 1], schedule.dst[edge]
    if folded is not None:  # a port of a representative starts what all images together do
        src, through, dst = map_to_representatives(folded.symmetry, src, through, dst)
    ports = np.unique((src * nodes + through) * nodes + dst) // nodes
    return int(np.unique(ports, return_counts=True)[1].max(initial=1))


def _switches(schedule: Trees, happens: NDArray[np.bool_]) -> int:
    """Return how many switches data pass at most from one node to the next, those that add or copy included."""
    between = np.zeros(len(schedule.tree), dtype=np.int64)
    np.maximum.at(between, schedule.route_edge, np.diff(schedule.hop_start) - 2)
    relays = schedule.topology.switches & set(map(int, schedule.relays))
    if not relays:
        return int(between[happens].max(initial=0))
    most, behind = 0, dict[tuple[int, int], int]()
    columns = (schedule.tree, schedule.src, schedule.dst, between)
    for tree, src, dst, count in zip(*(column[happens].tolist() for column in columns), strict=True):
        root = int(schedule.root[tree])
        at, to = (-1 - root if node == root else tree for node in (src, dst))  # in-trees go on as out-trees there
        passed = count + (1 + behind.get((at, src), 0) if src in relays else 0)
        if dst in relays:
            behind[to, dst] = max(passed, behind.get((to, dst), 0))
        else:
            most = max(most, passed)
    return most


def _longest(schedule: Trees, happens: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the nodes on the longest chain of edges, among those that happen.

    A chain stays in one tree, or goes up an in-tree and then down an out-tree of the same root.
    """
    level = np.zeros((len(schedule), schedule.topology.nodes), dtype=np.int64)
    before: dict[tuple[int, int], tuple[int, int]] = {}
    last: dict[int, tuple[int, int]] = {}  # root to the in-tree that its data come over last
    rows = np.flatnonzero(happens)
    edges = zip(schedule.tree[rows].tolist(), schedule.src[rows].tolist(), schedule.dst[rows].tolist(), strict=True)
    for tree, src, dst in edges:
        begins = tree >= schedule.reduce_trees and src == schedule.root[tree]
        at, to = last.get(src, (tree, src)) if begins else (tree, src), (tree, dst)
        reaches = level[at] + (src not in schedule.topology.switches)
        if to not in before or reaches > level[to]:
            level[to], before[to] = reaches, at
        if tree < schedule.reduce_trees and dst == schedule.root[tree]:
            last[dst] = max(last.get(dst, to), to, key=level.__getitem__)
    level[:, sorted(schedule.topology.switches)] = -1
    at = divmod(int(level.argmax()), schedule.topology.nodes)
    way = [at[1]]
    while at in before:
        at = before[at]
        way.append(at[1])
    return tuple(way[::-1])


def _chains(
    schedule: Trees, happens: NDArray[np.bool_], values: Sequence[tuple[Fraction, Fraction]], wait: Fraction
) -> list[Chains]:
    """Return the chains of every phase that has edges, from leaf to root or from root to leaf, or one after the other.

    ``values`` are latency and slowness of edges, and ``wait`` is how long the last message of the busiest port waits
    for those before it. What a switch sends that adds or copies is of no length, but takes the latency of its links.
    """
    nodes, relay = schedule.topology.nodes, np.isin(schedule.src, schedule.relays)
    kinds = list(dict.fromkeys(zip(values, relay.tolist(), strict=True)))
    numbers = {kind: number for number, kind in enumerate(kinds)}
    kind = np.array([numbers[one] for one in zip(values, relay.tolist(), strict=True)], dtype=np.int64)[happens]
    late = [x + (0 if passes else wait) for (x, _), passes in kinds]
    inward = schedule.tree < schedule.reduce_trees
    near = (np.where(inward, schedule.dst, schedule.src) + schedule.tree * nodes)[happens]
    far = (np.where(inward, schedule.src, schedule.dst) + schedule.tree * nodes)[happens]
    # How many edges of each kind there are between the root and a node is a number: a digit for each kind.
    base = nodes + 1
    digits = np.array([base**at for at in range(len(kinds))], dtype=np.int64 if base ** len(kinds) < 2**63 else object)
    met = np.zeros(len(schedule) * nodes, dtype=digits.dtype)
    for _ in range(nodes):
        before = met[far]
        met[far] = met[near] + digits[kind]
        if np.array_equal(before, met[far]):
            break
    found: dict[tuple[bool, int], set[Chain]] = {}
    chains: dict[int, tuple[Chain, ...]] = {}
    for tree, many in sorted(set(zip((far // nodes).tolist(), met[far].tolist(), strict=True))):
        if many not in chains:
            counts = [(many // base**at % base, one) for at, one in enumerate(late)]
            sends = sum(
                (n * f for (n, _), ((_, f), passes) in zip(counts, kinds, strict=True) if not passes), Fraction(0)
            )
            slow = [(x, f) for (n, x), ((_, f), _) in zip(counts, kinds, strict=True) if n]
            latency = sum((n * x for n, x in counts), Fraction(0))
            chains[many] = Chains.of(Chains.along(sends, latency, slow)).each
        found.setdefault((tree < schedule.reduce_trees, int(schedule.root[tree])), set()).update(chains[many])
    kept = {key: Chains.of(those) for key, those in found.items()}
    if schedule.concurrent:
        nothing = Chains(((Fraction(0),) * 4,))
        roots = sorted({root for _, root in kept})
        both = [kept.get((True, root), nothing).then(kept.get((False, root), nothing)) for root in roots]
        return [Chains.of(chain for those in both for chain in those.each)] if both else []
    halves = [[those for (adds, _), those in kept.items() if adds == want] for want in (True, False)]
    return [Chains.of(chain for those in half for chain in those.each) for half in halves if half]


def _lose(schedule: Trees, failed: tuple[Link, ...]) -> tuple[NDArray[np.bool_], Loss | None]:
    """Return which tree edges still carry data, and who never has what.

    An edge carries nothing if one of its routes has failed. In an out-tree all below it is lost; in an in-tree what has
    been added up below it is, while other sums go on.
    """
    happens = np.ones(len(schedule.tree), dtype=np.bool_)
    if not failed:
        return happens, None
    route, link = schedule.hop_links()
    down = np.zeros(len(schedule.tree), dtype=np.bool_)
    for u, v in failed:
        broken = np.flatnonzero((schedule.topology.src == u) & (schedule.topology.dst == v))
        if not len(broken):
            raise ParameterError(f"the topology has no link {u}->{v}")
        down[schedule.route_edge[route[link == broken[0]]]] = True
    lost = np.zeros((len(schedule), schedule.topology.nodes), dtype=np.bool_)
    edges = list(zip(schedule.tree.tolist(), schedule.src.tolist(), schedule.dst.tolist(), strict=True))
    first_out = int(np.searchsorted(schedule.tree, schedule.reduce_trees))
    for row in range(first_out, len(edges)):
        tree, src, dst = edges[row]
        happens[row] = not (down[row] or lost[tree, src])
        lost[tree, dst] |= not happens[row]
    for row in reversed(range(first_out)):
        tree, src, dst = edges[row]
        happens[row] = not down[row]
        lost[tree, src] |= down[row] or lost[tree, dst]
    if (
        schedule.collective.reduces and schedule.collective.copies
    ):  # a shard that is not complete at its owner nobody ever has
        lost[: schedule.reduce_trees] = lost[: schedule.reduce_trees].any(axis=1, keepdims=True)
    lost &= schedule.collective.teams(schedule.topology.nodes, schedule.topology.switches) == schedule.team[:, None]
    pairs = {(int(schedule.root[tree]), node) for tree, node in np.argwhere(lost).tolist()}
    table = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    reduces_only = not schedule.collective.copies
    return happens, Loss(failed, np.flatnonzero(~happens), table, reduces_only)


def _link_loads(schedule: Trees, happens: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the weight that every link carries in all."""
    route, link = schedule.hop_links()
    carried = happens[schedule.route_edge[route]]
    loads = np.zeros(len(schedule.topology.src))
    np.add.at(loads, link[carried], schedule.route_weight[route[carried]])
    return loads


def run_stages(plan: Plan, stages: Stages, now: Conditions) -> PipelineSimulation:
    """Time stages, each as trees of groups at once, with as many chunks as are fastest, when the one before is over."""
    if now.failed:
        raise ParameterError("what failed links break is not reported for stages; make the plan again with --fail")
    asked = conditions_of_pipelines(plan, now)
    runs = []
    for number, trees in enumerate(stages.each):
        runs.append(simulate_trees(trees, **asked | {"size": now.size * stages.share(number)}))
    time = sum((one.time for one in runs), Fraction(0))
    busy = np.sum([one.utilisation * float(one.time) for one in runs], axis=0)
    return replace(
        runs[0],
        time=time,
        utilisation=busy / float(time or 1),
        how="in stages of",
        phase_ends=tuple(accumulate(one.time for one in runs)),
        chunks=max(one.chunks for one in runs),
        optimum=sum((one.optimum for one in runs), Fraction(0)),
        phases=tuple(phase for one in runs for phase in one.phases),
        smallest=min(one.smallest for one in runs),
        size=now.size,
        critical=tuple(way for one in runs for way in one.critical),
    )


def run_chunks(plan: Plan, now: Conditions) -> PipelineSimulation:
    """Time a plan in chunks under some conditions."""
    moved = plan.movement
    if isinstance(moved, Stages):
        return run_stages(plan, moved, now)
    if isinstance(moved, Paths):
        return run_paths(plan, moved, now)
    return run_trees(plan, plan.moving(Trees) if moved.folded is None else plan.moving(OrbitTrees), now)
