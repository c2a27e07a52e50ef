"""What a collective costs in several groups at once, with the links that they share: exact, with proofs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from topodesign.base.arguments import as_choice
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.records import Result
from topodesign.collectives import Collective, as_collective
from topodesign.collectives.collective import EVERYONE
from topodesign.expand.places import PlaceLike, as_fabric
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.groups import Groups, Placement, as_groups, roots_of
from topodesign.fabrics.part import Others
from topodesign.pricing.flows.demands import UnreachableError, demand_flow
from topodesign.pricing.flows.shared import Multicast, SharedLinks, share_links
from topodesign.topology.topology import Topology


@dataclass(frozen=True, repr=False)
class GroupPrice(Result):
    """The least time by bandwidth of a collective in groups, which all run at once.

    Attributes
    ----------
    place, collective
        Where and what, with its groups.
    others
        Whether nodes outside a group forward its data.
    bandwidth
        Bandwidth factor y of all groups together: the last is done after ``y M/B``, M the data of each group. Nothing
        is faster that routes blocks (all-to-all, scatter, gather), or over spanning trees of the groups (the others).
    alone
        The largest that one group has while the others are silent.
    """

    place: Fabric
    collective: Collective
    others: Others
    bandwidth: Fraction
    alone: Fraction

    @property
    def contention(self) -> Fraction:
        """How many times as long the groups take together as the slowest would alone."""
        return self.bandwidth / self.alone if self.alone else Fraction(1)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row."""
        return [
            {
                "collective": self.collective.name,
                "groups": len(self.collective.single),
                "members": max(len(one.group or ()) for one in self.collective.single),
                "bandwidth": self.bandwidth,
                "alone": self.alone,
                "contention": self.contention,
            }
        ]

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
            f"{self.collective} in {groups}, others {self.others}: y = {self.bandwidth} = "
            f"{float(self.bandwidth):.6f}, proven{shared}"
        )

    def record(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "place": self.place.name,
            "collective": self.collective.name,
            "groups": [list(map(self.place.names.__getitem__, one.group or ())) for one in self.collective.single],
            "others": self.others,
            "bandwidth": str(self.bandwidth),
            "bandwidth_float": float(self.bandwidth),
            "alone": str(self.alone),
            "contention": str(self.contention),
        }


def price_groups(
    place: PlaceLike,
    collective: Collective | str = "allreduce",
    group: Groups = (),
    *,
    root: str | int | Iterable[str | int] | None = None,
    others: Others = "forward",
    placement: Placement | None = None,
) -> GroupPrice:
    """Price a collective in several groups of nodes that run at the same time on shared links.

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

    Returns
    -------
    GroupPrice
        Exact, with the price of the slowest group alone beside it.

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
    all-to-all in 4 groups of 4 nodes, others forward: y = 2 = 2.000000, proven; alone a group has 3/4, so sharing ...

    References
    ----------
    Shahrokhi and Matula, The Maximum Concurrent Flow Problem (1990); ForestColl, section 5.
    """
    as_choice("others", others, ("vanish", "forward"))
    fabric = as_fabric(place)
    groups = as_groups(fabric, group, placement) or (tuple(fabric.compute),)
    wanted = as_collective(collective)
    if wanted.rooted != (root is not None):
        what = "needs a root in each group" if wanted.rooted else "has no root; leave it out"
        raise ParameterError(f"{wanted} {what}")
    done = wanted.within(groups, None if root is None else roots_of(fabric, root, groups))
    done.members(fabric.topology.nodes, fabric.topology.switches)
    together = bandwidth_of(fabric.topology, done, others)
    alone = together
    if done.groups is not None:
        alone = max(bandwidth_of(fabric.topology, one, others) for one in done.single)
    return GroupPrice(fabric, done, others, together, alone)


