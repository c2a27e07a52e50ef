"""Rounds among some of the nodes, in one group or several at once, from what methods make for all nodes of a topology.

Where the others vanish, every group is a topology of its own: its members and the links among them. A method makes a
plan for that, which is carried over. Where the others forward, there is another way: a plan for all nodes of which the
members' blocks are kept, with as much of their way as leads to a member. What groups do at the same time is then one
schedule, step next to step, and its cost is that of the links that they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from topodesign.base.errors import InfeasibleError, ParameterError, TopologyError
from topodesign.collectives import Collective
from topodesign.plans.group_ops import alongside, carried_over, empty, part_of_topology, restricted
from topodesign.plans.plan import Plan
from topodesign.plans.rounds import Rounds
from topodesign.schedulers.method import Method, Request, cost_in, planned
from topodesign.topology.link_table import Link, LinkTable

Made = dict[object, Rounds | None]


def among(request: Request, methods: list[Method]) -> list[Plan]:
    """Return at most one plan of each method and way for a collective with groups and roots on a plain topology."""
    topology, collective = request.topology, request.collective
    collective.members(topology.nodes)  # says what is no node
    plans: list[Plan] = []
    refused: Exception | None = None
    ways: list[Callable[[Request, Method, Collective, Made], Rounds | None]] = [_inside]
    if request.others == "forward":
        ways.append(_through)
    for method in methods:
        own: list[Plan] = []
        native = "group" in method.options  # it knows groups and who forwards, so that no whole plan is cut down
        for way in ways[:1] if native else ways:
            made: Made = {}
            parts = []
            for one in collective.single:
                try:
                    part = way(request, method, one, made)
                except (InfeasibleError, TopologyError) as error:
                    refused, part = error, None
                if part is None:
                    break
                parts.append(part)
            else:
                movement = alongside(parts, collective)
                own.append(planned(topology, movement, method.name, other_nodes=request.others))
        if request.others == "forward" and native:
            own += method.make(request)
        if own and "alpha" in method.options:  # made for a size, so that what is fastest for it is wanted
            own = [min(own, key=lambda plan: request.runtime(cost_in(plan)))]
        plans += own
    if not plans and refused is not None:
        hint = "" if request.others == "forward" else "; --others forward lets them send through other nodes"
        raise InfeasibleError(f"over the links among members alone there is no schedule: {refused}{hint}") from None
    return plans


def _inside(request: Request, method: Method, one: Collective, made: Made) -> Rounds | None:
    """Return what a group does over the links among its members; parts that are alike are asked for once."""
    topology = request.topology
    members = one.members(topology.nodes).tolist()
    if len(members) == 1:
        return empty(one, topology.nodes)
    part = part_of_topology(topology, members)
    root = None if one.root is None else members.index(one.root)
    table = None if request.unequal is None else _table_of(request.unequal, members)
    key = part, root, None if table is None else str(table)
    if key not in made:
        alone = replace(one, root=None, group=None)
        asked = request.but(place=part, collective=alone, root=root, link_table=table, others="vanish")
        made[key] = _best(method.make(asked))
    found = made[key]
    return None if found is None else carried_over(found, members, topology.nodes)


def _through(request: Request, method: Method, one: Collective, made: Made) -> Rounds | None:
    """Return what is needed by a group of what all nodes would do."""
    topology = request.topology
    if len(one.members(topology.nodes)) == 1:
        return empty(one, topology.nodes)
    if one.root not in made:
        alone = replace(one, root=None, group=None)
        made[one.root] = _best(method.make(request.but(collective=alone, root=one.root, others="vanish")))
    found = made[one.root]
    return None if found is None else restricted(found, one)


def _best(plans: list[Plan]) -> Rounds | None:
    """Return the rounds with the fewest steps, and then the least bandwidth."""
    moved = [one.movement.unfold() for one in plans]
    those = [(plan, rounds) for plan, rounds in zip(plans, moved, strict=True) if isinstance(rounds, Rounds)]
    if len(those) < len(plans):
        raise ParameterError(f"plans in {plans[0].kind} are not carried over to some of the nodes")
    ranked = sorted(those, key=lambda one: (cost_in(one[0]).steps, cost_in(one[0]).bandwidth))
    return ranked[0][1] if ranked else None


def _table_of(table: LinkTable, members: list[int]) -> LinkTable:
    """Return the rows of the links among members, with the numbers that these have among themselves."""
    number = {node: at for at, node in enumerate(members)}

    def there(values: Mapping[Link, Fraction]) -> dict[Link, Fraction]:
        return {(number[u], number[v]): one for (u, v), one in values.items() if u in number and v in number}

    return LinkTable(there(table.alpha), there(table.bandwidth))
