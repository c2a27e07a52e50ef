"""Costs of concurrent groups on shared links, with proofs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.base.records import Result
from topodesign.base.units import format_factor
from topodesign.collectives import Collective, as_collective
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import Groups, Placement, group_collective
from topodesign.fabrics.part import Others, Some, select_part
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place, plain_fabric
from topodesign.optima.flows import FLOWS, best_flow
from topodesign.optima.fluid.packing import problem_in_groups
from topodesign.optima.forest.bottleneck import narrowest
from topodesign.optima.trees import best_allreduce
from topodesign.plans.chunk_ops import TREE_COLLECTIVES
from topodesign.solve.maxflow import compute_nodes, worst_ratio
from topodesign.topology.topology import Topology


@dataclass(frozen=True, repr=False)
class GroupPrice(Result):
    """The least time by bandwidth of concurrent groups.

    * ``bandwidth``: bandwidth factor y of all groups at once: the last is done after ``y M/B``, M the data of each
      group. It is the least that was found, and :attr:`claims` say among what it is the least that there is.
    * ``floor``: bandwidth factor that nothing goes below, whatever others and switches can do, by cuts around members.
    * ``in_turn``: of an allreduce: as a reduce-scatter and then an allgather; None for others, or if it is too large.
    """

    place: Fabric
    collective: Collective
    others: Others
    bandwidth: Fraction
    alone: Fraction  # the largest factor of a group that has all links to itself
    among: Scope
    bound: Fraction  # bandwidth factor that none of the ways goes below that the first claim names
    floor: Fraction
    in_turn: Fraction | None = None
    missed: str = ""  # what was not looked for

    KEYS = (
        key("place=place.name", "What it is called."),
        key("collective=collective.name", "What each group does."),
        key("groups=member_names", "The members of each."),
        key("others", "What nodes do that are in no group.", kind=("forward", "vanish")),
        "bandwidth",
        key("bandwidth_float=float(bandwidth)", "The same, rounded."),
        "alone",
        key("contention", "The one over the other."),
        "bound",
        key("proven"),
        "floor in_turn",
        key("claims", "What it is claimed to be the best of, and by which proof."),
    )
    ROW = "collective=collective.name groups=len(member_names) members=most_members bandwidth alone contention"

    @property
    def member_names(self) -> list[list[str]]:
        """The members of each group."""
        return [[self.place.names[node] for node in one.group or ()] for one in self.collective.single]

    @property
    def most_members(self) -> int:
        """How many the largest group has."""
        return max(map(len, self.member_names))

    @property
    def proven(self) -> bool:
        """Whether the bandwidth factor meets the bound."""
        return self.claims[0].proven

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on the bandwidth factor, joint and in sequence."""
        by = (
            "other nodes pass nothing on"
            if self.others == "vanish" and not _is_whole(self.place, self.collective)
            else ""
        )
        claims = [Claim.to_bound(Of.FACTOR, self.bandwidth, self.among, self.bound, by=by, missed=self.missed)]
        if self.among is not Scope.FLOWS:
            claims.append(
                Claim.to_bound(Of.FACTOR, self.bandwidth, Scope.SCHEDULES, self.floor, missed="by cuts alone")
            )
        if self.in_turn is not None and len(self.collective.single) == 1:  # of several one may begin while others end
            claims.append(Claim.to_bound(Of.FACTOR, self.in_turn, Scope.IN_TURN, self.in_turn, by=by))
        return tuple(claims)

    @property
    def contention(self) -> Fraction:
        """The slowdown against the slowest group alone."""
        return self.bandwidth / self.alone if self.alone else Fraction(1)

    def heading(self) -> str:
        """Return the price in a sentence."""
        sizes = sorted({len(one.group or ()) for one in self.collective.single})
        of = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        count = len(self.collective.single)
        groups = f"{count} groups of {of} nodes" if count > 1 else f"one group of {of} nodes"
        shared = ""
        if count > 1:
            shared = f"; alone a group has {self.alone}, so sharing links takes {float(self.contention):.4g} times that"
        return (
            f"{self.collective} in {groups}, others {self.others}: "
            f"{format_factor(self.bandwidth)}{shared}; {self.claims[0]}"
        )


