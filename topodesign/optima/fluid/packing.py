"""A mixture of trees as a plan: one image of every tree per root.

The optimum is a mixture whose trees stand for all their images under the automorphisms, which may be more than can be
counted. A plan has one image for each root, so its links are not loaded alike of themselves; weights that make them so
are found by the same decomposition with the limits told apart, which begins with the trees of the optimum. Of
every tree it tries images that leave the root where it is, too (section 5.2, the functions pi).

Trees of a plan branch at nodes alone as long as that is no slower, since no runtime can tell memory or a switch to copy
or to add; where it is, they go through those that can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, Collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import Others
from topodesign.optima.fluid.decomposition import Column, Decomposition, Progress, Source
from topodesign.optima.fluid.network import network_of
from topodesign.optima.fluid.problem import Problem, problem_of, sum_places
from topodesign.optima.fluid.symmetry import Images, Symmetry, find_symmetry
from topodesign.plans.build import build_ways
from topodesign.plans.chunk_ops import MAX_WEIGHT, count_shards, find_inverse_rate, find_loads, find_relays
from topodesign.plans.flow import Flow

_ROUNDS = 600  # without an exact solution, after which the best that was found will do


class Packing(NamedTuple):
    """A tree schedule, its time, and a lower bound, in blocks a unit."""

    trees: Flow
    time: Fraction
    bound: Fraction

    @property
    def claim(self) -> Claim:
        """Claim on the time."""
        among = Scope.over_trees(
            capable=len(find_relays(self.trees)) > 0, members=self.trees.collective.group is not None
        )
        return Claim.to_bound(Of.TIME, self.time, among, self.bound)


class _TreeImage(NamedTuple):
    """An image of a tree, with its units of the root's share."""

    root: int
    weight: int
    adds: bool
    edges: tuple[tuple[int, ...], ...]


def packing(
    fabric: Fabric,
    collective: Collective,
    *,
    units: int | None = None,
    spared: bool = True,
    others: Others = "forward",
    sizes: tuple[int, ...] | None = None,
    listener: Callable[[Progress], None] | None = None,
) -> Packing:
    """Return the fastest trees of a collective over few links.

    ``units`` are the parts that the data of a root are cut into at most, to which weights are rounded; ``spared`` says
    whether trees are of nodes alone where that is no slower; ``others`` what nodes do that are none of a group;
    ``sizes`` are those of the shards of an allgather or a reduce-scatter.
    """

    def asked(where: Fabric) -> Problem:
        if collective.group is not None:
            return problem_in_groups(where, collective, others, costs=dict.fromkeys(fabric.classes, 1))
        return problem_of(where, collective, costs=dict.fromkeys(fabric.classes, Fraction(1)), sizes=sizes)

    problem = asked(fabric)
    if not problem.sources:
        raise InfeasibleError("groups of one node send nothing")
    if spared and fabric.multicast | fabric.aggregation:
        bare = replace(fabric, multicast=frozenset(), aggregation=frozenset(), memory=frozenset())
        plain = asked(bare)
        least = plain.solve(cheapest=False, listener=listener).time_bound
        if problem.solve(cheapest=False, listener=listener).time >= least:
            problem = plain
    best = problem.solve(cheapest=True, listener=listener)
    images = Images(problem.symmetry)
    used = list(range(len(problem.sources)))
    if len(problem.teams) > 1:  # roots in groups are many, and most of them have no tree
        pairs = {problem.sources[column.source].pair for column in best.columns}
        used = [at for at in used if problem.sources[at].pair is None or problem.sources[at].pair in pairs]
    problem = replace(problem, sources=tuple(problem.sources[at] for at in used))
    apart = Decomposition(
        problem.sources,
        images,
        problem.shards,
        listener=listener,
        floor=best.time_bound,
        teams=problem.teams,
        most=_ROUNDS,
    )
    for column in best.columns:
        apart.enter(used.index(column.source), column.tree)
    found = apart.solve(cheapest=False)
    whole = _whole(found.columns, list(found.weights), problem, units)
    sent = [
        image
        for column, weight in zip(found.columns, whole, strict=True)
        if weight
        for image in _images(problem, column, weight)
    ]
    trees = _trees(problem, sent)
    time = find_inverse_rate(trees) * problem.shards / count_shards(trees)  # to move a shard of every root
    return Packing(trees, time, best.time_bound * problem.network.scale)