def bandwidth_of(topology: Topology, collective: Collective, others: Others) -> Fraction:
    """Return the least bandwidth factor of a collective with groups, that of its parts added up.

    Raises
    ------
    InfeasibleError, TooLargeError
        As :func:`price_groups`.
    """
    return sum((_of_part(topology, part, others) for part in collective.parts), Fraction(0))


def _of_part(topology: Topology, collective: Collective, others: Others) -> Fraction:
    nodes = [node for node in range(topology.nodes) if node not in topology.switches]
    degree = int(topology.out_ports[nodes].max()) if topology.switches else topology.degree
    if others == "vanish" and not topology.switches:  # then groups have no links in common
        return max(_time(_inside(topology, one), one, degree) for one in collective.single)
    return _time(topology, collective, degree, inside=others == "vanish")


def _time(topology: Topology, collective: Collective, degree: int, *, inside: bool = False) -> Fraction:
    """Return the time of a collective of one movement as a factor y, of nodes of this degree.

    With ``inside`` nothing goes over nodes of other groups; switches, and links between them, are everybody's.
    """
    shards = collective.shards(len(collective.members(topology.nodes, topology.switches)))
    (movement,) = collective.movements
    if movement.source != "all" and movement.destination != "all":
        return degree * _routed(topology, collective, shards, inside) / shards
    return degree * shared(topology, collective, inside=inside).time / shards


def shared(topology: Topology, collective: Collective, *, inside: bool = False) -> SharedLinks:
    """Return how the groups of an allgather, broadcast, reduce-scatter or reduce share the links, in shards.

    Of what is added up it is that of the dual on the links turned round, in the order of these. With ``inside`` nothing
    goes over nodes of other groups.
    """
    if collective.reduces:
        turned = topology.transpose()
        found = shared(turned, collective.dual, inside=inside)
        order = turned.link_index(topology.dst, topology.src)
        return SharedLinks(found.time, tuple(tuple(load[at] for at in order.tolist()) for load in found.load))
    shards = collective.shards(len(collective.members(topology.nodes, topology.switches)))
    groups = []
    for one in collective.single:
        members = tuple(one.members(topology.nodes, topology.switches).tolist())
        roots = members if one.root is None else (one.root,)
        groups.append(Multicast(members, roots, shards // one.shards(len(members))))
    return share_links(topology, groups, inside=inside)


def _routed(topology: Topology, collective: Collective, shards: int, inside: bool) -> Fraction:
    """Return the largest load of a link, in shards per unit of capacity, of blocks with one source and one goal."""
    nodes = topology.nodes
    demand = np.zeros((nodes, nodes), dtype=np.int64)
    for one in collective.single:
        members = one.members(nodes, topology.switches)
        blocks = one.blocks(members, nodes)
        sources, goals = one.places(one.movements[0], blocks, nodes)
        if EVERYONE in sources or EVERYONE in goals:
            raise ParameterError(f"{collective} is not routed")
        demand[sources, goals] += shards // one.shards(len(members))
    np.fill_diagonal(demand, 0)
    chosen = np.flatnonzero(demand.any(axis=1))
    if not len(chosen):
        return Fraction(0)
    allowed = None
    if inside:
        team = collective.teams(nodes, topology.switches)
        allowed = team[chosen][:, None] == team
        allowed[:, list(topology.switches)] = True
    try:
        return demand_flow(topology, chosen, demand[chosen], allowed=allowed).time
    except UnreachableError as error:
        raise InfeasibleError(
            f"node {error.goal} cannot be reached from node {error.source}, which is in its group"
        ) from None


def _inside(topology: Topology, one: Collective) -> Topology:
    """Return the links among the members of a group, and those to and from switches."""
    kept = np.zeros(topology.nodes, dtype=np.bool_)
    kept[list(topology.switches)] = True
    kept[one.members(topology.nodes, topology.switches)] = True
    used = kept[topology.src] & kept[topology.dst]
    return Topology.from_arrays(
        topology.nodes, topology.src[used], topology.dst[used], topology.capacity[used], switches=topology.switches
    )