def price_groups(
    place: PlaceLike,
    collective: Collective | str = "allreduce",
    group: Groups = (),
    *,
    root: str | int | Iterable[str | int] | None = None,
    others: Others = "forward",
    placement: Placement | None = None,
    without: Some = (),
) -> GroupPrice:
    """Compute the cost of a collective in concurrent groups.

    Parameters
    ----------
    place
        A topology or a fabric, the spec of one, a file, or a networkx graph.
    collective
        What every group does.
    group, placement
        The groups, and on which nodes ranks are, as :func:`topodesign.fabrics.groups.as_groups` takes them; all nodes
        are one group if none is given.
    root
        The root of each group, or ``first``.
    others
        Whether nodes outside a group ``forward`` its data or ``vanish``; switches always forward.
    without
        What has failed, as :func:`topodesign.select_part` takes it.

    Returns
    -------
    GroupPrice
        With the price of the slowest group alone beside it, and what is proven. Of one group of all nodes the allreduce
        is the best that is known, in which switches copy and add if the fabric says so; otherwise they only forward.

    Raises
    ------
    ParameterError
        If groups overlap, roots are missing or no members, or names are unknown.
    InfeasibleError
        If members of a group cannot reach each other, or the solver finds no exact solution.
    TooLargeError
        If there are too many groups and links for an exact solution.

    Examples
    --------
    >>> price_groups("torus(4,4)", "allgather", "4x4:0").bandwidth
    Fraction(3, 2)
    >>> print(price_groups("torus(4,4)", "all-to-all", "4x4:0").heading())
    all-to-all in 4 groups of 4 nodes, others forward: BW factor 2; alone a group has 3/4, so sharing links ...
    >>> mesh = price_groups("mesh(4,4)", "allreduce")
    >>> mesh.bandwidth, mesh.in_turn
    (Fraction(5, 2), Fraction(15, 4))

    References
    ----------
    Shahrokhi and Matula, The Maximum Concurrent Flow Problem (1990); ForestColl, section 5.
    """
    as_choice("others", others, ("vanish", "forward"))
    where = as_place(place)
    fabric = select_part(as_fabric(where), without=without)
    wanted = as_collective(collective)
    if not wanted.like(*TREE_COLLECTIVES, *FLOWS):
        known = ", ".join(map(str, (*TREE_COLLECTIVES, *FLOWS)))
        raise InfeasibleError(f"{wanted} in groups has no price; {known} have")
    wanted.check_root(root)
    done = group_collective(fabric, wanted, [fabric.compute] if group in ((), []) else group, placement, root)
    done.members(fabric.topology.nodes, fabric.topology.switches)
    price = _of_allreduce(fabric, done, others) if len(done.parts) > 1 else _of_one_phase(fabric, done, others)
    return price if isinstance(where, Fabric) else _over_all_ports(price, where.degree)


def in_turn_of(topology: Topology, collective: Collective, others: Others) -> Fraction:
    """Return the least bandwidth factor in groups, part after part."""
    return _in_turn(plain_fabric(topology), collective, others)


def degree_of(topology: Topology) -> int:
    """Return the largest capacity of a node, the unit of bandwidth factors."""
    nodes = [node for node in range(topology.nodes) if node not in topology.switches]
    return int(topology.out_ports[nodes].max()) if topology.switches else topology.degree


def _over_all_ports(price: GroupPrice, ports: int) -> GroupPrice:
    """Return a price in multiples of M/B over all ports.

    A link has the same share of B in every command.
    """
    more = Fraction(ports, degree_of(price.place.topology))
    return replace(
        price,
        bandwidth=more * price.bandwidth,
        alone=more * price.alone,
        bound=more * price.bound,
        floor=more * price.floor,
        in_turn=None if price.in_turn is None else more * price.in_turn,
    )


def _is_whole(fabric: Fabric, collective: Collective) -> bool:
    """Whether all nodes are one group."""
    return len(collective.members(fabric.topology.nodes, fabric.topology.switches)) == len(fabric.compute) and (
        len(collective.single) == 1
    )


class _GroupFactor(NamedTuple):
    """A bandwidth factor, its bound, and groups by kind."""

    bandwidth: Fraction
    bound: Fraction
    kinds: Sequence[int] = ()


def bandwidth_of(fabric: Fabric, collective: Collective, others: Others) -> Fraction:
    """Return the least bandwidth factor found for groups."""
    if len(collective.parts) == 1:
        return _in_one(fabric, collective, others).bandwidth
    if _is_whole(fabric, collective) and not fabric.shared:
        return degree_of(fabric.topology) * fabric.unit / best_allreduce(fabric).bandwidth
    try:
        return _solve_trees(fabric, collective, others).bandwidth
    except TooLargeError:
        return _in_turn(fabric, collective, others)


def _in_one(fabric: Fabric, collective: Collective, others: Others) -> _GroupFactor:
    """Return the time of a one-phase collective over forwarders."""
    if collective.like(*FLOWS):
        price = degree_of(fabric.topology) * _price_routed(fabric, collective, others)
        return _GroupFactor(price, price, range(len(collective.single)))
    if _is_whole(fabric, collective) and not fabric.topology.switches and not fabric.shared:  # cuts say all (Edmonds)
        with contextlib.suppress(InfeasibleError):  # which the program says by names
            price = _floor(fabric.topology, collective)
            return _GroupFactor(price, price, (0,))
    plain = replace(fabric, multicast=frozenset(), aggregation=frozenset(), memory=frozenset())
    return _solve_trees(plain, collective, others)