def _whole(columns: tuple[Column, ...], weights: list[Fraction], problem: Problem, units: int | None) -> list[int]:
    """Return proportional integer weights, as near as units allow."""
    common = math.lcm(*(weight.denominator for weight in weights))
    exact = [int(weight * common) for weight in weights]
    divisor = math.gcd(*exact)
    exact = [weight // divisor for weight in exact]
    total = dict.fromkeys(range(len(problem.sources)), 0)
    for column, weight in zip(columns, exact, strict=True):
        total[column.source] += weight
    most = max(total.values())
    if most <= (units or MAX_WEIGHT):
        return exact
    if units is None:
        raise TooLargeError(f"the best mixture cuts data into {most} parts; say with --set chunks= how many will do")
    rounded = [0] * len(exact)
    for at, whole in total.items():
        target = max(1, round(Fraction(whole * units, most))) if whole else 0
        mine = [place for place, column in enumerate(columns) if column.source == at]
        for place in mine:
            rounded[place] = exact[place] * target // whole
        by_rest = sorted(mine, key=lambda place: -(exact[place] * target % whole))
        for place in by_rest[: target - sum(rounded[place] for place in mine)]:
            rounded[place] += 1
    return rounded


def _images(problem: Problem, column: Column, weight: int) -> list[_TreeImage]:
    """Return the images of a tree for all its roots."""
    source = problem.sources[column.source]
    adds = source.network.src is not problem.network.src
    return [
        _TreeImage(
            int(order[source.root]), weight, adds, tuple(tuple(order[list(e)].tolist()) for e in column.tree.edges)
        )
        for order in problem.symmetry.movers(source.point).values()
    ]


def _trees(problem: Problem, sent: list[_TreeImage]) -> Flow:
    """Return the tree schedule of images, in-trees first and reversed."""
    both = problem.collective.like(ALLREDUCE)
    inward = [one._replace(edges=tuple(edge[::-1] for edge in reversed(one.edges))) for one in sent if one.adds]
    every = inward + [one for one in sent if not one.adds]
    shard = problem.sizes
    senders = {edge[0] for one in every for edge in one.edges}
    if both and senders <= set(problem.network.nodes.tolist()):  # otherwise shares are what comes of it
        share = dict.fromkeys(problem.fabric.compute, 0)
        for one in inward:
            share[one.root] += one.weight
        groups = problem.network.teams or (problem.fabric.compute,)
        even = all(len({share[node] for node in group}) == 1 for group in groups)
        shard = None if even else tuple(share.values())
    ways = [(one.root, one.weight, one.edges) for one in every]
    made = build_ways(
        problem.fabric.topology,
        problem.collective,
        ways,
        reduce_trees=len(inward),
        shard=shard,
        concurrent=both,
    )
    return replace(made, rate=_rate(problem, made))


def _rate(problem: Problem, trees: Flow) -> Fraction:
    """Return the largest rate at which all limits are kept."""
    load = find_loads(trees).sum(axis=0)
    bounds = [Fraction(bound, problem.network.scale) for bound in problem.network.bounds]
    carried: list[int] = problem.network.on_limits(load).tolist()
    return min(bound / many for bound, many in zip(bounds, carried, strict=True) if many)


MAX_SOURCES = 192  # sorts of trees: of as many a problem takes a minute or two


def problem_in_groups(
    fabric: Fabric, collective: Collective, others: Others = "forward", *, costs: Mapping[str, int] | None = None
) -> Problem:
    """Return the fluid program over trees, in one group or several.

    Each group has trees of its own over its members and the switches; other nodes pass data on or do not. Where
    automorphisms exchange groups one of each kind is solved, and its columns stand for all.

    Raises TooLargeError if too many roots in groups are unlike.
    """
    single = collective.single
    symmetry = _symmetry(fabric, collective, costs)
    base = symmetry.network
    groups = [np.array(team) for team in base.teams]
    compute = frozenset(fabric.compute)
    shards, both = collective.shards(len(base.nodes)), collective.like(ALLREDUCE)
    sources: list[Source] = []
    for team in np.unique(symmetry.alike).tolist():
        if len(groups[team]) < 2:
            continue
        rest = compute.difference(groups[team].tolist())
        able = ~np.isin(np.arange(base.vertices), list(rest))
        own = replace(
            base,
            nodes=groups[team],
            copies=base.copies & able,
            adds=base.adds & able,
            closed=rest if others == "vanish" else frozenset(),
        )
        back = own.reverse()
        ways = (back, own) if both else (own if collective.like(ALLGATHER, BROADCAST) else back,)
        root = single[team].root
        places = sum_places(own) if both else groups[team] if root is None else np.array([root])
        amount = shards // single[team].shards(len(groups[team]))
        alike = symmetry.point_of[[own.point(vertex, team) for vertex in places.tolist()]]
        for first in np.unique(alike).tolist():
            vertex, many = int(places[alike == first][0]), int(np.count_nonzero(symmetry.point_of == first))
            pair = len(sources) // 2 if both else None
            sources += [
                Source(way, vertex, many, pair, amount=amount, team=team, single=both and not way.copies[vertex])
                for way in ways
            ]
    if len(sources) > MAX_SOURCES:
        raise TooLargeError(f"{len(sources)} trees that none is like are too many to prove; take fewer or like groups")
    many_teams = np.bincount(symmetry.alike, minlength=len(groups)).tolist()
    teams = tuple(many if len(group) > 1 else 0 for many, group in zip(many_teams, groups, strict=True))
    return Problem(fabric, collective, base, symmetry, tuple(sources), 1, teams)


def _symmetry(fabric: Fabric, collective: Collective, costs: Mapping[str, int] | None = None) -> Symmetry:
    """Return the automorphisms of a fabric that keep or swap groups."""
    base = network_of(fabric, costs)
    teams = [one.members(base.vertices, fabric.topology.switches) for one in collective.single]
    base = replace(base, nodes=np.sort(np.concatenate(teams)), teams=tuple(tuple(team.tolist()) for team in teams))
    roots = [one.root for one in collective.single if one.root is not None]
    return find_symmetry(base, fixed=roots, topology=fabric.topology)
