"""Costs of collectives in groups that share links.

Linear programs, in bandwidth factors.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import Collective
from topodesign.collectives.collective import EVERYONE
from topodesign.fabrics.part import Others
from topodesign.solve.flows.multicast import Multicast, SharedLinks, share_links
from topodesign.solve.flows.program import UnreachableError, demand_flow
from topodesign.topology.topology import Topology


def in_turn_of(topology: Topology, collective: Collective, others: Others) -> Fraction:
    """Return the least bandwidth factor in groups, part after part."""
    inside = others == "vanish"
    total = Fraction(0)
    for part in collective.parts:
        where = [(topology, part)]
        if inside and not topology.switches:  # the links of groups have none in common
            where = [(_inside(topology, one), one) for one in part.single]
        total += max(_time(links, one, inside=inside) for links, one in where)
    return degree_of(topology) * total


def degree_of(topology: Topology) -> int:
    """Return the largest capacity of a node, the unit of bandwidth factors."""
    nodes = [node for node in range(topology.nodes) if node not in topology.switches]
    return int(topology.out_ports[nodes].max()) if topology.switches else topology.degree


def _time(topology: Topology, collective: Collective, *, inside: bool) -> Fraction:
    """Return the time of a collective of one movement.

    In the time that the whole data take on links of capacity one.

    With ``inside`` nothing goes over nodes of other groups; switches, and links between them, are everybody's.
    """
    shards = collective.shards(len(collective.members(topology.nodes, topology.switches)))
    (movement,) = collective.movements
    if movement.source != "all" and movement.destination != "all":
        return _routed(topology, collective, shards, inside) / shards
    return shared(topology, collective, inside=inside).time / shards


def shared(topology: Topology, collective: Collective, *, inside: bool = False) -> SharedLinks:
    """Return the shares of links of groups of one collective, in shards.

    An allgather, broadcast, reduce-scatter or reduce.

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
    """Return the largest link load of blocks with one source and goal."""
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
    """Return the links within a group, and those to and from switches."""
    kept = np.zeros(topology.nodes, dtype=np.bool_)
    kept[list(topology.switches)] = True
    kept[one.members(topology.nodes, topology.switches)] = True
    used = kept[topology.src] & kept[topology.dst]
    return Topology.from_arrays(
        topology.nodes, topology.src[used], topology.dst[used], topology.capacity[used], switches=topology.switches
    )