def _price_routed(fabric: Fabric, collective: Collective, others: Others) -> Fraction:
    """Return the time of a routed collective of unit data."""
    inside = others == "vanish"
    alone = inside and not fabric.topology.switches and not fabric.shared  # the links of groups have none in common
    times = []
    for one in collective.single if alone else (collective,):
        shards = one.shards(len(one.members(fabric.topology.nodes, fabric.topology.switches)))
        times.append(best_flow(fabric, one, {}, inside=inside).time / shards)
    return max(times)


def _in_turn(fabric: Fabric, collective: Collective, others: Others) -> Fraction:
    """Return the time of a collective's phases in sequence."""
    return sum((_in_one(fabric, part, others).bandwidth for part in collective.parts), Fraction(0))


def _solve_trees(fabric: Fabric, collective: Collective, others: Others) -> _GroupFactor:
    """Return what a collective over trees takes."""
    problem = problem_in_groups(fabric, collective, others)
    kinds = range(len(collective.single)) if collective.rooted else sorted(set(problem.symmetry.alike.tolist()))
    if not problem.sources:  # one node a group
        return _GroupFactor(Fraction(0), Fraction(0), kinds)
    found = problem.solve(cheapest=False)
    scale = degree_of(fabric.topology) * Fraction(problem.network.scale, problem.shards)
    return _GroupFactor(scale * found.time, scale * found.time_bound, kinds)


def _price_alone(fabric: Fabric, collective: Collective, others: Others, found: _GroupFactor) -> Fraction:
    """Return the time of the slowest group with all links."""
    single = collective.single
    if len(single) == 1:
        return found.bandwidth
    return max(bandwidth_of(fabric, single[team], others) for team in found.kinds)


def _of_one_phase(fabric: Fabric, collective: Collective, others: Others) -> GroupPrice:
    among = Scope.FLOWS
    found = _in_one(fabric, collective, others)
    if not collective.like(*FLOWS):
        among = Scope.over_trees(capable=False, members=not _is_whole(fabric, collective))
    alone, price = _price_alone(fabric, collective, others, found), found.bandwidth
    floor = price if among is Scope.FLOWS else _floor(fabric.topology, collective)
    return GroupPrice(fabric, collective, others, price, alone, among, price, floor)


def _of_allreduce(fabric: Fabric, collective: Collective, others: Others) -> GroupPrice:
    """Return the price of an allreduce, joint if not too large."""
    floor = _floor(fabric.topology, collective)
    if _is_whole(fabric, collective) and not fabric.shared:
        best = best_allreduce(fabric)
        full = degree_of(fabric.topology) * fabric.unit
        price, bound, in_turn = (full / rate for rate in (best.bandwidth, best.bound, best.composed))
        return GroupPrice(fabric, collective, others, price, price, best.among, bound, floor, in_turn, best.missed)
    among = Scope.over_trees(capable=bool(fabric.multicast | fabric.aggregation), members=True)
    turns: Fraction | None = None
    with contextlib.suppress(TooLargeError):
        turns = _in_turn(fabric, collective, others)
    try:
        found = _solve_trees(fabric, collective, others)
        alone = _price_alone(fabric, collective, others, found)
    except TooLargeError:
        if turns is None:
            raise
        missed = "one after the other; to do both at once has too many unknowns to prove"
        return GroupPrice(fabric, collective, others, turns, turns, among, floor, floor, turns, missed)
    missed = "trees through some of many switches were not looked for"
    bound = max(found.bound, floor)
    return GroupPrice(fabric, collective, others, found.bandwidth, alone, among, bound, floor, turns, missed)


def _floor(topology: Topology, collective: Collective) -> Fraction:
    """Return the bandwidth factor bound by cuts of groups."""
    return degree_of(topology) * slowest_cut(topology, collective)


def slowest_cut(topology: Topology, collective: Collective) -> Fraction:
    """Return the longest crossing time of a group's cut."""
    return max(_narrowest(topology, one) for one in collective.single)


def _narrowest(topology: Topology, one: Collective) -> Fraction:
    """Return the crossing time of one group's narrowest cut."""
    members = one.members(topology.nodes, topology.switches)
    if len(members) < 2:
        return Fraction(0)
    rest = frozenset(range(topology.nodes)) - frozenset(members.tolist())
    graph = Topology.from_arrays(topology.nodes, topology.src, topology.dst, topology.capacity, switches=rest)
    if len(one.parts) > 1:
        return 1 / narrowest(graph)
    nodes = compute_nodes(graph)
    sizes = (nodes == one.root).astype(np.int64) if one.rooted else np.ones(len(nodes), dtype=np.int64)
    way = graph.transpose() if one.reduces else graph
    return worst_ratio(way, way.capacity, sizes) / int(sizes.sum())
